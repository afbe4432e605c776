//! Writes settings into a config file and keeps its comments, its order and every other line.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value as Written};

use super::layers::plain;
use super::names;
use super::position::invalid;
use super::settings::Setting;
use super::value::{Value, View};
use crate::error::{CliError, Result};

/// The setting with this key or older spelling.
pub(crate) fn known(key: &str) -> Result<(&str, &'static Setting)> {
    let key = names::unalias(key.trim());
    let setting = names::find(key).ok_or_else(|| {
        if key == "gate" || key.starts_with("gate.") {
            let message =
                "gates are [[gate]] tables, which have no key of their own: ralph config edit";
            return invalid(message.to_owned()).by_usage();
        }
        if names::is_section_of(key, false) {
            let message = format!("`{key}` is a section; name one of its settings");
            return invalid(message).by_usage();
        }
        let mut message = names::unknown_setting(key);
        if names::meant_setting(key).is_none() {
            message.push_str("; `ralph config show` lists them all");
        }
        invalid(message).by_usage()
    })?;
    Ok((key, setting))
}

/// The text of a file with a setting added or changed, and the value as ralph shows it.
pub(crate) fn set(text: &str, key: &str, value: &str) -> Result<(String, String)> {
    let (key, setting) = known(key)?;
    let value = plain(setting, key, value, "").map_err(CliError::by_usage)?;
    let mut document = parsed(text)?;
    for alias in names::aliases(key) {
        remove(document.as_table_mut(), alias);
    }
    let (sections, leaf) = key.rsplit_once('.').unwrap_or(("", key));
    let first = sections.split('.').next().unwrap_or_default();
    let is_new_section = !first.is_empty() && !document.contains_key(first);
    let before_section = end_of(&document);
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        let new = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let item = table.entry(section).or_insert_with(new);
        table = item
            .as_table_like_mut()
            .ok_or_else(|| invalid(format!("`{section}` is not a section there")))?;
    }
    let mut written = written(&value);
    let before = table.get(leaf).and_then(Item::as_value);
    if let Some(before) = before {
        // A comment after the old value stays.
        *written.decor_mut() = before.decor().clone();
    }
    table.insert(leaf, Item::Value(written));
    if is_new_section {
        // The section comes last, below comments at the end of the file: those may belong to the section above.
        let mut item = document.as_item_mut();
        for section in sections.split('.') {
            item = &mut item[section];
        }
        if let Some(table) = item.as_table_mut() {
            table.decor_mut().set_prefix(before_section);
            document.set_trailing("");
        }
    }
    Ok((document.to_string(), value.view().to_string()))
}

/// The text of a file without a setting; `None` where the file does not set it.
pub(crate) fn unset(text: &str, key: &str) -> Result<Option<String>> {
    let (key, _) = known(key)?;
    let mut document = parsed(text)?;
    let mut is_gone = remove(document.as_table_mut(), key);
    for alias in names::aliases(key) {
        is_gone |= remove(document.as_table_mut(), alias);
    }
    Ok(is_gone.then(|| document.to_string()))
}

/// What comes between the last line of a file and a new section: the comments at its end, and an empty line.
fn end_of(document: &DocumentMut) -> String {
    let mut end = document.trailing().as_str().unwrap_or_default().to_owned();
    if !end.is_empty() && !end.ends_with('\n') {
        end.push('\n');
    }
    let is_first = document.is_empty() && end.trim().is_empty();
    if !is_first && !end.ends_with("\n\n") {
        end.push('\n');
    }
    end
}

fn parsed(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        invalid(format!("the file is not valid TOML: {}", error.message()))
    })
}

/// Removes a key, and sections that are empty without it. Whether it was there.
fn remove(table: &mut dyn TableLike, key: &str) -> bool {
    match key.split_once('.') {
        None => table.remove(key).is_some(),
        Some((section, rest)) => {
            let Some(inner) = table.get_mut(section).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let is_gone = remove(inner, rest);
            // A comment above the section may be about more than the section.
            if is_gone && inner.is_empty() && !has_comment(table.get(section)) {
                table.remove(section);
            }
            is_gone
        }
    }
}

