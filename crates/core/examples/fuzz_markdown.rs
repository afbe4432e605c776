//! Changes plans at random for some seconds: `cargo run --example fuzz_markdown -- 600 [SEED]`.
//!
//! A round that breaks a promise panics; the seed that is printed before it repeats it.

#[path = "../tests/fuzz/mod.rs"]
mod fuzz;

use std::io::Write as _;
use std::time::Duration;

#[expect(clippy::disallowed_methods, reason = "this program is told how long to run")]
fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (seconds, mut seed) = (numbers.next().unwrap_or(10), numbers.next().unwrap_or(1));
    let start = std::time::Instant::now();
    let mut out = std::io::stdout().lock();
    while start.elapsed() < Duration::from_secs(seconds) {
        writeln!(out, "seed {seed}")?;
        let mut random = fuzz::Random(seed);
        for _ in 0..1_000 {
            fuzz::round(&mut random);
        }
        seed += 1;
    }
    writeln!(out, "nothing found")
}
