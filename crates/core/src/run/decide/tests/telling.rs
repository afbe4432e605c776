//! Messages of the user about a task, in every phase of its iteration.

use super::*;
use crate::records::UserMessage;
use crate::run::control::Control;

fn message(number: u32) -> UserMessage {
    UserMessage { number, text: format!("message {number}") }
}

fn tell(world: &mut World, task: &str, number: u32) {
    let task = TaskId::new(task).unwrap();
    world.send(&Input::Control(Control::Tell { task, message: message(number) }));
}

/// What the loop hands to sessions; taken out of the effects.
fn said(world: &mut World) -> Vec<(SlotId, u32)> {
    let is_said = |effect: &Effect| match effect {
        Effect::Say { slot, message, .. } => Some((*slot, message.number)),
        _ => None,
    };
    let found = world.pending.iter().filter_map(is_said).collect();
    world.pending.retain(|effect| is_said(effect).is_none());
    found
}

/// A loop in front of one task, up to the effect that is next.
fn up_to(play: &Play, next: fn(&Effect) -> bool) -> World {
    let mut world = World::new(dag(), 1);
    world.begin();
    let mut plays = std::iter::once(play);
    while !next(&world.pending[0]) {
        let effect = world.pending.remove(0);
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    world
}

fn running() -> World {
    up_to(&done(), |effect| matches!(effect, Effect::RunSession { .. }))
}

fn given(number: u32) -> Input {
    let task = TaskId::new("t-0").unwrap();
    Input::MessageGiven { slot: 0, task, message: message(number), live: true }
}

#[test]
fn only_the_running_session_of_the_task_is_told() {
    let mut world = running();
    tell(&mut world, "t-1", 1);
    assert_eq!(said(&mut world), []);
    tell(&mut world, "t-0", 1);
    tell(&mut world, "t-0", 2);
    assert_eq!(said(&mut world), [(0, 1), (0, 2)]);
    let mut world = up_to(&done().gate(true), |effect| matches!(effect, Effect::Judge { .. }));
    tell(&mut world, "t-0", 1);
    assert_eq!(said(&mut world), []);
}

#[test]
fn a_task_whose_session_did_not_get_a_message_is_not_done_before_another_one_did() {
    for next in [
        (|effect| matches!(effect, Effect::RunSession { .. })) as fn(&Effect) -> bool,
        |effect| matches!(effect, Effect::MakeCandidate { .. }),
        |effect| matches!(effect, Effect::Judge { .. }),
    ] {
        let mut world = up_to(&done().gate(true), next);
        tell(&mut world, "t-0", 1);
        said(&mut world);
        world.go_on(
            &mut [done().gate(true), done().gate(true)].iter().skip(world.sessions as usize),
        );
        let classes: Vec<Class> = world.settlements.iter().map(|it| it.class).collect();
        assert_eq!(classes[..2], [Class::NewMessage, Class::Done]);
        assert_eq!(world.settlements[0].tasks[0].action, Some(TaskAction::Release));
        assert_eq!(world.statuses(), ["done"]);
    }
}

#[test]
fn a_session_that_got_the_message_is_judged_as_ever() {
    let mut world = running();
    tell(&mut world, "t-0", 1);
    said(&mut world);
    world.send(&given(1));
    assert!(world.facts.iter().any(|fact| matches!(fact, Fact::MessageGiven { live: true, .. })));
    world.go_on(&mut [done()].iter());
    assert_eq!((world.settlements[0].class, world.statuses()), (Class::Done, vec!["done"]));
}

#[test]
fn a_message_that_the_session_got_already_is_no_new_one() {
    let mut world = running();
    world.send(&given(1));
    tell(&mut world, "t-0", 1);
    said(&mut world);
    world.go_on(&mut [done()].iter());
    assert_eq!((world.settlements[0].class, world.statuses()), (Class::Done, vec!["done"]));
}

#[test]
fn a_message_changes_nothing_for_a_task_that_is_returned_anyway() {
    let mut world = running();
    tell(&mut world, "t-0", 1);
    said(&mut world);
    world.go_on(&mut [done().gate(false), done().gate(true)].iter());
    let classes: Vec<Class> = world.settlements.iter().map(|it| it.class).collect();
    assert_eq!(classes, [Class::Red, Class::Done]);
}

#[test]
fn an_agent_that_gives_up_without_the_message_is_asked_again() {
    let mut world = running();
    tell(&mut world, "t-0", 1);
    said(&mut world);
    world.go_on(&mut [says("<task-failed>{id}</task-failed>"), done()].iter());
    assert_eq!((world.settlements[0].class, world.statuses()), (Class::NewMessage, vec!["done"]));
}

#[test]
fn a_message_that_comes_while_the_result_is_recorded_is_named_with_what_to_type() {
    let mut world = up_to(&done(), |effect| matches!(effect, Effect::Settle { .. }));
    tell(&mut world, "t-0", 1);
    assert_eq!(said(&mut world), []);
    world.finish();
    assert_eq!(world.statuses(), ["done"]);
    let named = |fact: &Fact| match fact {
        Fact::Noticed { notice: Notice::Other { text } } => text.contains("ralph task reopen t-0"),
        _ => false,
    };
    assert!(world.facts.iter().any(named), "{:?}", world.facts);
}
