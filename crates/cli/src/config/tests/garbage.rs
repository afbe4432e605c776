//! Whatever the text is, loading ends with a result.

use super::*;

/// A small generator: the same garbage in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }
}

const PIECES: [&str; 40] = [
    "[",
    "]",
    "[[",
    "]]",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "{",
    "}",
    "#",
    "\n",
    "\r\n",
    "\t",
    " ",
    "loop",
    "jobs",
    "agent",
    "claude",
    "gate",
    "name",
    "command",
    "timeout",
    "preset",
    "1",
    "-1",
    "0x1F",
    "1e400",
    "nan",
    "true",
    "1979-05-27",
    "日本",
    "🙂",
    "\u{301}",
    "\u{feff}",
    "\0",
    "\\u00e9",
];

#[test]
fn garbage_never_panics() {
    let mut dice = Dice(7);
    let mut errors = 0;
    for _ in 0..800 {
        let length = dice.roll(24);
        let text: String = (0..length).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        for sources in [repo(&text), user(&text), set(&text), env("RALPH_AGENT_ENV", &text)] {
            errors += usize::from(
                Config::load(sources).is_err_and(|error| !error.to_string().is_empty()),
            );
        }
    }
    assert!(errors > 500);
}

#[test]
fn a_damaged_file_never_panics() {
    let mut dice = Dice(11);
    let whole: Vec<char> = DEFAULTS.chars().collect();
    for _ in 0..150 {
        let mut text = whole.clone();
        let from = dice.roll(text.len());
        let to = text.len().min(from + dice.roll(40));
        let piece = PIECES[dice.roll(PIECES.len())].chars();
        text.splice(from..to, piece);
        let text: String = text.into_iter().collect();
        match Config::load(repo(&text)) {
            Ok(loaded) => drop(show(&loaded.config, &PRESETS[0])),
            Err(error) => drop(error.to_string()),
        }
    }
}

#[test]
fn every_value_of_every_type_is_answered() {
    let values = [
        "1",
        "-1",
        "9999999999999999999",
        "1.5",
        "-0.0",
        "inf",
        "nan",
        "true",
        "''",
        "'x'",
        "[]",
        "[1]",
        "['x']",
        "[['x']]",
        "{}",
        "{ x = 1 }",
        "1979-05-27",
        "\"\\u0000\"",
    ];
    for (key, _) in names::keys() {
        for value in values {
            if let Err(error) = Config::load(user(&format!("{key} = {value}"))) {
                let text = error.to_string();
                assert!(text.contains(&format!("`{key}` must be ")), "{text}");
            }
        }
    }
}
