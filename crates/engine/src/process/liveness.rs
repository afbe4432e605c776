//! Whether a process is still the one that was started. A pid alone does not say: the system reuses pids.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ralph_core::records::Liveness;
use rustix::process::{Pid, getpid};

/// None of it changes while the process lives.
static ME: LazyLock<Liveness> = LazyLock::new(|| {
    let pid = getpid();
    Liveness {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot_id: read_boot_id(),
        pid: pid.as_raw_nonzero().get().unsigned_abs(),
        pid_started: started(pid).unwrap_or(0),
    }
});

pub fn liveness() -> Liveness {
    ME.clone()
}

/// Whether that process still lives; `None` when it is on another machine.
pub fn is_alive(process: &Liveness) -> Option<bool> {
    (process.host == ME.host)
        .then(|| process.boot_id == ME.boot_id && lives(process.pid, process.pid_started))
}

pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The name of this start of the system.
#[cfg(target_os = "linux")]
pub(super) fn boot_id() -> &'static str {
    &ME.boot_id
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// Empty where the system does not name its starts.
fn read_boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Whether the process with this pid and this start time lives. A zombie does not.
#[cfg(target_os = "linux")]
pub(super) fn lives(number: u32, start: u64) -> bool {
    pid(number)
        .and_then(super::procfs::Process::read)
        .is_some_and(|process| process.start == start && process.is_running())
}

/// Whether a program of this name, or one whose name begins with it and a `-`, may be working in one of
/// the folders.
#[cfg(target_os = "linux")]
pub(crate) fn works_in(program: &str, folders: &[&PathBuf]) -> bool {
    let is_named = |name: String| {
        name.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let all = super::procfs::Process::all().into_iter();
    let named = |process: &super::procfs::Process| {
        process.is_running() && process.name().is_some_and(is_named)
    };
    all.filter(named).any(|process| {
        match process.folder() {
            Ok(place) => folders.iter().any(|folder| place.starts_with(folder)),
            // A process that is gone works nowhere; those of other users are unknown.
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    })
}

/// Whether such a program may be working there: unknown on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn works_in(_program: &str, _folders: &[&PathBuf]) -> bool {
    true
}

#[cfg(target_os = "linux")]
pub(crate) fn runs(number: u32) -> bool {
    pid(number).and_then(super::procfs::Process::read).is_some_and(|process| process.is_running())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn runs(number: u32) -> bool {
    lives(number, 0)
}

/// The entries of a folder that belong to processes which have ended: each is named by `prefix`, a pid and a `-`.
pub(crate) fn abandoned(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let is_abandoned = |entry: &DirEntry| {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let pid = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
        pid.is_some_and(|pid| !runs(pid))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_abandoned).map(|entry| entry.path()).collect()
}

#[cfg(target_os = "linux")]
fn started(pid: Pid) -> Option<u64> {
    super::procfs::Process::read(pid).map(|process| process.start)
}

/// Whether some process has this pid: its start time is not to be had here.
#[cfg(not(target_os = "linux"))]
pub(super) fn lives(number: u32, _start: u64) -> bool {
    pid(number).is_some_and(|pid| {
        !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    })
}

#[cfg(not(target_os = "linux"))]
fn started(_pid: Pid) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_others_by_its_pid_are_not() {
        let me = liveness();
        assert_eq!(is_alive(&me), Some(true));
        let host = Liveness { host: format!("not-{}", me.host), ..me.clone() };
        assert_eq!(is_alive(&host), None);
        let boot = Liveness { boot_id: "earlier".to_owned(), ..me.clone() };
        assert_eq!(is_alive(&boot), Some(false));
        let nobody = Liveness { pid: u32::MAX, ..me.clone() };
        assert_eq!(is_alive(&nobody), Some(false));
        if cfg!(target_os = "linux") {
            let start = Liveness { pid_started: me.pid_started + 1, ..me };
            assert_eq!(is_alive(&start), Some(false));
        }
    }
}
