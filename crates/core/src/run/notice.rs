//! What the user should know, as data. `view::words` turns it into sentences.

use serde::{Deserialize, Serialize};

use super::budget::Allowance;
use crate::agent::Ignored;
use crate::ids::TaskId;
use crate::records::Verdict;

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// The sandbox that sessions run in.
    Level { level: String, text: String },
    /// There are no gates: work is accepted unchecked.
    Ungated,
    /// Work that was uncommitted before the run.
    DirtyStart {
        saved: String,
        /// How many paths.
        paths: u32,
    },
    /// ralph killed processes that a killed run had left running.
    LeftoversEnded {
        /// How many processes.
        processes: u32,
    },
    /// Claims of dead runs were released.
    ClaimsTakenBack { tasks: Vec<TaskId> },
    /// A signal for a task that the session did not hold.
    WrongId {
        /// The ids in the signal.
        named: Vec<String>,
        held: Vec<TaskId>,
    },
    /// Texts in the last message of a session that look like signals and did not count.
    SignalsIgnored {
        /// The first of them.
        signals: Vec<Ignored>,
    },
    /// A session left work and gave no signal; the gates judged the work anyway.
    Unclaimed { task: TaskId },
    /// Tools that the agent asked for and was denied.
    Denied { tools: Vec<String> },
    /// A claim that nothing checked was accepted.
    Trusted { task: TaskId },
    /// The agent said that the plan is done; ralph goes by the plan.
    Promise { text: String },
    /// What a gate said before the first session.
    Baseline {
        gate: String,
        verdict: Verdict,
        /// The tests that failed, the first of them.
        failing: Vec<String>,
        /// How many failed.
        count: u32,
    },
    /// A session changed protected files, or what defines the gates.
    Protected {
        files: Vec<String>,
        /// The work was rejected for it.
        rejected: bool,
    },
    /// A session left tests weaker than they were: deleted, removed, skipped, or asserting less.
    TestsWeakened {
        /// The first of them, a sentence each.
        found: Vec<String>,
        /// How many there are.
        count: u32,
    },
    /// Most of a budget is used.
    BudgetNear {
        budget: Allowance,
        /// The task, for the budget of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// How much is used: millionths of a dollar, tokens or milliseconds.
        used: u64,
        /// How much there is.
        limit: u64,
    },
    /// The branch moved each time the gates judged the same work: ralph locks it for the next try.
    Overtaken {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// How often it moved.
        times: u32,
        /// How long the gates took last, in milliseconds.
        gates_ms: u64,
    },
    /// There is a budget of money, and a session reported no price.
    Unpriced,
    /// Anything else.
    Other { text: String },
}
