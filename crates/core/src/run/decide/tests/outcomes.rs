//! How runs end: S1's outcomes, the order of the checks, the limit.

use super::*;
use crate::run::{Cancel, Control, Port, StopReason, Wait};

#[test]
fn s1_1_each_outcome_has_its_name_and_its_code() {
    let code = |world: &World, strict| {
        let outcome = world.outcome();
        (outcome.reason.name(), outcome.reason.code(&outcome.left, strict))
    };
    let complete = World::run(dag(), 1, &[done()]);
    assert_eq!(code(&complete, false), ("Complete", 0));
    let failure = World::run(dag(), 1, &[says("<promise>FAILURE</promise>")]);
    assert_eq!(code(&failure, false), ("Failure", 6));
    let once = Policy { max_sessions: Some(1), ..dag() };
    let limit = World::run(once, 2, &[done()]);
    assert_eq!(code(&limit, false), ("LimitReached", 0));
    assert_eq!(code(&limit, true), ("LimitReached", 9));
    let mut blocked = World::new(dag(), 0);
    blocked.stuck = 1;
    blocked.play(&[]);
    assert_eq!(code(&blocked, false), ("Blocked", 7));
    let empty = World::run(dag(), 0, &[]);
    assert_eq!(code(&empty, false), ("NoPlan", 2));
}

#[test]
fn s1_2_complete_is_every_task_done_or_failed() {
    let plays = [done(), says("<task-failed>{id}</task-failed>"), done()];
    let world = World::run(dag(), 3, &plays);
    assert_eq!(world.statuses(), ["done", "failed", "done"]);
    assert_eq!((world.ended_as(), world.sessions), ("Complete", 3));
    let strict = world.outcome().reason.code(&world.outcome().left, true);
    assert_eq!(strict, 1, "strict: a task failed");
}

#[test]
fn s1_3_s1_33_failure_comes_before_any_other_signal_and_gives_the_claim_back() {
    let all =
        "<task-done>{id}</task-done><promise>FAILURE</promise><task-failed>{id}</task-failed>";
    let world = World::run(dag(), 2, &[says(all)]);
    assert_eq!((world.ended_as(), world.sessions), ("Failure", 1));
    assert_eq!(world.settlements[0].tasks[0].action, Some(TaskAction::Release));
    assert_eq!(world.settlements[0].commit, None, "nothing is judged, nothing is committed");
    assert_eq!(world.statuses(), ["pending", "pending"]);
}

#[test]
fn s1_4_s1_39_a_limit_of_n_is_n_sessions() {
    for limit in 1..=4 {
        let policy = Policy { max_sessions: Some(limit), ..dag() };
        let plays = vec![says("not there yet"); limit as usize];
        let world = World::run(policy, 1, &plays);
        assert_eq!((world.ended_as(), world.sessions), ("LimitReached", limit));
        assert_eq!(
            world.outcome().reason.sentence(),
            format!("Stopped: max iterations ({limit}) reached. Tasks remaining: 1")
        );
    }
}

#[test]
fn s1_39_no_limit_ends_when_all_is_done() {
    let policy = Policy { max_sessions: None, ..dag() };
    let world = World::run(policy, 60, &vec![done(); 60]);
    assert_eq!((world.ended_as(), world.sessions), ("Complete", 60));
}

#[test]
fn s1_4_the_last_session_may_finish_the_plan() {
    let policy = Policy { max_sessions: Some(1), ..dag() };
    let world = World::run(policy, 1, &[done()]);
    assert_eq!(world.ended_as(), "Complete", "complete is asked before the limit");
}

