//! A replay on the screen: where it is, and what the user does with it. Such a display shows recorded time, and it
//! controls nothing but the replay.

use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::playback::{Place, PlaybackControl, Position, Speed, Timeline};

use super::keys::Command;

/// What a key that controls a run gets as its answer.
pub(super) const CONTROLS_NOTHING: &str =
    "a replay controls nothing (ralph watch shows what runs now)";

/// What the replay is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Play {
    Pause(bool),
    Speed(Speed),
    Seek(Timestamp),
}

impl Play {
    pub(super) fn ask(self, control: &dyn PlaybackControl) {
        match self {
            Self::Pause(paused) => control.pause(paused),
            Self::Speed(speed) => control.set_speed(speed),
            Self::Seek(to) => control.seek(to),
        }
    }
}

/// The recording, and where the replay is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replay {
    pub(super) timeline: Timeline,
    pub(super) position: Position,
}

impl Replay {
    pub(super) fn of(control: &dyn PlaybackControl) -> Self {
        Self { timeline: control.timeline(), position: control.position() }
    }

    /// What a key asks for.
    pub(super) fn play(&self, command: Command) -> Option<Play> {
        let Position { at, speed, paused, ended } = self.position;
        Some(match command {
            Command::PlayPause if ended && !paused => Play::Seek(self.timeline.first),
            Command::PlayPause => Play::Pause(!paused),
            Command::Faster => Play::Speed(speed.faster()),
            Command::Slower => Play::Speed(speed.slower()),
            Command::Earlier => Play::Seek(self.timeline.before(at)),
            Command::Later => Play::Seek(self.timeline.after(at)),
            Command::Tenth(tenth) => {
                Play::Seek(self.timeline.find(Place::Percent(tenth * 10), &Zone::UTC)?)
            }
            _ => return None,
        })
    }

    /// The jump to a place that the user has typed, or why there is none.
    pub(super) fn go_to(&self, text: &str, zone: &Zone) -> Result<Play, &'static str> {
        let place = Place::parse(text)
            .ok_or("type an iteration (12), a percentage (80%), a length of time (1h20m) or a time (14:30)")?;
        let at = self.timeline.find(place, zone).ok_or("the run has no such iteration")?;
        match at > self.timeline.last {
            true => Err("that is after the end of the run"),
            false => Ok(Play::Seek(at)),
        }
    }

    /// The number of the iteration at this place, and of the last one.
    pub(super) fn iteration(&self) -> Option<(u32, u32)> {
        let begun = self.timeline.iterations.iter().rev();
        let (number, _) = begun.clone().find(|(_, began)| *began <= self.position.at)?;
        Some((*number, begun.map(|(number, _)| *number).max()?))
    }
}
