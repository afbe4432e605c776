//! `ralph import`: lists of other tools into the task database.

mod preview;

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::plan::{FORMATS, Plan, PlanFormat, recognized};
use ralph_core::task::{Status, Task};
use ralph_core::text::{label, printable_line};
use ralph_engine::clock;
use ralph_engine::git::base::{branch_named, current_branch};
use ralph_engine::ports::{Store, SyncReport};

use crate::config::key;
use crate::error::{CliError, Done, Result, known_task, task_id, with_store};
use crate::wiring::Context;

/// Where tools keep their list below the folder of a feature, a change or a project; the first that exists counts.
const LISTS: [&str; 5] = ["tasks.md", "tasks/tasks.json", "tasks.json", "prd.json", "issues.jsonl"];

/// Import a plan from another tool: all of it or nothing
///
/// Reads prd.json, task-master's tasks.json, tasks.md of spec-kit and OpenSpec, Claude Code's tasks, beads and
/// markdown plans. Ids stay the same, so that importing a list again updates its tasks; done tasks stay done.
/// Deletes only tasks that the list marks as dropped or cancelled. Warns about everything that ralph cannot keep.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph import prd.json\n  ralph import specs/001-login --dry-run\n  ralph import .taskmaster/tasks/tasks.json\n  ralph import docs/plan.md"
)]
pub(crate) struct ImportArgs {
    /// The file, or the folder of a feature, a change or a Claude Code list; - for standard input
    file: PathBuf,
    /// The format, if ralph cannot detect it: task-master, claude, prd, beads, branches, progress, spec-kit, openspec
    /// or checklist
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Put this before each id, if another list uses the same ids
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Show what would become of each task, without importing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_import(args: &ImportArgs, context: &mut Context<'_>) -> Done {
    let folder = context.folder();
    let is_here = folder == Path::new(".") || args.file == Path::new("-");
    let file = if is_here { args.file.clone() } else { folder.join(&args.file) };
    let files = files_of(&file)?;
    let (mut plan, format) = read_list(&file, &files, args.format.as_deref())?;
    if plan.tasks.is_empty() && plan.dropped.is_empty() {
        return Err(failed!("{} has no tasks", args.file.display()));
    }
    if let Some(prefix) = &args.prefix {
        put_before_ids(&mut plan, prefix)?;
    }
    if format.has_local_ids {
        let list = if let [list] = &files[..] { list } else { &file };
        refuse_ids_of_another_list(&mut plan, format, list, args, context)?;
    }
    if args.dry_run {
        preview::show(&plan, format, args.json, context)?;
        return print_not_kept(&plan, format, context);
    }
    let by = context.actor()?;
    let mut store = context.store()?;
    let patience = context.out.patience(&format!("importing {} tasks", plan.tasks.len()));
    let gone = still_open(&plan.dropped, &mut *store)?;
    let report = store
        .replace(&plan.tasks, &gone, &by, clock::now())
        .map_err(|error| with_store(error, &mut *store))?;
    drop(patience);
    print_sync_report(&report, args.json, context)?;
    print_not_kept(&plan, format, context)?;
    print_branch(&plan, context)
}

/// The file itself, or the list in a folder, or all JSON files of a folder: Claude Code keeps one for each task.
fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let list = LISTS.iter().map(|name| path.join(name)).find(|file| file.is_file());
    if let Some(list) = list {
        return Ok(vec![list]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| CliError::file(path, "read", error))?;
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end == "json");
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    // 2.json comes before 10.json.
    files.sort_by_key(|file| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (stem.parse::<u64>().unwrap_or(u64::MAX), stem)
    });
    match files.is_empty() {
        false => Ok(files),
        true => Err(failed!("{} has no task list", path.display()).hint(format!(
            "ralph looks for {} and files like 1.json there; name the file itself",
            LISTS.join(", ")
        ))),
    }
}

