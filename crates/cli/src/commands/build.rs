//! `ralph build` and `ralph run`: the loop.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::TaskId;
use ralph_core::task::RetryLimit;

use crate::config;
use crate::error::{CliError, Done, feature_name, task_id};
use crate::launch::{self, Shown, Target, Wishes};
use crate::wire::Context;

/// Work off the plan: one agent session after the other, each judged, until everything is settled
///
/// The plan is the file that is named, else IMPLEMENTATION_PLAN.md with `## Branch:` sections, progress.md,
/// implementation_plan.md or IMPLEMENTATION_PLAN.md, else the tasks of the store. Branches are worked on side
/// by side, each in a worktree of its own.
///
/// Each session starts fresh on the first open task. What the agent says or ticks is a request: the
/// gates run on what it left, and they decide. Work is committed when they are green; otherwise the task
/// comes back with what they found. The run can be stopped at any time and goes on at the next call.
///
/// Ctrl-C lets the session finish, a second one does not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph build\n  ralph build 5 docs/progress.md\n  ralph build 5 --feature login-form\n  ralph build --once --agent claude --model opus\n  ralph build --dry-run\n\nExit codes: ralph help exit-codes"
)]
pub(crate) struct BuildArgs {
    /// How many sessions may count (0 is no limit), and a markdown plan; both may be left out
    #[arg(value_name = "N|PLAN", num_args = 0..=2)]
    given: Vec<String>,
    /// Only the tasks of this feature
    #[arg(long, value_name = "NAME", conflicts_with = "task")]
    feature: Option<String>,
    /// Only this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    #[command(flatten)]
    lanes: LaneArgs,
    #[command(flatten)]
    options: LoopArgs,
}

/// How branches are worked on.
#[derive(Debug, Args, Default)]
pub(super) struct LaneArgs {
    /// Only this branch of the plan
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// How many run side by side at most; without it, all branches of the plan
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// One branch after the other
    #[arg(long, conflicts_with = "jobs")]
    sequential: bool,
}

impl LaneArgs {
    /// The wishes with what these arguments ask for.
    pub(super) fn apply(&self, wishes: Wishes) -> Wishes {
        let jobs = if self.sequential { Some(1) } else { self.jobs };
        Wishes { branch: self.branch.clone(), jobs, ..wishes }
    }
}

/// Work off a feature or a task: `ralph build`, with its target as the argument
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ralph run login-form\n  ralph run t-abcd2345 --once")]
pub(crate) struct RunArgs {
    /// A feature's name or a task's id; none for all tasks
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    #[command(flatten)]
    options: LoopArgs,
}

/// What all of them take.
#[derive(Debug, Args)]
pub(super) struct LoopArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// How the loop works: branches, progress or checklist (a markdown plan), dag or pick (the store).
    /// Without it the plan decides
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Let a second, read-only session look at what the gates let through
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Leave the judging to the gates alone
    #[arg(long, overrides_with = "verify")]
    no_verify: bool,
    /// Ask sessions to write down what they learned
    #[arg(long, overrides_with = "no_learn")]
    learn: bool,
    /// Do not ask sessions to write down what they learned
    #[arg(long, overrides_with = "learn")]
    no_learn: bool,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    #[command(flatten)]
    pub(super) session: SessionArgs,
}

/// How long a loop may go on.
#[derive(Debug, Args, Default)]
pub(super) struct LimitArgs {
    /// One session, then stop
    #[arg(long)]
    once: bool,
    /// How many sessions may count
    #[arg(long, value_name = "N", conflicts_with = "unlimited")]
    max_iterations: Option<u32>,
    /// No limit on sessions
    #[arg(long)]
    unlimited: bool,
    /// How often a task, or an iteration, may come back: a number or unlimited
    #[arg(long, value_name = "N")]
    max_retries: Option<String>,
    /// How a model is chosen: agent, fixed, cost-optimized, escalate, plan-then-execute
    #[arg(long, value_name = "STRATEGY")]
    model_strategy: Option<String>,
    /// A prompt template in place of the usual one
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// Exit codes tell unfinished plans from finished ones
    #[arg(long)]
    strict_exit: bool,
}

/// What every session takes.
#[derive(Debug, Args)]
pub(super) struct SessionArgs {
    /// The agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Always this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How long a session may take, such as 45m
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Stop once so many dollars were spent
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// The tools that the agent may use, with commas or spaces between them
    #[arg(long, value_name = "TOOLS")]
    allow: Option<String>,
    /// How the run is shown
    #[arg(long, value_name = "DISPLAY")]
    ui: Option<Shown>,
}

impl SessionArgs {
    /// An option that was given, for commands that may start no session.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.agent.is_some(), "--agent"),
            (self.model.is_some(), "--model"),
            (self.timeout.is_some(), "--timeout"),
            (self.budget.is_some(), "--budget"),
            (self.allow.is_some(), "--allow"),
            (self.ui.is_some(), "--ui"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }
}

