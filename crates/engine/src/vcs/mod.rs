//! Version control.
//!
//! | module | owns |
//! |---|---|
//! | [`git`] | the one constructor of git commands |
//! | `listed` | the effective settings of a worktree, cached until their files change |
//! | `pinned` | settings of a repository that name programs, neutralized for those commands |
//! | `position` | which commit and branch are checked out, read from files |
//! | `entries` | parses entries of trees and their changes |
//! | `scratch` | a temporary index, to write trees without touching the user's |
//! | `spelling` | paths as text, without loss |
//! | `signing` | whether commits can be signed |
//! | `start` | work that was uncommitted before the run |
//! | `base` | the base branch of pull requests |
//! | `branch` | the only code that moves a branch |
//! | `candidate`, `commit` | the tree to judge, and the commit when the gates pass |
//! | `checkout` | a temporary fresh checkout of a candidate |
//! | `hooks` | runs the user's hooks on ralph's own commits |
//! | [`wip`] | saves unfinished work, and lists saved work |
//! | [`restore`] | removes work from the worktree, and restores saved work |
//! | [`base`] | the base branch of pull requests, and where a branch starts |
//! | [`session_git_dir`] | the git directory of a sandboxed session |
//! | `sandboxed` | sandboxed programs of ralph, and importing the work of sessions |
//! | [`inspect`] | reads sessions' files from inside a sandbox |
//! | `import` | imports the commits of sessions |
//! | `push` | pushes a branch, never by force |
//! | [`upstream`] | reads branches of a remote |
//! | [`trunk`] | the branch that work from other worktrees lands on |
//! | [`undo`] | reverts commits by new commits |
//! | `like` | recreates commits with another tree or other parents |
//! | `fingerprint` | whether any file of a worktree has changed |
//! | `forbidden` | what no commit may contain |
//! | `keep_out` | keeps a file out of all commits, whatever an agent commits |
//! | `locks` | removes the locks of a killed git |
//! | `workspace` | who owns the work in a worktree: a task, or the user |
//! | `stamp` | when a session was last alive in a worktree |
//! | [`worktree`] | a worktree per branch: created, repaired and removed |
//! | `version` | the installed git version, and the oldest supported one |
//! | [`fake`] | version control in memory, for tests and benches |

pub mod base;
mod branch;
mod candidate;
mod checkout;
mod commit;
mod containing;
mod entries;
pub mod fake;
mod fingerprint;
mod forbidden;
pub mod git;
mod hold;
mod hooks;
mod import;
mod in_place;
pub mod inspect;
pub mod inventory;
mod keep;
mod keep_out;
mod like;
mod listed;
mod locks;
mod patch;
mod pinned;
mod position;
mod pre_push;
mod push;
pub mod restore;
mod sandboxed;
mod scratch;
pub mod session_git_dir;
mod signing;
pub(crate) mod spelling;
mod stamp;
mod start;
mod traces;
pub mod trunk;
pub mod undo;
pub mod upstream;
mod version;
pub mod wip;
mod workspace;
pub mod worktree;

pub use fake::FakeVcs;
pub use in_place::GitVcs;
pub use patch::text_patch;
pub use position::Operation;
pub use pre_push::RunHook;
pub use push::{Push, PushError, Pushed};
pub use sandboxed::GitSandbox;
pub use session_git_dir::SessionGitDir;
pub use signing::{Signing, signing};
pub use stamp::written_since_session;
pub use version::{FLOOR, Version, check_version, version};

/// Everything that reads what git prints, for the fuzzers.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let _ = entries::parse_changes("diff", bytes);
    let _ = entries::parse_counted("diff", bytes);
    for line in String::from_utf8_lossy(bytes).lines() {
        wip::fuzz(line);
        version::fuzz(line);
    }
}
