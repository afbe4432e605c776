//! The commands to type after a run, for every display: the steps of [`table`] with the names, files and amounts of
//! the run, and before and after them what waits for the user whatever ended the run. Pure; it knows a run only by
//! its [`RunView`].

pub mod table;

use std::collections::HashSet;

use self::table::{CommandKind, EndState, NextStep};
use super::run_view::RunView;
use super::words::{again, of_feature};
use crate::run::{NeedsMerge, PublishEnd};
use crate::shell::quoted;

/// For how many questions and tasks commands are shown.
const MOST: usize = 3;

/// Plans that `ralph build` finds without an argument.
pub(super) const FOUND: [&str; 3] =
    ["IMPLEMENTATION_PLAN.md", "implementation_plan.md", "progress.md"];

/// What to type after the run, in order; nothing while it has not ended.
pub fn next(view: &RunView) -> Vec<String> {
    let Some(end) = EndState::of(view) else { return vec![] };
    let kind = CommandKind::of(&view.mode);
    let answers = view.questions.iter().map(|asked| format!("ralph answer {} \"…\"", asked.id));
    let mut commands: Vec<String> = answers.take(MOST).collect();
    commands.extend(view.merges.iter().map(NeedsMerge::command).take(MOST));
    let all = || view.failed_tasks.iter().chain(&view.held_tasks);
    let left = || all().filter(|task| !task.approval).take(MOST);
    let approvals = || all().filter(|task| task.approval).take(MOST);
    let waits = !commands.is_empty() || all().next().is_some();
    let steps = table::steps(end, kind).iter().copied();
    // The tree is for where no task is named.
    let steps = steps.filter(|step| !(waits && *step == NextStep::TaskTree));
    commands.extend(steps.map(|step| command(step, view)));
    if let Some(made) = view.publication.as_ref().filter(|made| made.is_warning()) {
        commands.extend(Some(made.command.clone()).filter(|command| !command.is_empty()));
        if made.end != PublishEnd::ByHand {
            commands.push(again(view));
        }
    }
    commands.extend(approvals().map(|task| format!("ralph diff {}", task.id)));
    commands.extend(approvals().map(|task| format!("ralph approve {}", task.id)));
    commands.extend(left().map(|task| format!("ralph task show {}", task.id)));
    commands.extend(left().map(|task| format!("ralph retry {}", task.id)));
    // What the user decided takes effect with the next run.
    if waits && !commands.iter().any(|command| command.starts_with(&again(view))) {
        commands.push(again(view));
    }
    // Commits are worth a look once nothing has to be fixed first.
    let works = matches!(kind, CommandKind::Build | CommandKind::Prompt) && !end.is_trouble();
    if let (true, Some(head)) = (works && view.commit_count > 0, &view.head) {
        let branch = view.branch.as_deref().unwrap_or_default();
        commands.push(format!("git log --oneline {}..{branch}", head.get(..7).unwrap_or(head)));
    }
    let mut seen = HashSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    commands
}

/// What to type after trouble, and why; nothing after a run that ended as it should.
pub fn after_trouble(view: &RunView) -> Vec<(String, &'static str)> {
    let Some(end) = EndState::of(view).filter(|end| end.is_trouble()) else { return vec![] };
    let steps = table::steps(end, CommandKind::of(&view.mode)).iter();
    steps.map(|step| (command(*step, view), step.as_str())).collect()
}

pub fn command(step: NextStep, view: &RunView) -> String {
    let (again, budget) = (again(view), view.budget);
    let usd = |micro: u64| format!("{:.2}", micro.saturating_mul(2) as f64 / 1e6);
    match step {
        NextStep::Again => again,
        NextStep::AgainWithModel => format!("{again} --model MODEL"),
        NextStep::AgainWithShorterPrompt => format!("{again} --set prompts.budget_tokens=N"),
        // A single session has no flag for a budget.
        NextStep::AgainWithMoney if CommandKind::of(&view.mode) == CommandKind::Prompt => {
            format!("{again} --set budget.usd={}", usd(budget.micro_usd))
        }
        NextStep::AgainWithMoney => format!("{again} --budget {}", usd(budget.micro_usd)),
        NextStep::AgainWithTokens => {
            format!("{again} --set budget.tokens={}", budget.tokens.saturating_mul(2))
        }
        NextStep::AgainWithTime => {
            let seconds = budget.time_ms.saturating_mul(2).div_ceil(1000);
            let time = match (seconds % 3600, seconds % 60) {
                (0, _) => format!("{}h", seconds / 3600),
                (_, 0) => format!("{}m", seconds / 60),
                _ => format!("{seconds}s"),
            };
            format!("{again} --set budget.time={time}")
        }
        NextStep::AgainWithMoneyToday => {
            format!("{again} --set budget.day_usd={}", usd(budget.day_micro_usd))
        }
        NextStep::ReadPlan => format!("less {}", quoted(plan_file(view))),
        NextStep::BuildPlan => match plan_file(view) {
            file if FOUND.contains(&file) => "ralph build".to_owned(),
            file => format!("ralph build {}", quoted(file)),
        },
        NextStep::WritePlan => "ralph plan".to_owned(),
        NextStep::AddTask => "ralph task add \"What to do\"".to_owned(),
        NextStep::Answer => format!("ralph feature create {} --answer \"…\"", of_feature(view)),
        NextStep::LogIn => login(&view.agent).to_owned(),
        NextStep::Doctor => "ralph doctor".to_owned(),
        NextStep::Logs => "ralph logs".to_owned(),
        NextStep::TaskList => "ralph task list".to_owned(),
        NextStep::TaskTree => "ralph task tree".to_owned(),
        NextStep::GitStatus => "git status".to_owned(),
    }
}

fn plan_file(view: &RunView) -> &str {
    view.planned.as_ref().map_or(FOUND[1], |planned| &planned.file)
}

/// The command that logs the agent in; where ralph knows none, the one that says what is missing.
fn login(agent: &str) -> &str {
    match agent {
        "claude" => "claude",
        _ => "ralph doctor",
    }
}

#[cfg(test)]
mod tests;
