//! The traits at the seams. Each says in its documentation what an implementation must and must not
//! do; the conformance suites in `tests/` hold every implementation to it.

mod forge;
mod jail;
mod store;
mod vcs;

pub use forge::{ForgeError, Link, ManualSteps, Published, PullRequest, Survey};
pub use jail::{Bind, HookEnd, HookSandbox, Jail};
pub use store::{
    ClaimRequest, Claimed, DeleteWhich, Filter, Peek, Result, Scope, Store, StoreError, SyncMode,
    SyncReport,
};
pub use vcs::{
    Blocked, Candidate, Checkout, Ending, Forbidden, GitError, HEARTBEAT, KeepSaves, Opened,
    Restored, RunBase, SandboxMounts, Saved, SetAsideWork, Vcs,
};
