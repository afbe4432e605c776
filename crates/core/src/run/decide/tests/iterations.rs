//! Runs whose iterations are judged as a whole: checklists, plans, single prompts.

use super::*;
use crate::run::{Commits, EndsWhen, Exhausted, OnRed, Unit};

/// The preset `checklist`.
pub(super) fn checklist() -> Policy {
    Policy {
        preset: "checklist".to_owned(),
        graph: false,
        picker: Picker::Agent,
        max_sessions: Some(10),
        unit: Unit::Iteration,
        on_exhausted: Exhausted::Stop,
        commits: Commits::EveryIteration,
        ends: vec![EndsWhen::Ticked, EndsWhen::Marker],
        promises: vec!["COMPLETE".to_owned()],
        unchanged_fails: true,
        ..dag()
    }
}

pub(super) fn complete() -> Play {
    says("<promise>COMPLETE</promise>")
}

/// The number of each iteration that was started.
fn numbers(world: &World) -> Vec<u32> {
    let number = |fact: &Fact| match fact {
        Fact::IterationStarted { iteration, .. } => Some(*iteration),
        _ => None,
    };
    world.facts.iter().filter_map(number).collect()
}

fn subjects(world: &World) -> Vec<String> {
    let commits = world.settlements.iter().filter_map(|settlement| settlement.commit.clone());
    commits.map(|commit| commit.subject).collect()
}

#[test]
fn s3_11_every_green_iteration_is_committed() {
    let world = World::run(checklist(), 2, &[says("one"), complete().gate(true)]);
    assert_eq!((world.ended_as(), numbers(&world)), ("Complete", vec![1, 2]));
    assert_eq!(subjects(&world).len(), 2);
    assert!(subjects(&world)[0].starts_with("build: iteration 1 - "));
}

#[test]
fn s3_18_a_red_iteration_is_tried_three_times_more_under_its_number() {
    let red = || says("").gate(false);
    let world = World::run(checklist(), 2, &[red(), red(), red(), red()]);
    assert_eq!(
        (world.ended_as(), world.outcome().reason.code(&world.counts(), false)),
        ("GatesFailed", 3)
    );
    assert_eq!(numbers(&world), [1, 1, 1, 1]);
    assert_eq!(world.outcome().iterations, 1);
    assert!(world.settlements[3].put_back && !world.settlements[2].put_back);
    let mended = World::run(
        checklist(),
        2,
        &[red(), red(), red(), says("").gate(true), red(), complete().gate(true)],
    );
    assert_eq!((mended.ended_as(), numbers(&mended)), ("Complete", vec![1, 1, 1, 1, 2, 2]));
}

#[test]
fn red_gates_may_feed_the_next_iteration_instead() {
    let policy = Policy { on_red: OnRed::Feed, max_sessions: Some(6), ..checklist() };
    let red = || says("").gate(false);
    let plays = [red(), red(), red(), red(), red(), complete().gate(true)];
    let world = World::run(policy, 2, &plays);
    assert_eq!((world.ended_as(), numbers(&world)), ("Complete", vec![1, 2, 3, 4, 5, 6]));
    assert!(world.settlements.iter().all(|settlement| !settlement.put_back));
    assert_eq!((world.outcome().successful, world.outcome().failed), (1, 5));
}

#[test]
fn s3_16_and_s3_17_a_failing_agent_and_no_change_are_tried_again_and_then_end_the_run() {
    let crash = || ends(EndClass::Crash);
    let nothing = || says("done!").without_changes();
    for plays in
        [[crash(), crash(), crash(), crash()], [nothing(), nothing(), nothing(), nothing()]]
    {
        let world = World::run(checklist(), 2, &plays);
        assert_eq!(
            (world.ended_as(), world.outcome().reason.code(&world.counts(), false)),
            ("AgentFailed", 4)
        );
        assert_eq!((numbers(&world), subjects(&world)), (vec![1; 4], vec![]));
    }
    let world = World::run(checklist(), 2, &[nothing(), nothing(), nothing(), nothing()]);
    assert_eq!(world.outcome().reason.sentence(), "Stopped: No changes detected.");
}

#[test]
fn s3_19_complete_without_a_change_is_the_normal_last_iteration() {
    let world = World::run(checklist(), 2, &[says("one"), complete().without_changes()]);
    assert_eq!((world.ended_as(), world.sessions), ("Complete", 2));
    assert_eq!(
        world.outcome().sentence(),
        "Stopped: the plan is declared done (COMPLETE). Tasks remaining: 2"
    );
}

#[test]
fn s3_9_complete_counts_only_once_the_iteration_is_green() {
    let world = World::run(checklist(), 2, &[complete().gate(false), complete().gate(true)]);
    assert_eq!((world.ended_as(), numbers(&world)), ("Complete", vec![1, 1]));
}

#[test]
fn a_promise_that_the_plan_does_not_confirm_ends_nothing_where_it_has_to() {
    let policy = Policy { claims: Claims::Confirm, max_sessions: Some(2), ..checklist() };
    let world = World::run(policy, 2, &[complete(), complete()]);
    assert_eq!((world.ended_as(), world.sessions), ("LimitReached", 2));
}

#[test]
fn retries_do_not_count_towards_the_limit() {
    let policy = Policy { max_sessions: Some(2), ..checklist() };
    let red = || says("").gate(false);
    let world = World::run(policy, 9, &[red(), red(), says(""), red(), says("")]);
    assert_eq!((world.ended_as(), numbers(&world)), ("LimitReached", vec![1, 1, 1, 2, 2]));
}

