//! Bringing in a whole plan.

use ralph_core::plan::{Done, PlanTask};
use ralph_core::records::LogKind;
use ralph_core::task::{Refusal, Status, TaskPatch};
use ralph_engine::ports::{Store, StoreError, SyncReport};

use super::kit::*;

fn of_spec(name: &str) -> TaskPatch {
    patch(|p| p.spec = Some(Some(name.to_owned())))
}

fn plain() -> TaskPatch {
    TaskPatch::default()
}

fn report(inserted: usize, updated: usize, deleted: usize, skipped_done: usize) -> SyncReport {
    SyncReport { inserted, updated, deleted, skipped_done }
}

pub(crate) fn a_plan_is_brought_in_once(store: &mut dyn Store) {
    let plan = [line(1, "a", priority(1)), line(2, "b", after(&["a"])), line(3, "c", below("b"))];
    assert_eq!(store.bring_specs(&plan), report(3, 0, 0, 0));
    assert_eq!(store.ready_names(), ["a", "c"]);
    assert_eq!(store.task("c").parent, Some(id("b")));
    let before = store.list(&everything()).unwrap();
    let logs = ["a", "b", "c"].map(|name| store.kinds(name));
    assert_eq!(store.bring_specs(&plan), report(0, 0, 0, 0));
    assert_eq!(store.list(&everything()).unwrap(), before);
    assert_eq!(["a", "b", "c"].map(|name| store.kinds(name)), logs);
}

pub(crate) fn a_plan_changes_what_it_names_and_keeps_the_rest(store: &mut dyn Store) {
    store.make("x");
    let fields = patch(|p| {
        p.description = Some("long".to_owned());
        p.deps = Some(ids(&["x"]));
    });
    store.make_with("t", fields);
    store.take("a", "x");
    let renamed = PlanTask { title: title("new"), ..line(1, "t", plain()) };
    assert_eq!(store.bring(&[renamed]), report(0, 1, 0, 0));
    let task = store.task("t");
    assert_eq!((task.title, task.description.as_str()), (title("new"), "long"));
    assert_eq!(task.deps, ids(&["x"]));
    let unblocked = PlanTask { title: title("new"), ..line(1, "t", after(&[])) };
    assert_eq!(store.bring(&[unblocked]), report(0, 1, 0, 0));
    assert_eq!(store.ready_names(), ["t"]);
    // A claimed task keeps its claim.
    assert_eq!(store.bring(&[line(1, "x", priority(9))]), report(0, 1, 0, 0));
    assert_eq!(store.task("x").claim.unwrap().agent, agent("a"));
}

pub(crate) fn a_task_that_the_plan_marks_waits(store: &mut dyn Store) {
    let waits =
        |name: &str| PlanTask { waits: Some("marked [!]".to_owned()), ..line(1, name, plain()) };
    assert_eq!(store.bring(&[waits("t")]), report(1, 0, 0, 0));
    assert_eq!(store.task("t").status, Status::Waiting);
    assert!(store.ready_names().is_empty());
    let logs = store.kinds("t");
    assert_eq!(store.bring(&[waits("t")]), report(0, 0, 0, 0), "it waits already");
    assert_eq!(store.kinds("t"), logs);
    // One that was open waits from now on; one that is worked on or done does not.
    store.make("open");
    store.make("taken");
    store.take("a", "taken");
    store.make("done");
    store.finish("done");
    assert_eq!(store.bring(&[waits("open")]), report(0, 1, 0, 0));
    assert_eq!(store.task("open").status, Status::Waiting);
    assert_eq!(store.bring(&[waits("taken")]), report(0, 0, 0, 0));
    assert_eq!(store.task("taken").status, Status::InProgress);
    assert_eq!(store.bring(&[waits("done")]), report(0, 0, 0, 1));
    // One with parts waits by them.
    let part = PlanTask { line: 2, ..line(2, "part", below("whole")) };
    assert_eq!(store.bring(&[waits("whole"), part]), report(2, 0, 0, 0));
    assert_eq!(store.task("whole").status, Status::Pending);
}

