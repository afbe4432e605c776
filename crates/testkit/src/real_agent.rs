//! Any of the real agents with a scripted model behind it, for tests that are the same for all of them.

use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::TestEnv;
use crate::acp::{AcpAgent, AcpEnv};
use crate::agents::{AgentEnv, AgentKind};
use crate::claude::ClaudeEnv;
use crate::model_server::{ModelServer, Script};

/// An agent, and how ralph speaks with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentName {
    /// Claude Code, by the agent `claude`.
    Claude,
    /// Codex, Gemini CLI or opencode, by the agent of its name.
    Native(AgentKind),
    /// By the agent `acp`.
    Acp(AcpAgent),
}

impl AgentName {
    /// Those that ralph has an agent for.
    pub const NATIVE: [Self; 4] = [
        Self::Claude,
        Self::Native(AgentKind::Codex),
        Self::Native(AgentKind::Gemini),
        Self::Native(AgentKind::Opencode),
    ];

    /// The name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Native(kind) => kind.name(),
            Self::Acp(agent) => agent.name(),
        }
    }

    /// Whether it is an adapter between the protocol and another program.
    pub fn is_adapter(self) -> bool {
        matches!(self, Self::Acp(AcpAgent::Claude | AcpAgent::Codex))
    }
}

/// A [`TestEnv`] with one of the real agents on its `PATH`, whose model is a script.
pub struct RealAgent {
    name: AgentName,
    place: Place,
}

enum Place {
    Claude(ClaudeEnv),
    Native(AgentEnv),
    Acp(AcpEnv),
}

impl RealAgent {
    /// Starts the model server. `binary` is the ralph to test. `None`, with a printed warning, where the agent cannot be
    /// installed.
    pub fn new(binary: &str, name: AgentName, script: Script) -> Option<Self> {
        let place = match name {
            AgentName::Claude => Place::Claude(ClaudeEnv::new(binary, script)?),
            AgentName::Native(kind) => Place::Native(AgentEnv::new(binary, kind, script)?),
            AgentName::Acp(agent) => Place::Acp(AcpEnv::new(binary, agent, script)?),
        };
        Some(Self { name, place })
    }

    /// Which one it is.
    pub fn name(&self) -> AgentName {
        self.name
    }

    /// The model.
    pub fn server(&self) -> &ModelServer {
        match &self.place {
            Place::Claude(env) => env.server(),
            Place::Native(env) => env.server(),
            Place::Acp(env) => env.server(),
        }
    }

    /// The flags of `ralph build` that choose it.
    pub fn flags(&self) -> Vec<String> {
        let words = match &self.place {
            Place::Claude(_) => vec!["--agent".to_owned(), "claude".to_owned()],
            Place::Native(_) => vec!["--agent".to_owned(), self.name.program().to_owned()],
            Place::Acp(env) => env.flags(),
        };
        // The key of the scripted provider in Codex's settings.
        [words, vec!["--set".to_owned(), "agent.env=SCRIPTED_API_KEY".to_owned()]].concat()
    }

    /// Puts a shell script in front of the agent; `$AGENT` in it is the agent itself.
    pub fn wrap(&self, script: &str) {
        let command = self.folder().join("bin").join(self.name.program());
        // A sandbox shows what links on the `PATH` lead to.
        let itself = PathBuf::from(format!("{}-itself", command.display()));
        std::fs::rename(&command, &itself).unwrap();
        let script = script.replace("$AGENT", &format!("'{}'", itself.display()));
        std::fs::write(&command, format!("#!/bin/bash\n{script}\n")).unwrap();
        std::fs::set_permissions(&command, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

impl Deref for RealAgent {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        match &self.place {
            Place::Claude(env) => env,
            Place::Native(env) => env,
            Place::Acp(env) => env,
        }
    }
}

impl DerefMut for RealAgent {
    fn deref_mut(&mut self) -> &mut TestEnv {
        match &mut self.place {
            Place::Claude(env) => env,
            Place::Native(env) => env,
            Place::Acp(env) => env,
        }
    }
}
