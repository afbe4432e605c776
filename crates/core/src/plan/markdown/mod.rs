//! Plans that people keep as markdown: read without loss, changed byte by byte.
//!
//! A markdown plan stays its owner's file. [`read`] says where the tasks are; what ralph changes is
//! a list of [`Edit`]s that touch the bytes they must and no others. Text that nobody here
//! understands is never parsed and so never written.
//!
//! | file | owns |
//! |---|---|
//! | `outline.rs`, `scan.rs`, `line.rs` | lines of markdown: headings, list items, boxes, code that hides them |
//! | `mark.rs`, `table.rs` | what the mark in a box says, odd spellings; rows of tables that are tasks |
//! | `doc.rs` | [`PlanDoc`]: what all three kinds of plan come to |
//! | `items.rs` | boxes as items: titles, bodies, parents |
//! | `branches.rs`, `progress.rs`, `checklist.rs` | one kind of plan each |
//! | `edit.rs`, `sections.rs` | ticks, and what is written into a progress file |
//! | `identity.rs`, `likeness.rs` | which item is which known task after an edit |
//! | `printed.rs` | a progress file in what an agent said |
//! | `format.rs`, `write.rs`, `write_tasks.rs` | the three kinds for `ralph import` and `ralph export` |

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
mod outline;
mod printed;
mod progress;
mod scan;
mod sections;
mod table;
#[cfg(test)]
mod tests;
mod write;
mod write_tasks;

pub use doc::{Group, Item, Kind, PlanDoc, Standing, Stray, Warning, decode, read};
pub use edit::{Edit, EditError, apply, inverse};
pub(super) use format::Markdown;
pub use format::content_ids;
pub use identity::{Identified, Known, identify};
pub use mark::Mark;
pub use printed::{Printed, printed};
pub use progress::AttemptNote;
pub use sections::LogRow;
