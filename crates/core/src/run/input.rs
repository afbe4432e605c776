//! Inputs of the loop: answers to its effects, the clock, and the user.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::approval::ChangeSize;
use super::control::Control;
use super::fact::{LeftTask, SlotStep};
use super::landing::{Conflict, Landing};
use super::merging::NeedsMerge;
use super::notice::Notice;
use super::outcome::Planned;
use super::publish::Publication;
use super::report::{About, SessionReport, TaskBrief};
use super::review::Review;
use super::verifier::VerifierReport;
use crate::ids::{AgentId, QuestionId, TaskId};
use crate::records::{GateReport, UserMessage};
use crate::task::{Counts, Status};
use crate::time::Timestamp;

/// A part of ralph that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Port {
    /// The task database.
    Store,
    Git,
    /// Preparing the prompt: templates and files.
    Prompt,
    /// The disk is nearly full.
    Disk,
    /// A gate that cannot run here, whatever a session does.
    Gate,
}

/// The state of the plan, before a task is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// How many tasks in scope are in each state.
    pub counts: Counts,
    /// Tasks that can be claimed now, as far as that was counted.
    pub claimable: u32,
    /// Tasks that other agents have claimed.
    pub foreign: u64,
    /// When the first of their leases ends.
    pub next_expiry: Option<Timestamp>,
    /// Tasks whose claims by dead runs were released.
    pub taken_back: Vec<TaskId>,
    /// There is no plan: no file, or nothing in it to work on.
    pub absent: bool,
    /// The file that was found, and why it is not a plan.
    pub absent_why: Option<String>,
    /// The tasks of a plan file that wait for the user, each in words.
    pub needs_you: Vec<String>,
    /// Ready tasks that wait until a branch is merged here. `claimable` does not count them.
    pub needs_merge: Vec<NeedsMerge>,
    /// The words with which the plan itself says that it is done.
    pub marker: Option<String>,
    /// Millionths of a dollar that all runs spent today; 0 where no budget needs it.
    pub day_micro_usd: u64,
    /// Millionths of a dollar spent by other runs that share the budget of this one.
    pub others_micro_usd: u64,
    /// Tokens that they have used.
    pub others_tokens: u64,
    /// The first tasks in scope that failed or wait for the user, from this run or an earlier one.
    pub left: Vec<LeftTask>,
    /// A task that can be claimed now, whose finished work the user approved: it comes first.
    pub approved: Option<TaskId>,
}

/// The result of one task in the task database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    pub id: TaskId,
    /// The new status; `None` when the claim was lost and nothing was written.
    pub status: Option<Status>,
    /// How many retries it has used.
    pub retry_count: u32,
    pub question: Option<QuestionId>,
}

/// A settlement that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub tasks: Vec<TaskResult>,
    /// The loop's own commit and its subject.
    pub commit: Option<(String, String)>,
    /// The agent's own commits that are on the branch now, the oldest first, each with its subject.
    pub by_agent: Vec<(String, String)>,
    /// The branch's newest commit now.
    pub head: Option<String>,
    /// Saved work: task and ref.
    pub saved: Option<(TaskId, String)>,
    /// How many files were reverted.
    pub put_back: u32,
    /// The current tree, without the user's uncommitted changes.
    pub tree: String,
    /// The tasks of the plan by state; `None` when the plan could not be read.
    pub counts: Option<Counts>,
    /// The plan that a planning session wrote.
    pub planned: Option<Planned>,
}

