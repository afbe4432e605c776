//! Trees and commits in the object database: read, compared, put together. No ref, index or file changes.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use ralph_core::records::FileChange;
use ralph_core::run::WorkPlace;

use super::in_place::GitVcs;
use crate::git::entries::{
    COUNTED, Change, Entry, RAW, RepoPath, leads_out, os_path, parse_changes, parse_counted,
};
use crate::git::position::object_id;
use crate::git::scratch::Scratch;
use crate::git::spelling::{spelled, unspelled};
use crate::git::{GitError, GitResult, is_ancestor};
use crate::ports::{Forbidden, Trees};
use crate::sync::lock;

/// The most commits of one session that are reported.
const COUNTED_COMMITS: &str = "--max-count=1000";
/// The most files in a patch; a longer one is of no use to a reader.
const FILES: usize = 200;

pub(crate) struct CommitParts {
    pub(crate) id: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    /// All of it, as git stores it.
    pub(super) raw: Vec<u8>,
}

impl CommitParts {
    fn parse(id: &str, raw: &[u8]) -> Self {
        let (mut tree, mut parents) = (String::new(), Vec::new());
        for line in String::from_utf8_lossy(raw).lines().take_while(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some(("tree", id)) => id.clone_into(&mut tree),
                Some(("parent", id)) => parents.push(id.to_owned()),
                _ => {}
            }
        }
        Self { id: id.to_owned(), tree, parents, raw: raw.to_vec() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    Ralph,
}

impl GitVcs {
    /// The tree of a commit; the empty tree for none.
    pub(crate) fn tree_of(&self, commit: Option<&str>) -> GitResult<String> {
        let name = commit.unwrap_or_default();
        if let Some(tree) = lock(&self.trees).get(name) {
            return Ok(tree.clone());
        }
        let tree = match commit {
            Some(id) => self.git(&["rev-parse", "--verify", &format!("{id}^{{tree}}")]).line()?,
            None => self.git(&["mktree"]).line()?,
        };
        self.remember_tree(name, &tree);
        Ok(tree)
    }

    pub(crate) fn remember_tree(&self, commit: &str, tree: &str) {
        lock(&self.trees).insert(commit.to_owned(), tree.to_owned());
    }

    /// The tree that a commit is compared with: that of its first parent.
    pub(crate) fn tree_before(&self, commit: &CommitParts) -> GitResult<String> {
        self.tree_of(commit.parents.first().map(String::as_str))
    }

    /// What a ref or an id leads to, if it leads to a commit.
    pub(crate) fn commit_parts(&self, name: &str) -> GitResult<Option<CommitParts>> {
        let asked = format!("{name}\n");
        let answer = self.git(&["cat-file", "--batch"]).input(asked.as_bytes()).run()?;
        match next_object(&answer) {
            Some((about, raw, _)) => {
                let id = about.split_once(' ').filter(|(_, kind)| kind.starts_with("commit "));
                Ok(id.map(|(id, _)| CommitParts::parse(id, raw)))
            }
            None if answer.contains(&b' ') => Ok(None),
            None => Err(odd("cat-file", &String::from_utf8_lossy(&answer))),
        }
    }

    /// The same of a commit that must be there.
    pub(crate) fn known_commit(&self, name: &str) -> GitResult<CommitParts> {
        self.commit_parts(name)?.ok_or_else(|| odd("cat-file", name))
    }

    pub(crate) fn is_ancestor(&self, older: &str, newer: &str) -> GitResult<bool> {
        is_ancestor(self.worktree(), older, newer)
    }

    /// Makes a commit; no ref leads to it.
    pub(crate) fn commit_tree(
        &self,
        tree: &str,
        parents: impl IntoIterator<Item = impl AsRef<OsStr>>,
        message: &str,
        author: Author,
    ) -> GitResult<String> {
        let mut call = self.git(&["commit-tree", tree]).input(message.as_bytes());
        if author == Author::User && self.signs() {
            // The plumbing asks for no setting by itself.
            call = call.arg("-S");
        }
        for parent in parents {
            call = call.arg("-p").arg(parent);
        }
        if author == Author::Ralph { call.as_ralph().line() } else { call.line() }
    }

