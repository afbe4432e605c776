//! The three kinds of plan, and ticks in each.

use super::*;

pub(super) const BRANCHES: &str = "\
# Plan for the tool

## Branch: fix-image
Goal: Update the image
**Base:** `develop`
- Needs: none
Touches: src/{a,b}.rs, `docs/**`

- [ ] Delete the file
  It is not used any more.
- [x] Update it

## Branch: `add-watch` ##

Goal: Stream output
Needs: fix-image, other
---
- [ ] Add the flag

## Notes
- [ ] not a task
";

pub(super) const PROGRESS: &str = "\
# Progress: the parser

## Status

In Progress
RALPH_DONE is written when all is done.

## Analysis
- [ ] not a task

## Tasks

- [x] Before all phases

### Phase 1: Lexer

- [ ] Numbers
- [x] Strings

### Phase 2

- [ ] Trees

## Testing Strategy

Run it.

## Completed This Iteration

- Strings

## Recent Attempts

### Iteration 1

- Tried: one thing
- Result: it broke
- **Next:** another

### Iteration 2
- Tried: another
- Result: fine

## Iteration Log

| Iteration | Started | Duration | Tasks Completed | Notes |
|---|---|---|---|---|
| 1 | 2026-01-18 10:00 | 1m | 0 | none |
";

pub(super) const TASKS: &str = "\
# Implementation Plan

## Phase A

### Task 1: Write the schema
**Status:** ✅ Done
**Spec:** `specs/db.md`
**Dependencies:** none

- [ ] a step

### Task 2: Read it
- **Status:** planned
- **Dependencies:** Task 1, Task 9

Why it matters.

## Phase B
### Task 3
**Dependencies:** Tasks 1 and 2

## Success criteria
- [ ] not a task
";

#[test]
fn content_decides_what_a_file_is() {
    assert_eq!(PlanKind::of("x.md", BRANCHES), PlanKind::Branches);
    assert_eq!(PlanKind::of("x.md", PROGRESS), PlanKind::Progress);
    assert_eq!(PlanKind::of("x.md", TASKS), PlanKind::Checklist);
    assert_eq!(PlanKind::of("a/progress.md", "# P\n## Tasks\n- [ ] a"), PlanKind::Progress);
    assert_eq!(PlanKind::of("plan.md", "# P\n## Tasks\n- [ ] a"), PlanKind::Checklist);
    assert_eq!(PlanKind::of("progress.md", "- [ ] a"), PlanKind::Checklist);
    assert_eq!(PlanKind::of("x.md", "```\n## Branch: a\n```\n"), PlanKind::Checklist);
    assert_eq!(PlanKind::of("x.md", "### Branch: a\n"), PlanKind::Checklist);
    assert_eq!(PlanKind::of("x.md", "## branch: a\r\n"), PlanKind::Branches);
}

#[test]
fn branches_have_goals_bases_and_tasks() {
    let doc = doc(PlanKind::Branches, BRANCHES);
    assert_eq!(shown(&doc), ["Delete the file", "x Update it", "Add the flag"]);
    assert_eq!(doc.items[0].body, "It is not used any more.");
    let [first, second] = &doc.groups[..] else { panic!("two branches") };
    assert_eq!((first.title.as_str(), first.line), ("fix-image", 3));
    assert_eq!(first.goal.as_deref(), Some("Update the image"));
    assert_eq!(first.base.as_deref(), Some("develop"));
    assert_eq!(
        (first.needs.len(), &first.touches[..]),
        (0, &["src/{a,b}.rs".into(), "docs/**".into()][..])
    );
    assert_eq!(
        (second.title.as_str(), &second.needs[..]),
        ("add-watch", &["fix-image".into(), "other".into()][..])
    );
    assert_eq!(doc.items[2].group, Some(1));
}

#[test]
fn a_branch_needs_a_name_of_its_own() {
    let error = read(PlanKind::Branches, "## Branch: a\n\n## Branch:\n").unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (3, "a branch needs a name: ## Branch: name"));
    let error = read(PlanKind::Branches, "## Branch: a\n\n## Branch: `a`\n").unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (3, "the branch \"a\" is already on line 1"));
}

