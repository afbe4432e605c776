//! `ralph diff`: what a task or the last iteration changed, shown by git through the user's pager.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::branch::task_of_branch;
use ralph_core::records::FileChange;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::task::{Status, Task};
use ralph_core::view::CommitView;
use ralph_core::view::history::LandedIteration;
use ralph_engine::git::Git;
use ralph_engine::ports::Trees;
use ralph_engine::project::Project;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::vcs::GitVcs;
use ralph_engine::vcs::wip::list_wip;
use serde::Serialize;

use crate::error::{Done, Result, quoted, task_id};
use crate::history;
use crate::status_query::RunFiles;
use crate::wiring::Context;

/// Show what a task changed: its commits, or its unfinished work
///
/// For a task that is being worked on, ralph shows what is in its worktree now; for one whose work is saved and not
/// committed, the newest save; otherwise its commits. On a terminal the output goes through your pager, as with git.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph diff                # the running session, or else the last iteration that committed
  ralph diff t-abcd2345
  ralph diff t-abcd2345 --stat")]
pub(crate) struct DiffArgs {
    /// The task [default: the running session, or else the last iteration that committed]
    task: Option<String>,
    /// Show files and numbers of lines only
    #[arg(long, conflicts_with_all = ["name_only", "json"])]
    stat: bool,
    /// Show names of files only
    #[arg(long, conflicts_with = "json")]
    name_only: bool,
    /// Print JSON: the commits and the files, with numbers of lines
    #[arg(long)]
    json: bool,
}

enum Work {
    /// Commits, the oldest first.
    Commits(Vec<CommitView>),
    /// The difference of two trees, and what it is.
    Trees { from: String, to: String, what: &'static str, title: String },
}

#[derive(Serialize)]
struct Told<'a> {
    task: Option<&'a TaskId>,
    /// `committed`, `saved` or `running`.
    state: &'static str,
    commits: &'a [CommitView],
    files: Vec<FileChange>,
}

pub(crate) fn cmd_diff(args: &DiffArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let project = context.project()?;
    let id = args.task.as_deref().map(task_id).transpose()?;
    let (folder, work) = match &id {
        Some(id) => of_task(id, context)?,
        None => newest(context)?,
    };
    let vcs = GitVcs::new(Project { worktree: folder.clone(), ..project })?;
    if args.json {
        return json(&work, id.as_ref(), &vcs, context);
    }
    if let Work::Trees { from, to, title, .. } = &work {
        if from == to {
            return context.out.conclude(format!("{title}: no changes"));
        }
        context.out.note(title);
    }
    let mut options =
        vec![if context.out.style.color { "--color=always" } else { "--color=never" }];
    options.extend(args.stat.then_some("--stat"));
    options.extend(args.name_only.then_some("--name-only"));
    context.out.finish()?;
    Err(printing(&work, &folder, &options).replace_process().into())
}

/// The work of a task as a patch; empty where nothing has changed.
pub(crate) fn patch(id: &TaskId, context: &mut Context<'_>) -> Result<String> {
    let (folder, work) = of_task(id, context)?;
    if matches!(&work, Work::Trees { from, to, .. } if from == to) {
        return Ok(String::new());
    }
    let printed = printing(&work, &folder, &["--color=never"]).run()?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

/// The call of git that prints the work.
fn printing(work: &Work, folder: &Path, options: &[&str]) -> Git<'static> {
    let call = match work {
        Work::Commits(_) => Git::plumbing(folder, &["show", "--diff-merges=first-parent"]),
        Work::Trees { .. } => Git::plumbing(folder, &["diff"]),
    };
    // No program of the repository is started for it.
    let own = ["--find-renames", "--no-ext-diff", "--no-textconv"];
    let call = own.iter().chain(options).fold(call, Git::arg);
    let call = match work {
        Work::Commits(commits) => commits.iter().fold(call, |call, commit| call.arg(&commit.id)),
        Work::Trees { from, to, .. } => call.arg(from).arg(to),
    };
    call.arg("--")
}

fn json(work: &Work, task: Option<&TaskId>, vcs: &GitVcs, context: &mut Context<'_>) -> Done {
    let (state, commits, files) = match work {
        Work::Commits(commits) => {
            let mut files: Vec<FileChange> = Vec::new();
            for commit in commits {
                add(&mut files, vcs.changes_of(&commit.id)?);
            }
            ("committed", commits.as_slice(), files)
        }
        Work::Trees { from, to, what, .. } => (*what, &[][..], vcs.counted_changes(from, to)?),
    };
    context.out.json(&Told { task, state, commits, files })
}

/// Adds the lines of files that several commits changed.
fn add(all: &mut Vec<FileChange>, more: Vec<FileChange>) {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    for file in more {
        match all.iter_mut().find(|known| known.path == file.path) {
            Some(known) => {
                known.added = sum(known.added, file.added);
                known.removed = sum(known.removed, file.removed);
            }
            None => all.push(file),
        }
    }
}

