//! `ralph task` for a session that proposes the tasks of a feature: changes are recorded, checked against the plan
//! and the earlier proposals, and answered at once.

use ralph_core::plan::{Proposal, Proposals, parse_sync};
use ralph_core::task::{NewTask, Refusal, Status, Task, TaskPatch};
use ralph_core::{FeatureName, TaskId};
use ralph_engine::clock;
use ralph_engine::ports::{Store, StoreError};
use ralph_engine::quota::PROPOSALS;
use ralph_engine::socket::Requests;

use super::TaskCommand;
use super::query::{TreeArgs, tree_or_json};
use crate::commands::import::at_line;
use crate::error::{CliError, Done, Result, known_task, with_store};
use crate::wiring::{Context, out_of_reach};

/// Carries out a command about proposals. Returns any other.
pub(super) fn carry_out(
    command: TaskCommand,
    requests: &Requests,
    context: &mut Context<'_>,
) -> Result<Option<TaskCommand>> {
    match command {
        TaskCommand::Add(args) => add(&args.read(context)?, requests, context),
        TaskCommand::Create(args) => add(&args.read(context)?, requests, context),
        TaskCommand::Update(args) => {
            let (id, patch, status) = args.read(context)?;
            if status.is_some() {
                return Err(refused!("a proposed task has no status yet"));
            }
            change(requests, context, |all, store| amend(all, &id, patch, store))
        }
        TaskCommand::Delete(args) => {
            let Some(ids) = args.named()? else {
                return Err(refused!("name each proposal to withdraw"));
            };
            change(requests, context, |all, _| {
                ids.iter().try_for_each(|id| Ok(all.withdraw(id).map_err(StoreError::from)?))
            })
        }
        TaskCommand::Block(args) => {
            let (id, blocker) = args.read()?;
            change(requests, context, |all, store| {
                let mut deps = deps_of(all, &id, store)?;
                if !deps.contains(&blocker) {
                    deps.push(blocker);
                }
                let patch = TaskPatch { deps: Some(deps), ..TaskPatch::default() };
                amend(all, &id, patch, store)
            })
        }
        TaskCommand::Unblock(args) => {
            let (id, by) = args.read()?;
            change(requests, context, |all, store| {
                let mut deps = deps_of(all, &id, store)?;
                if !deps.contains(&by) {
                    return Err(StoreError::from(Refusal::NotBlockedBy { id, by }).into());
                }
                deps.retain(|dep| *dep != by);
                let patch = TaskPatch { deps: Some(deps), ..TaskPatch::default() };
                amend(all, &id, patch, store)
            })
        }
        TaskCommand::PlanSync(_) => {
            let text = context.read_stdin()?;
            let stdin = std::path::Path::new("-");
            let plan = parse_sync(&text).map_err(|error| at_line(stdin, &text, &error))?;
            change(requests, context, |all, store| {
                for line in plan.tasks {
                    let fields = line.fields;
                    match all.has(&line.id) {
                        true => {
                            let patch = TaskPatch { title: Some(line.title), ..fields };
                            amend(all, &line.id, patch, store)?;
                        }
                        false => propose(
                            all,
                            Proposal { id: line.id, title: line.title, fields },
                            store,
                        )?,
                    }
                }
                Ok(())
            })
        }
        TaskCommand::Tree(args) => tree(&args, requests, context),
        command => return Ok(Some(command)),
    }
    .map(|()| None)
}

/// Proposes a task, with a generated id if none is given, and prints the id.
fn add(new: &NewTask, requests: &Requests, context: &mut Context<'_>) -> Done {
    let mut ids = context.ids();
    let mut chosen = None;
    change(requests, context, |all, store| {
        let id = match &new.id {
            Some(id) => id.clone(),
            None => loop {
                let id = ids.task()?;
                if !all.has(&id) && store.get(&id).is_err() {
                    break id;
                }
            },
        };
        chosen = Some(id.clone());
        let (title, fields) = (new.title.clone(), new.fields.clone());
        propose(all, Proposal { id, title, fields }, store)
    })?;
    chosen.map_or(Ok(()), |id| context.out.line(id))
}

