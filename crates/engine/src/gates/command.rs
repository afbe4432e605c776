//! One gate: its process, its output, and its report.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ralph_core::agent::ProcessEnd;
use ralph_core::attempt::digest::{self, Digest};
use ralph_core::records::Verdict;
use ralph_core::redact::{Secrets, Stream, StreamKind};
use ralph_core::run::GateReport;
use tokio::sync::watch;

use super::GateSpec;
use crate::agents::set;
use crate::gates::guarded::Guarded;
use crate::ports::Checkout;
use crate::process::{CommandSpec, Ended, LineEffect, Listener, Mark, Stdin, Stop, Watch};
use crate::run_files::private_file;
use crate::sandbox::{Program, Programs, Sandbox, SandboxedCommand};

/// How much of a gate's output is looked at: this much of the beginning and of the end.
const KEPT: usize = 4 << 20;
/// How much of a gate's output is written down.
const WRITTEN: u64 = 64 << 20;

/// A gate that has ended.
pub(crate) struct Ran {
    pub(crate) report: GateReport,
    /// The digest of its output.
    pub(crate) digest: Digest,
    /// A note besides its output.
    pub(crate) note: Option<String>,
    /// All of the output was looked at.
    pub(crate) whole: bool,
    /// It was stopped: it has no result.
    pub(crate) stopped: bool,
    /// It changed a protected file: whatever else it says does not count.
    pub(crate) tampered: bool,
    /// What it printed, as far as that is looked at.
    pub(crate) text: String,
}

impl Ran {
    pub(crate) fn of(gate: &GateSpec, ended: &Ended, output: &GateOutput, stopped: bool) -> Self {
        let (verdict, exit_code, note) = judged(&ended.end);
        let text = output.text();
        let digest = match verdict {
            Verdict::Pass => Digest::default(),
            _ => digest::read(&text, digest::DEFAULT_MAX),
        };
        let note = match (note, output.too_much()) {
            (Some(note), Some(much)) => Some(format!("{note}; {much}")),
            (note, much) => note.or(much),
        };
        let report = GateReport {
            name: gate.name.clone(),
            verdict,
            exit_code,
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            digest: String::new(),
            log: output.path.as_ref().map(|path| path.display().to_string()),
        };
        let whole = !output.skipped && ended.cut_lines == 0;
        let stopped = stopped && verdict != Verdict::Pass;
        let mut ran = Self { report, digest, note, whole, stopped, tampered: false, text };
        if verdict != Verdict::Pass {
            ran.report.digest = ran.noted(&ran.digest.text());
        }
        ran
    }

    /// Whether the shell could not run the command.
    pub(crate) fn not_runnable(&self) -> bool {
        matches!(self.report.exit_code, Some(126 | 127))
    }

    /// The note and a text below it.
    pub(crate) fn noted(&self, text: &str) -> String {
        let note = self.note.as_deref().unwrap_or_default();
        [note, text].join("\n").trim().to_owned()
    }
}

/// Where a gate runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateLocation<'a> {
    pub(crate) folder: &'a Path,
    /// Caches of its own.
    caches: Option<&'a Path>,
    guarded: Option<&'a Guarded>,
}

impl<'a> GateLocation<'a> {
    pub(crate) fn of(folder: &'a Path) -> Self {
        Self { folder, caches: None, guarded: None }
    }

    pub(crate) fn in_checkout(checkout: &'a Checkout) -> Self {
        Self { caches: checkout.caches(), ..Self::of(checkout.folder()) }
    }

    /// Checks the result of a gate that ran there.
    pub(crate) fn checked(&self, ran: Ran) -> Ran {
        match self.guarded {
            Some(guarded) => guarded.checked(ran),
            None => ran,
        }
    }

    /// With these files only to be read.
    pub(crate) fn guarding(self, guarded: &'a Guarded) -> Self {
        Self { guarded: Some(guarded), ..self }
    }
}

/// A gate that is about to run: the same for the loop and for `ralph doctor`.
pub(crate) struct Judging<'a> {
    pub(crate) gate: &'a GateSpec,
    pub(crate) place: &'a GateLocation<'a>,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) programs: &'a dyn Programs,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) sandboxed: SandboxedCommand,
    pub(crate) watch: &'a Watch,
    pub(crate) mark: Mark,
    pub(crate) secrets: &'a Secrets,
    /// Where what it prints is written.
    pub(crate) log: Option<&'a Path>,
    pub(crate) stop: watch::Receiver<Stop>,
}

impl Judging<'_> {
    /// Runs it to its end; what came to light about it beside its output.
    pub(crate) async fn run(mut self) -> (Ran, Vec<String>) {
        let wanted = self.stop.clone();
        let mut env = self.environment.to_vec();
        set(&mut env, "RALPH_GATE", &self.gate.name);
        let command = CommandSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), self.gate.command.clone().into()],
            folder: self.place.folder.to_owned(),
            env,
            stdin: Stdin::default(),
        };
        let watch = Watch {
            timeout: Some(self.gate.timeout),
            silence: None,
            after_result: None,
            ..self.watch.clone()
        };
        if self.place.folder != self.sandboxed.worktree {
            self.sandboxed.writable = vec![self.place.folder.to_owned()];
        }
        self.sandboxed.caches = self.place.caches.map(Path::to_owned);
        self.sandboxed.read_only.extend(self.place.guarded.iter().flat_map(|all| all.read_only()));
        let mut output = GateOutput::new(self.log, self.secrets);
        let program = Program {
            command: &command,
            sandboxed: &self.sandboxed,
            watch: &watch,
            mark: &self.mark,
            stop: self.stop,
            says: None,
        };
        let (ended, mut findings) = self.programs.run(program, &mut output, None).await;
        output.finish();
        let stopped = *wanted.borrow() != Stop::Go;
        let ran = Ran::of(self.gate, &ended, &output, stopped);
        if ran.report.verdict != Verdict::Pass && !ran.stopped {
            findings.extend(self.sandbox.unseen(&self.sandboxed.worktree, &ran.text));
        }
        (ran, findings)
    }
}

