//! Where branches are worked on: worktrees, state, what a killed call leaves, and who may stop it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout};

use ralph_testkit::{send_signal, wait_until};

use super::*;
use crate::looping::{PATIENCE, touch, wait_for};

/// An agent that tells that it is there, and waits.
const WAITS: &str =
    "works; touch $here/there.$b; until test -e $here/go; do sleep 0.02; done; done_";

#[test]
fn s4_16_s4_17_state_is_kept_for_each_worktree_and_a_killed_call_goes_on() {
    let mut env = with_plan(TWO);
    let here = agent(
        &mut env,
        "works; touch $here/there.$b.$k; test $k = 2 -a ! -e $here/go && sleep 60; done_",
    );
    let mut running = env.start(&["loop", "build", "--max", "9"]);
    wait_for(&env, "agent/there.one.2");
    wait_for(&env, "agent/there.two.2");
    running.kill().unwrap();
    running.wait().unwrap();
    for branch in ["one", "two"] {
        let state = worktree(&env, branch).join(".ralph/state.toml");
        let state: toml::Table = std::fs::read_to_string(state).unwrap().parse().unwrap();
        assert_eq!(state["iteration"].as_integer(), Some(1), "{state}");
        assert_eq!(state["active"].as_bool(), Some(true));
    }
    assert_eq!(ticks(&env), ["Write a", "Write c"]);
    has(&env.ralph(&["status"]).success(), "interrupted");
    touch(&env, "agent/go");
    let text = output_of(env.ralph(&["loop"]), 0);
    assert_eq!(ticks(&env).len(), 4, "{text}");
    // What was cut off is saved under the task that it was for, from its own worktree.
    for branch in ["one", "two"] {
        let last = journals(&env).into_iter().rfind(|(target, _)| target == branch).unwrap().1;
        let resumed = &last[0]["resumed"];
        // The session that was killed has used its place.
        assert_eq!(resumed["iteration"], 2, "{branch}: {resumed}");
    }
    let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip"]);
    let mut files: Vec<String> = saved
        .lines()
        .map(|name| env.git(&["show", "--name-only", "--format=", "-m", "--first-parent", name]))
        .map(|files| files.trim().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["Write-b.txt", "Write-d.txt"], "{saved}");
    assert_eq!(note(&here, "count.one").trim(), "3");
}

#[test]
fn a_second_call_is_refused_with_the_pid_of_the_first() {
    let mut env = with_plan(&branches(&[("one", "")]));
    agent(&mut env, WAITS);
    let running = env.start(&["loop", "build"]);
    wait_for(&env, "agent/there.one");
    let text = build(&env, &[]).failure(1);
    has(&text, &format!("another run is active in this worktree (pid {})", running.id()));
    touch(&env, "agent/go");
    output_of(Ran::end_of(running), 0);
}

/// What a command prints: its first line, for which this waits, and the rest.
struct Printed(Child, BufReader<ChildStdout>, String);

impl Printed {
    fn start(env: &TestEnv, arguments: &[&str]) -> Self {
        let mut child = env.start(arguments);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        Self(child, out, text)
    }

    fn all(mut self) -> String {
        self.1.read_to_string(&mut self.2).unwrap();
        assert!(self.0.wait().unwrap().success(), "{}", self.2);
        self.2
    }
}

#[test]
fn every_branch_is_watched_and_followed_at_once() {
    let names = ["one", "two", "three", "four"];
    let mut env = with_plan(&branches(&names.map(|name| (name, ""))));
    agent(&mut env, WAITS);
    let running = env.start(&["loop", "build", "-j", "4"]);
    for name in names {
        wait_for(&env, &format!("agent/there.{name}"));
    }
    let follow = Printed::start(&env, &["logs", "-f"]);
    let journal = Printed::start(&env, &["logs", "-f", "--json"]);
    let watch = Printed::start(&env, &["status", "--watch"]);
    let pages = Printed::start(&env, &["status", "--watch", "--json"]);
    let folder = worktree(&env, "two").display().to_string();
    let alone = Printed::start(&env, &["-C", &folder, "logs", "-f"]);
    let page = env.ralph(&["status"]).success();
    for name in names {
        has(&page, &format!("  {name:<5}  running  0 of 1 tasks done"));
    }
    assert_eq!(page.matches("\n    iteration 1: ").count(), 4, "{page}");
    assert_eq!(page.matches("\n    working for ").count(), 4, "{page}");
    env.ralph(&["pause"]).success();
    wait_until("they are paused", PATIENCE, || {
        env.ralph(&["status"]).success().matches("  paused  0 of 1 tasks").count() == 4
    });
    env.ralph(&["resume"]).success();
    touch(&env, "agent/go");
    output_of(Ran::end_of(running), 0);
    let followed = follow.all();
    for name in names {
        let prefix = format!("{name:<5} │ ");
        let of_lane: Vec<&str> =
            followed.lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
        assert!(of_lane.iter().any(|line| line.starts_with("── 1 ──")), "{name}: {followed}");
        assert!(of_lane.contains(&"✓ The task is done."), "{name}: {followed}");
    }
    let journal = journal.all();
    let runs: std::collections::HashSet<String> = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["run"].to_string())
        .collect();
    assert_eq!(runs.len(), 4);
    let watched = watch.all();
    for name in names {
        has(&watched, &format!("  {name:<5}  Complete  1 of 1 tasks done"));
    }
    let pages = pages.all();
    let last: Value = ralph_testkit::data(pages.lines().last().unwrap());
    assert_eq!(last["lanes"].as_array().unwrap().len(), 4);
    // In the worktree of a branch it is about that branch alone.
    let alone = alone.all();
    assert!(alone.contains("\n── 1 ──") && !alone.contains(" │ "), "{alone}");
}

