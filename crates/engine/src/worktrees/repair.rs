//! Repairs a worktree of ralph's after a crash or a change by the user.
//!
//! Git creates a worktree in this order: the branch, its own folder with a lock, `gitdir` in it, the `.git` file,
//! HEAD, the files; it removes the lock last. So a lock that says `initializing` means that git was killed on the
//! way, and no session has been there: ralph removes everything and starts again. If the worktree had been complete
//! before, a session may have worked in it: then ralph repairs only git's own files.
//!
//! Git's folder is renamed before it is removed: a half-removed one would not say which worktree it belongs to.

use std::collections::HashSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ralph_core::branch::BranchName;

use super::admin_folder::{Admin, admins, is_free};
use super::marker::{Marker, WorktreeStage};
use super::prepare::Worktrees;
use crate::crash;
use crate::git::folders::{gone, named_admin, plain, remove_tree};
use crate::git::position::position;
use crate::git::{Git, GitError, GitResult};
use crate::ports::{SessionCommits, Vcs, WorktreeRefusal};
use crate::project::Project;
use crate::vcs::GitVcs;

/// How the names of git's folders begin that are being removed.
pub(super) const FORGOTTEN: &str = "ralph-removed-";

impl Worktrees {
    /// Repairs the worktree of a branch. The marker when its worktree is complete, `None` when there is
    /// none and its place is free.
    pub(super) fn mend(
        &self,
        branch: &BranchName,
        path: &Path,
        notes: &mut Vec<String>,
    ) -> GitResult<Option<Marker>> {
        let admin = self.admin_at(path);
        let marker = self.markers.read(branch)?;
        let Some(marker) = marker.filter(|marker| is_ours(marker, admin.as_ref())) else {
            if admin.is_some() {
                return Err(WorktreeRefusal::Persons { path: path.to_owned() }.into());
            }
            return self.check_empty(path).map(|()| None);
        };
        // The next marker would not lead to these.
        remove_tree(&self.forgotten(&marker))?;
        self.clear_nameless(branch, &marker)?;
        if marker.path != path {
            if is_free(&marker.path) && self.admin_at(&marker.path).is_none() {
                return self.check_empty(path).map(|()| None);
            }
            let (branch, path) = (branch.to_string(), marker.path);
            return Err(WorktreeRefusal::OtherPlace { branch, path }.into());
        }
        if marker.stage == WorktreeStage::Removing {
            remove_tree(&self.trash(&marker))?;
        }
        let output = |what: &str| format!("the worktree of branch {branch} {what}");
        match &admin {
            Some(admin) if marker.stage == WorktreeStage::Making && is_half(admin, path) => {
                self.clear_half(branch, &marker)?;
                notes.push(output("was half-created; ralph recreates it"));
                Ok(None)
            }
            None if marker.stage == WorktreeStage::Making => {
                self.clear_half(branch, &marker)?;
                Ok(None)
            }
            Some(admin) if is_free(path) => {
                check_unlocked(admin)?;
                self.forget_admin(admin, &marker)?;
                notes.push(output("was gone; ralph recreates it"));
                Ok(None)
            }
            Some(admin) => {
                if named_admin(path).is_none() {
                    write_link(path, &admin.folder)?;
                    notes.push(output("had lost its .git file; ralph restored it"));
                }
                self.check_whole(branch, path, &marker, admin, notes)
            }
            None if is_free(path) => Ok(None),
            None => {
                let admin = self.rebuild(branch, path)?;
                notes.push(output("was unknown to git; ralph registered it again"));
                self.check_whole(branch, path, &marker, &admin, notes)
            }
        }
    }

    /// A worktree that was once complete must be on its branch; locks of a killed git are removed.
    fn check_whole(
        &self,
        branch: &BranchName,
        path: &Path,
        marker: &Marker,
        admin: &Admin,
        notes: &mut Vec<String>,
    ) -> GitResult<Option<Marker>> {
        let project = Project::find(path)?;
        let vcs = self.vcs(project.clone())?;
        // A killed run may have left commits of its session in a directory of their own.
        vcs.import_commits()?;
        let found = position(&project)?.branch;
        if found.as_deref() != Some(branch.as_str()) {
            let found = found.map_or("a detached HEAD".to_owned(), |name| format!("branch {name}"));
            let (path, branch) = (path.to_owned(), branch.to_string());
            return Err(WorktreeRefusal::Switched { path, branch, found }.into());
        }
        vcs.remove_dead_locks(marker.at)?;
        notes.extend(vcs.warnings());
        self.own(admin, marker)?;
        Ok(Some(marker.clone()))
    }

