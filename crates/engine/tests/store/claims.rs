//! Claims: who may take a task, how a claim ends, and which writes it covers.

use ralph_core::Lease;
use ralph_core::records::LogKind;
use ralph_core::task::{NotClaimable, Refusal, Status, TaskPatch};
use ralph_engine::ports::{ClaimRequest, Scope, Store};

use super::kit::*;

fn not_claimable(name: &str, why: NotClaimable) -> Refusal {
    let id = id(name);
    Refusal::NotClaimable { id, why }
}

fn lost(name: &str, who: &str, holder: Option<&str>) -> Refusal {
    Refusal::ClaimLost { id: id(name), agent: agent(who), holder: holder.map(agent) }
}

pub(crate) fn s1_14_a_claim_takes_the_first_ready_task(store: &mut dyn Store) {
    store.make_with("later", priority(5));
    store.make_with("first", priority(1));
    let claimed = store.try_take("a", None, 0).unwrap();
    assert_eq!(claimed.task.id, id("first"));
    assert_eq!(claimed.task, store.task("first"));
    assert_eq!(claimed.task.status, Status::InProgress);
    let claim = claimed.task.claim.unwrap();
    assert_eq!((claim.agent, claim.generation), (agent("a"), 1));
    assert_eq!((claim.claimed_at, claim.lease_expires_at), (at(0), at(60)));
    assert_eq!(claimed.task.retry_count, 0);
    assert_eq!(store.ready_names(), ["later"]);
}

pub(crate) fn s0_6_a_named_task_can_be_claimed(store: &mut dyn Store) {
    store.make_with("first", priority(0));
    store.make_with("named", priority(9));
    let claimed = store.take("a", "named");
    assert_eq!(claimed.task.id, id("named"));
    assert_eq!(store.status("first"), Status::Pending);
}

pub(crate) fn a_claim_stays_in_its_scope(store: &mut dyn Store) {
    store.make_feature("login");
    store.make_with("other", priority(0));
    store.make_with("mine", of_feature("login"));
    let mut request = ClaimRequest {
        agent: agent("a"),
        task: None,
        scope: Scope::Feature(feature("login")),
        lease: minute(),
    };
    assert_eq!(store.claim(&request, at(0)).unwrap().task.id, id("mine"));
    let none_left = refusal(store.claim(&request, at(0)));
    let Refusal::NothingReady { counts } = none_left else {
        panic!("{none_left:?}");
    };
    assert_eq!((counts.open, counts.active), (0, 1));
    request.scope = Scope::Task(id("mine"));
    assert!(store.claim(&request, at(59)).is_err());
    assert_eq!(store.claim(&request, at(60)).unwrap().task.id, id("mine"));
}

pub(crate) fn a_claim_is_exclusive_even_for_its_holder(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    for who in ["b", "a"] {
        let held = NotClaimable::Held { by: agent("a"), until: at(60) };
        let refused = refusal(store.try_take(who, Some("t"), 59));
        assert_eq!(refused, not_claimable("t", held));
        let nothing = refusal(store.try_take(who, None, 59));
        assert!(matches!(nothing, Refusal::NothingReady { .. }));
    }
    assert_eq!(store.task("t").generation, 1);
}

pub(crate) fn an_expired_claim_is_taken_over(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let task = store.try_take("b", None, 60).unwrap().task;
    assert_eq!(task, store.task("t"));
    assert_eq!((task.retry_count, task.generation), (1, 2));
    let claim = task.claim.unwrap();
    assert_eq!((claim.agent, claim.generation), (agent("b"), 2));
    assert_eq!(claim.lease_expires_at, at(120));
    let log = store.log(&id("t")).unwrap();
    assert_eq!(log[2].kind, LogKind::Claimed);
    assert!(log[2].text.contains('a'), "{:?}", log[2].text);
}

pub(crate) fn an_agent_may_take_its_own_expired_claim_again(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let task = store.try_take("a", Some("t"), 61).unwrap().task;
    assert_eq!((task.retry_count, task.generation), (1, 2));
    let before = refusal(store.done(&id("t"), None, &by_claim("a", 1), at(62)));
    assert_eq!(before, lost("t", "a", Some("a")));
}

pub(crate) fn the_better_of_ready_and_expired_is_claimed(store: &mut dyn Store) {
    store.make_with("ready", priority(3));
    store.make_with("expired", priority(1));
    store.take("a", "expired");
    assert_eq!(store.try_take("b", None, 60).unwrap().task.id, id("expired"));
    assert_eq!(store.try_take("b", None, 60).unwrap().task.id, id("ready"));
}

