//! Settings about the agent: which program, what it is called with, what it is told, and when it is ended.

use super::*;

/// A session that does its task.
const WORKS: &str =
    r#"input > $here/stdin.$n; echo x > x.$n; result "<task-done>$RALPH_TASK_ID</task-done>""#;

/// Runs `ralph build` with the stand-in for Claude Code and these settings.
fn build_with(env: &TestEnv, settings: &[&str]) -> Ran {
    let set = settings.iter().flat_map(|setting| ["--set", setting]);
    let call: Vec<&str> = ["build", "--once"].into_iter().chain(set).collect();
    env.ralph(&call)
}

/// The model that a session was asked to use.
fn model(here: &Path, session: u32) -> Option<String> {
    let words = argv(here, session);
    let at = words.iter().position(|word| word == "--model")?;
    Some(words[at + 1].clone())
}

#[test]
fn each_kind_of_work_has_the_agent_that_its_setting_names() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    let plans = session(&[write("implementation_plan.md", "- [ ] x\n"), say("Written.")]);
    cassette(&env, &[&works(), &plans]);
    let script = "agent.script.path=../cassette.jsonl";
    env.ralph(&["build", "--set", "agent.build=script", "--set", script]).success();
    assert_eq!((status(&env, "a").as_str(), sessions_of(&here)), ("done", 0));
    env.ralph(&["plan", "--once", "--set", "agent.plan=script", "--set", script]).success();
    assert_eq!(sessions_of(&here), 0);
    assert_eq!(
        std::fs::read_to_string(env.repo().join("implementation_plan.md")).unwrap(),
        "- [ ] x\n"
    );
}

#[test]
fn the_program_of_the_agent_is_the_one_that_the_setting_names() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    env.set("PATH", &std::env::var("PATH").unwrap());
    let set = format!("agent.claude.path={}", here.join("bin/claude").display());
    build_with(&env, &[&set, "agent.claude.args=[\"--effort\", \"low\"]"]).success();
    assert_eq!((status(&env, "a").as_str(), sessions_of(&here)), ("done", 1));
    assert!(argv(&here, 1).ends_with(&["--effort".to_owned(), "low".to_owned()]));
}

#[test]
fn the_agent_has_the_tools_that_the_setting_names() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    build_with(&env, &["agent.allowed_tools=[\"Read\", \"Grep\"]"]).success();
    let words = argv(&here, 1);
    let tools = ["--allowed-tools", "Read", "Grep", "--input-format"].map(str::to_owned);
    assert!(words.windows(4).any(|four| four == tools), "{words:?}");
}

#[test]
fn a_session_gets_the_variables_that_are_named_and_no_others() {
    let mut env = project(&["a"]);
    env.set("MY_SERVICE", "at-home").set("MY_OTHER", "at-home");
    let here = stand_in(&mut env, "env > $here/env; echo x > x; result '<task-done>a</task-done>'");
    build_with(&env, &["agent.env=[\"MY_SERVICE\"]"]).success();
    let seen = std::fs::read_to_string(here.join("env")).unwrap();
    assert!(seen.contains("MY_SERVICE=at-home") && !seen.contains("MY_OTHER"), "{seen}");
}

#[test]
fn a_session_gets_the_logins_of_the_agents_of_its_run_only() {
    let mut env = project(&["a", "b"]);
    env.set("ANTHROPIC_API_KEY", "of-claude").set("CODEX_API_KEY", "of-codex");
    let here = stand_in(&mut env, "env > $here/env; echo x > x; result '<task-done>a</task-done>'");
    let seen = |settings: &[&str]| {
        build_with(&env, settings);
        std::fs::read_to_string(here.join("env")).unwrap()
    };
    let text = seen(&[]);
    assert!(text.contains("of-claude") && !text.contains("of-codex"), "{text}");
    let text = seen(&["agent.plan=codex"]);
    assert!(text.contains("of-claude") && text.contains("of-codex"), "{text}");
}

#[test]
fn a_session_ends_at_the_timeout_of_the_settings() {
    let mut env = project(&["a"]);
    stand_in(&mut env, "init; exec sleep 30");
    build_with(&env, &["agent.timeout=300ms"]).success();
    assert_eq!(classes(&env), ["timeout"]);
}

#[test]
fn an_agent_that_is_asked_to_end_has_the_time_of_the_settings() {
    for (grace, late) in [("100ms", false), ("20s", true)] {
        let mut env = project(&["a"]);
        let body = "trap 'sleep 0.6; touch $here/late; exit 0' TERM; init; sleep 30 & wait";
        let here = stand_in(&mut env, body);
        build_with(&env, &["agent.timeout=300ms", &format!("agent.grace={grace}")]).success();
        assert_eq!((classes(&env), here.join("late").exists()), (vec!["timeout".into()], late));
    }
}

#[test]
fn an_agent_that_lingers_after_its_result_has_the_time_of_the_settings() {
    for (time, late) in [("100ms", false), ("20s", true)] {
        let mut env = project(&["a"]);
        let body = "echo x > x; result '<task-done>a</task-done>'; sleep 0.6; touch $here/late";
        let here = stand_in(&mut env, body);
        build_with(&env, &[&format!("agent.after_result={time}")]).success();
        assert_eq!((status(&env, "a").as_str(), here.join("late").exists()), ("done", late));
    }
}

#[test]
fn the_model_is_chosen_as_the_settings_say() {
    let mut env = project(&["a", "b"]);
    let here = stand_in(&mut env, WORKS);
    build_with(&env, &["models.strategy=fixed", "models.fixed=my-model"]).success();
    build_with(&env, &["models.strategy=plan-then-execute"]).success();
    assert_eq!([model(&here, 1), model(&here, 2)], [Some("my-model".into()), Some("opus".into())]);
}

