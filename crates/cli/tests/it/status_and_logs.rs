//! `ralph status`, `ralph logs` and bare `ralph`: looking at a run, during it and after it.

use std::process::Child;
use std::time::Duration;

use ralph_testkit::{Ran, TestEnv, send_signal, wait_until};
use serde_json::Value;

use crate::{RALPH, env};

const LONG: Duration = Duration::from_secs(30);

/// A repository with tasks `a` and `b` and an agent that plays this.
fn plan(cassette: &str) -> TestEnv {
    let env = env();
    for (name, value) in [("user.name", "tester"), ("user.email", "tester@localhost")] {
        env.git(&["config", name, value]);
    }
    let path = env.folder().join("cassette.jsonl");
    std::fs::write(&path, cassette).unwrap();
    let user = env.home().join(".config/ralph");
    std::fs::create_dir_all(&user).unwrap();
    let program = format!("[agent.script]\npath = {path:?}\n");
    std::fs::write(user.join("config.toml"), program).unwrap();
    let gate = "[[gate]]\nname = \"check\"\ncommand = \"test ! -e bad\"\n";
    env.write("ralph.toml", format!("[agent]\nname = \"script\"\n{gate}"));
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message", "Start"]);
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["add", "Second", "--id", "b", "--deps", "a"]);
    env
}

const GOOD: &str = r#"{"do":"session"}
{"do":"think","text":"What is wanted?"}
{"do":"write","path":"bad","text":"x"}
{"do":"usage","input":1000,"output":50,"usd":0.01}
{"do":"say","text":"Here. <task-done>{id}</task-done>"}
{"do":"session"}
{"do":"run","argv":["rm","bad"]}
{"do":"write","path":"good","text":"x"}
{"do":"usage","input":1000,"output":50,"usd":0.01}
{"do":"say","text":"Mended. <task-done>{id}</task-done>"}
{"do":"session"}
{"do":"usage","input":1000,"output":50,"usd":0.01}
{"do":"say","text":"Which one? <question>Red or blue?</question>"}
"#;

/// The second session waits for somebody to end it.
const HANGING: &str = r#"{"do":"session"}
{"do":"write","path":"good","text":"x"}
{"do":"say","text":"Here. <task-done>{id}</task-done>"}
{"do":"session"}
{"do":"say","text":"I think about it."}
{"do":"hang"}
"#;

fn json(env: &TestEnv) -> Value {
    ralph_testkit::data(&env.ralph(&["status", "--json"]).success())
}

/// Starts a run whose second session hangs.
fn hanging() -> (TestEnv, Child) {
    let env = plan(HANGING);
    let run = env.start(&["build"]);
    wait_until("the second session works", LONG, || {
        let page = json(&env);
        page["run"]["slots"][0]["doing"] == "working" && page["run"]["slots"][0]["iteration"] == 2
    });
    // The words of a session that is still at work are in its file at once.
    let mut folders = std::fs::read_dir(env.repo().join(".ralph/logs")).unwrap();
    let folder = folders.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()));
    let raw = folder.unwrap().join("iteration-002.ndjson");
    wait_until("the agent's words are there", LONG, || {
        std::fs::read_to_string(&raw).unwrap_or_default().contains("I think about it.")
    });
    (env, run)
}

#[test]
fn bare_ralph_leads_from_nothing_to_a_run_and_to_an_answer() {
    let nowhere = TestEnv::without_repository(RALPH);
    assert!(nowhere.ralph(&[]).success().contains("git init"));
    let fresh = env();
    let text = fresh.ralph(&[]).success();
    assert!(
        text.starts_with("nothing has run here yet\n  plan       no tasks\n\n  ralph init "),
        "{text}"
    );
    assert!(text.contains("  ralph task add \"What to do\"  ") && text.contains("ralph demo"));
    assert!(text.contains("  ralph plan "), "{text}");
    assert_eq!(std::fs::read_dir(fresh.repo()).unwrap().count(), 1, "looking wrote something");
    fresh.write("implementation_plan.md", "- [ ] Something\n");
    let text = fresh.ralph(&[]).success();
    assert!(text.contains("  ralph build  work through the plan file"), "{text}");

    let env = plan(GOOD);
    let text = env.ralph(&[]).success();
    assert!(
        text.starts_with("nothing has run here yet\n  plan       0 of 2 done, 1 blocked\n"),
        "{text}"
    );
    assert!(text.contains("\n\n  ralph build "), "{text}");
    assert_eq!(env.ralph(&["build"]).code, 7);
    let text = env.ralph(&[]).success();
    assert!(
        text.starts_with("Stopped: nothing is ready") && text.contains("\n\n  ralph answer q-"),
        "{text}"
    );
    let question = text.split("ralph answer ").nth(1).unwrap().split(' ').next().unwrap();
    env.ralph(&["answer", question, "Blue."]).success();
    assert!(env.ralph(&[]).success().contains("\n\n  ralph build "));
}

