//! `ralph build` and `ralph run`: the loop.

use std::path::PathBuf;

use clap::Args;
use ralph_core::TaskId;

use super::apart;
use super::flags::{self, JobArgs, LaneArgs, LoopArgs};
use crate::config::{Preset, key};
use crate::error::{CliError, Done, Result, feature_name, task_id};
use crate::launch::{self, RunOptions, Target};
use crate::wiring::Context;

/// Work through the plan, one checked agent session at a time, until every task is done or has failed
///
/// The plan is the file you name, else IMPLEMENTATION_PLAN.md with `## Branch:` sections, progress.md,
/// implementation_plan.md or IMPLEMENTATION_PLAN.md, else the task database. ralph works on branches in
/// parallel, each in its own worktree.
///
/// Each session starts fresh on the first open task. When the agent reports a task as done, ralph runs
/// your gates on its work, and the gates decide. If they pass, ralph commits the work; if not, the task is
/// returned for retry with their output. You can stop the run at any time; the next call resumes it.
///
/// Ctrl-C: ralph stops after the running session. A second Ctrl-C interrupts the session and saves its
/// work, a third kills it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph build\n  ralph build 5 docs/progress.md\n  ralph build 5 --feature login-form\n  ralph build --once --agent claude --model opus\n  ralph build --dry-run\n\nExit codes: ralph help exit-codes"
)]
pub(crate) struct BuildArgs {
    /// Maximum number of sessions (0 = unlimited) and a markdown plan, both optional
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

/// Work through a feature or a task: `ralph build` with its target as the argument
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ralph run login-form\n  ralph run t-abcd2345 --once")]
pub(crate) struct RunArgs {
    /// A feature's name or a task's id [default: all tasks]
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    options: LoopArgs,
}

pub(crate) fn cmd_build(args: &BuildArgs, context: &mut Context<'_>) -> Done {
    let target = match (&args.feature, &args.task) {
        (Some(name), _) => Target::Feature(feature_name(name)?),
        (None, Some(id)) => Target::Task(task_id(id)?),
        (None, None) => Target::All,
    };
    let (sessions, plan) = sorted_out(&args.given)?;
    if plan.is_some() && target != Target::All {
        return Err(CliError::usage("name either a plan file or a feature or task, not both"));
    }
    let branch = args.lanes.branch.clone();
    let options = RunOptions { target, plan, branch, ..RunOptions::default() };
    go(options, sessions, (&args.options, &args.lanes.jobs), context)
}

/// Parses `[N] [PLAN]`: an argument of digits is the number.
pub(super) fn sorted_out(given: &[String]) -> Result<(Option<u32>, Option<PathBuf>)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (numbers, plans): (Vec<&String>, Vec<&String>) =
        given.iter().partition(|text| is_number(text));
    match (numbers.as_slice(), plans.as_slice()) {
        (_, [_, _, ..]) => {
            Err(CliError::usage("name only one plan at a time").hint("ralph build [N] [PLAN]"))
        }
        ([_, _, ..], _) => Err(CliError::usage("the number of sessions was given twice")),
        (number, plan) => {
            let number = number
                .first()
                .map(|text| text.parse().map_err(|_| usage!("{text} is too large a number")));
            Ok((number.transpose()?, plan.first().map(PathBuf::from)))
        }
    }
}

pub(crate) fn cmd_run(args: &RunArgs, context: &mut Context<'_>) -> Done {
    let target = match &args.target {
        None => Target::All,
        Some(text) => named(text, context)?,
    };
    let options = RunOptions { target, by_target: true, ..RunOptions::default() };
    go(options, None, (&args.options, &args.jobs), context)
}

/// The feature of this name, or else the task.
fn named(text: &str, context: &mut Context<'_>) -> Result<Target> {
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
    options: RunOptions,
    sessions: Option<u32>,
    (args, jobs): (&LoopArgs, &JobArgs),
    context: &mut Context<'_>,
) -> Done {
    let options = RunOptions { once: args.limits.once, new: args.limits.new, ..options };
    context.lay(flags::of_loop(sessions, args, jobs, key::PROMPTS_BUILD, &context.folder())?);
    refuse_a_target_beside_a_file(&options.target, context)?;
    match args.dry_run {
        true => launch::dry_run(&options, context),
        false => apart::launch(&options, args.limits.serve, context),
    }
}

/// A feature or a task is in the task database. A preset that works on a file would ignore it and work on the whole
/// file.
fn refuse_a_target_beside_a_file(target: &Target, context: &mut Context<'_>) -> Done {
    if *target == Target::All {
        return Ok(());
    }
    let (config, target) = (context.config()?, target.words());
    let preset = config.get(key::PRESET);
    if Preset::named(preset).is_none_or(|preset| preset.source == "store") {
        return Ok(());
    }
    let origin = config.origin(key::PRESET);
    let text = format!(
        "{target} is in the task database, and the preset {preset} ({origin}) works on a file"
    );
    let refused = match config.by_flag(key::PRESET) {
        true => CliError::usage(text),
        false => CliError::failed(text),
    };
    Err(refused.hint("use the task database: --preset dag"))
}
