//! The sandbox of a run: which level the settings ask for, and what every sandbox of the run shows and hides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::net::{Endpoint, Policy};
use ralph_core::run::Notice;
use ralph_engine::ports::{Bind, Jail};
use ralph_engine::project::Project;
use ralph_engine::run::AgentProgram;
use ralph_engine::sandbox::{
    self, Caches, Home, HomeNeeds, Level, Limits, Network, Sandbox, SandboxConfig, Unavailable,
    Wanted,
};
use ralph_engine::session_git::GitSandbox;

use super::agent;
use super::dependencies::{Dependencies, Watched};
use crate::config::{Config, Key, List, key};
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;
use crate::wiring::{Context, RunSandbox, store_files};

/// The sandbox for git commands that read sessions' files, if sessions can have their own git directory.
pub(super) fn of_git(sandbox: &Arc<Sandbox>, context: &Context<'_>) -> Option<GitSandbox> {
    let jail: Arc<dyn Jail> = Arc::<Sandbox>::clone(sandbox);
    sandbox.mounts().then(|| GitSandbox::new(jail, context.environment.all.clone()))
}

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

/// Records which packages beside the repository it names before sessions do.
pub(super) fn watch(context: &Context<'_>) -> Result<Watched> {
    let environment = context.environment;
    Ok(Watched::begin(&context.project()?, places(environment), environment))
}

