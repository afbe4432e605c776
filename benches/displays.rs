//! What watching costs: the TUI, the page with a large plan, and a run with many viewers.
//!
//! The TUI takes in ten seconds of an agent's output and draws it as often as it does on a terminal; beside it the fold
//! alone. `ralph serve` in a repository of 100,000 tasks gives a client what the plan page asks for; beside it a server that
//! has all answers ready. Where there is a browser (`tools/install-browser`), it says when it shows the first card. A run of
//! the built-in agent takes turns: without a page, with a page, and with 100 viewers of it.
//!
//! `cargo bench --bench displays` prints the tables and fails when a figure is over its target. `-- --quick` takes fewer
//! turns.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;
#[path = "common/http.rs"]
mod http;

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Figures, RALPH, Verdicts, figures, ratio, repository};
use http::Serving;
use ralph_core::TaskId;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{Fact, RunEvent};
use ralph_core::task::Task;
use ralph_core::text::Title;
use ralph_core::time::Timestamp;
use ralph_core::view::live::LiveView;
use ralph_core::view::stream::{Observation, Observed};
use ralph_ui::tui::bench::Display;

/// The part of a processor that the TUI may take, in percent.
const OF_PROCESSOR: f64 = 5.0;
/// The time until the page has its data, in milliseconds. Another load can only add to it: the best one is compared.
const FIRST_DATA: f64 = 1_000.0;
const TASKS: usize = 100_000;
const VIEWERS: usize = 100;
/// What viewers may add to a run where the noise is less, in percent.
const OF_RUN: f64 = 2.0;

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let folder = common::folder();
    let mut verdicts = Verdicts::default();
    terminal(folder.path(), quick, &mut verdicts);
    page(folder.path(), quick, &mut verdicts);
    viewers(folder.path(), quick, &mut verdicts);
    drop(folder);
    verdicts.finish();
}

// --- the TUI --------------------------------------------------------------------------

/// How often it draws while something happens.
const PICTURES: usize = 15;

