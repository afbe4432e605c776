//! The record of a run: its settings and its progress, for the next run in the same worktree.
//!
//! It is written twice, whole and atomically, before each session and after each iteration: in the user's state
//! folder, where no sandboxed session can write, and as a readable copy in `.ralph/state.toml`. The first one
//! counts.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::run::{Budget, Input, Policy, Resume, RunState, StopReason};
use serde::{Deserialize, Serialize};

use crate::clock::now;
use crate::process::{project_folder, project_key};
use crate::project::{Project, sweep_halves, write_privately};
use crate::untrusted;

/// The contents, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// A run is active, or was when it was interrupted.
    pub active: bool,
    /// Iterations that it counted.
    pub iteration: u32,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    pub started_at: Timestamp,
    /// When its last iteration ended.
    pub last_iteration_at: Option<Timestamp>,
    /// Its limit.
    pub max_iterations: Option<u32>,
    /// Sessions that it started, without those that count for nothing.
    #[serde(default)]
    pub sessions_used: u32,
    pub error_count: u32,
    /// Errors in a row.
    pub consecutive_errors: u32,
    pub last_error: Option<String>,
    /// The last accepted commit.
    pub last_commit: Option<String>,
    /// Iterations in a row without a change.
    pub idle_iterations: u32,
    pub run: RunId,
    /// Its process.
    pub pid: u32,
    /// When that process started, in the system's own count.
    pub pid_started: u64,
    /// Where it listens.
    pub control_socket: Option<PathBuf>,
    /// It ended as a run does; `false` for one that continues at the next start.
    #[serde(default)]
    pub finished: bool,
    #[serde(default)]
    pub level: String,
    /// What it was asked for.
    #[serde(default)]
    pub request: Request,
    #[serde(default)]
    pub budget: Budget,
    #[serde(default)]
    pub spent: Spending,
}

/// What a run was asked for: the part of the command line that the next run takes over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The preset that it works by.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preset: String,
    /// The plan file, from the top of the worktree.
    pub plan: Option<String>,
    /// Only the tasks of this feature.
    pub feature: Option<String>,
    /// Only this task.
    pub task: Option<String>,
    /// Only this branch of the plan.
    pub branch: Option<String>,
    /// It is about branches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branches: bool,
    /// What to plan, in the user's words.
    pub idea: Option<String>,
    /// Identifies the repository, to tell it from another one at the same path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The call over several branches that the run belongs to.
    pub call: Option<RunId>,
    /// The settings that its flags gave, written as for `--set`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// What a run has spent of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spending {
    /// Millionths of a dollar.
    pub micro_usd: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Milliseconds.
    pub time_ms: u64,
}

/// Where the record of the runs of one mode in a worktree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The file in the user's state folder; `None` for a user without one.
    pub kept: Option<PathBuf>,
    /// `.ralph/state.toml`.
    pub copy: PathBuf,
}

/// What was found of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierRun {
    /// Its record.
    pub state: StateFile,
    /// It lay in the user's state folder.
    pub kept: bool,
    /// No session could write the record.
    pub trusted: bool,
}

/// Identifies a repository, to tell it from another one at the same path.
pub fn repository_mark(project: &Project) -> String {
    std::fs::metadata(&project.git_dir)
        .map(|found| format!("{}:{}", found.dev(), found.ino()))
        .unwrap_or_default()
}

/// The folder for the records of a repository, below the user's state folder.
pub fn folder(state_home: &Path, project: &Project) -> PathBuf {
    project_folder(state_home, &project.root)
}

impl Record {
    /// The record of the runs of `mode` in a worktree. Runs of other modes do not overwrite it.
    pub fn of(state_home: Option<&Path>, project: &Project, mode: &str) -> Self {
        let name = match project.worktree == project.root {
            true => format!("{mode}.toml"),
            false => format!("{}.{mode}.toml", project_key(&project.worktree)),
        };
        Self {
            kept: state_home.map(|home| folder(home, project).join(name)),
            copy: project.worktree.join(".ralph").join("state.toml"),
        }
    }

    /// The run that the next one of `mode` continues with; `None` after a run that ended as runs do.
    pub fn interrupted(&self, project: &Project, mode: &str) -> io::Result<Option<EarlierRun>> {
        let found = self.read(project)?;
        Ok(found.filter(|found| !found.state.finished && found.state.mode == mode))
    }

