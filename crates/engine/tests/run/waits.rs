//! Waits, in a time that jumps over them.

use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::run::{Fact, StopReason, Wait};
use ralph_engine::ports::GitError;

use crate::kit::{START, World, done, hits_limit};

const HOUR: i64 = 3_600_000;

#[test]
fn a_usage_limit_waits_until_its_reset_and_costs_no_retry() {
    let plays = [hits_limit(START + 5 * HOUR), done().writes("a.txt", "1")];
    let played = World::new(&["a"]).plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert!(played.took_ms >= 5 * HOUR, "{} ms", played.took_ms);
    assert_eq!(played.task("a").retry_count, 0);
    assert_eq!(played.outcome.iterations, 1, "the session that met the limit does not count");
    let waits = played.facts().filter(|fact| {
        matches!(fact, Fact::WaitStarted { wait: Wait::Limit { reset_known: true, .. }, .. })
    });
    assert_eq!(waits.count(), 1);
}

#[test]
fn git_that_fails_for_a_moment_is_asked_again() {
    let failed = AtomicBool::new(false);
    let world = World::new(&["a"]).plays([done().writes("a.txt", "1")]);
    let mut world = world.gate("unit", move |files| {
        // The gate runs between two calls of version control.
        if !failed.swap(true, Ordering::Relaxed) {
            let (verb, message) = ("add".to_owned(), "a lock".to_owned());
            files.fail_next(GitError::Failed { verb, message });
        }
        (0, String::new())
    });
    let played = world.run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.sessions, 1, "a session that has ended is not run again");
    let failures = played.facts().filter(|fact| matches!(fact, Fact::PortFailed { .. })).count();
    assert!(failures >= 1);
}

#[test]
fn git_that_fails_for_good_stops_the_run_and_releases_the_task() {
    let mut world = World::new(&["a"]).plays([done().writes("a.txt", "1")]).gate("unit", |files| {
        files.fail_next(GitError::OtherBranch {
            expected: Some("main".to_owned()),
            found: Some("other".to_owned()),
        });
        (0, String::new())
    });
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::GitFailed { .. }), "{:?}", played.reason());
    assert!(played.task("a").claim.is_none());
    assert_eq!(played.commits(), Vec::<String>::new());
}
