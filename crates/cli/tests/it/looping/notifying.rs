//! Messages about a run to somebody who is not looking.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Instant;

use super::*;

/// Where a program of this machine lies.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A project with a PATH on which nothing can notify, and this in the user's own settings.
fn quiet(tasks: &[&str], settings: &str) -> TestEnv {
    let mut env = project(tasks);
    let tools = env.note("").join("tools");
    std::fs::create_dir(&tools).unwrap();
    for tool in ["git", "sh", "cat", "sleep", "touch"] {
        symlink(program(tool).unwrap(), tools.join(tool)).unwrap();
    }
    env.set("PATH", tools.to_str().unwrap());
    let folder = env.home().join(".config/ralph");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), format!("[notify]\n{settings}\n")).unwrap();
    env
}

/// Puts a program on the PATH that writes down its arguments, and then runs this shell script.
fn notifier(env: &TestEnv, name: &str, script: &str) {
    // Written by another process, see `doctor`.
    let write = r#"printf '#!/bin/sh\nhere=%s\n%s\n%s\n' "$1" "$2" "$3" > "$4" && chmod 755 "$4""#;
    let note = format!("(for word; do printf '%s|' \"$word\"; done; echo) >> $here/{name}.args");
    let mut command = Command::new("sh");
    command.args(["-c", write, "sh"]).arg(env.note("")).args([&note, script]);
    assert!(command.arg(env.note("").join("tools").join(name)).status().unwrap().success());
}

