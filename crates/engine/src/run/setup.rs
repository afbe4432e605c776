//! Everything that a run needs, assembled by its caller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::AgentId;
use ralph_core::Lease;
use ralph_core::ids::RunId;
use ralph_core::redact::Secrets;
use ralph_core::run::{Notice, Policy, Resume};

use crate::agents::command::CommandAgent;
use crate::agents::{Driver, Profile, SessionSpec};
use crate::entropy::Ids;
use crate::gates::inputs::GateInputs;
use crate::gates::{GateRules, GateSpec};
use crate::plan_file::PlanFile;
use crate::ports::{Clock, KeepSaves, Peek, Scope, Store, Vcs};
use crate::process::{CommandSpec, Watch};
use crate::project::Project;
use crate::prompts::prompting::Prompting;
use crate::publishing::PublishSetup;
use crate::run::activity::integrate::WorktreePool;
use crate::run::checks::deliverable::Deliverable;
use crate::run::shared_budget::SharedBudget;
use crate::run_files::state_file::{Record, Request};
use crate::run_files::{RunLogs, WorktreeLock};
use crate::sandbox::{AgentState, Programs, Sandbox};
use crate::socket::SessionRequestHandler;
use crate::trust::Deciding;

/// How the prompt reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptStyle {
    /// Rules as the system prompt, the task in a file.
    System,
    /// Rules as the system prompt; the plan file and the task in a file.
    Progress,
    /// Rules and task as one text, on its standard input.
    Stdin,
    /// The skill's name and the look at the plan, as an argument.
    Peek,
    /// The whole prompt on its standard input.
    Whole,
}

/// Makes a text of a look at the plan, as `ralph task peek` prints it.
pub type PeekText = Arc<dyn Fn(&Peek) -> String + Send + Sync>;

/// Opens the store once more, for another thread.
pub type OpenStore =
    Arc<dyn Fn() -> Result<Box<dyn Store>, crate::ports::StoreError> + Send + Sync>;

/// An agent to start.
pub struct AgentProgram {
    /// Its profile.
    pub agent: &'static Profile,
    /// Its program.
    pub executable: OsString,
    /// Its extra arguments.
    pub extra_args: Vec<String>,
    /// What `script` plays.
    pub cassette: Option<PathBuf>,
    /// What the user's config says about it; `None` for a built-in agent.
    pub made: Option<Arc<CommandAgent>>,
}

impl AgentProgram {
    /// The call of a session.
    pub fn command(&self, spec: &SessionSpec) -> CommandSpec {
        match &self.made {
            Some(made) => made.command(spec),
            None => (self.agent.command)(spec),
        }
    }

    /// The other side of its session.
    pub fn driver(&self, spec: &SessionSpec) -> Box<dyn Driver> {
        match &self.made {
            Some(made) => made.driver(),
            None => (self.agent.driver)(Some(spec)),
        }
    }

    /// The folders of its files, and the hosts that it needs.
    pub fn states(&self) -> impl Iterator<Item = AgentState> {
        let made = self.made.iter().flat_map(|made| made.state.clone());
        self.agent.state.iter().copied().chain(made)
    }
}

impl Setup {
    /// What gates and setup commands find in their environment.
    pub fn judge_environment(&self) -> &[(OsString, OsString)] {
        match self.sandbox.holds() {
            true => &self.gates.sandboxed_environment,
            false => &self.gates.environment,
        }
    }

    /// What decides beside a tree of this worktree how its files look to gates.
    pub(super) fn gate_inputs(&self, project: &Project, vcs: &dyn Vcs) -> GateInputs {
        GateInputs::of(&self.gates.rules, &self.agent.environment, project, vcs)
    }

    /// How the store names the branch of a plan that is worked on here; `None` for other runs.
    pub(super) fn branch_key(&self) -> Option<String> {
        self.work.plan.as_ref().filter(|plan| plan.lane().is_some()).map(PlanFile::key)
    }
}

