//! Secrets that agents and gates print are in no file of a run and on no screen.

use std::fmt::Write;
use std::path::Path;

use super::*;

/// A key that no pattern knows: only its value tells.
const KEY: &str = "Zq7/vX\"9wK+plain value%42";
/// A key that only its looks tell.
const STRANGE: &str = "ghp_R4ndomLettersOfNobody0123456789abcd";
/// A line of a private key.
const PEM_LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA";

/// Every form of the secrets that must be nowhere.
fn forms() -> Vec<String> {
    let json = serde_json::to_string(KEY).unwrap();
    let json = json.trim_matches('"').to_owned();
    let twice = serde_json::to_string(&json).unwrap().trim_matches('"').to_owned();
    // base64 of the key without its last letters, which depend on what follows.
    let base64 = "WnE3L3ZYIjl3SytwbGFpbiB2YWx1ZSU0".to_owned();
    let address = "Zq7%2FvX%229wK%2Bplain%20value%2542".to_owned();
    vec![KEY.to_owned(), json, twice, base64, address, STRANGE.to_owned(), PEM_LINE.to_owned()]
}

/// Looks through all files of a folder, and says what was found where.
fn leaks(folder: &Path, found: &mut String) -> usize {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            seen += leaks(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            seen += 1;
            leaks_in(&path.display().to_string(), &bytes, found);
        }
    }
    seen
}

fn leaks_in(what: &str, bytes: &[u8], found: &mut String) {
    // Also as a terminal shows it, and as a reader of JSON does that prints its texts.
    let text = String::from_utf8_lossy(bytes).replace("\\u001b", "\u{1b}");
    let shown = ralph_core::text::printable(&text);
    for form in forms() {
        let is_in = bytes.windows(form.len()).any(|part| part == form.as_bytes());
        if is_in || shown.contains(&form) {
            writeln!(found, "{what}: {form}").unwrap();
        }
    }
}

/// Nothing of the secrets is in what was printed, in the files of the run, or in what people were told.
#[track_caller]
fn nothing_leaked(env: &TestEnv, ran: &[&Ran]) {
    let mut found = String::new();
    for one in ran {
        leaks_in("stdout", one.stdout.as_bytes(), &mut found);
        leaks_in("stderr", one.stderr.as_bytes(), &mut found);
    }
    assert!(leaks(&env.repo().join(".ralph"), &mut found) > 8);
    leaks(&env.note("told"), &mut found);
    assert_eq!(found, "");
}