/// The work of a task, and the worktree that it is in.
fn of_task(id: &TaskId, context: &mut Context<'_>) -> Result<(PathBuf, Work)> {
    let task = context.task(id)?;
    let project = context.project()?;
    if task.status == Status::InProgress {
        let folder = worktree_of(&task, &project, context)?;
        return Ok((folder.clone(), running(&folder, &project, id)?));
    }
    let landed = history::all_landed(context)?;
    let is_of = |one: &&LandedIteration| one.tasks.iter().any(|task| task.id == *id);
    let mut commits: Vec<CommitView> =
        landed.iter().rev().filter(is_of).flat_map(|one| one.commits.clone()).collect();
    let saves = list_wip(&project)?;
    let newest = saves.iter().filter(|wip| wip.task == *id).max_by_key(|wip| wip.at);
    if let Some(wip) = newest.filter(|_| task.status != Status::Done) {
        let title = format!(
            "saved work of {id}, attempt {}; to restore it: ralph recover {id}",
            wip.attempt
        );
        let (from, to) = (format!("{}^1", wip.saved.commit), wip.saved.commit.clone());
        return Ok((project.worktree, Work::Trees { from, to, what: "saved", title }));
    }
    let vcs = GitVcs::new(project.clone())?;
    if commits.is_empty() {
        let named = vcs.commits_naming(id.as_str())?.into_iter().rev();
        commits = named.map(|(id, subject)| CommitView { id, subject }).collect();
    }
    let mut known = Vec::new();
    for commit in commits {
        if vcs.exists(&commit.id)? {
            known.push(commit);
        }
    }
    match known.is_empty() {
        false => Ok((project.worktree, Work::Commits(known))),
        true => {
            Err(refused!("ralph knows of no change of {id}: it has no commit and no saved work")
                .hint(format!("see its attempts: ralph task show {id}")))
        }
    }
}

/// The running session, or else the last iteration that committed.
fn newest(context: &mut Context<'_>) -> Result<(PathBuf, Work)> {
    let project = context.project()?;
    let run_files = RunFiles::read(context)?;
    if run_files.holder.is_some() {
        let tasks = under_way(&run_files.journal()?);
        let mut store = context.reader()?;
        let active: Vec<Task> = tasks.iter().filter_map(|id| store.get(id).ok()).collect();
        drop(store);
        match active.as_slice() {
            [] => {}
            [one] => {
                let folder = worktree_of(one, &project, context)?;
                return Ok((folder.clone(), running(&folder, &project, &one.id)?));
            }
            several => {
                let ids: Vec<&str> = several.iter().map(|task| task.id.as_str()).collect();
                return Err(usage!("{} tasks are being worked on: {}", ids.len(), ids.join(", "))
                    .hint(format!("name one: ralph diff {}", ids[0])));
            }
        }
    }
    let vcs = GitVcs::new(project.clone())?;
    for one in history::all_landed(context)? {
        if let Some(last) = one.commits.last()
            && vcs.has_commit(&last.id)?
        {
            return Ok((project.worktree, Work::Commits(one.commits)));
        }
    }
    let nothing = refused!(
        "nothing to show: no iteration has committed to this branch, and no session is running"
    );
    Err(match crate::status_query::first_place(context)? {
        Some(folder) => {
            nothing.hint(format!("see the work of a branch: ralph -C {} diff", quoted(&folder)))
        }
        None => nothing.hint("see your own changes: git diff"),
    })
}

fn under_way(journal: &[RunEvent]) -> Vec<TaskId> {
    let mut open: Vec<(SlotId, Option<TaskId>)> = Vec::new();
    for event in journal {
        match &event.fact {
            Fact::IterationStarted { slot, task, .. } => {
                open.retain(|(known, _)| *known != *slot);
                open.push((*slot, task.as_ref().map(|task| task.id.clone())));
            }
            Fact::IterationEnded { slot, .. } => {
                open.retain(|(known, _)| *known != *slot);
            }
            _ => {}
        }
    }
    open.into_iter().filter_map(|(_, task)| task).collect()
}

/// Where a task is worked on: its own worktree, that of its branch, or the one of the run.
fn worktree_of(task: &Task, project: &Project, context: &mut Context<'_>) -> Result<PathBuf> {
    let places = context.places(project)?;
    let own = |branch: &str| {
        task_of_branch(branch).as_ref() == Some(&task.id) || task.branch.as_deref() == Some(branch)
    };
    let found = places.into_iter().find(|(branch, _)| own(branch.as_str()));
    Ok(match found {
        Some((_, path)) => path,
        None if WorktreeLock::holder(&project.worktree.join(".ralph")).is_some() => {
            project.worktree.clone()
        }
        None => project.root.clone(),
    })
}

fn running(folder: &Path, project: &Project, id: &TaskId) -> Result<Work> {
    let vcs = GitVcs::new(Project { worktree: folder.to_owned(), ..project.clone() })?;
    let (from, to) = vcs.uncommitted()?;
    let title = format!("uncommitted work in {}, where {id} is being worked on", quoted(folder));
    Ok(Work::Trees { from, to, what: "running", title })
}
