//! Removes worktrees, after saving unsaved work in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ralph_core::branch::BranchName;

use super::admin_folder::{Admin, is_free, is_named_by};
use super::marker::{Marker, WorktreeStage};
use super::prepare::Worktrees;
use super::repair::{check_unlocked, is_ours};
use crate::crash;
use crate::git::remove_tree;
use crate::git::scratch;
use crate::git::{Git, GitError, GitResult};
use crate::ports::{Candidate, Saved, SessionCommits, Vcs, Workspaces, WorktreeRefusal};
use crate::project::Project;
use crate::run_files::WorktreeLock;
use crate::session_git::SessionGitDir;
use crate::vcs::sweep_checkouts;
use crate::vcs::wip::{Wip, list_wip, ref_name};
use crate::vcs::{Author, GitVcs, forget_sandbox};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    pub branch: BranchName,
    pub path: PathBuf,
    /// Whether something in it is not committed.
    pub unsaved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    pub path: PathBuf,
    /// The work that was unsaved and is now saved.
    pub saved: Option<Wip>,
    /// The git directory of its last session, if ralph could not inspect it because there was no sandbox.
    pub aside: Option<PathBuf>,
}

impl Worktrees {
    /// Every worktree that ralph made, wherever it is.
    pub fn ours(&self) -> GitResult<Vec<Ours>> {
        let all = self.markers.all()?;
        Ok(all
            .into_iter()
            .map(|(branch, marker)| {
                let unsaved = marker.stage == WorktreeStage::Made && self.is_dirty(&marker.path);
                Ours { branch, path: marker.path, unsaved }
            })
            .collect())
    }

    /// The path of each of them, without inspecting it.
    pub fn places(&self) -> GitResult<Vec<(BranchName, PathBuf)>> {
        Ok(self.markers.all()?.into_iter().map(|(branch, marker)| (branch, marker.path)).collect())
    }

    /// Whether there are any, or something that a killed run left of one.
    pub fn has_traces(&self) -> bool {
        self.markers.has_any()
    }

    /// Removes the temporary files that killed processes left of their work in any of them.
    pub fn sweep_temporary(&self) -> GitResult<()> {
        for (_, path) in self.places()? {
            scratch::sweep(&path);
            sweep_checkouts(&path);
        }
        Ok(())
    }

    /// Removes locks and half-written markers of branches that have no worktree: their processes were killed.
    pub fn sweep_locks(&self) {
        self.markers.sweep();
    }

    /// Whether [`Worktrees::remove`] would be refused. Changes nothing.
    pub fn check_removable(&self, branch: &BranchName) -> GitResult<()> {
        match self.markers.read(branch)? {
            Some(marker) => self.may_go(branch, &marker).map(drop),
            None => Ok(()),
        }
    }

    /// Saves unsaved work in the worktree of a branch and removes it. The branch stays. `None` when ralph
    /// created none.
    pub fn remove(&self, branch: &BranchName) -> GitResult<Option<Removed>> {
        let hold = self.markers.hold(branch, self.patience)?;
        let Some(mut marker) = self.markers.read(branch)? else {
            hold.give_up();
            self.markers.tidy();
            return Ok(None);
        };
        let admin = self.may_go(branch, &marker)?;
        let path = marker.path.clone();
        let mut saved = None;
        match marker.stage {
            WorktreeStage::Making => self.clear_half(branch, &marker)?,
            WorktreeStage::Equipping | WorktreeStage::Made | WorktreeStage::Removing
                if !is_free(&path) =>
            {
                let admin = admin.as_ref().filter(|admin| is_named_by(&path, admin));
                saved = self.save(branch, &path, admin)?;
                crash::point("worktree-saved");
                marker.stage = WorktreeStage::Removing;
                self.markers.write(branch, &marker)?;
                // In one step, so that ralph does not remove what the user puts there from now on.
                let trash = self.trash(&marker);
                std::fs::rename(&path, &trash)
                    .map_err(|source| GitError::File { path: path.clone(), source })?;
            }
            _ => {}
        }
        crash::point("worktree-moved");
        let mut aside = None;
        if let Some(admin) = &admin {
            let git_dir = SessionGitDir::of_admin(&self.project, &admin.folder);
            aside = forget_sandbox(&self.project, &git_dir, self.is_sandboxed())?;
            self.forget_admin(admin, &marker)?;
        }
        remove_tree(&self.forgotten(&marker))?;
        remove_tree(&self.trash(&marker))?;
        crash::point("worktree-removed");
        self.remove_empty_folders(&path);
        if self.clear_nameless(branch, &marker)? {
            self.markers.forget(branch)?;
            hold.give_up();
            self.markers.tidy();
        } else {
            // The marker lets the next removal find the rest.
            self.markers.write(branch, &Marker { stage: WorktreeStage::Removing, ..marker })?;
        }
        Ok(Some(Removed { path, saved, aside }))
    }

    /// Whether ralph made the worktree of a branch.
    pub fn is_ours(&self, branch: &BranchName) -> GitResult<bool> {
        Ok(self.markers.read(branch)?.is_some())
    }

    /// Deletes a branch that no worktree has checked out any more. What only it leads to must be saved.
    pub fn delete_branch(&self, branch: &BranchName) -> GitResult<()> {
        let Some(tip) = self.tip(branch)? else { return Ok(()) };
        if super::admin_folder::checked_out(&self.project, branch.as_str())?.is_some() {
            return Ok(());
        }
        let name = format!("refs/heads/{branch}");
        self.git(&["update-ref", "-d", &name, &tip]).run().map(drop)
    }

