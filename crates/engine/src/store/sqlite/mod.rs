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

use super::rules::RuleStore;
use crate::ports::Result;

pub type SqliteStore = RuleStore<SqliteTable>;

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

    /// A number that differs from the last one whenever another connection has changed something. It costs a look at the
    /// memory that connections share.
    pub fn data_version(&self) -> Result<u64> {
        self.table().data_version()
    }

    /// A store of its own in memory, with nothing in it.
    pub fn empty() -> Result<Self> {
        Ok(Self::over(SqliteTable::new(Path::new(":memory:"), open::empty()?)))
    }

    /// Opens the store for a look that must not take long: it waits for no other process, and a store of an older
    /// version, which would have to be migrated, counts as none.
    pub fn glance(path: &Path) -> Result<Option<Self>> {
        Ok(open::glance(path)?.map(|opened| Self::over(SqliteTable::new(path, opened))))
    }
}

/// The log beside the store, which changes with every write.
pub(crate) fn wal_of(path: &Path) -> std::path::PathBuf {
    open::beside(path, "-wal")
}

#[cfg(test)]
mod tests {
    use ralph_core::task::{Actor, NewTask};
    use ralph_core::text::Title;
    use ralph_core::{AgentId, TaskId, Timestamp};

    use super::*;
    use crate::clock::Stopwatch;
    use crate::ports::{Filter, Store};

    #[test]
    fn a_glance_waits_for_nobody_and_creates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/progress.db");
        assert!(SqliteStore::glance(&path).unwrap().is_none());
        assert!(!folder.path().join("state").exists());
        let mut store = SqliteStore::open(&path).unwrap();
        let user = Actor::User(AgentId::new("ada").unwrap());
        let task = NewTask::titled(Title::new("Write it").unwrap());
        store.add(TaskId::new("a").unwrap(), task, &user, Timestamp::from_millis(0)).unwrap();
        let mut glance = SqliteStore::glance(&path).unwrap().unwrap();
        assert_eq!(glance.list(&Filter::default()).unwrap().len(), 1);
        drop((store, glance));
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
        let waited = Stopwatch::start();
        assert!(SqliteStore::glance(&path).is_err());
        assert!(waited.elapsed().as_secs() < 15, "others wait for a minute and a half");
    }
}
