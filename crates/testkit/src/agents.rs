//! The real Codex, Gemini CLI and opencode from npm, each in a hermetic home, with a scripted model
//! behind it. Claude Code has [`crate::claude`]; both share what is here.
//!
//! An agent runs only with an environment of its own: a home in the test's folder, a key that opens
//! nothing, and the address of the model server on loopback.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::claude;
use crate::model_server::{ModelServer, Request, Script};
use crate::{Ran, TestEnv, has_turn, skip};

/// Of the tests with Gemini CLI and with opencode `./check` plays one in so many: they need ten seconds of a core for a
/// task.
pub(crate) const SLOW: u64 = 3;

/// An agent beside Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Codex, with the OpenAI Responses API.
    Codex,
    /// Gemini CLI, with the Gemini API.
    Gemini,
    /// opencode, with the OpenAI Chat Completions API.
    Opencode,
}

impl AgentKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Codex, Self::Gemini, Self::Opencode];

    /// The name of the command, and of the agent in `tools/install-agents`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Arguments that make the agent work on a prompt, without questions and in events.
    pub fn arguments(self, prompt: &str) -> Vec<&str> {
        match self {
            Self::Codex => vec![
                "exec",
                "--json",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                prompt,
            ],
            Self::Gemini => vec![
                "-p",
                prompt,
                "-o",
                "stream-json",
                "--yolo",
                "--skip-trust",
                "-m",
                "gemini-2.5-pro",
            ],
            Self::Opencode => {
                vec!["run", "--format", "json", "-m", "scripted/scripted", "--auto", prompt]
            }
        }
    }

    /// The executable. Installs it when it is missing; several tests may do so at once. `None`, with
    /// a printed warning, where it cannot be installed, and where the test has no turn.
    pub fn executable(self) -> Option<PathBuf> {
        if self != Self::Codex && !has_turn(SLOW) {
            return None;
        }
        install(self.name())
            .map_err(|error| skip(&format!("{}: not installed: {}", self.name(), error.trim())))
            .ok()
    }

    /// Writes the agent's settings into the home, and sets the variables that it needs.
    pub(crate) fn configure(self, env: &mut TestEnv, url: &str) {
        match self {
            Self::Codex => {
                let provider = [
                    "model = \"scripted\"",
                    "model_provider = \"scripted\"",
                    "check_for_update_on_startup = false",
                    "[analytics]",
                    "enabled = false",
                    "[model_providers.scripted]",
                    "name = \"scripted\"",
                    &format!("base_url = \"{url}/v1\""),
                    "env_key = \"SCRIPTED_API_KEY\"",
                    "wire_api = \"responses\"",
                ];
                put(&env.home(), ".codex/config.toml", &(provider.join("\n") + "\n"));
                env.set("SCRIPTED_API_KEY", "sk-fake");
            }
            Self::Gemini => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "privacy": { "usageStatisticsEnabled": false },
                    "telemetry": { "enabled": false },
                    // Left to itself it asks a model which model to ask, and asks again for a minute.
                    "model": { "name": "gemini-2.5-pro" },
                    "general": { "disableAutoUpdate": true, "disableUpdateNag": true },
                });
                put(&env.home(), ".gemini/settings.json", &settings.to_string());
                env.set("GEMINI_API_KEY", "fake").set("GOOGLE_GEMINI_BASE_URL", url);
            }
            Self::Opencode => {
                // Without a model of its own for each purpose it reaches for one that is hosted.
                let settings = json!({
                    "model": "scripted/scripted",
                    "small_model": "scripted/scripted",
                    "enabled_providers": ["scripted"],
                    "autoupdate": false,
                    "share": "disabled",
                    "provider": { "scripted": {
                        "npm": "@ai-sdk/openai-compatible",
                        "name": "scripted",
                        "options": { "baseURL": format!("{url}/v1"), "apiKey": "sk-fake" },
                        "models": { "scripted": { "name": "scripted" } },
                    }},
                });
                put(&env.home(), ".config/opencode/opencode.json", &settings.to_string());
                env.set("OPENCODE_DISABLE_AUTOUPDATE", "1");
                env.set("OPENCODE_DISABLE_MODELS_FETCH", "1");
            }
        }
    }

    /// Puts the folder of a script on the `PATH`: a sandbox shows what is there.
    pub(crate) fn show(self, env: &mut TestEnv, executable: &Path) {
        if self == Self::Gemini {
            let bin = env.folder().join("bin");
            let bundle = executable.parent().unwrap();
            let path = std::env::var("PATH").unwrap_or_default();
            env.set("PATH", &format!("{}:{path}:{}", bin.display(), bundle.display()));
        }
    }

    /// Puts the agent into a folder for commands.
    pub(crate) fn link(self, executable: &Path, command: &Path) {
        if self == Self::Gemini {
            // Gemini CLI names no session in its requests. The header tells the processes apart.
            let script = format!(
                "#!/bin/sh\nGEMINI_CLI_CUSTOM_HEADERS=\"x-session-id: gemini-$(cat /proc/sys/kernel/random/uuid)\"\n\
                 export GEMINI_CLI_CUSTOM_HEADERS\nexec '{}' \"$@\"\n",
                executable.display()
            );
            std::fs::write(command, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(command, mode).unwrap();
        } else {
            std::os::unix::fs::symlink(executable, command).unwrap();
        }
    }
}

