//! `ralph init`.

mod detect;
mod hooks;
mod install;
mod place;
mod undo;

use clap::Args;
use ralph_core::agents_md;
use ralph_engine::ports::StoreError;
use ralph_engine::project::Project;
use ralph_engine::store::SqliteStore;
use ralph_ui::style::Meaning;

pub(crate) use install::{Did, Mode, Step, UNTOUCHED_GO, found_commands, install, is_as_written};
pub(crate) use undo::{Undo, apply, undo};

use crate::error::{CliError, Done};
use crate::launch;
use crate::wire::Context;

/// Set up a repository: settings, prompts, test command, agent skills and hooks
///
/// Asks nothing and overwrites nothing: existing files stay, and AGENTS.md and .claude/settings.json only get
/// additions. Prints a line for each file: made, updated, kept or refused.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph init && ralph doctor")]
pub(crate) struct InitArgs {
    /// Rewrite ralph's own files: ralph.toml, PROMPT_build.md, PROMPT_plan.md, its skills and its hooks
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_init(args: &InitArgs, context: &mut Context<'_>) -> Done {
    let project = context.project()?;
    check_ours(&project)?;
    let found = found_commands(&project);
    let mode = if args.force { Mode::Force } else { Mode::Add };
    let steps = install(&project, mode, found.first().map(|found| found.command.as_str()));
    let agents = launch::text_of(&project, "AGENTS.md").unwrap_or_default();
    let in_force = agents_md::test_command(&agents).unwrap_or_default();
    if args.json {
        let files: Vec<serde_json::Value> = steps.iter().map(step_json).collect();
        let commands: Vec<serde_json::Value> = found
            .iter()
            .map(|found| serde_json::json!({"command": found.command, "from": found.from}))
            .collect();
        context.out.json(&serde_json::json!({
            "files": files, "test_command": in_force, "found": commands,
        }))?;
    } else {
        tell(&steps, context)?;
    }
    if !context.is_inside()
        && let Err(error) = context.approve()
    {
        context.out.warning(format!("this repository could not be approved: {}", error.message()));
    }
    if in_force.is_empty() {
        context.out.warning(
            "no test command found, so work is accepted unchecked; set TEST_COMMAND in AGENTS.md",
        );
    } else {
        context.out.note(format!("the test command is: {in_force}"));
        let others: Vec<&str> = found
            .iter()
            .map(|found| found.command.as_str())
            .filter(|command| *command != in_force)
            .collect();
        if !others.is_empty() {
            context.out.note(format!("also found, but not used: {}", others.join(", ")));
        }
    }
    let refused = steps.iter().filter(|step| matches!(step.did, Did::Refused(_))).count();
    if refused > 0 {
        let files = if refused == 1 { "1 file".to_owned() } else { format!("{refused} files") };
        return Err(CliError::failed(format!(
            "{files} could not be written; the rest is in place"
        ))
        .hint("fix the problems above, then run it again: ralph init"));
    }
    for line in launch::box_offer(&project, context)? {
        context.out.note(line);
    }
    context.out.note("next: ralph doctor");
    Ok(())
}

/// Refuses a repository whose `.ralph/` belongs to another tool.
pub(crate) fn check_ours(project: &Project) -> Done {
    project.check_ours()?;
    match SqliteStore::open_existing(&project.ralph_dir().join("progress.db")) {
        Err(error @ StoreError::Foreign { .. }) => Err(error.into()),
        // Other problems with the store do not matter here.
        _ => Ok(()),
    }
}

fn tell(steps: &[Step], context: &mut Context<'_>) -> Done {
    let look = context.out.look;
    for step in steps {
        let meaning = match step.did {
            Did::Made | Did::Updated => Meaning::Good,
            Did::Kept => Meaning::Faint,
            Did::Refused(_) => Meaning::Bad,
        };
        let word = look.paint(meaning, format!("{:<7}", step.did.word()));
        let why = match &step.did {
            Did::Refused(why) => format!(": {}", ralph_core::text::printable_line(why)),
            _ => String::new(),
        };
        context.out.line(format!("{word}  {}{why}", step.path))?;
    }
    Ok(())
}

fn step_json(step: &Step) -> serde_json::Value {
    let why = match &step.did {
        Did::Refused(why) => Some(why.as_str()),
        _ => None,
    };
    serde_json::json!({"path": step.path, "did": step.did.word(), "reason": why})
}