/// Everything that a run needs.
pub struct Setup {
    pub run: RunId,
    /// The id of each slot.
    pub agent_ids: Vec<AgentId>,
    pub policy: Policy,
    /// The run that it continues with.
    pub resume: Option<Resume>,
    /// It begins paused, until you resume it.
    pub paused: bool,
    /// What was found before the run began.
    pub notices: Vec<Notice>,
    /// What it spends together with others; `None` for a run on its own.
    pub shared_budget: Option<SharedBudget>,
    /// Where its branch goes; `None` is nowhere.
    pub publish: Option<PublishSetup>,
    pub work: WorkSetup,
    pub agent: AgentSetup,
    pub gates: GateSetup,
    /// The sandbox around both.
    pub sandbox: Arc<Sandbox>,
    /// What the run reads and writes.
    pub files: FileSetup,
    /// What it reaches the world by.
    pub ports: PortSetup,
}

/// What is worked on, and where.
pub struct WorkSetup {
    pub scope: Scope,
    /// Which tasks, in words.
    pub target: String,
    /// The plan file that holds the tasks; `None` where the task database does.
    pub plan: Option<PlanFile>,
    /// What the sessions are to leave, where the run is not work on tasks.
    pub deliverable: Option<Deliverable>,
    /// The subject of every iteration, where neither plan nor task database gives one.
    pub about: Option<String>,
    pub folder: PathBuf,
    /// How many attempts a progress file keeps.
    pub recent_attempts: usize,
    /// What worktrees of the tasks need; `None` where sessions work in place.
    pub pool: Option<WorktreePool>,
    /// Worktrees that an earlier run left to its tasks, where this one works in place: those of tasks that are
    /// finished by its end are removed.
    pub earlier: Option<WorktreePool>,
    /// How long saved work of finished tasks is kept.
    pub keep_saves: KeepSaves,
}

/// Who works, and how sessions are started.
pub struct AgentSetup {
    /// The preferred agent.
    pub program: AgentProgram,
    /// The agents that work while it is at a limit, in the order of the policy.
    pub fallback: Vec<AgentProgram>,
    /// The tools that the settings let it use; none is the usual ones.
    pub tools: Vec<String>,
    /// The environment of sessions, without what the loop adds.
    pub environment: Vec<(OsString, OsString)>,
    /// When a session is stopped.
    pub watch: Watch,
    /// How the prompt reaches the agent.
    pub style: PromptStyle,
    /// What the prompt says.
    pub prompting: Prompting,
}

impl AgentSetup {
    /// The agent with this place in the order of the run, 0 for the preferred one.
    pub fn program_of(&self, agent: usize) -> &AgentProgram {
        let fallback = agent.checked_sub(1).and_then(|place| self.fallback.get(place));
        fallback.unwrap_or(&self.program)
    }
}

/// What judges the work.
pub struct GateSetup {
    /// The gates, in the order in which they run.
    pub specs: Vec<GateSpec>,
    /// How they judge.
    pub rules: GateRules,
    /// Their environment without a sandbox, and that of what acts for the user.
    pub environment: Vec<(OsString, OsString)>,
    /// Their environment in a sandbox: no login is in it.
    pub sandboxed_environment: Vec<(OsString, OsString)>,
    /// Who verifies what the gates let through; `None`: without a verifier.
    pub verifier: Option<AgentProgram>,
}

/// What the run reads and writes.
pub struct FileSetup {
    pub project: Project,
    /// The lock on the worktree, held until the run ends.
    pub lock: WorktreeLock,
    /// The files of the run.
    pub logs: RunLogs,
    /// Whether raw agent output is kept.
    pub keep_raw: bool,
    /// Where the record of the run goes.
    pub record: Record,
    /// What was asked for, for that record.
    pub request: Request,
    /// The files that decide what runs, and who wrote them.
    pub deciding: Deciding,
    /// Where sockets are.
    pub runtime: Option<PathBuf>,
    /// Bytes that must be free on the disk before a task is claimed.
    pub disk_floor: u64,
    /// What must not be written down or shown.
    pub secrets: Secrets,
}

/// What the run reaches the world by.
pub struct PortSetup {
    /// Opens the task database.
    pub open_store: OpenStore,
    /// Where the task database is, to notice changes by others.
    pub store_path: PathBuf,
    /// How long a claim holds without being renewed.
    pub lease: Lease,
    pub clock: Arc<dyn Clock>,
    /// Runs sessions and gates.
    pub programs: Arc<dyn Programs>,
    pub vcs: Arc<dyn Vcs>,
    /// Who answers requests from inside sessions.
    pub handler: Arc<dyn SessionRequestHandler>,
    /// Makes the text of a look at the plan.
    pub peek_text: PeekText,
    /// Names for new things.
    pub ids: Ids,
    pub ralph: PathBuf,
}
