//! Tables of tasks: a row with a checkbox in one of its cells is a task, its other cells say what it is.

use std::ops::Range;

use super::mark::{Checkbox, checkbox};

/// The columns of the table that is being read.
#[derive(Debug, Clone)]
pub(super) struct Table<'t> {
    columns: Vec<&'t str>,
    checkboxes: usize,
}

/// A row that is a task. Places are bytes of the line.
#[derive(Debug)]
pub(super) struct TaskRow {
    pub(super) checkbox: Checkbox,
    pub(super) title: String,
    pub(super) body: String,
}

/// Whether a line separates the head of a table from its rows.
pub(super) fn is_delimiter(line: &str) -> bool {
    let cells = cells(line);
    let is_dashes = |cell: &Range<usize>| {
        let dashes = line[cell.clone()].trim().trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    line.contains('|') && !cells.is_empty() && cells.iter().all(is_dashes)
}

impl<'t> Table<'t> {
    /// The table with this head, if one of its columns has checkboxes.
    pub(super) fn headed(line: &'t str, rows: impl Iterator<Item = &'t str>) -> Option<Self> {
        let columns = cells(line).into_iter().map(|cell| line[cell].trim()).collect();
        let is_box = |row: &str, cell: &Range<usize>| {
            found_in(row, cell).is_some_and(|(found, _)| !found.mark.needs_company())
        };
        let checkboxes = rows
            .into_iter()
            .find_map(|row| cells(row).iter().position(|cell| is_box(row, cell)))?;
        Some(Self { columns, checkboxes })
    }

    pub(super) fn row(&self, line: &str) -> Option<TaskRow> {
        let (cells, at) = (cells(line), self.checkboxes);
        let (found, words) = found_in(line, cells.get(at)?)?;
        let text = |at: usize| line[cells[at].clone()].trim().replace("\\|", "|");
        let named = |at: &usize| {
            let name = self.columns.get(*at).map(|name| name.to_lowercase()).unwrap_or_default();
            ["task", "title", "item", "what", "feature", "name", "description", "story"]
                .iter()
                .any(|word| name.contains(word))
        };
        let others = || (0..cells.len()).filter(|other| *other != at && !text(*other).is_empty());
        let is_number = |at: &usize| !text(*at).chars().any(char::is_alphabetic);
        let title_at = match words.is_empty() {
            false => None,
            true => {
                let first = others().find(|other| named(other) && !is_number(other));
                let first = first.or_else(|| others().find(|other| !is_number(other)));
                Some(first.or_else(|| others().next())?)
            }
        };
        let body = others().filter(|other| Some(*other) != title_at).map(|other| {
            match self.columns.get(other).filter(|name| !name.is_empty()) {
                Some(name) => format!("{name}: {}", text(other)),
                None => text(other),
            }
        });
        let body = body.collect::<Vec<_>>().join("\n");
        let title = title_at.map_or_else(|| line[words].replace("\\|", "|"), text);
        Some(TaskRow { checkbox: found, title, body })
    }
}

/// The checkbox that a cell starts with, and the words behind it.
fn found_in(line: &str, cell: &Range<usize>) -> Option<(Checkbox, Range<usize>)> {
    let content = &line[cell.clone()];
    let start = cell.start + content.len() - content.trim_start().len();
    let end = cell.start + content.trim_end().len();
    let found = checkbox(line.get(start..end)?)?;
    let words = line[start + found.length..end].trim_start();
    let words = end - words.len()..end;
    Some((found.moved(start), words))
}

/// The cells of a line, without the bars around them.
fn cells(line: &str) -> Vec<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let end = line.trim_end().len();
    let mut bars = Vec::new();
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate().take(end).skip(start) {
        match byte {
            b'\\' => escaped = !escaped,
            b'|' if !escaped => bars.push(at),
            _ => escaped = false,
        }
        if byte == b'|' {
            escaped = false;
        }
    }
    let mut cells = Vec::with_capacity(bars.len() + 1);
    let mut from = start;
    for bar in bars.iter().copied() {
        if bar > start {
            cells.push(from..bar);
        }
        from = bar + 1;
    }
    if from < end {
        cells.push(from..end);
    }
    cells
}