    /// The record that counts. A version that kept only the copy is taken up by it.
    fn read(&self, project: &Project) -> io::Result<Option<EarlierRun>> {
        let kept = self.kept.as_deref().map(read).transpose()?.flatten();
        if let Some(state) = kept {
            let trusted = !matches!(state.level.as_str(), "" | "none");
            let same = state.request.repository == repository_mark(project);
            return Ok(same.then_some(EarlierRun { state, kept: true, trusted }));
        }
        Ok(read(&self.copy)?.map(|state| EarlierRun { state, kept: false, trusted: false }))
    }

    /// Writes both.
    pub fn write(&self, text: &str) -> io::Result<()> {
        self.keep(text)?;
        write_privately(&self.copy, text)
    }

    /// Writes the one that counts.
    pub fn keep(&self, text: &str) -> io::Result<()> {
        self.kept.as_ref().map_or(Ok(()), |kept| write_privately(kept, text))
    }

    /// What the runs of a call over several branches have spent together.
    pub fn spent_by(&self, call: &RunId) -> Spending {
        let beside = self.kept.as_ref().and_then(|kept| std::fs::read_dir(kept.parent()?).ok());
        let files = beside.into_iter().flatten().flatten().map(|entry| entry.path());
        let states = files.filter_map(|path| read(&path).ok().flatten());
        let of_call = states.filter(|state| state.request.call.as_ref() == Some(call));
        of_call.fold(Spending::default(), |all, state| Spending {
            micro_usd: all.micro_usd.saturating_add(state.spent.micro_usd),
            tokens: all.tokens.saturating_add(state.spent.tokens),
            // They ran side by side.
            time_ms: all.time_ms.max(state.spent.time_ms),
        })
    }

    /// Removes halves of files that a killed run left.
    pub fn sweep(&self) -> io::Result<()> {
        for path in self.kept.iter().chain([&self.copy]) {
            sweep_halves(path)?;
        }
        Ok(())
    }
}

/// Who writes the record.
#[derive(Debug, Clone)]
pub struct Writer {
    pub record: Record,
    pub run: RunId,
    /// Our process.
    pub pid: u32,
    pub pid_started: u64,
    /// Where we listen.
    pub control_socket: Option<PathBuf>,
    pub level: String,
    pub request: Request,
}

impl Writer {
    /// Writes down that the run begins.
    pub(crate) fn begin(&self, policy: &Policy, begin: &Input) -> io::Result<()> {
        let mut state = RunState::new(policy.clone());
        if let Input::Begin { started, .. } = begin {
            state.evolve(started, now());
        }
        self.record.write(&self.text(&state, now())?)
    }

    /// The state as it is in the file.
    pub fn text(&self, state: &RunState, now: Timestamp) -> io::Result<String> {
        let ended = state.ended;
        let finished = ended && !state.stop.as_ref().is_some_and(StopReason::is_interruption);
        let usage = state.usage;
        StateFile {
            active: !ended,
            iteration: state.counted,
            mode: state.policy.mode.clone(),
            started_at: state.started_at,
            last_iteration_at: state.last_iteration_at,
            max_iterations: state.policy.max_sessions,
            sessions_used: state.sessions_used(),
            error_count: state.error_count,
            consecutive_errors: state.consecutive_errors,
            last_error: state.last_error.as_deref().map(first_line),
            last_commit: state.last_commit.clone(),
            idle_iterations: state.idle_iterations,
            run: self.run.clone(),
            pid: self.pid,
            pid_started: self.pid_started,
            control_socket: self.control_socket.clone().filter(|_| !ended),
            finished,
            level: self.level.clone(),
            request: self.request.clone(),
            budget: state.policy.budget,
            spent: Spending {
                micro_usd: usage.cost_micro_usd.unwrap_or(0),
                tokens: usage.input_tokens.saturating_add(usage.output_tokens),
                time_ms: now.millis_since(state.began_at),
            },
        }
        .text()
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}

/// Reads a file; `None` when there is none.
pub fn read(path: &Path) -> io::Result<Option<StateFile>> {
    let found = untrusted::if_there(untrusted::read_own(path, untrusted::SMALL))?;
    found.map(|bytes| toml::from_slice(&bytes).map_err(io::Error::other)).transpose()
}

impl StateFile {
    /// As it is written. TOML has no larger numbers than an `i64`, and no budget needs one.
    pub fn text(&self) -> io::Result<String> {
        let most = |amount: u64| amount.min(i64::MAX.unsigned_abs());
        let (budget, spent) = (self.budget, self.spent);
        let file = Self {
            budget: Budget {
                micro_usd: most(budget.micro_usd),
                tokens: most(budget.tokens),
                time_ms: most(budget.time_ms),
                task_micro_usd: most(budget.task_micro_usd),
                day_micro_usd: most(budget.day_micro_usd),
            },
            spent: Spending {
                micro_usd: most(spent.micro_usd),
                tokens: most(spent.tokens),
                time_ms: most(spent.time_ms),
            },
            ..self.clone()
        };
        toml::to_string(&file).map_err(io::Error::other)
    }

