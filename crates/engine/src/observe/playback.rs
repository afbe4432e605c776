//! A stream at the pace at which it was recorded. The user may pause it, change its speed and jump, through a
//! [`PlaybackControl`].

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::run::RunEvent;
use ralph_core::time::Timestamp;
use ralph_core::view::part::{LogFilter, Part};
use ralph_core::view::playback::{Pacer, PlaybackControl, Position, Speed, Timeline};
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use super::stored::StoredSource;
use crate::clock::Stopwatch;

/// How a recording is played.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub speed: Speed,
    /// Longer pauses are shortened to this, in recorded milliseconds.
    pub longest_pause: Option<u64>,
    /// What comes before this time is shown at once.
    pub from: Option<Timestamp>,
    /// What is not of this part is shown at once too.
    pub part: Part,
}

/// Opens the recording, from its beginning.
type Open = Box<dyn FnMut() -> Box<dyn EventSource + Send> + Send>;
/// How much time has passed, on any clock.
type Passed = Box<dyn Fn() -> Duration + Send + Sync>;

/// A stream that replays a recording.
pub struct Playback {
    open: Open,
    source: Box<dyn EventSource + Send>,
    /// What comes next, and whether it is of the part.
    ahead: Option<(Observation, bool)>,
    part: Part,
    filter: LogFilter,
    /// Everything before this is shown at once.
    hurry: Option<Timestamp>,
    shared: Arc<Shared>,
    /// A display controls it: the stream does not end with the recording, because the user may jump back.
    controlled: bool,
}

/// What the stream and its controls share.
struct Shared {
    timeline: Timeline,
    clock: Passed,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    pacer: Pacer,
    position: Timestamp,
    seek: Option<Timestamp>,
    /// Where a jump leads that is not over.
    target: Option<Timestamp>,
    ended: bool,
}

impl Playback {
    /// Replays a run from its files.
    pub fn of_run(journal: Vec<RunEvent>, pace: Pace) -> Self {
        let journal: Arc<[RunEvent]> = journal.into();
        let timeline = Timeline::of(&journal);
        let part = pace.part;
        let watch = Stopwatch::start();
        let open: Open = Box::new(move || Box::new(StoredSource::new(Arc::clone(&journal), part)));
        Self::new(open, timeline, pace, Box::new(move || watch.elapsed()))
    }

    /// Replays what `open` opens, by this clock.
    pub fn new(mut open: Open, timeline: Timeline, pace: Pace, clock: Passed) -> Self {
        let state = State {
            pacer: Pacer::new(pace.speed, pace.longest_pause),
            position: timeline.first,
            seek: None,
            target: None,
            ended: false,
        };
        let shared = Shared { timeline, clock, state: Mutex::new(state), changed: Condvar::new() };
        Self {
            source: open(),
            open,
            ahead: None,
            part: pace.part,
            filter: LogFilter::new(pace.part),
            hurry: pace.from,
            shared: Arc::new(shared),
            controlled: false,
        }
    }

    /// Lets a display control it. From now on the stream waits at the end of the recording for a jump back.
    pub fn control(&mut self) -> Arc<dyn PlaybackControl> {
        self.controlled = true;
        Arc::clone(&self.shared) as Arc<dyn PlaybackControl>
    }

    /// Obeys a jump, unless there is none.
    fn jump(&mut self, to: Option<Timestamp>) {
        let Some(to) = to else { return };
        let mut state = self.shared.lock();
        state.ended = false;
        if to < state.position {
            (self.source, self.ahead) = ((self.open)(), None);
            self.filter = LogFilter::new(self.part);
            state.position = self.shared.timeline.first;
        }
        self.hurry = Some(to);
    }

    /// Reads one ahead; the answer is what the source says if it has nothing.
    fn look(&mut self) -> Option<Next> {
        if self.ahead.is_some() {
            return None;
        }
        let seen = match self.source.next(Duration::ZERO) {
            Next::Seen(seen) => seen,
            none => return Some(none),
        };
        let wanted = match &seen.what {
            Observed::Fact { event } => self.filter.admits(event),
            Observed::Agent { slot, .. } => self.filter.admits_slot(*slot),
            Observed::Joined { .. } | Observed::Missed { .. } | Observed::Left => false,
        };
        self.ahead = Some((seen, wanted));
        None
    }