#[test]
fn each_tier_is_the_model_that_its_setting_names() {
    let mut env = project(&["a", "b", "c", "d", "e", "f"]);
    let here = stand_in(&mut env, WORKS);
    let named = [
        ("models.claude.opus=big-1", "opus", "big-1"),
        ("models.claude.sonnet=mid-1", "sonnet", "mid-1"),
        ("models.claude.haiku=tiny-1", "haiku", "tiny-1"),
        ("models.claude.large=big-2", "large", "big-2"),
        ("models.claude.medium=mid-2", "medium", "mid-2"),
        ("models.claude.small=tiny-2", "small", "tiny-2"),
    ];
    for (session, (setting, tier, name)) in (1..).zip(named) {
        env.ralph(&["build", "--once", "--set", setting, "--model", tier]).success();
        assert_eq!(model(&here, session).as_deref(), Some(name), "{setting}");
    }
}

/// The command that a run would start for another agent than the usual one.
fn foreseen(env: &TestEnv, agent: &str, settings: &[&str], model: &str) -> String {
    let mut arguments = vec!["build", "--dry-run", "--agent", agent, "--model", model];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let page = env.ralph(&arguments).success();
    let line = page.lines().find(|line| line.starts_with("Agent command: "));
    line.unwrap_or_else(|| panic!("no command:\n{page}")).to_owned()
}

#[test]
fn codex_has_its_own_program_arguments_and_models() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    std::fs::copy(here.join("bin/claude"), here.join("bin/other")).unwrap();
    let path = format!("agent.codex.path={}", here.join("bin/other").display());
    let command = foreseen(&env, "codex", &[&path, "agent.codex.args=[\"--own\"]"], "x");
    assert!(command.contains("bin/other ") && command.ends_with(" --own"), "{command}");
    for (setting, tier, name) in [
        ("models.codex.opus=big-1", "opus", "big-1"),
        ("models.codex.sonnet=mid-1", "sonnet", "mid-1"),
        ("models.codex.haiku=tiny-1", "haiku", "tiny-1"),
        ("models.codex.large=big-2", "large", "big-2"),
        ("models.codex.medium=mid-2", "medium", "mid-2"),
        ("models.codex.small=tiny-2", "small", "tiny-2"),
        ("models.codex.opus=unused", "small", "gpt-6-luna"),
    ] {
        let command = foreseen(&env, "codex", &[&path, setting], tier);
        assert!(command.contains(&format!(" --model {name} ")), "{setting}: {command}");
    }
}

#[test]
fn gemini_has_its_own_program_arguments_and_models() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    std::fs::copy(here.join("bin/claude"), here.join("bin/other")).unwrap();
    let path = format!("agent.gemini.path={}", here.join("bin/other").display());
    let command = foreseen(&env, "gemini", &[&path, "agent.gemini.args=[\"--own\"]"], "x");
    assert!(command.contains("bin/other ") && command.ends_with(" --own"), "{command}");
    for (setting, tier, name) in [
        ("models.gemini.opus=big-1", "opus", "big-1"),
        ("models.gemini.sonnet=mid-1", "sonnet", "mid-1"),
        ("models.gemini.haiku=tiny-1", "haiku", "tiny-1"),
        ("models.gemini.large=big-2", "large", "big-2"),
        ("models.gemini.medium=mid-2", "medium", "mid-2"),
        ("models.gemini.small=tiny-2", "small", "tiny-2"),
        ("models.gemini.opus=unused", "small", "gemini-3.1-flash-lite"),
    ] {
        let command = foreseen(&env, "gemini", &[&path, setting], tier);
        assert!(command.contains(&format!(" --model {name} ")), "{setting}: {command}");
    }
}

#[test]
fn opencode_has_its_own_program_arguments_and_models() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, WORKS);
    std::fs::copy(here.join("bin/claude"), here.join("bin/other")).unwrap();
    let path = format!("agent.opencode.path={}", here.join("bin/other").display());
    let command = foreseen(&env, "opencode", &[&path, "agent.opencode.args=[\"--own\"]"], "x");
    assert!(command.contains("bin/other ") && command.ends_with(" --own"), "{command}");
    for (setting, tier, name) in [
        ("models.opencode.opus=big-1", "opus", "big-1"),
        ("models.opencode.sonnet=mid-1", "sonnet", "mid-1"),
        ("models.opencode.haiku=tiny-1", "haiku", "tiny-1"),
        ("models.opencode.large=big-2", "large", "big-2"),
        ("models.opencode.medium=mid-2", "medium", "mid-2"),
        ("models.opencode.small=tiny-2", "small", "tiny-2"),
    ] {
        let command = foreseen(&env, "opencode", &[&path, setting], tier);
        assert!(command.contains(&format!(" --model {name} ")), "{setting}: {command}");
    }
}

#[test]
fn the_templates_are_those_that_the_settings_name() {
    let mut env = project(&["a"]);
    env.write("my/build.md", "MY BUILD RULES\n");
    env.write("my/plan.md", "MY PLAN RULES\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "templates"]);
    let here = stand_in(&mut env, WORKS);
    build_with(&env, &["prompts.build=my/build.md"]).success();
    assert!(argv(&here, 1).join(" ").contains("MY BUILD RULES"));
    env.write("implementation_plan.md", "- [ ] x\n");
    env.ralph(&["plan", "--once", "--set", "prompts.plan=my/plan.md"]).success();
    let text = std::fs::read_to_string(here.join("stdin.2")).unwrap();
    assert!(text.contains("MY PLAN RULES"), "{text}");
}
