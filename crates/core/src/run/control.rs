//! Controls that a user can send to a running loop, and how soon a cancelled run stops.

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;
use crate::records::UserMessage;

/// A request of the user, from the keyboard, another terminal or a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Control {
    /// Start nothing new; running sessions finish.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Stop the run.
    Cancel(#[serde(with = "recorded")] Cancel),
    /// Stop the session of this task; the task waits for the user.
    Skip { task: TaskId },
    /// Reopen this task, with no retries used.
    Retry { task: TaskId },
    /// Hand a message about this task, which is in the task database already, to its session.
    Tell { task: TaskId, message: UserMessage },
}

/// How soon a cancelled run stops. Each level includes those before it, and a run only ever goes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancel {
    /// The current tasks continue, with retries, until each is done, failed or waits for the user. No other task
    /// starts.
    AfterTask,
    /// Running sessions end by themselves and their work is judged. No other session starts.
    AfterSession,
    /// Whatever runs is interrupted, and killed when it does not end. Its work is saved, not judged.
    Now,
    /// Whatever runs is killed.
    Kill,
}

impl Cancel {
    /// What Ctrl-C means for a run that was cancelled so far.
    pub const fn pressed(so_far: Option<Self>) -> Self {
        match so_far {
            None | Some(Self::AfterTask) => Self::AfterSession,
            Some(Self::AfterSession) => Self::Now,
            Some(Self::Now | Self::Kill) => Self::Kill,
        }
    }
}

/// A level as journals and sockets have it. Version 0.1 knew only `now`: false interrupted, true killed. It is
/// still written, for a run that began before the program was replaced.
mod recorded {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Cancel;

    #[derive(Serialize, Deserialize)]
    struct Recorded {
        #[serde(default)]
        now: bool,
        #[serde(default)]
        stop: Option<Cancel>,
    }

    pub(super) fn serialize<S: Serializer>(cancel: &Cancel, to: S) -> Result<S::Ok, S::Error> {
        Recorded { now: *cancel >= Cancel::Now, stop: Some(*cancel) }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cancel, D::Error> {
        let Recorded { now, stop } = Recorded::deserialize(from)?;
        let before = if now { Cancel::Kill } else { Cancel::Now };
        Ok(stop.unwrap_or(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Control {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_cancel_of_version_0_1_means_what_it_meant() {
        assert_eq!(read(r#"{"do":"cancel","now":false}"#), Control::Cancel(Cancel::Now));
        assert_eq!(read(r#"{"do":"cancel","now":true}"#), Control::Cancel(Cancel::Kill));
    }

    #[test]
    fn every_level_is_read_as_it_was_written() {
        for (cancel, word) in [
            (Cancel::AfterTask, "after_task"),
            (Cancel::AfterSession, "after_session"),
            (Cancel::Now, "now"),
            (Cancel::Kill, "kill"),
        ] {
            let text = serde_json::to_string(&Control::Cancel(cancel)).unwrap();
            assert!(text.contains(&format!(r#""stop":"{word}""#)), "{text}");
            assert_eq!(read(&text), Control::Cancel(cancel));
        }
    }

    #[test]
    fn ctrl_c_waits_for_the_session_then_interrupts_then_kills() {
        let first = Cancel::pressed(None);
        let second = Cancel::pressed(Some(first));
        let third = Cancel::pressed(Some(second));
        assert_eq!([first, second, third], [Cancel::AfterSession, Cancel::Now, Cancel::Kill]);
        assert_eq!(Cancel::pressed(Some(Cancel::AfterTask)), Cancel::AfterSession);
        assert_eq!(Cancel::pressed(Some(Cancel::Kill)), Cancel::Kill);
    }
}
