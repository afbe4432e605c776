//! Markdown plans brought in and out.

use proptest::prelude::*;

use super::kinds::{BRANCHES, PROGRESS, TASKS};
use super::*;
use crate::plan::beads_jsonl::tests::{bare, some_tasks};
use crate::plan::{Done, FORMATS};
use crate::task::{Status, Task};
use crate::text::Title;

const KINDS: [PlanKind; 3] = [PlanKind::Branches, PlanKind::Progress, PlanKind::Checklist];

/// What is left of a text when white space and marks of markdown are not looked at.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    // Three pages a case.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn tasks_come_back_from_their_page(tasks in some_tasks()) {
        for kind in KINDS {
            let text = render(kind, &tasks).text;
            if tasks.iter().any(|task| task.status != Status::Deleted) {
                prop_assert_eq!(PlanKind::of("plan.md", &text), kind, "{}", text);
            }
            let plan = parse(kind, &text).unwrap();
            let doc = doc(kind, &text);
            let mut back: Vec<(&str, bool)> =
                doc.items.iter().map(|item| (item.title.as_str(), item.is_done())).collect();
            let live: Vec<&Task> = tasks.iter().filter(|t| t.status != Status::Deleted).collect();
            let mut sent: Vec<(&str, bool)> =
                live.iter().map(|task| (task.title.as_str(), task.status == Status::Done)).collect();
            back.sort_unstable();
            sent.sort_unstable();
            prop_assert_eq!(back, sent, "{}", text);
            let mut back: Vec<String> = doc.items.iter().map(|item| letters(&item.body)).collect();
            let mut sent: Vec<String> = live
                .iter()
                .map(|task| letters(&format!("{}{}", task.description, task.steps.concat())))
                .collect();
            back.sort_unstable();
            sent.sort_unstable();
            prop_assert_eq!(back, sent, "{}", text);
            prop_assert_eq!(plan.tasks.len(), live.len());
        }
    }

    #[test]
    fn no_text_is_a_crash(text in "(?s).{0,80}") {
        for kind in KINDS {
            let _ = parse(kind, &text);
            let _ = recognizes(kind, "plan.md", &text);
        }
    }
}

/// Git knows no such branches, but the store takes any words.
#[test]
fn a_branch_of_marks_alone_can_be_read_again() {
    for (branch, back) in [("## `", "work"), ("#", "work"), ("`a` ##", "a"), ("a#", "a#")] {
        let mut task = bare("t-0");
        task.branch = Some(branch.to_owned());
        let text = render(PlanKind::Branches, &[task]).text;
        let plan = parsed(PlanKind::Branches, &text);
        assert_eq!(plan.tasks[0].fields.branch, Some(Some(back.into())), "{text}");
    }
}

fn parsed(kind: PlanKind, text: &str) -> crate::plan::Plan {
    parse(kind, text).unwrap()
}

#[test]
fn each_page_is_recognised_by_its_content() {
    let found = |name: &str, text: &str| {
        FORMATS.iter().find(|format| (format.recognizes)(name, text)).map(|format| format.name)
    };
    assert_eq!(found("PLAN.md", BRANCHES), Some("branches"));
    assert_eq!(found("x.md", PROGRESS), Some("progress"));
    assert_eq!(found("implementation_plan.md", TASKS), Some("checklist"));
    assert_eq!(found("a.markdown", "- [ ] a"), Some("checklist"));
    assert_eq!(found("-", PROGRESS), Some("progress"));
    assert_eq!(found("-", "- [ ] a"), None);
    assert_eq!(found("notes.txt", BRANCHES), None);
}

#[test]
fn a_branch_page_becomes_tasks() {
    let plan = parsed(PlanKind::Branches, BRANCHES);
    let [first, second, third] = &plan.tasks[..] else { panic!("three tasks") };
    assert_eq!((first.line, first.title.as_str()), (9, "Delete the file"));
    assert_eq!(first.fields.description.as_deref(), Some("It is not used any more."));
    assert_eq!(first.fields.branch, Some(Some("fix-image".into())));
    assert_eq!(first.fields.touches, Some(vec!["src/{a,b}.rs".into(), "docs/**".into()]));
    assert_eq!((first.done, second.done), (None, Some(Done { at: None })));
    assert_eq!((&third.fields.parent, &third.fields.category), (&Some(None), &None));
    assert_eq!(
        plan.not_kept,
        [
            "the base of 1 branch section",
            "the goal of 2 branch sections",
            "the needs of 1 branch section",
            "the text around the tasks",
        ]
    );
}

