//! `ralph clean`.

mod everything;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::amounts::count;
use ralph_engine::project::{Project, sweep_halves};
use ralph_engine::run_files::{LockError, WorktreeLock};
use ralph_engine::worktrees::{Ours, Worktrees};
use ralph_ui::style::Meaning;
use ralph_ui::units::bytes;
use serde::Serialize;

use super::init::{is_as_written, skill_folders, untouched_go};
use crate::error::{CliError, Done, Result, quoted};
use crate::launch;
use crate::trust::{ask, may_ask};
use crate::wiring::Context;

/// Remove ralph's files: the state of the last run, unchanged prompts, worktrees, or everything
///
/// Without options ralph removes the state of the last run in this worktree, so that the next run starts at
/// iteration 1. The plan, and the features and skills that you wrote, always stay. Prints a line for each item.
/// With --dry-run alone ralph lists everything that it has created in this repository and in your home
/// directory for it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph clean --dry-run\n  ralph clean --worktrees\n  ralph clean --everything"
)]
pub(crate) struct CleanArgs {
    /// Also remove the prompts and skills of `ralph init` that are unchanged, and empty folders
    #[arg(long)]
    all: bool,
    /// Also remove ralph's worktrees; saves uncommitted work first and keeps their branches
    #[arg(long)]
    worktrees: bool,
    /// Remove everything that ralph has created, back to the state before `ralph init`. Keeps files of init that
    /// you changed. Asks before removing open tasks, or work that is on no branch
    #[arg(long, conflicts_with_all = ["all", "worktrees"])]
    everything: bool,
    /// With --everything: do not ask
    #[arg(long, requires = "everything")]
    yes: bool,
    /// Show what would happen, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Cleaned {
    path: String,
    /// `removed`, `kept`, `would remove`; `ralph made` and `stays` if it is only listed.
    did: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Where ralph saved its uncommitted work, or that it would save some.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl Cleaned {
    fn did(path: String, did: &'static str) -> Self {
        Self { path, did, reason: None, hint: None, saved: None, note: None, bytes: None }
    }

    fn removed(path: String, dry: bool) -> Self {
        Self::did(path, if dry { "would remove" } else { "removed" })
    }

    fn kept(path: String, error: &CliError) -> Self {
        let (message, _, hints) = error.parts();
        let reason = Some(message.to_owned());
        Self { reason, hint: hints.first().cloned(), ..Self::did(path, "kept") }
    }
}

pub(crate) fn cmd_clean(args: &CleanArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let project = context.project()?;
    project.check_ours()?;
    let _locks = no_run(&project, args.worktrees || args.everything, args.dry_run)?;
    if args.everything {
        return clean_everything(&project, args, context);
    }
    let patience = context.out.patience("removing files and worktrees");
    let mut done: Vec<Cleaned> =
        clean_state(&project, args.dry_run, context)?.into_iter().collect();
    if args.worktrees {
        done.extend(clean_worktrees(&project, args.dry_run, context)?);
    }
    if args.all {
        done.extend(clean_files(&project, args.dry_run)?);
    }
    if args.dry_run && !args.all && !args.worktrees {
        let found = everything::find(&project, context)?;
        let listed = found.iter().map(|one| one.line(false));
        let is_new = |one: &Cleaned| done.iter().all(|known| known.path != one.path);
        let listed: Vec<Cleaned> = listed.filter(is_new).collect();
        done.extend(listed);
    }
    drop(patience);
    end(&done, args, context)
}

/// Removes everything that ralph has created. Names what would be lost first.
fn clean_everything(project: &Project, args: &CleanArgs, context: &mut Context<'_>) -> Done {
    if project.worktree != project.root {
        let main = quoted(&project.root);
        return Err(CliError::failed("this is not the main worktree; nothing was removed")
            .hint(format!("run it there: ralph -C {main} clean --everything")));
    }
    let found = everything::find(project, context)?;
    if args.dry_run {
        let listed: Vec<Cleaned> = found.iter().map(|one| one.line(true)).collect();
        return end(&listed, args, context);
    }
    let losses = everything::losses(&found);
    if !losses.is_empty() && !args.yes {
        for loss in &losses {
            context.out.note(format!("would be lost: {}", ralph_core::text::printable_line(loss)));
        }
        let asks = may_ask() && !args.json;
        if !asks || !ask("Remove it all?", context)? {
            return Err(CliError::failed("nothing was removed: this work exists nowhere else")
                .hint("restore saved work first: ralph recover")
                .hint("remove it all: ralph clean --everything --yes"));
        }
    }
    let patience = context.out.patience("removing files and worktrees");
    let done = everything::remove(project, found, context)?;
    drop(patience);
    end(&done, args, context)
}

fn end(done: &[Cleaned], args: &CleanArgs, context: &mut Context<'_>) -> Done {
    print_result(done, args, context)?;
    let kept = done.iter().filter(|one| one.reason.is_some()).count();
    match kept {
        0 => Ok(()),
        1 => Err(CliError::failed("1 item was kept; the rest was removed")),
        n => Err(failed!("{n} items were kept; the rest was removed")),
    }
}

/// Locks the worktrees, so that no run is active here and none can start meanwhile. A run in the main worktree also
/// uses the others.
fn no_run(project: &Project, everywhere: bool, dry: bool) -> Result<Vec<WorktreeLock>> {
    let mut folders = vec![project.worktree.join(".ralph")];
    if everywhere && project.root != project.worktree {
        folders.push(project.ralph_dir());
    }
    let mut locks = Vec::new();
    for folder in folders {
        if let Some(pid) = WorktreeLock::holder(&folder) {
            return Err(busy(&pid));
        }
        if !dry && folder.exists() {
            locks.push(WorktreeLock::take(&folder).map_err(|error| match error {
                LockError::Held { pid } => busy(&pid),
                LockError::Io { .. } => CliError::failed(error.to_string()),
            })?);
        }
    }
    Ok(locks)
}

fn busy(pid: &str) -> CliError {
    failed!("a run is active (pid {pid}); nothing was removed").hint("stop it first: ralph cancel")
}

fn clean_state(project: &Project, dry: bool, context: &Context<'_>) -> Result<Option<Cleaned>> {
    for mode in ["build", "plan"] {
        // The next run starts over. The output names only the readable copy.
        let record = launch::run_record(context, project, mode);
        if let Some(kept) = record.kept.filter(|kept| !dry && kept.exists()) {
            remove_file(&kept)?;
        }
    }
    let path = project.worktree.join(".ralph").join("state.toml");
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    if !dry {
        remove_file(&path)?;
        sweep_halves(&path)?;
    }
    Ok(Some(Cleaned::removed(".ralph/state.toml".to_owned(), dry)))
}

fn clean_worktrees(
    project: &Project,
    dry: bool,
    context: &mut Context<'_>,
) -> Result<Vec<Cleaned>> {
    let worktrees = Worktrees::new(project, &context.worktree_folder(project)?);
    let all = worktrees.ours()?;
    let done = all.iter().map(|ours| clean_worktree(project, &worktrees, ours, dry)).collect();
    if !dry {
        worktrees.sweep_locks();
    }
    Ok(done)
}

fn clean_worktree(project: &Project, worktrees: &Worktrees, ours: &Ours, dry: bool) -> Cleaned {
    let path = shown(project, &ours.path);
    if project.worktree.starts_with(&ours.path) {
        let here = CliError::failed("it is the current folder").hint(format!(
            "run it in the main worktree: ralph -C {} clean --worktrees",
            quoted(&project.root)
        ));
        return Cleaned::kept(path, &here);
    }
    if dry {
        return match worktrees.check_removable(&ours.branch) {
            Ok(()) => {
                let saved = ours.unsaved.then(|| "would save uncommitted work".to_owned());
                Cleaned { saved, ..Cleaned::removed(path, true) }
            }
            Err(error) => Cleaned::kept(path, &error.into()),
        };
    }
    match worktrees.remove(&ours.branch) {
        Ok(removed) => {
            let (saved, aside) = removed.map(|removed| (removed.saved, removed.aside)).unzip();
            let (saved, aside) = (saved.flatten(), aside.flatten());
            let note = aside.map(|aside| {
                format!("the git directory of its last session is kept in {}", aside.display())
            });
            let hint = saved.as_ref().map(|wip| format!("ralph recover {}", wip.task));
            let saved = saved.map(|wip| {
                format!("saved {} in {}", count(wip.files.len() as u64, "file"), wip.saved.name)
            });
            Cleaned { saved, hint, note, ..Cleaned::removed(path, false) }
        }
        Err(error) => Cleaned::kept(path, &error.into()),
    }
}

/// Removes files that are unchanged since `ralph init`, then the folders that are empty without them.
fn clean_files(project: &Project, dry: bool) -> Result<Vec<Cleaned>> {
    let (mut done, mut gone): (Vec<Cleaned>, Vec<PathBuf>) = (vec![], vec![]);
    for path in untouched_go().into_iter().filter(|path| is_as_written(project, path)) {
        let real = project.worktree.join(&path);
        if !dry {
            remove_file(&real)?;
        }
        gone.push(real);
        done.push(Cleaned::removed(path, dry));
    }
    for folder in our_folders(project) {
        let goes = |entry: io::Result<std::fs::DirEntry>| {
            entry.is_ok_and(|entry| gone.contains(&entry.path()))
        };
        if folder.is_symlink() || !std::fs::read_dir(&folder).is_ok_and(|mut all| all.all(goes)) {
            continue;
        }
        if !dry {
            std::fs::remove_dir(&folder)?;
        }
        done.push(Cleaned::removed(shown(project, &folder) + "/", dry));
        gone.push(folder);
    }
    Ok(done)
}

/// The folders that `ralph init` and runs create, inner ones first.
fn our_folders(project: &Project) -> Vec<PathBuf> {
    let here = skill_folders().into_iter().map(|name| project.worktree.join(name));
    let ours = ["features", "skills", "worktrees"].map(|name| project.ralph_dir().join(name));
    here.chain(ours).collect()
}

fn remove_file(path: &Path) -> Done {
    std::fs::remove_file(path).map_err(|error| CliError::file(path, "removed", error))
}

fn print_result(done: &[Cleaned], args: &CleanArgs, context: &mut Context<'_>) -> Done {
    if args.json {
        return context.out.json(&done);
    }
    if done.is_empty() {
        context.out.note("nothing to remove");
    }
    let style = context.out.style;
    for one in done {
        let meaning = if one.reason.is_some() { Meaning::Bad } else { Meaning::Good };
        let why = one.reason.as_ref().or(one.saved.as_ref()).or(one.note.as_ref());
        let why = why.map(|why| format!(": {}", ralph_core::text::printable_line(why)));
        let size = one.bytes.map(|size| format!(" ({})", bytes(size))).unwrap_or_default();
        let word = style.paint(meaning, one.did);
        context.out.line(format!("{word}  {}{size}{}", one.path, why.unwrap_or_default()))?;
    }
    for one in done {
        match (&one.hint, &one.saved) {
            (Some(command), Some(_)) => context.out.note(format!("restore it: {command}")),
            (Some(hint), None) => context.out.note(format!("{}: {hint}", one.path)),
            (None, _) => {}
        }
    }
    Ok(())
}

/// A path relative to the current worktree, if it is inside it; otherwise the whole path.
fn shown(project: &Project, path: &Path) -> String {
    path.strip_prefix(&project.worktree).unwrap_or(path).display().to_string()
}