/// Processor time of this thread; all time where the system does not say.
fn used(began: Instant) -> Duration {
    // Linux brings the figure up to date when a thread gives up its turn.
    thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

/// A megabyte, as an agent says it in a second: pieces of text, and calls of tools between them.
fn second() -> Vec<Vec<Observation>> {
    let at = Timestamp::default();
    let observe = |event| Observation { of: 0, what: Observed::Agent { slot: 0, at, event } };
    let words =
        |n| format!("Look at the parser: it reads line {n} and another.\nNext word by word {n} ");
    let size = words(0).len();
    let piece = |n: usize| observe(AgentEvent::Text { text: words(n) });
    let (id, name) = (|| "x".to_owned(), "Bash".to_owned());
    let begun = AgentEvent::ToolStarted { id: id(), name, input: "cargo test".to_owned() };
    let printed = "ok\n".repeat(4_000);
    let ended = AgentEvent::ToolEnded { id: id(), is_error: false, text: printed };
    let each = (1 << 20) / PICTURES / size;
    let pieces = (0..PICTURES).map(|picture| (picture * each..(picture + 1) * each).map(piece));
    // Another picture each time: the numbers differ.
    let mut pictures: Vec<Vec<Observation>> = pieces.map(Iterator::collect).collect();
    for picture in pictures.iter_mut().step_by(5) {
        picture.splice(0..0, [observe(begun.clone()), observe(ended.clone())]);
    }
    pictures
}

/// The journal of a real run, until its session has begun.
fn beginning(folder: &Path) -> Vec<Observation> {
    let repo = folder.join("short");
    repository(&repo, 1);
    let cassette = folder.join("short.jsonl");
    std::fs::write(&cassette, format!("{WORK}{DONE}")).unwrap();
    let done = build(&repo, &cassette).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let find = Command::new("find").arg(&repo).args(["-name", "events.jsonl"]).output().unwrap();
    let journal = PathBuf::from(String::from_utf8(find.stdout).unwrap().trim());
    let text = std::fs::read_to_string(journal).unwrap();
    let mut seen = Vec::new();
    for line in text.lines() {
        let event: RunEvent = serde_json::from_str(line).unwrap();
        let begins = matches!(event.fact, Fact::SessionStarted { .. });
        seen.push(Observation { of: 0, what: Observed::Fact { event } });
        if begins {
            return seen;
        }
    }
    panic!("no session: {text}");
}

fn plan(tasks: usize) -> Vec<Task> {
    let task = |n| {
        let (id, title) = (format!("b-{n:04}"), format!("Task {n}"));
        Task::new(TaskId::new(&id).unwrap(), Title::new(&title).unwrap(), Timestamp::default())
    };
    (1..=tasks).map(task).collect()
}

fn terminal(folder: &Path, quick: bool, verdicts: &mut Verdicts) {
    let seconds = if quick { 5 } else { 10 };
    let (beginning, second) = (beginning(folder), second());
    let mut fold = LiveView::default();
    let now = match &beginning.last().unwrap().what {
        Observed::Fact { event } => event.at,
        _ => Timestamp::default(),
    };
    let mut shown = [20, TASKS].map(|tasks| {
        let mut display = Display::new((120, 40), now).unwrap();
        display.plan(plan(tasks));
        (display, Vec::new())
    });
    beginning.iter().for_each(|seen| fold.apply(seen));
    shown.iter_mut().for_each(|(display, _)| beginning.iter().for_each(|seen| display.seen(seen)));
    let mut alone = Vec::new();
    let began = Instant::now();
    for number in 1..=seconds {
        let before = used(began);
        second.iter().flatten().for_each(|seen| fold.apply(seen));
        alone.push(used(began) - before);
        for (display, times) in &mut shown {
            let before = used(began);
            display.tick(now.plus_millis(number * 1_000));
            for picture in &second {
                picture.iter().for_each(|seen| display.seen(seen));
                assert!(display.draw().unwrap() > 0, "what comes is shown");
            }
            times.push(used(began) - before);
        }
    }
    println!(
        "## The TUI: 1 MB/s for {seconds} s, 120×40, processor time of a second, ms: median [min..p90]\n"
    );
    println!("| what | time | of a processor | target |\n|---|---|---|---|");
    let mut row = |what: &str, times: Vec<Duration>, most: Option<f64>| {
        let times = figures(times);
        let share = times.median.as_secs_f64() * 100.0;
        let target = most.map(|most| format!("{most} % {}", verdicts.judge(what, share, most)));
        println!("| {what} | {} | {share:.2} % | {} |", times.text(), target.unwrap_or_default());
    };
    row("fold, nothing drawn", alone, None);
    let mut idle = Vec::new();
    for ((mut display, times), tasks) in shown.into_iter().zip([20, TASKS]) {
        row(
            &format!("fold and {PICTURES} pictures a second, {tasks} tasks"),
            times,
            Some(OF_PROCESSOR),
        );
        let same = now.plus_millis(seconds * 1_000 + 10);
        idle.push((usize::from(display.tick(same)), display.draw().unwrap()));
    }
    let (drawn, written) = idle.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let drawn_verdict = verdicts.judge("pictures when nothing changes", drawn as f64, 0.0);
    let written_verdict = verdicts.judge("bytes when nothing changes", written as f64, 0.0);
    println!(
        "\nnothing changes: {drawn} pictures ({drawn_verdict}); one that is drawn anyway writes {written} bytes ({written_verdict})\n"
    );
}

// --- the page with a large plan ---------------------------------------------------------

/// What the browser asks for, one line after the other, all of a line at once.
fn asked() -> Vec<Vec<String>> {
    let files = ralph_web::page::FILES.iter().map(|file| file.path.to_owned());
    let (start, parts): (Vec<_>, Vec<_>) = files.partition(|path| path == "/");
    let columns = ["open", "active", "waiting", "blocked", "done", "failed"];
    let column = |state| format!("/api/tasks?status={state}&sort=priority&offset=0&limit=100");
    let mut data: Vec<String> = columns.map(column).into();
    data.extend(["/api/graph?limit=300", "/api/status"].map(str::to_owned));
    vec![start, parts, vec!["/api/session".to_owned()], data]
}

/// Loads the page; the time, and the answers.
fn load(port: u16) -> (Duration, HashMap<String, Vec<u8>>) {
    let began = Instant::now();
    let mut answers = HashMap::new();
    for paths in asked() {
        thread::scope(|scope| {
            let get = |path: String| scope.spawn(move || (http::get(port, &path), path));
            let asked: Vec<_> = paths.into_iter().map(get).collect();
            answers.extend(asked.into_iter().map(|one| one.join().unwrap()).map(|(a, b)| (b, a)));
        });
    }
    (began.elapsed(), answers)
}

fn page(folder: &Path, quick: bool, verdicts: &mut Verdicts) {
    let (starts, loads) = if quick { (2, 3) } else { (5, 10) };
    let repo = folder.join("large");
    repository(&repo, TASKS);
    let [mut starting, mut cold, mut warm, mut floor, mut cards] = [(); 5].map(|()| Vec::new());
    let browser = browser();
    for _ in 0..starts {
        let began = Instant::now();
        let server = Serving::start(&repo);
        starting.push(began.elapsed());
        let (first, answers) = load(server.port);
        cold.push(first);
        let tasks = String::from_utf8_lossy(&answers[&asked()[3][0]]).into_owned();
        assert!(tasks.contains(&format!("\"total\":{TASKS}")), "all tasks are there");
        let least = http::floor(answers);
        for _ in 0..loads {
            warm.push(load(server.port).0);
            floor.push(load(least).0);
        }
        if let Some((modules, chromium)) = &browser {
            cards.push(first_card(server.port, modules, chromium));
        }
    }
    println!("## The plan page with {TASKS} tasks, ms: median [min..p90]\n");
    println!(
        "{starts} starts of `ralph serve`, {loads} loads each; the files, the board, the graph and the status\n"
    );
    println!("| what | time | of the floor | target |\n|---|---|---|---|");
    let least = figures(floor.clone());
    let mut row = |what: &str, times: Vec<Duration>, is_judged: bool| {
        let times = figures(times);
        let best = times.min.as_secs_f64() * 1000.0;
        let verdict = match is_judged {
            true => format!("{FIRST_DATA} ms {}", verdicts.judge(what, best, FIRST_DATA)),
            false => String::new(),
        };
        let of_floor = ratio(times.median, least.median);
        println!("| {what} | {} | {of_floor:.1}x | {verdict} |", times.text());
    };
    row("a server that has all answers ready", floor, false);
    row("`ralph serve`, from its start to its link", starting, false);
    row("from the first request to all data, after the start", cold, true);
    row("the same again", warm, true);
    match browser {
        Some(_) => row("Chromium: from the navigation to the first card", cards, true),
        None => println!("\nno browser here: see tools/install-browser"),
    }
    println!();
}

/// The folder with the packages and the browser, where they are installed.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/install-browser");
    let output = Command::new(tool).output().ok().filter(|output| output.status.success())?;
    let lines = String::from_utf8(output.stdout).unwrap();
    let (modules, browser) = lines.trim_end().split_once('\n')?;
    Some((modules.into(), browser.into()))
}

