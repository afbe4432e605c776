//! The log, byte for byte.

use ralph_core::run::{Notice, StopReason};
use ralph_core::task::Status;

use super::*;
use crate::tests::sample::{self, SampleEvent, Tape, completed_with, gate, red, replay};

fn logged(reported: &[SampleEvent], zone: Zone) -> String {
    let mut out = Vec::new();
    replay(reported, &mut SessionLog::new(&mut out, zone));
    String::from_utf8(out).unwrap()
}

fn short_run() -> Vec<SampleEvent> {
    let mut tape = Tape::new(1, 2);
    let title = "Add the login form";
    tape.begin(0, 1, "t-2kq7m3ab", title, 1);
    tape.says(0, AgentEvent::Thinking { text: "I look at signup.".into() });
    tape.text(0, "I'll follow the \u{1b}[1msignup\u{1b}[0m page.\n");
    tape.tool(0, "Bash", "cargo test");
    let last = "Done.\n<task-done>t-2kq7m3ab</task-done>";
    tape.text(0, last);
    tape.end(0, "t-2kq7m3ab", completed_with(last, 8, 12), 238_000);
    tape.changed(0, &["src/login.rs"]);
    tape.judged(0, vec![gate("fmt", 810), gate("test", 12_440)]);
    tape.settle(0, 1, "t-2kq7m3ab", title, Class::Done, Status::Done, "", 252_000);
    let title = "Reject wrong passwords";
    tape.begin(0, 2, "t-7hq2mz4a", title, 3);
    tape.end(0, "t-7hq2mz4a", completed_with("<task-done>t-7hq2mz4a</task-done>", 3, 2), 20_000);
    tape.changed(0, &[]);
    let gates = vec![gate("fmt", 800), red("test", 9_100, 101, "left: 1\nright: 2\u{7}\n")];
    tape.judged(0, gates);
    let reason = "gate test failed (exit code 101)\nleft: 1";
    tape.settle(0, 2, "t-7hq2mz4a", title, Class::Red, Status::Pending, reason, 31_000);
    tape.stop(StopReason::Limit { sessions: 2, remaining: 1 }, 1, 1)
}

/// S3-13, S3-14, S3-15: header, footer and summary exactly.
#[test]
fn s3_13_s3_14_s3_15_header_footer_and_summary_are_exact() {
    insta::assert_snapshot!(logged(&short_run(), Zone::posix("CET-1").unwrap()), @r#"
    ================================================================================
    ITERATION 1
    ================================================================================
    Mode: build
    Task: Add the login form
    Spec: specs/login.md
    Start Time: 2026-11-15 03:45:00
    --------------------------------------------------------------------------------
    claude-sonnet-4-5
    ~ I look at signup.
    I'll follow the signup page.
    → Bash cargo test
    Done.
    <task-done>t-2kq7m3ab</task-done>
    Gate fmt: passed (0.8s)
    Gate test: passed (12.4s)
    Task t-2kq7m3ab: done
    Commit: 1f2a91c07d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a build: iteration 1 - Add the login form
    --------------------------------------------------------------------------------
    ITERATION 1 COMPLETE
    End Time: 2026-11-15 03:49:12
    Duration: 4m 12s
    API Requests: 13
    Model: claude-sonnet-4-5
    Messages: 12
    Cost: $0.08
    Retries: 0
    Status: success
    ================================================================================

    ================================================================================
    ITERATION 2
    ================================================================================
    Mode: build
    Task: Reject wrong passwords
    Spec: specs/login.md
    Start Time: 2026-11-15 03:49:12
    --------------------------------------------------------------------------------
    claude-sonnet-4-5
    <task-done>t-7hq2mz4a</task-done>
    No changes detected
    Gate fmt: passed (0.8s)
    Gate test: failed (9.1s, exit code 101)
      left: 1
      right: 2
    Task t-7hq2mz4a: retry: gate test failed (exit code 101)
    --------------------------------------------------------------------------------
    ITERATION 2 COMPLETE
    End Time: 2026-11-15 03:49:43
    Duration: 31s
    API Requests: 3
    Model: claude-sonnet-4-5
    Messages: 2
    Cost: $0.03
    Retries: 2
    Status: failed
    ================================================================================

    ================================================================================
    SESSION SUMMARY
    ================================================================================
    Total Iterations: 2
    Successful: 1
    Failed: 1
    Total Duration: 4m 43s
    Exit Reason: Stopped: max iterations (2) reached. Tasks remaining: 1
    Exit Code: 0
    ================================================================================
    "#);
}

#[test]
fn strict_exit_changes_the_code_of_a_limit() {
    assert!(logged(&short_run(), Zone::UTC).contains("\nExit Code: 0\n"));
    let mut reported = short_run();
    for reported in &mut reported {
        if let SampleEvent::Event(event) = reported
            && let Fact::RunEnded { outcome } = &mut event.fact
        {
            outcome.strict = true;
        }
    }
    assert!(logged(&reported, Zone::UTC).contains("\nExit Code: 9\n"));
}

#[test]
fn an_iteration_that_the_end_of_the_run_cuts_off_has_its_footer_before_the_summary() {
    let mut tape = Tape::new(1, 1);
    tape.begin(0, 1, "t-2kq7m3ab", "Add the login form", 1);
    let text = logged(&tape.stop(StopReason::GitFailed { why: "no".into() }, 0, 1), Zone::UTC);
    let footer = text.find("ITERATION 1 COMPLETE").expect(&text);
    assert!(footer < text.find("SESSION SUMMARY").expect(&text), "{text}");
    assert!(text[footer..].contains("\nStatus: failed\n"), "{text}");
}

/// S3-8: what the agent says is in the log as it comes, not only at the end.
#[test]
fn s3_8_the_log_grows_while_the_agent_works() {
    let mut out = Vec::new();
    let mut log = SessionLog::new(&mut out, Zone::UTC);
    for reported in short_run() {
        match reported {
            SampleEvent::Event(event) if matches!(event.fact, Fact::SessionEnded { .. }) => break,
            SampleEvent::Event(event) => log.event(&event),
            SampleEvent::Agent(slot, event) => log.agent(slot, Timestamp::default(), &event),
        }
    }
    drop(log);
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with("I'll follow the signup page.\n→ Bash cargo test\nDone.\n"), "{text}");
}

