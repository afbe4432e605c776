//! The output of a command. Stdout is for data, stderr for messages; if the reader closes the pipe, the command ends
//! quietly.

use std::io::{self, BufWriter, IsTerminal, Write};

use ralph_ui::style::{Look, Meaning};

use crate::environment::Environment;

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where the two streams of a command go.
enum Streams {
    /// To the caller's stdout and stderr.
    Own(BufWriter<io::Stdout>),
    /// Into memory, for a caller at the other end of a socket.
    Kept { out: Vec<u8>, err: Vec<u8> },
}

impl Streams {
    fn out(&mut self) -> &mut dyn Write {
        match self {
            Self::Own(stdout) => stdout,
            Self::Kept { out, .. } => out,
        }
    }

    /// Writes a message after the data that was written so far.
    fn say(&mut self, text: &dyn std::fmt::Display) {
        let _ = match self {
            Self::Own(stdout) => {
                let _ = stdout.flush();
                writeln!(io::stderr(), "{text}")
            }
            Self::Kept { err, .. } => writeln!(err, "{text}"),
        };
    }
}

/// The two streams of a command.
pub(crate) struct Output {
    streams: Streams,
    /// How data looks.
    pub(crate) look: Look,
    /// How messages look.
    pub(crate) message_look: Look,
    quiet: bool,
    /// Standard output now belongs to the events of a run.
    taken: bool,
}

impl Output {
    pub(crate) fn new(environment: &Environment, color: Color, quiet: bool) -> Self {
        Self {
            streams: Streams::Own(BufWriter::new(io::stdout())),
            look: look(environment, color, io::stdout().is_terminal()),
            message_look: look(environment, color, io::stderr().is_terminal()),
            quiet,
            taken: false,
        }
    }

    /// Keeps everything in memory.
    pub(crate) fn kept(look: Look, message_look: Look, quiet: bool) -> Self {
        Self {
            streams: Streams::Kept { out: vec![], err: vec![] },
            look,
            message_look,
            quiet,
            taken: false,
        }
    }

    /// What was kept: data and messages.
    pub(crate) fn into_texts(self) -> (String, String) {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match self.streams {
            Streams::Own(_) => (String::new(), String::new()),
            Streams::Kept { out, err } => (text(out), text(err)),
        }
    }

    /// Follows the setting `ui.color`, unless an option overrides it.
    pub(crate) fn prefer(&mut self, environment: &Environment, setting: &str) {
        let color = match setting {
            "always" => Color::Always,
            "never" => Color::Never,
            _ => return,
        };
        self.look = look(environment, color, self.look.width.is_some());
        self.message_look = look(environment, color, self.message_look.width.is_some());
    }

    /// Leaves standard output to the events of a run: all other output goes to stderr.
    pub(crate) fn leave_stdout(&mut self) {
        self.taken = true;
    }

    /// Writes data.
    pub(crate) fn data(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        if self.taken {
            self.passed_on(text.as_ref());
            return Ok(());
        }
        self.streams.out().write_all(text.as_ref().as_bytes())
    }

    /// Writes a line of data.
    pub(crate) fn line(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        self.data(format!("{text}\n"))
    }

    /// Writes a value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(self.streams.out(), value).map_err(io::Error::from)?;
        self.streams.out().write_all(b"\n")
    }

    /// Prints a message that is not data; `-q` silences it.
    pub(crate) fn note(&mut self, text: impl std::fmt::Display) {
        if !self.quiet {
            self.streams.say(&text);
        }
    }

    /// Warns; `-q` silences it.
    pub(crate) fn warning(&mut self, text: impl std::fmt::Display) {
        let word = self.message_look.paint(Meaning::Warning, "warning:");
        self.note(format!("{word} {text}"));
    }

    /// Prints an error; nothing silences it.
    pub(crate) fn error(&mut self, text: impl std::fmt::Display) {
        self.streams.say(&text);
    }

    /// Asks the user at the terminal for a line; nothing silences it.
    pub(crate) fn prompt(&mut self, text: &str) {
        let _ = self.finish();
        let _ = write!(io::stderr(), "{text}").and_then(|()| io::stderr().flush());
    }

    /// Passes on the messages of another process unchanged.
    pub(crate) fn passed_on(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if !text.is_empty() {
            self.streams.say(&text);
        }
    }

    /// Flushes both streams.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.streams.out().flush()
    }
}

fn look(environment: &Environment, color: Color, is_terminal: bool) -> Look {
    Look {
        color: match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !environment.no_color,
        },
        width: is_terminal.then(|| terminal_width(environment)),
    }
}

fn terminal_width(environment: &Environment) -> usize {
    let told = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    environment.columns.or(told).unwrap_or(80).clamp(40, 500)
}
