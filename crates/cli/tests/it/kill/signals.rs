//! Asked to stop at random moments: by the terminal, by the system, by an impatient person.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use ralph_testkit::{send_signal, times};

use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::{BLOCKED, World};

const CANCELLED: i32 = 130;
/// The kill ladder's grace, and a second.
const GRACE: Duration = Duration::from_secs(6);
/// A second, and one more for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Stops runs with `signals`, one after the other, and lets them go on.
fn stopped_by(signals: &[(&str, i32)], whole: Duration, within: Duration) -> Tally {
    let cancelled = AtomicUsize::new(0);
    let tally = campaign(times(5, 50), |number, tally| {
        let mut random = fastrand::Rng::with_seed(2000 + number as u64);
        let world = World::turned(number);
        let wait = moment(&mut random, whole);
        let what = format!("{signals:?} after {wait:?}");
        let mut since = None;
        let run = world.build_disturbed(None, |child| {
            std::thread::sleep(wait);
            for (name, _) in signals {
                if child.try_wait().unwrap().is_none() {
                    send_signal(name, child.id());
                }
                since = Some(Stopwatch::start());
                std::thread::sleep(Duration::from_millis(random.u64(0..20)));
            }
        });
        let took = since.map(|clock| clock.elapsed()).unwrap_or_default();
        tally.tried();
        // Before the run began nobody took the signal, or it was ignored there as it is in the
        // background; and it may have come after the end.
        let signalled = |(_, number): &(&str, i32)| run.end.signal() == Some(*number);
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
    });
    assert!(cancelled.into_inner() > 0, "no run was met by {signals:?}");
    tally
}

#[test]
fn a_run_that_is_told_to_stop_gives_back_its_claims_and_goes_on_later() {
    let whole = undisturbed();
    let (term, hup, int) = (("TERM", 15), ("HUP", 1), ("INT", 2));
    stopped_by(&[term], whole, GRACE).close("stopped by TERM");
    stopped_by(&[hup], whole, GRACE).close("stopped by HUP");
    // The first interrupt lets the session finish, the second does not.
    stopped_by(&[int], whole, GRACE).close("stopped by INT");
    stopped_by(&[int, int], whole, AT_ONCE).close("stopped by INT twice");
}
