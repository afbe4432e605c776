//! A plan file and a store, without a loop around them.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::plan::markdown::PlanKind;
use ralph_core::task::{Actor, Status};
use ralph_core::{AgentId, TaskId, Timestamp};

use super::*;
use crate::entropy::Ids;
use crate::ports::{Filter, Store};
use crate::store::SqliteStore;

/// A plan in a folder of its own, and its store.
struct World {
    folder: tempfile::TempDir,
    plan: PlanFile,
    store: SqliteStore,
    ids: Ids,
    by: Actor,
}

impl World {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plan = PlanFile::new(folder.path(), Path::new("plan.md"), PlanKind::Checklist);
        let by = Actor::User(AgentId::new("plan").unwrap());
        let world =
            Self { folder, plan, store: SqliteStore::empty().unwrap(), ids: Ids::new(Some(1)), by };
        world.write(text);
        world
    }

    fn write(&self, text: &str) {
        std::fs::write(self.folder.path().join("plan.md"), text).unwrap();
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("plan.md")).unwrap()
    }

    fn sync(&mut self) -> SyncedPlan {
        let now = Timestamp::from_millis(0);
        self.plan.reconcile(&mut self.store, &mut self.ids, &self.by, now).unwrap().unwrap()
    }

    /// Each item with the status of its task.
    fn statuses(&mut self) -> Vec<Option<Status>> {
        let synced = self.sync();
        synced.plan.ids.iter().map(|id| Some(synced.tasks.get(id)?.status)).collect()
    }

    /// A session that makes `text` of the file, and what is decided: `done` is, and nothing else.
    fn session(&mut self, text: &str, done: &[&TaskId]) -> (Requested, Vec<String>) {
        let start = self.sync();
        self.plan.remember(&start.plan, true).unwrap();
        self.write(text);
        let asked = self.plan.requests(&start.plan, None).unwrap();
        let done: Vec<TaskId> = done.iter().map(|id| (*id).clone()).collect();
        let verdicts = Verdicts { done, ..Verdicts::default() };
        let remarks = self.plan.settle(&start.plan, &verdicts).unwrap();
        let when = (1, &self.by, Timestamp::from_millis(0));
        self.plan.hold_marked(&start.plan, &asked.marked, &mut self.store, when).unwrap();
        let (left, _) = self.plan.hold_what_left(&start.plan, &[], &mut self.store, when).unwrap();
        let mut seen = start.plan.clone();
        seen.left.extend(left);
        self.plan.remember(&seen, false).unwrap();
        (asked, remarks)
    }
}

#[test]
fn a_task_that_the_user_marks_waits_until_the_mark_is_gone() {
    let mut world = World::new("- [x] a\n- [!] b\n- [ ] c\n");
    let waits = [Some(Status::Done), Some(Status::Waiting), Some(Status::Pending)];
    assert_eq!(world.statuses(), waits);
    assert_eq!(world.statuses(), waits, "and still does at the next look");
    let synced = world.sync();
    assert_eq!(synced.open().map(|(index, _)| index).collect::<Vec<_>>(), [2]);
    assert_eq!(synced.waiting("plan.md"), ["\"b\" ([!] in plan.md:2)"]);
    assert_eq!(world.text(), "- [x] a\n- [!] b\n- [ ] c\n");
    world.write("- [x] a\n- [ ] b\n- [ ] c\n");
    assert_eq!(world.statuses()[1], Some(Status::Pending));
}

#[test]
fn a_marked_task_that_the_user_takes_up_by_command_loses_its_mark() {
    let mut world = World::new("- [ ] a\n- [?] b\n");
    let id = world.sync().plan.ids[1].clone();
    let by = world.by.clone();
    world.store.reset(&id, &by, Timestamp::from_millis(0)).unwrap();
    assert_eq!(world.statuses()[1], Some(Status::Pending));
    assert_eq!(world.text(), "- [ ] a\n- [ ] b\n");
}

#[test]
fn a_reopened_task_has_an_open_checkbox_and_stays_the_same_task() {
    let text = "- [x] a\n  - [x] a1\n  - [x] a2\n- [x] b\n";
    let mut world = World::new(text);
    let before = world.sync();
    assert!(before.tasks.values().all(|task| task.status == Status::Done));
    let part = before.plan.ids[1].clone();
    let (by, now) = (world.by.clone(), Timestamp::from_millis(0));
    let plan = PlanFile::known(world.folder.path(), "plan.md").unwrap().unwrap();
    assert!(plan.reopen(std::slice::from_ref(&part)).unwrap());
    assert_eq!(world.text(), "- [ ] a\n  - [ ] a1\n  - [x] a2\n- [x] b\n");
    world.store.reopen(std::slice::from_ref(&part), "why", &by, now).unwrap();
    let after = world.sync();
    assert_eq!(after.plan.ids, before.plan.ids);
    let open: Vec<&TaskId> = after.open().map(|(_, task)| &task.id).collect();
    assert_eq!(open, [&part]);
    assert!(!plan.reopen(&[part]).unwrap(), "twice changes nothing");
    assert_eq!(PlanFile::known(world.folder.path(), "other.md").unwrap(), None);
}

