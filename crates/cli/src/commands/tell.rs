//! `ralph tell`: what the user says about a task, to its running session or its next attempt.

use std::io::{self, IsTerminal};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::records::{MAX_MESSAGE, UserMessage};
use ralph_engine::socket::client::{self, ClientError};
use serde_json::json;

use super::control::control_sockets;
use crate::error::{CliError, Done, Result, task_id};
use crate::wiring::Context;

/// Tell the agent something about a task
///
/// If a session works on the task and its agent takes messages while it works, the session gets the message at its next
/// turn. Otherwise the next attempt gets it in its prompt. A session that ends without the message is followed by another
/// one that gets it. ralph says which of the two happens.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph tell t-abcd2345 \"Use the existing parser.\"
  git diff HEAD~1 | ralph tell t-abcd2345 -")]
pub(crate) struct TellArgs {
    /// The task
    id: String,
    /// What to say; omit it or pass - to read standard input
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Who gets a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    Session,
    /// The next attempt, which a running loop starts.
    NextAttempt,
    /// The next attempt, and no run is active.
    NextRun,
    /// A session that is being prepared, or the next attempt.
    Either,
}

impl Receiver {
    pub(crate) fn sentence(self, task: &TaskId) -> String {
        match self {
            Self::Session => format!("the session of {task} gets the message at its next turn"),
            Self::NextAttempt => {
                format!("the next attempt on {task} gets the message in its prompt")
            }
            Self::NextRun => format!(
                "the next attempt on {task} gets the message in its prompt; no run is active, start one: ralph build"
            ),
            Self::Either => {
                format!("the session of {task} or the next attempt on it gets the message")
            }
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::NextAttempt | Self::NextRun => "next_attempt",
            Self::Either => "session_or_next_attempt",
        }
    }
}

pub(crate) fn cmd_tell(args: &TellArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let id = task_id(&args.id)?;
    let text = match args.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        None if io::stdin().is_terminal() => {
            return Err(CliError::usage("the message is missing")
                .hint(format!("add it: ralph tell {id} \"TEXT\"")));
        }
        _ => context.read_stdin()?,
    };
    let (number, receiver) = tell(&id, &text, context)?;
    if args.json {
        let got = json!({"task": id, "message": number, "reached": receiver.as_str()});
        return context.out.json(&got);
    }
    context.out.conclude(receiver.sentence(&id))
}

/// Records a message and hands it to the run that works on the task. Returns its number, and who gets it.
pub(crate) fn tell(id: &TaskId, text: &str, context: &mut Context<'_>) -> Result<(u32, Receiver)> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CliError::failed("the message is empty")
            .hint(format!("say what the agent should know: ralph tell {id} \"TEXT\"")));
    }
    if text.len() > MAX_MESSAGE {
        return Err(CliError::failed(format!(
            "the message has {} bytes, more than the {MAX_MESSAGE} allowed",
            text.len()
        ))
        .hint(format!(
            "write it to a file of the repository and name it: ralph tell {id} \"Read FILE\""
        )));
    }
    let branch = context.task(id)?.branch;
    let number = context.change(|store, by, now| store.tell(id, text, by, now))?;
    let message = UserMessage { number, text: text.to_owned() };
    let mut receiver = Receiver::NextRun;
    for socket in control_sockets(branch.as_deref(), context)? {
        match client::tell(&socket, id, &message) {
            Ok(Some(true)) => return Ok((number, Receiver::Session)),
            Ok(None) => receiver = Receiver::Either,
            // A run of an older ralph knows no messages. The next attempt reads what the task database has.
            Ok(Some(false)) | Err(ClientError::Refused(_)) if receiver == Receiver::NextRun => {
                receiver = Receiver::NextAttempt;
            }
            // The run was killed before it could remove its socket, or it ends just now.
            Ok(Some(false)) | Err(_) => {}
        }
    }
    Ok((number, receiver))
}
