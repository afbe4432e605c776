//! The verifier: a second session that judges the work of the first one and changes nothing.

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::slot::Work;
use crate::agent::{self, ProcessEnd, SessionEnd};
use crate::records::{self, GateReport};
use crate::text::with_detail;

/// The verifier as it is named in evidence.
pub const VERIFIER: &str = "verifier";
/// What the reason of an attempt begins with that the verifier has rejected.
pub const VERIFICATION_FAILED: &str = "verification failed";

/// How much of a verifier's message is kept with the evidence, in characters.
const KEPT: usize = 2_000;

/// The model of a verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifierModel {
    /// The same as that of the session it judges.
    Same,
    /// The model with this name.
    Named(String),
    /// The agent's default.
    Own,
}

/// The agent and model that verify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    /// The agent, by its profile's name.
    pub agent: String,
    /// Its model.
    pub model: VerifierModel,
}

impl Verifier {
    /// The model to ask for, when the session that is judged was asked to use that one.
    pub fn model(&self, session: Option<&String>) -> Option<String> {
        match &self.model {
            VerifierModel::Same => session.cloned(),
            VerifierModel::Named(name) => Some(name.clone()),
            VerifierModel::Own => None,
        }
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.model {
            VerifierModel::Named(model) => write!(f, "{}, model {model}", self.agent),
            VerifierModel::Same | VerifierModel::Own => f.write_str(&self.agent),
        }
    }
}

/// A verifier's session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierReport {
    pub end: SessionEnd,
    pub process: ProcessEnd,
    /// The verdict in its final text; `None` where the session did not complete.
    pub verdict: Option<agent::Verdict>,
    pub duration_ms: u64,
}

impl VerifierReport {
    /// Why there is no verdict on the work: a limit, a wrong key, or the user stopped it. Any other failure of a
    /// verifier counts as a failed verification.
    pub fn obstacle(&self) -> Option<Class> {
        Class::of(self.end.class).filter(|class| {
            class.is_limit() || class.needs_user_action() || *class == Class::Cancelled
        })
    }

    /// Its verdict, as the result of one more gate.
    pub fn judged(&self) -> GateReport {
        let (verdict, words) = match &self.verdict {
            Some(agent::Verdict::Pass) => {
                (records::Verdict::Pass, self.end.text.replace("<verify-pass/>", ""))
            }
            Some(agent::Verdict::Fail(reason)) if !reason.trim().is_empty() => {
                (records::Verdict::Fail, reason.clone())
            }
            Some(agent::Verdict::Fail(_)) => {
                (records::Verdict::Fail, "the verifier gave no reason".to_owned())
            }
            None => (records::Verdict::Fail, self.why_none()),
        };
        GateReport {
            name: VERIFIER.to_owned(),
            verdict,
            exit_code: None,
            duration_ms: self.duration_ms,
            digest: ending(words.trim()),
            log: None,
        }
    }

    fn why_none(&self) -> String {
        match Class::of(self.end.class) {
            None => "the verifier ended without a verdict".to_owned(),
            Some(class) => {
                let words = format!("the verifier's session ended with {class}");
                with_detail(&words, &self.end.detail)
            }
        }
    }
}

impl Work {
    /// Adds the verdict of a verifier. Its cost and tokens count for the iteration.
    pub(super) fn record_verifier(&mut self, verifier: &VerifierReport) {
        let usage = &mut self.session.report.end.usage;
        *usage = usage.plus(verifier.end.usage);
        let obstacle = verifier.obstacle();
        self.verifier_limits = match obstacle {
            Some(class) if class.is_limit() => self.verifier_limits + 1,
            _ => 0,
        };
        if let (None, Some((gates, green))) = (obstacle, &mut self.judged) {
            let judged = verifier.judged();
            *green &= judged.verdict == records::Verdict::Pass;
            gates.push(judged);
        }
    }
}

/// The end of a text: the verdict and the reasons come last.
fn ending(text: &str) -> String {
    match text.char_indices().rev().nth(KEPT) {
        Some((start, first)) => format!("…{}", &text[start + first.len_utf8()..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::EndClass;
    use crate::records::Verdict;

    fn report(class: EndClass, text: &str) -> VerifierReport {
        VerifierReport {
            end: SessionEnd { text: text.to_owned(), ..SessionEnd::of(class, "") },
            process: ProcessEnd::Exited { code: 0 },
            verdict: Some(agent::Verdict::read(text)).filter(|_| class == EndClass::Completed),
            duration_ms: 5,
        }
    }

    #[test]
    fn s1_43_whatever_is_not_a_pass_is_a_fail() {
        for (class, text, verdict, words) in [
            (EndClass::Completed, "I looked.\n<verify-pass/>", Verdict::Pass, "I looked."),
            (EndClass::Completed, "<verify-fail>no test</verify-fail>", Verdict::Fail, "no test"),
            (EndClass::Completed, "<verify-fail/>", Verdict::Fail, "does not say why"),
            (EndClass::Completed, "<verify-fail> </verify-fail>", Verdict::Fail, "gave no reason"),
            (EndClass::Completed, "it looks fine", Verdict::Fail, "without a verdict"),
            (EndClass::Crash, "<verify-pass/>", Verdict::Fail, "crash"),
            (EndClass::Timeout, "", Verdict::Fail, "timeout"),
            (EndClass::Empty, "", Verdict::Fail, "empty"),
        ] {
            let report = report(class, text);
            assert_eq!(report.obstacle(), None, "{class:?}");
            let judged = report.judged();
            assert_eq!(judged.verdict, verdict, "{text}");
            assert!(judged.digest.contains(words), "{}", judged.digest);
        }
    }

    #[test]
    fn a_limit_says_nothing_about_the_work() {
        for class in [EndClass::UsageWindow, EndClass::Overload, EndClass::Auth] {
            assert!(report(class, "").obstacle().is_some(), "{class:?}");
        }
        assert_eq!(report(EndClass::Cancelled, "").obstacle(), Some(Class::Cancelled));
    }

    #[test]
    fn of_a_long_text_the_end_is_kept() {
        let long = format!("{}ok\n<verify-pass/>", "é".repeat(5_000));
        let digest = report(EndClass::Completed, &long).judged().digest;
        assert_eq!(digest.chars().count(), KEPT + 1);
        assert!(digest.ends_with("éok"));
    }
}