/// The sandbox of a run with these agents. A level that does not work is an error: ralph never uses a lower one.
pub(super) fn of_run(
    project: &Project,
    config: &Config,
    agents: &[&AgentProgram],
    context: &Context<'_>,
) -> Result<RunSandbox> {
    if let Some(sandboxed) = &*context.sandboxed.borrow() {
        return Ok(sandboxed.clone());
    }
    let sandbox_config = sandbox_config(project, config, agents, context)?;
    let (caches, is_masked) = (sandbox_config.caches.clone(), sandbox_config.home.is_masked());
    let environment = context.environment;
    let choice = sandbox::choose(wanted(config), sandbox_config).map_err(refused)?;
    let mut text = choice.text;
    match config.get(key::SANDBOX_NETWORK_POLICY) {
        _ if choice.sandbox.level() != Level::Full => {}
        "deny" => text.push_str("; no network except the model"),
        "allowlist" => text.push_str("; only allowed hosts on the network"),
        _ => {}
    }
    if let Some(next) = &choice.next {
        text.push_str(&format!("; {}", better(next)));
    }
    let level = choice.sandbox.level();
    let mut notices = vec![Notice::Level { level: level.to_string(), text }];
    if level == Level::None && config.get(key::SANDBOX_NETWORK_POLICY) != "allow-all" {
        let text = "there is no sandbox, so sandbox.network has no effect".to_owned();
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
    if level == Level::Full && config.get(key::SANDBOX_HOME) != "masked" {
        let text = withheld(project, config, context);
        notices.extend(text.into_iter().map(|text| Notice::Other { text }));
        if is_masked && environment.home.as_ref().is_some_and(|home| home.is_dir()) {
            let text = "Your home directory is the repository or a system folder, so ralph cannot hide it from \
                        sessions: they see all of it except known credential files.";
            notices.push(Notice::Other { text: text.to_owned() });
        }
    }
    let sandboxed = RunSandbox { sandbox: Arc::new(choice.sandbox), notices };
    *context.sandboxed.borrow_mut() = Some(sandboxed.clone());
    Ok(sandboxed)
}

fn withheld(project: &Project, config: &Config, context: &Context<'_>) -> Vec<String> {
    let environment = context.environment;
    let readable = paths(config, key::SANDBOX_READABLE, project, environment);
    let known = Dependencies::of(project, &places(environment), environment);
    let unseen = known.withheld.iter().filter(|path| !readable.iter().any(|r| path.starts_with(r)));
    let say = |path: &PathBuf| {
        format!(
            "The sandbox hides {}: a session may have made it a dependency. To show it, put this into your \
             config: sandbox.readable = [\"{}\"]",
            path.display(),
            context.short(path).display()
        )
    };
    unseen.map(say).collect()
}

fn paths(
    config: &Config,
    key: Key<List>,
    project: &Project,
    environment: &Environment,
) -> Vec<PathBuf> {
    let expand = |text: &str| match (text.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => project.resolve(text),
    };
    config.get(key).into_iter().map(expand).collect()
}

/// What `ralph init` prints about the sandbox.
pub(crate) fn offer(project: &Project, context: &mut Context<'_>) -> Result<Vec<String>> {
    let config = context.config()?;
    let sandbox_config = sandbox_config(project, &config, &[], context)?;
    Ok(match sandbox::choose(wanted(&config), sandbox_config) {
        Ok(choice) => {
            let level = choice.sandbox.level();
            let mut lines = vec![format!("sandbox level here: {level}")];
            lines.extend(choice.next.as_ref().map(|next| {
                format!("a better level is possible: {} (or: ralph doctor --fix)", better(next))
            }));
            lines
        }
        Err(error) => vec![format!("{error}; see: ralph doctor")],
    })
}

fn better(next: &Unavailable) -> String {
    let Unavailable { level, why, remedies, .. } = next;
    match remedies.first() {
        Some(remedy) => format!("for level {level}: {remedy}"),
        None => format!("level {level} does not work: {why}"),
    }
}

fn refused(error: Unavailable) -> CliError {
    let mut reported = CliError::new(Exit::SandboxUnavailable, error.to_string());
    for remedy in &error.remedies {
        reported = reported.hint(remedy.clone());
    }
    reported
        .hint("use the best level that works here: --set sandbox.level=auto")
        .hint("run without a sandbox, with the agent's tools limited: --set sandbox.level=none")
}

/// The configuration that all sandboxes of a run share.
pub(crate) fn sandbox_config(
    project: &Project,
    config: &Config,
    agents: &[&AgentProgram],
    context: &Context<'_>,
) -> Result<SandboxConfig> {
    let environment = context.environment;
    let paths = |key: Key<List>| paths(config, key, project, environment);
    let mut hidden = vec![project.resolve(config.get(key::LOGS_DIR))];
    hidden.extend(store_files(&project.resolve(config.get(key::STORE_PATH))));
    hidden.extend(environment.user_config.clone());
    // The options of earlier runs, and what remains of their limits.
    hidden.extend(environment.state_home.as_ref().map(|home| home.join("ralph")));
    // The sockets of other sessions, and those that control runs.
    let runtime = environment.all.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR");
    hidden.extend(runtime.map(|(_, folder)| Path::new(folder).join("ralph")));
    let homes = homes(environment);
    let caches = Caches::of(&cache_home(environment, project), &project.root);
    let ralph = agent::own_program(environment);
    let mut programs: Vec<PathBuf> =
        agents.iter().map(|agent| PathBuf::from(&agent.executable)).collect();
    programs.push(ralph.clone());
    let dependencies = Dependencies::of(project, &places(environment), environment);
    let dependencies: Vec<PathBuf> = dependencies.admitted.into_iter().collect();
    let home = match config.get(key::SANDBOX_HOME) {
        "masked" => Home::masked(),
        _ => Home::listed(&HomeNeeds {
            homes: &homes,
            project,
            environment: &environment.all,
            caches: &caches,
            programs: &programs,
            dependencies: &dependencies,
        }),
    };
    Ok(SandboxConfig {
        homes,
        environment: environment.all.clone(),
        caches,
        ralph,
        programs,
        hidden,
        writable: paths(key::SANDBOX_WRITABLE),
        readable: paths(key::SANDBOX_READABLE),
        home,
        sockets: sockets(config, project, environment),
        limits: Limits {
            processes: config.get(key::SANDBOX_LIMITS_PROCESSES),
            memory: config.get(key::SANDBOX_LIMITS_MEMORY),
            file_size: config.get(key::SANDBOX_LIMITS_FILE_SIZE),
        },
        network: network(config)?,
        agents: agents.iter().flat_map(|agent| agent.states()).collect(),
        project: project.clone(),
    })
}

/// The existing sockets that the user allows, by variable or by path.
fn sockets(config: &Config, project: &Project, environment: &Environment) -> Vec<Bind> {
    let one = |text: &str| {
        let variable = text.strip_prefix('$');
        let set = |wanted: &str| environment.all.iter().find(|(name, _)| name == wanted);
        let path = match (variable, text.strip_prefix("~/"), &environment.home) {
            (Some(name), _, _) => PathBuf::from(&set(name)?.1),
            (None, Some(rest), Some(home)) => home.join(rest),
            _ => project.resolve(text),
        };
        let real = path.canonicalize().ok()?;
        path.is_absolute().then(|| Bind::readable(real).at(path))
    };
    config.get(key::SANDBOX_SOCKETS).into_iter().filter_map(one).collect()
}

fn network(config: &Config) -> Result<Network> {
    let policy = match config.get(key::SANDBOX_NETWORK_POLICY) {
        "deny" => Policy::Deny,
        "allowlist" => Policy::Allowlist,
        _ => Policy::AllowAll,
    };
    let entries = config.get(key::SANDBOX_NETWORK_ALLOWED).into_iter().map(str::parse::<Endpoint>);
    let allowed = entries.collect::<Result<_, _>>().map_err(|error| {
        failed!("sandbox.network.allowed: {error}")
            .hint("use hosts such as example.com, *.example.com or localhost:8080")
    })?;
    Ok(Network { policy, allowed })
}

/// The folder of the caches that sandboxes of a repository share.
pub(crate) fn cache_folder(project: &Project, environment: &Environment) -> PathBuf {
    Caches::of(&cache_home(environment, project), &project.root).folder().to_owned()
}

/// The user's folder for caches.
fn cache_home(environment: &Environment, project: &Project) -> PathBuf {
    let set = environment.all.iter().find(|(name, _)| name == "XDG_CACHE_HOME");
    let set = set.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
    let home = || Some(environment.home.as_ref()?.join(".cache"));
    set.or_else(home).unwrap_or_else(|| project.ralph_dir().join("cache"))
}

/// The folders of users, of which a sandbox shows only what is listed.
fn places(environment: &Environment) -> Vec<PathBuf> {
    homes(environment).into_iter().chain(sandbox::elsewhere(&environment.all)).collect()
}

/// The home directory that the environment names, and the one in `/etc/passwd`.
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
