//! The earlier attempts on a task, in few words: attempts that ended alike are described once.

use super::{entry, field, prefixed};
use crate::attempt::context::{EarlierAttempt, RetryInfo};
use crate::records::{Changes, FileChange};

/// How many failing tests a retry names; the digest has the others.
const MAX_TESTS: usize = 20;
/// How many changed files of an attempt are named.
const MAX_FILES: usize = 8;

/// The text before the reason of a retry: whether the failure repeats itself, and the failing tests and the
/// first error where the reason does not name them.
pub(super) fn first_words(retry: &RetryInfo) -> String {
    let mut text = String::new();
    if !retry.same.is_empty() {
        text.push_str(&format!(
            "\n\nThe same failure {} times in a row: attempts {}. What they tried does not fix it: look \
             for another cause.",
            retry.same.len(),
            numbers(&retry.same)
        ));
    }
    let reason = retry.reason.as_deref().unwrap_or_default();
    let tests = &retry.first.failing;
    if tests.iter().any(|test| !reason.contains(test.as_str())) {
        text.push_str("\n\nFailing tests:");
        for test in tests.iter().take(MAX_TESTS) {
            text.push_str(&format!("\n- {}", field(test)));
        }
        if tests.len() > MAX_TESTS {
            text.push_str(&format!("\n- and {} more", tests.len() - MAX_TESTS));
        }
    }
    if let Some(error) = retry.first.error.as_deref().filter(|error| !reason.contains(error)) {
        text.push_str(&format!("\n\nThe first error:\n\n{}", prefixed(&field(error), "      ")));
    }
    text
}

/// An entry per way in which attempts ended.
pub(super) fn entries(earlier: &[EarlierAttempt]) -> Vec<String> {
    groups(earlier, |one, other| one.outcome == other.outcome && is_same_end(one, other))
        .into_iter()
        .map(|group| {
            let last = group[group.len() - 1];
            entry(heading(&group), &last.detail, "  ") + &tried(&group)
        })
        .collect()
}

fn is_same_end(one: &EarlierAttempt, other: &EarlierAttempt) -> bool {
    match (&one.fingerprint, &other.fingerprint) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.detail == other.detail,
        _ => false,
    }
}

fn heading(group: &[&EarlierAttempt]) -> String {
    let last = group[group.len() - 1];
    let outcome = field(&last.outcome);
    let commit = last.commit.as_deref().map(|commit| format!(" (commit {})", field(commit)));
    let commit = commit.unwrap_or_default();
    match group {
        [one] => format!("- attempt {}: {outcome}{commit}", one.number),
        many => format!(
            "- attempts {}: {outcome}{commit}, the same {} times",
            numbers_of(many),
            many.len()
        ),
    }
}

/// What the attempts of a group did.
fn tried(group: &[&EarlierAttempt]) -> String {
    let mut text = String::new();
    let all: Vec<EarlierAttempt> = group.iter().map(|attempt| (*attempt).clone()).collect();
    for same in groups(&all, |one, other| {
        one.changed == other.changed && one.last_message == other.last_message
    }) {
        let last_message = same[0].last_message.trim();
        if last_message.is_empty() && same[0].changed.count() == 0 {
            continue;
        }
        let who = match (group, &same[..]) {
            ([_], _) => "It".to_owned(),
            (_, [one]) => format!("Attempt {}", one.number),
            (_, many) => format!("Attempts {}", numbers_of(many)),
        };
        let colon = if last_message.is_empty() { "." } else { ", and said:" };
        text.push_str(&format!("\n  {who} {}{colon}", changes(&same[0].changed)));
        if !last_message.is_empty() {
            text.push_str(&format!("\n{}", prefixed(last_message, "  > ")));
        }
    }
    text
}

fn changes(changed: &Changes) -> String {
    if changed.count() == 0 {
        return "changed nothing".to_owned();
    }
    let named: Vec<String> = changed.files.iter().take(MAX_FILES).map(change).collect();
    let more = match changed.count().saturating_sub(named.len() as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("changed {}{more}", named.join(", "))
}

fn change(file: &FileChange) -> String {
    let lines = match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
        _ => String::new(),
    };
    format!("`{}`{lines}", field(&file.path))
}

/// Items that are alike, together, in the order of the first of each.
fn groups<T>(items: &[T], alike: impl Fn(&T, &T) -> bool) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| alike(group[0], item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

fn numbers_of(attempts: &[&EarlierAttempt]) -> String {
    numbers(&attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>())
}

fn numbers(all: &[u32]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
