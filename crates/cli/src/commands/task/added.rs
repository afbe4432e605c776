//! `ralph task add` from a session: ralph adds the task to the plan at once if it is within the limits, and records
//! the session in the log of the new task. It only adds new tasks and never changes existing ones.

use ralph_core::task::{NewTask, Refusal};
use ralph_engine::clock;
use ralph_engine::socket::{Adds, SessionIdentity};

use crate::error::{CliError, Done, known_task, with_store};
use crate::wiring::{Context, out_of_reach};

pub(super) fn carry_out(
    mut new: NewTask,
    identity: &SessionIdentity,
    context: &mut Context<'_>,
) -> Done {
    let Some(adds) = &identity.adds else {
        return Err(match &identity.plan {
            Some(file) => refused!("the tasks of this run are in a file")
                .hint(format!("add a line with a checkbox to {file}")),
            None => out_of_reach(),
        });
    };
    keep_to_limits(&mut new, adds)?;
    let by = context.actor()?;
    let mut ids = context.ids();
    let mut store = context.store()?;
    let added = identity.requests.add(|| {
        let id = match &new.id {
            Some(id) if known_task(id, store.as_mut())?.is_some() => {
                return Err(with_store(Refusal::Exists { id: id.clone() }.into(), store.as_mut()));
            }
            Some(id) => id.clone(),
            None => loop {
                let id = ids.task()?;
                if store.get(&id).is_err() {
                    break id;
                }
            },
        };
        let now = clock::now();
        let added = store.add(id.clone(), new.clone(), &by, now);
        added.map_err(|error| with_store(error, &mut *store))?;
        let of = match &identity.task {
            Some((task, _)) => format!("added by a session on {task}"),
            None => "added by a session".to_owned(),
        };
        store.note(&id, &of, &by, now)?;
        Ok::<_, CliError>(id)
    });
    let Some(added) = added else {
        return Err(refused!("a session may add {} tasks, and this one already has", Adds::MOST)
            .hint("leave a note instead: ralph task log ID \"...\""));
    };
    context.out.line(added?)
}

/// A task that a session adds belongs to the feature of its run and has no parent: as a part of another task it
/// would decide when that task is done.
fn keep_to_limits(new: &mut NewTask, adds: &Adds) -> Done {
    if matches!(new.fields.parent, Some(Some(_))) {
        return Err(refused!("a session cannot add parts to another task")
            .hint("omit --parent; --deps names the tasks that must be done first"));
    }
    if let Some(feature) = &adds.feature {
        match &new.fields.feature {
            Some(named) if named.as_ref() != Some(feature) => {
                return Err(
                    refused!("this run is for the feature {feature} only").hint("omit --feature")
                );
            }
            _ => new.fields.feature = Some(Some(feature.clone())),
        }
    }
    Ok(())
}
