//! The real Claude Code from npm, in a hermetic home, with a scripted model behind it.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::agents::{install, settle};
use crate::model_server::{ModelServer, Request, Script};
use crate::{Ran, TestEnv, skip};

/// The executable of Claude Code. Installs it when it is missing; several tests may do so at once.
/// `None`, with a printed warning, where there is none to test with.
///
/// # Panics
///
/// On Linux, when it can not be installed: a test of an agent never passes without the agent.
pub fn claude() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        skip("Claude Code: its tests need Linux");
        return None;
    }
    let executable = install("claude").unwrap_or_else(|error| {
        panic!(
            "Claude Code is not installed: run ./check once, it installs what is missing\n{error}"
        )
    });
    Some(executable)
}

/// A [`TestEnv`] whose `claude` is the real one and whose model is a script.
///
/// The repository has one commit and an identity. Both `ralph` and `claude` see the same
/// environment: `claude` on the `PATH`, the address of the model server, a key that opens nothing.
///
/// ```no_run
/// use ralph_testkit::claude::ClaudeEnv;
/// use ralph_testkit::model_server::{Script, Turn};
///
/// let script = Script::new().session([
///     Turn::bash("echo new > file.txt"),
///     Turn::text("Done. <task-done>{id}</task-done>"),
/// ]);
/// let Some(env) = ClaudeEnv::new("/path/to/ralph", script) else { return };
/// env.task(&["add", "a file"]);
/// env.build(&["--once"]).success();
/// assert_eq!(env.sessions_seen().len(), 1);
/// ```
pub struct ClaudeEnv {
    env: TestEnv,
    server: ModelServer,
    claude: PathBuf,
}

impl ClaudeEnv {
    /// Starts the model server. `binary` is the ralph to test. `None` where there is no Claude Code.
    pub fn new(binary: impl Into<PathBuf>, script: Script) -> Option<Self> {
        let executable = claude()?;
        let mut env = TestEnv::new(binary);
        let server = ModelServer::start(script);
        let claude = settle(&mut env).join("claude");
        std::os::unix::fs::symlink(executable, &claude).unwrap();
        configure(&mut env, &server.url());
        Some(Self { env, server, claude })
    }

    /// The model.
    pub fn server(&self) -> &ModelServer {
        &self.server
    }

    /// Goes on with another script.
    pub fn play(&self, script: Script) {
        self.server.play(script);
    }

    /// How often Claude Code itself tries a request again, instead of ten times.
    pub fn retries(&mut self, count: usize) -> &mut Self {
        self.env.set("CLAUDE_CODE_MAX_RETRIES", &count.to_string());
        self
    }

    /// What each session of the agent has asked the model, sessions in the order of their start.
    pub fn sessions_seen(&self) -> Vec<Vec<Request>> {
        self.server.sessions()
    }

    /// Runs `ralph build`.
    pub fn build(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["build"];
        all.extend(arguments);
        self.env.ralph(&all)
    }

    /// A call of Claude Code itself in the repository, in events, not started.
    pub fn claude_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.clean(Command::new(&self.claude));
        command.args(["--print", "--verbose", "--output-format", "stream-json"]);
        command.args(arguments).current_dir(self.repo());
        command
    }

    /// Runs Claude Code itself.
    pub fn claude(&self, arguments: &[&str]) -> Ran {
        Ran::of(arguments, self.claude_command(arguments).output().unwrap())
    }

    /// Starts Claude Code itself and does not wait for it.
    pub fn start_claude(&self, arguments: &[&str]) -> Child {
        let mut command = self.claude_command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// Sets the variables that it needs.
pub(crate) fn configure(env: &mut TestEnv, url: &str) {
    // Its sockets and the output of its tasks go with the folder of the test.
    let temporary = env.folder().join("tmp").display().to_string();
    env.set("CLAUDE_CODE_TMPDIR", &temporary);
    env.set("ANTHROPIC_API_KEY", "sk-fake").set("ANTHROPIC_BASE_URL", url);
    for quiet in [
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ] {
        env.set(quiet, "1");
    }
}

impl Deref for ClaudeEnv {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl DerefMut for ClaudeEnv {
    fn deref_mut(&mut self) -> &mut TestEnv {
        &mut self.env
    }
}

/// What Claude Code printed.
impl Ran {
    /// Its lines, each one JSON.
    pub fn events(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(read).collect()
    }

    /// The events of a type and subtype; an empty subtype is any.
    pub fn events_of(&self, kind: &str, subtype: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|e| e["type"] == kind && (subtype.is_empty() || e["subtype"] == subtype));
        events
    }

    /// The last event with the result; there must be one.
    #[track_caller]
    pub fn result(&self) -> Value {
        let result = self.events_of("result", "").pop();
        result.unwrap_or_else(|| panic!("no result: {}\n{}", self.stdout, self.stderr))
    }
}
