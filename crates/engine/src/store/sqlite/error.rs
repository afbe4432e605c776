//! Turns SQLite errors into errors of the store.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Error, ErrorCode};

use crate::ports::StoreError;

pub(super) fn named(path: &Path, waited: Duration, error: &Error) -> StoreError {
    let path = path.to_owned();
    let detail = match error {
        Error::SqliteFailure(code, message) => message.clone().unwrap_or_else(|| code.to_string()),
        other => other.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited }
        }
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::NotWritable { path, detail }
        }
        Some(ErrorCode::NotADatabase) => {
            StoreError::Foreign { path, what: "it is not a SQLite database".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, detail },
        _ => StoreError::Failed { path, detail },
    }
}
