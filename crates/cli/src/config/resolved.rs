//! The configuration of one run: every value, and where it comes from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::gates::Gate;
use super::names;
use super::position::FilePosition;
use super::presets::Preset;
use super::settings::{OWN, PLACEHOLDER, Reach, key};
use super::typed::{Key, List, OrPreset, Typed};
use super::value::{Given, Value, View};

/// Where a value comes from. Displays as the place where you can change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// It is not set, or set to "preset": this preset decides.
    Preset(&'static str),
    User(FilePosition),
    Repo(FilePosition),
    Env(String),
    /// A flag of the interrupted run that this one resumes.
    Resumed,
    Flag(&'static str),
}

impl Origin {
    pub(crate) const fn layer(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Preset(_) => "preset",
            Self::User(_) => "user",
            Self::Repo(_) => "repo",
            Self::Env(_) => "env",
            Self::Resumed => "resumed",
            Self::Flag(_) => "flag",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::User(place) | Self::Repo(place) => {
                write!(f, "{}:{}", place.path.display(), place.line)
            }
            Self::Env(name) => f.write_str(name),
            Self::Resumed => f.write_str("the interrupted run"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    /// Only values that are set: defaults stay in the table.
    pub(super) held: BTreeMap<String, (Value, Origin)>,
    pub(super) gates: Option<(Vec<Gate>, Origin)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    /// The key, with the agent's name in it where the table has `<agent>`.
    pub key: Cow<'static, str>,
    pub value: View<'a>,
    pub origin: Origin,
}

impl Config {
    /// The value of a setting. An unknown key is a mistake in ralph, and reads as empty text.
    pub(crate) fn view(&self, key: &str) -> View<'_> {
        if let Some((value, _)) = self.held.get(key) {
            return value.view();
        }
        let setting = names::find(key);
        debug_assert!(setting.is_some(), "{key} is not a setting");
        setting.map_or(View::Text(""), |setting| setting.default.view())
    }

    pub(crate) fn get<T: Typed>(&self, key: Key<T>) -> T::Value<'_> {
        self.read::<T>(key.name())
    }

    /// The value of a setting that the preset decides unless the user does.
    pub(crate) fn or_preset<T: Typed>(
        &self,
        key: Key<OrPreset<T>>,
        preset: &Preset,
    ) -> T::Value<'_> {
        let set = Some(self.view(key.name())).filter(|set| *set != View::Text("preset"));
        set.or_else(|| preset.value_of(key.name())).and_then(T::read).unwrap_or_default()
    }

    /// The items of a list.
    pub(crate) fn texts(&self, key: Key<List>) -> Vec<String> {
        self.get(key).into_iter().map(str::to_owned).collect()
    }

    /// The value of a setting that each of [`AGENTS`](super::settings::AGENTS) has.
    pub(crate) fn get_for<T: Typed>(&self, key: Key<T>, agent: &str) -> T::Value<'_> {
        self.read::<T>(&key.name().replace(PLACEHOLDER, agent).replace(OWN, agent))
    }

    fn read<T: Typed>(&self, name: &str) -> T::Value<'_> {
        let value = T::read(self.view(name));
        debug_assert!(value.is_some(), "{name} is read as another kind");
        value.unwrap_or_default()
    }

    /// The gates, in the order in which they run.
    pub(crate) fn gates(&self) -> &[Gate] {
        self.gates.as_ref().map_or(&[], |(gates, _)| gates)
    }

    pub(crate) fn gates_origin(&self) -> &Origin {
        self.gates.as_ref().map_or(&Origin::Default, |(_, origin)| origin)
    }

    pub(crate) fn origin<T>(&self, key: Key<T>) -> &Origin {
        self.origin_of(key.name())
    }

    fn origin_of(&self, name: &str) -> &Origin {
        debug_assert!(names::find(name).is_some(), "{name} is not a setting");
        self.held.get(name).map_or(&Origin::Default, |(_, origin)| origin)
    }

    pub(crate) fn is_set<T>(&self, key: Key<T>) -> bool {
        *self.origin(key) != Origin::Default
    }

    /// Whether a flag of this call sets it.
    pub(crate) fn by_flag<T>(&self, key: Key<T>) -> bool {
        matches!(self.origin(key), Origin::Flag(_))
    }

    /// The settings from the flags of this call, or of the run that it resumes; written as for `--set`.
    pub(crate) fn asked_for(&self) -> BTreeMap<String, String> {
        let asked = |origin: &Origin| matches!(origin, Origin::Flag(_) | Origin::Resumed);
        let asked = self.held.iter().filter(|(_, (_, origin))| asked(origin));
        asked.map(|(key, (value, _))| (key.clone(), value.view().plain())).collect()
    }

    /// Why ralph ignores a setting of an interrupted run: no reason if a flag of this call overrides it, and a sentence
    /// if it would loosen the user's protection. `trusted`: no session could write the record.
    pub(crate) fn refuses_resumed(
        &self,
        key: &str,
        text: &str,
        trusted: bool,
    ) -> Option<Option<String>> {
        if matches!(self.origin_of(key), Origin::Flag(_)) {
            return Some(None);
        }
        let again = || {
            format!(
                "`{key} = {text}` of the interrupted run is ignored; to use it again: --set {key}={text}"
            )
        };
        match names::find(key) {
            None => Some(Some(format!("`{key}` of the interrupted run is no longer a setting"))),
            Some(setting) if setting.reach == Reach::UserOnly => Some(Some(again())),
            // A session must not choose the program that runs; a recording runs nothing outside of its session.
            Some(setting)
                if !trusted
                    && setting.reach == Reach::Program
                    && key != key::AGENT_SCRIPT_PATH.name() =>
            {
                Some(Some(again()))
            }
            Some(setting) if setting.reach == Reach::RaiseOnly => {
                let value = setting.read(&Given::Plain(text));
                let looser = value.map_or(true, |value| self.is_looser(key, &value));
                looser.then(|| Some(again()))
            }
            Some(_) => None,
        }
    }

    /// Every setting with its value, in the order of the table.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let listed = names::keys().map(|(key, _)| key);
        listed.chain(self.of_own_agents()).map(|key| {
            let value = self.view(&key);
            let origin = self.origin_of(&key).clone();
            Entry { key, value, origin }
        })
    }

    /// The same for a run with this preset: a setting that is "preset" has its value.
    pub(crate) fn entries_with(&self, preset: &'static Preset) -> impl Iterator<Item = Entry<'_>> {
        let listed = names::keys().map(|(key, _)| key);
        listed.chain(self.of_own_agents()).map(move |key| self.entry_with(key, preset))
    }

    /// The names of the agents that the user describes.
    pub(crate) fn own_agents(&self) -> Vec<String> {
        let name = |key: &String| {
            let name = key.strip_prefix("agent.")?.strip_suffix(".path")?;
            names::may_be_own(name).then(|| name.to_owned())
        };
        self.held.keys().filter_map(name).collect()
    }

    /// The keys that are set of agents that the user describes.
    fn of_own_agents(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let unlisted = |key: &&String| names::keys().all(|(listed, _)| listed != ***key);
        let keys: Vec<_> = self.held.keys().filter(unlisted).cloned().collect();
        keys.into_iter().map(Cow::from)
    }

    pub(crate) fn entry_with(&self, key: Cow<'static, str>, preset: &'static Preset) -> Entry<'_> {
        let value = self.view(&key);
        if value == View::Text("preset")
            && let Some(value) = preset.value_of(&key)
        {
            // Tasks of the task database that run in parallel need a worktree each.
            let apart = key == key::LOOP_WORKS_IN.name()
                && preset.name == "dag"
                && self.get(key::LOOP_JOBS) > 1;
            let value = if apart { View::Text("worktree") } else { value };
            return Entry { key, value, origin: Origin::Preset(preset.name) };
        }
        let origin = self.origin_of(&key).clone();
        Entry { key, value, origin }
    }
}
