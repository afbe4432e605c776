//! The branch that work from other worktrees lands on: the one that is checked out where the user works.

use ralph_core::TaskId;

use super::branch::Files;
use super::in_place::GitVcs;
use super::trees::Author;
use crate::git::scratch::Scratch;
use crate::git::{GitError, GitResult};
use crate::ports::{Bind, Trees, Vcs};
use crate::project::Project;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// They are there, and this is the newest.
    Clean { head: String },
    /// They do not go together.
    Conflict {
        files: Vec<String>,
        /// The places, as git marks them.
        text: String,
    },
}

/// Files that conflict, and the places in them, as git marks them.
pub type Conflict = (Vec<String>, String);

#[derive(Debug)]
pub struct Trunk {
    vcs: GitVcs,
    branch: String,
}

impl Trunk {
    /// The branch that is checked out in the worktree of the project.
    pub fn new(project: &Project) -> GitResult<Self> {
        let vcs = GitVcs::new(project.clone())?;
        let at = vcs.position()?;
        let Some(branch) = at.branch else {
            return Err(GitError::NoTrunk { why: "no branch is checked out (git switch BRANCH)" });
        };
        if at.head.is_none() {
            let why = "it has no commit yet (git commit --allow-empty -m start)";
            return Err(GitError::NoTrunk { why });
        }
        Ok(Self { vcs, branch })
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }

    pub fn tip(&self) -> GitResult<String> {
        let at = self.vcs.position()?;
        match at.head {
            Some(head) if at.branch.as_deref() == Some(&self.branch) => Ok(head),
            _ => {
                Err(GitError::OtherBranch { expected: Some(self.branch.clone()), found: at.branch })
            }
        }
    }

    pub fn tree(&self, commit: &str) -> GitResult<String> {
        self.vcs.tree_of(Some(commit))
    }

    /// The newest commit that both have.
    pub fn fork(&self, head: &str, tip: &str) -> GitResult<Option<String>> {
        self.vcs.git(&["merge-base", head, tip]).answer()
    }

    /// The subjects of the commits between two commits, the newest first.
    pub fn subjects(&self, from: &str, to: &str, most: usize) -> GitResult<Vec<String>> {
        let (range, most) = (format!("{from}..{to}"), format!("--max-count={most}"));
        self.vcs.git(&["log", "--format=%h %s", &most, &range, "--"]).lines()
    }

    /// Whether the newest commit of another branch has this tree, and has landed.
    pub fn holds(&self, branch: &str, tree: &str) -> GitResult<bool> {
        let Some(commit) = self.vcs.commit_parts(&format!("refs/heads/{branch}"))? else {
            return Ok(false);
        };
        Ok(commit.tree == tree && self.fork(&commit.id, &self.tip()?)? == Some(commit.id))
    }

    /// The branches whose names begin so, each with its newest commit.
    pub fn branches(&self, prefix: &str) -> GitResult<Vec<(String, String)>> {
        let format = "--format=%(refname:lstrip=2) %(objectname)";
        self.vcs.git(&["for-each-ref", format, &format!("refs/heads/{prefix}")]).pairs()
    }

