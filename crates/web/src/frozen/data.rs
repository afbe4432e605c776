//! What a frozen page shows: the answers of the server, asked for once.

use std::collections::HashSet;
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use ralph_core::task::Task;
use ralph_core::view::live::{LiveRun, LiveView};
use ralph_core::view::plan_graph::plan_graph;
use ralph_core::view::report::Report;
use ralph_core::view::stream::{EventSource, Next};
use ralph_ui::ports::{Answer, Board, Ports};
use ralph_ui::runs::{RunRow, RunState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::because;
use crate::plan::TaskJson;

/// How many tasks are listed, and how many have their evidence and their diff.
const TASKS: usize = 20_000;
const DETAILS: usize = 500;
/// How many runs have a page, and how many of them have what their agents said.
const RUNS: usize = 200;
const TRANSCRIPTS: usize = 20;
/// The longest diff, in bytes.
const DIFF: usize = 1024 * 1024;
/// How many tasks the graph has.
const NODES: usize = 300;
/// How long the next event of a run takes to come that has already happened.
const NEXT: Duration = Duration::from_millis(50);

/// Which part of the history it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub run: Option<RunId>,
    /// A day in UTC, as `YYYY-MM-DD`.
    pub day: Option<String>,
}

impl Scope {
    fn is_all(&self) -> bool {
        self.run.is_none() && self.day.is_none()
    }
}

/// Asks for everything that the page shows.
pub fn gather(ports: &dyn Ports, scope: &Scope) -> Answer<Value> {
    let mut board = ports.board();
    let report = board.report()?.only(scope.run.as_ref(), scope.day.as_deref());
    let mut runs = board.runs()?;
    runs.retain(|row| is_in(row, scope, &report));
    let tasks = board.tasks()?;
    let mut status = value(&board.status()?)?;
    let mut page = Map::new();
    let mut folded = Map::new();
    for (at, row) in runs.iter().take(RUNS).enumerate() {
        let Some(run) = fold(ports, &row.summary.run) else { continue };
        if page.is_empty() {
            let ended = row.state != RunState::Running;
            page.insert("live".to_owned(), live(ports, &run, ended)?);
            page.insert("said".to_owned(), said(&run)?);
            status["run"] = value(&run.view)?;
        }
        let transcripts = if at < TRANSCRIPTS { transcripts(&run)? } else { json!([]) };
        let shown = json!({"view": value(&run.view)?, "transcripts": transcripts});
        folded.insert(row.summary.run.to_string(), shown);
    }
    let (details, diffs) = evidence(board.as_mut(), scope, &tasks, &report);
    let repository = ports.root();
    let name = repository.rsplit('/').next().unwrap_or_default();
    let session = json!({
        "repository": repository, "name": name, "read_only": true, "frozen": true,
        "version": env!("CARGO_PKG_VERSION"), "run": scope.run, "day": scope.day,
    });
    let attempted: HashSet<&TaskId> = report.attempts.iter().map(|attempt| &attempt.task).collect();
    let is_listed = |task: &&Task| scope.is_all() || attempted.contains(&task.id);
    let listed: Vec<TaskJson<'_>> =
        tasks.iter().filter(is_listed).take(TASKS).map(TaskJson::of).collect();
    let parts = [
        ("session", session),
        ("status", status),
        ("tasks", value(&listed)?),
        ("graph", value(&plan_graph(&tasks, None, NODES))?),
        ("task", Value::Object(details)),
        ("diff", Value::Object(diffs)),
        ("runs", value(&runs)?),
        ("run", Value::Object(folded)),
        ("report", value(&report)?),
    ];
    page.extend(parts.map(|(name, part)| (name.to_owned(), part)));
    Ok(Value::Object(page))
}

/// A run is part of a day when it began or ended a session on it.
fn is_in(row: &RunRow, scope: &Scope, report: &Report) -> bool {
    let run = &row.summary.run;
    let is_of_day = |day: &String| {
        row.summary.started_at.day() == *day
            || report.attempts.iter().any(|attempt| attempt.run.as_ref() == Some(run))
            || report.sessions.iter().any(|session| session.run == *run)
    };
    scope.run.as_ref().is_none_or(|only| only == run) && scope.day.as_ref().is_none_or(is_of_day)
}

/// The run as it is now; `None` where nothing of it can be read.
fn fold(ports: &dyn Ports, run: &RunId) -> Option<LiveRun> {
    let mut source = ports.run(run).ok()?;
    let mut view = LiveView::default();
    while let Next::Seen(seen) = source.next(NEXT) {
        view.apply(&seen);
    }
    let is_it = |one: &LiveRun| one.view.run.as_ref() == Some(run);
    view.runs.into_iter().find(is_it)
}

fn live(ports: &dyn Ports, run: &LiveRun, ended: bool) -> Answer<Value> {
    let view = value(&run.view)?;
    let runs = [json!({"name": run.name, "left": ended, "ended": ended, "view": view})];
    Ok(json!({"at": ports.now().as_millis(), "version": 0, "runs": runs}))
}

fn said(run: &LiveRun) -> Answer<Value> {
    let slots = run.transcripts.iter().enumerate().map(|(slot, transcript)| {
        let entries = value(&transcript.entries)?;
        Ok(json!({"run": 0, "slot": slot, "from": transcript.dropped, "entries": entries}))
    });
    slots.collect::<Answer<Vec<Value>>>().map(Value::Array)
}

fn transcripts(run: &LiveRun) -> Answer<Value> {
    let slots = run.transcripts.iter().enumerate();
    let slots = slots.map(|(slot, one)| Ok(json!({"slot": slot, "entries": value(&one.entries)?})));
    slots.collect::<Answer<Vec<Value>>>().map(Value::Array)
}

/// What is kept about tasks, and their diffs: those that were worked on last come first. What cannot be read is left out.
fn evidence(
    board: &mut dyn Board,
    scope: &Scope,
    tasks: &[Task],
    report: &Report,
) -> (Map<String, Value>, Map<String, Value>) {
    let attempted = report.attempts.iter().rev().map(|attempt| &attempt.task);
    let others = tasks.iter().filter(|_| scope.is_all()).map(|task| &task.id);
    let worked_on: HashSet<&TaskId> = attempted.clone().collect();
    let mut seen = HashSet::new();
    let ids = attempted.chain(others).filter(|id| seen.insert(*id)).take(DETAILS);
    let (mut details, mut diffs) = (Map::new(), Map::new());
    for id in ids {
        if let Ok(task) = board.task(id) {
            details.insert(id.to_string(), task);
        }
        let diff = if worked_on.contains(id) { board.diff(id).ok() } else { None };
        if let Some(diff) = diff.filter(|diff| diff.len() <= DIFF) {
            diffs.insert(id.to_string(), Value::String(diff));
        }
    }
    (details, diffs)
}

fn value(of: &(impl Serialize + ?Sized)) -> Answer<Value> {
    serde_json::to_value(of).map_err(|error| because(&format!("the report has no JSON: {error}")))
}
