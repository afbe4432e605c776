//! What no commit may contain: ralph's own state, and git repositories that a session left inside the worktree. Git
//! records only the commit of such a repository, and asking for its status runs the programs that the inner
//! repository names, outside of any sandbox.

use std::collections::BTreeSet;

use super::in_place::GitVcs;
use crate::git::entries::{Entry, RepoPath, leads_out, os_path};
use crate::git::spelling::spelled;
use crate::git::{GitError, GitResult};
use crate::ports::Forbidden;

impl GitVcs {
    /// The forbidden paths among the changes between two trees. A submodule that the first one declares is fine.
    pub(super) fn forbidden_changes(
        &self,
        from_tree: &str,
        to_tree: &str,
    ) -> GitResult<Vec<Forbidden>> {
        let mut found = Vec::new();
        let mut declared = None;
        for change in self.diff(from_tree, to_tree)? {
            let name = || spelled(&change.path);
            if self.is_state(&change.path) {
                found.push(Forbidden::State(name()));
                continue;
            }
            let is_repository =
                |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_repository);
            if is_repository(&change.to) && !is_repository(&change.from) {
                let known = match &declared {
                    Some(known) => known,
                    None => declared.insert(self.declared_submodules(from_tree)?),
                };
                if !known.contains(&change.path) {
                    found.push(Forbidden::Repository(name()));
                }
            }
        }
        Ok(found)
    }

    /// The links that one tree has and another has not, and that lead out of the worktree. What the trees say
    /// counts, not what is in the worktree: a checkout has what is committed.
    pub(super) fn new_links_out(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>> {
        let changes = self.diff(from_tree, to_tree)?;
        let links: Vec<(&RepoPath, &str)> = changes
            .iter()
            .filter_map(|change| Some((&change.path, change.to.as_ref()?.as_link()?)))
            .collect();
        if links.is_empty() {
            return Ok(vec![]);
        }
        let asked: String = links.iter().map(|(_, id)| format!("{id}\n")).collect();
        let printed = self.git(&["cat-file", "--batch"]).input(asked.as_bytes()).run()?;
        let mut rest = printed.as_slice();
        let mut found = Vec::new();
        for (path, _) in links {
            let (target, after) = next_object(rest).ok_or_else(|| GitError::Odd {
                verb: "cat-file".to_owned(),
                answer: "no target of a link".to_owned(),
            })?;
            rest = after;
            if leads_out(&os_path(path), &os_path(target)) {
                found.push(spelled(path));
            }
        }
        Ok(found)
    }

    /// The paths of the submodules that `.gitmodules` of a tree names.
    fn declared_submodules(&self, tree: &str) -> GitResult<BTreeSet<Vec<u8>>> {
        if self.file_in(tree, ".gitmodules")?.is_none() {
            return Ok(BTreeSet::new());
        }
        // As git reads it: quotes, comments, and any bytes.
        let file = format!("{tree}:.gitmodules");
        let asked = ["config", "--blob", &file, "-z", "--get-regexp", "^submodule\\..*\\.path$"];
        let printed = match self.git(&asked).yes_or_no() {
            Ok((_, printed)) => printed,
            // One that git cannot read declares nothing.
            Err(GitError::Failed { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let entries = printed.split(|byte| *byte == 0);
        let path = |entry: &[u8]| {
            let end = entry.iter().position(|byte| *byte == b'\n')?;
            Some(entry[end + 1..].to_vec())
        };
        Ok(entries.filter_map(path).collect())
    }
}

/// The first object of what `cat-file --batch` printed, and the rest.
fn next_object(printed: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = printed.iter().position(|byte| *byte == b'\n')?;
    let about = std::str::from_utf8(&printed[..end]).ok()?;
    let size: usize = about.rsplit(' ').next()?.parse().ok()?;
    let object = printed.get(end + 1..end + 1 + size)?;
    Some((object, printed.get(end + 2 + size..)?))
}
