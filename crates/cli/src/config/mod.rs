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

#[cfg(test)]
use self::{setting_kind::SettingKind, settings::SETTINGS, value::Lit};
pub(crate) use gates::Gate;
pub(crate) use layers::{Flags, Loaded, Sources};
pub(crate) use names::words_of;
pub(crate) use presets::{PRESETS, Preset, retry_limit};
pub(crate) use reference::{described_keys, reference_markdown, schema};
pub(crate) use resolved::{Config, Origin};
pub(crate) use settings::{DEFAULTS, Reach, Setting, key};
pub(crate) use show::{entry_json, entry_line, show, show_json, show_without_secrets};
pub(crate) use typed::{Key, List, Text};
pub(crate) use value::View;
pub(crate) use write::{known, set, unset};
