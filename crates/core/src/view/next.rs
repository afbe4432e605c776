//! The next commands to type after a run: one table from the outcome to commands, for every display. Pure; it
//! knows a run only by its [`RunView`].

use super::run_view::RunView;
use super::words::{again, of_feature};
use crate::run::{Allowance, Class, NeedsMerge, PublishEnd, StopReason};

/// For how many questions and tasks commands are shown.
const MOST: usize = 3;

/// Plans that `ralph build` finds without an argument.
const FOUND: [&str; 3] = ["IMPLEMENTATION_PLAN.md", "implementation_plan.md", "progress.md"];

/// What to type after the run, the best first; nothing while it has not ended.
pub fn next(view: &RunView) -> Vec<String> {
    let Some(outcome) = &view.outcome else { return vec![] };
    let mut commands: Vec<String> = view
        .questions
        .iter()
        .take(MOST)
        .map(|question| format!("ralph answer {} \"…\"", question.id))
        .collect();
    commands.extend(view.merges.iter().map(NeedsMerge::command).take(MOST));
    commands.extend(by_reason(&outcome.reason, view));
    if let Some(made) = view.publication.as_ref().filter(|made| made.is_warning()) {
        commands.extend(Some(made.command.clone()).filter(|command| !command.is_empty()));
        if made.end != PublishEnd::ByHand {
            commands.push(again(view));
        }
    }
    let left = || view.failed_tasks.iter().chain(&view.held_tasks).take(MOST);
    commands.extend(left().map(|task| format!("ralph task show {}", task.id)));
    commands.extend(left().map(|task| format!("ralph retry {}", task.id)));
    if let (true, "build", Some(head)) = (view.commit_count > 0, view.mode.as_str(), &view.head) {
        let branch = view.branch.as_deref().unwrap_or_default();
        commands.push(format!("git log --oneline {}..{branch}", head.get(..7).unwrap_or(head)));
    }
    let mut seen: Vec<String> = Vec::new();
    commands.retain(|command| {
        let new = !seen.contains(command);
        seen.push(command.clone());
        new
    });
    commands
}

/// The table from outcome to commands.
fn by_reason(reason: &StopReason, view: &RunView) -> Vec<String> {
    let again = again(view);
    let open = view.outcome.as_ref().map_or(0, |outcome| outcome.left.unresolved());
    match reason {
        StopReason::Complete
        | StopReason::Marker { .. }
        | StopReason::Idle { .. }
        | StopReason::Limit { .. }
            if view.planned.is_some() =>
        {
            view.planned.iter().map(|planned| build(&planned.file)).collect()
        }
        StopReason::Complete | StopReason::Session => vec![],
        StopReason::Marker { .. } if open == 0 => vec![],
        StopReason::Marker { .. } => vec!["ralph task list".to_owned()],
        StopReason::NoPlan { .. } => {
            vec!["ralph plan".to_owned(), "ralph task add \"What to do\"".to_owned()]
        }
        StopReason::Asked { .. } => {
            vec![format!("ralph feature create {} --answer \"…\"", of_feature(view))]
        }
        StopReason::Blocked { .. } => vec!["ralph task tree".to_owned()],
        StopReason::AgentFailed { class: Some(class), .. } => for_class(*class, view),
        StopReason::Failure
        | StopReason::GatesFailed
        | StopReason::AgentFailed { class: None, .. }
        | StopReason::Breaker { .. }
        | StopReason::Idle { .. } => vec!["ralph logs".to_owned(), again],
        StopReason::GateUnusable { .. } => vec!["ralph doctor".to_owned(), again],
        StopReason::GitFailed { .. } => vec!["git status".to_owned(), again],
        StopReason::Budget { budget, .. } => vec![raised(*budget, view)],
        StopReason::Cancelled | StopReason::Limit { .. } if is_done(view) => vec![],
        StopReason::Cancelled | StopReason::Limit { .. } | StopReason::Error { .. } => vec![again],
    }
}

/// Whether the plan has tasks, and none of them is left for another run.
fn is_done(view: &RunView) -> bool {
    let left = view.outcome.as_ref().map(|outcome| outcome.left).unwrap_or_default();
    left.total() > 0 && left.unresolved() == 0
}

/// The commands after a failure of the agent that retrying cannot fix.
fn for_class(class: Class, view: &RunView) -> Vec<String> {
    let again = again(view);
    match class {
        Class::Auth => vec![login(&view.agent).to_owned(), again],
        Class::Forbidden | Class::UnknownModel => vec![format!("{again} --model MODEL")],
        Class::TooLong => {
            let budget = "--set prompts.budget_tokens=N";
            vec![format!("{again} {budget}"), format!("{again} --model MODEL")]
        }
        Class::NotStarted => vec!["ralph doctor".to_owned(), again],
        Class::Billing => vec![again],
        _ => vec!["ralph logs".to_owned(), again],
    }
}

/// The command that logs the agent in.
fn login(agent: &str) -> &str {
    match agent {
        "claude" => "claude",
        _ => "ralph doctor",
    }
}

fn build(file: &str) -> String {
    match FOUND.contains(&file) {
        true => "ralph build".to_owned(),
        false => format!("ralph build {file}"),
    }
}

/// The same run with twice the budget that stopped it.
fn raised(which: Option<Allowance>, view: &RunView) -> String {
    let (again, budget) = (again(view), view.budget);
    let usd = |micro: u64| format!("{:.2}", micro.saturating_mul(2) as f64 / 1e6);
    match which {
        Some(Allowance::Money) => format!("{again} --budget {}", usd(budget.micro_usd)),
        Some(Allowance::Tokens) => {
            format!("{again} --set budget.tokens={}", budget.tokens.saturating_mul(2))
        }
        Some(Allowance::Time) => {
            format!(
                "{again} --set budget.time={}s",
                budget.time_ms.saturating_mul(2).div_ceil(1000)
            )
        }
        Some(Allowance::Day) => {
            format!("{again} --set budget.day_usd={}", usd(budget.day_micro_usd))
        }
        Some(Allowance::Task) | None => again,
    }
}

#[cfg(test)]
mod tests;
