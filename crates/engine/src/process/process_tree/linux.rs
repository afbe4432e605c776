//! The process tree below a [subreaper](super::keeper).

use std::fs::File;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::exec_arguments::Words;
use super::subreaper::{self, Subreaper};
use super::{News, PIPE, ProcessId, Started, on_lasting_thread, spawn_detached};
use crate::ports::CommandSpec;
use crate::process::mark::Mark;
use crate::process::procfs::{Process, below};

/// How often a dropped process tree is searched for survivors.
const SWEEPS: u32 = 3;

/// The processes of a session. Dropping it kills those that are left.
pub(in crate::process) struct ProcessTree {
    /// `None` once the process tree is dropped.
    subreaper: Option<Subreaper>,
    report: Report,
    mark: Mark,
    program_ended: bool,
    subreaper_lost: bool,
    gone: bool,
}

/// Starts a program. An error is a program that never ran.
pub(in crate::process) async fn start(spec: &CommandSpec, mark: &Mark) -> io::Result<Started> {
    let words = Words::of(spec, mark)?;
    let (input, stdin): (OwnedFd, _) = match spec.stdin.is_none() {
        true => (File::open("/dev/null")?.into(), None),
        false => {
            let (theirs, ours) = io::pipe()?;
            (theirs.into(), Some(OwnedFd::from(ours)))
        }
    };
    let (stdout, output) = io::pipe()?;
    // Everything still works where the system has no more memory for pipes.
    let _ = rustix::pipe::fcntl_setpipe_size(&output, PIPE);
    let (stderr, errors) = io::pipe()?;
    let (report, reported) = io::pipe()?;
    let streams = [input, output.into(), errors.into()];
    let start = move || Subreaper::start(words, streams, reported.into());
    let subreaper = on_lasting_thread(start).await?;
    let report = pipe::Receiver::from_owned_fd(report.into())?;
    let process_tree = ProcessTree {
        subreaper: Some(subreaper),
        report: Report { pipe: report, number: [0; 4], filled: 0 },
        mark: mark.clone(),
        program_ended: false,
        subreaper_lost: false,
        gone: false,
    };
    Ok(Started {
        process_tree,
        stdin: stdin.map(|stdin| ChildStdin::from_std(stdin.into())).transpose()?,
        stdout: Some(ChildStdout::from_std(OwnedFd::from(stdout).into())?),
        stderr: Some(ChildStderr::from_std(OwnedFd::from(stderr).into())?),
    })
}

impl ProcessTree {
    /// What happens next. May be dropped and called again without losing anything.
    pub(in crate::process) async fn news(&mut self) -> News {
        if !self.program_ended {
            let status = match self.report.next().await {
                Some(status) => ExitStatus::from_raw(status),
                // The subreaper was killed, and the program with it.
                None => ExitStatus::from_raw(Signal::KILL.as_raw()),
            };
            self.program_ended = true;
            return News::ProgramEnded(status);
        }
        if self.gone || self.subreaper_lost {
            return pending().await;
        }
        if self.report.next().await == Some(subreaper::NOBODY) {
            self.gone = true;
            return News::AllGone;
        }
        // Its files are closed a moment before it has ended, and with it the program.
        let both = self.subreaper.as_ref().map(|subreaper| (subreaper.pid, subreaper.program));
        if let Some((subreaper, program)) = both {
            let _ = on_lasting_thread(move || subreaper::wait_for_end(subreaper, program)).await;
        }
        self.subreaper_lost = true;
        News::SubreaperLost
    }

    pub(in crate::process) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Asks the program, and those that did not leave its group, to come to an end.
    pub(in crate::process) fn interrupt(&self) {
        if !self.program_ended {
            // It may have ended this very moment.
            let program = self.subreaper.as_ref().map(|subreaper| subreaper.program);
            let _ = program.map(|program| kill_process_group(program, Signal::INT));
        }
    }

    /// Sends a signal to all processes; returns those that got it.
    pub(in crate::process) fn signal(&mut self, signal: Signal) -> Vec<ProcessId> {
        if self.gone {
            return vec![];
        }
        let mut members = self.members();
        // Without a subreaper no event reports that the last process has ended.
        self.gone = self.subreaper_lost && members.is_empty();
        members.retain(|process| process.signal(signal));
        members.iter().map(Process::id).collect()
    }

    fn members(&self) -> Vec<Process> {
        let all = Process::all();
        let subreaper = self.subreaper.as_ref().map(|subreaper| subreaper.pid);
        let process_tree = below(&all, subreaper);
        // The mark finds those whose subreaper was killed.
        let is_member = |process: &Process| {
            Some(process.pid) != subreaper
                && process.is_running()
                && (process_tree.contains(&process.pid)
                    || process.mark().is_some_and(|mark| mark == self.mark.as_str()))
        };
        all.into_iter().filter(is_member).collect()
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        // A process that starts while ralph looks is found the next time.
        for _ in 0..SWEEPS {
            if self.signal(Signal::KILL).is_empty() {
                break;
            }
        }
        // Awaiting it takes a moment; nothing else has to wait for it.
        let subreaper = self.subreaper.take();
        spawn_detached(move || drop(subreaper));
    }
}

/// The pipe from the subreaper: numbers of four bytes.
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
