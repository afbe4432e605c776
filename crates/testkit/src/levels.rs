//! The sandbox level at which the runs of a test work, and the reason where it is not the default. `./check`
//! counts both.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The level of a test's runs.
#[derive(Debug)]
pub(crate) struct Level {
    name: String,
    reason: &'static str,
    recorded: AtomicBool,
}

impl Default for Level {
    fn default() -> Self {
        Self::new("auto", "the default")
    }
}

impl Level {
    /// Another one than the default needs a reason.
    pub(crate) fn new(name: &str, reason: &'static str) -> Self {
        assert!(!reason.trim().is_empty(), "say why this test runs at {name}");
        Self { name: name.to_owned(), reason, recorded: AtomicBool::new(false) }
    }

    /// As `sandbox.level` takes it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes a line into the file that `RALPH_LEVELS` names, once: level, reason, test.
    pub(crate) fn record(&self) {
        let Some(file) = std::env::var_os("RALPH_LEVELS") else { return };
        if self.recorded.swap(true, Ordering::Relaxed) {
            return;
        }
        let thread = std::thread::current();
        let line = format!("{}\t{}\t{}\n", self.name, self.reason, thread.name().unwrap_or("?"));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        // In one write: many tests append to this file.
        file.write_all(line.as_bytes()).unwrap();
    }
}
