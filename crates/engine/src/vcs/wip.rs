//! Unfinished work: saved under `refs/ralph/wip/<task>/<attempt>`, and the list of what is saved.
//!
//! The first parent of a save is the commit that the session started from, so the difference between
//! the two is the work. Other parents are what was saved under the same name before, and what sessions
//! committed in a git directory of their own.

use std::collections::HashMap;
use std::path::PathBuf;

use ralph_core::{TaskId, Timestamp};

use super::in_place::GitVcs;
use super::trees::Author;
use crate::clock;
use crate::git::GitResult;
use crate::git::entries::os_path;
use crate::ports::{Saved, SessionCommits, Vcs};
use crate::project::Project;

const WIP: &str = "refs/ralph/wip/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wip {
    pub task: TaskId,
    pub attempt: u32,
    pub saved: Saved,
    pub at: Timestamp,
    pub subject: String,
    pub files: Vec<PathBuf>,
}

/// The ref of an attempt. A task id may hold letters that a ref cannot, and slashes that would make
/// one ref the folder of another: every byte but letters, digits and `-` is written `=HH`.
pub fn ref_name(task: &TaskId, attempt: u32) -> String {
    let mut name = String::from(WIP);
    for byte in task.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("={byte:02X}"));
        }
    }
    name.push_str(&format!("/{attempt}"));
    name
}

/// Reads a line as those of saved work.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn fuzz(line: &str) {
    let _ = (parse_ref(line), parse_save(line));
}

/// The task and the attempt of a ref; `None` when ralph did not name it.
pub(crate) fn parse_ref(name: &str) -> Option<(TaskId, u32)> {
    let (escaped, attempt) = name.strip_prefix(WIP)?.split_once('/')?;
    let mut parts = escaped.split('=');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        text.push(char::from(code));
        text.push_str(&part[2..]);
    }
    Some((TaskId::new(text).ok()?, attempt.parse().ok()?))
}

fn saved_words(task: &TaskId, attempt: u32) -> String {
    format!(
        "ralph: unfinished work on {task}, attempt {attempt}\n\nSaved at {}. \
         To restore it: ralph recover {task} --attempt {attempt}\n",
        clock::now()
    )
}

impl GitVcs {
    /// The tree of the commit that is checked out, and the tree of everything in the worktree: their difference is
    /// the uncommitted work.
    pub fn uncommitted(&self) -> GitResult<(String, String)> {
        let candidate = self.candidate(&self.here()?)?;
        Ok((candidate.head_tree, candidate.tree))
    }

    /// Saves all that a worktree has beyond a commit: what was committed there since, and what was not.
    /// `None` when it has nothing.
    pub fn save_since(&self, from: &str, task: &TaskId, attempt: u32) -> GitResult<Option<Saved>> {
        self.import_commits()?;
        let Some(from) = self.commit_parts(from)? else { return Ok(None) };
        let candidate = self.candidate(&self.here()?)?;
        if candidate.tree == from.tree {
            return Ok(None);
        }
        // The commits themselves stay reachable, too.
        let commits = candidate.head.filter(|head| *head != from.id).into_iter().collect();
        self.save_tree(&candidate.tree, Some(&from.id), commits, task, attempt).map(Some)
    }

    /// Saves a tree under the name of an attempt, unless that holds the same. The commits of `reachable` stay
    /// reachable with it, and so does what the name held before.
    pub(super) fn save_tree(
        &self,
        tree: &str,
        since: Option<&str>,
        reachable: Vec<String>,
        task: &TaskId,
        attempt: u32,
    ) -> GitResult<Saved> {
        let mut parents: Vec<String> = since.map(str::to_owned).into_iter().collect();
        let name = ref_name(task, attempt);
        if let Some(before) = self.commit_parts(&name)? {
            let from = self.tree_of(since)?;
            let is_kept = reachable.iter().all(|commit| before.parents.contains(commit));
            if before.tree == tree && self.tree_before(&before)? == from && is_kept {
                return Ok(Saved { name, commit: before.id });
            }
            if parents.is_empty() {
                // The first parent is what the work is compared with: here, nothing.
                let nothing = "ralph: before the first commit\n";
                parents.push(self.commit_tree(&from, None::<&str>, nothing, Author::Ralph)?);
            }
            parents.push(before.id);
        }
        parents.extend(reachable);
        let words = saved_words(task, attempt);
        let commit = self.commit_tree(tree, &parents, &words, Author::Ralph)?;
        self.git(&["update-ref", &name, &commit]).run()?;
        Ok(Saved { name, commit })
    }