#[test]
fn s1_5_blocked_is_unresolved_and_nothing_ready() {
    // A dependent of a failed task never becomes ready.
    let mut deadlock = World::new(dag(), 1);
    deadlock.stuck = 2;
    deadlock.play(&[says("<task-failed>{id}</task-failed>")]);
    assert_eq!(deadlock.ended_as(), "Blocked");
    let output = deadlock.outcome().reason.sentence();
    assert!(output.contains("2 blocked by unfinished or failed tasks"), "{output}");
    // What is left belongs to another agent.
    let mut others = World::new(dag(), 0);
    others.foreign = 1;
    others.play(&[]);
    assert_eq!((others.ended_as(), others.sessions), ("Blocked", 0));
    assert!(others.outcome().reason.sentence().contains("1 claimed by other agents"));
    // The remaining tasks wait for the user.
    let asked = World::run(dag(), 1, &[says("<question>Which port?</question>")]);
    assert_eq!((asked.ended_as(), asked.statuses()), ("Blocked", vec!["waiting"]));
}

#[test]
fn s1_6_no_plan_is_no_task_at_all_and_no_session() {
    let world = World::run(dag(), 0, &[]);
    assert_eq!((world.ended_as(), world.sessions), ("NoPlan", 0));
    assert_eq!(
        world.outcome().reason.sentence(),
        "Implementation plan not found. Run 'ralph plan' first."
    );
}

/// Each row is a plan; the outcome reports the first question.
#[test]
fn s1_13_terminal_checks_in_order() {
    let rows = [
        // tasks, stuck, foreign, what the outcome reports
        (0, 0, 0, "NoPlan"),
        (0, 1, 0, "Blocked"),
        (0, 0, 1, "Blocked"),
    ];
    for (tasks, stuck, foreign, reported) in rows {
        let mut world = World::new(dag(), tasks);
        (world.stuck, world.foreign) = (stuck, foreign);
        world.play(&[]);
        assert_eq!((world.ended_as(), world.sessions), (reported, 0), "{tasks} {stuck} {foreign}");
    }
    let mut resolved = World::new(dag(), 2);
    resolved.tasks[0].0 = Status::Done;
    resolved.tasks[1].0 = Status::Failed;
    resolved.play(&[]);
    assert_eq!((resolved.ended_as(), resolved.sessions), ("Complete", 0));
    // Deleted tasks are no plan.
    let mut deleted = World::new(dag(), 1);
    deleted.tasks[0].0 = Status::Deleted;
    deleted.play(&[]);
    assert_eq!(deleted.ended_as(), "NoPlan");
    // A cancellation is asked before everything.
    let mut cancelled = World::new(dag(), 0);
    cancelled.begin();
    cancelled.send(&Input::Control(Control::Cancel(Cancel::AfterSession)));
    let survey = cancelled.pending.remove(0);
    let input = cancelled.answer(survey, &mut [].iter()).unwrap();
    cancelled.send(&input);
    assert_eq!(cancelled.ended_as(), "Cancelled");
}

#[test]
fn s1_38_all_resolved_after_an_iteration_is_complete_without_another_look() {
    let world = World::run(dag(), 1, &[done()]);
    let surveys = world.facts.iter().filter(|fact| matches!(fact, Fact::Surveying { .. }));
    assert_eq!((world.ended_as(), surveys.count()), ("Complete", 1));
}

#[test]
fn the_budget_stops_the_run_and_not_the_last_task() {
    let policy = Policy { budget: Budget { tokens: 100, ..Budget::default() }, ..dag() };
    let mut world = World::new(policy, 2);
    world.begin();
    world.state.usage = Usage { input_tokens: 60, output_tokens: 40, ..Usage::default() };
    let survey = world.pending.remove(0);
    let input = world.answer(survey, &mut [].iter()).unwrap();
    world.send(&input);
    assert_eq!(world.ended_as(), "BudgetReached");
    assert_eq!(
        world.outcome().reason,
        StopReason::Budget {
            what: "tokens for this run: 100 of 100".to_owned(),
            budget: Some(crate::run::Allowance::Tokens)
        }
    );
}

