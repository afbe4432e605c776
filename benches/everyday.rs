//! What you meet: `ralph build` with git and the sandbox, beside shell loops and another tool.
//!
//! All of them drive the same agent (`agent.c`), which writes down when it started, so an iteration is
//! the time from one start to the next, seen from outside. They take turns, so a noisy machine disturbs
//! all of them. The repositories are in memory (`/dev/shm`).
//!
//! rslph, another loop in Rust, is measured if it is there: `cargo install --root target/peers rslph`.
//!
//! `cargo bench --bench everyday` prints the table and fails when a figure is over its target.
//! `-- --quick` runs fewer iterations.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{Figures, RALPH, Stamped, Verdicts, figures, ratio, repository};

/// The limit for `ralph build` without the sandbox, relative to the same in bash.
const OF_PLAIN_GIT: f64 = 4.0;
/// The limits in milliseconds. Another load can only add to a time: the best one of each row is compared.
///
/// For `ralph build` without the sandbox and with nothing changed, beyond the loop that only starts the agent.
const BEYOND_SPAWNING: f64 = 8.0;
/// For an iteration in the sandbox that changes a file.
const IN_SANDBOX: f64 = 150.0;
/// For the same with a gate.
const AS_SHIPPED: f64 = 250.0;

/// The loop that everybody starts with.
const BASH: &str = r#"for ((n = 0; n < COUNT; n++)); do
  cat PROMPT.md | "$AGENT" -p >.git/output
done"#;

/// The same with what an iteration needs of git: add everything, commit, name the commit.
const BASH_AND_GIT: &str = r#"for ((n = 0; n < COUNT; n++)); do
  cat PROMPT.md | RALPH_TASK_ID=b-$n "$AGENT" -p >.git/output
  git add -A && git commit -qm "task $n" && git rev-parse HEAD >.git/output
done"#;

/// One row of the table.
struct Row {
    name: &'static str,
    /// Whether the agent changes a file in each iteration.
    works: bool,
    run: fn(&Job<'_>),
    times: Vec<Duration>,
}

/// One run of one row.
struct Job<'a> {
    repo: &'a Path,
    agent: &'a Path,
    iterations: usize,
    peers: &'a Path,
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (rounds, iterations) = if quick { (2, 15) } else { (5, 50) };
    let folder = common::folder();
    // An own folder each, because the programs have one name.
    let idle = Stamped::build_in(&folder.path().join("idle"), "stamps", &[]);
    let working = Stamped::build_in(&folder.path().join("working"), "stamps", &["-DWORK"]);
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/bin");
    let mut rows = rows(&peers);
    for round in 0..rounds {
        for (number, row) in rows.iter_mut().enumerate() {
            let repo = prepare(&folder.path().join(format!("{round}-{number}")), iterations);
            let agent = if row.works { &working } else { &idle };
            let job = Job { repo: &repo, agent: &agent.program, iterations, peers: &peers };
            row.times.extend(agent.between_in(&repo, iterations, || (row.run)(&job)));
        }
    }
    print(rows, rounds, iterations);
}

