//! The state of this worktree: the active or last run, the plan, and what to type next. Bare `ralph`, `ralph status`
//! and `ralph logs` all use it, so that they agree.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::records::LogKind;
use ralph_core::run::{Cancel, NeedsMerge, RunEvent, StopReason};
use ralph_core::task::{Status, StatusFilter, Task};
use ralph_core::view::forecast::{Forecast, Spent, forecast};
use ralph_core::view::live::LiveRun;
use ralph_core::view::report::Total;
use ralph_core::view::{CommitView, QuestionView, RunView, words};
use ralph_engine::clock;
use ralph_engine::git::Git;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::{Filter, Scope, Store};
use ralph_engine::project::Project;
use ralph_engine::run::merges_needed;
use ralph_engine::run_files::journal;
use ralph_engine::run_files::state_file::{self, StateFile};
use ralph_engine::run_files::{RunLogs, WorktreeLock};
use ralph_engine::vcs::GitVcs;
use ralph_ui::status::{LaneStatus, State, StatusPage, WaitingTask};

use crate::approvals::is_awaited;
use crate::config::key;
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// How many commits the page shows.
const COMMITS: &str = "--max-count=5";
/// How many waiting tasks the page names.
const WAITING: usize = 5;
/// How many ready tasks are checked for whether they wait for a merge.
const READY: usize = 20;
/// How many journals are opened to find the one of this worktree: all worktrees share the folder.
pub(crate) const JOURNALS: usize = 50;

/// A run of this worktree, as its files describe it.
pub(crate) struct RunFiles {
    /// The process of the active run.
    pub(crate) holder: Option<String>,
    pub(crate) state: Option<StateFile>,
    /// The files of the active run, or else of the last one.
    pub(crate) logs: Option<RunLogs>,
}

impl RunFiles {
    /// Reads the files, without changing anything or waiting.
    pub(crate) fn read(context: &mut Context<'_>) -> Result<Self> {
        let worktree = context.project()?.worktree;
        Self::of(&worktree, context)
    }

    /// The same of another worktree.
    pub(crate) fn of(worktree: &Path, context: &mut Context<'_>) -> Result<Self> {
        let project = context.project()?;
        project.check_ours()?;
        let folder = worktree.join(".ralph");
        let path = folder.join("state.toml");
        let holder = WorktreeLock::holder(&folder);
        let state =
            state_file::read(&path).map_err(|error| CliError::file(&path, "read", error))?;
        // A run that has just started has not written its state yet: the existing file belongs to an earlier one.
        let of_holder = |state: &StateFile| {
            holder.as_ref().is_none_or(|holder| *holder == state.pid.to_string())
        };
        let state = state.filter(of_holder);
        let all = RunLogs::all(&project.resolve(context.config()?.get(key::LOGS_DIR)))?;
        let logs = state.as_ref().and_then(|state| logs_of(&state.run, &all)).cloned();
        Ok(Self { holder, state, logs })
    }

    pub(crate) fn socket(&self) -> Option<PathBuf> {
        self.holder.as_ref()?;
        self.state.as_ref()?.control_socket.clone()
    }

    /// The journal of the run; nothing if it has none.
    pub(crate) fn journal(&self) -> Result<Vec<RunEvent>> {
        let Some(logs) = &self.logs else { return Ok(vec![]) };
        let path = logs.journal();
        journal::read(&path).map_err(|error| CliError::file(&path, "read", error))
    }

    /// Whether a run is active here. `run` is what its journal says.
    fn state(&self, run: Option<&RunView>) -> State {
        let outcome = run.and_then(|run| run.outcome.as_ref());
        match (&self.holder, outcome, &self.state) {
            // A run that has recorded its outcome is only cleaning up.
            (_, Some(outcome), _) if outcome.reason.is_interruption() => State::Interrupted,
            (_, Some(_), _) => State::Stopped,
            (Some(pid), None, _) => State::Running { pid: pid.parse().unwrap_or_default() },
            (None, None, Some(state)) if !state.finished => State::Interrupted,
            (None, None, _) => State::Stopped,
        }
    }
}

fn logs_of<'a>(run: &RunId, all: &'a [RunLogs]) -> Option<&'a RunLogs> {
    let is_it = |logs: &&RunLogs| journal::run_of(&logs.journal()).as_ref() == Some(run);
    all.iter().rev().take(JOURNALS).find(is_it)
}

