//! Checks that everything the demo showed really happened: in the store, in git and in the journal.

use std::path::Path;

use ralph_core::TaskId;
use ralph_core::records::Verdict;
use ralph_core::run::{StopReason, VERIFIER};
use ralph_core::task::Status;
use ralph_core::view::RunView;
use ralph_engine::git::git;
use ralph_engine::ports::Store;
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::journal;
use ralph_engine::store::SqliteStore;

use super::story::{RED, REFUTED, TASKS};
use crate::error::{CliError, Done};

/// The gates and the verifier, in the order in which they run.
const JUDGES: [&str; 3] = ["test", "docs", VERIFIER];

/// Checks the results of the run. Any difference from what the demo showed is an error.
pub(super) fn check(repo: &Path) -> Done {
    let store = SqliteStore::open_existing(&repo.join(".ralph/progress.db"))?;
    let mut store = store.ok_or_else(|| wrong("there is no task database"))?;
    for (planned, _, _) in TASKS {
        let id = TaskId::new(planned).map_err(|error| wrong(error.to_string()))?;
        let task = store.get(&id)?;
        expect(task.status == Status::Done, || format!("{id} is {}", task.status))?;
        let evidence = store.evidence(&id)?;
        let judged = evidence.iter().filter(|found| JUDGES.contains(&found.judge.as_str()));
        let verdicts: Vec<Verdict> = judged.map(|found| found.verdict).collect();
        let green = [Verdict::Pass; JUDGES.len()];
        let wanted = match planned {
            RED => [&[Verdict::Pass, Verdict::Fail], green.as_slice()].concat(),
            REFUTED => [&[Verdict::Pass, Verdict::Pass, Verdict::Fail], green.as_slice()].concat(),
            _ => green.to_vec(),
        };
        expect(verdicts == wanted, || format!("the evidence of {id} is {verdicts:?}"))?;
        // The committed tree is the one that passed.
        if let Some(last) = evidence.last() {
            let trees = git(repo, &["log", "--format=%T"])?;
            let committed = trees.lines().any(|tree| tree == last.tree);
            expect(committed, || format!("the tree that passed for {id} was not committed"))?;
        }
    }
    let commits = git(repo, &["rev-list", "--count", "HEAD"])?;
    expect(commits == "4", || format!("there are {commits} commits"))?;
    expect(git(repo, &["status", "--short"])?.is_empty(), || "files are uncommitted".to_owned())?;
    let runs = RunLogs::all(&repo.join(".ralph/logs"))?;
    let [run] = runs.as_slice() else {
        return Err(wrong(format!("there are {} runs", runs.len())));
    };
    let view = RunView::of(&journal::read(&run.journal())?);
    let outcome = view.outcome.map(|outcome| (outcome.reason, outcome.iterations));
    expect(outcome == Some((StopReason::Complete, 5)), || format!("the run ended with {outcome:?}"))
}

fn expect(good: bool, otherwise: impl FnOnce() -> String) -> Done {
    if good { Ok(()) } else { Err(wrong(otherwise())) }
}

fn wrong(what: impl Into<String>) -> CliError {
    failed!("the demo failed: {}", what.into())
}
