//! How a program ends: by itself, by a watchdog, because we asked it to, or never having run.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_engine::process::{Stop, Watch};

use crate::kit::{SLACK, Session, ms};

#[tokio::test]
async fn codes_and_signals_are_reported_as_they_are() {
    for code in [0, 1, 3, 137, 255] {
        let mut session = Session::of(&["--exit", &code.to_string()]);
        assert_eq!(session.end().await, ProcessEnd::Exited { code });
    }
    for signal in [9, 15, 6] {
        let mut session = Session::of(&["--kill-self", &signal.to_string()]);
        assert_eq!(session.end().await, ProcessEnd::Signalled { signal });
    }
}

#[tokio::test]
async fn a_program_is_found_on_its_own_path() {
    let mut session = Session::of_program("sh", &["-c", "echo found"]);
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 0 });
    assert_eq!(session.listener.lines, ["found"]);
}

#[tokio::test]
async fn what_cannot_be_started_is_a_value_that_says_why() {
    let not_started = async |program: &str, part: &str| {
        let end = Session::of_program(program, &[]).end().await;
        let ProcessEnd::NotStarted { error } = &end else { panic!("{end:?}") };
        assert!(error.starts_with(program) && error.contains(part), "{error}");
    };
    not_started("no-such-program-here", "No such file").await;
    not_started("/no/such/program", "No such file").await;
    not_started("/etc", "Permission denied").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    not_started(file.to_str().unwrap(), "Permission denied").await;
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let mut session = Session::of(&[]);
    session.spec.folder = session.folder().join("gone");
    let ProcessEnd::NotStarted { error } = session.end().await else { panic!() };
    assert!(error.contains("/gone: not a folder"), "{error}");
}

#[tokio::test]
async fn after_a_stop_nothing_is_started() {
    for stop in [Stop::Interrupt, Stop::Kill] {
        let mut session = Session::of(&["--say", "x"]);
        session.listener.stop.send_replace(stop);
        assert_eq!(session.end().await, ProcessEnd::Stopped);
        assert_eq!(session.processes(), 0);
    }
}

/// Runs it to an end that must come so soon and not before.
async fn ends_after(session: &mut Session, end: ProcessEnd, from: Duration) {
    let ended = session.run().await;
    assert_eq!(ended.end, end);
    assert_eq!(session.survivors(), Vec::<u32>::new());
    assert!(ended.duration >= from, "already after {:?}", ended.duration);
    assert!(ended.duration < from + SLACK, "only after {:?}", ended.duration);
}

#[tokio::test]
async fn the_total_time_ends_however_much_is_printed() {
    let mut session = Session::of_program("sh", &["-c", "while :; do echo x; done"])
        .watched(|watch| watch.timeout = Some(ms(400)));
    ends_after(&mut session, ProcessEnd::TimedOut { after_ms: 400 }, ms(400)).await;
    assert!(session.listener.lines.len() > 100);
}

#[tokio::test]
async fn silence_is_counted_from_the_last_byte_of_either_pipe() {
    let output = ["--sleep", "150", "--say", "x", "--sleep", "150", "--complain", "x"];
    let mut session = Session::of(&[&output[..], &output, &["--hang"]].concat())
        .watched(|watch| watch.silence = Some(ms(400)));
    ends_after(&mut session, ProcessEnd::Silent { after_ms: 400 }, ms(1_000)).await;
    assert_eq!((session.listener.lines.len(), session.listener.errors.len()), (2, 2));
}

#[tokio::test]
async fn a_limit_may_be_any_number() {
    let mut session = Session::of(&["--claude-result", "x", "--background"]).watched(|watch| {
        let (limit, some) = (Duration::MAX, Some(Duration::MAX));
        *watch = Watch { timeout: some, silence: some, after_result: some, grace: limit, ..*watch };
        watch.drain = limit;
    });
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 0 });
}

#[tokio::test]
async fn a_closed_output_is_no_end() {
    let mut session = Session::of(&["--close-stdout", "--sleep", "300", "--exit", "4"]);
    ends_after(&mut session, ProcessEnd::Exited { code: 4 }, ms(300)).await;
    let mut session =
        Session::of(&["--close-stdout", "--hang"]).watched(|watch| watch.silence = Some(ms(300)));
    ends_after(&mut session, ProcessEnd::Silent { after_ms: 300 }, ms(300)).await;
}

