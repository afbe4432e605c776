//! The results of the gates before the first session, to tell old failures from new ones.
//!
//! A run that continues an interrupted one reuses its baseline: by now the worktree may contain unfinished work,
//! whose failures are not old.

use std::collections::BTreeMap;

use ralph_core::attempt::old_failures::{RedBefore, compare};
use ralph_core::ids::RunId;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Notice};
use serde::{Deserialize, Serialize};

use crate::gates::command::{GateLocation, Ran, file_name};
use crate::project::write_privately;
use crate::run::activity::judge::{blocking, remove_checkout};
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::run_files::RunLogs;
use crate::untrusted;

/// Its file in the folder of a run.
const FILE: &str = "baseline.json";
/// How many failing tests a notice names.
const NAMED_TESTS: usize = 5;

/// What was red before the first session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::run) struct Baseline {
    run: Option<RunId>,
    /// By the name of the gate.
    red: BTreeMap<String, RedBefore>,
}

impl Baseline {
    /// The exit code of a gate that was red; 0 for one that was green.
    pub(in crate::run) fn exit_code(&self, gate: &str) -> Option<i32> {
        self.red.get(gate).map_or(Some(0), |before| before.exit_code)
    }
}

impl Ports {
    /// Runs the gates once, before the first session. Only failures to run them are reported: without a
    /// baseline a session is judged as strictly as possible.
    pub(in crate::run) fn make_baseline(&self, slot: &SlotState) {
        if !self.setup.gates.rules.baseline || self.setup.gates.specs.is_empty() {
            return;
        }
        // The error means that it was stopped, and then nothing else is started either.
        let found = self.baseline.get_or_try_init(|| self.find_baseline(slot));
        let _ = tokio::runtime::Handle::current().block_on(found);
    }

    async fn find_baseline(&self, slot: &SlotState) -> Result<Baseline, ()> {
        let found = match self.left_baseline() {
            Some(found) => found,
            None => match self.run_baseline(slot).await {
                Ok(Some(found)) => found,
                Ok(None) => return Err(()),
                Err(failed) => {
                    self.notice(format!("there is no baseline: {}", failed.error));
                    return Ok(Baseline::default());
                }
            },
        };
        self.write_baseline(&found);
        Ok(found)
    }

    /// What the interrupted run found that this one continues with.
    fn left_baseline(&self) -> Option<Baseline> {
        let before = &self.setup.resume.as_ref()?.run;
        let runs = RunLogs::all(self.setup.files.logs.folder.parent()?).ok()?;
        runs.iter().rev().find_map(|logs| {
            let text = untrusted::read_own(&logs.folder.join(FILE), untrusted::DOCUMENT).ok()?;
            let found: Baseline = serde_json::from_slice(&text).ok()?;
            (found.run.as_ref() == Some(before)).then_some(found)
        })
    }

    fn write_baseline(&self, found: &Baseline) {
        let run = Some(self.setup.run.clone());
        let kept = serde_json::to_string(&Baseline { run, red: found.red.clone() });
        let path = self.setup.files.logs.folder.join(FILE);
        let written =
            kept.map_err(std::io::Error::other).and_then(|text| write_privately(&path, &text));
        if let Err(error) = written {
            self.notice(format!("{} cannot be written: {error}", path.display()));
        }
    }

    /// Runs every gate; `None` when it was stopped.
    async fn run_baseline(&self, slot: &SlotState) -> Result<Option<Baseline>, Failed> {
        let resumed = self.setup.resume.is_some();
        let candidate = blocking(|| Ok(self.home.vcs.candidate(&self.home.base())?))?;
        if resumed && candidate.tree != self.home.base().settled_tree {
            self.notice("there is no baseline: the interrupted run left unfinished work");
            return Ok(Some(Baseline::default()));
        }
        let checkout = self.fresh(slot, &candidate)?;
        let worktree = &self.setup.files.project.worktree;
        let place = checkout.as_ref().map_or(GateLocation::of(worktree), GateLocation::in_checkout);
        let mut found = Baseline::default();
        if let Some(failed) = self.prepare_checkout(slot, checkout.as_ref()).await {
            if failed.stopped {
                return Ok(None);
            }
            self.report_baseline(&failed);
            return Ok(Some(found));
        }
        for gate in &self.setup.gates.specs {
            let name = format!("baseline.gate-{}.log", file_name(&gate.name));
            let log = self.setup.files.logs.folder.join(name);
            let ran = self.gate(slot, gate, &place, &log).await;
            if ran.stopped {
                return Ok(None);
            }
            self.report_baseline(&ran);
            if ran.report.verdict != Verdict::Pass {
                let before = RedBefore {
                    exit_code: ran.report.exit_code,
                    passed: ran.digest.passed,
                    named: ran.whole && !ran.digest.more && !ran.digest.failing.is_empty(),
                    failing: ran.digest.failing,
                };
                found.red.insert(gate.name.clone(), before);
            }
        }
        remove_checkout(checkout);
        Ok(Some(found))
    }

    fn report_baseline(&self, ran: &Ran) {
        self.notify(Notice::Baseline {
            gate: ran.report.name.clone(),
            verdict: ran.report.verdict,
            failing: ran.digest.failing.iter().take(NAMED_TESTS).cloned().collect(),
            count: u32::try_from(ran.digest.failing.len()).unwrap_or(u32::MAX),
        });
    }

    /// The report about a gate, in the light of what it said before the first session.
    pub(in crate::run) fn against_baseline(&self, ran: Ran) -> GateReport {
        let known = self.baseline.get().filter(|_| !ran.tampered);
        let before = known.and_then(|all| all.red.get(&ran.report.name));
        let Some(before) = before.filter(|_| ran.report.verdict != Verdict::Pass) else {
            return ran.report;
        };
        let compared = compare(before, &ran.digest, ran.report.exit_code, ran.whole);
        let mut report = GateReport { digest: ran.noted(&compared.text), ..ran.report.clone() };
        if compared.only_old {
            report.verdict = Verdict::Pass;
        }
        report
    }
}
