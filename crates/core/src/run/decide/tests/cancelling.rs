//! How a run stops: what each level of a cancellation lets finish, at every moment.

use super::*;
use crate::run::{
    Cancel, Control, EndsWhen, Exhausted, Port, Stopping, Unit, Verifier, VerifierModel,
};

/// Answers until a session is to run, and has it started. It has not ended yet.
fn until_session(world: &mut World) -> Effect {
    loop {
        let effect = world.pending.remove(0);
        if let Effect::RunSession { slot, .. } = effect {
            world.send(&Input::SessionStarted { slot, log: "x".to_owned() });
            return effect;
        }
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
}

/// Has the session end like this, and everything go on.
fn ends_as(world: &mut World, session: Effect, plays: &[Play]) {
    let mut plays = plays.iter();
    let input = world.answer(session, &mut plays).unwrap();
    world.pending.retain(|effect| !matches!(effect, Effect::StopSession { .. }));
    world.send(&input);
    world.go_on(&mut plays);
    assert_eq!(plays.len(), 0, "sessions that the loop did not start");
}

fn working(policy: Policy, tasks: usize) -> (World, Effect) {
    let mut world = World::new(policy, tasks);
    world.begin();
    let session = until_session(&mut world);
    (world, session)
}

fn cancel(level: Cancel) -> Input {
    Input::Control(Control::Cancel(level))
}

/// How the loop told the sessions to end, since the last call of this.
fn stops(world: &mut World) -> Vec<Stopping> {
    let how = |effect: &Effect| match effect {
        Effect::StopSession { how, .. } => Some(*how),
        _ => None,
    };
    let found = world.pending.iter().filter_map(how).collect();
    world.pending.retain(|effect| how(effect).is_none());
    found
}

fn two_slots() -> Policy {
    Policy { slots: 2, ..dag() }
}

fn verified() -> Policy {
    let verifier = Verifier { agent: "script".to_owned(), model: VerifierModel::Same };
    Policy { verify: Some(Box::new(verifier)), ..dag() }
}

#[test]
fn the_first_ctrl_c_lets_the_session_end_and_its_work_is_committed() {
    let (mut world, session) = working(verified(), 2);
    world.send(&Input::CtrlC);
    assert_eq!((stops(&mut world), world.state.ended), (vec![], false));
    let verifier = vec![(EndClass::Completed, "<verify-pass/>")];
    ends_as(&mut world, session, &[Play { verifier, ..done().gate(true) }]);
    assert_eq!(world.statuses(), ["done", "pending"], "nothing new is started");
    assert!(world.settlements[0].commit.is_some());
    assert_eq!((world.ended_as(), world.outcome().iterations), ("Cancelled", 1));
    assert_eq!(world.verified_by.len(), 1, "the verifier of that session still runs");
}

/// An interview that is stopped asks the same question next time, without another session.
#[test]
fn the_question_of_a_session_that_ends_after_ctrl_c_is_kept() {
    let spec = Policy {
        picker: Picker::Agent,
        unit: Unit::Iteration,
        ends: vec![EndsWhen::Session],
        asks: true,
        ..dag()
    };
    let (mut world, session) = working(spec, 0);
    world.send(&Input::CtrlC);
    ends_as(&mut world, session, &[says("<question>Which one?</question>").without_changes()]);
    assert_eq!(world.ended_as(), "Cancelled");
    assert_eq!(world.outcome().question(), Some("Which one?"));
}

#[test]
fn the_second_ctrl_c_interrupts_and_the_third_kills() {
    let (mut world, session) = working(dag(), 2);
    let mut seen = vec![];
    for _ in 0..4 {
        world.send(&Input::CtrlC);
        seen.push(stops(&mut world));
    }
    assert_eq!(seen, [vec![], vec![Stopping::Interrupt], vec![Stopping::Kill], vec![]]);
    ends_as(&mut world, session, &[ends(EndClass::Cancelled)]);
    assert_eq!((world.statuses(), world.tasks[0].1), (vec!["pending", "pending"], 0));
    assert!(world.settlements[0].save.is_some(), "its work is kept");
    assert_eq!((world.ended_as(), world.state.cut_off), ("Cancelled", 1));
}

/// SIGTERM and SIGHUP arrive as this, as often as programs like to send them.
#[test]
fn cancel_now_is_the_second_ctrl_c_however_often_it_comes() {
    let (mut world, session) = working(dag(), 1);
    for expected in [vec![Stopping::Interrupt], vec![]] {
        world.send(&cancel(Cancel::Now));
        assert_eq!(stops(&mut world), expected);
    }
    world.send(&Input::CtrlC);
    assert_eq!(stops(&mut world), [Stopping::Kill]);
    ends_as(&mut world, session, &[ends(EndClass::Cancelled)]);
    assert_eq!((world.ended_as(), world.statuses()), ("Cancelled", vec!["pending"]));
}

#[test]
fn a_lower_level_takes_nothing_back() {
    let (mut world, session) = working(dag(), 2);
    world.send(&cancel(Cancel::AfterSession));
    world.send(&cancel(Cancel::AfterTask));
    assert_eq!(world.state.cancel, Some(Cancel::AfterSession));
    ends_as(&mut world, session, &[done().gate(false)]);
    assert_eq!((world.ended_as(), world.sessions), ("Cancelled", 1), "it is not tried again");
}

#[test]
fn after_the_task_means_after_its_retries_and_before_any_other_task() {
    let (mut world, session) = working(dag(), 3);
    world.send(&cancel(Cancel::AfterTask));
    assert_eq!(stops(&mut world), []);
    let limited = ends(EndClass::RateLimit);
    ends_as(&mut world, session, &[done().gate(false), limited, done().gate(true)]);
    assert_eq!(world.statuses(), ["done", "pending", "pending"]);
    assert_eq!((world.ended_as(), world.sessions), ("Cancelled", 3));
}

#[test]
fn after_the_task_the_retry_is_of_that_task_whatever_is_ready_before_it() {
    let mut world = World::new(dag(), 2);
    world.tasks[0].0 = Status::Waiting;
    world.begin();
    let session = until_session(&mut world);
    // The user reopens the first task while the loop works on the second.
    world.tasks[0].0 = Status::Pending;
    world.send(&cancel(Cancel::AfterTask));
    ends_as(&mut world, session, &[done().gate(false), done().gate(true)]);
    assert_eq!((world.statuses(), world.ended_as()), (vec!["pending", "done"], "Cancelled"));
}

#[test]
fn after_the_task_ends_with_a_task_that_fails_waits_or_cannot_be_claimed() {
    for (play, status) in [
        (says("<task-failed>{id}</task-failed>"), "failed"),
        (says("<question>Why?</question>"), "waiting"),
    ] {
        let (mut world, session) = working(dag(), 2);
        world.send(&cancel(Cancel::AfterTask));
        ends_as(&mut world, session, &[play]);
        assert_eq!(world.statuses(), [status, "pending"]);
        assert_eq!(world.ended_as(), "Cancelled");
    }
    // Somebody else takes the task between two attempts.
    let (mut world, session) = working(dag(), 2);
    world.send(&cancel(Cancel::AfterTask));
    let plays = [done().gate(false)];
    let input = world.answer(session, &mut plays.iter()).unwrap();
    world.send(&input);
    while !matches!(world.pending[0], Effect::Claim { .. }) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
    world.tasks[0].0 = Status::InProgress;
    world.finish();
    assert_eq!((world.sessions, world.ended_as()), (1, "Cancelled"));
}

#[test]
fn after_the_task_where_iterations_are_judged_is_after_their_retries() {
    let policy = Policy {
        unit: Unit::Iteration,
        picker: Picker::Agent,
        on_exhausted: Exhausted::Stop,
        ends: vec![EndsWhen::Ticked],
        ..dag()
    };
    let (mut world, session) = working(policy, 2);
    world.send(&cancel(Cancel::AfterTask));
    ends_as(&mut world, session, &[says("one").gate(false), says("two").gate(true)]);
    assert_eq!((world.ended_as(), world.outcome().iterations), ("Cancelled", 1));
}

/// An agent that picks may pick another task: the run waits only for its session.
#[test]
fn after_the_task_where_the_agent_picks_is_after_the_session() {
    let (mut world, session) = working(pick(), 2);
    world.send(&cancel(Cancel::AfterTask));
    ends_as(&mut world, session, &[done().gate(false)]);
    assert_eq!((world.ended_as(), world.sessions), ("Cancelled", 1));
}

#[test]
fn side_by_side_every_session_ends_by_itself() {
    let mut world = World::new(two_slots(), 4);
    world.begin();
    let sessions = [until_session(&mut world), until_session(&mut world)];
    world.send(&Input::CtrlC);
    let [first, second] = sessions;
    ends_as(&mut world, first, &[done()]);
    assert!(!world.state.ended, "the other one is still at work");
    ends_as(&mut world, second, &[done()]);
    assert_eq!(world.statuses(), ["done", "done", "pending", "pending"]);
    assert_eq!(world.ended_as(), "Cancelled");
}

#[test]
fn side_by_side_each_current_task_has_its_retries() {
    let mut world = World::new(two_slots(), 4);
    world.begin();
    let sessions = [until_session(&mut world), until_session(&mut world)];
    world.send(&cancel(Cancel::AfterTask));
    let [first, second] = sessions;
    ends_as(&mut world, first, &[done()]);
    assert!(!world.state.ended, "the other task is in hand");
    ends_as(&mut world, second, &[done().gate(false), done().gate(true)]);
    assert_eq!(world.statuses(), ["done", "done", "pending", "pending"]);
    assert_eq!((world.ended_as(), world.sessions), ("Cancelled", 3));
}

/// A run that waits for something has nothing to finish, whatever it waits for.
#[test]
fn a_run_that_waits_ends_at_once() {
    for level in [Cancel::AfterTask, Cancel::AfterSession, Cancel::Now] {
        for class in [EndClass::UsageWindow, EndClass::Overload] {
            let mut world = World::new(dag(), 2);
            world.begin();
            let session = until_session(&mut world);
            let plays = [ends(class)];
            let input = world.answer(session, &mut plays.iter()).unwrap();
            world.send(&input);
            while world.state.slots[0].wait.is_none() {
                let effect = world.pending.remove(0);
                let input = world.answer(effect, &mut [].iter()).unwrap();
                world.send(&input);
            }
            world.send(&cancel(level));
            assert!(world.state.ended, "{level:?} {class:?}");
            assert_eq!(world.ended_as(), "Cancelled");
        }
        let mut paused = World::new(dag(), 1);
        paused.send(&Input::Control(Control::Pause));
        paused.begin();
        paused.send(&cancel(level));
        assert!(paused.state.ended, "{level:?} while paused");
    }
}

/// The run does not wait for a session that cannot begin yet and that ralph tries again later.
#[test]
fn a_session_that_waits_to_begin_is_given_up() {
    let mut world = World::new(dag(), 1);
    world.begin();
    while !matches!(world.pending[0], Effect::RunSession { .. }) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
    world.pending.clear();
    let (port, error) = (Port::Prompt, "it broke".to_owned());
    world.send(&Input::PortFailed { slot: 0, port, error, for_good: false });
    world.send(&Input::CtrlC);
    assert_eq!((world.state.ended, world.sessions), (true, 0));
    assert!(world.pending.iter().any(|effect| matches!(effect, Effect::Release { .. })));
}

/// Preparing a session (the gates' baseline, the worktree) does not count as a session.
#[test]
fn a_session_that_is_being_prepared_does_not_begin() {
    let mut world = World::new(dag(), 1);
    world.begin();
    while !matches!(world.pending[0], Effect::RunSession { .. }) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
    let session = world.pending.remove(0);
    world.send(&Input::CtrlC);
    assert_eq!(stops(&mut world), [Stopping::Interrupt]);
    ends_as(&mut world, session, &[ends(EndClass::Cancelled)]);
    assert_eq!((world.ended_as(), world.statuses()), ("Cancelled", vec!["pending"]));
}

fn judging() -> World {
    let (mut world, session) = working(dag(), 2);
    let plays = [done().gate(true)];
    let input = world.answer(session, &mut plays.iter()).unwrap();
    world.send(&input);
    while !matches!(world.state.slots[0].phase, Phase::Judging(_)) {
        let effect = world.pending.remove(0);
        let input = world.answer(effect, &mut [].iter()).unwrap();
        world.send(&input);
    }
    world
}

#[test]
fn gates_that_run_finish_and_decide() {
    for level in [Cancel::AfterTask, Cancel::AfterSession] {
        let mut world = judging();
        world.send(&cancel(level));
        assert_eq!(stops(&mut world), []);
        world.finish();
        assert_eq!((world.statuses(), world.ended_as()), (vec!["done", "pending"], "Cancelled"));
    }
}

#[test]
fn the_second_ctrl_c_interrupts_gates_and_the_task_is_as_it_was() {
    let mut world = judging();
    world.send(&Input::CtrlC);
    world.send(&Input::CtrlC);
    assert_eq!(stops(&mut world), [Stopping::Interrupt]);
    world.gate = Some(false);
    world.finish();
    assert_eq!((world.statuses(), world.tasks[0].1), (vec!["pending", "pending"], 0));
    assert_eq!(world.ended_as(), "Cancelled");
}

/// Work of an interrupted session is saved and not judged: the run is to end now.
#[test]
fn what_an_interrupted_session_calls_done_is_not_judged() {
    let (mut world, session) = working(dag(), 1);
    world.send(&cancel(Cancel::Now));
    ends_as(&mut world, session, &[done().gate(true)]);
    assert_eq!(world.statuses(), ["pending"]);
    assert!(!world.facts.iter().any(|fact| matches!(fact, Fact::Judged { .. })));
    assert!(world.settlements[0].save.is_some());
}

#[test]
fn a_session_whose_end_could_not_be_reported_is_reported_again_and_not_run_again() {
    let store_fails = |world: &mut World| {
        let (slot, error) = (0, "locked".to_owned());
        world.send(&Input::PortFailed { slot, port: Port::Store, error, for_good: false });
    };
    for level in [None, Some(Cancel::AfterSession), Some(Cancel::Kill)] {
        let (mut world, session) = working(dag(), 2);
        store_fails(&mut world);
        match level {
            Some(level) => world.send(&cancel(level)),
            None => {
                let wake = world.pending.remove(0);
                let woken = world.answer(wake, &mut [].iter()).unwrap();
                world.send(&woken);
            }
        }
        let asked = world.pending.iter().filter(|e| matches!(e, Effect::ReportSession { .. }));
        assert_eq!(asked.count(), 1, "{level:?}: {:?}", world.pending);
        let plays: &[Play] = if level.is_none() { &[done(), done()] } else { &[done()] };
        world.pending.retain(|effect| !matches!(effect, Effect::ReportSession { .. }));
        ends_as(&mut world, session, plays);
        assert_eq!(world.settlements.len(), plays.len(), "{level:?}");
    }
}
