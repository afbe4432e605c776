//! The configuration: which settings exist, who may set them, and their values for this run.
//!
//! | module | owns |
//! |---|---|
//! | `settings` | the table of all settings with kind, default and reach |
//! | `typed` | the types of settings: `config.get(key::LOOP_JOBS)` is a number |
//! | `setting_kind` | which values a setting accepts, and how a refused one is explained |
//! | `value` | values, lengths of time and sizes |
//! | `position` | lines, columns and the excerpt with a caret in an error |
//! | `names` | settings by name, and suggestions for unknown names |
//! | `parse` | one TOML file, read into located values |
//! | `gates` | the `[[gate]]` tables |
//! | `layers` | defaults, files, environment and flags, merged in this order |
//! | `resolved` | the result: every value, and where it comes from |
//! | `presets` | values that the preset decides |
//! | `show` | `ralph config show` and `get` |
//! | `write` | writes settings into a config file |
//! | `reference` | the JSON Schema and the reference page |
//!
//! Nothing here reads a file or the environment: everything comes in as [`Sources`].

mod gates;
mod layers;
mod names;
mod parse;
mod position;
mod presets;
mod reference;
mod resolved;
mod setting_kind;
mod settings;
mod show;
mod typed;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use gates::Gate;
pub use layers::{Flags, Loaded, Sources};
pub(crate) use names::words_of;
pub use position::{ConfigError, FilePosition, Warning};
pub use presets::{PRESETS, Preset, Retries, retry_limit};
pub(crate) use reference::described_keys;
pub use reference::{reference_markdown, schema};
pub use resolved::{Config, Entry, Origin};
pub use setting_kind::SettingKind;
pub use settings::{AGENTS, DEFAULTS, Reach, SETTINGS, Setting, key};
pub(crate) use show::{entry_json, entry_line};
pub use show::{show, show_json};
pub use typed::{Amount, Flag, Key, List, OrPreset, Size, Text, Time, Typed, Whole};
pub use value::{Lit, View, duration};
pub(crate) use write::{known, set, unset};
