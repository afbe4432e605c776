//! A random plan with a random agent: sessions take their time, conflict, crash, fall silent, fail their
//! gate, give up. Every task ends with a reason, every commit of the branch is green, nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;

use ralph_engine::clock::Stopwatch;
use ralph_testkit::{sample, send_signal, times};
use serde_json::Value;

use super::World;
use crate::looping::runs;

const JOBS: u64 = 8;

/// Dice by a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// One plan: what each task waits for, and what its sessions do.
struct Plan {
    blockers: Vec<Vec<usize>>,
}

fn id(task: usize) -> String {
    format!("t{task:03}")
}

/// Writes a plan of so many tasks whose sessions take between these times, in hundredths of a second.
fn make(world: &World, tasks: usize, (least, most): (u64, u64), seed: u64) -> Plan {
    let mut dice = Dice(seed);
    let mut lines = String::new();
    let mut blockers = vec![];
    for task in 0..tasks {
        let mut mine = vec![];
        if task > 4 && dice.roll(4) == 0 {
            mine.push(dice.roll(task as u64) as usize);
        }
        let deps: Vec<String> = mine.iter().map(|blocker| id(*blocker)).collect();
        writeln!(
            lines,
            "{}",
            serde_json::json!({ "id": id(task), "t": format!("Task {task}"), "deps": deps })
        )
        .unwrap();
        blockers.push(mine);
        let sleep = |dice: &mut Dice| {
            let time = least + dice.roll(most - least + 1);
            format!("sleep {}.{:02}\n", time / 100, time % 100)
        };
        // Three of ten write where others write too.
        let shared = dice.roll(10) < 3;
        let file = format!("shared{}.txt", dice.roll(4));
        let mut work = format!("echo {id} >{id}.txt\n", id = id(task));
        if shared {
            writeln!(work, "grep -q '^{id}$' {file} || echo {id} >>{file}", id = id(task)).unwrap();
        }
        if dice.roll(3) == 0 {
            writeln!(work, "git add -A; git commit --quiet -m 'own {}' || true", id(task)).unwrap();
        }
        let first = match dice.roll(20) {
            0 => "exit 3\n".to_owned(),
            1 => format!("{work}text=nothing\n"),
            2 | 3 => format!("{work}echo wrong >>{}.txt\n", id(task)),
            4 => format!(
                "echo half >{}.half\ntext=\"<task-failed>$id</task-failed><reason>luck</reason>\"\n",
                id(task)
            ),
            5 => format!("{work}kill -KILL $$\n"),
            6 => format!("{work}git switch --quiet -c own-{}\n", id(task)),
            _ => work.clone(),
        };
        world.plan(&format!("{}.1", id(task)), &format!("{}{first}", sleep(&mut dice)));
        world.plan(&id(task), &format!("{}{work}", sleep(&mut dice)));
    }
    world.env.ralph_with(&["task", "plan-sync"], lines).success();
    Plan { blockers }
}

fn world() -> World {
    let mut world = World::new(&[]);
    world.env.without_sandbox(
        "a campaign of many runs that are killed; the sandbox is tried in the fault campaign",
    );
    world.env.leaves_processes("a killed run leaves what its sessions started");
    for shared in 0..4 {
        world.commit(&format!("shared{shared}.txt"), "top\n");
    }
    world.gate("! grep -l wrong t*.txt 2>/dev/null");
    world
}

/// The events of all runs.
fn events(world: &World) -> Vec<Value> {
    let mut all = vec![];
    for run in runs(&world.env) {
        let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
        all.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
    }
    all
}

