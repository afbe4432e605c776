//! Markdown plans: read without loss, changed byte by byte.
//!
//! A markdown plan stays the user's file. [`read`] says where the tasks are; what ralph changes is
//! a list of [`Edit`]s that touch the bytes they must and no others. Text that is not part of a task is
//! never parsed and so never written.
//!
//! | file | owns |
//! |---|---|
//! | `outline.rs`, `scan.rs`, `line.rs` | lines of markdown: headings, list items, checkboxes, code that hides them |
//! | `mark.rs`, `table.rs` | what the mark in a checkbox means, odd spellings; rows of tables that are tasks |
//! | `doc.rs` | [`PlanDoc`]: the common form of all three kinds of plan |
//! | `items.rs` | checkboxes as items: titles, bodies, parents |
//! | `branches.rs`, `progress.rs`, `checklist.rs` | one kind of plan each |
//! | `edit.rs`, `sections.rs` | ticks, and what is written into a progress file |
//! | `identity.rs`, `likeness.rs` | which item is which known task after an edit |
//! | `printed.rs` | a progress file in what an agent said |
//! | `format.rs`, `write.rs`, `write_tasks.rs` | the three kinds for `ralph import` and `ralph export` |
//! | `spec_kit.rs`, `openspec.rs` | checklists with numbers that spec-kit and OpenSpec write, for `ralph import` |

mod branches;
mod checklist;
mod doc;
mod edit;
mod format;
mod identity;
mod items;
mod likeness;
mod line;
mod mark;
pub(super) mod openspec;
mod outline;
mod printed;
mod progress;
mod scan;
mod sections;
pub(super) mod spec_kit;
mod table;
#[cfg(test)]
mod tests;
mod write;
mod write_tasks;

pub use doc::{Group, Item, ItemState, PlanDoc, PlanKind, Stray, Warning, decode, read};
pub use edit::{Edit, EditError, apply, inverse};
pub use format::content_ids;
pub(super) use format::{parse, recognizes, words_id};
pub use identity::{Identified, Known, identify};
pub(crate) use line::Fence;
pub use mark::Mark;
pub use printed::{Printed, printed};
pub use progress::AttemptNote;
pub use sections::LogRow;
pub(super) use write::render;
