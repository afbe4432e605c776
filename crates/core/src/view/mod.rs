//! A run as users see it: [`RunView`] is the one fold for every display, [`mod@words`] has the sentences that every
//! display uses, [`next`] the commands to type after a run, [`Reporter`] is the trait of a display, [`NotificationRules`]
//! decides which events are worth a notification.
//! [`tries`] lists the attempts of a run, [`junit`] makes a report for CI of them.
//! [`stream`] is what displays read, [`live`] its fold, [`playback`] the pace of a replay, [`part`] selects an iteration.

pub mod forecast;
pub mod history;
pub mod junit;
pub mod live;
pub mod next;
mod notification_rules;
pub mod part;
pub mod playback;
pub mod report;
mod reporter;
mod run_view;
pub mod sessions;
mod slot_view;
pub mod stream;
pub mod tries;
pub mod words;

pub use notification_rules::{MAX_MESSAGE, Message, NotificationKind, NotificationRules};
pub use reporter::Reporter;
pub use run_view::{CommitView, EndedTask, QuestionView, RunPhase, RunView, SavedWork};
pub use slot_view::{Doing, SlotView, TaskView, ToolView, Waiting};
