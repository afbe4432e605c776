//! How the programs of sessions and gates run.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;

use tokio::sync::watch;

use crate::process::{CommandSpec, Ended, Listener, Mark, Stop, Watch};
use crate::sandbox::SandboxedCommand;

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
