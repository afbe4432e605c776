//! Programs whose standard input stays open: replies, texts from outside, and what a program can do to them.

use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_engine::process::{Delivery, Said, Stop};

use crate::kit::{SLACK, Session, ms};

const EXITED: ProcessEnd = ProcessEnd::Exited { code: 0 };

/// The lines that begin so.
fn heard<'a>(session: &'a Session, begin: &str) -> Vec<&'a str> {
    let lines = session.listener.lines.iter();
    lines.filter(|line| line.starts_with(begin)).map(String::as_str).collect()
}

#[tokio::test]
async fn replies_arrive_in_order_behind_the_opening() {
    let script = "echo 'ask 1'; echo 'ask 2'; while read -r line; do echo \"heard $line\"; \
                  [ \"$line\" = 'ask 2' ] && echo '{\"type\":\"result\"}'; done; echo over";
    let mut shell = Session::of_program("sh", &["-c", script]).conversation("hello\n");
    assert_eq!(shell.end().await, EXITED);
    assert_eq!(
        shell.listener.lines,
        [
            "ask 1",
            "ask 2",
            "heard hello",
            "heard ask 1",
            "heard ask 2",
            "{\"type\":\"result\"}",
            "over"
        ]
    );
}

#[tokio::test]
async fn a_text_reaches_a_program_that_runs() {
    let mut session = Session::of(&["--say", "ready", "--answer-lines"]).conversation("");
    let (say, mut ready) = (session.say.clone(), session.listener.printed_ready.subscribe());
    let talks = async {
        ready.wait_for(|ready| *ready).await.unwrap();
        let mut sent = vec![];
        for text in ["one", "two", "bye"] {
            let (said, delivery) = Said::new(text);
            say.send(said).await.unwrap();
            sent.push(delivery);
        }
        sent
    };
    let (end, sent) = tokio::join!(session.end(), talks);
    assert_eq!(end, EXITED);
    assert_eq!(heard(&session, "heard"), ["heard one", "heard two", "heard bye"]);
    assert!(sent.iter().all(|delivery| *delivery.borrow() == Delivery::Sent));
}

#[tokio::test]
async fn nobody_talks_to_a_program_whose_input_is_a_text() {
    let mut session = Session::of(&["--say", "ready", "--sleep", "300"]).with_stdin(b"x".to_vec());
    let (said, mut delivery) = Said::new("hello");
    session.say.send(said).await.unwrap();
    assert_eq!(session.end().await, EXITED);
    delivery.wait_for(|now| *now == Delivery::Refused).await.unwrap();
}

#[tokio::test]
async fn a_text_after_the_last_word_is_refused() {
    let script = "echo '{\"type\":\"result\"}'; echo ready; read -r line; echo over; sleep 0.5";
    let mut session = Session::of_program("sh", &["-c", script]).conversation("");
    let (say, mut ready) = (session.say.clone(), session.listener.printed_ready.subscribe());
    let late = async {
        ready.wait_for(|ready| *ready).await.unwrap();
        let (said, mut delivery) = Said::new("too late");
        say.send(said).await.unwrap();
        delivery.wait_for(|now| *now == Delivery::Refused).await.unwrap();
    };
    let (end, ()) = tokio::join!(session.end(), late);
    assert_eq!(end, EXITED);
    assert_eq!(session.listener.lines.last().unwrap(), "over");
}

#[tokio::test]
async fn a_text_that_waits_when_the_program_ends_is_refused() {
    let session = Session::of(&["--say", "x"]);
    let (said, delivery) = Said::new("nobody is there");
    session.say.send(said).await.unwrap();
    drop(session);
    assert_eq!(*delivery.borrow(), Delivery::Refused);
}

#[tokio::test]
async fn a_program_that_never_reads_hangs_nothing() {
    let opening = "x".repeat(1 << 20);
    let mut session = Session::of(&["--ask", "1000", "--exit", "3"]).conversation(&opening);
    session.listener.reply = 1000;
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 3 });
    assert_eq!(heard(&session, "ask").len(), 1000);
}

#[tokio::test]
async fn a_flood_of_questions_without_reading_costs_the_conversation_only() {
    // Each reply has a megabyte: soon there is no room for more, and the program reads the end of its input.
    let arguments = ["--ask", "40", "--say", "ready", "--answer-lines"];
    let mut session = Session::of(&arguments).conversation("");
    session.listener.reply = 200_000;
    assert_eq!(session.end().await, EXITED);
    assert_eq!(heard(&session, "ask").len(), 40);
    assert_eq!(session.listener.lines.last().unwrap(), "end of input");
    assert!(heard(&session, "heard").len() < 5);
}

#[tokio::test]
async fn a_program_that_closes_its_input_goes_on() {
    let arguments = ["--close-stdin", "--ask", "50", "--sleep", "200", "--ask", "5", "--exit", "4"];
    let mut session = Session::of(&arguments).conversation("hello\n");
    assert_eq!(session.end().await, ProcessEnd::Exited { code: 4 });
    assert_eq!(heard(&session, "ask").len(), 55);
}

#[tokio::test]
async fn a_conversation_that_nobody_ends_is_ended_by_the_watchdog() {
    let mut session = Session::of(&["--answer-lines"])
        .conversation("hello\n")
        .watched(|watch| watch.silence = Some(ms(300)));
    assert_eq!(session.end().await, ProcessEnd::Silent { after_ms: 300 });
    assert_eq!(session.listener.lines, ["heard hello"]);
}

#[tokio::test]
async fn a_program_that_stays_after_its_last_word_is_ended() {
    let script = "echo '{\"type\":\"result\"}'; while :; do sleep 0.05; done";
    let mut session = Session::of_program("sh", &["-c", script])
        .conversation("hello\n")
        .watched(|watch| watch.after_result = Some(ms(300)));
    assert_eq!(session.end().await, ProcessEnd::Lingered { after_ms: 300 });
}

#[tokio::test]
async fn who_can_be_asked_to_end_gets_no_signal() {
    // A signal would end it with nothing said.
    let mut session = Session::of(&["--say", "ready", "--answer-lines"])
        .conversation("")
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = Duration::from_secs(20));
    session.listener.interrupt = Some("bye");
    let ended = session.run().await;
    assert_eq!(ended.end, ProcessEnd::Stopped);
    assert_eq!(session.listener.lines, ["ready", "heard bye", "end of input"]);
    assert!(ended.duration < SLACK, "{:?}", ended.duration);
    assert_eq!(session.survivors(), Vec::<u32>::new());
}

#[tokio::test]
async fn who_does_not_listen_is_interrupted_by_the_signal() {
    let mut session = Session::of(&["--exit-on-int", "--say", "ready", "--hang"])
        .conversation("")
        .stop_when_ready(Stop::Interrupt)
        .watched(|watch| watch.grace = ms(400));
    session.listener.interrupt = Some("bye");
    let ended = session.run().await;
    assert_eq!(ended.end, ProcessEnd::Stopped);
    assert!(ended.duration >= ms(400), "already after {:?}", ended.duration);
    assert!(ended.duration < ms(400) + SLACK, "only after {:?}", ended.duration);
}

#[tokio::test]
async fn a_kill_asks_nobody() {
    let mut session = Session::of(&["--say", "ready", "--answer-lines"])
        .conversation("")
        .stop_when_ready(Stop::Kill);
    session.listener.interrupt = Some("bye");
    assert_eq!(session.end().await, ProcessEnd::Stopped);
    assert_eq!(session.listener.lines, ["ready"]);
}
