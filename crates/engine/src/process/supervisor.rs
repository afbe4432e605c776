//! One session from start to end: reads the program's output, enforces time limits, and ends the program and all its
//! child processes.
//!
//! ```text
//!                 Interrupt           2 s
//!            ┌──────────────► Asked ──────► Interrupted ─┐
//!            │                   │              │        │ grace
//!            │            program│       program│        │
//!            │             ended ▼        ended ▼        ▼
//!         Running ──────────────────► Settling ───► Terminating ───► Killing ───► Draining ───► end
//!            │                              200 ms ▲      grace ▲           all gone    pipes at
//!            └─────────────────────────────────────┘            │                       their end,
//!              timeout, silence, stays after its result         └── Kill                 or `drain`
//! ```
//!
//! - A program that can be spoken to is asked to come to an end by its own protocol first (`Asked`), any other is
//!   interrupted by the signal at once.
//! - Standard input is written while output is read: neither waits for the other. A conversation is closed when the
//!   program has said its last word, so that it leaves.
//! - A Kill terminates with a grace of 200 ms; a program that was already terminated is killed at once.
//! - When all processes of the tree are gone, only the pipes are left to read: `Draining`.
//! - The first cause is *why* a session ended: the end of the program, a watchdog, or a stop.
//! - Output is read in every state: a program that is asked to exit may still print something.
//! - All waits are for events and timers. Only `Killing` looks again after a pause, because a process
//!   can start another while it is being killed.

use std::collections::HashSet;
use std::future::pending;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::control::{Control, Delivery, Said, Stop};
use super::mark::Mark;
use super::output::{Lines, TAIL, Tail};
use super::process_tree::{self, News, ProcessId, ProcessTree};
use super::spec::{Ended, LineEffect, Listener, Watch};
use super::stdin::StdinWriter;
use crate::clock::Stopwatch;
use crate::ports::CommandSpec;

/// The most bytes that one read takes: the size of ralph's pipes.
const CHUNK: usize = process_tree::PIPE;

/// The longest line of standard error that is delivered whole.
const STDERR_LINE_CAP: usize = 64 * 1024;

/// How long background processes have after the program has ended, and how long all have on a kill.
const MOMENT: Duration = Duration::from_millis(200);

/// How long a program that was asked to come to an end has before the signal, unless the grace is shorter.
const ASKED: Duration = Duration::from_secs(2);

/// Between two looks for survivors.
const PAUSE: Duration = Duration::from_millis(20);

/// When ralph gives up on survivors of KILL: only a process that hangs in the kernel gets here.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Runs a program to its end. Never fails: what went wrong is in [`Ended::end`]. Once it has returned,
/// everything that the program started is gone too. Dropping it kills them all. `control` is how the program is
/// reached meanwhile; what can only be stopped needs no more than the receiver of a [`Stop`].
pub async fn supervise(
    spec: &CommandSpec,
    watch: &Watch,
    mark: &Mark,
    listener: &mut dyn Listener,
    raw: Option<&mut (dyn Write + Send)>,
    control: impl Into<Control<'_>>,
) -> Ended {
    let Control { mut stop, says } = control.into();
    let clock = Stopwatch::start();
    let never_ran =
        |end| Ended { end, duration: clock.elapsed(), ..Ended::never_ran(String::new()) };
    if *stop.borrow_and_update() != Stop::Go {
        return never_ran(ProcessEnd::Stopped);
    }
    let started = match process_tree::start(spec, mark).await {
        Ok(started) => started,
        Err(error) => return never_ran(not_started(spec, &error)),
    };
    let now = Instant::now();
    let session = Session {
        watch,
        listener,
        raw,
        raw_error: None,
        process_tree: started.process_tree,
        stdin: StdinWriter::new(started.stdin, &spec.stdin),
        stdout: Reader::new(started.stdout, watch.line_cap),
        stderr: Reader::new(started.stderr, STDERR_LINE_CAP),
        tail: Tail::default(),
        stop: Some(stop),
        says,
        phase: Phase::Running,
        started: now,
        last_byte: now,
        result_at: None,
        end: None,
        program_ended: false,
        leftovers: HashSet::new(),
    };
    session.run(clock).await
}

