//! A worktree per branch: created, repaired after a crash, and removed.
//!
//! Before ralph asks git for a worktree, it writes a marker to `.ralph/worktrees/`. It only ever repairs or removes
//! what a marker names; everything else belongs to the user, and an error names it when it is in the way. Git
//! inherits the lock of a branch, so the next caller also waits for a git whose ralph was killed.
//!
//! | file | owns |
//! |---|---|
//! | `marker` | the markers, and the lock of a branch |
//! | `admin_folder` | reads git's own worktree folder |
//! | `prepare` | creates a worktree, or reuses the existing one |
//! | `repair` | repairs half-created, half-removed and damaged ones |
//! | `equip` | sets up identity, ignored files and the plan in a worktree |
//! | `inspect` | reports their state, for users who ask |
//! | `remove` | saves unsaved work, and removes a worktree |
//! | `submodules` | finds work in submodules before a worktree is removed |
//! | [`inventory`] | everything of ralph's in a git directory, for `ralph clean` |

mod admin_folder;
mod equip;
mod inspect;
pub mod inventory;
mod marker;
mod prepare;
mod remove;
mod repair;
pub(crate) mod setup_command;
mod submodules;

pub use crate::ports::WorktreeRefusal;
pub use equip::Identity;
pub use inspect::{Condition, Inspected};
pub use prepare::{Prepared, Wanted, Worktrees};
pub use remove::{Ours, Removed};
pub use setup_command::{WorktreeSetupError, run_worktree_setup};
