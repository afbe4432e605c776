//! Removes work from the worktree and restores it. Never overwrites or removes anything that is not saved
//! elsewhere.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io;
use std::path::PathBuf;

use ralph_core::TaskId;

use super::in_place::GitVcs;
use super::wip::Wip;
use crate::git::entries::{Change, Entry, RepoPath, folders_above, os_path};
use crate::git::scratch::Scratch;
use crate::git::{GitError, GitResult};
use crate::ports::{Bind, Candidate, RunBase};
use crate::project::Project;

/// Saved work that is in the worktree again.
#[derive(Debug)]
pub struct Recovered {
    pub wip: Wip,
    pub restored: Vec<PathBuf>,
    pub unchanged: Vec<PathBuf>,
    /// Repositories inside the worktree: their content was not part of the save.
    pub left: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The worktree has something there that is not committed.
    Uncommitted,
    /// Something else was committed there since the work was saved.
    CommittedSince,
}

/// Why saved work was not restored. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("nothing is saved for {}", wanted(.task, .attempt))]
    NotSaved { task: TaskId, attempt: Option<u32> },
    #[error("{} in the way of {}", files_stand(.obstacles.len()), .wip.saved.name)]
    InTheWay { wip: Box<Wip>, obstacles: Vec<(PathBuf, Obstacle)> },
    #[error(transparent)]
    Git(#[from] GitError),
}

fn wanted(task: &TaskId, attempt: &Option<u32>) -> String {
    attempt.map_or_else(|| task.to_string(), |attempt| format!("attempt {attempt} of {task}"))
}

fn files_stand(count: usize) -> String {
    if count == 1 { "a file is".to_owned() } else { format!("{count} files are") }
}

/// Restores the newest save of a task, or that of an attempt, to the worktree: all of it or nothing. The save
/// stays.
pub fn recover(
    project: &Project,
    task: &TaskId,
    attempt: Option<u32>,
) -> Result<Recovered, RecoverError> {
    let vcs = GitVcs::new(project.clone())?;
    let is_wanted =
        |wip: &Wip| wip.task == *task && attempt.is_none_or(|number| wip.attempt == number);
    match vcs.saves()?.into_iter().find(is_wanted) {
        Some(wip) => vcs.bring_back(wip),
        None => Err(RecoverError::NotSaved { task: task.clone(), attempt }),
    }
}

impl GitVcs {
    pub(super) fn put_leftovers_back(
        &self,
        base: &RunBase,
        candidate: &Candidate,
    ) -> GitResult<Vec<PathBuf>> {
        if !candidate.leftovers {
            self.discard_finished();
            return Ok(Vec::new());
        }
        self.catch_up();
        let head = self.position()?.head;
        let head_tree = self.tree_of(head.as_deref())?;
        let start = self.start_of(base)?;
        let leftovers = self.diff(&candidate.head_tree, &candidate.tree)?;
        let leftovers: HashMap<_, _> = leftovers.into_iter().map(|c| (c.path, c.to)).collect();
        // What is no longer as the candidate has it was edited or committed meanwhile.
        let now = self.diff(&head_tree, &self.worktree_tree(head.as_deref())?)?;
        let ours = now.into_iter().filter(|change| leftovers.get(&change.path) == Some(&change.to));
        let mut moves = Vec::new();
        let mut staged = HashMap::new();
        for Change { path, from: committed, to: found } in ours {
            let personal = start.personal(&path, committed.as_ref());
            let wanted = personal.map_or_else(|| committed.clone(), |dirty| dirty.saved.clone());
            let change = Change { path, from: found, to: wanted };
            if change.touches_repository() || change.from == change.to {
                continue;
            }
            let index = personal.map_or_else(|| committed.clone(), |dirty| dirty.staged.clone());
            staged.insert(change.path.clone(), (index, [committed, change.from.clone()]));
            moves.push(change);
        }
        let moved = self.carry_out(moves)?;
        self.unstage(&head_tree, &moved, &staged)?;
        self.discard_finished();
        Ok(moved.iter().map(|path| os_path(path)).collect())
    }

    /// Restores the index entries of these paths to what they were before the sessions, unless the user has
    /// staged something there.
    fn unstage(
        &self,
        head_tree: &str,
        paths: &[RepoPath],
        wanted: &HashMap<RepoPath, (Option<Entry>, [Option<Entry>; 2])>,
    ) -> GitResult<()> {
        let found = self.staged_beyond(head_tree)?;
        let found: HashMap<_, _> = found.into_iter().map(|c| (c.path, c.to)).collect();
        let changed = paths.iter().filter_map(|path| {
            let (index, ours) = wanted.get(path)?;
            let now = found.get(path).unwrap_or(&ours[0]);
            (now != index && ours.contains(now)).then_some((path, index.as_ref()))
        });
        self.set_index(head_tree, changed)
    }