fn not_started(spec: &CommandSpec, error: &io::Error) -> ProcessEnd {
    // The system has one error for both, and only one of them is about the program.
    let error = if spec.folder.is_dir() {
        format!("{}: {error}", spec.program.to_string_lossy())
    } else {
        format!("{}: not a folder", spec.folder.display())
    };
    ProcessEnd::NotStarted { error }
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    /// It was asked by its protocol to come to an end, and has until then.
    Asked(Instant),
    /// It was asked by the signal, and has until then.
    Interrupted(Instant),
    /// It has ended; others have until then.
    Settling(Instant),
    /// All processes were asked to end, and have until then.
    Terminating(Instant),
    Killing {
        next: Instant,
        until: Instant,
    },
    /// No process is left, or nothing helps; the pipes are read until then.
    Draining(Instant),
}

enum Event {
    Stdout(io::Result<usize>),
    Stderr(io::Result<usize>),
    Stdin(io::Result<usize>),
    Family(News),
    Stop(Stop),
    Said(Said),
    Alarm,
}

struct Session<'a, 'raw> {
    watch: &'a Watch,
    listener: &'a mut dyn Listener,
    raw: Option<&'raw mut (dyn Write + Send)>,
    raw_error: Option<String>,
    process_tree: ProcessTree,
    stdin: StdinWriter<'a>,
    stdout: Reader<ChildStdout>,
    stderr: Reader<ChildStderr>,
    tail: Tail<TAIL>,
    stop: Option<watch::Receiver<Stop>>,
    says: Option<&'a mut mpsc::Receiver<Said>>,
    phase: Phase,
    started: Instant,
    last_byte: Instant,
    result_at: Option<Instant>,
    /// Why the session ended, once something has happened that ends it.
    end: Option<ProcessEnd>,
    program_ended: bool,
    leftovers: HashSet<ProcessId>,
}

impl Session<'_, '_> {
    async fn run(mut self, clock: Stopwatch) -> Ended {
        loop {
            let alarm = self.alarm();
            let event = tokio::select! {
                stop = raised(&mut self.stop) => Event::Stop(stop),
                news = self.process_tree.news() => Event::Family(news),
                read = self.stdout.read() => Event::Stdout(read),
                read = self.stderr.read() => Event::Stderr(read),
                written = self.stdin.write() => Event::Stdin(written),
                said = next(&mut self.says) => Event::Said(said),
                () = sleep_until(alarm) => Event::Alarm,
            };
            match event {
                Event::Stdout(read) => self.on_stdout(read),
                Event::Stderr(read) => self.on_stderr(read),
                Event::Stdin(written) => self.stdin.wrote(written),
                Event::Said(said) => self.say(said),
                Event::Family(news) => self.learn(news),
                Event::Stop(stop) => self.obey(stop),
                Event::Alarm => {
                    if self.step().is_break() {
                        break;
                    }
                }
            }
            if self.process_tree.is_gone() && self.program_ended {
                if self.stdout.is_at_end() && self.stderr.is_at_end() {
                    break;
                }
                if !matches!(self.phase, Phase::Draining(_)) {
                    self.phase = Phase::Draining(later(Instant::now(), self.watch.drain));
                }
            }
        }
        self.stdout.lines.finish(|line, cut| {
            // The program is gone: no reply can reach it.
            self.listener.stdout(line, cut, &mut vec![]);
        });
        self.stderr.lines.finish(|line, _| self.listener.stderr(line));
        Ended {
            end: self.end.unwrap_or(ProcessEnd::Signalled { signal: Signal::KILL.as_raw() }),
            stderr_tail: self.tail.text(),
            stdout_bytes: self.stdout.bytes,
            cut_lines: self.stdout.lines.cut(),
            ended_leftovers: u32::try_from(self.leftovers.len()).unwrap_or(u32::MAX),
            duration: clock.elapsed(),
            raw_error: self.raw_error,
        }
    }

