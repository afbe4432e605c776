//! The runs of this repository, from the journals that are kept: which there are, and what each put on a branch.

use ralph_core::ids::RunId;
use ralph_core::nearest::nearest;
use ralph_core::run::RunEvent;
use ralph_core::view::history::{LandedIteration, landed};
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::journal;

use crate::config::key;
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// How many ids an error names.
const NAMED: usize = 3;

/// A run that has a journal.
#[derive(Debug, Clone)]
pub(crate) struct KeptRun {
    pub(crate) run: RunId,
    pub(crate) logs: RunLogs,
}

impl KeptRun {
    /// What its journal says. One that cannot be read says nothing.
    pub(crate) fn events(&self) -> Vec<RunEvent> {
        journal::read(&self.logs.journal()).unwrap_or_default()
    }
}

/// The runs whose journals are kept, of all worktrees, the newest first.
pub(crate) fn runs(context: &mut Context<'_>) -> Result<Vec<KeptRun>> {
    let project = context.project()?;
    project.check_ours()?;
    let all = RunLogs::all(&project.resolve(context.config()?.get(key::LOGS_DIR)))?;
    let named = |logs: RunLogs| Some(KeptRun { run: journal::run_of(&logs.journal())?, logs });
    Ok(all.into_iter().rev().filter_map(named).collect())
}

/// The run that an argument names: by its id, or by the first letters of it, with or without `r-`.
pub(crate) fn find(name: &str, context: &mut Context<'_>) -> Result<KeptRun> {
    let all = runs(context)?;
    let is_it = |id: &RunId| {
        let id = id.as_str();
        id.starts_with(name) || id.strip_prefix("r-").is_some_and(|rest| rest.starts_with(name))
    };
    if let Some(exact) = all.iter().find(|kept| kept.run.as_str() == name) {
        return Ok(exact.clone());
    }
    let found: Vec<&KeptRun> = all.iter().filter(|kept| is_it(&kept.run)).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(unknown(name, &all)),
        _ => {
            let ids = found.iter().take(NAMED).map(|kept| kept.run.as_str());
            let ids = ids.collect::<Vec<_>>().join(", ");
            Err(failed!("{} runs begin with {name}: {ids}", found.len())
                .hint("type more of the id; see all runs: ralph runs"))
        }
    }
}

fn unknown(name: &str, all: &[KeptRun]) -> CliError {
    if all.is_empty() {
        return failed!("there is no run {name}: no run has written a log here")
            .hint("start one: ralph build");
    }
    let near = nearest(name, all.iter().map(|kept| kept.run.as_str()), NAMED);
    let newest = || all.iter().take(NAMED).map(|kept| kept.run.as_str()).collect();
    let (which, ids) = match near.is_empty() {
        true => ("newest", newest()),
        false => ("nearest", near),
    };
    let verb = if ids.len() == 1 { "is" } else { "are" };
    failed!("there is no run {name} here; the {which} {verb} {}", ids.join(", "))
        .hint("see all runs: ralph runs")
}

/// The iterations of all runs whose work is on a branch, the newest first.
pub(crate) fn all_landed(context: &mut Context<'_>) -> Result<Vec<LandedIteration>> {
    let mut found: Vec<LandedIteration> =
        runs(context)?.iter().flat_map(|kept| landed(&kept.events())).collect();
    found.sort_by_key(|iteration| std::cmp::Reverse(iteration.at));
    Ok(found)
}
