//! The page in a real browser, in front of a real run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use ralph_testkit::{TestEnv, send_signal, skip};
use ralph_web::frozen::{Scope, document, gather};

use crate::looping::{
    PATIENCE, again, build, cassette, project, runs, say, session, sh, start, wait_for, works,
    write,
};

/// Work waits for approval, each task in a worktree of its own.
const WAITS: &[&str] = &["--set", "completion.approve=always", "--set", "loop.works_in=worktree"];

/// The day of which every display has a snapshot.
#[path = "../../../web/tests/it/recorded.rs"]
mod recorded;

/// The views of which users read the recorded day.
const VIEWS: [&str; 9] = [
    "#/",
    "#/plan",
    "#/plan?view=graph",
    "#/task/t-2kq7m3ab",
    "#/task/t-7hq2mz4a",
    "#/task/t-m4xw6tfe",
    "#/runs",
    "#/run/r-4qz7k2ma",
    "#/cost",
];

/// A server of the page, until it is dropped.
struct Page {
    child: Child,
    link: String,
    read_only: String,
}

impl Page {
    fn open(env: &TestEnv, arguments: &[&str]) -> Self {
        let mut child = env.start(arguments);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let link = lines.next().unwrap().unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
        let note = notes.next().unwrap().unwrap();
        let read_only = note.split(' ').next_back().unwrap().to_owned();
        Self { child, link, read_only }
    }

    /// The status and the body of an answer.
    fn get(&self, path: &str) -> (u16, String) {
        get(self.port(), path, self.token())
    }

    fn port(&self) -> u16 {
        self.link.split([':', '/']).find_map(|part| part.parse().ok()).unwrap()
    }

