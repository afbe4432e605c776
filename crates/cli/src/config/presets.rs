//! The values of each preset, for settings that are "preset". A preset is a row of values and nothing else: it has no
//! code of its own.

use ralph_core::task::RetryLimit;

use super::resolved::Config;
use super::settings::key;
use super::typed::{Key, OrPreset, Typed};
use super::value::Lit::{Bool, List, Text, Whole};
use super::value::{Lit, View};

/// The values of a preset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Preset {
    pub name: &'static str,
    /// Where its tasks are: `store` or the kind of a plan file.
    pub source: &'static str,
    /// How the agent gets its prompt: `stdin`, `system` or `argument`.
    pub prompt: &'static str,
    /// The loop works through a task graph by itself.
    pub graph: bool,
    /// Its values for settings that are "preset", if they are not the usual ones.
    values: &'static [(&'static str, Lit)],
}

pub(crate) const PRESETS: [Preset; 5] = [
    Preset {
        name: "branches",
        source: "branches",
        prompt: "stdin",
        graph: false,
        values: &[
            (key::LOOP_ON_RED.name(), Text("feed")),
            (key::LOOP_ON_EXHAUSTED.name(), Text("never")),
            (key::LOOP_MAX_RETRIES.name(), Text("unlimited")),
            (key::LOOP_MAX_CONSECUTIVE_ERRORS.name(), Whole(3)),
            (key::LOOP_IDLE_THRESHOLD.name(), Whole(2)),
            (key::LOOP_WORKS_IN.name(), Text("worktree")),
            (key::GIT_AUTO_PR.name(), Bool(true)),
        ],
    },
    Preset {
        name: "progress",
        source: "progress",
        prompt: "system",
        graph: false,
        values: &[
            (key::LOOP_ENDS_WHEN.name(), List(&["finished", "marker"])),
            (key::LOOP_ON_RED.name(), Text("feed")),
            (key::AGENT_TIMEOUT.name(), Text("10m")),
        ],
    },
    Preset {
        name: "checklist",
        source: "checklist",
        prompt: "stdin",
        graph: false,
        values: &[
            (key::LOOP_PICK.name(), Text("agent")),
            (key::LOOP_ENDS_WHEN.name(), List(&["finished", "marker"])),
            (key::LOOP_COMMIT.name(), Text("session")),
            (key::LOOP_ON_EXHAUSTED.name(), Text("stop")),
            (key::LOOP_MAX_ITERATIONS.name(), Whole(10)),
        ],
    },
    Preset {
        name: "dag",
        source: "store",
        prompt: "system",
        graph: true,
        values: &[
            (key::MODELS_STRATEGY.name(), Text("cost-optimized")),
            (key::LOOP_VERIFY.name(), Bool(true)),
        ],
    },
    Preset {
        name: "pick",
        source: "store",
        prompt: "argument",
        graph: false,
        values: &[
            (key::LOOP_PICK.name(), Text("agent")),
            (key::LOOP_ON_EXHAUSTED.name(), Text("never")),
            (key::LOOP_MAX_RETRIES.name(), Text("unlimited")),
        ],
    },
];

/// The values of presets that say nothing else.
const USUAL: [(&str, Lit); 14] = [
    (key::LOOP_PICK.name(), Text("loop")),
    (key::LOOP_ENDS_WHEN.name(), List(&["finished"])),
    (key::LOOP_COMMIT.name(), Text("done")),
    (key::LOOP_ON_RED.name(), Text("retry")),
    (key::LOOP_ON_EXHAUSTED.name(), Text("fail")),
    (key::LOOP_MAX_RETRIES.name(), Whole(3)),
    (key::LOOP_MAX_ITERATIONS.name(), Whole(20)),
    (key::LOOP_MAX_CONSECUTIVE_ERRORS.name(), Whole(0)),
    (key::LOOP_IDLE_THRESHOLD.name(), Whole(0)),
    (key::MODELS_STRATEGY.name(), Text("agent")),
    (key::AGENT_TIMEOUT.name(), Text("60m")),
    (key::LOOP_VERIFY.name(), Bool(false)),
    (key::LOOP_WORKS_IN.name(), Text("place")),
    (key::GIT_AUTO_PR.name(), Bool(false)),
];

impl Preset {
    /// The preset with this name, or with its older one. `auto` is none: the plan decides.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = if name == "tasks" { "pick" } else { name };
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Its value for a setting that is "preset"; `None` for a setting that no preset decides.
    pub(super) fn value_of(&self, name: &str) -> Option<View<'static>> {
        let mut values = self.values.iter().chain(&USUAL);
        values.find(|(known, _)| *known == name).map(|(_, value)| value.view())
    }

    /// The same, as the row of the setting types it.
    pub(crate) fn get<T: Typed>(&self, key: Key<OrPreset<T>>) -> T::Value<'static> {
        self.value_of(key.name()).and_then(T::read).unwrap_or_default()
    }
}

/// How often ralph retries a task: `loop.max_retries`, or the preset's value. `auto` counts as `dag`, which is the
/// default preset for the task database.
pub(crate) fn retry_limit(config: &Config) -> RetryLimit {
    let preset = || Preset::named(config.get(key::PRESET));
    let by_preset = || Some(preset()?.get(key::LOOP_MAX_RETRIES));
    config.get(key::LOOP_MAX_RETRIES).or_else(by_preset).unwrap_or_default()
}