#[test]
fn heading_tasks_bring_their_spec_and_dependencies() {
    let plan = parsed(PlanKind::Checklist, TASKS);
    let [first, second, third] = &plan.tasks[..] else { panic!("three tasks") };
    assert_eq!(first.fields.spec, Some(Some("specs/db.md".into())));
    assert_eq!(second.fields.deps, Some(vec![first.id.clone()]));
    assert_eq!(third.fields.deps, Some(vec![first.id.clone(), second.id.clone()]));
    assert_eq!(third.fields.category, Some(Some("Phase B".into())));
    assert!(plan.not_kept.contains(&"dependencies that name no task of 1 task".to_owned()));
}

#[test]
fn ids_follow_from_the_words_and_not_from_the_place() {
    let ids = |text: &str| content_ids(&doc(PlanKind::Checklist, text));
    let before = ids("- [ ] a\n- [ ] b\n- [ ] a\n\n## G\n- [ ] a\n");
    assert_eq!(before.len(), 4);
    let mut unique = before.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 4);
    let after = ids("- [x] B.\n  why\n- [ ] A\n- [ ] new\n- [ ] a\n## g\n- [x] a\n");
    assert_eq!(
        [&after[0], &after[1], &after[3], &after[4]],
        [&before[1], &before[0], &before[2], &before[3]]
    );
    assert!(before.iter().all(|id| id.as_str().starts_with("t-") && id.as_str().len() == 10));
}

#[test]
fn a_tick_above_open_parts_is_not_believed() {
    let plan = parsed(PlanKind::Checklist, "- [x] a\n  - [x] b\n    - [ ] c\n- [x] d\n  - [x] e\n");
    let done: Vec<bool> = plan.tasks.iter().map(|task| task.done.is_some()).collect();
    assert_eq!(done, [false, false, false, true, true]);
    assert_eq!(plan.tasks[2].fields.parent, Some(Some(plan.tasks[1].id.clone())));
    assert_eq!(plan.not_kept, ["the tick of 2 tasks with open parts"]);
}

#[test]
fn every_mark_says_the_same_to_an_import_as_to_a_run() {
    let text = "- [ ] open\n- [~] begun\n- [/] half\n- [x] done\n- [X] Done\n- [-] dropped\n- [!] a\n\
                - [?] b\n- [>] c\n- [*] d\n- [] e\n";
    let plan = parsed(PlanKind::Checklist, text);
    let standings = doc(PlanKind::Checklist, text).standings();
    assert_eq!(plan.tasks.len() + plan.dropped.len(), standings.len());
    for task in &plan.tasks {
        let expected = match (task.done.is_some(), task.waits.is_some()) {
            (true, false) => ItemState::Done,
            (false, true) => ItemState::Waits,
            other => {
                assert_eq!(other, (false, false));
                ItemState::Open
            }
        };
        assert_eq!(standings[task.line - 1], expected, "{}", task.title);
    }
    assert_eq!(plan.dropped, [content_ids(&doc(PlanKind::Checklist, text))[5].clone()]);
    assert_eq!(plan.tasks[5].waits.as_deref(), Some("marked [!] on line 7"));
    assert_eq!(plan.not_kept, ["1 task marked [-] (dropped)"]);
    assert!(plan.warnings[0].starts_with("line 7: \"a\" is marked [!]"), "{:?}", plan.warnings);
    assert!(plan.warnings.last().unwrap().starts_with("line 11: "), "{:?}", plan.warnings);
}

