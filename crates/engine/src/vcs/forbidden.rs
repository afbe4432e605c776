//! What no commit may hold: ralph's own state, and repositories that a session left inside the worktree. Of those git
//! records only a name, and whoever asks git for the status of it runs what the inner repository says, outside of
//! every sandbox.

use std::collections::BTreeSet;

use super::entries::Entry;
use super::git::GitError;
use super::in_place::GitVcs;
use crate::ports::Forbidden;

impl GitVcs {
    /// The forbidden paths among the changes between two trees. A submodule that the first one declares is fine.
    pub(super) fn forbidden_changes(
        &self,
        from_tree: &str,
        to_tree: &str,
    ) -> Result<Vec<Forbidden>, GitError> {
        let mut found = Vec::new();
        let mut declared = None;
        for change in self.diff(from_tree, to_tree)? {
            let name = || String::from_utf8_lossy(&change.path).into_owned();
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

    /// The paths of the submodules that `.gitmodules` of a tree names.
    fn declared_submodules(&self, tree: &str) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let Some(text) = self.file_in(tree, ".gitmodules")? else { return Ok(BTreeSet::new()) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let path = |line: &str| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "path").then(|| value.trim().trim_matches('"').as_bytes().to_vec())
        };
        Ok(text.lines().filter_map(path).collect())
    }
}
