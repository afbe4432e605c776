//! The only place that builds the dependencies of commands: finds the project, loads the config, opens the store.
//!
//! | file | owns |
//! |---|---|
//! | `ledger` | which version of a deciding file counts |

mod ledger;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::branch::BranchName;
use ralph_core::run::Notice;
use ralph_core::task::{Actor, RetryLimit, Task};
use ralph_core::trust::SETTINGS;
use ralph_core::{AgentId, TaskId, Timestamp};
use ralph_engine::clock;
use ralph_engine::entropy::Ids;
use ralph_engine::ports::{Store, StoreError};
use ralph_engine::project::{Project, without_dots};
use ralph_engine::sandbox::Sandbox;
use ralph_engine::socket::SessionRequestHandler;
use ralph_engine::store::{SqliteStore, sqlite};
use ralph_engine::trust::name_of;
use ralph_engine::untrusted;
use ralph_engine::worktree_files;
use ralph_engine::worktrees::Worktrees;
use ralph_ui::ports::Ports;
use ralph_ui::style::TextStyle;

use crate::arguments::GlobalArgs;
use crate::config::{self, Config, Flags, Sources, key};
use crate::environment::Environment;
use crate::error::{CliError, Result, with_store};
use crate::exit_codes::Exit;
use crate::output::{Color, Output};

use ledger::TrustCell;
pub(crate) use ledger::{found_command, unwritable};

/// The program on top of the commands, for those that need all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// The command line as data, for completions, manual pages and the reference.
    pub(crate) command_line: fn() -> clap::Command,
    /// Carries out a command line.
    pub(crate) run: fn(&Environment) -> Exit,
    /// Answers the sessions of a run.
    pub(crate) session_handler: fn(&Context<'_>, Project, Config) -> Arc<dyn SessionRequestHandler>,
    /// What displays with a screen of their own ask of the repository.
    pub(crate) ports: fn(&Context<'_>) -> Result<Arc<dyn Ports>>,
}

/// The settings that a command line gave, for the same command on another thread.
#[derive(Debug, Clone)]
pub(crate) struct GivenSettings {
    flags: Flags,
    resumed: Vec<(String, String)>,
}

/// A sandbox that has been tried, and the notices about it.
#[derive(Clone)]
pub(crate) struct RunSandbox {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) notices: Vec<Notice>,
}

