//! Runs inside a conversation, as `ralph feature create --interview` holds one. The command prints the questions
//! and the end, so a run prints only what the user must know in between: agent and limits once, each warning
//! once, waits, failed sessions, and the summary of a run that failed.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::run::{Class, Fact, Notice, RunEvent, StopReason};
use ralph_core::view::Reporter;

use super::{PlainReporter, Verbosity, start};
use crate::style::Meaning;

/// What the runs of one conversation have printed. All copies belong to the same conversation.
#[derive(Debug, Clone, Default)]
pub struct Conversation(Arc<Mutex<Printed>>);

#[derive(Debug, Default)]
struct Printed {
    /// Agent and limits.
    start: bool,
    notices: Vec<Notice>,
}

impl Conversation {
    /// Whether this is the first run.
    fn begins(&self) -> bool {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut printed.start, true)
    }

    /// Whether the user has not seen this notice. The uncommitted files at the start are the files of the
    /// conversation, after the first run.
    fn is_new(&self, notice: &Notice) -> bool {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_dirty = |notice: &Notice| matches!(notice, Notice::DirtyStart { .. });
        let known = printed
            .notices
            .iter()
            .any(|other| other == notice || (is_dirty(other) && is_dirty(notice)));
        if !known {
            printed.notices.push(notice.clone());
        }
        !known
    }

    /// Whether the user must know a fact before the conversation goes on.
    fn prints(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Noticed { notice } => self.is_new(notice),
            Fact::IterationEnded { class, .. } => {
                !matches!(class, Class::Done | Class::Question | Class::Cancelled)
            }
            Fact::RunEnded { outcome } => !matches!(
                outcome.reason,
                StopReason::Session | StopReason::Asked { .. } | StopReason::Cancelled
            ),
            Fact::WaitStarted { .. }
            | Fact::ControlReceived { .. }
            | Fact::ClaimLost { .. }
            | Fact::PortFailed { .. }
            | Fact::StopDecided { .. } => true,
            _ => false,
        }
    }
}

impl<W: Write> PlainReporter<W> {
    /// The same display for a run of a conversation.
    #[must_use]
    pub fn within(mut self, conversation: Conversation) -> Self {
        self.conversation = Some(conversation);
        self
    }

    /// Prints what the user must know about an event.
    pub(super) fn converse(&mut self, conversation: &Conversation, event: &RunEvent) {
        match &event.fact {
            Fact::RunStarted { .. } => {
                self.skip(event);
                match conversation.begins() {
                    // The command has printed the first line.
                    true => self.lines(start::start(&self.view, self.style()).into_iter().skip(1)),
                    false => self.level_reported = true,
                }
            }
            Fact::Committed { commit, .. } => {
                self.skip(event);
                let short = commit.get(..7).unwrap_or(commit);
                self.named("committed", Meaning::Faint, short);
            }
            fact if conversation.prints(fact) => self.take_in(event),
            Fact::RunEnded { .. } => self.skip(event),
            _ if self.is(Verbosity::Verbose) => self.take_in(event),
            _ => self.skip(event),
        }
        self.show();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Options;
    use crate::tests::sample::{SampleEvent, Tape, completed_with, replay};

    fn shown(
        reported: &[SampleEvent],
        verbosity: Verbosity,
        conversation: &Conversation,
    ) -> String {
        let mut out = Vec::new();
        let options = Options { verbosity, ..Options::PLAIN };
        replay(reported, &mut PlainReporter::new(&mut out, options).within(conversation.clone()));
        String::from_utf8(out).unwrap()
    }

    /// A run whose session asks.
    fn asks() -> Vec<SampleEvent> {
        let mut tape = Tape::new(1, 0);
        tape.notice(Notice::Other { text: "claude 2.0 is old".to_owned() });
        let dirty = |name: &str| Notice::DirtyStart { saved: name.to_owned(), paths: 2 };
        tape.notice(dirty("refs/ralph/start/r-1"));
        tape.begin(0, 1, "x", "the spec of login", 1);
        tape.text(0, "<question>Which?</question>\n");
        tape.end(0, "x", completed_with("<question>Which?</question>", 5, 1), 900);
        tape.ended(0, 1, Class::Question, "Which?", 900);
        tape.stop(StopReason::Asked { question: "Which?".to_owned() }, 0, 1)
    }

    #[test]
    fn runs_of_a_conversation_print_their_start_once_and_no_question() {
        let conversation = Conversation::default();
        let first = shown(&asks(), Verbosity::Normal, &conversation);
        let names: Vec<&str> =
            first.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["agent", "gates", "limit", "sandbox", "note", "saved"], "{first}");
        assert_eq!(shown(&asks(), Verbosity::Normal, &conversation), "");
        let details = shown(&asks(), Verbosity::Verbose, &conversation);
        assert!(details.contains("<question>") && !details.contains("Next: "), "{details}");
    }

    #[test]
    fn a_failed_session_and_a_run_that_fails_are_printed() {
        let mut tape = Tape::new(1, 0);
        tape.begin(0, 1, "x", "the spec of login", 1);
        tape.ended(0, 1, Class::Crash, "exit code 3", 900);
        let reported = tape.stop(StopReason::Failure, 0, 1);
        let conversation = Conversation::default();
        assert!(conversation.begins());
        let text = shown(&reported, Verbosity::Normal, &conversation);
        assert!(text.starts_with("✗ "), "{text}");
        assert!(text.contains("exit code 3") && text.contains("\nNext: "), "{text}");
    }
}
