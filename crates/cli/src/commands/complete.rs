//! `ralph __complete`: what may follow on a command line. A hidden command for the scripts of `ralph completions`.
//!
//! It runs at every Tab, so it only reads: it waits for no lock, creates nothing, starts no program of the repository,
//! and prints no error. A question that it cannot answer has no completions.
//!
//! It prints a line for each completion: the value, and after a tab a description. The line `:files` or `:folders`
//! leaves the completion of a path to the shell, which knows quotes and `~`.
//!
//! | file | owns |
//! |---|---|
//! | `values` | which argument of which command takes which values |
//! | `find` | the values: from the task database, the settings, the journals, git |

mod find;
mod values;

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::{Args, Command};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, complete};
use ralph_core::text::printable_line;

use self::find::Finder;
use crate::error::Done;
use crate::wiring::Context;

/// Print what may follow on a command line
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// Which of the words to complete, counted from 0
    index: usize,
    /// The words, `ralph` first
    #[arg(last = true)]
    words: Vec<OsString>,
}

pub(crate) fn cmd_complete(args: &CompleteArgs, context: &mut Context<'_>) -> Done {
    let mut words = args.words.clone();
    words.resize(args.index + 1, OsString::new());
    let current = words[args.index].clone();
    let (environment, program) = (context.environment.clone(), context.program);
    let finder = Arc::new(Finder { environment, program, words: words.clone() });
    let mut command = attached((program.command_line)(), "", &finder);
    let found = complete(&mut command, words, args.index, None).unwrap_or_default();
    for candidate in offered(&found, &current) {
        context.out.line(line(candidate))?;
    }
    Ok(())
}

/// The command line with the values of each argument.
fn attached(command: Command, path: &str, finder: &Arc<Finder>) -> Command {
    command
        .mut_args(|arg| {
            let Some(values) = values::of(path, &arg) else { return arg };
            let finder = Arc::clone(finder);
            arg.add(ArgValueCompleter::new(move |typed: &OsStr| finder.find(values, typed)))
        })
        .mut_subcommands(|command| {
            let path = format!("{path} {}", command.get_name());
            attached(command, path.trim_start(), finder)
        })
}

/// Options are offered once a dash is typed, or where nothing else can follow.
fn offered<'a>(
    found: &'a [CompletionCandidate],
    current: &OsStr,
) -> impl Iterator<Item = &'a CompletionCandidate> {
    let is_option = |candidate: &CompletionCandidate| {
        candidate.get_value().as_encoded_bytes().starts_with(b"-")
    };
    let without_options = current.is_empty() && found.iter().any(|found| !is_option(found));
    found.iter().filter(move |candidate| !without_options || !is_option(candidate))
}

fn line(candidate: &CompletionCandidate) -> String {
    let value = candidate.get_value().to_string_lossy();
    // The engine puts `--config=` in front of what belongs to the option.
    if let Some(path) = find::PATHS.into_iter().find(|path| value.ends_with(path)) {
        return path.to_owned();
    }
    let text = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let text = printable_line(text.lines().next().unwrap_or_default());
    match text.is_empty() {
        true => value.into_owned(),
        false => format!("{value}\t{text}"),
    }
}
