//! Reads processes from `/proc`, and sends signals that reach the intended process or none.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::mark;

#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: Option<Pid>,
    /// In ticks since boot: together with the pid it names the process for good.
    pub(super) start: u64,
    state: u8,
}

impl Process {
    pub(super) fn read(pid: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may contain anything, parentheses too.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        // `start` is field 22 of the whole line; the parent was field 4.
        let start = fields.nth(17)?.parse().ok()?;
        Some(Self { pid, parent: Pid::from_raw(parent), start, state })
    }

    pub(super) fn all() -> Vec<Self> {
        let Ok(folder) = std::fs::read_dir("/proc") else { return vec![] };
        let pid = |name: std::ffi::OsString| Pid::from_raw(name.to_str()?.parse().ok()?);
        folder.flatten().filter_map(|entry| Self::read(pid(entry.file_name())?)).collect()
    }

    pub(super) fn id(&self) -> (Pid, u64) {
        (self.pid, self.start)
    }

    /// It has not ended. A zombie has.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    pub(super) fn is_of_user(&self, user: u32) -> bool {
        std::fs::metadata(format!("/proc/{}", self.pid)).is_ok_and(|meta| meta.uid() == user)
    }

    /// The name of its program, cut to 15 letters.
    pub(super) fn name(&self) -> Option<String> {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.pid)).ok()?;
        Some(name.trim_end().to_owned())
    }

    pub(super) fn folder(&self) -> std::io::Result<std::path::PathBuf> {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid))
    }

    /// The mark in the environment that it was started with.
    pub(super) fn mark(&self) -> Option<String> {
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let name = format!("{}=", mark::VARIABLE);
        let value = environment
            .split(|byte| *byte == 0)
            .find_map(|entry| entry.strip_prefix(name.as_bytes()))?;
        String::from_utf8(value.to_vec()).ok()
    }

    /// A handle that stays with this process even when its pid comes again.
    pub(super) fn open(&self) -> Option<OwnedFd> {
        let handle = pidfd_open(self.pid, PidfdFlags::empty()).ok()?;
        // The process that has the pid now is the one behind the handle.
        (Self::read(self.pid)?.start == self.start).then_some(handle)
    }

    pub(super) fn signal(&self, signal: Signal) -> bool {
        match self.open() {
            Some(handle) => pidfd_send_signal(handle, signal).is_ok(),
            // Kernels before 5.3 have no handles.
            None => {
                Self::read(self.pid).is_some_and(|now| now.start == self.start)
                    && rustix::process::kill_process(self.pid, signal).is_ok()
            }
        }
    }
}

pub(super) fn below(all: &[Process], roots: impl IntoIterator<Item = Pid>) -> HashSet<Pid> {
    let mut found: HashSet<Pid> = roots.into_iter().collect();
    loop {
        let before = found.len();
        for process in all {
            if process.parent.is_some_and(|parent| found.contains(&parent)) {
                found.insert(process.pid);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
