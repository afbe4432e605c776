//! What came of bringing work from a worktree of its own onto the branch of the run.

use serde::{Deserialize, Serialize};

/// What evidence about it is filed under.
pub const MERGE: &str = "merge";

/// How many files are named.
const NAMED: usize = 8;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum Landing {
    /// Nothing has landed since it was begun: what would land is what was judged.
    Straight,
    /// It stands on what has landed since. The whole is to be judged.
    Rebased,
    /// It does not go together with what has landed since.
    Conflict {
        /// Where not.
        files: Vec<String>,
    },
    /// A person has changes there that are not committed.
    InTheWay {
        /// Where.
        files: Vec<String>,
    },
}

impl Landing {
    /// Why the work cannot land, in words.
    pub fn obstacle(&self) -> Option<String> {
        match self {
            Self::Straight | Self::Rebased => None,
            Self::Conflict { files } => {
                Some(format!("conflict with what has landed meanwhile in {}", named(files)))
            }
            Self::InTheWay { files } => Some(format!(
                "uncommitted changes of a person are in the way in {}; commit them, then ralph retry",
                named(files)
            )),
        }
    }
}

fn named(files: &[String]) -> String {
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_land_has_an_obstacle() {
        assert_eq!(Landing::Straight.obstacle(), None);
        assert_eq!(Landing::Rebased.obstacle(), None);
        let files: Vec<String> = (1..=10).map(|n| format!("f{n}")).collect();
        let said = Landing::Conflict { files: files.clone() }.obstacle().unwrap();
        assert!(said.ends_with("f8 and 2 more"), "{said}");
        let said = Landing::InTheWay { files }.obstacle().unwrap();
        assert!(said.contains("commit them, then ralph retry"), "{said}");
    }
}
