//! Budgets per run, task and day, and what is said before they are used up.

use ralph_core::run::{Budget, Class, Notice, StopReason};
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Play, Played, START, World, hits_limit, picks, says, works};

const CENT: u64 = 10_000;

/// A session of this price that does its task.
fn works_for(cents: u64) -> Play {
    works().costs(cents * CENT)
}

/// A session of this price that gets nowhere.
fn idles_for(cents: u64) -> Play {
    says("thinking").costs(cents * CENT)
}

fn per_task(cents: u64) -> Budget {
    Budget { task_micro_usd: cents * CENT, ..Budget::default() }
}

fn nears(played: &Played) -> usize {
    played.notices().filter(|notice| matches!(notice, Notice::BudgetNear { .. })).count()
}

#[test]
fn a_budget_that_was_lowered_holds_tasks_before_another_session_starts() {
    let mut world = World::new(&["a", "b"]).once();
    world.build([idles_for(30)]);
    world.policy.max_sessions = None;
    world.policy.budget = per_task(20);
    let played = world.build([works_for(10)]);
    assert_eq!(played.outcome.code(), 7, "{:?}", played.reason());
    assert_eq!((played.status("a"), played.status("b")), (Status::Waiting, Status::Done));
    assert!(played.noticed().contains("a is waiting for you"), "{}", played.noticed());
}

#[test]
fn eighty_percent_of_a_budget_is_reported_once() {
    let mut world = World::new(&["a", "b", "c"]);
    world.policy.budget = Budget { micro_usd: 100 * CENT, ..Budget::default() };
    let played = world.build([works_for(85), works_for(5), works_for(5)]);
    assert_eq!((played.reason(), nears(&played)), (&StopReason::Complete, 1));
    let output = "budget nearly used up (money for this run): $0.85 of $1.00";
    assert!(played.noticed().contains(output), "{}", played.noticed());
}

#[test]
fn where_the_agent_picks_its_task_is_held_after_the_session() {
    let mut world = World::new(&["a", "b"]).picking().policy(|policy| policy.budget = per_task(50));
    let left = says("that was hard").asks(&["claim", "a"]).costs(60 * CENT);
    let played = world.build([left, picks("b").costs(10 * CENT)]);
    assert_eq!((played.status("a"), played.status("b")), (Status::Waiting, Status::Done));
    let log = played.log("a");
    assert!(log.contains("the budget for one task is used up"), "{log}");
}

#[test]
fn s4_20_a_usage_limit_costs_neither_a_session_nor_a_retry() {
    let limit = || hits_limit(START + 1_000);
    let mut world =
        World::new(&["a"]).once().policy(|policy| policy.retries = RetryLimit::AtMost(0));
    let played = world.build([limit(), limit(), works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count), (Status::Done, 0));
    assert_eq!(played.classes(), [Class::UsageWindow, Class::UsageWindow, Class::Done]);
    assert_eq!(played.iterations(), [1, 1, 1]);
    assert_eq!(played.outcome.iterations, 1);
}
