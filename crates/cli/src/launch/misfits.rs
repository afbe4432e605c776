//! Refuses settings that do not fit the kind of run, before anything is spent, instead of silently ignoring them.

use ralph_core::run::{Approve, Picker, Policy, Unit};

use crate::config::{Config, Key, Preset, key};
use crate::error::{CliError, Result};

/// Refuses the first setting that does not fit the preset.
pub(super) fn refuse(config: &Config, preset: &Preset, unit: Unit, picker: Picker) -> Result<()> {
    works_in(config, preset, picker)?;
    let name = preset.name;
    if config.get(key::LOOP_COMMIT) == Some("session") && unit == Unit::Task {
        return Err(misfit(config, key::LOOP_COMMIT, "session")(format!(
            "with the preset {name} ralph commits a task once it is done"
        ))
        .hint("commit finished tasks: loop.commit = \"done\""));
    }
    let approve = config.get(key::COMPLETION_APPROVE);
    if approve != "never" && unit == Unit::Iteration {
        return Err(misfit(config, key::COMPLETION_APPROVE, approve)(format!(
            "the preset {name} checks iterations and not tasks, so there is no task to approve"
        ))
        .hint("check tasks one by one: --preset progress")
        .hint("or do without: --set completion.approve=never"));
    }
    let Some(ends) = config.get(key::LOOP_ENDS_WHEN) else { return Ok(()) };
    if ends.contains(&"marker") && preset.source == "store" {
        return Err(misfit(config, key::LOOP_ENDS_WHEN, "marker")(
            "the task database has no marker, only tasks".to_owned(),
        )
        .hint("end when every task is done or failed: loop.ends_when = [\"finished\"]"));
    }
    if ends.is_empty() {
        return Err(failed!(
            "`loop.ends_when` ({}) is empty, so the run would never be complete",
            config.origin(key::LOOP_ENDS_WHEN)
        )
        .hint("name one: loop.ends_when = [\"finished\"]"));
    }
    Ok(())
}

fn works_in(config: &Config, preset: &Preset, picker: Picker) -> Result<()> {
    let (name, key) = (preset.name, key::LOOP_WORKS_IN);
    let jobs = config.get(key::LOOP_JOBS);
    match (config.get(key), preset.source) {
        (Some("place"), "branches") => Err(misfit(config, key, "place")(format!(
            "with the preset {name} each branch has a worktree"
        ))
        .hint("remove loop.works_in")),
        (Some("place"), _) if jobs > 1 => Err(misfit(config, key, "place")(format!(
            "{jobs} tasks in parallel need a worktree each"
        ))
        .hint("remove loop.works_in, or omit -j")),
        (Some("worktree"), "store") if picker == Picker::Loop => Ok(()),
        (Some("worktree"), source) if source != "branches" => Err(misfit(config, key, "worktree")(
            format!("the preset {name} works in your checkout"),
        )
        .hint("use the task database: ralph import PLAN.md, then ralph run")
        .hint("or put the tasks below `## Branch:` headings: ralph loop plan")),
        _ => Ok(()),
    }
}

/// Refuses approval where sessions commit straight to the branch: their work would be there before you see it.
pub(super) fn approval(config: &Config, policy: &Policy, holds_commits: bool) -> Result<()> {
    if policy.approve == Approve::Never || holds_commits {
        return Ok(());
    }
    let value = config.get(key::COMPLETION_APPROVE);
    Err(misfit(config, key::COMPLETION_APPROVE, value)(
        "without the sandbox level full, sessions commit to your branch before you can approve"
            .to_owned(),
    )
    .hint("give each task a worktree: --set loop.works_in=worktree")
    .hint("or see what the sandbox is missing: ralph doctor"))
}

/// An error about this value; the caller adds the reason.
fn misfit<T>(config: &Config, key: Key<T>, value: &str) -> impl FnOnce(String) -> CliError {
    let text = format!("`{} = \"{value}\"` ({}) does not apply", key.name(), config.origin(key));
    move |why| failed!("{text}: {why}")
}
