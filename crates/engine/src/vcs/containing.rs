//! Finds where the work of a commit is: in the history of the current checkout, or on another branch.

use ralph_core::run::WorkPlace;

use super::in_place::GitVcs;
use crate::git::GitResult;

impl GitVcs {
    /// A commit whose changes are all in what is checked out counts as being there: it was squashed or picked.
    pub(super) fn place_of_work(&self, commit: &str) -> GitResult<WorkPlace> {
        let Some(head) = self.position()?.head else { return Ok(WorkPlace::Unknown) };
        if self.commit_parts(commit)?.is_none() {
            return Ok(WorkPlace::Unknown);
        }
        if self.git(&["merge-base", "--is-ancestor", commit, &head]).yes_or_no()?.0 {
            return Ok(WorkPlace::Here);
        }
        let Some(branch) = self.branch_with(commit)? else { return Ok(WorkPlace::Unknown) };
        // Histories that have nothing in common cannot be compared.
        let merged = self.merge_trees(&head, commit).ok();
        match merged == Some((self.tree_of(Some(&head))?, None)) {
            true => Ok(WorkPlace::Here),
            false => Ok(WorkPlace::Branch(branch)),
        }
    }

    /// A branch that leads to a commit: one of the user's before one of a task's own, one of here before one of
    /// a remote.
    fn branch_with(&self, commit: &str) -> GitResult<Option<String>> {
        let contains = format!("--contains={commit}");
        for place in ["refs/heads/", "refs/remotes/"] {
            let asked = ["for-each-ref", "--format=%(refname:lstrip=2)", &contains, place];
            let mut names = self.git(&asked).lines()?;
            names.retain(|name| !name.ends_with("/HEAD"));
            let names = || names.iter();
            let found = names().find(|name| !name.starts_with("ralph/")).or_else(|| names().next());
            if let Some(name) = found {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }
}
