//! Work in worktrees of its own, and how it lands one after the other.

use super::*;

fn parallel(slots: u32) -> Policy {
    Policy { slots, integrates: true, ..dag() }
}

fn kinds(world: &World) -> Vec<&'static str> {
    world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Judged { .. } => Some("judged"),
            Fact::Queued { .. } => Some("queued"),
            Fact::Integrating { .. } => Some("integrating"),
            Fact::Integrated { .. } => Some("integrated"),
            Fact::Settling { .. } => Some("settling"),
            _ => None,
        })
        .collect()
}

#[test]
fn good_work_waits_for_its_turn_and_lands() {
    let world = World::run(parallel(1), 1, &[done().gate(true)]);
    assert_eq!(kinds(&world), ["judged", "queued", "integrating", "integrated", "settling"]);
    assert!(world.settlements[0].land);
    assert_eq!(world.ended_as(), "Complete");
}

#[test]
fn on_top_of_what_has_landed_it_is_judged_once_more() {
    let mut world = World::new(parallel(1), 1);
    world.landings = vec![Landing::Rebased];
    world.play(&[done().gate(true)]);
    assert_eq!(
        kinds(&world),
        ["judged", "queued", "integrating", "integrated", "judged", "settling"]
    );
    assert!(world.settlements[0].land);
}

#[test]
fn red_on_top_of_what_has_landed_comes_back_and_says_so() {
    let mut world = World::new(parallel(1), 1);
    world.begin();
    world.landings = vec![Landing::Rebased];
    // Green by itself; red once others' work is below it.
    let plays = [done().gate(true), done().gate(true)];
    let mut plays = plays.iter();
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if matches!(effect, Effect::Judge { .. }) {
            let landed = world.state.slots[0].work().is_some_and(|work| work.landing.is_some());
            world.gate = Some(!landed || world.sessions > 1);
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    let first = &world.settlements[0];
    assert_eq!((first.class, first.land), (Class::Red, false));
    let reason = &first.tasks[0].detail;
    assert!(reason.starts_with("on top of work that landed meanwhile, gate test"), "{reason}");
    assert_eq!(world.tasks[0].1, 1, "it used up a retry");
    assert!(world.settlements[1].land);
}

#[test]
fn a_conflict_goes_back_to_its_task_and_uses_up_no_retry() {
    let mut world = World::new(parallel(1), 1);
    world.landings =
        vec![Landing::Conflict(Conflict { files: vec!["a.txt".to_owned()], report: None })];
    world.play(&[done().gate(true), done().gate(true)]);
    let first = &world.settlements[0];
    assert_eq!(first.class, Class::Conflict);
    assert!(first.start_over && !first.land);
    assert_eq!(first.tasks[0].action, Some(TaskAction::Release));
    assert!(first.tasks[0].detail.contains("a.txt"), "{}", first.tasks[0].detail);
    assert_eq!(world.statuses(), ["done"]);
    assert_eq!(world.tasks[0].1, 0);
}

#[test]
fn work_that_conflicts_with_the_users_files_waits_for_you() {
    let mut world = World::new(parallel(1), 1);
    world.landings = vec![Landing::InTheWay { files: vec!["a.txt".to_owned()] }];
    world.play(&[done().gate(true)]);
    assert_eq!(world.statuses(), ["waiting"]);
    assert!(matches!(&world.settlements[0].tasks[0].action, Some(TaskAction::Hold { .. })));
    let kept = &world.settlements[0];
    assert!(!kept.start_over && !kept.put_back, "what is there stays there");
}

fn verified(policy: Policy) -> Policy {
    let verifier =
        crate::run::Verifier { agent: "script".to_owned(), model: crate::run::VerifierModel::Same };
    Policy { verify: Some(Box::new(verifier)), ..policy }
}

#[test]
fn a_conflict_is_seen_before_the_verifier_is_paid() {
    let mut world = World::new(verified(parallel(1)), 1);
    world.conflict = vec!["a.txt".to_owned()];
    world.begin();
    let first = done().gate(true);
    let verified =
        Play { verifier: vec![(EndClass::Completed, "<verify-pass/>")], ..done().gate(true) };
    let mut plays = [first, verified].into_iter();
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if let Effect::RunSession { .. } = &effect
            && world.sessions == 1
        {
            world.conflict.clear();
        }
        let mut next = plays.as_slice().iter();
        let before = next.len();
        let input = world.answer(effect, &mut next);
        for _ in 0..before - next.len() {
            plays.next();
        }
        if let Some(input) = input {
            world.send(&input);
        }
    }
    let first = &world.settlements[0];
    assert_eq!((first.class, first.start_over, first.land), (Class::Conflict, true, false));
    assert!(first.tasks[0].detail.contains("a.txt"), "{}", first.tasks[0].detail);
    assert_eq!(world.verified_by.len(), 1, "only the work that goes together is verified");
    assert_eq!(world.statuses(), ["done"]);
}

