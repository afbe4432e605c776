//! Agent CLIs. Each is one file: a [`Profile`], which is data that every part of ralph reads, and a [`Driver`],
//! which leads its session: it gives output a meaning, and has the replies. An agent is pure: it starts nothing, waits
//! for nothing and reads no file. The supervisor ([`crate::process`]) does.
//!
//! | agent | what it is |
//! |---|---|
//! | [`acp`] | any agent of the Agent Client Protocol, a conversation in JSON-RPC |
//! | [`claude`] | Claude Code, by its stream of JSON events |
//! | [`codex`] | Codex of OpenAI, by the events of `codex exec` |
//! | [`gemini`] | Gemini CLI of Google, by its stream of JSON events |
//! | [`opencode`] | opencode, with any provider, by the events of `opencode run` |
//! | [`script`] | the built-in agent that plays a cassette: demos and tests |
//! | [`command`] | any other program, as the user's config describes it |
//!
//! A new agent is a file with a `Profile` and a `Driver`, and a row in [`AGENTS`].

use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};

use crate::process::LineEffect;

pub mod acp;
pub mod claude;
pub mod codex;
pub mod command;
pub mod gemini;
mod interactive;
mod lines;
pub mod opencode;
mod profile;
mod provider_error;
pub mod script;
mod text;
mod unfinished;

pub use interactive::{Interactive, ShellWord, shell_command};
pub use profile::{Conventions, HookFile, Login, Profile, Tiers, Tools};

/// Every built-in agent, in the order in which users see them.
pub const AGENTS: &[&Profile] = &[
    &claude::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &opencode::PROFILE,
    &acp::PROFILE,
    &script::PROFILE,
];

pub fn find(name: &str) -> Option<&'static Profile> {
    AGENTS.iter().copied().find(|agent| agent.name == name)
}

/// One side of a session: the agent's process is the other. An agent that only prints needs `line` and `end`; the
/// rest is for agents whose standard input is a conversation ([`Stdin::Conversation`](crate::process::Stdin)).
pub trait Driver: Send {
    /// Takes one line of stdout, without its line break, and adds its events to `events`, and to `replies` the bytes
    /// that the agent reads next on stdin. `cut`: the line was longer than we take, and this is its beginning.
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) -> LineEffect;
    /// The bytes for stdin that put a text of the user before the agent, at its next turn. `None`: this
    /// agent takes no text while it works. An agent that confirms such texts reports each, with the same words, by [`AgentEvent::UserMessage`] when it has arrived.
    fn say(&mut self, text: &str) -> Option<Vec<u8>> {
        let _ = text;
        None
    }
    /// The bytes for stdin that ask the agent to end its turn, which is gentler than a signal. `None`: only a signal
    /// does.
    fn interrupt(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// Whether the text of messages is needed from now on. If not, their events may be left out: how
    /// the session ends does not depend on them.
    fn set_display_active(&mut self, is_active: bool) {
        let _ = is_active;
    }
    /// How the session ended, once its process is no more.
    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd;
}

/// A text, and the file that contains it. A profile passes the one or the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    /// The file that holds it: an absolute path that the agent can read.
    pub file: PathBuf,
}

/// How the prompt reaches the agent. A profile departs from it only where the agent would not take
/// it so, for example because it is too long for an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptBy {
    /// Rules as the system prompt, the task as a file.
    System {
        system: Written,
        task: Written,
    },
    Stdin(String),
    Argument(String),
}

impl PromptBy {
    /// Rules and task as one text, for an agent that takes no system prompt.
    fn joined(system: &Written, task: &Written) -> String {
        match system.text.trim().is_empty() {
            true => task.text.clone(),
            false => format!("{}\n\n{}", system.text, task.text),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permissions {
    /// Everything: it runs in a sandbox.
    Boxed,
    /// Only these tools, without asking: it runs in a sandbox, and is there to look.
    SandboxedTools(Vec<String>),
    Tools(Vec<String>),
}

impl Permissions {
    /// What a session may do: use the tools that the settings name. Where they name none, everything in a
    /// sandbox, and the agent's usual tools without one.
    pub fn of_session(named: &[String], usual: &[&str], sandboxed: bool) -> Self {
        match named {
            [] if sandboxed => Self::Boxed,
            [] => Self::Tools(usual.iter().map(|tool| (*tool).to_owned()).collect()),
            named => Self::Tools(named.to_vec()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    /// The agent's program. For `script` it is ralph itself.
    pub executable: OsString,
    /// Arguments from the settings. They come last.
    pub extra_args: Vec<String>,
    pub folder: PathBuf,
    /// The environment, complete; the profile adds to it.
    pub environment: Vec<(OsString, OsString)>,
    pub prompt: PromptBy,
    pub model: Option<String>,
    pub permissions: Permissions,
    /// It runs in a sandbox.
    pub sandboxed: bool,
    pub cassette: Option<PathBuf>,
    /// Which session of the cassette `script` plays, from 1; `None`: the next one.
    pub session: Option<u32>,
    /// It judges the tree that it works in: the profile must keep instructions, settings, hooks and servers of
    /// that tree from the agent.
    pub verifies: bool,
}

pub(crate) fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: &str) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value.into()));
}

fn micro_usd(dollars: f64) -> Option<u64> {
    (dollars.is_finite() && dollars >= 0.0).then(|| (dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_their_names() {
        for agent in AGENTS {
            let found = find(agent.name).unwrap();
            assert_eq!(found.program, agent.program);
        }
        assert!(find("unknown").is_none());
        assert_eq!(find("claude").unwrap().program, "claude");
    }
}
