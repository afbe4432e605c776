//! Publishing the branch of a complete run.

use super::*;
use crate::run::{Cancel, Control, Publication, Publish, PublishEnd};

/// What a pull request comes to that is opened.
pub(super) fn opened() -> Publication {
    Publication {
        end: PublishEnd::Opened,
        branch: "feature".to_owned(),
        page: "https://github.com/ada/engine/pull/1".to_owned(),
        why: String::new(),
        command: String::new(),
    }
}

fn failed() -> Publication {
    Publication { end: PublishEnd::Failed, why: "it broke".to_owned(), ..opened() }
}

fn publishing(auto_push: bool, auto_pr: bool) -> Policy {
    Policy { publish: Some(Publish { auto_push, auto_pr }), ..dag() }
}

/// The facts about it, and the end of the run, in order.
fn story(world: &World) -> Vec<&'static str> {
    let word = |fact: &Fact| match fact {
        Fact::StopDecided { .. } => Some("stop"),
        Fact::Publishing => Some("publishing"),
        Fact::Published { .. } => Some("published"),
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
            world.tell(&input);
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
    world.tell(&Input::Published(failed()));
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
        world.tell(&Input::Control(Control::Cancel(level)));
        assert_eq!(world.pending, [Effect::StopPublishing]);
        let interrupted = Publication { end: PublishEnd::Interrupted, ..failed() };
        world.tell(&Input::Published(interrupted));
        assert_eq!((world.state.ended, world.ended_as()), (true, "Complete"));
    }
    // One that came before is a wish to end, and nothing is begun.
    let mut world = until_published(publishing(false, true), &[done()]);
    world.state.publishing = crate::run::Publishing::No;
    world.state.cancel = Some(Cancel::AfterSession);
    let notice = Input::Notice(crate::run::Notice::Ungated);
    let step = decide(&world.state, &notice, world.now);
    assert!(matches!(step.effects[..], [Effect::Finish { .. }]), "{:?}", step.effects);
}

/// While sessions run, only a cancellation that is to have effect at once ends a push.
#[test]
fn pushes_between_iterations_end_with_what_is_killed() {
    let mut world = World::new(publishing(true, false), 1);
    world.begin();
    world.pending.clear();
    world.tell(&Input::Control(Control::Cancel(Cancel::AfterSession)));
    assert_eq!(world.pending, []);
    world.tell(&Input::Control(Control::Cancel(Cancel::Now)));
    assert_eq!(world.pending, [Effect::StopPublishing]);
}
