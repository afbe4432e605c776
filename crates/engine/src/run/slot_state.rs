//! What a slot carries from one activity of its iteration to the next, besides what the loop decides by.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use ralph_core::plan::Proposals;
use ralph_core::records::FileChange;
use ralph_core::run::{Port, SlotId, TaskBrief};
use ralph_core::task::{Actor, Generation};
use ralph_core::{AgentId, TaskId, Timestamp};

use super::activity::session::OverSession;
use super::ports::Failed;
use super::telling::Got;
use super::workspace::Workspace;
use crate::plan_file::{Requested, SyncedPlan};
use crate::ports::{Candidate, Peek};
use crate::trust::SessionWatch;

/// The state of a slot. The dispatcher keeps it between two activities and hands it to the next one, so that no two
/// activities ever share it.
pub(super) struct SlotState {
    pub(super) id: SlotId,
    /// The id under which it claims.
    pub(super) agent: AgentId,
    /// Where it works: in the user's worktree, or in that of its task.
    workspace: Arc<Workspace>,
    /// The number of its iteration.
    pub(super) iteration: u32,
    /// When its session began.
    pub(super) since: Timestamp,
    /// The task that the loop claimed for its iteration.
    pub(super) task: Option<TaskBrief>,
    /// Its session is over, and the loop does not know yet.
    pub(super) over: Option<Box<OverSession>>,
    /// The messages of the user that its session got.
    pub(super) got: Got,
    /// The tasks that its session turned out to be about.
    pub(super) held: Vec<TaskId>,
    /// The first line of the commit that was made for it before it lands.
    pub(super) subject: Option<String>,
    /// The work of its session is not on its branch, and where it is saved.
    pub(super) off_branch: Option<String>,
    /// The branch that its work goes to is held for it.
    pub(super) holds: bool,
    /// The tree that is being judged.
    pub(super) candidate: Option<Candidate>,
    /// A tree, and the files in which it differs from the accepted one.
    pub(super) changes: Option<(String, Vec<FileChange>)>,
    /// Two trees, the accepted one first, and which tests the second makes weaker, a sentence each.
    pub(super) weakened: Option<([String; 2], Vec<String>)>,
    /// Protected files that it changes.
    pub(super) protected: Vec<String>,
    /// A ready task waits for a merge, as of the last survey.
    pub(super) waits_for_merge: bool,
    /// The look at the plan that its session was shown.
    pub(super) peek: Option<Peek>,
    /// The plan file as it was when the iteration began.
    pub(super) plan: Option<SyncedPlan>,
    /// What was said about lines of the plan file.
    pub(super) warned: HashSet<String>,
    /// What its session asked for by the plan file.
    pub(super) asked: Option<Requested>,
    /// The tasks that its session proposed.
    pub(super) proposals: Option<Proposals>,
    /// The outcome is written to the plan file.
    pub(super) plan_written: bool,
    /// Paths that changed while gates ran and may be the gates' own.
    pub(super) unsure: BTreeSet<String>,
    /// Submodules with work in them that were named.
    pub(super) submodules: Vec<String>,
    /// What the next session has to know about the worktree.
    pub(super) workspace_note: Option<String>,
    /// The deciding files when its session began.
    pub(super) deciding: Option<SessionWatch>,
}

impl SlotState {
    pub(super) fn new(id: SlotId, agent: &AgentId, home: &Arc<Workspace>) -> Box<Self> {
        Box::new(Self {
            id,
            agent: agent.clone(),
            workspace: Arc::clone(home),
            iteration: 0,
            since: Timestamp::default(),
            task: None,
            over: None,
            got: Got::new(),
            held: vec![],
            subject: None,
            off_branch: None,
            holds: false,
            candidate: None,
            changes: None,
            weakened: None,
            protected: vec![],
            waits_for_merge: false,
            peek: None,
            plan: None,
            warned: HashSet::new(),
            asked: None,
            proposals: None,
            plan_written: false,
            unsure: BTreeSet::new(),
            submodules: vec![],
            workspace_note: None,
            deciding: None,
        })
    }

    /// Its next session is about to begin.
    pub(super) fn begin(&mut self, iteration: u32, task: Option<&TaskBrief>, now: Timestamp) {
        self.iteration = iteration;
        self.since = now;
        self.task = task.cloned();
        self.got.clear();
        self.held.clear();
        self.candidate = None;
        self.asked = None;
        self.plan_written = false;
    }

    /// Where it works.
    pub(super) fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&self.workspace)
    }

    /// It goes to work somewhere else.
    pub(super) fn enter(&mut self, workspace: Arc<Workspace>) -> Arc<Workspace> {
        std::mem::replace(&mut self.workspace, workspace)
    }

    /// The slot as the actor of store calls.
    pub(super) fn actor(&self, generation: Generation) -> Actor {
        Actor::Agent(self.agent.clone(), Some(generation))
    }

    /// The task of the iteration, and which attempt on it this is.
    pub(super) fn attempt(&self) -> Option<(TaskId, u32)> {
        self.task.as_ref().map(|task| (task.id.clone(), task.attempt_number))
    }

    /// The tree that is being judged.
    pub(super) fn judged_candidate(&self) -> Result<Candidate, Failed> {
        let none = || Failed::new(Port::Git, "there is no candidate tree", true);
        self.candidate.clone().ok_or_else(none)
    }
}
