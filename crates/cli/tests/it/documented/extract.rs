//! Finds the commands in a page: lines of `sh` blocks, lines behind `$ ` in `console` blocks, and code spans that
//! begin with `ralph `. It knows nothing about what they do.

/// A command as it stands in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typed {
    /// Its first line in the page, from 1.
    pub(super) line: usize,
    /// What is typed, without prompt and comment; a line that goes on is one command.
    pub(super) text: String,
    /// The output shown below it, in a `console` block.
    pub(super) shown: Vec<String>,
}

/// A block of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) commands: Vec<Typed>,
}

/// The blocks of a page.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut found = vec![];
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let inside: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
        let commands = match language {
            "sh" => typed(&inside, ""),
            "console" => typed(&inside, "$ "),
            _ => continue,
        };
        found.push(Block { commands });
    }
    found
}

/// The commands of a block whose lines begin with this prompt.
fn typed(lines: &[(usize, &str)], prompt: &str) -> Vec<Typed> {
    let mut commands: Vec<Typed> = vec![];
    let mut goes_on = false;
    for (index, line) in lines {
        let begins = line.strip_prefix(prompt).filter(|line| !line.trim().is_empty());
        let (text, open) = match begins {
            _ if goes_on => (line.trim(), commands.last_mut()),
            Some(text) => {
                commands.push(Typed { line: index + 1, text: String::new(), shown: vec![] });
                (text, commands.last_mut())
            }
            None => {
                if let Some(last) = commands.last_mut().filter(|_| !prompt.is_empty()) {
                    last.shown.push((*line).to_owned());
                }
                continue;
            }
        };
        let text = without_comment(text);
        goes_on = text.ends_with('\\');
        if let Some(command) = open {
            command.text.push_str(text.trim_end_matches('\\'));
        }
    }
    commands.retain(|command| !command.text.is_empty());
    commands
}

/// A comment begins at a `#` behind a blank, outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, '#') if before.is_whitespace() => return line[..at].trim_end(),
            _ => {}
        }
        before = letter;
    }
    line.trim_end()
}

/// The code spans of a page that are commands, outside of blocks.
pub(super) fn spans(page: &str) -> Vec<Typed> {
    let mut found = vec![];
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let codes = line.split('`').skip(1).step_by(2);
        let typed = codes.filter(|code| code.starts_with("ralph ")).map(str::trim);
        found.extend(typed.map(|text| Typed {
            line: index + 1,
            text: text.to_owned(),
            shown: vec![],
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
Type `ralph status` or `not this`, and `ralph task show ID`.

```sh
ralph init     # writes `ralph nothing`
ralph task add \"One # two\" --id a   # a comment
export X=$(ralph task agent register)

ralph task list \\
    --json
```

```toml
ralph = 1
```

```console
$ ralph task add A \\
    -d \"x\"
a
$ ralph task done a
error: a is pending
  hint: claim it
```
";

    fn texts(commands: &[Typed]) -> Vec<&str> {
        commands.iter().map(|command| command.text.as_str()).collect()
    }

    #[test]
    fn commands_are_found_in_blocks_without_prompts_comments_and_other_languages() {
        let found = blocks(PAGE);
        assert_eq!(found.len(), 2);
        assert_eq!(
            texts(&found[0].commands),
            [
                "ralph init",
                "ralph task add \"One # two\" --id a",
                "export X=$(ralph task agent register)",
                "ralph task list --json",
            ]
        );
        assert_eq!(found[0].commands[0].line, 4);
        assert_eq!(texts(&found[1].commands), ["ralph task add A -d \"x\"", "ralph task done a"]);
        assert_eq!(found[1].commands[0].shown, ["a"]);
        assert_eq!(found[1].commands[1].shown, ["error: a is pending", "  hint: claim it"]);
    }

    #[test]
    fn commands_are_found_in_code_spans_outside_of_blocks() {
        assert_eq!(texts(&spans(PAGE)), ["ralph status", "ralph task show ID"]);
    }
}
