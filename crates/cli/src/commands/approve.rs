//! `ralph approve` and `ralph reject`: finished work that waits for the user.

use clap::Args;
use ralph_core::TaskId;
use ralph_core::task::Status;
use ralph_core::text;
use ralph_ui::columns::{Cell, table};

use crate::approvals::awaiting;
use crate::error::{CliError, Done, Result, task_id};
use crate::wiring::Context;

/// List finished work that waits for your approval, or let it land
///
/// The next iteration of the loop lands the work without a session. If other work landed meanwhile, the gates check it
/// again first.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph approve\n         ralph approve t-abcd2345")]
pub(crate) struct ApproveArgs {
    /// The task whose work may land
    id: Option<String>,
}

/// Reject finished work that waits for your approval: the task is returned for retry
///
/// The next session gets the reason in its prompt. A rejection uses up a retry, as a failing gate does.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph reject t-abcd2345 \"Keep the old field name.\"")]
pub(crate) struct RejectArgs {
    /// The task whose work is not good enough
    id: String,
    /// Why, for the next session
    #[arg(allow_hyphen_values = true)]
    reason: String,
}

pub(crate) fn cmd_approve(args: &ApproveArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let Some(id) = &args.id else { return list(context) };
    let id = task_id(id)?;
    let message = approve(&id, context)?;
    context.out.conclude(message)
}

/// Lets the finished work of a task land. Returns what happens now.
pub(crate) fn approve(id: &TaskId, context: &mut Context<'_>) -> Result<String> {
    context.change(|store, by, now| store.approve(id, by, now))?;
    Ok(format!("{id} is approved; a running loop lands it next, or run: ralph build"))
}

pub(crate) fn cmd_reject(args: &RejectArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let message = reject(&task_id(&args.id)?, &args.reason, context)?;
    context.out.conclude(message)
}

/// Returns a task for retry whose finished work waits for approval. Returns what happens now.
pub(crate) fn reject(id: &TaskId, reason: &str, context: &mut Context<'_>) -> Result<String> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(CliError::failed("the reason is empty")
            .hint(format!("say what to change: ralph reject {id} \"WHY\"")));
    }
    let reason = text::long("reason", format!("rejected by you: {reason}"))?;
    let limit = context.retry_limit()?;
    let became = context.change(|store, by, now| store.reject(id, &reason, limit, by, now))?;
    Ok(match became {
        Status::Failed => {
            format!("{id} has failed, no retry is left; to reopen it: ralph retry {id}")
        }
        _ => format!("{id} is open again; its next session gets the reason"),
    })
}

fn list(context: &mut Context<'_>) -> Done {
    let waiting = awaiting(context.reader()?.as_mut())?;
    if waiting.is_empty() {
        return context.out.conclude("no work waits for your approval");
    }
    let rows: Vec<Vec<Cell>> = waiting
        .iter()
        .map(|task| {
            let title = text::printable_line(task.title.as_str()).into_owned();
            vec![Cell::new(task.id.as_str()), Cell::new(title)]
        })
        .collect();
    context.out.data(table(&["TASK", "TITLE"], 1, &rows, context.out.style))?;
    context.out.conclude(
        "see the work with ralph diff ID, then: ralph approve ID, or ralph reject ID \"WHY\"",
    )
}