    /// Everything that is saved, without the files that each changes.
    pub(super) fn listed_saves(&self) -> GitResult<Vec<Wip>> {
        let format = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)";
        let lines = self.git(&["for-each-ref", format, WIP]).lines()?;
        Ok(lines.iter().filter_map(|line| parse_save(line)).collect())
    }

    /// The last attempt of a task that is saved, without its files.
    pub(crate) fn last_save(&self, task: &TaskId) -> GitResult<Option<Wip>> {
        let saves = self.listed_saves()?.into_iter().filter(|save| save.task == *task);
        Ok(saves.max_by_key(|save| save.attempt))
    }

    /// Everything that is saved, the newest first.
    pub(super) fn saves(&self) -> GitResult<Vec<Wip>> {
        let mut saves = self.listed_saves()?;
        let mut files = self.files_of(&saves)?;
        for save in &mut saves {
            save.files = files.remove(&save.saved.commit).unwrap_or_default();
        }
        saves.sort_by(|a, b| {
            b.at.cmp(&a.at).then_with(|| a.task.cmp(&b.task)).then(b.attempt.cmp(&a.attempt))
        });
        Ok(saves)
    }

    /// What each save changes, by one process for all of them.
    fn files_of(&self, saves: &[Wip]) -> GitResult<HashMap<String, Vec<PathBuf>>> {
        let mut files: HashMap<String, Vec<PathBuf>> =
            saves.iter().map(|save| (save.saved.commit.clone(), Vec::new())).collect();
        let asked: String = saves.iter().map(|save| format!("{}\n", save.saved.commit)).collect();
        if asked.is_empty() {
            return Ok(files);
        }
        let mut arguments = vec!["diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames"];
        arguments.extend(["--root", "--diff-merges=first-parent"]);
        let printed = self.git(&arguments).input(asked.as_bytes()).run()?;
        let mut current = String::new();
        for field in printed.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
            match std::str::from_utf8(field) {
                Ok(id) if files.contains_key(id) => id.clone_into(&mut current),
                _ => files.entry(current.clone()).or_default().push(os_path(field)),
            }
        }
        Ok(files)
    }
}

fn parse_save(line: &str) -> Option<Wip> {
    let fields: Vec<&str> = line.split('\0').collect();
    let [name, commit, seconds, subject] = fields[..] else {
        return None;
    };
    let (task, attempt) = parse_ref(name)?;
    let at = Timestamp::from_millis(seconds.parse::<i64>().ok()?.saturating_mul(1000));
    let saved = Saved { name: name.to_owned(), commit: commit.to_owned() };
    Some(Wip { task, attempt, saved, at, subject: subject.to_owned(), files: Vec::new() })
}

/// Everything that is saved in this repository, the newest first. Refs that ralph did not name are
/// skipped.
pub fn list_wip(project: &Project) -> GitResult<Vec<Wip>> {
    GitVcs::new(project.clone())?.saves()
}

/// The tasks with saved work in this repository, the newest first, each with the first line of its newest save.
pub fn saved_tasks(project: &Project) -> GitResult<Vec<(TaskId, String)>> {
    let mut saves = GitVcs::new(project.clone())?.listed_saves()?;
    saves.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.attempt.cmp(&a.attempt)));
    let mut tasks: Vec<(TaskId, String)> = Vec::new();
    for save in saves {
        if tasks.iter().all(|(task, _)| *task != save.task) {
            tasks.push((save.task, save.subject));
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_leads_back_to_its_task() {
        for text in ["t-abcd2345", "task-cli/01", "a.b_c:d#e@f+g=h~i", "US-001", "x.lock"] {
            let task = TaskId::new(text).unwrap();
            let name = ref_name(&task, 7);
            let rest = name.strip_prefix(WIP).unwrap();
            assert_eq!(rest.matches('/').count(), 1, "{name}");
            assert!(!name.contains(['.', '~', ':', '@']), "{name}");
            assert_eq!(parse_ref(&name), Some((task, 7)));
        }
        for name in
            ["refs/ralph/wip/x", "refs/ralph/wip/=4/1", "refs/heads/main", "refs/ralph/wip//1"]
        {
            assert_eq!(parse_ref(name), None, "{name}");
        }
    }
}
