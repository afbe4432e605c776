//! Templates of ralph 0.1, whose `ralph init` wrote the rules themselves into `PROMPT_build.md` and
//! `PROMPT_plan.md`, in the words of one preset. This file finds those rules in a template, even if the user has
//! edited it, so that `{{ rules }}` can replace them.
//!
//! It compares block by block (a heading, a list item, a paragraph). A block whose lines are all present is ralph's;
//! every other line is the user's and stays on its line.

use std::ops::Range;

use ralph_core::attempt::prompt::RULES;

use super::{PLAN_TEMPLATE, Template};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitFile {
    /// `PROMPT_build.md`.
    Build,
    /// `PROMPT_plan.md`.
    Plan,
}

const BUILD_0_1: &str = include_str!("build_0_1.md");
const PLAN_0_1: &str = include_str!("plan_0_1.md");

impl InitFile {
    /// What `ralph init` writes today.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Build => include_str!("init_build.md"),
            Self::Plan => include_str!("init_plan.md"),
        }
    }

    /// Whether some `ralph init` wrote exactly this.
    pub fn wrote(self, text: &str) -> bool {
        let old = match self {
            Self::Build => BUILD_0_1,
            Self::Plan => PLAN_0_1,
        };
        text == self.text() || text == old
    }

    /// The rules that the file contained, each version of them.
    fn old_rules(self) -> [&'static str; 2] {
        let body = |text: &'static str| text.split_once("-#}").map_or(text, |(_, body)| body);
        match self {
            Self::Build => [body(BUILD_0_1), RULES],
            Self::Plan => [body(PLAN_0_1), PLAN_TEMPLATE],
        }
    }

    /// Whether the rules that the file contained are, apart from their version, the ones for this kind of run.
    pub fn had(self, rules: &str) -> bool {
        self.old_rules().contains(&rules)
    }
}

/// How much of the rules that ralph 0.1 wrote a template still contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldRules {
    /// Less than half: the template is the user's own.
    Absent,
    /// All of them, and nothing besides.
    Alone,
    /// At least half. The template is the one with `{{ rules }}` in their place.
    Edited(Template),
}

impl Template {
    pub fn old_rules(&self, file: InitFile) -> OldRules {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        let lines: Vec<&str> = text.lines().collect();
        let literal = literal_lines(text);
        let found = file.old_rules().map(|rules| BlockMatches::new(rules, &lines, &literal));
        let [first, second] = found;
        let best = if second.whole > first.whole { second } else { first };
        if best.whole * 2 < best.blocks {
            return OldRules::Absent;
        }
        let theirs = lines
            .iter()
            .enumerate()
            .any(|(at, line)| !best.lines[at] && !literal[at] && !line.trim().is_empty());
        if best.whole == best.blocks && !theirs {
            return OldRules::Alone;
        }
        let text = replaced(&lines, &best.lines, !self.uses("rules"));
        let edited = Self { text, had_old_rules: true, ..self.clone() };
        match edited.compiled(|_| Ok(())) {
            Ok(()) => OldRules::Edited(edited),
            Err(_) => OldRules::Absent,
        }
    }
}

struct BlockMatches {
    blocks: usize,
    /// How many of them are there with all their lines.
    whole: usize,
    /// The lines of the template that belong to one of those.
    lines: Vec<bool>,
}

impl BlockMatches {
    fn new(rules: &str, lines: &[&str], literal: &[bool]) -> Self {
        let wanted: Vec<&str> = rules.lines().collect();
        let places = common(&wanted, lines, literal);
        let blocks = blocks(&wanted);
        let mut found = Self { blocks: blocks.len(), whole: 0, lines: vec![false; lines.len()] };
        for block in blocks {
            let at: Option<Vec<usize>> = places[block].iter().copied().collect();
            let Some(at) = at else { continue };
            found.whole += 1;
            at.into_iter().for_each(|at| found.lines[at] = true);
        }
        found
    }
}

