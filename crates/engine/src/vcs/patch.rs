//! How two trees differ, as a patch that people and models read.

use super::git::GitError;
use super::in_place::GitVcs;

/// So many files are looked into; a patch of more is of no use to a reader.
const FILES: usize = 200;

impl GitVcs {
    pub(super) fn patch_between(
        &self,
        from: &str,
        to: &str,
        most: usize,
    ) -> Result<String, GitError> {
        let changed = self.diff(from, to)?;
        let paths: Vec<&str> =
            changed.iter().filter_map(|change| std::str::from_utf8(&change.path).ok()).collect();
        if paths.is_empty() {
            return Ok(String::new());
        }
        // What is larger is told as binary: one great file must not be all that is seen. No program of
        // the repository is started for it.
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
