//! The user's actions from a display: what each command does, and its sentence about it.

use ralph_core::TaskId;
use ralph_core::amounts::count;
use ralph_core::run::Control;
use ralph_core::task::{NewTask, Priority, TaskPatch};
use ralph_core::text::{self, Title};
use ralph_engine::ports::DeleteWhich;
use ralph_ui::ports::UserAction;

use crate::commands::{answer, approve, control, task, tell};
use crate::error::{CliError, Result};
use crate::wiring::Context;

pub(super) fn perform(action: &UserAction, context: &mut Context<'_>) -> Result<String> {
    context.refuse_in_session()?;
    match action {
        UserAction::Pause => send(&Control::Pause, context),
        UserAction::Resume => send(&Control::Resume, context),
        UserAction::Cancel { after } => send(&Control::Cancel(*after), context),
        UserAction::Skip { task } => send(&Control::Skip { task: task.clone() }, context),
        UserAction::Retry { task } => send(&Control::Retry { task: task.clone() }, context),
        UserAction::Reopen { task } => {
            let ids = [task.clone()];
            Ok(task::reopen(&ids, "", context)?.sentences().join("; "))
        }
        UserAction::Answer { question, text } => answer::answer(question.as_str(), text, context),
        UserAction::Approve { task } => approve::approve(task, context),
        UserAction::Reject { task, why } => approve::reject(task, why, context),
        UserAction::Tell { task, text } => {
            let (_, receiver) = tell::tell(task, text, context)?;
            Ok(receiver.sentence(task))
        }
        UserAction::Add { title, description, priority, deps, feature } => {
            let fields = TaskPatch {
                deps: Some(deps.clone()).filter(|deps| !deps.is_empty()),
                feature: feature.clone().map(Some),
                ..fields(Some(description).filter(|text| !text.is_empty()), *priority)?
            };
            let new = NewTask { id: None, title: Title::new(title)?, fields };
            let id = task::add(&new, context)?;
            Ok(format!("{id} is in the plan"))
        }
        UserAction::Edit { task, title, description, priority } => {
            let title = title.as_deref().map(Title::new).transpose()?;
            let patch = TaskPatch { title, ..fields(description.as_ref(), *priority)? };
            if patch.is_empty() {
                return Err(CliError::failed("nothing to change"));
            }
            context.change(|store, by, now| store.update(task, patch, by, now))?;
            Ok(format!("{task} is changed"))
        }
        UserAction::Delete { task } => delete(task, context),
    }
}

fn send(control: &Control, context: &mut Context<'_>) -> Result<String> {
    Ok(control::send(control, context)?.0)
}

fn delete(task: &TaskId, context: &mut Context<'_>) -> Result<String> {
    let which = DeleteWhich::Ids(vec![task.clone()]);
    let deleted = context.change(|store, by, now| store.delete(which, by, now))?;
    Ok(match deleted.as_slice() {
        [] => format!("{task} is deleted already"),
        [one] => format!("{one} is deleted; its history stays"),
        several => {
            format!("{} are deleted; their history stays", count(several.len() as u64, "task"))
        }
    })
}

fn fields(description: Option<&String>, priority: Option<u8>) -> Result<TaskPatch> {
    let description = description.map(|text| text::long("description", text.as_str()));
    let priority = priority.map(|number| Priority::new(i64::from(number)));
    Ok(TaskPatch {
        description: description.transpose()?,
        priority: priority.transpose().map_err(|error| CliError::failed(error.to_string()))?,
        ..TaskPatch::default()
    })
}
