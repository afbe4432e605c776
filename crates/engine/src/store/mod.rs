//! Stores. What a store decides is written once, in `rules`, over a small `Table` of
//! look-ups and writes. SQLite is one such table; the tests have another, in memory.

mod rules;
pub mod sqlite;
pub mod table;

pub use rules::RuleStore;
pub use sqlite::SqliteStore;
