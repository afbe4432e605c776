//! The loop's interface to version control: the tree to judge, the commit when the gates pass, and a safe place for
//! work that fails them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::ids::RunId;
use ralph_core::records::FileChange;
use ralph_core::run::WorkPlace;
use ralph_core::{TaskId, Timestamp};

use super::git_error::GitResult;
use super::jail::Bind;

/// What work is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunBase {
    /// The commit that work begins from: where the run began, or where the newest accepted work is. `None` on
    /// a branch without commits.
    pub head: Option<String>,
    /// The branch that was checked out, without `refs/heads/`; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The user's uncommitted work when the session began, as a commit; `None` when there was none. A
    /// candidate for a base without it takes in everything that is uncommitted.
    pub start: Option<String>,
    /// The last tree that was judged and kept. A candidate equal to it means that nothing moved.
    pub settled_tree: String,
    /// The path of a plan in the worktree, from its top: ralph keeps it, so it is neither saved nor reverted
    /// with the work of a task.
    pub plan: Option<String>,
}

/// A worktree that is ready for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub base: RunBase,
    pub left: Option<SetAsideWork>,
    /// Earlier work of the task that is in the worktree again.
    pub restored: Option<EarlierWork>,
    /// Earlier work of the task that files are in the way of: these.
    pub blocked: Option<EarlierWork>,
    /// The branch went from the first commit to the second while no session was running.
    pub moved: Option<(Option<String>, Option<String>)>,
}

impl Opened {
    /// Nothing had to be done.
    pub fn unchanged(base: &RunBase) -> Self {
        let base = base.clone();
        Self { base, left: None, restored: None, blocked: None, moved: None }
    }
}

/// Work that left the worktree because the next session is about another task. It is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAsideWork {
    pub task: TaskId,
    pub paths: Vec<PathBuf>,
}

/// Saved work of a task that has another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierWork {
    /// The ref that holds it.
    pub name: String,
    pub paths: Vec<PathBuf>,
}

/// The tree that is judged: what is committed, and what the session left in the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub tree: String,
    /// The commit below it; `None` on a branch without commits.
    pub head: Option<String>,
    pub head_tree: String,
    pub leftovers: bool,
    /// The newest commit that sessions made on top of `head` in a git directory of their own: nothing of it
    /// is on the branch before it is green.
    pub taken: Option<String>,
}

/// Saved work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The full name of the ref that holds it.
    pub name: String,
    pub commit: String,
}

/// What a sandbox has to show so that git works in it.
#[derive(Debug, Clone, Default)]
pub struct SandboxMounts {
    /// Places, in this order.
    pub binds: Vec<Bind>,
    /// Files of the worktree that have programs run outside of the sandbox: only to be read.
    pub read_only: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    /// Temporary folders that are removed with the last reference.
    pub held: Vec<Arc<tempfile::TempDir>>,
}

/// A folder with exactly the files of a tree. It goes away with this value.
#[derive(Debug)]
pub struct Checkout {
    _held: tempfile::TempDir,
    folder: PathBuf,
    caches: Option<tempfile::TempDir>,
}

impl Checkout {
    /// The checkout in `folder`, which is in `held`.
    pub fn new(held: tempfile::TempDir, folder: PathBuf) -> Self {
        Self { _held: held, folder, caches: None }
    }

    /// With caches of its own.
    #[must_use]
    pub fn with_caches(self, caches: Option<tempfile::TempDir>) -> Self {
        Self { caches, ..self }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The caches of programs that run in it; `None` for those that all gates share.
    pub fn caches(&self) -> Option<&Path> {
        self.caches.as_ref().map(tempfile::TempDir::path)
    }
}

/// A path that no commit may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forbidden {
    /// What ralph keeps in the worktree.
    State(String),
    /// A repository inside the worktree that is not a submodule of the accepted work.
    Repository(String),
}

/// How often the loop signals version control that a session is alive.
pub const HEARTBEAT: Duration = Duration::from_millis(500);

/// How long saved work of finished tasks is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeepSaves {
    /// The longest time; `None`: forever.
    pub age: Option<Duration>,
    /// The most bytes in total; `None` is unlimited.
    pub size: Option<u64>,
}

/// The state of a task whose work is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Done, or dropped.
    Done,
    Failed,
    /// Anything else: its work stays.
    Open,
}

