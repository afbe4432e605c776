//! The files of a feature: `.ralph/features/<name>/spec.md` and `plan.md`. They are the user's text: ralph writes
//! the first version and never overwrites or removes one. While they are needed, the interview about the spec and
//! the proposed tasks are stored next to them.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::FeatureName;

use crate::project::{Project, write_atomically};
use crate::untrusted;
use crate::worktree_files;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    #[error("does not exist")]
    Missing,
    #[error("is not a file")]
    NotAFile,
    /// It cannot be read, or is not UTF-8.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is empty")]
    Blank,
    #[error("is still the template that ralph wrote")]
    Template,
}

/// The worktree that has this file of a feature: `.ralph/features/NAME/FILE` is below it.
pub(crate) fn root_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(path);
    let root = folder.ancestors().nth(3);
    root.filter(|root| folder.starts_with(root.join(".ralph/features"))).unwrap_or(folder)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureFiles {
    pub folder: PathBuf,
}

impl FeatureFiles {
    pub fn of(project: &Project, name: &FeatureName) -> Self {
        Self { folder: project.ralph_dir().join("features").join(name.as_str()) }
    }

    pub fn spec(&self) -> PathBuf {
        self.folder.join("spec.md")
    }

    pub fn plan(&self) -> PathBuf {
        self.folder.join("plan.md")
    }

    /// What was asked and answered before the spec was written.
    pub fn interview(&self) -> PathBuf {
        self.folder.join("interview.toml")
    }

    /// Tasks that were proposed and are not applied yet.
    pub fn proposed(&self) -> PathBuf {
        self.folder.join("proposed.jsonl")
    }

    pub fn spec_template(name: &FeatureName) -> String {
        format!(
            "# {name}\n\n## Goal\n\nWhat should be true when this is done, and for whom?\n\n\
             ## Behavior\n\n- \n\n## Out of scope\n\n- \n"
        )
    }

    pub fn plan_template(name: &FeatureName) -> String {
        format!(
            "# Plan: {name}\n\n## Approach\n\nHow will it be built, and in which order?\n\n\
             ## Tasks\n\n- [ ] \n"
        )
    }

    /// Writes the first version of each missing file. Returns the existing ones.
    pub fn create(&self, name: &FeatureName) -> io::Result<Vec<PathBuf>> {
        let mut kept = Vec::new();
        let (spec, plan) = (Self::spec_template(name), Self::plan_template(name));
        for (path, text) in [(self.spec(), spec), (self.plan(), plan)] {
            if path.exists() {
                kept.push(path);
            } else {
                write_atomically(&path, &text)?;
            }
        }
        Ok(kept)
    }

    /// Why a text does not count as written by a user; `None` when it does.
    pub fn fault(path: &Path, template: &str) -> Option<TextFault> {
        let is_odd = |found: &std::fs::Metadata| !found.is_file() && !found.is_symlink();
        if path.symlink_metadata().is_ok_and(|found| is_odd(&found)) {
            return Some(TextFault::NotAFile);
        }
        match Self::read(path) {
            Err(error) => Some(TextFault::Unreadable(error.to_string())),
            Ok(None) => Some(TextFault::Missing),
            Ok(Some(text)) if text.trim().is_empty() => Some(TextFault::Blank),
            Ok(Some(text)) if text.split_whitespace().eq(template.split_whitespace()) => {
                Some(TextFault::Template)
            }
            Ok(Some(_)) => None,
        }
    }

    /// The text of a file, or `None` when there is none.
    pub fn read(path: &Path) -> io::Result<Option<String>> {
        worktree_files::read_text(root_of(path), path, untrusted::DOCUMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_once_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spec.md");
        let name = FeatureName::new("login").unwrap();
        let template = FeatureFiles::spec_template(&name);
        let fault = || FeatureFiles::fault(&path, &template);
        assert_eq!(fault(), Some(TextFault::Missing));
        std::fs::create_dir(&path).unwrap();
        assert_eq!(fault(), Some(TextFault::NotAFile));
        std::fs::remove_dir(&path).unwrap();
        for (bytes, expected) in [
            (&b" \n\t\n"[..], Some(TextFault::Blank)),
            (b"\xff", Some(TextFault::Unreadable("it is not UTF-8 text".to_owned()))),
            (template.as_bytes(), Some(TextFault::Template)),
            (template.replace('\n', "\r\n").as_bytes(), Some(TextFault::Template)),
            (template.replace("What should", "Anybody can log in. What should").as_bytes(), None),
            (b"x", None),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(fault(), expected);
        }
    }
}
