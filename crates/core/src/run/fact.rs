//! What happened, in the past tense: the lines of the journal. A fact is never taken back.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::class::Class;
use super::control::Control;
use super::input::Port;
use super::landing::Landing;
use super::merging::NeedsMerge;
use super::notice::Notice;
use super::outcome::{Outcome, Planned};
use super::policy::Policy;
use super::publish::Publication;
use super::report::{About, GateReport, SessionReport, TaskBrief};
use super::review::Review;
use super::state::Resume;
use super::verifier::VerifierReport;
use crate::ids::{AgentId, QuestionId, RunId, TaskId};
use crate::policy::strategy::ModelState;
use crate::records::Spent;
use crate::task::{Counts, Status};
use crate::time::{Timestamp, millis};

/// A fact with its place and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The version of the format.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    /// When.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

impl RunEvent {
    /// The version that this program writes.
    pub const VERSION: u32 = 1;
}

/// A task that the loop will not take up by itself: it failed, or it waits for you.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftTask {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// `failed` or `waiting`.
    pub status: Status,
    /// Why; may be empty.
    pub reason: String,
}

/// Why nothing is being started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Wait {
    /// A limit or an outage of the provider.
    Limit {
        /// Which.
        class: Class,
        /// How often in a row.
        streak: u32,
        /// The reset was told; otherwise this is a guess.
        told: bool,
    },
    /// Only tasks of others are left.
    Others {
        /// How many.
        tasks: u64,
    },
    /// A port failed and is tried again.
    Port {
        /// Which.
        port: Port,
    },
    /// A person paused the run.
    Paused,
    /// The disk is nearly full.
    DiskLow,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// A run began.
    RunStarted {
        /// How it behaves.
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
        /// The level of the box.
        level: String,
        /// The commit that it started from.
        head: Option<String>,
        /// The branch that it works on, where that is not the one that is checked out in the main worktree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// The tree that counts as settled.
        settled_tree: String,
        /// An interrupted run that this one goes on with.
        resumed: Option<Box<Resume>>,
        /// What earlier runs spent, to tell what this one will take.
        #[serde(default)]
        earlier: Spent,
    },
    /// A person should know.
    Noticed {
        /// What.
        #[serde(flatten)]
        notice: Notice,
    },
    /// The plan was counted.
    PlanCounted {
        /// How many tasks stand where.
        counts: Counts,
    },
    /// The tasks in scope that failed or wait for you, whichever run left them so.
    TasksLeft {
        /// The first of them.
        tasks: Vec<LeftTask>,
    },
    /// Ready tasks that wait until you merge a branch. Written when the list changes.
    MergesNeeded {
        /// Each, and the branch.
        tasks: Vec<NeedsMerge>,
    },
    /// A planning session left this plan.
    PlanWritten {
        /// What it has.
        #[serde(flatten)]
        planned: Planned,
    },
    /// A slot looks for work.
    Surveying {
        /// Which.
        slot: SlotId,
    },
    /// A slot tries to claim, or peeks.
    Claiming {
        /// Which.
        slot: SlotId,
    },
    /// There was nothing to claim after all; somebody was faster.
    ClaimMissed {
        /// Which slot.
        slot: SlotId,
    },
    /// A slot has nothing to do for now.
    SlotFreed {
        /// Which.
        slot: SlotId,
    },
    /// An iteration began. Its session is being started.
    IterationStarted {
        /// Where.
        slot: SlotId,
        /// Its number.
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
        /// What the strategy would have chosen, where a hint of the agent or a failure that repeats
        /// itself chose another.
        overridden: Option<String>,
        /// How often the task failed in the same way, where that chose the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised: Option<u32>,
        /// Where the choice of models stands after this.
        models: ModelState,
    },
    /// The session's process runs, or the verifier's.
    SessionStarted {
        /// Where.
        slot: SlotId,
        /// Where its raw output goes.
        log: String,
    },
    /// Finished work of an earlier attempt is still there: no session is needed to get it onto the branch.
    WorkFound {
        /// Where.
        slot: SlotId,
        /// The task, with the attempt that did the work.
        task: TaskBrief,
    },
    /// The session ended and so did all its processes.
    SessionEnded {
        /// Where.
        slot: SlotId,
        /// All about it.
        report: SessionReport,
    },
    /// The tree to be judged was written.
    CandidateMade {
        /// Where.
        slot: SlotId,
        /// The tree.
        tree: String,
        /// It differs from the tree that was settled last.
        changed: bool,
        /// It differs in nothing but the plan file.
        #[serde(default)]
        plan_only: bool,
        /// The files that differ, the first of them.
        files: Vec<String>,
        /// How many differ.
        file_count: u32,
    },
    /// The agent or the plan says that the plan is done.
    MarkerFound {
        /// In these words.
        marker: String,
    },
    /// The gates have judged the tree.
    Judged {
        /// Where.
        slot: SlotId,
        /// The tree.
        tree: String,
        /// What each said, in order; empty when there are none.
        gates: Vec<GateReport>,
        /// All were green.
        green: bool,
    },
    /// The verifier is being started on the tree.
    Verifying {
        /// Where.
        slot: SlotId,
        /// Its agent.
        agent: String,
        /// The model that is asked for.
        model: Option<String>,
    },
    /// The verifier's session ended.
    Verified {
        /// Where.
        slot: SlotId,
        /// All about it.
        report: VerifierReport,
    },
    /// There will be no verdict: the verifier cannot look, or may not.
    Unverified {
        /// Where.
        slot: SlotId,
        /// What becomes of the work for it.
        class: Class,
        /// Why, in words.
        detail: String,
    },
    /// The work is good. It waits for its turn to go onto the branch of the run.
    Queued {
        /// Where.
        slot: SlotId,
    },
    /// Its turn has come: it is being brought onto what has landed.
    Integrating {
        /// Where.
        slot: SlotId,
    },
    /// It was brought onto what has landed, or could not be.
    Integrated {
        /// Where.
        slot: SlotId,
        /// The newest commit that has landed.
        onto: Option<String>,
        /// The tree that would land.
        tree: String,
        /// What came of it.
        #[serde(flatten)]
        landing: Landing,
    },
    /// Somebody committed meanwhile, or a git hook changed what was to be committed: the tree is written
    /// and judged once more.
    HeadMoved {
        /// Where.
        slot: SlotId,
    },
    /// A commit hook refused work that the gates had passed: it is red after all.
    HookRefused {
        /// Where.
        slot: SlotId,
        /// What the hook said.
        gate: GateReport,
    },
    /// What becomes of the iteration's tasks was decided; it is being carried out.
    Settling {
        /// Where.
        slot: SlotId,
        /// The class of the iteration.
        class: Class,
    },
    /// A task has its outcome in the store.
    TaskSettled {
        /// Where.
        slot: SlotId,
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
        /// Why.
        class: Class,
        /// What it is now.
        status: Status,
        /// In words; may be empty.
        reason: String,
        /// How often it came back so far.
        retry_count: u32,
    },
    /// A person was asked.
    QuestionAsked {
        /// The task that waits.
        task: TaskId,
        /// The question's name.
        question: QuestionId,
        /// What was asked.
        text: String,
    },
    /// A commit is on the branch: the loop's own, or one of the agent's that was accepted.
    Committed {
        /// Where.
        slot: SlotId,
        /// The commit.
        commit: String,
        /// Its first line.
        subject: String,
    },
    /// Unfinished work was saved.
    WorkSaved {
        /// The task.
        task: TaskId,
        /// The ref.
        name: String,
    },
    /// Files went back to what they were.
    WorkPutBack {
        /// The task that was given up.
        task: TaskId,
        /// How many.
        paths: u32,
    },
    /// An iteration ended.
    IterationEnded {
        /// Where.
        slot: SlotId,
        /// Its number.
        iteration: u32,
        /// How.
        class: Class,
        /// In words; may be empty.
        detail: String,
        /// The branch's newest commit.
        head: Option<String>,
        /// The tree that it left.
        tree: String,
        /// That tree counts as settled: what comes later is compared with it.
        settled: bool,
        /// The iteration is tried once more under its number.
        #[serde(default)]
        again: bool,
        /// How long it took, from claim to settled.
        duration_ms: u64,
    },
    /// Nothing is started for a while.
    WaitStarted {
        /// Where.
        slot: SlotId,
        /// Why.
        #[serde(flatten)]
        wait: Wait,
        /// Until when, if that is known.
        #[serde(with = "millis::option")]
        until: Option<Timestamp>,
    },
    /// The wait is over.
    WaitEnded {
        /// Where.
        slot: SlotId,
    },
    /// A person told the loop something.
    ControlReceived {
        /// What.
        control: Control,
    },
    /// A claim went to somebody else while its session ran.
    ClaimLost {
        /// Where.
        slot: SlotId,
        /// The task.
        task: TaskId,
    },
    /// Store, git or a file failed.
    PortFailed {
        /// Where, if a slot waits for it.
        slot: SlotId,
        /// What failed.
        port: Port,
        /// How, in a sentence.
        error: String,
        /// How often in a row.
        streak: u32,
    },
    /// Something arrived that does not fit. It is ignored.
    Anomaly {
        /// What arrived.
        input: String,
        /// Where things stood.
        phase: String,
    },
    /// The run is going to stop; nothing is started any more.
    StopDecided {
        /// Why.
        reason: super::outcome::StopReason,
    },
    /// The run has ended.
    RunEnded {
        /// How.
        outcome: Outcome,
    },
    /// The branch of the complete run is being published.
    Publishing,
    /// That is over, whatever came of it.
    Published {
        /// What came of it.
        #[serde(flatten)]
        publication: Publication,
    },
    /// The pull request is watched for failed checks and comments.
    Watching {
        /// Its page.
        page: String,
        /// Until when at most.
        #[serde(with = "millis")]
        until: Timestamp,
    },
    /// That is over for now. Where it led to work, the run goes on.
    Reviewed {
        /// What came of it.
        #[serde(flatten)]
        review: Review,
    },
    /// A line of a newer version.
    #[serde(other)]
    Unknown,
}