pub(crate) struct Context<'a> {
    pub(crate) program: Program,
    pub(crate) environment: &'a Environment,
    pub(crate) global: &'a GlobalArgs,
    pub(crate) out: Output,
    project: OnceCell<Project>,
    config: OnceCell<Config>,
    /// The settings from the flags of the command.
    flags: Flags,
    /// The settings from the flags of the interrupted run that the command resumes.
    resumed: Vec<(String, String)>,
    /// The user has seen the warnings about the settings.
    warned: bool,
    /// Warnings about the agents' programs, checked once each.
    pub(crate) odd_agents: RefCell<HashMap<PathBuf, Vec<Notice>>>,
    /// The sandbox of a run, tried once for all of its branches.
    pub(crate) sandboxed: RefCell<Option<RunSandbox>>,
    /// Set if the command runs on behalf of a session: which one, and its input.
    for_session: Option<(Actor, String)>,
    /// It acts for a display that owns the screen: nothing is printed.
    for_display: bool,
    pub(crate) trust: TrustCell,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        environment: &'a Environment,
        global: &'a GlobalArgs,
        program: Program,
    ) -> Self {
        Self {
            program,
            environment,
            global,
            out: Output::new(environment, global.color, global.quiet),
            project: OnceCell::new(),
            config: OnceCell::new(),
            flags: Flags::default(),
            resumed: vec![],
            warned: false,
            odd_agents: RefCell::default(),
            sandboxed: RefCell::default(),
            for_session: None,
            for_display: false,
            trust: TrustCell::default(),
        }
    }

    /// For what a display asks, with the settings of the command that opened it. Messages are kept and not printed.
    pub(crate) fn for_display(
        environment: &'a Environment,
        global: &'a GlobalArgs,
        (program, given): (Program, GivenSettings),
    ) -> Self {
        let mut context = Self {
            out: Output::kept(TextStyle::PLAIN, TextStyle::PLAIN, true),
            resumed: given.resumed,
            for_display: true,
            ..Self::new(environment, global, program)
        };
        context.lay(given.flags);
        context
    }

    /// The settings that the command line gave.
    pub(crate) fn given_settings(&self) -> GivenSettings {
        GivenSettings { flags: self.flags.clone(), resumed: self.resumed.clone() }
    }

    /// For a call from inside a session. Project and settings are those of the run: changes that the agent has made to
    /// the files meanwhile do not count.
    pub(crate) fn for_session(
        environment: &'a Environment,
        global: &'a GlobalArgs,
        (program, out): (Program, Output),
        (project, config): (Project, Config),
        caller: (Actor, String),
    ) -> Self {
        Self {
            out,
            project: project.into(),
            config: config.into(),
            warned: true,
            for_session: Some(caller),
            ..Self::new(environment, global, program)
        }
    }

    /// The socket of the session that the call comes from, unless the loop is already carrying out the call.
    pub(crate) fn session_socket(&self) -> Option<&'a Path> {
        if self.for_session.is_some() {
            return None;
        }
        self.environment.get("RALPH_SOCKET").map(Path::new)
    }

    /// Refuses a command that a session may not use.
    pub(crate) fn refuse_in_session(&self) -> Result<()> {
        self.session_socket().map_or(Ok(()), |_| Err(out_of_reach()))
    }

    pub(crate) fn read_stdin(&mut self) -> Result<String> {
        match &mut self.for_session {
            Some((_, stdin)) => Ok(std::mem::take(stdin)),
            None => Ok(io::read_to_string(io::stdin())?),
        }
    }

    /// A text from an argument; `-` stands for standard input.
    pub(crate) fn argument(&mut self, text: &str) -> Result<String> {
        if text == "-" { self.read_stdin() } else { Ok(text.to_owned()) }
    }

    /// The folder that the command works in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.global.directory.clone().unwrap_or_else(|| PathBuf::from("."))
    }

    pub(crate) fn project(&self) -> Result<Project> {
        if let Some(project) = self.project.get() {
            return Ok(project.clone());
        }
        let project = Project::find(&self.folder())?;
        Ok(self.project.get_or_init(|| project).clone())
    }

    /// Overrides settings with the flags of the command, replacing earlier flags.
    pub(crate) fn lay(&mut self, flags: Flags) {
        self.trust.given = flags.trust;
        if self.flags != flags {
            self.flags = flags;
            self.config.take();
        }
    }

    /// Uses the settings of an interrupted run: they override the files, and the flags of this command override them.
    pub(crate) fn go_on_with(&mut self, settings: Vec<(String, String)>) {
        self.resumed = settings;
        self.config.take();
    }

    /// The current settings. Prints their warnings once.
    pub(crate) fn config(&mut self) -> Result<Config> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let read = self.sources()?;
        let loaded = Config::load(read.clone())?;
        let reported = std::mem::replace(&mut self.warned, true);
        for warning in loaded.warnings.iter().filter(|_| !reported) {
            self.out.warning(warning);
        }
        for text in self.take_replaced() {
            self.out.warning(text);
        }
        if self.global.verbose && !reported {
            for (path, _) in [&read.user, &read.repo].into_iter().flatten() {
                self.out.note(format!("settings from {}", path.display()));
            }
        }
        if self.global.color == Color::Auto {
            self.out.prefer(self.environment, loaded.config.get(key::UI_COLOR));
        }
        Ok(self.config.get_or_init(|| loaded.config).clone())
    }

    /// The files and variables that the settings come from.
    pub(crate) fn sources(&self) -> Result<Sources> {
        let user = match &self.environment.user_config {
            Some(path) => {
                let read = untrusted::read_through_links(path, untrusted::SMALL);
                if_there(path, read)?.map(|text| (self.short(path), text))
            }
            None => None,
        };
        let repo = match &self.global.config {
            Some(path) => {
                // Inside a repository it is handled like other files there.
                let project = Project::find(&self.folder()).ok();
                let root = project.as_ref().map(|project| project.worktree.as_path());
                let inside = root.and_then(|root| {
                    Some((root, name_of(root, &std::path::absolute(path).ok()?)?))
                });
                let instead = match inside {
                    Some((root, name)) => self.instead_of(root, &name)?,
                    None => None,
                };
                let text = match instead {
                    Some(version) => version.text().map(str::to_owned),
                    None => {
                        if_there(path, worktree_files::read_named(root, path, untrusted::SMALL))?
                    }
                };
                let text =
                    text.ok_or_else(|| failed!("there is no config file {}", path.display()))?;
                Some((path.clone(), text))
            }
            None => match Project::find(&self.folder()) {
                Ok(project) => {
                    let path = project.worktree.join(SETTINGS);
                    let text = match self.instead_of(&project.worktree, SETTINGS)? {
                        Some(version) => version.text().map(str::to_owned),
                        None => {
                            let read =
                                worktree_files::read(&project.worktree, &path, untrusted::SMALL);
                            if_there(&path, read)?
                        }
                    };
                    text.map(|text| (PathBuf::from(SETTINGS), text))
                }
                Err(_) => None,
            },
        };
        let env = self.environment.ralph.clone();
        let (resumed, flags) = (self.resumed.clone(), self.flags.clone());
        Ok(Sources { user, repo, env, resumed, set: self.global.set.clone(), flags })
    }

    /// A path as ralph shows it: the home directory is `~`.
    pub(crate) fn short(&self, path: &Path) -> PathBuf {
        let home = self.environment.home.as_ref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => Path::new("~").join(rest),
            None => path.to_owned(),
        }
    }

    pub(crate) fn worktree_folder(&mut self, project: &Project) -> Result<PathBuf> {
        let config = self.config()?;
        Ok(worktree_folder(project, &config, self.environment.home.as_deref()))
    }

    /// The branches with worktrees of ralph's, and their folders.
    pub(crate) fn places(&mut self, project: &Project) -> Result<Vec<(BranchName, PathBuf)>> {
        Ok(Worktrees::new(project, &self.worktree_folder(project)?).places()?)
    }

    /// The path of the store, after checking that the folder is ralph's.
    pub(crate) fn store_path(&mut self) -> Result<(Project, PathBuf)> {
        self.refuse_in_session()?;
        let project = self.project()?;
        project.check_ours()?;
        let path = project.resolve(self.config()?.get(key::STORE_PATH));
        if self.global.verbose {
            self.out.note(format!("the task database is {}", path.display()));
        }
        Ok((project, path))
    }

    /// The path of the store for changes. Git ignores its folder before the store is created.
    fn path_to_change(&mut self) -> Result<PathBuf> {
        self.check_not_in_session()?;
        let (project, path) = self.store_path()?;
        self.report_waiting();
        if !path.exists() {
            project.exclude_state()?;
        }
        Ok(path)
    }

    /// Opens the store for changes, and creates it if it does not exist.
    pub(crate) fn store(&mut self) -> Result<Box<dyn Store>> {
        Ok(Box::new(SqliteStore::open(&self.path_to_change()?)?))
    }

    /// Opens the store for a run, and waits while another process keeps it locked: an overnight run must not end
    /// because of it.
    pub(crate) fn store_of_run(&mut self) -> Result<Box<dyn Store>> {
        let path = self.path_to_change()?;
        let hint = "find the process with `fuser .ralph/progress.db`, or press Ctrl-C";
        let waiting =
            |error: &StoreError| self.out.note(format!("{error}; still waiting ({hint})"));
        Ok(Box::new(until_unlocked(|| SqliteStore::open(&path), waiting)?))
    }

    /// A process of a session without its socket must not act as the user. The loop starts gates on behalf of the
    /// user, so they may do what the user may.
    fn check_not_in_session(&self) -> Result<()> {
        let of_session = |name| self.environment.get(name).is_some();
        if self.for_session.is_some() || !of_session("RALPH_MARK") || of_session("RALPH_GATE") {
            return Ok(());
        }
        let why = "this process belongs to a session of a run, but RALPH_SOCKET is not set: \
                   only the loop of that run may change tasks";
        Err(CliError::new(Exit::NotEligible, why)
            .hint("keep RALPH_SOCKET in the environment, or type this in another terminal"))
    }

    /// Opens the store for reading. If it does not exist, it reads as empty.
    pub(crate) fn reader(&mut self) -> Result<Box<dyn Store>> {
        let (_, path) = self.store_path()?;
        self.report_waiting();
        Ok(match SqliteStore::open_existing(&path)? {
            Some(store) => Box::new(store),
            None => Box::new(SqliteStore::empty()?),
        })
    }

    /// Changes the store on behalf of the caller.
    pub(crate) fn change<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Store, &Actor, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T> {
        let by = self.actor()?;
        let mut store = self.store()?;
        act(&mut *store, &by, clock::now()).map_err(|error| with_store(error, &mut *store))
    }

    pub(crate) fn task(&mut self, id: &TaskId) -> Result<Task> {
        let mut store = self.reader()?;
        store.get(id).map_err(|error| with_store(error, &mut *store))
    }

    /// Opens the store for a completion: waits for nobody, and creates and migrates nothing. `None` if there is nothing
    /// to read.
    pub(crate) fn glance(&self) -> Option<SqliteStore> {
        if self.session_socket().is_some() {
            return None;
        }
        let project = self.project().ok()?;
        project.check_ours().ok()?;
        let config = Config::load(self.sources().ok()?).ok()?.config;
        SqliteStore::glance(&project.resolve(config.get(key::STORE_PATH))).ok()?
    }

    /// A run has its own display, so nothing is printed here.
    fn report_waiting(&self) {
        if self.for_session.is_none() && !self.for_display {
            sqlite::on_wait(print_waiting);
        }
    }

    /// Who acts: the agent that the environment names, or the user at the terminal.
    pub(crate) fn actor(&self) -> Result<Actor> {
        if let Some((actor, _)) = &self.for_session {
            return Ok(actor.clone());
        }
        match self.environment.get("RALPH_AGENT_ID") {
            Some(text) => Ok(Actor::Agent(agent_id(text)?, None)),
            None => Ok(Actor::User(self.environment.user_id())),
        }
    }

    /// New ids; with a seed always the same ones.
    pub(crate) fn ids(&self) -> Ids {
        self.ids_of(0)
    }

    /// The same for parallel callers: each number gets different ids.
    pub(crate) fn ids_of(&self, number: u64) -> Ids {
        let seed: Option<u64> =
            self.environment.get("RALPH_TEST_SEED").and_then(|seed| seed.parse().ok());
        Ids::new(seed.map(|seed| seed.wrapping_add(number.wrapping_mul(1_000_003))))
    }

    pub(crate) fn retry_limit(&mut self) -> Result<RetryLimit> {
        Ok(config::retry_limit(&self.config()?))
    }
}

