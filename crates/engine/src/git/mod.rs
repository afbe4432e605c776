//! Git as a program: how ralph starts it, and what it prints.
//!
//! This module knows repositories, indexes and trees. It knows no task, no run and no sandbox.
//!
//! | module | owns |
//! |---|---|
//! | `command` | the one constructor of git commands |
//! | [`base`] | the base branch of pull requests, and where a branch starts |
//! | `commits` | questions about commits |
//! | `listed` | the effective settings of a worktree, remembered until their files change |
//! | `pinned` | settings of a repository that name programs, neutralized for those commands |
//! | `position` | which commit and branch are checked out, read from files |
//! | `entries` | parses entries of trees and their changes |
//! | `scratch` | a temporary index, to write trees without touching the user's |
//! | `fingerprint` | whether any file of a worktree has changed |
//! | `folders` | which git directory a folder names, and removing such folders |
//! | `spelling` | paths as text, without loss |
//! | `signing` | whether commits can be signed |
//! | `submodules` | finds work in submodules without running what they name |
//! | `text_patch` | the difference between two texts |
//! | `version` | the installed git version, and the oldest supported one |

pub mod base;
mod command;
mod commits;
pub(crate) mod entries;
pub(crate) mod fingerprint;
pub(crate) mod folders;
pub(crate) mod listed;
pub(crate) mod pinned;
pub(crate) mod position;
pub(crate) mod scratch;
mod signing;
pub(crate) mod spelling;
pub(crate) mod submodules;
mod text_patch;
mod version;

pub(crate) use command::{ELSEWHERE, settle_inside};
pub use command::{Git, GitError, GitResult, git};
pub use commits::commit_of;
pub(crate) use commits::{delete_refs, is_ancestor, refs_in};
pub use folders::remove_tree;
pub use signing::{Signing, signing};
pub use text_patch::text_patch;
pub use version::{FLOOR, check_version, version};

/// Everything that reads what git prints, for the fuzzers.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let _ = entries::parse_changes("diff", bytes);
    let _ = entries::parse_counted("diff", bytes);
    for line in String::from_utf8_lossy(bytes).lines() {
        version::fuzz(line);
    }
}
