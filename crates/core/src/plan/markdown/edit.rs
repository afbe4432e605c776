//! Edits of a text as values: which bytes are replaced, and by what.

use std::ops::Range;

/// One change: the bytes of `range` become `text`. An empty range is an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// Edits that cannot be carried out: they were made for another text, or for each other's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The range is not in the text, or cuts a character in two.
    #[error("the change of bytes {start} to {end} does not fit the text of {length} bytes")]
    Outside { start: usize, end: usize, length: usize },
    #[error("two changes overlap at byte {at}")]
    Overlap { at: usize },
}

/// The text after all edits, which may come in any order. Those at one place stay in theirs.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let edits = sorted(text, edits)?;
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut changed = String::with_capacity(text.len() + added);
    let mut at = 0;
    for edit in edits {
        changed.push_str(&text[at..edit.range.start]);
        changed.push_str(&edit.text);
        at = edit.range.end;
    }
    changed.push_str(&text[at..]);
    Ok(changed)
}

/// The edits that bring back `text` from what `edits` make of it: the former words included.
pub fn inverse(text: &str, edits: &[Edit]) -> Result<Vec<Edit>, EditError> {
    let (mut grown, mut shrunk) = (0, 0);
    let back = sorted(text, edits)?.into_iter().map(|edit| {
        let start = edit.range.start + grown - shrunk;
        grown += edit.text.len();
        shrunk += edit.range.len();
        Edit { range: start..start + edit.text.len(), text: text[edit.range.clone()].to_owned() }
    });
    Ok(back.collect())
}

fn sorted<'e>(text: &str, edits: &'e [Edit]) -> Result<Vec<&'e Edit>, EditError> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut last = 0;
    for Edit { range, .. } in &sorted {
        if text.get(range.clone()).is_none() {
            let (start, end, length) = (range.start, range.end, text.len());
            return Err(EditError::Outside { start, end, length });
        }
        if range.start < last {
            return Err(EditError::Overlap { at: range.start });
        }
        last = range.end;
    }
    Ok(sorted)
}
