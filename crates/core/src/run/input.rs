//! What the loop is told: answers to its effects, the clock, and people.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::control::Control;
use super::fact::LeftTask;
use super::landing::Landing;
use super::merging::NeedsMerge;
use super::notice::Notice;
use super::outcome::Planned;
use super::publish::Publication;
use super::report::{About, GateReport, SessionReport, TaskBrief};
use super::review::Review;
use super::verifier::VerifierReport;
use crate::ids::{AgentId, QuestionId, TaskId};
use crate::task::{Counts, Status};
use crate::time::Timestamp;

/// A thing of ours that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Port {
    /// The task store.
    Store,
    /// Git.
    Git,
    /// Preparing the prompt: templates and files.
    Prompt,
    /// The disk is nearly full.
    Disk,
    /// A gate that cannot run here, whatever a session does.
    Gate,
}

/// How the plan stands, before anything is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// How many tasks stand where, in scope.
    pub counts: Counts,
    /// Tasks that can be claimed now, as far as that was counted.
    pub claimable: u32,
    /// Tasks that others hold.
    pub foreign: u64,
    /// When the first of their leases ends.
    pub next_expiry: Option<Timestamp>,
    /// Claims of dead runs that were given back.
    pub taken_back: Vec<TaskId>,
    /// There is no plan: no file, or nothing in it to work on.
    pub absent: bool,
    /// Which file is there all the same, and why it is no plan.
    pub absent_why: Option<String>,
    /// The tasks of a plan file that wait for the user, each in words.
    pub needs_you: Vec<String>,
    /// Ready tasks that wait until a branch is merged here. They are not among those that can be claimed.
    pub needs_merge: Vec<NeedsMerge>,
    /// The plan itself says that it is done, in these words.
    pub marker: Option<String>,
    /// Millionths of a dollar that were spent today, by all runs; 0 where no budget asks.
    pub day_micro_usd: u64,
    /// Millionths of a dollar that runs have spent which share the budget of this one.
    pub others_micro_usd: u64,
    /// Tokens that they have used.
    pub others_tokens: u64,
    /// The first tasks in scope that failed or wait for you, whichever run left them so.
    pub left: Vec<LeftTask>,
}

/// What became of one task in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    /// The task.
    pub id: TaskId,
    /// What it is now; `None` when the claim was lost and nothing was written.
    pub status: Option<Status>,
    /// How often it came back so far.
    pub retry_count: u32,
    /// The question that was put to a person.
    pub question: Option<QuestionId>,
}

/// A settlement that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The tasks.
    pub tasks: Vec<TaskResult>,
    /// The loop's own commit and its subject.
    pub commit: Option<(String, String)>,
    /// The agent's own commits that are on the branch now, the oldest first, each with its subject.
    pub by_agent: Vec<(String, String)>,
    /// The branch's newest commit now.
    pub head: Option<String>,
    /// Saved work: task and ref.
    pub saved: Option<(TaskId, String)>,
    /// Files that went back.
    pub put_back: u32,
    /// The tree that is there now, without what a person left uncommitted.
    pub tree: String,
    /// How the plan stands now; `None` when it could not be read.
    pub counts: Option<Counts>,
    /// The plan as a planning session left it.
    pub planned: Option<Planned>,
}

/// Something that the loop is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Begin. What was found is told as notices.
    Begin {
        /// All that the first fact tells.
        started: Box<super::Fact>,
        /// What a person should know.
        notices: Vec<Notice>,
    },
    /// The plan was looked at.
    Surveyed {
        /// For this slot.
        slot: SlotId,
        /// What was seen.
        survey: Survey,
    },
    /// A task was claimed.
    Claimed {
        /// By this slot.
        slot: SlotId,
        /// The task.
        task: Box<TaskBrief>,
    },
    /// The agent may choose among so many.
    Peeked {
        /// For this slot.
        slot: SlotId,
        /// How many.
        offered: u32,
        /// What the plan has next.
        about: Option<About>,
    },
    /// Nothing could be claimed.
    NothingToClaim {
        /// By this slot.
        slot: SlotId,
    },
    /// Instead of a session: the worktree holds finished work of the task.
    WorkFound {
        /// Where.
        slot: SlotId,
        /// The task, with the attempt that did the work.
        task: Box<TaskBrief>,
    },
    /// The session's process runs.
    SessionStarted {
        /// Where.
        slot: SlotId,
        /// Where its raw output goes.
        log: String,
    },
    /// The session ended.
    SessionEnded {
        /// Where.
        slot: SlotId,
        /// All about it.
        report: Box<SessionReport>,
    },
    /// The tree was written.
    CandidateMade {
        /// Where.
        slot: SlotId,
        /// The tree.
        tree: String,
        /// The files that differ from the settled tree, the first of them.
        files: Vec<String>,
        /// How many differ.
        file_count: u32,
        /// Nothing differs but the plan file.
        plan_only: bool,
    },
    /// The gates have judged.
    Judged {
        /// Where.
        slot: SlotId,
        /// The tree that they judged.
        tree: String,
        /// What each said.
        gates: Vec<GateReport>,
        /// Work on the tree went on while it was judged, and again: it cannot be judged.
        restless: bool,
        /// The files in which it conflicts with what has landed. Only looked at where it is green and a
        /// verifier is next.
        conflict: Vec<String>,
    },
    /// The verifier's session ended.
    Verified {
        /// Where.
        slot: SlotId,
        /// All about it.
        report: Box<VerifierReport>,
    },
    /// The work was brought onto what has landed, or could not be.
    Integrated {
        /// Where.
        slot: SlotId,
        /// The newest commit that has landed.
        onto: Option<String>,
        /// The tree that would land.
        tree: String,
        /// What came of it.
        landing: Landing,
    },
    /// The settlement was carried out.
    Settled {
        /// Where.
        slot: SlotId,
        /// How.
        settled: Box<Settled>,
    },
    /// Somebody committed since the tree was written: it is no longer what it was judged to be.
    HeadMoved {
        /// Where.
        slot: SlotId,
    },
    /// A commit hook refused the work.
    HookRefused {
        /// Where.
        slot: SlotId,
        /// What it said.
        gate: GateReport,
    },
    /// A claim is gone.
    ClaimLost {
        /// Whose.
        agent: AgentId,
        /// On which task.
        task: TaskId,
    },
    /// An effect failed.
    PortFailed {
        /// The slot that waits for it.
        slot: SlotId,
        /// What failed.
        port: Port,
        /// How.
        error: String,
        /// Trying again is of no use.
        for_good: bool,
    },
    /// A wait is over: the time came, or something changed.
    Woken {
        /// Whose.
        slot: SlotId,
    },
    /// Publishing is over, whatever came of it.
    Published(Publication),
    /// Watching the pull request is over, whatever came of it.
    Reviewed(Review),
    /// The user, by a command.
    Control(Control),
    /// The user, by Ctrl-C.
    CtrlC,
    /// Something that a person should know.
    Notice(Notice),
}

impl Input {
    /// Its name, for anomalies.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Surveyed { .. } => "surveyed",
            Self::Claimed { .. } => "claimed",
            Self::Peeked { .. } => "peeked",
            Self::NothingToClaim { .. } => "nothing_to_claim",
            Self::WorkFound { .. } => "work_found",
            Self::SessionStarted { .. } => "session_started",
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
        }
    }
}
