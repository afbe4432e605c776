//! Protects files while gates run. A gate runs the work of a session, which could rewrite the files that the next
//! gate depends on. So protected files are read-only where the sandbox can enforce it, and compared after each gate
//! everywhere: a gate that changed one fails, and ralph restores the file.

use std::path::{Path, PathBuf};

use ralph_core::amounts::first_of;
use ralph_core::records::Verdict;

use super::command::Ran;
use crate::untrusted::Remembered;

/// How many of them a sandbox makes read-only, each by a mount of its own. More are only compared.
const READ_ONLY: usize = 200;
/// How much of them is kept, in bytes.
const KEPT: u64 = 64 << 20;
/// How many are named.
const NAMED: usize = 20;

/// The protected files in the place where gates run, as they were before.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    folder: PathBuf,
    files: Vec<(String, Remembered)>,
}

impl Guarded {
    pub(crate) fn of(folder: &Path, names: impl IntoIterator<Item = String>) -> Self {
        let mut left = KEPT;
        let mut files = Vec::new();
        for name in names {
            if let Some(file) = Remembered::of(folder, Path::new(&name), left) {
                left = left.saturating_sub(file.size());
                files.push((name, file));
            }
        }
        Self { folder: folder.to_owned(), files }
    }

    /// What a sandbox is to show read-only.
    pub(crate) fn read_only(&self) -> impl Iterator<Item = PathBuf> {
        let paths = self.files.iter().map(|(name, _)| self.folder.join(name));
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
        paths.filter(is_file).take(READ_ONLY)
    }

    /// Restores changed files. Returns the message about them, if any changed.
    fn put_back(&self) -> Option<String> {
        let changed: Vec<&(String, Remembered)> = self
            .files
            .iter()
            .filter(|(name, file)| !file.is_same(&self.folder, Path::new(name)))
            .collect();
        if changed.is_empty() {
            return None;
        }
        let mut lost = Vec::new();
        for (name, file) in &changed {
            if let Err(error) = file.put_back(&self.folder, Path::new(name)) {
                lost.push(format!("{name} could not be restored: {error}"));
            }
        }
        let named = first_of(changed.iter().map(|(name, _)| name), NAMED);
        let mut text = format!("this gate changed protected files: {named}");
        for lost in lost {
            text.push_str("; ");
            text.push_str(&lost);
        }
        Some(text)
    }

    /// Checks the result of a gate: it does not count if the gate changed a protected file.
    pub(crate) fn checked(&self, mut ran: Ran) -> Ran {
        if let Some(text) = self.put_back() {
            ran.report.verdict = Verdict::Fail;
            ran.note =
                Some(ran.note.map_or_else(|| text.clone(), |note| format!("{text}; {note}")));
            ran.report.digest = ran.noted(&ran.digest.text());
            ran.tampered = true;
        }
        ran
    }
}
