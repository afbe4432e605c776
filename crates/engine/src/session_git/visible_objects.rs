//! The git objects that sessions and gates see: those of the repository without unreachable ones.
//!
//! Stashes, dropped commits and files that were only ever staged are among the loose objects of a repository, and
//! anyone who can list the objects can read them. If there are any, ralph replaces the object folder with its own,
//! which hard-links all other objects. It is built once for each worktree of a run. Before each session and gate
//! ralph adds links for new objects, and for objects that have become reachable.
//!
//! Not left out: objects that `git gc` has packed (except in cruft packs), and objects that are dropped during a
//! run. All objects are visible if links cannot be made, if objects are fetched on demand, or if the packs are so
//! large that checking them would take long.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::git::{Git, GitError, GitResult, refs_in};

/// Beyond this, all objects are shown.
const LARGEST: u64 = 256 << 20;
/// A folder that changed so recently may change again without a later time.
const RACY: Duration = Duration::from_millis(50);
/// Parts of a pack that git does without, and that name packs which are not there.
const LEFT_OUT: [&str; 3] = ["bitmap", "midx", "mtimes"];

#[derive(Debug)]
pub(super) struct VisibleObjects {
    worktree: PathBuf,
    objects: PathBuf,
    folder: tempfile::TempDir,
    /// Objects that no ref reached when they were looked at last.
    hidden: HashSet<String>,
    /// What the refs led to then, and other commits that are shown.
    tips: Vec<String>,
    heads: HashSet<String>,
    /// When the folders changed, in the order of their names.
    changed: Vec<Option<SystemTime>>,
}

impl VisibleObjects {
    /// Those of a repository; `None` where all of them may be shown. `place` makes the folder.
    pub(super) fn of(
        worktree: &Path,
        objects: &Path,
        place: impl FnOnce() -> io::Result<tempfile::TempDir>,
    ) -> Option<Self> {
        if !is_moderate(objects) {
            return None;
        }
        let hidden = unreached(worktree).ok()?;
        if hidden.is_empty() {
            return None;
        }
        let (worktree, objects) = (worktree.to_owned(), objects.to_owned());
        let (folder, tips) = (place().ok()?, tips(&worktree).ok()?);
        let (heads, changed) = (HashSet::new(), vec![None; 257]);
        let mut seen = Self { worktree, objects, folder, hidden, tips, heads, changed };
        // Without links there is no such folder.
        seen.link_new().ok()?;
        seen.link_graph().ok()?;
        Some(seen)
    }

    /// Where they are, with all that is there by now. `head`: a commit that is needed, with a ref or without.
    pub(super) fn folder(&mut self, head: Option<&str>) -> GitResult<&Path> {
        let tips = tips(&self.worktree)?;
        let is_new = head.is_some_and(|head| !self.heads.contains(head));
        if tips != self.tips || is_new {
            let reached = reached(&self.worktree, &self.tips, head)?;
            for id in reached.into_iter().filter(|id| self.hidden.remove(id)) {
                // The folder has to be read again.
                let number = id.get(..2).and_then(|first| usize::from_str_radix(first, 16).ok());
                number.into_iter().for_each(|number| self.changed[number] = None);
            }
            self.tips = tips;
            self.heads.extend(head.map(str::to_owned));
        }
        let linked = self.link_new();
        let path = self.folder.path();
        linked.map_err(|source| GitError::File { path: path.to_owned(), source })?;
        Ok(path)
    }

    fn link_new(&mut self) -> io::Result<()> {
        for number in 0..256 {
            let name = format!("{number:02x}");
            let wanted = |file: &str| !self.hidden.contains(&format!("{name}{file}"));
            self.changed[number] = self.link_folder(&name, self.changed[number], wanted)?;
        }
        let cruft = crufts(&self.objects.join("pack"));
        let wanted = |file: &str| {
            let (stem, end) = file.split_once('.').unwrap_or((file, ""));
            file.starts_with("pack-") && !cruft.contains(stem) && !LEFT_OUT.contains(&end)
        };
        self.changed[256] = self.link_folder("pack", self.changed[256], wanted)?;
        Ok(())
    }

    /// Links the files of a folder that are wanted, unless it has not changed since. Says when it changed.
    fn link_folder(
        &self,
        name: &str,
        before: Option<SystemTime>,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Option<SystemTime>> {
        let (from, to) = (self.objects.join(name), self.folder.path().join(name));
        let changed = match from.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?.modified()?,
        };
        if before == Some(changed) {
            return Ok(before);
        }
        super::directory::private_folder(&to)?;
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(&from)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| wanted(name)));
        }
        // An index without its pack is an error, a pack without its index is not there.
        names.sort_by_key(|name| name.ends_with(".idx"));
        for name in names {
            link(&from.join(&name), &to.join(&name))?;
        }
        let settled = changed.elapsed().is_ok_and(|age| age > RACY);
        Ok(settled.then_some(changed))
    }

    /// What makes walking along the commits fast.
    fn link_graph(&self) -> io::Result<()> {
        let (from, to) = (self.objects.join("info"), self.folder.path().join("info"));
        super::directory::private_folder(&to)?;
        link(&from.join("commit-graph"), &to.join("commit-graph"))
    }
}

/// Links a file that may be gone, or linked, by now.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Whether the packs are there as a whole, and not too large.
fn is_moderate(objects: &Path) -> bool {
    let mut size = 0;
    for entry in std::fs::read_dir(objects.join("pack")).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|end| end == "promisor") {
            return false;
        }
        size += entry.metadata().map_or(0, |found| found.len());
    }
    size <= LARGEST
}

/// Packs of what no ref reaches.
fn crufts(packs: &Path) -> HashSet<String> {
    let entries = std::fs::read_dir(packs).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".mtimes")?.to_owned())).collect()
}

/// Loose objects that no ref and no index reaches, and what only stashes and reflogs reach.
fn unreached(worktree: &Path) -> GitResult<HashSet<String>> {
    let prune = ["prune", "--dry-run", "--expire=now", "--no-progress"];
    let loose = Git::plumbing(worktree, &prune).run()?;
    let list = ["rev-list", "--objects", "--no-object-names", "--ignore-missing", "--reflog"];
    let but = ["--not", "--exclude=refs/stash", "--all", "--indexed-objects"];
    let put_aside = Git::plumbing(worktree, &[&list[..], &but[..]].concat()).run()?;
    Ok(ids(&loose).into_iter().chain(ids(&put_aside)).collect())
}

/// What refs, the index and `head` reach now and `tips` did not.
fn reached(worktree: &Path, tips: &[String], head: Option<&str>) -> GitResult<Vec<String>> {
    let mut list = vec!["rev-list", "--objects", "--no-object-names", "--ignore-missing"];
    list.extend(["--exclude=refs/stash", "--all", "--indexed-objects", "--stdin"]);
    let lines = tips.iter().map(|tip| format!("^{tip}\n")).chain(head.map(|id| format!("{id}\n")));
    let input: String = lines.collect();
    let found = Git::plumbing(worktree, &list).input(input.as_bytes()).run()?;
    Ok(ids(&found))
}

fn tips(worktree: &Path) -> GitResult<Vec<String>> {
    let refs = refs_in(worktree, &[])?.into_iter();
    let mut tips: Vec<String> =
        refs.filter(|(name, _)| name != "refs/stash").map(|(_, id)| id).collect();
    tips.sort_unstable();
    tips.dedup();
    Ok(tips)
}

fn ids(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}
