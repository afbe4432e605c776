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

/// An idea, and the questions about it in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interview {
    /// What the user wants, in their words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub idea: String,
    /// What was asked.
    #[serde(default, rename = "question", skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Asked>,
}

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The question.
    pub text: String,
    /// What the user said; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

    /// The question that waits for an answer.
    pub fn open(&mut self) -> Option<&mut Asked> {
        self.questions.iter_mut().rev().find(|asked| asked.answer.is_none())
    }

    /// What was answered, oldest first.
    pub fn answers(&self) -> Vec<AnsweredQuestion> {
        let answered = |asked: &Asked| {
            let (question, answer) = (asked.text.clone(), asked.answer.clone()?);
            Some(AnsweredQuestion { question, answer })
        };
        self.questions.iter().filter_map(answered).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interview_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/interview.toml");
        assert_eq!(Interview::load(&path).unwrap(), Interview::default());
        let asked = |text: &str, answer: Option<&str>| Asked {
            text: text.to_owned(),
            answer: answer.map(str::to_owned),
        };
        let mut interview = Interview {
            idea: "a form\n[[question]]\n\"\"\" and 'quotes'".to_owned(),
            questions: vec![asked("which?\nof two", Some("the first")), asked("sure?", None)],
        };
        interview.save(&path).unwrap();
        assert_eq!(Interview::load(&path).unwrap(), interview);
        assert_eq!(interview.open().unwrap().text, "sure?");
        assert_eq!(interview.answers().len(), 1);
        std::fs::write(&path, "idea = 'x'\n[[question]]\ntext = 3\n").unwrap();
        assert!(Interview::load(&path).unwrap_err().to_string().starts_with("line 3: "));
    }
}
