//! A run: carries out the decisions of the loop in `ralph_core::run`.
//!
//! | file | owns |
//! |---|---|
//! | [`shared_budget`] | the spending of runs that share a budget |
//! | [`setup`] | everything a run needs, assembled by its caller |
//! | `dispatcher` | the one loop: input → decide → journal → effects |
//! | `ports` | what activities share: setup, store, ids, the way back to the loop |
//! | `slot_state` | what a slot carries from one activity to the next |
//! | `effects` | each effect as a task of its own whose answer is an input |
//! | `survey` | survey, claim, peek |
//! | [`prompting`] | the prompt of an attempt |
//! | `session` | one agent session |
//! | `recover` | recovers from an interrupted run |
//! | `display` | the displays, on their own thread |
//! | `judge` | the candidate tree, and where it is judged |
//! | `workspace` | where a slot works: the user's worktree, or one of its task |
//! | `owning` | who owns the work in the worktree, before and after a session |
//! | `integrate` | lands work from a task's worktree on the branch of the run |
//! | `worktree_setup` | the setup command of a new worktree |
//! | `gate` | one gate: its process, its output, its report |
//! | `trial` | a gate outside a run, for `ralph doctor` |
//! | `baseline` | results of the gates before the first session |
//! | `deciding` | records what sessions do to deciding files |
//! | `protected` | files that sessions should not change |
//! | `forbidden` | work that no commit may contain |
//! | `settle` | records outcomes, in an order that survives a crash |
//! | `publish` | publishes the branch of the run |
//! | `review` | turns comments on its pull request into tasks |
//! | `tidy` | cleans up at the end of a run |
//! | `watch` | leases, changes of the plan, timers |
//! | [`state_file`] | `state.toml` |
//! | [`journal`] | `events.jsonl` |
//! | [`run_files`] | the folder and the lock of a run |

mod activity;
mod checks;
mod daily_cost;
mod deciding;
mod dispatcher;
mod display;
mod holding;
mod merging;
mod owning;
mod parked_tasks;
mod plan;
mod ports;
mod recover;
mod sandboxed;
pub mod setup;
pub mod shared_budget;
mod slot_state;
mod store_file;
mod tidy;
mod watch;
mod workspace;

pub use activity::integrate::{
    PREFIX as BRANCH_PREFIX, WorktreePool, task_named as task_of_branch,
};
pub use checks::deliverable::Deliverable;
pub use dispatcher::{Ended, RunError, run};
pub use merging::{MergingError, merges_needed};
pub use setup::{
    AgentProgram, AgentSetup, FileSetup, GateSetup, PortSetup, PromptStyle, Setup, WorkSetup,
};
