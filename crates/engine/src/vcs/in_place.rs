//! Git in the worktree that the user works in. Without a sandbox the agent's own commits land on the branch at
//! once; with one they land when the gates pass. Uncommitted work is committed, saved or reverted.

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use ralph_core::glob::Patterns;
use ralph_core::ids::RunId;
use ralph_core::{TaskId, Timestamp};
use serde::Serialize;

use super::commit::Unrefreshed;
use super::hold::BranchHold;
use super::hooks::Hooks;
use super::sandboxed::WorktreeSandbox;
use super::start::Start;
use super::trees::Author;
use crate::git::entries::Change;
use crate::git::position::{Position, position};
use crate::git::{Git, GitError, GitResult};
use crate::kept::is_state;
use crate::ports::{Candidate, Checkout, Ending, KeepSaves, RunBase, Saved, Vcs};
use crate::project::{Project, write_privately};
use crate::sync::lock;
use crate::untrusted::settle_base;

#[derive(Debug)]
pub struct GitVcs {
    pub(super) project: Project,
    pub(super) index: PathBuf,
    /// Trees of commits, and the id of the empty one under an empty name. Commits do not change.
    pub(super) trees: Mutex<HashMap<String, String>>,
    pub(super) last_diff: Mutex<Option<([String; 2], Vec<Change>)>>,
    pub(super) starts: Mutex<HashMap<String, Arc<Start>>>,
    pub(super) unrefreshed: Mutex<Option<Unrefreshed>>,
    warnings: Mutex<Vec<String>>,
    pub(super) hooks: Option<Hooks>,
    signs: OnceLock<bool>,
    /// Patterns of files that are not added where everything is; `None` where only work is committed.
    pub(super) adds_all: Option<Patterns>,
    /// What ralph keeps in the worktree beside the usual: the beginnings of paths.
    state: Vec<Vec<u8>>,
    /// What sessions wrote is looked at in a sandbox.
    pub(super) sandboxed: Option<WorktreeSandbox>,
    /// Commits that were recreated: their old names, and their new ones.
    pub(super) renames: Mutex<Vec<(String, String)>>,
    pub(super) held: Mutex<Option<BranchHold>>,
}

impl GitVcs {
    pub fn new(project: Project) -> GitResult<Self> {
        let index = project.own_git_dir()?.join("index");
        Ok(Self {
            project,
            index,
            trees: Mutex::default(),
            last_diff: Mutex::default(),
            starts: Mutex::default(),
            unrefreshed: Mutex::default(),
            warnings: Mutex::default(),
            hooks: None,
            signs: OnceLock::new(),
            adds_all: None,
            state: Vec::new(),
            sandboxed: None,
            renames: Mutex::default(),
            held: Mutex::default(),
        })
    }

    /// Commits take in everything that is uncommitted, but no new file that looks like a secret. `more` are
    /// patterns of files that count as secrets, too.
    #[must_use]
    pub fn adding_all(mut self, more: Patterns) -> Self {
        self.adds_all = Some(more);
        self
    }

    /// The task database and the logs are here. Where that is in the worktree, no commit or revert has them.
    #[must_use]
    pub fn keeping(mut self, places: &[&Path]) -> Self {
        let inside =
            |place: &&Path| place.strip_prefix(&self.project.worktree).ok().map(Path::to_owned);
        let inside = places.iter().filter_map(inside).filter(|path| !path.as_os_str().is_empty());
        self.state = inside.map(|path| path.into_os_string().into_vec()).collect();
        self
    }

    /// Whether a path is part of what ralph keeps in the worktree.
    pub(super) fn is_state(&self, path: &[u8]) -> bool {
        is_state(path) || self.state.iter().any(|begins| path.starts_with(begins))
    }

    /// Whether git could commit: it knows who does.
    pub fn check_identity(&self) -> GitResult<()> {
        self.git(&["var", "GIT_COMMITTER_IDENT"]).run().map(drop)
    }

