//! What an agent said and did, as rows: words, thoughts, tools with their input and output, gates with theirs. Only the
//! entries that are on the screen become rows, so that a long transcript costs no more than a short one.

use std::borrow::Cow;

use ralph_core::records::{GateReport, Verdict};
use ralph_core::text::printable;
use ralph_core::time::Zone;
use ralph_core::view::live::{Entry, Said, Transcript};
use ralph_core::view::words;
use serde_json::Value;

use super::panes::summary;
use super::text::{Palette, Row};
use crate::line::wrap;
use crate::style::Meaning;
use crate::tui::panes::{Anchor, PaneId, Rows};
use crate::tui::state::State;
use crate::units::{duration, short_duration};

/// How many rows of output are shown where it is not shown in full: of what failed, and of the rest.
const OUTPUT: (usize, usize) = (12, 4);
/// How many rows of a change are shown.
const CHANGE: usize = 12;
/// The most that is looked at of a text of which only the end is on the screen, in cells of it.
const CELLS: usize = 8;

/// How entries become rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit<'a> {
    width: usize,
    whole: bool,
    palette: Palette,
    zone: &'a Zone,
    root: &'a str,
}

impl<'a> Fit<'a> {
    pub(super) fn of(state: &'a State, width: u16) -> Self {
        let width = usize::from(width).max(8);
        let (zone, root) = (&state.zone, state.root.as_str());
        Self { width, whole: state.panes.whole, palette: state.palette, zone, root }
    }
}

/// The rows that a pane shows: `height` of them at its anchor, or the last.
pub(super) fn visible(
    said: &Transcript,
    anchor: Option<Anchor>,
    height: usize,
    fit: Fit<'_>,
) -> Vec<Row> {
    match anchor {
        None => ending(said, height, fit),
        Some((entry, row)) => {
            let first = entry.max(said.dropped);
            let skip = if entry < said.dropped { 0 } else { row };
            let entries = said.entries.iter().skip((first - said.dropped) as usize);
            entries.flat_map(|entry| rows(entry, fit)).skip(skip).take(height).collect()
        }
    }
}

fn ending(said: &Transcript, height: usize, fit: Fit<'_>) -> Vec<Row> {
    let mut parts: Vec<Vec<Row>> = Vec::new();
    let mut found = 0;
    for entry in said.entries.iter().rev() {
        let part = last_rows(entry, height, fit);
        found += part.len();
        parts.push(part);
        if found >= height {
            break;
        }
    }
    parts.into_iter().rev().flatten().skip(found.saturating_sub(height)).collect()
}

/// At least the last `height` rows of an entry, if it has so many.
fn last_rows(entry: &Entry, height: usize, fit: Fit<'_>) -> Vec<Row> {
    let most = height.saturating_mul(fit.width).saturating_mul(CELLS);
    match &entry.what {
        Said::Text { text } if text.len() > most => words_of(end_of(text, most), None, fit),
        Said::Thinking { text } if text.len() > most => {
            words_of(end_of(text, most), Some(Meaning::Thinking), fit)
        }
        _ => rows(entry, fit),
    }
}

fn end_of(text: &str, most: usize) -> &str {
    let from = text.ceil_char_boundary(text.len() - most);
    // From the next line on, where there is one: its beginning is not known.
    text[from..].find('\n').map_or(&text[from..], |line| &text[from + line..])
}

/// Where a pane shows after it was scrolled by so many rows; `None` at its end.
pub(in crate::tui) fn scrolled(
    state: &State,
    pane: PaneId,
    (width, height): (u16, u16),
    by: isize,
) -> Option<Anchor> {
    let (height, fit) = (usize::from(height), Fit::of(state, width));
    let PaneId::Slot(run, slot) = pane else {
        let all = summary(state, pane, width).len();
        let last = all.saturating_sub(height);
        let at = state.panes.anchor(pane).map_or(0, |(_, row)| row);
        return Some((0, at.saturating_add_signed(by).min(last)));
    };
    let said = state.live.runs.get(run as usize)?.said(slot)?;
    let of = |number: u64| said.entries.get(number.checked_sub(said.dropped)? as usize);
    let all = Rows { said, height: |number| of(number).map_or(0, |entry| rows(entry, fit).len()) };
    let end = all.end(height);
    let from = state.panes.anchor(pane).unwrap_or(end).min(end);
    match by {
        0.. => all.down(from, by.unsigned_abs(), height),
        _ => Some(all.up(from, by.unsigned_abs())).filter(|at| *at < end),
    }
}

