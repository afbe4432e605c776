//! The plan: making, changing, ordering, blocking, deleting and counting tasks.

use ralph_core::task::{Counts, NewTask, Refusal, Status, StatusFilter, TaskPatch};
use ralph_engine::ports::{DeleteWhich, Filter, Scope, Store};

use super::kit::*;

fn cycle(path: &[&str]) -> Refusal {
    Refusal::Cycle { path: ids(path) }
}

fn every_field() -> TaskPatch {
    patch(|p| {
        p.description = Some("two\nlines, ünïcödé".to_owned());
        p.priority = priority(9999).priority;
        p.category = Some(Some("cat".to_owned()));
        p.spec = Some(Some("specs/a.md".to_owned()));
        p.reference = Some(Some("#12".to_owned()));
        p.parent = Some(Some(id("parent")));
        p.feature = Some(Some(feature("login")));
        p.branch = Some(Some("main".to_owned()));
        p.touches = Some(vec!["src/**".to_owned(), "a,b".to_owned()]);
        p.steps = Some(vec!["say \"hi\"".to_owned()]);
        p.deps = Some(ids(&["late", "early"]));
    })
}

pub(crate) fn a_task_keeps_every_field(store: &mut dyn Store) {
    store.make_feature("login");
    for name in ["parent", "early", "late"] {
        store.make(name);
    }
    let task = NewTask { fields: every_field(), ..NewTask::titled(title("Grüße")) };
    store.add(id("t"), task, &pat(), at(3)).unwrap();
    let task = store.task("t");
    let fields = every_field();
    assert_eq!(task.title.as_str(), "Grüße");
    assert_eq!(Some(task.description), fields.description);
    assert_eq!(Some(task.priority), fields.priority);
    assert_eq!(Some(task.category), fields.category);
    assert_eq!(Some(task.spec), fields.spec);
    assert_eq!(Some(task.reference), fields.reference);
    assert_eq!(Some(task.parent), fields.parent);
    assert_eq!(Some(task.feature), fields.feature);
    assert_eq!(Some(task.branch), fields.branch);
    assert_eq!(Some(task.touches), fields.touches);
    assert_eq!(Some(task.steps), fields.steps);
    assert_eq!(task.deps, ids(&["early", "late"]), "oldest first");
    assert_eq!((task.status, task.claim), (Status::Pending, None));
    assert_eq!((task.generation, task.retry_count), (0, 0));
    assert_eq!((task.created_at, task.updated_at), (at(3), at(3)));
    assert_eq!((task.done_at, task.result, task.reason), (None, None, None));
    assert_eq!(task.verification_status, None);
}

pub(crate) fn a_field_can_be_changed_and_emptied(store: &mut dyn Store) {
    store.make_feature("login");
    for name in ["parent", "early", "late", "t"] {
        store.make(name);
    }
    let before = store.task("t");
    store.update(&id("t"), every_field(), &pat(), at(5)).unwrap();
    assert_eq!(store.task("t").updated_at, at(5));
    assert_eq!(store.task("t").steps, ["say \"hi\""]);
    let nothing = patch(|p| {
        p.description = Some(String::new());
        p.priority = priority(2).priority;
        p.category = Some(None);
        p.spec = Some(None);
        p.reference = Some(None);
        p.parent = Some(None);
        p.feature = Some(None);
        p.branch = Some(None);
        p.touches = Some(vec![]);
        p.steps = Some(vec![]);
        p.deps = Some(vec![]);
    });
    store.update(&id("t"), nothing, &pat(), at(0)).unwrap();
    let task = store.task("t");
    assert_eq!(task.order, before.order);
    assert_eq!(task, before);
}

pub(crate) fn an_empty_patch_changes_nothing(store: &mut dyn Store) {
    store.make("t");
    let (before, log) = (store.task("t"), store.kinds("t"));
    store.update(&id("t"), TaskPatch::default(), &pat(), at(9)).unwrap();
    store.update(&id("t"), priority(2), &pat(), at(9)).unwrap();
    assert_eq!((store.task("t"), store.kinds("t")), (before, log));
}