/// A new browser opens the board.
fn first_card(port: u16, modules: &Path, browser: &Path) -> Duration {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/first_card.mjs");
    let mut node = Command::new("node");
    node.arg(script).env("LINK", format!("http://127.0.0.1:{port}/?token={}", http::TOKEN));
    let done = node.env("MODULES", modules).env("BROWSER", browser).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let text = String::from_utf8(done.stdout).unwrap();
    Duration::from_secs_f64(text.trim().parse::<f64>().unwrap() / 1000.0)
}

// --- a run with viewers --------------------------------------------------------------------

const WORK: &str = "{\"do\":\"write\",\"path\":\"made.txt\",\"text\":\"made\\n\"}\n";
const DONE: &str = "{\"do\":\"say\",\"text\":\"<task-done>{id}</task-done>\"}\n";

fn build(repo: &Path, cassette: &Path) -> Command {
    let mut ralph = Command::new(RALPH);
    ralph
        .args(["build", "--once", "--no-verify", "--sandbox", "none", "--agent", "script", "--set"])
        .arg(format!("agent.script.path={}", cassette.display()))
        .current_dir(repo)
        .env("RALPH_SERVE_TOKEN", http::TOKEN)
        .env("XDG_RUNTIME_DIR", repo.join(".git"))
        .env_remove("RALPH_SOCKET");
    ralph
}

/// Who looks at a run.
#[derive(Clone, Copy)]
enum Watched {
    Not,
    By(usize),
}

/// What an agent says: so many pieces of 10 kB, with a pause after each.
#[derive(Clone, Copy)]
struct Speech {
    pieces: usize,
    pause_ms: u64,
}

impl Speech {
    /// The steps. The agent waits for the file `go` before it begins.
    fn cassette(self, repo: &Path) -> String {
        let (reached, go) = (repo.join(".git/reached"), repo.join(".git/go"));
        let wait = format!(
            "touch {}; until test -e {}; do sleep 0.01; done",
            reached.display(),
            go.display()
        );
        let mut text = format!("{{\"do\":\"run\",\"argv\":[\"sh\",\"-c\",\"{wait}\"]}}\n");
        let words = "The parser reads a line and then another one. ".repeat(217);
        for piece in 0..self.pieces {
            text.push_str(&format!("{{\"do\":\"say\",\"text\":\"{piece} {words}\"}}\n"));
            if self.pause_ms > 0 {
                text.push_str(&format!("{{\"do\":\"sleep\",\"ms\":{}}}\n", self.pause_ms));
            }
        }
        text + WORK + DONE
    }
}

