//! What ralph writes into a progress file: attempts, rows of the log, what was completed, a status.
//!
//! Everything goes in behind the end of a line and before its line break, so a file without a last
//! line break stays one, and the break that was there ends the new text.

use super::doc::PlanDoc;
use super::edit::Edit;
use super::outline::{LineKind, Outline, after_break};
use super::progress::{AttemptAt, AttemptNote, Section, SectionAt};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogRow {
    pub iteration: u64,
    /// When it started, as it is to be written.
    pub started: String,
    /// How long it took, as it is to be written.
    pub duration: String,
    pub tasks_completed: usize,
    /// What is to be said about it.
    pub notes: String,
}

impl LogRow {
    const COLUMNS: [&'static str; 5] =
        ["Iteration", "Started", "Duration", "Tasks Completed", "Notes"];

    /// The cell below a header. `None` for a column that ralph does not know.
    fn cell(&self, header: &str) -> Option<String> {
        let header = header.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| header.contains(word));
        Some(match () {
            () if has(&["task", "completed"]) => self.tasks_completed.to_string(),
            () if has(&["start", "date"]) => self.started.clone(),
            () if has(&["duration", "took"]) => self.duration.clone(),
            () if has(&["note", "comment"]) => self.notes.clone(),
            () if has(&["iter", "#"]) => self.iteration.to_string(),
            () => return None,
        })
    }

