//! The agent fails in a way that another session would not change.

use super::View;
use crate::run::class::Class;
use crate::run::outcome::StopReason;
use crate::run::state::RunState;
use crate::text::with_detail;

/// After so many tasks in a row whose requests the provider rejects, the cause is not the tasks: the run stops.
const MOST_PARKED: u32 = 3;

pub(super) fn exhausted(view: View<'_>) -> Option<StopReason> {
    let class = view.state.exhausted?;
    if class == Class::Red && view.state.hook_refused {
        let output = view.state.last_error.clone().unwrap_or_default();
        let why = output.strip_prefix("red: ").unwrap_or(&output).to_owned();
        return Some(StopReason::GitFailed { why });
    }
    if class == Class::Red {
        return Some(StopReason::GatesFailed);
    }
    Some(StopReason::AgentFailed { why: why(view.state, class), class: Some(class) })
}

pub(super) fn needs_user_action(view: View<'_>) -> Option<StopReason> {
    let stuck = |class: &Class| {
        class.parks() && (!view.state.last_parked || view.state.parked_in_a_row >= MOST_PARKED)
    };
    let class = view.state.last_class.filter(|class| class.needs_user_action() || stuck(class))?;
    // Another agent goes on.
    if view.state.last_limited && !view.state.agents.is_out_of_credit() {
        return None;
    }
    let mut why = why(view.state, class);
    let (login, agents) = (&view.state.policy.login, &view.state.agents);
    let remedy = match (class, agents.name(agents.current())) {
        // The settings are about the preferred agent.
        (Class::Auth, _) if agents.current() == 0 && !login.is_empty() => Some(login.clone()),
        // The remedy of the class names the login of Claude Code.
        (Class::Auth, agent) if !matches!(agent, "" | "claude" | "script") => {
            Some(format!("log in to {agent}, or set its API key and name it in agent.env"))
        }
        _ => class.remedy().map(str::to_owned),
    };
    if let Some(remedy) = remedy {
        why = format!("{}; {remedy}", why.trim_end_matches('.'));
    }
    Some(StopReason::AgentFailed { why, class: Some(class) })
}

/// The class in words, with what was said about it last.
fn why(state: &RunState, class: Class) -> String {
    let named = format!("{class}: ");
    let output = state.last_error.as_deref().and_then(|error| error.strip_prefix(&named));
    with_detail(class.words(), output.unwrap_or_default())
}
