//! The format of a cassette: JSON lines, one step each.

use std::path::{Component, Path};
use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// One thing to do. `{id}` in a text stands for the id of the task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Session {},
    /// Words. The last ones of a session are its final text.
    Say {
        text: String,
    },
    Think {
        text: String,
    },
    Write {
        path: String,
        text: String,
    },
    Run {
        /// The program and its arguments; no shell sees them.
        argv: Vec<String>,
    },
    Commit {
        message: String,
    },
    Usage {
        /// Tokens read.
        #[serde(default)]
        input: u64,
        /// Tokens written.
        #[serde(default)]
        output: u64,
        usd: Option<f64>,
    },
    Sleep {
        ms: u64,
    },
    Limit {
        #[serde(deserialize_with = "duration")]
        reset_in: Duration,
    },
    /// Says nothing any more and does not end.
    Hang {},
    Exit {
        /// With this code. Only 0 counts as an end that was meant.
        code: u8,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    #[error("line {line}: {problem}")]
    Line {
        /// Which, from 1.
        line: usize,
        problem: String,
    },
    #[error("it has no steps")]
    Empty,
}

/// Reads a cassette: the steps of each session. Steps before the first `session` are a session too;
/// blank lines are nothing.
pub fn parse(text: &str) -> Result<Vec<Vec<Step>>, CassetteError> {
    let mut sessions: Vec<Vec<Step>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |problem| CassetteError::Line { line: index + 1, problem };
        let step: Step = serde_json::from_str(line).map_err(|error| wrong(words_of(&error)))?;
        check(&step).map_err(|problem| wrong(problem.to_owned()))?;
        match (step, sessions.last_mut()) {
            (Step::Session {}, _) => sessions.push(vec![]),
            (step, Some(session)) => session.push(step),
            (step, None) => sessions.push(vec![step]),
        }
    }
    if sessions.is_empty() { Err(CassetteError::Empty) } else { Ok(sessions) }
}

/// What a step asks for beyond its form.
fn check(step: &Step) -> Result<(), &'static str> {
    match step {
        Step::Write { path, .. } if !lies_beneath(path) => {
            Err("the path of a write must be inside the session's folder")
        }
        Step::Run { argv } if argv.first().is_none_or(String::is_empty) => {
            Err("the argv of a run must start with a program")
        }
        Step::Usage { usd: Some(usd), .. } if !usd.is_finite() || *usd < 0.0 => {
            Err("the usd of a usage must not be negative")
        }
        _ => Ok(()),
    }
}

/// Whether a path leads downwards, by its text alone.
pub(super) fn lies_beneath(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The message without the position, which is counted from the start of the line.
fn words_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.split(" at line ").next().unwrap_or(&text);
    match error.column() {
        0 => words.to_owned(),
        column => format!("column {column}: {words}"),
    }
}

/// Reads `90s`: a whole number and one of ms, s, m, h, d.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let millis = number.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    millis.map(Duration::from_millis).ok_or_else(|| {
        serde::de::Error::custom(format!("{text:?} is not a time such as 90s or 30m"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_step_is_read() {
        let text = r#"
{"do":"session"}
{"do":"say","text":"hi"}
{"do":"think","text":"hm"}
{"do":"write","path":"a/b.txt","text":"x"}
{"do":"run","argv":["cargo","test"]}
{"do":"commit","message":"m"}
{"do":"usage","input":5,"output":6,"usd":0.5}
{"do":"usage","output":1}

{"do":"session"}
{"do":"sleep","ms":10}
{"do":"limit","reset_in":"30m"}
{"do":"hang"}
{"do":"exit","code":3}
"#;
        let sessions = parse(text).unwrap();
        assert_eq!(sessions.iter().map(Vec::len).collect::<Vec<_>>(), [7, 4]);
        assert_eq!(sessions[1][1], Step::Limit { reset_in: Duration::from_secs(1800) });
        assert_eq!(sessions[1][3], Step::Exit { code: 3 });
        assert_eq!(sessions[0][6], Step::Usage { input: 0, output: 1, usd: None });
    }

    #[test]
    fn steps_before_the_first_session_are_a_session() {
        let say = r#"{"do":"say","text":"hi"}"#;
        assert_eq!(parse(say).unwrap().len(), 1);
        assert_eq!(parse(&format!("{say}\r\n{{\"do\":\"session\"}}\r\n")).unwrap().len(), 2);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let after = |line: &str| problem(&format!("{{\"do\":\"session\"}}\n\n{line}\n"));
        assert!(
            after(r#"{"do":"sya","text":"x"}"#)
                .starts_with("line 3: column 11: unknown variant `sya`")
        );
        assert_eq!(after(r#"{"do":"say"}"#), "line 3: missing field `text`");
        assert!(after(r#"{"do":"say","txet":"x"}"#).starts_with("line 3: unknown field `txet`"));
        assert!(after(r#"{"do":"hang","ms":1}"#).starts_with("line 3: unknown field `ms`"));
        assert!(after(r#"{"do":"say","text":"x""#).starts_with("line 3: column 22: EOF"));
        assert!(after("say hi").starts_with("line 3: column 1: expected"));
        assert!(after(r#"{"do":"exit","code":256}"#).starts_with("line 3: invalid value"));
        assert_eq!(
            after(r#"{"do":"limit","reset_in":"soon"}"#),
            "line 3: \"soon\" is not a time such as 90s or 30m"
        );
        for path in ["/etc/passwd", "../x", "a/../../x", ""] {
            let line = format!(r#"{{"do":"write","path":"{path}","text":""}}"#);
            assert!(after(&line).contains("inside the session's folder"), "{path}");
        }
        assert!(after(r#"{"do":"run","argv":[]}"#).contains("start with a program"));
        assert!(after(r#"{"do":"usage","usd":-1}"#).contains("negative"));
        assert_eq!(problem(" \n"), "it has no steps");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
