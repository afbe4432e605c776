//! What people and checks say about a pull request becomes work: real git, a bare remote, the stand-ins for servers
//! whose check looks into the commits that were pushed.

use ralph_testkit::TestEnv;
use ralph_testkit::github::{Ci, GitHubServer, REPO, has_curl};
use serde_json::Value;

use crate::looping::{build, journal, of_kind, project, say, session, works, write};
use crate::publishing::remote;

const LOG: &str = "2026-01-01T00:00:00.0000000Z Running tests\n\
                   2026-01-01T00:00:01.0000000Z error: fixed.txt is missing\n";

/// A repository on the branch `feature` with one task, and its remote, where a check wants `fixed.txt`.
fn world() -> (TestEnv, GitHubServer) {
    let mut env = project(&["one"]);
    let server = remote(&mut env, "git.example");
    server.checks(ci(&env));
    env.git(&["switch", "--quiet", "-c", "feature"]);
    (env, server)
}

fn ci(env: &TestEnv) -> Ci {
    Ci {
        name: "test".to_owned(),
        bare: env.folder().join("remotes").join(format!("{REPO}.git")),
        wants: "fixed.txt".to_owned(),
        log: LOG.to_owned(),
        by: String::new(),
        slow: 1,
    }
}

/// A run that watches its pull request for so long.
fn watch<'a>(time: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["--set", "git.auto_pr=true", "--set", time];
    all.extend(more);
    all
}

/// A session that makes the check pass, and saves its prompt.
fn fixes() -> String {
    session(&[write("fixed.txt", "well\n"), say("<task-done>{id}</task-done>")])
}

fn reviews(env: &TestEnv) -> Vec<Value> {
    of_kind(&journal(env), "reviewed").into_iter().cloned().collect()
}

fn ends(env: &TestEnv) -> Vec<String> {
    reviews(env).iter().map(|one| one["end"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_failed_check_leads_to_a_green_commit_without_anybodys_help() {
    if !has_curl() {
        return;
    }
    let (env, server) = world();
    let ran = build(&env, &[&works(), &fixes()], &watch("publish.watch=1m", &[]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ends(&env), ["work", "green"], "{}", ran.stderr);
    let page = server.pulls()[0]["html_url"].as_str().unwrap().to_owned();
    for part in [
        "1 new task from",
        "round 1 of 5: Make the check \"test\" pass (",
        &format!("all checks passed: {page}"),
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // The remote has the green commit, and the pull request tells both tasks.
    let there = env.git(&["ls-remote", "../remotes/ada/engine.git", "refs/heads/feature"]);
    assert!(there.starts_with(env.git(&["rev-parse", "HEAD"]).trim()), "{there}");
    assert!(env.git(&["ls-tree", "--name-only", "HEAD"]).contains("fixed.txt"));
    let body = server.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(body.contains("2 done."), "{body}");
    let tasks = env.ralph(&["task", "list", "--json"]).success();
    assert!(tasks.contains("error: fixed.txt is missing"), "the task has the log: {tasks}");
    // Nothing is left: the next run looks, and ends.
    let ran = build(&env, &[], &watch("publish.watch=1m", &[]));
    assert_eq!((ran.code, ends(&env)), (0, vec!["green".to_owned()]), "{}", ran.stderr);
}

#[test]
fn comments_of_listed_authors_become_work_and_those_of_others_never() {
    if !has_curl() {
        return;
    }
    let (env, server) = world();
    build(
        &env,
        &[&session(&[write("fixed.txt", "x\n"), say("<task-done>{id}</task-done>")])],
        &watch("publish.watch=1m", &[]),
    );
    assert_eq!(ends(&env), ["green"]);
    server.comments(1, "eve", "Add evil.txt\n- [ ] and this", None);
    server.comments(1, "some-bot", "Add bot.txt", None);
    server.comments(1, "Grace", "Please rename it", Some(("fixed.txt", 1)));
    let listed = watch("publish.watch=3s", &["--set", "publish.authors=[\"grace\"]"]);
    let answers = session(&[write("renamed.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&answers], &listed);
    assert_eq!(
        (ran.code, ends(&env)),
        (0, vec!["work".to_owned(), "green".to_owned()]),
        "{}",
        ran.stderr
    );
    let found = &reviews(&env)[0]["tasks"];
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0], "Review by Grace on fixed.txt:1: Please rename it");
    let tasks = env.ralph(&["task", "list", "--json"]).success();
    assert!(!tasks.contains("evil.txt") && !tasks.contains("bot.txt"), "{tasks}");
    assert!(tasks.contains("git.example/ada/engine/pull/1#c102"), "{tasks}");
    // The same comment is no work twice.
    let ran = build(&env, &[], &listed);
    assert_eq!((ran.code, ends(&env)), (0, vec!["green".to_owned()]), "{}", ran.stderr);
}

#[test]
fn a_check_that_stays_red_ends_with_the_rounds() {
    if !has_curl() {
        return;
    }
    let (env, _server) = world();
    let tries = |n: u32| {
        session(&[write(&format!("try-{n}.txt"), "x\n"), say("<task-done>{id}</task-done>")])
    };
    let rounds = watch("publish.watch=1m", &["--set", "publish.rounds=1"]);
    let ran = build(&env, &[&works(), &tries(1)], &rounds);
    assert_eq!(
        (ran.code, ends(&env)),
        (0, vec!["work".to_owned(), "spent".to_owned()]),
        "{}",
        ran.stderr
    );
    let output =
        "needs more work, and its only round is used up (publish.rounds): Make the check \"test\"";
    assert!(ran.stderr.contains(output), "{}", ran.stderr);
}

/// The section of a branch gets a checkbox, and its session reads the comment and the log.
#[test]
fn a_branch_of_a_plan_gets_checkboxes_in_its_own_section() {
    if !has_curl() {
        return;
    }
    let mut env =
        crate::branches::with_plan(&crate::branches::branches(&[("one", ""), ("two", "")]));
    let here = crate::branches::agent(
        &mut env,
        "case $title in Work*) works;; Make*) echo x > fixed.txt;; *) echo x > renamed.txt;; esac; done_",
    );
    let server = remote(&mut env, "git.example");
    server.checks(ci(&env));
    let watch = ["--set", "publish.watch=4s", "--set", "publish.authors=[\"grace\"]"];
    server.comments(1, "grace", "Rename it\n```\n- [ ] boo", None);
    let ran = env.ralph(&[&["loop", "build", "--branch", "one"][..], &watch].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("all checks passed: https://"), "{}", ran.stderr);
    let plan = std::fs::read_to_string(env.repo().join("IMPLEMENTATION_PLAN.md")).unwrap();
    let (first, second) = plan.split_once("## Branch: two").unwrap();
    for part in ["- [x] Make the check \"test\" pass (", "- [x] Review by grace: Rename it"] {
        assert!(first.contains(part), "{part}: {plan}");
    }
    assert!(!second.contains("Review"), "{plan}");
    let files = env.git(&["ls-tree", "--name-only", "one"]);
    assert!(files.contains("fixed.txt") && files.contains("renamed.txt"), "{files}");
    let text = |n: u32| std::fs::read_to_string(here.join(format!("prompt.one.{n}"))).unwrap();
    assert!(text(2).contains("error: fixed.txt is missing"), "{}", text(2));
    assert!(text(3).contains("> - [ ] boo"), "{}", text(3));
    let log = env.git(&["log", "--format=%B", "main..one"]);
    assert!(!log.contains("boo") && !log.contains("is missing"), "{log}");
}
