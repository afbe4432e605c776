//! Which item is which, as a user would say.

use super::*;
use crate::ids::TaskId;

fn known(doc: &PlanDoc) -> Vec<Known> {
    let known = doc.items.iter().enumerate().map(|(index, item)| Known {
        id: TaskId::new(format!("t{index}")).unwrap(),
        title: item.title.clone(),
        body: item.body.clone(),
        group: doc.group_of(index).map(|group| group.title.clone()),
        done: item.is_done(),
    });
    known.collect()
}

/// The former number of each item, `-1` for a new one.
fn moved(before: &str, after: &str) -> Vec<i64> {
    let found =
        identify(&known(&doc(PlanKind::Checklist, before)), &doc(PlanKind::Checklist, after));
    let mut all: Vec<usize> = found.items.iter().flatten().chain(&found.gone).copied().collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..doc(PlanKind::Checklist, before).items.len()));
    found.items.iter().map(|old| old.map_or(-1, |old| old as i64)).collect()
}

/// A list under headings: `# A` starts a group, everything else is an item.
fn list(lines: &[&str]) -> String {
    let line = |line: &&str| match line.strip_prefix("# ") {
        Some(group) => format!("\n## {group}\n\n"),
        None => format!("- [ ] {line}\n"),
    };
    lines.iter().map(line).collect()
}

const BEFORE: [&str; 9] = [
    "# Parser",
    "Add the lexer for numbers",
    "Add the lexer for strings",
    "Write tests",
    "# Server",
    "Listen on a socket",
    "Answer requests in parallel",
    "Write tests",
    "Document the protocol",
];

#[test]
fn nothing_changed_is_nothing_changed() {
    assert_eq!(moved(&list(&BEFORE), &list(&BEFORE)), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(moved("", ""), [0; 0]);
    assert_eq!(moved("", "- [ ] a"), [-1]);
    assert_eq!(moved("- [ ] a", ""), [0; 0]);
}

#[test]
fn order_case_emphasis_and_punctuation_make_no_other_task() {
    let after = list(&[
        "# Server",
        "Write tests",
        "**Document** the `protocol`.",
        "listen  on a socket <!-- now -->",
        "Answer requests in parallel:",
        "# Parser",
        "Write Tests",
        "_Add the lexer for strings_",
        "Add the lexer for numbers",
    ]);
    assert_eq!(moved(&list(&BEFORE), &after), [5, 6, 3, 4, 2, 1, 0]);
}

#[test]
fn a_task_may_move_to_another_group_and_a_group_may_be_renamed() {
    let mut after = BEFORE.to_vec();
    after.swap(2, 5);
    assert_eq!(moved(&list(&BEFORE), &list(&after)), [0, 3, 2, 1, 4, 5, 6]);
    let mut after = BEFORE.to_vec();
    after[0] = "# Front end";
    assert_eq!(moved(&list(&BEFORE), &list(&after)), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_task_may_be_written_in_other_words() {
    for (at, words) in [
        (1, "Add a lexer for all numbers"),
        (2, "Lexer for strings and characters"),
        (5, "Listen on a unix socket"),
        (5, "Listen on sockets"),
        (6, "Answer the requests in parallel, up to 8 at once"),
        (8, "Documentation of the protocol"),
    ] {
        let mut after = BEFORE.to_vec();
        after[at] = words;
        assert_eq!(moved(&list(&BEFORE), &list(&after)), [0, 1, 2, 3, 4, 5, 6], "{words}");
    }
}

#[test]
fn another_task_in_the_same_place_is_new() {
    for words in ["Set up continuous integration", "Remove dead code", "Package for Debian"] {
        let mut after = BEFORE.to_vec();
        after[5] = words;
        assert_eq!(moved(&list(&BEFORE), &list(&after)), [0, 1, 2, -1, 4, 5, 6], "{words}");
    }
}

#[test]
fn tasks_of_one_pattern_are_not_each_other() {
    for (before, after) in [
        ("Support JSON", "Support YAML"),
        ("Implement the list command", "Implement the delete command handler for admins"),
        ("Migrate table 3", "Migrate table 4"),
    ] {
        let before = list(&[before, "Then this", "And that"]);
        let after = list(&["Then this", "Something else", "And that", after]);
        assert_eq!(moved(&before, &after), [1, -1, 2, -1], "{before} {after}");
    }
    let before = list(&["Retry up to 3 times", "Then this"]);
    assert_eq!(moved(&before, &list(&["Retry up to 5 times", "Then this"])), [0, 1]);
}

#[test]
fn new_and_deleted_tasks_leave_the_others_alone() {
    let mut after = BEFORE.to_vec();
    after.insert(6, "Log every request");
    after.remove(1);
    assert_eq!(moved(&list(&BEFORE), &list(&after)), [1, 2, 3, -1, 4, 5, 6]);
}

#[test]
fn the_closer_half_of_a_split_task_keeps_its_id() {
    let before = list(&["Add login and logout to the web page", "Other work"]);
    let after = list(&["Add login to the web page", "Add logout", "Other work"]);
    assert_eq!(moved(&before, &after), [0, -1, 1]);
    let after = list(&["Add logout", "Add login to the web page", "Other work"]);
    assert_eq!(moved(&before, &after), [-1, 0, 1]);
}

#[test]
fn repeated_titles_go_by_what_is_around_them() {
    let before =
        "- [ ] A\n  - [x] Tests\n- [ ] B\n  - [ ] Tests\n- [ ] C\n  - [ ] Tests\n    hard\n";
    assert_eq!(moved(before, before), [0, 1, 2, 3, 4, 5]);
    let without_a = "- [ ] B\n  - [ ] Tests\n- [ ] C\n  - [ ] Tests\n    hard\n";
    assert_eq!(moved(before, without_a), [2, 3, 4, 5]);
    let without_b = "- [ ] A\n  - [x] Tests\n- [ ] C\n  - [ ] Tests\n    hard\n";
    assert_eq!(moved(before, without_b), [0, 1, 4, 5]);
    let twice = list(&["Same", "Same", "Same"]);
    assert_eq!(moved(&twice, &list(&["Same", "Same"])).len(), 2);
}

#[test]
fn an_unchanged_body_identifies_its_task() {
    let before = "- [ ] a\n- [ ] Make it fast\n  The page takes 3 s, see issue 12.\n- [ ] b\n";
    let after = "- [ ] b\n- [ ] a\n- [ ] Performance\n  The page takes 3 s, see issue 12.\n";
    assert_eq!(moved(before, after), [2, 0, 1]);
}

#[test]
fn ten_thousand_tasks_are_found_again() {
    let line = |n: usize| format!("- [ ] Work on piece {n} of part {}\n", n % 7);
    let before: String = (0..10_000).map(line).collect();
    let after: String = (0..10_000)
        .map(|n| match n % 10 {
            0 => format!("- [ ] Also work on piece {n} of the part {}\n", n % 7),
            _ => line(n),
        })
        .collect();
    let moved = moved(&before, &after);
    assert!(moved.iter().enumerate().all(|(n, old)| *old == n as i64));
}
