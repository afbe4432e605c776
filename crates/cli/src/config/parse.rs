//! Parses one TOML file into values with their places.

use std::ops::Range;
use std::path::{Component, Path};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::gates::{self, Gate};
use super::names;
use super::position::{FilePosition, Source, Warning};
use super::settings::{Reach, Setting};
use super::value::{Given, Value, quoted};
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    Repo,
}

#[derive(Debug, Default)]
pub(super) struct FileValues {
    pub(super) values: Vec<Located>,
    /// The gates and where the first of them is.
    pub(super) gates: Option<(Vec<Gate>, FilePosition)>,
    pub(super) warnings: Vec<Warning>,
}

#[derive(Debug)]
pub(super) struct Located {
    pub(super) key: String,
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) place: FilePosition,
}

/// Reads a file. The first error in the order of the lines is reported.
pub(super) fn file(path: &Path, text: &str, owner: Owner) -> Result<FileValues> {
    let source = Source::new(path, text);
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        source.error(&span, format!("this is not valid TOML: {}", error.message()))
    })?;
    let mut found = ParsedSettings::default();
    collect(table.get_ref(), "", &mut found);
    // Tables are sorted by name, but errors are reported from the top of the file.
    found.leaves.sort_by_key(|leaf| leaf.key_span.start);

    let mut read = FileValues::default();
    found.strangers.sort_by_key(|stranger| stranger.span.start);
    for Stranger { span, message, strict } in found.strangers {
        // If a setting protects money, work or trust, a typo must not switch it off.
        if strict {
            return Err(source.error(&span, message));
        }
        read.warnings.push(source.warning(&span, message));
    }
    for leaf in found.leaves {
        match &leaf.target {
            Target::Setting { key, setting } => {
                if read.values.iter().any(|earlier| earlier.key == *key) {
                    let message = format!("`{key}` is set twice, under both of its names");
                    return Err(source.error(&leaf.key_span, message));
                }
                let value = setting_value(&source, &leaf, key, setting, owner)?;
                let place = source.place(leaf.value.span().start);
                read.values.push(Located { key: key.clone(), setting, value, place });
            }
            Target::Section(key) => {
                let got = given(leaf.value.get_ref());
                let message = format!("`{key}` must be a section such as [{key}], not {got}");
                return Err(source.error(&leaf.value.span(), message));
            }
            Target::Gates => {
                let gates = gates::read(&source, leaf.value)?;
                read.gates = Some((gates, source.place(leaf.key_span.start)));
            }
        }
    }
    read.warnings.sort_by_key(|warning| warning.place.as_ref().map(|at| (at.line, at.column)));
    Ok(read)
}

/// The value as a setting's kind reads it.
pub(super) fn given<'a>(value: &'a DeValue<'_>) -> Given<'a> {
    match value {
        DeValue::String(text) => Given::Text(text),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Given::Whole(number),
            Err(_) => Given::Other("a number as large as that"),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Given::Amount(number),
            Err(_) => Given::Other("a number like that"),
        },
        DeValue::Boolean(value) => Given::Bool(*value),
        DeValue::Datetime(_) => Given::Other("a date"),
        DeValue::Array(items) => {
            Given::List(items.iter().map(|item| given(item.get_ref())).collect())
        }
        DeValue::Table(_) => Given::Other("a table"),
    }
}

#[derive(Default)]
struct ParsedSettings<'a, 'i> {
    leaves: Vec<Leaf<'a, 'i>>,
    strangers: Vec<Stranger>,
}

/// A name that ralph does not know.
struct Stranger {
    span: Range<usize>,
    message: String,
    /// It is an error and not a warning.
    strict: bool,
}

struct Leaf<'a, 'i> {
    target: Target,
    key_span: Range<usize>,
    value: &'a Spanned<DeValue<'i>>,
}

enum Target {
    Setting {
        key: String,
        setting: &'static Setting,
    },
    /// A section whose value is not a table.
    Section(String),
    Gates,
}

fn collect<'a, 'i>(table: &'a DeTable<'i>, section: &str, found: &mut ParsedSettings<'a, 'i>) {
    for (name, value) in table {
        let key_span = name.span();
        let name: &str = name.get_ref();
        let full = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
        // A quoted name may contain a dot, and must not be read as a dotted key.
        let whole = !name.contains('.');
        let key = names::unalias(&full);
        if full == "gate" {
            found.leaves.push(Leaf { target: Target::Gates, key_span, value });
        } else if let Some(setting) = names::find(key).filter(|_| whole) {
            let target = Target::Setting { key: key.to_owned(), setting };
            found.leaves.push(Leaf { target, key_span, value });
        } else if names::is_section_of(&full, matches!(value.get_ref(), DeValue::Table(_))) && whole
        {
            match value.get_ref() {
                DeValue::Table(inner) => collect(inner, &full, found),
                _ => found.leaves.push(Leaf { target: Target::Section(full), key_span, value }),
            }
        } else {
            let is_section = matches!(value.get_ref(), DeValue::Table(_));
            let (message, strict) = match names::without_effect(&full) {
                _ if !whole => (format!("unknown setting `{}`", quoted(name)), false),
                Some(why) => (why, false),
                None if is_section => {
                    (names::unknown_section(&full), names::is_strict(&full, is_section))
                }
                None => (names::unknown_setting(&full), names::is_strict(&full, is_section)),
            };
            found.strangers.push(Stranger { span: key_span, message, strict });
        }
    }
}

fn setting_value(
    source: &Source<'_>,
    leaf: &Leaf<'_, '_>,
    key: &str,
    setting: &Setting,
    owner: Owner,
) -> Result<Value> {
    let span = leaf.value.span();
    let value = setting.read(&given(leaf.value.get_ref())).map_err(|refusal| {
        let item = refusal.item.and_then(|index| leaf.value.get_ref().get(index));
        let span = item.map_or(span.clone(), Spanned::span);
        source.error(&span, refusal.about(key))
    })?;
    match (owner, setting.reach) {
        (Owner::Repo, Reach::UserOnly | Reach::Program) => {
            let message =
                format!("`{key}` can only be set in your own config file, not in the repo's");
            Err(source.error(&leaf.key_span, message))
        }
        (Owner::Repo, Reach::BeneathRepo) if !beneath(&value) => {
            let message = format!(
                "`{key}` must be a path inside the repo here; only your own config file may name another path"
            );
            Err(source.error(&span, message))
        }
        (Owner::Repo, Reach::Argument) if value.view().plain().trim_start().starts_with('-') => {
            let message = format!(
                "`{key}` must not begin with a dash here: a program would read it as an option"
            );
            Err(source.error(&span, message))
        }
        _ => Ok(value),
    }
}

/// Whether a relative path stays inside its folder, whatever exists there, and outside `.git`.
fn beneath(value: &Value) -> bool {
    let Value::Text(path) = value else {
        return false;
    };
    let mut parts = Path::new(path).components();
    let inside = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    };
    parts.clone().any(|part| matches!(part, Component::Normal(_)))
        && parts.all(inside)
        && !path.starts_with('~')
}
