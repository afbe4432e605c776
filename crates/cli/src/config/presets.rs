//! The values of each preset, for settings that are "preset". A preset is a row of values and nothing else: it has no
//! code of its own.

use super::resolved::Config;
use super::settings::key;

/// How often ralph retries a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// This many times.
    AtMost(u32),
    /// Without a limit.
    Unlimited,
}

impl Default for Retries {
    fn default() -> Self {
        Self::AtMost(3)
    }
}

/// The values of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Another name for it.
    pub alias: Option<&'static str>,
    /// Where its tasks are: `store` or the kind of a plan file.
    pub source: &'static str,
    /// `loop.pick`.
    pub pick: &'static str,
    /// `loop.ends_when`.
    pub ends: &'static [&'static str],
    /// `loop.commit`.
    pub commit: &'static str,
    /// `loop.on_red`.
    pub on_red: &'static str,
    /// `loop.on_exhausted`.
    pub on_exhausted: &'static str,
    /// How the agent gets its prompt: `stdin`, `system` or `argument`.
    pub prompt: &'static str,
    /// `loop.max_retries`.
    pub max_retries: Retries,
    /// `loop.max_iterations`.
    pub max_iterations: u32,
    /// `loop.max_consecutive_errors`.
    pub breaker: u32,
    /// `loop.idle_threshold`.
    pub idle: u32,
    /// `models.strategy`.
    pub strategy: &'static str,
    /// `agent.timeout`.
    pub timeout: &'static str,
    /// `loop.verify`.
    pub verify: bool,
}

/// All presets.
pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "branches",
        alias: None,
        source: "branches",
        pick: "loop",
        ends: &["finished"],
        commit: "done",
        on_red: "feed",
        on_exhausted: "never",
        prompt: "stdin",
        max_retries: Retries::Unlimited,
        max_iterations: 20,
        breaker: 3,
        idle: 2,
        strategy: "agent",
        timeout: "60m",
        verify: false,
    },
    Preset {
        name: "progress",
        alias: None,
        source: "progress",
        pick: "loop",
        ends: &["finished", "marker"],
        commit: "done",
        on_red: "feed",
        on_exhausted: "fail",
        prompt: "system",
        max_retries: Retries::AtMost(3),
        max_iterations: 20,
        breaker: 0,
        idle: 0,
        strategy: "agent",
        timeout: "10m",
        verify: false,
    },
    Preset {
        name: "checklist",
        alias: None,
        source: "checklist",
        pick: "agent",
        ends: &["finished", "marker"],
        commit: "session",
        on_red: "retry",
        on_exhausted: "stop",
        prompt: "stdin",
        max_retries: Retries::AtMost(3),
        max_iterations: 10,
        breaker: 0,
        idle: 0,
        strategy: "agent",
        timeout: "60m",
        verify: false,
    },
    Preset {
        name: "dag",
        alias: None,
        source: "store",
        pick: "loop",
        ends: &["finished"],
        commit: "done",
        on_red: "retry",
        on_exhausted: "fail",
        prompt: "system",
        max_retries: Retries::AtMost(3),
        max_iterations: 20,
        breaker: 0,
        idle: 0,
        strategy: "cost-optimized",
        timeout: "60m",
        verify: true,
    },
    Preset {
        name: "pick",
        alias: Some("tasks"),
        source: "store",
        pick: "agent",
        ends: &["finished"],
        commit: "done",
        on_red: "retry",
        on_exhausted: "never",
        prompt: "argument",
        max_retries: Retries::Unlimited,
        max_iterations: 20,
        breaker: 0,
        idle: 0,
        strategy: "agent",
        timeout: "60m",
        verify: false,
    },
];

impl Preset {
    /// The preset with this name. `auto` is none: the plan decides.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name || preset.alias == Some(name))
    }
}

/// How often ralph retries a task: `loop.max_retries`, or the preset's value. `auto` counts as `dag`, which is the
/// default preset for the task database.
pub fn retry_limit(config: &Config) -> Retries {
    let by_preset = || Preset::named(config.get(key::PRESET)).map(|preset| preset.max_retries);
    config.get(key::LOOP_MAX_RETRIES).or_else(by_preset).unwrap_or_default()
}
