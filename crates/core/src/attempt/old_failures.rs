//! Old and new failures: compares a failing gate with its result before the run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, list};

/// The result of a gate that failed before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedBefore {
    pub exit_code: Option<i32>,
    pub failing: Vec<String>,
    /// All of them are named: the output was read whole, and had names.
    pub named: bool,
    /// How many tests passed; `None` where the output does not say.
    #[serde(default)]
    pub passed: Option<u32>,
}

/// A failing gate, compared with its result before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Nothing fails that did not fail before.
    pub only_old: bool,
    /// The text for the evidence and for the next session.
    pub text: String,
}

/// Compares. `whole`: the output was read from its first byte to its last.
///
/// A gate that failed before the run would make every task fail forever. So it counts as passed when
/// the tests that fail are among those that failed before, and the rest of its result is intact: it ended with
/// the same exit code, and at least as many tests passed. Where that is not certain it fails: names of failing
/// tests alone can be printed by a program that runs nothing.
pub fn compare(before: &RedBefore, now: &Digest, exit_code: Option<i32>, whole: bool) -> Compared {
    let old: BTreeSet<&String> = before.failing.iter().collect();
    let (still, new): (Vec<String>, Vec<String>) =
        now.failing.iter().cloned().partition(|name| old.contains(name));
    let certain = before.named && whole && !now.more && !now.failing.is_empty();
    let intact = before.passed.is_some_and(|count| count > 0) && now.passed >= before.passed;
    let room = now.max() / 4;
    let same_end = exit_code.is_some() && exit_code == before.exit_code;
    if certain && new.is_empty() && same_end && intact {
        let text = list("All failing tests also failed before the run", &still, now.max() / 2);
        return Compared { only_old: true, text: text.trim_end().to_owned() };
    }
    let fewer = match (before.passed, now.passed) {
        (None | Some(0), _) => {
            "ralph counted no passing test before the run, so it excuses no failure.\n".to_owned()
        }
        (Some(had), None) => {
            format!("ralph counted no passing test; before the run it counted {had}.\n")
        }
        (Some(had), Some(has)) if has < had => {
            format!("Fewer tests passed than before the run: {has} instead of {had}.\n")
        }
        _ => String::new(),
    };
    let text = if now.failing.is_empty() || before.failing.is_empty() {
        let known = "This gate also failed before the run; which failures are new is unknown.\n";
        now.under(&format!("{known}{fewer}{}", list("Failing tests", &now.failing, room)))
    } else {
        let new = list("New failing tests", &new, room);
        now.under(&format!("{fewer}{new}{}", list("Also failing before the run", &still, room)))
    };
    Compared { only_old: false, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::digest::read;

    fn before(names: &[&str]) -> RedBefore {
        let failing: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let named = !failing.is_empty();
        RedBefore { exit_code: Some(101), named, failing, passed: Some(2) }
    }

    fn failing(names: &[&str]) -> Digest {
        passing(names, 2)
    }

    fn passing(names: &[&str], passed: u32) -> Digest {
        let lines: String = names.iter().map(|name| format!("test {name} ... FAILED\n")).collect();
        read(&format!("{lines}test result: FAILED. {passed} passed; 1 failed;\n"), 4_000)
    }

    #[test]
    fn only_what_failed_before_counts_as_passed() {
        let was = before(&["a", "b"]);
        let same = compare(&was, &failing(&["b", "a"]), Some(101), true);
        assert!(same.only_old);
        assert_eq!(same.text, "All failing tests also failed before the run:\n- b\n- a");
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
    fn failures_are_excused_only_while_the_other_tests_still_pass() {
        let was = before(&["a"]);
        assert!(compare(&was, &passing(&["a"], 3), Some(101), true).only_old, "one was added");
        let fewer = compare(&was, &passing(&["a"], 1), Some(101), true);
        assert!(!fewer.only_old);
        assert!(
            fewer.text.starts_with("Fewer tests passed than before the run: 1 instead of 2.\n")
        );
        // A program that runs nothing, and prints the names that failed before.
        let printed = read("test a ... FAILED\n", 4_000);
        assert!(!compare(&was, &printed, Some(101), true).only_old);
        for passed in [None, Some(0)] {
            let silent = RedBefore { passed, ..was.clone() };
            assert!(!compare(&silent, &printed, Some(101), true).only_old, "{passed:?}");
            assert!(!compare(&silent, &passing(&["a"], 0), Some(101), true).only_old, "{passed:?}");
        }
        let old: RedBefore =
            serde_json::from_str("{\"exit_code\":101,\"failing\":[\"a\"],\"named\":true}").unwrap();
        assert!(!compare(&old, &passing(&["a"], 5), Some(101), true).only_old, "an older run");
    }

    #[test]
    fn the_next_session_learns_which_failures_are_new() {
        let reported = compare(&before(&["a"]), &failing(&["a", "new"]), Some(101), true).text;
        let head = "New failing tests:\n- new\n\nAlso failing before the run:\n- a\n\n";
        assert!(reported.starts_with(head), "{reported}");
        let reported = compare(&before(&[]), &failing(&["a"]), Some(1), true).text;
        assert!(reported.starts_with("This gate also failed before the run"), "{reported}");
        assert!(reported.contains("Failing tests:\n- a\n"), "{reported}");
    }
}
