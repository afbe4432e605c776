//! Plays one session of a cassette: does its steps in the given folder and reports each.
//!
//! A step that fails, such as a program with a non-zero exit code, is reported as a tool result, and the session
//! continues; real agents do the same. Only a cassette that cannot be played is an error.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_core::agent::Usage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::cassette::{self, CassetteError, Step, lies_beneath};
use super::cursor;
use super::protocol::ScriptEvent;
use crate::agents::micro_usd;
use crate::agents::text::one_line;
use crate::clock::{Stopwatch, now};
use crate::git::git;

/// How much of a program's output is reported, in bytes.
const MAX_RESULT: usize = 4 << 10;
/// How much of a call is reported, in characters.
const MAX_INPUT: usize = 500;

#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error("the script agent has no cassette to play")]
    NoCassette,
    #[error("the cassette {} cannot be read: {error}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the cassette {} is not valid: {error}", path.display())]
    Malformed {
        path: PathBuf,
        #[source]
        error: CassetteError,
    },
    #[error("{} cannot be used: {error}", path.display())]
    Cursor {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the cassette {} has no session left to play (it has {count})", path.display())]
    AtEnd { path: PathBuf, count: usize },
    #[error("the output is closed: {0}")]
    Closed(#[from] io::Error),
}

#[derive(Debug, Clone, Copy)]
pub struct Play<'a> {
    pub cassette: Option<&'a Path>,
    /// Which session, from 1; `None`: the next one.
    pub session: Option<u32>,
    /// The id of the task, for `{id}`.
    pub task: Option<&'a str>,
    pub folder: &'a Path,
}

impl Play<'_> {
    /// Plays one session and returns its exit code. An error is also reported on `out`.
    pub fn run(&self, out: &mut (impl Write + AsFd)) -> Result<u8, PlayError> {
        match self.steps() {
            Ok(steps) => {
                let player = Player { play: self, out, calls: 0, clock: Stopwatch::start() };
                Ok(player.session(&steps)?)
            }
            Err(error) => {
                write_event(out, &ScriptEvent::Refused { why: error.to_string() })?;
                Err(error)
            }
        }
    }

    fn steps(&self) -> Result<Vec<Step>, PlayError> {
        let path = self.cassette.ok_or(PlayError::NoCassette)?;
        let text = fs::read_to_string(path)
            .map_err(|error| PlayError::Unreadable { path: path.to_owned(), error })?;
        let mut sessions = cassette::parse(&text)
            .map_err(|error| PlayError::Malformed { path: path.to_owned(), error })?;
        let count = sessions.len();
        let index = match self.session {
            Some(number) => (number as usize).checked_sub(1),
            None => {
                let place = cursor::path_of(path);
                cursor::take(&place, count)
                    .map_err(|error| PlayError::Cursor { path: place, error })?
            }
        };
        match index.filter(|index| *index < count) {
            Some(index) => Ok(sessions.swap_remove(index)),
            None => Err(PlayError::AtEnd { path: path.to_owned(), count }),
        }
    }
}

fn write_event(out: &mut impl Write, output: &ScriptEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(output)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

struct Player<'a, W> {
    play: &'a Play<'a>,
    out: &'a mut W,
    calls: u32,
    clock: Stopwatch,
}

