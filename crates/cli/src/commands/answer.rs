//! `ralph answer`: agents' open questions, and the user's answers.

use std::io::{self, IsTerminal};

use clap::Args;
use ralph_core::records::Question;
use ralph_core::task::Status;
use ralph_core::text;
use ralph_engine::clock;
use ralph_ui::columns::{Cell, table};

use super::recover::age;
use crate::approvals::awaiting;
use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

/// List the agents' open questions, or answer one
///
/// The task reopens once all questions about it are answered. The next attempt gets the answer in its
/// prompt.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph answer\n         ralph answer q-abcd2345 \"The old one.\"")]
pub(crate) struct AnswerArgs {
    /// The id of the question, or of its task
    id: Option<String>,
    /// The answer; omit it or pass - to read standard input
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
    /// Print the open questions as JSON
    #[arg(long, conflicts_with = "id")]
    json: bool,
}

pub(crate) fn cmd_answer(args: &AnswerArgs, context: &mut Context<'_>) -> Done {
    let open = context.reader()?.questions(None, true)?;
    let Some(id) = &args.id else { return list(&open, args.json, context) };
    let question = find(id, &open)?;
    let answer = match args.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        None if io::stdin().is_terminal() => {
            return Err(CliError::usage("the answer is missing")
                .hint(format!("add it: ralph answer {id} \"TEXT\"")));
        }
        _ => context.read_stdin()?,
    };
    let message = give(question, &answer, context)?;
    context.out.conclude(message)
}

/// Answers the open question with this id, or the only one of the task with this id. Returns what happens now.
pub(crate) fn answer(id: &str, text: &str, context: &mut Context<'_>) -> Result<String> {
    let open = context.reader()?.questions(None, true)?;
    give(find(id, &open)?, text, context)
}

fn give(question: &Question, text: &str, context: &mut Context<'_>) -> Result<String> {
    if text.trim().is_empty() {
        return Err(CliError::failed("the answer is empty"));
    }
    let answer = text::long("answer", text.trim())?;
    context.change(|store, by, now| store.answer(&question.id, &answer, by, now))?;
    let mut store = context.reader()?;
    let task = &question.task;
    let left = store.questions(Some(task), true)?.len();
    Ok(match (left, store.get(task)?.status) {
        (0, Status::Pending) => {
            format!("{task} is open again; its next attempt gets the answer")
        }
        (0, status) => format!("{task} is {status}; its next attempt gets the answer"),
        (1, _) => format!("{task} waits for one more answer: ralph answer {task} \"TEXT\""),
        (left, _) => format!("{task} waits for {left} more answers: ralph answer"),
    })
}

/// The open question with this id, or the only open question of the task with this id.
fn find<'a>(id: &str, open: &'a [Question]) -> Result<&'a Question> {
    if let Some(question) = open.iter().find(|question| question.id.as_str() == id) {
        return Ok(question);
    }
    let of_task: Vec<&Question> =
        open.iter().filter(|question| question.task.as_str() == id).collect();
    match of_task.as_slice() {
        [question] => Ok(question),
        [] => {
            let failed = refused!("there is no open question {id}");
            let names = open.iter().flat_map(|q| [q.id.as_str(), q.task.as_str()]);
            Err(failed.near(id, names, "see the open questions: ralph answer"))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|question| question.id.as_str()).collect();
            Err(refused!("{id} has {} open questions", several.len())
                .hint(format!("name one of them: {}", names.join(", "))))
        }
    }
}

fn list(open: &[Question], json: bool, context: &mut Context<'_>) -> Done {
    if json {
        return context.out.json(&open);
    }
    if open.is_empty() {
        return match awaiting(context.reader()?.as_mut())?.len() {
            0 => context.out.conclude("there are no open questions"),
            _ => context.out.conclude(
                "there are no open questions; finished work waits for your approval: ralph approve",
            ),
        };
    }
    let now = clock::now();
    let rows: Vec<Vec<Cell>> = open
        .iter()
        .map(|question| {
            vec![
                Cell::new(question.id.as_str()),
                Cell::new(question.task.as_str()),
                Cell::new(age(question.asked_at, now, 24)),
                Cell::new(text::printable_line(&question.text)),
            ]
        })
        .collect();
    context.out.data(table(&["ID", "TASK", "AGE", "QUESTION"], 3, &rows, context.out.style))?;
    context.out.conclude("answer one with: ralph answer ID \"TEXT\"")
}

#[cfg(test)]
mod tests {
    use ralph_core::Timestamp;

    use super::*;

    #[test]
    fn an_age_is_reported_in_the_largest_unit_that_fits() {
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400 * 9].map(|seconds| {
            age(Timestamp::from_millis(0), Timestamp::from_millis(0).plus_seconds(seconds), 24)
        });
        assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "23h", "9d"]);
    }
}