fn put(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Installs an agent unless it is there. Returns its executable, or why there is none.
pub fn install(name: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("tools/install-agents")).arg(name).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// Makes a repository with one commit and an identity, a folder for temporary files, and one for
/// commands that the `PATH` begins with. Returns the latter.
pub(crate) fn settle(env: &mut TestEnv) -> PathBuf {
    let bin = env.folder().join("bin");
    let temporary = env.folder().join("tmp");
    for folder in [&bin, &temporary] {
        std::fs::create_dir(folder).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    env.set("PATH", &format!("{}:{path}", bin.display()));
    env.set("TMPDIR", temporary.to_str().unwrap());
    // Each run makes new ids: a test may have several, and they share a store.
    env.set("RALPH_TEST_SEED", "");
    env.git(&["config", "--global", "user.name", "Tester"]);
    env.git(&["config", "--global", "user.email", "tester@example.com"]);
    env.write("README.md", "# A project\n");
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "start"]);
    bin
}

/// A [`TestEnv`] with a real agent on its `PATH`, whose model is a script.
///
/// ```no_run
/// use ralph_testkit::agents::{AgentEnv, AgentKind};
/// use ralph_testkit::model_server::{Script, Turn};
///
/// let script = Script::new().session([Turn::bash("touch new"), Turn::text("Done.")]);
/// let Some(env) = AgentEnv::new("/path/to/ralph", AgentKind::Codex, script) else { return };
/// assert_eq!(env.run("go").code, 0);
/// ```
pub struct AgentEnv {
    env: TestEnv,
    server: ModelServer,
    kind: AgentKind,
    command: PathBuf,
}

impl AgentEnv {
    /// Starts the model server. `binary` is the ralph to test. `None`, with a printed warning, where
    /// the agent cannot be installed.
    pub fn new(binary: impl Into<PathBuf>, kind: AgentKind, script: Script) -> Option<Self> {
        let executable = kind.executable()?;
        let mut env = TestEnv::new(binary);
        let server = ModelServer::start(script);
        let command = settle(&mut env).join(kind.name());
        kind.link(&executable, &command);
        kind.show(&mut env, &executable);
        kind.configure(&mut env, &server.url());
        Some(Self { env, server, kind, command })
    }

    /// Adds another agent, with the same model behind it. `None`, with a printed warning, where it cannot be
    /// installed.
    pub fn with(mut self, kind: AgentKind) -> Option<Self> {
        let executable = kind.executable()?;
        kind.link(&executable, &self.env.folder().join("bin").join(kind.name()));
        kind.show(&mut self.env, &executable);
        kind.configure(&mut self.env, &self.server.url());
        Some(self)
    }

    /// Adds Claude Code, logged in to a subscription: with an API key it does not learn when a usage limit resets. `None`,
    /// with a printed warning, where it cannot be installed.
    pub fn with_subscribed_claude(mut self) -> Option<Self> {
        let executable = claude::claude()?;
        std::os::unix::fs::symlink(executable, self.env.folder().join("bin").join("claude"))
            .unwrap();
        claude::configure(&mut self.env, &self.server.url());
        self.env.set("ANTHROPIC_API_KEY", "").set("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-fake");
        Some(self)
    }

    /// The model.
    pub fn server(&self) -> &ModelServer {
        &self.server
    }

    /// Goes on with another script.
    pub fn play(&self, script: Script) {
        self.server.play(script);
    }

    /// What each session of the agent has asked the model, sessions in the order of their start.
    pub fn sessions_seen(&self) -> Vec<Vec<Request>> {
        self.server.sessions()
    }

    /// A call of the agent itself in the repository, not started.
    pub fn agent_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.clean(Command::new(&self.command));
        command.args(arguments).current_dir(self.repo());
        command
    }

    /// Runs the agent itself with these arguments.
    pub fn agent(&self, arguments: &[&str]) -> Ran {
        Ran::of(arguments, self.agent_command(arguments).output().unwrap())
    }

    /// Runs the agent itself on a prompt.
    pub fn run(&self, prompt: &str) -> Ran {
        self.agent(&self.kind.arguments(prompt))
    }

    /// Starts the agent itself and does not wait for it.
    pub fn start_agent(&self, arguments: &[&str]) -> Child {
        let mut command = self.agent_command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Deref for AgentEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl DerefMut for AgentEnv {
    fn deref_mut(&mut self) -> &mut TestEnv {
        &mut self.env
    }
}