#[test]
fn s4_15_cancel_reaches_every_branch_and_those_that_have_not_begun() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", ""), ("three", "")]));
    agent(&mut env, "works; touch $here/there.$b; sleep 60");
    let running = env.start(&["loop", "build", "-j", "2"]);
    wait_for(&env, "agent/there.one");
    wait_for(&env, "agent/there.two");
    let page = env.ralph(&["status"]).success();
    has(&page, &format!("running (pid {})", running.id()));
    has(&page, "  one  running  0 of 1 tasks done");
    has(&page, "  two  running  0 of 1 tasks done");
    env.ralph(&["cancel", "--now"]).success();
    let text = output_of(Ran::end_of(running), 130);
    assert_eq!([stops(&env, "one"), stops(&env, "two")], [["cancelled"], ["cancelled"]]);
    has(&text, "  three  Cancelled  0/1 tasks");
    assert!(!worktree(&env, "three").exists());
    let json: Value = ralph_testkit::data(&env.ralph(&["status", "--json"]).success());
    let lanes = json["lanes"].as_array().unwrap();
    assert_eq!(lanes.len(), 2, "{json}");
    assert!(lanes.iter().all(|lane| lane["state"] == "interrupted"), "{json}");
}

/// Presses Ctrl-C for the so many'th time, and waits until two branches have taken it in.
fn ctrl_c(env: &TestEnv, running: &Child, times: usize) {
    send_signal("INT", running.id());
    let heard = |(_, events): &(String, Vec<Value>)| {
        events.iter().filter(|event| event["kind"] == "control_received").count() == times
    };
    wait_until("both branches have taken it in", PATIENCE, || {
        journals(env).iter().filter(|journal| heard(journal)).count() == 2
    });
}

#[test]
fn the_first_ctrl_c_lets_the_sessions_of_all_branches_end_and_begins_no_other_branch() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", ""), ("three", "")]));
    agent(&mut env, WAITS);
    let running = env.start(&["loop", "build", "-j", "2"]);
    for branch in ["one", "two"] {
        wait_for(&env, &format!("agent/there.{branch}"));
    }
    ctrl_c(&env, &running, 1);
    let page = env.ralph(&["status"]).success();
    has(&page, &format!("Stopping after these sessions (pid {})", running.id()));
    has(&page, "  one  stopping after this session  0 of 1 tasks done");
    touch(&env, "agent/go");
    let text = output_of(Ran::end_of(running), 130);
    has(&text, "Stopping after this session. Press Ctrl-C again to kill it.");
    assert_eq!([stops(&env, "one"), stops(&env, "two")], [["cancelled"], ["cancelled"]]);
    has(&text, "  one    Cancelled  1/1 tasks");
    has(&text, "  three  Cancelled  0/1 tasks");
    assert!(!worktree(&env, "three").exists());
    output_of(env.ralph(&["loop"]), 0);
}

#[test]
fn s4_15_the_third_ctrl_c_kills_in_all_branches() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(
        &mut env,
        "trap 'touch $here/asked.$b' INT TERM; works; touch $here/there.$b; while :; do sleep 0.05; done",
    );
    let running = env.start(&["loop", "build", "--set", "agent.grace=60s"]);
    for branch in ["one", "two"] {
        wait_for(&env, &format!("agent/there.{branch}"));
    }
    ctrl_c(&env, &running, 1);
    assert!(!env.note("agent/asked.one").exists(), "the first waits for the sessions");
    ctrl_c(&env, &running, 2);
    for branch in ["one", "two"] {
        wait_for(&env, &format!("agent/asked.{branch}"));
    }
    send_signal("INT", running.id());
    output_of(Ran::end_of(running), 130);
    assert_eq!([stops(&env, "one"), stops(&env, "two")], [["cancelled"], ["cancelled"]]);
}

#[test]
fn a_pause_holds_every_branch_until_it_is_resumed() {
    let mut env = with_plan(TWO);
    let here = agent(&mut env, WAITS);
    let running = env.start(&["loop", "build"]);
    wait_for(&env, "agent/there.one");
    wait_for(&env, "agent/there.two");
    env.ralph(&["pause"]).success();
    touch(&env, "agent/go");
    let ended = || {
        let done = |(_, events): &(String, Vec<Value>)| {
            events.iter().any(|event| event["kind"] == "iteration_ended")
        };
        journals(&env).iter().filter(|journal| done(journal)).count()
    };
    wait_until("both iterations end", PATIENCE, || ended() == 2);
    assert_eq!(note(&here, "order").lines().count(), 2);
    env.ralph(&["resume"]).success();
    output_of(Ran::end_of(running), 0);
    assert_eq!(ticks(&env).len(), 4);
}

