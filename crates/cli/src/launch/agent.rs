//! Finds the agent's program, and builds the environment of sessions and gates.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::redact::Secrets;
use ralph_core::run::Notice;
use ralph_engine::agents::{self, AGENTS, Profile};
use ralph_engine::host::{host, may_run};
use ralph_engine::ports::ProbeEnd;
use ralph_engine::probe;
use ralph_engine::run::AgentProgram;

use super::own;
use crate::config::{Config, Key, Text, key};
use crate::environment::{Environment, logins};
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// The name of the agent in a role: the role's own setting, or else `agent.name`.
pub(super) fn agent_for(role: Key<Text>, config: &Config) -> &str {
    Some(config.get(role)).filter(|name| !name.is_empty()).unwrap_or(config.get(key::AGENT_NAME))
}

/// The agents that the settings name, each once.
pub(crate) fn named_agents(config: &Config) -> Vec<&str> {
    let roles = [key::AGENT_NAME, key::AGENT_BUILD, key::AGENT_PLAN, key::AGENT_VERIFY];
    let mut names: Vec<&str> = Vec::new();
    let named = roles.into_iter().map(|role| config.get(role));
    for name in named.chain(config.get(key::AGENT_FALLBACK)) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The agents that work in turn while this one is at a limit: those that the settings list, without itself.
pub(super) fn fallback_of<'a>(agent: &str, config: &'a Config) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in config.get(key::AGENT_FALLBACK) {
        if name != agent && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// How long an agent may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Variables that every session gets.
const NAMES: [&str; 39] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TZ",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "SSH_AUTH_SOCK",
    "GPG_TTY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "VIRTUAL_ENV",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOPROXY",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "MAVEN_OPTS",
    "GRADLE_USER_HOME",
    "DOCKER_HOST",
    "CC",
    "CXX",
    "PKG_CONFIG_PATH",
];

/// Words in the names of variables that hold credentials of tools, such as `CARGO_REGISTRY_TOKEN`: a session gets
/// them only if the settings name them.
const SECRETS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Prefixes of variables that every session gets, for the tools that builds and tests use. Profiles name those of
/// agents.
const PREFIXES: [&str; 18] = [
    "LC_",
    "XDG_",
    "CARGO_",
    "RUST",
    "NODE_",
    "NPM_",
    "npm_config_",
    "NVM_",
    "PNPM_",
    "YARN_",
    "BUN_",
    "DENO_",
    "PYTHON",
    "PYENV_",
    "CONDA_",
    "UV_",
    "GIT_",
    "SSL_CERT_",
];

pub(super) fn find(
    name: &str,
    config: &Config,
    context: &Context<'_>,
) -> Result<(AgentProgram, Vec<Notice>)> {
    let environment = context.environment;
    let Some(agent) = agents::find(name) else { return own::find(name, config, context) };
    if name == "script" {
        let cassette = Some(cassette(config, &context.folder())?);
        let executable = own_program(environment).into();
        let program = AgentProgram { agent, executable, extra_args: vec![], cassette, made: None };
        return Ok((program, vec![]));
    }
    let found = agent_program(name, agent.program, config, environment, &context.folder());
    let executable = found.map_err(|lacking| lacking.of(name))?;
    // Each branch of a plan asks again, and an agent is slow to print its version.
    let mut known = context.odd_agents.borrow_mut();
    let notices = known
        .entry(executable.clone())
        .or_insert_with(|| version_notice(agent, &executable, context))
        .clone();
    let args = config.get_for(key::AGENT_ARGS, name);
    let extra_args = args.into_iter().map(str::to_owned).collect();
    let executable = executable.into();
    Ok((AgentProgram { agent, executable, extra_args, cassette: None, made: None }, notices))
}

/// The recording that the agent `script` plays.
fn cassette(config: &Config, folder: &Path) -> Result<PathBuf> {
    let cassette = config.get(key::AGENT_SCRIPT_PATH);
    if cassette.is_empty() {
        return Err(CliError::run_failed("the agent `script` has no cassette to play")
            .hint("name it: --set agent.script.path=FILE"));
    }
    let cassette = folder.join(cassette);
    cassette.canonicalize().map_err(|error| {
        run_failed!("the cassette {} cannot be read: {error}", cassette.display())
            .hint("name another one: --set agent.script.path=FILE")
    })
}

pub(crate) enum Lacking {
    /// The settings must name one, and do not.
    Unnamed,
    Missing(String),
    /// Only the repository has one.
    OfRepository(PathBuf),
    /// The config names one in the repository.
    Named(PathBuf),
}

/// What is wrong with a program of an agent that lies in the repository.
fn of_repository(path: &Path) -> String {
    format!("the agent {} is inside the repository, where a session can change it", path.display())
}

impl Lacking {
    /// What to do about it.
    pub(crate) fn remedy(&self, name: &str) -> String {
        match self {
            Self::Unnamed => unnamed_hint(name),
            Self::Missing(_) => format!("install it, or set its path: agent.{name}.path"),
            Self::OfRepository(path) => of_repository_hint(name, path),
            Self::Named(_) => {
                format!("move it out of the repository, and set its path: agent.{name}.path")
            }
        }
    }

    /// The error of a run that needs this agent.
    pub(super) fn of(self, name: &str) -> CliError {
        let failed = match self {
            Self::Unnamed => {
                run_failed!("the agent {name} has no program: agent.{name}.path is not set")
                    .hint(self.remedy(name))
            }
            Self::Missing(program) => run_failed!("the agent {program} was not found").hint(
                format!("install it, or set its path: --set agent.{name}.path=/path/to/{name}"),
            ),
            Self::OfRepository(ref path) | Self::Named(ref path) => {
                run_failed!("{}", of_repository(path)).hint(self.remedy(name))
            }
        };
        failed.hint("check your setup: ralph doctor")
    }
}

