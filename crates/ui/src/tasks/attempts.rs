//! The attempts on a task: the newest in full, the others in a line each.

use ralph_core::records::{Attempt, Changes, Evidence, FileChange, Verdict};
use ralph_core::task::{Status, Task};
use ralph_core::text::printable;
use ralph_core::view::report::Total;
use ralph_core::view::words::{self, count};
use serde::Serialize;

use super::json::Details;
use super::page::with_text;
use crate::line::{TextLine, paragraph};
use crate::style::{Meaning, TextStyle};
use crate::units::{brief_duration, money, tokens};

/// Letters of a commit's name that are shown; `--json` has all of them.
const SHORT: usize = 12;
/// How many changed files are named, unless everything is asked for.
const FILES: usize = 12;
/// How many lines of the last failure are shown, unless everything is asked for.
const FAILURE_LINES: usize = 12;
/// How many lines of a session's last message are shown, unless everything is asked for.
const SAID_LINES: usize = 4;

/// A heading, and the lines below it.
pub(super) type Section = (String, Vec<String>);

/// Time, tokens and cost of all attempts on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Sums {
    attempts: usize,
    duration_ms: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// The sum over the attempts that reported a price; `None` when none did.
    cost_micro_usd: Option<u64>,
}

impl Sums {
    pub(super) fn of(attempts: &[Attempt]) -> Self {
        let sum = Total::of(attempts);
        Self {
            attempts: attempts.len(),
            duration_ms: sum.duration_ms,
            input_tokens: sum.input_tokens,
            output_tokens: sum.output_tokens,
            cost_micro_usd: sum.cost_micro_usd,
        }
    }

    /// A line for users, such as "3, 1m 20s, $0.12".
    pub(super) fn text(&self) -> String {
        if self.attempts == 0 {
            return "none yet".to_owned();
        }
        let mut parts = vec![self.attempts.to_string(), brief_duration(self.duration_ms)];
        parts.extend(self.cost_micro_usd.map(money));
        parts.join(", ")
    }
}

/// The last gate or verifier that failed, unless the task is done.
pub(super) fn last_failure<'a>(task: &Task, evidence: &'a [Evidence]) -> Option<&'a Evidence> {
    let red = evidence.iter().rev().find(|row| row.verdict == Verdict::Fail);
    red.filter(|_| task.status != Status::Done)
}

/// The sections about the attempts on a task.
pub(super) fn sections(task: &Task, more: Details<'_>, style: TextStyle) -> Vec<Section> {
    let mut all = Vec::new();
    let mut numbered: Vec<(usize, &Attempt)> = more.attempts.iter().enumerate().rev().collect();
    let older = if more.all { vec![] } else { numbered.split_off(numbered.len().min(1)) };
    let of = more.attempts.len();
    for (index, attempt) in numbered {
        let heading = format!("Attempt {} of {of}", index + 1);
        all.push((heading, AttemptView { attempt, more, style }.in_full()));
    }
    if let Some(red) = last_failure(task, more.evidence).filter(|_| !more.all) {
        let lines = printable(red.digest.trim()).lines().map(str::to_owned).collect();
        let lines = first_lines(lines, FAILURE_LINES, more.all);
        all.push((format!("Last failure: {}", red.judge), lines));
    }
    if !older.is_empty() {
        let line = |(index, attempt): &(usize, &Attempt)| {
            AttemptView { attempt, more, style }.in_a_line(index + 1)
        };
        let heading = format!("Earlier attempts (in full: ralph task show {} --all)", task.id);
        all.push((heading, older.iter().map(line).collect()));
    }
    all
}

/// The first lines, and how many follow.
fn first_lines(mut lines: Vec<String>, most: usize, all: bool) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    if !all && more > 1 {
        lines.truncate(most);
        lines.push(format!("[{more} more lines]"));
    }
    lines
}

struct AttemptView<'a> {
    attempt: &'a Attempt,
    more: Details<'a>,
    style: TextStyle,
}

