//! Values that the preset decides when the configuration leaves them to it.

use super::resolved::Config;
use super::value::View;

/// How often a task is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retries {
    /// So many times.
    AtMost(u32),
    /// For as long as it takes.
    Unlimited,
}

/// How often a task is tried again: `loop.max_retries`, or what the preset says. `auto` counts as
/// `dag`, which is the preset of the store.
pub fn retry_limit(config: &Config) -> Retries {
    match config.view("loop.max_retries") {
        View::Whole(number) => Retries::AtMost(u32::try_from(number).unwrap_or(u32::MAX)),
        View::Text("unlimited") => Retries::Unlimited,
        _ => match config.text("preset") {
            "branches" | "pick" => Retries::Unlimited,
            _ => Retries::AtMost(3),
        },
    }
}
