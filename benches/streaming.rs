//! What it costs to listen to an agent that talks a lot.
//!
//! 200 MB of lines as Claude Code prints them (`stream.c`) come through a pipe, are parsed and written
//! to a file. The floor does no more than that: lines, `serde_json` for two fields, a buffered file.
//! Beside it the supervisor with the decoder of Claude Code and the raw log, and all of `ralph build`.
//! Each is a process of its own, so that its memory can be measured; they take turns, and what counts
//! is the ratio. All files lie in memory (`/dev/shm`).
//!
//! `cargo bench --bench streaming` prints the table and fails when a figure is over its target.
//! `-- --quick` takes fewer turns.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{RALPH, Verdicts, compile, figures, ratio, repository};
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd};
use ralph_engine::agents::{self, Driver};
use ralph_engine::process::{CommandSpec, LineEffect, Listener, Mark, Stop, Watch, supervise};

const LINES: u64 = 730_772;
/// What parsing and logging may take of the floor.
const OF_FLOOR: f64 = 1.5;
/// What a process may hold, in megabytes.
const MEGABYTES: f64 = 16.0;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, part, program, lines, output] = &arguments[..] {
        return match part.as_str() {
            "--floor" => floor(program, lines, output),
            "--listen" => listen(program, lines, output),
            part => panic!("{part} is no part of this benchmark"),
        };
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    compare(if quick { 3 } else { 7 });
}

// --- the parts, each in a process of its own --------------------------------------

/// The least: lines, two fields of each, a file.
fn floor(program: &str, lines: &str, output: &str) {
    #[derive(serde::Deserialize)]
    struct SmallLine<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        session_id: &'a str,
    }
    let mut agent = Command::new(program).arg(lines).stdout(Stdio::piped()).spawn().unwrap();
    let mut from = BufReader::with_capacity(64 << 10, agent.stdout.take().unwrap());
    let mut to = BufWriter::with_capacity(128 << 10, File::create(output).unwrap());
    let (mut line, mut parsed) = (Vec::new(), 0);
    while from.read_until(b'\n', &mut line).unwrap() > 0 {
        to.write_all(&line).unwrap();
        let read: SmallLine<'_> = serde_json::from_slice(&line).unwrap();
        parsed += u64::from(!read.kind.is_empty() && read.session_id.len() == 36);
        line.clear();
    }
    to.flush().unwrap();
    assert!(agent.wait().unwrap().success());
    assert_eq!(parsed.to_string(), plus_one(lines));
}

struct DecodingListener {
    driver: Box<dyn Driver>,
    events: Vec<AgentEvent>,
    events_read: u64,
}

impl Listener for DecodingListener {
    fn stdout(&mut self, line: &[u8], cut: bool, replies: &mut Vec<u8>) -> LineEffect {
        let effect = self.driver.line(line, cut, &mut self.events, replies);
        self.events_read += self.events.drain(..).count() as u64;
        effect
    }
}

