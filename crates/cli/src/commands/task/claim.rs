//! Claims and outcomes: `claim`, `renew`, `done`, `fail`, `reset`.

use clap::Args;
use ralph_core::task::{Status, Task};
use ralph_core::time::Lease;
use ralph_core::{AgentId, TaskId, text};
use ralph_engine::clock;
use ralph_engine::ports::ClaimRequest;
use ralph_ui::tasks::{self, Kv};

use super::edit::text_error;
use super::look::scope;
use crate::error::{CliError, Done, task_id, with_store};
use crate::standing::merges_of;
use crate::wire::{Context, agent_id};

/// So many ready tasks are looked at for one that waits for no merge.
const READY: usize = 100;

/// Take a task to work on it: the named one, or the first that is ready
///
/// A claim holds for its lease and can be renewed. A task whose lease ran out can be claimed by
/// somebody else, which counts as a retry.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task claim --agent builder-1 --lease 900")]
pub(super) struct ClaimArgs {
    /// The task; none for the first that is ready
    id: Option<String>,
    /// How long the claim holds, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    lease: u64,
    /// Whose claim it is (default: RALPH_AGENT_ID, else you)
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only from this feature
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

/// The same from inside a session: the claim is that of the session whatever it calls itself, and the
/// loop renews it, so that no long lease is needed. What waits for a merge is not to be had, as for the loop.
pub(super) fn cmd_claim_seated(args: &ClaimArgs, context: &mut Context<'_>) -> Done {
    let agent = context.actor()?.name().clone();
    let task = claimable_here(args, context)?;
    claim_as(agent, task, lease(args.lease)?.min(Lease::DEFAULT), args, context)
}

/// The named task, or the first ready one, where ready ones wait for a merge; `None` is any.
fn claimable_here(args: &ClaimArgs, context: &mut Context<'_>) -> Result<Option<TaskId>, CliError> {
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
        return Ok(context
            .out
            .json(&tasks::claim_json(&claimed.task, &claimed.blocker_results))?);
    }
    let kv = Kv {
        task: &claimed.task,
        status: "active",
        assignee: true,
        claim: Some(&claimed.blocker_results),
    };
    Ok(context.out.data(tasks::markdown_kv([kv]))?)
}

fn lease(seconds: u64) -> Result<Lease, CliError> {
    Lease::seconds(seconds).ok_or_else(|| {
        CliError::usage(format!("a lease has 1 to {} seconds, not {seconds}", Lease::MAX_SECONDS))
    })
}

/// Extend a claim from now on
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task renew t-abcd2345")]
pub(super) struct RenewArgs {
    /// The task
    id: String,
    /// How long the claim holds from now, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    lease: u64,
}

pub(super) fn cmd_renew(args: &RenewArgs, context: &mut Context<'_>) -> Done {
    renew_for(lease(args.lease)?, args, context)
}

/// The same from inside a session, with a lease no longer than that of a claim there.
pub(super) fn cmd_renew_seated(args: &RenewArgs, context: &mut Context<'_>) -> Done {
    renew_for(lease(args.lease)?.min(Lease::DEFAULT), args, context)
}

fn renew_for(lease: Lease, args: &RenewArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    let by = context.actor()?;
    let mut store = context.store()?;
    let renewed = store.renew(&id, lease, &by, clock::now());
    let task = renewed.map_err(|error| with_store(error, &mut *store))?;
    if let Some(claim) = task.claim {
        context
            .out
            .note(format!("{id} is held by {} until {}", claim.agent, claim.lease_expires_at));
    }
    Ok(())
}

/// Say that a claimed task is done
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task done t-abcd2345 --result '{\"commit\":\"1a2b3c4\"}'")]
pub(super) struct DoneArgs {
    /// The task
    id: String,
    /// What it produced: a JSON object with at least a commit
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

impl DoneArgs {
    /// The task and its result.
    pub(super) fn read(&self) -> Result<(TaskId, Option<String>), CliError> {
        Ok((task_id(&self.id)?, self.result.as_deref().map(result).transpose()?))
    }
}

pub(super) fn cmd_done(args: &DoneArgs, context: &mut Context<'_>) -> Done {
    let (id, result) = args.read()?;
    let by = context.actor()?;
    let mut store = context.store()?;
    store
        .done(&id, result.as_deref(), &by, clock::now())
        .map_err(|error| with_store(error, &mut *store))
}

fn result(text: &str) -> Result<String, CliError> {
    let example = r#"write it like this: --result '{"commit":"1a2b3c4"}'"#;
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        CliError::failed(format!("the result is not JSON: {error}")).hint(example)
    })?;
    match value.get("commit") {
        Some(serde_json::Value::String(commit)) if !commit.trim().is_empty() => {}
        _ => return Err(CliError::failed("the result names no commit").hint(example)),
    }
    text::long("result", value.to_string()).map_err(text_error)
}

/// Say that a claimed task failed; it comes back until its retries are used up
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task fail t-abcd2345 --reason \"the API is down\"")]
pub(super) struct FailArgs {
    /// The task
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
    /// Give it up for good
    #[arg(long = "final")]
    final_: bool,
}

impl FailArgs {
    /// The task, the reason, and whether it is given up for good.
    pub(super) fn read(&self) -> Result<(TaskId, String, bool), CliError> {
        let id = task_id(&self.id)?;
        if self.reason.trim().is_empty() {
            return Err(
                CliError::failed("the reason is empty").hint("say what went wrong: --reason TEXT")
            );
        }
        let reason = text::long("reason", self.reason.trim()).map_err(text_error)?;
        Ok((id, reason, self.final_))
    }
}

pub(super) fn cmd_fail(args: &FailArgs, context: &mut Context<'_>) -> Done {
    let (id, reason, for_good) = args.read()?;
    let by = context.actor()?;
    let limit = context.retry_limit()?;
    let mut store = context.store()?;
    let became = store.fail(&id, &reason, for_good, limit, &by, clock::now());
    let became = became.map_err(|error| with_store(error, &mut *store))?;
    context.out.note(match became {
        Status::Failed => format!("{id} has failed for good; ralph task reset {id} puts it back"),
        _ => format!("{id} is open again"),
    });
    Ok(())
}

/// Put a task back to open: its claim is cleared and its retries are forgotten
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task reset t-abcd2345")]
pub(super) struct ResetArgs {
    /// The task
    id: String,
}

pub(super) fn cmd_reset(args: &ResetArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    let by = context.actor()?;
    let mut store = context.store()?;
    store.reset(&id, &by, clock::now()).map_err(|error| with_store(error, &mut *store))
}