fn rows(peers: &Path) -> Vec<Row> {
    let row = |name, works, run: fn(&Job<'_>)| Row { name, works, run, times: Vec::new() };
    let mut rows = vec![
        row("bash: `cat PROMPT.md \\| agent`", false, |job| shell(BASH, job)),
        row("bash, `git add`, `git commit`", true, |job| shell(BASH_AND_GIT, job)),
    ];
    if peers.join("rslph").exists() {
        rows.push(row("`rslph build`, no commit", false, rslph));
    }
    rows.extend([
        row("`ralph build`, no sandbox, nothing changed", false, |job| build(job, "none", &[])),
        row("`ralph build`, no sandbox", true, |job| build(job, "none", &[])),
        row("`ralph build`", true, |job| build(job, "full", &[])),
        row("`ralph build` with a gate", true, |job| {
            let gate = "[[gate]]\nname = \"test\"\ncommand = \"true\"\n";
            std::fs::write(job.repo.join("ralph.toml"), gate).unwrap();
            common::git(job.repo, &["add", "-A"]);
            common::git(job.repo, &["commit", "-qm", "gate"]);
            build(job, "full", &["--trust"]);
        }),
    ]);
    rows
}

/// A repository with a plan, a prompt, and a place for the agent's times that git ignores.
fn prepare(repo: &Path, iterations: usize) -> PathBuf {
    repository(repo, iterations);
    std::fs::write(repo.join("PROMPT.md"), "Do the next task.\n").unwrap();
    std::fs::write(repo.join("rslph.md"), PROGRESS).unwrap();
    std::fs::write(repo.join(".gitignore"), "stamps\n.ralph/\n.agent/\n").unwrap();
    common::git(repo, &["add", "-A"]);
    common::git(repo, &["commit", "-qm", "prompt"]);
    repo.to_owned()
}

/// A plan as rslph reads it, whose only task the agent never finishes.
const PROGRESS: &str =
    "# Progress: Bench\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1\n\n- [ ] Do it\n";

fn print(rows: Vec<Row>, rounds: usize, iterations: usize) {
    let mut verdicts = Verdicts::default();
    println!("## An iteration, ms: median [min..p90]\n");
    println!("{rounds} runs of {iterations} iterations in turns, repositories in memory\n");
    println!("| loop | time | of bash and git | target |\n|---|---|---|---|");
    let rows: Vec<(&str, Figures)> =
        rows.into_iter().map(|row| (row.name, figures(row.times))).collect();
    let (spawning, floor) = (rows[0].1.min, rows[1].1.median);
    for (name, figures) in rows {
        let times = ratio(figures.median, floor);
        let best = figures.min.as_secs_f64() * 1000.0;
        let mut at_most = |value, most| format!("{most} ms {}", verdicts.judge(name, value, most));
        let target = match name {
            "`ralph build`, no sandbox, nothing changed" => {
                let beyond = best - spawning.as_secs_f64() * 1000.0;
                format!("{beyond:.1} beyond spawning, {}", at_most(beyond, BEYOND_SPAWNING))
            }
            "`ralph build`, no sandbox" => {
                format!("{OF_PLAIN_GIT}x {}", verdicts.judge(name, times, OF_PLAIN_GIT))
            }
            "`ralph build`" => at_most(best, IN_SANDBOX),
            "`ralph build` with a gate" => at_most(best, AS_SHIPPED),
            _ => String::new(),
        };
        println!("| {name} | {} | {times:.2}x | {target} |", figures.text());
    }
    verdicts.finish();
}

fn shell(script: &str, job: &Job<'_>) {
    let mut bash = Command::new("bash");
    bash.args(["-ec", script])
        .env("COUNT", job.iterations.to_string())
        .env("AGENT", job.agent)
        .env("RALPH_TASK_ID", "b-0001");
    finish(bash, job);
}

fn build(job: &Job<'_>, level: &str, more: &[&str]) {
    let mut ralph = Command::new(RALPH);
    ralph
        .args(["build", "--unlimited", "--no-verify", "--agent", "claude", "--set"])
        .arg(format!("agent.claude.path={}", job.agent.display()))
        .args(["--sandbox", level])
        .args(more)
        .env_remove("RALPH_SOCKET")
        .env("XDG_RUNTIME_DIR", job.repo.join(".git"));
    finish(ralph, job);
}

fn rslph(job: &Job<'_>) {
    let mut rslph = Command::new(job.peers.join("rslph"));
    rslph.args(["build", "--no-tui", "--max-iterations", &job.iterations.to_string()]);
    rslph.arg("--claude-path").arg(job.agent).arg("rslph.md");
    // It stops at its limit of iterations; the caller counts them.
    rslph.current_dir(job.repo).output().unwrap();
}

fn finish(mut command: Command, job: &Job<'_>) {
    let done = command.current_dir(job.repo).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}
