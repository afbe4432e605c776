//! `ralph task agent`.

use clap::{Args, Subcommand};
use ralph_core::TaskId;
use ralph_core::task::Refusal;
use ralph_engine::clock;
use ralph_engine::ports::StoreError;
use ralph_ui::columns::{Cell, table};

use crate::error::{CliError, Done, with_store};
use crate::wiring::{Context, agent_id};

/// Register agents, and see which tasks they hold
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example: ralph task agent list"
)]
pub(super) struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Register a new agent and print its id, four hex digits
    #[command(after_help = "Example: export RALPH_AGENT_ID=$(ralph task agent register)")]
    Register,
    /// List the agents and the tasks that they hold
    #[command(after_help = "Example: ralph task agent list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove an agent and reopen the tasks that it holds; removing it twice is fine
    #[command(after_help = "Example: ralph task agent deregister 1a2b")]
    Deregister {
        /// The agent
        id: String,
    },
}

pub(super) fn cmd_agent(args: &AgentArgs, context: &mut Context<'_>) -> Done {
    match &args.command {
        AgentCommand::Register => register(context),
        AgentCommand::List { json } => list(*json, context),
        AgentCommand::Deregister { id } => {
            let id = agent_id(id)?;
            let by = context.actor()?;
            let mut store = context.store()?;
            match store.deregister_agent(&id, &by, clock::now()) {
                Ok(released) => {
                    for task in released {
                        context.out.note(format!("{task} is open again"));
                    }
                    Ok(())
                }
                // A script that cleans up twice has reached what it wants.
                Err(StoreError::Refused(Refusal::UnknownAgent { .. })) => context.out.conclude(
                    format!("{id} is not registered; see all agents: ralph task agent list"),
                ),
                Err(error) => Err(with_store(error, &mut *store)),
            }
        }
    }
}

fn register(context: &mut Context<'_>) -> Done {
    let mut ids = context.ids();
    let mut store = context.store()?;
    let known = store.agents()?;
    // There are only 65536 ids, and all of them may be taken.
    for _ in 0..100_000 {
        let id = ids.agent()?;
        if !known.iter().any(|agent| agent.id == id) {
            store.register_agent(&id, None, clock::now())?;
            return context.out.line(id);
        }
    }
    Err(CliError::failed("every agent id is taken")
        .hint("remove agents that are gone: ralph task agent deregister ID"))
}

fn list(json: bool, context: &mut Context<'_>) -> Done {
    let agents = context.reader()?.agents()?;
    if json {
        return context.out.json(&agents);
    }
    if agents.is_empty() {
        return context
            .out
            .conclude("no agent is registered; register one: ralph task agent register");
    }
    let rows: Vec<Vec<Cell>> = agents
        .iter()
        .map(|agent| {
            let tasks: Vec<&str> = agent.claims.iter().map(TaskId::as_str).collect();
            vec![
                Cell::new(agent.id.as_str()),
                Cell::new(agent.registered_at.to_string()),
                Cell::new(tasks.join(", ")),
            ]
        })
        .collect();
    context.out.data(table(&["AGENT", "SINCE", "HOLDS"], 2, &rows, context.out.style))
}
