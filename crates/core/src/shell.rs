//! Shell commands as text: a word that can be pasted, and which program a command starts first, as far as ralph can
//! find out without running it.
//!
//! The answer decides whether a run is refused, so it is given only where there is no doubt: quotes,
//! expansions, redirections, groups and functions all lead to "unknown".

/// The program that a command begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstProgram<'c> {
    /// As it is written: a bare name, or a path.
    pub word: &'c str,
    /// The folder that a `cd` in front of it leads to; empty without one.
    pub folder: &'c str,
}

/// Words that the shell itself understands and that change nothing about which program is found next.
const HARMLESS: [&str; 6] = ["cd", "set", "umask", "ulimit", ":", "true"];

/// Words that the shell itself understands: builtins, keywords, and names that are builtins of some shells.
const BUILTIN: [&str; 70] = [
    "!", ".", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "command",
    "continue", "coproc", "declare", "dirs", "disown", "do", "done", "echo", "elif", "else",
    "enable", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi", "for",
    "function", "getopts", "hash", "help", "history", "if", "in", "jobs", "kill", "let", "local",
    "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "select",
    "shift", "shopt", "source", "suspend", "test", "then", "time", "times", "trap", "type",
    "typeset", "unalias", "unset", "until", "wait", "while",
];

/// Characters that may stand in a word without the shell making something else of it.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./+:,@%=".contains(c)
}

/// A word as you would type it: in quotes where the shell would make something else of it.
pub fn quoted(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The program that the shell starts first and without which the command fails. `None` where that is not
/// certain, or where it is a word of the shell itself.
pub fn first_program(command: &str) -> Option<FirstProgram<'_>> {
    let mut rest = command.trim();
    let mut folder = "";
    let mut stops_at_failure = false;
    loop {
        let (simple, separator, after) = simple_command(rest);
        let mut words = simple.split_ascii_whitespace().skip_while(|word| is_assignment(word));
        let changes_path = simple.split_ascii_whitespace().any(|word| word.starts_with("PATH="));
        let word = words.next()?;
        if changes_path || !word.chars().all(is_plain) || word.contains('=') {
            return None;
        }
        if !HARMLESS.contains(&word) {
            let known = BUILTIN.contains(&word);
            // A function has its parentheses right behind its name, or after a blank.
            let is_function = words.next().is_some_and(|next| next.starts_with('('));
            let sure = !known && !is_function && fails_all(separator, after, stops_at_failure);
            return sure.then_some(FirstProgram { word, folder });
        }
        stops_at_failure |=
            word == "set" && simple.split_ascii_whitespace().any(|word| word.starts_with("-e"));
        if word == "cd" {
            let target = words.next()?;
            let plain = target.chars().all(is_plain) && !target.starts_with('-');
            if !plain || words.next().is_some() || !folder.is_empty() {
                return None;
            }
            folder = target;
        } else if !simple.chars().all(|c| is_plain(c) || c.is_ascii_whitespace()) {
            return None;
        }
        // What comes behind `||`, `|` or `&` need not run, or not there.
        if !["&&", ";", "\n"].contains(&separator) {
            return None;
        }
        rest = after.trim_start();
    }
}

/// Whether the whole command fails when its first program does.
fn fails_all(separator: &str, after: &str, stops_at_failure: bool) -> bool {
    match separator {
        "" => true,
        "&&" if stops_at_failure => !after.contains("||"),
        "&&" => !after.replace("&&", "").contains(['|', '&', ';', '\n']),
        ";" | "\n" => stops_at_failure,
        _ => false,
    }
}

/// Whether a word sets a variable for the command behind it, to a plain value.
fn is_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && value.chars().all(is_plain)
}

/// The text up to the first operator, the operator, and what follows.
fn simple_command(text: &str) -> (&str, &str, &str) {
    let end = text.find(['&', '|', ';', '\n']).unwrap_or(text.len());
    let (simple, rest) = text.split_at(end);
    let length = match rest.as_bytes() {
        [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
        [] => 0,
        _ => 1,
    };
    let (separator, after) = rest.split_at(length);
    (simple, separator, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(command: &str) -> Option<(&str, &str)> {
        first_program(command).map(|found| (found.word, found.folder))
    }

    #[test]
    fn the_first_program_is_known_where_there_is_no_doubt() {
        for (command, word) in [
            ("nosuchtool", "nosuchtool"),
            ("cargo test --workspace", "cargo"),
            ("  npm test && npm run lint", "npm"),
            ("CI=1 RUST_LOG=debug,x=trace cargo test", "cargo"),
            ("./run.sh", "./run.sh"),
            ("scripts/check \"a b\" $HOME", "scripts/check"),
            ("set -eu; pytest -q", "pytest"),
            ("set -e\nruff check .\npytest", "ruff"),
            ("pytest\n", "pytest"),
            ("g++ -v", "g++"),
        ] {
            assert_eq!(first(command), Some((word, "")), "{command}");
        }
        assert_eq!(first("cd web && npm test"), Some(("npm", "web")));
        assert_eq!(first("cd web; ./run"), Some(("./run", "web")));
    }

    #[test]
    fn in_doubt_no_program_is_named() {
        for command in [
            "",
            "   ",
            "# nothing",
            "true",
            "false",
            "test -f a.txt",
            "[ -f a.txt ]",
            "! grep x y",
            "if true; then nosuchtool; fi",
            "for x in a b; do nosuchtool; done",
            "(nosuchtool)",
            "{ nosuchtool; }",
            "$TOOL test",
            "`which x` y",
            "\"my tool\" x",
            "'tool' x",
            "to\\ol x",
            "~/bin/tool",
            "PATH=./bin:/bin tool",
            "A=$(date) tool",
            "A=\"x y\" tool",
            "tool() { true; }; tool",
            "tool () { true; }; tool",
            "> out tool",
            "cd \"my dir\" && tool",
            "cd a && cd b && tool",
            "cd - && tool",
            "cd web || tool",
            "true | tool",
            "exec tool",
            "command -v tool",
            "eval tool",
            ". ./env && tool",
            "source env; tool",
            "export PATH=./x; tool",
            "alias t=tool; t",
            "time tool",
            // These are green without it.
            "tool || true",
            "tool && other || true",
            "tool | tee log",
            "tool; true",
            "tool\ntrue",
            "tool &",
            "set -e; tool || true",
        ] {
            assert_eq!(first(command), None, "{command}");
        }
    }
}
