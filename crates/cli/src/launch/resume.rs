//! Resumes an interrupted run: finds it, and takes over its options and what remains of its limits. Options of the
//! call override recorded ones, one by one; limits and budgets are the lower of the recorded and the configured ones;
//! a record never loosens the user's protection.

use ralph_core::run::{Budget, Resume};
use ralph_engine::plan_file::PlanFile;
use ralph_engine::project::Project;
use ralph_engine::run_files::state_file::{EarlierRun, Record, Request, repository_mark};

use super::lanes::Lane;
use super::policy::count;
use super::{Mode, RunOptions, Target};
use crate::config::{Config, Preset, key};
use crate::error::{CliError, Result, feature_name, task_id};
use crate::wiring::Context;

/// Settings that are recorded as their resulting values, not as flags.
const LIMITS: [&str; 7] = [
    key::PRESET.name(),
    key::LOOP_MAX_ITERATIONS.name(),
    key::BUDGET_USD.name(),
    key::BUDGET_TOKENS.name(),
    key::BUDGET_TIME.name(),
    key::BUDGET_TASK_USD.name(),
    key::BUDGET_DAY_USD.name(),
];

/// A run that was killed, cancelled or failed, as the next one resumes it.
#[derive(Debug, Clone)]
pub(crate) struct Interrupted {
    pub(super) found: EarlierRun,
    /// What this run takes over from it, in a few words each.
    kept: Vec<String>,
}

impl Interrupted {
    /// For the journal and the header.
    pub(super) fn resume(&self) -> Resume {
        let state = &self.found.state;
        let used = match state.max_iterations {
            Some(most) => format!("{} of {most} sessions used", state.used()),
            None => format!("{} sessions used", state.used()),
        };
        state.resume(std::iter::once(used).chain(self.kept.iter().cloned()).collect())
    }
}

/// The path of a run's record. Runs for one prompt or for a feature write only the readable copy.
pub(crate) fn record(context: &Context<'_>, project: &Project, mode: &str) -> Record {
    let home = context.environment.state_home.as_deref();
    Record::of(home.filter(|_| matches!(mode, "build" | "plan")), project, mode)
}

/// The interrupted run of a mode in a worktree.
fn interrupted(context: &Context<'_>, project: &Project, mode: &str) -> Result<Option<EarlierRun>> {
    // A file of another tool is ignored.
    project.check_ours()?;
    let record = record(context, project, mode);
    record.interrupted(project, mode).map_err(|error| {
        let path = record.kept.as_ref().filter(|path| path.exists()).unwrap_or(&record.copy);
        CliError::file(path, "read", error)
            .hint("start over without it: ralph build --new")
            .hint("or remove it: ralph clean")
    })
}

/// Whether the newest interrupted run in this worktree was planning.
pub(crate) fn was_planning(context: &Context<'_>) -> Result<bool> {
    let project = context.project()?;
    // The run itself reports a record that cannot be read.
    let last = |mode: &str| {
        let state = interrupted(context, &project, mode).ok().flatten()?.state;
        Some(state.last_iteration_at.unwrap_or(state.started_at).max(state.started_at))
    };
    Ok(last("plan") > last("build"))
}

/// The options of this call, completed with those of an interrupted run. Its settings rank below the flags of the
/// call.
pub(super) fn take_up(options: &RunOptions, context: &mut Context<'_>) -> Result<RunOptions> {
    let mut options = options.clone();
    if options.new || !matches!(options.mode, Mode::Build | Mode::Plan) {
        return Ok(options);
    }
    let project = context.project()?;
    let Some(mut found) = interrupted(context, &project, options.mode.name())? else {
        return Ok(options);
    };
    // Another idea is another plan.
    if options.idea.is_some() && options.idea != found.state.request.idea {
        return Ok(options);
    }
    if found.state.request.branches {
        let record = record(context, &project, options.mode.name());
        found.state.spent = record.spent_by(&found.state.run);
    }
    let config = context.config()?;
    let request = found.state.request.clone();
    let mut kept = Vec::new();
    scope(&mut options, &request, &project, &config, &mut kept)?;
    let mut settings = Vec::new();
    if options.mode == Mode::Build
        && is_same_plan(&options, &request)
        && !config.by_flag(key::PRESET)
    {
        kept.push(format!("preset {}", request.preset));
        settings.push(("preset".to_owned(), request.preset.clone()));
    }
    for (key, text) in request.settings.iter().filter(|_| found.kept) {
        match config.refuses_resumed(key, text, found.trusted) {
            Some(Some(why)) => context.out.warning(why),
            Some(None) => {}
            None => {
                settings.push((key.clone(), text.clone()));
                if !text.is_empty() {
                    kept.push(format!("{key}={text}"));
                }
            }
        }
    }
    context.go_on_with(settings);
    options.interrupted = Some(Box::new(Interrupted { found, kept }));
    Ok(options)
}

