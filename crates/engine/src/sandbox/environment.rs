//! Looks variables up in an environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The value of a variable.
pub(super) fn value<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// The paths in a variable that is a list of them, such as `PATH`.
pub(super) fn paths(environment: &[(OsString, OsString)], name: &str) -> Vec<PathBuf> {
    value(environment, name).map(|list| std::env::split_paths(list).collect()).unwrap_or_default()
}

/// The folder that a variable names, or the usual one below the home.
pub(super) fn folder(
    environment: &[(OsString, OsString)],
    variable: &str,
    home: Option<&Path>,
    below: &str,
) -> Option<PathBuf> {
    let set = value(environment, variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(home?.join(below)))
}
