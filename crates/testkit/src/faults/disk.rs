//! A disk that is full at every stage of a run: it waits or ends with a clear sentence, and goes on when
//! there is space.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ralph_core::run::{Fact, Wait};
use ralph_engine::clock::{Stopwatch, now};
use rustix::fs::{FallocateFlags, fallocate};

use super::Setting;
use super::mounts::elsewhere;
use super::tally::{Tally, campaign_of};
use super::world::World;
use crate::TestEnv;

/// More than ralph wants to be free before a session.
const SIZE: &str = "size=400m";
/// How much space is left, from nothing to more than a run takes, in steps of a page.
const PAGE: u64 = 4096;
const STEPS: usize = 120;
const SOON: Duration = Duration::from_secs(60);

/// A disk of its own for a folder.
struct Disk(PathBuf);

impl Disk {
    fn on(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder).status();
        assert!(status.unwrap().success());
        Self(folder.to_owned())
    }

    /// Takes all the space but so much.
    fn fill(&self, ballast: &Path, left: u64) {
        let file = std::fs::File::create(ballast).unwrap();
        let clock = Stopwatch::start();
        // The run writes too, and what was free a moment ago may not be.
        loop {
            let free = ralph_engine::disk::free(&self.0).unwrap();
            let size = free.saturating_sub(left).max(PAGE);
            if fallocate(&file, FallocateFlags::empty(), 0, size).is_ok() {
                return;
            }
            assert!(clock.elapsed() < SOON, "the disk cannot be filled");
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// In which session of a run the disk fills up.
const SESSIONS: [usize; 4] = [1, 2, 3, 5];
/// Most of a try is the time until ralph looks for space again.
const AT_ONCE: usize = 12;

/// The disk fills up during a session, and the pages that are left run out at any later stage.
pub(super) fn full(setting: &Setting) -> Tally {
    elsewhere("disk-full", setting, |setting| {
        campaign_of(AT_ONCE, setting.times.of(8, 4 * STEPS), |number, tally| {
            let mut random = setting.random(4, number);
            let env = TestEnv::without_repository(&setting.ralph);
            let disk = Disk::on(&env.repo());
            let world = World::within(env, setting, &["write", "fail", "red", "ask", "own"]);
            let ballast = world.env.repo().join(".git/ballast");
            let session = SESSIONS[number % SESSIONS.len()];
            let left = PAGE * random.u64(0..STEPS as u64);
            let what = format!("disk full in session {session} but for {left} bytes");
            let (at, clock) = (now(), Stopwatch::start());
            let mut child = world.start(None);
            let sessions = || {
                let ledger = std::fs::read_to_string(world.note("ledger"));
                ledger.unwrap_or_default().lines().count()
            };
            while sessions() < session && child.try_wait().unwrap().is_none() {
                assert!(clock.elapsed() < SOON, "no session {session}");
                std::thread::sleep(Duration::from_micros(500));
            }
            disk.fill(&ballast, left);
            tally.tried();
            // It ends by itself, or waits for room.
            let waits = || {
                let journals = world.journals();
                let last =
                    journals.last().and_then(|events| events.last()).map(|event| &event.fact);
                matches!(last, Some(Fact::WaitStarted { wait: Wait::DiskLow, .. }))
            };
            let full = Stopwatch::start();
            while child.try_wait().unwrap().is_none() && !waits() && full.elapsed() < SOON {
                std::thread::sleep(Duration::from_millis(50));
            }
            std::fs::remove_file(&ballast).unwrap();
            let mut run = world.ended(child, at, clock);
            let output = world.output();
            if output.contains("panicked") {
                tally.complaint(&what, &world, "it panicked");
            }
            if run.end.code() != Some(7) {
                let names = ["No space left", "disk is full", "MiB are free", "disk full"];
                if !names.iter().any(|name| output.contains(name)) {
                    tally.complaint(&what, &world, "it does not say that the disk is full");
                }
                run = world.build(None);
                tally.went_on(&run);
            }
            tally.check(&what, &world, &run);
            drop(world);
            drop(disk);
        })
    })
}
