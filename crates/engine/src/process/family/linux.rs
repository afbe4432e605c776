//! The family below a [keeper](super::keeper).

use std::future::pending;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::{News, ProcessId, keeper, spawn_from_lasting_thread};
use crate::process::mark::Mark;
use crate::process::procfs::{Process, below};

/// How often a dropped family is searched for survivors.
const SWEEPS: u32 = 3;

/// The processes of a session. Dropping it kills those that are left.
pub(in crate::process) struct Family {
    keeper: Child,
    program: Pid,
    report: Report,
    mark: Mark,
    /// The end of the program was told.
    program_ended: bool,
    /// The keeper was killed by somebody.
    keeper_lost: bool,
    gone: bool,
}

impl Family {
    pub(super) async fn start(mut command: Command, mark: &Mark) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        keeper::install(&mut command, writer.into());
        let mut report = Report {
            pipe: pipe::Receiver::from_owned_fd(reader.into())?,
            number: [0; 4],
            filled: 0,
        };
        let keeper = spawn_from_lasting_thread(command).await?;
        // The program wrote it before it became one, and the start is told only after.
        let program = report.next().await.and_then(Pid::from_raw);
        let program = program.ok_or_else(|| io::Error::other("it was killed at its start"))?;
        Ok(Self {
            keeper,
            program,
            report,
            mark: mark.clone(),
            program_ended: false,
            keeper_lost: false,
            gone: false,
        })
    }

    pub(super) fn child_mut(&mut self) -> &mut Child {
        &mut self.keeper
    }

    /// What happens next. May be dropped and called again without losing anything.
    pub(in crate::process) async fn news(&mut self) -> News {
        if !self.program_ended {
            let status = match self.report.next().await {
                Some(status) => ExitStatus::from_raw(status),
                // The keeper was killed, and the program with it.
                None => ExitStatus::from_raw(Signal::KILL.as_raw()),
            };
            self.program_ended = true;
            return News::ProgramEnded(status);
        }
        if self.gone || self.keeper_lost {
            return pending().await;
        }
        if self.keeper.wait().await.is_ok_and(|status| status.success()) {
            self.gone = true;
            News::AllGone
        } else {
            self.keeper_lost = true;
            News::KeeperLost
        }
    }

    /// Nobody is left.
    pub(in crate::process) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Asks the program, and those that did not leave its group, to come to an end.
    pub(in crate::process) fn interrupt(&self) {
        if !self.program_ended {
            // It may have ended this very moment.
            let _ = kill_process_group(self.program, Signal::INT);
        }
    }

    /// Sends a signal to everybody; says who got it.
    pub(in crate::process) fn signal(&mut self, signal: Signal) -> Vec<ProcessId> {
        if self.gone {
            return vec![];
        }
        let mut members = self.members();
        // Without a keeper nobody tells us that the last one has ended.
        self.gone = self.keeper_lost && members.is_empty();
        members.retain(|process| process.signal(signal));
        members.iter().map(Process::id).collect()
    }

    fn members(&self) -> Vec<Process> {
        let all = Process::all();
        let keeper = self.keeper.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let family = below(&all, keeper);
        // The mark finds those whose keeper was killed.
        let is_member = |process: &Process| {
            Some(process.pid) != keeper
                && process.is_running()
                && (family.contains(&process.pid)
                    || process.mark().is_some_and(|mark| mark == self.mark.as_str()))
        };
        all.into_iter().filter(is_member).collect()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // Whoever is started while we look is found the next time.
        for _ in 0..SWEEPS {
            if self.signal(Signal::KILL).is_empty() {
                break;
            }
        }
    }
}

/// The pipe from the keeper: numbers of four bytes.
struct Report {
    pipe: pipe::Receiver,
    number: [u8; 4],
    filled: usize,
}

impl Report {
    /// The next number; `None` when there will be no more. May be dropped and called again.
    async fn next(&mut self) -> Option<i32> {
        while self.filled < self.number.len() {
            match self.pipe.read(&mut self.number[self.filled..]).await {
                Ok(0) | Err(_) => return None,
                Ok(more) => self.filled += more,
            }
        }
        self.filled = 0;
        Some(i32::from_ne_bytes(self.number))
    }
}
