//! Version control in memory: the rules of [`Vcs`] without git, for tests and benches of the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Mutex;

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use ralph_core::records::FileChange;

use ralph_engine::ports::{
    Candidate, Checkout, GitError, Opened, RunBase, Saved, SessionCommits, Trees, Vcs, Workspaces,
};
use ralph_engine::vcs::wip::ref_name;

type Files = BTreeMap<String, String>;

/// A commit of the fake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeCommit {
    pub id: String,
    pub tree: String,
    pub parent: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message.
    pub body: String,
}

#[derive(Debug, Default)]
struct State {
    worktree: Files,
    trees: BTreeMap<String, Files>,
    commits: Vec<FakeCommit>,
    refs: BTreeMap<String, String>,
    head: Option<String>,
    failing: Option<GitError>,
}

/// A repository in memory, on branch `main`. What a session would do to the worktree is done by
/// [`FakeVcs::write`], [`FakeVcs::remove`] and [`FakeVcs::commit_all`].
#[derive(Debug, Default)]
pub struct FakeVcs(Mutex<State>);

impl FakeVcs {
    /// A repository without commits and files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        self.0.lock().unwrap().worktree.insert(path.to_owned(), text.to_owned());
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.0.lock().unwrap().worktree.remove(path);
    }

    /// What a file holds.
    pub fn read(&self, path: &str) -> Option<String> {
        self.0.lock().unwrap().worktree.get(path).cloned()
    }

    /// Commits the whole worktree, as an agent does.
    pub fn commit_all(&self, subject: &str) -> String {
        let mut state = self.0.lock().unwrap();
        let files = state.worktree.clone();
        let tree = state.write(files);
        let parent = state.head.clone();
        let id = state.add(tree, parent, subject, "");
        state.head = Some(id.clone());
        id
    }

    /// Writes one file and commits only that, as a user does beside the loop.
    pub fn commit_only(&self, path: &str, text: &str, subject: &str) -> String {
        let mut state = self.0.lock().unwrap();
        state.worktree.insert(path.to_owned(), text.to_owned());
        let mut files = state.files_of(state.head.as_deref());
        files.insert(path.to_owned(), text.to_owned());
        let tree = state.write(files);
        let parent = state.head.clone();
        let id = state.add(tree, parent, subject, "");
        state.head = Some(id.clone());
        id
    }

    /// The commits of the branch, the oldest first.
    pub fn log(&self) -> Vec<FakeCommit> {
        let state = self.0.lock().unwrap();
        let mut log = Vec::new();
        let mut next = state.head.clone();
        while let Some(commit) = next.and_then(|id| state.commit(&id).cloned()) {
            next = commit.parent.clone();
            log.push(commit);
        }
        log.reverse();
        log
    }

    /// The refs that are not branches, and the commits that they lead to.
    pub fn refs(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap().refs.clone()
    }

    /// A file of a commit.
    pub fn file_in(&self, commit: &str, path: &str) -> Option<String> {
        let state = self.0.lock().unwrap();
        state.files_of(Some(commit)).get(path).cloned()
    }

    /// Makes the next call that can fail, fail.
    pub fn fail_next(&self, error: GitError) {
        self.0.lock().unwrap().failing = Some(error);
    }

    fn state(&self) -> Result<std::sync::MutexGuard<'_, State>, GitError> {
        let mut state = self.0.lock().unwrap();
        state.failing.take().map_or(Ok(state), Err)
    }
}

impl State {
    fn write(&mut self, files: Files) -> String {
        let id = hash(&files);
        self.trees.insert(id.clone(), files);
        id
    }

    fn add(&mut self, tree: String, parent: Option<String>, subject: &str, body: &str) -> String {
        let id = hash(&(&tree, &parent, subject, body, self.commits.len()));
        let (subject, body) = (subject.to_owned(), body.to_owned());
        self.commits.push(FakeCommit { id: id.clone(), tree, parent, subject, body });
        id
    }

    fn commit(&self, id: &str) -> Option<&FakeCommit> {
        self.commits.iter().rev().find(|commit| commit.id == id)
    }

    fn files_of(&self, commit: Option<&str>) -> Files {
        let commit = commit.and_then(|id| self.commit(id));
        commit.and_then(|commit| self.trees.get(&commit.tree)).cloned().unwrap_or_default()
    }

    /// What the user had before the run at a path, while it is still the user's.
    fn personal(
        &self,
        base: &RunBase,
        path: &str,
        committed: Option<&String>,
    ) -> Option<Option<String>> {
        let start = self.commit(base.start.as_deref()?)?;
        let before = self.files_of(start.parent.as_deref());
        let saved = self.files_of(Some(&start.id)).get(path).cloned();
        let is_dirty = before.get(path) != saved.as_ref();
        let is_still = committed == before.get(path) || committed == saved.as_ref();
        (is_dirty && is_still).then_some(saved)
    }

