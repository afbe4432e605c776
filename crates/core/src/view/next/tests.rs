//! The right command for every end.

use super::table::{ROWS, steps};
use super::*;
use crate::agent::Usage;
use crate::ids::{QuestionId, TaskId};
use crate::run::{
    Allowance, Budget, Class, NeedsMerge, Outcome, Planned, Publication, PublishEnd, StopReason,
};
use crate::task::Counts;
use crate::view::{EndedTask, QuestionView};

fn text(text: &str) -> String {
    text.to_owned()
}

const OPEN: Counts = Counts { open: 1, done: 1, ..NONE };
const DONE: Counts = Counts { done: 2, ..NONE };
const NONE: Counts =
    Counts { open: 0, active: 0, done: 0, blocked: 0, deleted: 0, failed: 0, waiting: 0 };

fn ended(reason: StopReason, left: Counts) -> RunView {
    RunView {
        mode: text("build"),
        preset: text("dag"),
        agent: text("claude"),
        target: text("all tasks"),
        budget: Budget {
            micro_usd: 500_000,
            tokens: 100,
            time_ms: 60_000,
            day_micro_usd: 1_000_000,
            ..Budget::default()
        },
        outcome: Some(Outcome {
            reason,
            left,
            iterations: 1,
            successful: 1,
            failed: 0,
            usage: Usage::default(),
            duration_ms: 1,
            strict: false,
            failed_task: None,
            unpublished: false,
            asked: None,
            planned: None,
        }),
        ..RunView::default()
    }
}

/// A run of `kind` that ended so, with an example of the reason.
fn example(end: EndState, kind: CommandKind) -> RunView {
    let why = || text("why");
    let failed = |class| StopReason::AgentFailed { why: text("why"), class };
    let budget = |budget| StopReason::Budget { what: text("what"), budget: Some(budget) };
    let (reason, left) = match end {
        EndState::PlanWritten => (StopReason::Idle { iterations: 2 }, NONE),
        EndState::AllDone => (StopReason::Complete, DONE),
        EndState::SomeFailed => (StopReason::Complete, Counts { failed: 1, ..DONE }),
        EndState::NothingToDo => (StopReason::Complete, NONE),
        EndState::NothingReady => (StopReason::Complete, Counts { blocked: 1, ..DONE }),
        EndState::DeclaredDone => (StopReason::Marker { text: text("COMPLETE") }, OPEN),
        EndState::SessionDone => (StopReason::Session, OPEN),
        EndState::NoPlan => (StopReason::NoPlan { why: None }, NONE),
        EndState::Asked => (StopReason::Asked { question: text("?") }, NONE),
        EndState::Blocked => (StopReason::Blocked { why: why() }, Counts { blocked: 1, ..DONE }),
        EndState::AgentGaveUp => (StopReason::Failure, OPEN),
        EndState::GatesFailed => (StopReason::GatesFailed, OPEN),
        EndState::GateUnusable => (StopReason::GateUnusable { why: why() }, OPEN),
        EndState::LoggedOut => (failed(Some(Class::Auth)), OPEN),
        EndState::NoAccess => (failed(Some(Class::Forbidden)), OPEN),
        EndState::OutOfCredit => (failed(Some(Class::Billing)), OPEN),
        EndState::UnknownModel => (failed(Some(Class::UnknownModel)), OPEN),
        EndState::PromptTooLong => (failed(Some(Class::TooLong)), OPEN),
        EndState::NotStarted => (failed(Some(Class::NotStarted)), OPEN),
        EndState::AgentFailed => (failed(Some(Class::Crash)), OPEN),
        EndState::ErrorsInARow => (StopReason::Breaker { errors: 3 }, OPEN),
        EndState::GitFailed => (StopReason::GitFailed { why: why() }, OPEN),
        EndState::OutOfMoney => (budget(Allowance::Money), OPEN),
        EndState::OutOfTokens => (budget(Allowance::Tokens), OPEN),
        EndState::OutOfTime => (budget(Allowance::Time), OPEN),
        EndState::OutOfMoneyToday => (budget(Allowance::Day), OPEN),
        EndState::Idle => (StopReason::Idle { iterations: 2 }, OPEN),
        EndState::Limit => (StopReason::Limit { sessions: 1, remaining: 1 }, OPEN),
        EndState::Cancelled => (StopReason::Cancelled, OPEN),
        EndState::Error => (StopReason::Error { why: why() }, OPEN),
    };
    let mut view = ended(reason, left);
    view.mode = text(kind.as_str());
    view.target = match kind {
        CommandKind::Build | CommandKind::Plan => text("all tasks"),
        CommandKind::Prompt => text("prompts/a.md"),
        _ => text("feature login"),
    };
    if end == EndState::PlanWritten {
        view.planned = Some(Planned { tasks: 4, file: text("implementation_plan.md") });
    }
    view
}

