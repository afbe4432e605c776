//! Whoever a session has started is gone when it is over, and nobody else.

use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_engine::process::{Stop, supervise};
use ralph_testkit::times;

use crate::kit::{SLACK, Session, marked, ms, pids, survivors};

#[tokio::test]
async fn nobody_survives_who_ignores_term_and_holds_the_pipe_from_a_session_of_its_own() {
    for _ in 0..times(5, 200) {
        let mut session = Session::of(&["--ignore-term", "--grandchild-setsid", "--hang"])
            .watched(|watch| watch.timeout = Some(ms(200)));
        let ended = session.run().await;
        assert_eq!(ended.end, ProcessEnd::TimedOut { after_ms: 200 });
        assert_eq!((session.processes(), session.survivors()), (2, vec![]));
        let (least, most) = (ms(200) + session.watch.grace, Duration::from_secs(3));
        assert!(ended.duration >= least && ended.duration < least + most, "{:?}", ended.duration);
    }
}

#[tokio::test]
async fn nobody_survives_who_cleared_its_environment_and_lost_its_parent() {
    let mut session = Session::of(&["--orphan", "--grandchild-clean", "--ignore-term", "--hang"])
        .watched(|watch| watch.timeout = Some(ms(300)));
    assert_eq!(session.end().await, ProcessEnd::TimedOut { after_ms: 300 });
    assert_eq!(session.processes(), 4);
}

#[tokio::test]
async fn what_a_good_session_leaves_in_the_background_is_ended_and_counted() {
    let mut session =
        Session::of(&["--background", "--background", "--claude-result", "done", "--exit", "0"])
            .watched(|watch| watch.grace = Duration::from_secs(20));
    let ended = session.run().await;
    assert_eq!((ended.end, ended.ended_leftovers), (ProcessEnd::Exited { code: 0 }, 2));
    assert_eq!((session.processes(), session.survivors()), (3, vec![]));
    assert_eq!(session.listener.lines.len(), 2);
    assert!(ended.duration < SLACK, "{:?}", ended.duration);
}

#[tokio::test]
async fn what_a_good_session_leaves_and_ignores_term_is_killed_after_the_grace() {
    let mut session = Session::of(&["--orphan", "--grandchild-setsid", "--exit", "7"]);
    let ended = session.run().await;
    assert_eq!((ended.end, ended.ended_leftovers), (ProcessEnd::Exited { code: 7 }, 2));
    assert_eq!((session.processes(), session.survivors()), (4, vec![]));
    assert!(ended.duration >= session.watch.grace && ended.duration < session.watch.grace + SLACK);
}

#[tokio::test]
async fn who_starts_others_while_it_is_killed_does_not_get_away() {
    let script = "trap '' INT TERM; echo ready; while :; do setsid sleep 60 & sleep 0.005; done";
    let mut session = Session::of_program("sh", &["-c", script]).stop_when_ready(Stop::Interrupt);
    let ended = session.run().await;
    assert_eq!(ended.end, ProcessEnd::Stopped);
    assert_eq!(marked(&session.mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_program_that_kills_its_subreaper_is_killed_with_its_children() {
    let mut session = Session::of(&["--grandchild-setsid", "--background", "--kill-parent"]);
    let ended = session.run().await;
    assert_eq!((ended.end, ended.ended_leftovers), (ProcessEnd::Signalled { signal: 9 }, 2));
    assert_eq!((session.processes(), session.survivors()), (3, vec![]));
    assert!(ended.duration < SLACK, "{:?}", ended.duration);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_one_session_leaves_the_others_alone() {
    let mut long = Session::of(&["--orphan", "--grandchild-setsid", "--say", "ready", "--hang"]);
    let (file, stop) = (long.pids_file(), long.listener.stop.clone());
    let mut ready = long.listener.printed_ready.subscribe();
    let long = tokio::spawn(async move { long.end().await });
    ready.wait_for(|ready| *ready).await.unwrap();
    // Its orphan has no mark, and so has the orphan of the others.
    assert_eq!(pids(&file).len(), 4);
    assert_eq!(survivors(&file).len(), 3);

    for stop in [Stop::Kill, Stop::Interrupt] {
        let mut short = Session::of(&["--orphan", "--ignore-term", "--say", "ready", "--hang"])
            .stop_when_ready(stop);
        assert_eq!(short.end().await, ProcessEnd::Stopped);
        assert_eq!(short.processes(), 3);
    }
    let mut short = Session::of(&["--orphan", "--exit", "1"]);
    assert_eq!(short.end().await, ProcessEnd::Exited { code: 1 });
    assert_eq!(survivors(&file).len(), 3);

    stop.send_replace(Stop::Kill);
    assert_eq!(long.await.unwrap(), ProcessEnd::Stopped);
}

#[tokio::test]
async fn a_program_that_is_none_of_the_session_is_left_alone() {
    let mut ours = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut session = Session::of(&["--orphan", "--say", "ready", "--hang"]);
    session.listener.stop_at = Some(("ready", Stop::Kill));
    assert_eq!(session.end().await, ProcessEnd::Stopped);
    assert!(ours.try_wait().unwrap().is_none());
    ours.kill().unwrap();
    ours.wait().unwrap();
}

#[tokio::test]
async fn a_dropped_session_takes_everybody_with_it() {
    let mut session = Session::of(&["--orphan", "--grandchild-setsid", "--say", "ready", "--hang"]);
    let mut ready = session.listener.printed_ready.subscribe();
    tokio::select! {
        _ = session.run() => panic!("it ended"),
        heard = ready.wait_for(|ready| *ready) => { heard.unwrap(); }
    }
    assert_eq!(session.processes(), 4);
    crate::kit::until("everybody is gone", || session.survivors().is_empty());
}

#[tokio::test]
async fn a_program_has_no_terminal_to_ask_the_user_at() {
    let script = "read -r stat </proc/$$/stat; set -- $stat; echo $$ $5 $6 $7";
    let mut session = Session::of_program("sh", &["-c", script]);
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 0 });
    // The leader of its group and of its session, which has no terminal.
    let reported: Vec<&str> = session.listener.lines[0].split(' ').collect();
    assert_eq!(reported[1..], [reported[0], reported[0], "0"]);
}

/// A child asks the kernel to die with its parent, and the kernel takes the thread for the parent.
#[test]
fn a_session_outlives_the_thread_that_began_it() {
    let mut session = Session::of(&["--say", "ready", "--sleep", "300", "--exit", "5"]);
    let mut ready = session.listener.printed_ready.subscribe();
    let stop = session.listener.stop.subscribe();
    let (spec, watch, mark) = (session.spec.clone(), session.watch.clone(), session.mark.clone());
    let mut running = Box::pin(async move {
        supervise(&spec, &watch, &mark, &mut session.listener, None, stop).await.end
    });
    let begun = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::select! {
                end = &mut running => panic!("{end:?}"),
                heard = ready.wait_for(|ready| *ready) => { heard.unwrap(); }
            }
        });
        (runtime, running)
    });
    let (runtime, running) = begun.join().unwrap();
    assert_eq!(runtime.block_on(running), ProcessEnd::Exited { code: 5 });
}
