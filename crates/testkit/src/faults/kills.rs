//! `kill -9`: of ralph at random moments and at every point that the binary names, and of the agent.

use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use ralph_engine::crash::{BRANCH_POINTS, LANDING_POINTS, PUBLISH_POINTS, WORKTREE_POINTS};

use super::Setting;
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::World;

/// How often each point is tried in a full campaign, and at most.
const EACH: usize = 5;

/// Kills runs at random moments.
pub(super) fn at_random(setting: &Setting) -> Tally {
    let whole = Mutex::new(undisturbed(setting));
    let count = setting.times.of(8, 500);
    let mut tally = campaign(count, |number, tally| {
        let mut random = setting.random(0, number);
        let world = World::turned(setting, number);
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
    if tally.tried * 3 < count {
        tally.complaints.push("nearly all runs ended before they were killed".to_owned());
    }
    tally
}

/// The points that the binary names.
fn points(setting: &Setting) -> Vec<String> {
    let output = Command::new(&setting.ralph).arg("__crash-points").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Kills a run when it passes the point for the `nth` time. A run that does not pass it so often is
/// killed at the first time, and so are the runs after it, `nth` times in all. What only a run after a
/// killed one passes is armed there. The plan begins with its `turn`-th task.
fn kill_at(setting: &Setting, point: &str, nth: usize, turn: usize, tally: &mut Tally) {
    let armed = format!("{point}:{nth}");
    let first = format!("{point}:1");
    let what = format!("{armed} from task {turn}");
    let mut world = World::turned(setting, turn);
    let mut run = world.build(Some(&armed));
    let mut wanted = 1;
    if !run.was_killed() {
        wanted = nth;
        world = World::turned(setting, turn);
        run = world.build(Some(&first));
    }
    if !run.was_killed() {
        world = World::turned(setting, turn);
        world.build(Some(&format!("candidate-made:{nth}")));
        run = world.build(Some(&first));
    }
    let mut kills = 0;
    while run.was_killed() {
        tally.tried();
        kills += 1;
        run = world.build((kills < wanted).then_some(first.as_str()));
        tally.went_on(&run);
    }
    if kills == 0 {
        return tally.complaint(&what, &world, "the point was never passed");
    }
    tally.check(&what, &world, &run);
}

/// Kills runs at every crash point.
pub(super) fn at_points(setting: &Setting) -> Tally {
    let points = setting.times.sampled(setting.seed, 3, points(setting));
    // With one try each, the first time is at another task for every point.
    let each = setting.times.of(1, EACH).min(EACH);
    let mut tally = campaign(points.len() * each, |number, tally| {
        let turn = number.wrapping_add(setting.seed as usize);
        kill_at(setting, &points[number / each], number % each + 1, turn, tally);
    });
    tally.note(format!("{} points", points.len()));
    let others: Vec<&str> = BRANCH_POINTS.iter().chain(PUBLISH_POINTS).copied().collect();
    tally.note(format!("not passed by these runs: {}", others.join(", ")));
    tally
}

/// Points that only a run with several worktrees passes, killed there so often.
pub(super) fn at_landing(setting: &Setting) -> Tally {
    let points = LANDING_POINTS.iter().chain(WORKTREE_POINTS).copied();
    let points: Vec<&str> = setting.times.sampled(setting.seed, 2, points.collect());
    let each = setting.times.of(1, EACH).min(EACH);
    let mut tally = campaign(points.len() * each, |number, tally| {
        let armed = format!("{}:{}", points[number / each], number % each + 1);
        let mut tasks = ["top", "bottom", "write", "fail", "n1"];
        tasks.rotate_left(number.wrapping_add(setting.seed as usize) % 5);
        let world = World::with(setting, &tasks).and(&["-j", "3"]);
        let mut run = world.build(Some(&armed));
        if run.was_killed() {
            tally.tried();
            run = world.build(None);
            tally.went_on(&run);
        } else {
            tally.note(format!("not passed: {armed}"));
        }
        tally.check(&armed, &world, &run);
    });
    if tally.tried + 2 < points.len() {
        tally.complaints.push("most points were not passed".to_owned());
    }
    tally.note(format!("{} points", points.len()));
    tally
}

fn kill(pid: u32) -> bool {
    let command = format!("kill -s KILL {pid} 2>/dev/null");
    Command::new("sh").args(["-c", &command]).status().unwrap().success()
}

/// Kills agents at random moments.
pub(super) fn of_agents(setting: &Setting) -> Tally {
    let whole = Mutex::new(undisturbed(setting));
    campaign(setting.times.of(4, 50), |number, tally| {
        let mut random = setting.random(1, number);
        let world = World::turned(setting, number);
        let wait = moment(&mut random, *whole.lock().unwrap());
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
        if tally.tried == 0 {
            // The machine is faster than it was: the next ones are met earlier.
            let mut whole = whole.lock().unwrap();
            *whole = (run.took * 9 / 10).min(*whole);
        }
        tally.went_on(&run);
        tally.check(&format!("agent kill {number}"), &world, &run);
    })
}
