//! The description of a skill, out of the front matter of its `SKILL.md`.
//!
//! Front matter is YAML; of that only what a `description:` is written with is understood: a plain
//! or quoted value, also over several lines, and the `>` and `|` blocks. Anything else counts as no
//! description rather than an error: one odd skill must not stop a run.

/// The description in the front matter of `text`, on one line; `None` if it has none.
pub fn description(text: &str) -> Option<String> {
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let matter: Vec<&str> =
        lines.take_while(|line| !matches!(line.trim_end(), "---" | "...")).collect();
    let (at, value) = matter.iter().enumerate().find_map(|(at, line)| {
        let value = line.strip_prefix("description:")?;
        // `description:x` is a plain text in YAML, not a key.
        (value.is_empty() || value.starts_with([' ', '\t'])).then_some((at, value.trim()))
    })?;
    // What belongs to a value over several lines is indented, or empty.
    let below = matter[at + 1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '\t']))
        .map(|line| line.trim());
    let is_block = value.starts_with(['>', '|'])
        && value[1..]
            .trim_start_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            .split('#')
            .next()
            .is_some_and(|rest| rest.trim().is_empty());
    let first = if is_block { "" } else { value };
    let whole = std::iter::once(first)
        .chain(below)
        .flat_map(str::split_whitespace)
        .collect::<Vec<_>>()
        .join(" ");
    let value = if is_block { whole } else { scalar(&whole) };
    (!value.is_empty()).then_some(value)
}

/// What a quoted or plain value on one line means.
fn scalar(text: &str) -> String {
    match text.chars().next() {
        Some('"') => double_quoted(&text[1..]),
        Some('\'') => single_quoted(&text[1..]),
        Some('#') => String::new(),
        _ => text.split_once(" #").map_or(text, |(value, _)| value).trim_end().to_owned(),
    }
}

fn single_quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' if chars.peek() == Some(&'\'') => {
                chars.next();
                value.push('\'');
            }
            '\'' => break,
            _ => value.push(c),
        }
    }
    value
}

fn double_quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n' | 't' | 'r') => value.push(' '),
                Some(escaped) => value.push(escaped),
                None => break,
            },
            _ => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(matter: &str) -> Option<String> {
        description(&format!("---\nname: x\n{matter}\nlicense: MIT\n---\n# Skill\n"))
    }

    #[test]
    fn s1_16_the_description_is_read_however_it_is_quoted() {
        for (matter, expected) in [
            ("description: Runs the tests", "Runs the tests"),
            ("description:   spaced: with colon   ", "spaced: with colon"),
            ("description: \"say \\\"hi\\\": now\"", "say \"hi\": now"),
            ("description: 'it''s # fine' # comment", "it's # fine"),
            ("description: plain # comment", "plain"),
            ("description: >-\n  folded\n  over lines\n\n  and on", "folded over lines and on"),
            ("description: |\n  literal\n    text", "literal text"),
            ("description: |2+ # c\n  literal", "literal"),
            ("description:\n  on the next line", "on the next line"),
            ("description: starts here\n  goes on", "starts here goes on"),
            ("description: \"starts here\n  goes on\"", "starts here goes on"),
            ("description: > is a sign", "> is a sign"),
        ] {
            assert_eq!(of(matter).as_deref(), Some(expected), "{matter:?}");
        }
    }

    #[test]
    fn s1_16_without_a_description_there_is_none() {
        for matter in [
            "description:",
            "description: ''",
            "Description: x",
            "description:x",
            " description: x",
        ] {
            assert_eq!(of(matter), None, "{matter:?}");
        }
        assert_eq!(description(""), None);
        assert_eq!(description("# Skill\ndescription: x"), None);
        assert_eq!(description("---\nname: x\n---\ndescription: x\n"), None);
        assert_eq!(description("\u{feff}---\r\ndescription: x\r\n---\r\n").as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>(), value in "[ -~\n\t'\"\\\\>|#é]{0,60}") {
            let _ = description(&text);
            let found = description(&format!("---\ndescription: {value}\n---\n"));
            prop_assert!(found.is_none_or(|found| !found.is_empty() && !found.contains('\n')));
        }
    }
}
