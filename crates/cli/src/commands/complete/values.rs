//! Which argument of which command takes which values, as one table. A test refuses an argument without a row.

use clap::{Arg, ValueHint};

/// Where the values of an argument come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Tasks that are neither done nor failed.
    OpenTasks,
    Tasks,
    /// The same, several of them with commas between them.
    TaskList,
    Features,
    /// A feature or an open task.
    Targets,
    Agents,
    /// Questions without an answer, and their tasks.
    Questions,
    /// Tasks whose finished work waits for approval.
    Approvals,
    SavedWork,
    /// Runs with a journal, the newest first.
    Runs,
    Keys,
    Pairs,
    /// Values of the setting that the word before names.
    NamedSetting,
    /// Values of this setting.
    Setting(&'static str),
    Statuses,
    Formats,
    Commands,
    Files,
    Folders,
    /// Anything: text, a number, a new name.
    Anything,
}

use Values::*;

/// The command, the id of the argument, and its values. A row without a command is for every command without its own.
const TABLE: &[(&str, &str, Values)] = &[
    ("", "directory", Folders),
    ("", "config", Files),
    ("", "set", Pairs),
    ("", "feature", Features),
    ("", "preset", Setting("preset")),
    ("", "agent", Setting("agent.name")),
    ("", "sandbox", Setting("sandbox.level")),
    ("", "model_strategy", Setting("models.strategy")),
    ("", "max_retries", Setting("loop.max_retries")),
    ("", "given", Files),
    ("", "spec", Files),
    ("", "task", OpenTasks),
    ("run", "target", Targets),
    ("report", "run", Runs),
    ("logs", "run", Runs),
    ("report", "day", Anything),
    ("serve", "listen", Anything),
    ("serve", "port", Anything),
    ("watch", "run", Runs),
    ("bundle", "run", Runs),
    ("bundle", "output", Files),
    ("replay", "run", Runs),
    ("replay", "from", Anything),
    ("replay", "speed", Anything),
    ("replay", "max_pause", Anything),
    ("diff", "task", Tasks),
    ("undo", "target", Tasks),
    ("undo", "task", Tasks),
    ("task reopen", "ids", Tasks),
    ("trust", "files", Files),
    ("task add", "id", Anything),
    ("task create", "id", Anything),
    ("task update", "id", Tasks),
    ("task update", "status", Statuses),
    ("task delete", "ids", Tasks),
    ("task delete", "status", Statuses),
    ("task list", "status", Statuses),
    ("task list", "assignee", Agents),
    ("task show", "id", Tasks),
    ("task deps", "id", Tasks),
    ("task block", "id", OpenTasks),
    ("task block", "by", Tasks),
    ("task unblock", "id", OpenTasks),
    ("task unblock", "by", Tasks),
    ("task claim", "id", OpenTasks),
    ("task claim", "agent", Agents),
    ("task renew", "id", OpenTasks),
    ("task done", "id", OpenTasks),
    ("task fail", "id", OpenTasks),
    ("task reset", "id", Tasks),
    ("task ask", "id", OpenTasks),
    ("task log", "id", Tasks),
    ("task agent deregister", "id", Agents),
    ("", "deps", TaskList),
    ("", "parent", Tasks),
    ("feature create", "name", Features),
    ("feature plan", "name", Features),
    ("feature build", "name", Features),
    ("feature show", "name", Features),
    ("feature delete", "name", Features),
    ("import", "format", Formats),
    ("export", "format", Formats),
    ("recover", "id", SavedWork),
    ("answer", "id", Questions),
    ("approve", "id", Approvals),
    ("reject", "id", Approvals),
    ("skip", "id", OpenTasks),
    ("tell", "id", OpenTasks),
    ("attach", "id", OpenTasks),
    ("takeover", "id", OpenTasks),
    ("retry", "id", Tasks),
    ("config get", "key", Keys),
    ("config set", "key", Keys),
    ("config set", "value", NamedSetting),
    ("config unset", "key", Keys),
    ("help", "topic", Commands),
    ("man", "command", Commands),
];

/// Arguments of any command that are free text, numbers or new names.
const FREE: &[&str] = &[
    "allow",
    "answer",
    "attempt",
    "branch",
    "budget",
    "category",
    "description",
    "interview",
    "iteration",
    "iterations",
    "jobs",
    "lease",
    "limit",
    "max",
    "max_iterations",
    "model",
    "most",
    "prefix",
    "priority",
    "reason",
    "reference",
    "result",
    "steps",
    "text",
    "timeout",
    "title",
    "touches",
];

/// The values of an argument; `None` where clap knows them, or there are none.
pub(super) fn of(command: &str, arg: &Arg) -> Option<Values> {
    let id = arg.get_id().as_str();
    let row = |wanted: &str| TABLE.iter().find(|(path, name, _)| *path == wanted && *name == id);
    let takes_values = arg.get_action().takes_values();
    if !takes_values || !arg.get_possible_values().is_empty() {
        return None;
    }
    if let Some((_, _, values)) = row(command).or_else(|| row("")) {
        return Some(*values);
    }
    match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath => Some(Files),
        ValueHint::DirPath => Some(Folders),
        _ => FREE.contains(&id).then_some(Anything),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::app::PROGRAM;

    /// Every argument with values, as its command and its id.
    fn arguments(command: &clap::Command, path: &str, all: &mut Vec<(String, Arg)>) {
        all.extend(command.get_arguments().map(|arg| (path.to_owned(), arg.clone())));
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            arguments(inner, format!("{path} {}", inner.get_name()).trim_start(), all);
        }
    }

    #[test]
    fn every_argument_has_values_or_is_free_text_and_every_row_is_used() {
        let mut all = Vec::new();
        arguments(&(PROGRAM.command_line)(), "", &mut all);
        let without: BTreeSet<String> = all
            .iter()
            .filter(|(_, arg)| {
                arg.get_action().takes_values() && arg.get_possible_values().is_empty()
            })
            .filter(|(path, arg)| of(path, arg).is_none())
            .map(|(path, arg)| format!("{path} {}", arg.get_id()))
            .collect();
        assert!(without.is_empty(), "add a row to TABLE, or a name to FREE: {without:#?}");
        for (path, id, _) in TABLE {
            let fits = |(other, arg): &(String, Arg)| {
                arg.get_id() == id && (path.is_empty() || other == path)
            };
            assert!(all.iter().any(fits), "no command has the argument {path} {id}");
        }
        for id in FREE {
            assert!(all.iter().any(|(_, arg)| arg.get_id() == id), "no argument is called {id}");
        }
    }
}
