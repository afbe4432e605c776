//! Where a command writes. Stdout is data, stderr is for people; a reader that went away ends the
//! command quietly.

use std::io::{self, BufWriter, IsTerminal, Write};

use ralph_ui::style::{Look, Meaning};

use crate::environment::Environment;

/// When to use colours.
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

/// The two streams of a command.
pub(crate) struct Output {
    stdout: BufWriter<io::Stdout>,
    /// How data looks.
    pub(crate) look: Look,
    /// How messages look.
    pub(crate) message_look: Look,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(environment: &Environment, color: Color, quiet: bool) -> Self {
        Self {
            stdout: BufWriter::new(io::stdout()),
            look: look(environment, color, io::stdout().is_terminal()),
            message_look: look(environment, color, io::stderr().is_terminal()),
            quiet,
        }
    }

    /// Follows the setting `ui.color`, where no option says otherwise.
    pub(crate) fn prefer(&mut self, environment: &Environment, setting: &str) {
        let color = match setting {
            "always" => Color::Always,
            "never" => Color::Never,
            _ => return,
        };
        self.look = look(environment, color, self.look.width.is_some());
        self.message_look = look(environment, color, self.message_look.width.is_some());
    }

    /// Writes data.
    pub(crate) fn data(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.stdout.write_all(text.as_ref().as_bytes())
    }

    /// Writes a line of data.
    pub(crate) fn line(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.stdout, "{text}")
    }

    /// Writes a value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.stdout, value).map_err(io::Error::from)?;
        self.stdout.write_all(b"\n")
    }

    /// Tells a person something that is not the data; `-q` silences it.
    pub(crate) fn note(&mut self, text: impl std::fmt::Display) {
        if !self.quiet {
            let _ = self.stdout.flush();
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Warns; `-q` silences it.
    pub(crate) fn warning(&mut self, text: impl std::fmt::Display) {
        let word = self.message_look.paint(Meaning::Warning, "warning:");
        self.note(format!("{word} {text}"));
    }

    /// Tells of a failure; nothing silences it.
    pub(crate) fn error(&mut self, text: impl std::fmt::Display) {
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Brings everything out.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.stdout.flush()
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
