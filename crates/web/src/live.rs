//! What happens now, for all viewers at once: one thread folds the stream of runs and renders what changed, at most every
//! 100 ms. A viewer takes from that what it has not seen, whenever it has read the last part: a slow one gets larger parts
//! and delays no other.

#[cfg(test)]
mod agreement;
mod picture;
mod viewer;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ralph_core::time::Timestamp;
use ralph_core::view::live::LiveView;
use ralph_core::view::stream::{EventSource, Next, Observation, Observed, RunNumber};
use ralph_ui::ports::Ports;
use tokio::sync::watch;

use picture::Picture;
pub(crate) use viewer::viewer;

/// How often viewers get something new.
const EVERY_MS: u64 = 100;
/// The same without a viewer: the next viewer then gets a picture that is not old.
const UNWATCHED_MS: u64 = 1_000;
/// How long the thread waits for the next event.
const WAIT: Duration = Duration::from_millis(500);
/// How long after the end of a stream another one is opened: runs may start later.
const AGAIN: Duration = Duration::from_secs(2);
/// How long it may take to read what happened before, until some of it is shown: agents that print all the time leave no
/// moment without an event, and a viewer should see something within a second.
const CATCH_UP_MS: u64 = 400;
/// How long an event that has already happened takes to come.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How many runs a fold keeps. Beyond them, the stream is opened again and has only those that are active.
const MOST_RUNS: usize = 32;

/// The live view of a server.
pub(crate) struct Live {
    ports: Arc<dyn Ports>,
    picture: Mutex<Picture>,
    /// Counts the changes of the picture.
    changed: watch::Sender<u64>,
    started: OnceLock<()>,
}

impl Live {
    pub(crate) fn new(ports: Arc<dyn Ports>) -> Arc<Self> {
        let (picture, changed) = (Mutex::default(), watch::Sender::new(0));
        Arc::new(Self { ports, picture, changed, started: OnceLock::new() })
    }

    /// How many viewers there are.
    pub(crate) fn viewers(&self) -> usize {
        self.changed.receiver_count()
    }

    /// Tells viewers that tasks changed.
    pub(crate) fn plan_changed(&self, version: u64) {
        self.picture().set_plan(version);
        self.announce();
    }

    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        let revision = self.picture().revision();
        self.changed.send_replace(revision);
    }

    /// Starts the thread with the first viewer: a server without viewers reads nothing.
    fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            let live = self.clone();
            std::thread::spawn(move || live.follow());
        });
    }

    /// Folds one stream after the other, until the process ends.
    fn follow(&self) {
        let mut shown = LiveView::default();
        loop {
            let mut source = self.ports.live();
            let mut fold = Fold::default();
            let is_over = self.catch_up(&mut fold, &mut *source);
            // The same again is no news: viewers keep what they have.
            if self.picture().revision() == 0 || fold.view != shown {
                self.picture().begin();
                self.show(&mut fold);
                while !is_over && self.step(&mut fold, &mut *source) {}
                self.show(&mut fold);
                shown = fold.view;
            }
            drop(source);
            std::thread::park_timeout(AGAIN);
            while self.viewers() == 0 {
                std::thread::park_timeout(AGAIN);
            }
        }
    }

    /// Takes what the stream has already, before anything is shown of it. `true` at the end of the stream.
    fn catch_up(&self, fold: &mut Fold, source: &mut dyn EventSource) -> bool {
        let began = self.ports.now();
        while self.ports.now().as_millis().abs_diff(began.as_millis()) < CATCH_UP_MS {
            match source.next(AT_ONCE) {
                Next::Seen(seen) => fold.take(&seen),
                Next::Quiet => return false,
                Next::Over => return true,
            }
        }
        false
    }

    /// Takes the next event. `false` at the end of the stream.
    fn step(&self, fold: &mut Fold, source: &mut dyn EventSource) -> bool {
        let every = if self.viewers() > 0 { EVERY_MS } else { UNWATCHED_MS };
        let passed = self.ports.now().as_millis().abs_diff(fold.shown.as_millis());
        if fold.is_dirty && passed >= every {
            self.show(fold);
        }
        let wait = match fold.is_dirty {
            true => Duration::from_millis(every.saturating_sub(passed).clamp(1, EVERY_MS)),
            false => WAIT,
        };
        match source.next(wait) {
            Next::Seen(seen) => fold.take(&seen),
            Next::Quiet => {}
            Next::Over => return false,
        }
        let runs = &fold.view.runs;
        let ended = runs.iter().filter(|run| run.has_ended()).count();
        runs.len() <= MOST_RUNS || ended * 2 < runs.len()
    }

    fn show(&self, fold: &mut Fold) {
        let now = self.ports.now();
        {
            let mut picture = self.picture();
            fold.joined.drain(..).for_each(|run| picture.start_over(run));
            picture.show(&fold.view, now);
        }
        (fold.shown, fold.is_dirty) = (now, false);
        self.announce();
    }
}

#[derive(Default)]
struct Fold {
    view: LiveView,
    shown: Timestamp,
    /// Something happened that is not shown yet.
    is_dirty: bool,
    /// The runs that joined since something was shown. One that joined before starts over.
    joined: Vec<RunNumber>,
}

impl Fold {
    fn take(&mut self, seen: &Observation) {
        if matches!(seen.what, Observed::Joined { .. }) {
            self.joined.push(seen.of);
        }
        self.view.apply(seen);
        self.is_dirty = true;
    }
}
