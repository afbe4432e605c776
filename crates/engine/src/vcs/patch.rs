//! The difference between two trees, as a patch for users and models.

use super::in_place::GitVcs;
use crate::git::{Git, GitError, GitResult};

/// The most files in a patch; a longer one is of no use to a reader.
const FILES: usize = 200;

impl GitVcs {
    pub(super) fn patch_between(&self, from: &str, to: &str, most: usize) -> GitResult<String> {
        let changed = self.diff(from, to)?;
        let paths: Vec<&str> =
            changed.iter().filter_map(|change| std::str::from_utf8(&change.path).ok()).collect();
        if paths.is_empty() {
            return Ok(String::new());
        }
        // Larger files are shown as binary: one huge file must not hide the rest. No program of the repository
        // is started for it.
        let mut arguments = vec![
            "-c",
            "core.bigFileThreshold=128k",
            "--literal-pathspecs",
            "diff-tree",
            "-r",
            "-p",
            "-M",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            from,
            to,
            "--",
        ];
        arguments.extend(paths.iter().take(FILES));
        let printed = self.git(&arguments).run()?;
        let text = String::from_utf8_lossy(&printed);
        if text.len() <= most {
            return Ok(text.into_owned());
        }
        let cut = &text[..text.floor_char_boundary(most)];
        Ok(cut.rfind('\n').map_or(cut, |end| &cut[..=end]).to_owned())
    }
}

/// How two texts differ, as a patch without its header. No file of a repository is read, and no program of one started.
pub fn text_patch(before: &str, after: &str) -> GitResult<String> {
    let folder = tempfile::tempdir().map_err(GitError::NotStarted)?;
    for (name, text) in [("before", before), ("after", after)] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(|source| GitError::File { path, source })?;
    }
    let arguments = [
        "diff",
        "--no-index",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--text",
        "--",
        "before",
        "after",
    ];
    let (_, printed) = Git::plumbing(folder.path(), &arguments).yes_or_no()?;
    let text = String::from_utf8_lossy(&printed);
    let start = text.find("\n@@").map_or(text.len(), |at| at + 1);
    Ok(text[start..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_of_texts_has_their_lines_and_no_header() {
        let patch = text_patch("a\nb\nc\n", "a\nx\nc\n").unwrap();
        assert_eq!(patch, "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
        assert_eq!(text_patch("same\n", "same\n").unwrap(), "");
        assert!(text_patch("", "new\n").unwrap().contains("+new"));
    }
}
