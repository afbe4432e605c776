//! Looking back and taking back: `ralph task reopen`, `undo`, `diff`, `runs` and `logs RUN`.

use ralph_testkit::{Ran, TestEnv};
use serde_json::Value;

use crate::env;
use crate::looping::{
    build, cassette, gate_step, project, say, session, start, status, subjects, touch, wait_for,
    works, write,
};

fn json(text: &str) -> Value {
    ralph_testkit::data(text)
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

/// What a command said, whatever it printed as data.
#[track_caller]
fn noted(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stderr
}

fn read(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.repo().join(name)).unwrap()
}

#[test]
fn a_done_task_is_reopened_with_a_reason_and_says_what_stays_done() {
    let env = env();
    env.task(&["add", "Parse", "--id", "parse"]);
    env.task(&["add", "Show", "--id", "show", "--deps", "parse"]);
    for id in ["parse", "show"] {
        env.task(&["claim", id]);
        env.task(&["done", id]);
    }
    let refused = env.ralph(&["task", "reset", "parse"]).failure(2);
    has(&refused, "reopen it: ralph task reopen parse");
    let output = noted(env.ralph(&["task", "reopen", "parse", "--reason", "it loses lines"]));
    has(&output, "parse is open again");
    has(&output, "show depends on parse and stays done; to reopen it: ralph task reopen show");
    assert_eq!((status(&env, "parse"), status(&env, "show")), ("open".into(), "done".into()));
    let log = env.task(&["log", "parse"]);
    has(&log, "reopened, was done");
    has(&log, "it loses lines");
    let refused = env.ralph(&["task", "reopen", "parse"]).failure(2);
    has(&refused, "parse is already open");
    env.task(&["claim", "parse"]);
    let refused = env.ralph(&["task", "reopen", "parse"]).failure(2);
    has(&refused, "parse is active; only done and failed tasks can be reopened");
    env.task(&["fail", "parse", "--final", "--reason", "no"]);
    let text = json(&env.task(&["reopen", "parse", "--json"]));
    assert_eq!(text["reopened"], serde_json::json!(["parse"]));
    assert_eq!(text["done_dependents"][0]["task"], "show");
}