    fn candidate(&mut self, base: &RunBase) -> Candidate {
        let committed = self.files_of(self.head.as_deref());
        let mut files = self.worktree.clone();
        for path in different(&committed, &files) {
            let before = committed.get(&path);
            if self
                .personal(base, &path, before)
                .is_some_and(|saved| saved.as_ref() == files.get(&path))
            {
                set(&mut files, path, before.cloned());
            }
        }
        let head_tree = self.write(committed);
        let tree = self.write(files);
        let leftovers = tree != head_tree;
        Candidate { tree, head: self.head.clone(), head_tree, leftovers, taken: None }
    }
}

impl Vcs for FakeVcs {
    fn begin(
        &self,
        run: &RunId,
        resumes: Option<(&RunId, Option<&str>)>,
    ) -> Result<RunBase, GitError> {
        let mut state = self.state()?;
        let head = state.head.clone();
        let committed = state.files_of(head.as_deref());
        let name = |run: &RunId| format!("refs/ralph/start/{run}");
        let start = match resumes {
            Some((before, _)) => state.refs.get(&name(before)).cloned(),
            None if state.worktree != committed => {
                let files = state.worktree.clone();
                let tree = state.write(files);
                Some(state.add(tree, head.clone(), "uncommitted", ""))
            }
            None => None,
        };
        if let Some(start) = &start {
            state.refs.insert(name(run), start.clone());
        }
        let settled = resumes.and_then(|(_, settled)| state.commit(settled?).cloned());
        let settled_tree = settled.map_or_else(|| state.write(committed), |commit| commit.tree);
        Ok(RunBase { head, branch: Some("main".to_owned()), start, settled_tree, plan: None })
    }

    fn candidate(&self, base: &RunBase) -> Result<Candidate, GitError> {
        Ok(self.state()?.candidate(base))
    }

    fn commit(
        &self,
        _base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> Result<Option<String>, GitError> {
        let mut state = self.state()?;
        if !candidate.leftovers {
            return Ok(None);
        }
        if state.head != candidate.head {
            let (expected, found) = (candidate.head.clone(), state.head.clone());
            return Err(GitError::HeadMoved { expected, found });
        }
        let id = state.add(candidate.tree.clone(), candidate.head.clone(), subject, body);
        state.head = Some(id.clone());
        Ok(Some(id))
    }

    fn head(&self) -> Result<Option<String>, GitError> {
        Ok(self.state()?.head.clone())
    }

    fn put_back(&self, base: &RunBase, candidate: &Candidate) -> Result<Vec<PathBuf>, GitError> {
        let mut state = self.state()?;
        let tree = |id: &String| state.trees.get(id).cloned().unwrap_or_default();
        let (before, after) = (tree(&candidate.head_tree), tree(&candidate.tree));
        let committed = state.files_of(state.head.as_deref());
        let mut paths = Vec::new();
        for path in different(&before, &after) {
            let now = state.worktree.get(&path);
            let head = committed.get(&path);
            if now != after.get(&path) || now == head {
                continue;
            }
            let wanted = state.personal(base, &path, head).unwrap_or_else(|| head.cloned());
            set(&mut state.worktree, path.clone(), wanted);
            paths.push(PathBuf::from(path));
        }
        Ok(paths)
    }

    fn checkout(&self, candidate: &Candidate, _include: &str) -> Result<Checkout, GitError> {
        let state = self.state()?;
        let file_error = |source| GitError::File { path: "temporary".into(), source };
        let held = tempfile::tempdir().map_err(file_error)?;
        for (path, text) in state.trees.get(&candidate.tree).into_iter().flatten() {
            let path = held.path().join(path);
            let folder = path.parent().unwrap_or(held.path());
            std::fs::create_dir_all(folder).map_err(file_error)?;
            std::fs::write(&path, text).map_err(file_error)?;
        }
        let folder = held.path().to_owned();
        Ok(Checkout::new(held, folder))
    }
}

impl Trees for FakeVcs {
    fn changes(&self, from_tree: &str, to_tree: &str) -> Result<Vec<String>, GitError> {
        let state = self.state()?;
        let tree = |id: &str| state.trees.get(id).cloned().unwrap_or_default();
        Ok(different(&tree(from_tree), &tree(to_tree)).into_iter().collect())
    }

    fn patch(&self, from_tree: &str, to_tree: &str, most: usize) -> Result<String, GitError> {
        let changed = self.changes(from_tree, to_tree)?;
        let mut text: String = changed.iter().map(|path| format!("changed: {path}\n")).collect();
        text.truncate(text.floor_char_boundary(most));
        Ok(text)
    }