/// An input of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The run begins.
    Begin {
        /// The first fact of the run.
        started: Box<super::Fact>,
        notices: Vec<Notice>,
    },
    /// The plan was read.
    Surveyed {
        slot: SlotId,
        survey: Survey,
    },
    Claimed {
        slot: SlotId,
        task: Box<TaskBrief>,
    },
    /// Tasks were listed for the agent to pick from.
    Peeked {
        slot: SlotId,
        /// How many tasks.
        offered: u32,
        about: Option<About>,
    },
    /// Nothing could be claimed.
    NothingToClaim {
        slot: SlotId,
    },
    /// Instead of a session: the worktree holds finished work of the task.
    WorkFound {
        slot: SlotId,
        /// The task, with the attempt that did the work.
        task: Box<TaskBrief>,
    },
    /// Instead of a session: the user approved the work of the task, and it cannot be restored as it was.
    WorkMissing {
        slot: SlotId,
        task: TaskId,
        /// Why, in words.
        why: String,
    },
    /// The session's process runs.
    SessionStarted {
        slot: SlotId,
        /// Where its raw output goes.
        log: String,
    },
    /// The session has a message of the user.
    MessageGiven {
        slot: SlotId,
        task: TaskId,
        message: UserMessage,
        /// While it ran; otherwise in its prompt.
        live: bool,
    },
    SessionEnded {
        slot: SlotId,
        /// All about it.
        report: Box<SessionReport>,
    },
    /// The tree was written.
    CandidateMade {
        slot: SlotId,
        tree: String,
        /// The first files that differ from the last accepted tree.
        files: Vec<String>,
        file_count: u32,
        /// Nothing differs but the plan file.
        plan_only: bool,
    },
    /// The gates have judged.
    Judged {
        slot: SlotId,
        /// The tree that they judged.
        tree: String,
        gates: Vec<GateReport>,
        /// The files changed while the gates ran, twice: the result does not count.
        tree_changed_while_judging: bool,
        /// It conflicts with work that has landed. Checked only where the gates passed and a verifier is next.
        conflict: Option<Conflict>,
        /// What the change is; empty where approval does not depend on it.
        change: ChangeSize,
    },
    Verified {
        slot: SlotId,
        /// All about it.
        report: Box<VerifierReport>,
    },
    /// The work was rebased onto work that has landed, or could not be.
    Integrated {
        slot: SlotId,
        /// The newest commit that has landed.
        onto: Option<String>,
        /// The tree that would land.
        tree: String,
        landing: Landing,
    },
    /// The task waits for the user.
    Parked {
        slot: SlotId,
    },
    /// The settlement was carried out.
    Settled {
        slot: SlotId,
        settled: Box<Settled>,
    },
    /// The branch moved since the tree was written: the result of the gates is out of date.
    HeadMoved {
        slot: SlotId,
    },
    /// A commit hook rejected the work.
    HookRefused {
        slot: SlotId,
        /// The hook's result, as a gate.
        gate: GateReport,
    },
    ClaimLost {
        /// The agent that had the claim.
        agent: AgentId,
        task: TaskId,
    },
    /// An effect failed.
    PortFailed {
        /// The slot that waits for it.
        slot: SlotId,
        port: Port,
        error: String,
        /// Retrying cannot help.
        for_good: bool,
    },
    /// A wait is over: the time came, or something changed.
    Woken {
        slot: SlotId,
    },
    /// Publishing has ended, with success or not.
    Published(Publication),
    /// Watching the pull request has ended.
    Reviewed(Review),
    /// The user sent a control.
    Control(Control),
    /// The user pressed Ctrl-C.
    CtrlC,
    /// Something that the user should know.
    Notice(Notice),
    /// A gate runs; shown, and nothing else.
    GateStarted {
        slot: SlotId,
        gate: String,
        timeout_ms: Option<u64>,
    },
    /// Something that may take a while has begun; shown, and nothing else.
    StepStarted {
        slot: SlotId,
        step: SlotStep,
        timeout_ms: Option<u64>,
    },
}

impl Input {
    /// The slot whose effect it answers.
    pub const fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Surveyed { slot, .. }
            | Self::Claimed { slot, .. }
            | Self::Peeked { slot, .. }
            | Self::NothingToClaim { slot }
            | Self::Parked { slot }
            | Self::WorkFound { slot, .. }
            | Self::WorkMissing { slot, .. }
            | Self::SessionStarted { slot, .. }
            | Self::MessageGiven { slot, .. }
            | Self::SessionEnded { slot, .. }
            | Self::CandidateMade { slot, .. }
            | Self::Judged { slot, .. }
            | Self::Verified { slot, .. }
            | Self::Integrated { slot, .. }
            | Self::Settled { slot, .. }
            | Self::HeadMoved { slot }
            | Self::HookRefused { slot, .. }
            | Self::PortFailed { slot, .. }
            | Self::Woken { slot }
            | Self::GateStarted { slot, .. }
            | Self::StepStarted { slot, .. } => Some(*slot),
            Self::Begin { .. }
            | Self::ClaimLost { .. }
            | Self::Published(_)
            | Self::Reviewed(_)
            | Self::Control(_)
            | Self::CtrlC
            | Self::Notice(_) => None,
        }
    }

    /// Its name, for anomalies.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Surveyed { .. } => "surveyed",
            Self::Claimed { .. } => "claimed",
            Self::Peeked { .. } => "peeked",
            Self::NothingToClaim { .. } => "nothing_to_claim",
            Self::Parked { .. } => "parked",
            Self::WorkFound { .. } => "work_found",
            Self::WorkMissing { .. } => "work_missing",
            Self::SessionStarted { .. } => "session_started",
            Self::MessageGiven { .. } => "message_given",
            Self::SessionEnded { .. } => "session_ended",
            Self::CandidateMade { .. } => "candidate_made",
            Self::Judged { .. } => "judged",
            Self::Verified { .. } => "verified",
            Self::Integrated { .. } => "integrated",
            Self::Settled { .. } => "settled",
            Self::HeadMoved { .. } => "head_moved",
            Self::HookRefused { .. } => "hook_refused",
            Self::ClaimLost { .. } => "claim_lost",
            Self::PortFailed { .. } => "port_failed",
            Self::Woken { .. } => "woken",
            Self::Published(_) => "published",
            Self::Reviewed(_) => "reviewed",
            Self::Control(_) => "control",
            Self::CtrlC => "ctrl_c",
            Self::Notice(_) => "notice",
            Self::GateStarted { .. } => "gate_started",
            Self::StepStarted { .. } => "step_started",
        }
    }
}
