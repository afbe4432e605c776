//! Checks whether the files of the repository may decide what runs, and what waits for approval.

use ralph_core::trust::TrustState;
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::Config;
use crate::trust::decisions;
use crate::wiring::Context;

/// The check, and whether the gates may run.
pub(super) fn inspect(project: &Project, config: &Config, context: &Context<'_>) -> (Check, bool) {
    let decisions = decisions(project, config);
    let trust_state = match context.trust_state(!decisions.is_empty()) {
        Ok(trust_state) => trust_state,
        Err(error) => return (Check::error("trust", &error), false),
    };
    // The gates say which files they come from.
    let _ = context.test_command(project);
    let waiting = context.take_replaced();
    let check = match (trust_state, waiting.as_slice()) {
        (TrustState::Asks, _) => Check::fail(
            "trust",
            "you have not approved the files that decide what ralph runs here; gates skipped",
        )
        .remedy("review and approve them: ralph trust"),
        (_, [_, ..]) => Check::warn("trust", waiting.join("; ")).remedy("ralph trust"),
        (TrustState::Approved, []) => Check::ok("trust", "you approved this repository"),
        (TrustState::Yours, []) if decisions.is_empty() => {
            Check::ok("trust", "no file here decides what ralph runs")
        }
        (TrustState::Yours, []) => Check::ok("trust", "created here: its files are yours"),
    };
    (check, trust_state != TrustState::Asks)
}
