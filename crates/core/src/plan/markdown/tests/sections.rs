//! What is written into progress files.

use super::kinds::PROGRESS;
use super::*;

fn note(iteration: u64) -> AttemptNote {
    AttemptNote {
        iteration,
        tried: format!("try\n## Tasks {iteration}"),
        result: "red".into(),
        next: iteration.is_multiple_of(2).then(|| "go on".into()),
    }
}

fn row(notes: &str) -> LogRow {
    LogRow {
        iteration: 7,
        started: "2026-01-18 10:00".into(),
        duration: "1m 2s".into(),
        tasks_completed: 1,
        notes: notes.into(),
    }
}

fn changed(text: &str, edits: impl Fn(&PlanDoc) -> Vec<Edit>) -> String {
    let edits = edits(&doc(PlanKind::Progress, text));
    let changed = apply(text, &edits).unwrap();
    // Whatever was written can be taken back to the byte.
    let back = inverse(text, &edits).unwrap();
    assert_eq!(apply(&changed, &back).unwrap(), text);
    changed
}

fn attempts(text: &str) -> Vec<u64> {
    let doc = doc(PlanKind::Progress, text);
    doc.progress.attempts.iter().map(|attempt| attempt.note.iteration).collect()
}

#[test]
fn s2_19_attempts_are_added_and_the_oldest_dropped() {
    let mut text = PROGRESS.to_owned();
    for (iteration, keep, left) in [
        (3, 3, &[1, 2, 3][..]),
        (4, 3, &[2, 3, 4]),
        (5, 5, &[2, 3, 4, 5]),
        (6, 2, &[5, 6]),
        (7, 1, &[7]),
        (8, 1, &[8]),
        (9, 2, &[8, 9]),
    ] {
        text = changed(&text, |doc| doc.record_attempt(&text, &note(iteration), keep));
        assert_eq!(attempts(&text), left, "{text}");
        let doc = doc(PlanKind::Progress, &text);
        let last = &doc.progress.attempts.last().unwrap().note;
        assert_eq!(last.tried, format!("try ## Tasks {iteration}"));
        assert_eq!(last.next.is_some(), iteration.is_multiple_of(2));
    }
    let expected = "\
## Recent Attempts

### Iteration 8

- Tried: try ## Tasks 8
- Result: red
- Next: go on

### Iteration 9

- Tried: try ## Tasks 9
- Result: red

## Iteration Log
";
    assert!(text.contains(expected), "{text}");
    let (before, after) =
        (PROGRESS.find("## Recent").unwrap(), PROGRESS.find("## Iteration Log").unwrap());
    assert!(text.starts_with(&PROGRESS[..before]) && text.ends_with(&PROGRESS[after..]));
    let none = changed(&text, |doc| doc.record_attempt(&text, &note(10), 0));
    assert_eq!(attempts(&none), [0; 0]);
}

#[test]
fn notes_of_the_user_between_attempts_stay() {
    let text = "# Progress: a\n## Recent Attempts\nread me\n### Iteration 1\n- Tried: a\n\n### Lessons\nkeep\n\n### Iteration 2\n- Tried: b\n## Other\n";
    let after = changed(text, |doc| doc.record_attempt(text, &note(3), 1));
    let expected = "# Progress: a\n## Recent Attempts\nread me\n### Lessons\nkeep\n\n### Iteration 3\n\n- Tried: try ## Tasks 3\n- Result: red\n## Other\n";
    assert_eq!(after, expected);
}

#[test]
fn s2_20_a_row_is_added_to_the_log() {
    let after = changed(PROGRESS, |doc| doc.log_row(PROGRESS, &row("a | b\nc")));
    let line = "| 7 | 2026-01-18 10:00 | 1m 2s | 1 | a \\| b c |\n";
    assert_eq!(after, format!("{PROGRESS}{line}"));
    let own = "# Progress: a\n## Iteration Log\n\n| # | Notes | Who | Started |\n|-|-|-|-|\n\nend";
    let after = changed(own, |doc| doc.log_row(own, &row("n")));
    assert!(after.contains("|-|-|-|-|\n| 7 | n |  | 2026-01-18 10:00 |\n\nend"), "{after}");
}

