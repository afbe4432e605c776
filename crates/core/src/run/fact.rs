//! What happened, in the past tense: the lines of the journal. A fact is never taken back.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::class::Class;
use super::control::Control;
use super::input::Port;
use super::landing::Landing;
use super::notice::Notice;
use super::outcome::{Outcome, Planned};
use super::policy::Policy;
use super::publish::Publication;
use super::state::Resume;
use super::verifier::VerifierReport;
use crate::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
use crate::ids::{AgentId, AttemptId, QuestionId, RunId, TaskId};
use crate::policy::strategy::ModelState;
use crate::records::{Spent, Verdict};
use crate::task::{Counts, Generation, Status};
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

/// What the loop needs to know of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskBrief {
    /// Its name.
    pub id: TaskId,
    /// What is to be done.
    pub title: String,
    /// The number of our claim on it.
    pub generation: Generation,
    /// How often it came back.
    pub retry_count: u32,
    /// How often in a row it came back without progress.
    pub returns: u32,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The attempt that a session on it is recorded as.
    pub attempt: AttemptId,
    /// The number of that attempt on this task, from 1.
    pub attempt_number: u32,
    /// Millionths of a dollar that earlier attempts cost, since a person last put it back.
    #[serde(default)]
    pub spent_micro_usd: u64,
    /// How it failed last, where it was judged red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<SameFailure>,
    /// What its last attempt left, where every check passed and the work never got onto the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<FinishedWork>,
    /// Its last sessions, where they ended without a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsignaled: Option<Unsignaled>,
}

/// Work that passed every check and is not on the branch yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedWork {
    /// Its tree.
    pub tree: String,
    /// The verifier was among those that passed it.
    pub verified: bool,
}

impl TaskBrief {
    /// How often in a row it has failed like this, this time counted.
    pub fn times_like(&self, fingerprint: &str) -> u32 {
        let before = self.failed.as_ref().filter(|last| last.fingerprint == fingerprint);
        before.map_or(0, |last| last.times).saturating_add(1)
    }
}

/// A failure that a task came back with, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameFailure {
    /// What makes two failures the same.
    pub fingerprint: String,
    /// How often.
    pub times: u32,
}

/// Sessions on a task in a row that ended without a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsignaled {
    /// How many.
    pub ends: u32,
    /// How many of the last ones left no new tree.
    pub unchanged: u32,
    /// The tree that the last one left.
    pub tree: String,
}

impl Unsignaled {
    /// With one more that left this tree; `changed`: it is not the one that was accepted last.
    pub fn after(before: Option<&Self>, tree: &str, changed: bool) -> Self {
        let is_new = changed && before.is_none_or(|before| before.tree != tree);
        let (ends, unchanged) = before.map_or((0, 0), |before| (before.ends, before.unchanged));
        Self {
            ends: ends.saturating_add(1),
            unchanged: if is_new { 0 } else { unchanged.saturating_add(1) },
            tree: tree.to_owned(),
        }
    }
}

/// What an iteration is about where the agent picks, as far as the plan tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// In a line.
    pub title: String,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The title is that of the first of so many open tasks: the agent may work on another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<u64>,
}

/// What an agent asked for about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum Wish {
    /// Judge it.
    Done {
        /// JSON text that tells what was produced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// Give it up, or try it again.
    Fail {
        /// Why.
        reason: String,
        /// For good. A `fail` by command is another try; the signal is for good.
        for_good: bool,
    },
    /// Said by a hook, not by the agent: the session ends and still holds the task. It counts only where
    /// neither the agent nor the end of the session says anything else.
    Left {
        /// Why.
        reason: String,
    },
    /// Ask a person.
    Ask {
        /// What.
        text: String,
    },
}

/// A request made from inside a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The task it is about.
    pub task: TaskId,
    /// What is wished.
    #[serde(flatten)]
    pub wish: Wish,
}

/// Everything about a session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// How it ended.
    pub end: SessionEnd,
    /// How its process ended.
    pub process: ProcessEnd,
    /// What its final text asks for.
    pub signals: Signals,
    /// What it asked for by command.
    pub requests: Vec<Request>,
    /// The tasks that it held when it ended.
    pub held: Vec<TaskBrief>,
    /// What it wrote into task logs.
    pub notes: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// Processes that it left behind and that were ended.
    pub leftovers: u32,
}

impl SessionReport {
    /// What stands for the session where finished work of an earlier attempt was found.
    pub fn of_found_work(task: &TaskBrief) -> Self {
        Self {
            end: SessionEnd::of(EndClass::Completed, ""),
            process: ProcessEnd::Exited { code: 0 },
            signals: Signals { done: vec![task.id.to_string()], ..Signals::default() },
            requests: vec![],
            held: vec![task.clone()],
            notes: vec![],
            duration_ms: 0,
            leftovers: 0,
        }
    }
}

/// The commit hooks of the repository, as a gate.
pub const COMMIT_HOOK: &str = "commit-hook";

/// The judge of changes to protected files, as it is named in evidence.
pub const PROTECTED: &str = "protected files";

/// What looks whether anything changed, as it is named in evidence.
pub const CHANGES: &str = "changes";

/// What evidence about weakened tests is filed under.
pub const WEAKENED: &str = "weakened tests";

/// What evidence about a missing signal is filed under, and about texts that only look like one.
pub const SIGNAL: &str = "signal";

/// What one gate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// Its name.
    pub name: String,
    /// What it said.
    pub verdict: Verdict,
    /// Its exit code, where it had one.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// The lines that matter.
    pub digest: String,
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
    /// The loop committed.
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
    /// A line of a newer version.
    #[serde(other)]
    Unknown,
}
