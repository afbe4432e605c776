//! The files of a feature: `.ralph/features/<name>/spec.md` and `plan.md`. They are the user's text;
//! ralph makes the first version and never overwrites or removes one.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::FeatureName;

use crate::project::{Project, write_atomically};

/// Where the files of a feature lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureFiles {
    /// The folder.
    pub folder: PathBuf,
}

impl FeatureFiles {
    /// The files of the feature `name`.
    pub fn of(project: &Project, name: &FeatureName) -> Self {
        Self { folder: project.ralph_dir().join("features").join(name.as_str()) }
    }

    /// What is to be built.
    pub fn spec(&self) -> PathBuf {
        self.folder.join("spec.md")
    }

    /// How it is to be built.
    pub fn plan(&self) -> PathBuf {
        self.folder.join("plan.md")
    }

    /// Writes the first version of each file that is not there. Says which were.
    pub fn create(&self, name: &FeatureName) -> io::Result<Vec<PathBuf>> {
        let spec = format!(
            "# {name}\n\n## Goal\n\nWhat should be true when this is done, and for whom?\n\n\
             ## Behaviour\n\n- \n\n## Out of scope\n\n- \n"
        );
        let plan = format!(
            "# Plan: {name}\n\n## Approach\n\nHow will it be built, and in which order?\n\n\
             ## Tasks\n\n- [ ] \n"
        );
        let mut kept = Vec::new();
        for (path, text) in [(self.spec(), spec), (self.plan(), plan)] {
            if path.exists() {
                kept.push(path);
            } else {
                write_atomically(&path, &text)?;
            }
        }
        Ok(kept)
    }

    /// The text of a file, or `None` when there is none.
    pub fn read(path: &Path) -> io::Result<Option<String>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
