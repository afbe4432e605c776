//! `ralph takeover`: the user continues where a session was.

use std::time::Duration;

use clap::Args;
use ralph_core::run::{Control, Fact};
use ralph_core::task::{Status, Task};
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};
use ralph_engine::agents::{self, Interactive, ShellWord, shell_command};
use ralph_engine::clock::Stopwatch;
use serde_json::json;

use super::control::reach;
use crate::attach::run_at;
use crate::config::key;
use crate::error::{CliError, Done, Result, task_id};
use crate::task_session::{self, ActiveSession, LastSession};
use crate::wiring::Context;

/// How long a session that was stopped may take to save its work.
const PATIENCE: Duration = Duration::from_secs(120);

/// Take over a task: pause the loop, stop the session of the task, and continue it yourself
///
/// ralph pauses the run, stops the session of the task, saves its work, and leaves the task to you. It prints one command,
/// which opens the same agent in the same folder with the same prompt.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph takeover t-abcd2345")]
pub(crate) struct TakeoverArgs {
    /// The task
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_takeover(args: &TakeoverArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let id = task_id(&args.id)?;
    let task = context.task(&id)?;
    if matches!(task.status, Status::Done | Status::Failed | Status::Deleted) {
        return Err(refused!("{id} is {}, and there is nothing to take over", task.status)
            .hint(format!("reopen it first: ralph task reopen {id}")));
    }
    // Whatever could be refused comes before the run is touched.
    let Some(last) = task_session::last(&id, context)? else {
        return Err(CliError::failed(format!("no session has worked on {id}"))
            .hint(format!("let one begin: ralph run {id}")));
    };
    let words = words(&last, context)?;
    let paused = reach(&Control::Pause, task.branch.as_deref(), context)?;
    let ended = leave_to_user(&task, paused, context)?;
    let command = shell_command(&last.folder, &words);
    let next = match paused {
        true => vec![format!("ralph retry {id}"), "ralph resume".to_owned()],
        false => vec![format!("ralph retry {id}"), "ralph build".to_owned()],
    };
    if args.json {
        return context.out.json(&json!({
            "task": id,
            "run": last.run,
            "agent": last.agent,
            "folder": last.folder,
            "system_prompt": last.system,
            "prompt": last.task,
            "command": command,
            "paused": paused,
            "stopped": ended,
            "next": next,
        }));
    }
    if ended {
        context.out.note(format!("the session of {id} is stopped, and its work is saved"));
    }
    if paused {
        context.out.note("the run is paused: ralph starts nothing new");
    }
    context.out.line(command)?;
    context.out.conclude(format!("to give {id} back to the loop: {}", next.join(", then ")))
}

/// The command of the agent that worked on the task.
fn words(last: &LastSession, context: &mut Context<'_>) -> Result<Vec<ShellWord>> {
    let profile = agents::find(&last.agent);
    let Some((profile, interactive)) = profile.and_then(|it| Some((it, it.interactive?))) else {
        return Err(CliError::failed(format!("the agent {} has no interactive form", last.agent))
            .hint("stop its session and leave the task to yourself: ralph skip TASK"));
    };
    let path = context.config()?.get_for(key::AGENT_PATH, profile.name).to_owned();
    let program = if path.is_empty() { profile.program.to_owned() } else { path };
    let (model, system, task) = (last.model.clone(), last.system.clone(), last.task.clone());
    Ok(interactive(&Interactive { program, model, system, task }))
}

/// Stops the session of the task, and leaves the task to the user. Returns whether there was a session.
fn leave_to_user(task: &Task, active: bool, context: &mut Context<'_>) -> Result<bool> {
    let session = match active {
        true => task_session::active(task, context)?,
        false => None,
    };
    let skip = Control::Skip { task: task.id.clone() };
    match session {
        Some(session) => {
            reach(&skip, task.branch.as_deref(), context)?;
            wait_for_end(&session)?;
            Ok(true)
        }
        None if task.status == Status::Waiting => Ok(false),
        None => {
            if !active || !reach(&skip, task.branch.as_deref(), context)? {
                context.change(|store, by, now| store.hold(&task.id, by, now))?;
            }
            Ok(false)
        }
    }
}

/// Waits until the run has recorded the end of the session.
fn wait_for_end(session: &ActiveSession) -> Result<()> {
    let Some(mut run) = run_at(&session.socket, None)? else { return Ok(()) };
    let since = Stopwatch::start();
    while since.elapsed() < PATIENCE {
        let event = match run.next(Duration::from_secs(1)) {
            Next::Seen(Observation { what: Observed::Fact { event }, .. }) => event,
            Next::Seen(_) | Next::Quiet => continue,
            Next::Over => return Ok(()),
        };
        let over = matches!(event.fact, Fact::IterationEnded { slot, .. } if slot == session.slot);
        if over && event.seq > session.seen {
            return Ok(());
        }
    }
    Err(CliError::failed("the session has not ended yet").hint("see what it does: ralph status"))
}
