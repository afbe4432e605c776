//! Tasks, in every form in which they are shown.

mod attempts;
mod chain;
mod json;
mod kv;
mod page;
mod table;
mod tree;

pub use chain::{Chain, chain};
pub use json::{Details, chain_json, claim_json, details, peek_json, task_json};
pub use kv::{Kv, markdown_kv};
pub use page::{log_line, page};
pub use table::table;
pub use tree::tree;
