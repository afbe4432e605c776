//! The loop as two functions: [`decide`] says what an input means, [`RunState::evolve`] remembers it.
//!
//! ```text
//!   Input ──▶ decide(state, input, now) ──▶ Step { facts, effects }
//!                 ▲                            │          │
//!                 └── state ◀── evolve ◀───────┘          └──▶ carried out by the engine,
//!                                                              whose answers are inputs again
//! ```
//!
//! Every preset, mode and number of slots goes through here; none has a loop of its own. What a preset
//! changes is data in [`Policy`], what the end of an attempt means is the table [`CLASSES`], and when a run
//! stops is decided by the two lists in [`exit`].

mod approval;
pub mod budget;
mod class;
mod control;
mod decide;
mod effect;
mod evolve;
pub mod exit;
mod fact;
mod fallback;
mod history;
mod input;
mod landing;
pub mod lanes;
mod merging;
mod messages;
mod notice;
mod outcome;
mod overlap;
mod policy;
mod publish;
mod redacted;
mod report;
mod review;
mod slot;
mod state;
mod verifier;

pub use crate::records::GateReport;
pub use approval::{Approve, ChangeSize, Risk, awaits_approval, is_approved};
pub use budget::Allowance;
pub use class::{Becomes, Breaker, CLASSES, Class, Retry, Row};
pub use control::{Cancel, Control};
pub use decide::{Step, decide};
pub use effect::{CommitPlan, Effect, Ending, Settlement, SignalNote, Stopping, TaskAction};
pub use fact::{Fact, LeftTask, RunEvent, SlotStep, Wait};
pub use fallback::{AgentLimit, Agents, FallbackAgent};
pub use history::cost;
pub use input::{Input, Port, Settled, Survey, TaskResult};
pub use landing::{Conflict, Landing, MERGE};
pub use merging::{NeedsMerge, WorkPlace, needs_merge};
pub use messages::{given_line, messages, unread};
pub use notice::Notice;
pub use outcome::{Outcome, Planned, StopReason};
pub use overlap::overlaps;
pub use policy::{Budget, Claims, Commits, EndsWhen, Exhausted, OnRed, Picker, Policy, Unit};
pub use publish::{Publication, Publish, PublishEnd, Publishing};
pub use report::{
    About, CHANGES, COMMIT_HOOK, Earlier, FORBIDDEN, FinishedWork, PROTECTED, Request,
    RequestedOutcome, SIGNAL, SameFailure, SessionReport, TaskBrief, Unsignaled, WEAKENED,
};
pub use review::{Review, ReviewEnd};
pub use slot::{Difference, EndedSession, InHand, Interventions, Iteration, Phase, Slot, Work};
pub use state::{Resume, RunState};
pub use verifier::{VERIFICATION_FAILED, VERIFIER, Verifier, VerifierModel, VerifierReport};

/// The number of a slot, from 0.
pub type SlotId = u32;
