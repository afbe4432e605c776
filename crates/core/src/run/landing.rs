//! Landing: how work from a task's own worktree gets onto the branch of the run, or why it cannot.

use serde::{Deserialize, Serialize};

use crate::amounts::first_of;
use crate::records::GateReport;

/// The name under which evidence about landing is kept.
pub const MERGE: &str = "merge";

/// How many files are named.
const NAMED: usize = 8;

/// The result of landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum Landing {
    /// Nothing landed since the task started: what lands is what the gates judged.
    Straight,
    /// It was rebased onto work that landed since; the gates have to judge the result.
    Rebased,
    /// It conflicts with work that landed since.
    Conflict(Conflict),
    /// The user has uncommitted changes in files that would change.
    InTheWay { files: Vec<String> },
}

/// Work that conflicts with work that landed since it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The files with conflicts.
    pub files: Vec<String>,
    /// The conflict as the next session needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<GateReport>,
}

impl Landing {
    /// Why the work cannot land, in words.
    pub fn obstacle(&self) -> Option<String> {
        match self {
            Self::Straight | Self::Rebased => None,
            Self::Conflict(Conflict { files, .. }) => Some(format!(
                "conflicts with work that landed meanwhile, in {}",
                first_of(files, NAMED)
            )),
            Self::InTheWay { files } => Some(format!(
                "you have uncommitted changes in {}; commit them, then run ralph retry",
                first_of(files, NAMED)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_land_has_an_obstacle() {
        assert_eq!(Landing::Straight.obstacle(), None);
        assert_eq!(Landing::Rebased.obstacle(), None);
        let files: Vec<String> = (1..=10).map(|n| format!("f{n}")).collect();
        let conflict = Conflict { files: files.clone(), report: None };
        let output = Landing::Conflict(conflict).obstacle().unwrap();
        assert!(output.ends_with("f8 and 2 more"), "{output}");
        let output = Landing::InTheWay { files }.obstacle().unwrap();
        assert!(output.contains("commit them, then run ralph retry"), "{output}");
    }

    #[test]
    fn a_conflict_in_a_journal_of_0_1_reads_back() {
        let old = r#"{"landing":"conflict","files":["a.txt"]}"#;
        let conflict = Conflict { files: vec!["a.txt".to_owned()], report: None };
        assert_eq!(
            serde_json::from_str::<Landing>(old).unwrap(),
            Landing::Conflict(conflict.clone())
        );
        assert_eq!(serde_json::to_string(&Landing::Conflict(conflict)).unwrap(), old);
    }
}
