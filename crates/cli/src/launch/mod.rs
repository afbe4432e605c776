//! Starts a run: turns settings and arguments into a `Setup`, chooses the displays, and turns the outcome into an
//! exit code.
//!
//! | file | owns |
//! |---|---|
//! | `policy` | one `Policy` from preset, settings and options |
//! | `agent` | the agent's program, and the environment of sessions and gates |
//! | `own` | agents that the user's config describes |
//! | `command` | the name of the command that failed |
//! | `sandbox` | the sandbox of the run |
//! | `folders` | the lock of a run, and the removal of expired logs |
//! | `gates` | which gates the run uses |
//! | `prompt` | template, feature texts, skills |
//! | `publish` | where the branch of a run goes |
//! | `resume` | what a run takes over from an interrupted one, and what remains of its limits |
//! | `source` | the plan file or the store, and the preset for it |
//! | `suggest` | plans and task lists under usual names, which ralph only suggests |
//! | `feature` | runs for the texts and the tasks of a feature |
//! | `worktrees` | the worktrees of tasks that run in parallel |
//! | `display` | the displays of the run |
//! | `misfits` | settings that do not fit a kind of run |
//! | `notify` | the notification channels |
//! | `lanes` | a run for each branch of a plan, in parallel |
//! | `dry` | `--dry-run` |

mod agent;
mod command;
mod dependencies;
mod display;
mod dry;
mod feature;
mod folders;
mod gates;
mod lanes;
mod misfits;
mod notify;
pub(crate) mod own;
mod policy;
mod prompt;
pub(crate) mod publish;
mod resume;
mod sandbox;
mod source;
pub(crate) mod suggest;
mod worktrees;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::glob::Patterns;
use ralph_core::run::{Notice, Outcome, Picker, Policy, Resume};
use ralph_core::{FeatureName, Lease, TaskId};
use ralph_engine::clock;
use ralph_engine::crash;
use ralph_engine::git::check_version;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::{KeepSaves, Peek, Scope, Store};
use ralph_engine::process::Watch;
use ralph_engine::process::room_for_files;
use ralph_engine::project::Project;
use ralph_engine::quota::OPEN_FILES;
use ralph_engine::run::{
    self, AgentProgram, AgentSetup, FileSetup, GateSetup, PortSetup, PromptStyle, Setup, WorkSetup,
};
use ralph_engine::run_files::{RunLogs, WorktreeLock};
use ralph_engine::store::SqliteStore;
use ralph_engine::vcs::GitVcs;
use ralph_ui::plain::Conversation;
use ralph_ui::tasks::{self, Kv};

use crate::config::{Config, Preset, key};
use crate::error::{CliError, Done, Result, known_feature, with_store};
use crate::patience::UntilBegun;
use crate::trust;
use crate::wiring::Context;

use agent::agent_for;
pub(crate) use agent::{Lacking, agent_profile, agent_program, named_agents, own_program, secrets};
use command::{git_failed, run_error};
pub(crate) use display::{DisplayKind, options as display_options, shown as chosen_display};
pub(crate) use feature::{FeatureStep, FeatureWork};
use folders::{lock, tidy};
pub(crate) use notify::wished as wished_notifiers;
pub(crate) use policy::sessions_for_texts;
pub(crate) use prompt::BUILD_SKILL;
pub(crate) use resume::{Interrupted, record as run_record, was_planning};
pub(crate) use sandbox::{
    cache_folder, offer as sandbox_offer, sandbox_config, wanted as wanted_level,
};
use source::Source;

pub(crate) use gates::{ActiveGate, Missing, active_gates, trial as gate_trial};
pub(crate) use source::{plan_file_done, preset_here};

/// Bytes that must be free before a task is claimed.
pub(crate) const DISK_FLOOR: u64 = 64 << 20;
/// The timeout of a gate that does not set one.
pub(crate) const GATE_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Target {
    #[default]
    All,
    Feature(FeatureName),
    Task(TaskId),
}

impl Target {
    /// The name of the feature, and the id of the task.
    fn names(&self) -> (Option<String>, Option<String>) {
        match self {
            Self::All => (None, None),
            Self::Feature(name) => (Some(name.to_string()), None),
            Self::Task(id) => (None, Some(id.to_string())),
        }
    }

