//! Opens the database: checks that it is ralph's, undamaged and of a known schema, and handles other writers.

use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::named;
use super::foreign::{check_files, check_schema};
use super::schema::{APPLICATION_ID, MIGRATIONS, VERSION};
use crate::clock::Stopwatch;
use crate::ports::{Result, StoreError};

/// How long a write waits for other processes before it gives up.
const PATIENCE: Duration = Duration::from_secs(90);
/// After this long, ralph says that it is waiting.
const SAY_SO_AFTER: Duration = Duration::from_secs(2);
/// A write-ahead log of more bytes than this is folded into the database by the last writer that closes it. The
/// next process reads the whole log, so a small one keeps every start fast; folding costs two syncs, so it is
/// not done each time.
const LARGE_LOG: u64 = 256 << 10;

/// Called once when a write has waited for a while.
static ON_WAIT: OnceLock<fn()> = OnceLock::new();

thread_local! {
    static WAITING: Cell<Option<(Stopwatch, bool)>> = const { Cell::new(None) };
    /// Whether this thread waits for other processes at all.
    static PATIENT: Cell<bool> = const { Cell::new(true) };
}

/// Sets what happens when a write has to wait for another process for two seconds.
pub fn on_wait(report: fn()) {
    let _ = ON_WAIT.set(report);
}

pub(super) fn waited() -> Duration {
    WAITING.get().map_or(Duration::ZERO, |(since, _)| since.elapsed())
}

/// SQLite asks again and again while another process writes. Its own handler sleeps up to 100 ms at a
/// time, so with many writers some wait for seconds; short, uneven sleeps are fair enough.
#[expect(clippy::disallowed_methods, reason = "SQLite offers no event to wait for here")]
fn busy(times: i32) -> bool {
    if !PATIENT.get() {
        return false;
    }
    if times == 0 {
        WAITING.set(Some((Stopwatch::start(), false)));
    }
    let Some((since, reported)) = WAITING.get() else {
        return false;
    };
    if !reported && since.elapsed() >= SAY_SO_AFTER {
        WAITING.set(Some((since, true)));
        if let Some(report) = ON_WAIT.get() {
            report();
        }
    }
    let uneven = u64::from(std::process::id().wrapping_mul(0x9e37_79b9) >> 22)
        + u64::from(times as u32 * 37 % 64);
    let longest = if since.elapsed() < SAY_SO_AFTER { 6_000 } else { 50_000 };
    let micros = (200 * (times as u64 + 1) + uneven).min(longest + uneven);
    std::thread::sleep(Duration::from_micros(micros));
    since.elapsed() < PATIENCE
}

