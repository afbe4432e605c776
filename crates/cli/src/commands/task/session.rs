//! `ralph task` inside a session: sends the call to the loop as it was typed, and prints the answer.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;

use ralph_engine::socket::client::{self, ClientError};
use ralph_engine::socket::{Call, Reply};

use super::{TaskArgs, TaskCommand};
use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

pub(super) fn pass_on(socket: &Path, args: &TaskArgs, context: &mut Context<'_>) -> Done {
    let style = context.out.style;
    let call = Call {
        width: style.width,
        color: style.color,
        message_color: context.out.message_style.color,
        stdin: if args.reads_stdin() { context.read_stdin()? } else { String::new() },
        ..Call::new(words(&context.environment.arguments)?)
    };
    let Reply { code, out, err } = client::call(socket, &call).map_err(unanswered)?;
    context.out.data(out)?;
    context.out.finish()?;
    // A successful call prints only notes, and `-q` before `task` is not passed on.
    if code != 0 || !context.global.quiet {
        context.out.passed_on(&err);
    }
    CliError::ended_with(code)
}

/// Why the loop did not answer. The store is never used directly instead.
pub(crate) fn unanswered(error: ClientError) -> CliError {
    match error {
        ClientError::NobodyThere(path) => failed!(
            "the loop of this session does not answer at {}, and only the loop may change tasks",
            path.display()
        )
        .hint("if you are not inside a session: unset RALPH_SOCKET"),
        error => failed!("the loop of this session cannot be reached: {error}"),
    }
}

impl TaskArgs {
    fn reads_stdin(&self) -> bool {
        let text = match &self.command {
            TaskCommand::Log(args) => args.text.as_deref(),
            TaskCommand::Ask(args) => Some(args.text.as_str()),
            TaskCommand::Add(args) => args.fields.description.as_deref(),
            TaskCommand::Create(args) => args.fields.description.as_deref(),
            TaskCommand::Update(args) => args.fields.description.as_deref(),
            TaskCommand::PlanSync(_) => return !std::io::stdin().is_terminal(),
            _ => None,
        };
        text == Some("-")
    }
}

/// The arguments after `task`. Options before it are for this process and are not passed on.
fn words(arguments: &[OsString]) -> Result<Vec<String>> {
    let mut rest = arguments.iter().skip(1);
    while let Some(word) = rest.next() {
        let word = word.to_string_lossy();
        if word == "task" {
            break;
        }
        // `-C` takes a value, also at the end of a group such as `-qC`.
        let group = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let takes_value = group.is_some_and(|group| group.find('C') == Some(group.len() - 1))
            || ["--config", "--set", "--color"].contains(&&*word);
        if takes_value {
            rest.next();
        }
    }
    rest.map(|word| {
        word.to_str()
            .map(str::to_owned)
            .ok_or_else(|| usage!("{} is not UTF-8 text", word.to_string_lossy()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_are_the_words_behind_task() {
        let words = |line: &str| {
            let line: Vec<OsString> = line.split(' ').map(Into::into).collect();
            words(&line).unwrap().join(" ")
        };
        assert_eq!(words("ralph task list --all"), "list --all");
        assert_eq!(words("ralph -C task task done task"), "done task");
        assert_eq!(words("ralph -qC task --color always -v task peek -n 3"), "peek -n 3");
        assert_eq!(words("ralph -Ctask --set a=b --config=task task show -q"), "show -q");
        assert_eq!(words("ralph task"), "");
    }
}
