//! The store on SQLite: one file in WAL mode that many processes use at once.

mod error;
mod foreign;
mod open;
mod records;
mod rows;
mod schema;
mod scope;
mod table;

use std::path::Path;

pub use open::on_wait;
pub use table::SqliteTable;

use super::ruled::Ruled;
use crate::ports::Result;

/// A store in a file.
pub type SqliteStore = Ruled<SqliteTable>;

impl SqliteStore {
    /// Opens the store for reading and writing, and makes it when there is none. After a writer was
    /// cut off (a crash, a `kill -9`, a power cut) the whole file is checked first.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self::over(SqliteTable::new(path, open::writer(path)?)))
    }

    /// Opens the store for looking only; `None` when there is none. Works in a folder that may not be
    /// written, as long as SQLite can read the file there.
    pub fn open_existing(path: &Path) -> Result<Option<Self>> {
        Ok(open::reader(path)?.map(|opened| Self::over(SqliteTable::new(path, opened))))
    }
}

/// The log beside the store, which changes with every write.
pub(crate) fn wal_of(path: &Path) -> std::path::PathBuf {
    open::beside(path, "-wal")
}