/// The last entry before the first that a pane shows which has this text.
pub(in crate::tui) fn find_back(state: &State, pane: PaneId, text: &str) -> Option<Anchor> {
    let PaneId::Slot(run, slot) = pane else { return None };
    let said = state.live.runs.get(run as usize)?.said(slot)?;
    let text = text.to_lowercase();
    let from = state.panes.anchor(pane).map_or(said.next_number(), |(entry, _)| entry);
    let numbered = said.entries.iter().zip(said.dropped..);
    let before: Vec<_> = numbered.take_while(|(_, number)| *number < from).collect();
    let fit = Fit { whole: true, ..Fit::of(state, 200) };
    let has = |entry: &Entry| {
        rows(entry, fit).iter().any(|row| row.text().to_lowercase().contains(&text))
    };
    before.iter().rev().find(|(entry, _)| has(entry)).map(|(_, number)| (*number, 0))
}

/// An entry as rows.
pub(super) fn rows(entry: &Entry, fit: Fit<'_>) -> Vec<Row> {
    match &entry.what {
        Said::Session { verifier, title } => {
            let what = if *verifier { "verifier" } else { "session" };
            let title = if title.is_empty() { what.to_owned() } else { format!("{what}: {title}") };
            let time = format!(" {}", entry.at.clock(fit.zone));
            let row = Row::of(Meaning::Faint, "── ");
            let row = row.fit(Meaning::Heading, &title, fit.width, time.len() + 1);
            let rest = fit.width.saturating_sub(row.width() + time.len() + 1);
            vec![row.add(Meaning::Faint, format!(" {}{time}", "─".repeat(rest)))]
        }
        Said::Text { text } => words_of(text, None, fit),
        Said::Thinking { text } => words_of(text, Some(Meaning::Thinking), fit),
        Said::Tool { name, input, result, is_error, .. } => {
            tool(name, input, result.as_deref(), *is_error, fit)
        }
        Said::Denied { tool } => vec![Row::of(Meaning::Warning, format!("denied: {tool}"))],
        Said::Told { text } => marked("you ", Meaning::Name, text, fit),
        Said::Retrying { attempt, delay_ms, error } => {
            let delay = duration(*delay_ms);
            let text = format!("the agent retries its request in {delay} (try {attempt}): {error}");
            painted(&text, Meaning::Warning, fit)
        }
        Said::Gate { report } => gate(report, fit),
        Said::Ended { class, detail } => {
            let meaning = if class.is_success() { Meaning::Good } else { Meaning::Warning };
            let first = detail.lines().next().unwrap_or_default();
            let mut rows = painted(&words::with_detail(class.words(), first), meaning, fit);
            rows.push(Row::new());
            rows
        }
        Said::Missed => vec![Row::of(Meaning::Faint, "… some output is missing here")],
    }
}

fn painted(text: &str, meaning: Meaning, fit: Fit<'_>) -> Vec<Row> {
    wrap(text, Some(fit.width)).iter().map(|line| Row::of(meaning, line)).collect()
}

fn marked(mark: &str, meaning: Meaning, text: &str, fit: Fit<'_>) -> Vec<Row> {
    let lines = wrap(text, Some(fit.width.saturating_sub(mark.len())));
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let lead = if rows.is_empty() { mark } else { &" ".repeat(mark.len()) };
        rows.push(Row::of(meaning, lead).plain(line));
    }
    rows
}

/// Words of the agent: no blank lines at the ends, and never two in a row.
fn words_of(text: &str, meaning: Option<Meaning>, fit: Fit<'_>) -> Vec<Row> {
    // Without colors dim letters may look like others.
    let mark = if meaning.is_some() && !fit.palette.color { "~ " } else { "" };
    let mut rows: Vec<Row> = Vec::new();
    let mut blank = false;
    for line in wrap(text, Some(fit.width.saturating_sub(mark.len()))) {
        if line.is_empty() {
            blank = !rows.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            rows.push(Row::new());
        }
        rows.push(Row::of(meaning, format!("{mark}{line}")));
    }
    rows
}

fn tool(name: &str, input: &str, result: Option<&str>, failed: bool, fit: Fit<'_>) -> Vec<Row> {
    let called = called(input);
    let head = Row::of(Meaning::Tool, format!("→ {name} "));
    let first = called.words.lines().next().unwrap_or_default();
    let mut rows = vec![head.fit(Meaning::Faint, first, fit.width, 0)];
    if fit.whole {
        rows.extend(
            called.words.lines().skip(1).flat_map(|line| output(line, Meaning::Faint, fit)),
        );
    }
    let change = called.change.iter().flat_map(|line| diff_line(line, fit));
    shorten(change.collect(), CHANGE, fit, &mut rows);
    if let Some(text) = result {
        let meaning = if failed { Meaning::Bad } else { Meaning::Faint };
        let most = if failed { OUTPUT.0 } else { OUTPUT.1 };
        let safe = printable(text);
        let is_diff = safe.lines().any(|line| line.starts_with("@@ "));
        let lines = safe.lines().filter(|line| !line.trim().is_empty());
        let shown = lines.flat_map(|line| match is_diff {
            true => diff_line(line, fit),
            false => output(line, meaning, fit),
        });
        shorten(shown.collect(), most, fit, &mut rows);
    }
    rows
}