pub(crate) fn cmd_build(args: &BuildArgs, context: &mut Context<'_>) -> Done {
    let target = match (&args.feature, &args.task) {
        (Some(name), _) => Target::Feature(feature_name(name)?),
        (None, Some(id)) => Target::Task(task_id(id)?),
        (None, None) => Target::All,
    };
    let (sessions, plan) = sorted_out(&args.given)?;
    if plan.is_some() && target != Target::All {
        return Err(CliError::usage(
            "a plan file and a feature or task cannot be worked off together",
        ));
    }
    let wishes = args.lanes.apply(Wishes { target, plan, ..Wishes::default() });
    go(wishes, sessions, &args.options, context)
}

/// `[N] [PLAN]`: what is all digits is the number.
fn sorted_out(given: &[String]) -> Result<(Option<u32>, Option<PathBuf>), CliError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (numbers, plans): (Vec<&String>, Vec<&String>) =
        given.iter().partition(|text| is_number(text));
    match (numbers.as_slice(), plans.as_slice()) {
        (_, [_, _, ..]) => Err(CliError::usage("only one plan can be worked off at a time")
            .hint("ralph build [N] [PLAN]")),
        ([_, _, ..], _) => Err(CliError::usage("the number of sessions was given twice")),
        (number, plan) => {
            let number = number.first().map(|text| {
                text.parse().map_err(|_| CliError::usage(format!("{text} is too large a number")))
            });
            Ok((number.transpose()?, plan.first().map(PathBuf::from)))
        }
    }
}

pub(crate) fn cmd_run(args: &RunArgs, context: &mut Context<'_>) -> Done {
    let target = match &args.target {
        None => Target::All,
        Some(text) => named(text, context)?,
    };
    let wishes = Wishes { target, by_target: true, ..Wishes::default() };
    go(wishes, None, &args.options, context)
}

/// A feature of this name, or else a task.
fn named(text: &str, context: &mut Context<'_>) -> Result<Target, CliError> {
    let mut store = context.reader()?;
    if let Ok(name) = feature_name(text)
        && store.features()?.iter().any(|known| known.name == name)
    {
        return Ok(Target::Feature(name));
    }
    match TaskId::new(text) {
        Ok(id) if store.get(&id).is_ok() || text.starts_with("t-") => Ok(Target::Task(id)),
        _ => feature_name(text).map(Target::Feature),
    }
}

pub(super) fn go(
    wishes: Wishes,
    sessions: Option<u32>,
    args: &LoopArgs,
    context: &mut Context<'_>,
) -> Done {
    let wishes = Wishes {
        preset: args.preset.clone(),
        verify: wish(args.verify, args.no_verify),
        learn: wish(args.learn, args.no_learn),
        ..wishes
    };
    let wishes = with(wishes, sessions, &args.limits, &args.session)?;
    refuse_inside_a_session(context)?;
    if args.dry_run { launch::rehearse(&wishes, context) } else { launch::launch(&wishes, context) }
}

/// What a pair of options asks for.
fn wish(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

pub(super) fn refuse_inside_a_session(context: &Context<'_>) -> Done {
    match context.session_socket() {
        Some(_) => Err(CliError::failed("Build failed: a session cannot start a run of its own")),
        None => Ok(()),
    }
}

/// The wishes with what these arguments ask for.
pub(super) fn with(
    wishes: Wishes,
    sessions: Option<u32>,
    limits: &LimitArgs,
    session: &SessionArgs,
) -> Result<Wishes, CliError> {
    if sessions.is_some() && (limits.max_iterations.is_some() || limits.unlimited) {
        return Err(CliError::usage("the number of sessions was given twice"));
    }
    Ok(Wishes {
        agent: session.agent.clone(),
        model: session.model.clone(),
        strategy: limits.model_strategy.clone(),
        max_iterations: if limits.unlimited { Some(0) } else { sessions.or(limits.max_iterations) },
        once: limits.once,
        max_retries: limits.max_retries.as_deref().map(retries).transpose()?,
        timeout: session.timeout.as_deref().map(timeout).transpose()?,
        budget_usd: session.budget.map(budget).transpose()?,
        tools: session.allow.as_deref().map(tools),
        prompt: limits.prompt.clone(),
        shown: session.ui,
        strict: limits.strict_exit,
        ..wishes
    })
}

fn retries(text: &str) -> Result<RetryLimit, CliError> {
    match (text, text.parse()) {
        ("unlimited", _) => Ok(RetryLimit::Unlimited),
        (_, Ok(most)) => Ok(RetryLimit::AtMost(most)),
        _ => Err(CliError::usage(format!("{text:?} is not a number of retries"))
            .hint("write a number, or unlimited")),
    }
}

fn timeout(text: &str) -> Result<Duration, CliError> {
    config::duration(text).ok_or_else(|| {
        CliError::usage(format!("{text:?} is not a length of time"))
            .hint("write it as 90s, 45m or 2h")
    })
}

fn budget(usd: f64) -> Result<f64, CliError> {
    match usd.is_finite() && usd > 0.0 {
        true => Ok(usd),
        false => Err(CliError::usage("a budget is an amount of dollars above 0")),
    }
}

fn tools(text: &str) -> Vec<String> {
    text.split([',', ' ']).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
}
