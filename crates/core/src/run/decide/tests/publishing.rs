//! Publishing the branch of a complete run.

use super::*;
use crate::run::{Cancel, Control, Publication, Publish, PublishEnd};

/// What a pull request comes to that is opened.
pub(super) fn opened() -> Publication {
    Publication {
        end: PublishEnd::Opened,
        branch: "feature".to_owned(),
        number: Some(1),
        page: "https://github.com/ada/engine/pull/1".to_owned(),
        why: String::new(),
        command: String::new(),
    }
}

fn failed() -> Publication {
    Publication { end: PublishEnd::Failed, why: "it broke".to_owned(), ..opened() }
}

fn publishing(auto_push: bool, auto_pr: bool) -> Policy {
    Policy { publish: Some(Publish { auto_push, auto_pr, watch_ms: 0 }), ..dag() }
}

/// The facts about it, and the end of the run, in order.
fn story(world: &World) -> Vec<&'static str> {
    let word = |fact: &Fact| match fact {
        Fact::StopDecided { .. } => Some("stop"),
        Fact::Publishing => Some("publishing"),
        Fact::Published { .. } => Some("published"),
        Fact::Watching { .. } => Some("watching"),
        Fact::Reviewed { .. } => Some("reviewed"),
        Fact::RunEnded { .. } => Some("ended"),
        _ => None,
    };
    world.facts.iter().filter_map(word).collect()
}

