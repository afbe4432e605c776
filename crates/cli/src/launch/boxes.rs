//! The box of a run: which level the settings ask for, and what every box of it shows and hides.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::net::{Endpoint, Policy};
use ralph_core::run::Notice;
use ralph_engine::ports::Jail;
use ralph_engine::project::Project;
use ralph_engine::sandbox::{
    self, Caches, House, Level, Limits, Network, Sandbox, Unavailable, Wanted,
};
use ralph_engine::vcs::Boxes;

use super::{Found, agent};
use crate::config::{Config, Key, List, key};
use crate::environment::Environment;
use crate::error::CliError;
use crate::exit_codes::Exit;
use crate::wire::Context;

/// A box that was tried, and what people are told of it.
#[derive(Clone)]
pub(crate) struct Boxed {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) notices: Vec<Notice>,
}

impl Boxed {
    /// How git that looks at sessions' files is boxed, where they can have a git directory of their own.
    pub(super) fn of_git(&self, context: &Context<'_>) -> Option<Boxes> {
        let jail: Arc<dyn Jail> = Arc::<Sandbox>::clone(&self.sandbox);
        self.sandbox.mounts().then(|| Boxes::new(jail, context.environment.all.clone()))
    }
}

/// The level that the settings ask for.
pub(crate) fn wanted(config: &Config) -> Wanted {
    Wanted::named(config.get(key::SANDBOX_LEVEL)).unwrap_or(Wanted::Auto)
}

/// The level that a run would have, without trying it.
pub(super) fn foreseen(config: &Config) -> Level {
    match wanted(config) {
        Wanted::Exactly(level) => level,
        Wanted::Auto => sandbox::likely(),
    }
}

/// The box of a run with these agents; what cannot be given is refused, not lowered.
pub(super) fn of_run(
    project: &Project,
    config: &Config,
    agents: &[&Found],
    context: &Context<'_>,
) -> Result<Boxed, CliError> {
    if let Some(boxed) = &*context.boxed.borrow() {
        return Ok(boxed.clone());
    }
    let house = house(project, config, agents, context)?;
    let caches = house.caches.clone();
    let environment = context.environment;
    let choice = sandbox::choose(wanted(config), house).map_err(refused)?;
    let mut text = choice.text;
    match config.get(key::SANDBOX_NETWORK_POLICY) {
        _ if choice.sandbox.level() != Level::Full => {}
        "deny" => text.push_str("; the network is closed but for the model"),
        "allowlist" => text.push_str("; of the network only what is listed"),
        _ => {}
    }
    if let Some(next) = &choice.next {
        text.push_str(&format!("; {}", better(next)));
    }
    let level = choice.sandbox.level();
    let mut notices = vec![Notice::Level { level: level.to_string(), text }];
    if level == Level::None && config.get(key::SANDBOX_NETWORK_POLICY) != "allow-all" {
        let text = "there is no box, so sandbox.network limits nothing".to_owned();
        notices.push(Notice::Other { text });
    }
    if level != Level::None {
        let left_out = caches.prepare(environment.home.as_deref(), &environment.all);
        let left_out = left_out.map_err(|error| {
            let folder = caches.folder().display();
            CliError::new(Exit::SandboxUnavailable, format!("{folder} cannot be written: {error}"))
        })?;
        notices.extend(left_out.into_iter().map(|text| Notice::Other { text }));
    }
    let boxed = Boxed { sandbox: Arc::new(choice.sandbox), notices };
    *context.boxed.borrow_mut() = Some(boxed.clone());
    Ok(boxed)
}

/// What a person who begins is told of the box.
pub(crate) fn offer(project: &Project, context: &mut Context<'_>) -> Result<Vec<String>, CliError> {
    let config = context.config()?;
    let house = house(project, &config, &[], context)?;
    Ok(match sandbox::choose(wanted(&config), house) {
        Ok(choice) => {
            let level = choice.sandbox.level();
            let mut lines = vec![format!("the box of sessions here: {level}")];
            lines.extend(choice.next.as_ref().map(|next| {
                format!("a better one can be had: {} (or: ralph doctor --fix)", better(next))
            }));
            lines
        }
        Err(error) => vec![format!("{error}; see: ralph doctor")],
    })
}

