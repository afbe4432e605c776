//! Settings by name, and suggestions for unknown names.

use std::borrow::Cow;

use ralph_core::nearest::nearest;

use super::setting_kind::SettingKind;
use super::settings::{AGENTS, ALIASES, OWN, OWN_EXAMPLE, PLACEHOLDER, SETTINGS, Setting};
use super::value::quoted;

/// Every key with its setting, in the order of [`SETTINGS`], with `<agent>` written out and an example for `<name>`.
pub(super) fn keys() -> impl Iterator<Item = (Cow<'static, str>, &'static Setting)> {
    SETTINGS.iter().flat_map(|setting| {
        let keys: Vec<Cow<'static, str>> = match setting.key.contains(PLACEHOLDER) {
            true => AGENTS.map(|agent| setting.key.replace(PLACEHOLDER, agent).into()).to_vec(),
            false => vec![setting.key.replace(OWN, OWN_EXAMPLE).into()],
        };
        keys.into_iter().map(move |key| (key, setting))
    })
}

pub(super) fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| {
        let wanted = setting.key.split('.');
        wanted.clone().count() == key.split('.').count() && wanted.zip(key.split('.')).all(fits)
    })
}

/// Whether this is a section: other keys begin with it.
pub(super) fn is_section(key: &str) -> bool {
    SETTINGS.iter().any(|setting| {
        let wanted = setting.section().split('.');
        wanted.clone().count() >= key.split('.').count() && wanted.zip(key.split('.')).all(fits)
    })
}

/// The same for a name with such a value: only a table begins the section of an agent that the user describes.
pub(super) fn is_section_of(key: &str, is_table: bool) -> bool {
    let own = key.split_once('.').is_some_and(|(_, name)| may_be_own(name));
    is_section(key) && (is_table || !own)
}

/// The settings of an agent that the user describes, by their last segment.
pub(super) fn of_own_agent() -> impl Iterator<Item = (&'static str, &'static Setting)> {
    let parted =
        SETTINGS.iter().filter_map(|setting| Some((setting.key.rsplit_once('.')?, setting)));
    let own = [PLACEHOLDER, OWN].map(|name| format!("agent.{name}"));
    parted
        .filter(move |((section, _), _)| own.iter().any(|known| known == section))
        .map(|((_, leaf), setting)| (leaf, setting))
}

fn fits((wanted, given): (&str, &str)) -> bool {
    match wanted {
        PLACEHOLDER => AGENTS.contains(&given) || may_be_own(given),
        OWN => may_be_own(given),
        wanted => wanted == given,
    }
}

/// Whether the user's config may describe an agent by this name. A name that is probably a misspelled one of a built-in
/// agent may not.
pub(super) fn may_be_own(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let built_in = || AGENTS.into_iter().chain(["script"]);
    let only_letters = name.chars().all(|c| c.is_ascii_alphabetic());
    // Short names are always near to each other.
    let long = built_in().filter(|known| known.len() > 4 && only_letters);
    !name.is_empty()
        && name.chars().all(plain)
        && !built_in().any(|known| known == name)
        && nearest(name, long, 1).is_empty()
}

/// The key itself, or the one that this older spelling stands for.
pub(super) fn unalias(key: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, key)| key)
}

/// Older spellings of a key.
pub(super) fn aliases(key: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, now)| *now == key).map(|(alias, _)| *alias)
}

/// The words that a setting accepts, if they can be listed. A list accepts them one by one.
pub(crate) fn words_of(key: &str) -> impl Iterator<Item = &'static str> {
    let kind = find(unalias(key)).map(|setting| setting.kind);
    let (kind, preset) = match kind {
        Some(SettingKind::OrPreset(kind)) => (Some(*kind), Some("preset")),
        kind => (kind, None),
    };
    let words: &[&str] = match kind {
        Some(
            SettingKind::Choice(words)
            | SettingKind::Agent(words)
            | SettingKind::List(&SettingKind::Choice(words) | &SettingKind::Agent(words)),
        ) => words,
        Some(SettingKind::Bool) => &["true", "false"],
        Some(SettingKind::CountOrUnlimited) => &["unlimited"],
        _ => &[],
    };
    words.iter().copied().chain(preset)
}

pub(super) fn env_name(key: &str) -> String {
    format!("RALPH_{}", key.replace('.', "_").to_uppercase())
}