    /// Removes a half-created worktree. No session can have worked in it, but the user may have put files
    /// there: then it stays.
    pub(super) fn clear_half(&self, branch: &BranchName, marker: &Marker) -> GitResult<()> {
        let path = &marker.path;
        let found = self.admin_at(path).filter(|admin| is_ours(marker, Some(admin)));
        let own = plain(&self.project.git_dir.join("worktrees"));
        if named_admin(path).is_some_and(|named| named.parent() != Some(&own)) {
            // Another repository has its worktrees in the same folder.
            let file = PathBuf::from(".git");
            return Err(WorktreeRefusal::FolderTaken { path: path.clone(), file }.into());
        }
        if let Some(file) = self.stranger(path, &marker.base)? {
            return Err(WorktreeRefusal::FolderTaken { path: path.clone(), file }.into());
        }
        remove_tree(path)?;
        if let Some(admin) = &found {
            self.forget_admin(admin, marker)?;
        }
        self.clear_nameless(branch, marker)?;
        let vcs = GitVcs::new(self.project.clone())?;
        let shared = ["packed-refs.lock".to_owned(), "config.lock".to_owned()];
        let names = shared.into_iter().chain([format!("refs/heads/{branch}.lock")]);
        let locks: Vec<PathBuf> = names.map(|name| self.project.git_dir.join(name)).collect();
        vcs.sweep_dead(&locks, marker.at)?;
        Ok(())
    }