#[test]
fn an_iteration_and_a_task_are_undone_by_reverts_and_shown_by_diff() {
    let env = project(&["one", "two", "three"]);
    build(&env, &[&works(), &works(), &works()], &[]);
    let head = env.git(&["rev-parse", "HEAD"]);

    // What was changed.
    let shown = env.ralph(&["diff", "one"]).success();
    has(&shown, "+++ b/one.txt");
    has(&shown, "build: iteration 1");
    assert_eq!(env.ralph(&["diff", "--name-only"]).success().lines().last(), Some("three.txt"));
    has(&env.ralph(&["diff", "two", "--stat"]).success(), "two.txt | 1 +");
    let text = json(&env.ralph(&["diff", "two", "--json"]).success());
    assert_eq!((&text["state"], &text["files"][0]["added"]), (&"committed".into(), &1.into()));

    // A dry run says it all and does nothing.
    let shown = env.ralph(&["undo", "--dry-run"]).success();
    has(&shown, "Revert 1 commit on main:");
    has(&shown, "  three  three\n");
    assert_eq!(
        (env.git(&["rev-parse", "HEAD"]), status(&env, "three")),
        (head.clone(), "done".into())
    );

    // The last iteration, beside the user's own changes.
    env.write("mine.txt", "mine\n");
    let output = noted(env.ralph(&["undo", "--yes"]));
    has(&output, "three is open again");
    has(&output, "to take this back: git revert ");
    assert_eq!(env.git(&["rev-parse", "HEAD^"]), head, "history is not rewritten");
    assert!(!env.repo().join("three.txt").exists() && env.repo().join("two.txt").exists());
    assert_eq!(
        (status(&env, "three"), env.git(&["status", "--porcelain"])),
        ("open".into(), "?? mine.txt\n".into())
    );
    has(&env.task(&["log", "three"]), "the user undid this task");
    let refused = env.ralph(&["undo", "three"]).failure(2);
    has(&refused, "three is undone already");

    // A task, with uncommitted changes in its file.
    env.write("one.txt", "mine\n");
    let refused = env.ralph(&["undo", "one"]).failure(1);
    has(&refused, "nothing was undone: you have uncommitted changes in one.txt");
    env.git(&["commit", "--quiet", "-am", "person"]);
    let refused = env.ralph(&["undo", "one"]).failure(1);
    has(&refused, "later commits changed the same lines of one.txt");
    has(&refused, "git revert ");
    assert_eq!(
        (status(&env, "one"), env.git(&["status", "--porcelain"])),
        ("done".into(), "?? mine.txt\n".into())
    );
    env.git(&["revert", "--no-edit", "HEAD"]);
    let text =
        json(&env.ralph(&["undo", "--task", "one", "--json", "--reason", "wrong"]).success());
    assert_eq!((&text["tasks"][0]["id"], &text["reopened"][0]), (&"one".into(), &"one".into()));
    has(&env.task(&["log", "one"]), "wrong");
    let refused = env.ralph(&["undo", "2"]).failure(2);
    has(&refused, "cannot undo 2 iterations: this branch has only 1 iteration");
    env.ralph(&["undo", "--iterations", "1"]).success();
    has(&env.ralph(&["undo"]).failure(2), "nothing to undo");
    has(&subjects(&env)[0], "Revert \"build: iteration 2 - two\"");

    // The work of a task that another branch has.
    env.git(&["switch", "--quiet", "--orphan", "other"]);
    env.git(&["commit", "--quiet", "--allow-empty", "-m", "other"]);
    has(
        &env.ralph(&["undo", "two"]).failure(2),
        "are on branch main, which is not checked out here",
    );

    // A number that is a task, too.
    env.task(&["add", "Numbered", "--id", "1"]);
    has(&env.ralph(&["undo", "1"]).failure(64), "1 is the id of a task and a number of iterations");
    has(&env.ralph(&["undo", "--task", "1"]).failure(2), "ralph knows of no commit of 1 to revert");
    has(&env.ralph(&["diff", "1"]).failure(2), "ralph knows of no change of 1");
}

