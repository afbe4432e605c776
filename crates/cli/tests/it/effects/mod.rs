//! Every setting and every flag has an effect, and a test shows it: two tables with a row for each, and the
//! tests that no other file had.
//!
//! The keys come from `ralph config show`, the flags from `ralph help` of every command, so what is new and has
//! no row fails here. A row names tests as `crate/path.rs::name`. Such a test gives the key another value than its
//! default, or the flag to the command, and looks at what a user, an agent or git then sees. Where a helper or a constant does a part of
//! it, the row says so: `path.rs::name > helper`; it lies in the same file or in the module above.

mod agents;
mod flags;
mod loops;
mod places;
mod sessions;
mod settings;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ralph_testkit::{Ran, TestEnv};
use serde_json::Value;

use crate::env;
use crate::looping::{
    arguments, argv, build, cassette, classes, gate_step, journal, of_kind, only_says, project,
    run_file, runs, say, session, sessions_of, sh, stand_in, start, status, touch, wait_for, works,
    write,
};
use crate::named_tests::{crates, item, sources};

/// A table: what a row is about, and the tests that show it.
fn rows(table: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let filled = table.lines().map(str::trim).filter(|line| !line.is_empty());
    filled
        .map(|line| {
            let (about, tests) =
                line.split_once(" | ").unwrap_or_else(|| panic!("not a row: {line}"));
            (about.trim(), tests.split(", ").map(str::trim).collect())
        })
        .collect()
}

/// The code of all crates.
struct Code(Vec<(PathBuf, String)>);

impl Code {
    fn read() -> Self {
        Self(sources(&crates()))
    }

    fn file(&self, path: &str) -> Option<&str> {
        let path = crates().join(path);
        self.0.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_str())
    }

    /// A helper of a file, or of the modules above it.
    fn helper(&self, file: &str, name: &str) -> Option<String> {
        let mut place = file.to_owned();
        loop {
            if let Some(found) = self.file(&place).and_then(|text| item(text, name)) {
                return Some(found);
            }
            let (folder, _) = place.trim_end_matches(".rs").rsplit_once('/')?;
            place = match self.file(&format!("{folder}/mod.rs")) {
                Some(_) if place != format!("{folder}/mod.rs") => format!("{folder}/mod.rs"),
                _ => format!("{folder}.rs"),
            };
        }
    }

    /// What a test says, with the helpers that its row names; or what is wrong with it.
    fn words(&self, named: &str) -> Result<String, String> {
        let mut parts = named.split(" > ");
        let (file, name) = parts
            .next()
            .and_then(|test| test.split_once("::"))
            .ok_or_else(|| format!("{named}: not `path.rs::name`"))?;
        let text = self.file(file).ok_or_else(|| format!("{named}: there is no file {file}"))?;
        let mut words =
            item(text, name).ok_or_else(|| format!("{named}: there is no such test"))?;
        if !words.contains("#[test]") {
            return Err(format!("{named}: it is not a test"));
        }
        if words.contains("#[ignore") {
            return Err(format!("{named}: it is ignored"));
        }
        for helper in parts {
            if !has_word(&words, helper) {
                return Err(format!("{named}: it does not use {helper}"));
            }
            let more = self.helper(file, helper);
            words += &more.ok_or_else(|| format!("{named}: there is no helper {helper}"))?;
        }
        // In a text within the code a line may end with `\\n`.
        Ok(words.replace("\\n", "\n"))
    }

    /// What is wrong with the tests of a row; one of them has to say everything that `says` asks for.
    fn faults(&self, about: &str, tests: &[&str], says: impl Fn(&str) -> bool) -> Vec<String> {
        let read: Vec<Result<String, String>> = tests.iter().map(|test| self.words(test)).collect();
        let shown = read.iter().flatten().any(|words| says(words));
        let mut faults: Vec<String> = read.into_iter().filter_map(Result::err).collect();
        if !shown {
            faults.push("none of its tests mentions it".to_owned());
        }
        faults.iter().map(|fault| format!("{about}: {fault}")).collect()
    }
}

/// Whether a text has this word, not as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
    })
}

/// Whether a test gives this key another value than its own: by its full name, by its variable, or in a section of a
/// file.
fn sets(words: &str, key: &str, default: &str) -> bool {
    let given = |name: &str| {
        let values = text_after(words, name).filter_map(|rest| rest.trim_start().strip_prefix('='));
        values.map(first_value).any(|value| value != default)
    };
    let variable = format!("RALPH_{}", key.to_uppercase().replace('.', "_"));
    let mut values = text_after(words, &variable).filter_map(|rest| rest.strip_prefix("\", "));
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let in_section = section.is_empty() || words.contains(&format!("[{section}]"));
    given(key) || (in_section && given(name)) || values.any(|value| first_value(value) != default)
}