pub(crate) fn a_done_task_is_skipped(store: &mut dyn Store) {
    store.make("t");
    store.finish("t");
    let before = store.task("t");
    let plan = [line(1, "t", priority(9)), line(2, "u", after(&["t"]))];
    assert_eq!(store.bring(&plan), report(1, 0, 0, 1));
    assert_eq!(store.task("t"), before);
    assert_eq!(store.ready_names(), ["u"]);
}

pub(crate) fn what_a_named_spec_no_longer_has_is_deleted(store: &mut dyn Store) {
    store.bring(&[
        line(1, "keep", of_spec("a")),
        line(2, "drop", of_spec("a")),
        line(3, "finished", of_spec("a")),
        line(4, "foreign", of_spec("b")),
        line(5, "free", plain()),
        line(6, "waits", after(&["drop"])),
    ]);
    store.finish("finished");
    let plan = [line(1, "keep", of_spec("a"))];
    assert_eq!(store.bring(&plan), report(0, 0, 0, 0));
    assert_eq!(store.bring_specs(&plan), report(0, 0, 1, 0));
    assert_eq!(store.status("drop"), Status::Deleted);
    assert_eq!(store.status("finished"), Status::Done);
    assert_eq!(store.ready_names(), ["keep", "foreign", "free", "waits"]);
    assert_eq!(store.kinds("drop").last(), Some(&LogKind::Deleted));
}

pub(crate) fn a_plan_revives_a_deleted_task(store: &mut dyn Store) {
    store.make_with("t", priority(9));
    store.make("x");
    store.make_with("waits", after(&["t"]));
    store.remove(&["t"]);
    assert_eq!(store.ready_names(), ["x", "waits"]);
    assert_eq!(store.bring(&[line(1, "t", plain())]), report(1, 0, 0, 0));
    assert_eq!(store.ready_names(), ["t", "x"]);
    assert_eq!(store.task("t").priority, priority(2).priority.unwrap());
}

pub(crate) fn a_revived_task_with_edges_counts_as_inserted_only(store: &mut dyn Store) {
    for name in ["p", "x", "t", "u"] {
        store.make(name);
    }
    store.remove(&["t", "u"]);
    let plan = [line(1, "t", after(&["x"])), line(2, "u", below("p"))];
    assert_eq!(store.bring(&plan), report(2, 0, 0, 0));
}

pub(crate) fn a_plan_may_point_forward(store: &mut dyn Store) {
    let plan = [
        line(1, "last", after(&["middle", "first"])),
        line(2, "middle", after(&["first"])),
        line(3, "part", below("whole")),
        line(4, "whole", plain()),
        line(5, "first", plain()),
    ];
    assert_eq!(store.bring(&plan), report(5, 0, 0, 0));
    assert_eq!(store.task("last").neighbors.open_blockers, 2);
    assert_eq!(store.ready_names(), ["part", "first"]);
}

pub(crate) fn an_unknown_task_is_named_with_its_line(store: &mut dyn Store) {
    store.make("t");
    for fields in [after(&["t", "nobody"]), below("nobody")] {
        let plan = [line(1, "a", plain()), line(7, "b", fields)];
        let (number, refused) = plan_refusal(store.try_bring(&plan));
        assert_eq!((number, refused), (7, Refusal::Unknown { id: id("nobody") }));
    }
    let (number, refused) = plan_refusal(store.try_bring(&[line(3, "a", of_feature("x"))]));
    let name = feature("x");
    assert_eq!((number, refused), (3, Refusal::UnknownFeature { name }));
    assert_eq!(names(&store.list(&everything()).unwrap()), ["t"]);
}

pub(crate) fn a_cycle_is_named_with_its_line(store: &mut dyn Store) {
    let plan = [line(1, "free", plain()), line(4, "a", after(&["b"])), line(5, "b", after(&["a"]))];
    let (number, refused) = plan_refusal(store.try_bring(&plan));
    let Refusal::Cycle { path } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((number, path.len(), path.first()), (4, 3, path.last()));
    let itself = plan_refusal(store.try_bring(&[line(2, "a", after(&["a"]))]));
    assert_eq!(itself, (2, Refusal::OnItself { id: id("a") }));
    // Half of the cycle is here already, and the other half goes through a parent.
    store.make("p");
    store.make_with("x", after(&["p"]));
    let (number, refused) = plan_refusal(store.try_bring(&[line(9, "x", below("p"))]));
    assert_eq!(number, 9);
    assert!(matches!(refused, Refusal::Cycle { .. }), "{refused:?}");
}

