//! The traits at the seams, and the data and errors that cross them; they know no other module. Each trait says in its
//! documentation what an implementation must and must not do; the conformance suites in `tests/` hold every
//! implementation to it.

mod clock;
mod forge;
mod git_error;
mod jail;
mod program;
mod project_error;
mod store;
mod vcs;
mod worktree_refusal;

pub use clock::Clock;
pub use forge::{ForgeError, Link, ManualSteps, Published, PullRequest, Survey};
pub use git_error::{GitError, GitResult, Operation, Version};
pub use jail::{Bind, HookEnd, HookSandbox, Jail, USER_OF_ROOT};
pub use program::{CommandSpec, Probe, ProbeEnd, Stdin};
pub use project_error::ProjectError;
pub use store::{
    ClaimRequest, Claimed, DeleteWhich, Filter, Peek, Result, Scope, Store, StoreError, SyncMode,
    SyncReport,
};
pub use vcs::{
    Candidate, Checkout, EarlierWork, Ending, Forbidden, HEARTBEAT, KeepSaves, Opened, RunBase,
    SandboxMounts, Saved, SessionCommits, SetAsideWork, Trees, Vcs, Workspaces,
};
pub use worktree_refusal::WorktreeRefusal;
