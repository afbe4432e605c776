//! Budgets per run, task and day: when they hold a task or stop the run, and what is said before.

use super::*;
use crate::run::{Allowance, Cancel, Control, Notice, StopReason};

/// The session costs so many cents.
fn costs(play: Play, cents: u64) -> Play {
    let cost_micro_usd = Some(cents * 10_000);
    Play { usage: Usage { input_tokens: 10, cost_micro_usd, ..Usage::default() }, ..play }
}

fn dag_with(budget: Budget) -> Policy {
    Policy { budget, ..dag() }
}

fn per_task(cents: u64) -> Budget {
    Budget { task_micro_usd: cents * 10_000, ..Budget::default() }
}

fn per_day(cents: u64) -> Budget {
    Budget { day_micro_usd: cents * 10_000, ..Budget::default() }
}

fn notices(world: &World) -> Vec<&Notice> {
    let mut found = Vec::new();
    for fact in &world.facts {
        if let Fact::Noticed { notice } = fact {
            found.push(notice);
        }
    }
    found
}

#[test]
fn a_task_that_used_up_its_budget_waits_for_the_user_and_the_run_goes_on() {
    let back = || costs(says("not there yet"), 30);
    let world = World::run(dag_with(per_task(50)), 2, &[back(), back(), costs(done(), 30)]);
    assert_eq!(world.statuses(), ["waiting", "done"]);
    assert_eq!(world.ended_as(), "Blocked", "what is left waits for a person");
    assert_eq!(
        world.settlements[1].tasks[0].action,
        Some(TaskAction::Hold {
            reason: "the budget for one task is used up: $0.60 of $0.50 (budget.task_usd), \
                     last: no signal"
                .to_owned()
        })
    );
}

#[test]
fn a_task_over_its_budget_is_left_to_the_user_before_a_session_starts() {
    let mut world = World::new(dag_with(per_task(50)), 2);
    world.spent[0] = 600_000;
    world.play(&[costs(done(), 30)]);
    assert_eq!((world.statuses(), world.sessions), (vec!["waiting", "done"], 1));
    let text = "t-0 is waiting for you: the budget for one task is used up: $0.60 of $0.50 (budget.task_usd)";
    assert!(notices(&world).contains(&&Notice::Other { text: text.to_owned() }));
}

#[test]
fn the_cost_of_a_session_is_that_of_the_first_task_it_held() {
    let mut world = World::new(dag(), 2);
    world.spent = vec![50_000, 70_000];
    let task = world.brief(0);
    let mut report = world.report(Some(task), &costs(done(), 30));
    report.held.push(world.brief(1));
    let spent = |number: usize| settle::spent(&report, &report.held[number]);
    assert_eq!([spent(0), spent(1)], [350_000, 70_000]);
}

#[test]
fn a_red_attempt_is_held_too_and_a_done_or_failed_one_is_what_it_is() {
    let red = World::run(dag_with(per_task(50)), 1, &[costs(done().gate(false), 50)]);
    assert_eq!(red.statuses(), ["waiting"]);
    let good = World::run(dag_with(per_task(50)), 1, &[costs(done(), 90)]);
    assert_eq!((good.statuses(), good.ended_as()), (vec!["done"], "Complete"));
    let failed = costs(says("<task-failed>{id}</task-failed>"), 90);
    assert_eq!(World::run(dag_with(per_task(50)), 1, &[failed]).statuses(), ["failed"]);
}

#[test]
fn without_a_budget_for_tasks_they_may_cost_anything() {
    let back = costs(says("not there yet"), 1_000_000);
    let world = World::run(dag_with(Budget::default()), 1, &[back, done()]);
    assert_eq!((world.statuses(), notices(&world).len()), (vec!["done"], 0));
}

#[test]
fn a_task_close_to_its_budget_is_reported_once() {
    let back = |cents| costs(says("not there yet"), cents);
    let plays = [back(85), back(5), costs(done(), 1)];
    let world = World::run(dag_with(per_task(100)), 1, &plays);
    let near = Notice::BudgetNear {
        budget: Allowance::Task,
        task: TaskId::new("t-0").ok(),
        used: 850_000,
        limit: 1_000_000,
    };
    assert_eq!(notices(&world), [&near]);
}

