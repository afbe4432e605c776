//! The tree to be judged, and where the gates judge it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Input, Port, SlotId, VERIFIER};

use super::crash;
use super::crew::{Answer, Crew, Failed};
use super::gate::{Ran, file_name};
use super::setup::GateSpec;
use crate::ports::{Candidate, Checkout, GitError, RunBase};

/// How many changed files a fact names.
const NAMED_FILES: usize = 20;
/// The setup command of a checkout, as it is named where it fails.
const SETUP: &str = "setup";
/// How long it may take where no gate says so.
const SETUP_TIMEOUT: Duration = Duration::from_secs(600);

impl Crew {
    /// The worktree as a tree to judge: without what was not committed before the run, unless all is
    /// to be committed.
    pub(super) fn new_candidate(&self, slot: SlotId) -> Result<Candidate, GitError> {
        let site = self.site(slot);
        if !self.setup.policy.adds_all() {
            let candidate = site.vcs.candidate(&site.base())?;
            // Sessions with a git directory of their own put no commit onto the branch. One that came there
            // meanwhile is the user's, and is not held against the work.
            if self.setup.sandbox.mounts() && self.kit(slot).site.is_none() {
                site.set_settled_tree(&candidate.head_tree);
            }
            return Ok(candidate);
        }
        site.vcs.candidate(&RunBase { start: None, ..site.base() })
    }

    /// Writes the candidate tree.
    pub(super) fn make_candidate(&self, slot: SlotId) -> Answer {
        let since = self.kit(slot).since;
        let site = self.site(slot);
        site.vcs.remove_dead_locks(since)?;
        site.vcs.take_over()?;
        self.bring_home(slot, &site)?;
        self.keep_plan_out()?;
        let candidate = self.new_candidate(slot)?;
        let settled = site.settled_tree();
        let files = match candidate.tree == settled {
            true => vec![],
            false => site.vcs.counted_changes(&settled, &candidate.tree)?,
        };
        crash::point("candidate-made");
        let tree = candidate.tree.clone();
        let mut kit = self.kit(slot);
        kit.candidate = Some(candidate);
        let names: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        kit.changes = Some((tree.clone(), files));
        Ok(Input::CandidateMade {
            slot,
            tree,
            plan_only: self.is_plan_only(&names),
            file_count: u32::try_from(names.len()).unwrap_or(u32::MAX),
            files: names.into_iter().take(NAMED_FILES).collect(),
        })
    }

    /// There is nothing to run, but maybe something to refuse.
    pub(super) fn judge_without_gates(&self, slot: SlotId) -> Answer {
        let Some(candidate) = self.kit(slot).candidate.clone() else {
            return Err(Failed::new(Port::Git, "there is no candidate tree", true));
        };
        let found = self.judge_deliverable(slot)?.or_else(|| self.judge_written_plan());
        let reports = match found {
            Some(report) => vec![report],
            None => self.check_changes(slot, &candidate)?.into_iter().collect(),
        };
        Ok(self.keep(slot, candidate, reports, false))
    }

    /// Runs the gates on the candidate.
    pub(super) async fn judge(self: Arc<Self>, slot: SlotId) {
        let answer = self.judge_twice(slot).await;
        self.answer(slot, answer);
    }

    /// The gates run in the worktree. If that changed the tree, they judge what there is now, once.
    async fn judge_twice(self: &Arc<Self>, slot: SlotId) -> Answer {
        let Some(before) = self.kit(slot).candidate.clone() else {
            return Err(Failed::new(Port::Git, "there is no candidate tree", true));
        };
        let (gates, after) = self.judge_once(slot, &before).await?;
        if after.tree == before.tree || gates.is_empty() {
            return Ok(self.keep(slot, before, gates, false));
        }
        self.notice("the gates changed files of the tree; what is there now is judged");
        let (gates, again) = self.judge_once(slot, &after).await?;
        let restless = again.tree != after.tree;
        Ok(self.keep(slot, after, gates, restless))
    }