pub(crate) fn done_and_deleted_tasks_are_not_changed(store: &mut dyn Store) {
    store.make("done");
    store.make("deleted");
    store.finish("done");
    store.remove(&["deleted"]);
    let done = refusal(store.try_change("done", priority(1)));
    assert_eq!(done, Refusal::DoneIsFinal { id: id("done") });
    let deleted = refusal(store.try_change("deleted", priority(1)));
    assert_eq!(deleted, Refusal::IsDeleted { id: id("deleted") });
}

pub(crate) fn what_is_not_there_is_named(store: &mut dyn Store) {
    store.make("t");
    let missing = |name| Refusal::Unknown { id: id(name) };
    assert_eq!(refusal(store.get(&id("x"))), missing("x"));
    assert_eq!(refusal(store.try_change("x", priority(1))), missing("x"));
    assert_eq!(refusal(store.try_change("t", below("y"))), missing("y"));
    assert_eq!(refusal(store.try_change("t", after(&["z"]))), missing("z"));
    assert_eq!(refusal(store.dependents(&id("x"))), missing("x"));
    assert_eq!(refusal(store.log(&id("x"))), missing("x"));
    assert_eq!(refusal(store.note(&id("x"), "", &pat(), at(0))), missing("x"));
    assert_eq!(refusal(store.try_make("u", below("y"))), missing("y"));
    let no_feature = refusal(store.try_make("u", of_feature("login")));
    let name = feature("login");
    assert_eq!(no_feature, Refusal::UnknownFeature { name: name.clone() });
    let no_feature = refusal(store.try_change("t", of_feature("login")));
    assert_eq!(no_feature, Refusal::UnknownFeature { name });
}

pub(crate) fn a_refused_change_leaves_no_trace(store: &mut dyn Store) {
    store.make("t");
    store.make("u");
    let before = (store.list(&everything()).unwrap(), store.kinds("t"));
    let half_good = patch(|p| {
        p.title = Some(title("new"));
        p.parent = Some(Some(id("u")));
        p.deps = Some(ids(&["u", "nobody"]));
    });
    refusal(store.try_change("t", half_good.clone()));
    refusal(store.try_make("v", half_good));
    assert_eq!((store.list(&everything()).unwrap(), store.kinds("t")), before);
    assert!(store.get(&id("v")).is_err());
}

pub(crate) fn an_id_is_taken_once(store: &mut dyn Store) {
    store.make("t");
    let refused = refusal(store.try_make("t", TaskPatch::default()));
    assert_eq!(refused, Refusal::Exists { id: id("t") });
}

pub(crate) fn s1_11_ready_tasks_come_by_priority_then_creation(store: &mut dyn Store) {
    for (name, first) in [("c", 2), ("b", 1), ("a", 2), ("z", 0), ("d", 1)] {
        store.make_with(name, priority(first));
    }
    assert_eq!(store.ready_names(), ["z", "b", "d", "c", "a"]);
    let three = store.ready(&Scope::All, 3).unwrap();
    assert_eq!(names(&three), ["z", "b", "d"]);
    assert_eq!(store.ready(&Scope::All, 0).unwrap(), []);
    store.change("d", priority(0));
    assert_eq!(store.ready_names(), ["z", "d", "b", "c", "a"]);
}

pub(crate) fn s1_10_ready_is_pending_leaf_unblocked_below_nothing_failed(store: &mut dyn Store) {
    store.make("parent");
    store.make_with("leaf", below("parent"));
    store.make_with("blocked", after(&["leaf"]));
    store.make("claimed");
    store.take("a", "claimed");
    store.make("waiting");
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    store.make("failed");
    store.give_up("failed");
    store.make_with("after_failed", after(&["failed"]));
    store.make_with("after_waiting", after(&["waiting"]));
    store.make("gone");
    store.make_with("after_gone", after(&["gone"]));
    store.remove(&["gone"]);
    assert_eq!(store.ready_names(), ["leaf", "after_gone"]);
    for task in store.list(&everything()).unwrap() {
        let ready = ["leaf", "after_gone"].contains(&task.id.as_str());
        assert_eq!(task.is_ready(), ready, "{}", task.id);
    }
}

