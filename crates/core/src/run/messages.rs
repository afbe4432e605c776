//! What the user tells the agent about a task: the messages in the log of the task, and which attempt got each.
//!
//! A message is delivered to the first attempt whose session got it and ended by itself. Until then it goes into the
//! prompt of the next attempt, whatever happened to the session that got it before. Nothing but the log and the
//! attempts decides that, so a run that is killed at any point neither loses a message nor delivers it twice.

use super::class::{CLASSES, Class};
use crate::ids::AttemptId;
use crate::records::{Attempt, LogEntry, LogKind, Message, UserMessage};

/// The messages about a task, in order.
pub fn messages(log: &[LogEntry], attempts: &[Attempt]) -> Vec<Message> {
    let told = log.iter().filter(|entry| entry.kind == LogKind::Message);
    let rows: Vec<(u32, AttemptId)> = log
        .iter()
        .filter(|entry| entry.kind == LogKind::Delivered)
        .filter_map(|entry| given_of(&entry.text))
        .collect();
    told.zip(1..)
        .map(|(entry, number)| {
            let mine = rows.iter().filter(|(of, _)| *of == number);
            let given: Vec<AttemptId> = mine.map(|(_, attempt)| attempt.clone()).collect();
            let finished =
                |attempt: &Attempt| given.contains(&attempt.id) && ended_by_itself(attempt);
            let delivered = attempts.iter().any(finished);
            let message = UserMessage { number, text: entry.text.clone() };
            Message { message, given, delivered }
        })
        .collect()
}

/// The messages that the next attempt has to get, in order.
pub fn unread(log: &[LogEntry], attempts: &[Attempt]) -> Vec<UserMessage> {
    let all = messages(log, attempts).into_iter().filter(|message| !message.delivered);
    all.map(|message| message.message).collect()
}

/// Whether a message waits that the session of the last attempt did not get.
pub(super) fn waits_for_session(log: &[LogEntry], attempts: &[Attempt]) -> bool {
    let last = attempts.last().map(|attempt| &attempt.id);
    let got = |message: &Message| last.is_some_and(|last| message.given.contains(last));
    messages(log, attempts).iter().any(|message| !message.delivered && !got(message))
}

/// The line in the log of the task that says that the session of an attempt got a message.
pub fn given_line(number: u32, attempt: &AttemptId) -> String {
    format!("message {number} to attempt {attempt}")
}

fn given_of(line: &str) -> Option<(u32, AttemptId)> {
    let (number, attempt) = line.strip_prefix("message ")?.split_once(" to attempt ")?;
    Some((number.parse().ok()?, AttemptId::new(attempt).ok()?))
}

/// Whether the session of an attempt ended by itself, and its end is recorded.
fn ended_by_itself(attempt: &Attempt) -> bool {
    let Some(end) = &attempt.end else { return false };
    let class = CLASSES.iter().map(|row| row.class).find(|class| class.as_str() == end.outcome);
    class.is_some_and(|class| class.is_of_finished_session() && class != Class::Skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, TaskId};
    use crate::records::AttemptEnd;
    use crate::time::Timestamp;

    fn attempt(number: usize, class: Option<Class>) -> Attempt {
        Attempt {
            id: AttemptId::new(format!("a-{number}")).unwrap(),
            task: TaskId::new("t").unwrap(),
            run: None,
            agent: AgentId::new("agent").unwrap(),
            generation: 1,
            model: None,
            program: None,
            sandbox: None,
            started_at: Timestamp::from_millis(1),
            end: class.map(|class| AttemptEnd {
                outcome: class.as_str().to_owned(),
                ..AttemptEnd::default()
            }),
        }
    }

    fn entry(kind: LogKind, text: &str) -> LogEntry {
        let (at, by) = (Timestamp::from_millis(1), AgentId::new("user").unwrap());
        LogEntry { at, by, kind, text: text.to_owned() }
    }

    /// The messages `one` and `two`, the first of which these attempts got, that ended so.
    fn unread_after(classes: &[Option<Class>]) -> Vec<u32> {
        let attempts: Vec<Attempt> =
            classes.iter().enumerate().map(|(number, class)| attempt(number, *class)).collect();
        let mut log = vec![entry(LogKind::Message, "one")];
        for attempt in &attempts {
            log.push(entry(LogKind::Delivered, &given_line(1, &attempt.id)));
        }
        log.push(entry(LogKind::Message, "two"));
        unread(&log, &attempts).into_iter().map(|message| message.number).collect()
    }

    #[test]
    fn a_message_is_delivered_to_the_first_attempt_that_ended_by_itself() {
        use Class::{Cancelled, Crash, Done, Failure, NoSignal, Question, RateLimit, Red, Timeout};
        for class in [Done, Red, NoSignal, Question, Failure] {
            assert_eq!(unread_after(&[Some(class)]), [2], "{class}");
        }
        for class in [Crash, Timeout, Cancelled, RateLimit, Class::Skipped, Class::ClaimLost] {
            assert_eq!(unread_after(&[Some(class)]), [1, 2], "{class}");
        }
        assert_eq!(unread_after(&[None]), [1, 2]);
        assert_eq!(unread_after(&[Some(Crash), None, Some(Red)]), [2]);
    }

    #[test]
    fn a_message_that_the_last_session_did_not_get_waits_for_another_one() {
        let attempts = [attempt(0, None)];
        let told = entry(LogKind::Message, "one");
        let given = entry(LogKind::Delivered, &given_line(1, &attempts[0].id));
        assert!(waits_for_session(std::slice::from_ref(&told), &attempts));
        assert!(!waits_for_session(&[told, given], &attempts));
        assert!(!waits_for_session(&[], &attempts));
    }

    #[test]
    fn a_note_that_looks_like_a_delivery_is_none() {
        let attempts = [attempt(0, Some(Class::Done))];
        let line = given_line(1, &attempts[0].id);
        let log = [entry(LogKind::Message, "one"), entry(LogKind::Note, &line)];
        assert_eq!(unread(&log, &attempts).len(), 1);
        assert_eq!(given_of("message x to attempt a-1"), None);
    }
}
