//! Merges defaults, files, environment and flags, each overriding the one before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::names;
use super::parse::{self, Owner};
use super::position::{Warning, invalid};
use super::resolved::{Config, Origin};
use super::setting_kind::SettingKind;
use super::settings::{Reach, Setting};
use super::typed::Key;
use super::value::{Given, Value, View};
use crate::error::{CliError, Result};

/// Variables that ralph uses but that are not settings.
const NOT_SETTINGS: [&str; 8] = [
    "RALPH_AGENT_ID",
    "RALPH_TASK_ID",
    "RALPH_SOCKET",
    "RALPH_TASK_SCRIPT",
    "RALPH_SCOPE_REPO",
    "RALPH_SCOPE_BRANCH",
    "RALPH_TRUST",
    "RALPH_SERVE_TOKEN",
];

/// The levels of the sandbox from weak to strong, two of them equally strong on different systems; and
/// what a network lets through.
const LEVELS: [(&str, u8); 11] = [
    ("none", 0),
    ("landlock", 1),
    ("auto", 2),
    ("seatbelt", 3),
    ("full", 3),
    ("allow-all", 0),
    ("allowlist", 1),
    ("deny", 2),
    ("never", 0),
    ("risky", 1),
    ("always", 2),
];

/// Everything the configuration is made from, already read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// The user's file: the name to show for it, and its text.
    pub user: Option<(PathBuf, String)>,
    /// The repo's file, likewise.
    pub repo: Option<(PathBuf, String)>,
    /// The environment; names that do not begin with `RALPH_` are skipped.
    pub env: Vec<(String, String)>,
    /// The settings from the flags of an interrupted run, if this one resumes it.
    pub resumed: Vec<(String, String)>,
    /// `key=value`, as given to `--set`. Later ones win.
    pub set: Vec<String>,
    /// The settings from the other flags of the command. They override `--set`.
    pub flags: Flags,
}

impl Sources {
    /// The files among them, in a line.
    pub(crate) fn files(&self) -> String {
        let read = [&self.user, &self.repo].into_iter().flatten();
        let names: Vec<String> = read.map(|(path, _)| path.display().to_string()).collect();
        if names.is_empty() { "no config file: defaults".to_owned() } else { names.join(", ") }
    }
}

/// The settings from the flags of a command: `--budget 5` is `budget.usd = 5`. Later ones win.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    settings: Vec<Flag>,
    /// `--trust`, which is not a setting: it applies to this call and this repository.
    pub trust: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Flag {
    /// The flag, as it is written.
    name: &'static str,
    key: &'static str,
    value: String,
}

impl Flags {
    /// Sets `key` to this value, written as for `--set`, on behalf of the flag `name`.
    pub(crate) fn set<T>(&mut self, name: &'static str, key: Key<T>, value: impl ToString) {
        self.settings.push(Flag { name, key: key.name(), value: value.to_string() });
    }

    /// The same for an optional flag.
    pub(crate) fn given<T>(
        &mut self,
        name: &'static str,
        key: Key<T>,
        value: Option<impl ToString>,
    ) {
        if let Some(value) = value {
            self.set(name, key, value);
        }
    }

    /// The first flag among them, as it is written.
    pub(crate) fn first(&self) -> Option<&'static str> {
        self.settings.first().map(|flag| flag.name).or(self.trust.then_some("--trust"))
    }
}

/// A configuration with its warnings.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub config: Config,
    /// In the order of the layers, and within a file in the order of its lines.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Merges the sources over the defaults: user file, repo file, environment, flags.
    pub(crate) fn load(sources: Sources) -> Result<Loaded> {
        let mut loaded = Loaded { config: Self::default(), warnings: vec![] };
        if let Some((path, text)) = &sources.user {
            loaded.lay_file(path, text, Owner::User)?;
        }
        if let Some((path, text)) = &sources.repo {
            loaded.lay_file(path, text, Owner::Repo)?;
        }
        loaded.lay_env(sources.env)?;
        for (key, text) in &sources.resumed {
            loaded.lay_resumed(key, text)?;
        }
        for pair in &sources.set {
            loaded.lay_pair(pair)?;
        }
        for flag in &sources.flags.settings {
            loaded.lay_flag(flag.name, flag.key, &flag.value)?;
        }
        Ok(loaded)
    }

    /// Why ralph ignores a value of the repo's file: it is looser than the current value.
    fn loosened(&self, key: &str, value: &Value) -> Option<String> {
        const REMEDY: &str = "to loosen it, use your own config file or --set";
        let (wanted, now) = (value.view(), self.view(key));
        if key == "sandbox.network.allowed" {
            // The repo may name hosts only if the repo itself restricted the network.
            let own = [key, "sandbox.network.policy"].map(|key| self.held.get(key));
            let own = own.iter().flatten().any(|(_, origin)| matches!(origin, Origin::User(_)));
            return own.then(|| {
                format!("`{key}` is ignored: your own config file sets the allowed hosts; {REMEDY}")
            });
        }
        let is_limit = matches!(wanted, View::Whole(_) | View::Amount(_))
            || ["budget.", "sandbox.limits."].iter().any(|section| key.starts_with(section));
        let how = if is_limit { "lower it" } else { "raise it" };
        self.is_looser(key, value).then(|| {
            format!(
                "`{key} = {wanted}` is ignored: the repo's ralph.toml may only {how} from {now}; {REMEDY}"
            )
        })
    }

    /// Whether a value protects the user less than the current one.
    pub(super) fn is_looser(&self, key: &str, value: &Value) -> bool {
        match (&value.view(), &self.view(key)) {
            (wanted, now) if key.starts_with("budget.") => {
                // An empty value and 0 mean no limit.
                let amount = |view: &View<'_>| match view {
                    View::Amount(usd) => *usd,
                    View::Whole(tokens) => *tokens as f64,
                    View::Text(time) => {
                        super::value::duration(time).unwrap_or_default().as_secs_f64()
                    }
                    View::Bool(_) | View::List(_) => 0.0,
                };
                let (wanted, now) = (amount(wanted), amount(now));
                now > 0.0 && (wanted <= 0.0 || wanted > now)
            }
            (View::Text(wanted), View::Text(now)) if key.starts_with("sandbox.limits.") => {
                let size = |text: &str| super::value::size(text).unwrap_or(u64::MAX);
                size(wanted) > size(now)
            }
            (View::Text(wanted), View::Text(now)) => rank(wanted) < rank(now),
            (View::Whole(wanted), View::Whole(now)) => wanted > now,
            (View::List(wanted), View::List(now)) => wanted != now,
            _ => false,
        }
    }
}