pub(crate) fn s1_12_a_scope_is_all_a_feature_or_a_task(store: &mut dyn Store) {
    store.make_feature("login");
    store.make_feature("empty");
    store.make("free");
    store.make_with("mine", of_feature("login"));
    store.make_with("mine_too", of_feature("login"));
    store.change("mine", priority(9));
    let login = Scope::Feature(feature("login"));
    let of_login = store.ready(&login, 9).unwrap();
    assert_eq!(names(&of_login), ["mine_too", "mine"]);
    let none = Scope::Feature(feature("empty"));
    assert_eq!(store.ready(&none, 9).unwrap(), []);
    assert_eq!(store.counts(&none).unwrap(), Counts::default());
    let one = Scope::Task(id("free"));
    assert_eq!(names(&store.ready(&one, 9).unwrap()), ["free"]);
    assert_eq!(store.counts(&one).unwrap().total(), 1);
    assert_eq!(store.counts(&login).unwrap().open, 2);
    assert_eq!(store.counts(&Scope::All).unwrap().open, 3);
}

pub(crate) fn a_blocker_blocks_until_done_or_deleted(store: &mut dyn Store) {
    for name in ["a", "b", "t"] {
        store.make(name);
    }
    store.block(&id("t"), &id("a"), &pat(), at(0)).unwrap();
    store.block(&id("t"), &id("b"), &pat(), at(0)).unwrap();
    assert_eq!(store.task("t").deps, ids(&["a", "b"]));
    store.finish("a");
    store.remove(&["b"]);
    assert_eq!(store.ready_names(), ["t"]);
    assert_eq!(store.task("t").deps, ids(&["a", "b"]));
    let waiting = store.dependents(&id("a")).unwrap();
    assert_eq!(names(&waiting), ["t"]);
}

pub(crate) fn blocking_twice_counts_once(store: &mut dyn Store) {
    store.make("a");
    store.make("t");
    for _ in 0..2 {
        store.block(&id("t"), &id("a"), &pat(), at(0)).unwrap();
    }
    assert_eq!(store.task("t").neighbors.open_blockers, 1);
    store.change("t", after(&["a", "a"]));
    store.unblock(&id("t"), &id("a"), &pat(), at(0)).unwrap();
    assert_eq!(store.ready_names(), ["a", "t"]);
    let refused = refusal(store.unblock(&id("t"), &id("a"), &pat(), at(0)));
    let (id, by) = (id("t"), id("a"));
    assert_eq!(refused, Refusal::NotBlockedBy { id, by });
}

pub(crate) fn a_closed_task_gets_no_blocker(store: &mut dyn Store) {
    for name in ["a", "done", "deleted"] {
        store.make(name);
    }
    store.finish("done");
    store.remove(&["deleted"]);
    for (name, status) in [("done", Status::Done), ("deleted", Status::Deleted)] {
        let refused = refusal(store.block(&id(name), &id("a"), &pat(), at(0)));
        let id = id(name);
        assert_eq!(refused, Refusal::BlockClosed { id, status });
    }
}

pub(crate) fn a_failed_task_can_be_blocked_and_reset(store: &mut dyn Store) {
    store.make("a");
    store.make("t");
    store.give_up("t");
    store.block(&id("t"), &id("a"), &pat(), at(0)).unwrap();
    store.reset(&id("t"), &pat(), at(0)).unwrap();
    assert_eq!(store.ready_names(), ["a"]);
    store.finish("a");
    assert_eq!(store.ready_names(), ["t"]);
}

pub(crate) fn no_task_needs_itself(store: &mut dyn Store) {
    store.make("t");
    let itself = Refusal::OnItself { id: id("t") };
    assert_eq!(refusal(store.block(&id("t"), &id("t"), &pat(), at(0))), itself);
    assert_eq!(refusal(store.try_change("t", after(&["t"]))), itself);
    assert_eq!(refusal(store.try_change("t", below("t"))), itself);
    let new = Refusal::OnItself { id: id("u") };
    assert_eq!(refusal(store.try_make("u", after(&["u"]))), new);
    assert_eq!(refusal(store.try_make("u", below("u"))), new);
}

