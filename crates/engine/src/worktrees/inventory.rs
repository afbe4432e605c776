//! Lists and removes everything that ralph has created in the git directory of a repository, for `ralph clean`.

use std::path::PathBuf;

use ralph_core::branch::BranchName;

use crate::git::{Git, GitResult, delete_refs, refs_in};
use crate::project::Project;
use crate::vcs::wip::{Wip, list_wip};

/// Where all refs of ralph are.
const REFS: &str = "refs/ralph/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRef {
    pub name: String,
    /// What it leads to.
    pub commit: String,
    /// The work that it holds, where it is saved work of a task.
    pub work: Option<Wip>,
}

pub fn own_refs(project: &Project) -> GitResult<Vec<OwnRef>> {
    let refs = refs_in(&project.root, &[REFS])?;
    let mut saves = list_wip(project)?;
    let found = refs.into_iter().map(|(name, commit)| {
        let at = saves.iter().position(|save| save.saved.name == name);
        let work = at.map(|at| saves.swap_remove(at));
        OwnRef { name, commit, work }
    });
    Ok(found.collect())
}

/// Removes refs that still lead where they did.
pub fn remove_refs(project: &Project, refs: &[OwnRef]) -> GitResult<()> {
    delete_refs(&project.root, refs.iter().map(|one| (&one.name, &one.commit)))
}

/// The branches whose names begin so, and whether another branch, or one of a remote, has all their commits.
pub fn branches(project: &Project, prefix: &str) -> GitResult<Vec<(BranchName, bool)>> {
    let place = format!("refs/heads/{prefix}");
    let mut found = Vec::new();
    for (name, commit) in refs_in(&project.root, &[&place])? {
        let name = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let Ok(branch) = BranchName::new(name) else { continue };
        let contains = format!("--contains={commit}");
        let asked =
            ["for-each-ref", "--format=%(refname)", &contains, "refs/heads", "refs/remotes"];
        let holders = Git::plumbing(&project.root, &asked).lines()?;
        found.push((branch, holders.iter().any(|other| !other.starts_with(&place))));
    }
    Ok(found)
}

/// The files that ralph keeps in the git directory, and folders that it was killed while removing.
pub fn own_files(project: &Project) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&project.git_dir).into_iter().flatten().flatten();
    let is_own = |name: &str| name.starts_with("ralph-");
    let is_going = |entry: &std::fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(super::repair::FORGOTTEN)
    };
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_own))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()) || is_going(entry))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Whether the repository has the setting that ralph's worktrees need, and nothing else uses it.
pub fn has_idle_worktree_config(project: &Project) -> GitResult<bool> {
    let in_use = ["worktrees", "config.worktree"].map(|name| project.git_dir.join(name).exists());
    if in_use.contains(&true) {
        return Ok(false);
    }
    let get = ["config", "--local", "--type=bool", "--get", "extensions.worktreeConfig"];
    Ok(Git::plumbing(&project.root, &get).answer()?.is_some_and(|set| set == "true"))
}

/// Removes that setting, and its section where nothing else is in it.
pub fn remove_worktree_config(project: &Project) -> GitResult<()> {
    let unset = ["config", "--local", "--unset", "extensions.worktreeConfig"];
    Git::plumbing(&project.root, &unset).run()?;
    let rest = ["config", "--local", "--get-regexp", "^extensions\\."];
    if !Git::plumbing(&project.root, &rest).yes_or_no()?.0 {
        let section = ["config", "--local", "--remove-section", "extensions"];
        // Git may have removed it already.
        let _ = Git::plumbing(&project.root, &section).run();
    }
    Ok(())
}