/// The first of these rows, with how many there are beyond.
fn shorten(mut all: Vec<Row>, most: usize, fit: Fit<'_>, rows: &mut Vec<Row>) {
    let more = all.len().saturating_sub(most);
    // A row that says that one row is missing takes no less room than the row.
    if fit.whole || more < 2 {
        return rows.append(&mut all);
    }
    all.truncate(most);
    rows.append(&mut all);
    rows.push(Row::of(Meaning::Faint, format!("  │ … {more} more lines (e shows them)")));
}

fn output(line: &str, meaning: Meaning, fit: Fit<'_>) -> Vec<Row> {
    let lines = wrap(line, Some(fit.width.saturating_sub(4)));
    let bar = if meaning == Meaning::Bad { Meaning::Bad } else { Meaning::Faint };
    lines.iter().map(|line| Row::of(bar, "  │ ").add(meaning, line)).collect()
}

/// The meaning of a line of a diff.
pub(super) fn of_diff(line: &str) -> Option<Meaning> {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Some(Meaning::Heading),
        [b'+', ..] => Some(Meaning::Good),
        [b'-', ..] => Some(Meaning::Bad),
        [b'@', b'@', ..] => Some(Meaning::Active),
        _ if line.starts_with("diff ") => Some(Meaning::Heading),
        _ if line.starts_with("index ") => Some(Meaning::Faint),
        _ => None,
    }
}

fn diff_line(line: impl AsRef<str>, fit: Fit<'_>) -> Vec<Row> {
    let line = line.as_ref();
    let meaning = of_diff(line);
    let lines = wrap(line, Some(fit.width.saturating_sub(4)));
    lines.iter().map(|line| Row::of(Meaning::Faint, "  │ ").add(meaning, line)).collect()
}

/// What a tool was called with.
struct Called<'a> {
    words: Cow<'a, str>,
    /// The lines that it changes in a file, with their signs.
    change: Vec<String>,
}

/// The input in words: a command, or a file with what changes in it. Any other is shown as it came.
fn called(input: &str) -> Called<'_> {
    let as_it_is = Called { words: Cow::Borrowed(input), change: vec![] };
    if !input.starts_with('{') {
        return as_it_is;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(input) else { return as_it_is };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let file = text("file_path").or_else(|| text("path"));
    let lines = |sign: char, text: Option<&str>| -> Vec<String> {
        text.unwrap_or_default().lines().map(|line| format!("{sign}{line}")).collect()
    };
    match (text("command"), file) {
        (Some(command), _) => Called { words: Cow::Owned(command.to_owned()), change: vec![] },
        (None, Some(file)) => {
            let mut change = lines('-', text("old_string"));
            change.extend(lines('+', text("new_string").or_else(|| text("content"))));
            Called { words: Cow::Owned(file.to_owned()), change }
        }
        (None, None) => as_it_is,
    }
}

pub(super) fn gate(report: &GateReport, fit: Fit<'_>) -> Vec<Row> {
    let (sign, meaning) = match report.verdict {
        Verdict::Pass => ("✓", Meaning::Good),
        Verdict::Fail => ("✗", Meaning::Bad),
        Verdict::Ungated | Verdict::Unchanged | Verdict::Unclaimed => ("·", Meaning::Faint),
    };
    let how = match (report.verdict, report.exit_code) {
        (Verdict::Fail, Some(code)) => format!("  exit code {code}"),
        _ => String::new(),
    };
    let head = Row::of(meaning, format!("{sign} ")).plain(format!("{}  ", report.name));
    let head = head.add(Meaning::Faint, short_duration(report.duration_ms)).add(Meaning::Bad, how);
    let mut rows = vec![head];
    let failed = report.verdict == Verdict::Fail;
    if failed || fit.whole {
        let meaning = if failed { Meaning::Bad } else { Meaning::Faint };
        let lines = report.digest.lines().flat_map(|line| output(line, meaning, fit));
        shorten(lines.collect(), OUTPUT.0, fit, &mut rows);
        if let Some(log) = &report.log {
            // Paths are short from the repository on.
            let below = log.strip_prefix(fit.root).and_then(|rest| rest.strip_prefix('/'));
            let text = format!("all of it: {}", below.unwrap_or(log));
            rows.extend(output(&text, Meaning::Faint, fit));
        }
    }
    rows
}