pub(crate) fn an_id_stands_in_a_plan_once(store: &mut dyn Store) {
    let plan = [line(1, "a", plain()), line(2, "a", plain())];
    let refused = plan_refusal(store.try_bring(&plan));
    assert_eq!(refused, (2, Refusal::Exists { id: id("a") }));
}

pub(crate) fn a_plan_with_one_bad_line_is_not_applied_at_all(store: &mut dyn Store) {
    store.make("t");
    store.make_with("gone", of_spec("s"));
    let before = store.list(&everything()).unwrap();
    let plan = [
        line(1, "new", of_spec("s")),
        line(2, "t", priority(9)),
        line(3, "c", after(&["new", "d"])),
        line(4, "d", after(&["c"])),
    ];
    assert!(store.try_bring(&plan).is_err());
    assert_eq!(store.list(&everything()).unwrap(), before);
}

pub(crate) fn a_plan_may_bring_finished_tasks(store: &mut dyn Store) {
    let with_time = PlanTask { done: Some(Done { at: Some(at(-500)) }), ..line(1, "old", plain()) };
    let plan =
        [with_time, done_line(2, "older", plain()), line(3, "next", after(&["old", "older"]))];
    assert_eq!(store.bring(&plan), report(3, 0, 0, 0));
    assert_eq!(store.task("old").done_at, Some(at(-500)));
    assert_eq!(store.task("older").done_at, Some(at(0)));
    assert_eq!(store.ready_names(), ["next"]);
    let again = report(0, 0, 0, 2);
    assert_eq!(store.bring(&plan), again);
}

pub(crate) fn a_plan_may_finish_what_is_here(store: &mut dyn Store) {
    for name in ["pending", "failed", "waiting", "claimed"] {
        store.make(name);
    }
    store.make_with("waits", after(&["pending", "failed", "waiting"]));
    store.give_up("failed");
    store.hold(&id("waiting"), &pat(), at(0)).unwrap();
    store.take("a", "claimed");
    let plan = [
        done_line(1, "pending", plain()),
        done_line(2, "failed", plain()),
        done_line(3, "waiting", plain()),
        done_line(4, "claimed", plain()),
    ];
    assert_eq!(store.bring(&plan), report(0, 3, 0, 0));
    assert_eq!(store.status("claimed"), Status::InProgress);
    assert_eq!(store.ready_names(), ["waits"]);
}

pub(crate) fn children_decide_over_what_a_plan_says_of_a_parent(store: &mut dyn Store) {
    let plan = [
        done_line(1, "p", plain()),
        done_line(2, "half", below("p")),
        line(3, "rest", below("p")),
        line(4, "q", plain()),
        done_line(5, "all", below("q")),
    ];
    assert_eq!(store.bring(&plan), report(5, 0, 0, 0));
    assert_eq!(store.status("p"), Status::Pending);
    assert_eq!(store.status("q"), Status::Done);
    assert_eq!(store.ready_names(), ["rest"]);
}

pub(crate) fn a_plan_cannot_add_open_parts_to_a_done_parent(store: &mut dyn Store) {
    store.make("p");
    store.finish("p");
    let (number, refused) = plan_refusal(store.try_bring(&[line(6, "t", below("p"))]));
    let closed = Refusal::ParentClosed { parent: id("p"), status: Status::Done };
    assert_eq!((number, refused), (6, closed));
}

pub(crate) fn a_plan_heals_a_failed_parent_by_new_parts(store: &mut dyn Store) {
    store.make("p");
    store.give_up("p");
    store.bring(&[line(1, "part", below("p"))]);
    assert_eq!(store.status("p"), Status::Pending);
    assert_eq!(store.ready_names(), ["part"]);
}

pub(crate) fn both_parents_follow_a_child_that_a_plan_moves(store: &mut dyn Store) {
    store.make("from");
    store.make("to");
    store.make_with("stays", below("from"));
    store.make_with("moves", below("from"));
    store.finish("stays");
    store.give_up("moves");
    store.bring(&[line(1, "moves", below("to"))]);
    assert_eq!(store.status("to"), Status::Failed);
    assert_eq!(store.status("from"), Status::Done);
    store.bring(&[line(1, "moves", at_the_top())]);
    assert_eq!(store.status("to"), Status::Pending);
}