    pub(super) fn diff(&self, from: &str, to: &str) -> GitResult<Vec<Change>> {
        if let Some((known, changes)) = &*lock(&self.last_diff)
            && *known == [from, to]
        {
            return Ok(changes.clone());
        }
        let mut arguments = vec!["diff-tree"];
        arguments.extend(RAW);
        arguments.extend([from, to, "--"]);
        let changes = parse_changes("diff-tree", &self.git(&arguments).run()?)?;
        self.remember_diff(from, to, &changes);
        Ok(changes)
    }

    /// The work of a session is compared several times in a row.
    fn remember_diff(&self, from: &str, to: &str, changes: &[Change]) {
        if object_id(from).is_some() && object_id(to).is_some() {
            *lock(&self.last_diff) = Some(([from, to].map(str::to_owned), changes.to_vec()));
        }
    }

    /// A tree like another, but for these paths; the same one where there are none.
    pub(crate) fn with_entries<'e>(
        &self,
        tree: &str,
        wanted: impl Iterator<Item = (&'e RepoPath, Option<&'e Entry>)> + Clone,
    ) -> GitResult<String> {
        if wanted.clone().next().is_none() {
            return Ok(tree.to_owned());
        }
        let scratch = Scratch::empty(self.worktree())?;
        scratch.git(&["read-tree", tree]).run()?;
        scratch.set(tree, wanted)?;
        scratch.write_tree()
    }

    /// What a tree or a commit has at a path.
    pub(super) fn entry_at(&self, tree: &str, path: &[u8]) -> GitResult<Option<Entry>> {
        let asked = self.git(&["ls-tree", "-z", "--full-tree", tree, "--"]).arg(os_path(path));
        let printed = asked.env("GIT_LITERAL_PATHSPECS", "1").run()?;
        let text = String::from_utf8_lossy(&printed);
        match text.split(['\t', ' ', '\0']).take(3).collect::<Vec<_>>()[..] {
            [mode, _kind, id] => Ok(Some(Entry::new(mode, id))),
            _ => Ok(None),
        }
    }

