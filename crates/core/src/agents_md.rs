//! The test command in `AGENTS.md`: a `TEST_COMMAND="…"` line in a code block.

use crate::plan::markdown::Fence;

/// The value of the first `TEST_COMMAND` line in a fenced code block. It may be empty, which says that
/// there are no tests. Outside of code blocks the line is prose and counts for nothing.
pub fn test_command(text: &str) -> Option<String> {
    let mut fence: Option<Fence> = None;
    for line in text.lines().map(str::trim) {
        match fence {
            None => fence = Fence::opened(line),
            Some(open) if open.is_closed_by(line) => fence = None,
            Some(_) => {
                if let Some(value) = assigned(line) {
                    return Some(unquoted(value));
                }
            }
        }
    }
    None
}

/// The line that [`test_command`] reads as `command`.
pub fn test_command_line(command: &str) -> String {
    let mut line = String::from("TEST_COMMAND=\"");
    for letter in command.chars() {
        if is_escaped(letter) {
            line.push('\\');
        }
        line.push(letter);
    }
    line.push('"');
    line
}

fn assigned(line: &str) -> Option<&str> {
    line.strip_prefix("export ").unwrap_or(line).trim_start().strip_prefix("TEST_COMMAND=")
}

fn is_escaped(letter: char) -> bool {
    matches!(letter, '"' | '\\' | '$' | '`')
}

/// A word as a shell reads it: in double quotes, in single quotes or bare.
fn unquoted(value: &str) -> String {
    if let Some(rest) = value.strip_prefix('\'') {
        return rest.split('\'').next().unwrap_or_default().trim().to_owned();
    }
    let Some(rest) = value.strip_prefix('"') else {
        let end = value.find(" #").unwrap_or(value.len());
        return value[..end].trim().to_owned();
    };
    let mut word = String::new();
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next_if(|next| is_escaped(*next)) {
                Some(next) => word.push(next),
                None => word.push('\\'),
            },
            other => word.push(other),
        }
    }
    word.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_read_from_a_code_block() {
        for (text, expected) in [
            ("```\nTEST_COMMAND=\"cargo test\"\n```\n", Some("cargo test")),
            ("# A\r\n\r\n```sh\r\nTEST_COMMAND=\"make\"\r\n```\r\n", Some("make")),
            ("~~~bash\nexport TEST_COMMAND='npm test'\n~~~", Some("npm test")),
            ("- list\n  ```\n  TEST_COMMAND=pytest -q # fast\n  ```\n", Some("pytest -q")),
            ("````\n```\nTEST_COMMAND=\"a\"\n", Some("a")),
            ("```\nTEST_COMMAND=\"\"\n```", Some("")),
            ("```\nTEST_COMMAND=\nTEST_COMMAND=\"b\"\n```", Some("")),
            ("```\nTEST_COMMAND=\"grep \\\"x\\\" \\$HOME \\n\"\n```", Some("grep \"x\" $HOME \\n")),
            ("```\nTEST_COMMAND=\"never closed\n```", Some("never closed")),
            ("TEST_COMMAND=\"prose\"\n", None),
            ("```\ncargo test\n```\nTEST_COMMAND=\"prose\"\n", None),
            ("```\n# TEST_COMMAND=\"x\"\nMY_TEST_COMMAND=\"y\"\n```", None),
            ("```x``` is code\nTEST_COMMAND=\"prose\"\n", None),
            ("", None),
        ] {
            assert_eq!(test_command(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for command in ["", "cargo test", "a \"b\" \\ $c `d`", "python3 -m pytest", "echo '#' x"] {
            let text = format!("```sh\n{}\n```\n", test_command_line(command));
            assert_eq!(test_command(&text).as_deref(), Some(command), "{text}");
        }
    }
}
