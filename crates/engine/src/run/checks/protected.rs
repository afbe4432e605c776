//! Files that sessions should not change, and the definitions of the gates. Both count as they were at the base of
//! the run; a change by a session is reported or refused.

use std::path::Path;

use ralph_core::agents_md;
use ralph_core::amounts::first_of;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Notice, PROTECTED};

use super::Check;
use crate::gates::guarded::Guarded;
use crate::ports::Candidate;
use crate::run::activity::judge::blocking;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::run::workspace::Workspace;

/// How many files are named.
const NAMED: usize = 20;
/// What is said of a file that this session did not change.
const EARLIER: &str = "by an earlier session; revert it, or approve it: ralph trust";

pub(super) struct ProtectedFiles;

impl Check for ProtectedFiles {
    fn run(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        let files = ports.protected_changes(slot, candidate)?;
        let known = std::mem::replace(&mut slot.protected, files.clone());
        if files.is_empty() {
            return Ok(None);
        }
        let rejected = ports.setup.gates.rules.reject;
        // The same tree is judged again after another commit, or when gates changed it.
        if files != known {
            ports.notify(Notice::Protected { files: files.clone(), rejected });
        }
        let refused = || GateReport::of_check(PROTECTED, Verdict::Fail, sentence(&files));
        Ok(rejected.then(refused))
    }
}

impl Ports {
    /// The protected files of a candidate, in the place where gates are to run.
    pub(in crate::run) fn guard_protected(
        &self,
        slot: &SlotState,
        candidate: &Candidate,
        folder: &Path,
    ) -> Result<Guarded, Failed> {
        if self.setup.gates.rules.protected.is_empty() {
            return Ok(Guarded::default());
        }
        blocking(|| {
            let names = slot.workspace().vcs.files(&candidate.tree)?;
            let patterns = &self.setup.gates.rules.protected;
            Ok(Guarded::of(folder, names.into_iter().filter(|name| patterns.matches(name))))
        })
    }

    /// What the evidence says of protected files that were changed and are only reported.
    pub(in crate::run) fn protected_report(
        &self,
        slot: &SlotState,
        gates: &[GateReport],
    ) -> Option<String> {
        let reported = slot.protected.is_empty() || gates.iter().any(|gate| gate.name == PROTECTED);
        (!reported).then(|| sentence(&slot.protected))
    }

    fn protected_changes(
        &self,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Vec<String>, Failed> {
        let workspace = slot.workspace();
        let settled = workspace.settled_tree();
        let mut found = workspace.gate_inputs.changed_in(
            &self.setup.gates.rules,
            &self.setup.agent.environment,
            &workspace.project,
            workspace.vcs.as_ref(),
        );
        let changes = match settled == candidate.tree {
            true => vec![],
            false => self.changes_of(slot, &settled, &candidate.tree)?,
        };
        if settled != candidate.tree {
            let links = workspace.vcs.links_out(&settled, &candidate.tree)?;
            found.extend(
                links
                    .iter()
                    .map(|link| format!("{link} (a link that points outside the repository)")),
            );
        }
        // Unaccepted work of an earlier session is not a base to compare with.
        let before = self.touched_before(&workspace, candidate)?.into_iter();
        let before = before.filter(|path| changes.iter().all(|change| change.path != *path));
        found.extend(before.map(|path| format!("{path} ({EARLIER})")));
        let patterns = &self.setup.gates.rules.protected;
        for file in changes.into_iter().map(|change| change.path) {
            if patterns.matches(&file) {
                found.push(file);
            } else if let Some(what) = self.definition_changed(&workspace, candidate, &file)? {
                found.push(format!("{file} ({what})"));
            }
        }
        Ok(found)
    }

    /// What a file says about gates, where it says something else now.
    fn definition_changed(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
        file: &str,
    ) -> Result<Option<&'static str>, Failed> {
        let (says, what): (fn(&str) -> Option<String>, _) = match file {
            "AGENTS.md" => (agents_md::test_command, "the test command"),
            "ralph.toml" => (gates_of, "the gates"),
            ".worktreeinclude" if self.setup.gates.rules.clean => {
                (|text| Some(text.to_owned()), "the files copied into a clean checkout")
            }
            _ => return Ok(None),
        };
        let output = |tree: &str| -> Result<Option<String>, Failed> {
            let bytes = workspace.vcs.file(tree, file)?;
            Ok(bytes.and_then(|bytes| says(&String::from_utf8_lossy(&bytes))))
        };
        Ok((output(&workspace.settled_tree())? != output(&candidate.tree)?).then_some(what))
    }
}

/// What a config says about gates, in a form that can be compared. One that cannot be read says
/// something else than any other.
fn gates_of(text: &str) -> Option<String> {
    let Ok(table) = text.parse::<toml::Table>() else { return Some(text.to_owned()) };
    let setup = table.get("git").and_then(|git| git.get("worktree")?.get("setup"));
    let parts = [table.get("gate"), table.get("gates"), setup];
    let output: Vec<String> = parts.into_iter().flatten().map(ToString::to_string).collect();
    (!output.is_empty()).then(|| output.join("\n"))
}

fn sentence(files: &[String]) -> String {
    format!("protected files changed: {}", first_of(files, NAMED))
}
