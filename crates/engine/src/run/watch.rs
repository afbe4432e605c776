//! Background work of a run: renews leases, notices changes of the plan by others, and ends waits.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::run::{Input, SlotId};
use ralph_core::task::{Actor, Generation};
use ralph_core::{TaskId, Timestamp};
use tokio::sync::watch;

use super::ports::Ports;
use crate::ports::Filter;

/// Changes that come together are looked at together.
const SETTLE: Duration = Duration::from_millis(50);
/// How often ralph polls where the system reports no changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often ralph polls after a change that the system reported. A commit is visible only once it is on the
/// disk, which may be long after its bytes were written, and no event reports that.
#[cfg(target_os = "linux")]
const ECHOES: u32 = 3;

/// A claim of this run.
type Held = (TaskId, Generation);

impl Ports {
    /// Wakes the slot then, or when the plan changes.
    pub(super) fn wake_later(
        self: &Arc<Self>,
        slot: SlotId,
        at: Option<Timestamp>,
        on_change: bool,
    ) {
        // Held while the loop is asked: another step may have ended the wait before it began here. A waker that nothing
        // stops would keep the run from ending.
        let mut waker = self.waker(slot);
        if !self.dispatcher().waits(slot) {
            return;
        }
        let ports = Arc::clone(self);
        let seen = self.seen(slot);
        let mut changed = self.changed.subscribe();
        let started = tokio::spawn(async move {
            let time = async {
                match at {
                    Some(at) => ports.setup.ports.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            // Also what changed between the look at the plan and now.
            let change = async {
                let _ = changed.wait_for(|count| *count != seen).await.map(|_| ());
            };
            tokio::select! {
                () = time => {}
                () = change, if on_change => {}
            }
            ports.send(Input::Woken { slot });
        });
        if let Some(earlier) = waker.replace(started) {
            earlier.abort();
        }
    }

    pub(super) fn stop_waiting(&self, slot: SlotId) {
        if let Some(waker) = self.waker(slot).take() {
            waker.abort();
        }
    }

    /// Keeps the claims of the run alive, and notices those that are lost. Runs until it is dropped.
    pub(super) async fn keep_claims(self: Arc<Self>) {
        let quarter = Duration::from_secs(self.setup.ports.lease.as_seconds().div_ceil(4));
        let mut beat = tokio::time::interval(quarter);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        beat.tick().await;
        let mut changed = self.changed.subscribe();
        let mut had: Vec<Vec<Held>> = vec![vec![]; self.setup.agent_ids.len()];
        let mut reported: HashSet<Held> = HashSet::new();
        loop {
            let renew = tokio::select! {
                _ = beat.tick() => true,
                change = changed.changed() => {
                    if change.is_err() {
                        return;
                    }
                    false
                }
            };
            // A claim can be lost before it was first checked.
            for (before, taken) in had.iter_mut().zip(self.dispatcher().taken()) {
                before.extend(taken);
            }
            let ports = Arc::clone(&self);
            let looked = tokio::task::spawn_blocking(move || ports.check_claims(renew)).await;
            let Ok(Some(held)) = looked else { continue };
            for (slot, (before, after)) in had.iter_mut().zip(held).enumerate() {
                for (task, generation) in before.iter().filter(|held| !after.contains(held)) {
                    let lost = (task.clone(), *generation);
                    if !self.was_released(task, *generation) && reported.insert(lost) {
                        let agent = self.setup.agent_ids[slot].clone();
                        self.send(Input::ClaimLost { agent, task: task.clone() });
                    }
                }
                *before = after;
            }
        }
    }

    /// The tasks that each slot holds, renewed where asked for; `None` when the store cannot be read.
    fn check_claims(&self, renew: bool) -> Option<Vec<Vec<Held>>> {
        let mut store = self.store();
        let mut all = Vec::new();
        for agent in &self.setup.agent_ids {
            let filter = Filter { assignee: Some(agent.clone()), ..Filter::default() };
            let mut held = Vec::new();
            for task in store.list(&filter).ok()? {
                let Some(claim) = task.claim.clone() else { continue };
                if renew {
                    let by = Actor::Agent(agent.clone(), Some(claim.generation));
                    let _ = store.renew(&task.id, self.setup.ports.lease, &by, self.now());
                }
                held.push((task.id, claim.generation));
            }
            all.push(held);
        }
        Some(all)
    }
}

/// Rings `changed` whenever the store's files change, until the value is dropped.
pub(super) struct StoreWatch {
    over: Arc<AtomicBool>,
}

impl Drop for StoreWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl StoreWatch {
    pub(super) fn start(store: &Path, changed: watch::Sender<u64>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        // Before the first look at the plan, not whenever the thread comes to it.
        let mut notices = Notices::of(store);
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if notices.next(LOOK_EVERY) {
                    changed.send_modify(|count| *count = count.wrapping_add(1));
                }
            }
        });
        Self { over }
    }
}

/// Changes of the store's files: reported by the kernel where that is possible, else polled.
struct Notices {
    wal: PathBuf,
    last: Stamp,
    #[cfg(target_os = "linux")]
    inotify: Option<std::os::fd::OwnedFd>,
    #[cfg(target_os = "linux")]
    echoes: u32,
}

type Stamp = Option<(u64, Option<std::time::SystemTime>)>;

impl Notices {
    fn of(store: &Path) -> Self {
        let wal = crate::store::sqlite::wal_of(store);
        Self {
            last: stamp(&wal),
            #[cfg(target_os = "linux")]
            inotify: watch_with_inotify(&[store, &wal]),
            #[cfg(target_os = "linux")]
            echoes: 0,
            wal,
        }
    }

    /// Waits at most so long; whether something changed.
    fn next(&mut self, at_most: Duration) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(reported) = &self.inotify {
            if !wait_readable(reported, at_most) {
                let echo = self.echoes > 0;
                self.echoes = self.echoes.saturating_sub(1);
                return echo;
            }
            self.echoes = ECHOES;
            // Changes that come together are one. Our own come many at a time, and each look that they
            // lead to would be in the way of the next.
            pause(SETTLE);
            forget(reported);
            return true;
        }
        pause(at_most);
        let now = stamp(&self.wal);
        let changed = now != self.last;
        self.last = now;
        changed
    }
}

fn stamp(path: &Path) -> Stamp {
    std::fs::metadata(path).ok().map(|file| (file.len(), file.modified().ok()))
}

#[expect(clippy::disallowed_methods, reason = "a thread that only polls")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(target_os = "linux")]
fn watch_with_inotify(files: &[&Path]) -> Option<std::os::fd::OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let fd = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
    for file in files {
        add_watch(&fd, *file, WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE).ok()?;
    }
    Some(fd)
}

#[cfg(target_os = "linux")]
fn wait_readable(fd: &std::os::fd::OwnedFd, at_most: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut all = [PollFd::new(fd, PollFlags::IN)];
    let timeout = Timespec::try_from(at_most).ok();
    poll(&mut all, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

/// Takes out everything that is waiting to be read.
#[cfg(target_os = "linux")]
fn forget(fd: &std::os::fd::OwnedFd) {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut reader = rustix::fs::inotify::Reader::new(fd, &mut buffer);
    while reader.next().is_ok() {}
}
