//! Runs from another terminal, as lines of text: what `ralph logs -f` and `ralph attach` show.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::view::Reporter;
use ralph_core::view::part::{LogFilter, Part};
use ralph_core::view::stream::{EventSource, Next, Observed, RunNumber};
use ralph_engine::clock;
use ralph_ui::lanes::{LaneWriter, prefixes};
use ralph_ui::plain::{Options, PlainReporter};

use super::logs::options;
use crate::error::{Done, Result};
use crate::wiring::Context;

/// How often the caller is asked whether to go on while nothing happens.
const LOOK: Duration = Duration::from_millis(250);
/// After how many of these the screen gets the time: a sentence that comes in pieces is whole until then.
const LOOKS: u32 = 4;

/// Shows runs from another terminal until they end, or until `each` says so: it gets every fact, and is called without one
/// from time to time. Of several runs each line begins with the branch.
pub(super) fn follow(
    source: &mut dyn EventSource,
    part: Part,
    json: bool,
    context: &mut Context<'_>,
    mut each: impl FnMut(Option<&RunEvent>, &mut Context<'_>) -> Result<bool>,
) -> Done {
    let mut screens = Screens::new(part, options(context)?);
    let mut quiet = 0_u32;
    loop {
        let seen = match source.next(LOOK) {
            Next::Seen(seen) => seen,
            Next::Quiet => {
                quiet = quiet.wrapping_add(1);
                if quiet.is_multiple_of(LOOKS) {
                    screens.tick();
                }
                if each(None, context)? {
                    continue;
                }
                break;
            }
            Next::Over => break,
        };
        quiet = 0;
        match seen.what {
            Observed::Fact { event } if json => {
                context.out.line(serde_json::to_string(&event).map_err(io::Error::from)?)?;
                context.out.finish()?;
            }
            Observed::Fact { event } => {
                screens.fact(seen.of, &event);
                if !each(Some(&event), context)? {
                    break;
                }
            }
            Observed::Agent { slot, at, event } if !json => {
                screens.agent(seen.of, slot, at, &event);
            }
            Observed::Missed { slot } if !json => screens.missed(seen.of, slot),
            Observed::Joined { name } if !json => screens.join(seen.of, &name),
            Observed::Left if !json => screens.leave(seen.of)?,
            _ => {}
        }
    }
    screens.close()
}

/// The screens of the runs that are followed, all on standard output.
struct Screens {
    part: Part,
    options: Options,
    out: Arc<Mutex<io::Stdout>>,
    /// The runs that have joined and have no screen yet.
    joined: Vec<(RunNumber, String)>,
    /// The names that the lines of runs begin with, in the order of joining.
    names: Vec<String>,
    runs: HashMap<RunNumber, Screen>,
}

struct Screen {
    reporter: PlainReporter<Box<dyn Write>>,
    filter: LogFilter,
}

impl Screens {
    fn new(part: Part, options: Options) -> Self {
        let out = Arc::new(Mutex::new(io::stdout()));
        Self { part, options, out, joined: vec![], names: vec![], runs: HashMap::new() }
    }

    /// Its screen opens with the first thing that is shown: those that join together have prefixes of the same width.
    fn join(&mut self, run: RunNumber, name: &str) {
        self.joined.push((run, name.to_owned()));
    }

    fn open(&mut self) {
        let joined = std::mem::take(&mut self.joined);
        let named = joined.iter().map(|(_, name)| name).filter(|name| !name.is_empty());
        self.names.extend(named.cloned());
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let prefixes = prefixes(&names, self.options.style);
        for (run, name) in joined {
            let prefix = names.iter().rposition(|known| *known == name).map(|at| &prefixes[at]);
            let screen = self.screen(prefix);
            self.runs.insert(run, screen);
        }
    }

    fn screen(&self, prefix: Option<&(String, usize)>) -> Screen {
        let mut options = self.options.clone();
        let out: Box<dyn Write> = match prefix {
            None => Box::new(io::stdout()),
            Some((prefix, margin)) => {
                options.style.width =
                    options.style.width.map(|width| width.saturating_sub(*margin));
                // Several runs share the screen, so none of them may rewrite its last line.
                options.progress = false;
                Box::new(LaneWriter::new(&self.out, prefix.clone()))
            }
        };
        Screen { reporter: PlainReporter::new(out, options), filter: LogFilter::new(self.part) }
    }

    fn shown(&mut self, run: RunNumber) -> Option<&mut Screen> {
        if !self.joined.is_empty() {
            self.open();
        }
        self.runs.get_mut(&run)
    }

    fn fact(&mut self, run: RunNumber, event: &RunEvent) {
        let Some(screen) = self.shown(run) else { return };
        match screen.filter.admits(event) {
            true => screen.reporter.event(event),
            false => screen.reporter.skip(event),
        }
    }

    fn agent(&mut self, run: RunNumber, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        let screen = self.shown(run).filter(|screen| screen.filter.admits_slot(slot));
        if let Some(screen) = screen {
            screen.reporter.agent(slot, at, event);
        }
    }

    fn missed(&mut self, run: RunNumber, slot: SlotId) {
        let screen = self.shown(run).filter(|screen| screen.filter.admits_slot(slot));
        if let Some(screen) = screen {
            screen.reporter.missed(slot);
        }
    }

    fn tick(&mut self) {
        let now = clock::now();
        self.runs.values_mut().for_each(|screen| screen.reporter.tick(now));
    }

    /// A run has ended.
    fn leave(&mut self, run: RunNumber) -> Done {
        match self.runs.remove(&run) {
            Some(mut screen) => Ok(screen.reporter.close()?),
            None => Ok(()),
        }
    }

    fn close(mut self) -> Done {
        self.runs.values_mut().try_for_each(|screen| Ok(screen.reporter.close()?))
    }
}