#[test]
fn s0_2_s0_11_s0_20_where_the_agent_picks_an_empty_plan_is_success() {
    let empty = World::run(pick(), 0, &[]);
    assert_eq!((empty.ended_as(), empty.sessions), ("Complete", 0));
    // A deadlock is success too, as the seed says; strict tells them apart.
    let mut stuck = World::new(pick(), 0);
    stuck.stuck = 1;
    stuck.play(&[]);
    let outcome = stuck.outcome();
    assert_eq!(outcome.reason.code(&outcome.left, false), 0);
    assert_eq!(outcome.reason.code(&outcome.left, true), 7);
    // There is no threshold of retries: ralph retries the task until the limit of sessions.
    let policy = Policy { max_sessions: Some(9), ..pick() };
    let world = World::run(policy, 1, &vec![says("I looked around"); 9]);
    assert_eq!(world.tasks[0].1, 9);
}

/// A world that has come to its first look at the plan.
fn looking(policy: Policy) -> World {
    let mut world = World::new(policy, 1);
    world.begin();
    assert!(matches!(world.pending.remove(0), Effect::Survey { .. }));
    world
}

fn broken(for_good: bool) -> Input {
    let error = "the disk is gone".to_owned();
    Input::PortFailed { slot: 0, port: Port::Store, error, for_good }
}

#[test]
fn s0_3_where_the_agent_picks_a_failing_look_is_transient_and_counts() {
    let mut world = looking(Policy { max_sessions: Some(9), ..pick() });
    for failures in 1..=8 {
        world.send(&broken(false));
        assert!(matches!(world.pending.pop(), Some(Effect::Wake { at: Some(_), .. })));
        assert_eq!(world.state.counted, failures);
        world.send(&Input::Woken { slot: 0 });
        assert_eq!(world.pending.pop(), Some(Effect::Survey { slot: 0 }), "it looks again");
    }
    world.send(&broken(false));
    assert_eq!((world.ended_as(), world.sessions), ("LimitReached", 0));
}

#[test]
fn s0_3_the_waits_grow_up_to_a_minute() {
    let mut world = looking(Policy { max_sessions: None, ..pick() });
    let mut waits = vec![];
    for _ in 0..12 {
        world.send(&broken(false));
        let Some(Effect::Wake { at: Some(at), .. }) = world.pending.pop() else { panic!() };
        waits.push(at.millis_since(world.now));
        world.now = at;
        world.send(&Input::Woken { slot: 0 });
        world.pending.clear();
    }
    assert!(waits[0] <= 2_000 && waits[11] > 20_000, "{waits:?}");
    assert!(waits.iter().all(|wait| (1..=60_000).contains(wait)), "{waits:?}");
}

#[test]
fn s1_51_a_store_that_stays_broken_ends_the_run_with_an_error() {
    let mut world = looking(dag());
    for _ in 0..3 {
        world.send(&broken(false));
        let Some(Effect::Wake { .. }) = world.pending.pop() else { panic!("{:?}", world.facts) };
        world.send(&Input::Woken { slot: 0 });
        assert_eq!(world.pending.pop(), Some(Effect::Survey { slot: 0 }));
    }
    world.send(&broken(false));
    let outcome = world.outcome();
    assert_eq!((outcome.reason.name(), outcome.reason.code(&outcome.left, false)), ("Error", 1));
    assert_eq!(outcome.reason.sentence(), "Stopped by an error: the disk is gone.");
    assert!(outcome.reason.is_interruption(), "the next start goes on");
    // ralph does not retry what a retry cannot fix.
    let mut world = looking(dag());
    world.send(&broken(true));
    assert_eq!(world.ended_as(), "Error");
}

#[test]
fn s1_51_a_claim_is_given_back_when_the_store_fails_for_good() {
    let mut world = looking(dag());
    let survey = world.answer(Effect::Survey { slot: 0 }, &mut [].iter()).unwrap();
    world.send(&survey);
    let claim = world.pending.remove(0);
    let claimed = world.answer(claim, &mut [].iter()).unwrap();
    world.send(&claimed);
    world.send(&broken(true));
    let task = TaskId::new("t-0").unwrap();
    assert!(world.pending.contains(&Effect::Release { slot: 0, task }), "{:?}", world.pending);
    assert_eq!(world.ended_as(), "Error");
}

