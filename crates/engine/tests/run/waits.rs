//! Waits, in a time that jumps over them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::Timestamp;
use ralph_core::run::{Cancel, Class, Control, Fact, StopReason, Wait};
use ralph_engine::ports::{Clock, GitError};

use crate::kit::{Play, START, World, claude_hits_limit, done, hits_limit};

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

/// A clock on which no wait ever ends.
struct Endless(Arc<dyn Clock>);

impl Clock for Endless {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep_until<'a>(&'a self, _: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(std::future::pending())
    }
}

/// The control may arrive after the wait was recorded and before anything waits.
#[test]
fn a_run_that_is_cancelled_at_the_first_moment_of_a_wait_ends() {
    for _ in 0..30 {
        let world = World::new(&["a"]).plays([hits_limit(START + 5 * HOUR)]);
        let world = world.setup(|setup| {
            setup.ports.clock = Arc::new(Endless(Arc::clone(&setup.ports.clock)));
        });
        let waits = |fact: &Fact| matches!(fact, Fact::WaitStarted { .. });
        let played = world.reacting(Control::Cancel(Cancel::AfterSession), waits).run();
        assert_eq!(*played.reason(), StopReason::Cancelled);
    }
}

/// A session of three hours that does its task.
fn long(file: &'static str) -> Play {
    done().does(|inside| inside.pass(3 * HOUR)).writes(file, "1")
}

#[test]
fn while_claude_is_at_its_limit_another_agent_goes_on_and_claude_works_again_after_the_reset() {
    let plays = [
        claude_hits_limit(START + 5 * HOUR).writes("half.txt", "unfinished"),
        long("a.txt"),
        long("b.txt"),
        done().writes("c.txt", "1"),
    ];
    let world = World::new(&["a", "b", "c"]).with_claude().with_fallback(&["script"]);
    let played = world.plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.programs, ["claude", "script", "script", "claude"]);
    assert_eq!(played.outcome.iterations, 3, "the session that met the limit does not count");
    assert_eq!(played.task("a").retry_count, 0);
    assert!(played.facts().all(|fact| !matches!(fact, Fact::WaitStarted { .. })));
    let switches = played.facts().filter_map(|fact| match fact {
        Fact::AgentSwitched { from, to, limit, .. } => {
            Some((from.as_str(), to.as_str(), limit.map(|limit| limit.class)))
        }
        _ => None,
    });
    let switches: Vec<_> = switches.collect();
    let expected = [("claude", "script", Some(Class::UsageWindow)), ("script", "claude", None)];
    assert_eq!(switches, expected);
    // What the first session left is in the work of the second one.
    let first = played.vcs.log().into_iter().find(|commit| commit.subject.contains("iteration 1"));
    assert!(first.is_some_and(|commit| played.vcs.file_in(&commit.id, "half.txt").is_some()));
    let attempts = played.attempts("a");
    let programs: Vec<_> = attempts.iter().map(|attempt| attempt.program.as_deref()).collect();
    assert_eq!(programs, [Some("claude"), Some("script")]);
}

#[test]
fn with_every_agent_at_a_limit_the_run_waits_for_the_earliest_reset() {
    let plays = [
        claude_hits_limit(START + 5 * HOUR),
        hits_limit(START + 2 * HOUR),
        done().writes("a.txt", "1"),
    ];
    let world = World::new(&["a"]).with_claude().with_fallback(&["script"]);
    let played = world.plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.programs, ["claude", "script", "script"]);
    assert!(played.took_ms >= 2 * HOUR && played.took_ms < 5 * HOUR, "{} ms", played.took_ms);
    assert_eq!((played.task("a").retry_count, played.outcome.iterations), (0, 1));
}
