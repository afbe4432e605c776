//! The numbered checklists of spec-kit and OpenSpec.

use proptest::prelude::*;

use crate::ids::TaskId;
use crate::plan::{FORMATS, Plan, PlanTask, recognized};

const SPEC_KIT: &str = "\
# Tasks: Shop

## Format: `[ID] [P?] [Story] Description`

- **[P]**: can run in parallel

## Phase 1: Setup

- [x] T001 Create the folders
- [ ] T002 [P] Configure the linter
- [ ] T003 [P] Configure the tests

---

## Phase 2: User Story 1 - Log in (Priority: P1)

### Tests for User Story 1

- [ ] T004 [P] [US1] Test the login in tests/login.py
- [ ] T005 [US1] [P] Test the form

### Implementation

- [ ] T006 [US1] Write src/login.py (depends on T004)
- [ ] **T007a**: Clean up
  Keep the old names.
- [ ] A task without a number
- [-] T008 Not wanted

## Dependencies & Execution Order

- Phase 2 needs Phase 1
";

const OPENSPEC: &str = "\
## 1. Database

- [x] 1.1 Add the table
- [ ] 1.2 Write the migration
  With a way back.

## 2. Pages

- [ ] 2.1 Show the list
- [ ] 2.2. Show one
";

fn plan(name: &str, text: &str) -> (&'static str, Plan) {
    let format = recognized(name, text).unwrap();
    (format.name, (format.parse)(text).unwrap())
}

fn deps(task: &PlanTask) -> Vec<&str> {
    task.fields.deps.iter().flatten().map(TaskId::as_str).collect()
}

#[test]
fn spec_kits_numbers_are_ids_and_its_tags_stay() {
    let (format, plan) = plan("tasks.md", SPEC_KIT);
    assert_eq!(format, "spec-kit");
    let titles: Vec<(&str, &str)> =
        plan.tasks.iter().map(|task| (task.id.as_str(), task.title.as_str())).collect();
    let unnumbered = plan.tasks[7].id.to_string();
    assert_eq!(
        titles,
        [
            ("T001", "Create the folders"),
            ("T002", "Configure the linter"),
            ("T003", "Configure the tests"),
            ("T004", "[US1] Test the login in tests/login.py"),
            ("T005", "[US1] Test the form"),
            ("T006", "[US1] Write src/login.py (depends on T004)"),
            ("T007a", "Clean up"),
            (&unnumbered, "A task without a number"),
        ]
    );
    assert!(plan.tasks[0].done.is_some() && plan.tasks[1].done.is_none());
    assert_eq!(plan.tasks[6].fields.description.as_deref(), Some("Keep the old names."));
    assert_eq!(plan.tasks[2].fields.category, Some(Some("Phase 1: Setup".into())));
    let phase = "Phase 2: User Story 1 - Log in (Priority: P1)";
    assert_eq!(plan.tasks[5].fields.category, Some(Some(phase.into())));
    assert_eq!(plan.dropped[0].as_str(), "T008");
    let warning = format!("line 27: no number such as T001, so ralph calls the task {unnumbered}");
    assert_eq!(plan.warnings, [warning]);
}

#[test]
fn parallel_tasks_share_what_they_wait_for_and_a_phase_waits_for_the_one_before() {
    let (_, plan) = plan("tasks.md", SPEC_KIT);
    let all: Vec<Vec<&str>> = plan.tasks.iter().map(deps).collect();
    assert_eq!(all[0], [""; 0]);
    assert_eq!((&all[1], &all[2]), (&vec!["T001"], &vec!["T001"]));
    assert_eq!((&all[3], &all[4]), (&vec!["T002", "T003"], &vec!["T002", "T003"]));
    assert_eq!(all[5], ["T004", "T005"]);
    assert_eq!((&all[6], &all[7]), (&vec!["T006"], &vec!["T007a"]));
}

#[test]
fn openspecs_numbers_are_ids_and_its_tasks_follow_each_other() {
    let (format, plan) = plan("tasks.md", OPENSPEC);
    assert_eq!(format, "openspec");
    let read: Vec<(&str, &str, Vec<&str>)> =
        plan.tasks.iter().map(|task| (task.id.as_str(), task.title.as_str(), deps(task))).collect();
    assert_eq!(
        read,
        [
            ("1.1", "Add the table", vec![]),
            ("1.2", "Write the migration", vec!["1.1"]),
            ("2.1", "Show the list", vec!["1.2"]),
            ("2.2", "Show one", vec!["2.1"]),
        ]
    );
    assert!(plan.tasks[0].done.is_some());
    assert_eq!(plan.tasks[3].fields.category, Some(Some("2. Pages".into())));
    assert_eq!(plan.tasks[1].fields.description.as_deref(), Some("With a way back."));
}

#[test]
fn parts_carry_the_order_and_a_number_cannot_be_used_twice() {
    let nested = "## 1. A\n\n- [ ] 1. Whole\n  - [ ] 1.1 One\n  - [ ] 1.2 Two\n- [ ] 1.3 Next\n";
    let (format, plan) = plan("tasks.md", nested);
    assert_eq!(format, "openspec");
    let read: Vec<(&str, Vec<&str>)> =
        plan.tasks.iter().map(|task| (task.id.as_str(), deps(task))).collect();
    assert_eq!(read, [("1", vec![]), ("1.1", vec![]), ("1.2", vec!["1.1"]), ("1.3", vec!["1.2"])]);
    assert_eq!(plan.tasks[1].fields.parent.as_ref().unwrap().as_ref().unwrap().as_str(), "1");
    let twice = "- [ ] T001 a\n- [ ] T001 b\n";
    let error = super::super::spec_kit::parse(twice).unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (2, "the id \"T001\" is already on line 1"));
}

#[test]
fn ordinary_checklists_stay_checklists() {
    for text in [
        "- [ ] Test T001\n",
        "- [ ] T1 rex\n",
        "- [ ] The first\n- [ ] Then\n- [ ] T001 third\n",
        "- [ ] 1.1 no heading\n",
        "## 1. A\n- [ ] plain\n",
        "## 1. A\n- [ ] 3 apples\n",
    ] {
        assert_eq!(plan("plan.md", text).0, "checklist", "{text}");
    }
    assert!(recognized("notes.txt", SPEC_KIT).is_none());
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_has_a_problem(
        text in "(- \\[[ x!-]\\] |T00[1-9]|[0-9]\\.|\\[P\\] |\\[US1\\]|## |Phase |\n|  |é|\\*\\*|[\\[\\]{}\":,1a]|\"tasks\"){0,40}"
    ) {
        for format in FORMATS {
            let _ = (format.recognizes)("tasks.md", &text);
            if let Ok(plan) = (format.parse)(&text) {
                let ids: std::collections::HashSet<_> = plan.tasks.iter().map(|task| &task.id).collect();
                prop_assert_eq!(ids.len(), plan.tasks.len());
            }
        }
    }
}