#[test]
fn s0_13_a_plan_that_cannot_be_counted_is_not_a_finished_one() {
    for policy in [pick(), dag()] {
        let mut world = World::new(policy, 1);
        world.begin();
        let plays = [done()];
        let mut plays = plays.iter();
        let settled = loop {
            let effect = world.pending.remove(0);
            let Some(input) = world.answer(effect, &mut plays) else { continue };
            if let Input::Settled { settled, .. } = input {
                break settled;
            }
            world.send(&input);
        };
        let settled = Box::new(Settled { counts: None, ..*settled });
        world.send(&Input::Settled { slot: 0, settled });
        assert!(world.state.stop.is_none(), "{:?}", world.state.stop);
        assert_eq!(world.pending, [Effect::Survey { slot: 0 }], "tasks may remain: it looks again");
    }
}

#[test]
fn s0_10_cleaning_up_is_reported_before_the_plan_is_counted() {
    let mut world = World::new(Policy { max_sessions: Some(1), ..pick() }, 2);
    world.play(&[says("bye")]);
    let after = world.facts.iter().position(|fact| matches!(fact, Fact::SessionEnded { .. }));
    let reported: Vec<&Fact> = world.facts[after.unwrap()..]
        .iter()
        .filter(|fact| matches!(fact, Fact::TaskSettled { .. } | Fact::StopDecided { .. }))
        .collect();
    let [Fact::TaskSettled { reason, .. }, Fact::StopDecided { .. }] = reported[..] else {
        panic!("{reported:?}")
    };
    assert_eq!(reason, "session exited without completing task");
}

#[test]
fn where_the_agent_picks_only_claims_of_others_are_waited_for() {
    let mut world = looking(pick());
    let expiry = world.now.plus_millis(5_000);
    let survey = Survey {
        counts: Counts { active: 1, ..Counts::default() },
        claimable: 0,
        foreign: 1,
        next_expiry: Some(expiry),
        ..Survey::default()
    };
    world.send(&Input::Surveyed { slot: 0, survey });
    let waits = Fact::WaitStarted { slot: 0, wait: Wait::Others { tasks: 1 }, until: Some(expiry) };
    assert!(world.facts.contains(&waits), "{:?}", world.facts);
    assert_eq!(world.pending, [Effect::Wake { slot: 0, at: Some(expiry), on_change: true }]);
}

#[test]
fn five_equal_failures_in_a_row_wait_for_you() {
    let red = |text: &str| done().red(text);
    for policy in [dag(), pick()] {
        let policy = Policy { retries: RetryLimit::Unlimited, ..policy };
        let world = World::run(policy.clone(), 1, &vec![red("error: line 1"); 5]);
        assert_eq!(world.statuses(), ["waiting"], "{}", policy.preset);
        let last = world.settlements.last().unwrap();
        assert!(last.put_back, "what a person is to look at is saved, not left to the next task");
        let Some(TaskAction::Hold { reason }) = &last.tasks[0].action else { panic!("{last:?}") };
        let output =
            "failed 5 times in the same way: gate test failed (exit code 1): error: line 1";
        assert_eq!(reason, output);
        // Four and another one are not five.
        let mut plays = vec![red("error: a"); 4];
        plays.extend([red("error: b"), done().gate(true)]);
        assert_eq!(World::run(policy, 1, &plays).statuses(), ["done"]);
    }
}

#[test]
fn s1_46_retries_that_are_used_up_fail_a_task_before_its_failures_are_counted() {
    let most = |retries| Policy { retries: RetryLimit::AtMost(retries), ..dag() };
    let red = || done().red("error: a");
    assert_eq!(World::run(most(3), 1, &vec![red(); 4]).statuses(), ["failed"]);
    assert_eq!(World::run(most(4), 1, &vec![red(); 5]).statuses(), ["failed"]);
    assert_eq!(World::run(most(5), 1, &vec![red(); 5]).statuses(), ["waiting"]);
}
