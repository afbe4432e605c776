//! A run that is stopped for longer than its lease, and another process that takes its task meanwhile. What
//! it says later is refused.

use std::time::Duration;

use ralph_core::run::Fact;
use ralph_core::{AgentId, TaskId};
use ralph_engine::clock::{Stopwatch, now};
use ralph_engine::ports::Store;
use rusqlite::Connection;

use super::Setting;
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::{BLOCKED, World};
use crate::send_signal;

const OTHER: &str = "other";
const SOON: Duration = Duration::from_secs(60);

/// Moves the ends of all leases, as a clock that leaps the other way would. `false` when the run was
/// stopped while it wrote: then nobody else can write.
pub(super) fn shift_leases(world: &World, by: Duration, forward: bool) -> bool {
    let by = i64::try_from(by.as_millis()).unwrap();
    let by = if forward { by } else { -by };
    let connection = Connection::open(world.env.store()).unwrap();
    connection.busy_timeout(Duration::from_millis(500)).unwrap();
    let shift = "UPDATE tasks SET lease_expires_at = lease_expires_at + ?1 WHERE agent IS NOT NULL";
    connection.execute(shift, [by]).is_ok()
}

/// Runs that are stopped past their lease.
pub(super) fn past_lease(setting: &Setting) -> Tally {
    let whole = undisturbed(setting);
    let mut tally = campaign(setting.times.of(5, 300), |number, tally| {
        let mut random = setting.random(6, number);
        lose_claim(setting, number, moment(&mut random, whole), true, tally);
    });
    tally.note("the lease is moved into the past instead of waiting for it");
    tally
}

/// Another process takes the task of a run whose lease is over; the run is stopped meanwhile, or is not.
pub(super) fn lose_claim(
    setting: &Setting,
    number: usize,
    wait: Duration,
    stop: bool,
    tally: &mut Tally,
) {
    let world = World::turned(setting, number);
    let what = format!("claim lost after {wait:?}");
    let (at, clock) = (now(), Stopwatch::start());
    let mut child = world.start(None);
    std::thread::sleep(wait);
    let mut held = None;
    // The next claim that is met.
    while held.is_none() && child.try_wait().unwrap().is_none() {
        if stop {
            send_signal("STOP", child.id());
        }
        held = claimed(&world);
        held = held.filter(|_| shift_leases(&world, Duration::from_secs(3600), false));
        held = held.filter(|task| {
            let claim = ["task", "claim", task, "--agent", OTHER];
            world.env.ralph(&claim).code == 0
        });
        if held.is_none() && stop {
            send_signal("CONT", child.id());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let Some(task) = held else {
        // It ended before it could be met.
        let run = world.ended(child, at, clock);
        return tally.check(&what, &world, &run);
    };
    tally.tried();
    let id = TaskId::new(task.clone()).unwrap();
    let (mut store, seen) = (world.store(), ends(&world));
    let taken = store.get(&id).unwrap();
    if stop {
        send_signal("CONT", child.id());
    }
    let since = Stopwatch::start();
    while child.try_wait().unwrap().is_none() && ends(&world) == seen && since.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = store.get(&id).unwrap();
    let holder = after.claim.as_ref().map(|claim| &claim.agent);
    if holder != Some(&AgentId::new(OTHER).unwrap())
        || after.claim.as_ref().map(|claim| claim.generation)
            != taken.claim.as_ref().map(|claim| claim.generation)
    {
        tally.duplicated += 1;
        let text = format!("a late outcome was accepted: {task} is {}", after.status);
        tally.complaint(&what, &world, &text);
    }
    world.env.task(&["reset", &task]);
    let first = world.ended(child, at, clock);
    if first.end.code() != Some(BLOCKED) {
        tally.complaint(&what, &world, &format!("it ended with {}", first.end));
    }
    // The first may have ended while another process held the task.
    let run = world.build(None);
    tally.went_on(&run);
    tally.check(&what, &world, &run);
}

/// A task that another process holds; `None` also when the run was stopped with a lock of the store, and
/// nothing could claim anything.
fn claimed(world: &World) -> Option<String> {
    let lock = std::fs::File::open(world.env.repo().join(".ralph/progress.db-lock")).ok()?;
    lock.try_lock_shared().ok()?;
    let connection = Connection::open(world.env.store()).unwrap();
    connection.busy_timeout(Duration::from_millis(500)).unwrap();
    let first = "SELECT id FROM tasks WHERE agent IS NOT NULL LIMIT 1";
    connection.query_row(first, [], |row| row.get(0)).ok()
}

/// How many claims were lost and iterations ended so far.
fn ends(world: &World) -> usize {
    let journals = world.journals();
    let facts = journals.iter().flatten().map(|event| &event.fact);
    facts
        .filter(|fact| matches!(fact, Fact::ClaimLost { .. } | Fact::IterationEnded { .. }))
        .count()
}