/// The path of an agent's program; `usual` is its name if the settings name none. A path comes from the user, because
/// no repository can set it; a name is searched for outside the repository.
pub(crate) fn agent_program(
    name: &str,
    usual: &str,
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Result<PathBuf, Lacking> {
    let program = match config.get_for(key::AGENT_PATH, name) {
        "" => usual,
        path => path,
    };
    if program.is_empty() {
        return Err(Lacking::Unnamed);
    }
    let missing = || Lacking::Missing(program.to_owned());
    let path = match (program.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if program.contains('/') => folder.join(program).canonicalize().map_err(|_| missing())?,
        _ => {
            return host().find(program).ok_or_else(|| {
                let all = environment.path.iter().flat_map(std::env::split_paths);
                let mut files = all.map(|place| place.join(program));
                files.find(|file| may_run(file)).map_or_else(missing, Lacking::OfRepository)
            });
        }
    };
    if may_run(&path) { Ok(path) } else { Err(missing()) }
}

fn unnamed_hint(name: &str) -> String {
    format!(
        "name the agent's program in your own config file: ralph config set --user agent.{name}.path PROGRAM"
    )
}

fn of_repository_hint(name: &str, path: &Path) -> String {
    format!(
        "install it outside the repository, or name it in your own config file: agent.{name}.path = {:?}",
        path.display().to_string()
    )
}

fn version_notice(profile: &Profile, executable: &Path, context: &Context<'_>) -> Vec<Notice> {
    let Some(oldest) = profile.oldest else { return vec![] };
    let name = profile.name;
    let (folder, variables) = (context.folder(), host().environment(&context.environment.all));
    let reported = probe::run(executable, &["--version"], &folder, &variables, PATIENCE);
    let version = match reported.end {
        ProbeEnd::Exited(0) => profile.version(&reported.output),
        _ => None,
    };
    let text = match version {
        None => format!(
            "{} does not print its version; ralph needs {name} {oldest} or later",
            executable.display()
        ),
        Some(version) if profile.is_too_old(&version) => format!(
            "{name} {version} is older than {oldest}, the oldest version known to work; update it"
        ),
        Some(_) => return vec![],
    };
    vec![Notice::Other { text }]
}

/// The environment of a session: what its agents and tools need, what the settings name, and nothing else. The logins
/// of agents that the run does not use stay out.
pub(super) fn environment(environment: &Environment, config: &Config) -> Vec<(OsString, OsString)> {
    let also = config.get(key::AGENT_ENV);
    let has = |name: &str| environment.all.iter().any(|(known, _)| known == OsStr::new(name));
    let bedrock = has("CLAUDE_CODE_USE_BEDROCK");
    let vertex = has("CLAUDE_CODE_USE_VERTEX");
    let used: Vec<&Profile> = named_agents(config).into_iter().filter_map(agents::find).collect();
    let of_agent = |name: &str| used.iter().any(|agent| agent.owns(name));
    let secret = |name: &str| SECRETS.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let shared = used.iter().flat_map(|agent| agent.shared_variables);
    let prefixes: Vec<&str> = PREFIXES.iter().chain(shared).copied().collect();
    let by_prefix =
        |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix)) && !secret(name);
    let wanted = |name: &str| {
        NAMES.contains(&name)
            || also.contains(&name)
            || of_agent(name)
            || by_prefix(name)
            || (bedrock && name.starts_with("AWS_"))
            || (vertex && (name.starts_with("GOOGLE_") || name.starts_with("CLOUDSDK_")))
    };
    let all = environment.all.iter();
    all.filter(|(name, _)| name.to_str().is_some_and(wanted)).cloned().collect()
}

/// The environment of a gate in a sandbox: that of a session, without its credentials.
pub(super) fn sandboxed_environment(
    environment: &Environment,
    config: &Config,
) -> Vec<(OsString, OsString)> {
    let also = config.get(key::AGENT_ENV);
    let mut all = self::environment(environment, config);
    all.retain(|(name, _)| {
        let name = name.to_string_lossy();
        let login = logins().any(|login| login == name) || name.starts_with("ANTHROPIC_");
        also.contains(&name.as_ref()) || !login
    });
    all
}

/// The environment of a gate without a sandbox: the user's own, because it is the user's own command.
pub(super) fn gate_environment(environment: &Environment) -> Vec<(OsString, OsString)> {
    let ours = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("RALPH_"));
    environment.all.iter().filter(|(name, _)| !ours(name)).cloned().collect()
}

/// Values that must not be logged or shown: secrets from the environment, and secret addresses.
pub(crate) fn secrets(environment: &Environment, config: &Config) -> Secrets {
    let address = config.get(key::NOTIFY_WEBHOOK).as_bytes();
    Secrets::new(environment.secrets().chain([address]))
}

/// The path of this program, to start it again.
pub(crate) fn own_program(environment: &Environment) -> PathBuf {
    match std::env::current_exe() {
        Ok(path) => path,
        Err(_) => environment.arguments.first().map(PathBuf::from).unwrap_or_default(),
    }
}

/// The profile of the built-in agent that a user names.
pub(crate) fn agent_profile(name: &str) -> Result<&'static Profile> {
    agents::find(name).ok_or_else(|| {
        let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        failed!("the agent {name} is not built in")
            .hint(format!("use one of these: {}", names.join(", ")))
    })
}
