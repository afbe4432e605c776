//! Several ralphs on one repository: in one worktree all but one are refused, in two they share the plan.

use std::process::Child;
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::records::LogKind;
use ralph_core::task::Status;
use ralph_engine::clock::{Stopwatch, now};
use ralph_engine::ports::Store;

use super::Setting;
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::{BLOCKED, Built, World};

/// How many are started at a time.
const TOGETHER: usize = 4;
const SHARED: [&str; 6] = ["n1", "n2", "n3", "n4", "n5", "n6"];

/// Starts several at nearly the same time, so many starts in all.
pub(super) fn at_once(setting: &Setting) -> Tally {
    let whole = undisturbed(setting);
    let rounds = setting.times.of(16, 1_000).div_ceil(TOGETHER);
    campaign(rounds, |number, tally| {
        let mut random = setting.random(5, number);
        if number % 3 == 2 {
            in_two_worktrees(setting, &mut random, tally);
        } else {
            in_one_worktree(setting, number, whole, &mut random, tally);
        }
    })
}

/// Waits for all of them.
fn all(world: &World, children: Vec<Child>, clock: Stopwatch) -> Vec<Built> {
    let at = now();
    children.into_iter().map(|child| world.ended(child, at, clock)).collect()
}

/// All but one are refused, unless they come when it has ended.
fn in_one_worktree(
    setting: &Setting,
    number: usize,
    whole: Duration,
    random: &mut fastrand::Rng,
    tally: &mut Tally,
) {
    let world = World::turned(setting, number);
    let clock = Stopwatch::start();
    let mut children = vec![];
    for start in 0..TOGETHER {
        if start > 0 {
            std::thread::sleep(moment(random, whole / 8));
        }
        children.push(world.start(None));
        tally.tried();
    }
    let ends = all(&world, children, clock);
    let worked: Vec<&Built> = ends.iter().filter(|run| run.end.code() == Some(BLOCKED)).collect();
    let refused = ends.iter().filter(|run| run.end.code() == Some(1)).count();
    let what = format!("{TOGETHER} in one worktree, round {number}");
    let reported = world.output().matches("another run is active in this worktree (pid ").count();
    let Some(last) = worked.last().filter(|_| worked.len() + refused == ends.len()) else {
        return tally.complaint(&what, &world, &format!("they ended with {ends:?}"));
    };
    if reported != refused {
        tally.complaint(&what, &world, &format!("{refused} were refused, {reported} said why"));
    }
    tally.check(&what, &world, last);
}

/// Both work on the tasks of one plan; each task is done by one of them.
fn in_two_worktrees(setting: &Setting, random: &mut fastrand::Rng, tally: &mut Tally) {
    let world = World::with(setting, &SHARED);
    let other = world.env.folder().join("other");
    world.env.git(&["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    let clock = Stopwatch::start();
    let mut children = vec![];
    for start in 0..TOGETHER {
        let mut command = world.command();
        world.append_output_to(&mut command, "said.txt");
        if start % 2 == 1 {
            command.current_dir(&other);
        }
        children.push(command.spawn().unwrap());
        tally.tried();
        std::thread::sleep(moment(random, Duration::from_millis(60)));
    }
    let ends = all(&world, children, clock);
    let what = "two worktrees";
    for run in &ends {
        tally.hung += usize::from(run.hung);
        // Complete, refused, or nothing left but what the other one works on.
        if ![Some(0), Some(1), Some(BLOCKED)].contains(&run.end.code()) {
            tally.complaint(what, &world, &format!("one ended with {}", run.end));
        }
    }
    let mut store = world.store();
    for id in SHARED {
        let task = TaskId::new(id).unwrap();
        let done = store.log(&task).unwrap();
        let done = done.iter().filter(|entry| entry.kind == LogKind::Done).count();
        let status = store.get(&task).unwrap().status;
        let file = format!("{id}.txt");
        let has = |branch: &str| {
            let tree = world.env.git(&["ls-tree", "-r", "--name-only", branch]);
            tree.lines().any(|line| line == file)
        };
        let branches = usize::from(has("main")) + usize::from(has("other"));
        match (status, done, branches) {
            (Status::Done, 1, 1) => {}
            (Status::Done, done, branches) if done > 1 || branches > 1 => {
                tally.duplicated += 1;
                let text = format!("{id} was done {done} times, on {branches} branches");
                tally.complaint(what, &world, &text);
            }
            other => {
                tally.lost += 1;
                tally.complaint(what, &world, &format!("{id} is {other:?}"));
            }
        }
    }
    let orphans = world.processes().len();
    if orphans > 0 {
        tally.orphaned += orphans;
        tally.complaint(what, &world, "processes were left");
    }
}
