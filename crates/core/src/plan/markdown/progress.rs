//! Progress files: `# Progress: name` and its sections.

use std::ops::Range;

use super::doc::{Group, PlanDoc, PlanKind};
use super::items::{CheckboxCollector, bare, value_of};
use super::outline::{BoxAt, LineKind, Outline, OutlineLine};
use crate::plan::PlanError;

/// What ends a run when it stands alone on a line of the Status section.
pub(super) const DONE_MARKER: &str = "RALPH_DONE";

words! {
    /// The sections that are read, with their headings, in the order of a new file; others are text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Section {
        Status = "Status",
        Analysis = "Analysis",
        Tasks = "Tasks",
        Testing = "Testing Strategy",
        Completed = "Completed This Iteration",
        Attempts = "Recent Attempts",
        Log = "Iteration Log",
    }
}

impl Section {
    /// The section that a heading starts.
    pub(super) fn of(words: &str) -> Option<Self> {
        let words = words.trim().trim_matches('*').trim_end_matches(':').trim();
        Self::ALL.into_iter().find(|section| section.as_str().eq_ignore_ascii_case(words))
    }
}

/// Where things are in a progress file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Progress {
    pub(super) done_marker: bool,
    pub(super) status: Option<String>,
    pub(super) sections: Vec<SectionAt>,
    pub(super) attempts: Vec<AttemptAt>,
    pub(super) completed: Vec<String>,
    /// The header of the log's table and the end of its last row.
    pub(super) log: Option<(Range<usize>, usize)>,
    /// After the heading of the file, where a section may be put in.
    pub(super) head_end: usize,
    /// Whether the lines that are being read belong to the last attempt.
    in_attempt: bool,
}

