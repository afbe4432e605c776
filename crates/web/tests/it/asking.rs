//! Who gets answers, and what every answer has.

use ralph_web::Access;

use crate::fake::Fake;
use crate::{FULL, LOOK, serve, serve_as};

const PATHS: [&str; 13] = [
    "/",
    "/style.css",
    "/app.js",
    "/icon.svg",
    "/api/session",
    "/api/status",
    "/api/live",
    "/api/tasks",
    "/api/tasks/t-0",
    "/api/graph",
    "/api/runs",
    "/api/runs/r-1",
    "/api/report",
];

#[test]
fn nothing_is_served_without_the_token() {
    let server = serve(&Fake::with_tasks(3));
    for path in PATHS.into_iter().chain(["/api/nothing", "/api/tasks/t-0/diff", "/js/data.js"]) {
        let host = format!("Host: {}", server.host());
        let cases = [
            vec![host.clone()],
            vec![host.clone(), format!("Cookie: ralph_{}={}", server.port, &FULL[1..])],
            vec![host.clone(), format!("Cookie: ralph_1={FULL}")],
            vec![host.clone(), "Authorization: Bearer wrong".to_owned()],
            vec![host, "Authorization: Bearer".to_owned()],
        ];
        for lines in cases {
            let reply = server.send(&format!("GET {path}"), &lines, "");
            assert_eq!(reply.status, 401, "{path} {lines:?}");
            assert!(!reply.body.contains("Task number"), "{path}");
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    }
}

#[test]
fn the_link_becomes_a_cookie_that_scripts_cannot_read() {
    let server = serve(&Fake::new());
    let host = [format!("Host: {}", server.host())];
    let reply = server.send(&format!("GET /?token={FULL}"), &host, "");
    assert_eq!((reply.status, reply.header("location")), (303, Some("/")));
    let cookie = format!("ralph_{}={FULL}; httponly; samesite=strict; path=/", server.port);
    assert_eq!(reply.header("set-cookie"), Some(cookie.as_str()));
    let wrong = server.send("GET /?token=wrong", &host, "");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    assert!(wrong.body.contains("the link that ralph printed"));
    assert_eq!(server.send("GET /?token=", &host, "").status, 401);
}

#[test]
fn every_answer_has_the_headers_that_protect_it() {
    let fake = Fake::with_tasks(3);
    fake.say("Hello");
    let server = serve(&fake);
    for path in PATHS.iter().filter(|path| **path != "/api/live") {
        let reply = server.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-frame-options", "deny"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path}");
        }
        assert!(!reply.headers.contains("access-control-"), "{path}");
    }
}

#[test]
fn a_foreign_name_of_the_host_is_refused() {
    let server = serve(&Fake::new());
    let cookie = format!("Cookie: ralph_{}={FULL}", server.port);
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.1.1", ""] {
        let lines = [format!("Host: {host}"), cookie.clone()];
        for path in ["GET /", "GET /api/status", &format!("GET /?token={FULL}")] {
            let reply = server.send(path, &lines, "");
            assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{host} {path}");
        }
    }
    for host in ["localhost", "localhost:1", "[::1]:9"] {
        let lines = [format!("Host: {host}"), cookie.clone()];
        assert_eq!(server.send("GET /api/status", &lines, "").status, 200, "{host}");
    }
}

#[test]
fn another_page_in_the_same_browser_gets_nothing() {
    let server = serve(&Fake::new());
    let lines = |site: &str| {
        let cookie = format!("Cookie: ralph_{}={FULL}", server.port);
        [format!("Host: {}", server.host()), cookie, format!("Sec-Fetch-Site: {site}")]
    };
    for path in ["/api/status", "/app.js", "/api/tasks"] {
        for site in ["cross-site", "same-site"] {
            assert_eq!(server.send(&format!("GET {path}"), &lines(site), "").status, 403, "{path}");
        }
        assert_eq!(server.send(&format!("GET {path}"), &lines("same-origin"), "").status, 200);
    }
}

#[test]
fn other_methods_are_refused_and_head_has_no_body() {
    let server = serve(&Fake::new());
    let cookie = format!("Cookie: ralph_{}={FULL}", server.port);
    let lines =
        [format!("Host: {}", server.host()), format!("Origin: {}", server.origin()), cookie];
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
        for path in ["/", "/api/action", "/api/tasks/t-0"] {
            let reply = server.send(&format!("{method} {path}"), &lines, "");
            assert!(matches!(reply.status, 400 | 405), "{method} {path}: {}", reply.status);
        }
    }
    for path in ["/", "/api/status", "/api/live", "/api/tasks"] {
        let reply = server.send(&format!("HEAD {path}"), &lines, "");
        assert_eq!((reply.status, reply.body.as_str()), (200, ""), "{path}");
    }
}

#[test]
fn a_read_only_link_shows_everything_and_changes_nothing() {
    let fake = Fake::with_tasks(3);
    let server = serve(&fake);
    assert_eq!(server.get_as("/api/session", LOOK).json()["read_only"], true);
    assert_eq!(server.get("/api/session").json()["read_only"], false);
    assert_eq!(server.get_as("/api/tasks", LOOK).json()["total"], 3);
    let reply = server.post_with(&[], LOOK, r#"{"do":"pause"}"#);
    assert_eq!(reply.status, 403);
    assert_eq!(reply.json()["error"]["message"], "this link is read-only");
    let only = serve_as(&fake, Access { full: None, read_only: LOOK.to_owned() });
    assert_eq!(only.get_as("/api/status", LOOK).status, 200);
    assert_eq!(only.get("/api/status").status, 401);
    assert_eq!(only.post_with(&[], LOOK, r#"{"do":"pause"}"#).status, 403);
    assert!(fake.done().is_empty());
}

#[test]
fn answers_are_those_of_the_commands() {
    let fake = Fake::with_tasks(3);
    let server = serve(&fake);
    let session = server.get("/api/session").json();
    assert_eq!(
        (session["repository"].as_str(), session["name"].as_str()),
        (Some("/home/me/shop"), Some("shop"))
    );
    assert_eq!(server.get("/api/status").json()["next"][0], "ralph build");
    assert_eq!(server.get("/api/tasks/t-1").json()["title"], "Task number 1");
    assert_eq!(server.get("/api/runs").json(), serde_json::json!([]));
    assert_eq!(server.get("/api/report").json()["attempts"], serde_json::json!([]));
    for (path, why) in [
        ("/api/tasks/t-9", "there is no task t-9"),
        ("/api/tasks/..%2f..%2fetc", "there is no such task"),
        ("/api/tasks/t-1/diff", "t-1 has no work yet"),
        ("/api/runs/r-9", "there is no such run"),
        ("/api/nothing", "there is no such page"),
        ("/js/../../Cargo.toml", "there is no such page"),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.json()["error"]["message"], why);
    }
    for path in [
        "/api/tasks?sort=size",
        "/api/tasks?limit=x",
        "/api/graph?around=%20",
        "/api/tasks?status=opne",
    ] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
}
