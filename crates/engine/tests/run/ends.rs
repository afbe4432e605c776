//! How runs end, and what is left of them.

use ralph_core::run::{Budget, Class, Fact, StopReason};
use ralph_core::task::Status;

use ralph_core::agent::ProcessEnd;

use crate::kit::{Play, World, crashes, done, says, works};

#[test]
fn a_plan_is_worked_through_task_by_task() {
    let plays = ["a", "b", "c"].map(|name| done().writes(&format!("{name}.txt"), name));
    let played = World::on_disk(&["a", "b", "c"]).plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.sessions, 3);
    assert_eq!(
        played.commits(),
        ["a", "b", "c"].map(|name| {
            let number = u32::from(name.as_bytes()[0] - b'a') + 1;
            format!("build: iteration {number} - Title of {name}")
        })
    );
    for name in ["a", "b", "c"] {
        assert_eq!(played.task(name).status, Status::Done);
        assert_eq!(played.vcs.read(&format!("{name}.txt")).as_deref(), Some(name));
    }
    let ends = played.facts().filter(|fact| matches!(fact, Fact::RunEnded { .. })).count();
    assert_eq!(ends, 1);
}

#[test]
fn a_question_parks_its_task_and_the_others_go_on() {
    let ask = says("<question>Which port?</question>").writes("half.txt", "half");
    let played = World::new(&["port", "other"]).plays([ask, done().writes("other.txt", "x")]).run();
    assert!(matches!(played.reason(), StopReason::Blocked { .. }), "{:?}", played.reason());
    assert_eq!(played.task("port").status, Status::Waiting);
    assert_eq!(played.task("other").status, Status::Done);
    let questions = played.store().questions(None, true).unwrap();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].text, "Which port?");
}

#[test]
fn the_limit_of_sessions_leaves_the_rest_open() {
    let mut world =
        World::new(&["a", "b", "c"]).plays([done().writes("a", "1"), done().writes("b", "1")]);
    world.policy.max_sessions = Some(2);
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Limit { .. }), "{:?}", played.reason());
    assert_eq!((played.sessions, played.outcome.left.open, played.outcome.left.done), (2, 1, 2));
}

#[test]
fn a_budget_that_is_used_up_starts_nothing_more() {
    let mut world = World::new(&["a", "b"]).plays([done().writes("a", "1").costs(700_000)]);
    world.policy.budget = Budget { micro_usd: 500_000, ..Budget::default() };
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Budget { .. }), "{:?}", played.reason());
    assert_eq!(played.sessions, 1);
    assert_eq!(played.outcome.usage.cost_micro_usd, Some(700_000));
    assert_eq!(played.task("b").status, Status::Pending);
}

#[test]
fn sessions_that_crash_stop_the_run_at_the_breaker() {
    let mut world = World::new(&["a"]).plays([1, 1, 1].map(crashes));
    world.policy.breaker = 3;
    let played = world.run();
    assert!(matches!(played.reason(), StopReason::Breaker { .. }), "{:?}", played.reason());
    assert_eq!(played.sessions, 3);
    let classes: Vec<Class> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::IterationEnded { class, .. } => Some(*class),
            _ => None,
        })
        .collect();
    assert_eq!(classes, [Class::Crash; 3]);
}

#[test]
fn an_agent_that_says_failure_stops_the_run_and_keeps_its_work() {
    let play = says("<promise>FAILURE</promise>").writes("half.txt", "half");
    let played = World::new(&["a", "b"]).plays([play]).run();
    assert!(matches!(played.reason(), StopReason::Failure), "{:?}", played.reason());
    assert_eq!(played.commits(), Vec::<String>::new());
    assert!(played.vcs.refs().keys().any(|name| name.starts_with("refs/ralph/wip/a/")));
}

#[test]
fn s1_50_a_crash_releases_the_task_and_the_next_iteration_starts() {
    let played = World::new(&["a"]).build([crashes(3), works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::Crash, Class::Done]);
    assert_eq!(played.task("a").retry_count, 0);
    assert_eq!(played.attempts("a")[0].end.as_ref().unwrap().detail, "exited with code 3");
}