/// The time of a run from its agent's first words to its end.
fn run(folder: &Path, speech: Speech, watched: Watched) -> Duration {
    let repo = folder.join("watched");
    repository(&repo, 1);
    let cassette = folder.join("watched.jsonl");
    std::fs::write(&cassette, speech.cassette(&repo)).unwrap();
    let mut ralph = build(&repo, &cassette);
    ralph.stdout(Stdio::null()).stderr(Stdio::piped());
    if matches!(watched, Watched::By(_)) {
        ralph.arg("--serve");
    }
    let mut child = ralph.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let port = matches!(watched, Watched::By(_)).then(|| http::port_of(&mut lines));
    let rest = thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    until(&repo.join(".git/reached"));
    let count = if let Watched::By(count) = watched { count } else { 0 };
    let follow = |port| (0..count).map(move |_| http::follow(port));
    let mut viewers: Vec<TcpStream> = port.into_iter().flat_map(follow).collect();
    // None of them still reads what happened before.
    viewers.iter_mut().for_each(sees_the_run);
    let read: Vec<_> =
        viewers.into_iter().map(|viewer| thread::spawn(move || drain(viewer))).collect();
    let began = Instant::now();
    std::fs::write(repo.join(".git/go"), "").unwrap();
    assert!(child.wait().unwrap().success(), "the run");
    let took = began.elapsed();
    rest.join().unwrap().unwrap();
    for bytes in read {
        let bytes = bytes.join().unwrap();
        // A run that says everything at once may be over before the page has shown any of it.
        let is_paced = speech.pause_ms > 0;
        assert!(bytes > 10_000 || !is_paced, "each viewer sees what the agent says: {bytes}");
    }
    std::fs::remove_dir_all(&repo).unwrap();
    let _ = std::fs::remove_file(cassette.with_extension("jsonl.cursor"));
    took
}

fn until(file: &Path) {
    let began = Instant::now();
    while !file.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} is missing", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

fn sees_the_run(viewer: &mut TcpStream) {
    let (mut buffer, mut text) = ([0; 4 << 10], Vec::new());
    while !text.windows(11).any(|part| part == b"event: view") {
        let read = viewer.read(&mut buffer).unwrap();
        assert!(read > 0, "the page ended: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..read]);
    }
}

/// Reads to the end, which may be a lost connection.
fn drain(mut viewer: TcpStream) -> usize {
    let (mut buffer, mut total) = (vec![0; 64 << 10], 0);
    while let Ok(read) = viewer.read(&mut buffer) {
        total += read;
        if read == 0 {
            break;
        }
    }
    total
}

fn viewers(folder: &Path, quick: bool, verdicts: &mut Verdicts) {
    let turns = if quick { 3 } else { 9 };
    println!("## A run with {VIEWERS} viewers, ms: median [min..p90], {turns} turns\n");
    println!(
        "| who looks | agent at 1 MB/s for 3 s | best, of the first | target | 20 MB at once | best, of the first |\n|---|---|---|---|---|---|"
    );
    let speeches = [Speech { pieces: 300, pause_ms: 10 }, Speech { pieces: 2_000, pause_ms: 0 }];
    let rows = [Watched::Not, Watched::By(0), Watched::By(VIEWERS)];
    let mut times = vec![[vec![], vec![]]; rows.len()];
    for _ in 0..turns {
        for (watched, times) in rows.iter().zip(&mut times) {
            for (speech, times) in speeches.iter().zip(times) {
                times.push(run(folder, *speech, *watched));
            }
        }
    }
    let times: Vec<[Figures; 2]> = times.into_iter().map(|both| both.map(figures)).collect();
    let [first, at_once] = times[0];
    // Another load can only add to a time: the best ones are compared.
    let noise = (first.median - first.min).as_secs_f64() / first.min.as_secs_f64() * 100.0;
    let most = noise.max(OF_RUN);
    for (name, [paced, quick]) in
        ["no page", "no viewer, `--serve`", "100 viewers"].iter().zip(&times)
    {
        let of_first = ratio(paced.min, first.min);
        let more = (of_first - 1.0) * 100.0;
        let target = match *name == "no page" {
            true => String::new(),
            false => format!("{more:+.1} % {}", verdicts.judge(name, more, most)),
        };
        println!(
            "| {name} | {} | {of_first:.3}x | {target} | {} | {:.2}x |",
            paced.text(),
            quick.text(),
            ratio(quick.min, at_once.min)
        );
    }
    println!(
        "\nat most {most:.1} %: the first row varies by {noise:.1} % between its best and its median"
    );
}