#[test]
fn a_dropped_task_is_no_task_and_comes_back_when_it_is_wanted() {
    let mut world = World::new("- [ ] a\n- [-] b\n- [-] c\n  - [ ] d\n");
    assert_eq!(world.statuses(), [Some(Status::Pending), None, None, None]);
    let id = world.sync().plan.ids[0].clone();
    world.write("- [-] a\n- [ ] b\n- [-] c\n  - [ ] d\n");
    assert_eq!(world.statuses()[..2], [Some(Status::Deleted), Some(Status::Pending)]);
    world.write("- [ ] a\n- [ ] b\n- [-] c\n  - [ ] d\n");
    assert_eq!(world.statuses()[..2], [Some(Status::Pending), Some(Status::Pending)]);
    assert_eq!(world.sync().plan.ids[0], id, "it is the same task");
}

#[test]
fn a_mark_that_a_session_sets_is_taken_back_and_the_task_waits() {
    for mark in ['!', '-', '?', 'b'] {
        let mut world = World::new("- [ ] a\n- [ ] b\n");
        let text = format!("- [ ] a\n- [{mark}] b\n");
        let (asked, remarks) = world.session(&text, &[]);
        assert_eq!((asked.done.len(), asked.marked.len()), (0, 1));
        assert!(
            remarks[0].contains(&format!("reverted the mark [{mark}] of \"b\"")),
            "{remarks:?}"
        );
        assert_eq!(world.text(), "- [ ] a\n- [ ] b\n");
        assert_eq!(world.statuses(), [Some(Status::Pending), Some(Status::Waiting)]);
    }
}

#[test]
fn a_session_cannot_lift_or_tick_what_the_user_marked() {
    for text in ["- [ ] a\n- [ ] b\n- [ ] c\n", "- [ ] a\n- [x] b\n- [x] c\n"] {
        let mut world = World::new("- [ ] a\n- [!] b\n- [-] c\n");
        world.session(text, &[]);
        assert_eq!(world.text(), "- [ ] a\n- [!] b\n- [-] c\n");
        assert_eq!(world.statuses(), [Some(Status::Pending), Some(Status::Waiting), None]);
    }
}

#[test]
fn work_that_a_session_calls_begun_stays_open() {
    let mut world = World::new("- [ ] a\n- [ ] b\n");
    let (asked, remarks) = world.session("- [~] a\n- [/] b\n", &[]);
    assert_eq!((asked.marked.len(), remarks.len()), (0, 0));
    assert_eq!(world.statuses(), [Some(Status::Pending), Some(Status::Pending)]);
}

#[test]
fn parts_of_what_a_session_drops_wait() {
    let mut world = World::new("- [ ] a\n  - [ ] b\n  - [ ] c\n- [ ] d\n");
    let (asked, _) = world.session("- [-] a\n  - [ ] b\n  - [ ] c\n- [ ] d\n", &[]);
    assert_eq!(asked.marked.len(), 2);
    assert_eq!(world.text(), "- [ ] a\n  - [ ] b\n  - [ ] c\n- [ ] d\n");
    assert_eq!(world.statuses()[1..3], [Some(Status::Waiting), Some(Status::Waiting)]);
}

#[test]
fn marks_of_a_session_that_was_cut_off_are_taken_back() {
    let mut world = World::new("- [ ] a\n- [ ] b\n- [!] c\n");
    let start = world.sync();
    world.plan.remember(&start.plan, true).unwrap();
    world.write("- [x] a\n- [-] b\n- [ ] c\n- [x] d\n");
    let synced = world.sync();
    assert_eq!(synced.taken_back, ["a", "d", "b", "c"]);
    assert_eq!(world.text(), "- [ ] a\n- [ ] b\n- [!] c\n- [ ] d\n");
    let waits = Some(Status::Waiting);
    assert_eq!(world.statuses(), [Some(Status::Pending), waits, waits, Some(Status::Pending)]);
}

