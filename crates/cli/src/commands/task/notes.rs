//! `ralph task log`.

use clap::Args;
use ralph_core::text;
use ralph_engine::clock;
use ralph_ui::tasks::log_line;

use super::edit::text_error;
use crate::error::{CliError, Done, task_id, with_store};
use crate::wire::Context;

/// Write a note into a task's log, or print the log
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ralph task log t-abcd2345 \"the parser works, the printer does not\""
)]
pub(super) struct LogArgs {
    /// The task
    id: String,
    /// The note; - reads standard input; none prints the log
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
    /// Print the log as JSON
    #[arg(long, conflicts_with = "text")]
    json: bool,
}

pub(super) fn cmd_log(args: &LogArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    let Some(note) = &args.text else {
        let mut store = context.reader()?;
        let log = store.log(&id).map_err(|error| with_store(error, &mut *store))?;
        if args.json {
            return Ok(context.out.json(&log)?);
        }
        let look = context.out.look;
        for entry in &log {
            context.out.line(log_line(entry, look))?;
        }
        return Ok(());
    };
    let note = if note == "-" { std::io::read_to_string(std::io::stdin())? } else { note.clone() };
    if note.trim().is_empty() {
        return Err(CliError::failed("the note is empty"));
    }
    let note = text::long("note", note.trim()).map_err(text_error)?;
    let by = context.actor()?;
    let mut store = context.store()?;
    store.note(&id, &note, &by, clock::now()).map_err(|error| with_store(error, &mut *store))
}