    /// When something has to be done even if nothing happens.
    fn alarm(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => self.watchdogs().map(|(at, _)| at).min(),
            Phase::Asked(until)
            | Phase::Interrupted(until)
            | Phase::Settling(until)
            | Phase::Terminating(until)
            | Phase::Draining(until) => Some(until),
            Phase::Killing { next, .. } => Some(next),
        }
    }

    fn watchdogs(&self) -> impl Iterator<Item = (Instant, ProcessEnd)> {
        let ms = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let timeout = self.watch.timeout.map(|limit| {
            (later(self.started, limit), ProcessEnd::TimedOut { after_ms: ms(limit) })
        });
        let silence = self.watch.silence.map(|limit| {
            (later(self.last_byte, limit), ProcessEnd::Silent { after_ms: ms(limit) })
        });
        let lingering = self.watch.after_result.zip(self.result_at).map(|(limit, result_at)| {
            (later(result_at, limit), ProcessEnd::Lingered { after_ms: ms(limit) })
        });
        [timeout, silence, lingering].into_iter().flatten()
    }

    /// The alarm of the current phase: moves on to the next. Breaks when there is none.
    fn step(&mut self) -> std::ops::ControlFlow<()> {
        let now = Instant::now();
        match self.phase {
            Phase::Running => {
                let barking =
                    self.watchdogs().filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at);
                if let Some((_, why)) = barking {
                    self.end.get_or_insert(why);
                    self.terminate(now, self.watch.grace);
                }
            }
            Phase::Asked(_) => self.interrupt(now),
            Phase::Interrupted(_) | Phase::Settling(_) => self.terminate(now, self.watch.grace),
            Phase::Terminating(_) => self.kill(now, now + KILL_LIMIT),
            Phase::Killing { until, .. } if now < until => self.kill(now, until),
            Phase::Killing { .. } => self.phase = Phase::Draining(later(now, self.watch.drain)),
            Phase::Draining(_) => return std::ops::ControlFlow::Break(()),
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Asks the program to come to an end: in its own words where that is possible, else by the signal.
    fn ask(&mut self, now: Instant) {
        let words = if self.stdin.is_open() { self.listener.interrupt() } else { None };
        match words {
            Some(words) => {
                self.stdin.push(&words);
                self.phase = Phase::Asked(later(now, self.watch.grace.min(ASKED)));
            }
            None => self.interrupt(now),
        }
    }

    fn interrupt(&mut self, now: Instant) {
        self.process_tree.interrupt();
        self.phase = Phase::Interrupted(later(now, self.watch.grace));
    }

    fn terminate(&mut self, now: Instant, grace: Duration) {
        self.signal(Signal::TERM);
        self.phase = Phase::Terminating(later(now, grace));
    }

    fn kill(&mut self, now: Instant, until: Instant) {
        self.signal(Signal::KILL);
        self.phase = Phase::Killing { next: now + PAUSE, until };
    }

    fn signal(&mut self, signal: Signal) {
        let reached = self.process_tree.signal(signal);
        if self.program_ended {
            self.leftovers.extend(reached);
        }
    }

    fn learn(&mut self, news: News) {
        let now = Instant::now();
        match news {
            News::ProgramEnded(status) => {
                self.program_ended = true;
                self.end.get_or_insert_with(|| ended(status));
                self.stdin.close();
                if matches!(self.phase, Phase::Running | Phase::Asked(_) | Phase::Interrupted(_)) {
                    self.phase = Phase::Settling(now + MOMENT);
                }
            }
            News::AllGone => {}
            #[cfg(target_os = "linux")]
            News::SubreaperLost => self.kill(now, now + KILL_LIMIT),
        }
    }

    fn obey(&mut self, stop: Stop) {
        let now = Instant::now();
        match (stop, self.phase) {
            (Stop::Interrupt, Phase::Running) => {
                self.end.get_or_insert(ProcessEnd::Stopped);
                self.ask(now);
            }
            (Stop::Kill, Phase::Draining(_)) => self.phase = Phase::Draining(now),
            (Stop::Kill, Phase::Killing { .. }) => {}
            (Stop::Kill, Phase::Terminating(_)) => self.kill(now, now + KILL_LIMIT),
            (Stop::Kill, _) => {
                self.end.get_or_insert(ProcessEnd::Stopped);
                // A git that is killed leaves its locks, and then nobody can commit; one that is terminated
                // removes them.
                self.terminate(now, MOMENT);
            }
            // It is ending anyway.
            (Stop::Go | Stop::Interrupt, _) => {}
        }
    }

    fn on_stdout(&mut self, read: io::Result<usize>) {
        let Some(length) = self.stdout.took(read) else { return };
        let bytes = &self.stdout.chunk[..length];
        self.last_byte = Instant::now();
        if let Some(raw) = &mut self.raw
            && let Err(error) = raw.write_all(bytes)
        {
            // A full disk must not end the session.
            self.raw_error = Some(error.to_string());
            self.raw = None;
        }
        let (mut over, mut replies) = (false, vec![]);
        self.stdout.lines.feed(bytes, |line, cut| {
            match self.listener.stdout(line, cut, &mut replies) {
                LineEffect::Going => {}
                LineEffect::Result => self.result_at = Some(self.last_byte),
                LineEffect::Resumed => self.result_at = None,
                LineEffect::Over => over = true,
            }
        });
        self.stdin.push(&replies);
        if self.result_at.is_some() {
            // Texts that were sent before are read all the same, and what the program says to them resumes the session.
            self.stdin.close_when_written();
        }
        if over && matches!(self.phase, Phase::Running) {
            self.end.get_or_insert(ProcessEnd::Lingered { after_ms: 0 });
            self.terminate(self.last_byte, self.watch.grace);
        }
    }

    fn on_stderr(&mut self, read: io::Result<usize>) {
        let Some(length) = self.stderr.took(read) else { return };
        let bytes = &self.stderr.chunk[..length];
        self.last_byte = Instant::now();
        self.tail.feed(bytes);
        self.stderr.lines.feed(bytes, |line, _| self.listener.stderr(line));
    }

    fn say(&mut self, said: Said) {
        if !matches!(self.phase, Phase::Running) || !self.stdin.is_open() {
            return said.report(Delivery::Refused);
        }
        if let Some(words) = self.listener.say(said) {
            self.stdin.push(&words);
        }
    }
}