#[tokio::test]
async fn who_stays_after_its_result_is_ended_and_the_result_was_heard() {
    let mut session =
        Session::of(&["--linger"]).watched(|watch| watch.after_result = Some(ms(300)));
    ends_after(&mut session, ProcessEnd::Lingered { after_ms: 300 }, ms(300)).await;
    assert_eq!(session.listener.lines.len(), 2);
}

#[tokio::test]
async fn a_further_turn_after_a_result_is_not_lingering() {
    let mut session = Session::of(&[
        "--claude-result",
        "one",
        "--say",
        "resumed",
        "--sleep",
        "600",
        "--claude-result",
        "two",
    ])
    .watched(|watch| watch.after_result = Some(ms(200)));
    ends_after(&mut session, ProcessEnd::Exited { code: 0 }, ms(600)).await;
}

#[tokio::test]
async fn an_interrupted_agent_may_leave_by_itself() {
    let mut session = Session::of(&["--exit-on-int", "--say", "ready", "--hang"])
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = Duration::from_secs(20));
    ends_after(&mut session, ProcessEnd::Stopped, ms(0)).await;
}

#[tokio::test]
async fn an_agent_that_ignores_everything_is_interrupted_terminated_and_killed() {
    let mut session = Session::of(&["--ignore-term", "--say", "ready", "--hang"])
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = ms(300));
    ends_after(&mut session, ProcessEnd::Stopped, ms(600)).await;
}

#[tokio::test]
async fn an_agent_that_ignores_the_interrupt_only_is_terminated_after_one_grace() {
    // A shell that ignores INT does not ignore TERM.
    let script = "trap '' INT; echo ready; while :; do sleep 0.05; done";
    let mut session = Session::of_program("sh", &["-c", script])
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = Duration::from_millis(2_600));
    ends_after(&mut session, ProcessEnd::Stopped, ms(2_600)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_kill_waits_for_a_moment_only() {
    let mut session =
        Session::of(&["--grandchild-setsid", "--ignore-term", "--say", "ready", "--hang"])
            .stop_when_ready(Stop::Kill)
            .watched(|watch| watch.grace = Duration::from_secs(20));
    ends_after(&mut session, ProcessEnd::Stopped, ms(0)).await;
    assert_eq!(session.processes(), 2);
}

#[tokio::test]
async fn whoever_is_killed_can_take_away_its_locks() {
    // So does git.
    let script =
        "trap 'rm lock; exit 1' TERM; touch lock; echo ready; while :; do sleep 0.01; done";
    let mut session = Session::of_program("sh", &["-c", script])
        .stop_when_ready(Stop::Kill)
        .watched(|watch| watch.grace = Duration::from_secs(20));
    ends_after(&mut session, ProcessEnd::Stopped, ms(0)).await;
    assert!(!session.folder().join("lock").exists());
}

#[tokio::test]
async fn a_kill_overtakes_an_interrupt() {
    let mut session = Session::of(&["--ignore-term", "--say", "ready", "--hang"])
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = Duration::from_secs(20));
    let stop = session.listener.stop.clone();
    let mut seen = stop.subscribe();
    let second = async {
        seen.wait_for(|stop| *stop == Stop::Interrupt).await.unwrap();
        tokio::time::sleep(ms(100)).await;
        stop.send_replace(Stop::Kill);
    };
    tokio::join!(ends_after(&mut session, ProcessEnd::Stopped, ms(100)), second);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stop_after_the_end_of_the_program_does_not_change_its_end() {
    let mut session = Session::of(&["--grandchild-setsid", "--say", "ready", "--exit", "3"])
        .watched(|watch| watch.grace = Duration::from_secs(20));
    let stop = session.listener.stop.clone();
    let pids = session.pids_file();
    let second = async {
        let left = || crate::kit::survivors(&pids).len() == 1 && crate::kit::pids(&pids).len() == 2;
        while !left() {
            tokio::time::sleep(ms(5)).await;
        }
        // It takes a moment until the end of the program was told.
        tokio::time::sleep(ms(100)).await;
        stop.send_replace(Stop::Kill);
    };
    tokio::join!(ends_after(&mut session, ProcessEnd::Exited { code: 3 }, ms(50)), second);
}
