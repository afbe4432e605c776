//! The verifier's session: its own checkout, its own prompt, and a verdict.
//!
//! It works on a temporary copy. Its requests through the socket are refused, so the worst that it can do to the
//! plan is to say no.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ralph_core::agent::{EndClass, ProcessEnd, SessionEnd, Verdict};
use ralph_core::attempt::prompt::Work;
use ralph_core::run::{GateReport, Input, Port, TaskBrief, VerifierReport};

use crate::agents::{Profile, PromptBy, SessionSpec};
use crate::crash;
use crate::ports::{Candidate, Checkout};
use crate::run::activity::judge::{blocking, remove_checkout};
use crate::run::activity::session::Played;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::sandboxed::session_binds;
use crate::run::setup::AgentProgram;
use crate::run::slot_state::SlotState;
use crate::sandbox::ProgramKind;
use crate::socket::{Requests, SessionIdentity, SessionSocket};

/// How much of a diff is asked for, in bytes.
const DIFF: usize = 256 << 10;

impl Ports {
    /// Runs the verifier on the candidate and notifies the loop.
    pub(in crate::run) async fn verify(
        self: Arc<Self>,
        mut slot: Box<SlotState>,
        tasks: Vec<TaskBrief>,
        gates: Vec<GateReport>,
        model: Option<String>,
    ) {
        let answer = self.run_verifier(&mut slot, &tasks, gates, model).await;
        self.answer(slot, answer);
    }

    async fn run_verifier(
        self: &Arc<Self>,
        slot: &mut SlotState,
        tasks: &[TaskBrief],
        gates: Vec<GateReport>,
        model: Option<String>,
    ) -> Answer {
        let candidate = slot.judged_candidate()?;
        let Some(verifier) = &self.setup.gates.verifier else {
            return Err(Failed::new(Port::Prompt, "there is no verifier", true));
        };
        let checkout = self.checkout(slot, &candidate)?;
        let played = match self.prepare_checkout(slot, Some(&checkout)).await {
            Some(failed) => Played {
                end: SessionEnd::of(
                    EndClass::Crash,
                    format!("the setup command failed: {}", failed.report.digest),
                ),
                process: ProcessEnd::Stopped,
                duration_ms: failed.report.duration_ms,
                leftovers: 0,
            },
            None => {
                let lacking = blocking(|| without_steering(verifier.agent, &checkout))?;
                let prompt =
                    blocking(|| self.verifier_prompt(slot, tasks, gates, &candidate, lacking))?;
                self.verifier_session(slot, verifier, tasks, prompt, model, &checkout).await?
            }
        };
        remove_checkout(Some(checkout));
        crash::point("verified");
        let Played { end, process, duration_ms, .. } = played;
        let report = VerifierReport {
            verdict: match end.class {
                EndClass::Completed => Some(Verdict::read(&end.text)),
                _ => None,
            },
            end: self.shortened(end),
            process,
            duration_ms,
        };
        Ok(Input::Verified { slot: slot.id, report: Box::new(report) })
    }

    /// `lacking`: what was taken out of the checkout, as a sentence.
    fn verifier_prompt(
        &self,
        slot: &mut SlotState,
        tasks: &[TaskBrief],
        gates: Vec<GateReport>,
        candidate: &Candidate,
        lacking: Option<String>,
    ) -> Result<PromptBy, Failed> {
        let tree = &candidate.tree;
        let workspace = slot.workspace();
        let settled = workspace.settled_tree();
        let changes = self.changes_of(slot, &settled, tree)?;
        let files: Vec<String> = changes.into_iter().map(|change| change.path).collect();
        let diff = match files.is_empty() {
            true => String::new(),
            false => workspace.vcs.patch(&settled, tree, DIFF)?,
        };
        let reported = [self.protected_report(slot, &gates), self.weakened_report(slot, tree)];
        let remarks = reported.into_iter().flatten().chain(lacking).collect();
        let work = Work { tasks: vec![], files, diff, gates, remarks };
        let prompt = {
            let store = &mut *self.store();
            self.setup.agent.prompting.verifier(store.as_mut(), tasks, work)?
        };
        let iteration = slot.iteration;
        let system = self.written(iteration, ".verifier.system.md", prompt.system.clone())?;
        let task = self.written(iteration, ".verifier.task.md", prompt.task_file().to_owned())?;
        Ok(PromptBy::System { system, task })
    }

