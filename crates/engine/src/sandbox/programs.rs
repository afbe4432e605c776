//! How the programs of sessions and gates run.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;

use ralph_core::agent::ProcessEnd;
use tokio::sync::{mpsc, watch};

use super::{Sandbox, SandboxedCommand, Wrapped, is_fleeting};
use crate::process::{CommandSpec, Control, Ended, Listener, Mark, Said, Stop, Watch, supervise};

/// How often ralph tries to create a sandbox.
const TRIES: u32 = 3;
/// How many refused connections of a program are reported one by one.
const TOLD: usize = 5;

/// A program to run.
pub struct Program<'a> {
    pub command: &'a CommandSpec,
    /// What its sandbox shows.
    pub sandboxed: &'a SandboxedCommand,
    /// When it is stopped.
    pub watch: &'a Watch,
    /// By what its processes are recognized.
    pub mark: &'a Mark,
    /// Stops it.
    pub stop: watch::Receiver<Stop>,
    /// Texts that the user sends it while it runs.
    pub says: Option<mpsc::Receiver<Said>>,
}

/// The end of a program, and findings about it besides its output.
pub type Ran<'a> = Pin<Box<dyn Future<Output = (Ended, Vec<String>)> + Send + 'a>>;

/// Runs programs to their end. An implementation hands every line to the listener, in order, copies standard output to
/// `raw`, and leaves no process behind.
pub trait Programs: Send + Sync {
    fn run<'a>(
        &'a self,
        program: Program<'a>,
        listener: &'a mut dyn Listener,
        raw: Option<&'a mut (dyn Write + Send)>,
    ) -> Ran<'a>;
}

impl Programs for Sandbox {
    fn run<'a>(
        &'a self,
        program: Program<'a>,
        listener: &'a mut dyn Listener,
        mut raw: Option<&'a mut (dyn Write + Send)>,
    ) -> Ran<'a> {
        let Program { command, sandboxed, watch, mark, stop, mut says } = program;
        Box::pin(async move {
            let mut found = Vec::new();
            let mut again = TRIES;
            loop {
                again -= 1;
                let in_sandbox = match self.wrap(command.clone(), sandboxed) {
                    Ok(in_sandbox) => in_sandbox,
                    Err(error) => {
                        let why = format!("the sandbox could not be created: {error}");
                        return (Ended::never_ran(why), found);
                    }
                };
                let written = raw.as_mut().map(|raw| &mut **raw as &mut (dyn Write + Send));
                let command = &in_sandbox.command;
                let control = Control { stop: stop.clone(), says: says.as_mut() };
                let ended = supervise(command, watch, mark, listener, written, control);
                let ended = in_sandbox.program_end(ended.await);
                found.extend(findings(&in_sandbox));
                // A path that should be hidden may have been removed at that moment.
                match &ended.end {
                    ProcessEnd::NotStarted { error } if again > 0 && is_fleeting(error) => {}
                    _ => return (ended, found),
                }
            }
        })
    }
}

/// The connections that the network refused, so that nobody has to guess why something fails. Before that it
/// restores git settings that the program changed.
fn findings(sandboxed: &Wrapped) -> Vec<String> {
    let mut found = sandboxed.put_right();
    let refused = sandboxed.refusals();
    found.extend(
        refused.iter().take(TOLD).map(|why| format!("the sandbox refused a connection: {why}")),
    );
    if refused.len() > TOLD {
        found.push(format!("{} more connections were refused", refused.len() - TOLD));
    }
    found
}