/// Every row of the table, for the command that most people type.
#[test]
fn every_end_of_a_build_has_its_commands() {
    let rows: Vec<(EndState, &[&str])> = vec![
        (EndState::PlanWritten, &["less implementation_plan.md", "ralph build"]),
        (EndState::AllDone, &[]),
        (EndState::SomeFailed, &[]),
        (EndState::NothingToDo, &["ralph plan", "ralph task add \"What to do\""]),
        (EndState::NothingReady, &["ralph task tree"]),
        (EndState::DeclaredDone, &["ralph task list", "ralph build"]),
        (EndState::SessionDone, &[]),
        (EndState::NoPlan, &["ralph plan", "ralph task add \"What to do\""]),
        (EndState::Blocked, &["ralph task tree"]),
        (EndState::AgentGaveUp, &["ralph logs", "ralph build"]),
        (EndState::GatesFailed, &["ralph logs", "ralph build"]),
        (EndState::GateUnusable, &["ralph doctor", "ralph build"]),
        (EndState::LoggedOut, &["claude", "ralph build"]),
        (EndState::NoAccess, &["ralph build --model MODEL"]),
        (EndState::OutOfCredit, &["ralph build"]),
        (EndState::UnknownModel, &["ralph build --model MODEL"]),
        (
            EndState::PromptTooLong,
            &["ralph build --set prompts.budget_tokens=N", "ralph build --model MODEL"],
        ),
        (EndState::NotStarted, &["ralph doctor", "ralph build"]),
        (EndState::AgentFailed, &["ralph logs", "ralph build"]),
        (EndState::ErrorsInARow, &["ralph logs", "ralph build"]),
        (EndState::GitFailed, &["git status", "ralph build"]),
        (EndState::OutOfMoney, &["ralph build --budget 1.00"]),
        (EndState::OutOfTokens, &["ralph build --set budget.tokens=200"]),
        (EndState::OutOfTime, &["ralph build --set budget.time=2m"]),
        (EndState::OutOfMoneyToday, &["ralph build --set budget.day_usd=2.00"]),
        (EndState::Idle, &["ralph logs", "ralph build"]),
        (EndState::Limit, &["ralph build"]),
        (EndState::Cancelled, &["ralph build"]),
        (EndState::Error, &["ralph doctor", "ralph build"]),
    ];
    for (end, commands) in &rows {
        let view = example(*end, CommandKind::Build);
        assert_eq!(EndState::of(&view), Some(*end), "the example of {end:?}");
        assert_eq!(next(&view), *commands, "{end:?}");
    }
    let asked = EndState::Asked;
    assert!(EndState::ALL.iter().all(|end| *end == asked || rows.iter().any(|row| row.0 == *end)));
    let spec = example(asked, CommandKind::FeatureSpec);
    assert_eq!(next(&spec), ["ralph feature create login --answer \"…\""]);
}

