//! The values of each preset, for settings that are "preset". A preset is a row of values and nothing else: it has no
//! code of its own.

use super::resolved::Config;
use super::settings::key;
use super::value::View;

/// How often ralph retries a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retries {
    AtMost(u32),
    Unlimited,
}

impl Default for Retries {
    fn default() -> Self {
        Self::AtMost(3)
    }
}

/// The values of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preset {
    pub name: &'static str,
    pub alias: Option<&'static str>,
    /// Where its tasks are: `store` or the kind of a plan file.
    pub source: &'static str,
    pub pick: &'static str,
    pub ends: &'static [&'static str],
    pub commit: &'static str,
    pub on_red: &'static str,
    pub on_exhausted: &'static str,
    /// How the agent gets its prompt: `stdin`, `system` or `argument`.
    pub prompt: &'static str,
    pub max_retries: Retries,
    pub max_iterations: u32,
    pub breaker: u32,
    pub idle: u32,
    pub strategy: &'static str,
    pub timeout: &'static str,
    pub verify: bool,
    pub works_in: &'static str,
    pub auto_pr: bool,
}

pub(crate) const PRESETS: [Preset; 5] = [
    Preset {
        name: "branches",
        source: "branches",
        on_red: "feed",
        on_exhausted: "never",
        max_retries: Retries::Unlimited,
        breaker: 3,
        idle: 2,
        works_in: "worktree",
        auto_pr: true,
        ..USUAL
    },
    Preset {
        name: "progress",
        source: "progress",
        ends: &["finished", "marker"],
        on_red: "feed",
        prompt: "system",
        timeout: "10m",
        ..USUAL
    },
    Preset {
        name: "checklist",
        source: "checklist",
        pick: "agent",
        ends: &["finished", "marker"],
        commit: "session",
        on_exhausted: "stop",
        max_iterations: 10,
        ..USUAL
    },
    Preset {
        name: "dag",
        source: "store",
        prompt: "system",
        strategy: "cost-optimized",
        verify: true,
        ..USUAL
    },
    Preset {
        name: "pick",
        alias: Some("tasks"),
        source: "store",
        pick: "agent",
        on_exhausted: "never",
        prompt: "argument",
        max_retries: Retries::Unlimited,
        ..USUAL
    },
];

/// What most presets say.
const USUAL: Preset = Preset {
    name: "",
    alias: None,
    source: "",
    pick: "loop",
    ends: &["finished"],
    commit: "done",
    on_red: "retry",
    on_exhausted: "fail",
    prompt: "stdin",
    max_retries: Retries::AtMost(3),
    max_iterations: 20,
    breaker: 0,
    idle: 0,
    strategy: "agent",
    timeout: "60m",
    verify: false,
    works_in: "place",
    auto_pr: false,
};

impl Preset {
    /// The preset with this name. `auto` is none: the plan decides.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name || preset.alias == Some(name))
    }

    /// Its value for a setting that is "preset"; `None` for a setting that no preset decides.
    pub(super) fn value_of(&self, name: &str) -> Option<View<'static>> {
        let whole = |value: u32| View::Whole(value.into());
        let retries = match self.max_retries {
            Retries::AtMost(most) => whole(most),
            Retries::Unlimited => View::Text("unlimited"),
        };
        let values = [
            (key::LOOP_MAX_ITERATIONS.name(), whole(self.max_iterations)),
            (key::LOOP_MAX_RETRIES.name(), retries),
            (key::LOOP_MAX_CONSECUTIVE_ERRORS.name(), whole(self.breaker)),
            (key::LOOP_IDLE_THRESHOLD.name(), whole(self.idle)),
            (key::LOOP_VERIFY.name(), View::Bool(self.verify)),
            (key::LOOP_COMMIT.name(), View::Text(self.commit)),
            (key::LOOP_ON_RED.name(), View::Text(self.on_red)),
            (key::LOOP_ON_EXHAUSTED.name(), View::Text(self.on_exhausted)),
            (key::LOOP_PICK.name(), View::Text(self.pick)),
            (key::LOOP_ENDS_WHEN.name(), View::List(self.ends.to_vec())),
            (key::LOOP_WORKS_IN.name(), View::Text(self.works_in)),
            (key::AGENT_TIMEOUT.name(), View::Text(self.timeout)),
            (key::MODELS_STRATEGY.name(), View::Text(self.strategy)),
            (key::GIT_AUTO_PR.name(), View::Bool(self.auto_pr)),
        ];
        values.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// How often ralph retries a task: `loop.max_retries`, or the preset's value. `auto` counts as `dag`, which is the
/// default preset for the task database.
pub(crate) fn retry_limit(config: &Config) -> Retries {
    let by_preset = || Preset::named(config.get(key::PRESET)).map(|preset| preset.max_retries);
    config.get(key::LOOP_MAX_RETRIES).or_else(by_preset).unwrap_or_default()
}
