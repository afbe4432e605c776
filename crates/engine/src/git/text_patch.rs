//! The difference between two texts, as git shows it.

use super::{Git, GitError, GitResult};

/// How two texts differ, as a patch without its header. No file of a repository is read, and no program of one started.
pub fn text_patch(before: &str, after: &str) -> GitResult<String> {
    let folder = tempfile::tempdir().map_err(GitError::NotStarted)?;
    for (name, text) in [("before", before), ("after", after)] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(|source| GitError::File { path, source })?;
    }
    let mut arguments = vec!["diff", "--no-index", "--no-color", "--no-ext-diff"];
    arguments.extend(["--no-textconv", "--text", "--", "before", "after"]);
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
