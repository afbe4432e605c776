//! What a person may tell a running loop.

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// A wish of a person, from the keyboard, the terminal next door or a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Control {
    /// Start nothing new; what runs may end.
    Pause,
    /// Go on.
    Resume,
    /// Stop the run.
    Cancel {
        /// At once: what runs is killed. Otherwise it is interrupted and may finish.
        now: bool,
    },
    /// Leave this task to a person; its session is ended.
    Skip {
        /// The task.
        task: TaskId,
    },
    /// Take this task up again from a clean slate.
    Retry {
        /// The task.
        task: TaskId,
    },
}
