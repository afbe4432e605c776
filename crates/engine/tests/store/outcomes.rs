//! Outcomes and what follows from them: done, failed, reset, and parents that follow their parts.

use ralph_core::records::LogKind;
use ralph_core::task::{Refusal, RetryLimit, Status};
use ralph_engine::ports::Store;

use super::kit::*;

pub(crate) fn s1_47_only_a_claimed_task_can_be_done(store: &mut dyn Store) {
    for name in ["pending", "waiting", "done", "failed", "deleted"] {
        store.make(name);
    }
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    store.finish("done");
    store.give_up("failed");
    store.remove(&["deleted"]);
    for (name, from) in [
        ("pending", Status::Pending),
        ("waiting", Status::Waiting),
        ("done", Status::Done),
        ("failed", Status::Failed),
        ("deleted", Status::Deleted),
    ] {
        let t = id(name);
        let done = refusal(store.done(&t, None, &pat(), at(0)));
        assert_eq!(done, transition(name, from, Status::Done));
        let failed = refusal(store.fail(&t, "no", true, THREE, &pat(), at(0)));
        assert_eq!(failed, transition(name, from, Status::Failed));
        let released = refusal(store.release(&t, &pat(), at(0)));
        assert_eq!(released, transition(name, from, Status::Pending));
        assert_eq!(store.status(name), from);
    }
}

