//! Parses git's output about paths: the entries of trees, and how they differ. Paths are bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ralph_core::records::FileChange;

use super::spelling::spelled;
use crate::ports::{GitError, GitResult};

/// A path as git has it: relative to the top of the worktree, with slashes, any bytes but NUL.
pub(crate) type RepoPath = Vec<u8>;

/// The path as the system has it.
pub(crate) fn os_path(path: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(path)).to_owned()
}

/// What a tree holds at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    mode: String,
    id: String,
}

impl Entry {
    pub(crate) fn new(mode: &str, id: &str) -> Self {
        Self { mode: mode.to_owned(), id: id.to_owned() }
    }

    /// Another repository: a submodule, or a clone inside the worktree. Its content is not ours to
    /// write or to remove.
    pub(crate) fn is_repository(&self) -> bool {
        self.mode == "160000"
    }

    /// The object with its content, of a file or a symbolic link.
    pub(crate) fn as_blob(&self) -> Option<&str> {
        (self.mode.starts_with("100") || self.mode == "120000").then_some(&self.id)
    }

    /// The object that says where it leads, of a symbolic link.
    pub(crate) fn as_link(&self) -> Option<&str> {
        (self.mode == "120000").then_some(&self.id)
    }
}

/// How two trees differ at a path; `None` is absence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: RepoPath,
    pub(crate) from: Option<Entry>,
    pub(crate) to: Option<Entry>,
}

impl Change {
    /// Whether another repository is there, before or after it.
    pub(crate) fn touches_repository(&self) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(Entry::is_repository)
    }
}

/// The options of every comparison: all files, whole ids, no guessing of renames.
pub(crate) const RAW: [&str; 5] = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev"];

/// Reads the output of `diff-tree` or `diff-index` with [`RAW`].
pub(crate) fn parse_changes(verb: &str, printed: &[u8]) -> GitResult<Vec<Change>> {
    let odd = |field: &[u8]| GitError::Odd {
        verb: verb.to_owned(),
        answer: String::from_utf8_lossy(field).into_owned(),
    };
    let mut changes = Vec::new();
    let mut fields = printed.split(|byte| *byte == 0);
    while let Some(about) = fields.next().filter(|field| !field.is_empty()) {
        let path = fields.next().ok_or_else(|| odd(about))?.to_vec();
        let text = std::str::from_utf8(about).map_err(|_| odd(about))?;
        let words: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
        let [from_mode, to_mode, from, to, _status] = words[..] else {
            return Err(odd(about));
        };
        let entry = |mode, id| (mode != "000000").then(|| Entry::new(mode, id));
        changes.push(Change { path, from: entry(from_mode, from), to: entry(to_mode, to) });
    }
    Ok(changes)
}

/// The options of a comparison that counts lines, too. No program of the repository's choice is run for it.
pub(crate) const COUNTED: [&str; 3] = ["--numstat", "--no-ext-diff", "--no-textconv"];

/// Reads the output of `diff-tree` with [`RAW`] and [`COUNTED`].
pub(crate) fn parse_counted(
    verb: &str,
    printed: &[u8],
) -> GitResult<(Vec<Change>, Vec<FileChange>)> {
    // The changes come first: each a record with a colon, and its path.
    let mut end = 0;
    while printed.get(end) == Some(&b':') {
        let ends = printed[end..].iter().enumerate().filter(|(_, byte)| **byte == 0);
        end += ends.map(|(at, _)| at + 1).nth(1).unwrap_or(printed.len() - end);
    }
    let (changes, counts) = printed.split_at(end);
    Ok((parse_changes(verb, changes)?, parse_counts(verb, counts)?))
}

/// How many lines of each file came and went. What is not text has no lines.
fn parse_counts(verb: &str, printed: &[u8]) -> GitResult<Vec<FileChange>> {
    let mut changes = Vec::new();
    for record in printed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let change = record.splitn(3, |byte| *byte == b'\t').collect::<Vec<_>>();
        let [added, removed, path] = change[..] else {
            let answer = String::from_utf8_lossy(record).into_owned();
            return Err(GitError::Odd { verb: verb.to_owned(), answer });
        };
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
        let (added, removed) = (number(added), number(removed));
        changes.push(FileChange { path: spelled(path), added, removed });
    }
    Ok(changes)
}

/// The input of `update-index -z --index-info` that makes these paths hold these entries. Removals
/// come first: a file may stand where a folder was, and the other way round. `like` is any id of the
/// repository, for the length of the others.
pub(crate) fn index_info<'a>(
    like: &str,
    wanted: impl Iterator<Item = (&'a RepoPath, Option<&'a Entry>)> + Clone,
) -> Vec<u8> {
    let absent = Entry::new("0", &zeros(like));
    let removals = wanted.clone().filter(|(_, entry)| entry.is_none());
    let mut lines = Vec::new();
    for (path, entry) in removals.chain(wanted.filter(|(_, entry)| entry.is_some())) {
        let Entry { mode, id } = entry.unwrap_or(&absent);
        lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
        lines.extend_from_slice(path);
        lines.push(0);
    }
    lines
}

/// The id of nothing, as long as `like`.
pub(crate) fn zeros(like: &str) -> String {
    "0".repeat(like.len())
}

/// Every folder that a path is in, the innermost first.
pub(crate) fn folders_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    ends.map(|(end, _)| &path[..end])
}

/// Whether a link leads out of the folder that its path begins in, or would from a copy of it.
pub(crate) fn leads_out(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_within_are_distinguished_from_links_out() {
        for (link, target, out) in [
            ("a", "b", false),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("a", "/etc/passwd", true),
            ("a", "d/../../b", true),
            ("d/a", "./x/../../b", false),
        ] {
            assert_eq!(leads_out(Path::new(link), Path::new(target)), out, "{link} -> {target}");
        }
    }
}
