//! Sessions that end without a signal.

use super::verifying::{FAIL, PASS, verified, with_verifier};
use super::*;
use crate::run::Notice;

fn notices(world: &World) -> Vec<&Notice> {
    let reported = world.facts.iter().filter_map(|fact| match fact {
        Fact::Noticed { notice } => Some(notice),
        _ => None,
    });
    reported.collect()
}

fn held_because(world: &World) -> String {
    let last = world.settlements.last().unwrap();
    match &last.tasks[0].action {
        Some(TaskAction::Hold { reason }) => reason.clone(),
        other => panic!("not held: {other:?}"),
    }
}

#[test]
fn changes_without_a_signal_are_judged_where_there_is_a_verifier() {
    let play = verified(says("I made it.").gate(true), &[PASS]);
    let world = World::run(with_verifier(dag()), 1, &[play]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["done"], "Complete"));
    let ending = &world.settlements[0].tasks[0];
    assert_eq!(ending.class, Class::Done);
    assert!(ending.signal.missing, "the evidence says that nobody claimed it");
    assert!(notices(&world).iter().any(|notice| matches!(notice, Notice::Unclaimed { .. })));
}

#[test]
fn an_unclaimed_red_verdict_costs_no_retry() {
    for red in [says("well").gate(false), verified(says("well").gate(true), &[FAIL])] {
        let policy = Policy { retries: RetryLimit::AtMost(0), ..with_verifier(dag()) };
        let world = World::run(policy, 1, &[red, verified(done().gate(true), &[PASS])]);
        assert_eq!(world.statuses(), ["done"]);
        let first = &world.settlements[0].tasks[0];
        assert_eq!((first.class, &first.action), (Class::Red, &Some(TaskAction::Release)));
        assert_eq!(world.tasks[0].1, 0);
    }
}

#[test]
fn without_a_verifier_changes_without_a_signal_are_not_judged() {
    let world = World::run(dag(), 1, &[says("well").gate(true), done().gate(true)]);
    let first = &world.settlements[0].tasks[0];
    assert_eq!((first.class, first.signal.missing), (Class::NoSignal, true));
    assert_eq!(world.statuses(), ["done"]);
}

#[test]
fn nothing_is_judged_that_names_another_task_asks_or_did_not_end_well() {
    for play in [
        says("<task-done>t-9</task-done>"),
        says("<question>Which?</question>"),
        says("well").without_changes(),
        ends(EndClass::MaxTurns),
    ] {
        let policy = Policy { max_sessions: Some(1), ..with_verifier(dag()) };
        let world = World::run(policy, 1, std::slice::from_ref(&play));
        let judged = world.facts.iter().any(|fact| matches!(fact, Fact::Judged { .. }));
        assert!(!judged, "{play:?}");
    }
}

#[test]
fn three_ends_without_a_signal_and_without_a_new_tree_park_the_task() {
    for policy in [dag(), with_verifier(dag())] {
        let nothing = || says("I looked around.").without_changes();
        let world = World::run(policy, 1, &[nothing(), nothing(), nothing()]);
        assert_eq!((world.statuses(), world.ended_as()), (vec!["waiting"], "Blocked"));
        let reason = held_because(&world);
        assert!(
            reason
                .starts_with("3 sessions in a row ended without a signal and without new changes"),
            "{reason}"
        );
    }
    // The same unfinished work, looked at again and again.
    let still = || says("Looks good.").without_changes();
    let world = World::run(dag(), 1, &[says("Wrote it."), still(), still(), still()]);
    assert_eq!((world.statuses(), world.sessions), (vec!["waiting"], 4));
}

#[test]
fn new_work_without_a_signal_goes_on_for_as_long_as_retries_would_and_no_longer() {
    for (retries, sessions) in [
        (RetryLimit::AtMost(0), 3),
        (RetryLimit::AtMost(3), 4),
        (RetryLimit::AtMost(50), 5),
        (RetryLimit::Unlimited, 5),
    ] {
        let plays = vec![says("More work."); sessions];
        let world = World::run(Policy { retries, ..dag() }, 1, &plays);
        assert_eq!((world.statuses(), world.sessions), (vec!["waiting"], sessions as u32));
        assert!(held_because(&world).contains("ended without a signal"));
    }
}

#[test]
fn a_signal_begins_the_count_again() {
    let nothing = || says("hm").without_changes();
    let plays = [nothing(), nothing(), done().gate(false), nothing(), nothing(), done().gate(true)];
    let world = World::run(dag(), 1, &plays);
    assert_eq!(world.statuses(), ["done"]);
}

#[test]
fn where_the_agent_picks_or_ticks_nothing_is_parked_for_a_missing_signal() {
    let world = World::run(Policy { max_sessions: Some(4), ..pick() }, 1, &vec![says("hm"); 4]);
    assert_eq!(world.statuses(), ["pending"]);
    assert!(!world.settlements[0].tasks[0].signal.missing);
}

#[test]
fn a_signal_in_code_counts_for_its_own_task_and_is_reported_for_any_other() {
    let world = World::run(dag(), 1, &[says("Done.\n\n`<task-done>{id}</task-done>`").gate(true)]);
    assert_eq!(world.statuses(), ["done"]);
    assert_eq!(notices(&world), Vec::<&Notice>::new());
    let quoted = [says("I would say `<task-done>{id}</task-done>` soon."), done()];
    let world = World::run(dag(), 1, &quoted);
    let ignored = &world.settlements[0].tasks[0].signal.ignored;
    assert_eq!(ignored.len(), 1);
    assert!(matches!(notices(&world)[0], Notice::SignalsIgnored { signals } if signals == ignored));
    let words = world.settlements[0].tasks[0].signal.words();
    assert_eq!(
        words,
        "The session ended without a signal.\n\
         Ignored: <task-done>t-0</task-done> is in code or a quotation."
    );
}
