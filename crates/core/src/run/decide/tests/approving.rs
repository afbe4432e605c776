//! Work that passed every check and waits for the user.

use super::*;
use crate::run::{Approve, FinishedWork, Risk};

fn approving(approve: Approve) -> Policy {
    Policy { approve, approve_lines: 10, ..dag() }
}

fn first_class(policy: Policy, change: ChangeSize, play: Play) -> Class {
    let mut world = World::new(policy, 1);
    world.change = change;
    world.play(&[play]);
    world.settlements[0].class
}

#[test]
fn green_work_waits_and_the_loop_goes_on_with_other_tasks() {
    let plays = [done().gate(true), done().gate(true)];
    let world = World::run(approving(Approve::Always), 2, &plays);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["waiting", "waiting"], "Blocked"));
    let first = &world.settlements[0];
    assert!(first.commit.is_none() && !first.land && !first.put_back);
    assert_eq!(first.save, Some((TaskId::new("t-0").unwrap(), 1)));
    let Some(TaskAction::Hold { reason }) = &first.tasks[0].action else { panic!() };
    assert!(reason.contains("ralph approve t-0"), "{reason}");
}

#[test]
fn work_lands_without_approval_where_none_is_wanted() {
    for approve in [Approve::Never, Approve::Risky] {
        assert_eq!(first_class(approving(approve), ChangeSize::default(), done()), Class::Done);
    }
}

#[test]
fn each_risk_makes_work_wait_and_the_limit_itself_does_not() {
    let named = || vec!["a".to_owned()];
    let small = ChangeSize { lines: 10, ..ChangeSize::default() };
    let risky = approving(Approve::Risky);
    assert_eq!(first_class(risky.clone(), small.clone(), done()), Class::Done);
    for change in [
        ChangeSize { lines: 11, ..small.clone() },
        ChangeSize { protected: named(), ..small.clone() },
        ChangeSize { weakened: named(), ..small.clone() },
        ChangeSize { secrets: named(), ..small.clone() },
    ] {
        assert_eq!(Risk::of(&change, 10).len(), 1);
        assert_eq!(
            first_class(risky.clone(), change.clone(), done()),
            Class::Approval,
            "{change:?}"
        );
        let never = approving(Approve::Never);
        assert_eq!(first_class(never, change, done()), Class::Done);
    }
}

#[test]
fn work_in_a_worktree_of_its_own_does_not_land_before_it_is_approved() {
    let policy = Policy { integrates: true, ..approving(Approve::Always) };
    let world = World::run(policy, 1, &[done()]);
    assert_eq!((world.statuses(), world.landed_by.len()), (vec!["waiting"], 0));
}

/// The slot has claimed a task whose work the user approved, and the engine found that work.
fn found(world: &mut World, tree: &str) {
    let gates = vec![GateReport::of_check("test", Verdict::Pass, "")];
    let work = FinishedWork { tree: tree.to_owned(), verified: false, approved: true, gates };
    let task = TaskBrief { finished: Some(work), ..world.brief(0) };
    world.begin();
    world.pending.clear();
    let counts = Counts { open: 1, ..Counts::default() };
    let approved = Some(task.id.clone());
    let survey = Survey { counts, claimable: 1, approved, ..Survey::default() };
    world.send(&Input::Surveyed { slot: 0, survey });
    assert!(matches!(&world.pending[..], [Effect::Claim { only: Some(id), .. }] if *id == task.id));
    world.pending.clear();
    world.tasks[0].0 = Status::InProgress;
    world.send(&Input::Claimed { slot: 0, task: Box::new(task.clone()) });
    world.pending.clear();
    world.trees = 1;
    world.send(&Input::WorkFound { slot: 0, task: Box::new(task) });
}

#[test]
fn the_approved_tree_lands_without_a_session_and_without_another_check() {
    for policy in
        [approving(Approve::Always), Policy { picker: Picker::Agent, ..approving(Approve::Always) }]
    {
        let mut world = World::new(policy, 1);
        found(&mut world, "t1");
        world.finish();
        assert_eq!((world.statuses(), world.sessions), (vec!["done"], 0));
        assert!(!world.facts.iter().any(|fact| matches!(fact, Fact::Judged { .. })));
        assert_eq!(world.settlements[0].gates.len(), 1, "the stored evidence");
    }
}

#[test]
fn approved_work_on_another_base_is_checked_again_and_lands() {
    for (green, status) in [(true, "done"), (false, "pending")] {
        let mut world = World::new(approving(Approve::Always), 1);
        world.gate = Some(green);
        found(&mut world, "t0");
        while world.settlements.is_empty() {
            let effect = world.pending.remove(0);
            if let Some(input) = world.answer(effect, &mut [].iter()) {
                world.send(&input);
            }
        }
        assert_eq!(world.statuses(), [status]);
        assert!(world.facts.iter().any(|fact| matches!(fact, Fact::Judged { .. })));
    }
}

#[test]
fn approved_work_that_cannot_be_restored_waits_again_and_starts_no_session() {
    let mut world = World::new(approving(Approve::Always), 1);
    world.begin();
    while !matches!(world.pending[..], [Effect::RunSession { .. }]) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
    world.pending.clear();
    let (task, why) = (TaskId::new("t-0").unwrap(), "gone".to_owned());
    world.send(&Input::WorkMissing { slot: 0, task, why });
    world.finish();
    assert_eq!((world.statuses(), world.ended_as()), (vec!["waiting"], "Blocked"));
}
