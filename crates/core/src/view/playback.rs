//! The pace of a replay: how fast recorded time passes, and the places to which a user can jump. It has no clock of its
//! own: whoever calls says how much time has passed.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::run::{Fact, RunEvent};
use crate::time::{Timestamp, Zone};

/// How much faster than the run a replay is, in thousandths; `None` shows everything at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speed(Option<u32>);

/// The speeds between which a user steps.
const STEPS: [u32; 12] =
    [250, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000];

impl Speed {
    pub const NORMAL: Self = Self(Some(1_000));
    pub const MAX: Self = Self(None);

    /// Reads `2`, `0.25`, `10x` or `max`: from 0.25 to 1000.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "max" {
            return Some(Self::MAX);
        }
        let number = text.strip_suffix(['x', '×']).unwrap_or(text);
        let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || whole.len() > 4
            || rest.len() > 3
            || !is_number(&[whole, rest].concat())
        {
            return None;
        }
        let thousandths = format!("{whole}{rest:0<3}").parse().ok()?;
        (STEPS[0]..=STEPS[STEPS.len() - 1])
            .contains(&thousandths)
            .then_some(Self(Some(thousandths)))
    }

    /// The next faster step.
    pub fn faster(self) -> Self {
        let Self(Some(now)) = self else { return self };
        Self(STEPS.into_iter().find(|step| *step > now))
    }

    /// The next slower step.
    pub fn slower(self) -> Self {
        let below = STEPS.into_iter().rev().find(|step| self.0.is_none_or(|now| *step < now));
        Self(Some(below.unwrap_or(STEPS[0])))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(thousandths) = self.0 else { return f.write_str("max") };
        let rest = format!("{:03}", thousandths % 1_000);
        match (thousandths / 1_000, rest.trim_end_matches('0')) {
            (whole, "") => write!(f, "{whole}×"),
            (whole, rest) => write!(f, "{whole}.{rest}×"),
        }
    }
}

impl Serialize for Speed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in a recording, as a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Iteration(u32),
    Percent(u8),
    /// Milliseconds from the beginning.
    After(u64),
    /// The first time that clocks show this, in seconds of a day.
    TimeOfDay(u32),
    At(Timestamp),
}

impl Place {
    /// Reads `7`, `50%`, `1h20m`, `14:30`, `14:30:10` or an RFC 3339 time.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            return percent.parse().ok().filter(|percent| *percent <= 100).map(Self::Percent);
        }
        if let Ok(number) = text.parse() {
            return Some(Self::Iteration(number));
        }
        let span = || span(text).map(Self::After);
        let time = || time_of_day(text).map(Self::TimeOfDay);
        span().or_else(time).or_else(|| Timestamp::parse(text).map(Self::At))
    }
}

/// Milliseconds of a length of time such as `90s`, `5m` or `1h20m`.
pub fn span(text: &str) -> Option<u64> {
    let (mut rest, mut millis) = (text.trim(), 0_u64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let units = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let of = |(name, unit)| Some((rest[digits..].strip_prefix(name)?, unit));
        let (after, unit) = units.into_iter().find_map(of)?;
        millis = millis.checked_add(number.checked_mul(unit)?)?;
        rest = after.trim_start();
    }
    Some(millis)
}

fn time_of_day(text: &str) -> Option<u32> {
    let parts: Vec<u32> = text
        .split(':')
        .map(|part| part.parse().ok().filter(|_| part.len() <= 2))
        .collect::<Option<_>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// The length of a recording, and where its iterations begin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Timeline {
    pub first: Timestamp,
    pub last: Timestamp,
    /// Each iteration with the time of its first session.
    pub iterations: Vec<(u32, Timestamp)>,
}

impl Timeline {
    pub fn of(events: &[RunEvent]) -> Self {
        let first = events.first().map(|event| event.at).unwrap_or_default();
        let last = events.iter().map(|event| event.at).fold(first, Timestamp::max);
        let mut iterations: Vec<(u32, Timestamp)> = Vec::new();
        for event in events {
            if let Fact::IterationStarted { iteration, .. } = &event.fact
                && iterations.iter().all(|(known, _)| known != iteration)
            {
                iterations.push((*iteration, event.at));
            }
        }
        Self { first, last, iterations }
    }

    /// The time of a place; `None` where the recording has no such iteration.
    pub fn find(&self, place: Place, zone: &Zone) -> Option<Timestamp> {
        Some(match place {
            Place::Iteration(wanted) => {
                self.iterations.iter().find(|(number, _)| *number == wanted)?.1
            }
            Place::Percent(percent) => {
                let millis = self.millis().saturating_mul(u64::from(percent));
                self.first.plus_millis(millis.div_ceil(100))
            }
            Place::After(millis) => self.first.plus_millis(millis),
            Place::TimeOfDay(seconds) => self.first.next_time_of_day(seconds, zone),
            Place::At(at) => at,
        })
    }

