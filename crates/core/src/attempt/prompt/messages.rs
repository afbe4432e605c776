//! What the user told about a task, as agents read it: in the prompt, or while the session runs.

use super::{AttemptContext, Section, prefixed};
use crate::ids::TaskId;
use crate::records::{MAX_MESSAGE, UserMessage};

/// How every form of it begins.
const FROM: &str = "From the user";

/// The section of the prompt. It is never cut: the user is waiting for the agent to read it.
pub(super) fn section(context: &AttemptContext) -> Option<Section<'static>> {
    let quoted = quoted(&context.unread())?;
    let head = format!("The user says about this task:\n\n{quoted}");
    Some(Section { title: FROM, head, ..Section::default() })
}

/// The messages about several tasks, for a prompt that names no task of its own; empty if there are none.
pub fn from_user(told: &[(TaskId, Vec<UserMessage>)]) -> String {
    let about = told
        .iter()
        .filter_map(|(task, messages)| Some(format!("About `{task}`:\n\n{}", quoted(messages)?)));
    let all: Vec<String> = about.collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("## {FROM}\n\n{}", all.join("\n\n")),
    }
}

/// A message for a session that runs. It may come when the agent has said all: it has to signal again.
pub fn live(text: &str) -> String {
    format!(
        "{FROM}:\n\n{}\n\nTake this into account and continue with your task. End your last message with the signal \
         for the task, even if you have given it before.",
        text.trim()
    )
}

/// The texts as quotations, one below the other; `None` if there are none.
pub(super) fn quoted(messages: &[UserMessage]) -> Option<String> {
    let quotes = messages.iter().map(|message| {
        let mut end = message.text.len().min(MAX_MESSAGE);
        while !message.text.is_char_boundary(end) {
            end -= 1;
        }
        prefixed(message.text[..end].trim(), "> ")
    });
    let quotes: Vec<String> = quotes.collect();
    (!quotes.is_empty()).then(|| quotes.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::prompt::built_in;
    use crate::records::Message;

    fn message(number: u32, text: &str) -> UserMessage {
        UserMessage { number, text: text.to_owned() }
    }

    fn context(messages: &[(&str, bool)]) -> AttemptContext {
        let told = messages.iter().zip(1..).map(|((text, delivered), number)| Message {
            message: message(number, text),
            given: vec![],
            delivered: *delivered,
        });
        AttemptContext { messages: told.collect(), ..AttemptContext::default() }
    }

    #[test]
    fn the_prompt_has_each_undelivered_message_whole_whatever_its_budget_is() {
        let long = "x".repeat(MAX_MESSAGE);
        let context = context(&[("old", true), (&long, false), ("two\nlines", false)]);
        let task = built_in(&context, 10).task;
        assert!(task.contains(&long) && task.contains("> two\n> lines"), "{task}");
        assert!(task.starts_with("## From the user\n\n") && !task.contains("old"), "{task}");
    }

    #[test]
    fn nothing_is_said_where_the_user_said_nothing() {
        assert!(!built_in(&context(&[("old", true)]), 1_000).task.contains(FROM));
        assert_eq!(from_user(&[]), "");
    }

    #[test]
    fn messages_about_several_tasks_name_them() {
        let id = |text| TaskId::new(text).unwrap();
        let text = from_user(&[(id("a"), vec![message(1, "one")]), (id("b"), vec![])]);
        assert_eq!(text, "## From the user\n\nAbout `a`:\n\n> one");
    }

    #[test]
    fn a_live_message_asks_for_the_signal_again() {
        let text = live(" use tabs \n");
        assert!(text.starts_with("From the user:\n\nuse tabs\n\n"), "{text}");
        assert!(text.contains("signal"), "{text}");
    }
}
