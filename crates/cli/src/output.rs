//! The output of a command. Stdout is for data, stderr for messages; if the reader closes the pipe, the command ends
//! quietly. With `--json` every line of both is an object with a version and a kind: this is the only code that knows
//! their shape.

use std::io::{self, BufWriter, IsTerminal, Write};

use ralph_core::run::RunEvent;
use ralph_core::text::printable;
use ralph_ui::style::{Meaning, TextStyle};
use serde::Serialize;

use crate::environment::Environment;
use crate::error::{CliError, Done};
use crate::patience::Patience;

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

impl Color {
    /// Whether there are colors; `auto` if the user leaves it open.
    pub(crate) const fn or(self, auto: bool) -> bool {
        match self {
            Self::Auto => auto,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

#[derive(Serialize)]
struct Answer<'a, T> {
    v: u32,
    kind: &'a str,
    data: &'a T,
}

#[derive(Serialize)]
struct Message<'a> {
    v: u32,
    kind: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Failure<'a> {
    v: u32,
    kind: &'a str,
    error: ErrorJson<'a>,
}

/// What went wrong, for programs.
#[derive(Serialize)]
struct ErrorJson<'a> {
    code: &'a str,
    message: &'a str,
    /// The line of the user's file that it is about.
    excerpt: Option<&'a str>,
    /// A line for each hint.
    hint: Option<&'a str>,
    exit: u8,
}

/// An error as a line of JSON. `clean` takes secrets out.
pub(crate) fn error_json(error: &CliError, clean: impl Fn(&str) -> String) -> String {
    let (message, excerpt, hints) = error.parts();
    let clean = |text: &str| clean(&printable(text));
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let (hint, excerpt) = (some(clean(&hints.join("\n"))), some(clean(excerpt.trim_end())));
    let error = ErrorJson {
        code: error.code.as_str(),
        message: &clean(message),
        excerpt: excerpt.as_deref(),
        hint: hint.as_deref(),
        exit: error.exit.code(),
    };
    text(&Failure { v: RunEvent::VERSION, kind: "error", error })
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
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

pub(crate) struct Output {
    streams: Streams,
    /// How data looks.
    pub(crate) style: TextStyle,
    /// How messages look.
    pub(crate) message_style: TextStyle,
    quiet: bool,
    /// Standard output now belongs to the events of a run.
    taken: bool,
    /// The command, as the kind of its answer.
    kind: String,
    /// Messages are lines of JSON.
    json: bool,
}

impl Output {
    pub(crate) fn new(environment: &Environment, color: Color, quiet: bool) -> Self {
        let style = style_for(environment, color, io::stdout().is_terminal());
        let message_style = style_for(environment, color, io::stderr().is_terminal());
        let streams = Streams::Own(BufWriter::new(io::stdout()));
        Self { streams, ..Self::kept(style, message_style, quiet) }
    }

    /// Keeps everything in memory.
    pub(crate) fn kept(style: TextStyle, message_style: TextStyle, quiet: bool) -> Self {
        Self {
            streams: Streams::Kept { out: vec![], err: vec![] },
            style,
            message_style,
            quiet,
            taken: false,
            kind: String::new(),
            json: false,
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
        self.style = style_for(environment, color, self.style.width.is_some());
        self.message_style = style_for(environment, color, self.message_style.width.is_some());
    }

    /// Names the command that answers, and says whether its messages are JSON.
    pub(crate) fn answer_as(&mut self, kind: String, json: bool) {
        self.kind = kind;
        self.json = json;
    }

    /// From now on messages are lines of JSON, if the run is shown so.
    pub(crate) fn messages_in_json(&mut self, shown: bool) {
        self.json |= shown;
    }

    /// Leaves standard output to the events of a run, if it is shown so: all other output goes to stderr.
    pub(crate) fn leave_stdout(&mut self, shown: bool) {
        self.taken |= shown;
    }

    pub(crate) fn data(&mut self, text: impl AsRef<str>) -> Done {
        if self.taken {
            match self.json {
                true => text.as_ref().lines().for_each(|line| self.message("note", line)),
                false => self.passed_on(text.as_ref()),
            }
            return Ok(());
        }
        Ok(self.streams.out().write_all(text.as_ref().as_bytes())?)
    }

    pub(crate) fn line(&mut self, text: impl std::fmt::Display) -> Done {
        self.data(format!("{text}\n"))
    }

    /// Writes the answer of the command as JSON on one line.
    pub(crate) fn json(&mut self, data: &impl Serialize) -> Done {
        let answer = Answer { v: RunEvent::VERSION, kind: &self.kind, data };
        let out = self.streams.out();
        serde_json::to_writer(&mut *out, &answer).map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    }

    fn message(&mut self, kind: &str, message: &str) {
        let line = text(&Message { v: RunEvent::VERSION, kind, message });
        self.streams.say(&line);
    }

    /// Prints a message that is not data; `-q` silences it.
    pub(crate) fn note(&mut self, text: impl std::fmt::Display) {
        if !self.quiet {
            self.wanted(text);
        }
    }

    /// Prints what a flag of the user asks for; nothing silences it.
    pub(crate) fn wanted(&mut self, text: impl std::fmt::Display) {
        match self.json {
            true => self.message("note", &text.to_string()),
            false => self.streams.say(&text),
        }
    }

    /// From now until the value is dropped ralph does this: it says so if that takes long.
    pub(crate) fn patience(&self, what: &str) -> Option<Patience> {
        if self.quiet || !matches!(self.streams, Streams::Own(_)) {
            return None;
        }
        let what = format!("{what} …");
        let line = match self.json {
            true => text(&Message { v: RunEvent::VERSION, kind: "note", message: &what }),
            false => what,
        };
        Some(Patience::start(move || {
            let _ = writeln!(io::stderr(), "{line}");
        }))
    }

    /// Ends a command with such a message.
    pub(crate) fn conclude(&mut self, text: impl std::fmt::Display) -> Done {
        self.note(text);
        Ok(())
    }

    /// Warns; `-q` silences it.
    pub(crate) fn warning(&mut self, text: impl std::fmt::Display) {
        if self.json && !self.quiet {
            return self.message("warning", &text.to_string());
        }
        let word = self.message_style.paint(Meaning::Warning, "warning:");
        self.note(format!("{word} {text}"));
    }

    /// Prints an error; nothing silences it.
    pub(crate) fn error(&mut self, text: impl std::fmt::Display) {
        self.streams.say(&text);
    }

    /// Prints why the command failed, as text or as a line of JSON. `clean` takes secrets out.
    pub(crate) fn failure(&mut self, error: &CliError, clean: impl Fn(&str) -> String) {
        let text = match self.json {
            true => error_json(error, clean),
            false => clean(&error.render(self.message_style)),
        };
        self.error(text);
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

    pub(crate) fn finish(&mut self) -> Done {
        Ok(self.streams.out().flush()?)
    }
}

fn style_for(environment: &Environment, color: Color, is_terminal: bool) -> TextStyle {
    TextStyle {
        color: color.or(is_terminal && !environment.no_color),
        width: is_terminal.then(|| {
            let reported = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
            environment.columns.or(reported).unwrap_or(80).clamp(40, 500)
        }),
    }
}
