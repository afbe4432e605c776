//! Returns work that contains what no commit may contain, with the reason.

use ralph_core::records::Verdict;
use ralph_core::run::{FORBIDDEN, GateReport};

use super::Check;
use crate::ports::{Candidate, Forbidden};
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;

/// How many paths are named.
const NAMED: usize = 20;
/// The message for work whose git objects may be outside the repository.
const BORROWED: &str = "The session changed .git/objects/info/alternates, so git objects of the \
                        work may be outside the repository and missing in every other clone. \
                        Restore the file";

pub(super) struct ForbiddenFiles;

impl Check for ForbiddenFiles {
    fn run(
        &self,
        _: &Ports,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        let workspace = slot.workspace();
        if workspace.gate_inputs.borrows_objects(&workspace.project) {
            return Ok(Some(refused(BORROWED.to_owned())));
        }
        let settled = workspace.settled_tree();
        if settled == candidate.tree {
            return Ok(None);
        }
        let found = workspace.vcs.forbidden(&settled, &candidate.tree)?;
        if found.is_empty() {
            return Ok(None);
        }
        let lines: Vec<String> = found.iter().take(NAMED).map(words).collect();
        Ok(Some(refused(lines.join("\n"))))
    }
}

fn refused(digest: String) -> GateReport {
    GateReport::of_check(FORBIDDEN, Verdict::Fail, digest)
}

fn words(found: &Forbidden) -> String {
    match found {
        Forbidden::State(path) => {
            format!("{path} is ralph's own state and must not be committed: git rm --cached {path}")
        }
        Forbidden::Repository(path) => format!(
            "{path} is a repository of its own. Remove {path}/.git to commit its files; only the user adds \
             submodules"
        ),
    }
}
