//! Agents with bad habits under the whole of ralph: ralph kills them with all processes they started, and the
//! next session does the work.

use std::time::Duration;

use ralph_core::run::Fact;
use ralph_engine::clock::{Stopwatch, now};

use super::Setting;
use super::signals::CANCELLED;
use super::tally::{Tally, WAITING, campaign_of};
use super::world::World;
use crate::{send_signal, wait_until};

const SOON: Duration = Duration::from_secs(60);
/// The watchdog of these sessions, and the grace after it.
const WATCHDOG: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(1);
/// How much later than that a session may be over: what is left of it is read for two seconds, and the rest
/// is for a busy machine.
const SLACK: Duration = Duration::from_secs(8);

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// How long the first session took, by the journal.
fn first_session(world: &World) -> Option<Duration> {
    let journals = world.journals();
    let reports = journals.iter().flatten().filter_map(|event| match &event.fact {
        Fact::SessionEnded { report, .. } => Some(Duration::from_millis(report.duration_ms)),
        _ => None,
    });
    reports.into_iter().next()
}

/// Says when the first session took longer than it may.
fn in_time(world: &World, what: &str, least: Duration, tally: &mut Tally) {
    match first_session(world) {
        Some(took) if took >= least && took <= least + SLACK => {}
        took => tally.complaint(what, world, &format!("the session took {took:?}, not {least:?}")),
    }
}

/// Sessions that ignore TERM, and whose grandchild has a session of its own and holds the pipe. A
/// watchdog ends one half of them, a TERM for ralph the other.
pub(super) fn that_ignore_term(setting: &Setting) -> Tally {
    campaign_of(WAITING, setting.times.of(4, 200), |number, tally| {
        let by_user = number % 2 == 1;
        let limit = if by_user { "agent.timeout=10m" } else { "agent.timeout=1s" };
        let world = World::with(setting, &["stuck"]);
        let world = world.and(&["--set", "agent.grace=1s", "--set", limit]);
        let what = format!("stuck session {number}");
        let (at, clock) = (now(), Stopwatch::start());
        let child = world.start(None);
        let marker = world.note("stuck");
        wait_until("the session is stuck", SOON, || marker.exists());
        let hidden = std::fs::read_to_string(world.note("hidden.pid")).unwrap();
        tally.tried();
        let mut since = Stopwatch::start();
        if by_user {
            send_signal("TERM", child.id());
            since = Stopwatch::start();
        }
        let mut run = world.ended(child, at, clock);
        let mut orphans = world.processes().len();
        // In a sandbox it has another number; its environment identifies it, like all others.
        orphans += usize::from(setting.level != "full" && lives(&hidden));
        if orphans > 0 {
            tally.orphaned += orphans;
            tally.complaint(&what, &world, &format!("{orphans} processes were left"));
        }
        if by_user {
            if run.end.code() != Some(CANCELLED) || since.elapsed() > GRACE + SLACK {
                let text = format!("ended with {} after {:?}", run.end, since.elapsed());
                tally.complaint(&what, &world, &text);
            }
            run = world.build(None);
            tally.went_on(&run);
        } else {
            in_time(&world, &what, WATCHDOG + GRACE, tally);
        }
        tally.check(&what, &world, &run);
    })
}

/// Sessions that begin and then say nothing any more.
pub(super) fn that_hang(setting: &Setting) -> Tally {
    campaign_of(WAITING, setting.times.of(2, 50), |number, tally| {
        let world = World::with(setting, &["silent"]);
        let world = world.and(&["--set", "agent.silence=1s", "--set", "agent.grace=1s"]);
        let what = format!("silent session {number}");
        let run = world.build(None);
        tally.tried();
        in_time(&world, &what, WATCHDOG, tally);
        tally.check(&what, &world, &run);
    })
}