/// A value as it is written in code or in a file, without what is around it; the first one of a list.
fn first_value(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '"', '\\', '[', '\'']);
    let end = text.find(['"', '\\', ']', '\n', ' ', ',', '\'', ')']);
    &text[..end.unwrap_or(text.len())]
}

/// What follows each place where a text has this word.
fn text_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let whole = move |at: &usize| !text[..*at].ends_with(inside);
    text.match_indices(word).map(|(at, _)| at).filter(whole).map(|at| &text[at + word.len()..])
}

/// Whether a test gives this flag, in one of its spellings, to this command.
fn gives(words: &str, command: &str, spellings: &[String]) -> bool {
    spellings.iter().any(|flag| has_word(words, flag))
        && command.split(' ').all(|word| has_word(words, word))
}

/// The flags of a help text: the last spelling, which is the long one where there is one, and all of them.
fn flags_in(help: &str) -> BTreeMap<String, Vec<String>> {
    let is_flag = |word: &str| {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        name.is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic()))
    };
    let indented = |line: &&str| line.starts_with("  ") && !line.starts_with("       ");
    let spellings = |line: &str| -> Vec<String> {
        let words =
            line.split_whitespace().map(|word| word.split([',', '[']).next().unwrap_or(word));
        words.take_while(|word| is_flag(word)).map(str::to_owned).collect()
    };
    let found = help.lines().filter(indented).map(spellings);
    found.filter_map(|all| Some((all.last()?.clone(), all))).collect()
}

const OF_ALL: &str = "Global options:";

/// Every command with its flags, as the help texts have them. What every command takes is with the empty name.
pub(crate) fn commands(env: &TestEnv) -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    let mut all = Vec::new();
    crate::reference::commands(env, &[], &mut all);
    assert!(all.len() > 30, "{all:?}");
    let help = |words: &[String]| {
        let call: Vec<&str> =
            ["help"].into_iter().chain(words.iter().map(String::as_str)).collect();
        env.ralph(&call).success()
    };
    let mut found = BTreeMap::new();
    let common = flags_in(&help(&[]));
    for words in all.iter().filter(|words| !words.is_empty()) {
        let text = help(words);
        let (own, shared) = text.split_once(OF_ALL).unwrap_or((&text, ""));
        for flag in flags_in(shared).keys() {
            assert!(common.contains_key(flag), "ralph {}: {flag}", words.join(" "));
        }
        let mut own = flags_in(own);
        own.retain(|flag, _| flag != "--help");
        found.insert(words.join(" "), own);
    }
    found.insert(String::new(), common);
    found
}

/// Every setting and every field of a gate, with the value that it has by itself.
fn keys(env: &TestEnv) -> BTreeMap<String, String> {
    let read = |call: &[&str]| serde_json::from_str::<Value>(&env.ralph(call).success()).unwrap();
    let shown = env.json(&["config", "show"]);
    let schema = read(&["config", "schema"]);
    let fields = schema["properties"]["gate"]["items"]["properties"].as_object().unwrap();
    let fields = fields.keys().map(|field| (format!("gate.{field}"), String::new()));
    let settings = shown.as_object().unwrap().iter().filter(|(key, _)| *key != "gate");
    let of_setting = |(key, text): (&String, &Value)| {
        let by_preset = text["origin"] == "preset";
        assert!(by_preset || text["origin"] == "default", "{key}: {text}");
        let value = if by_preset { "preset".into() } else { text["value"].to_string() };
        (key.clone(), first_value(&value).to_owned())
    };
    settings.map(of_setting).chain(fields).collect()
}

