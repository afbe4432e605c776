//! Git in the worktree that the user works in. Without a sandbox the agent's own commits land on the branch at
//! once; with one they land when the gates pass. Uncommitted work is committed, saved or reverted.

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use ralph_core::glob::Patterns;
use ralph_core::ids::RunId;
use ralph_core::records::FileChange;
use ralph_core::run::WorkPlace;
use ralph_core::{TaskId, Timestamp};

use super::commit::Unrefreshed;
use super::hold::BranchHold;
use super::hooks::Hooks;
use super::sandboxed::WorktreeSandbox;
use super::start::Start;
use crate::git::entries::{COUNTED, Change, RAW, parse_changes, parse_counted};
use crate::git::position::{Position, object_id, position};
use crate::git::spelling::spelled;
use crate::git::{Git, GitError, GitResult};
use crate::kept::is_state;
use crate::ports::{
    Candidate, Checkout, Ending, Forbidden, KeepSaves, Opened, RunBase, SandboxMounts, Saved,
    SetAsideWork, Vcs,
};
use crate::project::Project;
use crate::sync::lock;
use crate::untrusted::settle_base;

#[derive(Debug)]
pub struct GitVcs {
    pub(super) project: Project,
    pub(super) index: PathBuf,
    /// Trees of commits, and the id of the empty one under an empty name. Commits do not change.
    trees: Mutex<HashMap<String, String>>,
    last_diff: Mutex<Option<([String; 2], Vec<Change>)>>,
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

/// The most commits of one session that are reported.
const COUNTED_COMMITS: &str = "--max-count=1000";

pub(crate) struct CommitParts {
    pub(crate) id: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    Ralph,
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
        self.commit_tree(&tree, &[], "ralph: can this key sign?\n", Author::User).map(drop)
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

    /// The tree of a commit; the empty tree for none.
    pub(crate) fn tree_of(&self, commit: Option<&str>) -> GitResult<String> {
        let name = commit.unwrap_or_default();
        if let Some(tree) = lock(&self.trees).get(name) {
            return Ok(tree.clone());
        }
        let tree = match commit {
            Some(id) => self.git(&["rev-parse", "--verify", &format!("{id}^{{tree}}")]).line()?,
            None => self.git(&["mktree"]).line()?,
        };
        self.remember_tree(name, &tree);
        Ok(tree)
    }

    pub(super) fn remember_tree(&self, commit: &str, tree: &str) {
        lock(&self.trees).insert(commit.to_owned(), tree.to_owned());
    }

    /// What a ref or an id leads to, if it leads to a commit.
    pub(crate) fn commit_parts(&self, name: &str) -> GitResult<Option<CommitParts>> {
        let asked = format!("{name}\n");
        let answer = self.git(&["cat-file", "--batch"]).input(asked.as_bytes()).run()?;
        let text = String::from_utf8_lossy(&answer);
        let mut lines = text.lines();
        let about = lines.next().unwrap_or_default();
        let Some((id, kind)) = about.split_once(' ') else {
            return Err(GitError::Odd { verb: "cat-file".to_owned(), answer: about.to_owned() });
        };
        if !kind.starts_with("commit ") {
            return Ok(None);
        }
        let mut parts = CommitParts { id: id.to_owned(), tree: String::new(), parents: Vec::new() };
        for line in lines.take_while(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some(("tree", tree)) => tree.clone_into(&mut parts.tree),
                Some(("parent", parent)) => parts.parents.push(parent.to_owned()),
                _ => {}
            }
        }
        Ok(Some(parts))
    }