/// What a file of the folder around the repository says, line by line.
fn lines(env: &TestEnv, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(env.note("").join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn done_failed_and_the_end_appear_on_the_desktop() {
    let env = quiet(&["a", "b"], "desktop = true");
    notifier(&env, "notify-send", "");
    let gives_up = only_says("<task-failed>{id}</task-failed><reason>no <b>key</b>\n-x</reason>");
    let ran = build(&env, &[&works(), &gives_up], &[]);
    assert!(!ran.stderr.contains("warning:"), "{}", ran.stderr);
    assert_eq!(
        lines(&env, "notify-send.args"),
        [
            "--app-name=ralph|--|Task done: a|a|",
            "--app-name=ralph|--|Task failed: b|b: no &lt;b&gt;key&lt;/b&gt; -x|",
            "--app-name=ralph|--|Run ended in repo|Finished: 1 done, 1 failed (see: ralph task show b)|",
        ]
    );
}

#[test]
fn only_the_events_of_the_settings_are_reported() {
    let env = quiet(&["a"], "desktop = true\non = [\"question\"]");
    notifier(&env, "notify-send", "");
    let asks = only_says("<question>Which of both?</question>");
    build(&env, &[&asks], &[]);
    let text = lines(&env, "notify-send.args");
    assert_eq!(text.len(), 1, "{text:?}");
    assert!(text[0].starts_with("--app-name=ralph|--|Question q-"), "{text:?}");
    assert!(text[0].ends_with(" about a|Which of both?|"), "{text:?}");
}

#[test]
fn a_limit_is_reported_while_the_run_waits() {
    let env = quiet(&["a"], "desktop = true");
    notifier(&env, "notify-send", "");
    let running = start(&env, &["{\"do\":\"limit\",\"reset_in\":\"1h\"}"], &[]);
    wait_until("the message", PATIENCE, || !lines(&env, "notify-send.args").is_empty());
    env.ralph(&["cancel"]).success();
    assert_eq!(Ran::end_of(running).code, 130);
    let text = lines(&env, "notify-send.args");
    assert!(
        text[0].contains("|Run waiting in repo|usage limit; ralph tries again in "),
        "{text:?}"
    );
    assert!(text[1].ends_with("|Run ended in repo|Stopped: cancelled.|"), "{text:?}");
}

#[test]
fn s1_29_a_voice_says_what_became_of_a_task() {
    let env = quiet(&["a"], "sound = true\non = [\"done\"]");
    notifier(&env, "espeak-ng", "");
    build(&env, &[&works()], &[]).success();
    assert_eq!(lines(&env, "espeak-ng.args"), ["--|Task done: a|"]);
    // The better one is taken where it is there.
    notifier(&env, "spd-say", "");
    env.task(&["add", "b", "--id", "b"]);
    build(&env, &[&works()], &[]).success();
    assert_eq!(lines(&env, "spd-say.args"), ["--wait|--|Task done: b|"]);
    assert_eq!(lines(&env, "espeak-ng.args").len(), 1);
}

#[test]
fn a_command_gets_the_facts_as_variables_and_as_json() {
    let command = "cat >> ../notes/json; echo >> ../notes/json; \
                   echo \\\"$RALPH_EVENT|$RALPH_TASK_ID|$RALPH_TITLE|$RALPH_TEXT|$RALPH_REPO\\\" >> ../notes/told";
    let env = quiet(&[], &format!("command = \"{command}\""));
    env.task(&["add", "Run $(touch ../notes/evil) `touch ../notes/evil`", "--id", "a"]);
    build(&env, &[&works()], &[]).success();
    let title = "Run $(touch ../notes/evil) `touch ../notes/evil`";
    assert_eq!(lines(&env, "told")[0], format!("done|a|Task done: a|{title}|repo"));
    assert!(lines(&env, "told")[1].starts_with("end||Run ended in repo|The task is done."));
    assert!(!env.note("").join("evil").exists());
    let json: Value = serde_json::from_str(&lines(&env, "json")[0]).unwrap();
    let run = &journal(&env)[0]["run"];
    let expected = serde_json::json!({
        "event": "done", "run": run, "task": "a", "title": "Task done: a", "text": title,
        "repo": "repo",
    });
    assert_eq!(json, expected);
}

#[test]
fn a_webhook_is_posted_to_by_curl_and_its_address_is_no_argument() {
    let env = quiet(&["a"], "webhook = \"https://hooks.example.org/secret\"\non = [\"end\"]");
    notifier(&env, "curl", "cat >> $here/curl.in");
    build(&env, &[&works()], &[]).success();
    assert_eq!(lines(&env, "curl.args"), ["--config|-|"]);
    let given = lines(&env, "curl.in");
    assert!(given.contains(&"url = \"https://hooks.example.org/secret\"".to_owned()), "{given:?}");
    assert!(given.iter().any(|line| line.starts_with("data-raw = \"{\\\"event\\\":\\\"end\\\"")));
}

#[test]
fn the_real_curl_posts_the_json() {
    let Some(curl) = program("curl") else {
        ralph_testkit::skip("posting by the real curl: there is none here");
        return;
    };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", server.local_addr().unwrap());
    let env = quiet(&[], &format!("webhook = \"{url}\"\non = [\"done\"]"));
    symlink(curl, env.note("").join("tools/curl")).unwrap();
    let title = "Say \"hi\" \\ 100 % {a,b} [1-3] ü";
    env.task(&["add", title, "--id", "a"]);
    let heard = std::thread::spawn(move || {
        let (mut caller, _) = server.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"}") {
            let read = caller.read(&mut buffer).unwrap();
            assert!(read > 0, "it ended early: {}", String::from_utf8_lossy(&request));
            request.extend_from_slice(&buffer[..read]);
        }
        caller.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
        String::from_utf8(request).unwrap()
    });
    let ran = build(&env, &[&works()], &[]);
    assert!(!ran.stderr.contains("warning:"), "{}", ran.stderr);
    let request = heard.join().unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("Content-Type: application/json\r\n"), "{request}");
    let body: Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["event"], &body["text"]), (&"done".into(), &title.into()));
}

#[test]
fn a_notifier_that_takes_its_time_does_not_delay_the_run() {
    let env = quiet(&["a", "b"], "desktop = true\non = [\"done\"]");
    // It ends when the run has gone on: were it waited for, it would never end by itself.
    let script = "until test -e $here/../repo/b.txt; do sleep 0.02; done; echo x >> $here/arrived";
    notifier(&env, "notify-send", script);
    let ran = build(&env, &[&works(), &works()], &[]);
    assert!(!ran.stderr.contains("warning:"), "{}", ran.stderr);
    assert_eq!(lines(&env, "arrived").len(), 2);
}