    /// Sessions that the next run must not have again.
    pub fn used(&self) -> u32 {
        self.sessions_used.max(self.iteration)
    }

    /// The rest of its budgets; where there was one, at least the smallest amount.
    pub fn budget_left(&self) -> Budget {
        let left =
            |all: u64, spent: u64| if all == 0 { 0 } else { all.saturating_sub(spent).max(1) };
        Budget {
            micro_usd: left(self.budget.micro_usd, self.spent.micro_usd),
            tokens: left(self.budget.tokens, self.spent.tokens),
            time_ms: left(self.budget.time_ms, self.spent.time_ms),
            ..self.budget
        }
    }

    /// What the next run takes up, and what else it keeps, in words.
    pub fn resume(&self, kept: Vec<String>) -> Resume {
        Resume {
            run: self.run.clone(),
            iteration: self.used(),
            started_at: self.started_at,
            error_count: self.error_count,
            consecutive_errors: self.consecutive_errors,
            last_error: self.last_error.clone(),
            last_commit: self.last_commit.clone(),
            idle_iterations: self.idle_iterations,
            kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 0.1 wrote it.
    const OLD: &str = "active = true\niteration = 3\nmode = \"build\"\nstarted_at = \"2026-01-02T03:04:05.000Z\"\n\
        max_iterations = 5\nerror_count = 0\nconsecutive_errors = 0\nidle_iterations = 0\n\
        run = \"r-aaaaaaaa\"\npid = 1\npid_started = 0\n";

    fn project(folder: &Path) -> Project {
        let git_dir = folder.join(".git");
        std::fs::create_dir_all(&git_dir).unwrap();
        Project { worktree: folder.to_owned(), root: folder.to_owned(), git_dir }
    }

    #[test]
    fn the_record_in_the_state_folder_counts_and_the_copy_only_without_it() {
        let (home, repo) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = project(repo.path());
        let record = Record::of(Some(home.path()), &project, "build");
        assert_eq!(record.interrupted(&project, "build").unwrap(), None);
        write_privately(&record.copy, OLD).unwrap();
        let found = record.interrupted(&project, "build").unwrap().unwrap();
        assert_eq!((found.state.used(), found.kept, found.trusted), (3, false, false));
        assert_eq!(record.interrupted(&project, "plan").unwrap(), None);
        let mut state = StateFile { sessions_used: 4, level: "full".to_owned(), ..found.state };
        state.request.repository = repository_mark(&project);
        record.keep(&state.text().unwrap()).unwrap();
        let found = record.interrupted(&project, "build").unwrap().unwrap();
        assert_eq!((found.state.used(), found.kept, found.trusted), (4, true, true));
        state.level = "none".to_owned();
        record.keep(&state.text().unwrap()).unwrap();
        assert!(!record.interrupted(&project, "build").unwrap().unwrap().trusted);
        state.request.repository = "another one".to_owned();
        record.keep(&state.text().unwrap()).unwrap();
        assert_eq!(record.interrupted(&project, "build").unwrap(), None);
    }

    #[test]
    fn what_is_left_of_a_budget_is_never_no_limit() {
        let mut state: StateFile = toml::from_str(OLD).unwrap();
        state.budget = Budget { micro_usd: 10, tokens: u64::MAX, ..Budget::default() };
        state.spent = Spending { micro_usd: 12, tokens: 5, time_ms: 9 };
        let left = state.budget_left();
        assert_eq!((left.micro_usd, left.tokens, left.time_ms), (1, u64::MAX - 5, 0));
        let again: StateFile = toml::from_str(&state.text().unwrap()).unwrap();
        assert_eq!(again.budget.tokens, i64::MAX.unsigned_abs());
    }
}
