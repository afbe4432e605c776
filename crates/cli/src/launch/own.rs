//! Agents that the user's config describes: `[agent.NAME]` with a path and arguments.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ralph_core::nearest::nearest;
use ralph_core::net::Endpoint;
use ralph_core::run::Notice;
use ralph_engine::agents::AGENTS;
use ralph_engine::agents::command::{self, CommandAgent, PLACEHOLDERS, unknown_placeholder};
use ralph_engine::project::Project;
use ralph_engine::run::AgentProgram;
use ralph_engine::sandbox::AgentState;

use super::agent::{Lacking, agent_program};
use crate::config::{Config, key};
use crate::environment::Environment;
use crate::error::Result;
use crate::wiring::Context;

/// The agent `name`, which is not a built-in one.
pub(super) fn find(
    name: &str,
    config: &Config,
    context: &Context<'_>,
) -> Result<(AgentProgram, Vec<Notice>)> {
    let made = described(name, config, context.environment)?;
    let project = context.project()?;
    let folder = context.folder();
    let program = program(name, config, (Some(&project), &folder), context.environment);
    let executable = program.map_err(|lacking| lacking.of(name))?;
    let hosts = config.get_for(key::AGENT_HOSTS, name);
    let agent = command::profile(name, config.get_for(key::AGENT_PATH, name), &hosts);
    let limited = !config.get(key::AGENT_ALLOWED_TOOLS).is_empty();
    let notices = limited.then(|| Notice::Other {
        text: format!("agent.allowed_tools has no effect on {name}, which takes no list of tools"),
    });
    let program = AgentProgram {
        agent,
        executable: executable.into(),
        extra_args: vec![],
        cassette: None,
        made: Some(Arc::new(made)),
    };
    Ok((program, notices.into_iter().collect()))
}

/// The path of its program. It comes from the user, who may still have named one that sessions can change.
pub(crate) fn program(
    name: &str,
    config: &Config,
    (project, folder): (Option<&Project>, &Path),
    environment: &Environment,
) -> Result<PathBuf, Lacking> {
    let path = agent_program(name, name, config, environment, folder)?;
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut places = project.into_iter().flat_map(|project| [&project.root, &project.worktree]);
    if places.any(|place| real.starts_with(place)) { Err(Lacking::Named(path)) } else { Ok(path) }
}

/// What the config says about an agent.
pub(crate) fn described(
    name: &str,
    config: &Config,
    environment: &Environment,
) -> Result<CommandAgent> {
    if config.get_for(key::AGENT_PATH, name).is_empty() {
        let known = AGENTS.iter().map(|agent| agent.name.to_owned());
        let known: Vec<String> = known.chain(config.own_agents()).collect();
        let unknown = match is_of_this_call(name, config) {
            true => usage!("the agent {name} is neither built in nor in your config"),
            false => run_failed!("the agent {name} is neither built in nor in your config"),
        };
        return Err(unknown.hint(format!("use one of these: {}", known.join(", "))).hint(format!(
            "or describe it in your own config file: [agent.{name}] with path and args"
        )));
    }
    let args: Vec<String> =
        config.get_for(key::AGENT_ARGS, name).into_iter().map(str::to_owned).collect();
    if let Some(word) = args.iter().find_map(|argument| unknown_placeholder(argument)) {
        let meant =
            nearest(word, PLACEHOLDERS, 1).first().map(|near| format!("; did you mean {near}?"));
        return Err(run_failed!(
            "agent.{name}.args contains {word}, which ralph does not know{}",
            meant.unwrap_or_default()
        )
        .hint(format!("use these: {}", PLACEHOLDERS.join(", "))));
    }
    for host in config.get_for(key::AGENT_HOSTS, name) {
        host.parse::<Endpoint>().map_err(|error| {
            run_failed!("agent.{name}.hosts: {error}")
                .hint("use hosts such as api.example.com or localhost:8080")
        })?;
    }
    let folders = config.get_for(key::AGENT_STATE, name).into_iter();
    let state = folders.map(|folder| state(name, folder, environment)).collect::<Result<_>>()?;
    let version = config.get_for(key::AGENT_VERSION, name).to_owned();
    Ok(CommandAgent {
        name: name.to_owned(),
        args,
        version,
        limit_exit: codes(config.get_for(key::AGENT_LIMIT_EXIT, name)),
        login_exit: codes(config.get_for(key::AGENT_LOGIN_EXIT, name)),
        state,
    })
}

/// Whether a flag of this call names the agent.
fn is_of_this_call(name: &str, config: &Config) -> bool {
    let roles = [key::AGENT_NAME, key::AGENT_BUILD, key::AGENT_PLAN, key::AGENT_VERIFY];
    roles.into_iter().any(|role| config.by_flag(role) && config.get(role) == name)
        || (config.by_flag(key::AGENT_FALLBACK) && config.get(key::AGENT_FALLBACK).contains(&name))
}

/// The settings admit only whole numbers.
fn codes(texts: Vec<&str>) -> Vec<i32> {
    texts.into_iter().filter_map(|text| text.parse().ok()).collect()
}

/// A folder of its files, which must lie in the home: sandboxes show the rest of the system anyway.
fn state(name: &str, folder: &str, environment: &Environment) -> Result<AgentState> {
    let home = environment.home.as_deref();
    let inside = folder.strip_prefix("~/").or_else(|| {
        let below = Path::new(folder).strip_prefix(home?).ok()?;
        below.to_str()
    });
    let plain = |path: &&str| {
        !path.is_empty()
            && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
    };
    let Some(inside) = inside.filter(plain) else {
        return Err(run_failed!("agent.{name}.state names {folder:?}, which is not in your home")
            .hint(format!("name folders as ~/.{name}; other files: sandbox.readable")));
    };
    let entries = home.map(|home| home.join(inside)).and_then(|path| std::fs::read_dir(path).ok());
    let names = entries.into_iter().flatten().flatten();
    let files: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    Ok(command::state(inside, &files))
}
