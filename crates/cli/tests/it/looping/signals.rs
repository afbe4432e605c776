//! Signals as agents write them, and sessions that give none.

use super::*;

/// What session `number` of the newest run was told about its task.
fn task_text(env: &TestEnv, number: u32) -> String {
    run_file(env, &format!("iteration-{number:03}.task.md"))
}

fn ends_with(text: &str) -> String {
    session(&[write("work.txt", "some\n"), say(text)])
}

#[test]
fn a_signal_in_backticks_or_a_fence_of_its_own_counts_at_the_end() {
    for text in
        ["Done.\n\n`<task-done>{id}</task-done>`", "Done.\n```\n<task-done>{id}</task-done>\n```"]
    {
        let env = project(&["a"]);
        let ran = build(&env, &[&ends_with(text)], &[]);
        assert_eq!((ran.code, classes(&env)), (0, vec!["done".to_owned()]), "{}", ran.stderr);
    }
}

#[test]
fn a_quoted_signal_is_reported_on_the_terminal_and_to_the_next_session() {
    let env = project(&["a"]);
    let quotes = ends_with("I shall say `<task-done>{id}</task-done>` soon.");
    let ran = build(&env, &[&quotes, &works()], &[]);
    assert_eq!((ran.code, classes(&env)), (0, vec!["no_signal".to_owned(), "done".to_owned()]));
    let ignored = "<task-done>a</task-done> is in code or a quotation";
    assert!(ran.stderr.contains(&format!("signal ignored: {ignored}")), "{}", ran.stderr);
    let (first, second) = (task_text(&env, 1), task_text(&env, 2));
    assert!(!first.contains("## Missing signal"), "{first}");
    assert!(second.contains("## Missing signal") && second.contains(ignored), "{second}");
    // The way it is shown is the way it counts.
    assert!(first.contains("\n\n<task-done>a</task-done>\n\n"), "{first}");
}

#[test]
fn sessions_without_a_signal_end_with_a_task_that_waits_and_exit_7() {
    // New work each time, and no retries.
    let env = project(&["a"]);
    let more: Vec<String> =
        (1..=4).map(|n| session(&[write(&format!("{n}.txt"), "x\n"), say("More.")])).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let ran = build(&env, &more, &["--max-retries", "0"]);
    assert_eq!((ran.code, classes(&env).len()), (7, 3), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "waiting");
    assert!(ran.stderr.contains("3 sessions in a row ended without a signal"), "{}", ran.stderr);
    // Nothing at all.
    let env = project(&["a"]);
    let ran = build(&env, &[only_says("Hm.").as_str(); 4], &[]);
    assert_eq!((ran.code, classes(&env).len()), (7, 3), "{}", ran.stderr);
    assert!(ran.stderr.contains("without a signal and without new changes"), "{}", ran.stderr);
    let work = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip"]);
    assert_eq!(work, "", "nothing was there to save");
}

#[test]
fn changes_without_a_signal_are_judged_by_the_verifier_and_recorded_as_unclaimed() {
    let mut env = project(&["a"]);
    env.with_verifier();
    let passes = only_says("It is there.\n<verify-pass/>");
    let ran = build(&env, &[&ends_with("I made it."), &passes], &[]);
    assert_eq!((ran.code, status(&env, "a")), (0, "done".to_owned()), "{}", ran.stderr);
    assert!(ran.stderr.contains("no signal for a"), "{}", ran.stderr);
    let rows = show(&env, "a")["evidence"].to_string();
    assert!(rows.contains("unclaimed"), "{rows}");
}
