//! A worktree per branch: made, repaired after a crash, and taken away again.
//!
//! Before git is asked for a worktree, a marker is written to `.ralph/worktrees/`. Only what a marker
//! names is ever repaired or removed; everything else belongs to the user, and is named when it stands
//! in the way. A lock that git inherits keeps the next caller waiting until also a git is gone whose
//! ralph was killed.
//!
//! | file | owns |
//! |---|---|
//! | `marker` | the markers, and the lock of a branch |
//! | `look` | what git's own folder says of its worktrees |
//! | `prepare` | making a worktree, or taking up the one that is there |
//! | `repair` | half-made, half-removed and damaged ones |
//! | `equip` | identity, ignored files and the plan, inside a worktree |
//! | `inspect` | how they stand, for users who ask |
//! | `remove` | saving what is unsaved, and taking a worktree away |
//! | `submodules` | submodules of a worktree that is to go |
//! | `refusal` | what is refused, and what to type |

mod equip;
mod inspect;
mod look;
mod marker;
mod prepare;
mod refusal;
mod remove;
mod repair;
mod submodules;

pub use equip::Identity;
pub use inspect::{Condition, Inspected};
pub use prepare::{Prepared, Wanted, Worktrees};
pub use refusal::WorktreeRefusal;
pub use remove::{Ours, Removed};
pub(super) use repair::FORGOTTEN;
pub use repair::remove_tree as remove_folder;
pub(super) use submodules::with_work;
