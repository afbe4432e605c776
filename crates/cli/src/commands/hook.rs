//! `ralph hook`: called by the hooks of an agent's CLI. It never stands in the agent's way.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ralph_core::AgentId;
use ralph_core::task::{Actor, Refusal, Status, StatusFilter};
use ralph_engine::clock;
use ralph_engine::ports::{Filter, StoreError};
use ralph_engine::socket::{Call, client};
use ralph_ui::style::Meaning;

use super::task::unanswered;
use crate::error::{CliError, Done};
use crate::wire::{Context, agent_id};

/// Tell ralph what happens to an agent's session; for the hooks of its CLI
///
/// Tasks that the agent still holds, and asked nothing for, are failed with a reason and come back.
/// Without RALPH_AGENT_ID nothing is done. Standard input is not looked at, and the exit code is 0.
#[derive(Debug, Args)]
#[command(after_help = "Example: RALPH_AGENT_ID=1a2b ralph hook session-end")]
pub(crate) struct HookArgs {
    /// What happens
    #[arg(value_enum)]
    event: HookEvent,
}

/// What happens to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookEvent {
    /// It ends
    SessionEnd,
    /// Its context is full; prints that the agent is to stop
    PreCompact,
}

impl HookEvent {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::SessionEnd => "session-end",
            Self::PreCompact => "pre-compact",
        }
    }

    /// The event with this word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::SessionEnd, Self::PreCompact].into_iter().find(|event| event.word() == word)
    }

    /// Why a task comes back.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::SessionEnd => "session ended unexpectedly",
            Self::PreCompact => "context limit reached",
        }
    }
}

pub(crate) fn cmd_hook(args: &HookArgs, context: &mut Context<'_>) -> Done {
    let Some(agent) = context.environment.get("RALPH_AGENT_ID") else { return Ok(()) };
    let given = take_input();
    let done = match context.session_socket() {
        Some(socket) => tell_the_loop(args.event, socket),
        None => agent_id(agent).and_then(|agent| fail_held(args.event, &agent, context)),
    };
    // An error would be the agent's problem, and it has enough of its own.
    if let Err(error) = done {
        let word = context.out.message_look.paint(Meaning::Warning, "warning:");
        context.out.error(format!("{word} {}", error.message()));
    }
    if args.event == HookEvent::PreCompact {
        context.out.line(r#"{"continue":false,"stopReason":"Context Limit Reached"}"#)?;
        context.out.finish()?;
    }
    // Whoever calls may still be writing; one that never closes its end is not waited for.
    let _ = given.recv_timeout(Duration::from_secs(1));
    Ok(())
}

/// Takes standard input and lets it go. Its end is told when it comes.
fn take_input() -> mpsc::Receiver<()> {
    let (ended, end) = mpsc::channel();
    if !io::stdin().is_terminal() {
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = ended.send(());
        });
    }
    end
}

fn tell_the_loop(event: HookEvent, socket: &Path) -> Done {
    let reply = client::call(socket, &Call::new(["hook", event.word()])).map_err(unanswered)?;
    match reply.code {
        0 => Ok(()),
        _ => Err(CliError::failed(reply.err.trim().trim_start_matches("error:").trim())),
    }
}

/// An agent that no loop drives: its tasks are failed at once.
fn fail_held(event: HookEvent, agent: &AgentId, context: &mut Context<'_>) -> Done {
    let held = context.reader()?.list(&active(agent.clone()))?;
    if held.is_empty() {
        return Ok(());
    }
    let limit = context.retry_limit()?;
    let by = Actor::Agent(agent.clone(), None);
    let mut store = context.store()?;
    for task in held {
        match store.fail(&task.id, event.reason(), false, limit, &by, clock::now()) {
            // Another hook, or the agent itself, was faster.
            Err(StoreError::Refused(Refusal::ClaimLost { .. } | Refusal::NotClaimed { .. }))
            | Err(StoreError::Refused(Refusal::Transition { .. })) => {}
            failed => failed.map(|_| ())?,
        }
    }
    Ok(())
}

/// The tasks that an agent holds.
pub(crate) fn active(agent: AgentId) -> Filter {
    Filter {
        statuses: vec![StatusFilter::Stored(Status::InProgress)],
        assignee: Some(agent),
        ..Filter::default()
    }
}
