//! Controls that reach a run: cancel, pause, skip, retry, and changes of the plan by others.

use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::run::{Cancel, Class, Control, Fact, StopReason, Wait};
use ralph_core::task::Status;
use ralph_core::{AgentId, Lease};
use ralph_engine::ports::{ClaimRequest, DeleteWhich, Scope};

use crate::kit::{Inside, Play, Played, World, says, stays, task_id, user, works};

fn cancel(inside: &Inside, how: Cancel) {
    inside.control(&Control::Cancel(how));
}

/// A run that was cancelled: what became of the tasks `a` and `b`.
fn ended(played: &Played) -> [Status; 2] {
    assert_eq!(*played.reason(), StopReason::Cancelled);
    assert_eq!(played.outcome.code(), 130);
    [played.status("a"), played.status("b")]
}

/// The next run is the same run, and does the rest.
fn goes_on(world: &mut World, plays: impl IntoIterator<Item = Play>) {
    let played = world.continuing().build(plays);
    assert_eq!(*played.reason(), StopReason::Complete);
    let resumed = played.facts().find_map(|fact| match fact {
        Fact::RunStarted { resumed, .. } => Some(resumed.is_some()),
        _ => None,
    });
    assert_eq!(resumed, Some(true));
    assert_eq!([played.status("a"), played.status("b")], [Status::Done; 2]);
}

#[test]
fn gates_that_run_finish_after_the_first_stop() {
    let first = AtomicBool::new(true);
    let mut world = World::new(&["a", "b"]).gate("check", move |inside| {
        if first.swap(false, Ordering::Relaxed) {
            cancel(inside, Cancel::AfterSession);
        }
        (0, String::new())
    });
    let played = world.build([works(), works()]);
    assert_eq!(ended(&played), [Status::Done, Status::Pending]);
    goes_on(&mut world, [works()]);
}

#[test]
fn a_second_stop_ends_gates_and_costs_the_task_no_retry() {
    let first = AtomicBool::new(true);
    let mut world = World::new(&["a", "b"]).gate("check", move |inside| {
        if first.swap(false, Ordering::Relaxed) {
            cancel(inside, Cancel::AfterSession);
            inside.send_control(&Control::Cancel(Cancel::Now));
            inside.stay();
        }
        (0, String::new())
    });
    let played = world.build([works(), works(), works()]);
    assert_eq!(ended(&played), [Status::Pending, Status::Pending]);
    assert_eq!(played.task("a").retry_count, 0);
    goes_on(&mut world, [works(), works()]);
}

#[test]
fn cancel_waits_for_the_session_and_its_work_counts() {
    let mut world = World::new(&["a", "b"]);
    let waits = works().does(|inside| cancel(inside, Cancel::AfterSession));
    let played = world.build([waits, works()]);
    assert_eq!(ended(&played), [Status::Done, Status::Pending]);
    assert_eq!(played.committed("a.txt").as_deref(), Some("work\n"));
    goes_on(&mut world, [works()]);
}

