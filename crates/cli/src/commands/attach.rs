//! `ralph attach`: the session of a task as it runs, with a line to its agent.

use std::io::{self, BufRead, IsTerminal};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::view::part::Part;

use super::follow::follow;
use super::tell::tell;
use crate::attach::run_at;
use crate::error::{CliError, Done, Result, task_id};
use crate::task_session::{self, ActiveSession};
use crate::wiring::Context;

/// Show the running session of a task, and tell its agent what you type
///
/// Each line that you type is a message, as with ralph tell. Ctrl-D or Ctrl-C detaches: the session continues. The
/// command ends by itself when the session is over and its work is checked.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph attach t-abcd2345")]
pub(crate) struct AttachArgs {
    /// The task
    id: String,
}

/// What the user types.
enum Typed {
    Line(String),
    /// Ctrl-D on a terminal. The end of a file or pipe ends nothing.
    Detach,
}

pub(crate) fn cmd_attach(args: &AttachArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let id = task_id(&args.id)?;
    let task = context.task(&id)?;
    let Some(session) = task_session::active(&task, context)? else {
        return Err(CliError::failed(format!("no session works on {id} now"))
            .hint(format!("start one: ralph run {id}"))
            .hint(format!("leave a message for the next one: ralph tell {id} \"TEXT\"")));
    };
    let ActiveSession { socket, slot, iteration, seen } = session;
    let Some(mut run) = run_at(&socket, None)? else {
        return Err(CliError::failed("the run has just ended").hint("see it: ralph logs"));
    };
    if io::stdin().is_terminal() {
        context.out.note("type a line to tell the agent something; Ctrl-D detaches");
    }
    let typed = typed();
    let mut detached = false;
    follow(&mut run, Part::Iteration(iteration), false, context, |event, context| {
        loop {
            match typed.try_recv() {
                Ok(Typed::Line(line)) => say(&id, &line, context)?,
                Ok(Typed::Detach) => {
                    detached = true;
                    return Ok(false);
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        Ok(event.is_none_or(|event| event.seq <= seen || !is_end(event, slot)))
    })?;
    context.out.conclude(match detached {
        true => format!("detached; the session of {id} continues"),
        false => format!("the session of {id} is over; see the task: ralph task show {id}"),
    })
}

fn is_end(event: &RunEvent, slot: SlotId) -> bool {
    match event.fact {
        Fact::IterationEnded { slot: ended, .. } => ended == slot,
        Fact::RunEnded { .. } => true,
        _ => false,
    }
}

/// Tells the agent a line. What is refused is said, and the session stays in sight.
fn say(id: &TaskId, line: &str, context: &mut Context<'_>) -> Result<()> {
    if line.trim().is_empty() {
        return Ok(());
    }
    match tell(id, line, context) {
        Ok((_, receiver)) => context.out.note(receiver.sentence(id)),
        Err(error) => context.out.failure(&error, str::to_owned),
    }
    Ok(())
}

/// The lines of standard input as they come. The thread ends with the process.
fn typed() -> Receiver<Typed> {
    let (sender, receiver) = channel();
    let terminal = io::stdin().is_terminal();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(std::result::Result::ok) {
            if sender.send(Typed::Line(line)).is_err() {
                return;
            }
        }
        if terminal {
            let _ = sender.send(Typed::Detach);
        }
    });
    receiver
}