    /// Makes a commit; no ref leads to it.
    pub(crate) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        author: Author,
    ) -> GitResult<String> {
        let mut arguments = vec!["commit-tree", tree];
        if author == Author::User && self.signs() {
            // The plumbing asks for no setting by itself.
            arguments.push("-S");
        }
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let call = self.git(&arguments).input(message.as_bytes());
        if author == Author::Ralph { call.as_ralph().line() } else { call.line() }
    }

    pub(super) fn diff(&self, from: &str, to: &str) -> GitResult<Vec<Change>> {
        if let Some((known, changes)) = &*lock(&self.last_diff)
            && *known == [from, to]
        {
            return Ok(changes.clone());
        }
        let mut arguments = vec!["diff-tree"];
        arguments.extend(RAW);
        arguments.extend([from, to, "--"]);
        let changes = parse_changes("diff-tree", &self.git(&arguments).run()?)?;
        self.remember_diff(from, to, &changes);
        Ok(changes)
    }

    /// The work of a session is compared several times in a row.
    fn remember_diff(&self, from: &str, to: &str, changes: &[Change]) {
        if object_id(from).is_some() && object_id(to).is_some() {
            *lock(&self.last_diff) = Some(([from, to].map(str::to_owned), changes.to_vec()));
        }
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

    fn land(&self, base: &RunBase, candidate: &Candidate) -> GitResult<Option<String>> {
        self.land_imported(base, candidate)
    }

    fn listed_commits(&self, from: Option<&str>, to: &str) -> GitResult<Vec<(String, String)>> {
        let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
        let log = ["log", "--reverse", "--first-parent", COUNTED_COMMITS, "--format=%H %s", &range];
        let lines = self.git(&log).arg("--").lines()?;
        let pair =
            |line: &String| line.split_once(' ').map(|(id, words)| (id.into(), words.into()));
        Ok(lines.iter().filter_map(pair).collect())
    }

    fn work_place(&self, commit: &str) -> GitResult<WorkPlace> {
        self.place_of_work(commit)
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

    fn shown(&self) -> GitResult<SandboxMounts> {
        Ok(self.issue_git_dir()?.unwrap_or_default())
    }

    fn shown_to_judges(&self, head: Option<&str>) -> GitResult<SandboxMounts> {
        Ok(self.private_for_judges(head)?.unwrap_or_default())
    }

    fn import_commits(&self) -> GitResult<()> {
        self.adopt_head()
    }

    fn renamed(&self, text: &str) -> String {
        self.with_new_names(text)
    }

    fn head(&self) -> GitResult<Option<String>> {
        Ok(self.position()?.head)
    }

    fn open(&self, run: &RunId, base: &RunBase, owner: Option<&TaskId>) -> GitResult<Opened> {
        self.open_workspace(run, base, owner)
    }

    fn keep_only(&self, base: &RunBase, tasks: &[TaskId]) -> GitResult<Option<SetAsideWork>> {
        self.keep_work_of(base, tasks)
    }

    fn session_lives(&self, alive: bool) {
        self.stamp(alive);
    }

    fn interrupted(&self) -> GitResult<Option<TaskId>> {
        self.interrupted_owner()
    }

    fn save(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Option<Saved>> {
        self.save_candidate(base, candidate, task, attempt)
    }

    fn with_paths(&self, tree: &str, from: &str, paths: &[String]) -> GitResult<String> {
        self.with_paths_of(tree, from, paths)
    }

    fn disown(&self, base: &RunBase, tree: &str, paths: &[String]) -> GitResult<RunBase> {
        self.disown_paths(base, tree, paths)
    }

    fn close(&self, tasks: &[TaskId]) -> GitResult<()> {
        self.close_workspace(tasks)
    }

    fn carried(&self, tree: &str, from: Option<&str>, to: Option<&str>) -> GitResult<String> {
        self.carry_over(tree, from, to)
    }

    fn put_back(&self, base: &RunBase, candidate: &Candidate) -> GitResult<Vec<PathBuf>> {
        self.put_leftovers_back(base, candidate)
    }

    fn changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>> {
        let changes = self.diff(from_tree, to_tree)?;
        Ok(changes.iter().map(|change| spelled(&change.path)).collect())
    }

    fn patch(&self, from_tree: &str, to_tree: &str, most: usize) -> GitResult<String> {
        self.patch_between(from_tree, to_tree, most)
    }

    fn links_out(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>> {
        self.new_links_out(from_tree, to_tree)
    }

    fn forbidden(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<Forbidden>> {
        self.forbidden_changes(from_tree, to_tree)
    }

    fn counted_changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<FileChange>> {
        let mut arguments = vec!["diff-tree"];
        arguments.extend(RAW.into_iter().chain(COUNTED));
        arguments.extend([from_tree, to_tree, "--"]);
        let (changes, counted) = parse_counted("diff-tree", &self.git(&arguments).run()?)?;
        self.remember_diff(from_tree, to_tree, &changes);
        Ok(counted)
    }

    fn lands_when_accepted(&self) -> bool {
        self.sandboxed.as_ref().is_some_and(|sandboxed| !sandboxed.git_dir.is_linked())
    }

    fn file(&self, tree: &str, path: &str) -> GitResult<Option<Vec<u8>>> {
        self.file_in(tree, path)
    }

    fn files(&self, tree: &str) -> GitResult<Vec<String>> {
        let listed = self.git(&["ls-tree", "-r", "-z", "--name-only", tree]).run()?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    fn checkout(&self, candidate: &Candidate, include: &str) -> GitResult<Checkout> {
        self.check_out_fresh(candidate, include)
    }

    fn included(&self, include: &str) -> GitResult<Vec<(String, u64)>> {
        self.included_contents(include)
    }

    fn submodules_with_work(&self) -> GitResult<Vec<String>> {
        GitVcs::submodules_with_work(self)
    }

    fn check_branch(&self, base: &RunBase) -> GitResult<()> {
        self.on_branch(base).map(drop)
    }

    fn keep_out(&self, path: &str, branch: &str, began: &str) -> GitResult<Option<Saved>> {
        self.keep_path_out(path, branch, began)
    }

    fn remove_dead_locks(&self, since: Timestamp) -> GitResult<()> {
        self.sweep_locks(since)
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