    /// Removes git's folders that do not name their worktree: git, or the process that removed them, was
    /// killed. ralph's have its token, or came after the marker and have the name that git gives to ralph's
    /// worktree. `false` when some had to stay, because a running git may be creating them.
    pub(super) fn clear_nameless(&self, branch: &BranchName, marker: &Marker) -> GitResult<bool> {
        let is_named = |admin: &Admin| {
            let name = admin.name.to_str();
            let rest = name.and_then(|name| name.strip_prefix(branch.last_part()));
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_new = |admin: &Admin| admin.is_new_since(&marker.before);
        let is_begun = |admin: &Admin| {
            admin.worktree.is_none()
                && (admin.locked.is_none()
                    || admin.is_unfinished()
                    || admin.locked.as_deref() == Some(""))
        };
        let mut begun = Vec::new();
        for admin in admins(&self.project) {
            if admin.worktree.is_none() && admin.token.as_ref() == Some(&marker.token) {
                self.forget_admin(&admin, marker)?;
            } else if is_begun(&admin) && is_named(&admin) && is_new(&admin) {
                begun.push(admin);
            }
        }
        // The user's git may have begun one this very moment.
        let places = [&self.project.root, &self.project.git_dir];
        if !begun.is_empty() && crate::process::works_in("git", &places) {
            return Ok(false);
        }
        begun.iter().try_for_each(|admin| self.forget_admin(admin, marker))?;
        Ok(true)
    }

    /// A file in a half-created worktree that git did not write there.
    fn stranger(&self, path: &Path, base: &str) -> GitResult<Option<PathBuf>> {
        let mut files = files_below(path);
        files.retain(|file| file != Path::new(".git"));
        if files.is_empty() {
            return Ok(None);
        }
        let printed =
            self.git(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", base]).run()?;
        let known: HashSet<&[u8]> = printed.split(|byte| *byte == 0).collect();
        let is_known = |file: &PathBuf| known.contains(file.as_os_str().as_bytes());
        Ok(files.into_iter().find(|file| !is_known(file)))
    }

    /// Makes git forget a worktree, in one step.
    pub(super) fn forget_admin(&self, admin: &Admin, marker: &Marker) -> GitResult<()> {
        let gone_to = self.forgotten(marker);
        remove_tree(&gone_to)?;
        match gone(std::fs::rename(&admin.folder, &gone_to)) {
            Ok(()) => {}
            // The folder of worktrees is on another disk.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                remove_tree(&admin.folder)?;
            }
            Err(source) => return Err(GitError::File { path: admin.folder.clone(), source }),
        }
        crash::point("worktree-forgotten");
        remove_tree(&gone_to)?;
        // Git does the same after the last one.
        let _ = std::fs::remove_dir(self.project.git_dir.join("worktrees"));
        Ok(())
    }

    /// Where git's folder of a worktree is while it is removed.
    pub(super) fn forgotten(&self, marker: &Marker) -> PathBuf {
        self.project.git_dir.join(format!("{FORGOTTEN}{}", marker.token))
    }

    /// Writes git's folder again for a worktree that git has forgotten. Its files stay as they are; what
    /// differs from the branch shows as uncommitted.
    fn rebuild(&self, branch: &BranchName, path: &Path) -> GitResult<Admin> {
        let worktrees = self.project.git_dir.join("worktrees");
        let named = named_admin(path).filter(|folder| folder.parent() == Some(&worktrees));
        let folder = named.filter(|folder| !folder.exists());
        let Some(folder) = folder else {
            let file = files_below(path).into_iter().next().unwrap_or_default();
            return Err(WorktreeRefusal::FolderTaken { path: path.to_owned(), file }.into());
        };
        let failed = |source| GitError::File { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let mut gitdir = path.join(".git").into_os_string().into_encoded_bytes();
        gitdir.push(b'\n');
        std::fs::write(folder.join("commondir"), "../..\n").map_err(failed)?;
        std::fs::write(folder.join("HEAD"), format!("ref: refs/heads/{branch}\n"))
            .map_err(failed)?;
        std::fs::write(folder.join("gitdir"), gitdir).map_err(failed)?;
        Git::plumbing(path, &["read-tree", "HEAD"]).run()?;
        self.admin_at(path).ok_or_else(|| failed(io::Error::other("git's folder is not readable")))
    }

    fn check_empty(&self, path: &Path) -> GitResult<()> {
        if is_free(path) {
            return Ok(());
        }
        let file = files_below(path).into_iter().next().unwrap_or_default();
        Err(WorktreeRefusal::FolderTaken { path: path.to_owned(), file }.into())
    }
}

/// Whether the folder that git has at the marker's place is the one that the marker is for.
pub(super) fn is_ours(marker: &Marker, admin: Option<&Admin>) -> bool {
    admin.is_none_or(|admin| match &admin.token {
        Some(token) => *token == marker.token,
        // Killed before it could be signed.
        None if marker.stage == WorktreeStage::Making => admin.is_new_since(&marker.before),
        // Killed while it was removed, as earlier versions did: file by file.
        None => is_free(&marker.path),
    })
}

fn is_half(admin: &Admin, path: &Path) -> bool {
    admin.is_unfinished()
        || admin.locked.as_deref() == Some("")
        || named_admin(path).as_ref() != Some(&admin.folder)
        || !admin.folder.join("index").exists()
}

pub(super) fn check_unlocked(admin: &Admin) -> GitResult<()> {
    match admin.locked_by_user() {
        None => Ok(()),
        Some(reason) => {
            let path = admin.worktree.clone().unwrap_or_default();
            Err(WorktreeRefusal::Locked { path, reason: reason.to_owned() }.into())
        }
    }
}

fn write_link(path: &Path, admin: &Path) -> GitResult<()> {
    let file = path.join(".git");
    if file.symlink_metadata().is_ok() {
        return Err(WorktreeRefusal::FolderTaken { path: path.to_owned(), file }.into());
    }
    let mut text = b"gitdir: ".to_vec();
    text.extend(admin.as_os_str().as_bytes());
    text.push(b'\n');
    std::fs::write(&file, text).map_err(|source| GitError::File { path: file, source })
}

/// Every file below a folder, by its path from there; links are files.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Ok(file) = path.strip_prefix(folder) {
                found.push(file.to_owned());
            }
        }
    }
    found.sort();
    found
}
