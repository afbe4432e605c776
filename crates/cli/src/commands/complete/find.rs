//! Finds the values that an argument can have here. Reads only, and never waits.

use std::ffi::{OsStr, OsString};

use clap::FromArgMatches;
use clap_complete::CompletionCandidate;
use ralph_core::plan::FORMATS;
use ralph_core::records::Feature;
use ralph_core::task::{Status, StatusFilter};
use ralph_engine::ports::{Filter, Store};
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::journal;
use ralph_engine::store::SqliteStore;
use ralph_engine::vcs::wip::saved_tasks;

use super::values::Values;
use crate::approvals::awaiting;
use crate::arguments::GlobalArgs;
use crate::config::{self, Config, key};
use crate::environment::Environment;
use crate::wiring::{Context, Program};

/// How many values are offered at most.
const MOST: usize = 500;
/// How many of the newest runs are offered.
const RUNS: usize = 30;

/// What stands for paths, which the shell completes.
pub(super) const PATHS: [&str; 2] = [":files", ":folders"];

/// A value and its description.
type Found = (String, String);

#[derive(Debug)]
pub(super) struct Finder {
    pub(super) environment: Environment,
    pub(super) program: Program,
    pub(super) words: Vec<OsString>,
}

impl Finder {
    /// The values that begin with what was typed.
    pub(super) fn find(&self, values: Values, typed: &OsStr) -> Vec<CompletionCandidate> {
        // The engine also asks where the user types an option, and no value begins with a dash.
        let Some(typed) = typed.to_str().filter(|typed| !typed.starts_with('-')) else {
            return vec![];
        };
        // Of several values only the last is completed.
        let last = match values {
            Values::TaskList => typed.rfind(',').map_or(0, |comma| comma + 1),
            _ => 0,
        };
        let (before, typed) = typed.split_at(last);
        let found = self.all(values, typed).unwrap_or_default();
        let found = found
            .into_iter()
            .filter(|(value, _)| value.starts_with(typed) || PATHS.contains(&value.as_str()));
        found
            .take(MOST)
            .enumerate()
            .map(|(order, (value, text))| {
                let text = (!text.is_empty()).then(|| text.into());
                // The order here is the order on the screen.
                CompletionCandidate::new(format!("{before}{value}"))
                    .help(text)
                    .display_order(Some(order))
            })
            .collect()
    }

    fn all(&self, values: Values, typed: &str) -> Option<Vec<Found>> {
        Some(match values {
            Values::OpenTasks => tasks(&mut self.store()?, true)?,
            Values::Tasks | Values::TaskList => tasks(&mut self.store()?, false)?,
            Values::Features => features(&mut self.store()?)?,
            Values::Targets => {
                let store = &mut self.store()?;
                [features(store)?, tasks(store, true)?].concat()
            }
            Values::Agents => {
                let agents = self.store()?.agents().ok()?;
                agents.into_iter().map(|agent| plain(&agent.id)).collect()
            }
            Values::Questions => {
                let open = self.store()?.questions(None, true).ok()?;
                open.into_iter().map(|asked| (asked.id.to_string(), asked.text)).collect()
            }
            Values::Approvals => {
                let waiting = awaiting(&mut self.store()?).ok()?;
                waiting.into_iter().map(|task| (task.id.to_string(), task.title.into())).collect()
            }
            Values::SavedWork => self.with(|context| {
                let tasks = saved_tasks(&context.project().ok()?).ok()?;
                Some(tasks.into_iter().map(|(task, subject)| (task.to_string(), subject)).collect())
            })?,
            Values::Runs => self.with(runs)?,
            Values::Keys => config::described_keys(),
            Values::Pairs => match typed.split_once('=') {
                None => config::described_keys()
                    .into_iter()
                    .map(|(key, text)| (format!("{key}="), text))
                    .collect(),
                Some((key, _)) => {
                    config::words_of(key).map(|word| plain(format!("{key}={word}"))).collect()
                }
            },
            Values::NamedSetting => {
                let key = self.words.iter().rev().nth(1)?.to_str()?;
                config::words_of(key).map(plain).collect()
            }
            Values::Setting(key) => config::words_of(key).map(plain).collect(),
            Values::Statuses => {
                let stored = Status::ALL.map(|status| plain(status.as_str()));
                stored.into_iter().chain([plain("blocked")]).collect()
            }
            Values::Formats => FORMATS.iter().map(|format| plain(format.name)).collect(),
            Values::Commands => self.commands(),
            Values::Files => vec![plain(":files")],
            Values::Folders => vec![plain(":folders")],
            Values::Anything => vec![],
        })
    }

    fn with<R>(&self, work: impl FnOnce(&Context<'_>) -> Option<R>) -> Option<R> {
        let (mut global, home) = (self.global()?, &self.environment.home);
        // As the shell would pass it.
        global.directory = global.directory.map(|path| match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        });
        work(&Context::new(&self.environment, &global, self.program))
    }

    /// The global options of the unfinished command line.
    fn global(&self) -> Option<GlobalArgs> {
        let read = |words: &[OsString]| {
            let command = (self.program.command_line)().ignore_errors(true);
            GlobalArgs::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()
        };
        read(&self.words).or_else(|| read(&self.words[..1.min(self.words.len())]))
    }

    fn store(&self) -> Option<SqliteStore> {
        self.with(|context: &Context<'_>| context.glance())
    }

    /// The commands below those that are already named: `ralph help task <Tab>`.
    fn commands(&self) -> Vec<Found> {
        let mut command = (self.program.command_line)();
        let named = self.words.iter().skip(2).take(self.words.len().saturating_sub(3));
        for word in named {
            let inner = word.to_str().and_then(|word| command.find_subcommand(word)).cloned();
            match inner {
                Some(inner) => command = inner,
                None => return vec![],
            }
        }
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        shown
            .map(|inner| {
                let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
                (inner.get_name().to_owned(), about)
            })
            .collect()
    }
}

fn plain(value: impl ToString) -> Found {
    (value.to_string(), String::new())
}

fn tasks(store: &mut SqliteStore, open_only: bool) -> Option<Vec<Found>> {
    let statuses = match open_only {
        true => [Status::Pending, Status::InProgress, Status::Waiting]
            .map(StatusFilter::Stored)
            .to_vec(),
        false => vec![],
    };
    let tasks = store.list(&Filter { statuses, ..Filter::default() }).ok()?;
    Some(tasks.into_iter().map(|task| (task.id.to_string(), task.title.to_string())).collect())
}

fn features(store: &mut SqliteStore) -> Option<Vec<Found>> {
    let named = |feature: Feature| (feature.name.to_string(), "feature".to_owned());
    Some(store.features().ok()?.into_iter().map(named).collect())
}

fn runs(context: &Context<'_>) -> Option<Vec<Found>> {
    let project = context.project().ok()?;
    let config = Config::load(context.sources().ok()?).ok()?.config;
    let all = RunLogs::all(&project.resolve(config.get(key::LOGS_DIR))).ok()?;
    let named = |logs: &RunLogs| {
        let name = logs.folder.file_name()?.to_string_lossy().into_owned();
        Some((journal::run_of(&logs.journal())?.to_string(), name))
    };
    Some(all.iter().rev().take(RUNS).filter_map(named).collect())
}
