//! The flags of commands that start sessions, given to each of these commands.

use super::*;

/// A repository in which this command has something to do, and a stand-in for Claude Code that does this.
fn ready(command: &[&str], body: &str) -> (TestEnv, PathBuf) {
    let mut env = project(&["a"]);
    env.write("ask.md", "Look around.\n");
    env.write("own.md", "MY OWN RULES\n");
    match command[0] {
        "loop" => {
            let plan = "## Branch: one\nGoal: Words\n\n- [ ] Write a\n";
            env.write("IMPLEMENTATION_PLAN.md", plan);
        }
        "feature" => {
            env.ralph(&["feature", "create", "login"]).success();
            let write =
                |name: &str| env.write(&format!(".ralph/features/login/{name}"), "By mail.\n");
            write("spec.md");
            if command.contains(&"build") {
                write("plan.md");
            }
        }
        _ => {}
    }
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "ready"]);
    let here = stand_in(&mut env, &format!("input > $here/stdin.$n\n{body}"));
    (env, here)
}

fn call(env: &TestEnv, command: &[&str], flags: &[&str]) -> Ran {
    env.ralph(&[command, flags].concat())
}

/// Everything that a session was told.
fn input_of(here: &Path, session: u32) -> String {
    let stdin = std::fs::read_to_string(here.join(format!("stdin.{session}"))).unwrap();
    argv(here, session).join("\n") + &stdin
}

/// The files of the repository decide nothing any more before the user says so.
fn distrust(env: &TestEnv) {
    let settings = env.repo().join("ralph.toml");
    if !settings.exists() {
        std::fs::write(settings, "[logs]\nraw = true\n").unwrap();
    }
    env.ralph(&["trust", "--revoke"]).success();
}

/// A command that starts sessions takes these flags, and they reach the session or end it.
fn takes_the_flags_of_a_session(command: &[&str]) {
    let outside = |env: &TestEnv| env.folder().join("outside");
    let body = "touch ${here%/notes/*}/outside; result hm";
    let (mut env, here) = ready(command, body);
    env.set("RALPH_AGENT_NAME", "script");
    let flags = ["--agent", "claude", "--model", "opus", "--sandbox", "none", "--ui", "json"];
    let more = ["--budget", "0.005", "--allow", "Read Grep"];
    let ran = call(&env, command, &[&flags[..], &more].concat());
    assert_eq!((ran.code, sessions_of(&here)), (8, 1), "{}{}", ran.stdout, ran.stderr);
    let words = argv(&here, 1);
    assert!(words.windows(2).any(|pair| pair == ["--model", "opus"]), "{words:?}");
    let tools = ["--allowed-tools", "Read", "Grep"];
    assert!(words.windows(3).any(|three| three == tools), "{words:?}");
    assert!(outside(&env).exists(), "{}", ran.stderr);
    let events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    assert!(events.into_iter().any(|event| event["kind"] == "run_started"), "{}", ran.stdout);

    let (env, here) = ready(command, "touch ${here%/notes/*}/outside; init; exec sleep 30");
    distrust(&env);
    let flags = ["--no-sandbox", "--timeout", "300ms", "--set", "loop.max_consecutive_errors=1"];
    let ran = call(&env, command, &flags);
    assert_eq!((ran.code, sessions_of(&here)), (1, 0), "{}", ran.stderr);
    let ran = call(&env, command, &[&flags[..], &["--trust"]].concat());
    assert_eq!((ran.code, sessions_of(&here)), (4, 1), "{}", ran.stderr);
    assert_eq!(classes(&env), ["timeout"], "{}", ran.stderr);
    assert!(outside(&env).exists(), "{}", ran.stderr);
}

#[test]
fn build_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["build"]);
}

#[test]
fn run_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["run"]);
}

#[test]
fn loop_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["loop", "build"]);
    takes_the_flags_of_a_session(&["loop", "plan"]);
}

#[test]
fn plan_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["plan"]);
}

#[test]
fn feature_create_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["feature", "create", "shop", "--interview", "Sell"]);
}

#[test]
fn feature_plan_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["feature", "plan", "login"]);
}

#[test]
fn feature_build_takes_the_flags_of_a_session() {
    takes_the_flags_of_a_session(&["feature", "build", "login"]);
}

/// A session that is red: where a task is worked on because of the gate, elsewhere because it crashes.
const RED: &str = r#"test -n "$RALPH_TASK_ID" || exit 3
echo x > x.txt; result "<task-done>$RALPH_TASK_ID</task-done>""#;

