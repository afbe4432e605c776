//! Ends processes that a dead ralph left behind: a killed ralph takes the programs it started with it, but not the
//! background processes that those started.

#[cfg(target_os = "linux")]
pub use linux::{count_leftovers, end_leftovers};

/// How many such processes there are: without `/proc` nobody can tell.
#[cfg(not(target_os = "linux"))]
pub fn count_leftovers(_project_root: &std::path::Path) -> usize {
    0
}

/// Ends the processes of sessions on this project whose ralph is dead. Without `/proc` there is no way
/// to find them: it kills none.
#[cfg(not(target_os = "linux"))]
pub fn end_leftovers(_project_root: &std::path::Path) -> u32 {
    0
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, Signal, geteuid, getpid, pidfd_send_signal};

    use crate::clock::Stopwatch;
    use crate::process::liveness::{boot_id, lives};
    use crate::process::mark::{Origin, project_key};
    use crate::process::procfs::{Process, below};

    /// How long they have to obey each of the two signals.
    const GRACE: Duration = Duration::from_secs(2);

    /// A process may start another while ralph kills it; the number of rounds is limited.
    const ROUNDS: u32 = 5;

    /// Ends the processes of sessions on this project whose ralph is dead: first politely, then not. Says
    /// how many there were. Processes of other users, projects and living ralphs are not touched, nor is
    /// anything that this process descends from.
    pub fn end_leftovers(project_root: &Path) -> u32 {
        let project = project_key(project_root);
        let mut ended = HashSet::new();
        for _ in 0..ROUNDS {
            let found = find(&project);
            if found.is_empty() {
                break;
            }
            let mut open: Vec<OwnedFd> = vec![];
            for process in &found {
                if let Some(handle) = process.open() {
                    ended.insert(process.id());
                    open.push(handle);
                }
            }
            for signal in [Signal::TERM, Signal::KILL] {
                for handle in &open {
                    // It may have ended by itself.
                    let _ = pidfd_send_signal(handle, signal);
                }
                wait_until_gone(&mut open);
            }
        }
        u32::try_from(ended.len()).unwrap_or(u32::MAX)
    }

    pub fn count_leftovers(project_root: &Path) -> usize {
        find(&project_key(project_root)).len()
    }

    fn find(project: &str) -> Vec<Process> {
        let (boot, user) = (boot_id(), geteuid().as_raw());
        let all = Process::all();
        let spared = forebears(&all);
        // We may ourselves have been started from within a session, by way of something that it left.
        let own = Process::read(getpid()).and_then(|me| me.mark());
        let is_leftover = |process: &&Process| {
            !spared.contains(&process.pid)
                && process.is_of_user(user)
                && process.mark().is_some_and(|mark| {
                    own.as_ref() != Some(&mark)
                        && Origin::parse(&mark).is_some_and(|origin| {
                            origin.boot_id == boot
                                && origin.project == project
                                && !lives(origin.pid, origin.start)
                        })
                })
        };
        let roots: Vec<Pid> = all.iter().filter(is_leftover).map(|process| process.pid).collect();
        let process_tree = below(&all, roots);
        all.into_iter()
            .filter(|process| {
                process_tree.contains(&process.pid)
                    && !spared.contains(&process.pid)
                    && process.is_running()
                    && process.is_of_user(user)
            })
            .collect()
    }

    fn forebears(all: &[Process]) -> HashSet<Pid> {
        let mut found = HashSet::new();
        let mut next = Some(getpid());
        while let Some(pid) = next
            && found.insert(pid)
        {
            next = all.iter().find(|process| process.pid == pid).and_then(|process| process.parent);
        }
        found
    }

    /// Waits until the processes have ended, but not forever; those that have are taken out.
    fn wait_until_gone(open: &mut Vec<OwnedFd>) {
        let waited = Stopwatch::start();
        while !open.is_empty() {
            let Some(left) = GRACE.checked_sub(waited.elapsed()) else { return };
            let mut asked: Vec<PollFd<'_>> =
                open.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
            match poll(&mut asked, Timespec::try_from(left).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let gone: Vec<bool> = asked.iter().map(|one| !one.revents().is_empty()).collect();
            let mut gone = gone.into_iter();
            open.retain(|_| gone.next() != Some(true));
        }
    }
}