/// The error for a command that a session may not use.
pub(crate) fn out_of_reach() -> CliError {
    refused!("a session cannot use this command").hint(POSSIBLE)
}

/// Retries opening while another process has the lock. Each try waits by itself.
fn until_unlocked<S>(
    mut open: impl FnMut() -> Result<S, StoreError>,
    mut waiting: impl FnMut(&StoreError),
) -> Result<S, StoreError> {
    loop {
        match open() {
            Err(error @ StoreError::Locked { .. }) => waiting(&error),
            opened => return opened,
        }
    }
}

/// The commands that a session may use, as a sentence.
const POSSIBLE: &str = "you can use ralph task peek, ready, list, show, tree, deps, plan-status, log, \
                        done, fail, ask and add, and claim and renew if you choose your task";

pub(crate) fn agent_id(text: &str) -> Result<AgentId> {
    AgentId::new(text).map_err(|error| failed!("{text:?} is not a valid agent id: {error}"))
}

/// The text of a file; `None` if it does not exist.
fn if_there(path: &Path, read: io::Result<Vec<u8>>) -> Result<Option<String>> {
    match read {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| failed!("{} is not UTF-8 text", path.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::file(path, "read", error)),
    }
}

/// The folder of worktrees: inside the repository, beside it, or wherever the user says.
pub(crate) fn worktree_folder(project: &Project, config: &Config, home: Option<&Path>) -> PathBuf {
    let text = config.get(key::GIT_WORKTREE_DIR);
    match (text.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            without_dots(&home.join(rest.trim_start_matches('/')))
        }
        _ => project.resolve(text),
    }
}

