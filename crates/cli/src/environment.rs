//! The environment, read once. Nothing else in the binary asks the system for a variable.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ralph_core::AgentId;
use ralph_core::redact::is_secret_name;
use ralph_engine::agents::AGENTS;

#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) arguments: Vec<OsString>,
    /// Every variable, for the programs that ralph starts.
    pub(crate) all: Vec<(OsString, OsString)>,
    pub(crate) ralph: Vec<(String, String)>,
    pub(crate) user_config: Option<PathBuf>,
    /// The folder for the state of the user's programs.
    pub(crate) state_home: Option<PathBuf>,
    /// The user's home directory, for shorter paths.
    pub(crate) home: Option<PathBuf>,
    /// The folder for the user's sockets.
    pub(crate) runtime_dir: Option<PathBuf>,
    pub(crate) user: Option<String>,
    /// `NO_COLOR` is set, `CLICOLOR` is 0, or the terminal is dumb.
    pub(crate) no_color: bool,
    /// `TERM` is `dumb`: the terminal understands no escape sequences.
    pub(crate) is_dumb: bool,
    pub(crate) path: Option<OsString>,
    /// Which of [`logins`] are set. Only the names: no code here needs the secrets.
    pub(crate) logins: Vec<&'static str>,
    /// `COLUMNS`, for terminals that do not report their width.
    pub(crate) columns: Option<usize>,
}

/// Variables that hold credentials of models and of none of the agents alone.
const OTHER_LOGINS: [&str; 2] = ["OPENROUTER_API_KEY", "OPENAI_API_KEY"];

/// Variables that hold agents' credentials.
pub(crate) fn logins() -> impl Iterator<Item = &'static str> {
    let of_agents = AGENTS.iter().flat_map(|agent| agent.login.variables);
    of_agents.copied().chain(OTHER_LOGINS)
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub(crate) fn read() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_dumb = text("TERM").as_deref() == Some("dumb");
        let home = text("HOME").map(PathBuf::from);
        let below_home = |name: &str, usual: &str| {
            let set = text(name).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| Some(home.as_ref()?.join(usual)))
        };
        let config_home = below_home("XDG_CONFIG_HOME", ".config");
        let state_home = below_home("XDG_STATE_HOME", ".local/state");
        let ralph = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("RALPH_"))
            .collect();
        Self {
            arguments: std::env::args_os().collect(),
            all: std::env::vars_os().collect(),
            ralph,
            user_config: config_home.map(|folder| folder.join("ralph").join("config.toml")),
            state_home,
            home,
            runtime_dir: text("XDG_RUNTIME_DIR").map(PathBuf::from),
            user: text("USER").or_else(|| text("LOGNAME")),
            no_color: text("NO_COLOR").is_some()
                || text("CLICOLOR").as_deref() == Some("0")
                || is_dumb,
            is_dumb,
            path: std::env::var_os("PATH"),
            logins: logins().filter(|name| text(name).is_some()).collect(),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.ralph.iter().find(|(known, _)| known == name)?;
        (!found.1.is_empty()).then_some(found.1.as_str())
    }

    /// The values of the variables that hold secrets, by their names.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        let named = |(name, value): &(OsString, OsString)| {
            is_secret_name(&name.to_string_lossy(), value.as_bytes())
        };
        self.all.iter().filter(move |pair| named(pair)).map(|(_, value)| value.as_bytes())
    }

    /// The name under which the user acts: `user-` and the login name.
    pub(crate) fn user_id(&self) -> AgentId {
        let login = self.user.as_deref().unwrap_or_default();
        let plain: String = login
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
            .take(40)
            .collect();
        let name = if plain.is_empty() { "user".to_owned() } else { format!("user-{plain}") };
        // Both forms contain only characters that are valid in an id.
        AgentId::new(name.replace("..", ".")).unwrap_or_else(|_| unreachable_name())
    }
}

fn unreachable_name() -> AgentId {
    #[expect(clippy::expect_used, reason = "a constant that is an id")]
    AgentId::new("user").expect("user is an id")
}
