//! Finds tags in a text in one pass, and leaves quotations alone.
//!
//! A quotation is a fenced code block (``` or ~~~, to its end or to that of the text), inline code
//! (within one line) or a line that begins with `>`. Tags are exact: no attributes, no spaces, small
//! letters.

/// A tag that has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    TaskDone,
    TaskFailed,
    Reason,
    Promise,
    NextModel,
    Question,
    VerifyFail,
    VerifyPass,
}

impl Tag {
    const ALL: [(&'static str, Self); 8] = [
        ("task-done", Self::TaskDone),
        ("task-failed", Self::TaskFailed),
        ("reason", Self::Reason),
        ("promise", Self::Promise),
        ("next-model", Self::NextModel),
        ("question", Self::Question),
        ("verify-fail", Self::VerifyFail),
        ("verify-pass", Self::VerifyPass),
    ];

    /// What stands between these is prose for people: nothing in it is a request.
    const fn holds_prose(self) -> bool {
        matches!(self, Self::Reason | Self::Question | Self::VerifyFail)
    }
}

/// A tag and what stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) tag: Tag,
    pub(super) content: &'a str,
    start: usize,
}

/// All tags of the text that are closed, in the order of their ends. An end belongs to the nearest
/// beginning before it, so that a tag which is only mentioned swallows nothing.
pub(super) fn tags(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut open = [None; Tag::ALL.len()];
    plain_parts(text, |from, to| {
        let mut at = from;
        while let Some(step) = text[at..to].find('<') {
            let start = at + step;
            at = start + 1;
            let Some((mark, end)) = mark(&text[start..to]) else {
                continue;
            };
            at = start + end;
            match mark {
                Mark::Begin(index) => open[index] = Some((start, at)),
                Mark::Whole(index) => {
                    found.push(Found { tag: Tag::ALL[index].1, content: "", start });
                }
                Mark::End(index) => {
                    if let Some((begin, after)) = open[index].take() {
                        let content = text[after..start].trim();
                        found.push(Found { tag: Tag::ALL[index].1, content, start: begin });
                    }
                }
            }
        }
    });
    without_those_in_prose(found)
}

enum Mark {
    Begin(usize),
    End(usize),
    Whole(usize),
}

/// The mark that this text begins with, and its length.
fn mark(text: &str) -> Option<(Mark, usize)> {
    let rest = text.strip_prefix('<')?;
    let (closing, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    for (index, (name, tag)) in Tag::ALL.into_iter().enumerate() {
        let Some(after) = rest.strip_prefix(name) else {
            continue;
        };
        let before = text.len() - after.len();
        return match (tag, closing) {
            (Tag::VerifyPass, false) if after.starts_with("/>") => {
                Some((Mark::Whole(index), before + 2))
            }
            (Tag::VerifyPass, _) => None,
            (_, _) if !after.starts_with('>') => None,
            (_, true) => Some((Mark::End(index), before + 1)),
            (_, false) => Some((Mark::Begin(index), before + 1)),
        };
    }
    None
}

fn without_those_in_prose(mut found: Vec<Found<'_>>) -> Vec<Found<'_>> {
    let mut prose_from = usize::MAX;
    let mut kept = vec![true; found.len()];
    // From the last end to the first: whatever begins after a prose tag whose end was seen lies in it.
    for (index, tag) in found.iter().enumerate().rev() {
        kept[index] = tag.start < prose_from;
        if tag.tag.holds_prose() && kept[index] {
            prose_from = tag.start;
        }
    }
    let mut kept = kept.into_iter();
    found.retain(|_| kept.next().unwrap_or(true));
    found
}

/// Calls `each` with the bounds of every part of the text that is no quotation. No part is longer
/// than a line.
fn plain_parts(text: &str, mut each: impl FnMut(usize, usize)) {
    let mut fence: Option<(u8, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, words) = (at, line.trim());
        at += line.len();
        match (fence, run(words)) {
            (Some((mark, long)), Some((found, length))) => {
                if mark == found && length >= long && words.len() == length {
                    fence = None;
                }
            }
            (Some(_), None) => {}
            (None, Some((mark, length)))
                if length >= 3 && (mark == b'~' || !words[length..].contains('`')) =>
            {
                fence = Some((mark, length));
            }
            (None, _) if words.starts_with('>') => {}
            (None, _) => outside_inline_code(line, |from, to| each(start + from, start + to)),
        }
    }
}

/// The run of backticks or tildes that a line begins with.
fn run(words: &str) -> Option<(u8, usize)> {
    let mark = words.bytes().next().filter(|mark| matches!(mark, b'`' | b'~'))?;
    Some((mark, words.bytes().take_while(|byte| *byte == mark).count()))
}

/// Inline code lies between two runs of equally many backticks; a run without a partner is text.
fn outside_inline_code(line: &str, mut each: impl FnMut(usize, usize)) {
    if !line.contains('`') {
        return each(0, line.len());
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((start, length)) if *start + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    // The partner of each run, from the right, in one pass.
    let mut latest = std::collections::HashMap::new();
    let mut partner = vec![None; runs.len()];
    for (index, (_, length)) in runs.iter().enumerate().rev() {
        partner[index] = latest.insert(*length, index);
    }
    let (mut plain_from, mut index) = (0, 0);
    while index < runs.len() {
        match partner[index] {
            Some(other) => {
                each(plain_from, runs[index].0);
                plain_from = runs[other].0 + runs[other].1;
                index = other + 1;
            }
            None => index += 1,
        }
    }
    each(plain_from, line.len());
}