pub(crate) fn a_parent_follows_when_a_plan_drops_its_parts(store: &mut dyn Store) {
    store.make("p");
    store.make_with("done", below("p"));
    store.make_with("open", below("p"));
    store.change("open", of_spec("s"));
    store.finish("done");
    let plan = [line(1, "other", of_spec("s"))];
    assert_eq!(store.bring_specs(&plan), report(1, 0, 1, 0));
    assert_eq!(store.status("p"), Status::Done);
}

/// Bringing the same plan in again would finish it: it must be finished the first time.
pub(crate) fn a_plan_finishes_a_task_whose_parts_it_drops(store: &mut dyn Store) {
    store.make("p");
    store.make_with("part", below("p"));
    store.change("part", of_spec("s"));
    let plan = [done_line(1, "p", of_spec("s"))];
    assert_eq!(store.bring_specs(&plan), report(0, 1, 1, 0));
    assert_eq!(store.status("p"), Status::Done);
    assert_eq!(store.bring_specs(&plan), report(0, 0, 0, 1));
}

/// A part that was deleted has left its parent. When it comes back it is a new task, and what became
/// of the parent meanwhile stays.
pub(crate) fn a_part_that_comes_back_leaves_its_old_parent_alone(store: &mut dyn Store) {
    store.make("p");
    store.make_with("part", below("p"));
    store.make_with("other", below("p"));
    store.remove(&["part", "other"]);
    store.give_up("p");
    let failed = store.task("p");
    assert_eq!(store.bring(&[line(1, "part", plain())]), report(1, 0, 0, 0));
    store.make("other");
    assert_eq!(store.task("p"), failed);
    assert_eq!(store.task("part").parent, None);
    assert_eq!(store.ready_names(), ["part", "other"]);
}

/// The line of a done task is skipped, and with it what it says of its parent.
pub(crate) fn a_finished_task_becomes_no_part_of_what_a_plan_calls_done(store: &mut dyn Store) {
    store.make("finished");
    store.finish("finished");
    let plan = [
        done_line(1, "whole", plain()),
        line(2, "finished", below("whole")),
        line(3, "next", after(&["whole"])),
    ];
    assert_eq!(store.bring(&plan), report(2, 0, 0, 1));
    assert_eq!(store.task("finished").parent, None);
    assert_eq!(store.status("whole"), Status::Done);
    assert_eq!(store.ready_names(), ["next"]);
    let before = store.list(&everything()).unwrap();
    assert_eq!(store.bring(&plan), report(0, 0, 0, 2));
    assert_eq!(store.list(&everything()).unwrap(), before);
}

/// Deletes `p`, which a plan no longer has, from above its part.
fn drop_from_above(store: &mut dyn Store) {
    store.change("p", of_spec("s"));
    assert_eq!(store.bring_specs(&[line(1, "new", of_spec("s"))]).deleted, 1);
    assert_eq!(store.status("p"), Status::Deleted);
}

pub(crate) fn a_plan_brings_back_as_done_what_it_takes_the_parts_from(store: &mut dyn Store) {
    store.make("p");
    store.make_with("part", below("p"));
    store.make_with("waits", after(&["p"]));
    drop_from_above(store);
    let back = PlanTask { done: Some(Done { at: Some(at(-500)) }), ..line(1, "p", plain()) };
    let plan = [back, line(2, "part", at_the_top())];
    assert_eq!(store.bring(&plan), report(1, 1, 0, 0));
    assert_eq!((store.status("p"), store.task("p").done_at), (Status::Done, Some(at(-500))));
    assert_eq!(store.ready_names(), ["part", "waits", "new"]);
    assert_eq!(store.bring(&plan), report(0, 0, 0, 1));
}

pub(crate) fn what_comes_back_above_a_failed_part_has_failed(store: &mut dyn Store) {
    store.make("p");
    store.make_with("part", below("p"));
    store.give_up("part");
    drop_from_above(store);
    store.bring(&[line(1, "p", plain())]);
    assert_eq!(store.status("p"), Status::Failed);
    drop_from_above(store);
    store.make("top");
    store.make_with("p", below("top"));
    assert_eq!((store.status("p"), store.status("top")), (Status::Failed, Status::Failed));
    store.reset(&id("part"), &pat(), at(0)).unwrap();
    assert_eq!((store.status("p"), store.status("top")), (Status::Pending, Status::Pending));
}

