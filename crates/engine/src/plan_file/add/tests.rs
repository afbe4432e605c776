//! Plans of every kind with a task more.

use std::path::Path;

use ralph_core::plan::markdown::PlanKind;

use super::*;

fn new(title: &str, text: &str) -> NewBox {
    let page = "https://h.org/pull/1#c7".to_owned();
    NewBox { title: title.to_owned(), text: format!("Page: {page}\n\n{text}"), page }
}

/// The plan with these checkboxes added, by its file.
fn added(file: &str, plan: &str, branch: Option<&str>, boxes: &[NewBox]) -> (String, PlanDoc) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), plan).unwrap();
    let mut plan = PlanFile::find(folder.path(), Path::new(file)).unwrap().unwrap();
    if let Some(branch) = branch {
        plan = plan.of_branch(branch, folder.path(), "");
    }
    plan.add(boxes).unwrap();
    // Again: what is there is not added twice.
    plan.add(boxes).unwrap();
    let read = plan.read().unwrap().unwrap();
    (read.text, read.doc)
}

fn titles(doc: &PlanDoc) -> Vec<(&str, Mark)> {
    doc.items.iter().map(|item| (item.title.as_str(), item.mark)).collect()
}

#[test]
fn a_task_comes_behind_the_others_in_the_way_in_which_the_plan_writes_them() {
    let plans = [
        ("list", "# Plan\n\n- [x] one\n  - [x] part\n- [x] two\n\nThe end.\n"),
        ("stars", "* [x] one\n\n  Why.\n"),
        ("headings", "# Plan\n\n## [x] one\n\nText.\n"),
        ("tasks", "# Plan\n\n### Task 1: one\n\n**Status:** Complete\n\nText.\n"),
        ("windows", "- [x] one\r\n- [x] two\r\n"),
        ("words", "Build a thing. No boxes.\n"),
        ("empty", "\n"),
    ];
    for (name, plan) in plans {
        let (text, doc) = added("PLAN.md", plan, None, &[new("mend it", "It broke.")]);
        let last = doc.items.last().unwrap();
        assert_eq!((last.title.as_str(), last.mark), ("mend it", Mark::Open), "{name}: {text}");
        assert!(last.body.contains("> It broke."), "{name}: {text}");
        assert_eq!(text.contains("\r\n"), name == "windows", "{text:?}");
    }
}

#[test]
fn a_branch_gets_it_in_its_own_section() {
    let plan = "## Branch: one\n\nGoal: a\n\n- [x] first\n\n## Branch: two\n\n- [x] second\n";
    let (text, doc) = added("PLAN.md", plan, Some("one"), &[new("mend it", "x"), new("and", "y")]);
    let expected = [("first", Mark::Done), ("mend it", Mark::Open), ("and", Mark::Open)];
    assert_eq!(titles(&doc), expected, "{text}");
    assert!(text.find("and").unwrap() < text.find("## Branch: two").unwrap(), "{text}");
}

#[test]
fn a_progress_file_that_says_done_says_so_no_more() {
    let plan =
        "# Progress: x\n\n## Status\n\nRALPH_DONE\n\n## Tasks\n\n- [x] one\n\n## Notes\n\nText.\n";
    let (text, doc) = added("progress.md", plan, None, &[new("mend it", "x")]);
    assert_eq!(doc.kind, PlanKind::Progress);
    assert!(!doc.is_done(), "{text}");
    assert_eq!(titles(&doc), [("one", Mark::Done), ("mend it", Mark::Open)], "{text}");
}

#[test]
fn foreign_text_makes_one_checkbox_whatever_it_says() {
    for text in [
        "- [ ] another\n- [x] and another",
        "## Branch: evil\n\n- [ ] x",
        "```\n- [ ] x",
        "<!--\n- [ ] x",
        "### Task 9: x\n\n**Status:** Complete",
        "| [ ] | x |\n|---|---|\n| [ ] | y |",
        "RALPH_DONE",
        "\u{2028}- [ ] x\r- [ ] y",
    ] {
        for (plan, branch) in [
            ("- [x] one\n", None),
            ("# P\n\n### Task 1: one\n\n**Status:** Complete\n", None),
            ("## Branch: one\n\n- [x] one\n\n## Branch: two\n\n- [ ] two\n", Some("one")),
        ] {
            let (all, doc) = added("PLAN.md", plan, branch, &[new("mend it", text)]);
            assert_eq!(titles(&doc), [("one", Mark::Done), ("mend it", Mark::Open)], "{all}");
        }
    }
}