/// What `ralph status` shows now.
pub(crate) fn now(context: &mut Context<'_>) -> Result<StatusPage> {
    let run_files = RunFiles::read(context)?;
    let journal = run_files.journal()?;
    let run = (!journal.is_empty()).then(|| RunView::of(&journal));
    page(&run_files, run, &[], context)
}

/// The page that `ralph status` shows. `run` is the state from the journal, if there is one; `live` are the runs that are
/// followed, which need not be read.
pub(crate) fn page(
    run_files: &RunFiles,
    run: Option<RunView>,
    live: &[LiveRun],
    context: &mut Context<'_>,
) -> Result<StatusPage> {
    let project = context.project()?;
    let mut store = context.reader()?;
    let state = run_files.state(run.as_ref());
    let counts = store.counts(&Scope::All)?;
    let questions = questions(store.as_mut())?;
    let mut waiting = waiting(store.as_mut(), &questions)?;
    let merges = merges(&project, store.as_mut());
    waiting.extend(merges.iter().take(WAITING).map(|found| WaitingTask {
        approval: false,
        task: found.task.clone(),
        reason: format!("{}: {}", found.reason(), found.command()),
    }));
    let lanes = lanes(&project, live, store.as_mut(), context)?;
    let forecast = forecast_of(run.as_ref(), counts.unresolved(), store.as_mut())?;
    let at_work = lanes.iter().filter(|lane| matches!(lane.state, State::Running { .. }));
    let left: Vec<u64> = at_work.map(|lane| lane.total.saturating_sub(lane.done)).collect();
    let forecast = forecast.map(|rest| rest.in_lanes(&left));
    let cut_off = |lane: &LaneStatus| lane.state == State::Interrupted;
    let state = match state {
        // The interrupted runs are in the worktrees of branches, not here.
        State::Stopped if run.is_none() && lanes.iter().any(cut_off) => State::Interrupted,
        state => state,
    };
    let mut page = StatusPage {
        state,
        lanes,
        counts,
        forecast,
        level: run.as_ref().map(|run| run.level.clone()).filter(|level| !level.is_empty()),
        questions,
        waiting,
        last_error: run.as_ref().and_then(last_error),
        commits: commits(&project),
        next: vec![],
        now: clock::now(),
        run,
    };
    let steps = next(&page, &project).into_iter().map(|(command, _)| command);
    let merge = merges.iter().map(NeedsMerge::command).take(1);
    page.next = merge.chain(steps).collect();
    Ok(page)
}

/// The worktree of the first branch with an active run.
pub(crate) fn first_lane(context: &mut Context<'_>) -> Result<Option<PathBuf>> {
    let at_work = |path: &PathBuf| WorktreeLock::holder(&path.join(".ralph")).is_some();
    Ok(lane_places(context)?.into_iter().find(at_work))
}

/// The worktree of the first branch that has had a run.
pub(crate) fn first_place(context: &mut Context<'_>) -> Result<Option<PathBuf>> {
    let has_run = |path: &PathBuf| path.join(".ralph").join("state.toml").exists();
    Ok(lane_places(context)?.into_iter().find(has_run))
}

fn lane_places(context: &mut Context<'_>) -> Result<Vec<PathBuf>> {
    let project = context.project()?;
    let places = context.places(&project)?;
    Ok(places.into_iter().map(|(_, path)| path).collect())
}

