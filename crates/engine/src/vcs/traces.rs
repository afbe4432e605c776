//! Removes what runs leave in a repository besides the work itself: refs that keep the objects of sandboxes and
//! sessions, and sandbox folders that no worktree needs any more.
//!
//! It does not touch saved work; see [`super::keep`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::in_place::GitVcs;
use super::sandboxed::TAKEN;
use super::workspace::{RECORD, Record};
use crate::git::remove_tree;
use crate::git::{Git, GitResult};
use crate::project::Project;
use crate::session_git::{BASE, REFUSED, name_of, noted_base, sandboxes};
use crate::untrusted::{LARGE, read_own};

/// Refs that keep the base commit of a sandbox.
const BASES: &str = "refs/ralph/base/";
/// Refs that hold your uncommitted work while a session runs.
const SESSIONS: &str = "refs/ralph/session/";

/// What the worktrees of a repository still need.
#[derive(Debug, Default)]
struct Needed {
    /// Commits of uncommitted work that the records of worktrees name.
    starts: HashSet<String>,
    /// Refs that sandbox folders name.
    bases: HashSet<String>,
    /// The names of sandbox folders of worktrees that are there.
    sandboxes: HashSet<String>,
}

impl Needed {
    fn by(project: &Project) -> Self {
        let mut needed = Self::default();
        needed.sandboxes.insert("main".to_owned());
        let mut folders = vec![project.git_dir.clone()];
        for entry in read_dir(&project.git_dir.join("worktrees")) {
            needed
                .sandboxes
                .insert(name_of(&entry.file_name().unwrap_or_default().to_string_lossy()));
            folders.push(entry);
        }
        for folder in folders {
            let text = read_own(&folder.join(RECORD), LARGE).unwrap_or_default();
            let record: Record = serde_json::from_slice(&text).unwrap_or_default();
            needed.starts.extend(record.start);
        }
        let ending = format!(".{BASE}");
        for path in read_dir(&sandboxes(project)) {
            if path.to_string_lossy().ends_with(&ending) {
                needed.bases.extend(noted_base(&path));
            }
        }
        needed
    }

    fn needs(&self, name: &str, commit: &str, sandboxes: &Path) -> bool {
        if name.starts_with(BASES) {
            return self.bases.contains(name);
        }
        if name.starts_with(SESSIONS) {
            return self.starts.contains(commit);
        }
        let folder = name.strip_prefix(TAKEN);
        folder.is_none_or(|folder| sandboxes.join(folder).is_dir())
    }
}

/// Commits that the records of worktrees name as your uncommitted work.
pub(super) fn needed_starts(project: &Project) -> HashSet<String> {
    Needed::by(project).starts
}

impl GitVcs {
    /// The run is over: removes sandbox folders and refs that no worktree needs any more. Session directories
    /// that were not inspected stay until `oldest`.
    pub(super) fn sweep_traces(&self, oldest: Option<SystemTime>) -> GitResult<()> {
        self.end_sandboxed()?;
        let project = &self.project;
        let needed = Needed::by(project);
        sweep_sandboxes(project, &needed, oldest)?;
        let format = "--format=%(refname) %(objectname)";
        let asked = ["for-each-ref", format, BASES, SESSIONS, TAKEN];
        let printed = Git::plumbing(&project.root, &asked).run()?;
        let folder = sandboxes(project);
        let dead: String = String::from_utf8_lossy(&printed)
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, commit)| !needed.needs(name, commit, &folder))
            .map(|(name, commit)| format!("delete {name} {commit}\n"))
            .collect();
        if dead.is_empty() {
            return Ok(());
        }
        let call = Git::plumbing(&project.root, &["update-ref", "--stdin"]);
        call.input(dead.as_bytes()).run().map(drop)
    }
}

/// Removes sandbox folders whose worktrees are gone.
fn sweep_sandboxes(
    project: &Project,
    needed: &Needed,
    oldest: Option<SystemTime>,
) -> GitResult<()> {
    let all = sandboxes(project);
    for path in read_dir(&all) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (of, rest) = name.split_once('.').unwrap_or((name.as_str(), ""));
        // Changed git settings that a session left are kept for you to inspect, and so are session directories
        // that were not inspected.
        let unseen = of == "found" || rest.starts_with(REFUSED) || path.join("lent").exists();
        let is_old = || {
            let changed = path.metadata().and_then(|found| found.modified()).ok();
            oldest.zip(changed).is_some_and(|(oldest, changed)| changed < oldest)
        };
        let is_needed = rest.is_empty() && needed.sandboxes.contains(of);
        let is_gone = of.starts_with("wt-") && !needed.sandboxes.contains(of);
        let goes = match unseen {
            true => !is_needed && is_old(),
            false => is_gone,
        };
        if !goes {
            continue;
        }
        match path.is_dir() && !path.is_symlink() {
            true => remove_tree(&path)?,
            false => drop(std::fs::remove_file(&path)),
        }
    }
    // Where nothing is left in it.
    let _ = std::fs::remove_dir(all);
    Ok(())
}

fn read_dir(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
