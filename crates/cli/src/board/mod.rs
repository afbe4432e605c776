//! What displays with a screen of their own ask of the repository: the answers of the commands, without their output.
//!
//! Each call opens what it needs and closes it again, so that a display that stays open for hours holds no lock and reads
//! settings as they are now.
//!
//! | file | owns |
//! |---|---|
//! | `mod` | the two ports, and what the repository answers |
//! | `perform` | the user's actions, as the commands do them |

mod perform;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::ids::RunId;
use ralph_core::redact::Secrets;
use ralph_core::task::Task;
use ralph_core::text::printable;
use ralph_core::time::Zone;
use ralph_core::view::history::RunSummary;
use ralph_core::view::report::Report;
use ralph_core::view::stream::{EventSource, Next};
use ralph_core::{TaskId, Timestamp};
use ralph_engine::clock;
use ralph_engine::ports::Filter;
use ralph_engine::store::SqliteStore;
use ralph_ui::ports::{Answer, Board, Ports, Refused, UserAction};
use ralph_ui::runs::RunRow;
use ralph_ui::status::StatusPage;
use ralph_ui::tasks;
use serde_json::Value;

use crate::arguments::GlobalArgs;
use crate::attach;
use crate::commands;
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::error_codes::ErrorCode;
use crate::history::{self, KeptRun};
use crate::status_query;
use crate::wiring::{Context, GivenSettings, Program};

/// Opens the repository of a command for displays. A session may not.
pub(crate) fn ports(context: &Context<'_>) -> Result<Arc<dyn Ports>> {
    context.refuse_in_session()?;
    let root = context.project()?.root;
    let mut environment = context.environment.clone();
    // Whoever sits at a display is the user.
    environment.ralph.retain(|(name, _)| name != "RALPH_AGENT_ID");
    Ok(Arc::new(Repository(Arc::new(Origin {
        secrets: Secrets::new(environment.secrets()),
        environment,
        global: context.global.clone(),
        program: context.program,
        given: context.given_settings(),
        root,
    }))))
}

/// What the command line and the environment said when the display was opened.
struct Origin {
    environment: Environment,
    global: GlobalArgs,
    program: Program,
    given: GivenSettings,
    secrets: Secrets,
    root: PathBuf,
}

impl Origin {
    fn ask<T>(&self, ask: impl FnOnce(&mut Context<'_>) -> Result<T>) -> Answer<T> {
        let given = (self.program, self.given.clone());
        let mut context = Context::for_display(&self.environment, &self.global, given);
        ask(&mut context).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &CliError) -> Refused {
        let (message, excerpt, hints) = error.parts();
        let clean = |text: &str| self.secrets.redact(&printable(text)).into_owned();
        let message = match excerpt.trim_end() {
            "" => clean(message),
            excerpt => clean(&format!("{message}\n{excerpt}")),
        };
        let missing = matches!(
            error.code,
            ErrorCode::UnknownTask
                | ErrorCode::UnknownFeature
                | ErrorCode::UnknownQuestion
                | ErrorCode::TaskDeleted
        );
        Refused { message, hints: hints.iter().map(|hint| clean(hint)).collect(), missing }
    }
}

struct Repository(Arc<Origin>);

impl Ports for Repository {
    fn live(&self) -> Box<dyn EventSource + Send> {
        match self.0.ask(attach::everything) {
            Ok(source) => Box::new(source),
            Err(_) => Box::new(Nothing),
        }
    }

    fn run(&self, run: &RunId) -> Answer<Box<dyn EventSource + Send>> {
        let all = self.0.ask(history::runs)?;
        match all.iter().find(|kept| kept.run == *run) {
            Some(kept) => self.0.ask(|context| attach::one(kept, context)),
            None => Err(Refused {
                message: format!("there is no run {run} here"),
                hints: vec!["see all runs: ralph runs".to_owned()],
                missing: true,
            }),
        }
    }

