//! How runs end, and what is left of them.

use ralph_core::run::{Budget, Class, Fact, StopReason};
use ralph_core::task::Status;

use ralph_engine::ports::Store;

use crate::kit::{World, crashes, done, says};

#[test]
fn a_plan_is_worked_through_task_by_task() {
    let plays = ["a", "b", "c"].map(|name| done().writes(&format!("{name}.txt"), name));
    let played = World::new(&["a", "b", "c"]).plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.sessions, 3);
    assert_eq!(
        played.commits(),
        ["a", "b", "c"].map(|name| {
            let number = u32::from(name.as_bytes()[0] - b'a') + 1;
            format!("build: iteration {number} - Title of {name}")
        })
    );
    for name in ["a", "b", "c"] {
        assert_eq!(played.task(name).status, Status::Done);
        assert_eq!(played.vcs.read(&format!("{name}.txt")).as_deref(), Some(name));
    }
    let ends = played.facts().filter(|fact| matches!(fact, Fact::RunEnded { .. })).count();
    assert_eq!(ends, 1);
}

#[test]
fn a_question_parks_its_task_and_the_others_go_on() {
    let ask = says("<question>Which port?</question>").writes("half.txt", "half");
    let played = World::new(&["port", "other"]).plays([ask, done().writes("other.txt", "x")]).run();
    assert!(matches!(played.reason(), StopReason::Blocked { .. }), "{:?}", played.reason());
    assert_eq!(played.task("port").status, Status::Waiting);
    assert_eq!(played.task("other").status, Status::Done);
    let questions = played.store().questions(None, true).unwrap();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].text, "Which port?");
}

#[test]
fn the_limit_of_sessions_leaves_the_rest_open() {
    let mut world =
        World::new(&["a", "b", "c"]).plays([done().writes("a", "1"), done().writes("b", "1")]);
    world.policy.max_sessions = Some(2);
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Limit { .. }), "{:?}", played.reason());
    assert_eq!((played.sessions, played.outcome.left.open, played.outcome.left.done), (2, 1, 2));
}

#[test]
fn a_budget_that_is_used_up_starts_nothing_more() {
    let mut world = World::new(&["a", "b"]).plays([done().writes("a", "1").costs(700_000)]);
    world.policy.budget = Budget { micro_usd: 500_000, ..Budget::default() };
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Budget { .. }), "{:?}", played.reason());
    assert_eq!(played.sessions, 1);
    assert_eq!(played.outcome.usage.cost_micro_usd, Some(700_000));
    assert_eq!(played.task("b").status, Status::Pending);
}

#[test]
fn sessions_that_crash_stop_the_run_at_the_breaker() {
    let mut world = World::new(&["a"]).plays([1, 1, 1].map(crashes));
    world.policy.breaker = 3;
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Breaker { .. }), "{:?}", played.reason());
    assert_eq!(played.sessions, 3);
    let classes: Vec<Class> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::IterationEnded { class, .. } => Some(*class),
            _ => None,
        })
        .collect();
    assert_eq!(classes, [Class::Crash; 3]);
}

#[test]
fn an_agent_that_says_failure_stops_the_run_and_keeps_its_work() {
    let play = says("<promise>FAILURE</promise>").writes("half.txt", "half");
    let played = World::new(&["a", "b"]).plays([play]).run();
    assert!(matches!(played.reason(), StopReason::Failure), "{:?}", played.reason());
    assert_eq!(played.commits(), Vec::<String>::new());
    assert!(played.vcs.refs().keys().any(|name| name.starts_with("refs/ralph/wip/a/")));
}