    fn counted_changes(&self, from_tree: &str, to_tree: &str) -> Result<Vec<FileChange>, GitError> {
        let state = self.state()?;
        let tree = |id: &str| state.trees.get(id).cloned().unwrap_or_default();
        let (from, to) = (tree(from_tree), tree(to_tree));
        let counted = different(&from, &to).into_iter().map(|path| {
            let (added, removed) = count_lines(from.get(&path), to.get(&path));
            FileChange { path, added: Some(added), removed: Some(removed) }
        });
        Ok(counted.collect())
    }

    fn file(&self, tree: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let state = self.state()?;
        let file = state.trees.get(tree).and_then(|files| files.get(path));
        Ok(file.map(|text| text.clone().into_bytes()))
    }

    fn listed_commits(
        &self,
        from: Option<&str>,
        to: &str,
    ) -> Result<Vec<(String, String)>, GitError> {
        let state = self.state()?;
        let ancestors = |from: Option<&str>| {
            let first = from.and_then(|id| state.commit(id));
            let next = |commit: &&FakeCommit| state.commit(commit.parent.as_deref()?);
            let words = |c: &FakeCommit| (c.id.clone(), c.subject.clone());
            std::iter::successors(first, next).map(words).collect::<Vec<_>>()
        };
        let known: BTreeSet<_> = ancestors(from).into_iter().collect();
        let new = ancestors(Some(to)).into_iter().rev();
        Ok(new.filter(|commit| !known.contains(commit)).collect())
    }
}

impl Workspaces for FakeVcs {
    /// Work of the owner that was saved comes back, and is not the user's. Work of others stays.
    fn open(
        &self,
        _run: &RunId,
        base: &RunBase,
        owner: Option<&TaskId>,
    ) -> Result<Opened, GitError> {
        let mut state = self.state()?;
        let names = owner.into_iter().flat_map(|owner| (1..).map(move |n| ref_name(owner, n)));
        let saves = names.map_while(|name| state.refs.get(&name).cloned());
        let Some(save) = saves.last().and_then(|id| state.commit(&id)).cloned() else {
            return Ok(Opened::unchanged(base));
        };
        let (before, after) =
            (state.files_of(save.parent.as_deref()), state.files_of(Some(&save.id)));
        let committed = state.files_of(state.head.as_deref());
        let mut personal = state.files_of(base.start.as_deref());
        for path in different(&before, &after) {
            let now = state.worktree.get(&path);
            if now == after.get(&path) || now == committed.get(&path) {
                set(&mut personal, path.clone(), before.get(&path).cloned());
                set(&mut state.worktree, path.clone(), after.get(&path).cloned());
            }
        }
        let start = base.start.as_ref().map(|start| {
            let parent = state.commit(start).and_then(|commit| commit.parent.clone());
            let tree = state.write(personal);
            state.add(tree, parent, "uncommitted", "")
        });
        Ok(Opened::unchanged(&RunBase { start, ..base.clone() }))
    }

    fn save(
        &self,
        _base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> Result<Option<Saved>, GitError> {
        let mut state = self.state()?;
        if !candidate.leftovers {
            return Ok(None);
        }
        let name = ref_name(task, attempt);
        let before = state.refs.get(&name).and_then(|id| state.commit(id)).cloned();
        let commit = match before {
            Some(same) if same.tree == candidate.tree && same.parent == candidate.head => same.id,
            _ => state.add(candidate.tree.clone(), candidate.head.clone(), "unfinished", ""),
        };
        state.refs.insert(name.clone(), commit.clone());
        Ok(Some(Saved { name, commit }))
    }
}

impl SessionCommits for FakeVcs {}

fn set(files: &mut Files, path: String, text: Option<String>) {
    match text {
        Some(text) => files.insert(path, text),
        None => files.remove(&path),
    };
}

/// The paths at which two trees differ.
fn different(a: &Files, b: &Files) -> BTreeSet<String> {
    let paths = a.keys().chain(b.keys());
    paths.filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

/// How many lines came and went: as many as a diff shows that keeps nothing in its place but what
/// stands at the beginning and at the end.
fn count_lines(from: Option<&String>, to: Option<&String>) -> (u64, u64) {
    let lines = |text: Option<&String>| -> Vec<String> {
        text.map(|text| text.split_inclusive('\n').map(str::to_owned).collect()).unwrap_or_default()
    };
    let (from, to) = (lines(from), lines(to));
    let first = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let (from, to) = (&from[first..], &to[first..]);
    let last = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
    ((to.len() - last) as u64, (from.len() - last) as u64)
}

/// As long as a real id.
fn hash(value: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    let low = hasher.finish();
    low.hash(&mut hasher);
    format!("{low:016x}{:024x}", hasher.finish())
}