/// What the end of a gate's process means: the verdict, the exit code, and what there is to say.
fn judged(end: &ProcessEnd) -> (Verdict, Option<i32>, Option<String>) {
    let red = |code, note: String| (Verdict::Fail, code, Some(note));
    match end {
        ProcessEnd::Exited { code: 0 } => (Verdict::Pass, Some(0), None),
        ProcessEnd::Exited { code: 127 } => red(Some(127), "command not found".to_owned()),
        ProcessEnd::Exited { code: 126 } => {
            red(Some(126), "the command cannot be executed".to_owned())
        }
        ProcessEnd::Exited { code } => (Verdict::Fail, Some(*code), None),
        ProcessEnd::Signalled { signal } => {
            red(Some(128 + signal), format!("killed by signal {signal}"))
        }
        ProcessEnd::TimedOut { after_ms } => {
            red(None, format!("timed out after {}s", after_ms / 1000))
        }
        ProcessEnd::NotStarted { error } => red(None, error.clone()),
        ProcessEnd::Silent { .. } | ProcessEnd::Lingered { .. } | ProcessEnd::Stopped => {
            red(None, "it was stopped".to_owned())
        }
    }
}

/// A gate's name as a part of a file name.
pub(crate) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().take(40).map(plain).collect()
}

/// What a gate prints, without secrets: written into a file, the beginning and the end kept to be
/// looked at.
pub(crate) struct GateOutput {
    path: Option<PathBuf>,
    file: Option<std::fs::File>,
    stdout: Stream,
    stderr: Stream,
    clean: Vec<u8>,
    bytes: u64,
    first: Vec<u8>,
    last: VecDeque<u8>,
    skipped: bool,
}

impl GateOutput {
    pub(crate) fn new(log: Option<&Path>, secrets: &Secrets) -> Self {
        let file = log.and_then(|log| private_file(log).ok());
        Self {
            path: log.filter(|_| file.is_some()).map(Path::to_owned),
            file,
            stdout: secrets.stream(StreamKind::Text),
            stderr: secrets.stream(StreamKind::Text),
            clean: vec![],
            bytes: 0,
            first: vec![],
            last: VecDeque::new(),
            skipped: false,
        }
    }

    /// Takes a line of one of the two outputs.
    fn line(&mut self, line: &[u8], cut: bool, of: fn(&mut Self) -> &mut Stream) {
        let mut clean = std::mem::take(&mut self.clean);
        clean.clear();
        let stream = of(self);
        stream.feed(line, &mut clean);
        if cut {
            // The rest of a secret may have been cut off with the rest of the line.
            stream.skip();
        }
        stream.feed(b"\n", &mut clean);
        self.take(&clean);
        self.clean = clean;
    }

    /// Takes what was held back of both.
    fn finish(&mut self) {
        let mut clean = vec![];
        self.stdout.finish(&mut clean);
        self.stderr.finish(&mut clean);
        self.take(&clean);
    }

    fn take(&mut self, text: &[u8]) {
        self.write(text);
        self.bytes += text.len() as u64;
        if self.first.len() < KEPT {
            self.first.extend_from_slice(&text[..text.len().min(KEPT)]);
            return;
        }
        self.last.extend(&text[text.len().saturating_sub(KEPT)..]);
        if self.last.len() > KEPT {
            self.skipped = true;
            let surplus = self.last.len() - KEPT;
            self.last.drain(..surplus);
        }
    }

    fn write(&mut self, text: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let fits = self.bytes + text.len() as u64 <= WRITTEN;
        let text = if fits { text } else { b"[output truncated]\n" };
        // A full disk must not make a gate red.
        if file.write_all(text).is_err() || !fits {
            self.file = None;
        }
    }

    /// What to say where not all of it could be kept.
    fn too_much(&self) -> Option<String> {
        self.skipped.then(|| {
            let megabytes = self.bytes >> 20;
            format!("it printed {megabytes} MiB; ralph read only the beginning and the end")
        })
    }

    fn text(&self) -> String {
        let mut all = self.first.clone();
        if self.skipped {
            all.extend_from_slice("\n[…]\n".as_bytes());
        }
        let (a, b) = self.last.as_slices();
        all.extend_from_slice(a);
        all.extend_from_slice(b);
        String::from_utf8_lossy(&all).into_owned()
    }
}

impl Listener for GateOutput {
    fn stdout(&mut self, line: &[u8], cut: bool, _replies: &mut Vec<u8>) -> LineEffect {
        self.line(line, cut, |output| &mut output.stdout);
        LineEffect::Going
    }

    fn stderr(&mut self, line: &[u8]) {
        self.line(line, false, |output| &mut output.stderr);
    }
}
