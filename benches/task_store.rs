//! What the task commands cost, beside the least that they could cost.
//!
//! Everything is measured as a user meets it: one process per command. The floors are C programs
//! (`noop.c`, `floor.c`) built here with the same SQLite; floor and ralph take turns, so a noisy
//! machine disturbs both. Figures are medians, for imports the best of three; what counts is the ratio.
//!
//! `cargo bench --bench task_store` prints the tables and fails when a ratio is over its target.
//! `-- --quick` takes fewer samples.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

struct Bench {
    folder: tempfile::TempDir,
    floor: PathBuf,
    noop: PathBuf,
    samples: usize,
    failures: Vec<String>,
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let folder = tempfile::tempdir().unwrap();
    let floor = compile(folder.path(), "floor", &["-lpthread", "-ldl", "-lm"]);
    let noop = compile(folder.path(), "noop", &["-static"]);
    let mut bench =
        Bench { folder, floor, noop, samples: if quick { 15 } else { 60 }, failures: vec![] };
    bench.start_up();
    let small = bench.store_at(1_000);
    let large = bench.store_at(100_000);
    bench.growth(&small, &large);
    for workers in [8, 32] {
        bench.concurrent(workers, 2_000);
    }
    if !bench.failures.is_empty() {
        println!("\nover target:\n  {}", bench.failures.join("\n  "));
        std::process::exit(1);
    }
}

/// Builds a C program of this folder with the SQLite that ralph is built with.
fn compile(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches").join(format!("{name}.c"));
    let output = folder.join(name);
    let mut cc = Command::new("cc");
    cc.arg("-O2").arg("-o").arg(&output).arg(source);
    if name == "floor" {
        let registry = home::cargo().join("registry/src");
        let header = newest(&registry, "libsqlite3-sys-", "sqlite3/sqlite3.h");
        let build = Path::new(RALPH).parent().unwrap().join("build");
        let library = newest(&build, "libsqlite3-sys-", "out/libsqlite3.a");
        cc.arg("-I").arg(header.parent().unwrap()).arg(library);
    }
    assert!(cc.args(flags).status().expect("cc is needed").success(), "cc failed");
    output
}

mod home {
    use std::path::PathBuf;

    #[expect(clippy::disallowed_methods, reason = "where cargo keeps its sources")]
    pub(super) fn cargo() -> PathBuf {
        std::env::var_os("CARGO_HOME").map_or_else(
            || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cargo"),
            PathBuf::from,
        )
    }
}

/// The newest file `prefix*/rest` one or two folders below `folder`.
fn newest(folder: &Path, prefix: &str, rest: &str) -> PathBuf {
    let mut found = Vec::new();
    let mut look = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = look.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with(prefix) && path.join(rest).exists() {
                let modified = path.join(rest).metadata().and_then(|m| m.modified()).unwrap();
                found.push((modified, path.join(rest)));
            } else if depth == 0 && path.is_dir() {
                look.push((path, 1));
            }
        }
    }
    found.sort();
    found.pop().unwrap_or_else(|| panic!("no {prefix}*/{rest} below {}", folder.display())).1
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let took = start.elapsed();
    assert!(status.unwrap().success(), "{command:?} failed");
    took
}

#[derive(Clone, Copy)]
struct Figures {
    median: Duration,
    min: Duration,
    p90: Duration,
}

fn figures(mut samples: Vec<Duration>) -> Figures {
    samples.sort();
    Figures {
        median: samples[samples.len() / 2],
        min: samples[0],
        p90: samples[samples.len() * 9 / 10],
    }
}

fn ms(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1000.0)
}

fn ratio(ours: Duration, floor: Duration) -> f64 {
    ours.as_secs_f64() / floor.as_secs_f64()
}

/// Both programs, turn by turn.
fn interleaved(
    samples: usize,
    mut ours: impl FnMut() -> Duration,
    mut floor: impl FnMut() -> Duration,
) -> (Figures, Figures) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        a.push(ours());
        b.push(floor());
    }
    (figures(a), figures(b))
}

struct Store {
    tasks: usize,
    repo: PathBuf,
    ours: HashMap<&'static str, Figures>,
}

