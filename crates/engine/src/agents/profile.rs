//! What ralph knows about an agent CLI before it starts one. Data only, with two functions: settings, doctor, init,
//! sandbox, environment and verifier read it instead of comparing names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Driver, Interactive, SessionSpec, ShellWord};
use crate::process::CommandSpec;
use crate::sandbox::AgentState;

/// One agent CLI.
pub struct Profile {
    /// Its name in settings.
    pub name: &'static str,
    /// The executable that ralph looks for when the settings name none.
    pub program: &'static str,
    /// The command that installs or updates it; empty for an agent that is part of ralph.
    pub install: &'static str,
    /// The oldest version known to work.
    pub oldest: Option<&'static str>,
    pub login: Login,
    /// Prefixes of the variables that are its own. Sessions get these, secrets among them.
    pub variables: &'static [&'static str],
    /// Prefixes of variables that it reads and that others may have, too. Sessions get these without secrets.
    pub shared_variables: &'static [&'static str],
    /// Its files in the user's home, a folder each, and the hosts that it needs.
    pub state: &'static [AgentState],
    pub tools: Tools,
    pub tiers: Tiers,
    pub conventions: Conventions,
    /// Names of files and folders in a tree by which it steers the agent, and which nothing else keeps from it. The
    /// checkout of a verifier lacks them.
    pub steering: &'static [&'static str],
    pub command: fn(&SessionSpec) -> CommandSpec,
    /// The command line that opens it for a user; `None` for an agent that has no terminal.
    pub interactive: Option<fn(&Interactive) -> Vec<ShellWord>>,
    /// The other side of its session; `None`: of a recording, which is only read.
    pub driver: fn(Option<&SessionSpec>) -> Box<dyn Driver>,
}

/// How a user logs in to an agent, and how ralph sees that they did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Login {
    /// What to do, as part of a sentence; empty for an agent that needs no login.
    pub how: &'static str,
    /// Variables that log it in. Gates in a sandbox do not get them.
    pub variables: &'static [&'static str],
    /// A file in the home, and a word in it that shows a login which is kept elsewhere, such as in a keychain.
    pub account: Option<(&'static str, &'static str)>,
}

/// Tools by the names that the agent gives them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tools {
    /// What a session without a sandbox may use where the settings name none.
    pub usual: &'static [&'static str],
    /// What a session that only judges may use.
    pub judging: &'static [&'static str],
}

/// The models of an agent by size; an empty name: the agent's own choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tiers {
    pub small: &'static str,
    pub medium: &'static str,
    pub large: &'static str,
}

/// Where the agent looks in a repository for what `ralph init` sets up.
#[derive(Debug, Clone, Copy)]
pub struct Conventions {
    /// The folder of skills; empty where it reads none.
    pub skills: &'static str,
    /// Whether `/NAME` at the beginning of a prompt calls a skill. Other agents get its text.
    pub calls_skills: bool,
    pub hooks: Option<HookFile>,
    /// A file with rules, and the line in it that refers to `AGENTS.md`. `None` where it reads `AGENTS.md` itself.
    pub rules: Option<(&'static str, &'static str)>,
}

impl Conventions {
    /// Those of an agent that reads nothing.
    pub const NONE: Self = Self { skills: "", calls_skills: false, hooks: None, rules: None };
}

/// A JSON file with hooks by event, each a list of groups with commands.
#[derive(Debug, Clone, Copy)]
pub struct HookFile {
    pub path: &'static str,
    /// The events, and what `ralph hook` calls them.
    pub events: &'static [(&'static str, &'static str)],
}

impl Profile {
    /// The version in what `--version` printed: the first word that looks like one.
    pub fn version(&self, printed: &str) -> Option<String> {
        let is_version = |word: &&str| {
            word.contains('.')
                && word.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_digit()))
        };
        let words = printed.split(|c: char| c.is_whitespace() || c == '/');
        words.map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
    }

    pub fn is_too_old(&self, version: &str) -> bool {
        self.oldest.is_some_and(|oldest| numbers(version) < numbers(oldest))
    }

    /// The folders with its files, as the agent itself would find them.
    pub fn folders<'a>(
        &self,
        environment: &'a [(OsString, OsString)],
        home: Option<&'a Path>,
    ) -> impl Iterator<Item = (PathBuf, &'static AgentState)> + 'a {
        let found =
            move |state: &'static AgentState| Some((state.real_folder(environment, home)?, state));
        self.state.iter().filter_map(found)
    }

    /// Whether a variable is its own, or logs it in.
    pub fn owns(&self, variable: &str) -> bool {
        self.variables.iter().any(|prefix| variable.starts_with(prefix))
            || self.login.variables.contains(&variable)
    }
}

/// The parts of a version; one that is not a number counts as 0.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