#[test]
fn a_worktree_is_set_up_once_and_again_after_a_failure() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    let config = "[git.worktree]\nsetup = \"echo setting-up; echo x >> ../../../notes/agent/set-up; test -e ../../../notes/agent/ready\"\n";
    env.write("ralph.toml", config);
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &["--branch", "one"]), 1);
    has(&text, "git.worktree.setup exited with code 1; see ");
    assert_eq!(note(&here, "order"), "", "no session in a worktree that is not ready");
    let log = text.split("see ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(std::fs::read_to_string(log).unwrap(), "setting-up\n");
    touch(&env, "agent/ready");
    output_of(build(&env, &["--branch", "one", "--max", "1"]), 0);
    output_of(build(&env, &[]), 0);
    assert_eq!(note(&here, "set-up").lines().count(), 3, "one failed, then once for each");
}

#[test]
fn worktrees_stay_until_their_branch_is_merged_or_as_it_is_set() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(&mut env, COMMITS);
    output_of(build(&env, &[]), 0);
    env.git(&["commit", "--quiet", "-am", "ticks"]);
    env.git(&["merge", "--quiet", "--no-edit", "one"]);
    let text = output_of(build(&env, &[]), 0);
    has(&text, "one is merged: ralph removed its worktree");
    assert!(!worktree(&env, "one").exists() && worktree(&env, "two").exists());
    assert_eq!(env.git(&["branch", "--list", "one"]).trim(), "one", "the branch stays");
    for (keep, stays) in [("never", false), ("always", true)] {
        let mut env = with_plan(&branches(&[("one", "")]));
        agent(&mut env, COMMITS);
        let set = format!("git.worktree.keep={keep}");
        output_of(build(&env, &["--set", &set]), 0);
        assert_eq!(worktree(&env, "one").exists(), stays, "{keep}");
        env.git(&["merge", "--quiet", "one"]);
        output_of(build(&env, &["--set", &set]), 0);
        assert_eq!(worktree(&env, "one").exists(), stays, "{keep}");
    }
}

#[test]
fn what_is_dirty_in_the_main_worktree_is_left_alone_and_the_plan_on_disk_counts() {
    let mut env = with_plan("nothing yet\n");
    env.write(PLAN, branches(&[("one", "")]));
    env.write("README.md", "My draft.\n");
    env.write("scratch.txt", "mine\n");
    agent(&mut env, COMMITS);
    output_of(build(&env, &[]), 0);
    assert_eq!(changed(&env, "one"), ["Work-on-one.txt"]);
    assert_eq!(std::fs::read_to_string(env.repo().join("README.md")).unwrap(), "My draft.\n");
    let status = env.git(&["status", "--porcelain"]);
    assert_eq!(status, " M IMPLEMENTATION_PLAN.md\n M README.md\n?? scratch.txt\n");
    has(&env.git(&["show", &format!("one:{PLAN}")]), "nothing yet");
}

#[test]
fn from_the_worktree_of_a_branch_the_main_one_is_named() {
    let mut env = with_plan(&branches(&[("one", "")]));
    agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    let here = worktree(&env, "one").display().to_string();
    let text = env.ralph(&["-C", &here, "loop", "build"]).failure(1);
    has(&text, "ralph works on branches from there");
    has(&text, &format!("ralph -C {} loop build", env.repo().canonicalize().unwrap().display()));
}

#[test]
fn a_branch_that_begins_while_the_others_are_paused_waits_too() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    let here = agent(&mut env, WAITS);
    let running = env.start(&["loop", "build", "--sequential"]);
    wait_for(&env, "agent/there.one");
    env.ralph(&["pause"]).success();
    touch(&env, "agent/go");
    let paused = |(target, events): &(String, Vec<Value>)| {
        target == "two" && events.iter().any(|event| event["kind"] == "wait_started")
    };
    wait_until("two waits", PATIENCE, || journals(&env).iter().any(paused));
    has_not(&note(&here, "order"), "two");
    env.ralph(&["resume"]).success();
    output_of(Ran::end_of(running), 0);
    assert_eq!(ticks(&env).len(), 2);
}

#[test]
fn a_task_that_is_skipped_is_ended_on_its_branch_and_the_other_goes_on() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(
        &mut env,
        "works; echo $id > $here/id.$b; touch $here/there.$b
test $b = one && sleep 60; until test -e $here/go; do sleep 0.02; done; done_",
    );
    let running = env.start(&["loop", "build"]);
    wait_for(&env, "agent/there.one");
    wait_for(&env, "agent/there.two");
    let id = note(&env.note("agent"), "id.one");
    env.ralph(&["skip", id.trim()]).success();
    touch(&env, "agent/go");
    output_of(Ran::end_of(running), 7);
    assert_eq!([stops(&env, "one"), stops(&env, "two")], [["blocked"], ["complete"]]);
    let text = env.ralph(&["logs"]).failure(1);
    has(&text, "see the run of a branch: ralph -C ");
}