impl Bench {
    fn judge(&mut self, what: &str, value: f64, most: f64) -> &'static str {
        if value <= most {
            return "ok";
        }
        self.failures.push(format!("{what}: {value:.2} (at most {most})"));
        "OVER"
    }

    fn row(&mut self, what: &str, ours: Figures, floor: Figures, most: f64) {
        let times = ratio(ours.median, floor.median);
        let verdict = self.judge(what, times, most);
        println!(
            "| {what} | {} [{}..{}] | {} [{}..{}] | {times:.2}x | {most}x {verdict} |",
            ms(ours.median),
            ms(ours.min),
            ms(ours.p90),
            ms(floor.median),
            ms(floor.min),
            ms(floor.p90),
        );
    }

    fn start_up(&mut self) {
        println!("## Start-up, ms: median [min..p90]\n");
        println!("| command | ralph | empty C program | ratio | target |\n|---|---|---|---|---|");
        for flag in ["--version", "--help"] {
            let (ours, floor) = interleaved(
                self.samples * 4,
                || timed(Command::new(RALPH).arg(flag)),
                || timed(&mut Command::new(&self.noop)),
            );
            self.row(flag, ours, floor, if flag == "--version" { 2.5 } else { 4.0 });
        }
    }

    /// A plan in which each task depends on up to three earlier ones; a quarter is ready.
    fn plan(tasks: usize) -> (String, String) {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut ours, mut floor) = (String::new(), String::new());
        for index in 1..=tasks {
            let count = if index == 1 || random.u8(..4) == 0 { 0 } else { random.usize(1..=3) };
            let mut deps: Vec<usize> = (0..count).map(|_| random.usize(1..index)).collect();
            deps.sort_unstable();
            deps.dedup();
            let names: Vec<String> = deps.iter().map(|dep| format!("\"b-{dep:06}\"")).collect();
            let text = "x".repeat(100);
            let _ = writeln!(
                ours,
                r#"{{"id":"b-{index:06}","t":"Task number {index} of the plan","d":"{text}","p":{},"spec":"s{}","deps":[{}]}}"#,
                index % 5,
                index % 50,
                names.join(",")
            );
            let numbers: Vec<String> = deps.iter().map(ToString::to_string).collect();
            let _ = writeln!(floor, "b-{index:06} {}", numbers.join(" "));
        }
        (ours, floor)
    }

    fn repo(&self, name: &str) -> PathBuf {
        let repo = self.folder.path().join(name);
        std::fs::create_dir_all(&repo).unwrap();
        let init = Command::new("git").args(["init", "-q"]).arg(&repo).status();
        assert!(init.unwrap().success());
        repo
    }

    fn load(&self, repo: &Path, tasks: usize) -> (Duration, Duration) {
        let (ours, floor) = Self::plan(tasks);
        let (plan, lines) = (repo.join("plan.jsonl"), repo.join("lines"));
        std::fs::write(&plan, ours).unwrap();
        std::fs::write(&lines, floor).unwrap();
        let from = |mut command: Command, file: &Path| {
            let start = Instant::now();
            let input = std::fs::File::open(file).unwrap();
            assert!(command.stdin(input).stdout(Stdio::null()).status().unwrap().success());
            start.elapsed()
        };
        let mut ours = Command::new(RALPH);
        ours.arg("-C").arg(repo).args(["task", "plan-sync"]);
        let mut floor = Command::new(&self.floor);
        floor.arg(repo.join("floor.db")).arg("load");
        (from(ours, &plan), from(floor, &lines))
    }

    fn store_at(&mut self, tasks: usize) -> Store {
        // Three times, each into a repository of its own; the last one stays. A limit in seconds is
        // judged by the best of them: another load on the machine can only add to it.
        let loads: Vec<(Duration, Duration)> = (0..3)
            .map(|turn| self.load(&self.repo(&format!("at-{tasks}-{turn}")), tasks))
            .collect();
        let import = figures(loads.iter().map(|load| load.0).collect()).min;
        let floor_import = figures(loads.iter().map(|load| load.1).collect()).min;
        let repo = self.folder.path().join(format!("at-{tasks}-2"));
        let again = {
            let start = Instant::now();
            let input = std::fs::File::open(repo.join("plan.jsonl")).unwrap();
            let mut sync = Command::new(RALPH);
            sync.arg("-C")
                .arg(&repo)
                .args(["task", "plan-sync"])
                .stdin(input)
                .stdout(Stdio::null());
            assert!(sync.status().unwrap().success());
            start.elapsed()
        };
        println!("\n## {tasks} tasks, one process per command, ms: median [min..p90]\n");
        println!("| command | ralph | C + SQLite | ratio | target |\n|---|---|---|---|---|");
        let db = repo.join("floor.db");
        let ours = |arguments: &[&str]| {
            let mut command = Command::new(RALPH);
            command.arg("-C").arg(&repo).arg("task").args(arguments);
            timed(&mut command)
        };
        let floor = |arguments: &[&str]| {
            let mut command = Command::new(&self.floor);
            command.arg(&db).args(arguments);
            timed(&mut command)
        };
        let samples = self.samples;
        let mut all = HashMap::new();
        let mut rows = Vec::new();
        for (what, arguments) in [("ready", ["ready", "-n10"]), ("peek", ["peek", "-n10"])] {
            rows.push((
                what,
                interleaved(samples, || ours(&arguments), || floor(&["ready", "10"])),
            ));
        }
        rows.push((
            "claim",
            interleaved(
                samples,
                || ours(&["claim", "--agent", "bench"]),
                || floor(&["claim", "bench"]),
            ),
        ));
        let mut claimed: Vec<String> = claimed_ids(&repo);
        let mut also = claimed.clone();
        rows.push((
            "done",
            interleaved(
                samples.min(claimed.len()),
                || ours(&["done", &claimed.pop().unwrap()]),
                || floor(&["done", &also.pop().unwrap()]),
            ),
        ));
        for (what, (ours, floor)) in rows {
            self.row(&format!("{what} at {tasks}"), ours, floor, 2.0);
            all.insert(what, ours);
        }
        let seconds = import.as_secs_f64();
        let most = 2.0;
        let verdict = self.judge(&format!("plan-sync of {tasks}, seconds"), seconds, most);
        println!(
            "\nplan-sync of {tasks}: {seconds:.2} s (floor load {:.2} s, {:.2}x; at most {most} s {verdict}), again without a change {:.2} s, on disk {:.1} MB",
            floor_import.as_secs_f64(),
            ratio(import, floor_import),
            again.as_secs_f64(),
            on_disk(&repo),
        );
        Store { tasks, repo, ours: all }
    }

    fn growth(&mut self, small: &Store, large: &Store) {
        println!("\n## Growth from {} to {} tasks\n", small.tasks, large.tasks);
        println!("| command | ratio | target |\n|---|---|---|");
        let mut turns: Vec<(&str, Figures, Figures)> = Vec::new();
        // Reading commands are measured again turn by turn; claim and done as they were.
        for (what, arguments) in [("ready", ["ready", "-n10"]), ("peek", ["peek", "-n10"])] {
            let call = |repo: &Path| {
                timed(Command::new(RALPH).arg("-C").arg(repo).arg("task").args(arguments))
            };
            let (big, little) =
                interleaved(self.samples, || call(&large.repo), || call(&small.repo));
            turns.push((what, big, little));
        }
        for what in ["claim", "done"] {
            turns.push((what, large.ours[what], small.ours[what]));
        }
        for (what, big, little) in turns {
            let times = ratio(big.median, little.median);
            let verdict = self.judge(&format!("growth of {what}"), times, 1.5);
            println!("| {what} | {times:.2}x | 1.5x {verdict} |");
        }
    }

    fn concurrent(&mut self, workers: usize, tasks: usize) {
        let repo = self.repo(&format!("workers-{workers}"));
        let plan: String =
            (1..=tasks).map(|n| format!("{{\"id\":\"c-{n}\",\"t\":\"Task {n}\"}}\n")).collect();
        let lines: String = (1..=tasks).map(|n| format!("c-{n}\n")).collect();
        std::fs::write(repo.join("plan.jsonl"), plan).unwrap();
        std::fs::write(repo.join("lines"), lines).unwrap();
        for (program, arguments, file) in [
            (
                PathBuf::from(RALPH),
                vec!["-C".into(), repo.clone(), "task".into(), "plan-sync".into()],
                "plan.jsonl",
            ),
            (self.floor.clone(), vec![repo.join("floor.db"), "load".into()], "lines"),
        ] {
            let input = std::fs::File::open(repo.join(file)).unwrap();
            let mut command = Command::new(program);
            command.args(arguments).stdin(input).stdout(Stdio::null());
            assert!(command.status().unwrap().success());
        }
        println!("\n## {workers} processes at a time claim {tasks} tasks\n");
        println!(
            "| who | claims/s | twice | never | errors | latency ms: median [p90] max |\n|---|---|---|---|---|---|"
        );
        for floor in [true, false] {
            let program = if floor { self.floor.clone() } else { PathBuf::from(RALPH) };
            let repo = repo.clone();
            let command = move |worker: usize| {
                let mut command = Command::new(&program);
                if floor {
                    command.arg(repo.join("floor.db")).arg("claim").arg(format!("w{worker}"));
                } else {
                    command
                        .arg("-C")
                        .arg(&repo)
                        .args(["task", "claim", "--agent"])
                        .arg(format!("w{worker}"));
                }
                command
            };
            let outcome = race(workers, command);
            let mut ids: Vec<&String> = outcome.claimed.iter().collect();
            ids.sort();
            let claims = ids.len();
            ids.dedup();
            let rate = claims as f64 / outcome.took.as_secs_f64();
            let latency = figures(outcome.latencies.clone());
            let worst = outcome.latencies.iter().max().copied().unwrap_or_default();
            let name = if floor { "C + SQLite" } else { "ralph" };
            println!(
                "| {name} | {rate:.0} | {} | {} | {} | {} [{}] {} |",
                claims - ids.len(),
                tasks - ids.len(),
                outcome.errors,
                ms(latency.median),
                ms(latency.p90),
                ms(worst),
            );
            if !floor {
                let wrong = (claims - ids.len()) + (tasks - ids.len()) + outcome.errors;
                self.judge(&format!("{workers} workers: wrong answers"), wrong as f64, 0.0);
                self.judge(
                    &format!("{workers} workers: 500 claims/s over ours"),
                    500.0 / rate,
                    1.0,
                );
                self.judge(&format!("{workers} workers: worst wait, s"), worst.as_secs_f64(), 2.0);
            }
        }
    }
}

