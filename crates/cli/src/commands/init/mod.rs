//! `ralph init`.

mod checks;
mod files;
mod hooks;
mod install;
mod propose;
mod undo;

use clap::{Args, ValueEnum};
use ralph_core::agents_md;
use ralph_engine::ports::StoreError;
use ralph_engine::project::Project;
use ralph_engine::store::SqliteStore;
use ralph_ui::style::Meaning;

pub(crate) use files::{agents_in_use, skill_folders, untouched_go};
pub(crate) use install::{Did, Mode, Step, install, is_as_written};
pub(crate) use propose::Proposal;
pub(crate) use undo::{Undo, apply, undo};

use crate::config::key;
use crate::error::{Done, Result};
use crate::launch::{self, suggest};
use crate::trust::{ask, may_ask};
use crate::wiring::{Context, text_of};

/// Set up a repository: settings, prompts, tests and other checks, agent skills and hooks
///
/// Overwrites nothing: existing files stay, and AGENTS.md and the file with the agent's hooks only get additions. Prints
/// a line for each file: made, updated, kept or refused. Skills and hooks go where the agents that your settings name look
/// for them.
///
/// ralph finds the tests, lints, type checks and format checks of the repository and runs none of them. The tests
/// become the gate. The other checks are comments in ralph.toml, unless you say yes to the question at a terminal,
/// or --gates all.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph init && ralph doctor\n  ralph init --agent codex\n  ralph init --gates all\n  ralph init --undo"
)]
pub(crate) struct InitArgs {
    /// The agent that ralph drives here: ralph.toml names it [default: agent.name, else claude]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Rewrite ralph's own files: ralph.toml, PROMPT_build.md, PROMPT_plan.md, its skills and its hooks
    #[arg(long)]
    force: bool,
    /// Which of the checks that ralph finds are gates [default: ask at a terminal, else tests]
    #[arg(long, value_name = "WHICH")]
    gates: Option<Gates>,
    /// Remove what init wrote and you have not changed; keeps tasks and logs
    #[arg(long, conflicts_with_all = ["force", "gates", "agent"])]
    undo: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Gates {
    /// The tests
    Tests,
    /// The tests, lints, type checks and format checks
    All,
}

pub(crate) fn cmd_init(args: &InitArgs, context: &mut Context<'_>) -> Done {
    let project = context.project()?;
    check_ours(&project)?;
    if args.undo {
        return cmd_undo(args, &project, context);
    }
    let proposal = Proposal::of(&project);
    let all = wants_all(args, &project, &proposal, context)?;
    let mode = if args.force { Mode::Force } else { Mode::Add };
    // Settings that cannot be read are reported where they are used; here the defaults do.
    let config = context.config().unwrap_or_default();
    let agent = args.agent.as_deref().map(launch::agent_profile).transpose()?;
    let agents = match agent {
        Some(agent) => vec![agent],
        None => agents_in_use(&config),
    };
    let named = agent.map(|agent| agent.name).filter(|name| *name != config.get(key::AGENT_NAME));
    let test_command = proposal.test_command().map(|(command, _)| command).unwrap_or_default();
    let steps = install(&project, mode, &agents, &proposal.settings(named, all), &test_command);
    let agents = text_of(&project, "AGENTS.md").unwrap_or_default();
    let test_command = agents_md::test_command(&agents).unwrap_or_default();
    if args.json {
        let files: Vec<serde_json::Value> = steps.iter().map(step_json).collect();
        context.out.json(&serde_json::json!({
            "files": files, "test_command": test_command, "found": proposal.tests,
            "checks": proposal.checks, "gates": if all { "all" } else { "tests" },
        }))?;
    } else {
        print_result(&steps, context)?;
    }
    if !context.is_inside()
        && let Err(error) = context.approve()
    {
        context.out.warning(format!("this repository could not be approved: {}", error.message()));
    }
    tell_checks(&proposal, &test_command, &steps, all, context);
    if let Some(name) = named.filter(|_| was_kept(&steps, "ralph.toml")) {
        context.out.warning(format!(
            "ralph.toml stays as it is; to drive {name} here, set agent.name = \"{name}\" in it, or use --force"
        ));
    }
    refuse_if_refused(&steps, "ralph init")?;
    for line in launch::sandbox_offer(&project, context)? {
        context.out.note(line);
    }
    if launch::plan_file_done(&project).is_none() {
        for list in suggest::lists(&project).iter().take(3) {
            context.out.note(list.sentence());
        }
    }
    context.out.conclude("next: ralph doctor")
}

/// Whether every check becomes a gate. Asks only at a terminal, and only if there is something to decide.
fn wants_all(
    args: &InitArgs,
    project: &Project,
    proposal: &Proposal,
    context: &mut Context<'_>,
) -> Result<bool> {
    if let Some(gates) = args.gates {
        return Ok(gates == Gates::All);
    }
    let writes = args.force || !project.worktree.join("ralph.toml").exists();
    if !may_ask() || !writes || args.json || proposal.checks.is_empty() || context.is_inside() {
        return Ok(false);
    }
    context.out.note("found in this repository:");
    let tests = proposal.test_command().map(|(command, from)| ("tests", command, from));
    let checks = proposal.checks.iter();
    let checks = checks.map(|check| (check.kind, check.command.clone(), check.from.clone()));
    let rows: Vec<(&str, String, String)> = tests.into_iter().chain(checks).collect();
    let width =
        rows.iter().map(|(_, command, _)| command.chars().count()).max().unwrap_or_default();
    for (kind, command, from) in rows {
        context.out.note(format!("  {kind:<6}  {command:<width$}  {from}"));
    }
    context.out.note(
        "The tests are a gate: work counts only if they pass. A check that fails today would fail every task.",
    );
    ask("Make the other checks gates, too?", context)
}

/// Says which checks count, and which only could.
fn tell_checks(
    proposal: &Proposal,
    test_command: &str,
    steps: &[Step],
    all: bool,
    context: &mut Context<'_>,
) {
    let from = proposal.test_command().filter(|(command, _)| command == test_command);
    let from = from.map(|(_, from)| format!(" ({from})")).unwrap_or_default();
    if test_command.is_empty() {
        context.out.warning(
            "no test command found, so work is accepted unchecked; set TEST_COMMAND in AGENTS.md",
        );
    } else {
        context.out.note(format!("the test command is: {test_command}{from}"));
        let others: Vec<&str> = proposal
            .tests
            .iter()
            .map(|found| found.command.as_str())
            .filter(|command| *command != test_command)
            .collect();
        if !others.is_empty() {
            context.out.note(format!("also found, but not used: {}", others.join(", ")));
        }
    }
    if proposal.checks.is_empty() {
        return;
    }
    let checks = proposal.checks.iter();
    let checks: Vec<String> =
        checks.map(|check| format!("{} ({}, {})", check.command, check.kind, check.from)).collect();
    let checks = checks.join(", ");
    context.out.note(match (was_kept(steps, "ralph.toml"), all) {
        (true, _) => {
            format!("other checks in this repository: {checks}; gates are in your ralph.toml")
        }
        (false, true) => format!("also gates, in ralph.toml: {checks}"),
        (false, false) => format!("found, as comments in ralph.toml: {checks}"),
    });
}

fn was_kept(steps: &[Step], path: &str) -> bool {
    steps.iter().any(|step| step.path == path && step.did == Did::Kept)
}

fn cmd_undo(args: &InitArgs, project: &Project, context: &mut Context<'_>) -> Done {
    let steps = undo::undo_all(project);
    if args.json {
        let files: Vec<serde_json::Value> = steps.iter().map(step_json).collect();
        context.out.json(&serde_json::json!({"files": files}))?;
    } else if steps.is_empty() {
        context.out.note("nothing to remove");
    } else {
        print_result(&steps, context)?;
    }
    refuse_if_refused(&steps, "ralph init --undo")
}

fn refuse_if_refused(steps: &[Step], again: &str) -> Done {
    let refused = steps.iter().filter(|step| matches!(step.did, Did::Refused(_))).count();
    if refused == 0 {
        return Ok(());
    }
    let files = ralph_core::amounts::count(refused as u64, "file");
    Err(failed!("{files} could not be written; the rest is in place")
        .hint(format!("fix the problems above, then run it again: {again}")))
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

fn print_result(steps: &[Step], context: &mut Context<'_>) -> Done {
    let style = context.out.style;
    for step in steps {
        let meaning = match step.did {
            Did::Made | Did::Updated | Did::Removed => Meaning::Good,
            Did::Kept | Did::Stays(_) => Meaning::Faint,
            Did::Refused(_) => Meaning::Bad,
        };
        let word = style.paint(meaning, format!("{:<7}", step.did.word()));
        let why = step.did.why().map(|why| format!(": {}", ralph_core::text::printable_line(why)));
        context.out.line(format!("{word}  {}{}", step.path, why.unwrap_or_default()))?;
    }
    Ok(())
}

fn step_json(step: &Step) -> serde_json::Value {
    serde_json::json!({"path": step.path, "did": step.did.word(), "reason": step.did.why()})
}
