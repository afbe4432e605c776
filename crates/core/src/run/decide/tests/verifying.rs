//! What a verifier's verdict makes of a done, and what happens without one.

use super::*;
use crate::policy::strategy::Model;
use crate::run::{Cancel, Control, Verifier, VerifierModel, Wait};

pub(super) const PASS: (EndClass, &str) = (EndClass::Completed, "All there.\n<verify-pass/>");
pub(super) const FAIL: (EndClass, &str) =
    (EndClass::Completed, "<verify-fail>the README\nis not changed</verify-fail>");

pub(super) fn with_verifier(policy: Policy) -> Policy {
    let verifier = Verifier { agent: "script".to_owned(), model: VerifierModel::Same };
    Policy { verify: Some(Box::new(verifier)), ..policy }
}

/// The session is verified by these, one after the other.
pub(super) fn verified(play: Play, by: &[(EndClass, &'static str)]) -> Play {
    Play { verifier: by.to_vec(), ..play }
}

fn costs(play: Play, cents: u64) -> Play {
    let cost_micro_usd = Some(cents * 10_000);
    Play { usage: Usage { input_tokens: 10, cost_micro_usd, ..Usage::default() }, ..play }
}

#[test]
fn s1_44_a_pass_makes_it_done() {
    let world = World::run(with_verifier(dag()), 1, &[verified(done().gate(true), &[PASS])]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["done"], "Complete"));
    assert_eq!(world.outcome().iterations, 1, "a verifier's session is none that counts");
}

#[test]
fn s1_45_a_fail_sends_the_task_back_with_the_reason() {
    let plays = [verified(done(), &[FAIL]), verified(done(), &[FAIL]), verified(done(), &[PASS])];
    let world = World::run(with_verifier(dag()), 1, &plays);
    assert_eq!(world.statuses(), ["done"]);
    let first = &world.settlements[0].tasks[0];
    assert_eq!(first.class, Class::Red);
    assert_eq!(
        first.action,
        Some(TaskAction::Fail {
            reason: "verification failed: the README is not changed".to_owned(),
            for_good: false
        })
    );
    assert_eq!(world.tasks[0].1, 2, "two retries");
}

#[test]
fn s1_46_when_the_retries_are_used_up_the_message_has_count_and_reason() {
    let plays: Vec<Play> = (0..4).map(|_| verified(done(), &[FAIL])).collect();
    let world = World::run(with_verifier(dag()), 1, &plays);
    assert_eq!(world.statuses(), ["failed"]);
    let last = world.settlements[3].tasks[0].action.clone();
    let reason = "gave up after 4 attempts, last: verification failed: the README is not changed";
    assert_eq!(last, Some(TaskAction::Fail { reason: reason.to_owned(), for_good: false }));
    assert!(world.settlements[3].put_back);
}

#[test]
fn s1_43_neither_word_and_a_crash_are_a_fail() {
    for bad in [
        (EndClass::Completed, "I think it is fine."),
        (EndClass::Crash, "<verify-pass/>"),
        (EndClass::Timeout, ""),
        (EndClass::Empty, ""),
    ] {
        let once = Policy { max_sessions: Some(1), ..with_verifier(dag()) };
        let world = World::run(once, 1, &[verified(done(), &[bad])]);
        assert_eq!(world.statuses(), ["pending"], "{bad:?}");
        assert_eq!((world.settlements[0].class, world.tasks[0].1), (Class::Red, 1), "{bad:?}");
    }
}

#[test]
fn only_a_done_that_the_gates_let_through_is_verified() {
    let red = World::run(
        Policy { max_sessions: Some(1), ..with_verifier(dag()) },
        1,
        &[done().gate(false)],
    );
    assert_eq!(red.statuses(), ["pending"]);
    let nothing = says("no signal").without_changes();
    for play in [nothing, says("<task-failed>{id}</task-failed>"), ends(EndClass::Crash)] {
        let once = Policy { max_sessions: Some(1), ..with_verifier(dag()) };
        let world = World::run(once, 1, &[play]);
        assert_eq!(world.verified_by.len(), 0);
    }
}

/// A gate or the verifier passed: then a done that changed nothing is one.
#[test]
fn a_done_that_changed_nothing_is_judged_by_the_verifier() {
    let confirm = Policy { claims: Claims::Confirm, ..with_verifier(dag()) };
    let world = World::run(confirm, 1, &[verified(done().without_changes(), &[PASS])]);
    assert_eq!(world.statuses(), ["done"]);
    assert!(world.settlements[0].unchanged);
}

#[test]
fn a_limit_of_the_verifier_is_waited_out_and_costs_nothing() {
    let limited =
        [(EndClass::UsageWindow, ""), (EndClass::Overload, ""), (EndClass::Network, ""), PASS];
    let world = World::run(with_verifier(dag()), 1, &[verified(done(), &limited)]);
    assert_eq!((world.statuses(), world.tasks[0].1), (vec!["done"], 0));
    let streaks: Vec<u32> = world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::WaitStarted { wait: Wait::Limit { streak, .. }, .. } => Some(*streak),
            _ => None,
        })
        .collect();
    assert_eq!(streaks, [1, 2, 3]);
    assert_eq!(world.sessions, 1, "the work is not done again");
}