struct Race {
    claimed: Vec<String>,
    errors: usize,
    latencies: Vec<Duration>,
    took: Duration,
}

/// Each worker claims, one process after the other, until it is told that there is nothing left.
fn race(workers: usize, command: impl Fn(usize) -> Command + Send + Sync + 'static) -> Race {
    let command = Arc::new(command);
    let all = Arc::new(Mutex::new((Vec::new(), 0, Vec::new())));
    let start = Instant::now();
    let threads: Vec<_> = (0..workers)
        .map(|worker| {
            let (command, all) = (Arc::clone(&command), Arc::clone(&all));
            std::thread::spawn(move || {
                let (mut ids, mut errors, mut latencies) = (Vec::new(), 0, Vec::new());
                loop {
                    let start = Instant::now();
                    let output = command(worker)
                        .stdin(Stdio::null())
                        .stderr(Stdio::null())
                        .output()
                        .unwrap();
                    match output.status.code() {
                        Some(0) => {
                            latencies.push(start.elapsed());
                            let text = String::from_utf8_lossy(&output.stdout).into_owned();
                            let first = text.lines().next().unwrap_or_default();
                            ids.push(first.trim_start_matches("## Task ").to_owned());
                        }
                        Some(2) => break,
                        _ => {
                            errors += 1;
                            eprintln!("a claim ended with {}", output.status);
                            if errors > 20 {
                                break;
                            }
                        }
                    }
                }
                let mut all = all.lock().unwrap();
                all.0.append(&mut ids);
                all.1 += errors;
                all.2.append(&mut latencies);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let took = start.elapsed();
    let mut all = all.lock().unwrap();
    Race {
        claimed: std::mem::take(&mut all.0),
        errors: all.1,
        latencies: std::mem::take(&mut all.2),
        took,
    }
}

fn claimed_ids(repo: &Path) -> Vec<String> {
    let output = Command::new(RALPH)
        .arg("-C")
        .arg(repo)
        .args(["task", "list", "--assignee", "bench", "--json"])
        .output()
        .unwrap();
    let tasks: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

fn on_disk(repo: &Path) -> f64 {
    let files = ["progress.db", "progress.db-wal"].map(|name| repo.join(".ralph").join(name));
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum();
    bytes as f64 / 1e6
}
