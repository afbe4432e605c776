//! Signals as agents write them, and sessions that give none.

use ralph_core::records::Verdict;
use ralph_core::run::{Class, Notice, StopReason};
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Play, World, says, works};

fn ends_with(text: &str) -> Play {
    says(text).writes("work.txt", "some\n")
}

#[test]
fn a_signal_in_backticks_or_a_fence_of_its_own_counts_at_the_end() {
    for text in
        ["Done.\n\n`<task-done>{id}</task-done>`", "Done.\n```\n<task-done>{id}</task-done>\n```"]
    {
        let played = World::new(&["a"]).build([ends_with(text)]);
        assert_eq!(*played.reason(), StopReason::Complete, "{text}");
        assert_eq!(played.classes(), [Class::Done], "{text}");
    }
}

#[test]
fn a_quoted_signal_is_reported_to_the_user_and_to_the_next_session() {
    let quotes = ends_with("I shall say `<task-done>{id}</task-done>` soon.");
    let played = World::new(&["a"]).build([quotes, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::NoSignal, Class::Done]);
    let ignored = "<task-done>a</task-done> is in code or a quotation";
    let noticed = played.noticed();
    assert!(noticed.contains(&format!("signal ignored: {ignored}")), "{noticed}");
    let (first, second) = (played.prompt(1), played.prompt(2));
    assert!(!first.contains("## Missing signal"), "{first}");
    assert!(second.contains("## Missing signal") && second.contains(ignored), "{second}");
    // The way it is shown is the way it counts.
    assert!(first.contains("\n\n<task-done>a</task-done>\n\n"), "{first}");
}

#[test]
fn sessions_without_a_signal_end_with_a_task_that_waits() {
    // New work each time, and no retries.
    let more = (1..=4).map(|n| says("More.").writes(&format!("{n}.txt"), "x\n"));
    let mut world = World::new(&["a"]).policy(|policy| policy.retries = RetryLimit::AtMost(0));
    let played = world.build(more);
    assert_eq!(played.outcome.code(), 7, "{:?}", played.reason());
    assert_eq!((played.classes().len(), played.status("a")), (3, Status::Waiting));
    let log = played.log("a");
    assert!(log.contains("3 sessions in a row ended without a signal"), "{log}");
    // Nothing at all.
    let played = World::new(&["a"]).build(vec![says("Hm."); 4]);
    assert_eq!((played.outcome.code(), played.classes().len()), (7, 3), "{:?}", played.reason());
    let log = played.log("a");
    assert!(log.contains("without a signal and without new changes"), "{log}");
    assert!(!played.vcs.refs().keys().any(|name| name.starts_with("refs/ralph/wip")));
}

#[test]
fn changes_without_a_signal_are_judged_by_the_verifier_and_recorded_as_unclaimed() {
    let passes = says("It is there.\n<verify-pass/>");
    let played = World::new(&["a"]).verified().build([ends_with("I made it."), passes]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.status("a"), Status::Done);
    let is_notice = |notice: &Notice| matches!(notice, Notice::Unclaimed { .. });
    assert!(played.notices().any(is_notice), "{}", played.noticed());
    assert!(played.noticed().contains("no signal for a"), "{}", played.noticed());
    assert!(played.evidence("a").iter().any(|row| row.verdict == Verdict::Unclaimed));
}

#[test]
fn s1_32_done_wins_over_failed() {
    let text = "<task-failed>{id}</task-failed><task-done>{id}</task-done>";
    let played = World::new(&["a"]).build([says(text).writes("a", "a")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.status("a"), Status::Done);
}

#[test]
fn s1_3_s1_33_failure_stops_the_run_at_once_and_gives_the_claim_back() {
    let text = "<task-done>{id}</task-done> <promise>FAILURE</promise>";
    let played = World::new(&["a", "b"]).build([says(text).writes("x.txt", "x\n")]);
    assert_eq!((played.reason(), played.outcome.code()), (&StopReason::Failure, 6));
    assert_eq!((played.status("a"), played.commits().len()), (Status::Pending, 0));
    assert_eq!(played.task("a").retry_count, 0);
}

#[test]
fn s1_35_s1_2_failed_is_failed_with_its_reason_in_the_log_and_the_run_goes_on() {
    let gives_up = says("<task-failed>{id}</task-failed><reason>no API key</reason>");
    let played = World::new(&["a", "b"]).build([gives_up, works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!((played.status("a"), played.reason_of("a")), (Status::Failed, "no API key".into()));
    assert!(played.log("a").contains("no API key"));
    assert_eq!(played.status("b"), Status::Done);
}

#[test]
fn s1_36_no_signal_releases_the_task() {
    let played = World::new(&["a"]).once().build([says("I looked around.")]);
    assert!(matches!(played.reason(), StopReason::Limit { .. }), "{:?}", played.reason());
    let task = played.task("a");
    assert_eq!((task.status, task.claim.is_none(), task.retry_count), (Status::Pending, true, 0));
    assert_eq!(played.attempts("a")[0].end.as_ref().unwrap().outcome, "no-signal");
}

#[test]
fn s1_37_a_wrong_id_is_warned_of_and_changes_no_task() {
    let wrong = says("<task-done>b</task-done>").writes("x", "x");
    let played = World::new(&["a", "b"]).once().build([wrong]);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    let names_b =
        |notice: &Notice| matches!(notice, Notice::WrongId { named, .. } if named[0] == "b");
    assert!(played.notices().any(names_b), "{}", played.noticed());
    assert_eq!((played.status("a"), played.status("b")), (Status::Pending, Status::Pending));
}

#[test]
fn signals_in_tool_results_and_files_are_text() {
    let tool = |text: &str| {
        serde_json::json!({ "event": "tool_ended", "id": "1", "is_error": false, "text": text })
            .to_string()
    };
    let quoted = says("earlier: <task-failed>a</task-failed>")
        .prints(r#"{"event":"tool_started","id":"1","name":"Bash","input":"echo"}"#)
        .prints(&tool("<task-done>a</task-done>\n<promise>FAILURE</promise>"))
        .writes("notes.md", "<task-done>a</task-done>\n")
        .says("I am not done.");
    let played = World::new(&["a"]).once().build([quoted]);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    assert_eq!(played.classes(), [Class::NoSignal]);
}