#[test]
fn a_finished_run_is_reported_on_a_page_and_as_json() {
    let env = plan(GOOD);
    assert_eq!(env.ralph(&["build"]).code, 7);
    let text = env.ralph(&["status"]).success();
    for part in [
        "Stopped: nothing is ready, and tasks remain: 1 waiting for you (ralph answer, ralph retry ID).\n",
        "  run        build all tasks, dag with script, 3 of 20 iterations ended\n",
        "  plan       1 of 2 done, 1 waiting for you\n",
        "  cost       $0.03 (3k tokens in, 150 out)\n",
        "  sandbox    ",
        "  last error a: gate check failed (exit code 1)\n",
        "\nQuestions\n  b  asks\n    Red or blue?\n    ralph answer q-",
        "\nRecent commits\n",
        "  build: iteration 2 - First\n",
        "\nNext: ralph answer q-",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let page = json(&env);
    assert_eq!(page["state"], "stopped");
    assert_eq!((&page["counts"]["done"], &page["counts"]["waiting"]), (&1.into(), &1.into()));
    assert_eq!(page["run"]["outcome"]["reason"]["stop"], "blocked");
    assert_eq!(page["questions"][0]["text"], "Red or blue?");
    assert_eq!(page["commits"].as_array().unwrap().len(), 2);
    let watched = env.ralph(&["status", "--watch"]);
    assert!(watched.stderr.contains("no run is active in this worktree"), "{}", watched.stderr);
    assert_eq!(watched.success(), text);
}

#[test]
fn the_logs_show_what_was_shown() {
    let env = plan(GOOD);
    let shown = env.ralph(&["build"]).stderr;
    assert_eq!(env.ralph(&["logs"]).success(), shown);
    let second = env.ralph(&["logs", "2"]).success();
    assert!(second.contains("── 2 ── a  First ") && second.contains("  Mended. <task-done>a"));
    assert!(!second.contains("── 1 ──") && !second.contains("Blocked"), "{second}");
    assert!(shown.contains(second.trim_end()), "{second}");
    let output = env.ralph(&["logs", "7"]).failure(1);
    assert!(output.contains("the newest run has no iteration 7; it has 1 to 3"), "{output}");
    assert_eq!(env.ralph(&["logs", "--replay"]).success(), shown);

    for at in ["--speed=max", "--from=100%", "--max-pause=1ms"] {
        assert_eq!(env.ralph(&["replay", at]).success(), shown, "{at}");
    }
    assert_eq!(env.ralph(&["replay", "2", "--speed", "max"]).success(), second);

    let lines = env.ralph(&["logs", "--json"]).success();
    let folder = std::fs::read_dir(env.repo().join(".ralph/logs")).unwrap();
    let folder = folder.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    assert_eq!(lines, std::fs::read_to_string(folder.join("events.jsonl")).unwrap());
    let of_third = env.ralph(&["logs", "3", "--json"]).success();
    assert!(of_third.lines().count() > 4 && lines.contains(&of_third), "{of_third}");
    let none = env.ralph(&["logs", "-f"]);
    assert!(none.stderr.contains("no run is active"), "{}", none.stderr);
    assert_eq!(none.success(), "");
}

#[test]
fn a_replay_in_json_has_the_output_of_agents_between_the_facts() {
    let env = plan(GOOD);
    assert_eq!(env.ralph(&["build"]).code, 7);
    let lines = env.ralph(&["replay", "--ui", "json", "--speed", "max"]).success();
    let (agents, facts): (Vec<&str>, Vec<&str>) =
        lines.lines().partition(|line| line.contains(r#""kind":"agent""#));
    let journal = env.ralph(&["logs", "--json"]).success();
    assert_eq!(facts, journal.lines().collect::<Vec<_>>());
    let times: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["at"].clone())
        .collect();
    assert!(!agents.is_empty() && times.is_sorted_by(|a, b| a.as_str() <= b.as_str()), "{lines}");
    for (call, code, part) in [
        (&["replay", "--from", "9"][..], 1, "no such iteration; its last one is 3"),
        (&["replay", "--from", "99h"], 1, "that is after the end of the run"),
        (&["replay", "--from", "soon"], 64, "it must be an iteration (12)"),
        (&["replay", "--speed", "0"], 64, "a number from 0.25 to 1000, or max"),
        (&["replay", "--max-pause", "2"], 64, "a length of time"),
    ] {
        let output = env.ralph(call).failure(code);
        assert!(output.contains(part), "{call:?}: {output}");
    }
}

/// What a bug report needs, without secrets, in an archive that tar reads.
#[test]
fn a_bundle_has_no_secret_and_is_never_overwritten() {
    const SECRET: &str = "hunter2-Hunter3/hunter4";
    let env = plan(GOOD);
    assert_eq!(env.ralph(&["build"]).code, 7);
    let logs = env.repo().join(".ralph/logs");
    let mut folder = std::fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path());
    let folder = folder.find(|path| path.is_dir()).unwrap();
    // As if it had come into the files of the run: the variable was not set then.
    let mut journal = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let notice = r#"{"v":1,"run":"RUN","seq":999,"at":"2026-11-15T06:56:13Z","kind":"noticed","notice":"other","text":"SECRET HOME/x"}"#;
    let run: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let run = run["run"].as_str().unwrap().to_owned();
    let home = env.home().display().to_string();
    let notice = notice.replace("RUN", &run).replace("SECRET", SECRET).replace("HOME", &home);
    journal.push_str(&format!("{notice}\n"));
    std::fs::write(folder.join("events.jsonl"), journal).unwrap();

    let bundle = |arguments: &[&str]| {
        let mut call = env.command(&[&["bundle"], arguments].concat());
        Ran::of(&["bundle"], call.env("MY_API_TOKEN", SECRET).output().unwrap())
    };
    let ran = bundle(&[]);
    let name = format!("ralph-bundle-{run}.tar.gz");
    assert!(ran.stderr.contains("Look at it before you send it"), "{}", ran.stderr);
    let output = ran.success();
    for part in [
        "events.jsonl",
        "session.log",
        "settings.txt",
        "machine.txt",
        "Left out",
        "iteration-001",
        &name,
    ] {
        assert!(output.contains(part), "{part}\n{output}");
    }
    let exists = bundle(&[]).failure(1);
    assert!(exists.contains("exists") && exists.contains("--force"), "{exists}");
    bundle(&["--force"]).success();
    bundle(&["--with-logs", "-o", "all.tar.gz"]).success();
    for (file, raw) in [(name.as_str(), false), ("all.tar.gz", true)] {
        let tar = |option: &str| {
            let mut call = std::process::Command::new("tar");
            let ran = call.args([option, file]).current_dir(env.repo()).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap()
        };
        let listed = tar("-tzf");
        assert!(listed.contains(&format!("ralph-bundle-{run}/events.jsonl\n")), "{listed}");
        assert_eq!(listed.contains("/iteration-001.ndjson\n"), raw, "{listed}");
        let text = tar("-xzOf");
        assert!(text.contains("[redacted] ~/x") && text.contains("loop.max_retries"), "{text}");
        assert!(!text.contains("hunter4") && !text.contains(&format!("{home}/")), "{text}");
    }
}

#[test]
fn without_a_run_there_are_no_logs_and_that_is_reported() {
    let env = env();
    let output = env.ralph(&["logs"]).failure(1);
    assert!(
        output.contains("no run has written a log here") && output.contains("ralph build"),
        "{output}"
    );
    assert!(env.ralph(&["logs", "-f", "--replay"]).code == 64);
    assert!(env.ralph(&["status"]).success().starts_with("nothing has run here yet\n"));
}

/// Another terminal sees the same as the first, and both end together.
#[test]
fn a_running_loop_is_watched_and_followed_until_it_ends() {
    let (env, run) = hanging();
    let text = env.ralph(&["status"]).success();
    assert!(text.starts_with(&format!("running (pid {})\n", run.id())), "{text}");
    for part in ["  now        iteration 2: b Second\n", "ralph status --watch", "ralph logs -f"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(env.ralph(&[]).success().contains("  now        iteration 2: b Second\n"));
    let watch = env.start(&["status", "--watch"]);
    let lines = env.start(&["status", "--watch", "--json"]);
    let follow = env.start(&["logs", "-f"]);
    let journal = env.start(&["logs", "-f", "--json"]);
    assert!(env.ralph(&["logs", "2"]).success().contains("  I think about it.\n"));
    env.ralph(&["pause"]).success();
    wait_until("it is paused", LONG, || json(&env)["run"]["paused"] == true);
    assert!(env.ralph(&["status"]).success().starts_with("paused (pid "));
    env.ralph(&["cancel", "--now"]).success();
    let shown = Ran::end_of(run);
    assert_eq!(shown.code, 130, "{}", shown.stderr);

    let page = Ran::end_of(watch).success();
    assert!(page.starts_with("running (pid ") || page.starts_with("paused (pid "), "{page}");
    assert!(page.contains("\nStopped: cancelled. ralph build continues it\n"), "{page}");
    let pages = Ran::end_of(lines).success();
    let pages: Vec<Value> = pages.lines().map(ralph_testkit::data).collect();
    assert_eq!(pages.last().unwrap()["state"], "interrupted");
    assert_eq!(pages.first().unwrap()["state"], "running");
    let followed = Ran::end_of(follow).success();
    for part in ["ralph build  all tasks\n", "  I think about it.\n", "· Stopped: cancelled.\n"] {
        assert!(followed.contains(part), "{part}\n{followed}");
    }
    assert_eq!(Ran::end_of(journal).success(), env.ralph(&["logs", "--json"]).success());
}

#[test]
fn a_run_that_was_killed_is_interrupted_and_goes_on() {
    let (env, run) = hanging();
    send_signal("KILL", run.id());
    Ran::end_of(run);
    let text = env.ralph(&["status"]).success();
    assert!(text.starts_with("interrupted: ralph build continues it\n"), "{text}");
    assert!(text.contains("\nNext: ralph build\n") && !text.contains("  now "), "{text}");
    assert_eq!(json(&env)["state"], "interrupted");
    let bare = env.ralph(&[]).success();
    assert!(bare.contains("  ralph build  resume the run\n"), "{bare}");
    let logs = env.ralph(&["logs"]).success();
    assert!(logs.contains("  I think about it.\n"), "{logs}");
}

/// A limit gives an iteration a second session: each has its own raw log, and neither is shown twice.
#[test]
fn the_words_of_two_sessions_of_one_iteration_stay_apart() {
    let env = plan(
        r#"{"do":"session"}
{"do":"say","text":"Before the limit."}
{"do":"limit","reset_in":"1ms"}
{"do":"session"}
{"do":"write","path":"good","text":"x"}
{"do":"say","text":"After the limit. <task-done>{id}</task-done>"}
"#,
    );
    let shown = env.ralph(&["build", "--task", "a"]);
    let text = env.ralph(&["logs"]).success();
    for words in ["Before the limit.", "After the limit."] {
        assert_eq!(shown.stderr.matches(words).count(), 1, "{}", shown.stderr);
        assert_eq!(text.matches(words).count(), 1, "{text}");
    }
    assert!(text.contains("iteration-001.ndjson\n") && text.contains("iteration-001-2.ndjson\n"));
    assert_eq!(text, shown.stderr);
}

/// A template is told about the project, not only about the task.
#[test]
fn a_template_knows_the_test_command_and_the_feature() {
    let env = plan(GOOD);
    env.write("AGENTS.md", "```sh\nTEST_COMMAND=\"make check\"\n```\n");
    env.write("PROMPT_build.md", "Run {{ test_command }} for {{ feature }} ({{ task_id }}).\n");
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["update", "a", "--feature", "login"]);
    env.ralph(&["build", "--once"]).success();
    let mut folders = std::fs::read_dir(env.repo().join(".ralph/logs")).unwrap();
    let folder = folders.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()));
    let text = std::fs::read_to_string(folder.unwrap().join("iteration-001.system.md")).unwrap();
    assert!(text.starts_with("Run make check for login (a).\n"), "{text}");
}