#[test]
fn every_setting_has_a_test_that_shows_its_effect() {
    let shown = keys(&env());
    assert!(shown.len() > 60, "{shown:?}");
    let rows = rows(settings::TABLE);
    let code = Code::read();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (key, tests) in &rows {
        if !seen.insert(*key) {
            faults.push(format!("{key} has two rows"));
        }
        match shown.get(*key) {
            None => faults.push(format!("{key} is not a setting")),
            Some(default) => {
                faults.extend(code.faults(key, tests, |words| sets(words, key, default)));
            }
        }
    }
    let missing = shown.keys().filter(|key| !seen.contains(key.as_str()));
    faults.extend(missing.map(|key| format!("{key} has no row in effects/settings.rs")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_flag_of_every_command_has_a_test_that_shows_its_effect() {
    let mut env = env();
    env.set("COLUMNS", "100");
    let commands = commands(&env);
    let code = Code::read();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (about, tests) in rows(flags::TABLE) {
        let (named, flag) = about.rsplit_once(' ').unwrap_or(("", about));
        for command in named.split(", ") {
            let about = format!("ralph {command} {flag}");
            match commands.get(command).and_then(|flags| flags.get(flag)) {
                None => faults.push(format!("{about}: there is no such flag")),
                Some(spellings) => {
                    faults.extend(
                        code.faults(&about, &tests, |words| gives(words, command, spellings)),
                    );
                }
            }
            if !seen.insert((command.to_owned(), flag.to_owned())) {
                faults.push(format!("{about} has two rows"));
            }
        }
    }
    for (command, flags) in &commands {
        for flag in flags.keys() {
            if !seen.contains(&(command.clone(), flag.clone())) {
                faults.push(format!("ralph {command} {flag} has no row in effects/flags.rs"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A file of tests that show something, and of some that do not.
const SAMPLE: &str = r##"
const SET: [&str; 2] = ["--set", "loop.jobs=2"];

fn quick(env: &TestEnv) {
    env.write("ralph.toml", "[agent]\ntimeout = \"1s\"\n");
}

#[test]
fn shows() {
    // Not git.remote=backup.
    env.ralph(&["task", "list", "--status", "open", "-n", "2", "--set", "loop.jobs_of=1"]);
    quick(&env);
}

#[test]
#[ignore]
fn is_left_out() {
    env.set("RALPH_UI_COLOR", "never");
}

#[test]
fn uses() {
    again(&SET);
    build(&["--set", "loop.idle=2"]);
    env.set("RALPH_LOOP_LEARN", "false");
}
"##;

#[test]
fn a_row_that_shows_nothing_is_noticed() {
    let file = "cli/tests/it/sample.rs";
    let code = Code(vec![(crates().join(file), SAMPLE.to_owned())]);
    let sets = |test: &str, key: &str| {
        let test = format!("{file}::{test}");
        let default = if key == "loop.idle" { "2" } else { "" };
        code.faults("row", &[&test], |words| sets(words, key, default))
    };
    for (test, key, fault) in [
        ("uses > SET", "loop.jobs", None),
        ("shows > quick", "agent.timeout", None),
        ("uses", "loop.learn", None),
        ("uses", "loop.idle", Some("none of its tests mentions it")),
        ("uses", "loop.jobs", Some("none of its tests mentions it")),
        ("shows", "loop.jobs", Some("none of its tests mentions it")),
        ("shows", "agent.timeout", Some("none of its tests mentions it")),
        ("shows > quick", "timeout_of.agent", Some("none of its tests mentions it")),
        ("shows", "git.remote", Some("none of its tests mentions it")),
        ("shows > SET", "loop.jobs", Some("it does not use SET")),
        ("uses > again", "loop.jobs", Some("there is no helper again")),
        ("is_left_out", "ui.color", Some("it is ignored")),
        ("quick", "agent.timeout", Some("it is not a test")),
        ("gone", "agent.timeout", Some("there is no such test")),
    ] {
        let found = sets(test, key).join("\n");
        match fault {
            None => assert_eq!(found, "", "{test} {key}"),
            Some(fault) => assert!(found.contains(fault), "{test} {key}: {found}"),
        }
    }
    assert!(code.words("cli/tests/it/other.rs::shows").unwrap_err().contains("no file"));
    let words = code.words(&format!("{file}::shows")).unwrap();
    for (command, flag, given) in [
        ("task list", "--status", true),
        ("task list", "-n", true),
        ("task ready", "--status", false),
        ("task list", "--stat", false),
        ("task list", "--json", false),
    ] {
        assert_eq!(gives(&words, command, &[flag.to_owned()]), given, "{command} {flag}");
    }
}

#[test]
fn flags_are_found_in_a_help_text() {
    let help = "Usage: ralph x [OPTIONS]

Options:
  -f, --follow <N>
          Like --this, and no flag

      --max-iterations <N>  In a line

  -C <DIR>
          - one: a value
";
    let found = flags_in(help);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["--follow", "--max-iterations", "-C"]);
    assert_eq!(found["--follow"], ["-f", "--follow"]);
}
