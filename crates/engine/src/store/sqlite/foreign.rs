//! Checks that ralph alone created a task database. A repository that came from elsewhere can contain one, and its
//! schema would run inside every change that ralph makes: a trigger can turn a failure into a success.
//!
//! So each file must be a regular one, no rollback journal may name another file, and the schema must be exactly
//! what the migrations make.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;

use super::error::named;
use super::open::{beside, waited};
use super::schema::{CURRENT, MIGRATIONS, VERSION};
use crate::ports::{Result, StoreError};
use crate::untrusted::{BESIDE, open_own, refuse_irregular};

/// How a rollback journal ends that names a super-journal, and begins.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Every entry of a schema, in an order of its own, but for the figures that `ANALYZE` keeps: they decide how fast a
/// query is and nothing else.
const ENTRIES: &str = "SELECT type || ' ' || name, tbl_name, sql FROM sqlite_schema
    WHERE sql IS NULL OR sql NOT IN ('CREATE TABLE sqlite_stat1(tbl,idx,stat)',
        'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)')
    ORDER BY 1";

/// Refuses links, pipes and folders in place of the database and the files that SQLite keeps beside it.
pub(super) fn check_files(path: &Path) -> Result<()> {
    let beside = BESIDE.into_iter().map(|ending| beside(path, ending));
    for file in std::iter::once(path.to_owned()).chain(beside) {
        refuse_irregular(&file).map_err(|error| foreign(&file, error.to_string()))?;
    }
    check_journal(path)
}

/// Refuses a journal that names a super-journal: SQLite would delete the file of that name, wherever it is. Ours
/// never does, for ralph attaches no second database.
fn check_journal(path: &Path) -> Result<()> {
    let journal = beside(path, "-journal");
    let Ok(file) = open_own(&journal, OpenOptions::new().read(true)) else { return Ok(()) };
    let mut end = [0; 8];
    let length = file.metadata().map_or(0, |found| found.len());
    let ends = length >= 8 && file.read_exact_at(&mut end, length - 8).is_ok();
    match ends && end == JOURNAL_MAGIC {
        true => Err(foreign(&journal, "it names another file for SQLite to delete".to_owned())),
        false => Ok(()),
    }
}

/// Compares the schema with the one that the migrations make up to `version`.
pub(super) fn check_schema(path: &Path, connection: &Connection, version: i64) -> Result<()> {
    let fail = |error: rusqlite::Error| named(path, waited(), &error);
    let found = entries(connection).map_err(fail)?;
    if version == VERSION && found.iter().map(Entry::text).eq(CURRENT.split_terminator(END)) {
        return Ok(());
    }
    let made = usize::try_from(version).unwrap_or(0);
    let expected = migrated(made).and_then(|fresh| entries(&fresh)).map_err(fail)?;
    let is_ours = |entry: &&Entry| expected.contains(entry);
    match found.iter().find(|entry| !is_ours(entry)) {
        Some(entry) => Err(foreign(path, format!("ralph did not create its {}", entry.name))),
        None if found.len() != expected.len() => {
            let is_missing = |entry: &&Entry| !found.contains(entry);
            let missing = expected.iter().find(is_missing).map_or("schema", |entry| &entry.name);
            Err(foreign(path, format!("it has no {missing}")))
        }
        None => Ok(()),
    }
}

fn migrated(count: usize) -> rusqlite::Result<Connection> {
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(&MIGRATIONS.iter().take(count).copied().collect::<String>())?;
    Ok(fresh)
}

/// Between the entries of [`CURRENT`].
const END: &str = "\n--\n";

/// A table, an index, or what does not belong there.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    table: String,
    sql: Option<String>,
}

impl Entry {
    fn text(&self) -> String {
        let Self { name, table, sql } = self;
        format!("{name} of {table}\n{}", sql.as_deref().unwrap_or("-"))
    }
}

fn entries(connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
    let mut statement = connection.prepare(ENTRIES)?;
    let entry = |row: &rusqlite::Row<'_>| {
        Ok(Entry { name: row.get(0)?, table: row.get(1)?, sql: row.get(2)? })
    };
    statement.query_map([], entry)?.collect()
}

