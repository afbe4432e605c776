//! Finds work in the submodules of a worktree. ralph reports it after a session, and checks for it before it removes
//! a worktree, since the git directories of submodules go with it.
//!
//! A session may have written their settings. So git runs in a sandbox, or with the settings of the main repository
//! and only borrows their objects and their index; ralph reads their refs as files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::admin_folder::Admin;
use super::prepare::Worktrees;
use crate::git::position::object_id;
use crate::git::spelling::spelled;
use crate::git::submodules::{Submodule, is_dirty_by_index, listed};
use crate::git::{GitError, GitResult};
use crate::project::Project;
use crate::untrusted::{LARGE, SMALL, read_own};

/// How deep folders with refs, and submodules of submodules, are looked for.
const DEEPEST: u32 = 12;

impl Worktrees {
    /// Why the submodules of a worktree cannot go with it; `None` where nothing in them would be lost.
    pub(super) fn unsaved_submodule(
        &self,
        path: &Path,
        admin: &Admin,
    ) -> GitResult<Option<String>> {
        let modules = admin.folder.join("modules");
        if modules.symlink_metadata().is_err() {
            return Ok(None);
        }
        if path.join(".git").exists() {
            let dirty = match self.is_sandboxed() {
                true => {
                    let vcs = self.vcs(Project::find(path)?)?;
                    dirty_submodule(&vcs.status_with_submodules()?)
                }
                false => {
                    self.dirty_by_index(path, &admin.folder.join("index"), &modules, DEEPEST)?
                }
            };
            if let Some(dirty) = dirty {
                return Ok(Some(format!("its submodule {dirty} has uncommitted work")));
            }
        }
        for folder in git_dirs(&modules, DEEPEST) {
            if !self.is_published(&folder)? {
                let name = folder.strip_prefix(&modules).unwrap_or(&folder).display();
                return Ok(Some(format!("its submodule {name} has commits that no remote has")));
            }
        }
        Ok(None)
    }

    /// The first submodule with uncommitted files, where no sandbox is at hand to ask git in it: git works with
    /// the settings of the main repository, on the index of the submodule.
    fn dirty_by_index(
        &self,
        worktree: &Path,
        index: &Path,
        modules: &Path,
        deep: u32,
    ) -> GitResult<Option<String>> {
        for Submodule { name, place, own, .. } in listed(&self.project, worktree, index)? {
            // A repository of another kind does not go with the worktree.
            if !own.starts_with(modules) {
                continue;
            }
            if deep == 0 || is_dirty_by_index(&self.project, &place, &own)? {
                return Ok(Some(name));
            }
            let inner = self.dirty_by_index(&place, &own.join("index"), &own, deep - 1)?;
            if let Some(inner) = inner {
                return Ok(Some(format!("{name}/{inner}")));
            }
        }
        Ok(None)
    }

    /// Whether a remote has every commit of a submodule.
    fn is_published(&self, folder: &Path) -> GitResult<bool> {
        let Refs { own, remote } = Refs::of(folder);
        if own.is_subset(&remote) {
            return Ok(true);
        }
        let with = own.iter().map(|id| format!("{id}\n"));
        let without = remote.iter().map(|id| format!("^{id}\n"));
        let asked: String = with.chain(without).collect();
        let call = self.git(&["rev-list", "--max-count=1", "--stdin"]).input(asked.as_bytes());
        let call = call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", folder.join("objects"));
        match call.run() {
            Ok(printed) => Ok(printed.is_empty()),
            // Objects that are missing, or no objects at all.
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The first submodule with uncommitted files, in what `git status --porcelain=v2 -z` prints. That another commit is
/// checked out there than is recorded here is no work.
fn dirty_submodule(status: &[u8]) -> Option<String> {
    status.split(|byte| *byte == 0).find_map(|line| {
        // Kind, change, submodule, three modes, two names of objects, path.
        let mut fields = line.splitn(9, |byte| *byte == b' ');
        let submodule = fields.nth(2)?;
        let is_dirty = matches!(submodule, [b'S', _, m, u] if *m == b'M' || *u == b'U');
        is_dirty.then(|| spelled(fields.last().unwrap_or_default()))
    })
}

/// The git directories in a folder and below.
fn git_dirs(folder: &Path, deep: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in folders(folder) {
        if path.join("HEAD").is_file() && path.join("objects").is_dir() {
            if deep > 0 {
                found.extend(git_dirs(&path.join("modules"), deep - 1));
            }
            found.push(path);
        } else if deep > 0 {
            // The name of a submodule may have slashes.
            found.extend(git_dirs(&path, deep - 1));
        }
    }
    found
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// The commits that a repository has names for: its own, and those of its remotes.
#[derive(Debug, Default)]
struct Refs {
    own: BTreeSet<String>,
    remote: BTreeSet<String>,
}

impl Refs {
    fn of(folder: &Path) -> Self {
        let mut refs = Self::default();
        refs.add("HEAD", &read_own(&folder.join("HEAD"), SMALL).unwrap_or_default());
        let packed = read_own(&folder.join("packed-refs"), LARGE).unwrap_or_default();
        for line in String::from_utf8_lossy(&packed).lines() {
            if let Some((id, name)) = line.split_once(' ').filter(|_| !line.starts_with('#')) {
                refs.add(name, id.as_bytes());
            }
        }
        refs.add_loose(&folder.join("refs"), "refs", DEEPEST);
        refs
    }

    fn add_loose(&mut self, folder: &Path, name: &str, deep: u32) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && deep > 0 => {
                    self.add_loose(&entry.path(), &name, deep - 1);
                }
                Ok(kind) if kind.is_file() => {
                    self.add(&name, &read_own(&entry.path(), SMALL).unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, name: &str, text: &[u8]) {
        let id = String::from_utf8_lossy(text.trim_ascii()).into_owned();
        // A symbolic ref names another one, which is looked at too; tags come from remotes.
        if object_id(&id).is_none() || name.starts_with("refs/tags/") {
            return;
        }
        match name.starts_with("refs/remotes/") {
            true => self.remote.insert(id),
            false => self.own.insert(id),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uncommitted_files_make_a_submodule_dirty() {
        let line = |flags: &str| {
            format!("1 .M {flags} 160000 160000 160000 {0} {0} lib/a b\0", "0".repeat(40))
        };
        for (flags, dirty) in [("SC..", false), ("N...", false), ("S.M.", true), ("S..U", true)] {
            let found = dirty_submodule(line(flags).as_bytes());
            assert_eq!(found, dirty.then(|| "lib/a b".to_owned()), "{flags}");
        }
        assert_eq!(dirty_submodule(b"? new file\0"), None);
    }

    #[test]
    fn refs_of_remotes_are_distinguished_from_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let id = |c: &str| c.repeat(40);
        let write = |path: &str, text: String| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("HEAD", id("a") + "\n");
        write("refs/heads/deep/side", id("b") + "\n");
        write("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n".to_owned());
        write(
            "packed-refs",
            format!("# pack\n{} refs/remotes/origin/main\n{} refs/tags/v1\n", id("c"), id("d")),
        );
        let refs = Refs::of(folder.path());
        assert_eq!(refs.own, BTreeSet::from([id("a"), id("b")]));
        assert_eq!(refs.remote, BTreeSet::from([id("c")]));
    }
}
