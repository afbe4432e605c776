//! Who owns the work in the worktree: a task, or the user. It knows the owning task, what the user had there before
//! its session, and the work that was set aside for tasks that may be retried.
//!
//! A path that changes while no session runs is the user's. The record of this is in the worktree's own git
//! directory: no tree can contain it, `git clean` leaves it alone, and a sandboxed session does not see it. The work
//! itself is under `refs/ralph/wip/`; a record that points to nothing counts as none.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use serde::{Deserialize, Serialize};

use super::candidate::untouched;
use super::in_place::GitVcs;
use super::restore::RecoverError;
use super::stamp::{changed_at, last_lived, stamp};
use super::start::Start;
use super::traces::SESSIONS;
use super::trees::CommitParts;
use super::wip::ref_name;
use crate::git::entries::{Change, Entry, RepoPath};
use crate::git::position::operation;
use crate::git::scratch::Scratch;
use crate::git::spelling::spelled;
use crate::git::{GitError, GitResult};
use crate::ports::{
    Candidate, EarlierWork, Opened, RunBase, Saved, SetAsideWork, Trees, Vcs, Workspaces,
};
use crate::untrusted::{LARGE, read_own};

/// The file of the record, in the git directory of a worktree.
const RECORD: &str = "ralph-workspace.json";

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

impl Record {
    /// That of the worktree with this git directory.
    pub(super) fn of(own_git_dir: &Path) -> Self {
        let text = read_own(&own_git_dir.join(RECORD), LARGE).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
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
    /// The record; an unreadable one counts as none, and then everything uncommitted is the user's.
    pub(super) fn record(&self) -> GitResult<Record> {
        Ok(Record::of(&self.project.own_git_dir()?))
    }

    /// Ralph does not work in a tree that git is in the middle of changing: conflict markers would be work.
    pub(crate) fn refuse_operation(&self) -> GitResult<()> {
        match operation(&self.project.own_git_dir()?) {
            Some(operation) => Err(GitError::InProgress { operation }),
            None => Ok(()),
        }
    }

    /// The same for an index with conflicts that no operation is left to finish.
    pub(crate) fn refuse_unmerged(&self) -> GitResult<()> {
        let listed = self.git(&["ls-files", "--unmerged", "-z"]).run()?;
        let first = listed.split(|byte| *byte == 0).find_map(|line| {
            let path = line.split(|byte| *byte == b'\t').nth(1)?;
            Some(spelled(path))
        });
        first.map_or(Ok(()), |path| Err(GitError::Unmerged { path }))
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
        let Some((save, task)) =
            self.recorded(owner.save.as_ref())?.zip(TaskId::new(&owner.task).ok())
        else {
            return Ok(None);
        };
        self.uncommit(&save, record)?;
        let head_tree = self.tree_before(&save)?;
        let head = save.parents.first().cloned();
        let work = Candidate { tree: save.tree, head, head_tree, leftovers: true, taken: None };
        let before = RunBase { start: record.start.take(), ..base.clone() };
        let paths = self.put_leftovers_back(&before, &work)?;
        record.aside.insert(owner.task, save.id);
        Ok(Some(SetAsideWork { task, paths }))
    }

    /// The commits that a session made on a branch of the loop's own, and that nothing has accepted, are
    /// uncommitted work again: the branch goes back to where the save begins.
    fn uncommit(&self, save: &CommitParts, record: &Record) -> GitResult<()> {
        let Some(sandboxed) = self.linked_sandbox() else { return Ok(()) };
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
                opened.restored = Some(EarlierWork { name, paths: recovered.restored });
                record.owner = Some(Owner { task: owner.to_string(), save: Some(commit) });
                record.start.clone_from(&base.start);
            }
            Err(RecoverError::Git(error)) => return Err(error),
            Err(RecoverError::NotSaved { .. }) => {}
            Err(RecoverError::InTheWay { obstacles, .. }) => {
                let paths = obstacles.into_iter().map(|(path, _)| path).collect();
                opened.blocked = Some(EarlierWork { name, paths });
            }
        }
        Ok(())
    }

    /// A commit that a record names, while it is there.
    pub(super) fn recorded(&self, commit: Option<&String>) -> GitResult<Option<CommitParts>> {
        commit.map_or(Ok(None), |commit| self.commit_parts(commit))
    }

    /// The owner's work in the worktree.
    pub(super) fn leftovers(&self, record: &Record) -> GitResult<Leftovers> {
        let save = record.owner.as_ref().and_then(|owner| owner.save.as_ref());
        let Some(save) = self.recorded(save)? else { return Ok(Leftovers::default()) };
        let work = self.diff(&self.tree_before(&save)?, &save.tree)?;
        let work = work.into_iter().map(|Change { path, to, .. }| (path, to)).collect();
        let before = RunBase { start: record.start.clone(), ..RunBase::default() };
        Ok(Leftovers { work, before: self.start_of(&before)? })
    }

    /// What the user had before a session that was killed, with what they changed after it.
    pub(super) fn with_later_edits(
        &self,
        record: &Record,
        head: Option<&str>,
    ) -> GitResult<Option<String>> {
        let start = self.recorded(record.start.as_ref())?;
        let known = start.as_ref().map(|start| start.id.clone());
        let Some(lived) = last_lived(&self.project)? else { return Ok(known) };
        let mut later = self.diff(&self.tree_of(head)?, &self.worktree_tree(head)?)?;
        later.retain(|change| changed_at(self.worktree(), &change.path) > lived);
        if later.is_empty() {
            return Ok(known);
        }
        let entries = later.iter().map(|change| (&change.path, change.to.as_ref()));
        let with_later = |before: &str| self.with_entries(before, entries);
        self.amended_start(start, record.head.clone(), with_later).map(Some)
    }

    /// The user's uncommitted work with other files, as a commit: `change` makes its tree from the one before.
    fn amended_start(
        &self,
        start: Option<CommitParts>,
        head: Option<String>,
        change: impl FnOnce(&str) -> GitResult<String>,
    ) -> GitResult<String> {
        let (before, parents) = match start {
            Some(start) => (start.tree, start.parents),
            None => (self.tree_of(head.as_deref())?, head.into_iter().collect()),
        };
        self.commit_start(&change(&before)?, &parents)
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
        self.with_entries(tree, kept.iter().map(|c| (&c.path, c.from.as_ref())))
    }
}