    fn keep(
        &self,
        slot: SlotId,
        candidate: Candidate,
        gates: Vec<GateReport>,
        restless: bool,
    ) -> Input {
        let tree = candidate.tree.clone();
        let mut kit = self.kit(slot);
        kit.candidate = Some(candidate);
        // What the verifier said before others' work came below this one still counts.
        let verdict = kit.gates.iter().find(|gate| kit.rebased && gate.name == VERIFIER).cloned();
        kit.gates.clone_from(&gates);
        kit.gates.extend(verdict);
        Input::Judged { slot, tree, gates, restless }
    }

    async fn judge_once(
        self: &Arc<Self>,
        slot: SlotId,
        candidate: &Candidate,
    ) -> Result<(Vec<GateReport>, Candidate), Failed> {
        let refused = {
            let candidate = candidate.clone();
            self.aside_of_tasks(move |crew| crew.check_changes(slot, &candidate)).await?
        };
        if let Some(refused) = refused {
            return Ok((vec![refused], candidate.clone()));
        }
        let site = self.site(slot);
        let checkout = self.fresh(slot, candidate).await?;
        let worktree = &site.project.worktree;
        let place = checkout.as_ref().map_or(worktree.as_path(), Checkout::folder);
        let mut reports = Vec::new();
        if let Some(failed) = self.prepare_checkout(slot, checkout.as_ref()).await {
            return Ok((vec![failed.report], candidate.clone()));
        }
        for gate in &self.setup.gates {
            let ran = self.run_gate(slot, gate, place).await;
            let report = self.against_baseline(ran);
            let red = report.verdict != Verdict::Pass;
            reports.push(report);
            crash::point("gate-ended");
            if red {
                break;
            }
        }
        // What happened in the worktree meanwhile says nothing about a tree that was judged elsewhere.
        if checkout.is_some() {
            drop_aside(checkout).await;
            return Ok((reports, candidate.clone()));
        }
        let after = self.aside_of_tasks(move |crew| Ok(crew.new_candidate(slot)?)).await?;
        Ok((reports, after))
    }

    /// A fresh checkout of the candidate, where gates want one.
    pub(super) async fn fresh(
        self: &Arc<Self>,
        slot: SlotId,
        candidate: &Candidate,
    ) -> Result<Option<Checkout>, Failed> {
        if !self.setup.gate_rules.clean {
            return Ok(None);
        }
        let candidate = candidate.clone();
        self.aside_of_tasks(move |crew| {
            Ok(Some(crew.site(slot).vcs.checkout(&candidate, &crew.setup.gate_rules.include)?))
        })
        .await
    }

    /// Runs the setup command in a checkout; what it said, where it failed.
    pub(super) async fn prepare_checkout(
        &self,
        slot: SlotId,
        checkout: Option<&Checkout>,
    ) -> Option<Ran> {
        let command = &self.setup.gate_rules.setup;
        let checkout = checkout.filter(|_| !command.trim().is_empty())?;
        let timeout =
            self.setup.gates.iter().map(|gate| gate.timeout).max().unwrap_or(SETUP_TIMEOUT);
        let setup = GateSpec { name: SETUP.to_owned(), command: command.clone(), timeout };
        let ran = self.run_gate(slot, &setup, checkout.folder()).await;
        (ran.report.verdict != Verdict::Pass).then_some(ran)
    }

    /// Runs a gate in `place`, and keeps what it prints with the iteration.
    async fn run_gate(&self, slot: SlotId, gate: &GateSpec, place: &Path) -> Ran {
        let iteration = self.kit(slot).iteration;
        let name = format!(".gate-{}.log", file_name(&gate.name));
        self.gate(slot, gate, place, &self.setup.logs.iteration(iteration, &name)).await
    }

    /// Runs where waiting is allowed.
    pub(super) async fn aside_of_tasks<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Self) -> Result<T, Failed> + Send + 'static,
    ) -> Result<T, Failed> {
        let crew = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || act(&crew)).await;
        done.map_err(|panic| Failed::new(Port::Git, panic, true))?
    }
}

/// Removes a checkout where waiting is allowed.
pub(super) async fn drop_aside(checkout: Option<Checkout>) {
    let _ = tokio::task::spawn_blocking(move || drop(checkout)).await;
}
