//! A run: carries out the decisions of the loop in `ralph_core::run`.
//!
//! | file | owns |
//! |---|---|
//! | `dispatcher` | the one loop: input → decide → journal → effects; the state of the run and of its slots |
//! | [`setup`] | everything a run needs, assembled by its caller |
//! | `ports` | what activities share: setup, store, ids, the way back to the loop |
//! | `slot_state` | what a slot carries from one activity to the next |
//! | `activity` | the activities: survey, session, judge, verify, integrate, settle, publish |
//! | `plan` | where the tasks are: task database, file, text |
//! | `checks` | what judges the work |
//! | `workspace`, `owning` | where a slot works, and whose changes are there |
//! | `holding`, `merging` | fair landing; tasks that wait for a merge |
//! | `deciding` | records what sessions do to deciding files |
//! | `sandboxed` | sessions and gates as programs in a sandbox |
//! | `talking` | texts of the user for the session that runs in a slot |
//! | `telling` | what the user tells running sessions |
//! | `display` | fills the stream of the run, and the threads of its readers |
//! | `watch` | leases, changes of the plan, timers |
//! | `recover`, `tidy` | what an interrupted run left; cleaning up at the end |
//! | [`shared_budget`] | the spending of runs that share a budget |
//! | `parked_tasks`, `store_file` | tasks that the loop will not retry; whether the open database is still the file |

mod activity;
mod approving;
mod checks;
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
mod talking;
mod telling;
mod tidy;
mod watch;
mod workspace;

pub use activity::integrate::WorktreePool;
pub use checks::deliverable::Deliverable;
pub use dispatcher::{Ended, RunError, run};
pub use display::Reader;
pub use merging::{MergingError, merges_needed};
pub use setup::{
    AgentProgram, AgentSetup, FileSetup, GateSetup, PortSetup, PromptStyle, Setup, WorkSetup,
};