/// Goes on until the branch is to be published.
fn until_published(policy: Policy, plays: &[Play]) -> World {
    let mut world = World::new(policy, plays.len());
    world.begin();
    let mut plays = plays.iter();
    loop {
        let effect = world.pending.remove(0);
        if effect == Effect::Publish {
            return world;
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
}

#[test]
fn s4_11_a_complete_run_publishes_once_and_then_ends() {
    for policy in [publishing(false, true), publishing(true, false), publishing(true, true)] {
        let world = World::run(policy, 2, &[done(), done()]);
        assert_eq!(story(&world), ["stop", "publishing", "published", "ended"]);
        assert_eq!(world.ended_as(), "Complete");
    }
    // One that finds everything done does it, too: the run before it may have been killed.
    let mut world = World::new(publishing(false, true), 1);
    world.tasks[0].0 = Status::Done;
    world.play(&[]);
    assert_eq!(story(&world), ["stop", "publishing", "published", "ended"]);
}

#[test]
fn nothing_is_published_that_is_not_complete_or_not_asked_for() {
    for policy in [dag(), publishing(false, false)] {
        assert_eq!(story(&World::run(policy, 1, &[done()])), ["stop", "ended"]);
    }
    let limited = Policy { max_sessions: Some(1), ..publishing(true, true) };
    let world = World::run(limited, 2, &[done()]);
    assert_eq!((story(&world), world.ended_as()), (vec!["stop", "ended"], "LimitReached"));
    let world = World::run(publishing(true, true), 0, &[]);
    assert_eq!((story(&world), world.ended_as()), (vec!["stop", "ended"], "NoPlan"));
}

#[test]
fn a_failure_to_publish_leaves_a_complete_run_complete() {
    let mut world = until_published(publishing(false, true), &[done()]);
    assert_eq!(story(&world), ["stop", "publishing"]);
    world.send(&Input::Published(failed()));
    assert_eq!(story(&world), ["stop", "publishing", "published", "ended"]);
    let outcome = world.outcome();
    assert_eq!((outcome.reason.name(), outcome.code()), ("Complete", 0));
    assert_eq!(Outcome { strict: true, ..outcome.clone() }.code(), 1, "where codes are strict");
    let published = World::run(publishing(false, true), 1, &[done()]);
    assert_eq!(Outcome { strict: true, ..published.outcome().clone() }.code(), 0);
    // A second answer comes too late to mean anything.
    let mut state = world.state.clone();
    state.ended = false;
    let step = decide(&state, &Input::Published(opened()), world.now);
    assert!(matches!(step.facts[0], Fact::Anomaly { .. }), "{:?}", step.facts);
}

#[test]
fn a_cancellation_stops_publishing_and_the_run_is_still_complete() {
    for level in [Cancel::AfterSession, Cancel::Now, Cancel::Kill] {
        let mut world = until_published(publishing(false, true), &[done()]);
        world.send(&Input::Control(Control::Cancel(level)));
        assert_eq!(world.pending, [Effect::StopPublishing]);
        let interrupted = Publication { end: PublishEnd::Interrupted, ..failed() };
        world.send(&Input::Published(interrupted));
        assert_eq!((world.state.ended, world.ended_as()), (true, "Complete"));
    }
    // One that came before is a wish to end, and nothing is begun.
    let mut world = until_published(publishing(false, true), &[done()]);
    world.state.publishing = Publishing::No;
    world.state.cancel = Some(Cancel::AfterSession);
    let notice = Input::Notice(Notice::Ungated);
    let step = decide(&world.state, &notice, world.now);
    assert!(matches!(step.effects[..], [Effect::Finish { .. }]), "{:?}", step.effects);
}

/// While sessions run, only a cancellation that is to have effect at once ends a push.
#[test]
fn pushes_between_iterations_end_with_what_is_killed() {
    let mut world = World::new(publishing(true, false), 1);
    world.begin();
    world.pending.clear();
    world.send(&Input::Control(Control::Cancel(Cancel::AfterSession)));
    assert_eq!(world.pending, []);
    world.send(&Input::Control(Control::Cancel(Cancel::Now)));
    assert_eq!(world.pending, [Effect::StopPublishing]);
}

fn watching(watch_ms: u64) -> Policy {
    Policy { publish: Some(Publish { auto_push: false, auto_pr: true, watch_ms }), ..dag() }
}

/// Goes on until the pull request is watched.
fn until_watched(policy: Policy) -> World {
    let mut world = until_published(policy, &[done()]);
    world.send(&Input::Published(opened()));
    world
}

fn work() -> Review {
    let tasks = vec!["Make the check pass".to_owned()];
    Review { tasks, round: 1, rounds: 3, ..Review::blank(ReviewEnd::Work, &opened().page) }
}

#[test]
fn a_pull_request_is_watched_and_what_is_found_is_work_for_the_same_run() {
    let mut world = until_watched(watching(60_000));
    let until = world.now.plus_millis(60_000);
    let watch = Effect::Watch { number: 1, page: opened().page, until };
    assert_eq!(world.pending, [watch]);
    assert!(!world.state.ended);
    // A new task came into the plan.
    world.add_task();
    world.pending.clear();
    world.send(&Input::Reviewed(work()));
    assert_eq!((world.state.stop.as_ref(), world.pending.len()), (None, 1));
    assert!(matches!(world.pending[0], Effect::Survey { slot: 0 }));
    world.go_on(&mut [done()].iter());
    let round = ["stop", "publishing", "published", "watching", "reviewed"];
    let ended = ["ended"];
    assert_eq!(story(&world), [&round[..], &round[..], &ended[..]].concat());
    assert_eq!((world.ended_as(), world.state.counted), ("Complete", 2));
}

#[test]
fn watching_ends_the_run_when_nothing_is_left_to_do_about_it() {
    for end in [ReviewEnd::Green, ReviewEnd::Red, ReviewEnd::Spent, ReviewEnd::Failed] {
        let mut world = until_watched(watching(60_000));
        world.send(&Input::Reviewed(Review::blank(end, "")));
        assert_eq!((world.state.ended, world.ended_as()), (true, "Complete"));
    }
    // Limits hold for what is found, too.
    let limited = Policy { max_sessions: Some(1), ..watching(60_000) };
    let mut world = until_watched(limited);
    world.add_task();
    world.pending.clear();
    world.send(&Input::Reviewed(work()));
    world.finish();
    assert_eq!(world.ended_as(), "LimitReached");
}

#[test]
fn only_an_open_pull_request_of_our_own_is_watched_and_not_beyond_the_time_of_the_run() {
    for end in [PublishEnd::Theirs, PublishEnd::ByHand, PublishEnd::Merged, PublishEnd::Pushed] {
        let mut world = until_published(watching(60_000), &[done()]);
        world.send(&Input::Published(Publication { end, ..opened() }));
        assert_eq!(story(&world).last(), Some(&"ended"), "{end:?}");
    }
    assert_eq!(story(&until_watched(watching(0))).last(), Some(&"ended"));
    let budget = Budget { time_ms: 3_600_000, ..Budget::default() };
    let world = until_watched(Policy { budget, ..watching(u64::MAX) });
    let Some(Effect::Watch { until, .. }) = world.pending.first() else { panic!() };
    assert_eq!(*until, world.state.began_at.plus_millis(3_600_000));
}

#[test]
fn a_cancellation_of_any_kind_ends_watching() {
    for level in [Cancel::AfterTask, Cancel::AfterSession, Cancel::Now, Cancel::Kill] {
        let mut world = until_watched(watching(60_000));
        world.pending.clear();
        world.send(&Input::Control(Control::Cancel(level)));
        assert_eq!(world.pending, [Effect::StopPublishing]);
        world.send(&Input::Reviewed(Review::blank(ReviewEnd::Interrupted, "")));
        assert_eq!((world.state.ended, world.ended_as()), (true, "Complete"));
    }
    let mut world = World::new(watching(60_000), 1);
    world.begin();
    world.send(&Input::Reviewed(work()));
    assert!(matches!(world.facts.last(), Some(Fact::Anomaly { .. })));
}