/// Reads a file, or all files of a list that has one for each task.
fn read_list(
    path: &Path,
    files: &[PathBuf],
    format: Option<&str>,
) -> Result<(Plan, &'static PlanFormat)> {
    let named = format.map(super::export::format_named).transpose()?;
    let mut whole: Option<(Plan, &'static PlanFormat)> = None;
    for file in files {
        let text = read_plan(file)?;
        let found = match named {
            Some(format) => format,
            None => recognised(file, &text)?,
        };
        let mut plan = (found.parse)(&text).map_err(|error| at_line(file, &text, &error))?;
        plan.warnings.iter_mut().for_each(|text| *text = format!("{}: {text}", shown(file)));
        match &mut whole {
            None => whole = Some((plan, found)),
            Some((_, first)) if first.name != found.name => {
                return Err(failed!(
                    "{} holds lists of different tools: {} and {}",
                    path.display(),
                    first.name,
                    found.name
                )
                .hint("import one file at a time: ralph import FILE"));
            }
            Some((tasks, _)) => add(tasks, plan),
        }
    }
    whole.ok_or_else(|| failed!("{} has no tasks", path.display()))
}

fn add(whole: &mut Plan, part: Plan) {
    whole.tasks.extend(part.tasks);
    whole.dropped.extend(part.dropped);
    whole.warnings.extend(part.warnings);
    let is_new = |text: &String| !whole.not_kept.contains(text);
    let new: Vec<String> = part.not_kept.into_iter().filter(is_new).collect();
    whole.not_kept.extend(new);
}

fn put_before_ids(plan: &mut Plan, prefix: &str) -> Done {
    let rename = |id: &mut TaskId| -> Done {
        *id = task_id(&format!("{prefix}{id}"))?;
        Ok(())
    };
    for task in &mut plan.tasks {
        rename(&mut task.id)?;
        task.fields.deps.iter_mut().flatten().try_for_each(rename)?;
        task.fields.parent.iter_mut().flatten().try_for_each(rename)?;
    }
    plan.dropped.iter_mut().try_for_each(rename)
}

/// Notes on each task which list it comes from, and refuses an id that another list, or the user, has given to
/// another task: T001 is in every feature of spec-kit.
fn refuse_ids_of_another_list(
    plan: &mut Plan,
    format: &PlanFormat,
    file: &Path,
    args: &ImportArgs,
    context: &mut Context<'_>,
) -> Done {
    if file == Path::new("-") {
        return Ok(());
    }
    let root = context.project()?.worktree;
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let root = std::fs::canonicalize(&root).unwrap_or(root);
    let source = format!("{}:{}", format.name, real.strip_prefix(&root).unwrap_or(&real).display());
    let source = label("reference", &source).unwrap_or_default();
    let mut store = context.reader()?;
    for task in &mut plan.tasks {
        task.fields.reference = Some(source.clone());
        let known = known_task(&task.id, &mut *store)?;
        let is_other = |known: &Task| {
            known.status != Status::Deleted
                && known.reference != source
                && known.title != task.title
        };
        let Some(known) = known.filter(is_other) else { continue };
        let name = args.file.display();
        let folder = if real.is_dir() { Some(&*real) } else { real.parent() };
        let folder = folder.and_then(Path::file_name).map(|name| name.to_string_lossy());
        let prefix = folder.filter(|name| TaskId::new(&**name).is_ok());
        let prefix = prefix.map_or_else(|| "b-".to_owned(), |name| format!("{name}/"));
        return Err(failed!(
            "{name}: {} is already the id of another task, \"{}\"",
            task.id,
            printable_line(known.title.as_str())
        )
        .hint(format!("give this list its own ids: ralph import {name} --prefix {prefix}"))
        .hint("nothing was applied"));
    }
    Ok(())
}

/// Warns if the plan names another branch. ralph works on the branch that is checked out, so switching is up to you.
fn print_branch(plan: &Plan, context: &mut Context<'_>) -> Done {
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
fn still_open(dropped: &[TaskId], store: &mut dyn Store) -> Result<Vec<TaskId>> {
    let mut open = Vec::new();
    for id in dropped {
        let is_open = |task: &Task| !matches!(task.status, Status::Done | Status::Deleted);
        open.extend(known_task(id, store)?.filter(is_open).map(|task| task.id));
    }
    Ok(open)
}

fn print_not_kept(plan: &Plan, format: &PlanFormat, context: &mut Context<'_>) -> Done {
    context.out.finish()?;
    for warning in &plan.warnings {
        context.out.warning(warning);
    }
    for sentence in &plan.not_kept {
        context.out.warning(format!("not kept from {}: {sentence}", format.name));
    }
    Ok(())
}

pub(super) fn print_sync_report(
    report: &SyncReport,
    json: bool,
    context: &mut Context<'_>,
) -> Done {
    let SyncReport { inserted, updated, deleted, skipped_done } = report;
    if json {
        return context.out.json(&serde_json::json!({
            "inserted": inserted, "updated": updated, "deleted": deleted,
            "skipped_done": skipped_done,
        }));
    }
    context.out.line(format!(
        "inserted: {inserted}, updated: {updated}, deleted: {deleted}, skipped (done): {skipped_done}"
    ))
}

/// The text of a plan, from a file or standard input.
pub(super) fn read_plan(file: &Path) -> Result<String> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let name = shown(file);
    let bytes = bytes.map_err(|error| failed!("{name} cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        failed!("{name}: line {line}: not UTF-8 text").hint("nothing was applied")
    })
}

fn recognised(file: &Path, text: &str) -> Result<&'static PlanFormat> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    recognized(&name, text).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        failed!("{} is in an unknown format", file.display())
            .hint(format!("name the format: --format {}", names.join("|")))
    })
}

fn shown(file: &Path) -> String {
    match file == Path::new("-") {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
    }
}

pub(super) fn at_line(file: &Path, text: &str, error: &ralph_core::plan::PlanError) -> CliError {
    let name = shown(file);
    let failed = failed!("{name}: line {}: {}", error.line, error.problem);
    let source = text.lines().nth(error.line.saturating_sub(1)).unwrap_or_default();
    let source = printable_line(source.trim_end());
    let number = error.line.to_string();
    let shown = ralph_ui::columns::cut(&source, 100);
    failed.excerpt(format!("  {number} | {shown}")).hint("nothing was applied")
}
