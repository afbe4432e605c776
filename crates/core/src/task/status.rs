//! The status of a task, which transitions are allowed, and the words that users see.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::nearest;

/// The stored status. `blocked` is not one of them: it follows from the blockers.
///
/// Users and programs see `open` and `active`, in journals too; the task database has the older words, and both are
/// read everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[serde(rename = "open", alias = "pending")]
    Pending,
    #[serde(rename = "active", alias = "in_progress")]
    InProgress,
    Waiting,
    /// Judged and accepted.
    Done,
    /// It failed for good.
    Failed,
    /// Removed from the plan; its history stays.
    Deleted,
}

impl Status {
    /// All of them, in the order in which users see them.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::InProgress, Self::Waiting, Self::Done, Self::Failed, Self::Deleted];

    /// The word in the task database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Deleted => "deleted",
        }
    }

    /// Whether a task itself may go from this status to `to`. Parents also follow their children, which
    /// this does not cover.
    pub const fn allows(self, to: Self) -> bool {
        use Status::{Deleted, Done, Failed, InProgress, Pending, Waiting};
        match (self, to) {
            (Done | Deleted, _) => false,
            (_, Deleted) => true,
            (Pending, InProgress | Waiting) => true,
            (InProgress, Done | Failed | Pending | Waiting) => true,
            (Waiting | Failed, Pending) => true,
            _ => false,
        }
    }

    /// Whether the user can reopen a task by command: it is done or failed. Beside the transitions above, which
    /// the loop and agents follow, this is the only way back from done.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// The word that users see.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(ShownStatus::of(*self, 0).as_str())
    }
}

impl FromStr for Status {
    type Err = UnknownStatus;

    /// Reads the stored words, and `open` and `active` for the first two.
    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        match text {
            "open" => Ok(Self::Pending),
            "active" => Ok(Self::InProgress),
            _ => Self::ALL
                .into_iter()
                .find(|status| status.as_str() == text)
                .ok_or_else(|| UnknownStatus { text: text.to_owned() }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownStatus {
    text: String,
}

impl std::error::Error for UnknownStatus {}

impl fmt::Display for UnknownStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WORDS: [&str; 7] =
            ["open", "active", "waiting", "done", "failed", "deleted", "blocked"];
        write!(f, "{:?} is not a status", self.text)?;
        match nearest(&self.text, WORDS, 1).first() {
            Some(word) => write!(f, "; did you mean {word}?"),
            None => write!(f, "; known statuses: {}", WORDS.join(", ")),
        }
    }
}

words! {
    /// The status as shown to users.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ShownStatus {
        /// Pending, and no blocker in the way.
        Open = "open",
        /// Pending, with an unfinished blocker.
        Blocked = "blocked",
        Active = "active",
        Waiting = "waiting",
        Done = "done",
        Failed = "failed",
        Deleted = "deleted",
    }
}

impl ShownStatus {
    /// The word for a status and a number of unfinished blockers.
    pub const fn of(status: Status, open_blockers: u32) -> Self {
        match status {
            Status::Pending if open_blockers > 0 => Self::Blocked,
            Status::Pending => Self::Open,
            Status::InProgress => Self::Active,
            Status::Waiting => Self::Waiting,
            Status::Done => Self::Done,
            Status::Failed => Self::Failed,
            Status::Deleted => Self::Deleted,
        }
    }
}

/// One word of `--status`: a stored status, or `blocked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// Every task with this stored status, blocked or not.
    Stored(Status),
    /// Pending tasks with an unfinished blocker.
    Blocked,
}

impl StatusFilter {
    /// Whether a task with this status and so many unfinished blockers passes.
    pub fn admits(self, status: Status, open_blockers: u32) -> bool {
        match self {
            Self::Stored(wanted) => status == wanted,
            Self::Blocked => ShownStatus::of(status, open_blockers) == ShownStatus::Blocked,
        }
    }
}

impl FromStr for StatusFilter {
    type Err = UnknownStatus;
    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        match text {
            "blocked" => Ok(Self::Blocked),
            _ => text.parse().map(Self::Stored),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-47: only the listed transitions are allowed. `blocked` is derived, so the two that name it
    /// have no counterpart; `waiting` and `deleted` come on top.
    #[test]
    fn s1_47_only_the_listed_transitions_are_allowed() {
        let mut allowed = Vec::new();
        for from in Status::ALL {
            for to in Status::ALL {
                if from.allows(to) {
                    allowed.push(format!("{from} -> {to}"));
                }
            }
        }
        assert_eq!(
            allowed,
            [
                "open -> active",
                "open -> waiting",
                "open -> deleted",
                "active -> open",
                "active -> waiting",
                "active -> done",
                "active -> failed",
                "active -> deleted",
                "waiting -> open",
                "waiting -> deleted",
                "failed -> open",
                "failed -> deleted",
            ]
        );
    }

    #[test]
    fn only_done_and_failed_tasks_are_finished() {
        let finished: Vec<Status> = Status::ALL.into_iter().filter(|s| s.is_finished()).collect();
        assert_eq!(finished, [Status::Done, Status::Failed]);
    }

    #[test]
    fn open_and_active_are_accepted_and_slips_are_explained() {
        assert_eq!("open".parse(), Ok(Status::Pending));
        assert_eq!("active".parse(), Ok(Status::InProgress));
        assert_eq!("blocked".parse(), Ok(StatusFilter::Blocked));
        let slip = "opne".parse::<Status>().map_err(|e| e.to_string());
        assert_eq!(slip, Err("\"opne\" is not a status; did you mean open?".to_owned()));
    }

    #[test]
    fn every_status_is_written_as_users_see_it_and_the_older_words_are_read() {
        for status in Status::ALL {
            let word = serde_json::to_string(&status).unwrap();
            assert_eq!(word, format!("\"{status}\""));
            for word in [word, format!("\"{}\"", status.as_str())] {
                assert_eq!(serde_json::from_str::<Status>(&word).unwrap(), status);
            }
            assert_eq!(status.as_str().parse(), Ok(status), "the task database");
        }
    }
}