/// The whole table: look at it.
#[test]
fn every_end_of_every_command_has_a_row() {
    let mut shown = String::new();
    for end in EndState::ALL {
        for kind in CommandKind::ALL {
            assert!(ROWS.iter().any(|row| row.end == end && row.kinds.contains(&kind)), "{end:?}");
            let commands = next(&example(end, kind)).join(" | ");
            shown.push_str(&format!("{:16} {:14} {commands}\n", format!("{end:?}"), kind.as_str()));
        }
    }
    let used = |row: &table::Row| row.kinds.iter().any(|kind| steps(row.end, *kind) == row.steps);
    assert!(ROWS.iter().all(used), "a row that no end reaches");
    insta::assert_snapshot!(shown);
}

#[test]
fn no_end_is_followed_by_a_command_that_leads_nowhere() {
    for end in EndState::ALL {
        for kind in CommandKind::ALL {
            let mut view = example(end, kind);
            (view.commit_count, view.head) = (1, Some(text("0123456789")));
            let commands = next(&view);
            let has = |part: &str| commands.iter().any(|command| command.contains(part));
            let plans = !matches!(kind, CommandKind::Build | CommandKind::Prompt);
            assert!(!(plans && has("git log")), "{end:?} {kind:?}: {commands:?}");
            assert!(!(end == EndState::LoggedOut && has("ralph logs")), "{kind:?}: {commands:?}");
            let budget = matches!(
                end,
                EndState::OutOfMoney
                    | EndState::OutOfTokens
                    | EndState::OutOfTime
                    | EndState::OutOfMoneyToday
            );
            let unchanged = commands.contains(&again(&view));
            assert!(!(budget && unchanged), "{end:?} {kind:?}: {commands:?}");
        }
    }
}

#[test]
fn a_failed_task_is_looked_at_retried_and_built_whatever_ended_the_run() {
    let wanted = ["ralph task show pay", "ralph retry pay", "ralph build"];
    let mut view = ended(StopReason::Complete, Counts { failed: 1, ..DONE });
    let pay = TaskId::new("pay").unwrap();
    view.failed_tasks =
        vec![EndedTask { id: pay, title: text("Pay"), reason: text("red"), approval: false }];
    assert_eq!(next(&view), wanted);
    let left = Counts { failed: 1, ..OPEN };
    let tasks = view.failed_tasks.clone();
    for reason in [
        StopReason::Limit { sessions: 1, remaining: 1 },
        StopReason::Cancelled,
        StopReason::Blocked { why: text("why") },
    ] {
        let view = RunView { failed_tasks: tasks.clone(), ..ended(reason.clone(), left) };
        let commands = next(&view);
        assert!(wanted.iter().all(|command| commands.contains(&text(command))), "{commands:?}");
        assert!(!commands.contains(&text("ralph task tree")), "{reason:?}: {commands:?}");
    }
}

#[test]
fn answers_and_merges_come_first_and_then_the_next_run() {
    let mut view = ended(StopReason::Blocked { why: text("why") }, Counts { waiting: 2, ..DONE });
    view.questions = vec![QuestionView {
        id: QuestionId::new("q-1").unwrap(),
        task: TaskId::new("pay").unwrap(),
        text: text("Which?"),
    }];
    view.merges = vec![NeedsMerge {
        task: TaskId::new("b").unwrap(),
        needs: TaskId::new("a").unwrap(),
        branch: text("feat"),
    }];
    assert_eq!(next(&view), ["ralph answer q-1 \"…\"", "git merge feat", "ralph build"]);
}

#[test]
fn a_branch_that_could_not_be_published_is_published_by_the_next_run() {
    let mut view = ended(StopReason::Complete, DONE);
    let failed = Publication::blank(PublishEnd::Failed, "work");
    view.publication = Some(Publication { command: text("gh auth login"), ..failed });
    assert_eq!(next(&view), ["gh auth login", "ralph build"]);
    let by_hand = Publication::blank(PublishEnd::ByHand, "work");
    view.publication = Some(Publication { command: text("gh pr create"), ..by_hand });
    assert_eq!(next(&view), ["gh pr create"]);
}

