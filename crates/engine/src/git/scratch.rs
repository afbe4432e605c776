//! A temporary index, to write trees and check out files without touching the user's index.

use std::fs::{File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

use super::entries::{Change, Entry, RAW, RepoPath, index_info, parse_changes};
use super::folders::gone;
use super::{Git, GitError, GitResult};
use crate::process::{project_key, runs};

/// What `git status` says of an index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survey {
    /// It differs from the commit.
    pub(crate) staged: bool,
    /// It, or the worktree, differs from the commit.
    pub(crate) changed: bool,
}

impl Survey {
    /// Anything may be changed.
    pub(crate) const UNKNOWN: Self = Self { staged: true, changed: true };
}

/// An index of ralph's own. It is removed with its folder.
pub(crate) struct Scratch<'a> {
    worktree: &'a Path,
    index: PathBuf,
    /// `None` for one that is not ours to remove.
    folder: Option<tempfile::TempDir>,
}

impl<'a> Scratch<'a> {
    pub(crate) fn empty(worktree: &'a Path) -> GitResult<Self> {
        let prefix = format!("{}{}-", prefix(worktree), std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir();
        let folder =
            folder.map_err(|source| GitError::File { path: "temporary".into(), source })?;
        Ok(Self { worktree, index: folder.path().join("index"), folder: Some(folder) })
    }

    /// An index that stays.
    pub(crate) fn at(worktree: &'a Path, index: &Path) -> Self {
        Self { worktree, index: index.to_owned(), folder: None }
    }

    /// The folder that it is in, for a sandbox.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(self.worktree, tempfile::TempDir::path)
    }

    /// A copy of the user's index: what git knows about unchanged files saves reading them again.
    pub(crate) fn copy_of(worktree: &'a Path, index: &Path) -> GitResult<Self> {
        let scratch = Self::empty(worktree)?;
        // A repository in which nothing was ever added has no index.
        gone(copy_with_time(index, &scratch.path()))
            .map_err(|source| GitError::File { path: index.to_owned(), source })?;
        Ok(scratch)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.index.clone()
    }

    pub(crate) fn git<'b>(&self, arguments: &[&'b str]) -> Git<'b> {
        Git::scratch(self.worktree, &self.path(), arguments)
    }

    /// Whether the index and the worktree are as `head`, which is checked out. One process, which writes nothing.
    pub(crate) fn survey(&self, head: Option<&str>) -> GitResult<Survey> {
        let Some(head) = head else { return Ok(Survey::UNKNOWN) };
        let arguments = [
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
            "--untracked-files=normal",
            // To look for changes inside a submodule, git would run what that repository says.
            "--ignore-submodules=dirty",
        ];
        let printed = self.git(&arguments).run()?;
        let mut survey = Survey { staged: false, changed: false };
        let mut compared = None;
        for record in printed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            match record {
                [b'#', ..] => compared = compared.or(record.strip_prefix(b"# branch.oid ")),
                [b'?', ..] => survey.changed = true,
                // Of an ordinary change, the first letter is about the index.
                [b'1', b' ', b'.', ..] => survey.changed = true,
                _ => return Ok(Survey::UNKNOWN),
            }
        }
        // Another process may have moved HEAD.
        Ok(if compared == Some(head.as_bytes()) { survey } else { Survey::UNKNOWN })
    }

    /// Sets the index to exactly the commit overlaid by the worktree, and returns what could not be added.
    /// Ignored files stay out, unless the commit has them.
    pub(crate) fn overlay(&self, head: Option<&str>, survey: Survey) -> GitResult<Vec<String>> {
        match head {
            Some(head) if survey.staged => self.reset_to(head)?,
            Some(_) => {}
            None => {
                self.git(&["read-tree", "--empty"]).run()?;
            }
        }
        let add = || self.git(&["add", "-A", "--ignore-errors", "--sparse"]).run();
        let mut added = add();
        for _ in 0..VANISHED {
            match &added {
                Err(GitError::Failed { message, .. }) if message.contains("unable to stat") => {
                    added = add();
                }
                _ => break,
            }
        }
        match added {
            Ok(_) => Ok(Vec::new()),
            Err(GitError::Failed { verb, message }) => match left_out(&message) {
                Some(files) => Ok(files),
                None => Err(GitError::Failed { verb, message }),
            },
            Err(error) => Err(error),
        }
    }

    /// Makes the index what a commit has.
    pub(crate) fn reset_to(&self, commit: &str) -> GitResult<()> {
        // Mostly nothing is staged, and asking is far cheaper than reading every tree. Unlike a
        // plain read, a reset keeps what is known about files that are as committed, and which
        // paths a sparse checkout leaves out.
        let staged = self.changes_from(commit)?;
        if staged.is_empty() {
            return Ok(());
        }
        let reset = || self.git(&["read-tree", "--reset", commit]).run().map(drop);
        match reset() {
            Err(GitError::Failed { message, .. }) if message.contains("not uptodate") => {}
            other => return other,
        }
        // A file that is not to be looked at, such as a plan, was committed all the same.
        let known = staged.iter().filter(|change| change.to.is_some());
        let paths: Vec<u8> = known.flat_map(|change| [&change.path[..], b"\0"].concat()).collect();
        self.git(&["update-index", "--no-skip-worktree", "-z", "--stdin"]).input(&paths).run()?;
        reset()
    }

    pub(crate) fn write_tree(&self) -> GitResult<String> {
        self.git(&["write-tree"]).line()
    }

    pub(crate) fn changes_from(&self, tree: &str) -> GitResult<Vec<Change>> {
        let mut arguments = vec!["diff-index", "--cached"];
        arguments.extend(RAW);
        arguments.extend([tree, "--"]);
        parse_changes("diff-index", &self.git(&arguments).run()?)
    }

    /// Makes these paths hold these entries.
    pub(crate) fn set<'b>(
        &self,
        like: &str,
        wanted: impl Iterator<Item = (&'b RepoPath, Option<&'b Entry>)> + Clone,
    ) -> GitResult<()> {
        let lines = index_info(like, wanted);
        if !lines.is_empty() {
            self.git(&["update-index", "-z", "--index-info"]).input(&lines).run()?;
        }
        Ok(())
    }
}

