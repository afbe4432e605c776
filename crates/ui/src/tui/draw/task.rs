//! The page of a task: what it is, what it waits for, each attempt with its gates, verdicts and costs; and its work as a
//! diff.

use ralph_core::records::Verdict;
use ralph_core::text::printable;
use ralph_core::view::words;
use serde_json::Value;

use super::text::Row;
use super::transcript::of_diff;
use crate::line::wrap;
use crate::ports::{Answer, Refused};
use crate::style::Meaning;
use crate::tui::overlay::Details;
use crate::units::{duration, money, tokens};

pub(super) fn rows(details: Option<&Details>, diff: bool, width: usize) -> Vec<Row> {
    let waiting = || vec![Row::of(Meaning::Faint, "Reading…")];
    let Some(details) = details else { return waiting() };
    match (diff, &details.page, &details.diff) {
        (true, _, Some(diff)) => of_work(diff, width),
        (false, Some(page), _) => of_page(page, width),
        _ => waiting(),
    }
}

fn refused(refused: &Refused, width: usize) -> Vec<Row> {
    let mut rows = text(&refused.message, Some(Meaning::Warning), width, 0);
    rows.extend(refused.hints.iter().flat_map(|hint| text(hint, Some(Meaning::Faint), width, 2)));
    rows
}

fn of_work(diff: &Answer<String>, width: usize) -> Vec<Row> {
    match diff {
        Err(why) => refused(why, width),
        Ok(diff) if diff.trim().is_empty() => {
            vec![Row::of(Meaning::Faint, "This task has no work to show.")]
        }
        Ok(diff) => {
            let safe = printable(diff);
            let line = |line: &str| Row::of(of_diff(line), line.replace('\t', "    "));
            safe.lines().map(line).collect()
        }
    }
}

fn of_page(page: &Answer<Value>, width: usize) -> Vec<Row> {
    let page = match page {
        Ok(page) => page,
        Err(why) => return refused(why, width),
    };
    let mut rows = text(string(page, "title"), Some(Meaning::Heading), width, 0);
    for (name, key) in [
        ("status", "status"),
        ("feature", "feature"),
        ("branch", "branch"),
        ("spec", "spec"),
        ("parent", "parent"),
        ("reason", "reason"),
        ("verified", "verification_status"),
    ] {
        field(name, string(page, key), width, &mut rows);
    }
    section("Description", text(string(page, "description"), None, width, 2), &mut rows);
    let neighbors = |key: &str| -> Vec<Row> {
        let line = |task: &Value| {
            let words = [string(task, "id"), string(task, "status"), string(task, "title")];
            Row::new().plain("  ").fit(None, &words.join("  "), width, 0)
        };
        list(page, key).iter().map(line).collect()
    };
    section("Needs", neighbors("blockers"), &mut rows);
    section("Needed by", neighbors("dependents"), &mut rows);
    let asked = list(page, "questions").iter().flat_map(|asked| question(asked, width));
    section("Questions", asked.collect(), &mut rows);
    for attempt in list(page, "attempts").iter().rev() {
        rows.push(Row::new());
        rows.extend(of_attempt(attempt, page, width));
    }
    rows
}

fn question(asked: &Value, width: usize) -> Vec<Row> {
    let mut rows = text(string(asked, "text"), None, width, 2);
    let answer = Some(string(asked, "answer"));
    match answer.filter(|answer| !answer.is_empty()) {
        Some(answer) => rows.extend(text(&format!("→ {answer}"), Some(Meaning::Good), width, 4)),
        None => rows.push(Row::of(Meaning::Warning, "    waits for your answer")),
    }
    rows
}

fn of_attempt(attempt: &Value, page: &Value, width: usize) -> Vec<Row> {
    let number = attempt.get("number").and_then(Value::as_u64).unwrap_or(0);
    let mut head = Row::of(Meaning::Heading, format!("Attempt {number}"));
    let end = attempt.get("end").filter(|end| !end.is_null());
    let mut about = Vec::new();
    let ended = words::attempt(end.map(|end| (string(end, "outcome"), string(end, "detail"))));
    about.push(ended.to_owned());
    about.extend(attempt.get("duration_ms").and_then(Value::as_u64).map(duration));
    let cost = end.and_then(|end| end.get("cost_micro_usd")).and_then(Value::as_u64);
    about.extend(cost.map(money));
    let used = |key: &str| end.and_then(|end| end.get(key)).and_then(Value::as_u64).unwrap_or(0);
    let used = used("input_tokens").saturating_add(used("output_tokens"));
    about.extend((used > 0).then(|| format!("{} tokens", tokens(used))));
    about.extend(Some(string(attempt, "model").to_owned()));
    about.retain(|part| !part.is_empty());
    head = head.add(Meaning::Faint, format!("  {}", about.join(" · ")));
    let mut rows = vec![head];
    if let Some(end) = end {
        rows.extend(text(string(end, "detail"), Some(Meaning::Warning), width, 2));
    }
    let id = string(attempt, "id");
    let of = list(page, "evidence").iter().filter(|found| string(found, "attempt") == id);
    rows.extend(of.flat_map(|found| evidence(found, width)));
    if let Some(said) = end.map(|end| string(end, "said")).filter(|said| !said.is_empty()) {
        rows.push(Row::of(Meaning::Faint, "  It said last:"));
        rows.extend(text(said, None, width, 4));
    }
    rows
}

/// A gate or the verifier, with what it printed or said.
fn evidence(found: &Value, width: usize) -> Vec<Row> {
    let verdict = string(found, "verdict").parse::<Verdict>().ok();
    let (sign, meaning) = match verdict {
        Some(Verdict::Pass) => ("✓", Meaning::Good),
        Some(Verdict::Fail) => ("✗", Meaning::Bad),
        _ => ("·", Meaning::Faint),
    };
    let took = found.get("duration_ms").and_then(Value::as_u64).map(duration).unwrap_or_default();
    let name = string(found, "judge");
    let head = Row::of(meaning, format!("  {sign} ")).plain(format!("{name}  "));
    let words = verdict.map(|verdict| words::verdict(name, verdict)).unwrap_or_default();
    let mut rows = vec![head.add(Meaning::Faint, format!("{words}  {took}"))];
    let output = Some(meaning).filter(|_| verdict == Some(Verdict::Fail)).or(Some(Meaning::Faint));
    rows.extend(text(string(found, "digest"), output, width, 6));
    rows
}

fn section(name: &str, mut lines: Vec<Row>, rows: &mut Vec<Row>) {
    if !lines.is_empty() {
        rows.extend([Row::new(), Row::of(Meaning::Heading, name)]);
        rows.append(&mut lines);
    }
}

fn field(name: &str, value: &str, width: usize, rows: &mut Vec<Row>) {
    for (index, line) in wrap(value, Some(width.saturating_sub(12))).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        rows.push(Row::of(Meaning::Faint, format!("  {name:<10}")).plain(line));
    }
}

fn text(text: &str, meaning: Option<Meaning>, width: usize, indent: usize) -> Vec<Row> {
    let lines = wrap(text.trim_end(), Some(width.saturating_sub(indent).max(8)));
    let lead = " ".repeat(indent);
    lines.iter().map(|line| Row::of(meaning, format!("{lead}{line}"))).collect()
}

fn string<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
