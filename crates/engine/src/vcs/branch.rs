//! The only code that moves a branch: it writes a note of the planned move, then the files, the ref and the index.
//!
//! A branch moves only from where it is expected, in one compare-and-swap by git. If ralph is killed in between, the
//! next run finishes the move from the note, or reverts the files. ralph never overwrites a file that the user has
//! changed: then the move does not happen.

use serde::{Deserialize, Serialize};

use super::commit::Unrefreshed;
use super::in_place::GitVcs;
use crate::crash;
use crate::git::entries::{Change, RAW, os_path, parse_changes, zeros};
use crate::git::folders::gone;
use crate::git::spelling::spelled;
use crate::git::{GitError, GitResult};
use crate::ports::{Candidate, RunBase};
use crate::project::sweep_halves;
use crate::sync::lock;
use crate::untrusted::{LARGE, read_own};

/// The file of the note, in the git directory of a worktree.
const NOTE: &str = "ralph-landing.json";

/// What the worktree has of a commit that a branch moves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Files {
    /// Its files are there: the work was done in this worktree.
    There,
    /// They are written with the move: the work comes from another worktree.
    Follow,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advanced {
    There,
    /// It was not where it was expected, or moved meanwhile.
    Moved {
        found: Option<String>,
    },
    /// Files of the user would be written over.
    InTheWay {
        files: Vec<String>,
    },
}

impl Advanced {
    /// The same as a result, where files in the way mean that another process is working there.
    pub(crate) fn or_moved(self, expected: Option<&str>) -> GitResult<()> {
        let expected = expected.map(str::to_owned);
        match self {
            Self::There => Ok(()),
            Self::Moved { found } => Err(GitError::HeadMoved { expected, found }),
            Self::InTheWay { .. } => Err(GitError::HeadMoved { found: expected.clone(), expected }),
        }
    }
}

/// Passes a point of a landing from another worktree.
fn pass(files: Files, point: &'static str) {
    if files == Files::Follow {
        crash::point(point);
    }
}

/// A move that is under way.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    branch: Option<String>,
    from: Option<String>,
    to: String,
    files: Files,
}

impl GitVcs {
    /// Moves the branch that is checked out from `expected` to `to`.
    pub(crate) fn advance(
        &self,
        expected: Option<&str>,
        to: &str,
        files: Files,
        why: &str,
    ) -> GitResult<Advanced> {
        let at = self.position()?;
        if at.head.as_deref() == Some(to) {
            return Ok(Advanced::There);
        }
        if at.head.as_deref() != expected {
            return Ok(Advanced::Moved { found: at.head });
        }
        let from = expected.map(str::to_owned);
        let name =
            at.branch.as_ref().map_or("HEAD".to_owned(), |name| format!("refs/heads/{name}"));
        self.write_own_file(NOTE, &Note { branch: at.branch, from, to: to.to_owned(), files })?;
        pass(files, "landing-noted");
        if files == Files::Follow
            && let Some(stopped) = self.write_files(expected, to)?
        {
            self.forget_note()?;
            return Ok(stopped);
        }
        pass(files, "landing-written");
        let before = expected.map_or_else(|| zeros(to), str::to_owned);
        if let Err(error) = self.move_ref(&name, to, &before, why) {
            if files == Files::Follow {
                self.take_files_back(expected, to)?;
            }
            self.forget_note()?;
            // Git compares and moves in one step; ask it who was faster.
            let found = self.position()?.head;
            return match found.as_deref() == expected {
                true => Err(error),
                false => Ok(Advanced::Moved { found }),
            };
        }
        pass(files, "landed");
        if self.sandboxed.is_some() {
            crash::point("commits-landed");
        }
        if files == Files::There {
            self.bring_into_index(self.unrefreshed(expected, to)?);
        }
        self.forget_note()?;
        Ok(Advanced::There)
    }

    /// Writes the files and the index of `to` over those of `from`; why that was not done, where it was not.
    fn write_files(&self, from: Option<&str>, to: &str) -> GitResult<Option<Advanced>> {
        let (from, id) = (self.tree_of(from)?, from);
        let Err(error) = self.git(&["read-tree", "-m", "-u", &from, to]).run() else {
            return Ok(None);
        };
        let files = id.map_or(Ok(vec![]), |id| self.files_in_the_way(id, to))?;
        match files.is_empty() {
            true => Err(error),
            false => Ok(Some(Advanced::InTheWay { files })),
        }
    }

    /// The files that would change between these commits, and that the user has changed or put there.
    pub(crate) fn files_in_the_way(&self, from: &str, to: &str) -> GitResult<Vec<String>> {
        let changes = self.diff(from, to)?;
        let dirty = self.dirty_beyond(from)?;
        let stands = |change: &&Change| {
            // An untracked file is where a new file would be.
            let unknown = change.from.is_none()
                && self.worktree().join(os_path(&change.path)).symlink_metadata().is_ok();
            unknown || dirty.iter().any(|found| found.path == change.path)
        };
        let found = changes.iter().filter(stands);
        Ok(found.map(|change| spelled(&change.path)).collect())
    }

    /// How the user's files differ from a commit or a tree, apart from new ones.
    pub(crate) fn dirty_beyond(&self, tree: &str) -> GitResult<Vec<Change>> {
        // What is not as the index has it may only have been touched.
        let _ = self.git(&["update-index", "-q", "--refresh"]).run();
        // To look for changes inside a submodule, git would run what that repository says.
        let mut arguments = vec!["diff-index", "--ignore-submodules=dirty"];
        arguments.extend(RAW);
        arguments.extend([tree, "--"]);
        parse_changes("diff-index", &self.git(&arguments).run()?)
    }

    /// Finishes or reverts a move that a killed run had started.
    pub(crate) fn finish_advance(&self) -> GitResult<()> {
        let path = self.own_file(NOTE)?;
        let _ = sweep_halves(&path);
        let Ok(text) = read_own(&path, LARGE) else { return Ok(()) };
        if let Ok(Note { branch, from, to, files }) = serde_json::from_slice(&text) {
            let at = self.position()?;
            if at.head.as_ref() == Some(&to) && files == Files::There {
                *lock(&self.unrefreshed) = Some(self.unrefreshed(from.as_deref(), &to)?);
                self.catch_up();
            } else if at.branch == branch && at.head == from && files == Files::Follow {
                let back = self.take_files_back(from.as_deref(), &to)?;
                if back > 0 {
                    self.warn(format!(
                        "Reverted {back} files of work that was about to land when the last run was killed"
                    ));
                }
            }
        }
        self.forget_note()
    }

    /// Reverts the changes of a commit in the user's files, as far as they are there.
    fn take_files_back(&self, from: Option<&str>, to: &str) -> GitResult<usize> {
        let (head_tree, tree) = (self.tree_of(from)?, self.tree_of(Some(to))?);
        let head = from.map(str::to_owned);
        let candidate = Candidate { tree, head, head_tree, leftovers: true, taken: None };
        Ok(self.put_leftovers_back(&RunBase::default(), &candidate)?.len())
    }

    fn forget_note(&self) -> GitResult<()> {
        let path = self.own_file(NOTE)?;
        gone(std::fs::remove_file(&path)).map_err(|source| GitError::File { path, source })
    }

    /// What the index lacks of a move.
    fn unrefreshed(&self, from: Option<&str>, to: &str) -> GitResult<Unrefreshed> {
        let changes = self.diff(&self.tree_of(from)?, &self.tree_of(Some(to))?)?;
        Ok(Unrefreshed { commit: to.to_owned(), changes })
    }
}
