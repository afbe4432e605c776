//! A run as people see it: [`RunView`] is the one fold for every display, [`words`] are the sentences
//! that every display uses, [`Reporter`] is what a display is, [`Herald`] says what is worth telling
//! somebody who looks at none.

pub mod forecast;
mod herald;
mod next;
pub mod report;
mod reporter;
mod run_view;
pub mod sessions;
mod slot_view;
pub mod words;

pub use herald::{Herald, MAX_MESSAGE, Message, Occasion};
pub use reporter::Reporter;
pub use run_view::{CommitView, EndedTask, QuestionView, RunView, SavedWork};
pub use slot_view::{Doing, SlotView, TaskView, Waiting};
