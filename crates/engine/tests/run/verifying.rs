//! The verifier: a second session that looks at what the gates let through.

use ralph_core::agent::ProcessEnd;
use ralph_core::records::Verdict;
use ralph_core::run::{Budget, Cancel, Class, Control, Fact, StopReason, Wait};
use ralph_core::task::Status;

use crate::kit::{Inside, Play, World, crashes, done, hits_limit, says, stays, works};

const PASS: &str = "I looked at it.\n<verify-pass/>";

fn fails(reason: &str) -> Play {
    says(&format!("Not yet.\n\n<verify-fail>{reason}</verify-fail>"))
}

fn passes() -> Play {
    says(PASS)
}

fn verified(tasks: &[&str]) -> World {
    World::new(tasks).verified()
}

#[test]
fn s1_44_a_pass_makes_it_done_and_the_task_says_so() {
    let played = verified(&["a"]).build([works(), passes()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let task = played.task("a");
    assert_eq!((task.status, task.verification_status.as_deref()), (Status::Done, Some("passed")));
    let row = played.evidence("a").pop().unwrap();
    assert_eq!((row.judge.as_str(), row.verdict), ("verifier", Verdict::Pass));
    assert!(played.facts().any(|fact| matches!(fact, Fact::Verified { .. })));
    assert_eq!(played.commits(), ["build: iteration 1 - Title of a"]);
}

#[test]
fn s1_45_a_verifier_that_fails_twice_and_then_passes() {
    let (first, second) = (fails("say please"), fails("say thank you"));
    let played = verified(&["a"]).build([works(), first, works(), second, works(), passes()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::Red, Class::Red, Class::Done]);
    let task = played.task("a");
    assert_eq!((task.retry_count, task.status), (2, Status::Done));
    assert_eq!(task.verification_status.as_deref(), Some("passed"));
    assert!(played.prompt(2).contains("verification failed: say please"));
    assert!(played.prompt(3).contains("verification failed: say thank you"));
    // Only green work is committed, and a verifier's session is none of those that count.
    assert_eq!(played.commits(), ["build: iteration 3 - Title of a"]);
    assert_eq!(played.outcome.iterations, 3);
}

#[test]
fn s1_45_between_two_tries_the_task_is_open_unclaimed_and_marked() {
    let played = verified(&["a"]).once().build([works(), fails("no")]);
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count, task.claim), (Status::Pending, 1, None));
    assert_eq!(task.verification_status.as_deref(), Some("failed"));
}

#[test]
fn s1_46_when_the_retries_are_used_up_count_and_reason_are_reported() {
    let tries = (0..4).flat_map(|_| [works(), fails("the greeting is missing")]);
    let played = verified(&["a"]).build(tries);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    let task = played.task("a");
    assert_eq!(
        (task.status, task.verification_status.as_deref()),
        (Status::Failed, Some("failed"))
    );
    let reason = "gave up after 4 attempts, last: verification failed: the greeting is missing";
    assert_eq!(played.reason_of("a"), reason);
    assert_eq!(played.commits(), Vec::<String>::new(), "nothing of it is kept");
    assert_eq!(played.vcs.read("a.txt"), None);
}

#[test]
fn s1_43_no_verdict_a_crash_and_a_hang_are_a_fail() {
    for (play, words) in [
        (says("Looks fine to me."), "the verifier ended without a verdict"),
        (says("`<verify-pass/>` is what I would say"), "is not alone on the verifier's last line"),
        (crashes(3), "crash"),
        (passes().ends(ProcessEnd::Exited { code: 3 }), "crash"),
        (Play::default().ends(ProcessEnd::TimedOut { after_ms: 3_000 }), "timeout"),
    ] {
        let played = verified(&["a"]).once().build([works(), play]);
        assert_eq!(played.status("a"), Status::Pending, "{words}: {:?}", played.reason());
        let reason = played.reason_of("a");
        assert!(reason.starts_with("verification failed: "), "{reason}");
        assert!(reason.contains(words), "{words}: {reason}");
    }
}

/// The gate has nothing to say about it; the verifier is pointed at it.
#[test]
fn a_verifier_gets_a_list_of_weaker_tests() {
    let world = verified(&["a"]).has("tests/test_a.py", "def test_one():\n    assert f() == 1\n");
    let deletes = done().removes("tests/test_a.py");
    let mut world = world.gate("any", |_: &Inside| (0, String::new())).once();
    let played = world.build([deletes, fails("tests/test_a.py is gone")]);
    let text = played.file("iteration-001.verifier.task.md");
    let (_, closely) = text.split_once("## Check closely").unwrap();
    assert!(closely.contains("tests/test_a.py"), "{text}");
    assert_eq!(played.status("a"), Status::Pending);
}

#[test]
fn a_red_gate_costs_no_verifier() {
    let red = |_: &Inside| (1, String::new());
    let played = verified(&["a"]).gate("never", red).once().build([works()]);
    assert_eq!(played.classes(), [Class::Red]);
    assert_eq!(played.task("a").verification_status, None);
    assert!(!played.facts().any(|fact| matches!(fact, Fact::Verifying { .. })));
}

#[test]
fn a_limit_that_the_verifier_meets_is_waited_out_and_the_work_is_not_done_again() {
    let limited = hits_limit(crate::kit::START + 1_000);
    let played = verified(&["a"]).build([works(), limited, passes()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count), (Status::Done, 0));
    assert_eq!((played.classes(), played.started()), (vec![Class::Done], 1));
    let first = played.facts().find_map(|fact| match fact {
        Fact::WaitStarted { wait, .. } => Some(wait),
        _ => None,
    });
    assert!(matches!(first, Some(Wait::Limit { .. })), "{first:?}");
}

#[test]
fn what_a_verifier_costs_is_in_the_attempt_and_in_the_run() {
    let plays = || [works().costs(300_000), passes().costs(50_000)];
    let played = verified(&["a"]).build(plays());
    assert_eq!(played.outcome.usage.cost_micro_usd, Some(350_000));
    assert_eq!(played.attempts("a")[0].end.as_ref().unwrap().cost_micro_usd, Some(350_000));
    // What a session has used up, no verifier spends.
    let mut world = verified(&["a"]);
    world.policy.budget = Budget { micro_usd: 200_000, ..Budget::default() };
    let played = world.build(plays());
    assert_eq!(played.outcome.code(), 8, "{:?}", played.reason());
    let unverified = played.facts().find_map(|fact| match fact {
        Fact::Unverified { detail, .. } => Some(detail.as_str()),
        _ => None,
    });
    assert!(unverified.unwrap().contains("no budget is left for the verifier"), "{unverified:?}");
    assert_eq!((played.status("a"), played.sessions), (Status::Pending, 1));
    assert_eq!(played.vcs.read("a.txt").as_deref(), Some("work\n"));
}

#[test]
fn a_stop_while_it_verifies_leaves_the_task_as_it_was() {
    let slow = stays().does(|inside| inside.control(&Control::Cancel(Cancel::Now)));
    let played = verified(&["a"]).build([works(), slow]);
    assert_eq!(played.outcome.code(), 130, "{:?}", played.reason());
    assert!(played.facts().any(|fact| matches!(fact, Fact::Verifying { .. })));
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count), (Status::Pending, 0));
    assert_eq!(played.vcs.read("a.txt").as_deref(), Some("work\n"));
}
