//! `ralph clean --everything`: finds, lists and removes everything that ralph has created in a repository.
//!
//! It must not lose work that is on no branch, open tasks, or files of `ralph init` that you have changed. It removes
//! the first two only after asking or with `--yes`, and always keeps the files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ralph_core::amounts::count;
use ralph_core::branch::{BranchName, TASK_PREFIX, task_of_branch};
use ralph_engine::ports::{Scope, Store};
use ralph_engine::project::Project;
use ralph_engine::run_files::state_file;
use ralph_engine::store::SqliteStore;
use ralph_engine::worktrees::Worktrees;
use ralph_engine::worktrees::inventory::{self, OwnRef};

use super::super::init::{self, Undo};
use super::{Cleaned, shown};
use crate::config::key;
use crate::error::{CliError, Done, Result};
use crate::launch;
use crate::wiring::{Context, store_files};

/// Parts of `.ralph` that ralph writes by itself. Features and skills may be yours.
const STATE: [&str; 8] =
    ["logs", "plans", "worktrees", "box", "cache", "progress.db", "state.toml", "run.lock"];

pub(super) struct CleanCandidate {
    name: String,
    bytes: Option<u64>,
    /// The work that would be lost with it.
    loses: Option<String>,
    /// Why ralph keeps it.
    stays: Option<String>,
    how: How,
}

enum How {
    Worktree(BranchName),
    Branch(BranchName),
    Ref(OwnRef),
    Path(PathBuf),
    Exclude(Vec<PathBuf>),
    WorktreeConfig,
    Init(String, Undo),
}

impl CleanCandidate {
    fn new(name: impl Into<String>, how: How) -> Self {
        Self { name: name.into(), bytes: None, loses: None, stays: None, how }
    }

    fn path(project: &Project, path: PathBuf) -> Self {
        let is_folder = path.is_dir() && !path.is_symlink();
        let name = shown(project, &path) + if is_folder { "/" } else { "" };
        let bytes = Some(bytes_of(&path));
        Self { bytes, ..Self::new(name, How::Path(path)) }
    }

    pub(super) fn line(&self, everything: bool) -> Cleaned {
        let did = match (&self.stays, everything) {
            (Some(_), _) => "stays",
            (None, true) => "would remove",
            (None, false) => "ralph made",
        };
        let note = self.stays.clone().or_else(|| self.loses.clone());
        Cleaned { bytes: self.bytes, note, ..Cleaned::did(self.name.clone(), did) }
    }
}

/// Everything that exists, in the order in which ralph removes it.
pub(super) fn find(project: &Project, context: &mut Context<'_>) -> Result<Vec<CleanCandidate>> {
    let config = context.config()?;
    let worktree_folder = context.worktree_folder(project)?;
    let logs = project.resolve(config.get(key::LOGS_DIR));
    let store = project.resolve(config.get(key::STORE_PATH));
    let mut found = Vec::new();
    for ours in Worktrees::new(project, &worktree_folder).ours()? {
        let loses = ours.unsaved.then(|| "files in it are not committed".to_owned());
        let mut one = CleanCandidate::path(project, ours.path);
        one.how = How::Worktree(ours.branch);
        found.push(CleanCandidate { loses, ..one });
    }
    let mut tasks = Tasks::of(&store);
    for (branch, landed) in inventory::branches(project, TASK_PREFIX)? {
        if !tasks.has_branch(&branch) {
            continue;
        }
        let loses = (!landed).then(|| "its commits are on no other branch".to_owned());
        let name = format!("branch {branch}");
        found.push(CleanCandidate { loses, ..CleanCandidate::new(name, How::Branch(branch)) });
    }
    for own in inventory::own_refs(project)? {
        let loses = own.work.as_ref().map(|work| {
            let files = count(work.files.len() as u64, "file");
            format!("saved work on {} ({files})", work.task)
        });
        found
            .push(CleanCandidate { loses, ..CleanCandidate::new(own.name.clone(), How::Ref(own)) });
    }
    let mut state: Vec<PathBuf> = STATE.map(|name| project.ralph_dir().join(name)).to_vec();
    // A repo's ralph.toml may name any folder inside the repo: there, only files that look like ralph's are removed.
    state.extend(runs_in(&logs));
    if tasks.store.is_some() {
        state.extend(store_files(&store));
    }
    state.extend(inventory::own_files(project));
    state.extend(
        context.environment.state_home.iter().map(|home| state_file::folder(home, project)),
    );
    state.push(launch::cache_folder(project, context.environment));
    // The usual places and those of the settings are mostly the same.
    let mut seen = HashSet::new();
    state.retain(|path| path.symlink_metadata().is_ok() && seen.insert(path.clone()));
    for path in state {
        let open = tasks.open.filter(|_| path == store);
        let loses = open.map(|open| format!("{} not done", count(open, "task")));
        let unseen = path.ends_with(".ralph/box") && has_unseen(&path);
        let loses =
            loses.or(unseen.then(|| "commits of a session that ralph has not checked".to_owned()));
        found.push(CleanCandidate { loses, ..CleanCandidate::path(project, path) });
    }
    let folders = vec![worktree_folder, logs];
    let lines = project.excluded_lines(&folders)?;
    if lines > 0 {
        let name = format!(".git/info/exclude ({})", count(lines as u64, "line"));
        found.push(CleanCandidate::new(name, How::Exclude(folders)));
    }
    // Also if only the worktrees above use it.
    if inventory::has_idle_worktree_config(project)? {
        found.push(CleanCandidate::new(
            ".git/config (extensions.worktreeConfig)",
            How::WorktreeConfig,
        ));
    }
    for (path, undo) in init::undo(project) {
        let stays = match &undo {
            Undo::Keep(why) => Some(why.clone()),
            _ => None,
        };
        let name = match &undo {
            Undo::Rewrite(_) => format!("{path} (ralph's additions)"),
            _ => path.clone(),
        };
        found.push(CleanCandidate { stays, ..CleanCandidate::new(name, How::Init(path, undo)) });
    }
    found.extend(written_by_you(project));
    Ok(found)
}

