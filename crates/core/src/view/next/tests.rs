//! The right command for every end.

use super::*;
use crate::agent::Usage;
use crate::run::{Budget, Outcome, Planned};
use crate::task::Counts;
use crate::view::EndedTask;

fn ended(reason: StopReason) -> RunView {
    let left = Counts { open: 1, done: 1, ..Counts::default() };
    RunView {
        mode: "build".to_owned(),
        preset: "dag".to_owned(),
        agent: "claude".to_owned(),
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
            planned: None,
        }),
        ..RunView::default()
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn every_end_has_its_commands() {
    let failed = |class| StopReason::AgentFailed { why: text("why"), class };
    let budget = |budget| StopReason::Budget { what: text("what"), budget };
    let rows: Vec<(StopReason, &[&str])> = vec![
        (StopReason::Complete, &[]),
        (StopReason::Session, &[]),
        (StopReason::Marker { text: text("COMPLETE") }, &["ralph task list"]),
        (StopReason::NoPlan { why: None }, &["ralph plan", "ralph task add \"What to do\""]),
        (StopReason::Asked { question: text("?") }, &["ralph feature create  --answer \"…\""]),
        (StopReason::Blocked { why: text("why") }, &["ralph task tree"]),
        (StopReason::Cancelled, &["ralph build"]),
        (StopReason::Limit { sessions: 1, remaining: 1 }, &["ralph build"]),
        (StopReason::Error { why: text("why") }, &["ralph build"]),
        (StopReason::Idle { iterations: 2 }, &["ralph logs", "ralph build"]),
        (StopReason::Failure, &["ralph logs", "ralph build"]),
        (StopReason::GatesFailed, &["ralph logs", "ralph build"]),
        (StopReason::Breaker { errors: 3 }, &["ralph logs", "ralph build"]),
        (StopReason::GitFailed { why: text("why") }, &["git status", "ralph build"]),
        (budget(None), &["ralph build"]),
        (budget(Some(Allowance::Money)), &["ralph build --budget 1.00"]),
        (budget(Some(Allowance::Tokens)), &["ralph build --set budget.tokens=200"]),
        (budget(Some(Allowance::Time)), &["ralph build --set budget.time=120s"]),
        (budget(Some(Allowance::Day)), &["ralph build --set budget.day_usd=2.00"]),
        (failed(None), &["ralph logs", "ralph build"]),
        (failed(Some(Class::Crash)), &["ralph logs", "ralph build"]),
        (failed(Some(Class::Auth)), &["claude", "ralph build"]),
        (failed(Some(Class::Forbidden)), &["ralph build --model MODEL"]),
        (failed(Some(Class::UnknownModel)), &["ralph build --model MODEL"]),
        (failed(Some(Class::Billing)), &["ralph build"]),
        (failed(Some(Class::NotStarted)), &["ralph doctor", "ralph build"]),
    ];
    for (reason, commands) in rows {
        assert_eq!(next(&ended(reason.clone())), commands, "{reason:?}");
    }
}

#[test]
fn a_failed_task_is_looked_at_and_retried_whatever_ended_the_run() {
    for reason in [StopReason::Complete, StopReason::Limit { sessions: 1, remaining: 0 }] {
        let mut view = ended(reason);
        let id = crate::ids::TaskId::new("pay").unwrap();
        view.failed_tasks.push(EndedTask { id, title: text("Pay"), reason: text("red") });
        let commands = next(&view);
        assert!(commands.contains(&text("ralph task show pay")), "{commands:?}");
        assert!(commands.contains(&text("ralph retry pay")), "{commands:?}");
    }
}

#[test]
fn after_planning_comes_building_and_no_look_at_commits() {
    let mut view = ended(StopReason::Marker { text: text("COMPLETE") });
    (view.mode, view.commit_count, view.head) = (text("plan"), 1, Some(text("0123456789")));
    view.planned = Some(Planned { tasks: 4, file: text("implementation_plan.md") });
    assert_eq!(next(&view), ["ralph build"]);
    view.planned = Some(Planned { tasks: 4, file: text("docs/plan.md") });
    assert_eq!(next(&view), ["ralph build docs/plan.md"]);
}

#[test]
fn a_plan_that_is_complete_is_not_to_be_built_again() {
    for reason in [StopReason::Cancelled, StopReason::Limit { sessions: 2, remaining: 0 }] {
        let mut view = ended(reason.clone());
        assert_eq!(next(&view), ["ralph build"]);
        if let Some(outcome) = &mut view.outcome {
            outcome.left = Counts { done: 2, ..Counts::default() };
        }
        assert_eq!(next(&view), Vec::<String>::new(), "{reason:?}");
    }
}

#[test]
fn the_log_is_that_of_the_branch_that_was_worked_on() {
    let mut view = ended(StopReason::Complete);
    view.head = Some("0123456789abcdef".to_owned());
    view.commit_count = 2;
    assert_eq!(next(&view), ["git log --oneline 0123456.."]);
    view.branch = Some("one".to_owned());
    assert_eq!(next(&view), ["git log --oneline 0123456..one"]);
}

#[test]
fn the_branch_that_a_task_waits_for_is_to_be_merged_first() {
    let mut view = ended(StopReason::Blocked { why: text("why") });
    view.merges = vec![NeedsMerge {
        task: crate::TaskId::new("b").unwrap(),
        needs: crate::TaskId::new("a").unwrap(),
        branch: text("feat"),
    }];
    assert_eq!(next(&view), ["git merge feat", "ralph task tree"]);
}
