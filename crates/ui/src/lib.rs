//! What people and programs see. Everything here turns values of `ralph-core` into text; nothing
//! here opens, asks or changes anything.
//!
//! | module | owns |
//! |---|---|
//! | [`tasks`] | tasks as a table, a tree, a page, markdown-KV and JSON |
//! | [`style`] | colours by meaning |
//! | [`columns`] | aligned text, cut to the width of the terminal |

pub mod columns;
pub mod style;
pub mod tasks;
