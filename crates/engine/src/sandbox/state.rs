//! The files that an agent keeps in the user's home. Each session gets its own folder: it sees the user's settings
//! read-only, and a copy of the login, which ralph copies back when the agent has renewed it. So nothing that a
//! session leaves there (a hook, a command, a setting) ever runs outside a sandbox.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::environment::folder;
use crate::ports::Bind;
use crate::project::{private_folder, write_privately, write_through};
use crate::untrusted;

const LONGEST: u64 = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentState {
    /// The folder below the home.
    pub folder: &'static str,
    /// The variable that names another one.
    pub variable: &'static str,
    /// The variable names the folder around it, as `XDG_DATA_HOME` does.
    pub names_parent: bool,
    /// The user's settings: shown read-only.
    pub settings: &'static [&'static str],
    /// Files that a verifier has instead of the user's, for an agent that takes from files only what keeps the judged
    /// tree from it. JSON is laid over that of the user.
    pub judging: &'static [(&'static str, &'static str)],
    /// Logins in that folder: copied in, and copied back when they are newer.
    pub logins: &'static [&'static str],
    /// A file beside the folder, which belongs into it where the variable is set.
    pub beside: &'static str,
    /// Where the agent reaches its model and its login, unless a variable says otherwise.
    pub endpoint: (&'static str, &'static [&'static str]),
}

impl AgentState {
    /// An agent that keeps nothing and reaches nothing.
    pub const NONE: Self = Self {
        folder: "",
        variable: "",
        names_parent: false,
        settings: &[],
        judging: &[],
        logins: &[],
        beside: "",
        endpoint: ("", &[]),
    };

    /// The agent's folder outside a sandbox; `None` for an agent that keeps nothing.
    pub fn real_folder(
        &self,
        environment: &[(OsString, OsString)],
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        if self.folder.is_empty() {
            return None;
        }
        if !self.names_parent {
            return folder(environment, self.variable, home, self.folder);
        }
        let above = Path::new(self.folder).parent().unwrap_or(Path::new(""));
        let above = folder(environment, self.variable, home, &above.to_string_lossy())?;
        Some(above.join(self.name()))
    }

    /// The folder without those around it.
    fn name(&self) -> &'static str {
        self.folder.rsplit('/').next().unwrap_or(self.folder)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnState {
    what: AgentState,
    real: PathBuf,
    own: PathBuf,
    /// It is that of a verifier.
    judges: bool,
}

impl OwnState {
    /// `None` for an agent that keeps nothing.
    pub(super) fn new(
        what: AgentState,
        caches: &Path,
        home: Option<&Path>,
        environment: &[(OsString, OsString)],
    ) -> Option<Self> {
        let real = what.real_folder(environment, home)?;
        let own = caches.join("agents").join(what.folder.trim_start_matches('.').replace('/', "-"));
        let own = if what.names_parent { own.join(what.name()) } else { own };
        Some(Self { what, real, own, judges: false })
    }

    pub(super) fn of_verifier(self) -> Self {
        Self { judges: true, ..self }
    }

    /// Makes the folder, and copies into it what the agent needs to be logged in.
    pub(super) fn copy_in(&self) -> io::Result<()> {
        private_folder(&self.own)?;
        // A session may have changed its mode, which would lock out later ones.
        std::fs::set_permissions(&self.own, std::fs::Permissions::from_mode(0o700))?;
        for (from, to) in self.copied() {
            if is_newer(&from, &to)
                && let Some(text) = read_plainly(&from)
            {
                write_privately(&to, &text)?;
            }
        }
        for (name, text) in self.judging() {
            let (real, own) = (self.real.join(name), self.own.join(name));
            private_folder(own.parent().unwrap_or(&self.own))?;
            let of_user = read_plainly(&real).unwrap_or_default();
            write_privately(&own, &laid_over(&of_user, text))?;
        }
        Ok(())
    }

    fn judging(&self) -> &'static [(&'static str, &'static str)] {
        if self.judges { self.what.judging } else { &[] }
    }

    pub(super) fn take_back(&self) -> io::Result<()> {
        for name in self.what.logins {
            let (real, own) = (self.real.join(name), self.own.join(name));
            let renewed = real.is_file() && is_newer(&own, &real);
            let Some(text) = renewed.then(|| read_plainly(&own)).flatten() else { continue };
            let is_login = serde_json::from_str::<serde_json::Map<_, _>>(&text).is_ok();
            if is_login && read_plainly(&real).as_ref() != Some(&text) {
                // Some users keep it elsewhere, behind a link.
                write_through(&real, &text, 0o600)?;
            }
        }
        Ok(())
    }

    fn copied(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let logins =
            self.what.logins.iter().map(|name| (self.real.join(name), self.own.join(name)));
        let beside = Some(self.what.beside).filter(|name| !name.is_empty());
        let beside = beside.and_then(|name| {
            let inside = self.real.join(name);
            let from = if inside.exists() { inside } else { self.real.parent()?.join(name) };
            Some((from, self.own.join(name)))
        });
        logins.chain(beside)
    }

    pub(super) fn binds(&self) -> Vec<Bind> {
        // Without a variable that names another place, the agent looks only in the usual one.
        let place = if self.what.variable.is_empty() { &self.real } else { &self.own };
        let mut all = vec![Bind::writable(&self.own).at(place)];
        let replaced =
            |name: &str| self.judging().iter().any(|(own, _)| Path::new(own).starts_with(name));
        let settings = self.what.settings.iter().filter(|name| !replaced(name));
        let settings = settings.map(|name| (self.real.join(name), name));
        let there = settings.filter(|(path, _)| path.exists());
        all.extend(there.map(|(path, name)| Bind::readable(path).at(place.join(name))));
        all
    }

    pub(super) fn environment(&self) -> Option<(OsString, OsString)> {
        let variable = Some(self.what.variable).filter(|variable| !variable.is_empty())?;
        let above = self.own.parent().filter(|_| self.what.names_parent);
        Some((variable.into(), above.unwrap_or(&self.own).into()))
    }
}

/// One JSON object over another: a field of both is that of the upper one, down to the last level. Any other text
/// replaces the lower one.
fn laid_over(lower: &str, upper: &str) -> String {
    fn lay(lower: &mut Value, upper: Value) {
        match (lower, upper) {
            (Value::Object(lower), Value::Object(upper)) => {
                for (name, value) in upper {
                    lay(lower.entry(name).or_insert(Value::Null), value);
                }
            }
            (lower, upper) => *lower = upper,
        }
    }
    let Ok(upper) = serde_json::from_str::<Value>(upper) else { return upper.to_owned() };
    let mut whole = serde_json::from_str(lower).unwrap_or(Value::Null);
    lay(&mut whole, upper);
    whole.to_string()
}

fn is_newer(one: &Path, other: &Path) -> bool {
    let changed =
        |path: &Path| path.symlink_metadata().ok().map(|found| (found.mtime(), found.mtime_nsec()));
    changed(one).is_some() && changed(one) > changed(other)
}

/// The text of a file that a session may have replaced by anything.
fn read_plainly(path: &Path) -> Option<String> {
    String::from_utf8(untrusted::read_own(path, LONGEST).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: AgentState = AgentState {
        folder: ".agent",
        variable: "AGENT_HOME",
        names_parent: false,
        settings: &["settings.json", "commands"],
        judging: &[
            ("settings.json", r#"{"hooks":{"on":false}}"#),
            ("policies/own.toml", "x = 1\n"),
        ],
        logins: &["login.json"],
        beside: ".agent.json",
        endpoint: ("", &[]),
    };

    #[test]
    fn a_login_goes_in_and_comes_back_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let real = home.join(".agent");
        std::fs::create_dir_all(&real).unwrap();
        std::fs::write(real.join("login.json"), "{\"a\":1}").unwrap();
        std::fs::write(real.join("settings.json"), "{}").unwrap();
        std::fs::write(home.join(".agent.json"), "{\"b\":1}").unwrap();
        let state = OwnState::new(WHAT, &home.join("cache"), Some(home), &[]).unwrap();
        state.copy_in().unwrap();
        let own = home.join("cache/agents/agent");
        assert_eq!(std::fs::read_to_string(own.join("login.json")).unwrap(), "{\"a\":1}");
        assert_eq!(std::fs::read_to_string(own.join(".agent.json")).unwrap(), "{\"b\":1}");
        assert_eq!(state.binds().len(), 2);
        std::fs::write(own.join("login.json"), "{\"a\":2}").unwrap();
        std::fs::write(own.join("settings.local.json"), "evil").unwrap();
        state.take_back().unwrap();
        assert_eq!(std::fs::read_to_string(real.join("login.json")).unwrap(), "{\"a\":2}");
        assert!(!real.join("settings.local.json").exists());
    }

    #[test]
    fn a_folder_that_a_session_locked_is_opened_again() {
        let home = tempfile::tempdir().unwrap();
        let state =
            OwnState::new(WHAT, &home.path().join("cache"), Some(home.path()), &[]).unwrap();
        state.copy_in().unwrap();
        let own = home.path().join("cache/agents/agent");
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o000)).unwrap();
        state.copy_in().unwrap();
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_variable_may_name_the_folder_around() {
        let home = Path::new("/home/user");
        let below = AgentState { folder: ".local/share/agent", names_parent: true, ..WHAT };
        let state = OwnState::new(below, Path::new("/cache"), Some(home), &[]).unwrap();
        assert_eq!(state.real, home.join(".local/share/agent"));
        assert_eq!(state.own, Path::new("/cache/agents/local-share-agent/agent"));
        assert_eq!(state.environment().unwrap().1, "/cache/agents/local-share-agent");
        let set = [("AGENT_HOME".into(), "/elsewhere".into())];
        assert_eq!(below.real_folder(&set, Some(home)), Some("/elsewhere/agent".into()));
        let top = AgentState { folder: ".agent", names_parent: true, ..WHAT };
        let state = OwnState::new(top, Path::new("/cache"), Some(home), &[]).unwrap();
        assert_eq!(
            (state.real.as_path(), state.environment().unwrap().1),
            (home.join(".agent").as_path(), "/cache/agents/agent".into())
        );
    }

    #[test]
    fn a_verifier_has_settings_of_its_own_over_those_of_the_user() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let real = home.join(".agent");
        std::fs::create_dir_all(real.join("commands")).unwrap();
        std::fs::write(real.join("settings.json"), r#"{"a":1,"hooks":{"on":true,"b":2}}"#).unwrap();
        let state = OwnState::new(WHAT, &home.join("cache"), Some(home), &[]).unwrap();
        state.copy_in().unwrap();
        let own = home.join("cache/agents/agent");
        assert!(!own.join("settings.json").exists() && state.binds().len() == 3);
        let state = state.of_verifier();
        state.copy_in().unwrap();
        let read = |name: &str| std::fs::read_to_string(own.join(name)).unwrap();
        let settings: Value = serde_json::from_str(&read("settings.json")).unwrap();
        assert_eq!(settings, serde_json::json!({"a": 1, "hooks": {"on": false, "b": 2}}));
        assert_eq!(read("policies/own.toml"), "x = 1\n");
        assert_eq!(state.binds().len(), 2, "not the user's settings");
        assert_eq!(laid_over("// no JSON", r#"{"a":1}"#), r#"{"a":1}"#);
    }

    #[test]
    fn what_is_no_login_is_not_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        std::fs::create_dir_all(home.join(".agent")).unwrap();
        let real = home.join(".agent/login.json");
        std::fs::write(&real, "{}").unwrap();
        let state = OwnState::new(WHAT, &home.join("cache"), Some(home), &[]).unwrap();
        state.copy_in().unwrap();
        let own = home.join("cache/agents/agent/login.json");
        std::fs::write(&own, "no JSON").unwrap();
        state.take_back().unwrap();
        std::fs::remove_file(&own).unwrap();
        std::fs::write(home.join("other"), "{\"stolen\":1}").unwrap();
        std::os::unix::fs::symlink(home.join("other"), &own).unwrap();
        state.take_back().unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "{}");
    }
}
