//! What the marks of checkboxes say, and which spellings of a checkbox are read.

use super::*;

/// Each item as its mark and its title.
fn marks(text: &str) -> Vec<String> {
    let doc = doc(PlanKind::Checklist, text);
    let shown = |item: &Item| format!("{} {}", item.mark.character(), item.title);
    doc.items.iter().map(shown).collect()
}

fn warnings(text: &str) -> Vec<String> {
    doc(PlanKind::Checklist, text).warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn every_mark_is_a_task_and_says_how_it_stands() {
    let text = "- [ ] a\n- [x] b\n- [X] c\n- [~] d\n- [/] e\n- [-] f\n- [!] g\n- [?] h\n- [>] i\n- [b] j\n- [✓] k\n";
    let doc = doc(PlanKind::Checklist, text);
    let found: Vec<ItemState> = doc.standings();
    use ItemState::{Done, Dropped, Open, Waits};
    assert_eq!(found, [Open, Done, Done, Open, Open, Dropped, Waits, Waits, Waits, Waits, Waits]);
    assert_eq!(doc.items[9].mark, Mark::Waits('b'));
}

#[test]
fn a_strange_mark_is_one_only_beside_ordinary_checkboxes() {
    assert_eq!(marks("- [1] Smith, 1999\n- [2] Jones\n"), [""; 0]);
    assert_eq!(marks("- [1] Smith, 1999\n- [ ] read it\n"), ["1 Smith, 1999", "  read it"]);
    assert_eq!(marks("- [!] alone\n"), ["! alone"]);
    assert_eq!(marks("- [-] alone\n"), ["- alone"]);
}

#[test]
fn links_footnotes_and_tags_are_text() {
    let text = "- [ ] a\n- [P1] b\n- [UI] c\n- [Go](url)\n- [^1] d\n- [x](url)\n- [x][ref]\n- [x]: url\n- [Go] e\n- [ab]c\n- [](url)\n- []byte\n- [b]c\n";
    assert_eq!(marks(text), ["  a"]);
    assert_eq!(warnings(text), [""; 0]);
}

#[test]
fn checkboxes_in_odd_spellings_are_read_with_a_warning() {
    for (text, mark) in [
        ("- [] a\n", ' '),
        ("-[ ] a\n", ' '),
        ("*[x] a\n", 'x'),
        ("1.[ ] a\n", ' '),
        ("- [ ]a\n", ' '),
        ("- [x]a\n", 'x'),
        ("- [\u{a0}] a\n", ' '),
        ("-\u{a0}[ ] a\n", ' '),
        ("- [ ]\u{a0}a\n", ' '),
        ("- \u{a0}[ ] a\n", ' '),
        ("-[] a\n", ' '),
    ] {
        assert_eq!(marks(text), [format!("{mark} a")], "{text:?}");
        let warnings = warnings(text);
        assert_eq!(warnings.len(), 1, "{text:?}: {warnings:?}");
        assert!(warnings[0].starts_with("line 1: "), "{warnings:?}");
        let before = doc(PlanKind::Checklist, text);
        let edit = before.set_done(0, !before.items[0].is_done()).unwrap();
        let after = apply(text, &[edit]).unwrap();
        let now = doc(PlanKind::Checklist, &after);
        assert_ne!(now.items[0].is_done(), before.items[0].is_done(), "{after:?}");
        assert_eq!(now.items[0].title, "a");
    }
    let nested = "- [ ] a\n\u{a0}\u{a0}- [ ] b\n";
    assert_eq!(titles(nested), ["a", ">b"]);
    assert_eq!(warnings(nested).len(), 1);
}

#[test]
fn a_mark_that_waits_is_named_with_its_line() {
    let found = warnings("- [x] one\n- [!] two\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("line 2: ") && found[0].contains("[!]"), "{found:?}");
    assert_eq!(warnings("- [x] one\n- [-] two\n- [~] three\n"), [""; 0]);
}

#[test]
fn checkboxes_in_headings_are_tasks_with_what_is_below_them() {
    let text = "# Plan\n\n### 1. [ ] First\n\nwhy\n\n- [ ] part\n\n### Task 2: [x] Second\ntext\n\n## Notes\n\n### Third [ ]\n### [!] Fourth\n### Use [x] here\n";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(shown(&doc), ["First", ">part", "x Second", "Third", "Fourth"]);
    assert_eq!((doc.items[0].body.as_str(), doc.items[2].body.as_str()), ("why", "text"));
    assert_eq!(doc.name.as_deref(), Some("Plan"));
    assert_eq!(doc.items[4].mark, Mark::Waits('!'));
    assert_eq!(doc.group_of(3).map(|group| group.title.as_str()), Some("Notes"));
    let ticked = apply(text, &[doc.set_done(0, true).unwrap()]).unwrap();
    assert_eq!(ticked, text.replace("1. [ ] First", "1. [x] First"));
}

#[test]
fn heading_checkboxes_count_in_every_kind_of_plan() {
    let text = "## Branch: a\n### 1. [ ] X\nwhy\n### 2. [x] Y\n## Branch: b\n- [ ] z\n";
    let branches = doc(PlanKind::Branches, text);
    assert_eq!(shown(&branches), ["X", "x Y", "z"]);
    assert_eq!(branches.group_of(0).map(|group| group.title.as_str()), Some("a"));
    assert_eq!(branches.items[1].span.end, text.find("## Branch: b").unwrap());
    let text = "# Progress: p\n## Tasks\n### Phase 1\n- [ ] a\n### 2. [ ] b\n- [ ] c\n## Testing Strategy\n### [ ] no\n";
    assert_eq!(shown(&doc(PlanKind::Progress, text)), ["a", "b", ">c"]);
}

#[test]
fn rows_with_a_checkbox_are_tasks() {
    let text = "# P\n\n| # | Task | Owner | Done |\n|---|---|:--|:-:|\n| 1 | Build a \\| b | Ann | [ ] |\n| 2 | Build c | | [x] |\n| 3 | later | | [!] |\n\ntext | [ ] |\n\n| [ ] no table |\n";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(shown(&doc), ["Build a | b", "x Build c", "later"]);
    assert_eq!(doc.items[0].body, "#: 1\nOwner: Ann");
    let ticked = apply(text, &[doc.set_done(0, true).unwrap()]).unwrap();
    assert_eq!(ticked, text.replace("| Ann | [ ] |", "| Ann | [x] |"));
    let bare = "Status | Work\n--- | ---\n[ ] | do it\n[x] | did it\n";
    assert_eq!(titles(bare), ["do it", "x did it"]);
    let inside = "| Work | Why |\n|--|--|\n| [ ] do it | because |\n";
    assert_eq!(titles(inside), ["do it"]);
}

#[test]
fn parts_of_what_is_dropped_or_waits_are_too() {
    let text = "- [-] a\n  - [ ] b\n  - [x] c\n- [?] d\n  - [ ] e\n- [ ] f\n  - [-] g\n  - [x] h\n- [ ] i\n  - [-] j\n";
    let doc = doc(PlanKind::Checklist, text);
    use ItemState::{Done, Dropped, Open, Waits};
    assert_eq!(
        doc.standings(),
        [Dropped, Dropped, Done, Waits, Waits, Open, Dropped, Done, Dropped, Dropped]
    );
    assert_eq!(doc.due_parents(), [5], "i has nothing that was done");
}

#[test]
fn a_mark_is_written_as_one_byte() {
    let text = "- [ ] a\n- [!] b\n";
    let doc = doc(PlanKind::Checklist, text);
    let edit = |item, mark| apply(text, &[doc.set_mark(item, mark).unwrap()]).unwrap();
    assert_eq!(edit(0, Mark::Dropped), "- [-] a\n- [!] b\n");
    assert_eq!(edit(1, Mark::Open), "- [ ] a\n- [ ] b\n");
    assert_eq!(doc.set_mark(1, Mark::Waits('!')), None);
}
