//! The person's hooks, on the loop's own commits: as `git commit` would run them.
//!
//! They are started by the supervisor and not by git, because `git hook run` is younger than the oldest
//! git that will do, and because one that hangs must not hang the loop.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::git::{ELSEWHERE, GitError};
use super::in_place::GitVcs;
use super::scratch::Scratch;
use crate::ports::{Candidate, RunBase};
use crate::probe::{self, Ended};

/// How often in a row the hook may change what is to be committed.
const MAX_CHANGES: u32 = 2;
/// How much of a hook's output an error shows: the end of it.
const SHOWN: usize = 2_000;

/// What hooks are run with.
#[derive(Debug)]
pub(super) struct Hooks {
    environment: Vec<(OsString, OsString)>,
    timeout: Duration,
    /// How often in a row the hook changed what was to be committed.
    changes: AtomicU32,
}

impl GitVcs {
    /// Runs the person's hooks on the commits of the loop, in this environment and each for at most so
    /// long. Without this none is run.
    #[must_use]
    pub fn with_hooks(mut self, environment: &[(OsString, OsString)], timeout: Duration) -> Self {
        // What sends git elsewhere would send the git in a hook elsewhere.
        let stays = |name: &OsString| !ELSEWHERE.iter().any(|elsewhere| name == elsewhere);
        let environment = environment.iter().filter(|(name, _)| stays(name)).cloned().collect();
        self.hooks = Some(Hooks { environment, timeout, changes: AtomicU32::new(0) });
        self
    }

    /// The folder with the hooks, where there is something to run.
    pub(super) fn hooks_folder(&self) -> Result<Option<PathBuf>, GitError> {
        if self.hooks.is_none() {
            return Ok(None);
        }
        // Not as plumbing: that looks for hooks where there are none.
        let asked = ["rev-parse", "--git-path", "hooks"];
        let folder = super::git::git(self.worktree(), &asked)?;
        let folder = self.worktree().join(folder);
        Ok(folder.is_dir().then_some(folder))
    }

    /// Runs `pre-commit` on the candidate.
    ///
    /// What the hook adds was not judged, so it is not committed: the error says that the tree has to be
    /// judged again. A formatter changes the files, and either adds them or fails so that a person does;
    /// the new candidate has them, and the second time there is nothing left to change.
    pub(super) fn pre_commit(
        &self,
        folder: &Path,
        base: &RunBase,
        candidate: &Candidate,
    ) -> Result<(), GitError> {
        let (Some(hooks), Some(hook)) = (&self.hooks, executable(folder, "pre-commit")) else {
            return Ok(());
        };
        // Not the person's index: what is staged there is not a part of this commit.
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        scratch.git(&["read-tree", "--reset", &candidate.tree]).run()?;
        // It says no where a file differs, which is what it was asked to find out.
        let _ = scratch.git(&["update-index", "-q", "--refresh"]).run();
        let refused = match self.run_hook(hooks, &hook, &[], Some(&scratch.path())) {
            Ok(()) if scratch.write_tree()? == candidate.tree => {
                hooks.changes.store(0, Ordering::Relaxed);
                return Ok(());
            }
            Ok(()) => GitError::Hook {
                hook: "pre-commit".to_owned(),
                message: "it changes what is to be committed every time".to_owned(),
            },
            Err(error) if self.write_candidate(base)?.tree == candidate.tree => return Err(error),
            Err(error) => error,
        };
        // Once it is too often it stays so: trying again must not begin to count anew.
        match hooks.changes.fetch_add(1, Ordering::Relaxed) < MAX_CHANGES {
            true => Err(GitError::HookChanged { hook: "pre-commit".to_owned() }),
            false => Err(refused),
        }
    }

    /// The message as `prepare-commit-msg` and `commit-msg` leave it.
    pub(super) fn message_by_hooks(
        &self,
        folder: &Path,
        message: String,
    ) -> Result<String, GitError> {
        let Some(hooks) = &self.hooks else { return Ok(message) };
        let prepare = executable(folder, "prepare-commit-msg");
        let check = executable(folder, "commit-msg");
        if prepare.is_none() && check.is_none() {
            return Ok(message);
        }
        let path = self.project.own_git_dir()?.join("COMMIT_EDITMSG");
        let file_error = |source| GitError::File { path: path.clone(), source };
        std::fs::write(&path, &message).map_err(file_error)?;
        let name = path.as_os_str().to_string_lossy().into_owned();
        if let Some(hook) = prepare {
            self.run_hook(hooks, &hook, &[&name, "message"], None)?;
        }
        if let Some(hook) = check {
            self.run_hook(hooks, &hook, &[&name], None)?;
        }
        let left = std::fs::read(&path).map_err(file_error)?;
        let left = self.git(&["stripspace"]).input(&left).run()?;
        match String::from_utf8_lossy(&left).into_owned() {
            text if text.trim().is_empty() => Err(GitError::Hook {
                hook: "commit-msg".to_owned(),
                message: "it left no message".to_owned(),
            }),
            text => Ok(text.replace('\0', "")),
        }
    }

    /// Runs `post-commit`. The commit stands, whatever it says.
    pub(super) fn post_commit(&self, folder: &Path) {
        let (Some(hooks), Some(hook)) = (&self.hooks, executable(folder, "post-commit")) else {
            return;
        };
        if let Err(error) = self.run_hook(hooks, &hook, &[], None) {
            self.warn(format!("the commit is made, but {error}"));
        }
    }

    fn run_hook(
        &self,
        hooks: &Hooks,
        hook: &Path,
        arguments: &[&str],
        index: Option<&Path>,
    ) -> Result<(), GitError> {
        let mut environment = hooks.environment.clone();
        let mut set = |name: &str, value: OsString| {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), value));
        };
        // Nobody is there to edit anything.
        set("GIT_EDITOR", ":".into());
        set("GIT_TERMINAL_PROMPT", "0".into());
        if let Some(index) = index {
            set("GIT_INDEX_FILE", index.into());
        }
        let ran = probe::run_to_end(hook, arguments, self.worktree(), &environment, hooks.timeout);
        let why = match ran.end {
            Ended::Exited(0) => return Ok(()),
            Ended::Exited(code) => format!("exit code {code}"),
            Ended::TimedOut => format!("no end after {} s", hooks.timeout.as_secs()),
            Ended::Interrupted => "it was stopped".to_owned(),
            Ended::NotStarted(error) => error,
        };
        let said = ran.output.trim();
        let said = &said[said.ceil_char_boundary(said.len().saturating_sub(SHOWN))..];
        let message = if said.is_empty() { why } else { format!("{why}: {said}") };
        let hook = hook.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Err(GitError::Hook { hook, message })
    }
}

/// The hook, if git would run it.
fn executable(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    let found = std::fs::metadata(&path).ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(path)
}