#[test]
fn an_underlined_heading_ends_a_section_but_a_field_above_a_rule_does_not() {
    let text = "## Branch: a\nGoal: use `x` and `y`\n\nBase: main\n---\n- [ ] a\n\nNotes\n-----\n- [ ] no\n";
    let branches = doc(PlanKind::Branches, text);
    assert_eq!(shown(&branches), ["a"]);
    assert_eq!(branches.groups[0].base.as_deref(), Some("main"));
    assert_eq!(branches.groups[0].goal.as_deref(), Some("use `x` and `y`"));
    let text = "# Progress: a\n\nTasks\n-----\n- [ ] a\n\nNotes\n-----\n- [ ] no\n";
    assert_eq!(shown(&doc(PlanKind::Progress, text)), ["a"]);
}

#[test]
fn only_checkboxes_of_the_tasks_section_are_tasks() {
    let doc = doc(PlanKind::Progress, PROGRESS);
    assert_eq!(shown(&doc), ["x Before all phases", "Numbers", "x Strings", "Trees"]);
    let groups: Vec<_> = doc.items.iter().map(|item| item.group).collect();
    assert_eq!(groups, [None, Some(0), Some(0), Some(1)]);
    assert_eq!(doc.name.as_deref(), Some("the parser"));
    assert_eq!(doc.groups[0].title, "Phase 1: Lexer");
    let attempts: Vec<_> =
        doc.attempts().map(|note| (note.iteration, note.next.as_deref())).collect();
    assert_eq!(attempts, [(1, Some("another")), (2, None)]);
    assert_eq!(doc.completed(), ["Strings"]);
    assert_eq!(doc.status_text(), Some("In Progress\nRALPH_DONE is written when all is done."));
}

#[test]
fn s2_18_only_a_line_of_the_status_section_says_done() {
    let is_done = |text: &str| doc(PlanKind::Progress, text).is_done();
    assert!(!is_done(PROGRESS));
    assert!(is_done("# Progress: a\n## Status\n\nRALPH_DONE\n"));
    assert!(is_done("# Progress: a\r\n## Status:\r\ntext\r\n  RALPH_DONE \r\n"));
    assert!(is_done("# Progress: a\n\nStatus\n------\n\nRALPH_DONE\n---\n## Tasks\n"));
    assert!(!is_done("# Progress: a\n## Status\n```\nRALPH_DONE\n```\n"));
    assert!(!is_done("# Progress: a\n## Status\n<!--\nRALPH_DONE\n-->\n"));
    assert!(!is_done("# Progress: a\n## Status\n## Analysis\nRALPH_DONE\n"));
    assert!(!is_done("# Progress: a\nRALPH_DONE\n## Tasks\nRALPH_DONE\n"));
    assert!(!is_done("# Progress: a\n## Status\nNot RALPH_DONE\n"));
}

#[test]
fn a_second_tasks_or_status_section_is_left_for_you() {
    for heading in ["Tasks", "Status"] {
        let text = format!("# Progress: a\n## {heading}\n- [ ] a\n## {heading}\n- [ ] b\n");
        let error = read(PlanKind::Progress, &text).unwrap_err();
        assert_eq!(error.line, 4);
        assert_eq!(error.problem, format!("a second \"## {heading}\"; the first is on line 2"));
    }
}

#[test]
fn headings_with_a_status_are_tasks() {
    let doc = doc(PlanKind::Checklist, TASKS);
    assert_eq!(shown(&doc), ["x Write the schema", "Read it", "Task 3"]);
    let [first, second, third] = &doc.items[..] else { panic!("three tasks") };
    assert_eq!((first.spec.as_deref(), first.label.as_deref()), (Some("specs/db.md"), Some("1")));
    assert_eq!((first.deps.len(), first.body.as_str()), (0, "- [ ] a step"));
    assert_eq!(
        (second.body.as_str(), second.status.as_deref()),
        ("Why it matters.", Some("planned"))
    );
    assert_eq!(doc.dependencies(1), (vec![0], vec!["Task 9"]));
    assert_eq!(doc.dependencies(2), (vec![0, 1], vec![]));
    assert_eq!(doc.group_of(2).map(|group| group.title.as_str()), Some("Phase B"));
    assert_eq!(third.line, 19);
}

