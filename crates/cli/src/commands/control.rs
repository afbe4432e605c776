//! `ralph pause`, `resume`, `cancel`, `skip` and `retry`: the user's commands to a running loop.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ralph_core::run::{Cancel, Control};
use ralph_engine::socket::client::{self, ClientError};
use ralph_engine::untrusted;
use serde_json::json;

use crate::error::{CliError, Done, Result, task_id};
use crate::wiring::Context;

#[derive(Debug, Args)]
pub(crate) struct ControlArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_pause(args: &ControlArgs, context: &mut Context<'_>) -> Done {
    carry_out(&Control::Pause, args.json, context)
}

pub(crate) fn cmd_resume(args: &ControlArgs, context: &mut Context<'_>) -> Done {
    carry_out(&Control::Resume, args.json, context)
}

/// Stop the running loop, in all its worktrees; the next run resumes it
///
/// Without options ralph stops after the running sessions, as Ctrl-C does: each session ends by itself,
/// ralph checks, commits and records its work as usual, and no other session starts. If no session is
/// running, the loop stops at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph cancel                 # stop after the running sessions
  ralph cancel --after task    # first finish the current tasks, with their retries
  ralph cancel --after now     # interrupt the sessions and save their work")]
pub(crate) struct CancelArgs {
    /// What ralph finishes first
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = After::Session)]
    after: After,
    /// The same as --after now
    #[arg(long, conflicts_with = "after")]
    now: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a cancelled run finishes before it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum After {
    /// The current tasks: ralph retries them until each is done, failed or waiting for you
    Task,
    /// The running sessions, with their gates and the verifier
    Session,
    /// Nothing: ralph interrupts the sessions, kills those that do not end, and saves their work
    Now,
}

pub(crate) fn cmd_cancel(args: &CancelArgs, context: &mut Context<'_>) -> Done {
    let after = if args.now { After::Now } else { args.after };
    let cancel = match after {
        After::Task => Cancel::AfterTask,
        After::Session => Cancel::AfterSession,
        After::Now => Cancel::Now,
    };
    carry_out(&Control::Cancel(cancel), args.json, context)
}

#[derive(Debug, Args)]
pub(crate) struct TaskControlArgs {
    /// The task
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_skip(args: &TaskControlArgs, context: &mut Context<'_>) -> Done {
    let task = task_id(&args.id)?;
    carry_out(&Control::Skip { task }, args.json, context)
}

pub(crate) fn cmd_retry(args: &TaskControlArgs, context: &mut Context<'_>) -> Done {
    let task = task_id(&args.id)?;
    carry_out(&Control::Retry { task }, args.json, context)
}

fn carry_out(control: &Control, json: bool, context: &mut Context<'_>) -> Done {
    let (message, reached) = send(control, context)?;
    if json {
        return context.out.json(&json!({"control": control, "reached": reached}));
    }
    context.out.conclude(message)
}

/// What happens now that a control has arrived.
fn sentence(control: &Control) -> String {
    match control {
        Control::Pause => {
            "paused: ralph finishes the current sessions and waits; to continue: ralph resume"
                .to_owned()
        }
        Control::Resume => "resumed: the run continues".to_owned(),
        Control::Cancel(Cancel::AfterTask) => {
            "cancelled: ralph finishes the current tasks, then the run stops".to_owned()
        }
        Control::Cancel(Cancel::AfterSession) => {
            "cancelled: the run stops after the running sessions".to_owned()
        }
        Control::Cancel(Cancel::Now) => {
            "cancelled: ralph interrupts the sessions, saves their work and stops".to_owned()
        }
        Control::Cancel(Cancel::Kill) => {
            "cancelled: ralph kills the sessions, saves their work and stops".to_owned()
        }
        Control::Skip { task } => {
            format!("{task} is skipped and waits for you; to reopen it: ralph retry {task}")
        }
        Control::Retry { task } => {
            format!("{task} is open again; its retries and questions are cleared")
        }
        Control::Tell { task, .. } => format!("the session of {task} gets the message"),
    }
}

/// Sends a control to the run. One about a task is done in the store if no run is active. Returns what happens now, and
/// where the control arrived.
pub(crate) fn send(control: &Control, context: &mut Context<'_>) -> Result<(String, &'static str)> {
    let branch = match control {
        Control::Skip { task } | Control::Retry { task } | Control::Tell { task, .. } => {
            context.task(task)?.branch
        }
        Control::Pause | Control::Resume | Control::Cancel(_) => None,
    };
    let reached = match (reach(control, branch.as_deref(), context)?, control) {
        (true, _) => "run",
        (false, Control::Skip { task }) => {
            context.change(|store, by, now| store.hold(task, by, now))?;
            "store"
        }
        (false, Control::Retry { task }) => {
            context.change(|store, by, now| store.reset(task, by, now))?;
            "store"
        }
        (false, _) => {
            return Err(CliError::failed("no run is active in this worktree")
                .hint("start one: ralph build"));
        }
    };
    Ok((sentence(control), reached))
}

/// Sends a control to the run of this worktree and to those of its branches. Returns whether a run received it.
/// A control about a task of a `branch` goes to the run of that branch alone.
pub(super) fn reach(
    control: &Control,
    branch: Option<&str>,
    context: &mut Context<'_>,
) -> Result<bool> {
    context.refuse_in_session()?;
    let mut reached = false;
    for socket in control_sockets(branch, context)? {
        match client::control(&socket, control) {
            Ok(()) => reached = true,
            // The run was killed before it could remove its socket.
            Err(ClientError::NobodyThere(_)) => {}
            Err(error) => {
                return Err(failed!("the run did not accept the command: {error}"));
            }
        }
    }
    Ok(reached)
}

/// The control sockets that the state files of the worktrees name: in the worktree of a branch only that of its own
/// run, in the main worktree that of its run and those of its branches.
pub(super) fn control_sockets(
    branch: Option<&str>,
    context: &mut Context<'_>,
) -> Result<Vec<PathBuf>> {
    let project = context.project()?;
    project.check_ours()?;
    let own = socket_in(&project.worktree).filter(|_| project.worktree != project.root);
    if own.is_some() {
        return Ok(own.into_iter().collect());
    }
    let places = context.places(&project)?;
    let lane = places.iter().find(|(name, _)| branch == Some(name.as_str()));
    if let Some(socket) = lane.and_then(|(_, path)| socket_in(path)) {
        return Ok(vec![socket]);
    }
    let lanes = places.iter().filter(|_| branch.is_none()).map(|(_, path)| path);
    Ok([&project.root].into_iter().chain(lanes).filter_map(|path| socket_in(path)).collect())
}

/// The control socket that the state file of a worktree names.
fn socket_in(worktree: &Path) -> Option<PathBuf> {
    let file = worktree.join(".ralph").join("state.toml");
    let bytes = untrusted::read_own(&file, untrusted::SMALL).ok()?;
    let state: toml::Table = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
    let path = state.get("control_socket")?.as_str().filter(|path| !path.is_empty())?;
    Some(PathBuf::from(path))
}
