//! The result of watching a pull request: more work for the same run, or the end of it.

use serde::{Deserialize, Serialize};

/// How watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewEnd {
    /// Failed checks and comments became tasks.
    Work,
    /// There is more to do, and all rounds are used up.
    Spent,
    /// Checks still fail after sessions worked on them.
    Red,
    /// Every check has passed.
    Green,
    /// The time is up, and nothing was found.
    Quiet,
    Merged,
    Closed,
    /// The server could not be asked, or what it said could not become tasks.
    Failed,
    /// The user cancelled.
    Interrupted,
}

/// The result of watching, as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub end: ReviewEnd,
    /// The page of the pull request.
    pub page: String,
    /// The titles of the new tasks, or of those that are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The round of the pull request that begins with it, from 1.
    #[serde(default)]
    pub round: u32,
    /// How many rounds a pull request may have.
    #[serde(default)]
    pub rounds: u32,
    /// Why it did not work, as the middle of a sentence; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Review {
    /// A result without tasks or reason.
    pub fn blank(end: ReviewEnd, page: &str) -> Self {
        let page = page.to_owned();
        Self { end, page, tasks: vec![], round: 0, rounds: 0, why: String::new() }
    }

    /// Whether the run has work again.
    pub fn is_work(&self) -> bool {
        self.end == ReviewEnd::Work && !self.tasks.is_empty()
    }

    /// Whether you have to do something about it.
    pub const fn is_warning(&self) -> bool {
        matches!(self.end, ReviewEnd::Spent | ReviewEnd::Red | ReviewEnd::Failed)
    }

    /// A sentence without a full stop.
    pub fn sentence(&self) -> String {
        let Self { page, round, rounds, why, .. } = self;
        let names = self.names();
        let many = self.tasks.len();
        match self.end {
            ReviewEnd::Work => {
                let tasks =
                    if many == 1 { "1 new task".to_owned() } else { format!("{many} new tasks") };
                format!("{tasks} from {page}, round {round} of {rounds}: {names}")
            }
            ReviewEnd::Spent => {
                let used = match rounds {
                    1 => "its only round is".to_owned(),
                    rounds => format!("all {rounds} rounds are"),
                };
                format!("{page} needs more work, and {used} used up (publish.rounds): {names}")
            }
            ReviewEnd::Red => format!("checks of {page} still fail: {names}"),
            ReviewEnd::Green => format!("all checks passed: {page}"),
            ReviewEnd::Quiet => format!("stopped watching {page}; {why}"),
            ReviewEnd::Merged => format!("{page} is merged"),
            ReviewEnd::Closed => format!("{page} was closed"),
            ReviewEnd::Failed => format!("cannot watch {page}: {why}"),
            ReviewEnd::Interrupted => format!("stopped watching {page}"),
        }
    }

    /// The first titles.
    fn names(&self) -> String {
        const MOST: usize = 3;
        let mut names = self.tasks.iter().take(MOST).cloned().collect::<Vec<_>>().join("; ");
        if let more @ 1.. = self.tasks.len().saturating_sub(MOST) {
            names.push_str(&format!("; and {more} more"));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_round_is_not_called_all_rounds() {
        let output = |rounds| {
            let tasks = vec!["Make CI pass".to_owned()];
            Review { tasks, rounds, ..Review::blank(ReviewEnd::Spent, "PAGE") }.sentence()
        };
        let single =
            "PAGE needs more work, and its only round is used up (publish.rounds): Make CI pass";
        assert_eq!(output(1), single);
        assert_eq!(output(2), single.replace("its only round is", "all 2 rounds are"));
    }
}