impl<W: Write + AsFd> Player<'_, W> {
    fn session(mut self, steps: &[Step]) -> io::Result<u8> {
        write_event(
            self.out,
            &ScriptEvent::Started { version: env!("CARGO_PKG_VERSION").to_owned() },
        )?;
        for step in steps {
            if let Some(code) = self.step(step)? {
                return Ok(code);
            }
        }
        self.end()
    }

    fn end(&mut self) -> io::Result<u8> {
        let duration_ms = u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        write_event(self.out, &ScriptEvent::Result { duration_ms })?;
        Ok(0)
    }

    /// Does one step; the exit code, if it was the last.
    fn step(&mut self, step: &Step) -> io::Result<Option<u8>> {
        match step {
            Step::Session {} => {}
            Step::Say { text } => {
                write_event(self.out, &ScriptEvent::Say { text: self.filled(text) })?;
            }
            Step::Think { text } => {
                write_event(self.out, &ScriptEvent::Think { text: self.filled(text) })?;
            }
            Step::Write { path, text } => {
                let (path, text) = (self.filled(path), self.filled(text));
                let folder = self.play.folder;
                self.tool("Write", &path, || write_beneath(folder, &path, &text))?;
            }
            Step::Run { argv } => {
                let argv: Vec<String> = argv.iter().map(|word| self.filled(word)).collect();
                let folder = self.play.folder;
                self.tool("Run", &argv.join(" "), || run(folder, &argv))?;
            }
            Step::Commit { message } => {
                let message = self.filled(message);
                let folder = self.play.folder;
                self.tool("Commit", &message, || commit(folder, &message))?;
            }
            Step::Usage { input, output, usd } => {
                let usage = Usage {
                    input_tokens: *input,
                    output_tokens: *output,
                    cost_micro_usd: usd.and_then(micro_usd),
                    ..Usage::default()
                };
                write_event(self.out, &ScriptEvent::Usage { usage })?;
            }
            Step::Sleep { ms } => {
                let waited = Stopwatch::start();
                let whole = Duration::from_millis(*ms);
                while let Some(rest) = whole.checked_sub(waited.elapsed()) {
                    self.wait(Some(rest))?;
                }
            }
            Step::Limit { reset_in } => {
                let reset_in = i64::try_from(reset_in.as_millis()).unwrap_or(i64::MAX);
                let resets_at_ms = now().as_millis().saturating_add(reset_in);
                write_event(self.out, &ScriptEvent::Limit { resets_at_ms })?;
                return Ok(Some(1));
            }
            Step::Hang {} => loop {
                self.wait(None)?;
            },
            Step::Exit { code: 0 } => return self.end().map(Some),
            Step::Exit { code } => return Ok(Some(*code)),
        }
        Ok(None)
    }

    /// Waits, or ends with an error when the reader of the output is gone: a player that hangs must not outlive
    /// its reader.
    fn wait(&mut self, longest: Option<Duration>) -> io::Result<()> {
        let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
        let mut listener = [PollFd::new(&*self.out, PollFlags::empty())];
        match poll(&mut listener, longest.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
            Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) => Err(error.into()),
        }
    }

    fn filled(&self, text: &str) -> String {
        match self.play.task {
            Some(id) => text.replace("{id}", id),
            None => text.to_owned(),
        }
    }

    fn tool(
        &mut self,
        name: &str,
        input: &str,
        work: impl FnOnce() -> Result<String, String>,
    ) -> io::Result<()> {
        self.calls += 1;
        let id = self.calls.to_string();
        let (name, input) = (name.to_owned(), one_line(input, MAX_INPUT));
        write_event(self.out, &ScriptEvent::ToolStarted { id: id.clone(), name, input })?;
        let (is_error, text) = match work() {
            Ok(text) => (false, text),
            Err(text) => (true, text),
        };
        write_event(self.out, &ScriptEvent::ToolEnded { id, is_error, text })
    }
}

fn write_beneath(folder: &Path, path: &str, text: &str) -> Result<String, String> {
    let outside = || format!("{path} is not inside the session's folder");
    if !lies_beneath(path) {
        return Err(outside());
    }
    let target = folder.join(path);
    let write = || -> io::Result<bool> {
        // The folders that exist may be links that lead away.
        let there = target.ancestors().skip(1).find(|ancestor| ancestor.exists());
        let is_inside = match there {
            Some(there) => there.canonicalize()?.starts_with(folder.canonicalize()?),
            None => false,
        };
        if !is_inside || target.is_symlink() {
            return Ok(false);
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&target, text)?;
        Ok(true)
    };
    match write() {
        Ok(true) => Ok(format!("{} bytes", text.len())),
        Ok(false) => Err(outside()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// Runs a program to its end. Its output goes to a file: what it leaves running in the background
/// would keep a pipe open.
#[expect(clippy::disallowed_methods, reason = "cassettes run programs, as real agents do")]
fn run(folder: &Path, argv: &[String]) -> Result<String, String> {
    let (program, arguments) = argv.split_first().ok_or("no program given")?;
    let start = || -> io::Result<_> {
        let output = tempfile::tempfile()?;
        let status = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()?;
        let mut printed = vec![0; MAX_RESULT];
        let length = output.read_at(&mut printed, 0)?;
        printed.truncate(length);
        Ok((status, String::from_utf8_lossy(&printed).into_owned()))
    };
    match start() {
        Ok((status, printed)) if status.success() => Ok(printed),
        Ok((status, printed)) => Err(format!("{status}\n{printed}")),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}

fn commit(folder: &Path, message: &str) -> Result<String, String> {
    let done = git(folder, &["add", "--all"])
        .and_then(|_| git(folder, &["commit", "--quiet", "--message", message]));
    done.map_err(|error| error.to_string())
}