/// The branches with their own worktrees, and the state of each.
fn lanes(
    project: &Project,
    live: &[LiveRun],
    store: &mut dyn Store,
    context: &mut Context<'_>,
) -> Result<Vec<LaneStatus>> {
    // In the worktree of a branch the page shows that branch.
    if project.worktree != project.root {
        return Ok(vec![]);
    }
    let config = context.config()?;
    let places = context.places(project)?;
    if places.is_empty() {
        return Ok(vec![]);
    }
    let keys = PlanFile::all_known(&project.root);
    let logs = RunLogs::all(&project.resolve(config.get(key::LOGS_DIR)))?;
    let mut found = Vec::new();
    for (branch, path) in places {
        let key = keys.iter().find(|key| key.ends_with(&format!("#{branch}")));
        let Some(key) = key else { continue };
        let counts = store.counts(&Scope::Plan(key.clone()))?;
        let folder = path.join(".ralph");
        let holder = WorktreeLock::holder(&folder);
        let left = state_file::read(&folder.join("state.toml")).ok().flatten();
        let run = left.as_ref().and_then(|left| {
            let is_it = |run: &&LiveRun| run.view.run.as_ref() == Some(&left.run);
            if let Some(live) = live.iter().find(is_it) {
                return Some(live.view.clone());
            }
            let journal = logs_of(&left.run, &logs)?.journal();
            Some(RunView::of(&journal::read(&journal).ok()?))
        });
        let state = match (holder, &left) {
            (Some(pid), _) => State::Running { pid: pid.parse().unwrap_or_default() },
            (None, Some(left)) if !left.finished => State::Interrupted,
            (None, _) => State::Stopped,
        };
        let at_work = run
            .as_ref()
            .filter(|run| run.outcome.is_none() && matches!(state, State::Running { .. }));
        found.push(LaneStatus {
            branch: branch.to_string(),
            paused: at_work.is_some_and(|run| run.paused),
            slots: at_work
                .iter()
                .flat_map(|run| run.busy())
                .map(|(_, slot)| slot.clone())
                .collect(),
            elapsed_ms: run
                .as_ref()
                .map(|run| run.elapsed(if at_work.is_some() { clock::now() } else { run.last_at })),
            page: run.as_ref().and_then(RunView::page).map(str::to_owned),
            state,
            outcome: run
                .as_ref()
                .and_then(|run| run.outcome.as_ref())
                .map(|outcome| outcome.reason.name().to_owned()),
            iterations: left.as_ref().map_or(0, |left| left.iteration),
            done: counts.done,
            total: counts.total(),
            cost_micro_usd: run.as_ref().and_then(|run| run.usage.cost_micro_usd),
            last_error: run.as_ref().and_then(last_error),
            cancel: run.filter(|run| run.outcome.is_none()).and_then(|run| run.cancel),
        });
    }
    Ok(found)
}

/// The estimate for the remaining tasks: from this run, else from all runs.
fn forecast_of(
    run: Option<&RunView>,
    left: u64,
    store: &mut dyn Store,
) -> Result<Option<Forecast>> {
    // A run has its own scope; once it has ended, every open task counts.
    let at_work = run.filter(|run| run.outcome.is_none());
    let left = at_work.map_or(left, |run| run.counts.unresolved());
    let reported = run.and_then(|run| run.forecast_for(left));
    if reported.is_some() || left == 0 {
        return Ok(reported);
    }
    let history = store.history(Timestamp::from_millis(0))?;
    Ok(forecast(Total::of(&history).spent(), Spent::default(), left))
}

