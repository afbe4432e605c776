//! The files that go into a prompt: spec and plan of a feature, and the skills.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::FeatureName;
use ralph_core::attempt::context::{Document, Skill};
use ralph_core::attempt::skill;
use ralph_core::task::Refusal;

use crate::features::FeatureFiles;
use crate::ports::{Scope, Store, StoreError};
use crate::project::Project;
use crate::untrusted;
use crate::worktree_files;

/// The part of a `SKILL.md` that is looked at: its front matter is at the start.
const MAX_FRONT: u64 = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The spec and the plan of the feature that a run is about: read once, at its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureTexts {
    pub feature: Option<FeatureName>,
    pub spec: Option<Document>,
    pub plan: Option<Document>,
}

impl FeatureTexts {
    /// Reads the files of the feature named by `scope`, or of the feature that its task belongs to;
    /// nothing if there is none.
    pub fn read(
        project: &Project,
        store: &mut dyn Store,
        scope: &Scope,
    ) -> Result<Self, ContextError> {
        let feature = match scope {
            Scope::All | Scope::Plan(_) => None,
            Scope::Feature(name) if store.features()?.iter().any(|known| known.name == *name) => {
                Some(name.clone())
            }
            Scope::Feature(name) => {
                let refusal = Refusal::UnknownFeature { name: name.clone() };
                return Err(StoreError::from(refusal).into());
            }
            Scope::Task(id) => store.get(id)?.feature,
        };
        let Some(name) = feature else {
            return Ok(Self::default());
        };
        let files = FeatureFiles::of(project, &name);
        let spec = document(project, &files.spec())?;
        let plan = document(project, &files.plan())?;
        Ok(Self { feature: Some(name), spec, plan })
    }
}

fn document(project: &Project, path: &Path) -> Result<Option<Document>, ContextError> {
    let read = untrusted::if_there(worktree_files::read(&project.root, path, untrusted::DOCUMENT))
        .map_err(|source| ContextError::Unreadable { path: path.to_owned(), source })?;
    let Some(bytes) = read else { return Ok(None) };
    let shown = path.strip_prefix(&project.root).unwrap_or(path);
    Ok(Some(Document {
        path: shown.display().to_string(),
        // A spec in another encoding is mostly readable, and better than none.
        text: Arc::from(String::from_utf8_lossy(&bytes)),
    }))
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skills {
    pub found: Vec<Skill>,
    pub warnings: Vec<SkillWarning>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ralph skips the skill {}: {reason}", path.display())]
pub struct SkillWarning {
    pub path: PathBuf,
    pub reason: String,
}

impl Skills {
    /// Where the skills of a project are: in the working tree that sessions see, and in the main one.
    pub fn folders(project: &Project) -> Vec<PathBuf> {
        let mut folders = vec![project.worktree.join(".ralph/skills")];
        let main = project.ralph_dir().join("skills");
        if !folders.contains(&main) {
            folders.push(main);
        }
        folders
    }

    /// Looks into each of `folders`. A folder in one without a `SKILL.md` is not a skill; of two skills
    /// with one name the first counts.
    pub fn discover(folders: &[PathBuf]) -> Self {
        let mut skills = Self::default();
        for folder in folders {
            skills.search_in(folder);
        }
        skills.found.sort_by(|a, b| a.name.cmp(&b.name));
        skills.found.dedup_by(|later, first| later.name == first.name);
        skills
    }

    fn search_in(&mut self, folder: &Path) {
        let entries = untrusted::if_there(std::fs::read_dir(folder)).unwrap_or_else(|error| {
            self.pass_over(folder.to_owned(), error.to_string());
            None
        });
        let entries = entries.into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        // The folder is `.ralph/skills` of a worktree.
        let root = folder.ancestors().nth(2).unwrap_or(folder);
        for folder in folders {
            let path = folder.join("SKILL.md");
            match worktree_files::read_start(root, &path, MAX_FRONT) {
                Ok(bytes) => match skill::description(&String::from_utf8_lossy(&bytes)) {
                    Some(description) => self.found.push(Skill {
                        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                        description,
                    }),
                    None => {
                        self.pass_over(path, "its front matter has no description".to_owned());
                    }
                },
                Err(error) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                    _ => self.pass_over(path, error.to_string()),
                },
            }
        }
    }

    fn pass_over(&mut self, path: PathBuf, reason: String) {
        self.warnings.push(SkillWarning { path, reason });
    }
}
