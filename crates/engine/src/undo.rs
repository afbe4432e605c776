//! Undoes commits with new commits that revert them. History is never rewritten, and nothing happens halfway: every
//! revert is merged in the object database first, and the branch and the files move once, at the end.

use std::collections::HashSet;

use ralph_core::amounts::first_of;
use ralph_core::records::FileChange;

use crate::git::entries::{Entry, RepoPath};
use crate::git::{GitError, GitResult};
use crate::ports::Trees;
use crate::vcs::{Advanced, Author, Files, GitVcs};

/// How many commits are listed at once; older ones are asked for one by one.
const RECENT: &str = "--max-count=10000";

/// Why commits cannot be undone. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(
        "{} cannot be reverted: later commits changed the same lines of {}",
        short(commit),
        first_of(files, 5)
    )]
    Conflict { commit: String, files: Vec<String> },
    #[error(
        "you have uncommitted changes in {}, which ralph would change back",
        first_of(files, 5)
    )]
    InTheWay { files: Vec<String> },
    #[error("nothing of these commits is left to revert")]
    Nothing,
    #[error(transparent)]
    Git(#[from] GitError),
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// A plan file that is not reverted as text: only checkboxes change in it, because the lines of other tasks are next
/// to them.
pub struct PlanEdit<'a> {
    pub path: String,
    /// The committed text with the checkboxes cleared; `None` where nothing of it changes.
    pub edit: &'a dyn Fn(&str) -> Option<String>,
}

/// Reverts that are ready to become commits.
#[derive(Debug)]
pub struct Undo {
    /// The branch; `None` for a detached HEAD.
    pub branch: Option<String>,
    pub reverts: Vec<Revert>,
    pub files: Vec<String>,
    head: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    pub commit: String,
    pub subject: String,
    tree: String,
}

impl GitVcs {
    pub fn exists(&self, commit: &str) -> GitResult<bool> {
        Ok(self.commit_parts(commit)?.is_some())
    }

    /// What a commit changed, compared with its first parent.
    pub fn changes_of(&self, commit: &str) -> GitResult<Vec<FileChange>> {
        let Some(parts) = self.commit_parts(commit)? else { return Ok(vec![]) };
        self.counted_changes(&self.tree_before(&parts)?, &parts.tree)
    }

    /// Whether the branch that is checked out has this commit.
    pub fn has_commit(&self, commit: &str) -> GitResult<bool> {
        let Some(head) = self.position()?.head else { return Ok(false) };
        self.is_ancestor(commit, &head)
    }

    /// The newest commits of the branch that is checked out.
    pub fn recent_commits(&self) -> GitResult<HashSet<String>> {
        if self.position()?.head.is_none() {
            return Ok(HashSet::new());
        }
        Ok(self.git(&["rev-list", RECENT, "HEAD", "--"]).lines()?.into_iter().collect())
    }

    /// The commits since `oldest` that others have reverted, each with the commit that reverts it. A revert that
    /// was itself reverted does not count.
    pub fn reverted_since(&self, oldest: &str) -> GitResult<Vec<(String, String)>> {
        let range = format!("{oldest}..HEAD");
        let log = ["--topo-order", "--grep=^This reverts commit ", &range];
        let mut found: Vec<(String, String)> = Vec::new();
        for (by, body) in self.logged_messages(&log)? {
            if found.iter().any(|(reverted, _)| *reverted == by) {
                continue;
            }
            let named = body.lines().filter_map(|line| line.strip_prefix("This reverts commit "));
            let ids = named.map(|id| id.trim_end_matches(['.', ',', ' ']).to_owned());
            found.extend(ids.map(|id| (id, by.clone())));
        }
        Ok(found)
    }

    /// The commits of this branch whose messages name a task, as those of the loop do, the newest first.
    pub fn commits_naming(&self, task: &str) -> GitResult<Vec<(String, String)>> {
        let wanted = format!("Task: {task}");
        let grep = format!("--grep={wanted}");
        let log = ["--fixed-strings", &grep, "--max-count=100"];
        let found = self.logged_messages(&log)?.into_iter().filter_map(|(id, body)| {
            let names = |line: &str| {
                line.strip_prefix(&wanted)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            };
            let subject = body.lines().next().unwrap_or_default();
            body.lines().any(names).then(|| (id, subject.to_owned()))
        });
        Ok(found.collect())
    }

    /// The commits that `git log` finds with these options, each with its message.
    fn logged_messages(&self, options: &[&str]) -> GitResult<Vec<(String, String)>> {
        let log = [&["log", "-z", "--format=%H%n%B"], options, &["--"]].concat();
        let printed = self.git(&log).run()?;
        let text = String::from_utf8_lossy(&printed);
        let found = text.split('\0').filter_map(|one| one.trim_start().split_once('\n'));
        Ok(found.map(|(id, body)| (id.to_owned(), body.to_owned())).collect())
    }

