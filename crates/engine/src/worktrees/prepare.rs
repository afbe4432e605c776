//! Creates the worktree of a branch, or reuses the existing one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::branch::{BranchName, check_beside};

use super::admin_folder::{self, Admin, TOKEN, admins};
use super::equip::{self, Identity};
use super::marker::{Hold, Marker, Markers, WorktreeStage};
use crate::crash;
use crate::git::folders::plain;
use crate::git::{Git, GitError, GitResult, commit_of};
use crate::ports::WorktreeRefusal;
use crate::project::{Project, write_privately};
use crate::session_git::GitSandbox;
use crate::vcs::GitVcs;

/// How long another process may be working on the same branch.
const PATIENCE: Duration = Duration::from_secs(120);

/// The worktrees of a repository that are ralph's.
#[derive(Debug)]
pub struct Worktrees {
    pub(super) project: Project,
    pub(super) folder: PathBuf,
    pub(super) markers: Markers,
    pub(super) patience: Duration,
    sandbox: Option<GitSandbox>,
}

#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub branch: &'a BranchName,
    /// Where it begins when it is new: anything that git takes for a commit.
    pub base: &'a str,
    pub identity: &'a Identity,
    /// The patterns of a `.worktreeinclude`.
    pub include: &'a str,
    /// A file of the project's worktree that is copied in, and that no commit there takes up: the plan.
    pub carried: Option<&'a Path>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub path: PathBuf,
    /// Whether it was not there before.
    pub made: bool,
    /// Whether the branch was not there before.
    pub new_branch: bool,
    /// The base, when the branch does not contain it: it has moved since, or the branch began elsewhere.
    pub behind: Option<String>,
    /// The commit that ralph found the branch at, or began it at.
    pub began: String,
    /// Whether the setup command has run in it: see [`Worktrees::mark_set_up`].
    pub setup_done: bool,
    /// Repairs, and files that could not be copied, in sentences.
    pub notes: Vec<String>,
}

impl Worktrees {
    /// Those of the repository, in `folder`, which may be anywhere.
    pub fn new(project: &Project, folder: &Path) -> Self {
        // Within the repository a link on the way is refused; elsewhere the user put it there, and git names the
        // place that it leads to.
        let folder = match folder.starts_with(&project.root) {
            true => folder.to_owned(),
            false => plain(folder),
        };
        let project = project.clone();
        Self { markers: Markers::of(&project), project, folder, patience: PATIENCE, sandbox: None }
    }

