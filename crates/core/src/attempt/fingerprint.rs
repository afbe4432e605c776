//! Fingerprints of failures. Two failures are the same when the same gate failed with the same failing tests;
//! where no test is named, with the same first error, apart from what differs between runs.

use super::budget::beginning;
use super::digest::line::{clean, is_error};
use crate::stable_hash::stable_hash;

/// The longest fingerprint, in bytes; what is longer ends with a sum of all of it.
const MAX: usize = 240;

/// The failing tests and the first error of a digest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirstWords {
    /// The tests that fail, those that are new where old ones are known.
    pub failing: Vec<String>,
    /// The first line that says that something went wrong.
    pub error: Option<String>,
}

impl FirstWords {
    pub fn of(digest: &str) -> Self {
        let mut lines = digest.lines().map(str::trim_end).peekable();
        let mut failing = Vec::new();
        let mut first = None;
        let mut error = None;
        while let Some(line) = lines.next() {
            if line.ends_with(':') && lines.peek().is_some_and(|next| next.starts_with("- ")) {
                let names = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("- ")));
                let names: Vec<String> = names.map(|name| name[2..].to_owned()).collect();
                if failing.is_empty() && line.to_ascii_lowercase().ends_with("failing tests:") {
                    failing = names;
                }
            } else if !is_ours(line) {
                first = first.or_else(|| Some(line.trim()).filter(|line| !line.is_empty()));
                error = error.or_else(|| Some(line.trim()).filter(|line| is_error(line)));
            }
        }
        Self { failing, error: error.or(first).map(str::to_owned) }
    }
}

/// Lines that digests have of their own.
fn is_ours(line: &str) -> bool {
    // The last one is in digests that ralph 0.1 recorded.
    line.starts_with("[... ")
        || line.starts_with("This gate also failed before the run")
        || line.starts_with("This gate was red before the run")
}

/// The fingerprint of a failure: the same for the same failure, whatever the clock, the machine and the
/// folder say.
pub fn fingerprint(judge: &str, digest: &str) -> String {
    let words = FirstWords::of(digest);
    let what = if words.failing.is_empty() {
        words.error.map(|error| steady(&error)).unwrap_or_default()
    } else {
        let mut names = words.failing;
        names.sort();
        names.dedup();
        names.join(", ")
    };
    bounded(&format!("{judge}: {what}"))
}

fn bounded(text: &str) -> String {
    let text = text.trim_end_matches([':', ' ']);
    if text.len() <= MAX {
        return text.to_owned();
    }
    let sum = stable_hash(text.bytes());
    format!("{}… {sum:016x}", beginning(text, MAX))
}

/// A line without colors, numbers, addresses, durations, times and folders.
fn steady(line: &str) -> String {
    let line = clean(line);
    let words = line.split_whitespace().map(steady_word);
    words.collect::<Vec<_>>().join(" ")
}

fn steady_word(word: &str) -> String {
    let is_edge = |c: char| "()[]{}<>'\"`,;=".contains(c);
    let inner = word.trim_matches(is_edge);
    let start = word.len() - word.trim_start_matches(is_edge).len();
    let (before, after) = (&word[..start.min(word.len())], &word[start + inner.len()..]);
    let inner = match inner.rsplit_once('/') {
        // Absolute ones differ between machines, and most are temporary.
        Some(_) if inner.starts_with(['/', '~']) && inner.len() > 1 => "PATH".to_owned(),
        Some((_, name)) if !inner.contains("://") => numbers_out(name),
        _ => numbers_out(inner),
    };
    format!("{before}{inner}{after}")
}

/// Numbers with their units, and what is hexadecimal, as `#`.
fn numbers_out(word: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match is_word(c) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => c.len_utf8(),
        };
        let (run, left) = rest.split_at(length);
        rest = left;
        if !is_number(run) {
            text.push_str(run);
        } else if !text.ends_with('#') && !text.ends_with("#.") {
            text.push('#');
        }
        // A number with several parts is one.
        if text.ends_with("#.") && rest.starts_with(|c: char| c.is_ascii_digit()) {
            text.pop();
        }
    }
    text
}