#[test]
fn the_day_is_asked_before_each_session_and_counts_what_other_runs_spent() {
    let mut world = World::new(dag_with(per_day(100)), 3);
    world.day = 300_000;
    world.play(&[costs(done(), 40), costs(done(), 40)]);
    assert_eq!(
        (world.statuses(), world.ended_as()),
        (vec!["done", "done", "pending"], "BudgetReached")
    );
    let what = "money for today, all runs together: $1.10 of $1.00";
    let budget = Some(Allowance::Day);
    assert_eq!(world.outcome().reason, StopReason::Budget { what: what.to_owned(), budget });
    // Nothing is started on a day that is used up, and a finished plan is finished.
    let mut spent = World::new(dag_with(per_day(100)), 1);
    spent.day = 1_000_000;
    spent.play(&[]);
    assert_eq!((spent.ended_as(), spent.sessions), ("BudgetReached", 0));
    let last = World::run(dag_with(per_day(100)), 1, &[costs(done(), 500)]);
    assert_eq!(last.ended_as(), "Complete");
}

#[test]
fn each_budget_of_the_run_is_reported_once_at_eighty_percent() {
    let budget = Budget { micro_usd: 1_000_000, tokens: 35, ..per_day(1_000) };
    let plays = [costs(done(), 40), costs(done(), 41), costs(done(), 1), costs(done(), 1)];
    let mut world = World::new(dag_with(budget), 4);
    world.day = 7_500_000;
    world.play(&plays);
    let near: Vec<(Allowance, u64)> = notices(&world)
        .into_iter()
        .map(|notice| match notice {
            Notice::BudgetNear { budget, used, .. } => (*budget, *used),
            other => panic!("{other:?}"),
        })
        .collect();
    use Allowance::{Day, Money, Tokens};
    assert_eq!(near, [(Money, 810_000), (Day, 8_310_000), (Tokens, 30)]);
    assert_eq!(world.ended_as(), "Complete");
}

#[test]
fn a_budget_that_is_overrun_in_one_go_stops_the_run_without_a_warning() {
    let budget = Budget { micro_usd: 500_000, ..Budget::default() };
    let world = World::run(dag_with(budget), 2, &[costs(done(), 60)]);
    assert_eq!(notices(&world), Vec::<&Notice>::new());
    let what = "money for this run: $0.60 of $0.50".to_owned();
    let budget = Some(Allowance::Money);
    assert_eq!(world.outcome().reason, StopReason::Budget { what, budget });
}

#[test]
fn a_finished_plan_is_complete_even_if_the_budget_is_used_up() {
    let mut world = World::new(dag_with(per_day(1)), 1);
    world.tasks[0].0 = Status::Done;
    world.day = 20_000;
    world.play(&[]);
    assert_eq!(world.ended_as(), "Complete");
}

#[test]
fn a_missing_price_is_reported_once_where_money_is_counted() {
    let silent = || Play { usage: Usage { input_tokens: 10, ..Usage::default() }, ..done() };
    let world = World::run(dag_with(per_day(1)), 2, &[silent(), silent()]);
    assert_eq!((notices(&world), world.ended_as()), (vec![&Notice::Unpriced], "Complete"));
    let tokens = Budget { tokens: 1_000, ..Budget::default() };
    assert_eq!(notices(&World::run(dag_with(tokens), 1, &[silent()])), Vec::<&Notice>::new());
}

#[test]
fn a_cancelled_attempt_comes_back_whatever_it_cost() {
    let mut world = World::new(dag_with(per_task(10)), 1);
    world.begin();
    let plays = [costs(says("half"), 90)];
    let mut plays = plays.iter();
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if matches!(effect, Effect::RunSession { .. }) {
            world.send(&Input::Control(Control::Cancel(Cancel::Kill)));
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    assert_eq!((world.statuses(), world.ended_as()), (vec!["pending"], "Cancelled"));
}