/// Changes the proposals, unless all of them together would not fit the plan.
fn change(
    requests: &Requests,
    context: &mut Context<'_>,
    change: impl FnOnce(&mut Proposals, &mut dyn Store) -> Done,
) -> Done {
    let by = context.actor()?;
    let mut store = context.store()?;
    let changed = requests.propose(|all| {
        change(all, &mut *store)?;
        match store.dry_run(&all.plan(), &[], &by, clock::now()) {
            Ok(_) => Ok(all.tasks().len()),
            Err(error) => Err(misfit(error, &mut *store)),
        }
    });
    let count = changed.unwrap_or_else(|| Err(out_of_reach()))?;
    context.out.conclude(format!("proposed so far: {count}"))
}

/// Why the proposals do not fit, without line numbers: there is no file.
fn misfit(error: StoreError, store: &mut dyn Store) -> CliError {
    let error = match error {
        StoreError::Plan { refusal, .. } => StoreError::Refused(refusal),
        error => error,
    };
    let unknown = match &error {
        StoreError::Refused(Refusal::Unknown { id }) => Some(id.clone()),
        _ => None,
    };
    let failed = with_store(error, store);
    match unknown {
        Some(id) => failed.hint(format!("propose it first: ralph task add \"Title\" --id {id}")),
        None => failed,
    }
}

/// Adds a task. If the plan already has it, it must belong to this feature; it then stays in the plan.
fn propose(all: &mut Proposals, new: Proposal, store: &mut dyn Store) -> Done {
    refuse_other_feature(&new.fields, &all.feature)?;
    if let Some(task) = existing(&new.id, store)?
        && task.feature.as_ref() != Some(&all.feature)
    {
        return Err(with_store(Refusal::Exists { id: new.id }.into(), store));
    }
    if all.tasks().len() >= PROPOSALS {
        return Err(refused!("a session may propose {PROPOSALS} tasks"));
    }
    all.add(new).map_err(|refusal| with_store(refusal.into(), store))
}

/// Changes a proposal, or turns a task of the feature into one.
fn amend(all: &mut Proposals, id: &TaskId, patch: TaskPatch, store: &mut dyn Store) -> Done {
    refuse_other_feature(&patch, &all.feature)?;
    if !all.has(id)
        && let Some(task) = existing(id, store)?
        && task.feature.as_ref() == Some(&all.feature)
    {
        all.put(Proposal { id: task.id, title: task.title, fields: TaskPatch::default() });
    }
    all.amend(id, patch).map_err(|refusal| with_store(refusal.into(), store))
}

fn deps_of(all: &Proposals, id: &TaskId, store: &mut dyn Store) -> Result<Vec<TaskId>> {
    let output =
        all.tasks().iter().find(|task| task.id == *id).and_then(|task| task.fields.deps.clone());
    Ok(match output {
        Some(deps) => deps,
        None => existing(id, store)?.map(|task| task.deps).unwrap_or_default(),
    })
}

fn existing(id: &TaskId, store: &mut dyn Store) -> Result<Option<Task>> {
    Ok(known_task(id, store)?.filter(|task| task.status != Status::Deleted))
}

fn refuse_other_feature(fields: &TaskPatch, feature: &FeatureName) -> Done {
    match &fields.feature {
        Some(named) if named.as_ref() != Some(feature) => {
            Err(refused!("this session proposes tasks for the feature {feature} only")
                .hint("omit --feature"))
        }
        _ => Ok(()),
    }
}

/// The tasks proposed so far, as they would be in the plan.
fn tree(args: &TreeArgs, requests: &Requests, context: &mut Context<'_>) -> Done {
    let by = context.actor()?;
    let mut store = context.store()?;
    let Some(all) = requests.proposals() else { return Err(out_of_reach()) };
    let seen = store.dry_run(&all.plan(), &[], &by, clock::now());
    let (_, planned) = seen.map_err(|error| misfit(error, &mut *store))?;
    tree_or_json(&planned, args, context)
}
