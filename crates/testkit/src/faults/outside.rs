//! What comes from outside: an agent that prints a line without end, and a network that is cut.

use std::time::Duration;

use ralph_core::TaskId;
use ralph_engine::clock::{Stopwatch, now};
use ralph_engine::ports::Store;
use ralph_engine::store::SqliteStore;

use super::Setting;
use super::tally::{Tally, campaign};
use super::world::World;
use crate::claude::ClaudeEnv;
use crate::model_server::{Script, Turn};

/// How much memory ralph may have, in KiB.
const MEMORY: u64 = 100 << 10;

/// The most memory that a process had so far, in KiB.
fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Sessions that print one line of a gigabyte, and then do their work.
pub(super) fn long_lines(setting: &Setting) -> Tally {
    let (tries, megabytes) = match setting.times {
        crate::Times::Short => (1, 64),
        crate::Times::Full => (3, 1024),
        crate::Times::Number(number) => (number.min(10), 1024),
    };
    let mut tally = campaign(tries, |number, tally| {
        let world = World::with(setting, &["loud"]);
        std::fs::write(world.env.folder().join("megabytes"), format!("{megabytes}\n")).unwrap();
        let what = format!("line {number} of {megabytes} MiB");
        let (at, clock) = (now(), Stopwatch::start());
        let mut child = world.start(None);
        let mut most = 0;
        while child.try_wait().unwrap().is_none() && clock.elapsed() < Duration::from_secs(140) {
            most = memory(child.id()).unwrap_or(0).max(most);
            std::thread::sleep(Duration::from_millis(5));
        }
        tally.tried();
        let run = world.ended(child, at, clock);
        if most == 0 || most > MEMORY {
            tally.complaint(&what, &world, &format!("ralph had {most} KiB"));
        }
        tally.note(format!("at most {} MiB of memory", most.div_ceil(1024 * 10) * 10));
        tally.check(&what, &world, &run);
    });
    tally.note(format!("lines of {megabytes} MiB"));
    tally
}

/// The real agent, whose model cannot be reached for a while.
pub(super) fn cut_network(setting: &Setting) -> Tally {
    campaign(setting.times.of(2, 50).min(60), |number, tally| {
        let mut random = setting.random(11, number);
        let cut = match random.u32(0..3) {
            0 => Turn::reset(),
            1 => Turn::text("Hal").then_cut(),
            _ => Turn::bash("echo half > half.txt").then_cut(),
        };
        let script = Script::new().session([cut.for_ever()]).session([
            Turn::bash("echo new > file.txt"),
            Turn::text("Done. <task-done>a</task-done>"),
        ]);
        let Some(mut env) = ClaudeEnv::new(&setting.ralph, script) else {
            tally.note("not tried: there is no Claude Code here");
            return;
        };
        env.retries(0);
        env.task(&["add", "a file", "--id", "a"]);
        tally.tried();
        let level = format!("sandbox.level={}", setting.level);
        let ran = env.build(&["1", "--set", &level]);
        let mut store = SqliteStore::open(&env.store()).unwrap();
        let id = TaskId::new("a").unwrap();
        let task = store.get(&id).unwrap();
        let tries = store.attempts(&id).unwrap().len();
        if ran.code != 0 || task.status != ralph_core::task::Status::Done {
            tally.lost += 1;
            tally.complaints.push(format!("cut {number}: {} {}", ran.code, ran.stderr));
        } else if task.retry_count != 0 || tries != 2 {
            let text = format!("cut {number}: {tries} attempts, {} retries", task.retry_count);
            tally.complaints.push(format!("{text}\n{}", ran.stderr));
        }
    })
}
