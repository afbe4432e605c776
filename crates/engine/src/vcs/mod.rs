//! Version control of one worktree: the trees, candidates, commits and branches of the loop.
//!
//! It knows no worktree of a branch ([`crate::worktrees`]) and no remote ([`crate::publishing`]); git itself is in
//! [`crate::git`], and a session's own git directory in [`crate::session_git`].
//!
//! | module | owns |
//! |---|---|
//! | `in_place` | `GitVcs`, which implements [`crate::ports::Vcs`] with the modules below |
//! | `trees` | reads, compares and makes trees and commits; no ref, index or file changes |
//! | `start` | work that was uncommitted before the run |
//! | `branch` | the only code that moves a branch |
//! | `hold` | holds a branch with git's own lock while work for it is checked |
//! | `candidate`, `commit` | the tree to judge, and the commit when the gates pass |
//! | `checkout` | a temporary fresh checkout of a candidate |
//! | `hooks` | runs the user's hooks on ralph's own commits |
//! | [`wip`] | saves unfinished work, and lists saved work |
//! | [`restore`] | removes work from the worktree, and restores saved work |
//! | `sandboxed`, `import` | reads the work of sandboxed sessions; issues their git directories, and imports their commits |
//! | [`trunk`] | the branch that work from other worktrees lands on |
//! | `like` | recreates commits with another tree or other parents |
//! | `keep_out` | keeps a file out of all commits, whatever an agent commits |
//! | `traces` | what a run leaves in a repository, and when it goes; how long saved work is kept |
//! | `locks` | removes the locks of a killed git |
//! | `workspace`, `stamp` | who owns the work in a worktree; when a session was last alive in it |

mod branch;
mod candidate;
mod checkout;
mod commit;
mod hold;
mod hooks;
mod import;
mod in_place;
mod keep_out;
mod like;
mod locks;
pub mod restore;
mod sandboxed;
mod stamp;
mod start;
mod traces;
mod trees;
pub mod trunk;
pub mod wip;
mod workspace;

pub(crate) use branch::{Advanced, Files};
pub(crate) use checkout::{copy_inside, sweep as sweep_checkouts};
pub use in_place::GitVcs;
pub(crate) use sandboxed::forget_sandbox;
pub use stamp::written_since_session;
pub(crate) use trees::Author;

/// Reads a line as those of saved work, for the fuzzers.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        wip::fuzz(line);
    }
}
