//! A run as people see it: [`RunView`] is the one fold for every display, [`words`] are the sentences
//! that every display uses, [`Reporter`] is what a display is.

mod reporter;
mod run_view;
mod slot_view;
pub mod words;

pub use reporter::Reporter;
pub use run_view::{CommitView, EndedTask, QuestionView, RunView, SavedWork};
pub use slot_view::{Doing, SlotView, TaskView, Waiting};
