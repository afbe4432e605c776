//! The displays of a run.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex};

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::view::part::Part;
use ralph_core::view::{Reporter, show};
use ralph_engine::clock;
use ralph_engine::project::Project;
use ralph_engine::run::Reader;
use ralph_engine::run_files::{RunLogs, private_file};
use ralph_ui::jsonl::JsonReporter;
use ralph_ui::lanes::LaneWriter;
use ralph_ui::plain::{Conversation, Options, PlainReporter, Verbosity};
use ralph_ui::session_log::SessionLog;

use super::notify;
use crate::config::{Config, key};
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// A display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DisplayKind {
    /// Lines of text, on stderr
    Plain,
    /// Every event as a line of JSON, on stdout
    Json,
    /// The whole screen, with a key for everything; the run goes on without it (see ralph watch)
    Tui,
}

impl DisplayKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Json => "json",
            Self::Tui => "tui",
        }
    }
}

pub(crate) fn shown(config: &Config) -> DisplayKind {
    match config.get(key::UI_MODE) {
        "json" => DisplayKind::Json,
        "tui" => DisplayKind::Tui,
        _ => DisplayKind::Plain,
    }
}

/// One that a thread may have.
pub(super) type AnyReporter = Box<dyn Reporter + Send>;

/// What shows a run. A terminal may stand still for hours, so what must go on meanwhile reads the stream by itself.
pub(super) struct Displays {
    pub(super) screen: Vec<AnyReporter>,
    /// The session log, the notifications, and what others learn of the run.
    pub(super) others: Vec<AnyReporter>,
}

impl Displays {
    pub(super) fn readers(self) -> Vec<Reader> {
        let reader = |mut all: Vec<AnyReporter>| -> Reader {
            Box::new(move |source| show(source, Part::Whole, &mut all, |_| clock::now()))
        };
        vec![reader(self.screen), reader(self.others)]
    }
}

pub(super) fn displays(
    config: &Config,
    project: &Project,
    logs: &RunLogs,
    (shared, conversation): (Option<&Shared>, Option<&Conversation>),
    context: &Context<'_>,
) -> Result<Displays> {
    let shown = shown(config);
    let out: Box<dyn Write + Send> = match (shared, shown) {
        (Some(shared), _) => Box::new(shared.writer()),
        (None, DisplayKind::Plain | DisplayKind::Tui) => Box::new(io::stderr()),
        (None, DisplayKind::Json) => Box::new(io::stdout()),
    };
    let screen: AnyReporter = match shown {
        // The screen belongs to another process than the run; a run in this one prints lines.
        DisplayKind::Plain | DisplayKind::Tui => {
            let mut options = options(project, context);
            let margin = shared.map_or(0, |shared| shared.margin);
            options.style.width = options.style.width.map(|width| width.saturating_sub(margin));
            // Several runs share the screen, so none of them may rewrite its last line.
            options.progress &= shared.is_none();
            let mut reporter = PlainReporter::new(out, options);
            if let Some(conversation) = conversation {
                reporter = reporter.within(conversation.clone());
            }
            Box::new(Terminal(reporter, margin))
        }
        DisplayKind::Json => Box::new(JsonReporter::new(out)),
    };
    let file = private_file(&logs.readable)
        .map_err(|error| CliError::file(&logs.readable, "written", error))?;
    let log: AnyReporter = Box::new(SessionLog::new(BufWriter::new(file), clock::zone()));
    // The notifications come last: ending them may take a moment.
    let others = std::iter::once(log).chain(notify::notifier(config, project, context)?).collect();
    Ok(Displays { screen: vec![screen], others })
}

/// How runs look on this terminal.
pub(crate) fn options(project: &Project, context: &Context<'_>) -> Options {
    let style = context.out.message_style;
    Options {
        style,
        verbosity: match (context.global.quiet, context.global.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        },
        progress: style.width.is_some() && !context.environment.is_dumb,
        zone: clock::zone(),
        root: project.worktree.display().to_string(),
    }
}

/// One run's view of a screen that several runs share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(super) out: Arc<Mutex<Box<dyn Write + Send>>>,
    /// What its lines begin with.
    pub(super) prefix: String,
    pub(super) margin: usize,
}

impl Shared {
    pub(super) fn writer(&self) -> LaneWriter<Box<dyn Write + Send>> {
        LaneWriter::new(&self.out, self.prefix.clone())
    }
}

/// A terminal, which may be resized, and how much of its width is already used.
struct Terminal<W>(PlainReporter<W>, usize);

impl<W: Write> Reporter for Terminal<W> {
    fn event(&mut self, event: &RunEvent) {
        self.0.event(event);
    }

    fn agent(&mut self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        self.0.agent(slot, at, event);
    }

    fn missed(&mut self, slot: SlotId) {
        self.0.missed(slot);
    }

    fn tick(&mut self, now: Timestamp) {
        if let Some((width, _)) = terminal_size::terminal_size_of(io::stderr()) {
            self.0.resize(usize::from(width.0).saturating_sub(self.1));
        }
        self.0.tick(now);
    }

    fn finish(&mut self) {
        self.0.finish();
    }

    fn is_broken(&self) -> bool {
        self.0.is_broken()
    }
}
