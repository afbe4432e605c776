//! The interview before a spec is written: the agent's questions and the user's answers, in a small file in the
//! folder of the feature. The file survives sessions, commands and reboots.

use std::io;
use std::path::Path;

use ralph_core::attempt::context::AnsweredQuestion;
use serde::{Deserialize, Serialize};

use crate::features::FeatureFiles;
use crate::project::write_atomically;

/// The answer of a user who leaves the decision to the agent.
pub const DECIDE_YOURSELF: &str = "Decide yourself, and write down what you decided.";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interview {
    /// What the user wants, in their words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub idea: String,
    #[serde(default, rename = "question", skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<InterviewQuestion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterviewQuestion {
    pub text: String,
    /// What the user said; `None` while it is open.
    pub answer: Option<String>,
}

impl Interview {
    /// Reads it; an empty one when there is no file.
    pub fn load(path: &Path) -> io::Result<Self> {
        let Some(text) = FeatureFiles::read(path)? else { return Ok(Self::default()) };
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let problem = format!("line {line}: {}", error.message());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })
    }

    /// Writes it, whole or not at all.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        write_atomically(
            path,
            format!("# Questions about the spec. You can edit the answers.\n{text}"),
        )
    }

    /// The number of the question that waits for an answer, from 1.
    pub fn open(&self) -> Option<usize> {
        self.questions.iter().position(|asked| asked.answer.is_none()).map(|index| index + 1)
    }

    pub fn open_text(&self) -> Option<&str> {
        self.open().map(|number| self.questions[number - 1].text.as_str())
    }

    /// Makes several questions of the open one if it holds several, so that each is asked by itself.
    pub fn split_open(&mut self) {
        let Some(number) = self.open() else { return };
        let single = |text: String| InterviewQuestion { text, answer: None };
        let split: Vec<InterviewQuestion> =
            parts(&self.questions[number - 1].text).into_iter().map(single).collect();
        self.questions.splice(number - 1..number, split);
    }

    /// Answers the open question. The label of one of its choices stands for the choice.
    pub fn answer(&mut self, text: &str) {
        let Some(number) = self.open() else { return };
        let asked = &mut self.questions[number - 1];
        asked.answer = Some(choice(&asked.text, text).unwrap_or(text).to_owned());
    }

    /// What was answered, oldest first.
    pub fn answers(&self) -> Vec<AnsweredQuestion> {
        let answered = |asked: &InterviewQuestion| {
            let (question, answer) = (asked.text.clone(), asked.answer.clone()?);
            Some(AnsweredQuestion { question, answer })
        };
        self.questions.iter().filter_map(answered).collect()
    }
}

/// The label of a list item, and the rest of the line: `b) both`, `2. mail`.
fn item(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_once([')', '.'])?;
    let is_number = label.len() <= 2 && label.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = label.len() == 1 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_label = !label.is_empty() && (is_number || is_letter) && rest.starts_with(' ');
    is_label.then_some((label, rest.trim()))
}

/// The questions in a text. There are several where it has a list that counts from 1 at the left edge, and each item
/// asks something; what comes before the list belongs to the first.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut count = 0;
    for line in text.trim().lines() {
        match item(line).filter(|(label, _)| label.parse() == Ok(count + 1)) {
            Some((_, rest)) => {
                if count > 0 {
                    parts.push(String::new());
                }
                count += 1;
                push_line(&mut parts, rest);
            }
            None => push_line(&mut parts, line),
        }
    }
    match count > 1 && parts.iter().all(|part| part.contains('?')) {
        true => parts.into_iter().map(|part| part.trim_end().to_owned()).collect(),
        false => vec![text.to_owned()],
    }
}

fn push_line(parts: &mut [String], line: &str) {
    if let Some(part) = parts.last_mut() {
        if !part.is_empty() {
            part.push('\n');
        }
        part.push_str(line);
    }
}

fn choice<'a>(question: &'a str, typed: &str) -> Option<&'a str> {
    let typed = typed.trim().trim_end_matches([')', '.']);
    let mut lines = question.lines().map(str::trim);
    lines.find(|line| {
        item(line)
            .is_some_and(|(label, rest)| label.eq_ignore_ascii_case(typed) && !rest.ends_with('?'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interview_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/interview.toml");
        assert_eq!(Interview::load(&path).unwrap(), Interview::default());
        let asked = |text: &str, answer: Option<&str>| InterviewQuestion {
            text: text.to_owned(),
            answer: answer.map(str::to_owned),
        };
        let interview = Interview {
            idea: "a form\n[[question]]\n\"\"\" and 'quotes'".to_owned(),
            questions: vec![asked("which?\nof two", Some("the first")), asked("sure?", None)],
        };
        interview.save(&path).unwrap();
        assert_eq!(Interview::load(&path).unwrap(), interview);
        assert_eq!(interview.open(), Some(2));
        assert_eq!(interview.answers().len(), 1);
        std::fs::write(&path, "idea = 'x'\n[[question]]\ntext = 3\n").unwrap();
        assert!(Interview::load(&path).unwrap_err().to_string().starts_with("line 3: "));
    }

    #[test]
    fn several_questions_in_one_are_asked_one_at_a_time() {
        let open = |text: &str| Interview {
            questions: vec![InterviewQuestion { text: text.to_owned(), answer: None }],
            ..Interview::default()
        };
        let split = |text: &str| {
            let mut interview = open(text);
            interview.split_open();
            interview.questions.into_iter().map(|asked| asked.text).collect::<Vec<_>>()
        };
        let several = "Before I write:\n1. By mail?\n   a) yes\n   b) no\n\n2. For how long?\n";
        assert_eq!(
            split(several),
            ["Before I write:\nBy mail?\n   a) yes\n   b) no", "For how long?"]
        );
        // A list of choices is one question, and so is a list that counts otherwise.
        for one in ["Which?\n1. mail\n2. SMS", "1. By mail?", "Really?\n2. Why?\n3. How?", "x"] {
            assert_eq!(split(one), [one]);
        }
        let mut interview = open(several);
        interview.split_open();
        interview.answer("B");
        assert_eq!(interview.open(), Some(2));
        interview.answer("b");
        assert_eq!(interview.open(), None);
        let answers: Vec<String> =
            interview.answers().into_iter().map(|answered| answered.answer).collect();
        assert_eq!(answers, ["b) no", "b"]);
    }

    #[test]
    fn the_label_of_a_choice_stands_for_it() {
        let question = "Which?\n1. mail\n2) SMS\nc. nothing";
        for (typed, meant) in [
            ("1", Some("1. mail")),
            ("2)", Some("2) SMS")),
            (" C ", Some("c. nothing")),
            ("3", None),
            ("", None),
            ("mail", None),
        ] {
            assert_eq!(choice(question, typed), meant, "{typed}");
        }
        assert_eq!(
            choice("1. By mail?\n2. For how long?", "2"),
            None,
            "a question is not a choice"
        );
    }
}