pub(crate) fn an_expired_but_blocked_task_is_not_taken_over(store: &mut dyn Store) {
    store.make("t");
    store.make("blocker");
    store.take("a", "t");
    store.block(&id("t"), &id("blocker"), &pat(), at(0)).unwrap();
    store.take("b", "blocker");
    let refused = refusal(store.try_take("b", Some("t"), 59));
    assert!(matches!(refused, Refusal::NotClaimable { why: NotClaimable::Held { .. }, .. }));
    store.renew(&id("blocker"), Lease::DEFAULT, &pat(), at(60)).unwrap();
    let refused = refusal(store.try_take("b", Some("t"), 60));
    assert_eq!(refused, not_claimable("t", NotClaimable::Blocked(1)));
    let nothing = refusal(store.try_take("b", None, 60));
    assert!(matches!(nothing, Refusal::NothingReady { .. }));
    assert!(store.peek(&Scope::All, 5, at(60)).unwrap().claimable.is_empty());
    assert_eq!(store.task("t").claim.unwrap().agent, agent("a"));
}

pub(crate) fn what_is_not_ready_cannot_be_claimed(store: &mut dyn Store) {
    for name in ["done", "failed", "deleted", "waiting", "parent", "blocked"] {
        store.make(name);
    }
    store.finish("done");
    store.give_up("failed");
    store.remove(&["deleted"]);
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    store.make_with("part", below("parent"));
    store.change("blocked", after(&["part", "waiting", "deleted"]));
    for (name, why) in [
        ("done", NotClaimable::Status(Status::Done)),
        ("failed", NotClaimable::Status(Status::Failed)),
        ("deleted", NotClaimable::Status(Status::Deleted)),
        ("waiting", NotClaimable::Status(Status::Waiting)),
        ("parent", NotClaimable::HasChildren),
        ("blocked", NotClaimable::Blocked(2)),
    ] {
        let refused = refusal(store.try_take("a", Some(name), 0));
        assert_eq!(refused, not_claimable(name, why));
    }
    let unknown = refusal(store.try_take("a", Some("nobody"), 0));
    assert_eq!(unknown, Refusal::Unknown { id: id("nobody") });
}

pub(crate) fn nothing_below_a_failed_task_can_be_claimed(store: &mut dyn Store) {
    store.make("top");
    store.make_with("middle", below("top"));
    store.make_with("bad", below("top"));
    store.make_with("leaf", below("middle"));
    store.give_up("bad");
    assert_eq!(store.ready_names(), [""; 0]);
    let refused = refusal(store.try_take("a", Some("leaf"), 0));
    assert_eq!(refused, not_claimable("leaf", NotClaimable::FailedAbove));
    store.reset(&id("bad"), &pat(), at(0)).unwrap();
    assert_eq!(store.ready_names(), ["bad", "leaf"]);
}

pub(crate) fn a_late_holder_may_still_finish_without_another_claim(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.done(&id("t"), None, &by_claim("a", 1), at(9999)).unwrap();
    assert_eq!(store.status("t"), Status::Done);
    assert_eq!(store.task("t").done_at, Some(at(9999)));
}

/// Every way to write as the holder of a claim.
fn all_writes(
    store: &mut dyn Store,
    who: &ralph_core::task::Actor,
) -> Vec<ralph_engine::ports::Result<()>> {
    let t = id("t");
    let now = at(100);
    vec![
        store.renew(&t, minute(), who, now).map(drop),
        store.release(&t, who, now),
        store.done(&t, Some("{}"), who, now),
        store.fail(&t, "why", false, THREE, who, now).map(drop),
        store.fail(&t, "why", true, THREE, who, now).map(drop),
        store.hold(&t, who, now),
        store.ask("q-1".parse().unwrap(), &t, "which?", who, now),
    ]
}

pub(crate) fn a_lost_claim_writes_nothing_by_generation(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.try_take("a", Some("t"), 60).unwrap();
    let (before, log) = (store.task("t"), store.kinds("t"));
    for write in all_writes(store, &by_claim("a", 1)) {
        assert_eq!(refusal(write), lost("t", "a", Some("a")));
    }
    assert_eq!((store.task("t"), store.kinds("t")), (before, log));
    assert_eq!(store.questions(None, false).unwrap(), []);
}

pub(crate) fn a_lost_claim_writes_nothing_by_agent_id(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.try_take("b", Some("t"), 60).unwrap();
    let (before, log) = (store.task("t"), store.kinds("t"));
    for who in [by("a"), by_claim("a", 1), by_claim("a", 2)] {
        for write in all_writes(store, &who) {
            assert_eq!(refusal(write), lost("t", "a", Some("b")));
        }
    }
    assert_eq!((store.task("t"), store.kinds("t")), (before, log));
}

pub(crate) fn an_agent_finishes_nothing_that_it_does_not_hold(store: &mut dyn Store) {
    store.make("t");
    let done = refusal(store.done(&id("t"), None, &by("a"), at(0)));
    assert_eq!(done, lost("t", "a", None));
    let renewed = refusal(store.renew(&id("t"), minute(), &by("a"), at(0)));
    assert_eq!(renewed, lost("t", "a", None));
}

