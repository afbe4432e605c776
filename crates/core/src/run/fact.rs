//! Facts: what happened in a run, in the past tense. They are the lines of the journal, and no fact is ever
//! changed or removed.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::approval::Risk;
use super::class::Class;
use super::control::Control;
use super::fallback::AgentLimit;
use super::input::Port;
use super::landing::Landing;
use super::merging::NeedsMerge;
use super::notice::Notice;
use super::outcome::{Outcome, Planned};
use super::policy::Policy;
use super::publish::Publication;
use super::report::{About, SessionReport, TaskBrief};
use super::review::Review;
use super::state::Resume;
use super::verifier::VerifierReport;
use crate::ids::{AgentId, QuestionId, RunId, TaskId};
use crate::policy::strategy::ModelState;
use crate::records::{GateReport, Spent, UserMessage};
use crate::task::{Counts, Status};
use crate::time::{Timestamp, millis};

/// A fact with its place and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The version of the format.
    pub v: u32,
    pub run: RunId,
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    #[serde(with = "millis")]
    pub at: Timestamp,
    #[serde(flatten)]
    pub fact: Fact,
}

impl RunEvent {
    /// The version that this program writes.
    pub const VERSION: u32 = 1;
}

/// A task that the loop will not work on by itself: it failed, or it waits for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftTask {
    pub id: TaskId,
    pub title: String,
    /// `failed` or `waiting`.
    pub status: Status,
    /// The reason; may be empty.
    pub reason: String,
    /// Its work passed every check and waits until the user approves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

/// Why a slot waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Wait {
    /// A limit or an outage of the provider.
    Limit {
        /// The kind of limit.
        class: Class,
        /// How many in a row.
        streak: u32,
        /// The provider said when the limit resets; otherwise ralph guesses.
        #[serde(rename = "told")]
        reset_known: bool,
        /// Every agent of the run is at a limit: the one whose limit ends first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Other agents have claimed every task that is left.
    Others {
        /// How many tasks.
        tasks: u64,
    },
    /// A port failed, and ralph tries again.
    Port { port: Port },
    /// The user paused the run.
    Paused,
    /// The disk is nearly full.
    DiskLow,
}