/// The text with `{{ rules }}` where the first of the `old` lines are, and nothing where the others are. A
/// line that stays keeps its number: a fault in it is shown where the user finds it.
fn replaced(lines: &[&str], old: &[bool], mut wants_rules: bool) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < lines.len() {
        if !old[at] {
            text.push_str(lines[at]);
            text.push('\n');
            at += 1;
            continue;
        }
        let blank = |at: &usize| lines[*at].trim().is_empty();
        let end = (at..lines.len()).find(|at| !old[*at] && !blank(at)).unwrap_or(lines.len());
        let end = (at..end).rfind(|at| !blank(at)).map_or(end, |last| last + 1);
        if std::mem::take(&mut wants_rules) {
            text.push_str("{{ rules }}");
        }
        if end - at > 1 {
            text.push_str(&format!("{{#{}#}}", "\n".repeat(end - at - 1)));
        }
        text.push('\n');
        at = end;
    }
    text
}

/// Headings, list items and paragraphs, as ranges of lines.
fn blocks(lines: &[&str]) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match blocks.last_mut() {
            Some(block) if block.end == at && !is_item(line) => block.end = at + 1,
            _ => blocks.push(at..at + 1),
        }
    }
    blocks
}

fn is_item(line: &str) -> bool {
    line.starts_with("- ") || without_number(line).len() < line.len()
}

/// A list item without its number: adding one renumbers those after it.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(". ") {
        Some(text) if rest.len() < line.len() => text,
        _ => line,
    }
}

/// For each of the `wanted` lines its place in `lines`: the longest sequence that both have in common.
fn common(wanted: &[&str], lines: &[&str], literal: &[bool]) -> Vec<Option<usize>> {
    let same = |w: usize, l: usize| {
        !literal[l] && without_number(wanted[w].trim()) == without_number(lines[l].trim())
    };
    // length[w][l] is that of the longest sequence from there to the end.
    let mut length = vec![vec![0_u16; lines.len() + 1]; wanted.len() + 1];
    for w in (0..wanted.len()).rev() {
        for l in (0..lines.len()).rev() {
            length[w][l] = match same(w, l) {
                true => length[w + 1][l + 1] + 1,
                false => length[w + 1][l].max(length[w][l + 1]),
            };
        }
    }
    let mut places = vec![None; wanted.len()];
    let (mut w, mut l) = (0, 0);
    while w < wanted.len() && l < lines.len() {
        if same(w, l) {
            places[w] = Some(l);
            (w, l) = (w + 1, l + 1);
        } else if length[w + 1][l] >= length[w][l + 1] {
            w += 1;
        } else {
            l += 1;
        }
    }
    places
}

/// The lines that are, or hold a part of, a comment or a `raw` block: nothing can be put there.
fn literal_lines(text: &str) -> Vec<bool> {
    let mut literal = vec![false; text.lines().count()];
    let (mut at, mut line) = (0, 0);
    while let Some(found) = text[at..].find('{') {
        let start = at + found;
        line += newlines(&text[at..start]);
        let end = match &text[start..] {
            rest if rest.starts_with("{#") => {
                rest.find("#}").map_or(text.len(), |end| start + end + 2)
            }
            rest if is_raw(rest) => rest.find("endraw").map_or(text.len(), |end| start + end),
            _ => {
                at = start + 1;
                continue;
            }
        };
        let last = line + newlines(&text[start..end]);
        let until = (last + 1).min(literal.len());
        literal[line.min(until)..until].fill(true);
        (at, line) = (end, last);
    }
    literal
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn is_raw(text: &str) -> bool {
    let blank = ['-', '+', ' ', '\t', '\n', '\r'];
    let tag = text.strip_prefix("{%").map(|tag| tag.trim_start_matches(blank));
    let rest = tag.and_then(|tag| tag.strip_prefix("raw"));
    rest.is_some_and(|rest| rest.trim_start_matches(blank).starts_with("%}"))
}

#[cfg(test)]
mod tests;