/// The file of the task database, and those beside it.
pub(crate) fn store_files(store: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-lock"].map(|end| {
        let mut path = store.to_owned().into_os_string();
        path.push(end);
        path.into()
    })
}

/// The text of a file at the top of the worktree; nothing if it does not exist. A file that exists and cannot be read
/// is an error: a session could have put anything in its place.
pub(crate) fn text_of(project: &Project, name: &str) -> Result<String> {
    match worktree_files::read(&project.worktree, Path::new(name), untrusted::SMALL) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed!("{name} cannot be read: {error}")
            .hint(format!("replace it with a regular file, or remove it: {name}"))),
    }
}

#[expect(clippy::disallowed_macros, reason = "SQLite calls this from the inside of a write")]
fn print_waiting() {
    eprintln!("waiting for another process that is writing to the task database …");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_run_waits_for_a_locked_task_database_and_for_nothing_else() {
        let path = PathBuf::from("progress.db");
        let locked = StoreError::Locked { path: path.clone(), waited: Duration::from_secs(90) };
        let (mut tries, mut reported) = (0, 0);
        let opened = until_unlocked(
            || {
                tries += 1;
                if tries < 3 {
                    return Err(StoreError::Locked { path: path.clone(), waited: Duration::ZERO });
                }
                Ok(tries)
            },
            |_| reported += 1,
        );
        assert_eq!((opened.unwrap(), reported), (3, 2));
        assert!(locked.to_string().contains("progress.db"));
        let newer = || Err::<(), _>(StoreError::DiskFull { path: path.clone() });
        assert!(until_unlocked(newer, |_| panic!("not waited for")).is_err());
    }
}