/// A repository whose gate prints everything that it knows, and is red until `good.txt` is there.
fn talkative(tasks: &[&str]) -> TestEnv {
    let mut env = project(tasks);
    env.without_sandbox("in a sandbox gates do not get the password that they are to print");
    env.set("MY_SERVICE_PASSWORD", KEY);
    std::fs::create_dir(env.note("told")).unwrap();
    std::fs::write(
        env.note("print"),
        format!(
            "printf 'error: the key is %s\\n' \"$MY_SERVICE_PASSWORD\"\n\
             printf 'test %s' 'Zq7/vX\"9wK'; sleep 0.05; printf '+plain value%%42 failed\\n'\n\
             printf '%s' \"$MY_SERVICE_PASSWORD\" | base64 | sed 's/^/Basic /'\n\
             echo 'Authorization: token {STRANGE}'\n\
             printf 'Zq7/vX\"\\033[31m9wK+pl\\342\\200\\213ain value%%42 ghp_R4ndom\\033[0mLettersOfNobody0123456789abcd\\n'\n\
             printf -- '-----BEGIN PRIVATE KEY-----\\n{PEM_LINE}\\n-----END PRIVATE KEY-----\\n'\n\
             printf 'warning: %s\\n' \"$MY_SERVICE_PASSWORD\" >&2\n"
        ),
    )
    .unwrap();
    let gate = toml::Value::String("sh ../notes/print; test -f good.txt".to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {gate}\n"));
    env.git(&["add", "ralph.toml"]);
    env.git(&["commit", "-qm", "gate"]);
    let folder = env.home().join(".config/ralph");
    std::fs::create_dir_all(&folder).unwrap();
    let hook = env.note("tell");
    program(
        &hook,
        "#!/bin/sh\nhere=$(dirname $0)/told; env | grep ^RALPH >> $here/env; cat >> $here/stdin; echo $@ >> $here/args\n",
    );
    let settings = format!("[notify]\ncommand = {:?}\n", hook.display().to_string());
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    env
}

/// Written by another process: this one may be starting others, which would hold the file.
fn program(path: &Path, text: &str) {
    let write = r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", write, "sh", text]).arg(path);
    assert!(command.status().unwrap().success());
}

#[test]
fn what_a_scripted_agent_and_its_gates_print_is_redacted_everywhere() {
    let env = talkative(&["a", "b"]);
    let first = session(&[
        say(&format!("I use {KEY} and {STRANGE}.")),
        say(&format!("In color: {}\u{1b}[1m{}", &KEY[..9], &KEY[9..])),
        sh(&format!(
            "printf '%s\\n' '{KEY}'; ralph task log a 'the key is {}'",
            KEY.replace('\'', "")
        )),
        write("a.txt", "work\n"),
        say(&format!("Done with {KEY}. <task-done>a</task-done>")),
    ]);
    let second = session(&[write("good.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let fails = say(&format!("<task-failed>b</task-failed><reason>needs {KEY}</reason>"));
    let ran = build(&env, &[&first, &second, &fails], &["-v"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        classes(&env),
        ["red", "done", "task_failed"],
        "signals are read before anything goes"
    );
    assert!(ran.stderr.contains("[redacted]"), "{}", ran.stderr);
    let log = run_file(&env, "iteration-001.gate-check.log");
    assert!(log.contains("the key is [redacted]\n"), "{log}");
    assert!(log.contains("test [redacted] failed\n"), "{log}");
    assert!(log.contains("warning: [redacted]\n") && log.contains("Basic [redacted]"), "{log}");
    assert!(run_file(&env, "iteration-002.task.md").contains("the key is [redacted]"));
    for line in run_file(&env, "iteration-001.ndjson").lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let logs = env.ralph(&["logs"]);
    let shown = env.ralph(&["task", "show", "a"]);
    assert!(shown.stdout.contains("[redacted]"), "{}", shown.stdout);
    nothing_leaked(&env, &[&ran, &logs, &shown, &env.ralph(&["status"]), &env.ralph(&["report"])]);
}

#[test]
fn what_claude_prints_in_pieces_and_on_stderr_is_redacted_everywhere() {
    let mut env = talkative(&["a"]);
    // The stand-in has the key as text of JSON, and prints it in two writes.
    let json = serde_json::to_string(KEY).unwrap();
    let inner = json.trim_matches('"').replace('\'', "'\\''");
    let (left, right) = inner.split_at(7);
    let body = format!(
        r#"
init
printf '%s' '{{"type":"assistant","message":{{"id":"x","model":"m","content":[{{"type":"text","text":"a {left}'
sleep 0.1
printf '%s\n' '{right} b {STRANGE}"}}]}}}}'
printf '%s\n' '{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{inner}\n-----BEGIN PRIVATE KEY-----\n{PEM_LINE}\n-----END PRIVATE KEY-----\n"}}]}}}}'
printf 'panic: %s\n' "$MY_SERVICE_PASSWORD" >&2
if [ $n = 1 ]; then echo 'plain {KEY}'; exit 3; fi
echo x > good.txt
result 'It was {inner}. <task-done>a</task-done>'
"#
    );
    stand_in(&mut env, &body);
    let args = ["build", "--agent", "claude", "-v", "--set", "agent.env=[\"MY_SERVICE_PASSWORD\"]"];
    let ran = env.ralph(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "done", "{}", ran.stderr);
    assert!(ran.stderr.contains("a [redacted] b [redacted]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("panic: [redacted]"), "{}", ran.stderr);
    let raw = run_file(&env, "iteration-002.ndjson");
    for line in raw.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(raw.contains("It was [redacted]. <task-done>a</task-done>"), "{raw}");
    nothing_leaked(&env, &[&ran, &env.ralph(&["logs"]), &env.ralph(&["task", "show", "a"])]);
}

#[test]
fn events_on_stdout_have_no_secrets_and_errors_neither() {
    let env = talkative(&["a"]);
    let output = say(&format!("key {KEY} <question>may I use {KEY}?</question>"));
    let ran = build(&env, &[&output], &["--ui", "json", "--once"]);
    for line in ran.stdout.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert!(ran.stdout.contains("[redacted]"), "{}", ran.stdout);
    let refused = env.ralph(&["task", "show", "--set", &format!("x={KEY}"), KEY]);
    assert_ne!(refused.code, 0);
    nothing_leaked(&env, &[&ran, &refused]);
}