    /// Merges two commits: the tree, and the files that conflict in it, if any do.
    pub(crate) fn merge_trees(
        &self,
        ours: &str,
        theirs: &str,
    ) -> GitResult<(String, Option<Vec<String>>)> {
        let merge =
            ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", ours, theirs];
        let (clean, printed) = self.git(&merge).yes_or_no()?;
        let mut parts = printed.split(|byte| *byte == 0);
        let tree = String::from_utf8_lossy(parts.next().unwrap_or_default()).trim().to_owned();
        let mut files: Vec<String> = parts.filter(|name| !name.is_empty()).map(spelled).collect();
        files.dedup();
        Ok((tree, (!clean).then_some(files)))
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

    /// The paths of the submodules that `.gitmodules` of a tree names.
    fn declared_submodules(&self, tree: &str) -> GitResult<BTreeSet<Vec<u8>>> {
        if self.file(tree, ".gitmodules")?.is_none() {
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

impl Trees for GitVcs {
    fn changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>> {
        let changes = self.diff(from_tree, to_tree)?;
        Ok(changes.iter().map(|change| spelled(&change.path)).collect())
    }

    fn counted_changes(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<FileChange>> {
        let mut arguments = vec!["diff-tree"];
        arguments.extend(RAW.into_iter().chain(COUNTED));
        arguments.extend([from_tree, to_tree, "--"]);
        let (changes, counted) = parse_counted("diff-tree", &self.git(&arguments).run()?)?;
        self.remember_diff(from_tree, to_tree, &changes);
        Ok(counted)
    }

    fn patch(&self, from_tree: &str, to_tree: &str, most: usize) -> GitResult<String> {
        let changed = self.diff(from_tree, to_tree)?;
        let paths: Vec<&str> =
            changed.iter().filter_map(|change| std::str::from_utf8(&change.path).ok()).collect();
        if paths.is_empty() {
            return Ok(String::new());
        }
        // Larger files are shown as binary: one huge file must not hide the rest. No program of the repository
        // is started for it.
        let mut arguments = vec!["-c", "core.bigFileThreshold=128k", "--literal-pathspecs"];
        arguments.extend(["diff-tree", "-r", "-p", "-M", "--no-color"]);
        arguments.extend(["--no-ext-diff", "--no-textconv", from_tree, to_tree, "--"]);
        arguments.extend(paths.iter().take(FILES));
        let printed = self.git(&arguments).run()?;
        let text = String::from_utf8_lossy(&printed);
        if text.len() <= most {
            return Ok(text.into_owned());
        }
        let cut = &text[..text.floor_char_boundary(most)];
        Ok(cut.rfind('\n').map_or(cut, |end| &cut[..=end]).to_owned())
    }

    fn file(&self, tree: &str, path: &str) -> GitResult<Option<Vec<u8>>> {
        match self.entry_at(tree, &unspelled(path))?.as_ref().and_then(Entry::as_blob) {
            Some(id) => self.git(&["cat-file", "blob", id]).run().map(Some),
            None => Ok(None),
        }
    }

    fn files(&self, tree: &str) -> GitResult<Vec<String>> {
        let listed = self.git(&["ls-tree", "-r", "-z", "--name-only", tree]).run()?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    fn with_paths(&self, tree: &str, from: &str, paths: &[String]) -> GitResult<String> {
        if paths.is_empty() {
            return Ok(tree.to_owned());
        }
        let mut changes = self.diff(tree, from)?;
        changes.retain(|change| paths.iter().any(|path| path.as_bytes() == change.path));
        self.with_entries(tree, changes.iter().map(|change| (&change.path, change.to.as_ref())))
    }

    fn carried(&self, tree: &str, from: Option<&str>, to: Option<&str>) -> GitResult<String> {
        // Sessions that have ended rewrite no history.
        let rewritten = match (from, to) {
            (Some(from), Some(to)) => !self.is_ancestor(from, to)?,
            _ => true,
        };
        let (from, to) = (self.tree_of(from)?, self.tree_of(to)?);
        if tree == from || rewritten {
            return Ok(to);
        }
        let changes = self.diff(&from, &to)?;
        self.with_entries(tree, changes.iter().map(|change| (&change.path, change.to.as_ref())))
    }

    /// What the trees say counts, not what is in the worktree: a checkout has what is committed.
    fn links_out(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<String>> {
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
            let object = next_object(rest).ok_or_else(|| odd("cat-file", "no target of a link"))?;
            let (_, target, after) = object;
            rest = after;
            if leads_out(&os_path(path), &os_path(target)) {
                found.push(spelled(path));
            }
        }
        Ok(found)
    }

    /// Git records only the commit of a repository inside the worktree, and asking for its status runs the
    /// programs that it names, outside of any sandbox. A submodule that the first tree declares is fine.
    fn forbidden(&self, from_tree: &str, to_tree: &str) -> GitResult<Vec<Forbidden>> {
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

    fn listed_commits(&self, from: Option<&str>, to: &str) -> GitResult<Vec<(String, String)>> {
        let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
        let log = ["log", "--reverse", "--first-parent", COUNTED_COMMITS, "--format=%H %s", &range];
        self.git(&log).arg("--").pairs()
    }

    /// A commit whose changes are all in what is checked out counts as being there: it was squashed or picked.
    fn work_place(&self, commit: &str) -> GitResult<WorkPlace> {
        let Some(head) = self.position()?.head else { return Ok(WorkPlace::Unknown) };
        if self.commit_parts(commit)?.is_none() {
            return Ok(WorkPlace::Unknown);
        }
        if self.is_ancestor(commit, &head)? {
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
}

/// The first object of what `cat-file --batch` printed: the line about it, its content, and the rest.
fn next_object(printed: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = printed.iter().position(|byte| *byte == b'\n')?;
    let about = std::str::from_utf8(&printed[..end]).ok()?;
    let size: usize = about.rsplit(' ').next()?.parse().ok()?;
    let object = printed.get(end + 1..end + 1 + size)?;
    Some((about, object, printed.get(end + 2 + size..)?))
}

fn odd(verb: &str, answer: &str) -> GitError {
    GitError::Odd { verb: verb.to_owned(), answer: answer.to_owned() }
}
