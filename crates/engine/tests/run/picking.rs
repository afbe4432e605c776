//! The preset `pick`: the agent chooses from a look at the plan, the loop cleans up and counts.

use ralph_core::run::{Class, Fact, StopReason, Wait};
use ralph_core::task::{RetryLimit, Status, TaskPatch};
use ralph_core::{AgentId, Lease};
use ralph_engine::ports::{ClaimRequest, DeleteWhich, Scope};

use crate::kit::{Play, Played, World, crashes, picks, says, task_id, user};

fn picking(tasks: &[&str]) -> World {
    World::new(tasks).picking()
}

fn claims(world: &World, agent: &str, task: &str) {
    let request = ClaimRequest {
        agent: AgentId::new(agent).unwrap(),
        task: Some(task_id(task)),
        scope: Scope::All,
        lease: Lease::DEFAULT,
    };
    world.store().claim(&request, world.now()).unwrap();
}

/// A session that claims these tasks and leaves them.
fn leaves(tasks: &[&str]) -> Play {
    tasks.iter().fold(says("bye"), |play, task| play.asks(&["claim", task]))
}

fn blocked(world: &World) {
    let deps = Some(vec![task_id("a")]);
    world.add("b", TaskPatch { deps, ..TaskPatch::default() });
}

#[test]
fn s0_2_an_empty_plan_is_success_and_no_session() {
    let mut world = picking(&["a"]);
    let which = DeleteWhich::Ids(vec![task_id("a")]);
    world.store().delete(which, &user(), world.now()).unwrap();
    let played = world.build([picks("a")]);
    assert_eq!((played.outcome.code(), played.sessions), (0, 0), "{:?}", played.reason());
    assert_eq!(picking(&[]).build([]).outcome.code(), 0);
}

#[test]
fn s0_2_blocked_tasks_are_named_and_strict_reports_them() {
    let mut world = picking(&["a"]);
    blocked(&world);
    world.store().hold(&task_id("a"), &user(), world.now()).unwrap();
    let played = world.build([]);
    assert_eq!((played.outcome.code(), played.outcome.left.blocked), (0, 1));
    let sentence = played.outcome.sentence();
    assert!(sentence.contains("1 blocked"), "{sentence}");
    assert!(sentence.contains("Stopped: nothing is ready."), "{sentence}");
    world.policy.strict_exit = true;
    assert_eq!(world.build([]).outcome.code(), 7);
    // A blocker that failed leaves its dependents blocked, too.
    let mut world = picking(&["a"]).policy(|policy| policy.strict_exit = true);
    blocked(&world);
    claims(&world, "other", "a");
    let by = ralph_core::task::Actor::Agent(AgentId::new("other").unwrap(), None);
    let limit = RetryLimit::Unlimited;
    world.store().fail(&task_id("a"), "no way", true, limit, &by, world.now()).unwrap();
    assert_eq!(world.build([]).outcome.code(), 7);
}

#[test]
fn s0_6_the_loop_claims_nothing_and_the_agent_claims_what_it_likes() {
    let first = Play::default().does(|inside| {
        let counts = inside.store().counts(&Scope::All).unwrap();
        assert_eq!((counts.open, counts.active, counts.done, counts.blocked), (2, 0, 0, 0));
    });
    let first = first.asks(&["claim", "b"]).asks(&["done", "b"]).writes("b.txt", "b\n");
    let played = picking(&["a", "b"]).build([first.says("did b"), picks("a")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!((played.status("a"), played.status("b")), (Status::Done, Status::Done));
    assert_eq!(
        played.commits(),
        ["build: iteration 1 - Title of b", "build: iteration 2 - Title of a"]
    );
}

#[test]
fn s0_7_s0_8_s0_9_every_task_that_a_session_leaves_is_failed_and_no_other() {
    let mut world = picking(&["a", "b", "c", "d"]).once();
    claims(&world, "other", "c");
    let played = world.build([leaves(&["a", "b"])]);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    for id in ["a", "b"] {
        let task = played.task(id);
        assert_eq!(task.status, Status::Pending);
        assert_eq!(task.reason.as_deref(), Some("session exited without completing task"));
        assert_eq!((task.retry_count, task.claim), (1, None));
    }
    let other = played.task("c");
    assert_eq!(other.status, Status::InProgress);
    assert_eq!(other.claim.unwrap().agent.as_str(), "other");
    assert_eq!(played.task("d").retry_count, 0);
}

#[test]
fn s0_8_a_session_that_crashes_or_is_killed_leaves_nothing_active() {
    let played = picking(&["a"]).once().build([crashes(9).asks(&["claim", "a"])]);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count), (Status::Pending, 1));
    assert_eq!(played.store().counts(&Scope::All).unwrap().active, 0);
}

fn kinds(played: &Played) -> Vec<&'static str> {
    let kind = |fact: &Fact| match fact {
        Fact::IterationStarted { .. } => Some("iteration_started"),
        Fact::TaskSettled { .. } => Some("task_settled"),
        Fact::PlanCounted { .. } => Some("plan_counted"),
        Fact::IterationEnded { .. } => Some("iteration_ended"),
        Fact::RunEnded { .. } => Some("run_ended"),
        _ => None,
    };
    played.facts().filter_map(kind).collect()
}

#[test]
fn s0_10_s0_12_cleaning_up_comes_first_then_the_count_then_the_next_iteration() {
    let played = picking(&["a"]).build([leaves(&["a"]), picks("a")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(
        kinds(&played),
        [
            // The first look, then two iterations. A count is reported only when it differs.
            "plan_counted",
            "iteration_started",
            "task_settled",
            "iteration_ended",
            "iteration_started",
            "task_settled",
            "plan_counted",
            "iteration_ended",
            "run_ended"
        ]
    );
    let first = played.facts().find_map(|fact| match fact {
        Fact::TaskSettled { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(first, Some("session exited without completing task"));
}

#[test]
fn s0_11_nothing_open_and_nothing_active_ends_the_run_without_another_session() {
    // A second session would find no play and fail the run.
    let played = picking(&["a"]).build([picks("a")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!((played.classes(), played.sessions), (vec![Class::Done], 1));
}

#[test]
fn s0_14_promises_are_text_in_build_mode() {
    let promise = "<promise>Tastes Like Burning.</promise> <promise>COMPLETE</promise>";
    let first = says(promise).asks(&["claim", "a"]).asks(&["done", "a"]).writes("a.txt", "a\n");
    let played = picking(&["a", "b"]).build([first, picks("b")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!((played.status("b"), played.classes().len()), (Status::Done, 2));
}

#[test]
fn claims_of_others_are_waited_out_until_their_leases_end() {
    // In this world time passes at once: the claim ends by its lease.
    let mut world = picking(&["a"]);
    claims(&world, "other", "a");
    let played = world.build([picks("a")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let at = |so: fn(&Fact) -> bool| played.facts().position(so).unwrap();
    let waits =
        at(|fact| matches!(fact, Fact::WaitStarted { wait: Wait::Others { tasks: 1 }, .. }));
    assert!(waits < at(|fact| matches!(fact, Fact::IterationStarted { .. })));
    assert_eq!(played.status("a"), Status::Done);
}