fn ended(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exited { code },
        (None, signal) => ProcessEnd::Signalled { signal: signal.unwrap_or_default() },
    }
}

/// One of the two outputs.
struct Reader<P> {
    /// `None` once it is at its end.
    pipe: Option<P>,
    chunk: Vec<u8>,
    lines: Lines,
    bytes: u64,
}

impl<P: AsyncRead + Unpin> Reader<P> {
    fn new(pipe: Option<P>, line_cap: usize) -> Self {
        Self { pipe, chunk: Vec::with_capacity(CHUNK), lines: Lines::new(line_cap), bytes: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.pipe.is_none()
    }

    /// Waits for bytes; may be dropped and called again.
    async fn read(&mut self) -> io::Result<usize> {
        self.chunk.clear();
        match &mut self.pipe {
            Some(pipe) => pipe.read_buf(&mut self.chunk).await,
            None => pending().await,
        }
    }

    /// How much came; `None` when nothing ever will.
    fn took(&mut self, read: io::Result<usize>) -> Option<usize> {
        let length = read.ok().filter(|length| *length > 0);
        match length {
            Some(length) => self.bytes += length as u64,
            None => self.pipe = None,
        }
        length
    }
}

/// So much later, or in a year: a limit may be any number.
fn later(from: Instant, by: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    from + by.min(YEAR)
}

/// Waits until more is wanted than before.
async fn raised(stop: &mut Option<watch::Receiver<Stop>>) -> Stop {
    if let Some(receiver) = stop {
        if receiver.changed().await.is_ok() {
            return *receiver.borrow_and_update();
        }
        // Nothing can request a stop any more.
        *stop = None;
    }
    pending().await
}

/// Waits for a text for the program.
async fn next(says: &mut Option<&mut mpsc::Receiver<Said>>) -> Said {
    if let Some(receiver) = says {
        if let Some(said) = receiver.recv().await {
            return said;
        }
        *says = None;
    }
    pending().await
}

async fn sleep_until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm).await,
        None => pending().await,
    }
}