#[test]
fn marks_of_an_import_hold_for_the_parts_below_them() {
    let text = "- [-] a\n  - [ ] b\n  - [x] c\n- [!] d\n  - [ ] e\n- [x] f\n  - [-] g\n  - [x] h\n";
    let plan = parsed(PlanKind::Checklist, text);
    let tasks: Vec<(&str, bool, Option<&str>)> = plan
        .tasks
        .iter()
        .map(|task| (task.title.as_str(), task.done.is_some(), task.waits.as_deref()))
        .collect();
    let marked = Some("marked [!] on line 4");
    let expected = [
        ("c", true, None),
        ("d", false, marked),
        ("e", false, marked),
        ("f", true, None),
        ("h", true, None),
    ];
    assert_eq!(tasks, expected);
    assert_eq!(plan.tasks[0].fields.parent, Some(None), "its parent is dropped");
    assert_eq!(plan.dropped.len(), 3);
}

#[test]
fn a_page_reads_as_if_written_manually() {
    let mut tasks = [bare("a"), bare("b"), bare("c"), bare("d")];
    tasks[0].category = Some("Parser".into());
    tasks[1].category = Some("Parser".into());
    tasks[1].parent = Some(tasks[0].id.clone());
    tasks[1].status = Status::Done;
    tasks[2].description = "Why\n\n- [ ] no task\n```\n- [ ] code\n".into();
    tasks[3].status = Status::Failed;
    tasks[3].title = Title::new("Last").unwrap();
    let rendered = render(PlanKind::Checklist, &tasks);
    let expected = "\
# Plan

- [ ] Task c
  Why

  - \\[ ] no task
  ```
  - [ ] code
  ```
- [ ] Last

## Parser

- [ ] Task a
  - [x] Task b
";
    assert_eq!(rendered.text, expected);
    assert_eq!(
        rendered.not_kept,
        [
            "checkboxes in the text (escaped) of 1 task",
            "code that is not closed (closed now) of 1 task",
            "status failed of 1 task (exported as not done)",
            "the id of 4 tasks",
        ]
    );
    tasks[0].branch = Some("one".into());
    tasks[1].branch = Some("one".into());
    tasks[0].touches = vec!["a".into(), "b/**".into()];
    let text = render(PlanKind::Branches, &tasks[..3]).text;
    assert!(
        text.contains("## Branch: one\nTouches: a, b/**\n\n- [ ] Task a\n  - [x] Task b\n"),
        "{text}"
    );
    assert!(text.contains("## Branch: work\n\n- [ ] Task c\n"), "{text}");
    let text = render(PlanKind::Progress, &tasks[..2]).text;
    assert!(text.starts_with("# Progress: plan\n\n## Status\n\nIn Progress\n\n## Analysis\n\n## Tasks\n\n### Parser\n\n- [ ] Task a\n"), "{text}");
    let row = LogRow { iteration: 1, ..LogRow::default() };
    let edits = doc(PlanKind::Progress, &text).log_row(&text, &row);
    assert_eq!(edits[0].range.start + 1, text.len());
}

#[test]
fn a_checklist_with_dependencies_is_written_as_headings() {
    let mut tasks = [bare("a"), bare("b"), bare("c")];
    tasks[0].status = Status::Done;
    tasks[0].spec = Some("db.md".into());
    tasks[1].deps = vec![tasks[2].id.clone(), tasks[0].id.clone()];
    tasks[1].description = "Why\n".into();
    tasks[1].category = Some("Later".into());
    let rendered = render(PlanKind::Checklist, &tasks);
    let expected = "\
# Plan

### Task 1: Task a
**Status:** complete
**Spec:** db.md

### Task 2: Task c
**Status:** planned

## Later

### Task 3: Task b
**Status:** planned
**Dependencies:** Task 2, Task 1

Why
";
    assert_eq!(rendered.text, expected);
    assert_eq!(rendered.not_kept, ["the id of 3 tasks"]);
    let plan = parsed(PlanKind::Checklist, expected);
    assert_eq!(
        plan.tasks[2].fields.deps,
        Some(vec![plan.tasks[1].id.clone(), plan.tasks[0].id.clone()])
    );
    // A text that would break out of its section is safe below a checkbox.
    tasks[1].description = "### Task 9: more\n**Status:** done\n".into();
    let rendered = render(PlanKind::Checklist, &tasks);
    assert!(rendered.text.contains("- [ ] Task b\n  ### Task 9: more\n"), "{}", rendered.text);
    assert!(rendered.not_kept.contains(&"the dependencies of 1 task".to_owned()));
}