    fn board(&self) -> Box<dyn Board> {
        Box::new(RepositoryBoard {
            origin: Arc::clone(&self.0),
            watched: None,
            opened: 0,
            summaries: HashMap::new(),
        })
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn zone(&self) -> Zone {
        clock::zone()
    }

    fn root(&self) -> String {
        self.0.root.display().to_string()
    }
}

/// The stream of a repository that cannot be read.
struct Nothing;

impl EventSource for Nothing {
    fn next(&mut self, _wait: Duration) -> Next {
        Next::Over
    }
}

struct RepositoryBoard {
    origin: Arc<Origin>,
    /// The task database, open only to see whether others have changed it.
    watched: Option<Watched>,
    /// How often that was opened.
    opened: u64,
    /// The summary of each journal that was read, with its length then.
    summaries: HashMap<PathBuf, (u64, RunSummary)>,
}

struct Watched {
    file: (u64, u64),
    store: SqliteStore,
}

impl Board for RepositoryBoard {
    fn status(&mut self) -> Answer<StatusPage> {
        self.origin.ask(status_query::now)
    }

    fn tasks(&mut self) -> Answer<Vec<Task>> {
        self.origin.ask(|context| Ok(context.reader()?.list(&Filter::default())?))
    }

    fn version(&mut self) -> Answer<u64> {
        let origin = Arc::clone(&self.origin);
        origin.ask(|context| self.version_in(context))
    }

    fn task(&mut self, id: &TaskId) -> Answer<Value> {
        self.origin.ask(|context| {
            let looked = commands::task::Looked::at(id, true, context)?;
            let zone = clock::zone();
            let details = tasks::details(&looked.task, looked.details(true, &zone));
            Ok(serde_json::to_value(details).map_err(std::io::Error::from)?)
        })
    }

    fn diff(&mut self, id: &TaskId) -> Answer<String> {
        self.origin.ask(|context| commands::diff::patch(id, context))
    }

    fn runs(&mut self) -> Answer<Vec<RunRow>> {
        let origin = Arc::clone(&self.origin);
        origin.ask(|context| {
            let kept = history::runs(context)?;
            self.summaries.retain(|path, _| kept.iter().any(|one| one.logs.journal() == *path));
            let summaries = kept.iter().filter_map(|one| self.summary(one)).collect();
            commands::runs::rows(summaries, context)
        })
    }

    fn report(&mut self) -> Answer<Report> {
        self.origin.ask(|context| commands::report::report(None, context))
    }

    fn perform(&mut self, action: &UserAction) -> Answer<String> {
        self.origin.ask(|context| perform::perform(action, context))
    }
}

impl RepositoryBoard {
    /// Every connection counts by itself, so the number of the connection is part of the version.
    fn version_in(&mut self, context: &mut Context<'_>) -> Result<u64> {
        let (_, path) = context.store_path()?;
        let Some(file) = identity(&path) else {
            self.watched = None;
            return Ok(0);
        };
        if self.watched.as_ref().is_none_or(|watched| watched.file != file) {
            let opened = SqliteStore::open_existing(&path)?;
            self.watched = opened.map(|store| Watched { file, store });
            self.opened += 1;
        }
        let version = self.watched.as_ref().map(|watched| watched.store.data_version());
        Ok(self.opened << 32 | version.transpose()?.unwrap_or_default())
    }

    /// The summary of a run, read again only when its journal has grown.
    fn summary(&mut self, kept: &KeptRun) -> Option<RunSummary> {
        let path = kept.logs.journal();
        let length = path.metadata().map_or(0, |file| file.len());
        match self.summaries.get(&path) {
            Some((known, summary)) if *known == length => Some(summary.clone()),
            _ => {
                let summary = RunSummary::of(&kept.events())?;
                self.summaries.insert(path, (length, summary.clone()));
                Some(summary)
            }
        }
    }
}

/// Which file a path leads to; another one means that the task database was made again.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests;