    /// Whether the worktree of a branch was given a key of its own to sign with.
    pub(super) fn signs(&self) -> bool {
        if self.project.worktree == self.project.root {
            return false;
        }
        *self.signs.get_or_init(|| {
            let get = ["config", "--worktree", "--type=bool", "--get", "commit.gpgsign"];
            self.git(&get).line().is_ok_and(|set| set == "true")
        })
    }

    /// Whether git could sign, where it is to: a key that is not there is found out before a session.
    pub fn check_signing(&self) -> GitResult<()> {
        if !self.signs() {
            return Ok(());
        }
        let tree = self.git(&["mktree"]).line()?;
        self.commit_tree(&tree, None::<&str>, "ralph: can this key sign?\n", Author::User).map(drop)
    }

    pub(super) fn worktree(&self) -> &Path {
        &self.project.worktree
    }

    pub(super) fn git<'a>(&self, arguments: &[&'a str]) -> Git<'a> {
        Git::plumbing(self.worktree(), arguments)
    }

    pub(crate) fn position(&self) -> GitResult<Position> {
        position(&self.project)
    }

    /// What is checked out, as something that work is compared with.
    pub(crate) fn here(&self) -> GitResult<RunBase> {
        let Position { head, branch } = self.position()?;
        Ok(RunBase { head, branch, ..RunBase::default() })
    }

    /// A file of ralph's in the worktree's own git directory: no tree can contain it, `git clean` leaves it alone,
    /// and a sandboxed session does not see it.
    pub(super) fn own_file(&self, name: &str) -> GitResult<PathBuf> {
        Ok(self.project.own_git_dir()?.join(name))
    }

    pub(super) fn write_own_file(&self, name: &str, value: &impl Serialize) -> GitResult<()> {
        let path = self.own_file(name)?;
        let text = serde_json::to_string(value).map_err(std::io::Error::other);
        let written = text.and_then(|text| write_privately(&path, &text));
        written.map_err(|source| GitError::File { path, source })
    }

    pub(super) fn warn(&self, sentence: String) {
        let mut warnings = lock(&self.warnings);
        // A file that cannot be read is met again at every candidate.
        if !warnings.contains(&sentence) {
            warnings.push(sentence);
        }
    }
}

impl Vcs for GitVcs {
    fn begin(&self, run: &RunId, resumes: Option<(&RunId, Option<&str>)>) -> GitResult<RunBase> {
        let base = self.begin_run(run, resumes)?;
        settle_base(&self.project, base.head.as_deref().unwrap_or_default());
        Ok(base)
    }

    fn candidate(&self, base: &RunBase) -> GitResult<Candidate> {
        self.write_candidate(base)
    }

    fn commit(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> GitResult<Option<String>> {
        self.commit_leftovers(base, candidate, subject, body)
    }

    fn head(&self) -> GitResult<Option<String>> {
        Ok(self.position()?.head)
    }

    fn check_branch(&self, base: &RunBase) -> GitResult<()> {
        self.on_branch(base).map(drop)
    }

    fn hold(&self) -> GitResult<bool> {
        match self.position()?.head {
            Some(head) => self.hold_branch(&head, None),
            None => Ok(false),
        }
    }

    fn release(&self) {
        self.release_branch();
    }

    fn put_back(&self, base: &RunBase, candidate: &Candidate) -> GitResult<Vec<PathBuf>> {
        self.put_leftovers_back(base, candidate)
    }

    fn checkout(&self, candidate: &Candidate, include: &str) -> GitResult<Checkout> {
        self.check_out_fresh(candidate, include)
    }

    fn included(&self, include: &str) -> GitResult<Vec<(String, u64)>> {
        self.included_contents(include)
    }

    fn submodules_with_work(&self) -> GitResult<Vec<String>> {
        self.busy_submodules()
    }

    fn keep_out(&self, path: &str, branch: &str, began: &str) -> GitResult<Option<Saved>> {
        self.keep_path_out(path, branch, began)
    }

    fn remove_dead_locks(&self, since: Timestamp) -> GitResult<()> {
        self.sweep_dead(&self.lock_paths()?, since)
    }

    fn tidy(
        &self,
        keep: &KeepSaves,
        ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<usize> {
        self.tidy_up(keep, ending)
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.warnings))
    }
}
