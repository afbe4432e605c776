//! Checks whether the files of the repository may decide what runs, and what waits for approval.

use ralph_core::trust::Standing;
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::Config;
use crate::trust::decisions;
use crate::wire::Context;

/// The check, and whether the gates may run.
pub(super) fn look(project: &Project, config: &Config, context: &Context<'_>) -> (Check, bool) {
    let decisions = decisions(project, config);
    let standing = match context.standing(!decisions.is_empty()) {
        Ok(standing) => standing,
        Err(error) => return (Check::error("trust", &error), false),
    };
    // The gates say which files they come from.
    let _ = context.test_command(project);
    let waiting = context.take_replaced();
    let check = match (standing, waiting.as_slice()) {
        (Standing::Asks, _) => Check::fail(
            "trust",
            "you have not approved the files that decide what ralph runs here; gates skipped",
        )
        .remedy("review and approve them: ralph trust"),
        (_, [_, ..]) => Check::warn("trust", waiting.join("; ")).remedy("ralph trust"),
        (Standing::Approved, []) => Check::ok("trust", "you approved this repository"),
        (Standing::Yours, []) if decisions.is_empty() => {
            Check::ok("trust", "no file here decides what ralph runs")
        }
        (Standing::Yours, []) => Check::ok("trust", "created here: its files are yours"),
    };
    (check, standing != Standing::Asks)
}
