//! Durations, money, tokens and data in words.

pub use ralph_core::amounts::{money, tokens};
pub use ralph_core::time::duration;

/// A duration that may be short: `0.8s`, `12.4s`, then as [`duration`].
pub fn short_duration(millis: u64) -> String {
    // What would be shown as 60.0s is a minute.
    if millis < 59_950 {
        let tenths = (millis + 50) / 100;
        format!("{}.{}s", tenths / 10, tenths % 10)
    } else {
        duration(millis + 500)
    }
}

/// A duration of which tenths matter only while it is short: `0.8s`, then as [`duration`].
pub fn brief_duration(millis: u64) -> String {
    // What would be shown as 10.0s is ten seconds.
    if millis < 9_950 { short_duration(millis) } else { duration(millis.max(10_000)) }
}

/// An amount of data: `17 B`, `1.2 kB`, `3.4 MB`.
pub fn bytes(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_clock() {
        let shown = [999, 12_000, 252_999, 3_725_000, 360_000_000].map(duration);
        assert_eq!(shown, ["0s", "12s", "4m 12s", "1h 02m 05s", "100h 00m 00s"]);
        let shown = [40, 840, 12_449, 59_949, 59_950, 252_000].map(short_duration);
        assert_eq!(shown, ["0.0s", "0.8s", "12.4s", "59.9s", "1m 00s", "4m 12s"]);
        let shown = [40, 840, 9_949, 9_950, 12_900, 94_600].map(brief_duration);
        assert_eq!(shown, ["0.0s", "0.8s", "9.9s", "10s", "12s", "1m 34s"]);
    }

    #[test]
    fn money_is_never_rounded_to_nothing() {
        let shown = [0, 100, 4_200, 9_949, 9_950, 81_234, 3_424_999, u64::MAX].map(money);
        let huge = "$18446744073709.55";
        assert_eq!(
            shown,
            ["$0.00", "$0.0001", "$0.0042", "$0.0099", "$0.01", "$0.08", "$3.42", huge]
        );
    }

    #[test]
    fn tokens_have_at_most_three_digits_or_one_decimal() {
        let shown = [0, 999, 1_000, 84_400, 999_499, 999_500, 1_240_000].map(tokens);
        assert_eq!(shown, ["0", "999", "1k", "84k", "999k", "1.0M", "1.2M"]);
    }
}