#[test]
fn a_task_that_leaves_during_a_session_waits() {
    let mut world = World::new("- [ ] a\n- [ ] b\n");
    let id = world.sync().plan.ids[1].clone();
    world.session("- [ ] a\n", &[]);
    let synced = world.sync();
    assert_eq!(synced.tasks[&id].status, Status::Waiting);
    assert_eq!(synced.waiting("plan.md"), [format!("\"b\" ({id}, removed from plan.md)")]);
}

#[test]
fn a_linked_plan_is_refused_with_its_target() {
    let mut world = World::new("- [ ] a\n");
    let synced = world.sync();
    let path = world.folder.path().join("plan.md");
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "- [ ] a\n").unwrap();
    std::fs::remove_file(&path).unwrap();
    symlink(&secret, &path).unwrap();
    let refused = world.plan.read().unwrap_err();
    assert!(matches!(&refused, PlanFileError::Linked { target, .. } if *target == secret));
    assert!(refused.to_string().contains(&secret.display().to_string()), "{refused}");
    assert!(PlanFile::find(world.folder.path(), Path::new("plan.md")).is_err());
    let now = Timestamp::from_millis(0);
    let met = world.plan.reconcile(&mut world.store, &mut world.ids, &world.by, now);
    assert!(matches!(met, Err(ReconcileError::File(PlanFileError::Linked { .. }))));
    assert!(world.plan.put_back(&synced.plan.text).is_err());
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "- [ ] a\n");
}

#[test]
fn a_plan_that_a_session_turns_into_a_link_is_put_back_and_the_target_stays() {
    let mut world = World::new("- [ ] a\n- [ ] b\n");
    let start = world.sync();
    world.plan.remember(&start.plan, true).unwrap();
    let (path, secret) = (world.folder.path().join("plan.md"), world.folder.path().join("secret"));
    std::fs::write(&secret, "- [x] a\n- [x] b\n").unwrap();
    std::fs::remove_file(&path).unwrap();
    symlink(&secret, &path).unwrap();
    let asked = world.plan.requests(&start.plan, None).unwrap();
    assert!(asked.done.is_empty() && asked.ignored[0].contains("is a link to"), "{asked:?}");
    world.plan.settle(&start.plan, &Verdicts::default()).unwrap();
    assert!(!std::fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(world.text(), "- [ ] a\n- [ ] b\n");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "- [x] a\n- [x] b\n");
}

#[test]
fn a_folder_that_is_a_link_is_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("plan.md"), "- [ ] a\n").unwrap();
    symlink(elsewhere.path(), folder.path().join("docs")).unwrap();
    let found = PlanFile::find(folder.path(), Path::new("docs/plan.md"));
    assert!(matches!(found, Err(PlanFileError::Linked { path, .. }) if path == Path::new("docs")));
}

#[test]
fn a_file_without_tasks_says_why() {
    let read = |kind, text: &str| {
        let doc = markdown::read(kind, text).unwrap();
        why_no_tasks("p.md", text, &doc)
    };
    assert_eq!(read(PlanKind::Checklist, " \n"), "p.md is empty");
    let text = "# Progress: p\n\n## Work\n- [ ] a\n- [ ] b\n";
    let why = read(PlanKind::Progress, text);
    assert!(why.contains("below `## Tasks`") && why.contains("2 checkboxes"), "{why}");
    let why = read(PlanKind::Branches, "## Branch: a\n\n## Setup\n- [ ] x\n");
    assert!(why.contains("`## Branch:`") && why.contains("only checkbox"), "{why}");
}

#[test]
fn an_abandoned_inspection_imports_nothing() {
    let world = World::new("- [ ] one\n- [ ] two\n");
    let mut store = SqliteStore::open(&world.folder.path().join("progress.db")).unwrap();
    let mut ids = Ids::new(Some(1));
    let (now, stop) = (Timestamp::from_millis(0), Arc::new(AtomicBool::new(true)));
    store.heed(Some(Arc::clone(&stop)));
    let error = world.plan.reconcile(&mut store, &mut ids, &world.by, now).unwrap_err();
    assert!(error.to_string().contains("the run was cancelled"), "{error}");
    store.heed(None);
    let all = Filter { deleted_too: true, ..Filter::default() };
    assert_eq!(store.list(&all).unwrap(), []);
    // A change that had begun is undone, and the store works as before.
    stop.store(false, Ordering::Relaxed);
    store.heed(Some(stop));
    let synced = world.plan.reconcile(&mut store, &mut ids, &world.by, now).unwrap().unwrap();
    assert_eq!(synced.tasks.len(), 2);
    store.verify().unwrap();
}
