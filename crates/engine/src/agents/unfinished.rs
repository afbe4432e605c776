//! Sessions that ended without a result: classifies them by how their process ended.

use ralph_core::agent::{EndClass, ProcessEnd};

use super::text::{last_words, one_line};

/// The class, and a sentence for users with the last words of stderr.
pub(super) fn unfinished(end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String) {
    let with_words = |sentence: String| match last_words(stderr_tail).as_str() {
        "" => sentence,
        words => format!("{sentence}: {words}"),
    };
    match end {
        ProcessEnd::NotStarted { error } => (EndClass::NotStarted, one_line(error, 600)),
        ProcessEnd::Stopped => (EndClass::Cancelled, String::new()),
        ProcessEnd::TimedOut { after_ms } => {
            (EndClass::Timeout, format!("timed out after {}s", after_ms / 1000))
        }
        ProcessEnd::Silent { after_ms } => {
            (EndClass::Silence, format!("timed out after {}s without output", after_ms / 1000))
        }
        ProcessEnd::Exited { code: 0 } | ProcessEnd::Lingered { .. } => {
            (EndClass::Crash, with_words("ended without a result".to_owned()))
        }
        ProcessEnd::Exited { code } => {
            (EndClass::Crash, with_words(format!("exited with code {code}")))
        }
        ProcessEnd::Signalled { signal } => {
            (EndClass::Crash, with_words(format!("killed by signal {signal}")))
        }
    }
}