/// How often all is added again because a file was gone between git's first look and its second, as
/// those are that editors write before they rename them.
const VANISHED: u32 = 8;

/// How the folders for a worktree are named, before the pid.
fn prefix(worktree: &Path) -> String {
    format!("ralph-index-{}-", project_key(worktree))
}

/// Removes what killed processes left of their work on this worktree.
pub(crate) fn sweep(worktree: &Path) {
    sweep_folders(&prefix(worktree));
}

/// Removes the temporary folders of killed processes whose names begin so, before the pid. What cannot
/// be removed is left.
pub(crate) fn sweep_folders(prefix: &str) {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let pid = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| !runs(pid)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies an index with its time. Git trusts what it knows of a file only if the index is younger
/// than the file: a copy that looked younger than it is would hide changes.
pub(crate) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let modified = source.metadata()?.modified()?;
    let mut copy = File::create_new(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_times(FileTimes::new().set_modified(modified))
}

/// The files that git could not add although git itself works: it may not read them, or they are a repository
/// without a commit. `None` when it complained about anything else.
fn left_out(output: &str) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for line in output.lines() {
        let Some(complaint) = line.strip_prefix("error: ") else {
            if line.starts_with("hint:") || line.starts_with("warning:") {
                continue;
            }
            return None;
        };
        let named = |before: &str, after: &str| {
            complaint.strip_prefix(before)?.strip_suffix(after).map(str::to_owned)
        };
        if let Some(folder) = named("'", "' does not have a commit checked out") {
            files.push(format!("{folder} is a repository without a commit and was left out"));
        } else if let Some(file) = named("open(\"", "\"): Permission denied") {
            files.push(format!("{file} cannot be read and was left out"));
        } else if !complaint.starts_with("unable to index file") {
            return None;
        }
    }
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_use_stays() {
        let worktree = tempfile::tempdir().unwrap();
        let mine = Scratch::empty(worktree.path()).unwrap();
        let make = |pid: u32| {
            let name = format!("{}{pid}-x", prefix(worktree.path()));
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(folder.join("deep")).unwrap();
            folder
        };
        let (dead, alive) = (make(u32::MAX), make(std::process::id()));
        sweep(worktree.path());
        assert!(!dead.exists() && alive.exists() && mine.folder().exists());
        std::fs::remove_dir_all(alive).unwrap();
    }

    #[test]
    fn only_known_complaints_are_tolerated() {
        let output = "error: open(\"a b\"): Permission denied\nerror: unable to index file 'a b'\n\
                    error: 'n/' does not have a commit checked out";
        assert_eq!(left_out(output).map(|files| files.len()), Some(2));
        for output in [
            "error: insufficient permission for adding an object to repository database",
            "error: open(\"a\"): Permission denied\nfatal: adding files failed",
            "error: unable to write file: No space left on device\nerror: unable to index file 'a'",
            "error: unable to index file 'a'",
            "",
        ] {
            assert_eq!(left_out(output), None, "{output}");
        }
    }
}
