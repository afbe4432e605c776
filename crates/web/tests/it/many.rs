//! Large plans, long runs and many viewers.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::time::Timestamp;
use ralph_core::view::stream::Observed;
use tokio::time::Instant;

use crate::fake::Fake;
use crate::serve;

/// Without optimization, and beside other tests.
const SLACK: u32 = 10;

#[test]
fn the_first_page_of_a_hundred_thousand_tasks_comes_quickly() {
    let server = serve(&Fake::with_tasks(100_000));
    let first = server.get("/api/tasks?limit=100").json();
    assert_eq!((&first["total"], first["tasks"].as_array().unwrap().len()), (&100_000.into(), 100));
    for path in [
        "/api/tasks?limit=100",
        "/api/tasks?sort=priority&offset=50000",
        "/api/tasks?q=number%2099999",
        "/api/tasks?status=open&sort=status",
    ] {
        let began = Instant::now();
        let reply = server.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(
            began.elapsed() < SLACK * Duration::from_millis(300),
            "{path}: {:?}",
            began.elapsed()
        );
    }
    assert_eq!(server.get("/api/tasks?q=number%2099999").json()["tasks"][0]["id"], "t-99999");
    assert_eq!(
        server.get("/api/tasks?limit=1000000").json()["tasks"].as_array().unwrap().len(),
        1_000
    );
    let graph = server.get("/api/graph").json();
    assert_eq!((&graph["shown"], &graph["total"]), (&300.into(), &100_000.into()));
    assert_eq!(graph["critical"].as_array().unwrap().len(), 100_000);
}

#[test]
fn ten_thousand_events_become_a_few_changes() {
    let fake = Fake::new();
    let server = serve(&fake);
    let mut viewer = server.watch();
    viewer.find("view", |_| true);
    for number in 0..10_000 {
        let (id, name, input) = (number.to_string(), "Run".to_owned(), number.to_string());
        let event = AgentEvent::ToolStarted { id, name, input };
        fake.tell(Observed::Agent { slot: 0, at: Timestamp::from_millis(5), event });
    }
    let (mut parts, mut next) = (0, 0);
    while next < 10_000 {
        let said = viewer.find("said", |_| true);
        let entries = said["entries"].as_array().unwrap();
        assert!(said["from"].as_u64().unwrap() >= next, "nothing comes twice");
        next = said["from"].as_u64().unwrap() + entries.len() as u64;
        parts += 1;
    }
    assert!(parts < 100, "{parts}");
}

#[test]
fn a_slow_viewer_holds_up_none_of_a_hundred() {
    let fake = Fake::new();
    let server = serve(&fake);
    let mut viewers: Vec<_> = (0..100).map(|_| server.watch()).collect();
    for viewer in &mut viewers {
        viewer.find("view", |_| true);
    }
    // One of them reads nothing from now on, while much more happens than any buffer takes.
    let mut slow = viewers.pop().unwrap();
    for round in 0..20 {
        fake.say(&format!("{round} {}\n", "x".repeat(30_000)));
        let mark = |said: &serde_json::Value| {
            let last = said["entries"].as_array().unwrap().last().unwrap();
            last["text"].as_str().unwrap().contains(&format!("{round} xxx"))
        };
        let began = Instant::now();
        for viewer in &mut viewers {
            viewer.find("said", mark);
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{round}: {:?}", began.elapsed());
    }
    // It catches up with what is kept.
    slow.find("said", |said| {
        let entries = said["entries"].as_array().unwrap();
        entries.last().unwrap()["text"].as_str().unwrap().contains("19 xxx")
    });
}

#[test]
fn what_all_viewers_ask_for_is_read_once() {
    let fake = Fake::new();
    let server = serve(&fake);
    let ask = || std::thread::spawn(move || server.get("/api/status").status);
    let asked: Vec<_> = (0..50).map(|_| ask()).collect();
    assert!(asked.into_iter().all(|asked| asked.join().unwrap() == 200));
    assert!(fake.pages.load(Ordering::Relaxed) < 10, "{:?}", fake.pages);
}

#[test]
fn viewers_that_leave_are_forgotten() {
    let fake = Fake::new();
    let server = serve(&fake);
    // More than there may be at a time.
    for _ in 0..3 {
        let mut viewers: Vec<_> = (0..90).map(|_| server.watch()).collect();
        let (name, _) = viewers[89].next().unwrap();
        assert_eq!(name, "view");
        let mut byte = [0];
        viewers[0].0.read_exact(&mut byte).unwrap();
    }
    assert_eq!(server.get("/api/status").status, 200);
}
