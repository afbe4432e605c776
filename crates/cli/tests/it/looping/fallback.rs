//! Another agent goes on while one is at its limit.

use super::*;

/// Claude Code at its usage limit, which resets in an hour.
const AT_LIMIT: &str = r#"echo half > half.txt
init
echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 3600))'}}'
echo '{"type":"result","subtype":"success","is_error":true,"result":"limit","api_error_status":429}'
exit 1"#;

#[test]
fn while_one_agent_is_at_its_limit_another_goes_on() {
    let mut env = project(&["a", "b"]);
    let here = stand_in(&mut env, AT_LIMIT);
    cassette(&env, &[&works(), &works()]);
    let settings = ["agent.fallback=[\"script\"]", "agent.script.path=../cassette.jsonl"];
    let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let call = |words: &[&'static str]| [words, &set].concat();
    let dry = env.ralph(&call(&["build", "--dry-run"])).success();
    assert!(dry.contains("\nAt a limit: script\n"), "{dry}");

    let ran = env.ralph(&call(&["build"]));
    assert!(ran.stderr.contains("claude, at a limit script"), "{}", ran.stderr);
    let line =
        ran.stderr.lines().find(|line| line.contains("works instead of")).unwrap_or_default();
    assert!(
        line.contains("script works instead of claude (usage limit), until "),
        "{}",
        ran.stderr
    );
    ran.success();
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "done".into()));
    assert_eq!(sessions_of(&here), 1, "until the reset ralph leaves claude alone");
    assert_eq!(classes(&env), ["usage_window", "done", "done"]);
    assert!(
        env.repo().join("half.txt").is_file(),
        "its unfinished work is in that of the next one"
    );

    let journal = journal(&env);
    let switched = of_kind(&journal, "agent_switched");
    assert_eq!((&switched[0]["from"], &switched[0]["to"]), (&"claude".into(), &"script".into()));
    assert_eq!(switched[0]["limit"]["reset_known"], true);
    let shown = show(&env, "a");
    let programs: Vec<&Value> =
        shown["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["program"]).collect();
    assert_eq!(programs, ["claude", "script"]);
    assert!(env.task(&["show", "a"]).contains("script"), "{}", env.task(&["show", "a"]));
    // The logs of each session are read as its agent wrote them.
    let logs = env.ralph(&["logs"]).success();
    assert!(logs.contains("works instead of claude"), "{logs}");
}

#[test]
fn a_missing_agent_of_the_fallback_list_stops_the_run_before_it_begins() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, "exit 1");
    let set = "agent.fallback=[\"script\"]";
    let output = env.ralph(&["build", "--set", set]).failure(1);
    assert!(output.contains("the agent `script` has no cassette to play"), "{output}");
    assert_eq!(sessions_of(&here), 0);
}
