//! What a retry is told of the attempts before it, which model it gets, and when a person is asked.

use super::*;

/// A project whose gate prints what `said.txt` holds, and is red while it holds something.
fn judged() -> TestEnv {
    let env = project(&["a"]);
    env.write("said.txt", "nothing yet\n");
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"test\"\ncommand = \"cat said.txt; test ! -s said.txt\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    env
}

/// A session after which the gate prints this.
fn leads_to(text: &str, words: &str) -> String {
    let words = format!("{words} <task-done>{{id}}</task-done>");
    session(&[write("said.txt", text), say(&words)])
}

/// The models that the sessions of the newest run were started with.
fn models(env: &TestEnv) -> Vec<String> {
    let journal = journal(env);
    let started = of_kind(&journal, "iteration_started");
    started.iter().map(|event| event["model"].as_str().unwrap_or("-").to_owned()).collect()
}

/// A strategy that no failure changes by itself: the largest model first, then the middle one.
const PLAN: [&str; 2] = ["--model-strategy", "plan-then-execute"];

#[test]
fn the_same_failure_twice_gets_the_next_larger_model() {
    let env = judged();
    let red = |took: &str| leads_to(&format!("test sums ... FAILED\ntook {took}\n"), "I tried.");
    let green = leads_to("", "Done.");
    let ran = build(&env, &[&red("1s"), &red("22ms"), &red("3s"), &green], &PLAN);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert_eq!(models(&env), ["opus", "sonnet", "opus", "opus"]);
    let output = "this model instead of sonnet, after the same failure 2 times";
    assert!(ran.stderr.contains(output), "{}", ran.stderr);
    let log = env.task(&["log", "a"]);
    assert!(log.contains("model opus instead of sonnet after the same failure 2 times"), "{log}");
    let journal = journal(&env);
    let started = of_kind(&journal, "iteration_started");
    assert_eq!((started[1].get("raised"), started[2]["raised"].as_u64()), (None, Some(2)));
    let attempts = show(&env, "a")["attempts"].clone();
    assert_eq!(attempts[0]["end"]["fingerprint"], "test: sums");
    assert_eq!(attempts[3]["end"]["fingerprint"], Value::Null);
    assert_eq!(attempts[0]["end"]["said"], "I tried. <task-done>a</task-done>");
    let changed = &attempts[0]["end"]["changed"]["files"][0];
    assert_eq!((changed["path"].as_str(), changed["added"].as_u64()), (Some("said.txt"), Some(2)));
}

#[test]
fn five_equal_failures_where_the_agent_picks_wait_for_you() {
    let env = judged();
    let red = session(&[
        sh("ralph task claim a"),
        write("said.txt", "test sums ... FAILED\n"),
        sh("ralph task done a"),
        say("I tried."),
    ]);
    let ran = build(&env, &[&*red; 6], &["--preset", "pick"]);
    assert_eq!((classes(&env).len(), status(&env, "a").as_str()), (5, "waiting"), "{}", ran.stderr);
    let output =
        "failed 5 times in the same way: gate test failed (exit code 1): Failing tests: sums";
    assert!(env.task(&["log", "a"]).contains(output));
    let page = env.ralph(&["status"]).success();
    assert!(page.contains(&format!("Waiting for you\n  a\n    {output}\n")), "{page}");
    assert!(env.task(&["show", "a"]).contains(&format!("\n  why           {output}\n")));
    // Put back by a person, it is counted anew.
    env.task(&["reset", "a"]);
    build(&env, &[&*red; 2], &["--preset", "pick", "--max-iterations", "2"]);
    assert_eq!(status(&env, "a"), "open");
}
