//! How long to wait before the next try. Randomness is an argument: `jitter` lies between 0 and 1,
//! and 1 gives the full time.

use std::time::Duration;

/// The longest wait for a temporary failure.
pub const MAX_TRANSIENT: Duration = Duration::from_secs(60);
/// The longest wait between two tries during a usage limit of unknown length.
pub const MAX_PROBE: Duration = Duration::from_secs(15 * 60);

/// After the `failures`-th failure in a row by rate limit, overload or network: 2^n seconds up to a
/// minute. Jitter takes away at most half, so that many loops do not retry at the same moment.
pub fn transient(failures: u32, jitter: f64) -> Duration {
    let full = doubled(Duration::from_secs(1), failures, MAX_TRANSIENT);
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    full.mul_f64(0.5 + 0.5 * jitter)
}

/// Before the `probe`-th try (from 1) during a usage limit without a reset time: 1, 2, 4, 8, then every 15
/// minutes.
pub fn usage_probe(probe: u32) -> Duration {
    doubled(Duration::from_secs(60), probe.saturating_sub(1), MAX_PROBE)
}

fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    1_u32
        .checked_shl(times)
        .and_then(|factor| first.checked_mul(factor))
        .map_or(most, |wait| wait.min(most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let seconds: Vec<u64> = (0..9).map(|n| transient(n, 1.0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(transient(3, 0.0), Duration::from_secs(4));
        assert_eq!(transient(3, 0.5), Duration::from_secs(6));
        assert_eq!(transient(40, 1.0), MAX_TRANSIENT);
    }

    #[test]
    fn an_unknown_window_is_probed_ever_more_rarely() {
        let minutes: Vec<u64> = (1..8).map(|n| usage_probe(n).as_secs() / 60).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 15, 15, 15]);
        assert_eq!(usage_probe(0), usage_probe(1));
    }

    proptest! {
        #[test]
        fn any_count_and_jitter_give_a_wait_in_bounds(n in any::<u32>(), jitter in any::<f64>()) {
            let wait = transient(n, jitter);
            prop_assert!(wait >= Duration::from_millis(500) && wait <= MAX_TRANSIENT);
            prop_assert!(usage_probe(n) <= MAX_PROBE);
        }
    }
}
