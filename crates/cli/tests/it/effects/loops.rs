//! Settings about the loop: who picks, when it ends, what it may cost.

use super::*;

#[test]
fn who_picks_is_a_setting_and_the_presets_affair() {
    for setting in ["loop.pick=agent", "preset=pick"] {
        let mut env = project(&["a", "b"]);
        let body = "ralph task claim b; echo x > x; ralph task done b; result ok";
        let here = stand_in(&mut env, body);
        env.ralph(&["build", "--once", "--set", setting]).success();
        assert_eq!((status(&env, "a").as_str(), status(&env, "b").as_str()), ("open", "done"));
        assert!(argv(&here, 1).join(" ").contains("## Task b\n"), "{setting}: it has a choice");
    }
}

#[test]
fn what_happens_when_the_retries_are_used_up_is_a_setting() {
    for (setting, code, sessions) in [
        ("loop.on_exhausted=fail", 0, 2),
        ("loop.on_exhausted=stop", 3, 1),
        ("loop.on_exhausted=never", 0, 4),
    ] {
        let mut env = project(&["a", "b"]);
        env.set("RALPH_LOOP_MAX_RETRIES", "0");
        env.write("ralph.toml", "[[gate]]\nname = \"never\"\ncommand = \"false\"\n");
        let extra = ["--set", setting, "4"];
        let red = works();
        let ran = build(&env, &[&red, &red, &red, &red, &red], &extra);
        assert_eq!((ran.code, classes(&env).len()), (code, sessions), "{setting}: {}", ran.stderr);
    }
}

#[test]
fn the_words_that_end_a_plan_and_a_build_are_settings() {
    let env = project(&[]);
    let drafts =
        session(&[write("implementation_plan.md", "- [ ] x\n"), say("<promise>FINE</promise>")]);
    cassette(&env, &[&drafts, &drafts]);
    let mut plan = arguments(&["--set", "completion.plan_promises=[\"FINE\"]"]);
    plan[0] = "plan";
    env.ralph(&plan).success();
    assert_eq!((stop(&env), classes(&env).len()), ("marker".into(), 1));
    let changes = session(&[write("x", "x"), say("<promise>ENOUGH</promise>")]);
    build(&env, &[&changes, &changes], &["--set", "completion.build_promises=[\"ENOUGH\"]"]);
    assert_eq!((stop(&env), classes(&env).len()), ("marker".into(), 1));
}

/// Why the newest run stopped.
fn stop(env: &TestEnv) -> String {
    let journal = journal(env);
    of_kind(&journal, "run_ended")[0]["outcome"]["reason"]["stop"].as_str().unwrap().to_owned()
}

#[test]
fn money_and_time_of_a_run_have_limits_in_the_settings() {
    let slow = session(&[
        "{\"do\":\"usage\",\"input\":10,\"output\":10,\"usd\":0.3}".to_owned(),
        sh("sleep 0.4"),
        works(),
    ]);
    for setting in ["budget.usd=0.2", "budget.time=300ms"] {
        let env = project(&["a", "b"]);
        let ran = build(&env, &[&slow, &slow], &["--set", setting]);
        assert_eq!((ran.code, stop(&env).as_str()), (8, "budget"), "{setting}: {}", ran.stderr);
        assert_eq!((status(&env, "a").as_str(), status(&env, "b").as_str()), ("done", "open"));
    }
}

#[test]
fn verifying_and_learning_are_settings() {
    let mut env = project(&["a", "b"]);
    env.with_verifier();
    let passes = only_says("<verify-pass/>");
    for (verify, learn, sessions) in [("false", true, 1), ("true", false, 2)] {
        let set = format!("loop.verify={verify}");
        let learns = format!("loop.learn={learn}");
        build(&env, &[&works(), &passes], &["--once", "--set", &set, "--set", &learns]).success();
        assert_eq!(of_kind(&journal(&env), "session_started").len(), sessions, "{set}");
        let text = run_file(&env, "iteration-001.system.md");
        assert_eq!(text.contains("## Learning"), learn, "{text}");
    }
}
