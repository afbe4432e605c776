//! What a person should know, in the words of the loop. What people read is in `view::words`.

use serde::{Deserialize, Serialize};

use super::budget::Allowance;
use crate::agent::Ignored;
use crate::ids::TaskId;
use crate::records::Verdict;

/// Something a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// The box that sessions run in.
    Level {
        /// The level.
        level: String,
        /// In a sentence.
        text: String,
    },
    /// Nothing judges the work but that it changed something.
    Ungated,
    /// Work that was uncommitted before the run.
    DirtyStart {
        /// Where it was saved.
        saved: String,
        /// How many paths.
        paths: u32,
    },
    /// Processes of a run that was killed were ended.
    LeftoversEnded {
        /// How many.
        processes: u32,
    },
    /// Claims of dead runs were taken back.
    ClaimsTakenBack {
        /// Whose tasks.
        tasks: Vec<TaskId>,
    },
    /// A signal for a task that the session did not hold.
    WrongId {
        /// What it named.
        named: Vec<String>,
        /// What it held.
        held: Vec<TaskId>,
    },
    /// Texts in the last message of a session that look like signals and did not count.
    SignalsIgnored {
        /// Which, the first of them.
        signals: Vec<Ignored>,
    },
    /// A session left work and gave no signal; the work was judged all the same.
    Unclaimed {
        /// The task.
        task: TaskId,
    },
    /// Tools that the agent asked for and was refused.
    Denied {
        /// Which.
        tools: Vec<String>,
    },
    /// A claim that nothing checked was accepted.
    Trusted {
        /// The task.
        task: TaskId,
    },
    /// The agent promised that the plan is done; the plan decides.
    Promise {
        /// Its words.
        text: String,
    },
    /// What a gate said before the first session.
    Baseline {
        /// The gate.
        gate: String,
        /// What it said.
        verdict: Verdict,
        /// The tests that failed, the first of them.
        failing: Vec<String>,
        /// How many failed.
        count: u32,
    },
    /// A session changed files that it should leave alone, or what defines the gates.
    Protected {
        /// Which.
        files: Vec<String>,
        /// The work is refused for it.
        rejected: bool,
    },
    /// A session left tests weaker than they were: deleted, removed, skipped, or asserting less.
    TestsWeakened {
        /// How, a sentence each, the first of them.
        found: Vec<String>,
        /// How many there are.
        count: u32,
    },
    /// Most of a budget is used.
    BudgetNear {
        /// Which.
        budget: Allowance,
        /// The task, for the budget of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// How much is used: millionths of a dollar, tokens or milliseconds.
        used: u64,
        /// How much there is.
        limit: u64,
    },
    /// The branch moved each time while the gates judged the same work: it is held for the next try.
    Overtaken {
        /// The task, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// How often it moved.
        times: u32,
        /// How long the gates took last, in milliseconds.
        gates_ms: u64,
    },
    /// There is a budget of money, and a session told no price.
    Unpriced,
    /// Anything else.
    Other {
        /// In a sentence.
        text: String,
    },
}