/// Version control as the loop sees it.
///
/// Calls are synchronous: the loop makes them on threads where waiting is allowed. An implementation
/// must not touch the user's files or staged work except in [`Vcs::put_back`], never drops work that
/// is not saved elsewhere, and reads no prose to decide anything but which error to return.
pub trait Vcs: Trees + Workspaces + SessionCommits + Send + Sync {
    /// Inspects the worktree before the first session and saves uncommitted work. A run that continues another
    /// one reuses what *that* run found at its start, so that the agent's unfinished work is not mistaken for
    /// the user's. `resumes` is that run and the last commit that it accepted.
    fn begin(&self, run: &RunId, resumes: Option<(&RunId, Option<&str>)>) -> GitResult<RunBase>;

    /// Writes the tree to judge: the commit that is checked out, overlaid by the worktree, without
    /// ignored files. Paths that were dirty before the run stay as committed unless a session
    /// changed them. Index and worktree are only read.
    fn candidate(&self, base: &RunBase) -> GitResult<Candidate>;

    /// Commits what the candidate has beyond its head, if anything, and returns the commit. The
    /// branch must be where the candidate found it. Only the committed paths change in the index.
    fn commit(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> GitResult<Option<String>>;

    /// The commit that is checked out. Cheap enough to be asked at any time.
    fn head(&self) -> GitResult<Option<String>>;

    /// The worktree must be on the branch that the run works on.
    fn check_branch(&self, _base: &RunBase) -> GitResult<()> {
        Ok(())
    }

    /// Keeps the branch from moving until the next commit of ralph's, or until it is released. `false` where it
    /// moved this very moment.
    fn hold(&self) -> GitResult<bool> {
        Ok(true)
    }

    /// The branch may move again.
    fn release(&self) {}

    /// Removes the changes of the candidate from the worktree and returns the paths; a path that was dirty
    /// before the run gets back its content of then. A path whose content is no longer the candidate's stays:
    /// someone is working on it. Save the work first.
    fn put_back(&self, base: &RunBase, candidate: &Candidate) -> GitResult<Vec<PathBuf>>;

    /// Writes the files of the candidate into a new folder, and copies those ignored files of the
    /// worktree into it that fit `include`, the patterns of a `.worktreeinclude`.
    fn checkout(&self, candidate: &Candidate, include: &str) -> GitResult<Checkout>;

    /// Those ignored files that [`Vcs::checkout`] would copy for `include`, each with its content as a
    /// number.
    fn included(&self, _include: &str) -> GitResult<Vec<(String, u64)>> {
        Ok(vec![])
    }

    /// Submodules with work in them, which no commit of this repository can hold.
    fn submodules_with_work(&self) -> GitResult<Vec<String>> {
        Ok(vec![])
    }

    /// Removes a path from the commits on `branch` since the commit `began`, and from the index: it is as it
    /// was before. Commits that others have stay. If commits had to be recreated, the old ones are saved, and
    /// their ref is returned.
    fn keep_out(&self, _path: &str, _branch: &str, _began: &str) -> GitResult<Option<Saved>> {
        Ok(None)
    }

    /// Removes the locks that dead programs left since then. A lock that may belong to someone else stays, and
    /// is named when it is in the way.
    fn remove_dead_locks(&self, _since: Timestamp) -> GitResult<()> {
        Ok(())
    }

    /// The run is over: removes what no worktree needs any more, and saved work of finished tasks beyond the
    /// limits. `ending` gives the state of a task. Returns how many saves were removed.
    fn tidy(
        &self,
        _keep: &KeepSaves,
        _ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<usize> {
        Ok(0)
    }

    /// Warnings since the last call, in sentences.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Trees and commits, by their ids. No ref, index or file changes.
pub trait Trees {
    /// The names of what differs between two trees.
    fn changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>>;

    /// The same with how many lines came and went, in the same order.
    fn counted_changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<FileChange>>;

    /// How two trees differ, as a patch; at most so many bytes of it, and whole lines.
    fn patch(&self, from_tree: &str, to_tree: &str, most: usize) -> GitResult<String>;

    /// What a file of a tree holds; `None` when there is none.
    fn file(&self, tree: &str, path: &str) -> GitResult<Option<Vec<u8>>>;

    /// The names of all files of a tree.
    fn files(&self, _tree: &str) -> GitResult<Vec<String>> {
        Ok(vec![])
    }

    /// A tree with these paths as another tree has them.
    fn with_paths(&self, tree: &str, _from: &str, _paths: &[String]) -> GitResult<String> {
        Ok(tree.to_owned())
    }

    /// A tree with the changes between two commits applied: the accepted tree follows the user's commits.
    fn carried(&self, tree: &str, _from: Option<&str>, _to: Option<&str>) -> GitResult<String> {
        Ok(tree.to_owned())
    }

    /// The links that the second tree has beyond the first, and that lead out of the worktree.
    fn links_out(&self, _from_tree: &str, _to_tree: &str) -> GitResult<Vec<String>> {
        Ok(vec![])
    }

    /// What of the changes between two trees no commit may hold.
    fn forbidden(&self, _from_tree: &str, _to_tree: &str) -> GitResult<Vec<Forbidden>> {
        Ok(vec![])
    }

    /// The commits between two commits, by first parents and oldest first: each id and its subject.
    fn listed_commits(&self, _from: Option<&str>, _to: &str) -> GitResult<Vec<(String, String)>> {
        Ok(vec![])
    }

    /// Where the work of a commit is, as seen from what is checked out.
    fn work_place(&self, _commit: &str) -> GitResult<WorkPlace> {
        Ok(WorkPlace::Here)
    }
}

/// Whose work is in the worktree.
pub trait Workspaces {
    /// Prepares the worktree for a session of `owner`. Work of another task leaves it, work of the owner that
    /// had to leave comes back, and everything else that is uncommitted is the user's from now on. Without an
    /// owner, who is known only after the session, nothing moves: see [`Workspaces::keep_only`].
    fn open(&self, _run: &RunId, base: &RunBase, _owner: Option<&TaskId>) -> GitResult<Opened> {
        Ok(Opened::unchanged(base))
    }

    /// The session was about these tasks: unchanged work of any other task leaves the worktree.
    fn keep_only(&self, _base: &RunBase, _tasks: &[TaskId]) -> GitResult<Option<SetAsideWork>> {
        Ok(None)
    }

    /// A session is alive in the worktree, or no longer is. Called every [`HEARTBEAT`] while one is.
    fn session_lives(&self, _alive: bool) {}

    /// The task whose session was running when the last run in this worktree was killed.
    fn interrupted(&self) -> GitResult<Option<TaskId>> {
        Ok(None)
    }

    /// Saves what a session left, under a ref of the attempt, and remembers whose it is. `None` when there is
    /// nothing. Saving the same again changes nothing; saving something else keeps the earlier save reachable.
    fn save(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Option<Saved>>;

    /// Whether the candidate has exactly the work that is saved under this attempt, on whatever commit it stands now.
    /// `false` where a file of the work was committed differently since.
    fn holds_saved(
        &self,
        _base: &RunBase,
        _candidate: &Candidate,
        _task: &TaskId,
        _attempt: u32,
    ) -> GitResult<bool> {
        Ok(false)
    }

    /// No unfinished work of these tasks is in the worktree any more, nor any that would come back with them.
    fn close(&self, _tasks: &[TaskId]) -> GitResult<()> {
        Ok(())
    }

    /// These paths are the user's, as `tree` has them, and not the session's.
    fn disown(&self, base: &RunBase, _tree: &str, _paths: &[String]) -> GitResult<RunBase> {
        Ok(base.clone())
    }
}

/// Sessions that commit in a git directory of their own. Without one they commit on the branch.
pub trait SessionCommits {
    /// Nothing that sessions commit here is on the branch before it is accepted.
    fn lands_when_accepted(&self) -> bool {
        false
    }

    /// What a sandbox has to show so that git works in it: nothing where sessions work on the real directory.
    /// Otherwise a git directory of their own: the same one for all until its work is accepted or given up.
    fn shown(&self) -> GitResult<SandboxMounts> {
        Ok(SandboxMounts::default())
    }

    /// The same for gates and verifiers: a git directory of their own, with your settings and none that a
    /// session left. `head` is the commit that its branch is on, where that is not the user's. What is
    /// written there is thrown away.
    fn shown_to_judges(&self, _head: Option<&str>) -> GitResult<SandboxMounts> {
        Ok(SandboxMounts::default())
    }

    /// A session has ended: if the branch belongs to ralph, the session's commits are on that branch from now
    /// on.
    fn import_commits(&self) -> GitResult<()> {
        Ok(())
    }

    /// Moves the branch to what sessions committed, if they did, where the loop commits nothing itself.
    /// Returns the commit.
    fn land(&self, _base: &RunBase, _candidate: &Candidate) -> GitResult<Option<String>> {
        Ok(None)
    }

    /// A session's text with recreated commits replaced by their new ids.
    fn renamed(&self, text: &str) -> String {
        text.to_owned()
    }
}
