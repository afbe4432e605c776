//! What ralph remembers of published branches between runs: how far each was pushed, and what it could not publish.
//! The files are in the user's state folder, out of reach of sessions at level full.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::stable_hash::stable_hash;
use serde::{Deserialize, Serialize};

use crate::project::write_privately;
use crate::untrusted;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PublishRecord {
    pub branch: String,
    /// The last commit of it that the remote accepted; empty where there was none.
    #[serde(default)]
    pub pushed: String,
    /// Where the run took its tasks from: how the task database names the plan; empty for all of it.
    #[serde(default)]
    pub plan: String,
    #[serde(default)]
    pub base: String,
    /// What it is for; may be empty.
    #[serde(default)]
    pub goal: String,
    pub pending: Option<Pending>,
    #[serde(default)]
    pub review: ReviewRecord,
}

/// The work that failed checks and comments of a pull request led to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRecord {
    pub number: u64,
    pub rounds: u32,
    /// What became work in them.
    pub seen: Vec<String>,
}

impl ReviewRecord {
    /// The most findings that are remembered.
    const MOST: usize = 1_000;

    #[must_use]
    pub fn of(self, number: u64) -> Self {
        match self.number == number {
            true => self,
            false => Self { number, ..Self::default() },
        }
    }

    /// One round more, about these.
    #[must_use]
    pub fn after(mut self, found: impl IntoIterator<Item = String>) -> Self {
        self.rounds += 1;
        self.seen.extend(found);
        self.seen.drain(..self.seen.len().saturating_sub(Self::MOST));
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishRecords {
    folder: Option<PathBuf>,
}

impl PublishRecords {
    /// Those below the folder of a repository in the user's state folder; none for a user without one.
    pub fn of(state: Option<&Path>) -> Self {
        Self { folder: state.map(|state| state.join("publish")) }
    }

    pub const fn are_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// The record of a branch; an empty one if its file cannot be read.
    pub fn read(&self, branch: &str) -> PublishRecord {
        let blank = || PublishRecord { branch: branch.to_owned(), ..PublishRecord::default() };
        let Some(file) = self.file(branch) else { return blank() };
        read(&file).filter(|record| record.branch == branch).unwrap_or_else(blank)
    }

    /// Every branch that could not be published, by name.
    pub fn pending(&self) -> Vec<PublishRecord> {
        let Some(folder) = &self.folder else { return vec![] };
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let files = files.map(|entry| entry.path());
        let records = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
        let mut pending: Vec<PublishRecord> =
            records.filter_map(|path| read(&path)).filter(|one| one.pending.is_some()).collect();
        pending.sort_by(|one, other| one.branch.cmp(&other.branch));
        pending
    }

    /// Writes a record; for a user without a state folder nothing is kept.
    pub fn write(&self, record: &PublishRecord) -> io::Result<()> {
        let Some(file) = self.file(&record.branch) else { return Ok(()) };
        let text = toml::to_string(record).map_err(io::Error::other)?;
        write_privately(&file, &text)
    }

    pub fn forget(&self, branch: &str) -> io::Result<()> {
        let Some(file) = self.file(branch) else { return Ok(()) };
        untrusted::if_there(std::fs::remove_file(file)).map(drop)
    }

    /// One file for each branch: any name is one on every disk.
    fn file(&self, branch: &str) -> Option<PathBuf> {
        let name = format!("{:016x}.toml", stable_hash(branch.bytes()));
        self.folder.as_ref().map(|folder| folder.join(name))
    }
}

fn read(path: &Path) -> Option<PublishRecord> {
    let bytes = untrusted::read_own(path, untrusted::SMALL).ok()?;
    toml::from_str(&String::from_utf8(bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_outlives_the_run_and_unreadable_ones_know_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let records = PublishRecords::of(Some(folder.path()));
        assert_eq!(records.pending(), []);
        let mut record = records.read("fix/ü");
        assert_eq!((record.branch.as_str(), record.pushed.as_str()), ("fix/ü", ""));
        record.pushed = "c".repeat(40);
        records.write(&record).unwrap();
        assert_eq!((records.read("fix/ü"), records.pending()), (record.clone(), vec![]));
        record.pending = Some(Pending { why: "it \"broke\"\nhere".to_owned() });
        records.write(&record).unwrap();
        assert_eq!(records.pending(), [record]);
        let file =
            std::fs::read_dir(folder.path().join("publish")).unwrap().next().unwrap().unwrap();
        std::fs::write(file.path(), "branch = ").unwrap();
        assert_eq!(records.read("fix/ü").pushed, "");
        records.forget("fix/ü").unwrap();
        records.forget("fix/ü").unwrap();
        assert_eq!(records.pending(), []);
    }

    #[test]
    fn without_a_state_folder_nothing_is_kept_and_nothing_fails() {
        let records = PublishRecords::of(None);
        records.write(&records.read("x")).unwrap();
        records.forget("x").unwrap();
        assert_eq!(records.pending(), []);
    }
}
