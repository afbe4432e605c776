//! `ralph import`.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::plan::{FORMATS, Plan, PlanFormat};
use ralph_core::task::{Refusal, Status};
use ralph_engine::clock;
use ralph_engine::ports::{Store, StoreError, SyncReport};
use ralph_engine::vcs::base::{branch_named, current_branch};

use crate::config::key;
use crate::error::{CliError, Done, with_store};
use crate::wire::Context;

/// Import a plan from another tool: all of it or nothing
///
/// Updates tasks that already exist, except done ones. Deletes nothing except tasks that a markdown plan marks
/// as dropped ([-]).
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ralph import prd.json\n  ralph import docs/plan.md")]
pub(crate) struct ImportArgs {
    /// The file: prd.json, beads JSON lines, or a markdown plan; - for standard input
    file: PathBuf,
    /// The format, if ralph cannot detect it: prd, beads, checklist, progress or branches
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Check the file and show what would be imported, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_import(args: &ImportArgs, context: &mut Context<'_>) -> Done {
    let text = read_plan(&args.file)?;
    let format = match &args.format {
        Some(name) => super::export::format_named(name)?,
        None => recognised(&args.file, &text)?,
    };
    let plan = format.parse(&text).map_err(|error| at_line(&args.file, &text, &error))?;
    if plan.tasks.is_empty() && plan.dropped.is_empty() {
        return Err(CliError::failed(format!("{} has no tasks", args.file.display())));
    }
    if args.dry_run {
        let found = plan.tasks.len();
        if args.json {
            context.out.json(&serde_json::json!({"tasks": found, "format": format.name()}))?;
        } else {
            context.out.line(format!("{found} tasks in {}", format.about()))?;
        }
        return tell_not_kept(&plan, format, &args.file, context);
    }
    let by = context.actor()?;
    let mut store = context.store()?;
    let gone = still_open(&plan.dropped, &mut *store)?;
    let report = store
        .replace(&plan.tasks, &gone, &by, clock::now())
        .map_err(|error| with_store(error, &mut *store))?;
    tell_report(&report, args.json, context)?;
    tell_not_kept(&plan, format, &args.file, context)?;
    tell_branch(&plan, context)
}

/// Warns if the plan names another branch. ralph works on the branch that is checked out, so switching is up to you.
fn tell_branch(plan: &Plan, context: &mut Context<'_>) -> Done {
    let mut named =
        plan.tasks.iter().map(|task| task.fields.branch.as_ref().and_then(Option::as_deref));
    let Some(Some(branch)) = named.next() else { return Ok(()) };
    let project = context.project()?;
    let elsewhere = current_branch(&project)?.as_deref() != Some(branch);
    if elsewhere && named.all(|other| other == Some(branch)) {
        let remote = context.config()?.get(key::GIT_REMOTE).to_owned();
        let known = branch_named(&project, &remote, branch)?.is_some();
        let new = if known { "" } else { "-c " };
        context.out.warning(format!(
            "these tasks are for branch {branch}, but ralph works on the branch that is checked out; \
             to switch: git switch {new}{branch}"
        ));
    }
    Ok(())
}

/// The tasks of an earlier import that the file now marks as dropped and that can still be deleted.
fn still_open(dropped: &[TaskId], store: &mut dyn Store) -> Result<Vec<TaskId>, CliError> {
    let mut open = Vec::new();
    for id in dropped {
        match store.get(id) {
            Ok(task) if matches!(task.status, Status::Done | Status::Deleted) => {}
            Ok(_) => open.push(id.clone()),
            Err(StoreError::Refused(Refusal::Unknown { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(open)
}

fn tell_not_kept(
    plan: &Plan,
    format: &dyn PlanFormat,
    file: &Path,
    context: &mut Context<'_>,
) -> Done {
    context.out.finish()?;
    for warning in &plan.warnings {
        context.out.warning(format!("{}: {warning}", shown(file)));
    }
    for sentence in &plan.not_kept {
        context.out.warning(format!("not kept from {}: {sentence}", format.name()));
    }
    Ok(())
}

/// Prints what a plan changed, in one line.
pub(super) fn tell_report(report: &SyncReport, json: bool, context: &mut Context<'_>) -> Done {
    let SyncReport { inserted, updated, deleted, skipped_done } = report;
    if json {
        return Ok(context.out.json(&serde_json::json!({
            "inserted": inserted, "updated": updated, "deleted": deleted,
            "skipped_done": skipped_done,
        }))?);
    }
    Ok(context.out.line(format!(
        "inserted: {inserted}, updated: {updated}, deleted: {deleted}, skipped (done): {skipped_done}"
    ))?)
}

/// The text of a plan, from a file or standard input.
pub(super) fn read_plan(file: &Path) -> Result<String, CliError> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let name = file.display();
    let bytes =
        bytes.map_err(|error| CliError::failed(format!("{name} cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        CliError::failed(format!("{name}: line {line}: not UTF-8 text")).hint("nothing was applied")
    })
}

fn recognised(file: &Path, text: &str) -> Result<&'static dyn PlanFormat, CliError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    FORMATS.iter().copied().find(|format| format.recognises(&name, text)).ok_or_else(|| {
        CliError::failed(format!("{} is in an unknown format", file.display()))
            .hint("name the format: --format prd, beads, checklist, progress or branches")
    })
}

fn shown(file: &Path) -> String {
    match file == Path::new("-") {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
    }
}

/// A problem in a plan, with its line.
pub(super) fn at_line(file: &Path, text: &str, error: &ralph_core::plan::PlanError) -> CliError {
    let name = shown(file);
    let failed = CliError::failed(format!("{name}: line {}: {}", error.line, error.problem));
    let source = text.lines().nth(error.line.saturating_sub(1)).unwrap_or_default();
    let source = ralph_core::text::printable_line(source.trim_end());
    let number = error.line.to_string();
    let shown = ralph_ui::columns::cut(&source, 100);
    failed.excerpt(format!("  {number} | {shown}")).hint("nothing was applied")
}