impl AttemptView<'_> {
    fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.more.evidence.iter().filter(|row| row.attempt.as_ref() == Some(&self.attempt.id))
    }

    fn outcome(&self) -> (Meaning, &str) {
        let end = self.attempt.end.as_ref();
        let end = end.map(|end| (end.outcome.as_str(), end.detail.as_str()));
        let meaning = match end {
            None => Meaning::Active,
            Some(("done", _)) => Meaning::Good,
            Some(("red", _)) => Meaning::Bad,
            Some(_) => Meaning::Warning,
        };
        (meaning, words::attempt(end))
    }

    fn lasted(&self) -> Option<String> {
        let end = self.attempt.end.as_ref()?;
        Some(brief_duration(end.at.millis_since(self.attempt.started_at)))
    }

    /// Start, duration, agent, model, sandbox, cost and tokens.
    fn facts(&self) -> Vec<String> {
        let mut facts = vec![self.attempt.started_at.labeled(self.more.zone)];
        facts.extend(self.lasted());
        facts.extend(self.attempt.program.clone());
        facts.extend(self.attempt.model.clone());
        facts.extend(self.attempt.sandbox.as_ref().map(|level| format!("sandbox {level}")));
        if let Some(end) = &self.attempt.end {
            facts.extend(end.cost_micro_usd.map(money));
            if end.input_tokens + end.output_tokens > 0 {
                let (read, written) = (tokens(end.input_tokens), tokens(end.output_tokens));
                facts.push(format!("{read} tokens in, {written} out"));
            }
        }
        facts
    }

    fn in_a_line(&self, number: usize) -> String {
        let (meaning, outcome) = self.outcome();
        let line =
            TextLine::new().plain(format!("{number:>2}  ")).add(meaning, outcome).plain("  ");
        let line = line.add(Meaning::Faint, self.attempt.started_at.labeled(self.more.zone));
        let mut facts: Vec<String> = self.lasted().into_iter().collect();
        facts.extend(self.attempt.model.clone());
        let line = line.plain(format!("  {}  ", facts.join(", ")));
        let detail = self.attempt.end.as_ref().map_or("", |end| end.detail.as_str());
        let first = detail.lines().next().unwrap_or_default();
        line.flexible(None, first).show(self.style)
    }

    fn in_full(&self) -> Vec<String> {
        let (meaning, outcome) = self.outcome();
        let heading = TextLine::new().add(meaning, outcome);
        let mut lines = vec![with_text(heading, &self.facts().join(", "), self.style)];
        if let Some(end) = self.attempt.end.as_ref().filter(|end| !end.detail.trim().is_empty()) {
            let detail = paragraph(0, None, end.detail.trim(), self.style);
            lines.extend(first_lines(detail, FAILURE_LINES, self.more.all));
        }
        lines.extend(self.judged());
        lines.extend(self.changed());
        for note in self.evidence().filter(|row| is_note(row)) {
            lines.extend(paragraph(0, Some(Meaning::Warning), note.digest.trim(), self.style));
        }
        lines.extend(self.last_message());
        lines
    }

    fn judged(&self) -> Vec<String> {
        let rows: Vec<&Evidence> = self.evidence().filter(|row| !is_note(row)).collect();
        let width = rows.iter().map(|row| row.judge.chars().count()).max().unwrap_or(0).min(30);
        let found = |row: &&Evidence| words::verdict(&row.judge, row.verdict).len();
        let widths = (rows.iter().map(found).max().unwrap_or(0), width);
        let mut lines = Vec::new();
        for row in rows {
            lines.push(self.verdict(row, widths));
            // The digest of the last failure has a section of its own, unless all are shown.
            if self.more.all && row.verdict == Verdict::Fail {
                lines.extend(paragraph(4, None, row.digest.trim(), self.style));
            }
        }
        lines
    }

    /// The verdict of one gate or verifier.
    fn verdict(&self, row: &Evidence, (words, width): (usize, usize)) -> String {
        let meaning = Meaning::of_verdict(row.verdict);
        let mut facts: Vec<String> = Vec::new();
        facts.extend(
            row.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}")),
        );
        if row.duration_ms > 0 {
            facts.push(brief_duration(row.duration_ms));
        }
        let why = match row.verdict {
            Verdict::Ungated | Verdict::Unchanged => "",
            // A gate that passed has a digest only where there is something to know.
            Verdict::Pass | Verdict::Fail | Verdict::Unclaimed => {
                row.digest.trim().lines().next().unwrap_or_default()
            }
        };
        // The output of a failed program is shown below.
        let printed = row.verdict == Verdict::Fail && row.exit_code.is_some();
        facts.extend((!why.is_empty() && !printed).then(|| why.to_owned()));
        let found = format!("{:<words$}", words::verdict(&row.judge, row.verdict));
        let line = TextLine::new().plain("  ").add(meaning, found);
        let line = line.plain(format!("  {:<width$}  ", row.judge));
        line.flexible(None, facts.join(", ")).show(self.style)
    }

    fn changed(&self) -> Vec<String> {
        let Some(end) = &self.attempt.end else { return vec![] };
        if end.changed.count() == 0 {
            return vec!["no files changed".to_owned()];
        }
        let Changes { files, .. } = &end.changed;
        let (added, removed) = end.changed.lines();
        let commit = end.commit.as_deref().map(|id| format!(", commit {}", short(id)));
        let mut lines = vec![format!(
            "changed {}, +{added} -{removed}{}",
            count(end.changed.count(), "file"),
            commit.unwrap_or_default()
        )];
        let most = if self.more.all { files.len() } else { FILES };
        let width = files.iter().take(most).map(|file| lines_of(file).len()).max().unwrap_or(0);
        for file in files.iter().take(most) {
            let line = TextLine::new().plain(format!("  {:<width$}  ", lines_of(file)));
            lines.push(line.flexible(None, &file.path).show(self.style));
        }
        let left = end.changed.count().saturating_sub(files.len().min(most) as u64);
        if left > 0 {
            lines.push(format!("  and {left} more"));
        }
        lines
    }

    fn last_message(&self) -> Vec<String> {
        let last_message = self.attempt.end.as_ref().map_or("", |end| end.last_message.trim());
        if last_message.is_empty() {
            return vec![];
        }
        let mut lines = vec!["last message".to_owned()];
        let words = paragraph(2, Some(Meaning::Speech), last_message, self.style);
        // Its end matters most.
        let skipped = if self.more.all { 0 } else { words.len().saturating_sub(SAID_LINES) };
        lines.extend(words.into_iter().skip(skipped));
        lines
    }
}

fn is_note(row: &Evidence) -> bool {
    words::is_note(&row.judge, row.verdict)
}

fn lines_of(file: &FileChange) -> String {
    match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("+{added} -{removed}"),
        _ => "binary".to_owned(),
    }
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}
