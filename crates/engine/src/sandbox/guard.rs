//! Git settings that make git run programs, restored after a session that could write to the real git directory.
//!
//! Landlock allows whole folders and cannot exclude a file in them: a session that may commit can also write
//! `.git/config` and hooks. So ralph remembers these files before a session, compares them after it, and restores
//! the ones that changed before any git runs outside the sandbox. It keeps the changed version, because the user
//! may have made the change.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::session_git::SessionGitDir;

/// Files of the common directory.
const COMMON: [&str; 3] = ["config", "info/attributes", ALTERNATES];
/// Where the common directory names the objects of others.
const ALTERNATES: &str = "objects/info/alternates";
/// Files of the directory of one worktree.
const OWN: [&str; 3] = ["config.worktree", "commondir", "gitdir"];
/// Larger than any of them is.
const MOST: u64 = 4 << 20;

/// How one of them was: its mode and its bytes.
type SavedFile = (u32, Vec<u8>);

#[derive(Debug)]
pub struct Guard {
    folder: PathBuf,
    roots: Vec<PathBuf>,
    hooks: PathBuf,
    files: BTreeMap<PathBuf, Option<SavedFile>>,
}

impl Guard {
    /// Remembers them. Changed versions are kept in `folder` later.
    pub fn of(project: &Project, folder: &Path) -> Self {
        let common = &project.git_dir;
        let own = project.own_git_dir().unwrap_or_else(|_| common.clone());
        let hooks = common.join("hooks");
        let mut files: BTreeMap<PathBuf, Option<SavedFile>> = BTreeMap::new();
        let named = COMMON.iter().map(|name| common.join(name));
        let all = named.chain(OWN.iter().map(|name| own.join(name))).chain(entries(&hooks));
        // Files of the worktree that settings are read from, or that a setting names as a program.
        let deciding = SessionGitDir::of(project).and_then(|git_dir| git_dir.protected_files());
        for path in all.chain(deciding.unwrap_or_default()) {
            let kept = read(&path);
            files.insert(path, kept);
        }
        let roots = vec![common.clone(), own, project.worktree.clone()];
        Self { folder: folder.to_owned(), roots, hooks, files }
    }

    /// Leaves the list of borrowed objects as it is: where a session could write objects anywhere, they may be
    /// the work, and the judge checks the list.
    #[must_use]
    pub fn but_alternates(mut self, project: &Project) -> Self {
        self.files.remove(&project.git_dir.join(ALTERNATES));
        self
    }

    pub fn restore(&self) -> io::Result<Vec<String>> {
        let mut reported = Vec::new();
        if self.hooks.is_symlink() {
            fs::remove_file(&self.hooks)?;
            reported
                .push(format!("{} was a link; ralph made it a folder again", self.hooks.display()));
        }
        let new = entries(&self.hooks).into_iter().filter(|path| !self.files.contains_key(path));
        let gone: Vec<(PathBuf, &Option<SavedFile>)> = new.map(|path| (path, &None)).collect();
        let known = self.files.iter().map(|(path, kept)| (path.clone(), kept));
        for (path, kept) in known.chain(gone) {
            self.unlink_above(&path)?;
            let is_there = path.symlink_metadata().is_ok();
            let found = read(&path);
            if found == *kept && is_there == kept.is_some() {
                continue;
            }
            let aside = self.put_aside(&path, found.as_ref())?;
            remove(&path)?;
            if let Some((mode, bytes)) = kept {
                write(&path, *mode, bytes)?;
            }
            reported
                .push(format!("a session changed {}; ralph restored it{aside}", path.display()));
        }
        Ok(reported)
    }

    /// A folder above a file that has become a link would lead the restored file elsewhere.
    fn unlink_above(&self, path: &Path) -> io::Result<()> {
        let Some(root) = self.roots.iter().find(|root| path.starts_with(root)) else {
            return Ok(());
        };
        let above = path.ancestors().skip(1).take_while(|folder| folder != root);
        for link in above.filter(|folder| folder.is_symlink()) {
            fs::remove_file(link)?;
        }
        Ok(())
    }

    fn put_aside(&self, path: &Path, found: Option<&SavedFile>) -> io::Result<String> {
        let Some((_, bytes)) = found else { return Ok(String::new()) };
        fs::create_dir_all(&self.folder)?;
        let name = path.file_name().unwrap_or_default();
        let kept = self.folder.join(name);
        remove(&kept)?;
        write(&kept, 0o600, bytes)?;
        Ok(format!("; the changed version is in {}", kept.display()))
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(folder).into_iter().flatten().flatten();
    list.map(|entry| entry.path()).collect()
}

/// Reads a regular file; ignores anything else in its place.
fn read(path: &Path) -> Option<SavedFile> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
    // With capacity for all of it and for the end: otherwise it is read in ten pieces.
    let mut bytes = Vec::with_capacity(usize::try_from(about.len().min(MOST)).ok()? + 1);
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some((about.permissions().mode() & 0o777, bytes))
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn write(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_did_to_git_is_undone_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::create_dir_all(git.join("info")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
        fs::write(git.join("hooks/commit-msg"), "#!/bin/sh\n").unwrap();
        let project = Project {
            worktree: folder.path().to_owned(),
            root: folder.path().to_owned(),
            git_dir: git.clone(),
        };
        let guard = Guard::of(&project, &folder.path().join("aside"));
        assert!(guard.restore().unwrap().is_empty());
        fs::write(git.join("config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(git.join("hooks/post-commit"), "evil").unwrap();
        fs::remove_file(git.join("hooks/pre-commit")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", git.join("hooks/pre-commit")).unwrap();
        fs::create_dir(git.join("config.worktree")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, git.join("info/attributes"), 0o600.into()).unwrap();
        let reported = guard.restore().unwrap();
        assert_eq!(reported.len(), 5, "{reported:?}");
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
        assert_eq!(fs::read_to_string(git.join("hooks/pre-commit")).unwrap(), "#!/bin/sh\n");
        assert!(!git.join("hooks/post-commit").exists() && !git.join("config.worktree").exists());
        assert!(!git.join("info/attributes").exists());
        let aside = fs::read_to_string(folder.path().join("aside/config")).unwrap();
        assert!(aside.contains("fsmonitor"));
        assert!(guard.restore().unwrap().is_empty());
    }

    #[test]
    fn a_file_that_settings_are_read_from_is_put_back_and_no_link_leads_it_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (repo, outside) = (folder.join("repo"), folder.join("outside"));
        fs::create_dir_all(repo.join("conf")).unwrap();
        fs::create_dir(&outside).unwrap();
        let git = |arguments: &[&str]| crate::git::git(&repo, arguments).unwrap();
        git(&["init", "--quiet"]);
        fs::write(repo.join("conf/git.inc"), "[core]\n\teditor = true\n").unwrap();
        git(&["config", "include.path", "../conf/git.inc"]);
        let project = Project::find(&repo).unwrap();
        let guard = Guard::of(&project, &folder.join("aside"));
        fs::rename(repo.join("conf"), repo.join("old")).unwrap();
        std::os::unix::fs::symlink(&outside, repo.join("conf")).unwrap();
        fs::write(outside.join("git.inc"), "[core]\n\teditor = evil\n").unwrap();
        assert_eq!(guard.restore().unwrap().len(), 1);
        let text = fs::read_to_string(repo.join("conf/git.inc")).unwrap();
        assert!(text.contains("editor = true") && !repo.join("conf").is_symlink(), "{text}");
        assert!(fs::read_to_string(outside.join("git.inc")).unwrap().contains("evil"));
        assert!(guard.restore().unwrap().is_empty());
    }
}