/// The target: what the call names, else the target of the interrupted run.
fn scope(
    options: &mut RunOptions,
    request: &Request,
    project: &Project,
    config: &Config,
    kept: &mut Vec<String>,
) -> Result<()> {
    if options.mode == Mode::Plan {
        options.branches |= request.branches;
        if let Some(idea) = request.idea.as_ref().filter(|_| options.idea.is_none()) {
            kept.push(format!("idea \"{}\"", ralph_core::text::printable_line(idea)));
            options.idea = Some(idea.clone());
        }
        return Ok(());
    }
    let named =
        options.plan.is_some() || options.target != Target::All || config.by_flag(key::PRESET);
    if !named {
        // `ralph run` works on tasks of the database, `ralph loop` on branches.
        let in_file = !options.by_target && (!options.branches || request.branches);
        if let Some(plan) = request.plan.as_ref().filter(|_| in_file) {
            kept.push(format!("plan {plan}"));
            options.plan = Some(project.worktree.join(plan));
        }
        if let Some(name) = request.feature.as_ref().filter(|_| !options.branches) {
            kept.push(format!("feature {name}"));
            options.target = Target::Feature(feature_name(name)?);
        } else if let Some(id) = request.task.as_ref().filter(|_| !options.branches) {
            kept.push(format!("task {id}"));
            options.target = Target::Task(task_id(id)?);
        }
    }
    if let Some(branch) = &request.branch
        && options.branch.is_none()
        && !named
        && !options.by_target
    {
        kept.push(format!("branch {branch}"));
        options.branch = Some(branch.clone());
    }
    Ok(())
}

/// Whether the run has the same target as the interrupted one, so that its preset fits.
fn is_same_plan(options: &RunOptions, request: &Request) -> bool {
    let Some(preset) = Preset::named(&request.preset) else { return false };
    let (feature, task) = options.target.names();
    let same_target = feature == request.feature && task == request.task;
    let in_file = preset.source != "store";
    let same_file = match (&options.plan, &request.plan) {
        (Some(plan), Some(known)) => plan.ends_with(known),
        (None, None) => true,
        _ => false,
    };
    same_target
        && same_file
        && !(options.by_target && in_file)
        && (!options.branches || request.branches || preset.source == "branches")
}

/// The interrupted run of the branch that a lane works on.
pub(super) fn of_lane(
    options: &RunOptions,
    project: &Project,
    context: &Context<'_>,
) -> Result<Option<Interrupted>> {
    if options.new {
        return Ok(None);
    }
    let found = interrupted(context, project, options.mode.name())?;
    Ok(found.map(|found| Interrupted { found, kept: vec![] }))
}

/// Maximum number of sessions in total, including earlier ones; `None` means no limit. `own` is the run that this one
/// resumes, `call` the call that it belongs to.
pub(super) fn sessions(
    options: &RunOptions,
    config: &Config,
    by_preset: u32,
    own: Option<&Interrupted>,
    call: Option<&Interrupted>,
) -> Option<u32> {
    let used = own.map_or(0, |own| own.found.state.used());
    let set = config.get(key::LOOP_MAX_ITERATIONS).map(count);
    if options.once {
        return Some(used.saturating_add(1));
    }
    if let Some(more) = set.filter(|_| config.by_flag(key::LOOP_MAX_ITERATIONS)) {
        return (more > 0).then(|| used.saturating_add(more));
    }
    let of_config = |most: u32| (most > 0).then_some(most);
    match own.or(call) {
        None => of_config(set.unwrap_or(by_preset)),
        Some(before) => {
            // A preset's own number is not a limit that the user set, unless the record may not raise it.
            let set = set.or((!before.found.trusted).then_some(by_preset));
            lower(before.found.state.max_iterations, set.and_then(of_config))
        }
    }
}

fn lower<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The budgets: for each, what remains of the lower of the recorded and the configured one.
pub(super) fn budget(config: &Config, configured: Budget, before: Option<&Interrupted>) -> Budget {
    let Some(before) = before else { return configured };
    let state = &before.found.state;
    let (left, spent) = (state.budget_left(), state.spent);
    let some = |amount: u64| (amount > 0).then_some(amount);
    let rest = |given: bool, left: u64, set: u64, spent: u64| {
        if given {
            return set;
        }
        let set = some(set).map(|set| set.saturating_sub(spent).max(1));
        lower(some(left), set).unwrap_or(0)
    };
    let (usd, tokens) = (config.by_flag(key::BUDGET_USD), config.by_flag(key::BUDGET_TOKENS));
    let (time, task) = (config.by_flag(key::BUDGET_TIME), config.by_flag(key::BUDGET_TASK_USD));
    let day = config.by_flag(key::BUDGET_DAY_USD);
    Budget {
        micro_usd: rest(usd, left.micro_usd, configured.micro_usd, spent.micro_usd),
        tokens: rest(tokens, left.tokens, configured.tokens, spent.tokens),
        time_ms: rest(time, left.time_ms, configured.time_ms, spent.time_ms),
        task_micro_usd: rest(task, left.task_micro_usd, configured.task_micro_usd, 0),
        day_micro_usd: rest(day, left.day_micro_usd, configured.day_micro_usd, 0),
    }
}

/// What the next run takes over from this one.
pub(super) fn request(
    options: &RunOptions,
    config: &Config,
    (preset, plan): (&Preset, Option<&PlanFile>),
    project: &Project,
    lane: Option<&Lane>,
) -> Request {
    let mut settings = config.asked_for();
    // How a run is shown is up to each call: with `--ui tui` its process prints lines into a file.
    let is_of_call = |key: &str| LIMITS.contains(&key) || key == key::UI_MODE.name();
    settings.retain(|key, _| !is_of_call(key));
    let (feature, task) = options.target.names();
    Request {
        preset: preset.name.to_owned(),
        plan: plan.filter(|_| options.mode == Mode::Build).map(|plan| plan.name().to_owned()),
        feature,
        task,
        branch: options.branch.clone(),
        branches: options.branches,
        idea: options.idea.clone(),
        repository: repository_mark(project),
        call: lane.and_then(|lane| lane.call.clone()),
        settings,
    }
}
