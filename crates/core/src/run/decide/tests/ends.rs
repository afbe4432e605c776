//! What the end of an attempt means: the table of classes, row by row, through the whole loop.

use super::*;
use crate::run::{Breaker, CLASSES, Cancel, Control, Notice, Unit};

const DONE: &str = "<task-done>{id}</task-done>";

/// One attempt and one task, then the limit: class, action, retries, consecutive errors, counted.
fn one(policy: Policy, play: Play) -> (Class, Option<TaskAction>, u32, u32, u32) {
    let mut world = World::new(Policy { max_sessions: Some(1), ..policy }, 1);
    // One error before tells a reset from nothing.
    world.state.consecutive_errors = 1;
    world.begin();
    let plays = [play];
    let mut plays = plays.iter();
    while world.settlements.is_empty() {
        let effect = world.pending.remove(0);
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    let ending = &world.settlements[0].tasks[0];
    let (class, action) = (ending.class, ending.action.clone());
    (class, action, world.tasks[0].1, world.state.consecutive_errors, world.state.counted)
}

fn fail(reason: &str) -> Option<TaskAction> {
    Some(TaskAction::Fail { reason: reason.to_owned(), for_good: false })
}

/// Section "one iteration" of the contract, as it stands there.
#[test]
fn every_row_of_the_table_is_what_the_loop_does() {
    let finished = || Some(TaskAction::Done { result: None });
    let back = || Some(TaskAction::Release);
    let rows = [
        // session, class, what is written, retries, errors in a row, counted
        (done().gate(true), Class::Done, finished(), 0, 0, 1),
        (done(), Class::Done, finished(), 0, 0, 1),
        (done().gate(false), Class::Red, fail("gate test failed (exit code 1)"), 1, 0, 1),
        (
            says("<task-failed>{id}</task-failed><reason>no way</reason>"),
            Class::TaskFailed,
            Some(TaskAction::Fail { reason: "no way".to_owned(), for_good: true }),
            0,
            0,
            1,
        ),
        (says("well"), Class::NoSignal, back(), 0, 1, 1),
        (says("well").without_changes(), Class::NoSignal, back(), 0, 1, 1),
        (says("<task-done>t-9</task-done>"), Class::WrongId, back(), 0, 1, 1),
        (
            says("<question>Why?</question>"),
            Class::Question,
            Some(TaskAction::Ask { text: "Why?".to_owned() }),
            0,
            1,
            1,
        ),
        (ends(EndClass::Crash), Class::Crash, back(), 0, 2, 1),
    ];
    for (play, class, action, retries, errors, counted) in rows {
        let found = one(dag(), play.clone());
        assert_eq!(found, (class, action, retries, errors, counted), "{play:?}");
    }
    for (end, class) in [
        (EndClass::Timeout, Class::Timeout),
        (EndClass::Silence, Class::Silence),
        (EndClass::Empty, Class::Empty),
        (EndClass::Malformed, Class::Malformed),
        (EndClass::Refusal, Class::Refusal),
        (EndClass::MaxTurns, Class::MaxTurns),
    ] {
        let reason = fail(class.words());
        assert_eq!(one(dag(), ends(end)), (class, reason, 1, 2, 1));
    }
    for end in [EndClass::RateLimit, EndClass::UsageWindow, EndClass::Overload, EndClass::Network] {
        let (class, action, retries, errors, counted) = one(dag(), ends(end));
        assert!(class.is_limit(), "{class}");
        assert_eq!((action, retries, errors, counted), (back(), 0, 1, 0), "{class}");
    }
    let needs_user_action = [
        EndClass::Auth,
        EndClass::Forbidden,
        EndClass::Billing,
        EndClass::UnknownModel,
        EndClass::NotStarted,
    ];
    for end in needs_user_action {
        let world = World::run(dag(), 2, &[ends(end)]);
        assert_eq!((world.ended_as(), world.sessions), ("AgentFailed", 1), "{end:?}");
        assert_eq!(world.statuses(), ["pending", "pending"]);
    }
}

#[test]
fn where_the_agent_picks_no_signal_and_a_crash_cost_a_retry() {
    for (play, class) in [
        (says("well"), Class::NoSignal),
        (says("<task-done>t-9</task-done>"), Class::WrongId),
        (ends(EndClass::Crash), Class::Crash),
    ] {
        let (found, _, retries, _, _) = one(pick(), play);
        assert_eq!((found, retries), (class, 1));
    }
}

#[test]
fn every_class_that_counts_an_error_is_in_the_row_of_the_errors() {
    let errors: Vec<&str> = CLASSES
        .iter()
        .filter(|row| row.breaker == Breaker::Add)
        .map(|row| row.class.as_str())
        .collect();
    let row = [
        "crash",
        "timeout",
        "hang",
        "empty",
        "malformed",
        "refusal",
        "max-turns",
        "too-long",
        "rejected",
    ];
    assert_eq!(errors, row);
}

#[test]
fn a_done_that_changed_nothing_is_as_the_judge_says() {
    let confirm = Policy { claims: Claims::Confirm, ..dag() };
    let nothing = || done().without_changes();
    let class = |policy: &Policy, play| one(policy.clone(), play).0;
    assert_eq!(class(&confirm, nothing().gate(true)), Class::Done, "a gate has judged");
    assert_eq!(class(&confirm, nothing().gate(false)), Class::Red);
    assert_eq!(class(&confirm, nothing()), Class::Unchanged, "nothing has judged");
    assert_eq!(class(&dag(), nothing()), Class::Done, "trusted");
    let world = World::run(dag(), 1, &[nothing()]);
    let reported = |fact: &Fact| matches!(fact, Fact::Noticed { notice: Notice::Trusted { .. } });
    assert!(world.facts.iter().any(reported), "what was trusted is named");
    assert!(world.settlements[0].unchanged, "the evidence says unchanged");
    let refused = World::run(confirm, 1, &[nothing(), done()]);
    assert_eq!((refused.ended_as(), refused.tasks[0].1), ("Complete", 1));
    assert_eq!(refused.settlements[0].tasks[0].detail, "No changes detected");
}

#[test]
fn s1_32_done_wins_over_failed_and_is_judged() {
    let both = "<task-failed>{id}</task-failed><task-done>{id}</task-done>";
    let world = World::run(dag(), 1, &[says(both).gate(false), says(both).gate(true)]);
    assert_eq!(world.statuses(), ["done"]);
    assert_eq!(world.tasks[0].1, 1, "the red gate cost a retry");
}

#[test]
fn s1_34_done_is_done_only_after_green_gates() {
    let world = World::run(dag(), 1, &[done().gate(false), done().gate(true)]);
    let classes: Vec<Class> = world.settlements.iter().map(|settled| settled.class).collect();
    assert_eq!(classes, [Class::Red, Class::Done]);
    assert_eq!(world.settlements[0].commit, None, "red is not committed");
    let subject = world.settlements[1].commit.as_ref().map(|plan| plan.subject.as_str());
    assert_eq!(subject, Some("build: iteration 2 - Task 0"));
}

#[test]
fn s1_35_failed_is_failed_with_its_reason() {
    let world = World::run(
        dag(),
        1,
        &[says("<task-failed>{id}</task-failed><reason>the API is gone</reason>")],
    );
    let settled = world.facts.iter().find_map(|fact| match fact {
        Fact::TaskSettled { status, reason, .. } => Some((*status, reason.as_str())),
        _ => None,
    });
    assert_eq!(settled, Some((Status::Failed, "the API is gone")));
    assert!(world.settlements[0].put_back, "its files go back");
}

#[test]
fn s1_36_no_signal_gives_the_task_back_and_it_is_taken_again() {
    let world = World::run(dag(), 1, &[says("I did a little"), done()]);
    assert_eq!(world.settlements[0].tasks[0].action, Some(TaskAction::Release));
    assert_eq!((world.statuses(), world.tasks[0].1), (vec!["done"], 0));
}

#[test]
fn s1_37_a_wrong_id_is_a_warning_and_the_task_comes_back() {
    let world = World::run(dag(), 1, &[says("<task-done>t-77</task-done>"), done()]);
    let warned = world.facts.iter().find_map(|fact| match fact {
        Fact::Noticed { notice: Notice::WrongId { named, held } } => Some((named, held)),
        _ => None,
    });
    let (named, held) = warned.expect("a warning");
    assert_eq!((named.as_slice(), held[0].as_str()), (["t-77".to_owned()].as_slice(), "t-0"));
    assert_eq!(world.settlements[0].tasks[0].action, Some(TaskAction::Release));
    assert_eq!(world.statuses(), ["done"], "no task is left behind in progress");
}

#[test]
fn s1_31_s1_33_a_session_that_did_not_end_well_has_no_say() {
    for end in [EndClass::Crash, EndClass::Timeout, EndClass::UsageWindow] {
        let cut = Play { end, ..says(DONE) };
        assert_ne!(one(dag(), cut).0, Class::Done, "{end:?}");
    }
}

#[test]
fn s1_50_a_crash_gives_the_task_back_and_the_next_iteration_starts() {
    let world = World::run(dag(), 1, &[ends(EndClass::Crash), ends(EndClass::Crash), done()]);
    assert_eq!((world.ended_as(), world.tasks[0].1), ("Complete", 0));
    let numbers: Vec<u32> = world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::IterationStarted { iteration, .. } => Some(*iteration),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn limits_cost_no_session_and_their_number_is_used_again() {
    let policy = Policy { max_sessions: Some(1), ..dag() };
    let limits =
        [EndClass::UsageWindow, EndClass::RateLimit, EndClass::Overload, EndClass::Network];
    let mut plays: Vec<Play> = limits.into_iter().map(ends).collect();
    plays.push(done());
    let world = World::run(policy, 1, &plays);
    assert_eq!((world.ended_as(), world.sessions), ("Complete", 5));
    assert_eq!((world.outcome().iterations, world.tasks[0].1), (1, 0));
    assert!(world.facts.iter().all(|fact| match fact {
        Fact::IterationStarted { iteration, .. } => *iteration == 1,
        _ => true,
    }));
}

#[test]
fn a_session_that_ran_ends_a_series_of_limits() {
    let limit = || ends(EndClass::Overload);
    let world = World::run(dag(), 2, &[limit(), limit(), done(), limit(), done()]);
    let streak = |fact: &Fact| match fact {
        Fact::WaitStarted { wait: Wait::Limit { streak, .. }, .. } => Some(*streak),
        _ => None,
    };
    let streaks: Vec<u32> = world.facts.iter().filter_map(streak).collect();
    assert_eq!(streaks, [1, 2, 1]);
}

#[test]
fn slots_without_work_look_again_when_a_task_is_finished() {
    let mut world = World::new(Policy { slots: 2, ..dag() }, 1);
    world.begin();
    let plays = [done(), done(), done()];
    let mut plays = plays.iter();
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        let ends = matches!(effect, Effect::RunSession { .. }) && world.sessions == 0;
        if ends && !world.pending.is_empty() {
            // The other slot finds nothing first.
            world.pending.push(effect);
            continue;
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
        // Two tasks become ready with the first one.
        if ends {
            world.add_task();
            world.add_task();
        }
    }
    let slot = |fact: &Fact| match fact {
        Fact::IterationStarted { slot, .. } => Some(*slot),
        _ => None,
    };
    let mut slots: Vec<SlotId> = world.facts.iter().filter_map(slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots, [0, 1]);
}

#[test]
fn retries_that_are_used_up_fail_the_task_with_count_and_reason() {
    let world = World::run(dag(), 2, &[vec![done().gate(false); 4], vec![done()]].concat());
    assert_eq!((world.ended_as(), world.statuses()), ("Complete", vec!["failed", "done"]));
    let last = &world.settlements[3].tasks[0].action;
    let Some(TaskAction::Fail { reason, .. }) = last else { panic!("{last:?}") };
    assert_eq!(reason, "gave up after 4 attempts, last: gate test failed (exit code 1)");
    assert!(!world.settlements[2].put_back && world.settlements[3].put_back);
}

#[test]
fn a_task_returned_too_often_waits_for_you() {
    for policy in [dag(), pick()] {
        let policy = Policy { give_up_after: 2, ..policy };
        let picks = policy.picker == Picker::Agent;
        let world = World::run(policy, 1, &[says("hm"), says("hm")]);
        assert_eq!(world.statuses(), ["waiting"]);
        let Some(TaskAction::Hold { reason }) = &world.settlements[1].tasks[0].action else {
            panic!("{:?}", world.settlements[1])
        };
        assert!(reason.starts_with("returned 2 times without progress"), "{reason}");
        assert_eq!(world.ended_as(), if picks { "Complete" } else { "Blocked" });
    }
}

#[test]
fn the_breaker_opens_after_so_many_errors_in_a_row() {
    let policy = Policy { breaker: 3, ..dag() };
    let crash = || ends(EndClass::Crash);
    let plays = [crash(), crash(), done().gate(false), crash(), crash(), crash()];
    let world = World::run(policy, 1, &plays);
    assert_eq!(world.ended_as(), "AgentFailed");
    assert_eq!(world.outcome().reason.sentence(), "Stopped: 3 errors in a row.");
}

#[test]
fn idle_iterations_end_the_run() {
    let policy = Policy { idle: 2, ..dag() };
    let quiet = || says("nothing to do").without_changes();
    let world = World::run(policy, 1, &[quiet(), says("a change"), quiet(), quiet()]);
    assert_eq!(world.ended_as(), "Idle");
}

#[test]
fn a_lost_claim_writes_nothing_and_a_cancelled_session_counts_nothing() {
    let mut lost = World::new(dag(), 1);
    lost.begin();
    let plays = [done()];
    let mut plays = plays.iter();
    while !matches!(lost.pending.first(), Some(Effect::MakeCandidate { .. })) {
        let effect = lost.pending.remove(0);
        let input = lost.answer(effect, &mut plays).unwrap();
        lost.send(&input);
    }
    let agent = AgentId::new("agent-0").unwrap();
    lost.send(&Input::ClaimLost { agent, task: TaskId::new("t-0").unwrap() });
    while lost.settlements.is_empty() {
        let effect = lost.pending.remove(0);
        if let Some(input) = lost.answer(effect, &mut plays) {
            lost.send(&input);
        }
    }
    let ending = &lost.settlements[0].tasks[0];
    assert_eq!((ending.class, &ending.action), (Class::ClaimLost, &None));
    assert!(lost.settlements[0].save.is_some(), "its work is kept");
    assert_eq!(lost.state.counted, 0);

    let mut cancelled = World::new(dag(), 1);
    cancelled.begin();
    for _ in 0..2 {
        let effect = cancelled.pending.remove(0);
        let input = cancelled.answer(effect, &mut [].iter()).unwrap();
        cancelled.send(&input);
    }
    cancelled.send(&Input::Control(Control::Cancel(Cancel::Kill)));
    let plays = [ends(EndClass::Cancelled)];
    let mut plays = plays.iter();
    while !cancelled.pending.is_empty() {
        let effect = cancelled.pending.remove(0);
        if let Some(input) = cancelled.answer(effect, &mut plays) {
            cancelled.send(&input);
        }
    }
    assert_eq!((cancelled.ended_as(), cancelled.outcome().iterations), ("Cancelled", 0));
    assert_eq!(cancelled.statuses(), ["pending"]);
}

#[test]
fn an_agent_that_fails_is_no_agent_with_nothing_to_do() {
    let policy = Policy { idle: 2, breaker: 3, ..dag() };
    let crash = || ends(EndClass::Crash).without_changes();
    let world = World::run(policy.clone(), 2, &[crash(), crash(), crash()]);
    assert_eq!((world.ended_as(), world.sessions), ("AgentFailed", 3));
    let plays = [says("hm").without_changes(), crash(), says("hm").without_changes()];
    let world = World::run(policy, 2, &plays);
    assert_eq!((world.ended_as(), world.sessions), ("Idle", 3));
}

#[test]
fn a_request_that_the_provider_rejects_parks_its_task_and_is_not_paid_for_again() {
    for (end, words) in [
        (EndClass::Rejected, "the provider rejected the request"),
        (EndClass::TooLong, "the prompt is too long for this model"),
    ] {
        let world = World::run(dag(), 2, &[ends(end), done()]);
        assert_eq!((world.statuses(), world.sessions), (vec!["waiting", "done"], 2), "{end:?}");
        assert_eq!((world.ended_as(), world.outcome().code()), ("Blocked", 7));
        let Some(TaskAction::Hold { reason }) = &world.settlements[0].tasks[0].action else {
            panic!("{:?}", world.settlements[0].tasks)
        };
        let remedy = Class::of(end).and_then(Class::remedy).unwrap();
        assert!(reason.starts_with(words) && reason.ends_with(remedy), "{reason}");
    }
}

#[test]
fn a_provider_that_rejects_task_after_task_stops_the_run() {
    let rejected = || ends(EndClass::Rejected);
    let world = World::run(dag(), 9, &[rejected(), rejected(), rejected()]);
    assert_eq!((world.ended_as(), world.outcome().code()), ("AgentFailed", 4));
}

#[test]
fn where_no_task_can_be_parked_a_rejected_request_stops_the_run() {
    let world =
        World::run(Policy { unit: Unit::Iteration, ..pick() }, 2, &[ends(EndClass::TooLong)]);
    assert_eq!((world.ended_as(), world.sessions), ("AgentFailed", 1));
    let output = world.outcome().sentence();
    assert!(output.contains("prompts.budget_tokens"), "{output}");
}

#[test]
fn the_same_refusal_twice_parks_the_task() {
    let world = World::run(dag(), 1, &[ends(EndClass::Refusal), ends(EndClass::Refusal)]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["waiting"], "Blocked"));
}