    /// Reverts commits, the newest first, in the object database: no ref and no file changes.
    pub fn prepare_undo(
        &self,
        commits: &[(String, String)],
        plans: &[PlanEdit<'_>],
    ) -> Result<Undo, UndoError> {
        self.refuse_operation()?;
        self.refuse_unmerged()?;
        let at = self.position()?;
        let head = at.head.ok_or(UndoError::Nothing)?;
        let start = self.tree_of(Some(&head))?;
        let kept: Vec<String> = plans.iter().map(|plan| plan.path.clone()).collect();
        let mut tree = start.clone();
        let mut reverts = Vec::new();
        for (commit, subject) in commits {
            let next = self.tree_without(commit, &tree, &kept)?;
            if next != tree {
                tree.clone_from(&next);
                let (commit, subject) = (commit.clone(), subject.clone());
                reverts.push(Revert { commit, subject, tree: next });
            }
        }
        for plan in plans {
            tree = self.with_boxes_cleared(&head, &tree, plan)?;
        }
        // The checkboxes belong to the last of them, so that no revert is without its meaning.
        let Some(last) = reverts.last_mut() else { return Err(UndoError::Nothing) };
        last.tree.clone_from(&tree);
        let files = self.files_in_the_way(&start, &tree)?;
        if !files.is_empty() {
            return Err(UndoError::InTheWay { files });
        }
        let files = self.changes(&start, &tree)?;
        Ok(Undo { branch: at.branch, reverts, files, head })
    }

    /// Makes the commits and moves the branch with the files. `message` is asked for each revert. Returns the new
    /// commits, the first first. No hook runs: a revert brings back what the hooks have seen.
    pub fn finish_undo(
        &self,
        undo: &Undo,
        message: impl Fn(&Revert) -> String,
    ) -> Result<Vec<String>, UndoError> {
        self.check_identity()?;
        let mut made: Vec<String> = Vec::new();
        for revert in &undo.reverts {
            let parent = made.last().unwrap_or(&undo.head);
            let text = message(revert);
            let id = self.commit_tree(&revert.tree, Some(parent), &text, Author::User)?;
            self.remember_tree(&id, &revert.tree);
            made.push(id);
        }
        let to = made.last().ok_or(UndoError::Nothing)?;
        let expected = Some(undo.head.as_str());
        match self.advance(expected, to, Files::Follow, "ralph: undo")? {
            Advanced::InTheWay { files } => return Err(UndoError::InTheWay { files }),
            moved => moved.or_moved(expected)?,
        }
        Ok(made)
    }

    /// Finishes or reverts what a killed run left half-landed, as the next run would.
    pub fn finish_landing(&self) -> GitResult<()> {
        self.finish_advance()
    }

    /// The tree `there` without what a commit changed, compared with its first parent. `kept` paths stay as they are.
    fn tree_without(
        &self,
        commit: &str,
        there: &str,
        kept: &[String],
    ) -> Result<String, UndoError> {
        let parts = self.known_commit(commit)?;
        let after = self.with_paths(&parts.tree, there, kept)?;
        let before = self.with_paths(&self.tree_before(&parts)?, there, kept)?;
        if after == *there || before == after {
            return Ok(if after == *there { before } else { there.to_owned() });
        }
        // For git, both sides come from the tree with the commit: one side removes it, the other has what came since.
        let base = self.commit_tree(&after, None::<&str>, "with\n", Author::Ralph)?;
        let ours = self.commit_tree(there, Some(&base), "there\n", Author::Ralph)?;
        let theirs = self.commit_tree(&before, Some(&base), "without\n", Author::Ralph)?;
        match self.merge_trees(&ours, &theirs)? {
            (tree, None) => Ok(tree),
            (_, Some(files)) => Err(UndoError::Conflict { commit: commit.to_owned(), files }),
        }
    }

    /// The tree with the checkboxes of a plan cleared. A plan that is not committed, or that the user has changed
    /// since, is not a part of the commit.
    fn with_boxes_cleared(
        &self,
        head: &str,
        tree: &str,
        plan: &PlanEdit<'_>,
    ) -> Result<String, UndoError> {
        let Some(bytes) = self.file(tree, &plan.path)? else { return Ok(tree.to_owned()) };
        let path: RepoPath = plan.path.clone().into_bytes();
        let is_dirty = self.dirty_beyond(head)?.iter().any(|change| change.path == path);
        let cleared = String::from_utf8(bytes).ok().and_then(|text| (plan.edit)(&text));
        let (false, Some(text)) = (is_dirty, cleared) else { return Ok(tree.to_owned()) };
        let id = self.git(&["hash-object", "-w", "--stdin"]).input(text.as_bytes()).line()?;
        let mode = self.git(&["ls-tree", "--format=%(objectmode)", tree, "--"]).arg(&plan.path);
        let entry = Entry::new(&mode.line()?, &id);
        Ok(self.with_entries(tree, [(&path, Some(&entry))].into_iter())?)
    }
}