    fn token(&self) -> &str {
        self.link.split("token=").nth(1).unwrap()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(port: u16, path: &str, token: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// The folder with the packages and the browser. `None`, with a printed warning, where there is none.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/install-browser");
    let output = Command::new(tool).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        skip(&format!(
            "the page in a browser: {}",
            text(&output.stderr).lines().next().unwrap_or_default()
        ));
        return None;
    }
    let lines = text(&output.stdout);
    let (modules, browser) = lines.trim_end().split_once('\n').unwrap();
    Some((modules.into(), browser.into()))
}

/// A session that says hostile things, then more once the browser has seen them, and never ends.
fn hostile(notes: &Path) -> String {
    let hostile = "Here I am <img src=x onerror=\"window.hacked=1\"> <script>window.hacked=1</script> \u{1b}[31mred\u{1b}]0;title\u{7} [link](javascript:window.hacked=1)";
    session(&[
        say(hostile),
        write("c.txt", "<img src=x onerror=\"window.hacked=1\">\n"),
        sh(&format!(
            "cd {} && touch reached && until test -e go; do sleep 0.02; done; date +%s.%N > new; mv new said",
            notes.display()
        )),
        say("SECOND words"),
        r#"{"do":"hang"}"#.to_owned(),
    ])
}

#[test]
fn a_browser_shows_the_run_and_controls_it() {
    let Some((modules, browser)) = browser() else { return };
    let mut env = project(&["a", "b"]);
    env.without_sandbox("the agent writes the time into a note beside the repository");
    env.task(&["add", "Long <img src=x onerror=\"window.hacked=1\"> session", "--id", "c"]);
    let sessions =
        [&say("<question>Which port?</question>"), &works(), &hostile(&env.folder().join("notes"))];
    let run = start(&env, &sessions.map(String::as_str), WAITS);
    wait_for(&env, "reached");
    let page = Page::open(&env, &["serve"]);
    let screens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screens");
    let name = runs(&env).pop().unwrap();
    let journal = std::fs::read_to_string(name.join("events.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let driven = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/page.mjs"))
        .env("LINK", &page.link)
        .env("LOOK", &page.read_only)
        .env("BROWSER", browser)
        .env("MODULES", modules)
        .env("SCREENS", &screens)
        .env("NOTES", env.folder().join("notes"))
        .env("RUN", first["run"].as_str().unwrap())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let shown = format!("{}{}", text(&driven.stdout), text(&driven.stderr));
    if !driven.status.success() {
        send_signal("KILL", run.id());
    }
    let ended = ralph_testkit::Ran::end_of(run);
    assert!(driven.status.success(), "{shown}\n{}", ended.stderr);
    assert_eq!(ended.code, 130, "{shown}\n{}", ended.stderr);
    // What was answered and approved goes on, with the next run.
    env.task(&["delete", "c"]);
    cassette(&env, &[&works(), &works()]);
    again(&env, &["--new", "--set", "loop.works_in=worktree"]).success();
    for task in ["a", "b"] {
        assert_eq!(env.json(&["task", "show", task])["status"], "done", "{task}");
    }
}

#[test]
fn the_link_is_all_that_the_page_needs() {
    let env = project(&["a"]);
    let page = Page::open(&env, &["serve"]);
    assert!(page.link.starts_with(&format!("http://127.0.0.1:{}/?token=", page.port())));
    assert_eq!(page.token().len(), 32);
    let (status, body) = page.get("/api/status");
    let shown: serde_json::Value = serde_json::from_str(&body).unwrap();
    let mut printed = env.json(&["status"]);
    assert_eq!(status, 200);
    for key in ["counts", "next", "state", "run"] {
        assert_eq!(shown[key], printed[key].take(), "{key}");
    }
    let look = page.read_only.split("token=").nth(1).unwrap();
    assert_ne!(look, page.token());
    assert!(get(page.port(), "/api/session", look).1.contains("\"read_only\":true"));
    assert_eq!(get(page.port(), "/api/session", "wrong").0, 401);
    // A second one has its own port and its own token.
    let other = Page::open(&env, &["serve", "--read-only"]);
    assert_ne!(other.port(), page.port());
    assert!(other.get("/api/session").1.contains("\"read_only\":true"));
    assert_eq!(get(other.port(), "/api/session", page.token()).0, 401);
}

#[test]
fn ctrl_c_ends_the_server() {
    let env = project(&["a"]);
    let mut page = Page::open(&env, &["serve"]);
    assert_eq!(page.get("/api/session").0, 200);
    send_signal("INT", page.child.id());
    assert_eq!(page.child.wait().unwrap().code(), Some(0));
}

#[test]
fn other_machines_need_a_token_that_you_chose() {
    let mut env = project(&["a"]);
    let refused = env.ralph(&["serve", "--listen", "0.0.0.0"]).failure(64);
    assert!(refused.contains("--token-file FILE") && refused.contains("ssh -L"), "{refused}");
    let token = |path: &Path, text: &str, mode: u32| {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = "0123456789abcdef";
    let outside = env.folder().join("token");
    for (file, why) in [
        (
            token(&env.repo().join("token"), good, 0o600),
            "is in the repository, where agents can read it",
        ),
        (token(&outside, good, 0o644), "other users can read"),
        (token(&env.folder().join("short"), "0123456789", 0o600), "needs at least 16 letters"),
    ] {
        let refused = env.ralph(&["serve", "--token-file", &file]).failure(1);
        assert!(refused.contains(why), "{refused}");
    }
    let file = token(&outside, good, 0o600);
    let page = Page::open(&env, &["serve", "--listen", "0.0.0.0", "--token-file", &file]);
    assert_eq!(page.token(), "YOUR-TOKEN");
    assert_eq!(get(page.port(), "/api/status", good).0, 200);
    drop(page);
    env.set("RALPH_SERVE_TOKEN", "another-token-of-mine");
    let page = Page::open(&env, &["serve"]);
    assert_eq!(get(page.port(), "/api/status", "another-token-of-mine").0, 200);
}

#[test]
fn a_port_in_use_is_an_error_with_another_port() {
    let env = project(&["a"]);
    let page = Page::open(&env, &["serve"]);
    let port = page.port().to_string();
    let refused = env.ralph(&["serve", "--port", &port]).failure(1);
    assert!(refused.contains(&format!("port {port} of 127.0.0.1 is in use")), "{refused}");
    assert!(refused.contains("ralph serve --port"), "{refused}");
}

#[test]
fn a_run_with_a_page_ends_by_itself_and_goes_on_without_one() {
    let mut env = project(&["a"]);
    let notes = env.folder().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    env.without_sandbox("the agent waits for a note beside the repository");
    let waits = sh(&format!(
        "cd {} && touch reached && until test -e go; do sleep 0.02; done",
        notes.display()
    ));
    // The link is what the flag is for: `-q` prints it, too.
    let run = start(&env, &[&session(&[waits, works()])], &["--serve", "-q"]);
    wait_for(&env, "reached");
    let mut run = run;
    let mut line = String::new();
    let mut messages = BufReader::new(run.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    let link = line.trim_end().strip_prefix("page: ").unwrap_or_else(|| panic!("{line}"));
    let port = link.split([':', '/']).find_map(|part| part.parse().ok()).unwrap();
    let token = link.split("token=").nth(1).unwrap();
    assert!(get(port, "/api/status", token).1.contains("\"state\":\"running\""));
    std::fs::write(notes.join("go"), "").unwrap();
    let mut rest = String::new();
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0), "{rest}");
    env.task(&["add", "b", "--id", "b"]);
    env.set("RALPH_SERVE_TOKEN", "short");
    let ran = build(&env, &[&works()], &["--serve"]);
    assert_eq!((ran.code, ran.stderr.matches("no page:").count()), (0, 1), "{}", ran.stderr);
    for command in ["plan", "loop", "run"] {
        let ran = env.ralph(&[command, "--serve"]);
        assert_eq!(ran.stderr.matches("no page:").count(), 1, "{command}: {}", ran.stderr);
    }
}

#[test]
fn a_session_cannot_serve() {
    let mut env = project(&["a"]);
    env.set("RALPH_SOCKET", "/nowhere");
    assert!(env.ralph(&["serve"]).stderr.contains("a session cannot use this command"));
}

#[test]
fn a_report_opens_from_its_file_and_asks_nobody() {
    let Some((modules, browser)) = browser() else { return };
    let env = project(&["a"]);
    env.task(&["add", "Long <img src=x onerror=\"window.hacked=1\"></script>", "--id", "b"]);
    build(&env, &[&works()], &["--once"]).success();
    env.ralph(&["report", "--html"]).success();
    let runs: serde_json::Value = ralph_testkit::data(&env.ralph(&["runs", "--json"]).success());
    let driven = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/frozen.mjs"))
        .env("FILE", env.repo().join("ralph-report.html"))
        .env("BROWSER", browser)
        .env("MODULES", modules)
        .env("RUN", runs[0]["run"].as_str().unwrap())
        .output()
        .unwrap();
    assert!(driven.status.success(), "{}", String::from_utf8_lossy(&driven.stderr));
}

#[test]
fn users_read_of_a_recorded_day_what_the_snapshot_says() {
    let Some((modules, browser)) = browser() else { return };
    let env = project(&[]);
    let file = env.folder().join("recorded.html");
    let data = gather(&recorded::Recorded::new(), &Scope::default()).unwrap();
    std::fs::write(&file, document(&data)).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web");
    let driven = Command::new("node")
        .arg(tests.join("recorded.mjs"))
        .env("FILE", file)
        .env("BROWSER", browser)
        .env("MODULES", modules)
        .env("VIEWS", VIEWS.join(" "))
        .output()
        .unwrap();
    assert!(driven.status.success(), "{}", String::from_utf8_lossy(&driven.stderr));
    let (shown, snapshot) = (String::from_utf8(driven.stdout).unwrap(), tests.join("recorded.txt"));
    if std::env::var_os("RALPH_BLESS").is_some() {
        std::fs::write(&snapshot, &shown).unwrap();
    }
    let known = std::fs::read_to_string(&snapshot).unwrap_or_default();
    let mut lines = known.lines().zip(shown.lines()).zip(1..);
    let first = lines.find(|((known, shown), _)| known != shown);
    assert!(
        known == shown,
        "the page says something else than tests/web/recorded.txt: {first:?}\n\
         run: RALPH_BLESS=1 cargo test -p ralph --test it recorded_day\n{shown}"
    );
}
