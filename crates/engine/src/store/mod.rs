//! Stores. What a store decides is written once, in `rules`, over a small `Table` of
//! look-ups and writes; SQLite and the in-memory store differ only in their tables.

mod memory;
mod rules;
pub mod sqlite;
mod table;

pub use memory::MemoryStore;
pub use sqlite::SqliteStore;
