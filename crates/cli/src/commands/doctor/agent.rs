//! Checks the agent: whether it is installed, its version, its login and its permissions.

use std::path::Path;
use std::time::Duration;

use ralph_engine::agents::{self, Profile};
use ralph_engine::host::host;
use ralph_engine::ports::ProbeEnd;
use ralph_engine::probe;
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::{Config, key};
use crate::environment::Environment;
use crate::launch::{Lacking, agent_program, own};

/// How long an agent may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// All checks of one agent. `None` if the user interrupted them.
pub(super) fn inspect(
    name: &str,
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Option<Vec<Check>> {
    let Some(profile) = agents::find(name) else {
        return of_config(name, config, environment, folder);
    };
    if profile.install.is_empty() {
        return alone(Check::ok("agent", format!("{name} plays a recording and needs no login")));
    }
    let path = match agent_program(name, profile.program, config, environment, folder) {
        Ok(path) => path,
        Err(Lacking::Missing(program)) => {
            let check = Check::fail("agent", format!("{name}: program {program} not found"))
                .remedy(format!("install it: {}", profile.install))
                .remedy(format!("or set its path: agent.{name}.path"));
            return alone(check);
        }
        Err(lacking) => return alone(unusable(name, &lacking)),
    };
    let patience = config.get(key::AGENT_SILENCE).map_or(PATIENCE, |limit| limit.min(PATIENCE));
    let version = version(profile, &path, folder, environment, patience)?;
    Some(vec![version, login(profile, environment)])
}

/// An agent by config: ralph knows its program, and perhaps how it prints its version.
fn of_config(
    name: &str,
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Option<Vec<Check>> {
    let made = match own::described(name, config, environment) {
        Ok(made) => made,
        Err(error) => return alone(Check::fail("agent", error.message())),
    };
    let project = Project::find(folder).ok();
    let path = match own::program(name, config, (project.as_ref(), folder), environment) {
        Ok(path) => path,
        Err(lacking) => return alone(unusable(name, &lacking)),
    };
    let place = path.display();
    if made.version.is_empty() {
        return alone(Check::ok("agent", format!("{name} ({place}), from your config")));
    }
    let variables = host().environment(&environment.all);
    let ran = probe::run(&path, &[&made.version], folder, &variables, PATIENCE);
    let printed = ran.output.trim().lines().next().unwrap_or_default().to_owned();
    alone(match ran.end {
        ProbeEnd::Exited(0) => Check::ok("agent", format!("{name} {printed} ({place})")),
        ProbeEnd::Interrupted => return None,
        _ => Check::fail("agent", format!("{place} {} failed", made.version))
            .output(&ran.output)
            .remedy(format!("reinstall it, or change agent.{name}.version")),
    })
}

/// A program that is missing, or that a session can change.
fn unusable(name: &str, lacking: &Lacking) -> Check {
    let says = match lacking {
        Lacking::Unnamed => format!("{name}: agent.{name}.path is not set"),
        Lacking::Missing(program) => format!("{name}: program {program} not found"),
        Lacking::OfRepository(path) | Lacking::Named(path) => {
            format!("{} is inside the repository, where a session can change it", path.display())
        }
    };
    Check::fail("agent", says).remedy(lacking.remedy(name))
}

fn alone(check: Check) -> Option<Vec<Check>> {
    Some(vec![check])
}

fn version(
    profile: &Profile,
    path: &Path,
    folder: &Path,
    environment: &Environment,
    patience: Duration,
) -> Option<Check> {
    let variables = host().environment(&environment.all);
    let ran = probe::run(path, &["--version"], folder, &variables, patience);
    let name = profile.name;
    let place = path.display();
    Some(match ran.end {
        ProbeEnd::Exited(0) => judge(profile, ran.output.trim(), &place.to_string()),
        ProbeEnd::Exited(code) => {
            Check::fail("agent", format!("{place} --version failed with exit code {code}"))
                .output(&ran.output)
                .remedy(format!("reinstall it: {}", profile.install))
        }
        ProbeEnd::TimedOut => {
            let says = format!("{place} --version timed out after {}s", ran.took.as_secs());
            Check::fail("agent", says).remedy(format!("try it yourself: {name} --version"))
        }
        ProbeEnd::Interrupted => return None,
        ProbeEnd::NotStarted(error) => {
            Check::fail("agent", format!("{place} cannot be started: {error}"))
                .remedy(format!("reinstall it: {}", profile.install))
        }
    })
}

fn judge(profile: &Profile, text: &str, place: &str) -> Check {
    let name = profile.name;
    let update = format!("update it: {}", profile.install);
    match (profile.version(text), profile.oldest) {
        (Some(version), Some(oldest)) if profile.is_too_old(&version) => {
            let says = format!(
                "{name} {version} is older than {oldest}, the oldest version known to work"
            );
            Check::warn("agent", says).remedy(update)
        }
        (Some(version), _) => Check::ok("agent", format!("{name} {version} ({place})")),
        (None, _) => {
            let first = text.lines().next().unwrap_or_default();
            let first: String = first.chars().take(80).collect();
            Check::warn("agent", format!("{place} prints an unknown version: {first:?}"))
                .remedy(update)
        }
    }
}

/// Looks for signs of a login. Nothing is sent anywhere, so an expired key passes.
fn login(profile: &Profile, environment: &Environment) -> Check {
    let set = |variable: &&&str| environment.logins.contains(*variable);
    let named = profile.login.variables.iter().filter(set);
    let mut found: Vec<String> = named.map(|variable| format!("{variable} is set")).collect();
    let folders = profile.folders(&environment.all, environment.home.as_deref());
    let files =
        folders.flat_map(|(folder, state)| state.logins.iter().map(move |name| folder.join(name)));
    let there = files.filter(|path| path.is_file());
    found.extend(there.map(|path| format!("{} exists", path.display())));
    if let Some(((file, word), home)) = profile.login.account.zip(environment.home.as_ref()) {
        let path = home.join(file);
        if std::fs::read_to_string(&path).unwrap_or_default().contains(word) {
            found.push(format!("{} names an account", path.display()));
        }
    }
    if found.is_empty() {
        let says = format!("no sign that {} is logged in", profile.name);
        return Check::warn("login", says).remedy(profile.login.how);
    }
    Check::ok("login", format!("{}: {}", profile.name, found.join(", ")))
}

pub(super) fn permissions(config: &Config) -> Check {
    let tools = config.get(key::AGENT_ALLOWED_TOOLS);
    let has = |tool: &str| tools.iter().any(|given| given.split('(').next() == Some(tool));
    let list = tools.join(" ");
    if tools.is_empty() {
        let says = "the agent may use all its tools in a sandbox, and the usual ones without one";
        return Check::ok("permissions", says);
    }
    let lacking = |what: &str, missing: &str| {
        Check::warn("permissions", format!("without {what}: {list}"))
            .remedy(format!("add {missing} to agent.allowed_tools"))
    };
    match (has("Bash"), has("Edit") || has("Write")) {
        (false, _) => lacking("Bash the agent cannot test or commit", "Bash"),
        (true, false) => lacking("Edit or Write the agent cannot change files", "Edit and Write"),
        (true, true) => Check::ok("permissions", format!("allowed tools: {list}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_print_them() {
        for (text, state) in [
            ("2.1.325 (Claude Code)", State::Ok),
            // The oldest version is the profile's, with which a run warns, too.
            ("2.1.197", State::Ok),
            ("2.1.196", State::Warn),
            ("claude-code/3.0.1 linux", State::Ok),
            ("v2.10.4", State::Ok),
            ("2.0.76 (Claude Code)", State::Warn),
            ("1.0.3", State::Warn),
            ("Error: native binary not installed", State::Warn),
            ("", State::Warn),
        ] {
            assert_eq!(judge(agents::find("claude").unwrap(), text, "/x").state, state, "{text}");
        }
    }
}