fn foreign(path: &Path, what: String) -> StoreError {
    StoreError::Foreign { path: path.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::super::schema::APPLICATION_ID;
    use super::super::{SqliteStore, open};
    use super::*;

    struct ScratchDatabase {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    /// A database that ralph has made.
    fn ours() -> ScratchDatabase {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        drop(SqliteStore::open(&path).unwrap());
        ScratchDatabase { _folder: folder, path }
    }

    #[track_caller]
    fn refused(path: &Path) -> String {
        let output = SqliteStore::open(path).err().expect("it is opened for writing").to_string();
        let looked = SqliteStore::open_existing(path).err().expect("it is opened for reading");
        assert_eq!(output, looked.to_string());
        assert!(output.contains("is not a task database of ralph"), "{output}");
        output
    }

    #[test]
    fn the_text_of_the_schema_is_what_the_migrations_make() {
        let fresh = migrated(MIGRATIONS.len()).unwrap();
        let text = |entry: Entry| entry.text() + END;
        let made: String = entries(&fresh).unwrap().into_iter().map(text).collect();
        assert_eq!(made, CURRENT, "store/sqlite/schema.txt is the left one from now on");
    }

    #[test]
    fn an_analyzed_database_is_still_ours() {
        let place = ours();
        let connection = Connection::open(&place.path).unwrap();
        connection.execute_batch("ANALYZE").unwrap();
        let kept = entries(&connection).unwrap().len();
        let all = "SELECT count(*) FROM sqlite_schema";
        let all: i64 = connection.query_row(all, [], |row| row.get(0)).unwrap();
        assert!(i64::try_from(kept).unwrap() < all, "ANALYZE made nothing");
        drop(connection);
        drop(SqliteStore::open(&place.path).unwrap());
    }

    #[test]
    fn a_schema_that_says_more_or_less_than_ours_is_refused() {
        let trigger = "CREATE TRIGGER t AFTER UPDATE ON tasks
            BEGIN UPDATE tasks SET status = 'done' WHERE seq = new.seq; END";
        let edited = "PRAGMA writable_schema = ON; UPDATE sqlite_schema
            SET sql = replace(sql, 'DEFAULT ''''', 'DEFAULT (hex(randomblob(9)))')
            WHERE name = 'tasks'";
        for (planted, what) in [
            (trigger, "trigger t"),
            ("CREATE VIEW done AS SELECT * FROM tasks", "view done"),
            ("CREATE TABLE other (a)", "table other"),
            ("CREATE INDEX more ON tasks (abs(priority))", "index more"),
            ("CREATE VIRTUAL TABLE v USING fts5(a)", "table v"),
            ("ALTER TABLE tasks ADD COLUMN g INTEGER AS (abs(seq))", "table tasks"),
            ("ALTER TABLE tasks ADD COLUMN h INTEGER CHECK (abs(h) > 0)", "table tasks"),
            ("DROP INDEX tasks_ready", "no index tasks_ready"),
            (edited, "table tasks"),
        ] {
            let place = ours();
            let planter = Connection::open(&place.path).unwrap();
            planter.execute_batch(planted).unwrap_or_else(|error| panic!("{planted}: {error}"));
            drop(planter);
            let output = refused(&place.path);
            assert!(output.contains(what), "{planted}: {output}");
        }
    }

    #[test]
    fn a_database_of_an_older_ralph_is_taken_up_and_one_that_was_changed_is_not() {
        for (planted, is_ours) in [("", true), ("CREATE VIEW done AS SELECT 1", false)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("progress.db");
            let older = Connection::open(&path).unwrap();
            let first = MIGRATIONS[0];
            let script = format!(
                "PRAGMA journal_mode = WAL; {first} {planted};
                 PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;"
            );
            older.execute_batch(&script).unwrap();
            drop(older);
            let opened = open::writer(&path);
            assert_eq!(opened.is_ok(), is_ours, "{:?}", opened.err());
        }
    }

    #[test]
    fn no_link_and_no_journal_that_names_another_file_is_opened() {
        for ending in ["", "-wal", "-shm", "-journal", "-lock"] {
            let place = ours();
            let file = beside(&place.path, ending);
            let elsewhere = place.path.with_file_name("elsewhere");
            let _ = std::fs::rename(&file, &elsewhere);
            symlink(&elsewhere, &file).unwrap();
            let output = refused(&place.path);
            assert!(output.contains("symbolic link"), "{output}");
        }
        let place = ours();
        let journal = beside(&place.path, "-journal");
        let names_another = [&[0; 512][..], b"/home/precious", &[0; 8], &JOURNAL_MAGIC].concat();
        std::fs::write(&journal, names_another).unwrap();
        assert!(refused(&place.path).contains("another file"));
        // What a crash leaves is rolled back, as ever.
        std::fs::write(&journal, [0; 512]).unwrap();
        SqliteStore::open(&place.path).unwrap();
    }
}
