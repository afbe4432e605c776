//! Why ralph does not create or remove a worktree, and what to type.

use std::path::{Path, PathBuf};

/// What is in the way. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeRefusal {
    #[error("{} is a worktree that ralph did not create", path.display())]
    Persons { path: PathBuf },
    #[error("{} has files that ralph did not put there, such as {}", path.display(), file.display())]
    FolderTaken { path: PathBuf, file: PathBuf },
    #[error("{} would be inside the worktree {}", path.display(), outer.display())]
    Inside { path: PathBuf, outer: PathBuf },
    #[error("{} is a link; ralph creates worktrees only in real folders", path.display())]
    Linked { path: PathBuf },
    #[error("branch {branch} is checked out in {}", path.display())]
    Elsewhere { branch: String, path: PathBuf },
    #[error("{} was created for branch {branch}, but is on {found} now", path.display())]
    Switched { path: PathBuf, branch: String, found: String },
    #[error("{} is locked{}", path.display(), reason_text(.reason))]
    Locked {
        path: PathBuf,
        /// The user's reason; may be empty.
        reason: String,
    },
    #[error("another process is using the worktree of branch {branch} (pid {pid})")]
    AtWork { branch: String, pid: String },
    #[error("the worktree of branch {branch} is in {}", path.display())]
    OtherPlace { branch: String, path: PathBuf },
    #[error("there is no commit {base:?} to start branch {branch} from")]
    NoBase { branch: String, base: String },
    #[error("branch {branch} cannot exist next to branch {other}")]
    NameTaken { branch: String, other: String },
    #[error("ralph cannot create worktrees in {}: {why}", path.display())]
    NoHome { path: PathBuf, why: &'static str },
    #[error("ralph does not remove {}: {why}", path.display())]
    NotSaved { path: PathBuf, why: String },
    /// A marker names a folder that is neither in the folder of the worktrees nor a worktree of this repository.
    #[error("{} is not a worktree of this repository", path.display())]
    Outside { path: PathBuf, marker: PathBuf },
    #[error("{} cannot be read: {why}", path.display())]
    Marker { path: PathBuf, why: String },
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
