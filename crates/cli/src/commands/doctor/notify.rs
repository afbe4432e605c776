//! Checks the notification channels.

use ralph_engine::notify::Channel;

use super::check::Check;
use crate::config::Config;
use crate::launch::wished_notifiers;
use crate::wiring::Context;

/// A line for the channels that work, and one for each missing program; none if no channel is set.
pub(super) fn channels(config: &Config, context: &Context<'_>) -> Vec<Check> {
    let wished = match wished_notifiers(config, context) {
        Ok(wished) => wished,
        Err(error) => return vec![Check::error("notify", &error)],
    };
    let names: Vec<&str> = wished.channels.iter().map(Channel::name).collect();
    let works =
        (!names.is_empty()).then(|| Check::ok("notify", format!("through {}", names.join(", "))));
    let missing = wished.missing.into_iter();
    let missing = missing.map(|one| Check::warn("notify", one.says).remedy(one.remedy));
    works.into_iter().chain(missing).collect()
}
