//! Writes one setting into the user's own config file and leaves everything else as it is.

use toml::de::DeTable;

/// The text with `[table] key = "value"`. Nothing if it is not TOML, or has something else there.
pub(crate) fn with_text(text: &str, table: &str, key: &str, value: &str) -> Option<String> {
    let written = format!("\"{value}\"");
    let parsed = DeTable::parse(text).ok()?;
    let section = parsed.get_ref().get(table);
    if let Some(section) = section {
        let section = section.get_ref().as_table()?;
        if let Some(found) = section.get(key) {
            let span = found.span();
            return Some(format!("{}{written}{}", &text[..span.start], &text[span.end..]));
        }
    }
    let header = format!("[{table}]");
    let line = format!("{key} = {written}\n");
    let mut at = 0;
    for existing in text.split_inclusive('\n') {
        at += existing.len();
        if existing.trim() == header {
            let gap = if existing.ends_with('\n') { "" } else { "\n" };
            return Some(format!("{}{gap}{line}{}", &text[..at], &text[at..]));
        }
    }
    if section.is_some() {
        // It has dotted keys or an inline table, which ralph does not edit.
        return None;
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Some(format!("{text}{gap}{header}\n{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_setting_changes() {
        let set = |text: &str| with_text(text, "sandbox", "level", "full");
        for (before, after) in [
            ("", "[sandbox]\nlevel = \"full\"\n"),
            ("# mine\nloop.jobs = 2", "# mine\nloop.jobs = 2\n\n[sandbox]\nlevel = \"full\"\n"),
            (
                "[sandbox]\nlevel = 'none' # for now\n[loop]\njobs = 1\n",
                "[sandbox]\nlevel = \"full\" # for now\n[loop]\njobs = 1\n",
            ),
            ("[sandbox]\nwritable = []\n", "[sandbox]\nlevel = \"full\"\nwritable = []\n"),
            ("sandbox.level = \"none\"\n", "sandbox.level = \"full\"\n"),
            ("[sandbox]", "[sandbox]\nlevel = \"full\"\n"),
        ] {
            assert_eq!(set(before).as_deref(), Some(after), "{before:?}");
            assert!(DeTable::parse(after).is_ok());
        }
        for odd in ["sandbox = 3", "not toml [", "sandbox.writable = []\n"] {
            assert_eq!(set(odd), None, "{odd:?}");
        }
    }
}
