//! Tests of the configuration as a whole.

mod agreement;
mod carets;
mod garbage;
mod layering;
mod reach;
mod shown;

use std::fmt;

use super::*;
use crate::error::CliError;

/// The sentence, and the line with its carets.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (message, "", _) => f.write_str(message),
            (message, excerpt, _) => write!(f, "{message}\n{excerpt}"),
        }
    }
}

/// Sources with a repo file of this text.
fn repo(text: &str) -> Sources {
    Sources { repo: Some(("ralph.toml".into(), text.to_owned())), ..Sources::default() }
}

/// Sources with a user file of this text.
fn user(text: &str) -> Sources {
    let path = "~/.config/ralph/config.toml".into();
    Sources { user: Some((path, text.to_owned())), ..Sources::default() }
}

/// Sources with this one environment variable.
fn env(name: &str, value: &str) -> Sources {
    Sources { env: vec![(name.to_owned(), value.to_owned())], ..Sources::default() }
}

/// Sources with this one `--set`.
fn set(pair: &str) -> Sources {
    Sources { set: vec![pair.to_owned()], ..Sources::default() }
}

fn config(sources: Sources) -> Config {
    loaded(sources).config
}

fn loaded(sources: Sources) -> Loaded {
    Config::load(sources).unwrap_or_else(|error| panic!("{error}"))
}

fn error(sources: Sources) -> String {
    match Config::load(sources) {
        Ok(_) => panic!("it loads"),
        Err(error) => error.to_string(),
    }
}

fn warnings(sources: Sources) -> Vec<String> {
    loaded(sources).warnings.iter().map(ToString::to_string).collect()
}