    pub(super) fn bring_back(&self, wip: Wip) -> Result<Recovered, RecoverError> {
        let Some(save) = self.commit_parts(&wip.saved.commit)? else {
            return Err(RecoverError::NotSaved { task: wip.task, attempt: Some(wip.attempt) });
        };
        let base_tree = self.tree_before(&save)?;
        let head = self.position()?.head;
        let head_tree = self.tree_of(head.as_deref())?;
        let tree = self.worktree_tree(head.as_deref())?;
        let by_path = |changes: Vec<Change>| -> HashMap<RepoPath, Change> {
            changes.into_iter().map(|change| (change.path.clone(), change)).collect()
        };
        let uncommitted = by_path(self.diff(&head_tree, &tree)?);
        let missing = by_path(self.diff(&tree, &save.tree)?);
        let mut moves = Vec::new();
        let mut obstacles = Vec::new();
        let mut recovered =
            Recovered { wip, restored: Vec::new(), unchanged: Vec::new(), left: Vec::new() };
        for work in self.diff(&base_tree, &save.tree)? {
            let path = os_path(&work.path);
            match missing.get(&work.path) {
                None => recovered.unchanged.push(path),
                Some(change) if change.touches_repository() => recovered.left.push(path),
                Some(_) if uncommitted.contains_key(&work.path) => {
                    obstacles.push((path, Obstacle::Uncommitted));
                }
                Some(change) if change.from != work.from => {
                    obstacles.push((path, Obstacle::CommittedSince));
                }
                Some(change) => moves.push(change.clone()),
            }
        }
        let going: BTreeSet<RepoPath> =
            moves.iter().filter(|change| change.to.is_none()).map(|c| c.path.clone()).collect();
        for change in moves.iter().filter(|change| change.to.is_some()) {
            if !self.is_free(change, &going)? {
                obstacles.push((os_path(&change.path), Obstacle::Uncommitted));
            }
        }
        if !obstacles.is_empty() {
            obstacles.sort_by(|a, b| a.0.cmp(&b.0));
            let wip = Box::new(recovered.wip);
            return Err(RecoverError::InTheWay { wip, obstacles });
        }
        let restored = self.carry_out(moves)?;
        recovered.restored = restored.iter().map(|path| os_path(path)).collect();
        Ok(recovered)
    }

    /// Whether a file can be written without hiding one that git does not show, such as an ignored
    /// one, once the files in `going` are gone.
    fn is_free(&self, change: &Change, going: &BTreeSet<RepoPath>) -> GitResult<bool> {
        for folder in folders_above(&change.path) {
            match self.metadata(folder)? {
                Some(found) if !found.is_dir() && !going.contains(folder) => return Ok(false),
                _ => {}
            }
        }
        match self.metadata(&change.path)? {
            None => Ok(true),
            Some(found) if found.is_dir() => self.only_holds(&change.path, going),
            Some(_) => Ok(change.from.is_some()),
        }
    }

    fn only_holds(&self, folder: &[u8], going: &BTreeSet<RepoPath>) -> GitResult<bool> {
        use std::os::unix::ffi::OsStrExt;
        let place = self.worktree().join(os_path(folder));
        let failed = |source| GitError::File { path: place.clone(), source };
        for entry in std::fs::read_dir(&place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = [folder, b"/", entry.file_name().as_bytes()].concat();
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            let goes =
                if is_folder { self.only_holds(&path, going)? } else { going.contains(&path) };
            if !goes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the files of the worktree as in `to` and returns those that it wrote. A path that turns out to be
    /// in the way stays.
    fn carry_out(&self, mut moves: Vec<Change>) -> GitResult<Vec<RepoPath>> {
        // A session can make it part of its work: it is ralph's own all the same.
        moves.retain(|change| !self.is_state(&change.path));
        let (writes, removals): (Vec<_>, Vec<_>) = moves.into_iter().partition(|c| c.to.is_some());
        let mut done = Vec::new();
        for change in removals {
            if self.remove(&change.path)? {
                done.push(change.path);
            }
        }
        let mut clear = Vec::new();
        for change in writes {
            if self.make_room(&change.path)? {
                clear.push(change);
            }
        }
        // The attributes say how the other files are written.
        let (attributes, others): (Vec<_>, Vec<_>) =
            clear.into_iter().partition(|change| change.path.ends_with(b".gitattributes"));
        for changes in [attributes, others] {
            self.check_out(&changes)?;
            done.extend(changes.into_iter().map(|change| change.path));
        }
        done.sort();
        Ok(done)
    }

    fn check_out(&self, changes: &[Change]) -> GitResult<()> {
        let entries = changes.iter().filter_map(|c| Some((&c.path, Some(c.to.as_ref()?))));
        if changes.is_empty() {
            return Ok(());
        }
        let scratch = Scratch::empty(self.worktree())?;
        scratch.set("", entries)?;
        let call = scratch.git(&["checkout-index", "--all", "--force", "--quiet"]);
        let places = [self.worktree(), scratch.folder()].map(Bind::writable);
        self.run_on(call, places.into()).map(drop)
    }

    /// Removes a file and the folders that are empty without it.
    fn remove(&self, path: &[u8]) -> GitResult<bool> {
        if !self.is_reached_by_folders(path)? {
            return Ok(false);
        }
        let place = self.worktree().join(os_path(path));
        match self.metadata(path)? {
            Some(found) if found.is_dir() => return Ok(false),
            Some(_) => std::fs::remove_file(&place)
                .map_err(|source| GitError::File { path: place, source })?,
            None => {}
        }
        for folder in folders_above(path) {
            if std::fs::remove_dir(self.worktree().join(os_path(folder))).is_err() {
                break;
            }
        }
        Ok(true)
    }

    /// When git overwrites, it would remove whole folders; it must find none.
    fn make_room(&self, path: &[u8]) -> GitResult<bool> {
        if !self.is_reached_by_folders(path)? {
            return Ok(false);
        }
        Ok(match self.metadata(path)? {
            Some(found) if found.is_dir() => {
                std::fs::remove_dir(self.worktree().join(os_path(path))).is_ok()
            }
            _ => true,
        })
    }

    /// No symbolic link and no file is in its path: what ralph writes or removes is in the worktree.
    fn is_reached_by_folders(&self, path: &[u8]) -> GitResult<bool> {
        for folder in folders_above(path) {
            if self.metadata(folder)?.is_some_and(|found| !found.is_dir()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn metadata(&self, path: &[u8]) -> GitResult<Option<Metadata>> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let place = self.worktree().join(os_path(path));
        match std::fs::symlink_metadata(&place) {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
            Err(source) => Err(GitError::File { path: place, source }),
        }
    }
}