/// A session of Claude Code that has begun and prints nothing else.
fn begins() -> Play {
    Play::default().prints(
        r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}"#,
    )
}

#[test]
fn s1_50_a_session_without_a_result_is_a_crash() {
    let played = World::new(&["a"]).with_claude().once().build([begins()]);
    assert_eq!((played.outcome.code(), played.classes()), (0, vec![Class::Crash]));
    assert_eq!(played.status("a"), Status::Pending);
}

#[test]
fn each_bad_end_of_a_process_has_its_class() {
    let nonsense = Play::default().prints(r#"{"no":"event"}"#).prints(r#"{"nor":"this"}"#);
    for (play, class) in [
        (crashes(7), Class::Crash),
        (begins().ends(ProcessEnd::Signalled { signal: 9 }), Class::Crash),
        (says(""), Class::Empty),
        (Play::default(), Class::Empty),
        (nonsense, Class::Malformed),
        (begins().ends(ProcessEnd::TimedOut { after_ms: 1_000 }), Class::Timeout),
        (begins().ends(ProcessEnd::Silent { after_ms: 1_000 }), Class::Silence),
    ] {
        let played = World::new(&["a"]).with_claude().once().build([play]);
        assert_eq!(played.classes(), [class]);
        assert_eq!(played.status("a"), Status::Pending, "{class:?}");
        let retries = if class == Class::Crash { 0 } else { 1 };
        assert_eq!(played.task("a").retry_count, retries, "{class:?}");
    }
}

#[test]
fn a_program_that_prints_plain_text_is_read_as_text() {
    let text = Play::default().prints("hello").writes("z", "z");
    let played =
        World::new(&["a"]).with_claude().once().build([text.prints("<task-done>a</task-done>")]);
    assert_eq!((played.classes(), played.status("a")), (vec![Class::Done], Status::Done));
}

#[test]
fn an_agent_that_is_not_logged_in_ends_the_run_with_the_remedy() {
    let refused = begins()
        .prints(r#"{"type":"assistant","error":"authentication_failed","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"Invalid API key"}]}}"#)
        .prints(r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key","num_turns":1,"usage":{"input_tokens":0,"output_tokens":0}}"#)
        .ends(ProcessEnd::Exited { code: 1 });
    let played = World::new(&["a", "b"]).with_claude().build([refused]);
    assert_eq!((played.outcome.code(), played.sessions), (4, 1), "{:?}", played.reason());
    assert_eq!((played.status("a"), played.classes()), (Status::Pending, vec![Class::Auth]));
    let StopReason::AgentFailed { why, class } = played.reason() else {
        panic!("{:?}", played.reason())
    };
    assert!(why.contains("claude") && *class == Some(Class::Auth), "{why}");
}

#[test]
fn a_task_database_that_is_removed_under_a_run_stops_it_and_is_not_made_again() {
    let cleans = works().does(|inside| {
        for name in ["progress.db", "progress.db-wal", "progress.db-shm"] {
            let _ = std::fs::remove_file(inside.ralph_dir().join(name));
        }
    });
    let played = World::on_disk(&["a", "b"]).build([cleans]);
    assert_eq!(played.outcome.code(), 1, "{:?}", played.reason());
    let sentence = played.outcome.sentence();
    for part in
        ["Stopped by an error: the task database ", "was removed while the run was using it"]
    {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(!sentence.contains("done."), "{sentence}");
    assert!(!played.ralph_dir().join("progress.db").exists(), "made again");
}

#[test]
fn a_task_database_that_is_replaced_under_a_run_stops_it() {
    let replaces = works().does(|inside| {
        let file = inside.ralph_dir().join("progress.db");
        std::fs::copy(&file, inside.ralph_dir().join("x")).unwrap();
        std::fs::rename(inside.ralph_dir().join("x"), file).unwrap();
    });
    let played = World::on_disk(&["a", "b"]).build([replaces]);
    assert_eq!(played.outcome.code(), 1, "{:?}", played.reason());
    let sentence = played.outcome.sentence();
    assert!(sentence.contains("was replaced by another file"), "{sentence}");
}