pub(crate) fn a_cycle_is_refused_at_the_edge_that_closes_it(store: &mut dyn Store) {
    store.make("a");
    store.make_with("b", after(&["a"]));
    store.make_with("c", after(&["b"]));
    store.make_with("d", after(&["c"]));
    let two = refusal(store.block(&id("a"), &id("b"), &pat(), at(0)));
    assert_eq!(two, cycle(&["a", "b", "a"]));
    let long = refusal(store.block(&id("a"), &id("d"), &pat(), at(0)));
    assert_eq!(long, cycle(&["a", "d", "c", "b", "a"]));
    let by_update = refusal(store.try_change("a", after(&["d"])));
    assert_eq!(by_update, cycle(&["a", "d", "c", "b", "a"]));
    assert_eq!(store.task("a").deps, []);
    assert_eq!(store.ready_names(), ["a"]);
    store.unblock(&id("c"), &id("b"), &pat(), at(0)).unwrap();
    store.change("a", after(&["d"]));
}

pub(crate) fn a_change_is_judged_by_the_edges_that_it_leaves(store: &mut dyn Store) {
    store.make("p");
    store.make_with("t", after(&["p"]));
    // `t` no longer waits for `p`: it becomes a part of it.
    let instead = patch(|p| {
        p.parent = Some(Some(id("p")));
        p.deps = Some(vec![]);
    });
    store.change("t", instead);
    assert_eq!(store.ready_names(), ["t"]);
    // And back.
    let back = patch(|p| {
        p.parent = Some(None);
        p.deps = Some(ids(&["p"]));
    });
    store.change("t", back);
    assert_eq!(store.ready_names(), ["p"]);
}

pub(crate) fn a_cycle_through_a_parent_is_refused(store: &mut dyn Store) {
    store.make("top");
    store.make_with("p", below("top"));
    store.make_with("leaf", below("p"));
    store.make("other");
    // A part cannot wait for what is done only with it.
    let up = refusal(store.block(&id("leaf"), &id("top"), &pat(), at(0)));
    assert_eq!(up, cycle(&["leaf", "top", "p", "leaf"]));
    // A parent may wait for its part: it does anyway.
    store.block(&id("top"), &id("leaf"), &pat(), at(0)).unwrap();
    // A parent cannot go below its own part.
    let below_itself = refusal(store.try_change("top", below("leaf")));
    assert!(matches!(below_itself, Refusal::Cycle { .. }));
    // `other` waits for `top`, so it cannot become a part of it.
    store.change("other", after(&["top"]));
    let moved = refusal(store.try_change("other", below("p")));
    assert!(matches!(moved, Refusal::Cycle { .. }));
    assert_eq!(store.task("other").parent, None);
}

pub(crate) fn a_closed_parent_takes_no_parts(store: &mut dyn Store) {
    for name in ["done", "deleted", "t"] {
        store.make(name);
    }
    store.finish("done");
    store.remove(&["deleted"]);
    for (name, status) in [("done", Status::Done), ("deleted", Status::Deleted)] {
        let closed = Refusal::ParentClosed { parent: id(name), status };
        assert_eq!(refusal(store.try_change("t", below(name))), closed);
        assert_eq!(refusal(store.try_make("u", below(name))), closed);
    }
}

pub(crate) fn ids_are_deleted_all_or_none(store: &mut dyn Store) {
    for name in ["a", "b", "done"] {
        store.make(name);
    }
    store.finish("done");
    let refused = refusal(store.try_remove(&["a", "done"]));
    assert_eq!(refused, transition("done", Status::Done, Status::Deleted));
    let refused = refusal(store.try_remove(&["a", "nobody"]));
    assert_eq!(refused, Refusal::Unknown { id: id("nobody") });
    assert_eq!(store.status("a"), Status::Pending);
    assert_eq!(store.remove(&["b", "a", "b"]), ids(&["b", "a"]));
    assert_eq!(store.remove(&["a"]), []);
}