/// Tries again while another process is in the way, for the few steps in which SQLite reports that at
/// once instead of asking [`busy`]: above all when two processes turn the same new file to WAL.
fn retry_while_locked<R>(
    mut work: impl FnMut() -> rusqlite::Result<R>,
) -> std::result::Result<R, rusqlite::Error> {
    let mut times = 0;
    loop {
        match work() {
            Err(error) if is_busy(&error) && busy(times) => times += 1,
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Marks on disk that a process writes, so that the next one knows when a writer was interrupted.
///
/// Every writer holds the file's lock, shared. A process that finds no other writer and the mark still set
/// knows that the last writer did not close the database.
pub(super) struct Guard(File);

/// How often the lock is asked for before we sleep.
const YIELDS: u32 = 50;
const WRITING: &[u8] = b"1";
const LEFT: &[u8] = b"0";

impl Guard {
    fn enter(path: &Path) -> io::Result<(Self, bool)> {
        let file = crate::untrusted::open_lock(path)?;
        let cut_off = match file.try_lock() {
            Ok(()) => {
                let mut mark = [0];
                let read = file.read_at(&mut mark, 0)?;
                read == 1 && mark == WRITING
            }
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        Self::share(&file)?;
        file.write_all_at(WRITING, 0)?;
        Ok((Self(file), cut_off))
    }

    /// Takes the lock, shared. Others have it for themselves only for a moment, unless they were stopped in
    /// that moment: then this waits as long as it waits for the database.
    fn share(file: &File) -> io::Result<()> {
        for _ in 0..YIELDS {
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
        let mut times = 0;
        loop {
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) if busy(times) => times += 1,
                Err(error) => return Err(error.into()),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Whether no other process writes; then none can start before this one is dropped.
    pub(super) fn is_alone(&self) -> bool {
        self.0.try_lock().is_ok()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.is_alone() {
            // Failing to leave a mark costs the next process a check, nothing more.
            let _ = self.0.write_all_at(LEFT, 0);
        }
    }
}

pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) guard: Option<Guard>,
}

/// Opens for writing; makes the database when there is none.
pub(super) fn writer(path: &Path) -> Result<Opened> {
    let fail = |error: &io::Error| io_failure(path, error);
    check_files(path)?;
    if !path.exists() {
        create_private(path).map_err(|error| fail(&error))?;
    }
    let (guard, cut_off) =
        Guard::enter(&beside(path, "-lock")).map_err(|error| io_failure(path, &error))?;
    let connection = connect(path)?;
    let found = identify(path, &connection)?;
    if cut_off && found.is_some() {
        check_whole(path, &connection)?;
    }
    migrate(path, &connection, found.unwrap_or(0))?;
    Ok(Opened { connection, guard: Some(guard) })
}

pub(super) fn reader(path: &Path) -> Result<Option<Opened>> {
    match existing(path)? {
        Some((opened, version)) if version < VERSION => {
            drop(opened);
            writer(path).map(Some)
        }
        found => Ok(found.map(|(opened, _)| opened)),
    }
}

/// The database and the version of its schema.
fn existing(path: &Path) -> Result<Option<(Opened, i64)>> {
    check_files(path)?;
    if !path.exists() {
        return Ok(None);
    }
    let connection = connect(path)?;
    let version = identify(path, &connection)?;
    Ok(version.map(|version| (Opened { connection, guard: None }, version)))
}

/// Opens for reading without waiting; from now on this thread waits for no other process. `None` when there is no
/// database of this version.
pub(super) fn glance(path: &Path) -> Result<Option<Opened>> {
    PATIENT.set(false);
    Ok(existing(path)?.filter(|(_, version)| *version == VERSION).map(|(opened, _)| opened))
}

/// Makes one in memory.
pub(super) fn empty() -> Result<Opened> {
    let path = Path::new(":memory:");
    let connection = connect(path)?;
    let made = connection.execute_batch(&MIGRATIONS.concat());
    made.map_err(|error| named(path, Duration::ZERO, &error))?;
    Ok(Opened { connection, guard: None })
}

fn connect(path: &Path) -> Result<Connection> {
    let fail = |error: rusqlite::Error| named(path, Duration::ZERO, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.busy_handler(Some(busy)).map_err(fail)?;
    // More than there are statements: an import runs a dozen of them for each of its lines.
    connection.set_prepared_statement_cache_capacity(128);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).map_err(fail)?;
    // Folding the log in when the last process leaves would cost every command two syncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    // Without this a statement is compiled again whenever its values change, because a value may decide
    // whether a partial index fits. Ours fit whatever the values are.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fail)?;
    // A file made by another program must not run code in here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false).map_err(fail)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(fail)?;
    Ok(connection)
}

/// The schema version of a database of ralph's; `None` for an empty file; an error for anything else.
fn identify(path: &Path, connection: &Connection) -> Result<Option<i64>> {
    let fail = |error: rusqlite::Error| named(path, waited(), &error);
    let number = |text: &str| {
        retry_while_locked(|| connection.query_row(text, [], |row| row.get::<_, i64>(0)))
    };
    let application = number("PRAGMA application_id").map_err(fail)?;
    let version = number("PRAGMA user_version").map_err(fail)?;
    if application == APPLICATION_ID {
        if version > VERSION {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                found: version,
                known: VERSION,
            });
        }
        return match check_schema(path, connection, version) {
            Ok(()) => Ok(Some(version)),
            // Another process may have migrated it between the two looks.
            Err(_) if number("PRAGMA user_version").map_err(fail)? != version => {
                identify(path, connection)
            }
            Err(error) => Err(error),
        };
    }
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(fail)?;
    if tables == 0 && application == 0 {
        return Ok(None);
    }
    // Another process may have made the store between the first look and the last.
    if number("PRAGMA application_id").map_err(fail)? == APPLICATION_ID {
        return identify(path, connection);
    }
    let what = "it is a database of another program".to_owned();
    Err(StoreError::Foreign { path: path.to_owned(), what })
}

fn migrate(path: &Path, connection: &Connection, found: i64) -> Result<()> {
    if found == VERSION {
        return Ok(());
    }
    let fail = |error: rusqlite::Error| named(path, waited(), &error);
    let turn = "PRAGMA journal_mode = WAL";
    let mode: String =
        retry_while_locked(|| connection.query_row(turn, [], |row| row.get(0))).map_err(fail)?;
    if !mode.eq_ignore_ascii_case("wal") {
        let detail = format!("this file system does not support the journal mode WAL, only {mode}");
        return Err(StoreError::Failed { path: path.to_owned(), detail });
    }
    retry_while_locked(|| connection.execute_batch("BEGIN IMMEDIATE")).map_err(fail)?;
    // Another process may have been faster.
    let found = identify(path, connection)?.unwrap_or(0);
    let mut script =
        MIGRATIONS.get(usize::try_from(found).unwrap_or(0)..).unwrap_or_default().concat();
    script.push_str(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
    ));
    connection.execute_batch(&script).map_err(fail)
}

/// Looks through every page.
pub(super) fn check_whole(path: &Path, connection: &Connection) -> Result<()> {
    let fail = |error: rusqlite::Error| named(path, waited(), &error);
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(fail)?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: path.to_owned(), detail: found })
}

/// Folds a log that has grown large into the database and empties it. A reader in
/// the way is not a failure: the next writer that leaves tries again.
pub(super) fn shrink_log(path: &Path, connection: &Connection) {
    let log = std::fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len());
    if log > LARGE_LOG {
        let _ = connection.busy_timeout(Duration::ZERO);
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

fn create_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        crate::project::private_folder(folder)?;
    }
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match new {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn io_failure(path: &Path, error: &io::Error) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull { path },
        io::ErrorKind::WouldBlock => StoreError::Locked { path, waited: waited() },
        _ => StoreError::NotWritable { path, detail: error.to_string() },
    }
}
