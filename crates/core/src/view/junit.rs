//! Runs as a JUnit report, which CI servers show: a suite per run and a case per task. A case takes as long as all
//! attempts of the run on its task, and its last attempt decides how it ended.

use std::fmt::Write;

use super::run_view::RunView;
use super::tries::{Try, TryEnd, tries};
use super::words;
use crate::records::{GateReport, Verdict};
use crate::run::RunEvent;
use crate::task::Status;

/// How a case ended.
enum Outcome {
    Passed,
    Failed { message: String, kind: &'static str, excerpt: String },
    Skipped { message: String },
}

struct Case {
    name: String,
    millis: u64,
    outcome: Outcome,
}

struct Suite {
    name: String,
    target: String,
    started_at: String,
    millis: u64,
    cases: Vec<Case>,
}

/// The report over these journals. Journals without a beginning are left out.
pub fn junit<'a>(journals: impl IntoIterator<Item = &'a [RunEvent]>) -> String {
    let suites: Vec<Suite> = journals.into_iter().filter_map(suite).collect();
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let millis = suites.iter().map(|suite| suite.millis).sum();
    text.push_str(&format!("<testsuites name=\"ralph\"{}>\n", counts(all(), millis)));
    for suite in &suites {
        let attributes = [("name", &suite.name), ("timestamp", &suite.started_at)];
        let attributes: String =
            attributes.iter().map(|(name, value)| attribute(name, value)).collect();
        let counts = counts(suite.cases.iter(), suite.millis);
        text.push_str(&format!("  <testsuite{attributes}{counts}>\n"));
        suite.cases.iter().for_each(|case| case.write(&suite.target, &mut text));
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(events: &[RunEvent]) -> Option<Suite> {
    let view = RunView::of(events);
    let name = view.run.as_ref()?.to_string();
    let mut tasks: Vec<Vec<Try>> = Vec::new();
    for one in tries(events) {
        match tasks.iter_mut().find(|known| known[0].task == one.task) {
            Some(known) => known.push(one),
            None => tasks.push(vec![one]),
        }
    }
    Some(Suite {
        name,
        target: view.target.clone(),
        started_at: view.began_at.to_string().trim_end_matches('Z').to_owned(),
        millis: view.elapsed(view.last_at),
        cases: tasks.iter().filter_map(|tries| case(tries)).collect(),
    })
}

/// The attempts on one task.
fn case(tries: &[Try]) -> Option<Case> {
    let last = tries.last()?;
    let millis = tries.iter().map(|one| one.ended_at.millis_since(one.started_at)).sum();
    Some(Case { name: format!("{}: {}", last.task, last.title), millis, outcome: outcome(last) })
}

fn outcome(last: &Try) -> Outcome {
    let Some(TryEnd { class, status, reason }) = &last.end else {
        return Outcome::Skipped {
            message: "the run ended before the result was recorded".to_owned(),
        };
    };
    let first = reason.trim().lines().next().unwrap_or_default();
    let message = words::with_detail(class.words(), first);
    match status {
        Status::Done => Outcome::Passed,
        Status::Waiting => Outcome::Skipped { message: format!("waiting for you: {message}") },
        Status::Pending if class.is_limit() || !words::is_error(*class) => {
            Outcome::Skipped { message }
        }
        _ => {
            let red = last.gates.iter().rev().find(|gate| gate.verdict != Verdict::Pass);
            let excerpt = red.map_or_else(|| reason.clone(), excerpt);
            Outcome::Failed { message, kind: class.as_str(), excerpt }
        }
    }
}

fn excerpt(gate: &GateReport) -> String {
    let code = gate.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    format!("gate {}: {}{code}\n{}", gate.name, gate.verdict, gate.digest)
}

impl Case {
    fn write(&self, target: &str, text: &mut String) {
        let (class, name) = (attribute("classname", target), attribute("name", &self.name));
        let _ = write!(text, "    <testcase{class}{name} time=\"{}\"", seconds(self.millis));
        match &self.outcome {
            Outcome::Passed => text.push_str("/>\n"),
            Outcome::Skipped { message } => {
                let message = attribute("message", message);
                let _ = write!(text, ">\n      <skipped{message}/>\n    </testcase>\n");
            }
            Outcome::Failed { message, kind, excerpt } => {
                let (message, kind) = (attribute("message", message), attribute("type", kind));
                let excerpt = clean(excerpt, false);
                let _ = write!(
                    text,
                    ">\n      <failure{message}{kind}>{excerpt}</failure>\n    </testcase>\n"
                );
            }
        }
    }
}

fn counts<'c>(cases: impl Iterator<Item = &'c Case>, millis: u64) -> String {
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for case in cases {
        tests += 1;
        failures += u32::from(matches!(case.outcome, Outcome::Failed { .. }));
        skipped += u32::from(matches!(case.outcome, Outcome::Skipped { .. }));
    }
    format!(
        " tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{}\"",
        seconds(millis)
    )
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

fn attribute(name: &str, value: &str) -> String {
    format!(" {name}=\"{}\"", clean(value, true))
}

/// A text in XML 1.0, without the characters that it forbids.
fn clean(text: &str, line: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => clean.push_str("&amp;"),
            '<' => clean.push_str("&lt;"),
            '>' => clean.push_str("&gt;"),
            '"' => clean.push_str("&quot;"),
            '\n' | '\t' if line => clean.push(' '),
            '\n' | '\t' => clean.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
