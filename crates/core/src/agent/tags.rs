//! Finds tags in a text in one pass, and separates those in quotations.
//!
//! A quotation is a fenced code block (``` or ~~~, to its end or to that of the text), inline code
//! (within one line) or a line that begins with `>`. Tags are exact: no attributes, no spaces, small
//! letters.

use crate::plan::markdown::Fence;

words! {
    /// A tag that has a meaning, by its name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Tag {
        TaskDone = "task-done",
        TaskFailed = "task-failed",
        Reason = "reason",
        Promise = "promise",
        NextModel = "next-model",
        Question = "question",
        VerifyFail = "verify-fail",
        VerifyPass = "verify-pass",
    }
}

impl Tag {
    /// The text between these is prose for the user: nothing in it is a request.
    const fn holds_prose(self) -> bool {
        matches!(self, Self::Reason | Self::Question | Self::VerifyFail)
    }
}

/// A tag and what stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagMatch<'a> {
    pub(super) tag: Tag,
    pub(super) content: &'a str,
    /// With its marks.
    pub(super) whole: &'a str,
    start: usize,
    end: usize,
}

pub(super) struct Tags<'a> {
    /// The tags outside of quotations that are closed, in the order of their ends. An end belongs to the
    /// nearest beginning before it, so that a tag which is only mentioned swallows nothing.
    pub(super) plain: Vec<TagMatch<'a>>,
    /// The tags in quotations that are closed there.
    pub(super) quoted: Vec<TagMatch<'a>>,
    /// The last line that is not blank, without the quotation marks around it, where it is quoted. A fence
    /// that closes after it is passed over.
    pub(super) last_quoted: Option<&'a str>,
}

pub(super) fn tags(text: &str) -> Tags<'_> {
    let (mut plain, mut quoted): (Vec<TagMatch<'_>>, Vec<TagMatch<'_>>) = (Vec::new(), Vec::new());
    let mut open = [None; Tag::ALL.len()];
    let last = parts(text, |from, to, is_quoted| {
        if is_quoted {
            tags_between(text, from, to, &mut [None; Tag::ALL.len()], &mut quoted);
        } else {
            tags_between(text, from, to, &mut open, &mut plain);
        }
    });
    let plain = without_those_in_prose(plain);
    // A question may hold code: what stands there is a part of the question.
    let mut prose = plain.iter().filter(|tag| tag.tag.holds_prose()).peekable();
    quoted.retain(|tag| {
        while prose.next_if(|prose| prose.end <= tag.start).is_some() {}
        prose.peek().is_none_or(|prose| tag.start < prose.start)
    });
    Tags { plain, quoted, last_quoted: last }
}

type Open = [Option<(usize, usize)>; Tag::ALL.len()];

fn tags_between<'a>(
    text: &'a str,
    from: usize,
    to: usize,
    open: &mut Open,
    found: &mut Vec<TagMatch<'a>>,
) {
    let mut at = from;
    while let Some(step) = text[at..to].find('<') {
        let start = at + step;
        at = start + 1;
        let Some((mark, length)) = mark(&text[start..to]) else {
            continue;
        };
        at = start + length;
        match mark {
            Mark::Begin(index) => open[index] = Some((start, at)),
            Mark::Whole(index) => {
                let tag = Tag::ALL[index];
                found.push(TagMatch { tag, content: "", start, end: at, whole: &text[start..at] });
            }
            Mark::End(index) => {
                if let Some((begin, after)) = open[index].take() {
                    found.push(TagMatch {
                        tag: Tag::ALL[index],
                        content: text[after..start].trim(),
                        start: begin,
                        end: at,
                        whole: &text[begin..at],
                    });
                }
            }
        }
    }
}

/// The tag that is all of this line.
pub(super) fn only_tag(line: &str) -> Option<TagMatch<'_>> {
    let mut found = Vec::new();
    tags_between(line, 0, line.len(), &mut [None; Tag::ALL.len()], &mut found);
    let first = found.into_iter().next()?;
    (first.start == 0 && first.end == line.len()).then_some(first)
}

pub(super) fn mark_names() -> impl Iterator<Item = &'static str> {
    Tag::ALL.into_iter().map(Tag::as_str)
}

enum Mark {
    Begin(usize),
    End(usize),
    Whole(usize),
}

/// The mark that this text begins with, and its length.
fn mark(text: &str) -> Option<(Mark, usize)> {
    let rest = text.strip_prefix('<')?;
    let closing = rest.starts_with('/');
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    for (index, tag) in Tag::ALL.into_iter().enumerate() {
        let Some(after) = rest.strip_prefix(tag.as_str()) else {
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

fn without_those_in_prose(mut found: Vec<TagMatch<'_>>) -> Vec<TagMatch<'_>> {
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

/// Calls `each` with the bounds of every part of the text, and whether it is a quotation. No part that is
/// none is longer than a line. Returns the last line that is not blank, where that is a quotation.
fn parts(text: &str, mut each: impl FnMut(usize, usize, bool)) -> Option<&str> {
    let mut fence: Option<Fence> = None;
    let (mut at, mut fenced_from) = (0, 0);
    let mut last = None;
    for line in text.split_inclusive('\n') {
        let (start, words) = (at, line.trim());
        at += line.len();
        match (fence, Fence::opened(words)) {
            (Some(open), _) if open.is_closed_by(words) => {
                each(fenced_from, start, true);
                fence = None;
            }
            (Some(_), _) if words.is_empty() => {}
            (Some(_), _) => last = Some(unquoted(words)),
            (None, opened @ Some(_)) => {
                fence = opened;
                fenced_from = at;
                last = None;
            }
            (None, None) if words.starts_with('>') => {
                each(start, at, true);
                last = Some(unquoted(words.trim_start_matches(['>', ' '])));
            }
            (None, None) => {
                if !words.is_empty() {
                    last =
                        (words.starts_with('`') && words.ends_with('`')).then(|| unquoted(words));
                }
                split_at_inline_code(line, |from, to, quoted| {
                    each(start + from, start + to, quoted);
                });
            }
        }
    }
    if fence.is_some() {
        each(fenced_from, text.len(), true);
    }
    last
}

/// The line without backticks and blanks around it.
pub(super) fn unquoted(line: &str) -> &str {
    line.trim_matches(|c: char| c == '`' || c.is_whitespace())
}

/// Inline code lies between two runs of equally many backticks; a run without a partner is text.
fn split_at_inline_code(line: &str, mut each: impl FnMut(usize, usize, bool)) {
    if !line.contains('`') {
        return each(0, line.len(), false);
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
                each(plain_from, runs[index].0, false);
                plain_from = runs[other].0 + runs[other].1;
                each(runs[index].0, plain_from, true);
                index = other + 1;
            }
            None => index += 1,
        }
    }
    each(plain_from, line.len(), false);
}
