//! The only place that reads the clock and the time zone.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::time::Zone;

use crate::crash::pause;
use crate::ports::Clock;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
pub fn now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp::from_millis(
        since_1970.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)),
    )
}

/// The zone of the user: `TZ`, else the zone of the system, else UTC.
pub fn zone() -> Zone {
    Zone::new(jiff::tz::TimeZone::try_system().unwrap_or(jiff::tz::TimeZone::UTC))
}

/// A stopwatch on the monotonic clock, for waits and durations.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the monotonic clock"
    )]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The clock of the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let left = Duration::from_millis(at.millis_since(self.now()));
        Box::pin(tokio::time::sleep(pause(left)))
    }
}