pub(crate) fn done_keeps_the_result_and_the_time(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let result = Some(r#"{"commit":"abc"}"#);
    store.done(&id("t"), result, &by("a"), at(5)).unwrap();
    let task = store.task("t");
    assert_eq!((task.status, task.claim), (Status::Done, None));
    assert_eq!(task.result.as_deref(), result);
    assert_eq!((task.done_at, task.updated_at), (Some(at(5)), at(5)));
}

pub(crate) fn a_claimed_task_that_got_parts_is_done_by_them(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.make_with("part", below("t"));
    let refused = refusal(store.done(&id("t"), None, &by("a"), at(1)));
    assert_eq!(refused, Refusal::HasUnfinishedParts { id: id("t"), children: ids(&["part"]) });
    let became = store.fail(&id("t"), "too large", true, THREE, &by("a"), at(2)).unwrap();
    assert_eq!((became, store.status("t")), (Status::Pending, Status::Pending));
    store.finish("part");
    assert_eq!((store.status("t"), store.task("t").claim), (Status::Done, None));
}

pub(crate) fn s1_45_a_failed_attempt_goes_back_to_pending(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let became = store.fail(&id("t"), "red", false, THREE, &by("a"), at(1));
    assert_eq!(became.unwrap(), Status::Pending);
    let task = store.task("t");
    assert_eq!((task.status, task.claim), (Status::Pending, None));
    assert_eq!((task.retry_count, task.reason.as_deref()), (1, Some("red")));
    assert_eq!(store.ready_names(), ["t"]);
    assert_eq!(store.kinds("t").last(), Some(&LogKind::Retry));
}

pub(crate) fn s1_46_three_retries_are_four_attempts(store: &mut dyn Store) {
    store.make("t");
    let mut became = vec![];
    for _ in 0..4 {
        store.take("a", "t");
        let status = store.fail(&id("t"), "red", false, THREE, &by("a"), at(1));
        became.push((status.unwrap(), store.task("t").retry_count));
    }
    let (again, over) = (Status::Pending, Status::Failed);
    assert_eq!(became, [(again, 1), (again, 2), (again, 3), (over, 3)]);
    let last = store.log(&id("t")).unwrap().pop().unwrap();
    assert_eq!((last.kind, last.text.as_str()), (LogKind::Failed, "red"));
}

pub(crate) fn a_final_failure_asks_for_no_retries(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let became = store.fail(&id("t"), "no", true, RetryLimit::Unlimited, &by("a"), at(1));
    assert_eq!(became.unwrap(), Status::Failed);
    let task = store.task("t");
    assert_eq!((task.retry_count, task.reason.as_deref()), (0, Some("no")));
    assert_eq!(task.claim, None);
}

pub(crate) fn without_a_limit_a_task_comes_back_for_ever(store: &mut dyn Store) {
    store.make("t");
    for round in 1..8 {
        store.take("a", "t");
        let became = store.fail(&id("t"), "no", false, RetryLimit::Unlimited, &by("a"), at(1));
        assert_eq!(became.unwrap(), Status::Pending);
        assert_eq!(store.task("t").retry_count, round);
    }
}

pub(crate) fn s1_52_reset_clears_claim_retries_and_reason(store: &mut dyn Store) {
    store.make("claimed");
    store.take("a", "claimed");
    store.fail(&id("claimed"), "red", false, THREE, &by("a"), at(1)).unwrap();
    store.take("a", "claimed");
    store.make("failed");
    store.give_up("failed");
    store.make("waiting");
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    for name in ["claimed", "failed", "waiting"] {
        let before = store.task(name).generation;
        store.reset(&id(name), &pat(), at(2)).unwrap();
        let task = store.task(name);
        assert_eq!((task.status, task.claim), (Status::Pending, None));
        assert_eq!((task.retry_count, task.reason), (0, None));
        assert_eq!(task.generation, before);
        assert_eq!(store.kinds(name).last(), Some(&LogKind::Reset));
    }
    let gone = refusal(store.done(&id("claimed"), None, &by_claim("a", 2), at(3)));
    assert!(matches!(gone, Refusal::ClaimLost { .. }));
}

pub(crate) fn reset_leaves_pending_done_and_deleted_alone(store: &mut dyn Store) {
    for name in ["pending", "done", "deleted"] {
        store.make(name);
    }
    store.finish("done");
    store.remove(&["deleted"]);
    let before = store.task("pending");
    store.reset(&id("pending"), &pat(), at(9)).unwrap();
    assert_eq!(store.task("pending"), before);
    for (name, from) in [("done", Status::Done), ("deleted", Status::Deleted)] {
        let refused = refusal(store.reset(&id(name), &pat(), at(9)));
        assert_eq!(refused, transition(name, from, Status::Pending));
    }
}

pub(crate) fn a_parent_with_failed_parts_is_not_reset(store: &mut dyn Store) {
    store.make("p");
    for name in ["good", "bad", "worse"] {
        store.make_with(name, below("p"));
    }
    store.take("a", "worse");
    store.give_up("bad");
    store.fail(&id("worse"), "no", true, THREE, &by("a"), at(0)).unwrap();
    let refused = refusal(store.reset(&id("p"), &pat(), at(0)));
    let children = ids(&["bad", "worse"]);
    assert_eq!(refused, Refusal::FailedParts { id: id("p"), children });
    assert_eq!(store.status("p"), Status::Failed);
}

pub(crate) fn a_done_task_reopens_with_its_parents_and_its_history(store: &mut dyn Store) {
    store.make("top");
    store.make_with("part", below("top"));
    store.make_with("twin", below("top"));
    store.make_with("later", after(&["part"]));
    store.make_with("blocked", after(&["top"]));
    store.make("bad");
    for name in ["part", "twin", "later"] {
        store.finish(name);
    }
    store.give_up("bad");
    assert_eq!(store.status("top"), Status::Done);
    assert_eq!(store.ready_names(), ["blocked"]);
    let generation = store.task("part").generation;
    store.reopen(&ids(&["part", "bad"]), "it loses lines", &pat(), at(9)).unwrap();
    for name in ["part", "bad"] {
        let task = store.task(name);
        assert_eq!((task.status, task.retry_count), (Status::Pending, 0), "{name}");
        assert_eq!((task.done_at, task.result, task.reason), (None, None, None), "{name}");
    }
    assert_eq!(store.task("part").generation, generation);
    let log = store.log(&id("part")).unwrap();
    let last: Vec<_> = log[log.len() - 2..].iter().map(|line| (line.kind, &*line.text)).collect();
    let reopened = (LogKind::Reset, "reopened, was done");
    assert_eq!(last, [reopened, (LogKind::Note, "it loses lines")]);
    // The parent follows, its other part and the dependent stay as they are.
    assert_eq!(store.status("top"), Status::Pending);
    assert_eq!(store.log(&id("top")).unwrap().pop().unwrap().text, "reopened with its part part");
    assert_eq!((store.status("twin"), store.status("later")), (Status::Done, Status::Done));
    assert_eq!(store.ready_names(), ["part", "bad"]);
    store.finish("part");
    assert_eq!(store.status("top"), Status::Done);
}

pub(crate) fn only_finished_tasks_reopen_and_all_or_none(store: &mut dyn Store) {
    for name in ["done", "open", "active", "gone", "parent"] {
        store.make(name);
    }
    store.make_with("part", below("parent"));
    store.finish("done");
    store.finish("part");
    store.take("a", "active");
    store.remove(&["gone"]);
    let refused = |store: &mut dyn Store, name: &str| {
        refusal(store.reopen(&ids(&["done", name]), "why", &pat(), at(9)))
    };
    let found = refused(store, "open");
    assert_eq!(found, transition("open", Status::Pending, Status::Pending));
    let found = refused(store, "active");
    assert_eq!(found, Refusal::NotFinished { id: id("active"), status: Status::InProgress });
    assert_eq!(refused(store, "gone"), Refusal::IsDeleted { id: id("gone") });
    let children = ids(&["part"]);
    assert_eq!(refused(store, "parent"), Refusal::DoneParts { id: id("parent"), children });
    assert_eq!(refused(store, "none"), Refusal::Unknown { id: id("none") });
    assert_eq!(store.status("done"), Status::Done);
}

pub(crate) fn s1_48_a_parent_is_done_with_its_last_child(store: &mut dyn Store) {
    store.make("top");
    store.make_with("middle", below("top"));
    store.make_with("a", below("middle"));
    store.make_with("b", below("middle"));
    store.make_with("waits", after(&["top"]));
    store.finish("a");
    assert_eq!(store.status("middle"), Status::Pending);
    assert_eq!(store.ready_names(), ["b"]);
    store.take("w", "b");
    store.done(&id("b"), None, &by("w"), at(7)).unwrap();
    for name in ["middle", "top"] {
        let task = store.task(name);
        assert_eq!((task.status, task.done_at), (Status::Done, Some(at(7))));
    }
    assert_eq!(store.ready_names(), ["waits"]);
}

pub(crate) fn s1_48_a_dependent_is_ready_after_its_last_blocker(store: &mut dyn Store) {
    store.make("a");
    store.make("b");
    store.make_with("t", after(&["a", "b"]));
    assert_eq!(store.task("t").neighbors.open_blockers, 2);
    store.finish("a");
    assert_eq!(store.ready_names(), ["b"]);
    store.finish("b");
    assert_eq!(store.ready_names(), ["t"]);
    assert_eq!(store.status("t"), Status::Pending);
}

pub(crate) fn s1_49_a_parent_fails_with_its_child(store: &mut dyn Store) {
    store.make("top");
    store.make_with("middle", below("top"));
    store.make_with("bad", below("middle"));
    store.make_with("aunt", below("top"));
    store.make_with("waits", after(&["top"]));
    store.take("w", "bad");
    store.fail(&id("bad"), "red", false, THREE, &by("w"), at(0)).unwrap();
    assert_eq!(store.status("middle"), Status::Pending);
    store.give_up("bad");
    assert_eq!(store.status("middle"), Status::Failed);
    assert_eq!(store.status("top"), Status::Failed);
    assert!(store.task("aunt").neighbors.failed_above);
    assert_eq!(store.ready_names(), [""; 0]);
}

pub(crate) fn a_failed_parent_comes_back_with_its_last_failed_child(store: &mut dyn Store) {
    store.make("top");
    store.make_with("middle", below("top"));
    for name in ["x", "y"] {
        store.make_with(name, below("middle"));
    }
    store.take("w", "y");
    store.give_up("x");
    store.fail(&id("y"), "no", true, THREE, &by("w"), at(0)).unwrap();
    store.reset(&id("x"), &pat(), at(0)).unwrap();
    assert_eq!(store.status("middle"), Status::Failed);
    store.reset(&id("y"), &pat(), at(0)).unwrap();
    assert_eq!(store.status("middle"), Status::Pending);
    assert_eq!(store.status("top"), Status::Pending);
    assert_eq!(store.ready_names(), ["x", "y"]);
}

pub(crate) fn deleting_the_last_failed_child_heals_the_parent(store: &mut dyn Store) {
    store.make("p");
    store.make_with("bad", below("p"));
    store.make_with("good", below("p"));
    store.give_up("bad");
    store.remove(&["bad"]);
    assert_eq!(store.status("p"), Status::Pending);
    assert_eq!(store.ready_names(), ["good"]);
    store.finish("good");
    assert_eq!(store.status("p"), Status::Done);
}

pub(crate) fn deleting_the_only_child_makes_the_parent_a_leaf(store: &mut dyn Store) {
    store.make("p");
    store.make_with("bad", below("p"));
    store.give_up("bad");
    store.remove(&["bad"]);
    assert_eq!(store.ready_names(), ["p"]);
    assert_eq!(store.task("p").neighbors.children, 0);
}

pub(crate) fn deleting_the_last_open_child_finishes_the_parent(store: &mut dyn Store) {
    store.make("top");
    store.make_with("p", below("top"));
    store.make_with("done", below("p"));
    store.make_with("open", below("p"));
    store.finish("done");
    store.remove(&["open"]);
    assert_eq!(store.status("p"), Status::Done);
    assert_eq!(store.status("top"), Status::Done);
}

pub(crate) fn both_parents_follow_a_child_that_moves(store: &mut dyn Store) {
    store.make("from");
    store.make("to");
    store.make_with("stays", below("from"));
    store.make_with("moves", below("from"));
    store.finish("stays");
    store.give_up("moves");
    assert_eq!(store.status("from"), Status::Failed);
    store.change("moves", below("to"));
    assert_eq!(store.status("from"), Status::Done);
    assert_eq!(store.status("to"), Status::Failed);
    store.change("moves", at_the_top());
    assert_eq!(store.status("to"), Status::Pending);
    assert_eq!(store.task("moves").parent, None);
    assert_eq!(store.ready_names(), ["to"]);
}

pub(crate) fn a_moved_subtree_keeps_its_neighbor_counts(store: &mut dyn Store) {
    store.make("sick");
    store.make_with("bad", below("sick"));
    store.make("p");
    store.make_with("leaf", below("p"));
    store.give_up("bad");
    store.change("p", below("sick"));
    assert!(store.task("leaf").neighbors.failed_above);
    assert!(store.task("p").neighbors.failed_above);
    store.change("p", at_the_top());
    assert!(!store.task("leaf").neighbors.failed_above);
    assert_eq!(store.ready_names(), ["leaf"]);
}

pub(crate) fn a_failed_leaf_can_be_split(store: &mut dyn Store) {
    store.make("top");
    store.make_with("t", below("top"));
    store.give_up("t");
    store.make_with("half", below("t"));
    assert_eq!(store.status("t"), Status::Pending);
    assert_eq!(store.status("top"), Status::Pending);
    assert_eq!(store.ready_names(), ["half"]);
    store.finish("half");
    assert_eq!(store.status("top"), Status::Done);
}

pub(crate) fn a_claimed_task_that_gets_parts_is_done_with_them(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.make_with("part", below("t"));
    store.finish("part");
    let task = store.task("t");
    assert_eq!((task.status, task.claim), (Status::Done, None));
}

pub(crate) fn s0_8_every_claim_of_an_agent_can_be_found_and_failed(store: &mut dyn Store) {
    for name in ["one", "two", "other"] {
        store.make(name);
    }
    store.take("a", "one");
    store.take("b", "other");
    store.take("a", "two");
    let mine = ralph_engine::ports::Filter { assignee: Some(agent("a")), ..Default::default() };
    let held = store.list(&mine).unwrap();
    assert_eq!(names(&held), ["one", "two"]);
    let reason = "session exited without completing task";
    for task in &held {
        store.fail(&task.id, reason, false, THREE, &by("a"), at(1)).unwrap();
    }
    assert_eq!(store.list(&mine).unwrap(), []);
    assert_eq!(store.task("two").reason.as_deref(), Some(reason));
    assert_eq!(store.task("other").claim.unwrap().agent, agent("b"));
}
