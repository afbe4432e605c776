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

use super::branch::Files;
use super::checkout;
use super::commit::{Unrefreshed, message};
use super::hold::BranchHold;
use super::hooks::Hooks;
use super::sandboxed::WorktreeSandbox;
use super::start::{Start, ref_of};
use super::trees::Author;
use super::workspace::Record;
use crate::git::entries::Change;
use crate::git::position::{Position, position};
use crate::git::scratch;
use crate::git::{Git, GitError, GitResult};
use crate::kept::is_state;
use crate::ports::{
    Candidate, Checkout, Ending, KeepSaves, RunBase, Saved, SessionCommits, Trees, Vcs,
};
use crate::project::{Project, write_privately};
use crate::sync::lock;
use crate::worktree_files::settle_base;

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

    pub(crate) fn git<'a>(&self, arguments: &[&'a str]) -> Git<'a> {
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
        self.project.exclude_state()?;
        scratch::sweep(self.worktree());
        checkout::sweep(self.worktree());
        self.refuse_operation()?;
        self.refuse_unmerged()?;
        self.finish_advance()?;
        let record = self.record()?;
        self.begin_sandboxed(run, resumes.is_some() || record.owner.is_some())?;
        let Position { branch, head } = self.position()?;
        let head_tree = self.tree_of(head.as_deref())?;
        let known = match resumes {
            // A run of 0.1 left no record.
            Some((before, _)) if record == Record::default() => {
                Some(self.commit_parts(&ref_of(before))?.map(|commit| commit.id))
            }
            // A run was killed during a session.
            _ if record.open => Some(self.with_later_edits(&record, head.as_deref())?),
            _ => None,
        };
        let start = match known {
            None => self.save_start(&ref_of(run), head.as_deref(), &record, None)?,
            Some(known) => {
                if let Some(start) = &known {
                    self.git(&["update-ref", &ref_of(run), start]).run()?;
                }
                known
            }
        };
        let settled_tree = match (resumes.and_then(|(_, settled)| settled), &head) {
            // Nothing that a session committed is on the branch before it is accepted: whatever came since
            // is the user's.
            _ if self.lands_when_accepted() => head_tree,
            (Some(settled), Some(head)) if self.is_ancestor(settled, head)? => {
                let tree = self.tree_of(Some(settled))?;
                match &record.head {
                    // No session was running: the user committed.
                    Some(closed_at) if !record.open && closed_at != head => {
                        self.carried(&tree, Some(closed_at), Some(head))?
                    }
                    _ => tree,
                }
            }
            _ => head_tree,
        };
        settle_base(&self.project, head.as_deref().unwrap_or_default());
        Ok(RunBase { head, branch, start, settled_tree, plan: None })
    }

    fn candidate(&self, base: &RunBase) -> GitResult<Candidate> {
        self.catch_up();
        if let Some(sandboxed) = &self.sandboxed {
            return self.seen_candidate(sandboxed, base);
        }
        let head = self.position()?.head;
        let head_tree = self.tree_of(head.as_deref())?;
        let Some(scratch) = self.worktree_as_index(head.as_deref())? else {
            let tree = head_tree.clone();
            return Ok(Candidate { tree, head, head_tree, leftovers: false, taken: None });
        };
        if self.leaves_out(base) {
            let changes = scratch.changes_from(&head_tree)?;
            let kept = self.left_out(base, &changes)?;
            scratch.set(&head_tree, kept.iter().map(|c| (&c.path, c.from.as_ref())))?;
        }
        let tree = scratch.write_tree()?;
        let leftovers = tree != head_tree;
        Ok(Candidate { tree, head, head_tree, leftovers, taken: None })
    }

    fn commit(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> GitResult<Option<String>> {
        let at = self.on_branch(base)?;
        if !candidate.leftovers && candidate.taken.is_none() {
            return Ok(None);
        }
        if at.head != candidate.head {
            return Err(GitError::HeadMoved { expected: candidate.head.clone(), found: at.head });
        }
        let below = candidate.taken.as_deref().or(candidate.head.as_deref());
        if candidate.taken.is_some() && self.tree_of(below)? == candidate.tree {
            // All of it is committed, and by the session.
            return self.land(base, candidate).map(|_| None);
        }
        let hooks = self.hooks_folder()?;
        let mut message = message(subject, body);
        if let Some(folder) = &hooks {
            self.pre_commit(folder, base, candidate)?;
            message = self.message_by_hooks(folder, message)?;
        }
        let id = self.commit_tree(&candidate.tree, below, &message, Author::User)?;
        let logged = format!("ralph: {}", message.lines().next().unwrap_or_default());
        self.remember_tree(&id, &candidate.tree);
        let expected = candidate.head.as_deref();
        self.advance(expected, &id, Files::There, &logged)?.or_moved(expected)?;
        // Before the last hook: it is to find the commit.
        self.discard_finished();
        if let Some(folder) = &hooks {
            self.post_commit(folder);
        }
        Ok(Some(id))
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
        let held = lock(&self.held).take();
        drop(held);
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

    /// Two calls of git where nothing is to be done.
    fn keep_out(&self, path: &str, branch: &str, began: &str) -> GitResult<Option<Saved>> {
        let at = self.position()?;
        let Some(head) = at.head.filter(|_| at.branch.as_deref() == Some(branch)) else {
            return Ok(None);
        };
        let saved = match self.touching(path, branch, began, &["-1"])?.is_empty() {
            true => None,
            false => self.rebuild(path, branch, began, &head)?,
        };
        self.hide(path)?;
        Ok(saved)
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