/// The logs of runs in a folder other than the default one.
fn runs_in(logs: &Path) -> Vec<PathBuf> {
    if logs.ends_with(".ralph/logs") {
        return vec![];
    }
    let entries = std::fs::read_dir(logs).into_iter().flatten().flatten();
    let is_run = |name: &str| name.starts_with("session-");
    let mut runs: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_run))
        .map(|entry| entry.path())
        .collect();
    runs.sort();
    runs
}

/// Whether a session was the last to use one of these git directories, so that ralph has not imported its commits.
fn has_unseen(sandboxes: &Path) -> bool {
    let entries = std::fs::read_dir(sandboxes).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| path.join("lent").exists())
}

/// Features and skills: ralph created the folders, but their contents are the user's.
fn written_by_you(project: &Project) -> Vec<CleanCandidate> {
    let folders = ["features", "skills"].map(|name| project.ralph_dir().join(name));
    let is_full =
        |path: &PathBuf| std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_some());
    let full = folders.into_iter().filter(is_full).map(|path| {
        let stays = Some("its contents are yours".to_owned());
        CleanCandidate { stays, ..CleanCandidate::path(project, path) }
    });
    full.collect()
}

pub(super) fn losses(found: &[CleanCandidate]) -> Vec<String> {
    let lost = found.iter().filter(|one| one.stays.is_none());
    lost.filter_map(|one| Some(format!("{}: {}", one.name, one.loses.as_ref()?))).collect()
}

/// Removes all of it. If something cannot be removed, ralph reports it and continues with the rest.
pub(super) fn remove(
    project: &Project,
    found: Vec<CleanCandidate>,
    context: &mut Context<'_>,
) -> Result<Vec<Cleaned>> {
    let folder = context.worktree_folder(project)?;
    let worktrees = Worktrees::new(project, &folder);
    let mut done = Vec::new();
    for one in found {
        let is_marker = matches!(&one.how, How::Path(path) if path.ends_with(".ralph/worktrees"));
        let in_use = is_marker && done.iter().any(|one: &Cleaned| one.reason.is_some());
        if one.stays.is_some() || in_use {
            let stays = one.stays.clone().or(Some("a worktree is still there".to_owned()));
            done.push(CleanCandidate { stays, ..one }.line(true));
            continue;
        }
        let CleanCandidate { name, bytes, how, .. } = one;
        done.push(match gone(project, &worktrees, how) {
            Ok(()) => Cleaned { bytes, ..Cleaned::did(name, "removed") },
            Err(error) => Cleaned::kept(name, &error),
        });
    }
    // Removing worktrees saved the work in them, and only now nothing uses the setting.
    inventory::remove_refs(project, &inventory::own_refs(project)?)?;
    if inventory::has_idle_worktree_config(project)? {
        inventory::remove_worktree_config(project)?;
    }
    remove_empty_folders(project);
    Ok(done)
}

fn gone(project: &Project, worktrees: &Worktrees, how: How) -> Done {
    match how {
        How::Worktree(branch) => worktrees.remove(&branch).map(drop)?,
        How::Branch(branch) => worktrees.delete_branch(&branch)?,
        How::Ref(own) => inventory::remove_refs(project, &[own])?,
        How::Path(path) => return remove_path(&path),
        How::Exclude(folders) => project.include_state(&folders)?,
        How::WorktreeConfig => inventory::remove_worktree_config(project)?,
        How::Init(path, undo) => {
            init::apply(project, &path, &undo).map_err(CliError::failed)?;
        }
    }
    Ok(())
}

fn remove_path(path: &Path) -> Done {
    let removed = match path.is_dir() && !path.is_symlink() {
        true => ralph_engine::git::remove_tree(path).map_err(CliError::from),
        false => std::fs::remove_file(path).map_err(CliError::from),
    };
    // Another step may have removed it already.
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => removed,
    }
}

/// The empty ones of the folders that `ralph init` and runs create, inner ones first.
fn remove_empty_folders(project: &Project) {
    let mut folders = super::our_folders(project);
    folders.extend(["features", "skills"].map(|name| project.ralph_dir().join(name)));
    folders.extend([project.ralph_dir(), project.worktree.join(".ralph")]);
    for folder in folders.into_iter().filter(|folder| !folder.is_symlink()) {
        // A folder that is not empty stays.
        let _ = std::fs::remove_dir(folder);
    }
}

struct Tasks {
    store: Option<SqliteStore>,
    /// How many are not done.
    open: Option<u64>,
}

impl Tasks {
    fn of(path: &Path) -> Self {
        let mut store = SqliteStore::open_existing(path).ok().flatten();
        let counts = store.as_mut().and_then(|store| store.counts(&Scope::All).ok());
        let open = counts.map(|counts| counts.total() - counts.done).filter(|open| *open > 0);
        Self { store, open }
    }

    /// Whether a branch belongs to a task: other branches with such names are the user's.
    fn has_branch(&mut self, branch: &BranchName) -> bool {
        let task = task_of_branch(branch.as_str());
        let store = self.store.as_mut();
        task.zip(store).is_some_and(|(task, store)| store.get(&task).is_ok())
    }
}

fn bytes_of(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_of(&entry.path())).sum()
}
