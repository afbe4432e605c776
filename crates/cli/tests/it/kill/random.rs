//! Killed at random moments: the loop, and the agent below it.

use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use ralph_testkit::times;

use super::tally::{campaign, moment, undisturbed};
use super::world::World;

fn kill(pid: u32) -> bool {
    let command = format!("kill -s KILL {pid} 2>/dev/null");
    Command::new("sh").args(["-c", &command]).status().unwrap().success()
}

#[test]
fn a_run_killed_at_random_moments_goes_on_by_itself() {
    let whole = Mutex::new(undisturbed());
    let tally = campaign(times(20, 500), |number, tally| {
        let mut random = fastrand::Rng::with_seed(number as u64);
        let world = World::turned(number);
        // Some are killed again on the way back.
        let kills = 1 + usize::from(number % 4 == 3);
        let mut run = None;
        for kill in 0..kills {
            let most = *whole.lock().unwrap();
            let wait = moment(&mut random, most);
            let ended = world.build_disturbed(None, |child| {
                std::thread::sleep(wait);
                let _ = child.kill();
            });
            if kill > 0 {
                tally.went_on(&ended);
            }
            if !ended.was_killed() {
                // The machine is faster than it was: the next ones are killed earlier.
                let mut whole = whole.lock().unwrap();
                *whole = ended.took.min(*whole);
                run = Some(ended);
                break;
            }
            tally.tried();
        }
        let run = run.unwrap_or_else(|| {
            let run = world.build(None);
            tally.went_on(&run);
            run
        });
        tally.check(&format!("random kill {number}"), &world, &run);
    });
    tally.close("killed at random");
    assert!(tally.tried * 2 > times(20, 500), "most runs ended before they were killed");
}

#[test]
fn an_agent_killed_at_random_moments_is_tried_again() {
    let whole = undisturbed();
    let tally = campaign(times(5, 50), |number, tally| {
        let mut random = fastrand::Rng::with_seed(1000 + number as u64);
        let world = World::turned(number);
        let wait = moment(&mut random, whole);
        let run = world.build_disturbed(None, |child| {
            std::thread::sleep(wait);
            // The next session that is met.
            while child.try_wait().unwrap().is_none() {
                if let Some(agent) = world.agent() {
                    // It may have ended this very moment.
                    if kill(agent) {
                        tally.tried();
                        break;
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        tally.went_on(&run);
        tally.check(&format!("agent kill {number}"), &world, &run);
    });
    tally.close("agents killed at random");
}