    /// Where the iteration before the one at this time begins, or the recording.
    pub fn before(&self, at: Timestamp) -> Timestamp {
        let begun = self.iterations.iter().filter(|(_, began)| *began <= at);
        begun.map(|(_, began)| *began).rev().nth(1).unwrap_or(self.first)
    }

    /// Where the next iteration begins, or the end of the recording.
    pub fn after(&self, at: Timestamp) -> Timestamp {
        let next = self.iterations.iter().find(|(_, began)| *began > at);
        next.map_or(self.last, |(_, began)| *began)
    }

    /// How long the recording is.
    pub const fn millis(&self) -> u64 {
        self.last.millis_since(self.first)
    }

    /// How much of it is over at this time, in percent.
    pub fn percent(&self, at: Timestamp) -> u8 {
        let passed = at.min(self.last).millis_since(self.first).saturating_mul(100);
        passed.checked_div(self.millis()).map_or(100, |percent| percent.min(100) as u8)
    }
}

/// Decides when what comes next is shown.
#[derive(Debug, Clone)]
pub struct Pacer {
    speed: Speed,
    paused: bool,
    /// Longer pauses of the recording are shortened to this, in recorded milliseconds.
    longest: Option<u64>,
    /// The recorded time of what was shown last.
    at: Option<Timestamp>,
    /// Recorded microseconds that have passed since then.
    passed: u64,
    /// When the caller last asked.
    now: Duration,
}

/// So much of the time that a slow reader has lost is made up for.
const LATE: Duration = Duration::from_millis(250);

impl Pacer {
    pub const fn new(speed: Speed, longest: Option<u64>) -> Self {
        Self { speed, paused: false, longest, at: None, passed: 0, now: Duration::ZERO }
    }

    pub const fn speed(&self) -> Speed {
        self.speed
    }

    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    pub fn set_speed(&mut self, speed: Speed, now: Duration) {
        self.advance(now);
        self.speed = speed;
    }

    pub fn pause(&mut self, paused: bool, now: Duration) {
        self.advance(now);
        self.paused = paused;
    }

    /// How much recorded time has passed since what was shown last.
    pub fn since_shown(&mut self, now: Duration) -> Duration {
        self.advance(now);
        Duration::from_micros(self.passed)
    }

    /// How long it still takes until what was recorded at `next` is shown; `None` while the replay is paused.
    pub fn wait(&mut self, next: Timestamp, now: Duration) -> Option<Duration> {
        self.advance(now);
        if self.paused {
            return None;
        }
        let Self { speed: Speed(Some(speed)), .. } = *self else { return Some(Duration::ZERO) };
        let left = self.gap(next).saturating_sub(self.passed);
        let real = left.saturating_mul(1_000).div_ceil(u64::from(speed));
        Some(Duration::from_micros(real))
    }

    /// What was recorded at `at` is shown now.
    pub fn shown(&mut self, at: Timestamp, now: Duration) {
        self.advance(now);
        self.passed = self.passed.saturating_sub(self.gap(at)).min(self.recorded(LATE));
        self.at = Some(at);
    }

    /// Everything up to `at` is shown at once, or is no longer shown.
    pub fn jump(&mut self, at: Timestamp, now: Duration) {
        self.advance(now);
        (self.at, self.passed) = (Some(at), 0);
    }

    /// Recorded microseconds from what was shown last until `next`.
    fn gap(&self, next: Timestamp) -> u64 {
        let millis = self.at.map_or(0, |at| next.millis_since(at));
        millis.min(self.longest.unwrap_or(u64::MAX)).saturating_mul(1_000)
    }

    fn advance(&mut self, now: Duration) {
        let real = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        if !self.paused {
            self.passed = self.passed.saturating_add(self.recorded(real));
        }
    }

    /// How much recorded time passes in so much real time, in microseconds.
    fn recorded(&self, real: Duration) -> u64 {
        let micros = u64::try_from(real.as_micros()).unwrap_or(u64::MAX);
        self.speed.0.map_or(0, |speed| micros.saturating_mul(u64::from(speed)) / 1_000)
    }
}

/// Where a replay is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The recorded time that it is now. While the replay jumps, the time to which it jumps.
    pub at: Timestamp,
    pub speed: Speed,
    pub paused: bool,
    /// Everything was shown. The user may still jump back.
    pub ended: bool,
}

/// What a display lets the user do with a replay. Its stream obeys at once, also while it waits.
pub trait PlaybackControl: Send + Sync {
    fn timeline(&self) -> Timeline;

    fn position(&self) -> Position;

    fn set_speed(&self, speed: Speed);

    fn pause(&self, paused: bool);

    /// Goes to a time of the recording: what comes before it is delivered at once. After a jump backwards the run joins
    /// the stream once more, and everything starts over.
    fn seek(&self, to: Timestamp);
}

#[cfg(test)]
mod tests;
