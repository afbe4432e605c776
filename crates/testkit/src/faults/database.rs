//! A database that may not be written, and one that another process holds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use rusqlite::Connection;

use super::Setting;
use super::mounts::elsewhere;
use super::tally::{Tally, WAITING, campaign, campaign_of, moment, undisturbed};
use super::world::World;

/// How soon a run is refused, on a busy machine.
const REFUSED: Duration = Duration::from_secs(5);

/// Makes a file or folder read-only for everybody, root too, as long as the value lives.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn new(path: &Path) -> Self {
        let mount = |arguments: &[&str]| {
            let status = Command::new("mount").args(arguments).status().unwrap();
            assert!(status.success(), "mount {arguments:?}: {status}");
        };
        let name = path.to_str().unwrap();
        mount(&["--bind", name, name]);
        let it = Self(path.to_owned());
        mount(&["-o", "remount,bind,ro", name]);
        it
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Runs on a store that may be read and not written: the file, its folder or the whole repository.
pub(super) fn read_only(setting: &Setting) -> Tally {
    elsewhere("read-only", setting, |setting| {
        campaign(setting.times.of(3, 30), |number, tally| {
            let world = World::with(setting, &["plain"]);
            let place = match number % 3 {
                0 => world.env.store(),
                1 => world.env.repo().join(".ralph"),
                _ => world.env.repo(),
            };
            let what = format!("{} is read-only", place.display());
            let read_only = ReadOnly::new(&place);
            tally.tried();
            let run = world.build(None);
            let output = world.output();
            if run.end.code() != Some(1) || run.took > REFUSED {
                let text = format!("ended with {} after {:?}", run.end, run.took);
                tally.complaint(&what, &world, &text);
            }
            if !output.contains("error: ")
                || !output.contains("hint: ")
                || output.contains("panicked")
            {
                tally.complaint(&what, &world, "it does not say what to do");
            }
            if world.note("agent.pid").exists() {
                tally.complaint(&what, &world, "an agent was started");
            }
            drop(read_only);
            let run = world.build(None);
            tally.went_on(&run);
            tally.check(&what, &world, &run);
        })
    })
}

/// Another process holds the lock of the database while sessions end and outcomes are written.
pub(super) fn locked(setting: &Setting) -> Tally {
    let (tries, hold) = match setting.times {
        crate::Times::Short => (2, 3),
        crate::Times::Full => (12, 61),
        crate::Times::Number(number) => (number.min(24), 61),
    };
    let hold = Duration::from_secs(hold);
    let whole = undisturbed(setting);
    let mut tally = campaign_of(WAITING, tries, |number, tally| {
        let mut random = setting.random(3, number);
        let world = World::turned(setting, number);
        let wait = moment(&mut random, whole);
        let mut held = false;
        let run = world.build_disturbed(None, |child| {
            std::thread::sleep(wait);
            let other = Connection::open(world.env.store()).unwrap();
            other.busy_timeout(Duration::from_secs(30)).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let clock = Stopwatch::start();
            while clock.elapsed() < hold && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            held = clock.elapsed() >= hold;
            other.execute_batch("COMMIT").unwrap();
        });
        if held {
            tally.tried();
        }
        let what = format!("locked after {wait:?}");
        if run.took > hold + whole + Duration::from_secs(15) {
            tally.complaint(&what, &world, &format!("took {:?}", run.took));
        }
        tally.check(&what, &world, &run);
    });
    tally.note(format!("held for {} s", hold.as_secs()));
    tally
}
