//! Keeps one file out of all commits of a branch, whatever an agent commits: its copy of the plan.

use std::collections::HashMap;

use ralph_core::TaskId;
use ralph_core::branch::BranchName;

use super::in_place::GitVcs;
use super::like::with_new;
use super::wip::ref_name;
use crate::crash;
use crate::git::GitResult;
use crate::git::entries::{Entry, RepoPath};
use crate::ports::Saved;

impl GitVcs {
    /// Commits of the branch alone since then. With a path, those that change it.
    pub(super) fn touching(
        &self,
        path: &str,
        branch: &str,
        began: &str,
        options: &[&str],
    ) -> GitResult<Vec<String>> {
        let (without, exclude) = (format!("^{began}"), format!("--exclude={branch}"));
        let mut arguments = vec!["rev-list", "--full-history"];
        arguments.extend(options);
        arguments.extend(["HEAD", &without, "--not", &exclude, "--branches", "--remotes", "--"]);
        arguments.extend((!path.is_empty()).then_some(path));
        self.git(&arguments).env("GIT_LITERAL_PATHSPECS", "1").lines()
    }

    /// Recreates the commits without the path; the old ones are saved before the branch moves.
    pub(super) fn rebuild(
        &self,
        path: &str,
        branch: &str,
        began: &str,
        head: &str,
    ) -> GitResult<Option<Saved>> {
        let order = ["--reverse", "--topo-order"];
        let mut new: HashMap<String, String> = HashMap::new();
        for id in self.touching("", branch, began, &order)? {
            let made = self.without(path, &id, &new)?;
            new.insert(id, made);
        }
        let Some(tip) = new.get(head).filter(|tip| *tip != head) else { return Ok(None) };
        let name = self.free_name(branch)?;
        if let Some(name) = &name {
            self.git(&["update-ref", name, head]).run()?;
        }
        crash::point("commits-saved");
        let logged = format!("ralph: without {path}");
        self.git(&["update-ref", "-m", &logged, "HEAD", tip, head]).run()?;
        Ok(name.map(|name| Saved { name, commit: head.to_owned() }))
    }

    /// A commit like this one in which the path is as in its first parent. One that changed nothing else is
    /// that parent.
    fn without(&self, path: &str, id: &str, new: &HashMap<String, String>) -> GitResult<String> {
        let Some(parts) = self.commit_parts(id)? else { return Ok(id.to_owned()) };
        let parents = with_new(&parts.parents, new);
        let key: RepoPath = path.as_bytes().to_vec();
        let found = self.entry_at(id, &key)?;
        let before = parents.first().map(|parent| self.entry_at(parent, &key)).transpose()?;
        let before = before.flatten();
        // What a merge brings along from elsewhere belongs there.
        let merged = parts.parents.iter().skip(1);
        let mut brought = false;
        for parent in merged {
            brought |= self.entry_at(parent, &key)? == found;
        }
        let wrong = found != before && !brought;
        if !wrong && parents == parts.parents {
            return Ok(id.to_owned());
        }
        let mut tree = parts.tree.clone();
        if wrong {
            tree = self.with_entries(id, [(&key, before.as_ref())].into_iter())?;
            if let [parent] = &parents[..]
                && self.tree_of(Some(parent))? == tree
            {
                return Ok(parent.clone());
            }
        }
        self.like(&parts, &tree, &parents, None)
    }

    /// The index has the path as HEAD has it, and changes of the file are not looked at.
    pub(super) fn hide(&self, path: &str) -> GitResult<()> {
        let asked = self.git(&["ls-files", "--stage", "-v", "-z", "--", path]);
        let printed = asked.env("GIT_LITERAL_PATHSPECS", "1").run()?;
        let text = String::from_utf8_lossy(&printed).into_owned();
        let words: Vec<&str> = text.split(['\t', ' ', '\0']).take(3).collect();
        let (skipped, staged) = match words[..] {
            [tag, mode, id] => (tag == "S", Some(Entry::new(mode, id))),
            _ => (true, None),
        };
        let key: RepoPath = path.as_bytes().to_vec();
        let committed = self.entry_at("HEAD", &key)?;
        if staged != committed {
            let head = self.git(&["rev-parse", "HEAD"]).line()?;
            self.set_index(&head, [(&key, committed.as_ref())].into_iter())?;
        }
        if committed.is_some() && (staged != committed || !skipped) {
            self.git(&["update-index", "--skip-worktree", "--", path])
                .env("GIT_LITERAL_PATHSPECS", "1")
                .run()?;
        }
        Ok(())
    }

    /// A name for saved work of the branch that nothing has yet.
    pub(super) fn free_name(&self, branch: &str) -> GitResult<Option<String>> {
        let task: Option<TaskId> = BranchName::new(branch).ok().and_then(|name| name.as_task());
        let Some(task) = task else { return Ok(None) };
        let last = self.last_save(&task)?.map_or(0, |save| save.attempt);
        Ok(Some(ref_name(&task, last + 1)))
    }
}