    pub(crate) fn words(&self) -> String {
        match self {
            Self::All => "all tasks".to_owned(),
            Self::Feature(name) => format!("feature {name}"),
            Self::Task(id) => format!("task {id}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Build,
    Plan,
    /// One session with this prompt.
    Prompt(PathBuf),
    Feature(FeatureWork),
}

impl Mode {
    fn name(&self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Plan => "plan",
            Self::Prompt(_) => "prompt",
            Self::Feature(work) => work.mode(),
        }
    }
}

/// What the command line asks for that is not a setting. Flags that mean a setting are a layer of the config.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    pub(crate) mode: Mode,
    pub(crate) plan: Option<PathBuf>,
    /// What to plan, in the user's words.
    pub(crate) idea: Option<String>,
    pub(crate) target: Target,
    /// The command is `ralph run`, whose target is in the store.
    pub(crate) by_target: bool,
    /// One session, whatever the limit is.
    pub(crate) once: bool,
    /// Start over, whatever was interrupted.
    pub(crate) new: bool,
    pub(crate) interrupted: Option<Box<Interrupted>>,
    /// The command is `ralph loop`, which works on branches.
    pub(crate) branches: bool,
    pub(crate) branch: Option<String>,
    pub(crate) conversation: Option<Conversation>,
}

pub(crate) struct RunLocation {
    pub(crate) project: Project,
    /// The worktree that settings, prompts and gates are read from.
    pub(crate) home: Project,
    /// The branch, if the run is one of several in parallel.
    pub(crate) lane: Option<lanes::Lane>,
}

impl RunLocation {
    /// A run in the worktree of the user.
    fn here(project: Project) -> Self {
        Self { home: project.clone(), project, lane: None }
    }
}

/// A run that is ready to start, except for its lock and its folder.
struct Plan {
    project: Project,
    config: Config,
    preset: &'static Preset,
    plan: Option<PlanFile>,
    policy: Policy,
    resume: Option<Resume>,
    scope: Scope,
    agent: AgentSetup,
    verifier: Option<AgentProgram>,
    gates: Vec<ActiveGate>,
    notices: Vec<Notice>,
}

impl Plan {
    /// Where sessions work: beside a progress file, else at the top of the worktree.
    fn folder(&self) -> PathBuf {
        match &self.plan {
            Some(plan) if self.preset.source == "progress" && self.policy.mode == "build" => {
                plan.folder().to_owned()
            }
            _ => self.project.worktree.clone(),
        }
    }
}

pub(crate) fn launch(options: &RunOptions, context: &mut Context<'_>) -> Done {
    command::named(options, context, |context| {
        let options = &resume::take_up(options, context)?;
        if let Some(plan) = branches(options, context)? {
            arm(context)?;
            let _watched = sandbox::watch(context)?;
            return lanes::launch(options, &plan, context);
        }
        CliError::ended_with(start(options, context)?.code())
    })
}

/// The same, for a command that continues with the outcome. Its own output must not mix with the printed events of the
/// run.
pub(crate) fn run_to_end(options: &RunOptions, context: &mut Context<'_>) -> Result<Outcome> {
    command::named(options, context, |context| start(options, context))
}

fn arm(context: &mut Context<'_>) -> Done {
    trust::require(context)?;
    if let Some(by) = context.environment.get("RALPH_TEST_HURRY").and_then(|by| by.parse().ok()) {
        crash::hurry(by);
    }
    match context.environment.get("RALPH_TEST_CRASH") {
        Some(point) if !crash::arm(point) => Err(usage!("{point} is not a point to crash at")),
        _ => Ok(()),
    }
}

/// The plan of a run that works on branches; `None` for any other run, which must then not use options that only
/// branches have.
fn branches(options: &RunOptions, context: &mut Context<'_>) -> Result<Option<PlanFile>> {
    let project = context.project()?;
    let config = context.config()?;
    let plan = source::of_branches(options, &config, &project, &context.folder())?;
    if plan.is_some() {
        return Ok(plan);
    }
    match &options.branch {
        Some(branch) => Err(usage!("--branch {branch} is for a plan with `## Branch:` sections")
            .hint("let the agent write one: ralph loop plan")),
        None => Ok(None),
    }
}

pub(crate) fn dry_run(options: &RunOptions, context: &mut Context<'_>) -> Done {
    command::named(options, context, |context| {
        let options = &resume::take_up(options, context)?;
        if let Some(plan) = branches(options, context)? {
            return lanes::dry_run(options, &plan, context);
        }
        let mut store = context.reader()?;
        let at = RunLocation::here(context.project()?);
        let plan = plan(options, &at, context, store.as_mut())?;
        let (text, code) = dry::text(&plan, options, store.as_mut())?;
        context.out.data(text)?;
        CliError::ended_with(code)
    })
}

fn plan(
    options: &RunOptions,
    at: &RunLocation,
    context: &mut Context<'_>,
    store: &mut dyn Store,
) -> Result<Plan> {
    let project = at.project.clone();
    let config = context.config()?;
    let Source { preset, plan } = match &at.lane {
        Some(lane) => Source { preset: source::named("branches")?, plan: Some(lane.plan.clone()) },
        None => source::choose(options, &config, &project, &context.folder(), store)?,
    };
    source::check_jobs(options, &config, preset)?;
    let scope = scope(&options.target, store)?;
    let found = source::refuse_nothing(options, (preset, plan.as_ref()), &scope, &project, store)?;
    let of_lane = match at.lane {
        Some(_) => resume::of_lane(options, &project, context)?,
        None => None,
    };
    let call = options.interrupted.as_deref();
    let own = if at.lane.is_some() { of_lane.as_ref() } else { call };
    let resume = own.map(Interrupted::resume);
    let role = if options.mode == Mode::Plan { key::AGENT_PLAN } else { key::AGENT_BUILD };
    let (program, mut notices) = agent::find(agent_for(role, &config), &config, context)?;
    let mut fallback = Vec::new();
    // Only building goes on for as long as a limit lasts.
    let stand_in = match options.mode {
        Mode::Build => agent::fallback_of(program.agent.name, &config),
        Mode::Plan | Mode::Prompt(_) | Mode::Feature(_) => vec![],
    };
    for name in stand_in {
        let (found, more) = agent::find(name, &config, context)?;
        fallback.push(found);
        notices.extend(more);
    }
    let mut verifier = None;
    if policy::verifies(options, &config, preset) {
        let found = agent::find(agent_for(key::AGENT_VERIFY, &config), &config, context)?;
        verifier = Some(found.0);
        let known = notices.clone();
        notices.extend(found.1.into_iter().filter(|notice| !known.contains(notice)));
    }
    let roles = (&program, &fallback[..], verifier.as_ref());
    let policy = policy::policy(options, &config, preset, roles, (own, call))?;
    let prompting = prompt::prompting(
        options,
        &config,
        (at, context),
        store,
        &scope,
        (preset, plan.as_ref()),
        &policy,
    )?;
    // Gates check work, not plans or single prompts.
    let gates = match options.mode {
        Mode::Build => active_gates(&at.home, &config, context)?,
        Mode::Plan | Mode::Prompt(_) | Mode::Feature(_) => vec![],
    };
    if gates.is_empty() && options.mode == Mode::Build {
        notices.push(match &verifier {
            None => Notice::Ungated,
            Some(_) => Notice::Other {
                text:
                    "No gates: only the verifier checks the work. Add a [[gate]] to ralph.toml, or \
                       TEST_COMMAND to AGENTS.md"
                        .to_owned(),
            },
        });
    }
    notices.extend(gates::resolve(&gates, &at.project, &config, context.environment)?);
    notices.extend(found);
    notices.extend(prompt::warnings(&project, &prompting));
    let style = style(&policy, preset);
    if options.mode == Mode::Build && style == PromptStyle::Peek {
        notices.extend(prompt::missing_skill(&project, program.agent, context.environment));
    }
    notices.extend(notify::notices(&config, context)?);
    notices.extend(context.take_replaced().into_iter().map(|text| Notice::Other { text }));
    let agent = AgentSetup {
        program,
        fallback,
        tools: config.texts(key::AGENT_ALLOWED_TOOLS),
        environment: agent::environment(context.environment, &config),
        watch: watch(&config, preset),
        style,
        prompting,
    };
    Ok(Plan {
        project,
        config,
        preset,
        plan,
        policy,
        resume,
        scope,
        agent,
        verifier,
        gates,
        notices,
    })
}

/// Runs the loop in this worktree until it ends.
fn start(options: &RunOptions, context: &mut Context<'_>) -> Result<Outcome> {
    let json = display::shown(&context.config()?) == DisplayKind::Json;
    context.out.messages_in_json(json);
    arm(context)?;
    room_for_files(OPEN_FILES).map_err(|most| {
        let few = format!("the limit of open files is {most}, and a run needs {OPEN_FILES}");
        CliError::failed(few).hint(format!("raise the limit: ulimit -n {OPEN_FILES}"))
    })?;
    let _watched = sandbox::watch(context)?;
    let project = context.project()?;
    project.check_ours()?;
    project.exclude_state()?;
    check_version().map_err(git_failed)?;
    let patience = context
        .out
        .patience("preparing the run: task database, sandbox, leftovers of earlier runs");
    let lock = lock(&project)?;
    let at = RunLocation::here(project);
    let (setup, mut displays) = assemble(options, at, lock, context)?;
    displays.screen.insert(0, Box::new(UntilBegun(patience)));
    let ended = run::run(setup, displays.readers()).map_err(run_error)?;
    for note in ended.notes {
        context.out.warning(note);
    }
    context.out.leave_stdout(json);
    Ok(ended.outcome)
}

/// Everything that a run needs, with its displays.
fn assemble(
    options: &RunOptions,
    at: RunLocation,
    lock: WorktreeLock,
    context: &mut Context<'_>,
) -> Result<(Setup, display::Displays)> {
    let mut store = context.store_of_run()?;
    let ready = plan(options, &at, context, store.as_mut())?;
    drop(store);
    let builders = std::iter::once(&ready.agent.program).chain(&ready.agent.fallback);
    let agents: Vec<_> = builders.chain(&ready.verifier).collect();
    let sandboxed = sandbox::of_run(&ready.project, &ready.config, &agents, context)?;
    let folder = ready.folder();
    let hook_environment = agent::gate_environment(context.environment);
    let git_sandbox = sandbox::of_git(&sandboxed.sandbox, context);
    let mut vcs = GitVcs::new(ready.project.clone())?.with_hooks(&hook_environment, GATE_TIMEOUT);
    vcs = vcs.hooks_in(ralph_engine::sandbox::Hooked::of(&sandboxed.sandbox));
    if ready.policy.adds_all() {
        let never = Patterns::read(ready.config.get(key::GIT_NEVER_COMMIT))
            .map_err(|error| failed!("a pattern in git.never_commit is invalid: {error}"))?;
        vcs = vcs.adding_all(never);
    }
    let (_, store_path) = context.store_path()?;
    let logs_folder = ready.project.resolve(ready.config.get(key::LOGS_DIR));
    vcs = vcs.keeping(&[&store_path, &logs_folder]);
    if let Some(git_sandbox) = &git_sandbox {
        vcs = vcs.sandboxed(git_sandbox)?;
    }
    // Checked before the first session, because a failure afterwards would waste it.
    vcs.check_identity().map_err(git_failed)?;
    vcs.check_signing()
        .map_err(|error| git_failed(error).hint("see your keys: gpg --list-secret-keys"))?;
    let (project, config, preset) = (ready.project, ready.config, ready.preset);
    let policy = ready.policy;
    // Parallel runs share these files, and their starter has already cleaned up.
    if at.lane.is_none() {
        tidy(ready.plan.as_ref(), &project, &config)?;
    }
    let logs = RunLogs::create(&logs_folder, clock::now())
        .map_err(|error| CliError::file(&logs_folder, "written", error))?;
    let holds_commits = git_sandbox.is_some();
    let which = (policy.integrates, at.lane.is_none());
    let (pool, earlier) = worktrees::pools(&project, &config, which, git_sandbox, context)?;
    // The commits of sessions are held back in a git directory of their own, or on the branch of a task.
    misfits::approval(&config, &policy, holds_commits || pool.is_some())?;
    let mut ids = context.ids_of(at.lane.as_ref().map_or(0, |lane| lane.number));
    let bad_id = |error| failed!("ralph could not create an id: {error}");
    let run_id = ids.run().map_err(bad_id)?;
    let agent_ids = (0..policy.slots)
        .map(|_| ids.slot_agent())
        .collect::<Result<Vec<_>, _>>()
        .map_err(bad_id)?;
    let screen = (at.lane.as_ref().map(|lane| &lane.display), options.conversation.as_ref());
    let displays = display::displays(&config, &project, &logs, screen, context)?;
    let handler = (context.program.session_handler)(context, project.clone(), config.clone());
    let opened = store_path.clone();
    let source = (preset, ready.plan.as_ref());
    let request = resume::request(options, &config, source, &project, at.lane.as_ref());
    let prompt = match &options.mode {
        Mode::Prompt(path) => Some(path.as_path()),
        Mode::Build | Mode::Plan | Mode::Feature(_) => None,
    };
    let deciding = context.deciding(prompt, &at.home, &config, sandboxed.sandbox.holds())?;
    let state_home = context.environment.state_home.as_deref();
    let publish =
        publish::setup(options, &config, &at.home, &policy, &logs, at.lane.as_ref(), state_home)?;
    let setup = Setup {
        run: run_id,
        agent_ids,
        resume: ready.resume,
        paused: false,
        notices: sandboxed.notices.into_iter().chain(ready.notices).collect(),
        shared_budget: at.lane.as_ref().map(|lane| lane.shared_budget.clone()),
        publish,
        work: WorkSetup {
            target: prompt::target(options, ready.plan.as_ref()),
            about: prompt::about(options, &ready.agent.prompting),
            deliverable: match &options.mode {
                Mode::Feature(work) => Some(work.deliverable(&project)),
                Mode::Build | Mode::Plan | Mode::Prompt(_) => None,
            },
            recent_attempts: usize::try_from(config.get(key::LOOP_RECENT_THREADS))
                .unwrap_or(usize::MAX),
            scope: ready.scope,
            folder,
            earlier,
            keep_saves: KeepSaves {
                age: config.get(key::RECOVER_KEEP),
                size: config.get(key::RECOVER_KEEP_SIZE),
            },
            pool,
            plan: ready.plan,
        },
        agent: ready.agent,
        gates: GateSetup {
            specs: ready.gates.into_iter().map(|gate| gate.spec).collect(),
            rules: gates::rules(&at.home, &config, context)?,
            environment: agent::gate_environment(context.environment),
            sandboxed_environment: agent::sandboxed_environment(context.environment, &config),
            verifier: ready.verifier,
        },
        sandbox: Arc::clone(&sandboxed.sandbox),
        files: FileSetup {
            lock,
            keep_raw: config.get(key::LOGS_RAW),
            record: resume::record(context, &project, options.mode.name()),
            request,
            deciding,
            runtime: context.environment.runtime_dir.clone(),
            disk_floor: DISK_FLOOR,
            secrets: secrets(context.environment, &config),
            logs,
            project,
        },
        ports: PortSetup {
            open_store: Arc::new(move || {
                SqliteStore::open(&opened).map(|store| Box::new(store) as Box<dyn Store>)
            }),
            store_path,
            lease: Lease::DEFAULT,
            clock: Arc::new(clock::SystemClock),
            programs: sandboxed.sandbox,
            vcs: Arc::new(vcs),
            handler,
            peek_text: Arc::new(peek_text),
            ids,
            ralph: own_program(context.environment),
        },
        policy,
    };
    Ok((setup, displays))
}

/// The tasks of the plan as `ralph task peek` prints them.
fn peek_text(peek: &Peek) -> String {
    let open = |task| Kv { task, status: "open", assignee: false, claim: None };
    let active = |task| Kv { task, status: "active", assignee: true, claim: None };
    tasks::markdown_kv(peek.claimable.iter().map(open).chain(peek.claimed.iter().map(active)))
}

/// How the prompt reaches the agent.
fn style(policy: &Policy, preset: &Preset) -> PromptStyle {
    match preset.prompt {
        _ if policy.by_iteration() => PromptStyle::Whole,
        _ if policy.picker == Picker::Agent => PromptStyle::Peek,
        _ if preset.source == "progress" => PromptStyle::Progress,
        "stdin" => PromptStyle::Stdin,
        _ => PromptStyle::System,
    }
}

fn watch(config: &Config, preset: &Preset) -> Watch {
    let set = config.get(key::AGENT_TIMEOUT).flatten();
    Watch {
        timeout: set.or_else(|| preset.get(key::AGENT_TIMEOUT)),
        silence: config.get(key::AGENT_SILENCE),
        after_result: config.get(key::AGENT_AFTER_RESULT),
        grace: config.get(key::AGENT_GRACE).unwrap_or(Watch::default().grace),
        ..Watch::default()
    }
}

/// The tasks of the target; an unknown target is an error.
fn scope(target: &Target, store: &mut dyn Store) -> Result<Scope> {
    match target {
        Target::All => Ok(Scope::All),
        Target::Task(id) => match store.get(id) {
            Ok(_) => Ok(Scope::Task(id.clone())),
            Err(error) => Err(with_store(error, store)),
        },
        Target::Feature(name) => Ok(Scope::Feature(known_feature(name, store)?.name)),
    }
}
