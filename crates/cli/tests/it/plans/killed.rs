//! A run on a progress file is killed at any moment: the file is the old one or the new one, and the next
//! run goes on by itself.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use ralph_testkit::{sample, sampled, times};

use super::*;

/// An agent that does the first open task and ticks it.
const AGENT: &str = r#"task=$(sed -n 's/^- \[ \] //p' progress.md | head -1)
    echo "$task" >> "${task// /-}.txt"
    sed -i "s/^- \[ \] $task\$/- [x] $task/" progress.md
    result ok"#;
const TASKS: [&str; 3] = ["Write one", "Write two", "Write three"];

fn world() -> TestEnv {
    let mut env = with_progress();
    env.without_sandbox("a campaign of many runs that is about the plan and not about the sandbox");
    env.leaves_processes("a killed run leaves what its sessions started");
    stand_in(&mut env, AGENT);
    env
}

/// `ralph build`, told to a file: what a killed run leaves must not hold a pipe of ours.
fn started(env: &TestEnv, crash: Option<&str>) -> std::process::Child {
    let output = std::fs::File::create(env.folder().join("said.txt")).unwrap();
    let mut command = env.command(&["build", "--agent", "claude"]);
    command.stdout(output.try_clone().unwrap()).stderr(output);
    if let Some(crash) = crash {
        command.env("RALPH_TEST_CRASH", crash);
    }
    command.spawn().unwrap()
}

/// What is not as it should be with the file, whoever was killed.
fn torn(text: &str) -> Option<String> {
    let mut rest = text;
    for line in PROGRESS.lines() {
        let ticked = line.replace("- [ ] ", "- [x] ");
        let open = rest.find(line).map(|at| at + line.len());
        let Some(end) = open.or_else(|| rest.find(&ticked).map(|at| at + ticked.len())) else {
            return Some(format!("{line:?} is missing in\n{text}"));
        };
        rest = &rest[end..];
    }
    (!text.ends_with('\n')).then(|| format!("the end is missing in\n{text}"))
}

/// The next run ends the work.
fn goes_on(env: &TestEnv) -> Option<String> {
    let code = started(env, None).wait().unwrap().code();
    let output = std::fs::read_to_string(env.folder().join("said.txt")).unwrap();
    let text = read(env, "progress.md");
    if code != Some(0) {
        return Some(format!("the next run ended with {code:?}\n{output}"));
    }
    if ticks(&text) != TASKS {
        return Some(format!("not all is ticked\n{text}\n{output}"));
    }
    if let Some(bad) = tasks(env).into_iter().find(|(_, status)| status != "done") {
        return Some(format!("{bad:?}\n{output}"));
    }
    let status = env.git(&["status", "--porcelain"]);
    if !status.is_empty() {
        return Some(format!("not everything is committed: {status}\n{output}"));
    }
    let plans = std::fs::read_dir(env.repo().join(".ralph/plans")).unwrap();
    let names = plans.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| !name.ends_with(".json")).collect();
    (!left.is_empty()).then(|| format!("{left:?} was left"))
}

#[test]
fn s2_16_s2_28_a_run_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    // As long as it takes beside another one.
    let slowest = AtomicU64::new(0);
    let undisturbed = in_pairs(2, |_| {
        let (env, clock) = (world(), Stopwatch::start());
        let wrong = goes_on(&env);
        slowest.fetch_max(clock.elapsed().as_micros() as u64, Ordering::Relaxed);
        wrong
    });
    assert_eq!(undisturbed, [""; 0]);
    let (whole, killed, count) = (slowest, AtomicUsize::new(0), times(8, 200));
    let complaints = in_pairs(count, |seed| {
        let mut random = fastrand::Rng::with_seed(sample() + seed as u64);
        let env = world();
        let clock = Stopwatch::start();
        let mut child = started(&env, None);
        let most = whole.load(Ordering::Relaxed).max(1);
        std::thread::sleep(Duration::from_micros(random.u64(0..most)));
        let _ = child.kill();
        let was_killed = child.wait().unwrap().code().is_none();
        if !was_killed {
            // The machine is faster than it was: the next ones are killed earlier.
            whole.fetch_min(clock.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        killed.fetch_add(usize::from(was_killed), Ordering::Relaxed);
        let wrong = torn(&read(&env, "progress.md")).or_else(|| goes_on(&env))?;
        Some(format!("seed {seed}: {wrong}"))
    });
    assert!(complaints.is_empty(), "{} of {count}\n{}", complaints.len(), complaints[0]);
    assert!(killed.into_inner() * 3 > count, "nearly all runs ended before they were killed");
}

/// Points that a run on a file passes, and for which time.
const POINTS: [(&str, u32); 14] = [
    ("claimed", 1),
    ("session-started", 2),
    ("session-ended", 1),
    ("candidate-made", 2),
    ("evidence-written", 1),
    ("plan-written", 1),
    ("plan-written", 2),
    ("plan-written", 3),
    ("before-commit", 2),
    ("after-commit", 1),
    ("task-settled", 2),
    ("attempt-ended", 3),
    ("iteration-ended", 1),
    ("state-written", 2),
];

#[test]
fn s2_28_a_run_killed_at_each_step_goes_on_with_its_file() {
    let points = sampled(2, POINTS.to_vec());
    let complaints = in_pairs(points.len(), |number| {
        let (point, nth) = points[number];
        let env = world();
        let mut child = started(&env, Some(&format!("{point}:{nth}")));
        let wrong = match child.wait().unwrap().code() {
            None => torn(&read(&env, "progress.md")).or_else(|| goes_on(&env))?,
            Some(code) => format!("it was never passed, and the run ended with {code}"),
        };
        Some(format!("{point}:{nth}: {wrong}"))
    });
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints[0]);
}
