//! JSON: one envelope for the answers of all commands, one for their errors, and one vocabulary.

use ralph_testkit::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::looping::{build, project, works};
use crate::{RALPH, env};

/// What each command is called with, so that it succeeds; `None` where it needs a run and there is none. The
/// test fails for a command that is not here.
const CALLS: [(&str, Option<&[&str]>); 36] = [
    ("answer", Some(&[])),
    ("cancel", None),
    ("clean", Some(&["--dry-run"])),
    ("config get", Some(&["loop.jobs"])),
    ("config show", Some(&[])),
    ("diff", None),
    ("doctor", Some(&[])),
    ("feature list", Some(&[])),
    ("feature show", Some(&["login"])),
    ("import", Some(&["plan.md", "--dry-run"])),
    ("init", Some(&[])),
    ("logs", None),
    ("pause", None),
    ("recover", Some(&[])),
    ("report", Some(&[])),
    ("resume", None),
    ("retry", Some(&["b"])),
    ("runs", Some(&[])),
    ("skip", Some(&["b"])),
    ("status", Some(&[])),
    ("takeover", None),
    ("task agent list", Some(&[])),
    ("task claim", Some(&["a"])),
    ("task deps", Some(&["b"])),
    ("task list", Some(&[])),
    ("task log", Some(&["a"])),
    ("task peek", Some(&[])),
    ("task plan-status", Some(&[])),
    ("task plan-sync", Some(&[])),
    ("task ready", Some(&[])),
    ("task reopen", Some(&["d"])),
    ("task show", Some(&["a"])),
    ("task tree", Some(&[])),
    ("tell", Some(&["b", "Use tabs"])),
    ("trust", Some(&["--list"])),
    ("undo", None),
];

/// The lines of a stream, each an object with the version and a kind.
fn lines(text: &str) -> Vec<Value> {
    let read = |line: &str| -> Value {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{text}"));
        assert!(value["v"] == 1 && value["kind"].is_string(), "{line}");
        value
    };
    text.lines().map(read).collect()
}

/// The error of a call, which printed nothing else.
fn error(ran: &Ran) -> Value {
    assert_eq!(ran.stdout, "", "{}", ran.stderr);
    let all = lines(&ran.stderr);
    let errors: Vec<&Value> = all.iter().filter(|line| line["kind"] == "error").collect();
    let [one] = errors.as_slice() else { panic!("{}", ran.stderr) };
    assert_eq!(one["error"]["exit"], ran.code);
    one["error"].clone()
}

fn called(env: &TestEnv, command: &str, arguments: &[&str]) -> Ran {
    let mut call: Vec<&str> = command.split(' ').collect();
    call.extend(arguments);
    call.push("--json");
    env.ralph_with(&call, "{\"id\":\"c\",\"t\":\"Third\"}\n")
}

#[test]
fn every_command_answers_in_the_envelope_and_fails_in_the_other() {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["add", "Second", "--id", "b"]);
    env.task(&["add", "Fourth", "--id", "d"]);
    env.task(&["claim", "d"]);
    env.task(&["done", "d"]);
    env.write("plan.md", "- [ ] Write it\n");
    let nowhere = TestEnv::without_repository(RALPH);
    let all = crate::effects::commands(&env);
    let with_json = all.iter().filter(|(_, flags)| flags.contains_key("--json"));
    let mut missing = Vec::new();
    for (command, _) in with_json {
        let wrong = error(&called(&env, command, &["--no-such-flag"]));
        assert_eq!((&wrong["code"], &wrong["exit"]), (&json!("usage"), &json!(64)), "{command}");
        assert!(wrong["message"].as_str().unwrap().contains("--no-such-flag"), "{wrong}");
        assert!(wrong["hint"].as_str().unwrap().contains("--help"), "{wrong}");
        let Some((_, arguments)) = CALLS.iter().find(|(name, _)| name == command) else {
            missing.push(command.clone());
            continue;
        };
        // No session has worked on the task.
        let without: &[&str] = if command == "takeover" { &["b"] } else { &[] };
        let ran = called(&env, command, arguments.unwrap_or(without));
        lines(&ran.stderr);
        match arguments {
            None => assert_ne!(error(&ran)["code"], "usage", "{command}"),
            Some(_) => {
                let answers = lines(&ran.stdout);
                let [answer] = answers.as_slice() else { panic!("{command}: {}", ran.stdout) };
                let kind = command.replace(' ', ".").replace('-', "_");
                assert_eq!(answer["kind"], kind.as_str());
                assert_eq!(answer.as_object().unwrap().len(), 3, "{command}: v, kind, data");
                assert!(answer["data"].is_array() || answer["data"].is_object(), "{answer}");
            }
        }
        // Outside a repository most commands fail, and none of them in another way.
        let ran = called(&nowhere, command, arguments.unwrap_or_default());
        lines(&ran.stdout);
        let errors = lines(&ran.stderr).into_iter().filter(|line| line["kind"] == "error");
        assert_eq!(errors.count(), usize::from(ran.code != 0), "{command}: {}", ran.stderr);
    }
    assert!(missing.is_empty(), "say in CALLS how to call them: {missing:?}");
}