    /// The same, with less patience for others working on the same branch.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same where sessions are in sandboxes.
    #[must_use]
    pub fn sandboxed(mut self, sandbox: Option<GitSandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    pub(super) fn is_sandboxed(&self) -> bool {
        self.sandbox.is_some()
    }

    /// Version control in a worktree of the repository.
    pub fn vcs(&self, project: Project) -> GitResult<GitVcs> {
        let vcs = GitVcs::new(project)?;
        match &self.sandbox {
            Some(sandbox) => vcs.sandboxed(sandbox),
            None => Ok(vcs),
        }
    }

    /// Creates the worktree of a branch, or reuses an existing one. If it is killed at any moment, the next
    /// call repairs it. What is not ours is never touched.
    pub fn prepare(&self, wanted: &Wanted<'_>) -> GitResult<Prepared> {
        self.check_home()?;
        self.project.exclude_state()?;
        self.project.exclude_folder(&self.folder)?;
        let branch = wanted.branch;
        let path = self.path_of(branch)?;
        let hold = self.markers.hold(branch, self.patience)?;
        let base = self.commit_named(wanted)?;
        if self.tip(branch)?.is_none() {
            self.check_name(branch)?;
        }
        let mut notes = Vec::new();
        let before = self.mend(branch, &path, &mut notes)?;
        let made = before.is_none();
        let mut marker = match before {
            Some(marker) => marker,
            None => self.add(branch, &path, &base, &hold)?,
        };
        if marker.stage != WorktreeStage::Made {
            marker.stage = WorktreeStage::Equipping;
            self.markers.write(branch, &marker)?;
        }
        crash::point("worktree-added");
        let fresh = marker.stage == WorktreeStage::Equipping;
        marker.keys = equip::set_identity(&path, wanted.identity, &marker.keys)?;
        crash::point("worktree-named");
        let from = self.vcs(self.project.clone())?;
        notes.extend(from.copy_included(wanted.include, &path)?);
        if let Some(file) = wanted.carried {
            equip::carry(&self.project, file, &path, wanted.identity, fresh)?;
        }
        crash::point("worktree-filled");
        marker.stage = WorktreeStage::Made;
        self.markers.write(branch, &marker)?;
        let behind = (!self.contains(branch, &base)?).then_some(base);
        let new_branch = made && marker.new_branch;
        let (began, setup_done) = (marker.base, marker.setup_done);
        Ok(Prepared { path, made, new_branch, behind, began, setup_done, notes })
    }

    /// The setup command succeeded in the worktree of this branch, and is not run again.
    pub fn mark_set_up(&self, branch: &BranchName) -> GitResult<()> {
        crash::point("worktree-set-up");
        let _hold = self.markers.hold(branch, self.patience)?;
        match self.markers.read(branch)? {
            Some(marker) => self.markers.write(branch, &Marker { setup_done: true, ..marker }),
            None => Ok(()),
        }
    }

    /// Where the worktree of a branch is.
    pub fn path_of(&self, branch: &BranchName) -> GitResult<PathBuf> {
        let path = branch.folder().fold(self.folder.clone(), |path, part| path.join(part));
        let Ok(inside) = path.strip_prefix(&self.project.root) else { return Ok(path) };
        // What the repository brings along must not lead our writing out of it.
        let mut place = self.project.root.clone();
        for part in inside {
            place.push(part);
            if place.is_symlink() {
                return Err(WorktreeRefusal::Linked { path: place }.into());
            }
        }
        Ok(path)
    }

    fn check_home(&self) -> GitResult<()> {
        let refuse = |why| WorktreeRefusal::NoHome { path: self.project.root.clone(), why };
        if self.project.git_dir != self.project.root.join(".git") {
            return Err(refuse("its git directory is elsewhere, as in a submodule").into());
        }
        let get = ["config", "--local", "--get", "core.worktree"];
        if self.git(&get).line().is_ok() && self.config_of_worktrees()? != Some(true) {
            return Err(refuse("it sets core.worktree, which every worktree would use").into());
        }
        Ok(())
    }

    fn config_of_worktrees(&self) -> GitResult<Option<bool>> {
        let get = ["config", "--local", "--type=bool", "--get", "extensions.worktreeConfig"];
        Ok(self.git(&get).answer()?.map(|text| text == "true"))
    }

    pub(super) fn git<'a>(&self, arguments: &[&'a str]) -> Git<'a> {
        Git::plumbing(&self.project.root, arguments)
    }

    fn commit_named(&self, wanted: &Wanted<'_>) -> GitResult<String> {
        let none = || {
            let (branch, base) = (wanted.branch.to_string(), wanted.base.to_owned());
            WorktreeRefusal::NoBase { branch, base }.into()
        };
        commit_of(&self.project.root, wanted.base)?.ok_or_else(none)
    }

    /// The commit of the branch; `None` when there is no such branch.
    pub(super) fn tip(&self, branch: &BranchName) -> GitResult<Option<String>> {
        let name = format!("refs/heads/{branch}");
        self.git(&["rev-parse", "--verify", "--quiet", &name]).answer()
    }

    fn contains(&self, branch: &BranchName, base: &str) -> GitResult<bool> {
        let name = format!("refs/heads/{branch}");
        Ok(self.git(&["merge-base", "--is-ancestor", base, &name]).yes_or_no()?.0)
    }

    /// Asks git for the worktree. The marker is written first, so that ralph knows whatever is left of it as
    /// its own.
    fn add(&self, branch: &BranchName, path: &Path, base: &str, hold: &Hold) -> GitResult<Marker> {
        let tip = self.tip(branch)?;
        self.check_free(branch, path)?;
        if self.config_of_worktrees()? != Some(true) {
            self.git(&["config", "extensions.worktreeConfig", "true"]).run()?;
        }
        // One that does not name its worktree was left by a killed git, maybe ralph's own.
        let names = admins(&self.project).into_iter().filter(|admin| admin.worktree.is_some());
        let names = names.filter_map(|admin| admin.name.into_string().ok()).collect();
        let begin = tip.as_deref().unwrap_or(base);
        let mut marker = Marker::new(branch, path, begin, names);
        marker.new_branch = tip.is_none();
        self.markers.write(branch, &marker)?;
        crash::point("worktree-marked");
        let mut arguments = vec!["worktree", "add", "--quiet"];
        if tip.is_none() {
            arguments.extend(["-b", branch.as_str(), "--no-track"]);
        }
        let from = if tip.is_none() { base } else { branch.as_str() };
        let call = self.git(&arguments).arg("--").arg(path).arg(from);
        if let Err(error) = call.reading(&hold.file).run() {
            self.take_back(branch, &marker)?;
            return Err(error);
        }
        let admin = self.admin_at(path).ok_or_else(|| GitError::Odd {
            verb: "worktree add".to_owned(),
            answer: "no folder for it".to_owned(),
        })?;
        self.own(&admin, &marker)?;
        Ok(marker)
    }

    /// Git failed: nothing of the attempt stays.
    fn take_back(&self, branch: &BranchName, marker: &Marker) -> GitResult<()> {
        self.clear_half(branch, marker)?;
        if marker.new_branch && self.tip(branch)?.as_ref() == Some(&marker.base) {
            let name = format!("refs/heads/{branch}");
            self.git(&["update-ref", "-d", &name, &marker.base]).run()?;
        }
        self.remove_empty_folders(&marker.path);
        self.markers.forget(branch)
    }

    /// Writes into git's folder whose worktree it is.
    pub(super) fn own(&self, admin: &Admin, marker: &Marker) -> GitResult<()> {
        if admin.token.as_ref() == Some(&marker.token) {
            return Ok(());
        }
        // Atomic: half a token would look like another process's.
        let path = admin.folder.join(TOKEN);
        write_privately(&path, &format!("{}\n", marker.token))
            .map_err(|source| GitError::File { path, source })
    }

    pub(super) fn admin_at(&self, path: &Path) -> Option<Admin> {
        admins(&self.project).into_iter().find(|admin| admin.worktree.as_deref() == Some(path))
    }

    /// Checks that nothing is in the way of a new worktree.
    fn check_free(&self, branch: &BranchName, path: &Path) -> GitResult<()> {
        if let Some(place) = admin_folder::checked_out(&self.project, branch.as_str())? {
            return Err(
                WorktreeRefusal::Elsewhere { branch: branch.to_string(), path: place }.into()
            );
        }
        let outer = path.ancestors().skip(1).take_while(|place| place.starts_with(&self.folder));
        if let Some(outer) = outer.filter(|place| place.join(".git").exists()).last() {
            let (path, outer) = (path.to_owned(), outer.to_owned());
            return Err(WorktreeRefusal::Inside { path, outer }.into());
        }
        Ok(())
    }

    /// A new name must be valid on every disk, next to the existing branches.
    fn check_name(&self, branch: &BranchName) -> GitResult<()> {
        let list = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"];
        for other in self.git(&list).lines()? {
            let Ok(other) = BranchName::new(&other) else { continue };
            if check_beside(&other, branch).is_err() {
                let (branch, other) = (branch.to_string(), other.to_string());
                return Err(WorktreeRefusal::NameTaken { branch, other }.into());
            }
        }
        Ok(())
    }
}