    /// Whether a commit has landed, or is part of what is saved of a task.
    pub fn keeps(&self, task: &TaskId, commit: &str) -> GitResult<bool> {
        let saves = self.vcs.saves()?.into_iter().filter(|save| save.task == *task);
        let places = saves.map(|save| save.saved.commit).chain([self.tip()?]);
        for place in places {
            if self.vcs.is_ancestor(commit, &place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Squashes the commits between `from` and `head` into one commit on top of `onto`: only the last tree was
    /// judged, and every commit of the branch must be a judged one. A single commit keeps its message, several
    /// get `words`. Signed as `by` signs. No ref and no file changes.
    pub fn replay(
        &self,
        by: &GitVcs,
        from: &str,
        head: &str,
        onto: &str,
        words: Option<(&str, &str)>,
    ) -> GitResult<Replayed> {
        let work = self.vcs.known_commit(head)?;
        let is_alone = work.parents == [from];
        self.vcs.remember_tree(head, &work.tree);
        let (before, there) = (self.tree(from)?, self.tree(onto)?);
        if before == work.tree {
            return Ok(Replayed::Clean { head: onto.to_owned() });
        }
        if onto == from && is_alone {
            return Ok(Replayed::Clean { head: head.to_owned() });
        }
        let tree = if before == there {
            work.tree.clone()
        } else {
            match self.merged(from, head, &there)? {
                Ok(tree) => tree,
                Err((files, text)) => return Ok(Replayed::Conflict { files, text }),
            }
        };
        if tree == there {
            // All of it is there already.
            return Ok(Replayed::Clean { head: onto.to_owned() });
        }
        let reported = match words.filter(|_| !is_alone) {
            Some(words) => Some(in_one(words, &self.messages(from, head)?)),
            None => None,
        };
        let head = by.like(&work, &tree, &[onto.to_owned()], reported.as_deref())?;
        self.vcs.remember_tree(&head, &tree);
        Ok(Replayed::Clean { head })
    }

    /// What the commits between two say, the oldest first.
    fn messages(&self, from: &str, to: &str) -> GitResult<Vec<String>> {
        let range = format!("{from}..{to}");
        let listed = self.vcs.git(&["log", "--reverse", "--format=%B%x00", &range, "--"]).run()?;
        let listed = String::from_utf8_lossy(&listed);
        let all = listed.split('\0').map(str::trim).filter(|text| !text.is_empty());
        Ok(all.map(str::to_owned).collect())
    }

    /// What a commit does to the tree before it, done to the tree `there`.
    fn merged(&self, from: &str, commit: &str, there: &str) -> GitResult<Result<String, Conflict>> {
        // For git, what both sides come from is what both commits come from.
        let ours = self.vcs.commit_tree(there, Some(from), "there\n", Author::Ralph)?;
        Ok(match self.vcs.merge_trees(&ours, commit)? {
            (tree, None) => Ok(tree),
            (tree, Some(files)) => {
                let text = self.vcs.patch(there, &tree, CONFLICT_TEXT)?;
                Err((files, text))
            }
        })
    }

    /// The files that would change between these commits, and that the user has changed or put there.
    pub fn in_the_way(&self, from: &str, to: &str) -> GitResult<Vec<String>> {
        self.vcs.files_in_the_way(from, to)
    }

    /// Keeps the branch from moving until it goes to `to`, or is released. `false` when it is not at `from`
    /// any more.
    pub fn hold(&self, from: &str, to: &str) -> GitResult<bool> {
        self.vcs.hold_branch(from, Some(to))
    }

    pub fn release(&self) {
        self.vcs.release();
    }

    /// The files in which a tree that came from `from` conflicts with what has landed by `tip`, and the places
    /// as git marks them. No ref and no file changes.
    pub fn conflicts(&self, from: &str, tree: &str, tip: &str) -> GitResult<Option<Conflict>> {
        let (before, there) = (self.tree(from)?, self.tree(tip)?);
        if before == there || before == tree {
            return Ok(None);
        }
        let work = self.vcs.commit_tree(tree, Some(from), "work\n", Author::Ralph)?;
        Ok(self.merged(from, &work, &there)?.err())
    }

    /// Moves the branch, and the user's files with it. `HeadMoved` when it is not where it was, or when a
    /// file changed a moment ago.
    pub fn advance(&self, from: &str, to: &str) -> GitResult<()> {
        // It must be the branch of the run.
        self.tip()?;
        let why = format!("ralph: {to} has landed");
        self.vcs.advance(Some(from), to, Files::Follow, &why)?.or_moved(Some(from))
    }
}

impl GitVcs {
    /// Moves the worktree and its branch to this commit. Uncommitted files there are lost: save them first.
    pub fn move_to(&self, commit: &str) -> GitResult<()> {
        if self.sandboxed.is_none() {
            return self.git(&["reset", "--quiet", "--hard", commit]).run().map(drop);
        }
        // Outside the branch and the index, and in a sandbox the files: those that are known now, and only they.
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        let id = self.git(&["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).line()?;
        let call = scratch.git(&["read-tree", "--reset", "-u", &id]);
        let places = [self.worktree(), scratch.folder()].map(Bind::writable);
        self.run_on(call, places.into())?;
        self.git(&["read-tree", "--reset", &id]).run()?;
        self.git(&["update-ref", "-m", "ralph: moved", "HEAD", &id]).run().map(drop)
    }

    /// Checks out a branch in the worktree. Uncommitted files there are lost: save them first.
    pub(crate) fn switch_to(&self, branch: &str) -> GitResult<()> {
        self.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]).run()?;
        self.move_to("HEAD")
    }

    /// Returns to a branch with the current commit, if that is based on it. No file changes.
    pub(crate) fn return_to_branch(&self, branch: &str) -> GitResult<()> {
        let at = self.position()?;
        if at.branch.as_deref() == Some(branch) {
            return Ok(());
        }
        let name = format!("refs/heads/{branch}");
        let other = || GitError::OtherBranch {
            expected: Some(branch.to_owned()),
            found: at.branch.clone(),
        };
        let (Some(head), Some(own)) = (&at.head, self.commit_parts(&name)?) else {
            return Err(other());
        };
        if !self.is_ancestor(&own.id, head)? {
            return Err(other());
        }
        self.git(&["update-ref", &name, head, &own.id]).run()?;
        self.git(&["symbolic-ref", "HEAD", &name]).run()?;
        self.warn(format!("ralph moved the commits on {} to {branch}", at.branch_words()));
        Ok(())
    }
}

/// How much of a conflict is kept, in bytes.
const CONFLICT_TEXT: usize = 6_000;

/// What several commits say, as the words of one.
fn in_one((subject, body): (&str, &str), all: &[String]) -> String {
    let reported: Vec<String> =
        all.iter().map(|text| format!("- {}", text.replace('\n', "\n  "))).collect();
    let reported = reported.join("\n").lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let parts = [subject, body, &reported];
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    format!("{}\n", parts.collect::<Vec<_>>().join("\n\n")).replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_commits_are_reported_in_one() {
        let text = in_one(("subject", "Task: x"), &["one\n\nwhy one".into(), "two".into()]);
        assert_eq!(text, "subject\n\nTask: x\n\n- one\n\n  why one\n- two\n");
    }
}
