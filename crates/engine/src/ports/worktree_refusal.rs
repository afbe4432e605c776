//! Why ralph does not create or remove a worktree, and what to type.

use std::path::{Path, PathBuf};

/// What is in the way. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeRefusal {
    /// A worktree that ralph did not create is there.
    #[error("{} is a worktree that ralph did not create", path.display())]
    Persons {
        /// The worktree.
        path: PathBuf,
    },
    /// The folder has files that ralph did not put there.
    #[error("{} has files that ralph did not put there, such as {}", path.display(), file.display())]
    FolderTaken {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        file: PathBuf,
    },
    /// The folder would be in another worktree.
    #[error("{} would be inside the worktree {}", path.display(), outer.display())]
    Inside {
        /// The folder.
        path: PathBuf,
        /// The other worktree.
        outer: PathBuf,
    },
    /// A link leads the folder elsewhere.
    #[error("{} is a link; ralph creates worktrees only in real folders", path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// The branch is checked out somewhere else.
    #[error("branch {branch} is checked out in {}", path.display())]
    Elsewhere {
        /// The branch.
        branch: String,
        /// The path of its worktree.
        path: PathBuf,
    },
    /// The worktree was switched to another branch.
    #[error("{} was created for branch {branch}, but is on {found} now", path.display())]
    Switched {
        /// The worktree.
        path: PathBuf,
        /// The branch that it was made for.
        branch: String,
        /// What is checked out.
        found: String,
    },
    /// The user locked it.
    #[error("{} is locked{}", path.display(), reason_text(.reason))]
    Locked {
        /// The worktree.
        path: PathBuf,
        /// The user's reason; may be empty.
        reason: String,
    },
    /// Another ralph, or a git that outlived one, is working on it.
    #[error("another process is using the worktree of branch {branch} (pid {pid})")]
    AtWork {
        /// The branch.
        branch: String,
        /// The process that uses it.
        pid: String,
    },
    /// It already exists in another place.
    #[error("the worktree of branch {branch} is in {}", path.display())]
    OtherPlace {
        /// The branch.
        branch: String,
        /// The path of its worktree.
        path: PathBuf,
    },
    /// The start commit does not exist.
    #[error("there is no commit {base:?} to start branch {branch} from")]
    NoBase {
        /// The branch.
        branch: String,
        /// What was named.
        base: String,
    },
    /// Another branch takes the name.
    #[error("branch {branch} cannot exist next to branch {other}")]
    NameTaken {
        /// The branch.
        branch: String,
        /// The one that is there.
        other: String,
    },
    /// The repository cannot have worktrees that ralph would find again.
    #[error("ralph cannot create worktrees in {}: {why}", path.display())]
    NoHome {
        /// The repository.
        path: PathBuf,
        /// What prevents it.
        why: &'static str,
    },
    /// Something in it cannot be saved, so it is not removed.
    #[error("ralph does not remove {}: {why}", path.display())]
    NotSaved {
        /// The worktree.
        path: PathBuf,
        /// What cannot be saved.
        why: String,
    },
    /// A marker names a folder that is neither in the folder of the worktrees nor a worktree of this repository.
    #[error("{} is not a worktree of this repository", path.display())]
    Outside {
        /// The folder.
        path: PathBuf,
        /// The marker.
        marker: PathBuf,
    },
    /// A marker that cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Marker {
        /// The marker.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

fn reason_text(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl WorktreeRefusal {
    /// What to type, with paths made fit for a shell by `quoted`.
    pub fn hint(&self, quoted: impl Fn(&Path) -> String) -> String {
        match self {
            Self::Persons { path } => {
                format!(
                    "remove it yourself, or use another branch name: git worktree remove {}",
                    quoted(path)
                )
            }
            Self::FolderTaken { path, .. } => {
                let aside = path.with_extension("mine");
                format!("move it away: mv {} {}", quoted(path), quoted(&aside))
            }
            Self::Inside { outer, .. } => {
                format!("remove the outer one first: git worktree remove {}", quoted(outer))
            }
            Self::Linked { path } => format!(
                "see where it points: ls -ld {}; set git.worktree.dir to the folder itself",
                quoted(path)
            ),
            Self::Elsewhere { path, .. } if path.exists() => {
                format!("switch to another branch there: git -C {} switch BRANCH", quoted(path))
            }
            Self::Elsewhere { .. } => {
                "that folder is gone; have git forget it: git worktree prune".to_owned()
            }
            Self::Switched { path, branch, .. } => format!(
                "finish your work there, then: git -C {} switch {}",
                quoted(path),
                quoted(Path::new(branch))
            ),
            Self::Locked { path, .. } => {
                format!("to allow its removal: git worktree unlock {}", quoted(path))
            }
            Self::AtWork { pid, .. } => format!("wait for it, or see what it is: ps -fp {pid}"),
            Self::OtherPlace { .. } => {
                "restore git.worktree.dir, or remove it: ralph clean --worktrees".to_owned()
            }
            Self::NoBase { .. } => "list your branches: git branch --all".to_owned(),
            Self::NameTaken { other, .. } => {
                format!("rename one of them: git branch -m {} NEW-NAME", quoted(Path::new(other)))
            }
            Self::NoHome { .. } => "work in a clone of it: git clone PATH DIR".to_owned(),
            Self::NotSaved { path, .. } => format!(
                "save what you need from it, then: git worktree remove --force {}",
                quoted(path)
            ),
            Self::Outside { marker, .. } => format!(
                "ralph leaves it alone; if you do not know this marker, remove it: rm {}",
                quoted(marker)
            ),
            Self::Marker { path, .. } => {
                format!("inspect it, and remove it if it is damaged: rm {}", quoted(path))
            }
        }
    }
}
