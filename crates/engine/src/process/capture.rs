//! Runs a program to its end, with a time limit, and returns what it printed.

use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use tokio::sync::watch;

use super::{CommandSpec, LineEffect, Listener, Mark, Stop, Watch, supervise};

/// How much of an answer is kept. No answer that we ask for is near it.
const KEPT: usize = 16 << 20;
/// Between asking a program to end and killing it.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) end: ProcessEnd,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// A runtime for one thing that this thread waits for.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Runs a program and waits for it. Not for threads of an async runtime: it blocks. Nothing that it
/// started is left when this returns.
pub(crate) fn capture(
    spec: &CommandSpec,
    limit: Duration,
    stop: watch::Receiver<Stop>,
) -> Captured {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let end = ProcessEnd::NotStarted { error: error.to_string() };
            return Captured { end, stdout: vec![], stderr: String::new() };
        }
    };
    let patience = Watch { grace: GRACE, line_cap: KEPT, ..Watch::timeout(limit) };
    runtime.block_on(captured(spec, &patience, &Mark::new(&spec.folder, 0), stop))
}

/// The same in a runtime, with other limits.
pub(crate) async fn captured(
    spec: &CommandSpec,
    watch: &Watch,
    mark: &Mark,
    stop: watch::Receiver<Stop>,
) -> Captured {
    let mut kept = CapturedOutput(vec![]);
    let ended = supervise(spec, watch, mark, &mut kept, None, stop).await;
    Captured { end: ended.end, stdout: kept.0, stderr: ended.stderr_tail }
}

struct CapturedOutput(Vec<u8>);

impl Listener for CapturedOutput {
    fn stdout(&mut self, line: &[u8], _cut: bool, _replies: &mut Vec<u8>) -> LineEffect {
        if self.0.len() + line.len() < KEPT {
            self.0.extend_from_slice(line);
            self.0.push(b'\n');
        }
        LineEffect::Going
    }
}