#[test]
fn after_planning_comes_reading_and_building_and_no_look_at_commits() {
    let mut view = ended(StopReason::Marker { text: text("COMPLETE") }, NONE);
    (view.mode, view.commit_count, view.head) = (text("plan"), 1, Some(text("0123456789")));
    view.planned = Some(Planned { tasks: 4, file: text("implementation_plan.md") });
    assert_eq!(next(&view), ["less implementation_plan.md", "ralph build"]);
    view.planned = Some(Planned { tasks: 4, file: text("docs/my plan.md") });
    assert_eq!(next(&view), ["less 'docs/my plan.md'", "ralph build 'docs/my plan.md'"]);
    view.planned = None;
    assert_eq!(next(&view), ["ralph logs", "ralph plan"], "no plan came of it");
}

#[test]
fn a_plan_that_is_complete_is_not_to_be_built_again() {
    for reason in [StopReason::Cancelled, StopReason::Limit { sessions: 2, remaining: 0 }] {
        assert_eq!(next(&ended(reason.clone(), OPEN)), ["ralph build"]);
        assert_eq!(next(&ended(reason, DONE)), [""; 0]);
    }
}

#[test]
fn the_same_run_again_names_its_plan_its_feature_or_its_task() {
    for (mode, preset, target, command) in [
        ("build", "dag", "all tasks", "ralph build"),
        ("build", "dag", "feature login", "ralph build --feature login"),
        ("build", "pick", "task t-1", "ralph build --task t-1"),
        ("build", "progress", "docs/progress.md", "ralph build docs/progress.md"),
        ("build", "checklist", "my plan.md", "ralph build 'my plan.md'"),
        ("build", "branches", "add-login", "ralph build"),
        ("plan", "dag", "implementation_plan.md", "ralph plan"),
        ("plan", "dag", "TODO.md", "ralph plan TODO.md"),
        ("prompt", "dag", "prompts/a.md", "ralph prompt prompts/a.md"),
        ("feature-spec", "dag", "feature login", "ralph feature create login --interview"),
        ("feature-plan", "dag", "feature login", "ralph feature plan login"),
        ("feature-tasks", "dag", "feature login", "ralph feature build login"),
        ("", "", "", "ralph build"),
    ] {
        let mut view = ended(StopReason::Cancelled, OPEN);
        (view.mode, view.preset, view.target) = (text(mode), text(preset), text(target));
        assert_eq!(next(&view), [command], "{mode} {preset} {target}");
    }
}

#[test]
fn the_log_is_that_of_the_branch_that_was_worked_on() {
    let mut view = ended(StopReason::Complete, DONE);
    view.head = Some("0123456789abcdef".to_owned());
    view.commit_count = 2;
    assert_eq!(next(&view), ["git log --oneline 0123456.."]);
    view.branch = Some("one".to_owned());
    assert_eq!(next(&view), ["git log --oneline 0123456..one"]);
}

#[test]
fn a_journal_of_the_first_version_does_not_name_the_budget() {
    let reason = StopReason::Budget { what: text("what"), budget: None };
    let mut view = ended(reason, OPEN);
    assert_eq!(next(&view), ["ralph build --budget 1.00"]);
    view.budget.micro_usd = 0;
    assert_eq!(next(&view), ["ralph build --set budget.tokens=200"]);
    view.budget.tokens = 0;
    assert_eq!(next(&view), ["ralph build --set budget.time=2m"]);
}

#[test]
fn only_trouble_is_worth_other_commands_than_the_next_run() {
    let after = |end| after_trouble(&example(end, CommandKind::Build));
    assert_eq!(
        after(EndState::LoggedOut),
        [(text("claude"), "log in"), (text("ralph build"), "then run it again")]
    );
    for end in [EndState::AllDone, EndState::Limit, EndState::NothingToDo, EndState::Cancelled] {
        assert_eq!(after(end), [], "{end:?}");
    }
}