    /// Hands over what is ahead, which happened at this time.
    fn show(&mut self, at: Option<Timestamp>, at_once: bool) -> Next {
        let now = (self.shared.clock)();
        let mut state = self.shared.lock();
        if let Some(at) = at {
            match at_once {
                true => state.pacer.jump(at, now),
                false => state.pacer.shown(at, now),
            }
            state.position = state.position.max(at);
        }
        self.ahead.take().map_or(Next::Quiet, |(seen, _)| Next::Seen(seen))
    }
}

/// When something happened; `None` where that has no time of its own.
const fn time_of(what: &Observed) -> Option<Timestamp> {
    match what {
        Observed::Fact { event } => Some(event.at),
        Observed::Agent { at, .. } => Some(*at),
        Observed::Joined { .. } | Observed::Missed { .. } | Observed::Left => None,
    }
}

impl EventSource for Playback {
    fn next(&mut self, wait: Duration) -> Next {
        let shared = Arc::clone(&self.shared);
        let until = (shared.clock)().saturating_add(wait);
        loop {
            let seek = shared.lock().seek.take();
            self.jump(seek);
            if let Some(none) = self.look() {
                let mut state = shared.lock();
                state.ended = none == Next::Over;
                state.arrive();
                if none == Next::Quiet || !self.controlled {
                    return none;
                }
                if !shared.rest(state, None, until) {
                    return Next::Quiet;
                }
                continue;
            }
            let Some((seen, wanted)) = &self.ahead else { continue };
            let (at, wanted) = (time_of(&seen.what), *wanted);
            let hurries = self.hurry.is_some() && at.is_none_or(|at| Some(at) <= self.hurry);
            if hurries || !wanted {
                return self.show(at, true);
            }
            let mut state = shared.lock();
            if let Some(to) = self.hurry.take() {
                state.pacer.jump(to, (shared.clock)());
                state.position = state.position.max(to);
                state.arrive();
            }
            let left = state.pacer.wait(at.unwrap_or_default(), (shared.clock)());
            if left == Some(Duration::ZERO) {
                drop(state);
                return self.show(at, false);
            }
            if !shared.rest(state, left, until) {
                return Next::Quiet;
            }
        }
    }
}

impl State {
    /// A jump is over, unless the user has asked for another.
    fn arrive(&mut self) {
        self.target = self.target.filter(|_| self.seek.is_some());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a control, so long, or `until`; `false` if that is now.
    fn rest(&self, state: MutexGuard<'_, State>, left: Option<Duration>, until: Duration) -> bool {
        let most = until.saturating_sub((self.clock)());
        if most.is_zero() {
            return false;
        }
        if state.seek.is_none() {
            let rest = left.unwrap_or(most).min(most);
            let _ = self.changed.wait_timeout(state, rest);
        }
        true
    }

    fn change(&self, change: impl FnOnce(&mut State, Duration)) {
        change(&mut self.lock(), (self.clock)());
        self.changed.notify_all();
    }
}

impl PlaybackControl for Shared {
    fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    fn position(&self) -> Position {
        let mut state = self.lock();
        let since = state.pacer.since_shown((self.clock)());
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let now = state.position.plus_millis(since).min(self.timeline.last);
        Position {
            at: state.target.unwrap_or(now),
            speed: state.pacer.speed(),
            paused: state.pacer.is_paused(),
            ended: state.ended && state.seek.is_none(),
        }
    }

    fn set_speed(&self, speed: Speed) {
        self.change(|state, now| state.pacer.set_speed(speed, now));
    }

    fn pause(&self, paused: bool) {
        self.change(|state, now| state.pacer.pause(paused, now));
    }

    fn seek(&self, to: Timestamp) {
        self.change(|state, _| (state.seek, state.target) = (Some(to), Some(to)));
    }
}

#[cfg(test)]
mod tests;