#[test]
fn pause_starts_nothing_new_and_resume_goes_on() {
    let waits = works().does(|inside| inside.control(&Control::Pause));
    let mut world = World::new(&["a", "b"]).reacting(Control::Resume, |fact| {
        matches!(fact, Fact::WaitStarted { wait: Wait::Paused, .. })
    });
    let played = world.build([waits, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let at = |so: fn(&Fact) -> bool| played.facts().position(so).unwrap();
    let paused = at(|fact| matches!(fact, Fact::WaitStarted { wait: Wait::Paused, .. }));
    let before = played.facts().take(paused);
    assert_eq!(before.filter(|fact| matches!(fact, Fact::IterationStarted { .. })).count(), 1);
    let settled =
        |fact: &Fact| matches!(fact, Fact::TaskSettled { task, .. } if task.as_str() == "a");
    assert!(played.facts().take(paused).any(settled), "a was done before the pause");
    assert_eq!((played.status("a"), played.status("b")), (Status::Done, Status::Done));
}

#[test]
fn skip_leaves_the_task_for_you_and_retry_reopens_it() {
    let half = stays()
        .writes("half.txt", "half\n")
        .does(|inside| inside.control(&Control::Skip { task: task_id("a") }));
    let third = works().does(|inside| {
        let status = || inside.store().get(&task_id("a")).unwrap().status;
        assert_eq!(status(), Status::Waiting);
        inside.control(&Control::Retry { task: task_id("a") });
        inside.wait_until("the reset", || status() == Status::Pending);
    });
    let played = World::new(&["a", "b"]).build([half, third, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.saved("a", "half.txt").as_deref(), Some("half\n"));
    assert_eq!(played.classes(), [Class::Skipped, Class::Done, Class::Done]);
    assert_eq!((played.status("a"), played.status("b")), (Status::Done, Status::Done));
}

#[test]
fn retry_brings_a_failed_task_back_into_the_run() {
    let fails = says("<task-failed>{id}</task-failed>");
    let retries = works().does(|inside| {
        let status = || inside.store().get(&task_id("a")).unwrap().status;
        assert_eq!(status(), Status::Failed);
        inside.control(&Control::Retry { task: task_id("a") });
        inside.wait_until("the reset", || status() == Status::Pending);
    });
    let played = World::new(&["a", "b"]).build([fails, retries, works()]);
    assert_eq!((played.reason(), played.status("a")), (&StopReason::Complete, Status::Done));
}

#[test]
fn tasks_that_are_added_during_a_run_are_worked_through() {
    let adds = works().does(|inside| inside.add_task("later"));
    let played = World::new(&["a"]).build([adds, works()]);
    assert_eq!((played.reason(), played.status("later")), (&StopReason::Complete, Status::Done));
}

#[test]
fn a_claim_that_the_user_takes_away_ends_its_session_and_writes_nothing() {
    let half = stays().writes("half.txt", "half\n").does(|inside| {
        let mut store = inside.store();
        store.reset(&task_id("a"), &user(), inside.now()).unwrap();
    });
    let played = World::on_disk(&["a"]).build([half, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::ClaimLost, Class::Done]);
    let task = played.task("a");
    assert_eq!((task.retry_count, task.reason), (0, None));
    assert_eq!(played.attempts("a")[0].end.as_ref().unwrap().outcome, "claim-lost");
    assert_eq!(played.saved("a", "half.txt").as_deref(), Some("half\n"), "its work is kept");
    assert_eq!((played.started(), played.outcome.iterations), (2, 1), "it does not count");
}

#[test]
fn a_task_that_is_deleted_during_its_session_is_claim_lost_too() {
    let deleted = stays().does(|inside| {
        let which = DeleteWhich::Ids(vec![task_id("a")]);
        inside.store().delete(which, &user(), inside.now()).unwrap();
    });
    let played = World::on_disk(&["a", "b"]).build([deleted, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!((played.status("a"), played.status("b")), (Status::Deleted, Status::Done));
}

#[test]
fn s1_5_s1_52_a_stale_claim_blocks_and_reset_recovers_it() {
    let mut world = World::new(&["a"]);
    let request = ClaimRequest {
        agent: AgentId::new("ghost").unwrap(),
        task: Some(task_id("a")),
        scope: Scope::All,
        lease: Lease::DEFAULT,
    };
    world.store().claim(&request, world.now()).unwrap();
    let played = world.build([works()]);
    assert_eq!((played.outcome.code(), played.sessions), (7, 0), "{:?}", played.reason());
    let sentence = played.outcome.sentence();
    assert!(sentence.contains("1 claimed by other agents"), "{sentence}");
    world.store().reset(&task_id("a"), &user(), world.now()).unwrap();
    let played = world.build([works()]);
    assert_eq!((played.reason(), played.status("a")), (&StopReason::Complete, Status::Done));
}
