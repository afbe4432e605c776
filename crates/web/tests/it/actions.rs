//! What changes something: only a request of the page itself, with a whole action.

use ralph_core::run::Cancel;
use ralph_ui::ports::UserAction;

use crate::fake::Fake;
use crate::{FULL, serve};

const PAUSE: &str = r#"{"do":"pause"}"#;

#[test]
fn an_action_is_done_and_answered_in_a_sentence() {
    let fake = Fake::new();
    let server = serve(&fake);
    let reply = server.post(PAUSE);
    assert_eq!((reply.status, reply.json()["message"].as_str()), (200, Some("paused")));
    assert_eq!(server.post(r#"{"do":"cancel","after":"now"}"#).status, 200);
    assert_eq!(fake.done(), [UserAction::Pause, UserAction::Cancel { after: Cancel::Now }]);
    let refused = server.post(r#"{"do":"resume"}"#);
    assert_eq!(refused.status, 409);
    assert_eq!(refused.json()["error"]["hints"][0], "ralph build");
}

#[test]
fn a_bearer_needs_no_origin() {
    let fake = Fake::new();
    let server = serve(&fake);
    let bearer = format!("Authorization: Bearer {FULL}");
    let reply = server.post_with(&["Origin: -", "Cookie: -", &bearer], FULL, PAUSE);
    assert_eq!((reply.status, fake.done().len()), (200, 1));
}

#[test]
fn other_pages_and_other_forms_change_nothing() {
    let fake = Fake::new();
    let server = serve(&fake);
    let port = server.port;
    let foreign = [
        "Origin: -".to_owned(),
        "Origin: null".to_owned(),
        "Origin: http://evil.example".to_owned(),
        format!("Origin: http://localhost:{port}"),
        format!("Origin: https://127.0.0.1:{port}"),
        format!("Origin: http://127.0.0.1:{}", port - 1),
        "Host: evil.example".to_owned(),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Cookie: -".to_owned(),
    ];
    for line in &foreign {
        let reply = server.post_with(&[line], FULL, PAUSE);
        assert!(matches!(reply.status, 401 | 403), "{line}: {}", reply.status);
    }
    for kind in [
        "Content-Type: text/plain",
        "Content-Type: -",
        "Content-Type: application/x-www-form-urlencoded",
    ] {
        assert_eq!(server.post_with(&[kind], FULL, PAUSE).status, 400, "{kind}");
    }
    assert!(fake.done().is_empty());
}

#[test]
fn reading_never_changes_anything() {
    let fake = Fake::with_tasks(3);
    let server = serve(&fake);
    for path in ["/api/action", "/api/action?do=pause", "/api/tasks?do=pause", "/?do=pause"] {
        server.get(path);
    }
    let lines = [
        format!("Host: {}", server.host()),
        format!("Origin: {}", server.origin()),
        format!("Cookie: ralph_{}={FULL}", server.port),
        "Content-Type: application/json".to_owned(),
        "X-HTTP-Method-Override: POST".to_owned(),
    ];
    assert_eq!(server.send("GET /api/action", &lines, PAUSE).status, 405);
    assert!(fake.done().is_empty());
}

#[test]
fn a_body_that_is_no_action_is_refused() {
    let fake = Fake::new();
    let server = serve(&fake);
    for body in [
        "",
        "null",
        "[]",
        r#"{"do":"explode"}"#,
        r#"{"do":"cancel","after":"now","also":"x"}"#,
        r#"{"do":"skip","task":"../../etc"}"#,
        "{\"do\":\"pause\"",
        &"[".repeat(100_000),
    ] {
        let reply = server.post(body);
        assert_eq!(reply.status, 400, "{}", &body[..body.len().min(40)]);
        assert!(
            reply.json()["error"]["message"].as_str().unwrap().starts_with("this is not an action")
        );
    }
    assert!(fake.done().is_empty());
}

#[test]
fn a_huge_body_is_refused() {
    let fake = Fake::new();
    let server = serve(&fake);
    let huge = format!(r#"{{"do":"answer","question":"q-1","text":"{}"}}"#, "x".repeat(8 << 20));
    assert!(matches!(server.post(&huge).status, 413 | 0));
    assert_eq!(server.post(PAUSE).status, 200);
    assert_eq!(fake.done().len(), 1);
}
