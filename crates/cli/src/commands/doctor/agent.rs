//! Checks the agent: whether it is installed, its version, its login and its permissions.

use std::path::Path;
use std::time::Duration;

use ralph_engine::agents::{self, Agent};
use ralph_engine::host::host;
use ralph_engine::ports::ProbeEnd;
use ralph_engine::probe;

use super::check::Check;
use crate::config::{Config, key};
use crate::environment::Environment;
use crate::launch::{Lacking, agent_program, of_repository_hint};

/// How long an agent may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to install and log in to an agent CLI. Its profile says which versions work.
struct Facts {
    name: &'static str,
    install: &'static str,
    /// Variables that log it in.
    variables: &'static [&'static str],
    login: &'static str,
}

const FACTS: [Facts; 1] = [Facts {
    name: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ],
    login: "run `claude` and log in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
}];

/// The agents that the settings name, each once.
pub(super) fn used(config: &Config) -> Vec<&str> {
    let roles = [key::AGENT_NAME, key::AGENT_BUILD, key::AGENT_PLAN, key::AGENT_VERIFY];
    let mut names: Vec<&str> = Vec::new();
    for name in roles.map(|role| config.get(role)) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// All checks of one agent. `None` if the user interrupted them.
pub(super) fn inspect(
    name: &str,
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Option<Vec<Check>> {
    let known = FACTS.iter().find(|facts| facts.name == name).zip(agents::find(name));
    let Some((facts, profile)) = known else {
        return alone(Check::ok("agent", format!("{name} plays a recording and needs no login")));
    };
    let path = match agent_program(name, name, config, environment, folder) {
        Ok(path) => path,
        Err(Lacking::Missing(program)) => {
            let check = Check::fail("agent", format!("{name}: program {program} not found"))
                .remedy(format!("install it: {}", facts.install))
                .remedy(format!("or set its path: agent.{name}.path"));
            return alone(check);
        }
        Err(Lacking::OfRepository(path)) => {
            let place = path.display();
            let says = format!("{place} is inside the repository, where a session can change it");
            return alone(Check::fail("agent", says).remedy(of_repository_hint(name, &path)));
        }
    };
    let patience = config.get(key::AGENT_SILENCE).map_or(PATIENCE, |limit| limit.min(PATIENCE));
    let version = version((facts, profile), &path, folder, environment, patience)?;
    Some(vec![version, login(facts, environment)])
}

fn alone(check: Check) -> Option<Vec<Check>> {
    Some(vec![check])
}

fn version(
    (facts, profile): (&Facts, &dyn Agent),
    path: &Path,
    folder: &Path,
    environment: &Environment,
    patience: Duration,
) -> Option<Check> {
    let variables = host().environment(&environment.all);
    let ran = probe::run(path, &["--version"], folder, &variables, patience);
    let name = facts.name;
    let place = path.display();
    Some(match ran.end {
        ProbeEnd::Exited(0) => judge(facts, profile, ran.output.trim(), &place.to_string()),
        ProbeEnd::Exited(code) => {
            Check::fail("agent", format!("{place} --version failed with exit code {code}"))
                .output(&ran.output)
                .remedy(format!("reinstall it: {}", facts.install))
        }
        ProbeEnd::TimedOut => {
            let says = format!("{place} --version timed out after {}s", ran.took.as_secs());
            Check::fail("agent", says).remedy(format!("try it yourself: {name} --version"))
        }
        ProbeEnd::Interrupted => return None,
        ProbeEnd::NotStarted(error) => {
            Check::fail("agent", format!("{place} cannot be started: {error}"))
                .remedy(format!("reinstall it: {}", facts.install))
        }
    })
}

fn judge(facts: &Facts, profile: &dyn Agent, text: &str, place: &str) -> Check {
    let name = facts.name;
    let update = format!("update it: {}", facts.install);
    match (profile.version(text), profile.oldest()) {
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
fn login(facts: &Facts, environment: &Environment) -> Check {
    let mut found: Vec<String> = facts
        .variables
        .iter()
        .filter(|variable| environment.logins.contains(variable))
        .map(|variable| format!("{variable} is set"))
        .collect();
    let file = environment.claude_folder.as_ref().map(|folder| folder.join(".credentials.json"));
    if let Some(path) = file.filter(|path| path.is_file()) {
        found.push(format!("{} exists", path.display()));
    }
    // On a Mac the login itself is in the keychain; this file shows that there is one.
    if let Some(path) = environment.home.as_ref().map(|home| home.join(".claude.json")) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.contains("\"oauthAccount\"") {
            found.push(format!("{} names an account", path.display()));
        }
    }
    if found.is_empty() {
        let says = format!("no sign that {} is logged in", facts.name);
        return Check::warn("login", says).remedy(facts.login);
    }
    Check::ok("login", format!("{}: {}", facts.name, found.join(", ")))
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
            assert_eq!(
                judge(&FACTS[0], agents::find("claude").unwrap(), text, "/x").state,
                state,
                "{text}"
            );
        }
    }

    #[test]
    fn every_variable_that_is_looked_for_is_read() {
        for facts in &FACTS {
            for variable in facts.variables {
                assert!(crate::environment::LOGINS.contains(variable), "{variable}");
            }
        }
    }
}