fn is_number(run: &str) -> bool {
    let units = ["", "ns", "us", "µs", "ms", "s", "m", "h", "min", "sec", "k", "kb", "mb", "b"];
    let digits = run.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = run[digits.len()..].to_ascii_lowercase();
    let is_count =
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_address = run.strip_prefix("0x").is_some_and(is_hex);
    let has_digit = run.bytes().any(|byte| byte.is_ascii_digit());
    (is_count && units.contains(&unit.as_str()))
        || is_address
        || (run.len() >= 6 && has_digit && is_hex(run))
        || is_moment(run)
}

/// Parts of moments: `15T12` of `2026-11-15T12:00:00Z`, and `00Z`.
fn is_moment(run: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    run.split_once('T').is_some_and(|(day, hour)| digits(day) && digits(hour))
        || run.strip_suffix('Z').is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attempt::digest::{DEFAULT_MAX, digest};

    #[test]
    fn failing_tests_are_the_failure_in_any_order() {
        let one = digest("test b ... FAILED\ntest a ... FAILED\n", DEFAULT_MAX);
        let other = digest("test a ... FAILED\nnoise\ntest b ... FAILED\n", DEFAULT_MAX);
        assert_eq!(fingerprint("test", &one), "test: a, b");
        assert_eq!(fingerprint("test", &other), "test: a, b");
        assert_ne!(fingerprint("lint", &one), fingerprint("test", &one));
        let less = digest("test a ... FAILED\n", DEFAULT_MAX);
        assert_ne!(fingerprint("test", &less), fingerprint("test", &one));
    }

    #[test]
    fn what_differs_from_run_to_run_is_taken_out() {
        let rows = [
            ("error: line 12 took 3.5s", "error: line 13 took 10ms"),
            ("error at 0x7ffd1c", "error at 0x55aa01ff"),
            ("error: /tmp/abc.Xy/main.c: no", "error: /home/me/p/main.c: no"),
            ("\u{1b}[31merror\u{1b}[0m: no", "error: no"),
            ("error: 2026-11-15T12:00:01.123Z down", "error: 2027-01-02T03:04:05.6Z down"),
            ("error in 3f2a9c1b4d", "error in 99aa00bbcc"),
            ("error: a/src/x.rs:10:5 bad", "error: b/src/x.rs:200:17 bad"),
            ("error: 1,234 left", "error: 9,876 left"),
        ];
        for (one, other) in rows {
            assert_eq!(fingerprint("g", one), fingerprint("g", other), "{one}");
        }
    }

    #[test]
    fn what_is_another_failure_stays_another() {
        let rows = [
            ("error: x is missing", "error: y is missing"),
            ("error[E0308]: mismatched types", "error[E0425]: mismatched types"),
            ("error: in src/a.rs", "error: in src/b.rs"),
            ("error: test2 failed", "error: test3 failed"),
        ];
        for (one, other) in rows {
            assert_ne!(fingerprint("g", one), fingerprint("g", other), "{one}");
        }
    }

    #[test]
    fn the_first_words_are_failing_tests_and_the_first_error() {
        let text = "New failing tests:\n- n::one\n\nAlso failing before the run:\n- old\n\n\
                    [... 12 lines left out]\ncompiling\nerror: no such thing\nmore";
        let words = FirstWords::of(text);
        assert_eq!(words.failing, ["n::one"]);
        assert_eq!(words.error.as_deref(), Some("error: no such thing"));
        assert_eq!(
            FirstWords::of("This gate also failed before the run; …\n\nno\n").error.as_deref(),
            Some("no")
        );
        assert_eq!(FirstWords::of(""), FirstWords::default());
        assert_eq!(fingerprint("verifier", ""), "verifier");
    }

    proptest! {
        #[test]
        fn any_digest_has_a_short_and_steady_fingerprint(text in any::<String>(), judge in "[a-z]{1,8}") {
            let print = fingerprint(&judge, &text);
            prop_assert!(print.len() <= MAX + 30 && print.starts_with(&judge));
            prop_assert_eq!(&print, &fingerprint(&judge, &text));
            prop_assert!(!print.contains('\n'));
        }

        #[test]
        fn numbers_do_not_matter(a in 0u32.., b in 0u32.., c in 0u16..) {
            let line = |n: u32| format!("error: expected {n} items in {c}ms at line {n}");
            prop_assert_eq!(fingerprint("g", &line(a)), fingerprint("g", &line(b)));
        }
    }
}