pub(crate) fn unfinished_parts_go_with_their_parent_or_not_at_all(store: &mut dyn Store) {
    store.make("p");
    for name in ["done", "open", "claimed"] {
        store.make_with(name, below("p"));
    }
    store.finish("done");
    store.take("a", "claimed");
    let refused = refusal(store.try_remove(&["p", "open"]));
    let children = ids(&["claimed"]);
    let id_p = id("p");
    assert_eq!(refused, Refusal::HasUnfinishedParts { id: id_p, children });
    assert_eq!(store.status("open"), Status::Pending);
    let gone = store.remove(&["p", "open", "claimed"]);
    assert_eq!(gone.len(), 3);
    assert_eq!(store.task("claimed").claim, None);
    assert_eq!(store.status("done"), Status::Done);
}

pub(crate) fn tasks_are_deleted_by_status(store: &mut dyn Store) {
    store.make("pending");
    store.make_with("blocked", after(&["pending"]));
    store.make("failed");
    store.make("done");
    store.finish("done");
    store.give_up("failed");
    let mut with = |status| {
        let group = Filter { statuses: vec![status], ..Filter::default() };
        store.delete(DeleteWhich::Matching(group), &pat(), at(0))
    };
    let stored = StatusFilter::Stored;
    assert_eq!(with(stored(Status::Done)).unwrap(), []);
    assert_eq!(with(stored(Status::Deleted)).unwrap(), []);
    assert_eq!(with(stored(Status::Failed)).unwrap(), ids(&["failed"]));
    assert_eq!(with(StatusFilter::Blocked).unwrap(), ids(&["blocked"]));
    assert_eq!(with(stored(Status::Pending)).unwrap(), ids(&["pending"]));
    assert_eq!(names(&store.list(&Filter::default()).unwrap()), ["done"]);
}

pub(crate) fn tasks_are_deleted_by_spec_category_and_several_statuses(store: &mut dyn Store) {
    let labelled = |spec: &str, category: &str| {
        patch(|p| {
            p.spec = Some(Some(spec.to_owned()));
            p.category = Some(Some(category.to_owned()));
        })
    };
    store.make_with("one", labelled("a.md", "core"));
    store.make_with("two", labelled("a.md", "docs"));
    store.make_with("three", labelled("b.md", "core"));
    store.make_with("failed", labelled("b.md", "docs"));
    store.make_with("done", labelled("b.md", "docs"));
    store.finish("done");
    store.give_up("failed");
    let stored = |statuses: &[Status]| statuses.iter().copied().map(StatusFilter::Stored).collect();
    let mut gone = |group: Filter| store.delete(DeleteWhich::Matching(group), &pat(), at(0));
    let spec = Some("a.md".to_owned());
    let category = Some("docs".to_owned());
    let both = Filter { spec: spec.clone(), category: category.clone(), ..Filter::default() };
    assert_eq!(gone(both).unwrap(), ids(&["two"]));
    assert_eq!(gone(Filter { spec, ..Filter::default() }).unwrap(), ids(&["one"]));
    let statuses = stored(&[Status::Failed, Status::Done]);
    let finished = Filter { statuses, category, ..Filter::default() };
    assert_eq!(gone(finished).unwrap(), ids(&["failed"]));
    assert_eq!(names(&store.list(&Filter::default()).unwrap()), ["three", "done"]);
}

pub(crate) fn deleting_all_keeps_what_is_done(store: &mut dyn Store) {
    store.make("p");
    store.make_with("done", below("p"));
    store.make_with("open", below("p"));
    store.make("claimed");
    store.make("waiting");
    store.finish("done");
    store.take("a", "claimed");
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    let gone = store.delete(DeleteWhich::Matching(Filter::default()), &pat(), at(0)).unwrap();
    assert_eq!(gone, ids(&["p", "open", "claimed", "waiting"]));
    assert_eq!(store.status("done"), Status::Done);
    let counts = store.counts(&Scope::All).unwrap();
    assert_eq!((counts.done, counts.deleted, counts.total()), (1, 4, 1));
    assert_eq!(store.delete(DeleteWhich::Matching(Filter::default()), &pat(), at(0)).unwrap(), []);
}

