//! What viewers see as it happens.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ralph_core::view::stream::Observed;

use crate::fake::{Fake, task};
use crate::serve;

#[test]
fn a_viewer_sees_the_runs_then_every_change() {
    let fake = Fake::new();
    fake.tell(Observed::Joined { name: "login".to_owned() });
    fake.say("Hel");
    let server = serve(&fake);
    let mut viewer = server.watch();
    let (name, view) = viewer.next().unwrap();
    assert_eq!((name.as_str(), view["runs"][0]["name"].as_str()), ("view", Some("login")));
    assert_eq!(view["runs"][0]["ended"], false);
    assert!(view["runs"][0]["view"]["counts"].is_object());
    let said = viewer.find("said", |_| true);
    assert_eq!((&said["from"], &said["entries"][0]["text"]), (&0.into(), &"Hel".into()));
    fake.say("lo");
    let said = viewer.find("said", |_| true);
    assert_eq!((&said["from"], &said["entries"][0]["text"]), (&0.into(), &"Hello".into()));
    fake.tell(Observed::Left);
    viewer.find("view", |view| view["runs"][0]["left"] == true);
}

#[test]
fn text_is_there_within_a_moment() {
    let fake = Fake::new();
    let server = serve(&fake);
    let mut viewer = server.watch();
    viewer.find("view", |_| true);
    let began = tokio::time::Instant::now();
    fake.say("now");
    viewer.find("said", |said| said["entries"][0]["text"] == "now");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn the_first_viewer_sees_something_within_a_second_while_an_agent_prints_all_the_time() {
    let fake = Fake::new();
    let agent = fake.clone();
    std::thread::spawn(move || {
        for _ in 0..1_000 {
            agent.say("more ");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    });
    let server = serve(&fake);
    let began = tokio::time::Instant::now();
    server.watch().find("said", |_| true);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn a_run_that_joins_again_starts_over_for_every_viewer() {
    let fake = Fake::new();
    let joins = || fake.tell(Observed::Joined { name: "login".to_owned() });
    joins();
    fake.say("Hello");
    let server = serve(&fake);
    let mut viewer = server.watch();
    viewer.find("said", |said| said["entries"][0]["text"] == "Hello");
    joins();
    fake.say("World");
    let said = viewer.find("said", |said| said["entries"][0]["text"] == "World");
    assert_eq!((&said["from"], said["entries"].as_array().unwrap().len()), (&0.into(), 1));
    let said = server.watch().find("said", |_| true);
    assert_eq!(said["entries"][0]["text"], "World");
    joins();
    let said = viewer.find("said", |_| true);
    assert_eq!((&said["from"], said["entries"].as_array().unwrap().len()), (&0.into(), 0));
}

#[test]
fn a_changed_plan_is_announced_and_read_once() {
    let fake = Fake::with_tasks(2);
    let server = serve(&fake);
    assert_eq!(server.get("/api/tasks").json()["total"], 2);
    let mut viewer = server.watch();
    viewer.find("view", |_| true);
    fake.tasks.lock().unwrap().push(task(2, "One more"));
    fake.version.store(9, Ordering::Relaxed);
    assert_eq!(viewer.find("plan", |_| true)["version"], 9);
    let list = server.get("/api/tasks").json();
    assert_eq!((&list["version"], &list["total"]), (&9.into(), &3.into()));
    assert_eq!(fake.reads.load(Ordering::Relaxed), 2);
}

#[test]
fn a_run_that_has_ended_is_shown_as_it_was() {
    let fake = Fake::new();
    fake.say("then");
    let server = serve(&fake);
    let run = server.get("/api/runs/r-1").json();
    assert_eq!(run["transcripts"][0]["entries"][0]["text"], "then");
    assert!(run["view"]["slots"].is_array());
}

#[test]
fn hostile_text_comes_as_json() {
    let fake = Fake::new();
    let text = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\u{1b}[2J\u{1b}]0;x\u{7}\r\n\r\nevent: view\ndata: {}\n\n\0\u{202e}";
    fake.say(text);
    let server = serve(&fake);
    let mut viewer = server.watch();
    let said = viewer.find("said", |_| true);
    assert_eq!(said["entries"][0]["text"], text);
    fake.tasks.lock().unwrap().push(task(0, "<img src=x onerror=alert(1)>"));
    let reply = server.get("/api/tasks");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json()["tasks"][0]["title"], "<img src=x onerror=alert(1)>");
    let reply = server.get("/api/tasks?sort=%3Cscript%3E");
    assert_eq!((reply.status, reply.header("content-type")), (400, Some("application/json")));
}
