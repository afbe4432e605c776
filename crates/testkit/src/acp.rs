//! Real agents of the Agent Client Protocol, each in a hermetic home, with a scripted model behind it: Gemini CLI and
//! opencode, which speak it themselves, and the adapters of Claude Code and Codex.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use crate::agents::{AgentKind, SLOW, install, settle};
use crate::claude::configure as configure_claude;
use crate::model_server::{ModelServer, Request, Script};
use crate::{Ran, TestEnv, has_turn, skip};

/// An agent of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpAgent {
    /// The adapter of Claude Code.
    Claude,
    /// The adapter of Codex.
    Codex,
    /// Gemini CLI itself.
    Gemini,
    /// opencode itself.
    Opencode,
}

impl AcpAgent {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-agent-acp",
            Self::Codex => "codex-acp",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// What makes the program speak the protocol.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Claude | Self::Codex => &[],
            Self::Gemini => &["--acp"],
            Self::Opencode => &["acp"],
        }
    }

    /// Installs it, and puts it into a folder for commands.
    fn put(self, command: &Path) -> Result<(), String> {
        match self {
            Self::Claude => adapter("claude-acp", command),
            Self::Codex => adapter("codex-acp", command),
            Self::Gemini => {
                AgentKind::Gemini.link(&install("gemini")?, command);
                Ok(())
            }
            Self::Opencode => {
                AgentKind::Opencode.link(&install("opencode")?, command);
                Ok(())
            }
        }
    }

    fn configure(self, env: &mut TestEnv, url: &str) {
        match self {
            Self::Claude => configure_claude(env, url),
            Self::Codex => AgentKind::Codex.configure(env, url),
            Self::Gemini => AgentKind::Gemini.configure(env, url),
            Self::Opencode => AgentKind::Opencode.configure(env, url),
        }
    }
}

/// An adapter needs a newer Node than the system may have.
fn adapter(name: &str, command: &Path) -> Result<(), String> {
    let (node, program) = (install("node")?, install(name)?);
    let script = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node.display(), program.display());
    std::fs::write(command, script).map_err(|error| error.to_string())?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(command, mode).map_err(|error| error.to_string())
}

/// A [`TestEnv`] with an agent of the protocol, whose model is a script.
pub struct AcpEnv {
    env: TestEnv,
    server: ModelServer,
    agent: AcpAgent,
}

impl AcpEnv {
    /// Starts the model server. `binary` is the ralph to test. `None`, with a printed warning, where the agent cannot be
    /// installed, and where the test has no turn.
    pub fn new(binary: &str, agent: AcpAgent, script: Script) -> Option<Self> {
        if matches!(agent, AcpAgent::Gemini | AcpAgent::Opencode) && !has_turn(SLOW) {
            return None;
        }
        let mut env = TestEnv::new(binary);
        let command = settle(&mut env).join(agent.name());
        if let Err(error) = agent.put(&command) {
            skip(&format!("{}: not installed: {}", agent.name(), error.trim()));
            return None;
        }
        if let (AcpAgent::Gemini, Ok(executable)) = (agent, install("gemini")) {
            AgentKind::Gemini.show(&mut env, &executable);
        }
        let server = ModelServer::start(script);
        agent.configure(&mut env, &server.url());
        Some(Self { env, server, agent })
    }

    /// The model.
    pub fn server(&self) -> &ModelServer {
        &self.server
    }

    /// What each session of the agent has asked the model, sessions in the order of their start.
    pub fn sessions_seen(&self) -> Vec<Vec<Request>> {
        self.server.sessions()
    }

    /// The flags of `ralph build` that choose it.
    pub fn flags(&self) -> Vec<String> {
        let program = self.env.folder().join("bin").join(self.agent.name());
        let settings = [
            format!("agent.acp.path={}", program.display()),
            format!("agent.acp.args={:?}", self.agent.arguments()),
            // Gemini CLI stays when its input has ended.
            "agent.after_result=2s".to_owned(),
        ];
        let set = settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]);
        ["--agent".to_owned(), "acp".to_owned()].into_iter().chain(set).collect()
    }

    /// Runs `ralph build` with the agent.
    pub fn build(&self, arguments: &[&str]) -> Ran {
        let flags = self.flags();
        let mut all = vec!["build"];
        all.extend(flags.iter().map(String::as_str));
        // The key of the scripted provider in Codex's settings.
        all.extend(["--set", "agent.env=SCRIPTED_API_KEY"]);
        all.extend(arguments);
        self.env.ralph(&all)
    }
}

impl Deref for AcpEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl DerefMut for AcpEnv {
    fn deref_mut(&mut self) -> &mut TestEnv {
        &mut self.env
    }
}
