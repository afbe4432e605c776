//! Claims and outcomes: `claim`, `renew`, `done`, `fail`, `reset`.

use clap::Args;
use ralph_core::task::{Status, Task};
use ralph_core::time::Lease;
use ralph_core::{AgentId, TaskId, text};
use ralph_engine::clock;
use ralph_engine::ports::ClaimRequest;
use ralph_ui::tasks::{self, Kv};

use super::query::scope;
use crate::error::{CliError, Done, Result, task_id, with_store};
use crate::status_query::merges_of;
use crate::wiring::{Context, agent_id};

/// How many ready tasks a claim looks through for one that is not waiting for a merge.
const READY: usize = 100;

/// The reason of a failure that has none.
const NO_REASON: &str = "no reason given";

/// Claim a task to work on it: the named one, or the first that is ready
///
/// A claim lasts for its lease and can be renewed. When the lease expires, another agent can claim the task,
/// which counts as a retry.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task claim --agent builder-1 --lease 900")]
pub(super) struct ClaimArgs {
    /// The task [default: the first that is ready]
    id: Option<String>,
    /// How long the claim lasts, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    lease: u64,
    /// The agent that claims the task [default: RALPH_AGENT_ID, else you]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only tasks of this feature
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    feature: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_claim(args: &ClaimArgs, context: &mut Context<'_>) -> Done {
    let agent = match &args.agent {
        Some(agent) => agent_id(agent)?,
        None => context.actor()?.name().clone(),
    };
    let task = args.id.as_deref().map(task_id).transpose()?;
    claim_as(agent, task, lease(args.lease)?, args, context)
}

/// The same from inside a session: the claim belongs to the session whatever name it gives, and the loop renews it, so
/// that no long lease is needed. Tasks that wait for a merge cannot be claimed, as in the loop.
pub(super) fn cmd_claim_for_session(args: &ClaimArgs, context: &mut Context<'_>) -> Done {
    let agent = context.actor()?.name().clone();
    let task = claimable_here(args, context)?;
    claim_as(agent, task, lease(args.lease)?.min(Lease::DEFAULT), args, context)
}

/// The named task, or the first ready one, where ready ones wait for a merge; `None` is any.
fn claimable_here(args: &ClaimArgs, context: &mut Context<'_>) -> Result<Option<TaskId>> {
    let project = context.project()?;
    let mut store = context.store()?;
    let store = &mut *store;
    let named = args.id.as_deref().map(task_id).transpose()?;
    let ready = match &named {
        // The claim itself says what is wrong with the task.
        Some(id) => store.get(id).into_iter().collect(),
        None => {
            let scope = scope(args.feature.as_deref(), store)?;
            store
                .peek(&scope, READY, clock::now())
                .map_err(|error| with_store(error, store))?
                .claimable
        }
    };
    let waiting = merges_of(&project, store, &ready);
    let waits = |task: &Task| waiting.iter().any(|one| one.task == task.id);
    match (waiting.first(), ready.iter().find(|task| !waits(task))) {
        (None, _) => Ok(named),
        (Some(_), Some(free)) => Ok(Some(free.id.clone())),
        (Some(first), None) => {
            let why = format!("Claim failed: {} {}", first.task, first.reason());
            Err(CliError::failed(why)
                .hint(format!("it has to be merged first: {}", first.command())))
        }
    }
}

fn claim_as(
    agent: AgentId,
    task: Option<TaskId>,
    lease: Lease,
    args: &ClaimArgs,
    context: &mut Context<'_>,
) -> Done {
    let mut store = context.store()?;
    let scope = scope(args.feature.as_deref(), &mut *store)?;
    let request = ClaimRequest { agent, task, scope, lease };
    let claimed = store.claim(&request, clock::now());
    let claimed = claimed.map_err(|error| with_store(error, &mut *store))?;
    if args.json {
        return context.out.json(&tasks::claim_json(&claimed.task, &claimed.blocker_results));
    }
    let kv = Kv {
        task: &claimed.task,
        status: "active",
        assignee: true,
        claim: Some(&claimed.blocker_results),
    };
    context.out.data(tasks::markdown_kv([kv]))
}

fn lease(seconds: u64) -> Result<Lease> {
    Lease::seconds(seconds)
        .ok_or_else(|| usage!("a lease must be 1 to {} seconds, not {seconds}", Lease::MAX_SECONDS))
}

/// Renew a claim, starting now
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task renew t-abcd2345")]
pub(super) struct RenewArgs {
    /// The task
    id: String,
    /// How long the claim lasts from now, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    lease: u64,
}

pub(super) fn cmd_renew(args: &RenewArgs, context: &mut Context<'_>) -> Done {
    renew_for(lease(args.lease)?, args, context)
}

/// The same from inside a session, with a lease no longer than that of a claim there.
pub(super) fn cmd_renew_for_session(args: &RenewArgs, context: &mut Context<'_>) -> Done {
    renew_for(lease(args.lease)?.min(Lease::DEFAULT), args, context)
}

fn renew_for(lease: Lease, args: &RenewArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    let task = context.change(|store, by, now| store.renew(&id, lease, by, now))?;
    if let Some(claim) = task.claim {
        context.out.note(format!("{} holds {id} until {}", claim.agent, claim.lease_expires_at));
    }
    Ok(())
}

/// Report a claimed task as done
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task done t-abcd2345 --result '{\"commit\":\"1a2b3c4\"}'")]
pub(super) struct DoneArgs {
    /// The task
    id: String,
    /// The result: a JSON object with at least a commit
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

impl DoneArgs {
    pub(super) fn read(&self) -> Result<(TaskId, Option<String>)> {
        Ok((task_id(&self.id)?, self.result.as_deref().map(result).transpose()?))
    }
}

pub(super) fn cmd_done(args: &DoneArgs, context: &mut Context<'_>) -> Done {
    let (id, result) = args.read()?;
    context.change(|store, by, now| store.done(&id, result.as_deref(), by, now))
}

fn result(text: &str) -> Result<String> {
    let example = r#"write it like this: --result '{"commit":"1a2b3c4"}'"#;
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| failed!("the result is not JSON: {error}").hint(example))?;
    match value.get("commit") {
        Some(serde_json::Value::String(commit)) if !commit.trim().is_empty() => {}
        _ => return Err(CliError::failed("the result names no commit").hint(example)),
    }
    Ok(text::long("result", value.to_string())?)
}

/// Report a claimed task as failed; it reopens until its retries are used up
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task fail t-abcd2345 --reason \"the API is down\"")]
pub(super) struct FailArgs {
    /// The task
    id: String,
    /// Why it failed [default: no reason given]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Do not retry it
    #[arg(long = "final")]
    final_: bool,
}

impl FailArgs {
    pub(super) fn read(&self) -> Result<(TaskId, String, bool)> {
        let id = task_id(&self.id)?;
        // A script that has nothing to say must still be able to return its task.
        let given = self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let reason = text::long("reason", given.unwrap_or(NO_REASON))?;
        Ok((id, reason, self.final_))
    }
}

pub(super) fn cmd_fail(args: &FailArgs, context: &mut Context<'_>) -> Done {
    let (id, reason, for_good) = args.read()?;
    let limit = context.retry_limit()?;
    let became =
        context.change(|store, by, now| store.fail(&id, &reason, for_good, limit, by, now))?;
    context.out.conclude(match became {
        Status::Failed => format!("{id} has failed; to reopen it: ralph task reset {id}"),
        _ => format!("{id} is open again"),
    })
}

/// Reopen a task: clear its claim and its retries
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task reset t-abcd2345")]
pub(super) struct ResetArgs {
    /// The task
    id: String,
}

pub(super) fn cmd_reset(args: &ResetArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    context.change(|store, by, now| store.reset(&id, by, now))
}
