//! A run that has ended, as a stream.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;

use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use crate::run_files::journal;

/// A run that is read from its files, without waiting.
#[derive(Debug)]
pub struct StoredSource(VecDeque<Observed>);

impl StoredSource {
    /// The facts of a journal.
    pub fn facts(journal: &Path) -> io::Result<Self> {
        let facts = journal::read(journal)?.into_iter().map(|event| Observed::Fact { event });
        let begin = Observed::Joined { name: String::new() };
        Ok(Self([begin].into_iter().chain(facts).chain([Observed::Left]).collect()))
    }
}

impl EventSource for StoredSource {
    fn next(&mut self, _wait: Duration) -> Next {
        match self.0.pop_front() {
            Some(what) => Next::Seen(Observation { of: 0, what }),
            None => Next::Over,
        }
    }
}