impl Workspaces for GitVcs {
    fn open(&self, run: &RunId, base: &RunBase, owner: Option<&TaskId>) -> GitResult<Opened> {
        self.refuse_operation()?;
        let mut record = self.record()?;
        let closed_at = record.head.take();
        let mut opened = Opened::unchanged(base);
        if let Some(owner) = owner {
            opened.left = self.evacuate_others(base, &mut record, std::slice::from_ref(owner))?;
            self.bring_back_own(base, owner, &mut record, &mut opened)?;
        }
        let head = self.head()?;
        opened.moved =
            (closed_at.is_some() && closed_at != head).then_some((closed_at, head.clone()));
        let name = format!("{SESSIONS}{run}");
        let start = self.save_start(&name, head.as_deref(), &record, record.start.as_ref())?;
        opened.base.start.clone_from(&start);
        record.owner = match (owner, record.owner) {
            (Some(owner), Some(known)) if known.task == owner.as_str() => Some(known),
            (Some(owner), _) => Some(Owner { task: owner.to_string(), save: None }),
            (None, known) => known,
        };
        record.open = true;
        record.start = start;
        record.head = head;
        self.write_own_file(RECORD, &record)?;
        self.session_lives(false);
        Ok(opened)
    }

    fn keep_only(&self, base: &RunBase, tasks: &[TaskId]) -> GitResult<Option<SetAsideWork>> {
        let mut record = self.record()?;
        let left = self.evacuate_others(base, &mut record, tasks)?;
        if left.is_some() {
            self.write_own_file(RECORD, &record)?;
        }
        Ok(left)
    }

    fn session_lives(&self, alive: bool) {
        stamp(&self.project, alive);
    }

    fn interrupted(&self) -> GitResult<Option<TaskId>> {
        let record = self.record()?;
        let owner = record.owner.filter(|_| record.open);
        Ok(owner.and_then(|owner| TaskId::new(owner.task).ok()))
    }

    fn save(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Option<Saved>> {
        let linked = self.linked_sandbox().is_some();
        // On a branch of the loop's own, commits that nothing has accepted are part of the work.
        let since = match (&base.head, &candidate.head) {
            (Some(accepted), Some(head)) if linked && self.is_ancestor(accepted, head)? => {
                Some(accepted.clone())
            }
            (_, head) => head.clone(),
        };
        let from = self.tree_of(since.as_deref())?;
        let tree = self.own_part(base, &from, &candidate.tree)?;
        let is_empty = tree == from && candidate.taken.is_none();
        // What sessions committed stays reachable.
        let mut reachable: Vec<String> = candidate.taken.iter().cloned().collect();
        reachable.extend(candidate.head.clone().filter(|head| since.as_ref() != Some(head)));
        let saved = match is_empty {
            true => None,
            false => Some(self.save_tree(&tree, since.as_deref(), reachable, task, attempt)?),
        };
        let mut record = self.record()?;
        record.open = false;
        record.head = self.head()?;
        record.owner = saved
            .as_ref()
            .map(|saved| Owner { task: task.to_string(), save: Some(saved.commit.clone()) });
        self.write_own_file(RECORD, &record)?;
        Ok(saved)
    }

    fn holds_saved(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<bool> {
        let Some(save) = self.commit_parts(&ref_name(task, attempt))? else { return Ok(false) };
        let work = self.diff(&self.tree_before(&save)?, &save.tree)?;
        let (head_tree, tree) = match (self.linked_sandbox(), &base.head) {
            // Unaccepted commits on a branch of the loop's own are part of the work.
            (Some(_), Some(accepted)) => (self.tree_of(Some(accepted))?, &candidate.tree),
            _ => (candidate.head_tree.clone(), &candidate.tree),
        };
        let tree = self.own_part(base, &head_tree, tree)?;
        let entries = work.iter().map(|change| (&change.path, change.to.as_ref()));
        if self.with_entries(&head_tree, entries)? != tree {
            return Ok(false);
        }
        let missing = self.diff(&head_tree, &save.tree)?;
        // What is committed there is what the work began from, or already the work.
        Ok(work.iter().all(|change| {
            let now = missing.iter().find(|other| other.path == change.path);
            now.is_none_or(|now| now.from == change.from)
        }))
    }

    fn close(&self, tasks: &[TaskId]) -> GitResult<()> {
        let mut record = self.record()?;
        record.owner = None;
        record.start = None;
        record.open = false;
        record.head = self.head()?;
        for task in tasks {
            record.aside.remove(task.as_str());
        }
        self.write_own_file(RECORD, &record)
    }

    fn disown(&self, base: &RunBase, tree: &str, paths: &[String]) -> GitResult<RunBase> {
        let known = self.recorded(base.start.as_ref())?;
        let theirs = |before: &str| self.with_paths(before, tree, paths);
        let start = self.amended_start(known, self.head()?, theirs)?;
        let mut record = self.record()?;
        record.start = Some(start.clone());
        self.write_own_file(RECORD, &record)?;
        Ok(RunBase { start: Some(start), ..base.clone() })
    }
}