#[test]
fn a_wrong_key_of_the_verifier_stops_the_run_and_the_task_is_as_before() {
    let world = World::run(with_verifier(dag()), 2, &[verified(done(), &[(EndClass::Auth, "")])]);
    assert_eq!((world.statuses(), world.tasks[0].1), (vec!["pending", "pending"], 0));
    assert_eq!(world.ended_as(), "AgentFailed");
}

#[test]
fn the_model_is_the_sessions_own_unless_set_otherwise() {
    let fixed = Policy { strategy: Strategy::Fixed(Model::Named("m".to_owned())), ..dag() };
    let other = |model| {
        let verifier = Verifier { agent: "script".to_owned(), model };
        Policy { verify: Some(Box::new(verifier)), ..fixed.clone() }
    };
    for (model, expected) in [
        (VerifierModel::Same, Some("m")),
        (VerifierModel::Named("n".to_owned()), Some("n")),
        (VerifierModel::Own, None),
    ] {
        let world = World::run(other(model), 1, &[verified(done(), &[PASS])]);
        assert_eq!(world.verified_by, [expected.map(str::to_owned)]);
    }
}

/// A budget is overshot by one session at most: what a session used up, no verifier spends.
#[test]
fn a_used_up_budget_starts_no_verifier() {
    let run = Budget { micro_usd: 500_000, ..Budget::default() };
    let task = Budget { task_micro_usd: 500_000, ..Budget::default() };
    let world = World::run(Policy { budget: run, ..with_verifier(dag()) }, 1, &[costs(done(), 60)]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["pending"], "BudgetReached"));
    assert!(world.settlements[0].detail.contains("no budget is left for the verifier"));
    let world =
        World::run(Policy { budget: task, ..with_verifier(dag()) }, 1, &[costs(done(), 60)]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["waiting"], "Blocked"));
}

#[test]
fn what_a_verifier_costs_is_part_of_the_run_and_of_the_task() {
    let world = World::run(with_verifier(dag()), 1, &[costs(verified(done(), &[PASS]), 5)]);
    assert_eq!(world.outcome().usage.cost_micro_usd, Some(60_000));
    assert_eq!(world.spent, [60_000]);
}

/// Answers everything up to the verifier.
fn until_verifying() -> World {
    let mut world = World::new(with_verifier(dag()), 1);
    world.begin();
    let plays = [done()];
    let mut plays = plays.iter();
    while !matches!(world.state.slots[0].phase, Phase::Verifying(_)) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut plays);
        world.send(&input.unwrap());
    }
    world
}

#[test]
fn whoever_cancels_leaves_the_task_as_it_was() {
    for level in [Cancel::Now, Cancel::Kill] {
        let mut world = until_verifying();
        world.send(&Input::Control(Control::Cancel(level)));
        assert!(world.pending.iter().any(|effect| matches!(effect, Effect::StopSession { .. })));
        world.pending.retain(|effect| !matches!(effect, Effect::StopSession { .. }));
        world.verifier = vec![(EndClass::Cancelled, "")];
        world.finish();
        assert_eq!((world.statuses(), world.tasks[0].1), (vec!["pending"], 0));
        assert_eq!(world.ended_as(), "Cancelled");
    }
}

#[test]
fn the_verifier_of_the_last_session_decides() {
    let mut world = until_verifying();
    world.send(&Input::CtrlC);
    assert!(!world.pending.iter().any(|effect| matches!(effect, Effect::StopSession { .. })));
    world.verifier = vec![PASS];
    world.finish();
    assert_eq!((world.statuses(), world.ended_as()), (vec!["done"], "Cancelled"));
}

#[test]
fn a_task_that_is_skipped_or_lost_waits_for_no_verdict() {
    let id = TaskId::new("t-0").unwrap();
    let agent = AgentId::new("agent-0").unwrap();
    let limited = || {
        let mut world = until_verifying();
        world.verifier = vec![(EndClass::UsageWindow, "")];
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter());
        world.send(&input.unwrap());
        assert!(world.state.slots[0].wait.is_some());
        world.pending.clear();
        world
    };
    let mut skipped = limited();
    skipped.send(&Input::Control(Control::Skip { task: id.clone() }));
    skipped.finish();
    assert_eq!(skipped.statuses(), ["waiting"]);
    let mut lost = limited();
    lost.send(&Input::ClaimLost { agent, task: id });
    assert!(lost.pending.iter().any(|effect| matches!(effect, Effect::Settle { .. })));
    let mut cancelled = limited();
    cancelled.send(&Input::Control(Control::Cancel(Cancel::AfterSession)));
    cancelled.finish();
    assert_eq!((cancelled.statuses(), cancelled.ended_as()), (vec!["pending"], "Cancelled"));
}