/// How a better level is had.
fn better(next: &Unavailable) -> String {
    let Unavailable { level, why, remedies, .. } = next;
    match remedies.first() {
        Some(remedy) => format!("for the level {level}: {remedy}"),
        None => format!("not the level {level}: {why}"),
    }
}

fn refused(error: Unavailable) -> CliError {
    let mut told = CliError::new(Exit::SandboxUnavailable, error.to_string());
    for remedy in &error.remedies {
        told = told.hint(remedy.clone());
    }
    told.hint("use the best level that works here: --set sandbox.level=auto")
        .hint("run without a box, with the agent's tools limited: --set sandbox.level=none")
}

/// What is the same for all boxes of a run.
pub(crate) fn house(
    project: &Project,
    config: &Config,
    agents: &[&Found],
    context: &Context<'_>,
) -> Result<House, CliError> {
    let environment = context.environment;
    let paths = |key: Key<List>| {
        let expand = |text: &str| match (text.strip_prefix("~/"), &environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => project.resolve(text),
        };
        config.get(key).into_iter().map(expand).collect::<Vec<_>>()
    };
    let mut hidden = vec![project.resolve(config.get(key::LOGS_DIR))];
    let store = project.resolve(config.get(key::STORE_PATH));
    for rest in ["", "-wal", "-shm", "-lock"] {
        let mut name = OsString::from(&store);
        name.push(rest);
        hidden.push(name.into());
    }
    hidden.extend(environment.user_config.clone());
    // What earlier runs were asked for, and what is left of their limits.
    hidden.extend(environment.state_home.as_ref().map(|home| home.join("ralph")));
    // The sockets of other sessions, and those by which people stop runs.
    let runtime = environment.all.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR");
    hidden.extend(runtime.map(|(_, folder)| Path::new(folder).join("ralph")));
    let ralph = agent::own_program(environment);
    let mut programs: Vec<PathBuf> =
        agents.iter().map(|agent| PathBuf::from(&agent.executable)).collect();
    programs.push(ralph.clone());
    Ok(House {
        homes: homes(environment),
        environment: environment.all.clone(),
        caches: Caches::of(&cache_home(environment, project), &project.root),
        ralph,
        programs,
        hidden,
        writable: paths(key::SANDBOX_WRITABLE),
        readable: paths(key::SANDBOX_READABLE),
        limits: Limits {
            processes: config.get(key::SANDBOX_LIMITS_PROCESSES),
            memory: config.get(key::SANDBOX_LIMITS_MEMORY),
            file_size: config.get(key::SANDBOX_LIMITS_FILE_SIZE),
        },
        network: network(config)?,
        agents: agents.iter().map(|agent| agent.profile.state()).collect(),
        project: project.clone(),
    })
}

/// What boxes may reach.
fn network(config: &Config) -> Result<Network, CliError> {
    let policy = match config.get(key::SANDBOX_NETWORK_POLICY) {
        "deny" => Policy::Deny,
        "allowlist" => Policy::Allowlist,
        _ => Policy::AllowAll,
    };
    let entries = config.get(key::SANDBOX_NETWORK_ALLOWED).into_iter().map(str::parse::<Endpoint>);
    let allowed = entries.collect::<Result<_, _>>().map_err(|error| {
        CliError::failed(format!("sandbox.network.allowed: {error}"))
            .hint("write hosts such as example.com, *.example.com or localhost:8080")
    })?;
    Ok(Network { policy, allowed })
}

/// The person's folder for caches.
fn cache_home(environment: &Environment, project: &Project) -> PathBuf {
    let set = environment.all.iter().find(|(name, _)| name == "XDG_CACHE_HOME");
    let set = set.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
    let home = || Some(environment.home.as_ref()?.join(".cache"));
    set.or_else(home).unwrap_or_else(|| project.ralph_dir().join("cache"))
}

/// The home that the environment names, and the one that the system knows of.
fn homes(environment: &Environment) -> Vec<PathBuf> {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let uid = ralph_engine::process::user().to_string();
    let of_system = known.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&uid.as_str())).then(|| fields.get(5).map(PathBuf::from))?
    });
    let mut all: Vec<PathBuf> = environment.home.iter().cloned().chain(of_system).collect();
    all.retain(|path| path.is_absolute() && path != Path::new("/"));
    let mut all: Vec<PathBuf> = all.iter().filter_map(|path| path.canonicalize().ok()).collect();
    all.dedup();
    all
}
