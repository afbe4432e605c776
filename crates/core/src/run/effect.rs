//! What is to be done. Carried out by the engine; the answer comes back as an input.

use super::SlotId;
use super::class::Class;
use super::outcome::Outcome;
use super::report::TaskBrief;
use crate::agent::Ignored;
use crate::ids::TaskId;
use crate::time::Timestamp;

/// How hard a session is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopping {
    /// It is interrupted and may finish.
    Interrupt,
    /// It is killed.
    Kill,
}

/// What the store is to write about one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAction {
    /// Done.
    Done {
        /// JSON text of the agent; the loop's own commit is put in where there is none.
        result: Option<String>,
    },
    /// Back for another try, or failed.
    Fail {
        /// Why.
        reason: String,
        /// For good.
        for_good: bool,
    },
    /// Back, and nothing is counted.
    Release,
    /// It waits for an answer.
    Ask {
        /// To this.
        text: String,
    },
    /// It waits for a person.
    Hold {
        /// Why.
        reason: String,
    },
}

/// The end of one task's attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The task.
    pub task: TaskBrief,
    /// Why.
    pub class: Class,
    /// What is written; `None` when it is not ours any more.
    pub action: Option<TaskAction>,
    /// In words; may be empty.
    pub detail: String,
    /// What makes another failure the same as this one, where it was judged red.
    pub fingerprint: Option<String>,
    /// What is to be known about the signals of the session.
    pub signal: SignalNote,
}

/// What is to be known about the signals of a session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalNote {
    /// None named the task, although the loop asks for one.
    pub missing: bool,
    /// Texts that look like signals and did not count.
    pub ignored: Vec<Ignored>,
}

impl SignalNote {
    /// A line each; empty when there is nothing to know.
    pub fn words(&self) -> String {
        let missing = self.missing.then(|| "The session ended without a signal.".to_owned());
        let ignored = self.ignored.iter().map(|ignored| format!("Ignored: {ignored}."));
        missing.into_iter().chain(ignored).collect::<Vec<_>>().join("\n")
    }
}

/// A commit of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    /// The first line.
    pub subject: String,
    /// The rest; may be empty.
    pub body: String,
}

/// All that is to be written down after an iteration. Carrying it out twice is the same as once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The class of the iteration.
    pub class: Class,
    /// In words; may be empty.
    pub detail: String,
    /// Each task that was held.
    pub tasks: Vec<Ending>,
    /// What the session left uncommitted is committed, before the store says done.
    pub commit: Option<CommitPlan>,
    /// Uncommitted work is saved under this task's name.
    pub save: Option<(TaskId, u32)>,
    /// What sessions changed goes back to the last settled tree.
    pub put_back: bool,
    /// No changes were found although done was requested: the evidence says so.
    pub unchanged: bool,
    /// The session said that the plan is done, and what it left is green.
    pub marker: Option<String>,
    /// The work goes from its worktree onto the branch of the run.
    pub land: bool,
    /// What its worktree has beyond the branch of the run is saved and taken out of it: the next attempt
    /// begins from what has landed.
    pub start_over: bool,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Take back dead claims, count the plan.
    Survey {
        /// For this slot.
        slot: SlotId,
    },
    /// Claim the first ready task.
    Claim {
        /// For this slot.
        slot: SlotId,
        /// No task but this.
        only: Option<TaskId>,
    },
    /// Take a snapshot of the plan for the agent.
    Peek {
        /// For this slot.
        slot: SlotId,
    },
    /// Run a session.
    RunSession {
        /// Where.
        slot: SlotId,
        /// The number of the iteration.
        iteration: u32,
        /// The task; `None` where the agent picks.
        task: Option<Box<TaskBrief>>,
        /// The model.
        model: Option<String>,
        /// What the strategy would have chosen, where something else chose: to be recorded.
        overridden: Option<String>,
        /// How often the task failed in the same way, where that chose; else it was a hint.
        raised: Option<u32>,
    },
    /// End the session.
    StopSession {
        /// Where.
        slot: SlotId,
        /// How.
        how: Stopping,
    },
    /// Write the tree that is to be judged.
    MakeCandidate {
        /// Where.
        slot: SlotId,
        /// The branch is kept from moving until the work is committed or refused.
        hold: bool,
    },
    /// Run the gates on it.
    Judge {
        /// Where.
        slot: SlotId,
    },
    /// Let the verifier look at it.
    Verify {
        /// Where.
        slot: SlotId,
        /// The tasks that are called done.
        tasks: Vec<TaskBrief>,
        /// The model.
        model: Option<String>,
    },
    /// Commit what the session left in its worktree, and bring it onto what has landed on the branch of
    /// the run. That branch stays where it is.
    Integrate {
        /// Where.
        slot: SlotId,
        /// The commit of what is not committed; `None` where the agent alone commits.
        commit: Option<Box<CommitPlan>>,
        /// The branch is kept from moving until the work has landed or is refused.
        hold: bool,
    },
    /// Write down what was decided.
    Settle {
        /// Where.
        slot: SlotId,
        /// What.
        settlement: Box<Settlement>,
    },
    /// Give a claim back: nothing was started on it.
    Release {
        /// The slot whose claim it is.
        slot: SlotId,
        /// The task.
        task: TaskId,
    },
    /// A person wants a task left alone.
    HoldTask {
        /// The task.
        task: TaskId,
    },
    /// A person wants a task taken up again.
    ResetTask {
        /// The task.
        task: TaskId,
    },
    /// Wake the slot then, or when the plan changes.
    Wake {
        /// Which.
        slot: SlotId,
        /// When; `None` is only by a change.
        at: Option<Timestamp>,
        /// A change of the plan wakes it too.
        on_change: bool,
    },
    /// A wait that is no longer wanted.
    StopWaiting {
        /// Whose.
        slot: SlotId,
    },
    /// Publish the branch of the complete run.
    Publish,
    /// Watch the pull request until there is work, or nothing more to wait for.
    Watch {
        /// Its number.
        number: u64,
        /// Its page.
        page: String,
        /// Until when at most.
        until: Timestamp,
    },
    /// End every push and request that is under way, and begin none.
    StopPublishing,
    /// End the run. The last effect.
    Finish {
        /// How.
        outcome: Outcome,
    },
}
