//! Why the repository or ralph's files in it cannot be used.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// No `.git` from here up to the root.
    #[error("{} is not inside a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("{} is a bare repository; ralph needs a checkout", .0.display())]
    Bare(PathBuf),
    #[error("{} does not point to a repository: {reason}", file.display())]
    BrokenLink { file: PathBuf, reason: String },
    /// A folder that ralph cannot read as its own.
    #[error("{} was not created by ralph: {reason}", path.display())]
    Foreign { path: PathBuf, reason: String },
    #[error(
        "{} belongs to {owner}, not to you: ralph does not use state that another user can change",
        path.display()
    )]
    OwnedByOther {
        path: PathBuf,
        /// The name of its owner, or the number.
        owner: String,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}
