//! Progress files that agents print.

use super::kinds::PROGRESS;
use super::*;

fn asked(agent_text: &str) -> Option<Printed> {
    printed(&doc(PlanKind::Progress, PROGRESS), PROGRESS, agent_text)
}

fn ticked() -> String {
    PROGRESS.replace("- [ ] Numbers", "- [x] Numbers")
}

#[test]
fn s2_16_a_printed_file_is_found_wherever_it_stands() {
    let file = ticked();
    for text in [
        file.clone(),
        format!("I have done it. Here is the file:\n\n{file}"),
        format!("Done.\n\n```markdown\n{file}```\n\nBye.\n\n- [x] Trees\n"),
        format!("~~~~\n{file}~~~~\n"),
        format!("First:\n\n{PROGRESS}\n\nthen:\n\n{file}"),
        file.replace('\n', "\r\n"),
    ] {
        let found = asked(&text).unwrap();
        assert_eq!((found.ticked, found.ignored), (vec![1], vec![]), "{text}");
    }
}

#[test]
fn a_fence_inside_a_fenced_file_does_not_end_it() {
    let file = ticked().replace("In Progress\n", "In Progress\n```sh\ncargo test\n```\n");
    let found = asked(&format!("```\n{file}```\nchatter\n")).unwrap();
    assert_eq!(found.ticked, [1]);
}

#[test]
fn text_without_a_file_asks_for_nothing() {
    assert_eq!(asked("All done! RALPH_DONE\n- [x] Numbers\n"), None);
    assert_eq!(asked("# Progress: quite good\n\nI did a lot.\n"), None);
    assert_eq!(asked("    # Progress: a\n    ## Tasks\n    - [x] Numbers\n"), None);
    let same = asked(PROGRESS).unwrap();
    assert_eq!((same.ticked.len(), same.attempt, same.ignored.len()), (0, None, 0));
}

#[test]
fn what_it_may_ask_for_is_taken() {
    let file = ticked()
        .replace("In Progress\n", "RALPH_DONE\n")
        .replace("- Strings\n\n## Recent", "- Numbers\n- More\n\n## Recent")
        .replace(
            "## Iteration Log",
            "### Iteration 3\n\n- Tried: it\n- Result: works\n\n## Iteration Log",
        );
    let found = asked(&file).unwrap();
    assert!(found.done_marker);
    assert_eq!(found.completed, ["Numbers", "More"]);
    let attempt = found.attempt.unwrap();
    assert_eq!((attempt.iteration, attempt.tried.as_str()), (3, "it"));
    assert_eq!(found.ignored, [""; 0]);
}

#[test]
fn what_it_has_no_business_to_change_is_named() {
    let file = PROGRESS
        .replace("- [x] Strings", "- [ ] Strings")
        .replace("- [ ] Trees", "- [x] Syntax trees\n- [x] Polish everything at once")
        .replace("- [ ] Numbers\n", "");
    let found = asked(&file).unwrap();
    assert_eq!(found.ticked, [3]);
    assert_eq!(
        found.ignored,
        [
            "It leaves out the task: Numbers",
            "It adds the task: Polish everything at once",
            "It rewords \"Trees\" as \"Syntax trees\"",
            "It unticks the task: Strings",
        ]
    );
}