    async fn verifier_session(
        self: &Arc<Self>,
        slot: &mut SlotState,
        verifier: &AgentProgram,
        tasks: &[TaskBrief],
        prompt: PromptBy,
        model: Option<String>,
        checkout: &Checkout,
    ) -> Result<Played, Failed> {
        let requests = Requests::default();
        // It may look at the plan, and ask for nothing.
        requests.close();
        let identity = SessionIdentity {
            agent: slot.agent.clone(),
            task: tasks.first().map(|task| (task.id.clone(), task.generation)),
            may_claim: false,
            plan: None,
            requests,
            adds: None,
        };
        let (number, handler) = (self.next_session(), Arc::clone(&self.setup.ports.handler));
        let socket =
            SessionSocket::open(&self.sockets, number, identity, handler, &self.ralph_inside())
                .map_err(|error| Failed::new(Port::Prompt, error, false))?;
        let prompt = self.in_files(verifier, (slot.iteration, ".verifier"), prompt)?;
        let spec = SessionSpec {
            executable: verifier.executable.clone(),
            extra_args: verifier.extra_args.clone(),
            folder: checkout.folder().to_owned(),
            environment: self.session_environment(&socket),
            prompt,
            model,
            sandboxed: self.setup.sandbox.holds(),
            permissions: self.verifier_permissions(verifier.agent.tools.judging),
            cassette: verifier.cassette.clone(),
            session: None,
            verifies: true,
        };
        let mut sandboxed = self.sandboxed(&slot.workspace(), ProgramKind::Verifier, None)?;
        sandboxed.writable = vec![checkout.folder().to_owned()];
        sandboxed.caches = checkout.caches().map(Path::to_owned);
        sandboxed.binds.extend(session_binds(&spec, &socket)?);
        let log = self.setup.files.logs.verifier_raw(slot.iteration);
        let (raw, stop) = (self.raw_log(&log), self.stop(slot.id).subscribe());
        self.take(&Input::SessionStarted { slot: slot.id, log: log.display().to_string() });
        // A verifier judges by itself: it takes no texts.
        Ok(self.play(slot, verifier, (&spec, &sandboxed), &log, raw, (stop, None)).await)
    }
}

/// Removes from a checkout what would steer the agent that judges it. Returns the names for its prompt.
fn without_steering(agent: &Profile, checkout: &Checkout) -> Result<Option<String>, Failed> {
    let names = agent.steering;
    let removed = remove_named(checkout.folder(), names).map_err(|error| {
        Failed::new(Port::Git, format!("the checkout to verify: {error}"), true)
    })?;
    let sentence = || {
        format!(
            "Your checkout lacks files that would give you instructions: {}. They are part of the work; the diff shows \
             how it changed them.",
            names.join(", ")
        )
    };
    Ok((removed > 0).then(sentence))
}

/// Removes every entry with one of these names, at any depth. Follows no link.
fn remove_named(folder: &Path, names: &[&str]) -> io::Result<usize> {
    let mut removed = 0;
    if names.is_empty() {
        return Ok(removed);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_named = names.iter().any(|name| entry.file_name() == *name);
        match (is_named, kind.is_dir()) {
            (true, true) => std::fs::remove_dir_all(&path)?,
            (true, false) => std::fs::remove_file(&path)?,
            (false, true) if entry.file_name() != ".git" => removed += remove_named(&path, names)?,
            (false, _) => {}
        }
        removed += usize::from(is_named);
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_removed_at_any_depth_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("tree"), folder.path().join("other"));
        for place in [tree.join(".agent/x"), tree.join("a/b"), tree.join(".git"), other.clone()] {
            std::fs::create_dir_all(place).unwrap();
        }
        let files = [
            tree.join("AGENTS.md"),
            tree.join("a/b/AGENTS.md"),
            tree.join(".git/AGENTS.md"),
            other.join("AGENTS.md"),
        ];
        files.iter().for_each(|file| std::fs::write(file, "x").unwrap());
        std::os::unix::fs::symlink(&other, tree.join("link")).unwrap();
        std::os::unix::fs::symlink(&other, tree.join("a/.agent")).unwrap();
        assert_eq!(remove_named(&tree, &[]).unwrap(), 0);
        assert_eq!(remove_named(&tree, &[".agent", "AGENTS.md"]).unwrap(), 4);
        assert!(!tree.join(".agent").exists() && !files[0].exists() && !files[1].exists());
        assert!(files[2].exists() && files[3].exists() && tree.join("link").is_symlink());
    }
}