/// A command that works in sessions until something ends it takes these flags.
fn takes_the_limits_of_a_loop(command: &[&str]) {
    let idles = "result hm";
    let (env, here) = ready(command, idles);
    let ran = call(&env, command, &["--once", "--strict-exit"]);
    assert_eq!((ran.code, sessions_of(&here)), (9, 1), "{}", ran.stderr);
    let ran = call(&env, command, &["--max-iterations", "1"]);
    assert_eq!((ran.code, sessions_of(&here)), (0, 2), "{}", ran.stderr);
    let (env, here) = ready(command, idles);
    let ran = call(&env, command, &["--unlimited", "--set", "loop.max_iterations=1"]);
    assert!(sessions_of(&here) > 1, "{}", ran.stderr);

    let (env, here) = ready(command, RED);
    env.write("ralph.toml", "[[gate]]\nname = \"never\"\ncommand = \"false\"\n");
    let ran = call(&env, command, &["--max-retries", "0"]);
    assert_eq!(sessions_of(&here), 1, "{}", ran.stderr);

    let (env, here) = ready(command, idles);
    let flags = ["--once", "--prompt", "own.md", "--model-strategy", "plan-then-execute"];
    call(&env, command, &flags).success();
    let words = argv(&here, 1);
    assert!(words.windows(2).any(|pair| pair == ["--model", "opus"]), "{words:?}");
    assert!(input_of(&here, 1).contains("MY OWN RULES"), "{}", input_of(&here, 1));

    for (flags, goes_on) in [(&["--once"][..], true), (&["--once", "--new"], false)] {
        let (mut env, _) = ready(command, idles);
        env.leaves_processes("its run is killed");
        let mut killed = env.command(&[command, &["--max-iterations", "5"]].concat());
        let output = killed.env("RALPH_TEST_CRASH", "iteration-ended").output().unwrap();
        assert_eq!(output.status.code(), None);
        let ran = call(&env, command, flags);
        assert_eq!(ran.stderr.contains("resumes"), goes_on, "{flags:?}: {}", ran.stderr);
    }
}

#[test]
fn build_takes_the_limits_of_a_loop() {
    takes_the_limits_of_a_loop(&["build"]);
}

#[test]
fn run_takes_the_limits_of_a_loop() {
    takes_the_limits_of_a_loop(&["run"]);
}

#[test]
fn loop_takes_the_limits_of_a_loop() {
    takes_the_limits_of_a_loop(&["loop", "build"]);
}

#[test]
fn loop_plan_takes_the_limits_of_a_loop() {
    takes_the_limits_of_a_loop(&["loop", "plan"]);
}

#[test]
fn plan_takes_the_limits_of_a_loop() {
    takes_the_limits_of_a_loop(&["plan"]);
}

/// The verifier and a session that does its task, whichever was started.
const JUDGED: &str = r#"case "$*" in
  *"verifier of a loop"*) result "<verify-pass/>" ;;
  *) echo x > x.txt; result "<task-done>$RALPH_TASK_ID</task-done>" ;;
esac"#;

/// A command that builds takes these flags.
fn takes_the_flags_of_a_build(command: &[&str]) {
    let (env, here) = ready(command, "result hm");
    let shown = call(&env, command, &["--dry-run"]).success();
    assert!(shown.contains("=== DRY RUN MODE ==="), "{shown}");
    assert_eq!(sessions_of(&here), 0);
    call(&env, command, &["--once", "--no-learn"]).success();
    assert!(!input_of(&here, 1).contains("## Learning"), "{}", input_of(&here, 1));
    call(&env, command, &["--once", "--learn", "--set", "loop.learn=false"]).success();
    assert!(input_of(&here, 2).contains("## Learning"), "{}", input_of(&here, 2));
    call(&env, command, &["--once", "--preset", "pick"]).success();
    assert!(input_of(&here, 3).contains("## Task a\n"), "{}", input_of(&here, 3));

    for (flag, sessions) in [("--verify", 2), ("--no-verify", 1)] {
        let (mut env, here) = ready(command, JUDGED);
        env.with_verifier().set("RALPH_LOOP_VERIFY", if sessions == 1 { "true" } else { "false" });
        let ran = call(&env, command, &["--once", flag]);
        assert_eq!((ran.code, sessions_of(&here)), (0, sessions), "{flag}: {}", ran.stderr);
    }
}

#[test]
fn build_takes_the_flags_of_a_build() {
    takes_the_flags_of_a_build(&["build"]);
}

#[test]
fn run_takes_the_flags_of_a_build() {
    takes_the_flags_of_a_build(&["run"]);
}

#[test]
fn loop_takes_the_flags_of_a_build() {
    takes_the_flags_of_a_build(&["loop", "build"]);
}