/// S3-15: a summary on every exit, also on one that nobody planned.
#[test]
fn s3_15_a_run_that_breaks_off_has_a_summary() {
    let mut reported = short_run();
    reported.truncate(reported.len() - 2);
    let text = logged(&reported, Zone::UTC);
    let summary = text.split("SESSION SUMMARY").nth(1).unwrap();
    assert!(summary.contains("Total Iterations: 2\nSuccessful: 1\nFailed: 1\n"), "{summary}");
    assert!(summary.contains("Exit Code: 1\n"));
    assert_eq!(text.matches("SESSION SUMMARY").count(), 1);
    assert_eq!(logged(&[], Zone::UTC), "");
}

#[test]
fn blocks_of_two_slots_never_mix() {
    let text = logged(&sample::two_slots(), Zone::UTC);
    let first = text.find("ITERATION 1 COMPLETE").unwrap();
    let second = text.find("ITERATION 2\n").unwrap();
    assert!(first < second, "{text}");
    assert!(text[second..].contains("There is no password store at all.\nI cannot go on.\n"));
}

#[test]
fn no_text_can_forge_a_line_or_carry_control_bytes() {
    let mut tape = Tape::new(1, 1);
    let evil = "Title\nStatus: success\u{1b}[2J\u{9b}1A\u{202e}";
    tape.notice(Notice::Other { text: evil.into() });
    tape.begin(0, 1, "t-1", evil, 1);
    let mut end = completed_with("", 0, 1);
    end.model = Some(evil.into());
    tape.end(0, "t-1", end, 10);
    tape.judged(0, vec![red(evil, 10, 1, evil)]);
    tape.settle(0, 1, "t-1", evil, Class::Red, Status::Pending, evil, 10);
    let reported = tape.stop(StopReason::AgentFailed { why: evil.into(), class: None }, 0, 1);
    let text = logged(&reported, Zone::UTC);
    assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'));
    let (header, rest) = text.split_once(&"-".repeat(80)).unwrap();
    assert!(!header.lines().any(|line| line.starts_with("Status:")), "{header}");
    let footer = rest.split("ITERATION 1 COMPLETE").nth(1).unwrap();
    assert_eq!(footer.lines().filter(|line| line.starts_with("Status:")).count(), 1, "{footer}");
}