#[test]
fn an_error_has_the_text_the_hint_and_the_code_of_the_text_output() {
    let env = env();
    env.task(&["add", "First", "--id", "parse"]);
    let shown = env.ralph(&["task", "show", "pars"]).failure(2);
    let text = error(&env.ralph(&["task", "show", "pars", "--json"]));
    let (message, hint) = (text["message"].as_str().unwrap(), text["hint"].as_str().unwrap());
    assert_eq!(shown, format!("error: {message}\n  hint: {hint}\n"));
    assert_eq!((&text["code"], &text["excerpt"]), (&json!("unknown_task"), &Value::Null));
    env.write("ralph.toml", "[loop]\njobs = \"many\"\n");
    let text = error(&env.ralph(&["status", "--json"]));
    assert!(text["excerpt"].as_str().unwrap().contains("jobs = \"many\""), "{text}");
    std::fs::remove_file(env.repo().join("ralph.toml")).unwrap();
    env.task(&["claim", "parse"]);
    for (arguments, code) in [
        (&["task", "claim", "parse"][..], "not_claimable"),
        (&["task", "claim"], "nothing_ready"),
        (&["task", "list", "--feature", "nope"], "unknown_feature"),
        (&["skip", "nope"], "unknown_task"),
        (&["recover", "nope"], "failed"),
    ] {
        let text = error(&env.ralph(&[arguments, &["--json"]].concat()));
        assert_eq!(text["code"], code, "{arguments:?}: {text}");
    }
}

#[test]
fn a_task_has_the_same_status_in_every_list() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["add", "Second", "--id", "b", "--deps", "a"]);
    env.task(&["add", "Third", "--id", "c"]);
    env.task(&["claim", "c"]);
    let status_of = |tasks: &Value, id: &str| {
        let task = tasks.as_array().unwrap().iter().find(|task| task["id"] == id).unwrap();
        task["status"].as_str().unwrap().to_owned()
    };
    let listed = env.json(&["task", "list"]);
    let table = env.task(&["list"]);
    for (id, status) in [("a", "open"), ("b", "blocked"), ("c", "active")] {
        assert!(table.lines().any(|line| line.starts_with(id) && line.contains(status)), "{table}");
        assert_eq!(status_of(&listed, id), status);
        assert_eq!(status_of(&env.json(&["task", "tree"]), id), status);
        assert_eq!(env.json(&["task", "show", id])["status"], status);
    }
    let deps = env.json(&["task", "deps", "b"]);
    assert_eq!(
        (status_of(&deps["blockers"], "a"), &deps["blockers"][0]["distance"]),
        ("open".into(), &json!(1))
    );
    let peek = env.json(&["task", "peek"]);
    assert_eq!(status_of(&peek["claimable"], "a"), "open");
    assert_eq!(status_of(&peek["claimed"], "c"), "active");
    assert_eq!(env.json(&["task", "plan-status"]), env.json(&["status"])["counts"]);
    let refused = env.ralph(&["task", "done", "a"]).failure(2);
    assert!(refused.starts_with("error: a is open and cannot become done\n"), "{refused}");
}

#[test]
fn agents_in_a_run_are_distinguished_by_time_role_task_and_session() {
    let env = project(&["a"]);
    let ran = build(&env, &[&works()], &["--ui", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    lines(&ran.stderr);
    let all = lines(&ran.stdout);
    let output: Vec<&Value> = all.iter().filter(|line| line["kind"] == "agent").collect();
    assert!(!output.is_empty(), "{}", ran.stdout);
    for line in output {
        assert_eq!((&line["role"], &line["task"]), (&json!("worker"), &json!("a")), "{line}");
        assert_eq!(line["session"], "iteration-001", "{line}");
        assert!(line["at"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    let settled = all.iter().find(|line| line["kind"] == "task_settled").unwrap();
    assert_eq!(settled["status"], "done");
    let none = env.ralph(&["build", "--ui", "json", "--task", "nope"]);
    assert_eq!(error(&none)["exit"], none.code);
}