impl Loaded {
    fn lay_file(&mut self, path: &Path, text: &str, owner: Owner) -> Result<()> {
        let read = parse::file(path, text, owner)?;
        let origin = |place| match owner {
            Owner::User => Origin::User(place),
            Owner::Repo => Origin::Repo(place),
        };
        self.warnings.extend(read.warnings);
        for found in read.values {
            if owner == Owner::Repo
                && found.setting.reach == Reach::RaiseOnly
                && let Some(message) = self.config.loosened(&found.key, &found.value)
            {
                self.warnings.push(Warning { message, place: Some(found.place) });
                continue;
            }
            self.config.held.insert(found.key, (found.value, origin(found.place)));
        }
        if let Some((gates, place)) = read.gates {
            self.config.gates = Some((gates, origin(place)));
        }
        Ok(())
    }

    fn lay_env(&mut self, mut env: Vec<(String, String)>) -> Result<()> {
        env.retain(|(name, _)| {
            name.starts_with("RALPH_")
                && !name.starts_with("RALPH_TEST_")
                && !NOT_SETTINGS.contains(&name.as_str())
        });
        if env.is_empty() {
            return Ok(());
        }
        env.sort();
        let known: BTreeMap<String, _> =
            names::keys().map(|(key, setting)| (names::env_name(&key), (key, setting))).collect();
        for (name, text) in env {
            match known.get(&name) {
                // An empty variable counts as unset.
                Some((_, setting)) if text.is_empty() && !setting.admits_empty() => {}
                Some((key, setting)) => {
                    let value = plain(setting, key, &text, &name)?;
                    self.config.held.insert(key.to_string(), (value, Origin::Env(name)));
                }
                None => {
                    if let Some(meant) = names::meant_variable(&name) {
                        let message = format!(
                            "unknown variable `{}`; did you mean `{meant}`?",
                            names::shown(&name)
                        );
                        self.warnings.push(Warning { message, place: None });
                    }
                }
            }
        }
        Ok(())
    }

    fn lay_pair(&mut self, pair: &str) -> Result<()> {
        let Some((key, text)) = pair.split_once('=') else {
            let message = format!("--set takes KEY=VALUE, not {}", Given::Plain(pair));
            return Err(invalid(message).by_usage());
        };
        let key = names::unalias(key.trim());
        self.lay_flag("--set", key, text)
    }

    /// Ignores a recorded setting that is no longer valid: the run continues without it.
    fn lay_resumed(&mut self, key: &str, text: &str) -> Result<()> {
        let Some(setting) = names::find(key) else { return Ok(()) };
        let value = plain(setting, key, text, "the interrupted run")?;
        self.config.held.insert(key.to_owned(), (value, Origin::Resumed));
        Ok(())
    }

    fn lay_flag(&mut self, name: &'static str, key: &str, text: &str) -> Result<()> {
        let Some(setting) = names::find(key) else {
            let mut message = format!("{name}: {}", names::unknown_setting(key));
            if names::meant_setting(key).is_none() {
                message.push_str("; `ralph config defaults` lists them all");
            }
            return Err(invalid(message).by_usage());
        };
        let value = plain(setting, key, text, name).map_err(CliError::by_usage)?;
        self.config.held.insert(key.to_owned(), (value, Origin::Flag(name)));
        Ok(())
    }
}

/// Parses a value from the environment, from a flag or, with an empty `from`, from the argument of a command.
pub(super) fn plain(setting: &Setting, key: &str, text: &str, from: &str) -> Result<Value> {
    let refuse = |message| match from {
        "" => invalid(message),
        from => invalid(format!("{from}: {message}")),
    };
    let listed =
        matches!(setting.kind, SettingKind::List(_) | SettingKind::OrPreset(SettingKind::List(_)));
    let array;
    let given = if listed && text.trim_start().starts_with('[') {
        array = DeValue::parse(text.trim()).map_err(|error| {
            refuse(format!("`{key}` is not a valid TOML list: {}", error.message()))
        })?;
        parse::given(array.get_ref())
    } else if listed && text != "preset" {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        Given::List(items.map(Given::Text).collect())
    } else {
        Given::Plain(text)
    };
    setting.read(&given).map_err(|refusal| refuse(refusal.about(key)))
}

fn rank(level: &str) -> u8 {
    LEVELS.iter().find(|(name, _)| *name == level).map_or(0, |(_, rank)| *rank)
}
