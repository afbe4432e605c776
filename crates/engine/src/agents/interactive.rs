//! The command that opens an agent for a user where its session was: its words, and how a shell reads them.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::shell::quoted;

/// The longest text that goes by argument, in bytes: Linux refuses one of 128 KiB.
const MAX_ARGUMENT: u64 = 100 << 10;

/// What the user and the agent continue with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interactive {
    /// The agent's program.
    pub program: String,
    pub model: Option<String>,
    /// The rules of the session, where it had some.
    pub system: Option<PathBuf>,
    /// What it was asked to do.
    pub task: Option<PathBuf>,
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    Plain(String),
    /// The text of a file.
    TextOf(PathBuf),
}

impl ShellWord {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// The text of a file as an argument; where it is too long for one, the request to read it.
    pub fn prompt(file: &Path) -> Self {
        match fs::metadata(file) {
            Ok(found) if found.len() > MAX_ARGUMENT => {
                Self::Plain(format!("Read {} and do what it says.", file.display()))
            }
            _ => Self::TextOf(file.to_owned()),
        }
    }

    /// As a shell reads it.
    fn quoted(&self) -> String {
        match self {
            Self::Plain(text) => quoted(text),
            Self::TextOf(file) => format!("\"$(cat {})\"", quoted(&file.display().to_string())),
        }
    }
}

impl Interactive {
    /// The words of an agent that takes one opening text, behind `before`: its program, its model, and the request to
    /// read what the session was asked to do.
    pub(super) fn asking(&self, before: &[&str]) -> Vec<ShellWord> {
        let mut words = vec![ShellWord::plain(&self.program)];
        if let Some(model) = &self.model {
            words.extend([ShellWord::plain("--model"), ShellWord::plain(model)]);
        }
        let files = self.system.iter().chain(&self.task).map(|file| file.display().to_string());
        let files: Vec<String> = files.collect();
        if !files.is_empty() {
            words.extend(before.iter().map(|word| ShellWord::plain(*word)));
            let files = files.join(", then ");
            words.push(ShellWord::plain(format!("Read {files}, and do what they say.")));
        }
        words
    }
}

/// The command for a shell that opens the agent in this folder.
pub fn shell_command(folder: &Path, words: &[ShellWord]) -> String {
    let words: Vec<String> = words.iter().map(ShellWord::quoted).collect();
    format!("cd {} && {}", quoted(&folder.display().to_string()), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_as_they_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it's a file.md");
        fs::write(&file, "two words\n$HOME").unwrap();
        let words =
            [ShellWord::plain("printf"), ShellWord::plain("%s|%s"), ShellWord::prompt(&file)];
        let words = [&words[..], &[ShellWord::plain("a 'b'")]].concat();
        let command = shell_command(folder.path(), &words);
        let cd = format!("cd {} && printf ", folder.path().display());
        assert!(command.starts_with(&cd), "{command}");
        let argv = shlex::split(&command.replace("\"$(cat", "").replace(")\"", "")).unwrap();
        assert_eq!(argv[5], file.display().to_string());
        assert_eq!(argv[6], "a 'b'");
    }

    #[test]
    fn a_text_that_no_argument_can_hold_is_read_by_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("long.md");
        fs::write(&file, vec![b'x'; (100 << 10) + 1]).unwrap();
        let ShellWord::Plain(text) = ShellWord::prompt(&file) else { panic!("a long argument") };
        assert!(text.starts_with("Read /") && text.contains("long.md"), "{text}");
    }
}