/// Settings and sections of earlier or later versions, and why this version does not have them.
const WITHOUT_EFFECT: [(&str, &str); 3] = [
    ("loop.source", "the preset decides where tasks come from"),
    ("loop.prompt", "the preset decides how the agent gets its prompt"),
    ("serve", "this version has no web page"),
];
/// A warning for a name that only another version knows, which is not an error in a file.
pub(super) fn without_effect(key: &str) -> Option<String> {
    let is_meant = |name: &str| {
        key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let (_, why) = WITHOUT_EFFECT.iter().find(|(name, _)| is_meant(name))?;
    Some(format!("`{}` has no effect: {why}", shown(key)))
}

pub(super) fn unknown_setting(key: &str) -> String {
    if let Some(why) = without_effect(key) {
        return why;
    }
    let shown = shown(key);
    match meant_setting(key) {
        Some(meant) => format!("unknown setting `{shown}`; did you mean `{meant}`?"),
        None => format!("unknown setting `{shown}`"),
    }
}

/// The sections in which an unknown name is an error.
const STRICT: [&str; 8] =
    ["budget", "loop", "sandbox", "gates", "gate", "agent", "completion", "git"];

/// Whether an unknown name is an error: it is in such a section, or is itself probably a misspelled one.
pub(super) fn is_strict(key: &str, is_section: bool) -> bool {
    match key.split_once('.') {
        Some((section, _)) => STRICT.contains(&section),
        None => {
            is_section && meant_section(key).is_some_and(|meant| STRICT.contains(&meant.as_str()))
        }
    }
}

pub(super) fn unknown_section(key: &str) -> String {
    let shown = shown(key);
    match meant_section(key) {
        Some(meant) => format!("unknown section `{shown}`; did you mean `{meant}`?"),
        None => format!("unknown section `{shown}`"),
    }
}

/// The setting that the user probably meant. Within a known section only the last segments are compared: the shared
/// prefix would make all keys of the section look similar.
pub(super) fn meant_setting(key: &str) -> Option<String> {
    let (section, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let mut keys: Vec<_> = keys().map(|(key, _)| key).collect();
    keys.extend(keys_of_own(section));
    let parted = || keys.iter().map(|key| key.rsplit_once('.').unwrap_or(("", key.as_ref())));
    let neighbours = parted().filter(|(other, _)| *other == section).map(|(_, leaf)| leaf);
    if let Some(near) = nearest(leaf, neighbours, 1).first() {
        return Some(if section.is_empty() {
            (*near).to_owned()
        } else {
            format!("{section}.{near}")
        });
    }
    // In the wrong section, or in none.
    let leaves = || parted().map(|(_, leaf)| leaf);
    let leaf = if leaves().any(|other| other == leaf) {
        leaf
    } else {
        nearest(leaf, leaves(), 1).first().copied().unwrap_or_default()
    };
    let mut same_leaf = keys.iter().zip(leaves()).filter(|(_, other)| *other == leaf);
    if let (Some((key, _)), None) = (same_leaf.next(), same_leaf.next()) {
        return Some(key.to_string());
    }
    let known_section = section.is_empty() || is_section(section);
    let whole_keys = keys.iter().map(AsRef::as_ref).filter(|_| !known_section);
    nearest(key, whole_keys, 1).first().map(|near| (*near).to_owned())
}

/// The keys of a section about an agent that the user describes; none for any other section.
fn keys_of_own(section: &str) -> Vec<Cow<'static, str>> {
    let Some((_, name)) = section.split_once('.').filter(|(_, name)| may_be_own(name)) else {
        return vec![];
    };
    let own =
        SETTINGS.iter().map(|setting| setting.key.replace(PLACEHOLDER, name).replace(OWN, name));
    own.filter(|key| key.rsplit_once('.').is_some_and(|(of, _)| of == section))
        .map(Cow::from)
        .collect()
}

pub(super) fn meant_variable(name: &str) -> Option<String> {
    // All of them share the prefix, so it is not compared.
    let rest = name.strip_prefix("RALPH_")?;
    let names: Vec<String> = keys().map(|(key, _)| env_name(&key)).collect();
    let rests = names.iter().filter_map(|name| name.strip_prefix("RALPH_"));
    nearest(rest, rests, 1).first().map(|near| format!("RALPH_{near}"))
}

fn meant_section(key: &str) -> Option<String> {
    let sections: Vec<String> = keys()
        .filter_map(|(key, _)| key.rsplit_once('.').map(|(section, _)| section.to_owned()))
        .collect();
    let (above, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let neighbours = sections.iter().filter_map(|section| {
        let (other, leaf) = section.rsplit_once('.').unwrap_or(("", section));
        (other == above).then_some(leaf)
    });
    let near = *nearest(leaf, neighbours, 1).first()?;
    Some(if above.is_empty() { near.to_owned() } else { format!("{above}.{near}") })
}

/// A name out of a file, safe to print.
pub(super) fn shown(key: &str) -> String {
    let quoted = quoted(key);
    quoted[1..quoted.len() - 1].to_owned()
}