#[test]
fn sections_that_are_missing_are_made() {
    for newline in ["\n", "\r\n"] {
        let text = ["# Progress: a", "", "## Tasks", "- [ ] a"].join(newline);
        let with = |lines: &[&str]| format!("{text}{newline}{newline}{}", lines.join(newline));
        let table = [
            "## Iteration Log",
            "",
            "| Iteration | Started | Duration | Tasks Completed | Notes |",
            "|---|---|---|---|---|",
            "| 7 | 2026-01-18 10:00 | 1m 2s | 1 | n |",
        ];
        let logged = changed(&text, |doc| doc.log_row(&text, &row("n")));
        assert_eq!(logged, with(&table));
        let done = changed(&text, |doc| doc.set_completed(&text, &["a\nb".into(), "c".into()]));
        assert_eq!(done, with(&["## Completed This Iteration", "", "- a b", "- c"]));
        let tried = changed(&logged, |doc| doc.record_attempt(&logged, &note(1), 5));
        let attempt = [
            "## Recent Attempts",
            "",
            "### Iteration 1",
            "",
            "- Tried: try ## Tasks 1",
            "- Result: red",
            "",
        ];
        assert_eq!(tried, with(&[&attempt[..], &table[..]].concat()));
        let status = changed(&text, |doc| doc.set_status(&text, "RALPH_DONE\nfine"));
        let expected =
            ["# Progress: a", "", "## Status", "", "RALPH_DONE", "fine", "", "## Tasks", "- [ ] a"];
        assert_eq!(status, expected.join(newline));
        assert!(doc(PlanKind::Progress, &status).is_done());
    }
}

#[test]
fn the_status_can_be_put_back() {
    let done = changed(PROGRESS, |doc| doc.set_status(PROGRESS, "RALPH_DONE"));
    assert!(doc(PlanKind::Progress, &done).is_done());
    let former = doc(PlanKind::Progress, PROGRESS);
    let back = changed(&done, |doc| doc.set_status(&done, former.status_text().unwrap()));
    assert_eq!(back, PROGRESS);
    assert_eq!(former.set_status(PROGRESS, former.status_text().unwrap()), []);
    let empty = "# Progress: a\n## Status\n## Tasks\n- [ ] a\n";
    let after = changed(empty, |doc| doc.set_status(empty, "In Progress"));
    assert_eq!(after, "# Progress: a\n## Status\n\nIn Progress\n\n## Tasks\n- [ ] a\n");
}

#[test]
fn completed_is_replaced_and_emptied() {
    let two = ["One".to_owned(), "Two".to_owned()];
    let after = changed(PROGRESS, |doc| doc.set_completed(PROGRESS, &two));
    assert!(after.contains("Iteration\n\n- One\n- Two\n\n## Recent"), "{after}");
    assert_eq!(doc(PlanKind::Progress, &after).set_completed(&after, &two), []);
    let none = changed(&after, |doc| doc.set_completed(&after, &[]));
    assert_eq!(doc(PlanKind::Progress, &none).progress.completed, [""; 0]);
}

#[test]
fn a_section_behind_code_that_is_not_closed_can_be_read_again() {
    let note = AttemptNote { iteration: 1, tried: "t".into(), result: "r".into(), next: None };
    for open in [
        "```sh\nmake",
        "<!-- later",
        "<pre>\n- [ ] no",
        "- [ ] b\n  ```\n  code",
        "- - [ ] b\n  1. [ ] c\n    ```\n    code",
        " - - [ ] b\n ```\n code",
    ] {
        let text = format!("# Progress: x\n\n## Tasks\n- [ ] a\n\n{open}\n");
        let before = doc(PlanKind::Progress, &text);
        let after = apply(&text, &before.record_attempt(&text, &note, 5)).unwrap();
        assert!(after.starts_with(text.trim_end()), "{after}");
        let read = doc(PlanKind::Progress, &after);
        assert_eq!(read.attempts().count(), 1, "{after}");
        assert_eq!(shown(&read), shown(&before), "{after}");
    }
}
