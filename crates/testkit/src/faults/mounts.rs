//! Rows that need mounts of their own: the program calls itself in a namespace where anybody may mount.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::tally::Tally;
use super::{Setting, row};

/// The row that a call is for.
const ROW: &str = "RALPH_FAULTS_ROW";
/// Where it leaves its figures.
const FIGURES: &str = "RALPH_FAULTS_FIGURES";
/// How it is run.
const SETTING: &str = "RALPH_FAULTS_SETTING";

/// Whether this process may mount: it is the call that `elsewhere` has made.
fn may_mount() -> bool {
    std::env::var_os(ROW).is_some()
}

/// Runs `body` where mounting is allowed. Says why it could not be tried where it is not.
pub(super) fn elsewhere(
    name: &str,
    setting: &Setting,
    body: impl FnOnce(&Setting) -> Tally,
) -> Tally {
    if may_mount() {
        return body(setting);
    }
    let mut tally = Tally::default();
    let works = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !works.is_ok_and(|status| status.success()) || setting.again.is_empty() {
        crate::skip(&format!("{name}: no user namespaces here"));
        tally.note("not tried: no user namespaces here");
        return tally;
    }
    let figures = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .args(&setting.again)
        .env(ROW, name)
        .env(FIGURES, figures.path())
        .env(SETTING, setting.to_json().to_string())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let text = std::fs::read_to_string(figures.path()).unwrap();
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if status.success() => tally = Tally::from_json(&value),
        _ => tally.complaints.push(format!("{name} could not be run in a namespace: {status}")),
    }
    tally
}

/// Runs the row that this call is for, if it is one that `elsewhere` has made.
///
/// # Panics
///
/// When the row cannot be run.
pub fn inside() -> bool {
    let Ok(name) = std::env::var(ROW) else { return false };
    let setting: Value = serde_json::from_str(&std::env::var(SETTING).unwrap()).unwrap();
    let tally = (row(&name).unwrap().run)(&Setting::from_json(&setting));
    std::fs::write(std::env::var_os(FIGURES).unwrap(), tally.to_json().to_string()).unwrap();
    true
}
