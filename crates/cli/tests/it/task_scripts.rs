//! `ralph task` as scripts around it use it: lists that may be empty, calls that repeat, chains of blockers, groups to
//! delete.

use ralph_testkit::TestEnv;
use serde_json::Value;

use crate::env;

fn shown(env: &TestEnv, id: &str) -> Value {
    ralph_testkit::data(&env.task(&["show", id, "--json"]))
}

#[test]
fn an_empty_list_is_empty_and_says_what_to_type() {
    let env = env();
    let output = |arguments: &[&str]| {
        let ran = env.ralph(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{arguments:?}");
        ran.stderr
    };
    let none = "no tasks yet; add one: ralph task add \"What to do\"\n";
    for command in ["list", "ready", "tree"] {
        assert_eq!(output(&["task", command]), none, "{command}");
        assert_eq!(output(&["task", command, "--quiet"]), "");
    }
    assert_eq!(output(&["task", "list", "--markdown"]), "", "agents read this");
    let agents = "no agent is registered; register one: ralph task agent register\n";
    assert_eq!(output(&["task", "agent", "list"]), agents);
    let features = "no features yet; create one: ralph feature create NAME\n";
    assert_eq!(output(&["feature", "list"]), features);
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["claim", "a"]);
    let other = output(&["task", "list", "--status", "failed"]);
    assert_eq!(other, "no task matches; see all tasks: ralph task list\n");
    let ready = output(&["task", "ready"]);
    assert_eq!(ready, "nothing is ready; see what is left: ralph task tree\n");
}

#[test]
fn lists_are_by_priority_and_then_by_creation() {
    let env = env();
    for (id, priority) in [("late", "3"), ("first", "0"), ("next", "1"), ("also", "1")] {
        env.task(&["add", "Task", "--id", id, "-p", priority]);
    }
    let text = env.task(&["list"]);
    let ids: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, ["first", "next", "also", "late"]);
    let kv = env.task(&["list", "--markdown"]);
    let ids: Vec<&str> = kv.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids, ["first", "next", "also", "late"]);
    assert!(env.task(&["tree"]).starts_with("late  open  Task\nfirst"), "the order of the plan");
}

#[test]
fn deps_show_the_whole_chain_with_statuses_and_no_branch_twice() {
    let env = env();
    env.task(&["add", "Base", "--id", "base"]);
    env.task(&["add", "Lib", "--id", "lib", "--deps", "base"]);
    env.task(&["add", "Left", "--id", "left", "--deps", "lib"]);
    env.task(&["add", "Right", "--id", "right", "--deps", "lib"]);
    env.task(&["add", "App", "--id", "app", "--deps", "left,right"]);
    env.task(&["claim", "base"]);
    env.task(&["done", "base", "--result", r#"{"commit":"abc"}"#]);
    env.task(&["claim", "lib", "--agent", "ada"]);
    assert_eq!(
        env.task(&["deps", "app"]),
        "app waits for:\n\
         ├─ left  blocked  Left\n\
         │  └─ lib  active  Lib  by ada\n\
         │     └─ base  done  Base\n\
         └─ right  blocked  Right\n   \
         └─ lib  active  Lib  by ada  (see above)\n\
         app blocks nothing\n"
    );
    let below = env.task(&["deps", "base"]);
    assert!(below.starts_with("base waits for nothing\nbase blocks:\n└─ lib  active"), "{below}");
    assert!(below.contains("app  blocked  App"), "{below}");
    let shown = env.task(&["show", "lib", "--with-deps"]);
    assert!(shown.contains("Blocker results\n  base: {\"commit\":\"abc\"}\n"), "{shown}");
}

#[test]
fn fail_needs_no_reason_and_keeps_a_default_one() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    for arguments in [&["fail", "a"][..], &["fail", "a", "--reason", " "]] {
        env.task(&["claim", "a"]);
        env.task(arguments);
        assert_eq!(shown(&env, "a")["reason"], "no reason given");
    }
    assert!(env.task(&["log", "a"]).contains("no reason given"));
}

#[test]
fn delete_takes_several_statuses_a_spec_and_a_category() {
    let env = env();
    for (id, spec, category) in [
        ("a", "one.md", "core"),
        ("b", "one.md", "docs"),
        ("c", "two.md", "docs"),
        ("d", "two.md", "core"),
    ] {
        env.task(&["add", "Task", "--id", id, "-r", spec, "-c", category]);
    }
    env.task(&["claim", "a"]);
    env.task(&["fail", "a", "--final"]);
    let docs = env.task(&["delete", "--status", "open", "--spec", "one.md", "--category", "docs"]);
    assert_eq!(docs, "b\n");
    let asked = env.ralph(&["task", "delete", "--all", "--spec", "two.md"]).failure(64);
    assert!(asked.contains("would delete 2 tasks") && asked.contains("--confirm"), "{asked}");
    let alone = env.ralph(&["task", "delete", "--category", "docs"]).failure(64);
    assert!(alone.contains("--spec and --category need --status or --all"), "{alone}");
    assert_eq!(env.task(&["delete", "--status", "open,failed"]), "a\nc\nd\n");
    let none = env.ralph(&["task", "delete", "--status", "open,active"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.starts_with("nothing to delete"), "{}", none.stderr);
}
