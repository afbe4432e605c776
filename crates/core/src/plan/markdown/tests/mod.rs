//! Tests of markdown plans.

mod commonmark;
mod dialects;
mod formats;
mod identity;
mod kinds;
mod marks;
mod printed;
mod properties;
mod reading;
mod sections;

use super::*;

/// A plan that must be readable.
fn doc(kind: PlanKind, text: &str) -> PlanDoc {
    read(kind, text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

/// Whether an item has parts: what is inside it follows it, and its first part at once.
fn has_children(doc: &PlanDoc, item: usize) -> bool {
    doc.items.get(item + 1).is_some_and(|next| next.parent == Some(item))
}

/// The titles of a checklist, `x` before those that are done.
fn titles(text: &str) -> Vec<String> {
    shown(&doc(PlanKind::Checklist, text))
}

/// The items in short: depth, tick, title.
fn shown(doc: &PlanDoc) -> Vec<String> {
    let depth = |item: &Item| {
        std::iter::successors(item.parent, |parent| doc.items[*parent].parent).count()
    };
    let shown = doc.items.iter().map(|item| {
        let done = if item.is_done() { "x " } else { "" };
        format!("{}{done}{}", ">".repeat(depth(item)), item.title)
    });
    shown.collect()
}
