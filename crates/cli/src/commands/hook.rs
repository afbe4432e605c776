//! `ralph hook`: called by the hooks of an agent's CLI. It never blocks or fails the agent's session.

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
use crate::wiring::{Context, agent_id};

/// Report an event of an agent's session to ralph; for the hooks of the agent's CLI
///
/// Fails the tasks that the agent still holds and has not reported on, with a reason, so that ralph retries
/// them. Does nothing without RALPH_AGENT_ID. Ignores standard input and always exits with 0.
#[derive(Debug, Args)]
#[command(after_help = "Example: RALPH_AGENT_ID=1a2b ralph hook session-end")]
pub(crate) struct HookArgs {
    /// The event
    #[arg(value_enum)]
    event: HookEvent,
}

/// An event of an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookEvent {
    /// The session ends
    SessionEnd,
    /// The context of the session is full; prints the JSON that stops the agent
    PreCompact,
}

impl HookEvent {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::SessionEnd => "session-end",
            Self::PreCompact => "pre-compact",
        }
    }

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
        Some(socket) => notify_run(args.event, socket),
        None => agent_id(agent).and_then(|agent| fail_held(args.event, &agent, context)),
    };
    // A failing hook would fail the agent's session, so errors are only warnings.
    if let Err(error) = done {
        let word = context.out.message_style.paint(Meaning::Warning, "warning:");
        context.out.error(format!("{word} {}", error.message()));
    }
    if args.event == HookEvent::PreCompact {
        context.out.line(r#"{"continue":false,"stopReason":"Context Limit Reached"}"#)?;
        context.out.finish()?;
    }
    // The caller may still be writing. A caller that never closes its end must not hold us up.
    let _ = given.recv_timeout(Duration::from_secs(1));
    Ok(())
}

/// Reads and discards standard input. The channel reports its end.
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

fn notify_run(event: HookEvent, socket: &Path) -> Done {
    let reply = client::call(socket, &Call::new(["hook", event.word()])).map_err(unanswered)?;
    match reply.code {
        0 => Ok(()),
        _ => Err(CliError::failed(reply.err.trim().trim_start_matches("error:").trim())),
    }
}

/// For an agent that no loop drives: fails its tasks at once.
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
            // Another hook, or the agent itself, has finished the task in the meantime.
            Err(StoreError::Refused(Refusal::ClaimLost { .. } | Refusal::NotClaimed { .. }))
            | Err(StoreError::Refused(Refusal::Transition { .. })) => {}
            failed => failed.map(|_| ())?,
        }
    }
    Ok(())
}

pub(crate) fn active(agent: AgentId) -> Filter {
    Filter {
        statuses: vec![StatusFilter::Stored(Status::InProgress)],
        assignee: Some(agent),
        ..Filter::default()
    }
}
