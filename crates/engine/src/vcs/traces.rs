//! What goes when a run is over: refs that keep the objects of sandboxes and sessions, sandbox folders that no worktree
//! needs any more, and old saved work.
//!
//! Saved work of unfinished tasks stays until you remove it; that of finished tasks is removed when it is old, or when
//! all of it together is too large.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_core::{TaskId, Timestamp};

use super::in_place::GitVcs;
use super::start::START;
use super::wip::Wip;
use super::workspace::Record;
use crate::clock::now;
use crate::git::{GitError, GitResult, delete_refs, refs_in, remove_tree};
use crate::ports::{Ending, KeepSaves};
use crate::project::Project;
use crate::session_git::{BASE, REFUSED, name_of, noted_base, sandboxes};

/// Refs that keep the base commit of a sandbox.
pub(super) const BASES: &str = "refs/ralph/base/";
/// Refs that hold your uncommitted work while a session runs.
pub(super) const SESSIONS: &str = "refs/ralph/session/";
/// Refs that hold what was taken last from a worktree's sessions.
pub(super) const TAKEN: &str = "refs/ralph/taken/";

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
        needed.starts.extend(folders.iter().filter_map(|folder| Record::of(folder).start));
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

impl GitVcs {
    pub(super) fn tidy_up(
        &self,
        keep: &KeepSaves,
        ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<usize> {
        let millis = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let oldest = keep.age.map(|age| now().as_millis().saturating_sub(millis(age)));
        let since_epoch = oldest.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        self.end_sandboxed()?;
        let project = &self.project;
        let needed = Needed::by(project);
        sweep_sandboxes(project, &needed, since_epoch.map(|age| SystemTime::UNIX_EPOCH + age))?;
        let mut dead = refs_in(&project.root, &[BASES, SESSIONS, TAKEN])?;
        let folder = sandboxes(project);
        dead.retain(|(name, commit)| !needed.needs(name, commit, &folder));
        delete_refs(&project.root, dead.iter().map(|(name, commit)| (name, commit)))?;
        let oldest = oldest.map(Timestamp::from_millis);
        let mut dead = self.old_starts(oldest, &needed)?;
        dead.extend(self.old_saves(oldest, keep.size, ending)?);
        delete_refs(self.worktree(), dead.iter().map(|(name, commit)| (name, commit)))?;
        Ok(dead.len())
    }

    /// Copies of your uncommitted work from before old runs, which never left your worktree.
    fn old_starts(
        &self,
        oldest: Option<Timestamp>,
        needed: &Needed,
    ) -> GitResult<Vec<(String, String)>> {
        let Some(oldest) = oldest else { return Ok(vec![]) };
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let starts = self.git(&["for-each-ref", format, START]).pairs()?;
        let old = starts.into_iter().filter_map(|(name, rest)| {
            let (commit, seconds) = rest.split_once(' ')?;
            let millis = seconds.parse::<i64>().ok()?.saturating_mul(1000);
            let goes = Timestamp::from_millis(millis) < oldest && !needed.starts.contains(commit);
            goes.then(|| (name, commit.to_owned()))
        });
        Ok(old.collect())
    }

    fn old_saves(
        &self,
        oldest: Option<Timestamp>,
        size: Option<u64>,
        ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<Vec<(String, String)>> {
        let saves = self.listed_saves()?;
        if saves.is_empty() {
            return Ok(vec![]);
        }
        let owner = self.record()?.owner.and_then(|owner| owner.save);
        let (mut finished, mut open) = (Vec::new(), Vec::new());
        for save in saves {
            match ending(&save.task) {
                _ if owner.as_ref() == Some(&save.saved.commit) => open.push(save),
                Ending::Open => open.push(save),
                ending => finished.push((ending, save)),
            }
        }
        let is_old = |save: &Wip| oldest.is_some_and(|oldest| save.at < oldest);
        let (old, mut young): (Vec<_>, Vec<_>) =
            finished.into_iter().partition(|(_, save)| is_old(save));
        let mut dead: Vec<Wip> = old.into_iter().map(|(_, save)| save).collect();
        if let Some(most) = size
            && self.bytes_of(young.iter().map(|(_, save)| save), &open)? > most
        {
            // Work of failed tasks is worth more than work of done ones, and new work more than old.
            young.sort_by(|(a, x), (b, y)| b.cmp(a).then(y.at.cmp(&x.at)));
            let mut used = 0;
            for (_, save) in young {
                let more = self.bytes_of([&save], &open)?;
                if used + more > most {
                    dead.push(save);
                } else {
                    used += more;
                    open.push(save);
                }
            }
        }
        Ok(dead.into_iter().map(|save| (save.saved.name, save.saved.commit)).collect())
    }

    /// What saves take on the disk that neither a branch nor one of `others` holds.
    fn bytes_of<'a>(
        &self,
        saves: impl IntoIterator<Item = &'a Wip>,
        others: &[Wip],
    ) -> GitResult<u64> {
        let head = self.position()?.head;
        let without = others.iter().map(|save| &save.saved.commit).chain(&head);
        let with = saves.into_iter().map(|save| format!("{}\n", save.saved.commit));
        let asked: String = with.chain(without.map(|id| format!("^{id}\n"))).collect();
        let mut arguments = vec!["rev-list", "--objects", "--disk-usage", "--stdin"];
        arguments.extend(["--not", "--branches", "--tags", "--remotes"]);
        let printed = self.git(&arguments).input(asked.as_bytes()).line()?;
        printed.parse().map_err(|_| GitError::Odd { verb: "rev-list".to_owned(), answer: printed })
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
