//! Asked to stop at random moments: by the terminal, by the system, by an impatient user.

use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ralph_engine::clock::Stopwatch;

use super::Setting;
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::{BLOCKED, World};
use crate::send_signal;

pub(super) const CANCELLED: i32 = 130;
/// The kill ladder's grace of five seconds, and more for a busy machine.
const GRACE: Duration = Duration::from_secs(10);
/// A second, and more for a busy machine; less than the grace.
const AT_ONCE: Duration = Duration::from_secs(4);
/// Between two signals, so that they are not taken for one.
const APART: std::ops::Range<u64> = 20..60;

fn number(signal: &str) -> i32 {
    match signal {
        "HUP" => 1,
        "INT" => 2,
        _ => 15,
    }
}

/// How long a run may take to stop after the last of the signals. The first INT waits for the session, which
/// lasts no longer than all of them; TERM, HUP and a second INT begin the ladder, a third INT ends it.
fn patience(signals: &[&str], whole: Duration) -> Duration {
    match signals {
        ["INT"] => whole + GRACE,
        ["INT", "INT", "INT", ..] => AT_ONCE,
        _ => GRACE,
    }
}

/// Stops runs with `signals`, one after the other, and lets them go on.
pub(super) fn stopped_by(setting: &Setting, signals: &[&str]) -> Tally {
    let whole = Mutex::new(undisturbed(setting));
    let within = patience(signals, *whole.lock().unwrap());
    let cancelled = AtomicUsize::new(0);
    let stop = |count: usize, tally: &mut Tally| {
        let mut random = setting.random(2, count);
        let world = World::turned(setting, count);
        let most = *whole.lock().unwrap();
        // The first is in the middle of the run, so that one is met for certain.
        let wait = if count == 0 { most / 2 } else { moment(&mut random, most) };
        let what = format!("{signals:?} after {wait:?}");
        let (mut since, mut sent) = (None, false);
        let run = world.build_disturbed(None, |child| {
            std::thread::sleep(wait);
            for name in signals {
                if child.try_wait().unwrap().is_none() {
                    send_signal(name, child.id());
                    sent = true;
                }
                since = Some(Stopwatch::start());
                std::thread::sleep(Duration::from_millis(random.u64(APART)));
            }
        });
        let took = since.map(|clock| clock.elapsed()).unwrap_or_default();
        if sent {
            tally.tried();
        } else {
            // The machine is faster than it was: the next ones are met earlier.
            let mut whole = whole.lock().unwrap();
            *whole = run.took.min(*whole);
        }
        // Before the run began nobody took the signal, or it was ignored there as it is in the
        // background; and it may have come after the end.
        let signalled = |name: &&str| run.end.signal() == Some(number(name));
        let early = run.began.is_none() && signals.iter().any(signalled);
        match run.end.code() {
            Some(CANCELLED) => {
                cancelled.fetch_add(1, Ordering::Relaxed);
                if took > within {
                    tally.complaint(&what, &world, &format!("took {took:?} to stop"));
                }
            }
            Some(BLOCKED) => {}
            _ if early => {}
            _ => tally.complaint(&what, &world, &format!("ended with {}", run.end)),
        }
        let claimed = world.claimed();
        if !claimed.is_empty() {
            tally.complaint(&what, &world, &format!("still claimed: {claimed:?}"));
        }
        if !world.processes().is_empty() {
            tally.orphaned += 1;
            tally.complaint(&what, &world, "processes were left");
        }
        let run = world.build(None);
        tally.went_on(&run);
        tally.check(&what, &world, &run);
    };
    let tries = setting.times.of(2, 50);
    let mut tally = campaign(tries, stop);
    if cancelled.load(Ordering::Relaxed) == 0 {
        // Two may both have come too early or too late.
        tally.add(campaign(4, |count, tally| stop(tries + count, tally)));
    }
    if cancelled.into_inner() == 0 {
        tally.complaints.push(format!("no run was met by {signals:?}"));
    }
    tally
}
