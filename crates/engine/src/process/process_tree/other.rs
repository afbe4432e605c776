//! The process tree where there is neither `/proc` nor a subreaper: the process group of the program. A
//! process that leaves the group is not found.

use std::future::pending;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

use super::{News, ProcessId, Started, on_lasting_thread};
use crate::ports::CommandSpec;
use crate::process::mark::{self, Mark};

/// How often ralph polls a group without its leader: no event reports its end.
const PAUSE: Duration = Duration::from_millis(20);

/// The processes of a session. Dropping it kills those that are left.
pub(in crate::process) struct ProcessTree {
    program: Child,
    group: Pid,
    program_ended: bool,
    gone: bool,
}

/// Starts a program. An error is a program that never ran.
pub(in crate::process) async fn start(spec: &CommandSpec, mark: &Mark) -> io::Result<Started> {
    let mut command = command(spec, mark);
    let mut program = on_lasting_thread(move || command.spawn()).await?;
    let group = program.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let group = group.ok_or_else(|| io::Error::other("it ended while starting"))?;
    let (stdin, stdout, stderr) =
        (program.stdin.take(), program.stdout.take(), program.stderr.take());
    let process_tree = ProcessTree { program, group, program_ended: false, gone: false };
    Ok(Started { process_tree, stdin, stdout, stderr })
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts agents and gates")]
fn command(spec: &CommandSpec, mark: &Mark) -> Command {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(mark::VARIABLE, mark.as_str())
        .stdin(if spec.stdin.is_none() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals from the terminal are for ralph, which passes them on as it sees fit.
        .process_group(0)
        .kill_on_drop(true);
    command
}

impl ProcessTree {
    /// What happens next. May be dropped and called again without losing anything.
    pub(in crate::process) async fn news(&mut self) -> News {
        if !self.program_ended {
            return match self.program.wait().await {
                Ok(status) => {
                    self.program_ended = true;
                    News::ProgramEnded(status)
                }
                Err(_) => pending().await,
            };
        }
        if self.gone {
            return pending().await;
        }
        while test_kill_process_group(self.group).is_ok() {
            tokio::time::sleep(PAUSE).await;
        }
        self.gone = true;
        News::AllGone
    }

    pub(in crate::process) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(in crate::process) fn interrupt(&self) {
        if !self.program_ended {
            // It may have ended this very moment.
            let _ = kill_process_group(self.group, Signal::INT);
        }
    }

    /// Sends a signal to all processes; returns the group if there was any.
    pub(in crate::process) fn signal(&mut self, signal: Signal) -> Vec<ProcessId> {
        if self.gone || kill_process_group(self.group, signal).is_err() {
            return vec![];
        }
        vec![(self.group, 0)]
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
