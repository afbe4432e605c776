//! Tasks, in every form in which they are shown.

mod attempts;
mod json;
mod kv;
mod page;
mod table;
mod tree;

pub use json::{Details, claim_json, details, peek_json, task_json};
pub use kv::{Kv, markdown_kv};
pub use page::{log_line, page};
pub use table::table;
pub use tree::tree;