/// Two sessions at once meet; one at a time they do not.
const MEETS: &str = r#"touch $here/in.$RALPH_TASK_ID
for i in $(seq 40); do test -e $here/in.a -a -e $here/in.b && touch $here/met && break; sleep 0.02; done
rm $here/in.$RALPH_TASK_ID; echo x > $RALPH_TASK_ID.txt; result "<task-done>$RALPH_TASK_ID</task-done>""#;

#[test]
fn the_number_of_sessions_side_by_side_is_taken() {
    for (call, met) in [
        (&["run", "-j", "2"][..], true),
        (&["run", "--sequential"], false),
        (&["build", "--sequential"], false),
    ] {
        let (mut env, here) = ready(call, MEETS);
        env.task(&["add", "b", "--id", "b"]);
        env.set("RALPH_LOOP_JOBS", "2");
        let ran = env.ralph(call);
        assert_eq!((ran.code, here.join("met").exists()), (0, met), "{call:?}: {}", ran.stderr);
    }
}

#[test]
fn a_loop_takes_a_limit_for_each_branch() {
    let (env, here) = ready(&["loop"], "result hm");
    let ran = env.ralph(&["loop", "build", "--max", "1", "--strict-exit"]);
    assert_eq!((ran.code, sessions_of(&here)), (9, 1), "{}", ran.stderr);
}

#[test]
fn planning_branches_refuses_the_flags_of_building_them() {
    let (env, here) = ready(&["loop"], "result hm");
    for flags in [
        &["--dry-run"][..],
        &["--branch", "one"],
        &["-j", "2"],
        &["--sequential"],
        &["--preset", "dag"],
        &["--verify"],
        &["--no-verify"],
        &["--learn"],
        &["--no-learn"],
    ] {
        let output = env.ralph(&[&["loop", "plan"], flags].concat()).failure(64);
        assert!(output.contains(flags[0].trim_start_matches("-j")), "{output}");
        assert!(output.contains("ralph loop build"), "{output}");
    }
    assert_eq!(sessions_of(&here), 0);
}

#[test]
fn a_task_or_a_feature_is_refused_with_a_preset_that_works_on_a_file() {
    let (mut env, here) = ready(&["feature"], "result hm");
    env.write("implementation_plan.md", "- [ ] one\n");
    for target in [&["build", "--task", "a"][..], &["build", "--feature", "login"], &["run", "a"]] {
        for preset in ["checklist", "progress", "branches"] {
            let output = env.ralph(&[target, &["--preset", preset]].concat()).failure(64);
            assert!(output.contains("task database") && output.contains(preset), "{output}");
        }
    }
    env.set("RALPH_PRESET", "checklist");
    let output = env.ralph(&["build", "--task", "a"]).failure(1);
    assert!(output.contains("RALPH_PRESET") && output.contains("--preset dag"), "{output}");
    assert_eq!(sessions_of(&here), 0);
    env.ralph(&["build", "--task", "a", "--preset", "dag", "--once"]).success();
    assert_eq!(sessions_of(&here), 1);
}

#[test]
fn a_prompt_takes_the_flags_of_a_session() {
    let body =
        "touch ${here%/notes/*}/outside; test -e $here/slow && { init; exec sleep 30; }; result hm";
    let (mut env, here) = ready(&["prompt"], body);
    env.set("RALPH_AGENT_NAME", "script");
    let outside = env.folder().join("outside");
    let prompt = ["prompt", "ask.md", "--agent", "claude"];
    let flags = ["--model", "opus", "--sandbox", "none", "--ui", "json", "--allow", "Read"];
    let shown = env.ralph(&[&prompt[..], &flags].concat()).success();
    assert!(shown.starts_with('{') && outside.exists(), "{shown}");
    let words = argv(&here, 1);
    assert!(words.windows(2).any(|pair| pair == ["--model", "opus"]), "{words:?}");
    assert!(words.ends_with(&["--allowed-tools", "Read"].map(str::to_owned)), "{words:?}");
    std::fs::remove_file(&outside).unwrap();
    std::fs::write(here.join("slow"), "").unwrap();
    distrust(&env);
    let flags = ["--no-sandbox", "--timeout", "300ms"];
    let ran = env.ralph(&[&prompt[..], &flags].concat());
    assert_eq!((ran.code, outside.exists()), (1, false), "{}", ran.stderr);
    let ran = env.ralph(&[&prompt[..], &flags, &["--trust"]].concat());
    assert_eq!((ran.code, outside.exists()), (4, true), "{}", ran.stderr);
    assert_eq!(classes(&env), ["timeout"]);
    // One session cannot be stopped between sessions.
    env.ralph(&["prompt", "ask.md", "--budget", "1"]).failure(64);
}
