//! The family where there is neither `/proc` nor a subreaper: the process group of the program. A
//! process that leaves the group is not found.

use std::future::pending;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

use super::{News, ProcessId, spawn_from_lasting_thread};
use crate::process::mark::Mark;

/// How often a group without its leader is looked at: no event tells of its end.
const PAUSE: Duration = Duration::from_millis(20);

/// The processes of a session. Dropping it kills those that are left.
pub(in crate::process) struct Family {
    program: Child,
    group: Pid,
    program_ended: bool,
    gone: bool,
}

impl Family {
    pub(super) async fn start(command: Command, _mark: &Mark) -> io::Result<Self> {
        let program = spawn_from_lasting_thread(command).await?;
        let group = program.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let group = group.ok_or_else(|| io::Error::other("it ended at its start"))?;
        Ok(Self { program, group, program_ended: false, gone: false })
    }

    pub(super) fn child_mut(&mut self) -> &mut Child {
        &mut self.program
    }

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

    /// Nobody is left.
    pub(in crate::process) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Asks the program to come to an end.
    pub(in crate::process) fn interrupt(&self) {
        if !self.program_ended {
            // It may have ended this very moment.
            let _ = kill_process_group(self.group, Signal::INT);
        }
    }

    /// Sends a signal to everybody; names the group when there was anybody.
    pub(in crate::process) fn signal(&mut self, signal: Signal) -> Vec<ProcessId> {
        if self.gone || kill_process_group(self.group, signal).is_err() {
            return vec![];
        }
        vec![(self.group, 0)]
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