    fn under(&self, headers: &[&str]) -> String {
        let known = headers.iter().any(|header| self.cell(header).is_some());
        let headers = if known { headers } else { &Self::COLUMNS };
        let cells = headers.iter().map(|header| {
            let cell = one_line(&self.cell(header).unwrap_or_default());
            cell.replace('|', "\\|")
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }
}

impl PlanDoc {
    /// Adds what was tried to Recent Attempts and drops the oldest beyond `keep`.
    pub fn record_attempt(&self, text: &str, note: &AttemptNote, keep: usize) -> Vec<Edit> {
        let attempts = &self.progress.attempts;
        let dropped = (attempts.len() + 1).saturating_sub(keep).min(attempts.len());
        let mut edits: Vec<Edit> = Vec::new();
        let section = self.progress.section(Section::Attempts);
        let end = section.map_or(0, |section| section.content.end);
        for AttemptAt { span, .. } in &attempts[..dropped] {
            let after = after_blank(text, span.end);
            let to = if span.end == end { end } else { after.min(end) };
            edits.push(Edit { range: span.start..to, text: String::new() });
        }
        if keep == 0 {
            return edits;
        }
        let block = self.attempt_block(note);
        let gap = edits.last_mut().filter(|edit| edit.range.end == end);
        match (gap, section) {
            // The place of the last one that was dropped.
            (Some(edit), _) => edit.text = self.apart(text, end, &block, false),
            (None, Some(section)) => edits.push(self.below(text, section.content.end, &block)),
            (None, None) => {
                let section = self.headed(Section::Attempts, &block);
                edits.push(self.new_section(text, &[Section::Log], &section));
            }
        }
        edits
    }

    /// Adds a row to the table of the Iteration Log.
    pub fn log_row(&self, text: &str, row: &LogRow) -> Vec<Edit> {
        if let Some((header, end)) = &self.progress.log {
            let header = &text[header.clone()];
            let indent = &header[..header.len() - header.trim_start().len()];
            let headers: Vec<&str> = header.trim().trim_matches('|').split('|').collect();
            let line = format!("{}{indent}{}", self.newline, row.under(&headers));
            return vec![Edit { range: *end..*end, text: line }];
        }
        let newline = self.newline;
        let table = format!(
            "| {} |{newline}|{}{newline}{}",
            LogRow::COLUMNS.join(" | "),
            "---|".repeat(LogRow::COLUMNS.len()),
            row.under(&LogRow::COLUMNS)
        );
        vec![match self.progress.section(Section::Log) {
            Some(section) => self.below(text, section.content.end, &table),
            None => self.new_section(text, &[], &self.headed(Section::Log, &table)),
        }]
    }

    /// Makes Completed This Iteration a list of these.
    pub fn set_completed(&self, text: &str, completed: &[String]) -> Vec<Edit> {
        let bullets: Vec<String> = completed.iter().map(|words| bullet(words)).collect();
        let bullets = bullets.join(self.newline);
        match self.progress.section(Section::Completed) {
            Some(section) => self.replace(text, section, &bullets),
            None if bullets.is_empty() => Vec::new(),
            None => {
                let section = self.headed(Section::Completed, &bullets);
                vec![self.new_section(text, &[Section::Attempts, Section::Log], &section)]
            }
        }
    }

    pub fn set_status(&self, text: &str, status: &str) -> Vec<Edit> {
        if self.status_text() == Some(status) {
            return Vec::new();
        }
        let status = status.replace("\r\n", "\n");
        let status = status.trim_matches('\n').trim_end().replace('\n', self.newline);
        if let Some(section) = self.progress.section(Section::Status) {
            return self.replace(text, section, &status);
        }
        let section = self.headed(Section::Status, &status);
        vec![match self.progress.head_end {
            0 => self.new_section(text, &Section::ALL, &section),
            end => self.below(text, end, &section),
        }]
    }

    fn headed(&self, section: Section, content: &str) -> String {
        format!("## {section}{0}{0}{content}", self.newline)
    }

    fn attempt_block(&self, note: &AttemptNote) -> String {
        let mut lines = vec![
            format!("### Iteration {}", note.iteration),
            String::new(),
            format!("- Tried: {}", one_line(&note.tried)),
            format!("- Result: {}", one_line(&note.result)),
        ];
        lines.extend(note.next.as_deref().map(|next| format!("- Next: {}", one_line(next))));
        lines.join(self.newline)
    }

    /// Puts a block behind the line that ends at `end`, with blank lines around it.
    fn below(&self, text: &str, end: usize, block: &str) -> Edit {
        let newline = self.newline;
        let block = self.apart(text, end, block, true);
        Edit { range: end..end, text: format!("{newline}{newline}{block}") }
    }

    /// A block in front of the line after `end`, kept apart from it: a line that is indented would
    /// become a part of a list that the block ends with, and one with an underline a part of its
    /// last paragraph. `wide` wants a blank line even where none is needed.
    fn apart(&self, text: &str, end: usize, block: &str, wide: bool) -> String {
        let newline = self.newline;
        let next = text[after_break(text, end)..].lines().next().unwrap_or_default();
        let crowded = !next.trim().is_empty() && (wide || !next.starts_with('#'));
        let indented = text[after_blank(text, end)..].starts_with([' ', '\t']);
        let comment = match indented && !block.is_empty() {
            true => format!("{newline}{newline}<!-- -->"),
            false => String::new(),
        };
        format!("{block}{comment}{}", if crowded { newline } else { "" })
    }

    /// Puts a section before the first of `before` that there is, or at the end.
    fn new_section(&self, text: &str, before: &[Section], block: &str) -> Edit {
        let newline = self.newline;
        let starts = before.iter().filter_map(|wanted| self.progress.section(*wanted));
        match starts.map(|section| section.start).min() {
            Some(start) => {
                let above = text[..start].lines().next_back().unwrap_or_default();
                let crowded = !above.trim_start_matches('\u{feff}').trim().is_empty();
                let gap = if crowded { newline } else { "" };
                // The line that begins here is not blank.
                let indented = text[start..].starts_with([' ', '\t']);
                let apart = if indented { "<!-- -->" } else { "" };
                let apart = format!("{apart}{}", newline.repeat(2 * usize::from(indented)));
                let text = format!("{gap}{block}{newline}{newline}{apart}");
                Edit { range: start..start, text }
            }
            None => {
                let words = text.trim_end().len();
                let line = text[words..].split('\n').next().unwrap_or_default();
                let end = words + line.trim_end_matches('\r').len();
                let gap = if words == 0 { String::new() } else { newline.repeat(2) };
                let closing = closing_at_end(text).map(|mark| format!("{newline}{mark}"));
                Edit {
                    range: end..end,
                    text: format!("{}{gap}{block}", closing.unwrap_or_default()),
                }
            }
        }
    }

    fn replace(&self, text: &str, section: &SectionAt, content: &str) -> Vec<Edit> {
        let range = section.content.clone();
        let (old, new) = (&text[range.clone()], self.apart(text, range.end, content, false));
        match () {
            () if old == new => Vec::new(),
            () if old.is_empty() => vec![self.below(text, section.heading_end, content)],
            () => vec![Edit { range, text: new }],
        }
    }
}

/// What closes the code or comment that would hide a section at the end of the text: hidden, it would be
/// written again and again.
fn closing_at_end(text: &str) -> Option<String> {
    let with_heading = format!("{}\n\n## x", text.trim_end());
    let outline = Outline::of(&with_heading);
    let hidden = outline.lines.last().is_some_and(|line| line.kind == LineKind::Opaque);
    if hidden { outline.closing() } else { None }
}

/// Where the first line begins that is not blank, after the one that ends at `end`.
fn after_blank(text: &str, end: usize) -> usize {
    let mut at = after_break(text, end);
    while let Some(line) = text[at..].split_inclusive('\n').next() {
        if !line.trim().is_empty() {
            break;
        }
        at += line.len();
    }
    at
}

/// A list item that is not a checkbox, whatever its words are.
fn bullet(words: &str) -> String {
    let mut line = format!("- {}", one_line(words));
    let kind = Outline::of(&line).lines.first().map(|line| line.kind.clone());
    if let Some(LineKind::Box { at, .. }) = kind {
        line.insert(at.inner.start - 1, '\\');
    }
    line
}

/// A text on one line, so that it cannot become a heading, a row or a checkbox.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect()
}
