//! The tree to be judged, and the gates that judge it.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use ralph_core::attempt::digest;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Input, Port, SlotId};

use super::crash;
use super::crew::{Answer, Crew, Failed};
use super::place::private_file;
use super::setup::GateSpec;
use crate::agents::set;
use crate::ports::Candidate;
use crate::process::{CommandSpec, Heard, Listener, Mark, Watch, supervise};
use ralph_core::agent::ProcessEnd;

/// How many changed files a fact names.
const NAMED_FILES: usize = 20;
/// How much of a gate's output is looked at for its digest: this much of the beginning and of the end.
const KEPT: usize = 256 * 1024;

impl Crew {
    /// Writes the candidate tree.
    pub(super) fn make_candidate(&self, slot: SlotId) -> Answer {
        let since = self.kit(slot).since;
        self.setup.vcs.remove_dead_locks(since)?;
        let candidate = self.setup.vcs.candidate(&self.base)?;
        let settled = self.settled_tree();
        let files = match candidate.tree == settled {
            true => vec![],
            false => self.setup.vcs.changes(&settled, &candidate.tree)?,
        };
        crash::point("candidate-made");
        let tree = candidate.tree.clone();
        self.kit(slot).candidate = Some(candidate);
        Ok(Input::CandidateMade {
            slot,
            tree,
            file_count: u32::try_from(files.len()).unwrap_or(u32::MAX),
            files: files.into_iter().take(NAMED_FILES).collect(),
        })
    }

    /// There is nothing to run.
    pub(super) fn judge_without_gates(&self, slot: SlotId) -> Answer {
        let Some(candidate) = self.kit(slot).candidate.clone() else {
            return Err(Failed::new(Port::Git, "there is no candidate tree", true));
        };
        Ok(self.keep(slot, candidate, vec![], false))
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
        kit.gates.clone_from(&gates);
        Input::Judged { slot, tree, gates, restless }
    }

    async fn judge_once(
        self: &Arc<Self>,
        slot: SlotId,
        candidate: &Candidate,
    ) -> Result<(Vec<GateReport>, Candidate), Failed> {
        let mut reports = Vec::new();
        for gate in &self.setup.gates {
            let report = self.gate(slot, gate).await;
            let red = report.verdict != Verdict::Pass;
            reports.push(report);
            crash::point("gate-ended");
            if red {
                break;
            }
        }
        if reports.is_empty() {
            return Ok((reports, candidate.clone()));
        }
        let crew = Arc::clone(self);
        let after = tokio::task::spawn_blocking(move || crew.setup.vcs.candidate(&crew.base)).await;
        let after = after.map_err(|panic| Failed::new(Port::Git, panic, true))??;
        Ok((reports, after))
    }

    async fn gate(&self, slot: SlotId, gate: &GateSpec) -> GateReport {
        let iteration = self.kit(slot).iteration;
        let stop = self.kit(slot).stop.subscribe();
        let mut env = self.setup.gate_environment.clone();
        set(&mut env, "RALPH_GATE", &gate.name);
        let command = CommandSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), gate.command.clone().into()],
            folder: self.setup.project.worktree.clone(),
            env,
            stdin: vec![],
        };
        let watch = Watch {
            timeout: Some(gate.timeout),
            silence: None,
            after_result: None,
            ..self.setup.watch.clone()
        };
        let mark = Mark::new(&self.setup.project.root, u64::from(iteration));
        let log =
            self.setup.logs.iteration(iteration, &format!(".gate-{}.log", file_name(&gate.name)));
        let mut output = GateOutput { file: private_file(&log).ok(), ..GateOutput::default() };
        let ended = supervise(&command, &watch, &mark, &mut output, None, stop).await;
        let (verdict, exit_code, note) = match &ended.end {
            ProcessEnd::Exited { code: 0 } => (Verdict::Pass, Some(0), None),
            ProcessEnd::Exited { code } => (Verdict::Fail, Some(*code), None),
            ProcessEnd::Signalled { signal } => {
                (Verdict::Fail, Some(128 + signal), Some(format!("ended by signal {signal}")))
            }
            ProcessEnd::TimedOut { after_ms } => {
                (Verdict::Fail, None, Some(format!("no end after {} s", after_ms / 1000)))
            }
            ProcessEnd::NotStarted { error } => (Verdict::Fail, None, Some(error.clone())),
            ProcessEnd::Silent { .. } | ProcessEnd::Lingered { .. } | ProcessEnd::Stopped => {
                (Verdict::Fail, None, Some("it was stopped".to_owned()))
            }
        };
        let digest = match verdict {
            Verdict::Pass => String::new(),
            _ => {
                let found = digest::digest(&output.text(), digest::DEFAULT_MAX);
                [note.unwrap_or_default(), found].join("\n").trim().to_owned()
            }
        };
        GateReport {
            name: gate.name.clone(),
            verdict,
            exit_code,
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            digest,
        }
    }
}

/// A gate's name as a part of a file name.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().take(40).map(plain).collect()
}

/// What a gate prints: all of it into a file, the beginning and the end kept for the digest.
#[derive(Default)]
struct GateOutput {
    file: Option<std::fs::File>,
    first: Vec<u8>,
    last: VecDeque<u8>,
    skipped: bool,
}

impl GateOutput {
    fn take(&mut self, line: &[u8]) {
        if let Some(file) = &mut self.file {
            let whole = [line, b"\n"].concat();
            if file.write_all(&whole).is_err() {
                self.file = None;
            }
        }
        let line = &line[..line.len().min(KEPT)];
        if self.first.len() < KEPT {
            self.first.extend_from_slice(line);
            self.first.push(b'\n');
            return;
        }
        self.last.extend(line);
        self.last.push_back(b'\n');
        if self.last.len() > KEPT {
            self.skipped = true;
            let surplus = self.last.len() - KEPT;
            self.last.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let mut all = self.first.clone();
        if self.skipped {
            all.extend_from_slice("\n[…]\n".as_bytes());
        }
        let (a, b) = self.last.as_slices();
        all.extend_from_slice(a);
        all.extend_from_slice(b);
        String::from_utf8_lossy(&all).into_owned()
    }
}

impl Listener for GateOutput {
    fn stdout(&mut self, line: &[u8], _cut: bool) -> Heard {
        self.take(line);
        Heard::Going
    }

    fn stderr(&mut self, line: &[u8]) {
        self.take(line);
    }
}
