//! A run as users see it: [`RunView`] is the one fold for every display, [`mod@words`] has the sentences that every
//! display uses, [`Condition`] the state of a run, [`next`] the commands to type after a run, [`Reporter`] is the trait of
//! a display, [`NotificationRules`] decides which events are worth a notification.
//! [`stream`] is what displays read, [`live`] its fold, [`totals`] the sum over its runs, [`playback`] the pace of a replay,
//! [`part`] selects an iteration. [`tries`] lists the attempts of a run, [`junit`] makes a report for CI of them.
//! [`plan_graph`] lays out the plan as a drawing.

mod condition;
pub mod forecast;
pub mod history;
pub mod junit;
pub mod live;
pub mod next;
mod notification_rules;
pub mod part;
pub mod plan_graph;
pub mod playback;
pub mod report;
mod reporter;
mod run_view;
pub mod sessions;
mod slot_view;
pub mod stream;
pub mod totals;
pub mod tries;
pub mod words;

pub use condition::Condition;
pub use notification_rules::{MAX_MESSAGE, Message, NotificationKind, NotificationRules};
pub use reporter::{Reporter, show};
pub use run_view::{CommitView, EndedTask, QuestionView, RunPhase, RunView, SavedWork};
pub use slot_view::{Doing, SlotView, TaskView, ToolView, Waiting};