/// What counts is whether the part is done in the end, not how it came to be.
pub(crate) fn a_plan_may_add_finished_parts_to_a_done_parent(store: &mut dyn Store) {
    store.make("p");
    store.finish("p");
    store.make("here");
    let plan = [
        done_line(1, "new", below("p")),
        done_line(2, "here", below("p")),
        line(3, "half", below("p")),
        done_line(4, "quarter", below("half")),
    ];
    assert_eq!(store.bring(&plan), report(3, 1, 0, 0));
    for name in ["p", "new", "here", "half", "quarter"] {
        assert_eq!(store.status(name), Status::Done, "{name}");
    }
    assert_eq!(store.task("half").parent, Some(id("p")));
    let open = [done_line(1, "whole", below("p")), line(2, "part", below("whole"))];
    let closed = Refusal::ParentClosed { parent: id("p"), status: Status::Done };
    assert_eq!(plan_refusal(store.try_bring(&open)), (1, closed));
}

/// Two tasks below each other are a cycle, which must be refused and not walked for ever.
pub(crate) fn a_plan_with_a_cycle_of_parents_is_refused_in_time(store: &mut dyn Store) {
    let plan = [line(1, "a", below("b")), line(2, "b", below("a"))];
    let (number, refused) = plan_refusal(store.try_bring(&plan));
    assert_eq!(number, 1);
    assert!(matches!(refused, Refusal::Cycle { .. }), "{refused:?}");
    // With a failed task among them, the tasks below it are told of it.
    for name in ["a", "b"] {
        store.make(name);
    }
    store.give_up("b");
    let (_, refused) = plan_refusal(store.try_bring(&plan));
    assert!(matches!(refused, Refusal::Cycle { .. }), "{refused:?}");
}

pub(crate) fn a_plan_and_what_it_replaces_change_together_or_not_at_all(store: &mut dyn Store) {
    store.bring(&[line(1, "old", plain()), line(2, "part", below("old")), line(3, "x", plain())]);
    let plan = [line(1, "new", after(&["x"])), line(2, "x", priority(1))];
    let before = store.list(&everything()).unwrap();
    // A part that stays keeps what it is a part of.
    let refused = store.replace(&plan, &ids(&["old"]), &pat(), at(0)).unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Refused(Refusal::HasUnfinishedParts { id, .. }) if id.as_str() == "old"
    ));
    assert_eq!(store.list(&everything()).unwrap(), before);
    let done = store.replace(&plan, &ids(&["old", "part"]), &pat(), at(0)).unwrap();
    assert_eq!(done, report(1, 1, 2, 0));
    assert_eq!(store.status("part"), Status::Deleted);
    let again = store.replace(&plan, &ids(&["old", "part"]), &pat(), at(0)).unwrap();
    assert_eq!(again, report(0, 0, 0, 0));
}

pub(crate) fn a_dry_run_reports_everything_and_changes_nothing(store: &mut dyn Store) {
    store.bring(&[line(1, "old", plain()), line(2, "kept", plain())]);
    let before = store.list(&everything()).unwrap();
    let plan = [line(1, "new", after(&["kept"])), line(2, "kept", priority(7))];
    let (reported, seen) = store.dry_run(&plan, &ids(&["old"]), &pat(), at(0)).unwrap();
    assert_eq!(reported, report(1, 1, 1, 0));
    let names: Vec<&str> = seen.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(names, ["new", "kept"]);
    assert_eq!((seen[0].deps.clone(), seen[0].neighbors.open_blockers), (ids(&["kept"]), 1));
    assert_eq!(store.list(&everything()).unwrap(), before);
    let cycle = [line(1, "a", after(&["b"])), line(2, "b", after(&["a"]))];
    let refused = store.dry_run(&cycle, &[], &pat(), at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::Plan { refusal: Refusal::Cycle { .. }, .. }));
    assert_eq!(store.list(&everything()).unwrap(), before);
    assert_eq!(store.replace(&plan, &ids(&["old"]), &pat(), at(0)).unwrap(), reported);
}