impl Progress {
    pub(super) fn section(&self, wanted: Section) -> Option<&SectionAt> {
        self.sections.iter().find(|at| at.section == wanted)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SectionAt {
    pub(super) section: Section,
    /// Where the line of its heading begins.
    pub(super) start: usize,
    /// After its heading, without the line break.
    pub(super) heading_end: usize,
    /// The lines of what it says, from the first that is not blank to the last, without its line
    /// break; empty at the end of the heading if it says nothing.
    pub(super) content: Range<usize>,
    line: usize,
}

/// What was tried in an iteration, as the file remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptNote {
    pub iteration: u64,
    pub tried: String,
    pub result: String,
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttemptAt {
    pub(super) note: AttemptNote,
    /// From the line of its heading to the end of its last line, without the line break.
    pub(super) span: Range<usize>,
}

/// The name in a heading such as `Progress: name`, which may be empty.
pub(super) fn name(words: &str) -> Option<&str> {
    let head = words.get(.."progress".len()).filter(|h| h.eq_ignore_ascii_case("progress"))?;
    words[head.len()..].trim_start().strip_prefix(':').map(str::trim)
}

pub(super) fn read(outline: &Outline<'_>) -> Result<PlanDoc, PlanError> {
    let mut doc = PlanDoc::empty(PlanKind::Progress);
    let mut checkboxes = CheckboxCollector::of(outline);
    let mut section: Option<usize> = None;
    let mut phase = None;
    for (index, line) in outline.lines.iter().enumerate() {
        if let LineKind::Heading { level, words, underlined, checkbox } = &line.kind {
            let words = &outline.text[words.clone()];
            let known = Section::of(words).filter(|_| *level == 2);
            let now = section.map(|at| doc.progress.sections[at].section);
            // `RALPH_DONE` above a rule is a line of its section, not a heading.
            let is_text = *underlined && *level == 2 && now == Some(Section::Status);
            if known.is_some() || !is_text {
                // The underline is the end of such a heading.
                let end = if *underlined { &outline.lines[index + 1] } else { line }.end;
                if *level == 1 && doc.progress.head_end == 0 {
                    doc.name = bare(name(words).unwrap_or(words));
                    doc.progress.head_end = end;
                }
                if *level <= 2 {
                    phase = None;
                    checkboxes.end_section(*level, index);
                    section = match known {
                        Some(known) => start(&mut doc, known, line, end)?,
                        None => None,
                    };
                    continue;
                }
                if *level == 3 && now == Some(Section::Tasks) && checkbox.is_none() {
                    phase = Some(doc.groups.len());
                    let title = bare(words).unwrap_or_default();
                    doc.groups.push(Group { title, line: line.number, ..Group::default() });
                }
                if *level == 3 && now == Some(Section::Attempts) {
                    attempt(&mut doc.progress, line, words);
                }
            }
        }
        let Some(at) = section else { continue };
        let section = &mut doc.progress.sections[at];
        if line.start < section.heading_end {
            continue;
        }
        // The underline of the section's own heading is the first line below it.
        if section.content.is_empty() && line.end > section.heading_end {
            section.content = line.start..line.end;
        }
        section.content.end = section.content.end.max(line.end);
        let section = section.section;
        if section == Section::Tasks {
            checkboxes.line(index, phase);
        } else {
            say(&mut doc.progress, section, outline, line);
        }
    }
    (doc.items, doc.warnings) = checkboxes.finish();
    let status = doc.progress.section(Section::Status).map(|at| at.content.clone());
    doc.progress.status = status.map(|range| outline.text[range].to_owned());
    Ok(doc)
}

/// A section begins. A second section of a kind that must be unique is an error for the user to fix; of other
/// kinds the second is text.
fn start(
    doc: &mut PlanDoc,
    section: Section,
    line: &OutlineLine,
    end: usize,
) -> Result<Option<usize>, PlanError> {
    doc.progress.in_attempt = false;
    if let Some(first) = doc.progress.section(section).map(|at| at.line) {
        if !matches!(section, Section::Tasks | Section::Status) {
            return Ok(None);
        }
        let heading = section.as_str();
        let problem = format!("a second \"## {heading}\"; the first is on line {first}");
        return Err(PlanError { line: line.number, problem });
    }
    doc.progress.sections.push(SectionAt {
        section,
        start: line.start,
        heading_end: end,
        content: end..end,
        line: line.number,
    });
    Ok(Some(doc.progress.sections.len() - 1))
}

/// An attempt begins, if the heading names an iteration.
fn attempt(progress: &mut Progress, line: &OutlineLine, words: &str) {
    let head = words.get(.."iteration".len()).filter(|h| h.eq_ignore_ascii_case("iteration"));
    let rest = head.map_or("", |head| words[head.len()..].trim_start());
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    progress.in_attempt = false;
    if let Ok(iteration) = rest[..digits].parse() {
        progress.in_attempt = true;
        let note = AttemptNote { iteration, ..AttemptNote::default() };
        progress.attempts.push(AttemptAt { note, span: line.start..line.end });
    }
}

/// A line of a section other than Tasks.
fn say(progress: &mut Progress, section: Section, outline: &Outline<'_>, line: &OutlineLine) {
    let content = outline.content(line);
    match (section, &line.kind) {
        (Section::Status, LineKind::Text | LineKind::Heading { .. }) => {
            progress.done_marker |= content.trim() == DONE_MARKER;
        }
        (
            Section::Completed,
            LineKind::Bullet { words } | LineKind::Box { at: BoxAt { words, .. }, .. },
        ) => {
            progress.completed.extend(bare(&outline.text[words.clone()]));
        }
        (Section::Log, LineKind::Row | LineKind::Text) if content.contains('|') => {
            let header = progress.log.take().map(|(header, _)| header);
            progress.log = Some((header.unwrap_or(line.start..line.end), line.end));
        }
        (Section::Attempts, _) => say_attempt(progress, content, line),
        _ => {}
    }
}

fn say_attempt(progress: &mut Progress, content: &str, line: &OutlineLine) {
    let in_attempt = progress.in_attempt;
    let Some(AttemptAt { note, span }) = progress.attempts.last_mut().filter(|_| in_attempt) else {
        return;
    };
    span.end = line.end;
    let value = |key| value_of(content, key).map(|range| content[range].to_owned());
    if let Some(tried) = value("tried") {
        note.tried = tried;
    } else if let Some(result) = value("result") {
        note.result = result;
    } else if let Some(next) = value("next") {
        note.next = bare(&next);
    }
}