words! {
    /// What a slot does besides sessions, gates and waits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SlotStep {
        /// It creates the worktree of a task, or looks after an existing one.
        Worktree = "preparing the worktree",
        /// The setup command runs in it.
        Setup = "running the setup command",
        /// The work of the iteration is pushed to the remote.
        Push = "pushing the branch",
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// A run began.
    RunStarted {
        policy: Box<Policy>,
        /// The version of ralph.
        ralph: String,
        /// The agent, by its profile's name.
        agent: String,
        /// The id under which each slot claims.
        agent_ids: Vec<AgentId>,
        /// What it works on, in words.
        target: String,
        /// The gates that judge.
        gates: Vec<String>,
        level: String,
        /// The commit that it started from.
        head: Option<String>,
        /// The branch that it works on, where that is not the one that is checked out in the main worktree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// The last accepted tree.
        settled_tree: String,
        /// An interrupted run that this one continues.
        resumed: Option<Box<Resume>>,
        /// What earlier runs spent: the base of the forecast.
        #[serde(default)]
        earlier: Spent,
    },
    /// The user should know something.
    Noticed {
        #[serde(flatten)]
        notice: Notice,
    },
    PlanCounted {
        /// How many tasks are in each state.
        counts: Counts,
    },
    /// The tasks in scope that failed or wait for the user, from this run or an earlier one.
    TasksLeft {
        /// The first of them.
        tasks: Vec<LeftTask>,
    },
    /// Ready tasks that wait until the user merges a branch. Written when the list changes.
    MergesNeeded {
        /// Each task and its branch.
        tasks: Vec<NeedsMerge>,
    },
    /// A planning session wrote this plan.
    PlanWritten {
        #[serde(flatten)]
        planned: Planned,
    },
    /// A slot looks for work.
    Surveying {
        slot: SlotId,
    },
    /// A slot tries to claim, or peeks.
    Claiming {
        slot: SlotId,
    },
    /// There was nothing to claim: another agent was faster.
    ClaimMissed {
        slot: SlotId,
    },
    /// A slot has nothing to do for now.
    SlotFreed {
        slot: SlotId,
    },
    /// An iteration began. Its session is being started.
    IterationStarted {
        slot: SlotId,
        iteration: u32,
        /// What it is about; `None` where the agent picks.
        task: Option<TaskBrief>,
        /// How many tasks the agent is shown, where it picks.
        offered: u32,
        /// What the plan has next, where the agent picks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<About>,
        /// How often this iteration was tried before.
        #[serde(default)]
        retry: u32,
        /// The model that is asked for.
        model: Option<String>,
        /// The agent that works, in a run with several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The model that the strategy would have chosen, where the agent's hint or a repeated failure
        /// chose another.
        overridden: Option<String>,
        /// How often the task failed in the same way, where that chose the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised: Option<u32>,
        /// The state of the model strategy after this choice.
        models: ModelState,
    },
    /// The session's process runs, or the verifier's.
    SessionStarted {
        slot: SlotId,
        /// Where its raw output goes.
        log: String,
    },
    /// The session has a message of the user: in its prompt, or while it ran, which its agent confirmed.
    MessageGiven {
        slot: SlotId,
        task: TaskId,
        message: UserMessage,
        /// While it ran.
        live: bool,
    },
    /// The worktree still has finished work of an earlier attempt: it can land without another session.
    WorkFound {
        slot: SlotId,
        /// The task, with the attempt that did the work.
        task: TaskBrief,
    },
    /// The session ended and so did all its processes.
    SessionEnded {
        slot: SlotId,
        /// All about it.
        report: SessionReport,
    },
    /// The tree to be judged was written.
    CandidateMade {
        slot: SlotId,
        tree: String,
        /// It differs from the last accepted tree.
        changed: bool,
        /// Only the plan file differs.
        #[serde(default)]
        plan_only: bool,
        /// The files that differ, the first of them.
        files: Vec<String>,
        file_count: u32,
    },
    /// The agent or the plan says that the plan is done.
    MarkerFound {
        /// The words of the agent or the plan.
        marker: String,
    },
    /// A gate runs on the tree.
    GateStarted {
        slot: SlotId,
        gate: String,
        /// After so many milliseconds it has failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// The slot does something else that may take a while.
    StepStarted {
        slot: SlotId,
        step: SlotStep,
        /// After so many milliseconds it has failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// The gates have judged the tree.
    Judged {
        slot: SlotId,
        tree: String,
        /// The result of each gate, in order; empty when there are none.
        gates: Vec<GateReport>,
        /// All passed.
        green: bool,
        /// Why the change is risky, where risky work waits for the user.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        risks: Vec<Risk>,
    },
    /// The user approved this very tree: what the gates said about it then still counts, and it lands.
    Approved {
        slot: SlotId,
        tree: String,
        /// What the gates and the verifier said about it.
        gates: Vec<GateReport>,
    },
    /// The verifier is being started on the tree.
    Verifying {
        slot: SlotId,
        agent: String,
        /// The model that is asked for.
        model: Option<String>,
    },
    Verified {
        slot: SlotId,
        /// All about it.
        report: VerifierReport,
    },
    /// There will be no verdict: the verifier could not run.
    Unverified {
        slot: SlotId,
        /// The class that the attempt gets for it.
        class: Class,
        detail: String,
    },
    /// The work passed every check and waits for its turn to land.
    Queued {
        slot: SlotId,
    },
    /// Its turn has come: it is being rebased onto work that has landed.
    Integrating {
        slot: SlotId,
    },
    /// It was rebased onto work that has landed, or could not be.
    Integrated {
        slot: SlotId,
        /// The newest commit that has landed.
        onto: Option<String>,
        /// The tree that would land.
        tree: String,
        #[serde(flatten)]
        landing: Landing,
    },
    /// The branch moved meanwhile, or a git hook changed what was to be committed: ralph writes the tree
    /// again and runs the gates on it again.
    HeadMoved {
        slot: SlotId,
    },
    /// A commit hook rejected work that had passed the gates: the attempt counts as red.
    HookRefused {
        slot: SlotId,
        gate: GateReport,
    },
    /// The results of the iteration's tasks are decided and are being recorded.
    Settling {
        slot: SlotId,
        class: Class,
    },
    /// The result of a task is in the task database.
    TaskSettled {
        slot: SlotId,
        task: TaskId,
        title: String,
        /// How the attempt ended.
        class: Class,
        status: Status,
        /// The reason in words; may be empty.
        reason: String,
        /// How many retries it has used.
        retry_count: u32,
    },
    /// The agent asked the user.
    QuestionAsked {
        task: TaskId,
        question: QuestionId,
        text: String,
    },
    /// A commit is on the branch: the loop's own, or one of the agent's that was accepted.
    Committed {
        slot: SlotId,
        commit: String,
        /// Its first line.
        subject: String,
    },
    /// Unfinished work was saved.
    WorkSaved {
        task: TaskId,
        name: String,
    },
    /// Files of a task that ralph gave up on were reverted.
    WorkPutBack {
        task: TaskId,
        /// How many files.
        paths: u32,
    },
    IterationEnded {
        slot: SlotId,
        iteration: u32,
        class: Class,
        /// The detail in words; may be empty.
        detail: String,
        /// The branch's newest commit.
        head: Option<String>,
        /// The tree that it left.
        tree: String,
        /// That tree is the new last accepted tree.
        settled: bool,
        /// The iteration is retried under the same number.
        #[serde(default)]
        again: bool,
        /// How long it took, from the claim to the recorded result.
        duration_ms: u64,
    },
    /// An agent met a limit that lasts. Its session does not count, and the other agents of the run go on.
    AgentLimited {
        slot: SlotId,
        agent: String,
        #[serde(flatten)]
        limit: AgentLimit,
    },
    /// From now on another agent works: the one before met a limit, or the limit of a preferred one is over.
    AgentSwitched {
        slot: SlotId,
        from: String,
        to: String,
        /// The limit of the one before; `None` when a preferred agent works again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<AgentLimit>,
    },
    /// The slot starts nothing for a while.
    WaitStarted {
        slot: SlotId,
        #[serde(flatten)]
        wait: Wait,
        /// Until when, if that is known.
        #[serde(with = "millis::option")]
        until: Option<Timestamp>,
    },
    /// The wait is over.
    WaitEnded {
        slot: SlotId,
    },
    /// The user sent a control.
    ControlReceived {
        control: Control,
    },
    /// Another agent claimed the task while its session ran.
    ClaimLost {
        slot: SlotId,
        task: TaskId,
    },
    /// The task database, git or a file failed.
    PortFailed {
        /// The slot that waits for it.
        slot: SlotId,
        port: Port,
        error: String,
        /// How many failures in a row.
        streak: u32,
    },
    /// An input arrived that the phase of its slot does not expect. It is ignored.
    Anomaly {
        input: String,
        phase: String,
    },
    /// The run is going to stop and starts nothing new.
    StopDecided {
        reason: super::outcome::StopReason,
    },
    RunEnded {
        outcome: Outcome,
    },
    /// The branch of the complete run is being published.
    Publishing,
    /// Publishing has ended, with success or not.
    Published {
        #[serde(flatten)]
        publication: Publication,
    },
    /// ralph watches the pull request for failed checks and comments.
    Watching {
        page: String,
        /// The end of watching.
        #[serde(with = "millis")]
        until: Timestamp,
    },
    /// Watching has ended for now. If it led to new tasks, the run continues.
    Reviewed {
        #[serde(flatten)]
        review: Review,
    },
    /// A line written by a newer version of ralph.
    #[serde(other)]
    Unknown,
}