pub(crate) fn the_id_of_a_deleted_task_can_be_used_again(store: &mut dyn Store) {
    store.make("p");
    store.make("a");
    let fields = patch(|p| {
        p.description = Some("old".to_owned());
        p.parent = Some(Some(id("p")));
        p.deps = Some(ids(&["a"]));
    });
    store.make_with("t", fields);
    store.make_with("waits", after(&["t"]));
    store.finish("a");
    store.take("w", "t");
    store.fail(&id("t"), "red", false, THREE, &by("w"), at(0)).unwrap();
    store.remove(&["t"]);
    assert_eq!(store.ready_names(), ["p", "waits"]);
    store.make_with("t", priority(0));
    let task = store.task("t");
    assert_eq!((task.description.as_str(), task.parent), ("", None));
    assert_eq!((task.deps, task.retry_count, task.reason), (vec![], 0, None));
    assert_eq!(task.generation, 1, "old claims stay fenced off");
    assert_eq!(store.ready_names(), ["t", "p"]);
    assert_eq!(store.take("w", "t").task.generation, 2);
}

/// Its old parts are done: the new task must not wait for ever behind them.
pub(crate) fn a_task_made_again_is_not_stuck_behind_old_parts(store: &mut dyn Store) {
    store.make("p");
    store.make_with("part", below("p"));
    store.make_with("rest", below("p"));
    store.finish("part");
    store.remove(&["p", "rest"]);
    store.make("p");
    let status = store.status("p");
    assert!(
        status == Status::Done || store.ready_names() == ["p"],
        "p is {status} and can neither be claimed nor finished"
    );
}

pub(crate) fn s0_11_counts_distinguish_the_buckets(store: &mut dyn Store) {
    for name in ["open", "active", "done", "failed", "waiting", "deleted"] {
        store.make(name);
    }
    store.take("a", "active");
    store.finish("done");
    store.give_up("failed");
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    store.remove(&["deleted"]);
    store.make_with("blocked", after(&["open", "active"]));
    store.make("blocked_active");
    store.take("a", "blocked_active");
    store.change("blocked_active", after(&["open"]));
    let expected =
        Counts { open: 1, active: 1, done: 1, blocked: 2, deleted: 1, failed: 1, waiting: 1 };
    assert_eq!(store.counts(&Scope::All).unwrap(), expected);
}

pub(crate) fn a_list_is_in_order_of_creation_and_filtered(store: &mut dyn Store) {
    store.make_feature("login");
    store.make_with("p", priority(9));
    store.make_with("part", below("p"));
    store.make_with("mine", of_feature("login"));
    store.make_with("blocked", after(&["mine"]));
    store.make("gone");
    store.make("held");
    store.remove(&["gone"]);
    store.take("a", "held");
    let mut list = |filter: Filter| -> Vec<String> {
        let found = store.list(&filter).unwrap();
        found.iter().map(|task| task.id.to_string()).collect()
    };
    let all = ["p", "part", "mine", "blocked", "held"];
    assert_eq!(list(Filter::default()), all);
    assert_eq!(list(everything()), ["p", "part", "mine", "blocked", "gone", "held"]);
    let with = |statuses: Vec<StatusFilter>| Filter { statuses, ..Filter::default() };
    let stored = StatusFilter::Stored;
    assert_eq!(list(with(vec![stored(Status::Pending)])), ["p", "part", "mine", "blocked"]);
    assert_eq!(
        list(with(vec![stored(Status::InProgress), StatusFilter::Blocked])),
        ["blocked", "held"]
    );
    assert_eq!(list(with(vec![stored(Status::Deleted)])), ["gone"]);
    let assignee = Some(agent("a"));
    let of_agent = Filter { assignee, ..Filter::default() };
    assert_eq!(list(of_agent), ["held"]);
    let of_feature = Filter { feature: Some(feature("login")), ..Filter::default() };
    assert_eq!(list(of_feature.clone()), ["mine"]);
    let of_parent = Filter { parent: Some(id("p")), ..Filter::default() };
    assert_eq!(list(of_parent), ["part"]);
    let both = Filter { parent: Some(id("p")), ..of_feature };
    assert_eq!(list(both), [""; 0]);
    let mut known = store.ids().unwrap();
    known.sort();
    assert_eq!(known, ids(&["blocked", "gone", "held", "mine", "p", "part"]));
}
