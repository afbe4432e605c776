//! Version control in place, with real git: what the loop judges, commits, saves and puts back.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start git and read the clock")]

#[path = "vcs/bases.rs"]
mod bases;
#[path = "vcs/branch_names.rs"]
mod branch_names;
#[path = "vcs/candidates.rs"]
mod candidates;
#[path = "vcs/checkouts.rs"]
mod checkouts;
#[path = "vcs/commits.rs"]
mod commits;
#[path = "vcs/fakes.rs"]
mod fakes;
#[path = "vcs/globs.rs"]
mod globs;
#[path = "vcs/hooks.rs"]
mod hooks;
#[path = "vcs/keeping_out.rs"]
mod keeping_out;
#[path = "vcs/kit.rs"]
mod kit;
#[cfg(target_os = "linux")]
#[path = "vcs/locks.rs"]
mod locks;
#[path = "vcs/owning.rs"]
mod owning;
#[path = "vcs/pinned.rs"]
mod pinned;
#[path = "vcs/places.rs"]
mod places;
#[path = "vcs/random.rs"]
mod random;
#[path = "vcs/recovering.rs"]
mod recovering;
#[cfg(target_os = "linux")]
#[path = "vcs/sandboxed/mod.rs"]
mod sandboxed;
#[path = "vcs/saving.rs"]
mod saving;
#[path = "vcs/tidying.rs"]
mod tidying;
#[path = "vcs/undoing.rs"]
mod undoing;
#[path = "vcs/worktree_kills.rs"]
mod worktree_kills;
#[path = "vcs/worktrees.rs"]
mod worktrees;
