//! Notes and questions about a task: `log` and `ask`.

use clap::Args;
use ralph_core::{TaskId, text};
use ralph_engine::clock;
use ralph_ui::tasks::log_line;

use crate::error::{Done, Result, task_id, with_store};
use crate::wiring::Context;

/// Add a note to a task's log, or print the log
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ralph task log t-abcd2345 \"the parser works, the printer does not\""
)]
pub(super) struct LogArgs {
    /// The task
    id: String,
    /// The note; - reads standard input; omit it to print the log
    #[arg(allow_hyphen_values = true)]
    pub(super) text: Option<String>,
    /// Print the log as JSON
    #[arg(long, conflicts_with = "text")]
    json: bool,
}

pub(super) fn cmd_log(args: &LogArgs, context: &mut Context<'_>) -> Done {
    log(args, context).map(|_| ())
}

/// Prints the log, or writes a note and returns it.
pub(super) fn log(args: &LogArgs, context: &mut Context<'_>) -> Result<Option<String>> {
    let id = task_id(&args.id)?;
    let Some(note) = &args.text else {
        let mut store = context.reader()?;
        let log = store.log(&id).map_err(|error| with_store(error, &mut *store))?;
        if args.json {
            context.out.json(&log)?;
            return Ok(None);
        }
        let (style, zone) = (context.out.style, clock::zone());
        for entry in &log {
            context.out.line(log_line(entry, &zone, style))?;
        }
        return Ok(None);
    };
    let note = given("note", note, context)?;
    context.change(|store, by, now| store.note(&id, &note, by, now))?;
    Ok(Some(note))
}

/// A text from an argument; `-` stands for standard input.
fn given(field: &'static str, text: &str, context: &mut Context<'_>) -> Result<String> {
    let text = context.argument(text)?;
    if text.trim().is_empty() {
        return Err(failed!("the {field} is empty"));
    }
    Ok(text::long(field, text.trim())?)
}

/// Ask the user about a task, which then waits for the answer
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task ask t-abcd2345 \"Which of the two parsers stays?\"")]
pub(super) struct AskArgs {
    /// The task
    id: String,
    /// The question; - reads standard input
    #[arg(allow_hyphen_values = true)]
    pub(super) text: String,
}

impl AskArgs {
    pub(super) fn read(&self, context: &mut Context<'_>) -> Result<(TaskId, String)> {
        Ok((task_id(&self.id)?, given("question", &self.text, context)?))
    }
}

pub(super) fn cmd_ask(args: &AskArgs, context: &mut Context<'_>) -> Done {
    let (id, text) = args.read(context)?;
    let by = context.actor()?;
    let mut ids = context.ids();
    let mut store = context.store()?;
    let known = store.questions(None, false)?;
    let question = loop {
        let new = ids.question()?;
        if !known.iter().any(|question| question.id == new) {
            break new;
        }
    };
    let asked = store.ask(question.clone(), &id, &text, &by, clock::now());
    asked.map_err(|error| with_store(error, &mut *store))?;
    context.out.line(&question)?;
    context.out.conclude(format!("{id} waits for an answer: ralph answer {question} \"TEXT\""))
}