#[test]
fn a_notifier_that_hangs_or_fails_is_reported_once_and_costs_a_few_seconds() {
    let env = quiet(&["a", "b"], "desktop = true\nwebhook = \"http://127.0.0.1:1\"");
    notifier(&env, "notify-send", "sleep 100");
    notifier(&env, "curl", "cat > /dev/null; echo 'curl: (7) no luck' >&2; exit 7");
    let begun = Instant::now();
    let ran = build(&env, &[&works(), &works()], &[]);
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let warnings: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("warning: notifications")).collect();
    assert_eq!(
        warnings,
        [
            "warning: notifications through notify-send failed: it was still running when the \
             run ended",
            "warning: notifications through the webhook failed: it exited with code 7: curl: \
             (7) no luck",
        ]
    );
    assert_eq!(lines(&env, "curl.args").len(), 3);
}

#[test]
fn a_program_that_is_missing_is_reported_and_the_run_goes_on() {
    let settings = "desktop = true\nsound = true\nwebhook = \"http://127.0.0.1:1\"";
    let env = quiet(&["a"], settings);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for says in [
        "notify-send was not found, so there are no desktop notifications",
        "neither spd-say nor espeak-ng was found: there is no sound",
        "curl was not found, so nothing is posted to the webhook",
    ] {
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

#[test]
fn a_resumed_run_reports_nothing_of_the_one_before() {
    let env = quiet(&["a", "b"], "desktop = true");
    notifier(&env, "notify-send", "");
    let stays = session(&[gate_step("there", "never"), say("x")]);
    let mut running = start(&env, &[&works(), &stays, &works()], &[]);
    wait_for(&env, "there");
    wait_until("the message", PATIENCE, || lines(&env, "notify-send.args").len() == 1);
    running.kill().unwrap();
    running.wait().unwrap();
    again(&env, &[]).success();
    assert!(!of_kind(&journal(&env), "run_started")[0]["resumed"].is_null());
    let text = lines(&env, "notify-send.args");
    assert_eq!(text.len(), 3, "{text:?}");
    assert!(text[1].contains("|Task done: b|") && text[2].contains("|Run ended in repo|"));
}

#[test]
fn a_repo_may_not_choose_where_messages_go() {
    for (line, key) in [
        ("command = \"touch ../notes/evil\"", "command"),
        ("webhook = \"http://127.0.0.1\"", "webhook"),
    ] {
        let env = project(&["a"]);
        env.write("ralph.toml", format!("[notify]\n{line}\n"));
        let output = build(&env, &[&works()], &[]).failure(1);
        assert!(
            output.contains(&format!("`notify.{key}` can only be set in your own")),
            "{output}"
        );
        assert!(!env.note("").join("evil").exists());
        assert!(runs(&env).is_empty());
    }
}

#[test]
fn an_address_that_is_not_http_is_refused_before_anything_begins() {
    for url in ["file:///etc/passwd", "hooks.example.org", "-o/tmp/x"] {
        let env = quiet(&["a"], &format!("webhook = \"{url}\""));
        let output = build(&env, &[&works()], &[]).failure(1);
        assert!(
            output.contains("`notify.webhook` must begin with https:// or http://"),
            "{output}"
        );
        assert!(runs(&env).is_empty());
    }
}

#[test]
fn without_a_voice_the_terminal_rings() {
    let Some(script) = program("script") else {
        ralph_testkit::skip("the bell of a terminal: there is no script program here");
        return;
    };
    // Links on a terminal may have the same character, so one run is compared with another.
    let bells = |settings: &str| {
        let env = quiet(&["a"], settings);
        cassette(&env, &[&works()]);
        let inner = format!("{} {}", crate::RALPH, arguments(&["--no-verify"]).join(" "));
        let mut command = Command::new(&script);
        command.args(["-qec", &inner, "/dev/null"]).current_dir(env.repo());
        command.env("HOME", env.home()).env("PATH", env.note("").join("tools"));
        let shown = command.env("SHELL", "/bin/sh").output().unwrap().stdout;
        let text = String::from_utf8_lossy(&shown).into_owned();
        assert_eq!(status(&env, "a"), "done", "{text}");
        assert!(!text.contains("was found"), "{text}");
        text.matches('\u{7}').count()
    };
    assert_eq!(bells("sound = true\non = [\"done\"]"), bells("") + 1);
    assert_eq!(bells("sound = true"), bells("") + 2);
}
