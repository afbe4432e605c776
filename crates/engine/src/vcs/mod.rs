//! Version control.
//!
//! | module | owns |
//! |---|---|
//! | [`git`] | the one constructor of git commands |
//! | `listed` | the settings that count in a worktree, remembered while their files stay the same |
//! | `pinned` | settings of a repository that name programs, made harmless for those commands |
//! | `position` | which commit and branch are checked out, read from files |
//! | `entries` | what git says about paths: entries of trees and their changes |
//! | `scratch` | a temporary index: how trees are written without touching the user's |
//! | `spelling` | paths as text, without loss |
//! | `signing` | whether commits can be signed |
//! | `start` | what was uncommitted before the run |
//! | `base` | which branch pull requests go to |
//! | `branch` | the one way onto a branch |
//! | `candidate`, `commit` | the tree to judge, and the commit when it is green |
//! | `checkout` | a fresh checkout of a candidate, thrown away afterwards |
//! | `hooks` | the user's hooks, on the loop's own commits |
//! | [`wip`] | saving unfinished work, and the list of what is saved |
//! | [`restore`] | taking work out of the worktree, and bringing saved work back |
//! | [`base`] | which branch pull requests go to, and where a branch begins |
//! | [`private`] | the git directory that a session gets in a sandbox |
//! | `boxed` | programs of ours in a sandbox, and how what sessions left comes out of it |
//! | [`look`] | a look at sessions' files, from inside a sandbox |
//! | `taken` | what sessions committed, on the user's branch or on the loop's own |
//! | `push` | pushing a branch, never by force |
//! | [`upstream`] | what a remote has |
//! | [`trunk`] | the branch that work from other worktrees lands on |
//! | `like` | commits made anew: another tree or other parents, the same author |
//! | `forbidden` | what no commit may hold |
//! | `keep_out` | a file that no commit takes up, whatever an agent commits |
//! | `locks` | removing the locks of a git that was killed |
//! | `workspace` | whose work lies in a worktree: a task's, or the user's |
//! | `stamp` | when a session last lived in a worktree |
//! | [`worktree`] | a worktree per branch: made, repaired and removed |
//! | `version` | which git there is, and the oldest that will do |
//! | [`fake`] | version control in memory, for tests and benches |

pub mod base;
mod boxed;
mod branch;
mod candidate;
mod checkout;
mod commit;
mod containing;
mod entries;
pub mod fake;
mod forbidden;
pub mod git;
mod hold;
mod hooks;
mod in_place;
pub mod inventory;
mod keep;
mod keep_out;
mod like;
mod listed;
mod locks;
pub mod look;
mod patch;
mod pinned;
mod position;
mod pre_push;
pub mod private;
mod push;
pub mod restore;
mod scratch;
mod signing;
pub(crate) mod spelling;
mod stamp;
mod start;
mod taken;
mod traces;
pub mod trunk;
pub mod upstream;
mod version;
pub mod wip;
mod workspace;
pub mod worktree;

pub use boxed::Boxes;
pub use fake::FakeVcs;
pub use in_place::GitVcs;
pub use patch::text_patch;
pub use position::Operation;
pub use pre_push::RunHook;
pub use private::Private;
pub use push::{Push, PushError, Pushed};
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
