//! Recreates commits with another tree or other parents and the same author.

use std::collections::HashMap;

use super::in_place::GitVcs;
use super::trees::CommitParts;
use crate::git::GitResult;

/// Commits, those that were recreated by their new ids.
pub(super) fn with_new(commits: &[String], new: &HashMap<String, String>) -> Vec<String> {
    commits.iter().map(|old| new.get(old).unwrap_or(old).clone()).collect()
}

impl GitVcs {
    /// A commit with the author and the dates of another one, and with its words unless it is to say
    /// something else. Its signature would not match: it is signed again where commits are signed here.
    pub(super) fn like(
        &self,
        commit: &CommitParts,
        tree: &str,
        parents: &[String],
        words: Option<&str>,
    ) -> GitResult<String> {
        let raw = &commit.raw;
        let end = raw.windows(2).position(|pair| pair == b"\n\n").unwrap_or(raw.len());
        let mut made = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            made.extend(format!("parent {parent}\n").into_bytes());
        }
        let mut skips = false;
        for line in raw[..end].split(|byte| *byte == b'\n') {
            let goes_on = line.first() == Some(&b' ');
            let dropped = [&b"tree "[..], b"parent ", b"gpgsig", b"mergetag "];
            skips = if goes_on { skips } else { dropped.iter().any(|word| line.starts_with(word)) };
            if !skips {
                made.extend_from_slice(line);
                made.push(b'\n');
            }
        }
        let own = raw.get(end + 2..).unwrap_or_default();
        let words = words.map_or(own, str::as_bytes);
        if self.signs() {
            return self.signed_like(&raw[..end], tree, parents, words);
        }
        made.push(b'\n');
        made.extend_from_slice(words);
        self.git(&["hash-object", "-t", "commit", "-w", "--stdin"]).input(&made).line()
    }

    /// The same, made by git itself: nothing else can sign.
    fn signed_like(
        &self,
        head: &[u8],
        tree: &str,
        parents: &[String],
        words: &[u8],
    ) -> GitResult<String> {
        let mut arguments = vec!["commit-tree", "-S", tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let mut call = self.git(&arguments).input(words);
        let head = String::from_utf8_lossy(head);
        for (who, variable) in [("author ", "AUTHOR"), ("committer ", "COMMITTER")] {
            let line = head.lines().find_map(|line| line.strip_prefix(who));
            let Some((name, rest)) = line.and_then(|line| line.split_once(" <")) else { continue };
            let Some((email, date)) = rest.split_once("> ") else { continue };
            for (key, value) in [("NAME", name), ("EMAIL", email), ("DATE", date)] {
                call = call.env(&format!("GIT_{variable}_{key}"), value);
            }
        }
        call.line()
    }
}