#[test]
fn headings_without_any_status_leave_the_checkboxes() {
    assert_eq!(titles("### Task 1: x\n- [ ] a\n"), ["a"]);
    let doc = doc(PlanKind::Checklist, "\n## Do the thing\n\ntext\n");
    assert_eq!((doc.name.as_deref(), doc.items.len()), (Some("Do the thing"), 0));
}

#[test]
fn a_tick_is_one_byte() {
    for (kind, text) in [(PlanKind::Branches, BRANCHES), (PlanKind::Progress, PROGRESS)] {
        let before = doc(kind, text);
        for (index, item) in before.items.iter().enumerate() {
            assert_eq!(before.set_done(index, item.is_done()), None);
            let edit = before.set_done(index, !item.is_done()).unwrap();
            assert_eq!((edit.range.len(), edit.text.len()), (1, 1));
            let ticked = apply(text, std::slice::from_ref(&edit)).unwrap();
            let after = doc(kind, &ticked);
            assert_eq!(after.items[index].is_done(), !item.is_done());
            let back = after.set_done(index, item.is_done()).unwrap();
            assert_eq!(apply(&ticked, &[back]).unwrap(), text);
        }
    }
}

#[test]
fn a_tick_of_a_heading_changes_the_words_of_its_status() {
    let before = doc(PlanKind::Checklist, TASKS);
    let edits: Vec<Edit> = [(0, false), (1, true), (2, true)]
        .iter()
        .map(|(item, done)| before.set_done(*item, *done).unwrap())
        .collect();
    let after = apply(TASKS, &edits).unwrap();
    assert!(after.contains("**Status:** Not started\n**Spec:**"), "{after}");
    assert!(after.contains("- **Status:** complete\n"), "{after}");
    assert!(after.contains("### Task 3\n\n**Status:** Complete\n\n**Dep"), "{after}");
    let read = doc(PlanKind::Checklist, &after);
    assert_eq!(shown(&read), ["Write the schema", "x Read it", "x Task 3"]);
    let back = inverse(TASKS, &edits).unwrap();
    assert_eq!(apply(&after, &back).unwrap(), TASKS);
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let edit = |range, text: &str| Edit { range, text: text.to_owned() };
    assert_eq!(apply("añb", &[]).unwrap(), "añb");
    assert_eq!(apply("añb", &[edit(3..4, "c"), edit(0..1, ""), edit(0..0, "x")]).unwrap(), "xñc");
    assert!(matches!(apply("añb", &[edit(2..3, "")]), Err(EditError::Outside { .. })));
    assert!(matches!(apply("ab", &[edit(1..9, "")]), Err(EditError::Outside { .. })));
    let overlapping = [edit(0..2, ""), edit(1..2, "")];
    assert_eq!(apply("ab", &overlapping), Err(EditError::Overlap { at: 1 }));
}

#[test]
fn open_checkboxes_outside_of_every_branch_are_named_with_their_lines() {
    let text = "# Plan\n- [ ] before all\n\n## Branch: one\n- [ ] a\n\n### Part\n- [ ] b\n\n## Notes\n- [x] done\n\
                - [-] dropped\n- [!] asks\n- [ ] whole\n  - [x] part\n  - [ ] other part\n\n### [ ] later\ntext\n\n\
                ## Branch: two\n- [ ] c\n";
    let doc = doc(PlanKind::Branches, text);
    let titles: Vec<&str> = doc.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["a", "b", "c"]);
    let stray: Vec<(usize, &str)> =
        doc.stray.iter().map(|stray| (stray.line, stray.title.as_str())).collect();
    assert_eq!(stray, [(2, "before all"), (13, "asks"), (16, "other part"), (18, "later")]);
    let warned: Vec<usize> = doc.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(warned, [2, 13, 16, 18]);
    assert!(
        doc.warnings[0].text.starts_with("\"before all\" is in no branch"),
        "{:?}",
        doc.warnings
    );
    assert!(doc.only("one").warnings.is_empty(), "each branch has its own");
}