    /// Git's folder of a worktree that may be removed.
    fn may_go(&self, branch: &BranchName, marker: &Marker) -> GitResult<Option<Admin>> {
        let path = &marker.path;
        let admin = self.admin_at(path);
        self.check_place(branch, path)?;
        if !is_ours(marker, admin.as_ref()) {
            return Err(WorktreeRefusal::Persons { path: path.clone() }.into());
        }
        if let Some(admin) = &admin {
            check_unlocked(admin)?;
            if let Some(why) = self.unsaved_submodule(path, admin)? {
                return Err(WorktreeRefusal::NotSaved { path: path.clone(), why }.into());
            }
        }
        if let Some(pid) = WorktreeLock::holder(&path.join(".ralph")) {
            return Err(WorktreeRefusal::AtWork { branch: branch.to_string(), pid }.into());
        }
        Ok(admin)
    }

    /// Whether a marker may name this folder: a repository that came from elsewhere can contain markers. A
    /// folder is ralph's if it and git's own folder name each other, which nothing outside can fake, and
    /// otherwise only in the place for ralph's worktrees.
    pub(super) fn check_place(&self, branch: &BranchName, path: &Path) -> GitResult<()> {
        if self.is_worktree(path) || self.is_in_place(path) {
            return Ok(());
        }
        let (path, marker) = (path.to_owned(), self.markers.file(branch));
        Err(WorktreeRefusal::Outside { path, marker }.into())
    }

    /// Whether git lists a folder as a worktree of this repository, and the folder agrees.
    pub fn is_worktree(&self, path: &Path) -> bool {
        self.admin_at(path).is_some_and(|admin| is_named_by(path, &admin))
    }

    /// Whether a folder is in the place for ralph's worktrees, with no link in its path.
    fn is_in_place(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        let mut at = self.folder.clone();
        let is_plain = |part: &OsStr| {
            at.push(part);
            !at.is_symlink()
        };
        !inside.as_os_str().is_empty() && inside.iter().all(is_plain)
    }

    /// Saves what no commit of a branch has.
    fn save(
        &self,
        branch: &BranchName,
        path: &Path,
        admin: Option<&Admin>,
    ) -> GitResult<Option<Wip>> {
        let not_saved = |why: String| WorktreeRefusal::NotSaved { path: path.to_owned(), why };
        if admin.is_none() {
            let why = "git no longer knows it, so ralph cannot save what is in it".to_owned();
            return Err(not_saved(why).into());
        }
        let Some(task) = branch.as_task() else {
            return Err(not_saved("ralph cannot save work under its name".to_owned()).into());
        };
        let vcs = self.vcs(Project::find(path)?)?;
        vcs.import_commits()?;
        let base = vcs.here()?;
        if let (Some(_), Some(head)) = (&base.branch, &base.head)
            && vcs.is_as_committed(head)?
        {
            return Ok(None);
        }
        let candidate = vcs.candidate(&base)?;
        let attempt = match vcs.last_save(&task)? {
            None => 1,
            // Killed after it was saved.
            Some(last) if vcs.holds(&last, &candidate)? => last.attempt,
            Some(last) => last.attempt + 1,
        };
        let mut saved = vcs.save(&base, &candidate, &task, attempt)?;
        if let Some(left_out) = vcs.warnings().into_iter().next() {
            return Err(not_saved(left_out).into());
        }
        if saved.is_none()
            && base.branch.is_none()
            && let Some(head) = base.head
        {
            // Commits that only this worktree's HEAD leads to.
            let tree = vcs.tree_of(Some(&head))?;
            let message = format!("ralph: the commits of a detached HEAD in {branch}\n");
            let commit = vcs.commit_tree(&tree, Some(&head), &message, Author::Ralph)?;
            let name = ref_name(&task, attempt);
            self.git(&["update-ref", &name, &commit]).run()?;
            saved = Some(Saved { name, commit });
        }
        let Some(saved) = saved else { return Ok(None) };
        let saves = list_wip(&self.project)?;
        Ok(saves.into_iter().find(|save| save.saved == saved))
    }

    /// Where a worktree is while it is removed: beside it, on the same disk.
    pub(super) fn trash(&self, marker: &Marker) -> PathBuf {
        let folder = marker.path.parent().unwrap_or(&self.folder);
        folder.join(format!(".ralph-removed-{}", marker.token))
    }

    /// The folders of a name with slashes, and that of all worktrees, when nothing is left in them.
    pub(super) fn remove_empty_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            let is_ours = folder.starts_with(&self.folder) && folder != self.project.root;
            if !is_ours || std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

impl GitVcs {
    /// Whether a save is of this very work.
    fn holds(&self, save: &Wip, candidate: &Candidate) -> GitResult<bool> {
        let parts = self.commit_parts(&save.saved.commit)?;
        Ok(parts.is_some_and(|parts| {
            parts.tree == candidate.tree && parts.parents.first() == candidate.head.as_ref()
        }))
    }
}

impl Worktrees {
    fn is_dirty(&self, worktree: &Path) -> bool {
        // Git would run what the configuration of another repository says.
        if !self.is_worktree(worktree) {
            return false;
        }
        if self.is_sandboxed() {
            let clean = || {
                let vcs = self.vcs(Project::find(worktree)?)?;
                vcs.import_commits()?;
                match vcs.position()?.head {
                    Some(head) => vcs.is_as_committed(&head),
                    None => Ok::<_, GitError>(false),
                }
            };
            return clean().is_ok_and(|clean| !clean);
        }
        let status = [
            "status",
            "--porcelain",
            "--untracked-files=normal",
            "--no-renames",
            // To look for changes inside a submodule, git would run what that repository says.
            "--ignore-submodules=dirty",
        ];
        Git::plumbing(worktree, &status).run().is_ok_and(|printed| !printed.is_empty())
    }
}
