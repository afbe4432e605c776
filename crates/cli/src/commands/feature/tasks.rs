//! `ralph feature build`: tasks that the agent proposes and the user approves.

use std::collections::HashSet;

use clap::Args;
use ralph_core::plan::Proposals;
use ralph_core::run::StopReason;
use ralph_core::task::{Status, Task};
use ralph_core::text::printable_line;
use ralph_core::{FeatureName, TaskId};
use ralph_engine::asking::{self, Typed};
use ralph_engine::clock;
use ralph_engine::features::FeatureFiles;
use ralph_engine::ports::{Filter, Store, SyncReport};
use ralph_ui::tasks;

use super::{Call, fallen_short, run, texts};
use crate::commands::flags::SessionArgs;
use crate::commands::import::{at_line, print_sync_report};
use crate::error::{CliError, Done, Result, feature_name, known_feature, with_store};
use crate::exit_codes::Exit;
use crate::launch::{FeatureStep, FeatureWork};
use crate::trust::may_ask;
use crate::wiring::Context;

/// Have the agent turn the plan of a feature into tasks
///
/// The agent reads plan.md and proposes tasks with their order, parents, priorities and steps. ralph rejects
/// an invalid proposal at once, with the reason, and shows the others as a tree. At a terminal ralph asks before
/// it adds them to the plan; without one it adds them. Proposals that you do not apply are kept.
///
/// If you call it again, ralph updates the tasks to match the plan: done tasks stay, and unfinished tasks that
/// are no longer proposed are deleted if you agree, or with --yes.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph feature build login-form\n  ralph feature build login-form --no-apply\n  ralph feature build login-form --apply --yes"
)]
pub(super) struct BuildArgs {
    /// The feature
    name: String,
    /// Apply without asking, and delete tasks that are no longer proposed
    #[arg(long, conflicts_with = "no_apply")]
    yes: bool,
    /// Only collect proposals, and apply nothing
    #[arg(long)]
    no_apply: bool,
    /// Apply the earlier proposals, without starting a session
    #[arg(long, conflicts_with = "no_apply")]
    apply: bool,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) fn cmd_build(args: &BuildArgs, context: &mut Context<'_>) -> Done {
    let name = feature_name(&args.name)?;
    known_feature(&name, &mut *context.reader()?)?;
    let files = FeatureFiles::of(&context.project()?, &name);
    if let (true, Some(option)) = (args.apply, args.session.first_given()) {
        return Err(usage!("{option} is for a session, but --apply starts none"));
    }
    if !args.apply {
        let how = format!("ralph feature plan {name}");
        texts::written(&files.plan(), &FeatureFiles::plan_template(&name), &how)?;
        let work = FeatureWork { name: name.clone(), stage: FeatureStep::Tasks };
        let outcome = run(work, &Call::default(), &args.session, context)?;
        if outcome.reason != StopReason::Session {
            let again = format!("ralph feature build {name}");
            return Err(fallen_short(&outcome, "the list of tasks", &again));
        }
    }
    settle(&name, &files, args, context)
}

enum Answer {
    /// Apply them, and delete the tasks that they leave out.
    All,
    /// Apply them, and keep the tasks that they leave out, because the user has not agreed to delete them.
    Additions,
    /// Keep them for later.
    Later,
}

fn settle(
    name: &FeatureName,
    files: &FeatureFiles,
    args: &BuildArgs,
    context: &mut Context<'_>,
) -> Done {
    let proposals = kept(name, files)?;
    let by = context.actor()?;
    let mut store = context.store()?;
    let left_out = left_out(&proposals, &mut *store)?;
    let gone: Vec<TaskId> = left_out.iter().map(|task| task.id.clone()).collect();
    let plan = proposals.plan();
    let seen = store.dry_run(&plan, &gone, &by, clock::now());
    let (report, planned) = seen.map_err(|error| with_store(error, &mut *store))?;
    context.out.note("");
    context.out.data(tasks::tree(&planned, context.out.style))?;
    for task in &left_out {
        let title = printable_line(task.title.as_str());
        context.out.line(format!("no longer proposed: {}  {}  {title}", task.id, task.shown()))?;
    }
    let later = format!("ralph feature build {name} --apply");
    let gone = match agreed(args, &report, context)? {
        Answer::All => gone,
        Answer::Additions => vec![],
        Answer::Later => {
            return context
                .out
                .conclude(format!("nothing was applied; to apply them later: {later}"));
        }
    };
    let report = store.replace(&plan, &gone, &by, clock::now());
    let report = report
        .map_err(|error| with_store(error, &mut *store).hint(format!("try again: {later}")))?;
    // Applying them twice changes nothing, so a crash here does no harm.
    std::fs::remove_file(files.proposed())?;
    print_sync_report(&report, false, context)?;
    if gone.len() < left_out.len() {
        context.out.note(format!(
            "tasks that are no longer proposed stay; to delete them: ralph task delete {}",
            left_out.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" ")
        ));
    }
    context.out.conclude(format!("next: ralph run {name}"))
}

