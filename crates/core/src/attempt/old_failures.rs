//! Old failures and new ones: a red gate compared with what it said before the run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, list};

/// What a gate said before the run, where it was red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedBefore {
    /// Its exit code, where it had one.
    pub exit_code: Option<i32>,
    /// The tests that failed.
    pub failing: Vec<String>,
    /// All of them are named: the output was read whole, and had names.
    pub named: bool,
}

/// A red gate, seen against what it said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Nothing fails that did not fail before.
    pub only_old: bool,
    /// What evidence and the next session are told.
    pub text: String,
}

/// Compares. `whole`: the output was read from its first byte to its last.
///
/// A gate that was red before the run would make every task fail for ever. So it counts as passed when
/// the tests that fail are among those that failed before. That has to be certain: where names are
/// missing, or the gate ended otherwise than before, it is red.
pub fn compare(before: &RedBefore, now: &Digest, exit_code: Option<i32>, whole: bool) -> Compared {
    let old: BTreeSet<&String> = before.failing.iter().collect();
    let (still, new): (Vec<String>, Vec<String>) =
        now.failing.iter().cloned().partition(|name| old.contains(name));
    let certain = before.named && whole && !now.more && !now.failing.is_empty();
    let room = now.max() / 4;
    if certain && new.is_empty() && exit_code.is_some() && exit_code == before.exit_code {
        let text = list("Only tests fail that failed before the run", &still, now.max() / 2);
        return Compared { only_old: true, text: text.trim_end().to_owned() };
    }
    let text = if now.failing.is_empty() || before.failing.is_empty() {
        let known =
            "This gate was red before the run as well; which failures are new is not known.\n";
        now.under(&format!("{known}{}", list("Failing tests", &now.failing, room)))
    } else {
        let new = list("New failing tests", &new, room);
        now.under(&format!("{new}{}", list("Failing before the run as well", &still, room)))
    };
    Compared { only_old: false, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::digest::read;

    fn before(names: &[&str]) -> RedBefore {
        let failing: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        RedBefore { exit_code: Some(101), named: !failing.is_empty(), failing }
    }

    fn failing(names: &[&str]) -> Digest {
        let lines: String = names.iter().map(|name| format!("test {name} ... FAILED\n")).collect();
        read(&lines, 4_000)
    }

    #[test]
    fn only_what_failed_before_counts_as_passed() {
        let was = before(&["a", "b"]);
        let same = compare(&was, &failing(&["b", "a"]), Some(101), true);
        assert!(same.only_old);
        assert_eq!(same.text, "Only tests fail that failed before the run:\n- b\n- a");
        assert!(compare(&was, &failing(&["a"]), Some(101), true).only_old, "one was mended");
    }

    #[test]
    fn whatever_is_not_certain_is_red() {
        let was = before(&["a", "b"]);
        for (now, exit_code, whole) in [
            (failing(&["a", "c"]), Some(101), true),
            (failing(&[]), Some(101), true),
            (failing(&["a"]), Some(139), true),
            (failing(&["a"]), None, true),
            (failing(&["a"]), Some(101), false),
        ] {
            assert!(!compare(&was, &now, exit_code, whole).only_old, "{now:?} {exit_code:?}");
        }
        assert!(!compare(&before(&[]), &failing(&["a"]), Some(101), true).only_old);
        let cut = RedBefore { named: false, ..was };
        assert!(!compare(&cut, &failing(&["a"]), Some(101), true).only_old);
    }

    #[test]
    fn the_next_session_is_told_which_failures_are_new() {
        let told = compare(&before(&["a"]), &failing(&["a", "new"]), Some(101), true).text;
        let head = "New failing tests:\n- new\n\nFailing before the run as well:\n- a\n\n";
        assert!(told.starts_with(head), "{told}");
        let told = compare(&before(&[]), &failing(&["a"]), Some(1), true).text;
        assert!(told.starts_with("This gate was red before the run as well"), "{told}");
        assert!(told.contains("Failing tests:\n- a\n"), "{told}");
    }
}