fn has_comment(section: Option<&Item>) -> bool {
    let decor = section.and_then(Item::as_table).map(Table::decor);
    let prefix = decor.and_then(|decor| decor.prefix()).and_then(|prefix| prefix.as_str());
    prefix.is_some_and(|prefix| !prefix.trim().is_empty())
}

fn written(value: &Value) -> Written {
    match value.view() {
        View::Bool(value) => value.into(),
        View::Whole(value) => i64::try_from(value).unwrap_or(i64::MAX).into(),
        View::Amount(value) => value.into(),
        View::Text(value) => value.into(),
        View::List(items) => items.into_iter().collect::<Array>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, key: &str, value: &str) -> String {
        set(text, key, value).unwrap().0
    }

    #[test]
    fn only_the_one_setting_changes() {
        let full = |text: &str| after(text, "sandbox.level", "full");
        for (before, wanted) in [
            ("", "[sandbox]\nlevel = \"full\"\n"),
            ("# mine\nloop.jobs = 2\n", "# mine\nloop.jobs = 2\n\n[sandbox]\nlevel = \"full\"\n"),
            (
                "[sandbox]\nlevel = 'none' # for now\n[loop]\njobs = 1\n",
                "[sandbox]\nlevel = \"full\" # for now\n[loop]\njobs = 1\n",
            ),
            ("[sandbox]\nwritable = []\n", "[sandbox]\nwritable = []\nlevel = \"full\"\n"),
            ("sandbox.level = \"none\"\n", "sandbox.level = \"full\"\n"),
            ("sandbox = { level = \"none\" }\n", "sandbox = { level = \"full\" }\n"),
            ("# mine", "# mine\n\n[sandbox]\nlevel = \"full\"\n"),
            (
                "[loop]\njobs = 1\n# idle_threshold = 2\n",
                "[loop]\njobs = 1\n# idle_threshold = 2\n\n[sandbox]\nlevel = \"full\"\n",
            ),
            // F76: a line of a text is not a header.
            (
                "x = \"\"\"\n[sandbox]\n\"\"\"\n",
                "x = \"\"\"\n[sandbox]\n\"\"\"\n\n[sandbox]\nlevel = \"full\"\n",
            ),
        ] {
            assert_eq!(full(before), wanted, "{before:?}");
        }
        assert_eq!(after("", "loop.jobs", "4"), "[loop]\njobs = 4\n");
        assert_eq!(after("", "budget.usd", "2.5"), "[budget]\nusd = 2.5\n");
        assert_eq!(after("", "git.auto_push", "yes"), "[git]\nauto_push = true\n");
        let list = after("", "publish.authors", "ada, grace");
        assert_eq!(list, "[publish]\nauthors = [\"ada\", \"grace\"]\n");
        assert_eq!(after("", "git.worktree.keep", "never"), "[git.worktree]\nkeep = \"never\"\n");
    }

    #[test]
    fn a_setting_that_is_removed_takes_its_empty_section_along() {
        let without = |text: &str| unset(text, "loop.jobs").unwrap();
        assert_eq!(
            without("[loop]\njobs = 1\n[git]\nauto_push = true\n").as_deref(),
            Some("[git]\nauto_push = true\n")
        );
        assert_eq!(
            without("[loop]\nidle_threshold = 2\njobs = 1\n").as_deref(),
            Some("[loop]\nidle_threshold = 2\n")
        );
        assert_eq!(without("[git]\nauto_push = true\n"), None);
    }

    #[test]
    fn what_cannot_be_set_is_reported_and_nothing_is_written() {
        let error =
            |text: &str, key: &str, value: &str| set(text, key, value).unwrap_err().to_string();
        assert!(error("", "loop.job", "1").contains("did you mean `loop.jobs`?"));
        assert!(
            error("", "loop.jobs", "many").contains("must be"),
            "{}",
            error("", "loop.jobs", "many")
        );
        assert!(error("not toml [", "loop.jobs", "1").contains("not valid TOML"));
        assert!(error("sandbox = 3\n", "sandbox.level", "full").contains("is not a section"));
    }
}