/// A command to type, and why.
pub(crate) type NextStep = (String, Cow<'static, str>);

/// The last error, unless the run recovered from it.
fn last_error(run: &RunView) -> Option<String> {
    let outcome = run.outcome.as_ref();
    let all_well = outcome
        .is_some_and(|outcome| outcome.reason == StopReason::Complete && outcome.left.failed == 0);
    run.last_error.clone().filter(|_| !all_well)
}

fn questions(store: &mut dyn Store) -> Result<Vec<QuestionView>> {
    let open = store.questions(None, true)?;
    let view = |question: ralph_core::records::Question| QuestionView {
        id: question.id,
        task: question.task,
        text: question.text,
    };
    Ok(open.into_iter().map(view).collect())
}

/// The first tasks that wait for the user without a question, and why.
fn waiting(store: &mut dyn Store, questions: &[QuestionView]) -> Result<Vec<WaitingTask>> {
    let filter =
        Filter { statuses: vec![StatusFilter::Stored(Status::Waiting)], ..Filter::default() };
    let asks = |task: &Task| questions.iter().any(|question| question.task == task.id);
    let tasks: Vec<Task> = store.list(&filter)?.into_iter().filter(|task| !asks(task)).collect();
    let mut waiting = Vec::new();
    for task in tasks.into_iter().take(WAITING) {
        let approval = is_awaited(store, &task)?;
        let log = store.log(&task.id)?;
        let note = log.iter().rev().find(|entry| entry.kind == LogKind::Note);
        let reason = note.map(|entry| entry.text.lines().next().unwrap_or_default().to_owned());
        waiting.push(WaitingTask { task: task.id, reason: reason.unwrap_or_default(), approval });
    }
    Ok(waiting)
}

/// Ready tasks that wait until a branch is merged into the one that is checked out. If git fails, the run reports it.
fn merges(project: &Project, store: &mut dyn Store) -> Vec<NeedsMerge> {
    let Ok(peek) = store.peek(&Scope::All, READY, clock::now()) else { return vec![] };
    merges_of(project, store, &peek.claimable)
}

/// The same of these tasks.
pub(crate) fn merges_of(
    project: &Project,
    store: &mut dyn Store,
    tasks: &[Task],
) -> Vec<NeedsMerge> {
    if tasks.iter().all(|task| task.deps.is_empty()) {
        return vec![];
    }
    let Ok(vcs) = GitVcs::new(project.clone()) else { return vec![] };
    merges_needed(store, &vcs, tasks, &mut HashSet::new()).unwrap_or_default()
}

/// The newest commits of the worktree, whoever made them; none before the first.
fn commits(project: &Project) -> Vec<CommitView> {
    let log = ["log", COMMITS, "--no-show-signature", "--format=%H %s"];
    let printed = Git::plumbing(&project.worktree, &log).run().unwrap_or_default();
    let line = |line: &str| {
        let (id, subject) = line.split_once(' ')?;
        Some(CommitView { id: id.to_owned(), subject: subject.to_owned() })
    };
    String::from_utf8_lossy(&printed).lines().filter_map(line).collect()
}

/// What to type next, the best first, and why.
pub(crate) fn next(page: &StatusPage, project: &Project) -> Vec<NextStep> {
    let (counts, run) = (&page.counts, page.run.as_ref());
    let is_there = |name: &&str| project.worktree.join(name).exists();
    let prepared = ["ralph.toml", "PROMPT_build.md"].iter().any(is_there);
    let mut steps: Vec<NextStep> = Vec::new();
    let mut step = |command: &str, why: &'static str| steps.push((command.to_owned(), why.into()));
    for question in page.questions.iter().take(3) {
        step(&format!("ralph answer {} \"…\"", question.id), "answer the agent's question");
    }
    for waits in page.waiting.iter().filter(|waits| waits.approval) {
        step(&format!("ralph approve {}", waits.task), "let its finished work land");
    }
    let paused = run.is_some_and(|run| run.paused);
    let cancelled = page.cancel();
    match page.state {
        State::Running { .. } if cancelled.is_some() => {
            step("ralph logs -f", "see what it does");
            if cancelled < Some(Cancel::Now) {
                step("ralph cancel --after now", "do not wait for the session");
            }
        }
        State::Running { .. } if paused => {
            step("ralph resume", "continue the run");
            step("ralph cancel", "or stop it");
        }
        State::Running { .. } => {
            step("ralph status --watch", "watch its progress");
            step("ralph logs -f", "see what it does");
            step("ralph cancel", "stop it; you can resume it later");
        }
        State::Interrupted if counts.total() == 0 || counts.unresolved() > 0 => {
            let again = run.map_or_else(|| "ralph build".to_owned(), words::again);
            step(&again, "resume the run");
        }
        State::Stopped if counts.total() == 0 => {
            if !prepared {
                step("ralph init", "set up settings, prompts and test command");
            }
            match crate::launch::plan_file_done(project) {
                Some(false) => {
                    step("ralph build", "work through the plan file");
                    return steps;
                }
                Some(true) => {
                    step("ralph plan", "the plan file is done; plan more");
                    return steps;
                }
                None => {}
            }
            let found = crate::launch::suggest::lists(project);
            steps.extend(found.into_iter().take(3).map(|list| (list.command(), list.why().into())));
            let mut step =
                |command: &str, why: &'static str| steps.push((command.to_owned(), why.into()));
            step("ralph plan \"IDEA\"", "let the agent plan an idea, in a sentence");
            step("ralph plan", "let the agent write a plan from specs/ and the code");
            step("ralph feature create NAME", "or start with the spec of a feature");
            step("ralph task add \"What to do\"", "or add the first task yourself");
            step("ralph import FILE", "or import a list (prd.json, spec-kit, task-master, …)");
        }
        State::Stopped | State::Interrupted => {
            if counts.open > 0 {
                if !prepared {
                    step("ralph init", "set up settings, prompts and test command");
                }
                // What stopped the last run would stop the next one, too.
                match run.map(words::after_trouble).filter(|steps| !steps.is_empty()) {
                    Some(steps) => steps.iter().for_each(|(command, why)| step(command, why)),
                    None => step("ralph build", "work through the plan"),
                }
            }
            if counts.failed > 0 {
                step("ralph task list --status failed", "see the failed tasks");
            }
            if counts.waiting > page.questions.len() as u64 {
                step("ralph task list --status waiting", "see the tasks that wait for you");
            }
            if counts.unresolved() == 0 && counts.failed == 0 {
                step("ralph task list", "see all tasks; everything is done");
                step("ralph task add \"What to do\"", "add another task");
            } else {
                step("ralph task tree", "see the whole plan");
            }
        }
    }
    steps
}