/// Runs one task whose work is overtaken so often just before it lands, or is committed in place. How each
/// try was asked for: whether the branch is to be held for it.
fn overtaken(policy: Policy, times: usize) -> (World, Vec<bool>) {
    let mut world = World::new(policy, 1);
    world.begin();
    let plays = [done().gate(true)];
    let mut plays = plays.iter();
    let (mut left, mut held) = (times, vec![]);
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        match &effect {
            Effect::Integrate { hold, .. } => held.push(*hold),
            Effect::MakeCandidate { hold, .. } if !world.state.policy.integrates => {
                held.push(*hold);
            }
            Effect::Settle { slot, .. } if left > 0 => {
                left -= 1;
                world.send(&Input::HeadMoved { slot: *slot });
                continue;
            }
            _ => {}
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    assert_eq!(world.statuses(), ["done"]);
    (world, held)
}

#[test]
fn after_two_overtakes_the_branch_is_held_and_the_run_says_so() {
    for policy in [parallel(1), dag()] {
        let (world, held) = overtaken(policy.clone(), 1);
        assert_eq!(held, [false, false], "one overtake is everyday");
        let reported = |world: &World| {
            let reported = world
                .facts
                .iter()
                .filter(|fact| matches!(fact, Fact::Noticed { notice: Notice::Overtaken { .. } }));
            reported.count()
        };
        assert_eq!(reported(&world), 0);
        let (world, held) = overtaken(policy, 3);
        assert_eq!(held, [false, false, true, true]);
        assert_eq!(reported(&world), 1, "it is said once");
    }
}

#[test]
fn the_verifier_is_asked_once() {
    let mut world = World::new(verified(parallel(1)), 1);
    world.landings = vec![Landing::Rebased];
    world.play(&[Play {
        verifier: vec![(EndClass::Completed, "<verify-pass/>")],
        ..done().gate(true)
    }]);
    assert_eq!(world.verified_by.len(), 1);
    assert_eq!(world.statuses(), ["done"]);
}

/// Two slots are done at the same time: the second waits until the first has landed.
#[test]
fn one_lands_after_the_other() {
    let mut world = World::new(parallel(2), 2);
    world.begin();
    let plays = [done().gate(true), done().gate(true)];
    let mut plays = plays.iter();
    let mut landing = None;
    // What was asked for last is answered first, so that both come to the queue.
    while let Some(effect) = world.pending.pop() {
        if let Effect::Integrate { slot, .. } = &effect {
            assert_eq!(landing.replace(*slot), None, "two land at the same time");
        }
        if let Effect::Settle { slot, settlement } = &effect {
            assert!(settlement.land);
            assert_eq!(landing.take(), Some(*slot));
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    assert_eq!(world.statuses(), ["done", "done"]);
    assert_eq!(world.landed_by.len(), 2);
}

/// A cancellation that waits for nothing keeps work from landing that waits for its turn.
#[test]
fn cancelled_work_does_not_land() {
    let mut world = World::new(parallel(2), 2);
    world.begin();
    let plays = [done().gate(true), done().gate(true)];
    let mut plays = plays.iter();
    let mut held = None;
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if matches!(effect, Effect::Integrate { .. }) && held.is_none() {
            held = Some(effect);
            continue;
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    let queued =
        world.state.slots.iter().filter(|slot| matches!(slot.phase, Phase::Queued(..))).count();
    assert_eq!(queued, 1, "one waits for the other");
    world.send(&Input::Control(crate::run::Control::Cancel(crate::run::Cancel::Now)));
    world.pending.push(held.unwrap());
    world.finish();
    assert_eq!(world.ended_as(), "Cancelled");
    assert!(world.settlements.iter().all(|settlement| !settlement.land));
    assert_eq!(world.statuses(), ["pending", "pending"]);
}

/// Another process commits to the branch just before work lands there: the loop rebases the work first.
#[test]
fn a_branch_that_moved_is_taken_into_account() {
    let mut world = World::new(parallel(1), 1);
    world.begin();
    let plays = [done().gate(true)];
    let mut plays = plays.iter();
    let mut moved = false;
    while !world.pending.is_empty() {
        let effect = world.pending.remove(0);
        if let (Effect::Settle { slot, .. }, false) = (&effect, moved) {
            moved = true;
            world.send(&Input::HeadMoved { slot: *slot });
            continue;
        }
        if let Some(input) = world.answer(effect, &mut plays) {
            world.send(&input);
        }
    }
    assert_eq!(world.landed_by.len(), 2, "it had its turn twice");
    assert_eq!(world.sessions, 1);
    assert_eq!(world.statuses(), ["done"]);
}
