//! Who owns the work in the worktree: a task, or the user. It knows the owning task, what the user had there before
//! its session, and the work that was set aside for tasks that may be retried.
//!
//! A path that changes while no session runs is the user's. The record of this is in the worktree's own git
//! directory: no tree can contain it, `git clean` leaves it alone, and a sandboxed session does not see it. The work
//! itself is under `refs/ralph/wip/`; a record that points to nothing counts as none.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use serde::{Deserialize, Serialize};

use super::candidate::untouched;
use super::in_place::{Author, CommitParts, GitVcs};
use super::restore::RecoverError;
use super::stamp::changed_at;
use super::start::{Start, ref_of};
use super::wip::{ref_name, saved_words};
use crate::git::entries::{Change, Entry, RepoPath};
use crate::git::position::{Position, operation};
use crate::git::scratch::Scratch;
use crate::git::spelling::spelled;
use crate::git::{GitError, GitResult};
use crate::ports::{Blocked, Candidate, Opened, Restored, RunBase, Saved, SetAsideWork};
use crate::project::write_privately;
use crate::untrusted::{LARGE, read_own};

/// The file of the record, in the git directory of a worktree.
pub(super) const RECORD: &str = "ralph-workspace.json";

/// What is known about the worktree, from one session to the next and from one run to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<Owner>,
    /// A session is running, or was when the run was killed.
    #[serde(default)]
    pub(super) open: bool,
    /// The user's uncommitted work when that session began, as a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<String>,
    /// The commit that was checked out when the record was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    /// Work of tasks that left the worktree for another task, by task: the save that comes back with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) aside: BTreeMap<String, String>,
}

/// A task with work in the worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) task: String,
    /// The commit under `refs/ralph/wip/` that holds its work; `None` while its session runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) save: Option<String>,
}

/// What a task left in the worktree.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// Its paths, and what the work has there.
    work: BTreeMap<RepoPath, Option<Entry>>,
    /// What the user had in the worktree before.
    before: Arc<Start>,
}

impl Leftovers {
    pub(super) fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// What the user has at a path that is as the task left it: what they had before, or what is committed.
    /// `None` for a path that is not the task's, or that changed since.
    pub(super) fn below<'a>(&'a self, change: &'a Change) -> Option<Option<&'a Entry>> {
        let is_own = self.work.get(&change.path) == Some(&change.to);
        is_own.then(|| match self.before.personal(&change.path, change.from.as_ref()) {
            Some(dirty) => dirty.saved.as_ref(),
            None => change.from.as_ref(),
        })
    }
}

impl GitVcs {
    fn record_path(&self) -> GitResult<PathBuf> {
        Ok(self.project.own_git_dir()?.join(RECORD))
    }

