//! Time as data. There is no `now()` here: whoever calls says what time it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A time zone, as data: nothing here asks the system for its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(jiff::tz::TimeZone);

impl Zone {
    pub const UTC: Self = Self(jiff::tz::TimeZone::UTC);

    pub const fn new(zone: jiff::tz::TimeZone) -> Self {
        Self(zone)
    }

    /// The zone of a POSIX rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    pub fn posix(rule: &str) -> Option<Self> {
        jiff::tz::TimeZone::posix(rule).ok().map(Self)
    }
}

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    pub const fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add((seconds as i64).saturating_mul(1000)))
    }

    pub const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add_unsigned(millis))
    }

    /// Milliseconds from `earlier` to this; 0 when that was not earlier.
    pub const fn millis_since(self, earlier: Self) -> u64 {
        let millis = self.0.saturating_sub(earlier.0);
        if millis > 0 { millis.unsigned_abs() } else { 0 }
    }

    /// When its day began, in UTC.
    pub const fn day_began(self) -> Self {
        const DAY: i64 = 24 * 3600 * 1000;
        Self(self.0.saturating_sub(self.0.rem_euclid(DAY)))
    }

    /// Its day in UTC, as `YYYY-MM-DD`.
    pub fn day(self) -> String {
        let mut text = self.civil(&Zone::UTC);
        text.truncate(text.find(' ').unwrap_or(text.len()));
        text
    }

    /// As `YYYY-MM-DD HH:MM:SS` in a zone.
    pub fn civil(self, zone: &Zone) -> String {
        self.formatted(zone, "%Y-%m-%d %H:%M:%S")
    }

    /// The same with the name of the zone: what users read in logs.
    pub fn labeled(self, zone: &Zone) -> String {
        self.formatted(zone, "%Y-%m-%d %H:%M:%S %Z")
    }

    /// The time of day with the name of the zone, `14:05:00 CET`.
    pub fn clock(self, zone: &Zone) -> String {
        self.formatted(zone, "%H:%M:%S %Z")
    }

    /// The first time from its second on at which clocks in this zone show so many seconds of a day.
    pub fn next_time_of_day(self, seconds: u32, zone: &Zone) -> Self {
        let Ok(time) = jiff::Timestamp::from_second(self.0.div_euclid(1000)) else { return self };
        let here = time.to_zoned(zone.0.clone());
        let fields = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let on = |day: jiff::civil::Date| {
            let (hour, minute, second) = (fields.0 as i8, fields.1 as i8, fields.2 as i8);
            day.at(hour, minute, second, 0).to_zoned(zone.0.clone()).ok()
        };
        let days = [Some(here.date()), here.date().tomorrow().ok()];
        let found = days.into_iter().flatten().filter_map(on).find(|then| *then >= here);
        found.map_or(self, |then| Self(then.timestamp().as_millisecond()))
    }

    fn formatted(self, zone: &Zone, format: &str) -> String {
        match jiff::Timestamp::from_second(self.0.div_euclid(1000)) {
            Ok(time) => time.to_zoned(zone.0.clone()).strftime(format).to_string(),
            Err(_) => self.to_string(),
        }
    }

    /// `YYYYMMDD-HHMMSS` in UTC, for file names.
    pub fn compact(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => time.strftime("%Y%m%d-%H%M%S").to_string(),
            Err(_) => self.0.to_string(),
        }
    }

    /// Reads an RFC 3339 time such as `2026-11-15T02:45:00Z`.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Self(t.as_millisecond()))
    }
}

/// RFC 3339 in UTC, to the second: what people and JSON readers see.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.div_euclid(1000)) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected an RFC 3339 time"))
    }
}

/// `12s`, `4m 12s`, `1h 02m 05s`: whole seconds.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m {seconds:02}s"),
        _ => format!("{hours}h {minutes:02}m {seconds:02}s"),
    }
}

/// A moment to the millisecond, for `#[serde(with = "millis")]`: the journal must fold to what was
/// there when it was written.
pub mod millis {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;

    fn text(at: Timestamp) -> String {
        match jiff::Timestamp::from_millisecond(at.as_millis()) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => at.to_string(),
        }
    }

    pub fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text(*at))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        Timestamp::deserialize(from)
    }

    /// The same for a moment that may be missing.
    pub mod option {
        use serde::{Deserialize, Deserializer, Serializer};

        use super::Timestamp;

        pub fn serialize<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => super::serialize(at, to),
                None => to.serialize_none(),
            }
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            Option::deserialize(from)
        }
    }
}

/// How long a claim holds without being renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(u64);

impl Lease {
    /// What a claim gets when nobody says otherwise: 600 seconds.
    pub const DEFAULT: Self = Self(600);
    /// The longest lease: a week. A forgotten claim must end some day.
    pub const MAX_SECONDS: u64 = 7 * 24 * 3600;

    /// A lease of so many seconds, from 1 to [`Lease::MAX_SECONDS`].
    pub fn seconds(seconds: u64) -> Option<Self> {
        (1..=Self::MAX_SECONDS).contains(&seconds).then_some(Self(seconds))
    }

    pub const fn as_seconds(self) -> u64 {
        self.0
    }

    /// When a claim made or renewed at `now` ends.
    pub fn ends(self, now: Timestamp) -> Timestamp {
        now.plus_seconds(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_they_are_written() {
        let time = Timestamp::from_millis(1_794_710_700_000);
        assert_eq!(time.to_string(), "2026-11-15T02:45:00Z");
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        assert_eq!(Timestamp::parse("2026-11-15T03:45:00+01:00"), Some(time));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn users_read_the_time_of_their_own_zone_with_its_name() {
        let time = Timestamp::from_millis(1_794_710_700_999);
        assert_eq!(time.civil(&Zone::UTC), "2026-11-15 02:45:00");
        assert_eq!(time.labeled(&Zone::UTC), "2026-11-15 02:45:00 UTC");
        let vienna = Zone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(time.clock(&vienna), "03:45:00 CET");
        let summer = Timestamp::parse("2026-07-01T12:00:00Z").unwrap();
        assert_eq!(summer.labeled(&vienna), "2026-07-01 14:00:00 CEST");
        let newfoundland = Zone::posix("<-0330>3:30").unwrap();
        assert_eq!(time.labeled(&newfoundland), "2026-11-14 23:15:00 -0330");
        assert_eq!(Timestamp::from_millis(-1).civil(&vienna), "1970-01-01 00:59:59");
        assert_eq!(Timestamp::from_millis(i64::MAX).civil(&vienna), "9223372036854775807ms");
    }

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let time = Timestamp::from_millis(1_794_710_700_999);
        assert_eq!(time.day(), "2026-11-15");
        assert_eq!(time.day_began().to_string(), "2026-11-15T00:00:00Z");
        assert_eq!(time.day_began().day_began(), time.day_began());
        assert_eq!(Timestamp::from_millis(-1).day(), "1969-12-31");
        assert_eq!(Timestamp::from_millis(-1).day_began().as_millis(), -86_400_000);
    }

    #[test]
    fn a_lease_is_bounded() {
        assert_eq!(Lease::seconds(0), None);
        assert_eq!(Lease::seconds(Lease::MAX_SECONDS + 1), None);
        let ends = Lease::DEFAULT.ends(Timestamp::from_millis(0));
        assert_eq!(ends, Timestamp::from_millis(600_000));
    }
}