pub(crate) fn a_person_acts_directly(store: &mut dyn Store) {
    for name in ["t", "u", "v"] {
        store.make(name);
        store.take("a", name);
    }
    store.done(&id("t"), None, &pat(), at(1)).unwrap();
    store.release(&id("u"), &pat(), at(1)).unwrap();
    store.fail(&id("v"), "no", true, THREE, &pat(), at(1)).unwrap();
    let statuses = ["t", "u", "v"].map(|name| store.status(name));
    assert_eq!(statuses, [Status::Done, Status::Pending, Status::Failed]);
    let log = store.log(&id("t")).unwrap();
    assert_eq!(log.last().unwrap().by, agent("pat"));
}

pub(crate) fn renewing_moves_the_end_of_the_lease(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let task = store.renew(&id("t"), minute(), &by_claim("a", 1), at(30)).unwrap();
    assert_eq!(task, store.task("t"));
    let claim = task.claim.unwrap();
    assert_eq!((claim.claimed_at, claim.lease_expires_at), (at(0), at(90)));
    assert_eq!((task.generation, task.retry_count), (1, 0));
    assert!(store.try_take("b", Some("t"), 60).is_err());
    // Late, but nobody took over.
    store.renew(&id("t"), minute(), &by("a"), at(500)).unwrap();
    assert!(store.try_take("b", Some("t"), 559).is_err());
}

pub(crate) fn only_a_claim_can_be_renewed(store: &mut dyn Store) {
    store.make("t");
    let refused = refusal(store.renew(&id("t"), minute(), &pat(), at(0)));
    let status = Status::Pending;
    assert_eq!(refused, Refusal::NotClaimed { id: id("t"), status });
}

pub(crate) fn s1_50_a_released_task_is_as_if_it_was_never_taken(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.release(&id("t"), &by_claim("a", 1), at(1)).unwrap();
    let task = store.task("t");
    assert_eq!((task.status, task.claim), (Status::Pending, None));
    assert_eq!((task.retry_count, task.generation), (0, 1));
    assert_eq!(task.reason, None);
    let refused = refusal(store.release(&id("t"), &pat(), at(2)));
    assert_eq!(refused, transition("t", Status::Pending, Status::Pending));
    assert_eq!(store.take("b", "t").task.generation, 2);
}

pub(crate) fn a_claim_brings_what_the_blockers_produced(store: &mut dyn Store) {
    for name in ["told", "silent", "gone"] {
        store.make(name);
    }
    store.make_with("t", after(&["gone", "silent", "told"]));
    store.take("a", "told");
    let result = r#"{"commit":"abc"}"#;
    store.done(&id("told"), Some(result), &by("a"), at(0)).unwrap();
    store.finish("silent");
    store.remove(&["gone"]);
    let claimed = store.take("a", "t");
    let expected = vec![(id("told"), result.to_owned())];
    assert_eq!(claimed.blocker_results, expected);
    assert_eq!(claimed.task.deps, ids(&["told", "silent", "gone"]));
    assert_eq!(store.task("told").result.as_deref(), Some(result));
}

pub(crate) fn peek_shows_the_claimable_then_the_held(store: &mut dyn Store) {
    for (name, first) in [("r5", 5), ("x3", 3), ("r1", 1), ("h2", 2), ("h0", 0)] {
        store.make_with(name, priority(first));
    }
    store.take("a", "x3");
    store.try_take("b", Some("h2"), 30).unwrap();
    store.try_take("b", Some("h0"), 30).unwrap();
    let peek = store.peek(&Scope::All, 10, at(60)).unwrap();
    assert_eq!(names(&peek.claimable), ["r1", "x3", "r5"]);
    assert_eq!(peek.claimable[1].claim.as_ref().unwrap().agent, agent("a"));
    assert_eq!(names(&peek.claimed), ["h0", "h2"]);
    let peek = store.peek(&Scope::All, 2, at(60)).unwrap();
    assert_eq!(names(&peek.claimable), ["r1", "x3"]);
    assert_eq!(names(&peek.claimed), ["h0", "h2"]);
    let peek = store.peek(&Scope::Task(id("r5")), 2, at(60)).unwrap();
    assert_eq!((names(&peek.claimable), peek.claimed), (vec!["r5"], vec![]));
    // Looking does not take.
    assert_eq!(store.task("x3").generation, 1);
}

pub(crate) fn a_claimed_task_can_still_be_changed(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let fields: TaskPatch = priority(7);
    store.change("t", fields);
    assert_eq!(store.task("t").claim.unwrap().generation, 1);
    store.done(&id("t"), None, &by_claim("a", 1), at(1)).unwrap();
}
