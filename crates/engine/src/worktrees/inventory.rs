//! Lists and removes everything that ralph has created in the git directory of a repository, for `ralph clean`.

use std::path::PathBuf;

use ralph_core::branch::BranchName;

use crate::git::{Git, GitResult};
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
    let asked = ["for-each-ref", "--format=%(objectname) %(refname)", REFS];
    let lines = Git::plumbing(&project.root, &asked).lines()?;
    let mut saves = list_wip(project)?;
    let found = lines.iter().filter_map(|line| line.split_once(' ')).map(|(commit, name)| {
        let at = saves.iter().position(|save| save.saved.name == name);
        let work = at.map(|at| saves.swap_remove(at));
        OwnRef { name: name.to_owned(), commit: commit.to_owned(), work }
    });
    Ok(found.collect())
}

/// Removes refs that still lead where they did.
pub fn remove_refs(project: &Project, refs: &[OwnRef]) -> GitResult<()> {
    let asked: String =
        refs.iter().map(|one| format!("delete {} {}\n", one.name, one.commit)).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let call = Git::plumbing(&project.root, &["update-ref", "--stdin"]);
    call.input(asked.as_bytes()).run().map(drop)
}

/// The branches whose names begin so, and whether another branch, or one of a remote, has all their commits.
pub fn branches(project: &Project, prefix: &str) -> GitResult<Vec<(BranchName, bool)>> {
    let asked = ["for-each-ref", "--format=%(objectname) %(refname:lstrip=2)"];
    let place = format!("refs/heads/{prefix}");
    let mut found = Vec::new();
    for line in Git::plumbing(&project.root, &asked).arg(&place).lines()? {
        let Some((commit, name)) = line.split_once(' ') else { continue };
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
