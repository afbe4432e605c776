//! Deliveries by real programs.

use std::path::Path;
use std::sync::Mutex;

use ralph_core::TaskId;
use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::run::{Class, Fact};
use ralph_core::task::Status;
use ralph_core::view::NotificationKind;

use super::*;
use crate::clock::Stopwatch;

fn event(fact: Fact) -> RunEvent {
    let run = RunId::new("r-1").unwrap();
    RunEvent { v: RunEvent::VERSION, run, seq: 1, at: Timestamp::from_millis(0), fact }
}

fn done(title: &str) -> RunEvent {
    event(Fact::TaskSettled {
        slot: 0,
        task: TaskId::new("t-1").unwrap(),
        title: title.to_owned(),
        class: Class::Done,
        status: Status::Done,
        reason: String::new(),
        retry_count: 0,
    })
}

type Warnings = Arc<Mutex<Vec<String>>>;

/// A notifier that has heard a run begin, with these shell commands as its channels.
fn notifier(folder: &Path, commands: &[&str]) -> (Notifier, Warnings) {
    let warnings = Warnings::default();
    let reported = Arc::clone(&warnings);
    let warn = Box::new(move |text: &str| reported.lock().unwrap().push(text.to_owned()));
    let channels = commands.iter().map(|one| Channel::Command((*one).to_owned())).collect();
    let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    let place = ChannelContext {
        root: folder.to_owned(),
        folder: folder.to_owned(),
        environment: vec![path],
    };
    let rules = NotificationRules::new(NotificationKind::ALL, "shop");
    let mut notifier = Notifier::start(rules, channels, place, warn);
    notifier.event(&event(Fact::RunStarted {
        policy: Box::default(),
        ralph: String::new(),
        agent: String::new(),
        agent_ids: vec![],
        target: String::new(),
        gates: vec![],
        level: String::new(),
        head: None,
        branch: None,
        settled_tree: String::new(),
        resumed: None,
        earlier: Default::default(),
    }));
    (notifier, warnings)
}

#[test]
fn messages_arrive_in_order_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut notifier, warnings) =
        notifier(folder.path(), &["cat >> json; echo >> json; echo \"$RALPH_TEXT\" >> texts"]);
    notifier.event(&done("one; touch evil"));
    notifier.event(&done("$(touch evil)"));
    notifier.finish();
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("texts"), "one; touch evil\n$(touch evil)\n");
    assert_eq!(read("json").lines().count(), 2);
    assert!(!folder.path().join("evil").exists());
    assert_eq!(*warnings.lock().unwrap(), [""; 0]);
}

#[test]
fn a_channel_that_fails_is_reported_once_and_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let commands = ["echo no bus >&2; exit 3", "echo x >> texts"];
    let (mut notifier, warnings) = notifier(folder.path(), &commands);
    for _ in 0..3 {
        notifier.event(&done("T"));
    }
    notifier.finish();
    assert_eq!(
        *warnings.lock().unwrap(),
        ["notifications through notify.command failed: it exited with code 3: no bus"]
    );
    let texts = std::fs::read_to_string(folder.path().join("texts")).unwrap();
    assert_eq!(texts.lines().count(), 3);
}

#[test]
fn a_channel_that_hangs_has_five_seconds_at_the_end_and_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let commands = ["trap '' TERM; echo x >> begun; sleep 60; echo x >> ended", "echo x >> texts"];
    let (mut notifier, warnings) = notifier(folder.path(), &commands);
    let clock = Stopwatch::start();
    for n in 0..100 {
        notifier.event(&done(&format!("T{n}")));
    }
    // The program would take a minute.
    assert!(clock.elapsed() < Duration::from_secs(15), "events were waited for");
    let end = Stopwatch::start();
    notifier.finish();
    assert!(clock.elapsed() >= AFTER, "it had no time");
    assert!(end.elapsed() < Duration::from_secs(20), "it had {:?}", end.elapsed());
    let lines = |name| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        text.lines().count()
    };
    assert_eq!((lines("begun"), lines("ended")), (1, 0));
    // Of a hundred at once those that fit in the queue arrive, and no more are lost.
    assert!(lines("texts") >= 16, "{}", lines("texts"));
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("it was still running when the run ended"), "{warnings:?}");
}

#[test]
fn of_too_many_messages_the_oldest_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let command = "until test -e go; do sleep 0.02; done; echo \"$RALPH_TEXT\" >> texts";
    let (mut notifier, _) = notifier(folder.path(), &[command]);
    for n in 0..100 {
        notifier.event(&done(&format!("T{n}")));
    }
    std::fs::write(folder.path().join("go"), "").unwrap();
    notifier.finish();
    let texts = std::fs::read_to_string(folder.path().join("texts")).unwrap();
    let texts: Vec<&str> = texts.lines().collect();
    // The first may have been on its way already.
    assert!((16..=18).contains(&texts.len()), "{texts:?}");
    let newest: Vec<String> = (84..100).map(|n| format!("T{n}")).collect();
    assert_eq!(texts[texts.len() - 16..], newest);
}