#[test]
fn a_checkbox_of_a_plan_is_open_again_in_the_commit_that_undoes_it() {
    let env = project(&[]);
    env.write("implementation_plan.md", "- [ ] Write one\n- [ ] Write two\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let ticks = |file: &str, task: &str| {
        let tick = format!("sed -i 's/^- \\[ \\] {task}$/- [x] {task}/' implementation_plan.md");
        session(&[write(file, "work\n"), crate::looping::sh(&tick), say("ok")])
    };
    build(&env, &[&ticks("one.txt", "Write one"), &ticks("two.txt", "Write two")], &[]);
    assert_eq!(read(&env, "implementation_plan.md"), "- [x] Write one\n- [x] Write two\n");
    let list = json(&env.task(&["list", "--json"]));
    let id = list[0]["id"].as_str().unwrap().to_owned();
    env.ralph(&["undo", &id]).success();
    assert_eq!(read(&env, "implementation_plan.md"), "- [ ] Write one\n- [x] Write two\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert!(!env.repo().join("one.txt").exists());
    assert_eq!(status(&env, &id), "open");

    // The same task is worked on again, with its history.
    build(&env, &[&ticks("one.txt", "Write one")], &[]);
    assert_eq!(status(&env, &id), "done");
    assert_eq!(read(&env, "implementation_plan.md"), "- [x] Write one\n- [x] Write two\n");
    let output = noted(env.ralph(&["task", "reopen", &id]));
    has(&output, "ralph cleared its checkbox in implementation_plan.md");
    assert_eq!(read(&env, "implementation_plan.md"), "- [ ] Write one\n- [x] Write two\n");
}

#[test]
fn runs_are_listed_and_each_is_shown_again_by_its_id() {
    let env = project(&["one", "two"]);
    assert_eq!(noted(env.ralph(&["runs"])), "no runs yet; start one: ralph build\n");
    build(&env, &[&works()], &["--once"]);
    build(&env, &[&works()], &[]);
    let listed = env.ralph(&["runs"]).success();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[0].starts_with("RUN") && lines[0].contains("STARTED"), "{listed}");
    has(lines[1], "build dag");
    has(lines[1], "All 2 tasks done");
    let text = json(&env.ralph(&["runs", "--json", "--all"]).success());
    assert_eq!((&text[0]["done"], &text[0]["state"]), (&1.into(), &"ended".into()));
    let older = text[1]["run"].as_str().unwrap();
    let one = env.ralph(&["runs", "--limit", "1"]);
    has(&noted(one), "1 more: ralph runs --all");
    has(&env.ralph(&["logs", older]).success(), "one");
    let iteration = env.ralph(&["logs", &older[..6], "1"]).success();
    assert!(!iteration.contains("two"), "{iteration}");
    has(&env.ralph(&["logs", older, "9"]).failure(1), &format!("run {older} has no iteration 9"));
    has(&env.ralph(&["logs", "1"]).success(), "two");
    let wrong = if older.ends_with('x') { 'y' } else { 'x' };
    let typo = format!("{}{wrong}", &older[..9]);
    let refused = env.ralph(&["logs", &typo]).failure(1);
    has(&refused, &format!("there is no run {typo} here; the nearest "));
    has(&env.ralph(&["logs", "r-"]).failure(1), "2 runs begin with r-: ");
}

#[test]
fn a_running_session_is_shown_and_stops_an_undo() {
    let env = project(&["one"]);
    let steps =
        [write("one.txt", "half\n"), gate_step("there", "go"), say("<task-done>one</task-done>")];
    let child = start(&env, &[&session(&steps)], &[]);
    wait_for(&env, "there");
    let shown = env.ralph(&["diff"]);
    has(&shown.stderr, "where one is being worked on");
    has(&shown.success(), "+half");
    has(&env.ralph(&["runs"]).success(), "running");
    touch(&env, "go");
    assert_eq!(Ran::end_of(child).code, 0);
    let steps = [write("two.txt", "half\n"), gate_step("there2", "go2"), say("no")];
    env.task(&["add", "two", "--id", "two"]);
    cassette(&env, &[&session(&steps)]);
    let child = env.start(&crate::looping::arguments(&["--once"]));
    wait_for(&env, "there2");
    let refused = env.ralph(&["undo", "one"]).failure(1);
    has(&refused, "nothing was undone: another run is active in this worktree");
    touch(&env, "go2");
    Ran::end_of(child);
    // What it left is saved when its task is given up, and shown from there.
    env.ralph(&["undo", "one"]).success();
    assert_eq!(read(&env, "two.txt"), "half\n");
}

#[test]
fn a_ralph_folder_of_another_user_names_its_owner_and_what_to_type() {
    let env = env();
    env.task(&["add", "One", "--id", "one"]);
    let ralph = env.repo().join(".ralph");
    if std::os::unix::fs::chown(&ralph, Some(12_345), None).is_err() {
        ralph_testkit::skip("only root can give a folder away");
        return;
    }
    let output = env.ralph(&["task", "list"]).failure(1);
    has(
        &output,
        ".ralph belongs to uid 12345, not to you: ralph does not use state that another user can change",
    );
    has(&output, "sudo chown -R \"$(id -un)\" ");
    has(&output, "sudo -u '#12345' ralph");
    assert!(!output.contains("mv "), "{output}");
    std::os::unix::fs::chown(&ralph, Some(0), None).unwrap();
}