#[test]
fn limits_of_the_provider_use_up_no_retry() {
    let limit = || ends(EndClass::Overload);
    let plays = [limit(), limit(), limit(), limit(), limit(), complete()];
    let world = World::run(checklist(), 1, &plays);
    assert_eq!((world.ended_as(), numbers(&world)), ("Complete", vec![1; 6]));
}

/// The plan preset: an iteration without changes is not a failure, and two in a row end the run.
#[test]
fn a_plan_ends_by_a_promise_or_when_nothing_changes_any_more() {
    let plan = || Policy {
        mode: "plan".to_owned(),
        idle: 2,
        ends: vec![EndsWhen::Marker],
        promises: vec!["COMPLETE".to_owned(), "Tastes Like Burning.".to_owned()],
        unchanged_fails: false,
        ..checklist()
    };
    let nothing = || says("all planned").without_changes();
    let idle = World::run(plan(), 3, &[says(""), nothing(), nothing()]);
    assert_eq!((idle.ended_as(), subjects(&idle).len()), ("Idle", 1));
    assert!(subjects(&idle)[0].starts_with("plan: iteration 1 - "));
    let burning = World::run(plan(), 3, &[says("<promise>Tastes Like Burning.</promise>")]);
    assert_eq!(burning.ended_as(), "Complete");
}

#[test]
fn s3_21_a_single_prompt_is_one_session() {
    let prompt = || Policy {
        mode: "prompt".to_owned(),
        max_sessions: Some(1),
        retries: RetryLimit::AtMost(0),
        ends: vec![EndsWhen::Session],
        unchanged_fails: false,
        ..checklist()
    };
    for play in [says("looked around").without_changes(), says("changed it")] {
        let world = World::run(prompt(), 0, &[play]);
        assert_eq!((world.ended_as(), world.sessions), ("Complete", 1));
    }
    let failed = World::run(prompt(), 0, &[ends(EndClass::Crash)]);
    assert_eq!(
        (failed.ended_as(), failed.outcome().reason.code(&failed.counts(), false)),
        ("AgentFailed", 4)
    );
}

/// A text written for the user: checked after every session, and a question ends the run.
#[test]
fn a_text_is_judged_whatever_changed_and_a_question_waits_for_the_user() {
    let spec = || Policy {
        mode: "feature-spec".to_owned(),
        ends: vec![EndsWhen::Session],
        unchanged_fails: false,
        always_judged: true,
        asks: true,
        ..checklist()
    };
    let nothing = |green| says("").without_changes().gate(green);
    let world = World::run(spec(), 0, &[nothing(false), nothing(true)]);
    assert_eq!((world.ended_as(), numbers(&world)), ("Complete", vec![1, 1]));
    let world = World::run(spec(), 0, &std::array::from_fn::<_, 4, _>(|_| nothing(false)));
    assert_eq!(world.ended_as(), "GatesFailed");
    // What was written beside the question is neither judged nor committed.
    for asks in [says("<question>Which one?</question>").gate(true), {
        says("<question>Which one?</question>").without_changes()
    }] {
        let world = World::run(spec(), 0, &[asks]);
        let reason = world.outcome().reason.clone();
        assert_eq!(reason, StopReason::Asked { question: "Which one?".to_owned() });
        assert_eq!((reason.name(), reason.code(&world.counts(), false)), ("Blocked", 7));
        assert_eq!((world.sessions, subjects(&world).len()), (1, 0));
    }
    let deaf = Policy { asks: false, ..spec() };
    let world = World::run(deaf, 0, &[says("<question>Which one?</question>").gate(true)]);
    assert_eq!(world.ended_as(), "Complete");
}

/// A progress file: a task that fails is passed over and holds up nothing.
#[test]
fn where_tasks_may_fail_a_plan_is_over_when_none_is_open() {
    let progress = Policy {
        preset: "progress".to_owned(),
        graph: false,
        ends: vec![EndsWhen::Ticked, EndsWhen::Marker],
        ..dag()
    };
    let fails = || says("<task-failed>{id}</task-failed>");
    let world = World::run(progress.clone(), 2, &[fails(), done()]);
    assert_eq!(world.ended_as(), "Complete");
    let code = |strict| world.outcome().reason.code(&world.counts(), strict);
    assert_eq!((code(false), code(true)), (0, 1));
    let stopping = Policy { on_exhausted: Exhausted::Stop, ..progress };
    let world = World::run(stopping, 2, &[fails(), done()]);
    assert_ne!(world.ended_as(), "Complete");
}

#[test]
fn a_retried_iteration_knows_how_often_and_why_it_failed_and_a_green_one_forgets_it() {
    let mut world = World::new(checklist(), 1);
    world.begin();
    let quotes = says("`<task-failed>x</task-failed>` is what I shall not say.");
    let plays = [says("").gate(false), says("").gate(false), quotes, complete()];
    let (mut plays, mut seen) = (plays.iter(), vec![]);
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if let Effect::RunSession { earlier, .. } = &effect {
            seen.push((earlier.tries, earlier.gates.len(), earlier.ignored.len()));
            assert_eq!(earlier.reason.is_empty(), earlier.tries == 0, "{}", earlier.reason);
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    assert_eq!(seen, [(0, 0, 0), (1, 1, 0), (2, 1, 0), (0, 0, 1)]);
}