/// Everything that must hold once the plan is over.
fn check(world: &World, tasks: usize) -> String {
    let listed: Value = ralph_testkit::data(&world.env.task(&["list", "--all", "--json"]));
    let listed = listed.as_array().unwrap();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for task in listed {
        let (name, status) = (task["id"].as_str().unwrap(), task["status"].as_str().unwrap());
        *ends.entry(status).or_default() += 1;
        match status {
            "done" => {
                done.insert(name.to_owned());
            }
            "failed" | "blocked" => {}
            other => panic!("{name} is {other}"),
        }
        if status == "failed" {
            let shown = crate::looping::show(&world.env, name);
            let last = shown["attempts"].as_array().and_then(|all| all.last().cloned());
            let reason = last.map(|last| last["detail"].to_string()).unwrap_or_default();
            assert!(reason.len() > 2, "{name} failed without a reason: {shown}");
        }
    }
    assert_eq!(listed.len(), tasks);
    // What is not done or failed waits for a task that failed.
    let open = ends.get("blocked").copied().unwrap_or(0);
    let blocked = world.env.task(&["list", "--status", "blocked"]);
    assert_eq!(blocked.lines().count().saturating_sub(1), open, "{blocked}");
    // Every commit of the branch is green, and brings the work of one task.
    let first = world.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let commits = world.git(&["rev-list", "--reverse", &format!("{first}..HEAD")]);
    let mut landed: BTreeMap<String, usize> = BTreeMap::new();
    for commit in commits.lines() {
        let wrong = std::process::Command::new("git")
            .args(["grep", "-l", "wrong", commit, "--", "t*.txt"])
            .current_dir(world.env.repo())
            .output()
            .unwrap();
        assert_eq!(wrong.status.code(), Some(1), "{commit} is red");
        let added = world.git(&[
            "diff-tree",
            "-r",
            "--no-commit-id",
            "--name-only",
            "--diff-filter=A",
            commit,
        ]);
        for file in added.lines().filter_map(|file| file.strip_suffix(".txt")) {
            *landed.entry(file.to_owned()).or_default() += 1;
        }
    }
    landed.retain(|name, _| name.starts_with('t'));
    assert!(landed.values().all(|times| *times == 1), "landed twice: {landed:?}");
    assert_eq!(landed.keys().cloned().collect::<BTreeSet<_>>(), done, "done and landed");
    for shared in 0..4 {
        let text = world.committed(&format!("shared{shared}.txt"));
        let lines: Vec<&str> = text.lines().collect();
        let once: BTreeSet<&&str> = lines.iter().collect();
        assert_eq!(once.len(), lines.len(), "written twice: {text}");
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    // What is open keeps its worktree; nothing else does.
    let worktrees = world.git(&["worktree", "list"]).lines().count() - 1;
    assert!(worktrees <= open, "{worktrees} worktrees, {open} open tasks\n{}", left(world));
    let entries =
        |folder: &str| std::fs::read_dir(world.env.repo().join(folder)).into_iter().flatten();
    assert_eq!(entries(".git/worktrees").count(), worktrees, "{}", left(world));
    // A marker and a lock each.
    assert!(entries(".ralph/worktrees").count() <= 2 * open, "{}", left(world));
    let branches = world.git(&["branch", "--list", "ralph/*"]);
    assert!(branches.lines().count() <= open, "{branches}\n{}", left(world));
    world.git(&["fsck", "--strict", "--no-dangling"]);
    format!("{ends:?}, {} commits", commits.lines().count())
}

/// What is left of worktrees, and what the last run printed.
fn left(world: &World) -> String {
    let printed = std::fs::read_to_string(world.env.folder().join("said.txt")).unwrap_or_default();
    let mut text = world.git(&["worktree", "list", "--porcelain"]);
    for folder in [".git/worktrees", ".ralph/worktrees", ".worktrees/ralph"] {
        let entries = std::fs::read_dir(world.env.repo().join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            write!(text, "\n{}", entry.path().display()).unwrap();
        }
    }
    format!("{text}\n{printed}")
}

/// The shortest time in which the attempts that really ran could have been made by so many hands: all of
/// them shared out evenly, or the longest chain of tasks that wait for each other.
fn bound(events: &[Value], plan: &Plan) -> u64 {
    let mut spent: BTreeMap<String, u64> = BTreeMap::new();
    let mut slots: BTreeMap<u64, String> = BTreeMap::new();
    for event in events {
        let slot = event["slot"].as_u64().unwrap_or_default();
        match event["kind"].as_str() {
            Some("iteration_started") => {
                slots.insert(slot, event["task"]["id"].as_str().unwrap().to_owned());
            }
            Some("session_ended") => {
                *spent.entry(slots[&slot].clone()).or_default() +=
                    event["report"]["duration_ms"].as_u64().unwrap();
            }
            _ => {}
        }
    }
    let of = |task: usize| spent.get(&id(task)).copied().unwrap_or(0);
    let mut chain = vec![0; plan.blockers.len()];
    for task in 0..plan.blockers.len() {
        let before = plan.blockers[task].iter().map(|blocker| chain[*blocker]).max().unwrap_or(0);
        chain[task] = before + of(task);
    }
    let evenly = spent.values().sum::<u64>() / JOBS;
    evenly.max(chain.into_iter().max().unwrap_or(0))
}

fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_random_plan_with_conflicts_and_faults_comes_to_a_good_end() {
    let (tasks, delays) = match times(0, 1) {
        0 => (24, (10, 40)),
        _ => (200, (200, 600)),
    };
    let world = world();
    let plan = make(&world, tasks, delays, 7);
    let clock = Stopwatch::start();
    let ran = world.build(u32::try_from(JOBS).unwrap(), &["--max-iterations", "0", "-q"]);
    let took = u64::try_from(clock.elapsed().as_millis()).unwrap();
    assert!(matches!(ran.code, 0 | 7), "{}", ran.stderr);
    let text = check(&world, tasks);
    let events = events(&world);
    let classes: BTreeMap<String, usize> = events
        .iter()
        .filter(|event| event["kind"] == "iteration_ended")
        .fold(BTreeMap::new(), |mut all, event| {
            *all.entry(event["class"].as_str().unwrap().to_owned()).or_default() += 1;
            all
        });
    let bound = bound(&events, &plan);
    say(&format!(
        "{tasks} tasks, -j {JOBS}: {text}; {classes:?}; {took} ms, bound {bound} ms, {:.2}x",
        took as f64 / bound as f64
    ));
    assert!(classes.get("conflict").copied().unwrap_or(0) > 0, "nothing conflicted: {classes:?}");
    if delays.0 >= 200 {
        // With sessions of seconds, what ralph itself takes does not matter.
        assert!(took * 10 <= bound * 13, "{took} ms, and {bound} ms would do");
    }
}

#[test]
fn a_random_plan_that_is_killed_again_and_again_comes_to_a_good_end() {
    let (mut kills, wanted) = (0, times(3, 300));
    let mut seed = 1 + sample() % 100;
    let mut worlds = 0;
    while kills < wanted {
        let world = world();
        let tasks = 16;
        make(&world, tasks, (2, 10), seed);
        worlds += 1;
        let mut dice = Dice(seed ^ 0xABCD);
        loop {
            let output = std::fs::File::create(world.env.folder().join("said.txt")).unwrap();
            let mut command = world.env.command(&["build", "-j", "4", "--unlimited"]);
            command.stdout(output.try_clone().unwrap()).stderr(output);
            let mut run = command.spawn().unwrap();
            let after = std::time::Duration::from_millis(200 + dice.roll(1500));
            let clock = Stopwatch::start();
            let end = loop {
                if let Some(end) = run.try_wait().unwrap() {
                    break end;
                }
                if kills < wanted && clock.elapsed() > after {
                    send_signal("KILL", run.id());
                    break run.wait().unwrap();
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            };
            if end.signal() == Some(9) {
                kills += 1;
                continue;
            }
            let output = || std::fs::read_to_string(world.env.folder().join("said.txt")).unwrap();
            assert!(matches!(end.code(), Some(0 | 7)), "seed {seed}: {end}\n{}", output());
            break;
        }
        check(&world, tasks);
        seed += 1;
    }
    say(&format!("{kills} kills at random moments in {worlds} plans, -j 4: lost 0, duplicated 0"));
}