    /// The record; an unreadable one counts as none, and then everything uncommitted is the user's.
    pub(super) fn record(&self) -> GitResult<Record> {
        let path = self.record_path()?;
        let text = read_own(&path, LARGE).unwrap_or_default();
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    pub(super) fn write_record(&self, record: &Record) -> GitResult<()> {
        let path = self.record_path()?;
        let text = serde_json::to_string(record).map_err(std::io::Error::other);
        let written = text.and_then(|text| write_privately(&path, &text));
        written.map_err(|source| GitError::File { path, source })
    }

    /// Ralph does not work in a tree that git is in the middle of changing: conflict markers would be work.
    pub(super) fn refuse_operation(&self) -> GitResult<()> {
        match operation(&self.project.own_git_dir()?) {
            Some(operation) => Err(GitError::InProgress { operation }),
            None => Ok(()),
        }
    }

    /// The same for an index with conflicts that no operation is left to finish.
    pub(super) fn refuse_unmerged(&self) -> GitResult<()> {
        let listed = self.git(&["ls-files", "--unmerged", "-z"]).run()?;
        let first = listed.split(|byte| *byte == 0).find_map(|line| {
            let path = line.split(|byte| *byte == b'\t').nth(1)?;
            Some(spelled(path))
        });
        first.map_or(Ok(()), |path| Err(GitError::Unmerged { path }))
    }

    /// Before a session of `owner`: another task's work leaves the worktree, the owner's own comes back, and
    /// everything else that is uncommitted is the user's.
    pub(super) fn open_workspace(
        &self,
        run: &RunId,
        base: &RunBase,
        owner: Option<&TaskId>,
    ) -> GitResult<Opened> {
        self.refuse_operation()?;
        let mut record = self.record()?;
        let closed_at = record.head.take();
        let mut opened = Opened::unchanged(base);
        if let Some(owner) = owner {
            opened.left = self.evacuate_others(base, &mut record, std::slice::from_ref(owner))?;
            self.bring_back_own(base, owner, &mut record, &mut opened)?;
        }
        let Position { head, .. } = self.position()?;
        opened.moved =
            (closed_at.is_some() && closed_at != head).then_some((closed_at, head.clone()));
        let own = self.leftovers(&record)?;
        let head_tree = self.tree_of(head.as_deref())?;
        let name = format!("refs/ralph/session/{run}");
        let start =
            self.save_start(&name, head.as_deref(), &head_tree, &own, record.start.as_deref())?;
        opened.base.start.clone_from(&start);
        record.owner = match (owner, record.owner) {
            (Some(owner), Some(known)) if known.task == owner.as_str() => Some(known),
            (Some(owner), _) => Some(Owner { task: owner.to_string(), save: None }),
            (None, known) => known,
        };
        record.open = true;
        record.start = start;
        record.head = head;
        self.write_record(&record)?;
        self.stamp(false);
        Ok(opened)
    }

    /// The session turned out to be about these tasks: work of any other task leaves the worktree.
    pub(super) fn keep_work_of(
        &self,
        base: &RunBase,
        tasks: &[TaskId],
    ) -> GitResult<Option<SetAsideWork>> {
        let mut record = self.record()?;
        let left = self.evacuate_others(base, &mut record, tasks)?;
        if left.is_some() {
            self.write_record(&record)?;
        }
        Ok(left)
    }

    /// Takes the recorded work out of the worktree unless it belongs to one of `tasks`. It is saved already.
    fn evacuate_others(
        &self,
        base: &RunBase,
        record: &mut Record,
        tasks: &[TaskId],
    ) -> GitResult<Option<SetAsideWork>> {
        let Some(owner) =
            record.owner.take_if(|owner| !tasks.iter().any(|t| t.as_str() == owner.task))
        else {
            return Ok(None);
        };
        let Some((save, task)) = self.saved_work(&owner)?.zip(TaskId::new(&owner.task).ok()) else {
            return Ok(None);
        };
        self.uncommit(&save, record)?;
        let head = save.parents.first().cloned();
        let head_tree = self.tree_of(head.as_deref())?;
        let work = Candidate { tree: save.tree, head, head_tree, leftovers: true, taken: None };
        let before = RunBase { start: record.start.take(), ..base.clone() };
        let paths = self.put_leftovers_back(&before, &work)?;
        record.aside.insert(owner.task, save.id);
        Ok(Some(SetAsideWork { task, paths }))
    }

    /// The commits that a session made on a branch of the loop's own, and that nothing has accepted, are
    /// uncommitted work again: the branch goes back to where the save begins.
    fn uncommit(&self, save: &CommitParts, record: &Record) -> GitResult<()> {
        let Some(sandboxed) =
            self.sandboxed.as_ref().filter(|sandboxed| sandboxed.git_dir.is_linked())
        else {
            return Ok(());
        };
        let at = self.position()?;
        let (Some(head), Some(from)) = (at.head, save.parents.first()) else { return Ok(()) };
        if head == *from || record.head.as_ref() != Some(&head) || !self.is_ancestor(from, &head)? {
            return Ok(());
        }
        self.discard(sandboxed)?;
        let says = "ralph: unaccepted commits of another task";
        self.git(&["update-ref", "-m", says, "HEAD", from, &head]).run()?;
        Scratch::at(self.worktree(), &self.index).reset_to(from)
    }

    /// Brings work of `owner` back that had to leave for another task: all of it, or none where files stand
    /// in the way.
    fn bring_back_own(
        &self,
        base: &RunBase,
        owner: &TaskId,
        record: &mut Record,
        opened: &mut Opened,
    ) -> GitResult<()> {
        let Some(commit) = record.aside.remove(owner.as_str()) else { return Ok(()) };
        let Some(wip) = self.saves()?.into_iter().find(|save| save.saved.commit == commit) else {
            return Ok(());
        };
        let name = wip.saved.name.clone();
        match self.bring_back(wip) {
            Ok(recovered) => {
                let paths = recovered.restored;
                opened.restored = Some(Restored { name, paths });
                record.owner = Some(Owner { task: owner.to_string(), save: Some(commit) });
                record.start.clone_from(&base.start);
            }
            Err(RecoverError::Git(error)) => return Err(error),
            Err(RecoverError::NotSaved { .. }) => {}
            Err(RecoverError::InTheWay { obstacles, .. }) => {
                let paths = obstacles.into_iter().map(|(path, _)| path).collect();
                opened.blocked = Some(Blocked { name, paths });
            }
        }
        Ok(())
    }

    /// The save of an owner, while it is there.
    fn saved_work(&self, owner: &Owner) -> GitResult<Option<CommitParts>> {
        match &owner.save {
            Some(commit) => self.commit_parts(commit),
            None => Ok(None),
        }
    }

    /// The owner's work in the worktree.
    fn leftovers(&self, record: &Record) -> GitResult<Leftovers> {
        let Some(owner) = &record.owner else { return Ok(Leftovers::default()) };
        let Some(save) = self.saved_work(owner)? else { return Ok(Leftovers::default()) };
        let from = self.tree_of(save.parents.first().map(String::as_str))?;
        let work = self.diff(&from, &save.tree)?;
        let work = work.into_iter().map(|Change { path, to, .. }| (path, to)).collect();
        let before = RunBase { start: record.start.clone(), ..RunBase::default() };
        Ok(Leftovers { work, before: self.start_of(&before)? })
    }

    /// What a run that begins finds: the user's work, apart from what the last session of another run left.
    /// A run that was killed during a session left its record open.
    pub(super) fn start_of_run(
        &self,
        run: &RunId,
        head: Option<&str>,
        head_tree: &str,
    ) -> GitResult<Option<String>> {
        let record = self.record()?;
        if record.open {
            let start = match &record.start {
                Some(start) => self.commit_parts(start)?,
                None => None,
            };
            let start = self.with_later_edits(&record, start, head, head_tree)?;
            if let Some(start) = &start {
                self.git(&["update-ref", &ref_of(run), start]).run()?;
            }
            return Ok(start);
        }
        let own = self.leftovers(&record)?;
        self.save_start(&ref_of(run), head, head_tree, &own, None)
    }

    /// What the user had before a session that was killed, with what they changed after it.
    fn with_later_edits(
        &self,
        record: &Record,
        start: Option<CommitParts>,
        head: Option<&str>,
        head_tree: &str,
    ) -> GitResult<Option<String>> {
        let known = start.as_ref().map(|start| start.id.clone());
        let Some(lived) = self.last_lived()? else { return Ok(known) };
        let files = self.worktree_tree(head)?;
        let mut later = self.diff(head_tree, &files)?;
        later.retain(|change| changed_at(self.worktree(), &change.path) > lived);
        if later.is_empty() {
            return Ok(known);
        }
        let begun_at: Vec<String> = match &start {
            Some(start) => start.parents.clone(),
            None => record.head.iter().cloned().collect(),
        };
        let before = match &start {
            Some(start) => start.tree.clone(),
            None => self.tree_of(record.head.as_deref())?,
        };
        let entries = later.iter().map(|change| (&change.path, change.to.as_ref()));
        let tree = self.with_entries(&before, entries)?;
        let parents: Vec<&str> = begun_at.iter().map(String::as_str).collect();
        let message = "ralph: uncommitted work of the user\n";
        Ok(Some(self.commit_tree(&tree, &parents, message, Author::Ralph)?))
    }

    /// The task whose session was running when the last run was killed.
    pub(super) fn interrupted_owner(&self) -> GitResult<Option<TaskId>> {
        let record = self.record()?;
        let owner = record.owner.filter(|_| record.open);
        Ok(owner.and_then(|owner| TaskId::new(owner.task).ok()))
    }

    /// Saves the work of a task, and remembers that it is in the worktree. `None` when there is none.
    pub(super) fn save_candidate(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Option<Saved>> {
        let saved = self.write_save(base, candidate, task, attempt)?;
        let mut record = self.record()?;
        record.open = false;
        record.head = self.position()?.head;
        record.owner = saved
            .as_ref()
            .map(|saved| Owner { task: task.to_string(), save: Some(saved.commit.clone()) });
        self.write_record(&record)?;
        Ok(saved)
    }

    /// Nothing of these tasks is in the worktree any more: it was accepted, or reverted.
    pub(super) fn close_workspace(&self, tasks: &[TaskId]) -> GitResult<()> {
        let mut record = self.record()?;
        record.owner = None;
        record.start = None;
        record.open = false;
        record.head = self.position()?.head;
        for task in tasks {
            record.aside.remove(task.as_str());
        }
        self.write_record(&record)
    }

    /// The save itself. Its first parent is what the work is compared with, see [`super::wip`].
    fn write_save(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Option<Saved>> {
        let linked = self.sandboxed.as_ref().is_some_and(|sandboxed| sandboxed.git_dir.is_linked());
        // On a branch of the loop's own, commits that nothing has accepted are part of the work.
        let since = match (&base.head, &candidate.head) {
            (Some(accepted), Some(head)) if linked && self.is_ancestor(accepted, head)? => {
                Some(accepted.clone())
            }
            (_, head) => head.clone(),
        };
        let from = self.tree_of(since.as_deref())?;
        let tree = self.own_part(base, &from, &candidate.tree)?;
        if tree == from && candidate.taken.is_none() {
            return Ok(None);
        }
        let mut parents: Vec<String> = since.clone().into_iter().collect();
        let name = ref_name(task, attempt);
        if let Some(before) = self.commit_parts(&name)? {
            let same_base = self.tree_of(before.parents.first().map(String::as_str))? == from;
            let kept = candidate.taken.iter().all(|taken| before.parents.contains(taken));
            if before.tree == tree && same_base && kept {
                return Ok(Some(Saved { name, commit: before.id }));
            }
            if parents.is_empty() {
                // The first parent is what the work is compared with: here, nothing.
                let nothing = "ralph: before the first commit\n";
                parents.push(self.commit_tree(&from, &[], nothing, Author::Ralph)?);
            }
            parents.push(before.id);
        }
        // What sessions committed stays reachable.
        parents.extend(candidate.taken.clone());
        parents.extend(candidate.head.clone().filter(|head| since.as_ref() != Some(head)));
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let commit =
            self.commit_tree(&tree, &parents, &saved_words(task, attempt), Author::Ralph)?;
        self.git(&["update-ref", &name, &commit]).run()?;
        Ok(Some(Saved { name, commit }))
    }

    /// The tree without what does not belong to the task: the plan, which ralph keeps in any case, and the
    /// user's earlier changes, where everything is committed.
    fn own_part(&self, base: &RunBase, from: &str, tree: &str) -> GitResult<String> {
        let changes = self.diff(from, tree)?;
        let is_plan = |change: &&Change| {
            base.plan.as_deref().map(str::as_bytes) == Some(change.path.as_slice())
        };
        let mut kept: Vec<&Change> = changes.iter().filter(is_plan).collect();
        if self.adds_all.is_some() {
            kept.extend(untouched(self.start_of(base)?.as_ref(), &changes));
        }
        match kept.is_empty() {
            true => Ok(tree.to_owned()),
            false => self.with_entries(tree, kept.iter().map(|c| (&c.path, c.from.as_ref()))),
        }
    }

    /// A tree like another, but for these paths.
    pub(super) fn with_entries<'e>(
        &self,
        tree: &str,
        wanted: impl Iterator<Item = (&'e RepoPath, Option<&'e Entry>)> + Clone,
    ) -> GitResult<String> {
        let scratch = Scratch::empty(self.worktree())?;
        scratch.git(&["read-tree", tree]).run()?;
        scratch.set(tree, wanted)?;
        scratch.write_tree()
    }

    /// A tree with these paths as another tree has them.
    pub(super) fn with_paths_of(
        &self,
        tree: &str,
        from: &str,
        paths: &[String],
    ) -> GitResult<String> {
        if paths.is_empty() {
            return Ok(tree.to_owned());
        }
        let mut changes = self.diff(tree, from)?;
        changes.retain(|change| paths.iter().any(|path| path.as_bytes() == change.path));
        self.with_entries(tree, changes.iter().map(|change| (&change.path, change.to.as_ref())))
    }

    /// Adds paths to what the user had before the session, as `tree` has them.
    pub(super) fn disown_paths(
        &self,
        base: &RunBase,
        tree: &str,
        paths: &[String],
    ) -> GitResult<RunBase> {
        let known = match &base.start {
            Some(start) => self.commit_parts(start)?,
            None => None,
        };
        let (below, parents) = match known {
            Some(known) => (known.tree, known.parents),
            None => {
                let head = self.position()?.head;
                (self.tree_of(head.as_deref())?, head.into_iter().collect())
            }
        };
        let theirs = self.with_paths_of(&below, tree, paths)?;
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let message = "ralph: uncommitted work of the user\n";
        let start = self.commit_tree(&theirs, &parents, message, Author::Ralph)?;
        let mut record = self.record()?;
        record.start = Some(start.clone());
        self.write_record(&record)?;
        Ok(RunBase { start: Some(start), ..base.clone() })
    }

    /// Applies the changes between two commits to a tree: an accepted tree follows the user's commits.
    pub(super) fn carry_over(
        &self,
        tree: &str,
        from: Option<&str>,
        to: Option<&str>,
    ) -> GitResult<String> {
        // Sessions that have ended rewrite no history.
        let rewritten = match (from, to) {
            (Some(from), Some(to)) => !self.is_ancestor(from, to)?,
            _ => true,
        };
        let (from, to) = (self.tree_of(from)?, self.tree_of(to)?);
        if tree == from || rewritten {
            return Ok(to);
        }
        let changes = self.diff(&from, &to)?;
        self.with_entries(tree, changes.iter().map(|change| (&change.path, change.to.as_ref())))
    }
}
