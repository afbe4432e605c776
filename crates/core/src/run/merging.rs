//! Whether a task can start on this branch. A dependency that is done counts as done on every branch, but its
//! commits must also be in the history of the branch that the task runs on.

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// Where the accepted work of a task is, as seen from the branch that is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkPlace {
    /// In the history of the branch, or its changes are.
    Here,
    /// Only in the history of this other branch.
    Branch(String),
    /// Unknown: the task has no commit, or no branch contains it any more.
    Unknown,
}

/// A task that waits until you merge a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedsMerge {
    pub task: TaskId,
    /// The task whose work it needs.
    pub needs: TaskId,
    /// The branch that has this work.
    pub branch: String,
}

impl NeedsMerge {
    /// What to type.
    pub fn command(&self) -> String {
        format!("git merge {}", self.branch)
    }

    /// Why the task waits.
    pub fn reason(&self) -> String {
        format!("needs the work of {}, which is on branch {}", self.needs, self.branch)
    }
}

/// Whether a task has to wait, given where the work of each of its dependencies is. Work that is in no branch
/// does not make it wait.
pub fn needs_merge(task: &TaskId, works: &[(TaskId, WorkPlace)]) -> Option<NeedsMerge> {
    works.iter().find_map(|(needs, place)| match place {
        WorkPlace::Branch(branch) => {
            Some(NeedsMerge { task: task.clone(), needs: needs.clone(), branch: branch.clone() })
        }
        WorkPlace::Here | WorkPlace::Unknown => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_only_for_work_that_another_branch_has() {
        let id = |text: &str| TaskId::new(text).unwrap();
        let works = [(id("a"), WorkPlace::Here), (id("b"), WorkPlace::Unknown)];
        assert_eq!(needs_merge(&id("t"), &works), None);
        let works =
            [works.to_vec(), vec![(id("c"), WorkPlace::Branch("feat".to_owned()))]].concat();
        let found = needs_merge(&id("t"), &works).unwrap();
        assert_eq!(found.command(), "git merge feat");
        assert_eq!(found.reason(), "needs the work of c, which is on branch feat");
    }
}