/// A session: supervisor, decoder, raw log.
fn listen(program: &str, lines: &str, output: &str) {
    let command = CommandSpec {
        program: program.into(),
        args: vec![lines.into()],
        folder: "/".into(),
        ..CommandSpec::default()
    };
    let mut raw = File::create(output).unwrap();
    let driver = (agents::find("claude").unwrap().driver)(None);
    let mut listener = DecodingListener { driver, events: vec![], events_read: 0 };
    let session = async move {
        let (_go, stop) = tokio::sync::watch::channel(Stop::Go);
        let mark = Mark::new(Path::new("/"), 1);
        let ended =
            supervise(&command, &Watch::default(), &mark, &mut listener, Some(&mut raw), stop)
                .await;
        assert_eq!(ended.end, ProcessEnd::Exited { code: 0 });
        assert_eq!(ended.cut_lines, 0);
        (listener, ended)
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let (listener, ended) = runtime.block_on(runtime.spawn(session)).unwrap();
    let lines: u64 = lines.parse().unwrap();
    assert!(listener.events_read >= lines, "{} events of {lines} lines", listener.events_read);
    assert_eq!(listener.driver.end(&ended.end, &ended.stderr_tail).class, EndClass::Completed);
}

fn plus_one(lines: &str) -> String {
    (lines.parse::<u64>().unwrap() + 1).to_string()
}

// --- side by side -------------------------------------------------------------------

#[derive(Default)]
struct Taken {
    times: Vec<Duration>,
    kilobytes: u64,
}

struct BenchFolder {
    folder: tempfile::TempDir,
    measure: PathBuf,
    stream: PathBuf,
}

impl BenchFolder {
    fn measured(&self, program: &Path, arguments: &[String], taken: &mut Taken) {
        let file = self.folder.path().join("measured");
        let mut command = Command::new(&self.measure);
        command.arg(&file).arg(program).args(arguments).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.folder.path()).env_remove("RALPH_SOCKET");
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().unwrap());
        taken.times.push(Duration::from_nanos(numbers.next().unwrap()));
        taken.kilobytes = taken.kilobytes.max(numbers.next().unwrap());
    }

    /// One of the parts above.
    fn part(&self, name: &str, lines: u64, taken: &mut Taken) {
        let raw = self.folder.path().join("raw");
        let me = std::env::current_exe().unwrap();
        let arguments = [
            name.to_owned(),
            self.stream.display().to_string(),
            lines.to_string(),
            raw.display().to_string(),
        ];
        self.measured(&me, &arguments, taken);
        std::fs::remove_file(raw).unwrap();
    }

    /// A run of one task.
    fn build(&self, taken: &mut Taken) {
        let repo = self.folder.path().join("repo");
        repository(&repo, 1);
        let path = format!("agent.claude.path={}", self.stream.display());
        let arguments = [
            "-C",
            &repo.display().to_string(),
            "build",
            "--once",
            "--no-verify",
            "--agent",
            "claude",
            "--set",
        ]
        .map(str::to_owned);
        let arguments = [&arguments[..], &[path]].concat();
        self.measured(Path::new(RALPH), &arguments, taken);
        std::fs::remove_dir_all(repo).unwrap();
    }
}

fn compare(turns: usize) {
    let folder = common::folder();
    let measure = compile(folder.path(), "measure", &["-static"]);
    let stream = compile(folder.path(), "stream", &["-static"]);
    let place = BenchFolder { folder, measure, stream };
    let [mut floor, mut ours, mut small, mut whole] = [(); 4].map(|()| Taken::default());
    for _ in 0..turns {
        place.part("--floor", LINES, &mut floor);
        place.part("--listen", LINES, &mut ours);
        place.build(&mut whole);
    }
    place.part("--listen", LINES / 20, &mut small);

    let mut verdicts = Verdicts::default();
    let least = figures(floor.times.clone());
    println!("## {LINES} lines, 200 MB, {turns} turns: seconds, median [min..p90]\n");
    println!("| who | time | of the floor | target | memory | target |\n|---|---|---|---|---|---|");
    let mut row = |what: &str, taken: &Taken, most: Option<f64>| {
        let times = figures(taken.times.clone());
        let of_floor = ratio(times.median, least.median);
        let memory = taken.kilobytes as f64 / 1024.0;
        let (mut speed, mut room) = (String::new(), String::new());
        if let Some(most) = most {
            speed = format!("{most}x {}", verdicts.judge(what, of_floor, most));
            let what = format!("memory of {what}, MB");
            room = format!("{MEGABYTES} MB {}", verdicts.judge(&what, memory, MEGABYTES));
        }
        let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
        let (median, min, p90) = (seconds(times.median), seconds(times.min), seconds(times.p90));
        println!(
            "| {what} | {median} [{min}..{p90}] | {of_floor:.2}x | {speed} | {memory:.1} MB | {room} |"
        );
    };
    row("pipe, `serde_json`, file", &floor, None);
    // Every event is made and kept here; in a run, only those that are shown in time.
    row("supervisor, decoder, every event, raw log", &ours, Some(OF_FLOOR));
    row("`ralph build --once`", &whole, Some(OF_FLOOR));
    println!(
        "\nwith a twentieth of the lines the supervisor takes {:.1} MB",
        small.kilobytes as f64 / 1024.0
    );
    drop(place);
    verdicts.finish();
}