fn kept(name: &FeatureName, files: &FeatureFiles) -> Result<Proposals> {
    let path = files.proposed();
    let text = FeatureFiles::read(&path).map_err(|error| CliError::file(&path, "read", error))?;
    let Some(text) = text else {
        return Err(refused!("no tasks are proposed for {name}")
            .hint(format!("have the agent propose them: ralph feature build {name}")));
    };
    Proposals::from_lines(name.clone(), &text).map_err(|error| at_line(&path, &text, &error))
}

/// The unfinished tasks of the feature that are neither proposed nor needed by a proposed task.
fn left_out(proposals: &Proposals, store: &mut dyn Store) -> Result<Vec<Task>> {
    let feature = Some(proposals.feature.clone());
    let tasks = store.list(&Filter { feature, ..Filter::default() })?;
    let mut needed: HashSet<TaskId> = proposals.needed().cloned().collect();
    needed.extend(proposals.tasks().iter().map(|task| task.id.clone()));
    // A needed task also needs its parents.
    let mut more = true;
    while more {
        let above = tasks.iter().filter(|task| needed.contains(&task.id));
        let above: Vec<TaskId> = above.filter_map(|task| task.parent.clone()).collect();
        let before = needed.len();
        needed.extend(above);
        more = needed.len() > before;
    }
    let open = |task: &Task| task.status.allows(Status::Deleted) && !needed.contains(&task.id);
    let mut left_out: Vec<Task> = tasks.into_iter().filter(open).collect();
    // So does an unfinished part that belongs to another feature.
    loop {
        let ids: HashSet<TaskId> = left_out.iter().map(|task| task.id.clone()).collect();
        let mut kept = Vec::new();
        for task in left_out.iter().filter(|task| task.neighbors.children > 0) {
            let parts =
                store.list(&Filter { parent: Some(task.id.clone()), ..Filter::default() })?;
            let open = |part: &Task| part.status != Status::Done && !ids.contains(&part.id);
            if parts.iter().any(open) {
                kept.push(task.id.clone());
            }
        }
        left_out.retain(|task| !kept.contains(&task.id));
        if kept.is_empty() {
            return Ok(left_out);
        }
    }
}

/// Whether to apply them: by option, by the user's answer, or because there is no terminal to ask at.
fn agreed(args: &BuildArgs, report: &SyncReport, context: &mut Context<'_>) -> Result<Answer> {
    if args.yes {
        return Ok(Answer::All);
    }
    if args.no_apply {
        return Ok(Answer::Later);
    }
    if !may_ask() {
        return Ok(Answer::Additions);
    }
    context.out.finish()?;
    let SyncReport { inserted, updated, deleted, .. } = report;
    context.out.prompt(&format!(
        "Apply this ({inserted} new, {updated} changed, {deleted} deleted)? [y/N] "
    ));
    match asking::line()? {
        Typed::Line(line) if ["y", "yes"].contains(&line.trim().to_lowercase().as_str()) => {
            Ok(Answer::All)
        }
        Typed::Line(_) => Ok(Answer::Later),
        Typed::End => {
            context.out.note("");
            Ok(Answer::Later)
        }
        Typed::Interrupted => {
            context.out.note("");
            Err(CliError::new(Exit::Cancelled, "the proposed tasks were not applied")
                .hint(format!("to apply them later: ralph feature build {} --apply", args.name)))
        }
    }
}
