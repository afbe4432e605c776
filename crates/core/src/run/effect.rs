//! Effects: what the loop wants done. The engine carries them out, and each answer is an input.

use super::SlotId;
use super::class::Class;
use super::outcome::Outcome;
use super::report::{Earlier, TaskBrief};
use crate::agent::{Ignored, Usage};
use crate::ids::TaskId;
use crate::records::{GateReport, UserMessage};
use crate::time::Timestamp;

/// How a session is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopping {
    /// Interrupt it and let it finish.
    Interrupt,
    Kill,
}

/// What to write about one task into the task database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAction {
    Done {
        /// The agent's result as JSON; without one, ralph fills in its own commit.
        result: Option<String>,
    },
    /// Returned for retry, or failed.
    Fail {
        reason: String,
        /// Failed for good, without a retry.
        for_good: bool,
    },
    /// Open again, with no retry used.
    Release,
    /// It waits for an answer.
    Ask { text: String },
    /// It waits for the user.
    Hold { reason: String },
}

/// The end of one task's attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub task: TaskBrief,
    /// How the attempt ended.
    pub class: Class,
    /// What to write; `None` when the claim is lost.
    pub action: Option<TaskAction>,
    /// The detail in words; may be empty.
    pub detail: String,
    /// Identifies failures that are the same as this one, where a gate failed.
    pub fingerprint: Option<String>,
    /// Problems with the signals of the session.
    pub signal: SignalNote,
}

/// Problems with the signals of a session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalNote {
    /// No signal named the task, although the loop asks for one.
    pub missing: bool,
    /// Texts that look like signals and did not count.
    pub ignored: Vec<Ignored>,
}

impl SignalNote {
    /// One line for each problem; empty when there is none.
    pub fn words(&self) -> String {
        let missing = self.missing.then(|| "The session ended without a signal.".to_owned());
        let ignored = self.ignored.iter().map(|ignored| format!("Ignored: {ignored}."));
        missing.into_iter().chain(ignored).collect::<Vec<_>>().join("\n")
    }
}

/// A commit of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    pub subject: String,
    pub body: String,
}

/// Everything to record after an iteration. Carrying it out twice has the same result as once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub class: Class,
    /// The detail in words; may be empty.
    pub detail: String,
    /// Each task that the session held.
    pub tasks: Vec<Ending>,
    /// The results of the gates and of the verifier.
    pub gates: Vec<GateReport>,
    /// What the session and its verifier used. The first task takes all of it on.
    pub usage: Usage,
    /// The end of what the session said last.
    pub last_words: String,
    /// Commit the session's uncommitted work with this, before the task database says done.
    pub commit: Option<CommitPlan>,
    /// Save uncommitted work under this task and number.
    pub save: Option<(TaskId, u32)>,
    /// Revert the changes of sessions to the last accepted tree.
    pub put_back: bool,
    /// Done was requested but nothing changed: the evidence says so.
    pub unchanged: bool,
    /// The session said that the plan is done, and its work passed the gates.
    pub marker: Option<String>,
    /// Land the work: move it from its worktree onto the branch of the run.
    pub land: bool,
    /// Save what the worktree has beyond the branch of the run and remove it there: the next attempt starts
    /// from work that has landed.
    pub start_over: bool,
}

/// Something that the loop wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Release claims of dead runs and count the plan.
    Survey {
        slot: SlotId,
    },
    /// Claim the first ready task.
    Claim {
        slot: SlotId,
        /// No task but this.
        only: Option<TaskId>,
    },
    /// Take a snapshot of the plan for the agent.
    Peek {
        slot: SlotId,
    },
    RunSession {
        slot: SlotId,
        iteration: u32,
        /// The task; `None` where the agent picks.
        task: Option<Box<TaskBrief>>,
        model: Option<String>,
        /// Which agent of the run works, 0 for the preferred one.
        agent: usize,
        /// The model that the strategy would have chosen, where something else chose: for the record.
        overridden: Option<String>,
        /// How often the task failed in the same way, where that chose the model; else the agent's hint did.
        raised: Option<u32>,
        /// How the iteration before it ended.
        earlier: Box<Earlier>,
    },
    StopSession {
        slot: SlotId,
        how: Stopping,
    },
    /// Report the end of a session that is over. The last try failed; the session must not run again for that.
    ReportSession {
        slot: SlotId,
    },
    /// Write the tree for the gates to judge.
    MakeCandidate {
        slot: SlotId,
        /// Lock the branch until the work is committed or rejected.
        hold: bool,
    },
    /// Run the gates on it.
    Judge {
        slot: SlotId,
        /// Look for conflicts with work that has landed, if the gates pass: a verifier is next.
        foresee: bool,
    },
    /// Run the verifier on it.
    Verify {
        slot: SlotId,
        /// The tasks that the session calls done.
        tasks: Vec<TaskBrief>,
        /// The results of the gates.
        gates: Vec<GateReport>,
        model: Option<String>,
    },
    /// Commit the session's uncommitted work in its worktree, and rebase it onto work that has landed on the
    /// branch of the run. That branch does not move.
    Integrate {
        slot: SlotId,
        /// The commit for uncommitted work; `None` where only the agent commits.
        commit: Option<Box<CommitPlan>>,
        /// What judged the work.
        gates: Vec<GateReport>,
        /// Lock the branch until the work has landed or is rejected.
        hold: bool,
    },
    /// Record the result.
    Settle {
        slot: SlotId,
        settlement: Box<Settlement>,
    },
    /// Leave a task that was just claimed to the user: it is over its budget.
    Park {
        slot: SlotId,
        task: Box<TaskBrief>,
        reason: String,
    },
    /// Release a claim on which nothing was started.
    Release {
        /// The slot whose claim it is.
        slot: SlotId,
        task: TaskId,
    },
    /// Skip a task, as the user asked: it waits for the user.
    HoldTask {
        task: TaskId,
    },
    /// Reopen a task, as the user asked.
    ResetTask {
        task: TaskId,
    },
    /// Hand a message of the user to the session that runs in the slot. The answer comes only if the session gets it.
    Say {
        slot: SlotId,
        task: TaskId,
        message: UserMessage,
    },
    /// Wake the slot at a time, or when the plan changes.
    Wake {
        slot: SlotId,
        /// The time; `None` waits only for a change.
        at: Option<Timestamp>,
        /// A change of the plan wakes it too.
        on_change: bool,
    },
    /// Stop a wait that is no longer needed.
    StopWaiting {
        slot: SlotId,
    },
    /// Publish the branch of the complete run.
    Publish,
    /// Watch the pull request until there is work, or nothing more to wait for.
    Watch {
        number: u64,
        page: String,
        /// The latest end of watching.
        until: Timestamp,
    },
    /// Stop every push and request that is under way, and start none.
    StopPublishing,
    /// End the run. The last effect.
    Finish {
        outcome: Outcome,
    },
}
