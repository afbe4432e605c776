//! `ralph task` from a session: carries out reads and notes, records outcomes as requests, and refuses everything
//! else. The loop runs this in its own process.

use ralph_core::TaskId;
use ralph_core::run::{Request, RequestedOutcome};
use ralph_core::task::{Actor, Refusal, Status, may_write};
use ralph_engine::quota::{NOTES, NOTES_TEXT};
use ralph_engine::socket::{Closed, SessionIdentity};

use super::{TaskArgs, TaskCommand, added, claim, notes, proposed};
use crate::commands::hook::{self, HookEvent};
use crate::error::{CliError, Done, with_store};
use crate::wiring::{Context, out_of_reach};

pub(crate) fn cmd_task_for_session(
    args: TaskArgs,
    identity: &SessionIdentity,
    context: &mut Context<'_>,
) -> Done {
    let mut command = args.command;
    if identity.requests.proposals().is_some() {
        match proposed::carry_out(command, &identity.requests, context)? {
            Some(other) => command = other,
            None => return Ok(()),
        }
    }
    match command {
        TaskCommand::List(_)
        | TaskCommand::Show(_)
        | TaskCommand::Tree(_)
        | TaskCommand::Deps(_)
        | TaskCommand::Ready(_)
        | TaskCommand::Peek(_)
        | TaskCommand::PlanStatus(_) => command.run(context),
        TaskCommand::Log(args) if args.text.is_some() && !identity.requests.may_note() => {
            Err(refused!("this session has reached its limit of notes").hint(format!(
                "a session may write {NOTES} notes, {} KiB in total",
                NOTES_TEXT >> 10
            )))
        }
        TaskCommand::Log(args) => {
            if let Some(note) = notes::log(&args, context)? {
                identity.requests.note(&note);
            }
            Ok(())
        }
        TaskCommand::Claim(args) if identity.may_claim => {
            claim::cmd_claim_for_session(&args, context)
        }
        TaskCommand::Renew(args) if identity.may_claim => {
            claim::cmd_renew_for_session(&args, context)
        }
        TaskCommand::Claim(_) | TaskCommand::Renew(_) => {
            let failed = refused!("in this run the loop chooses and claims tasks");
            Err(with_own_task(failed, identity))
        }
        TaskCommand::Done(args) => {
            let (task, result) = args.read()?;
            record(task, RequestedOutcome::Done { result }, identity, context)
        }
        TaskCommand::Fail(args) => {
            let (task, reason, for_good) = args.read()?;
            record(task, RequestedOutcome::Fail { reason, for_good }, identity, context)
        }
        TaskCommand::Ask(args) => {
            let (task, text) = args.read(context)?;
            record(task, RequestedOutcome::Ask { text }, identity, context)
        }
        TaskCommand::Add(args) => added::carry_out(args.read(context)?, identity, context),
        TaskCommand::Create(args) => added::carry_out(args.read(context)?, identity, context),
        TaskCommand::Update(_)
        | TaskCommand::Delete(_)
        | TaskCommand::Block(_)
        | TaskCommand::Unblock(_)
        | TaskCommand::Reset(_)
        | TaskCommand::Reopen(_)
        | TaskCommand::PlanSync(_)
        | TaskCommand::Agent(_) => Err(out_of_reach()),
    }
}

fn with_own_task(failed: CliError, identity: &SessionIdentity) -> CliError {
    match &identity.task {
        Some((task, _)) => failed.hint(format!("your task is {task}: ralph task show {task}")),
        None => failed,
    }
}

/// Records the requested outcome of a task that this session holds.
fn record(
    task: TaskId,
    outcome: RequestedOutcome,
    identity: &SessionIdentity,
    context: &mut Context<'_>,
) -> Done {
    let mut store = context.reader()?;
    let found = store.get(&task).map_err(|error| with_store(error, &mut *store))?;
    let generation =
        identity.task.as_ref().filter(|(own, _)| *own == task).map(|(_, number)| *number);
    let ticks = matches!(outcome, RequestedOutcome::Done { .. })
        && identity.plan.is_some()
        && found.reference == identity.plan
        && found.status == Status::Pending;
    // If the loop claims, only the task of this session counts, not every task that its id holds.
    if generation.is_none() && !identity.may_claim && !ticks {
        let failed = refused!("{task} is not assigned to this session");
        return Err(with_own_task(failed, identity));
    }
    let holds = match found.status {
        _ if ticks => Ok(()),
        Status::InProgress => may_write(&found, &Actor::Agent(identity.agent.clone(), generation)),
        status => Err(Refusal::NotClaimed { id: task.clone(), status }),
    };
    holds.map_err(|refusal| with_store(refusal.into(), &mut *store))?;
    let what = match &outcome {
        RequestedOutcome::Done { .. } => format!("ralph will check {task} when the session ends"),
        RequestedOutcome::Fail { for_good: false, .. } | RequestedOutcome::Left { .. } => {
            format!("ralph will retry {task} after this session")
        }
        RequestedOutcome::Fail { for_good: true, .. } => {
            format!("{task} will fail when the session ends")
        }
        RequestedOutcome::Ask { .. } => {
            format!("{task} will wait for the user when the session ends")
        }
    };
    let before = identity.requests.record(Request { task, outcome })?;
    let instead = match before {
        Some(RequestedOutcome::Done { .. }) => " (instead of done)",
        Some(RequestedOutcome::Fail { .. }) => " (instead of fail)",
        Some(RequestedOutcome::Ask { .. }) => " (instead of ask)",
        Some(RequestedOutcome::Left { .. }) | None => "",
    };
    context.out.conclude(format!("recorded: {what}{instead}"))
}

impl From<Closed> for CliError {
    fn from(error: Closed) -> Self {
        Self::refused(error.to_string())
    }
}

/// Carries out a hook: requests a retry of the tasks that the session holds and has not reported on.
pub(crate) fn cmd_hook_for_session(
    event: HookEvent,
    identity: &SessionIdentity,
    context: &mut Context<'_>,
) -> Done {
    // If the loop claims, the loop itself handles a session that ends without a report: its rules differ by
    // preset, and a failure recorded here would count as an extra retry. If the context is full, the agent
    // can no longer report, and the reason is worth a retry.
    if event == HookEvent::SessionEnd && !identity.may_claim {
        return Ok(());
    }
    let held: Vec<TaskId> = match identity.may_claim {
        false => identity.task.iter().map(|(task, _)| task.clone()).collect(),
        true => {
            let active = context.reader()?.list(&hook::active(identity.agent.clone()))?;
            active.into_iter().map(|task| task.id).collect()
        }
    };
    for task in held {
        let outcome = RequestedOutcome::Left { reason: event.reason().to_owned() };
        identity.requests.record_if_none(Request { task, outcome })?;
    }
    // Not every version of an agent stops when its hook says so.
    if event == HookEvent::PreCompact {
        identity.requests.end_session();
    }
    Ok(())
}
