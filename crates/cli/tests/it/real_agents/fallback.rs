//! Claude Code at its usage limit, and Codex in its place until the limit resets.

use std::sync::OnceLock;

use ralph_core::Timestamp;
use ralph_engine::clock::now;
use ralph_testkit::has_turn;

use super::*;

/// How long the limit lasts: longer than Codex needs to begin, shorter than its work on all tasks.
const LIMIT: i64 = 20;
const TASKS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Claude Code writes a file and meets its limit; after the reset it works. Codex takes 6 seconds for a task.
fn answer(request: &Request, reset: &OnceLock<Timestamp>) -> Turn {
    let Some(id) = request.task_id() else { return Turn::text("This is about no task.") };
    let begun = !request.tool_results().is_empty();
    let done = Turn::text(format!("Done. <task-done>{id}</task-done>"));
    if request.path.contains("/responses") {
        let work = format!("sleep 6; test -e half.txt && echo codex > {id}.txt");
        return if begun { done } else { Turn::bash(work) };
    }
    match reset.get() {
        None if begun => {
            let second = now().as_millis() / 1000 + LIMIT;
            let at = *reset.get_or_init(|| Timestamp::from_millis(second * 1000));
            Turn::usage_limit(at)
        }
        None => Turn::bash("echo half > half.txt"),
        Some(at) if now() < *at => Turn::usage_limit(*at),
        Some(_) if begun => done,
        Some(_) => Turn::bash(format!("echo claude > {id}.txt")),
    }
}

/// The agents that worked on a task, one for each attempt.
fn programs(env: &AgentEnv, id: &str) -> Vec<String> {
    let shown: Value = ralph_testkit::data(&env.task(&["show", id, "--json"]));
    assert_eq!((&shown["status"], &shown["retry_count"]), (&"done".into(), &0.into()), "{shown}");
    let program = |attempt: &Value| attempt["program"].as_str().unwrap_or_default().to_owned();
    shown["attempts"].as_array().unwrap().iter().map(program).collect()
}

#[test]
fn codex_works_while_claude_code_is_at_its_limit_and_claude_code_goes_on_after_the_reset() {
    if !has_turn(3) {
        return;
    }
    let reset = OnceLock::new();
    let script = Script::answering(move |request| answer(request, &reset));
    let Some(env) =
        AgentEnv::new(RALPH, AgentKind::Codex, script).and_then(AgentEnv::with_subscribed_claude)
    else {
        return;
    };
    let settings = "[agent]\nname = \"claude\"\nfallback = [\"codex\"]\nenv = [\"SCRIPTED_API_KEY\"]\n\
                    [models]\nstrategy = \"agent\"\n";
    let config = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, settings).unwrap();
    for id in TASKS {
        env.task(&["add", &format!("Write {id}"), "--id", id]);
    }
    let output = output_of(build(&env, &[]), 0);
    has(&output, "codex works instead of claude (usage limit), until ");
    assert_eq!(outcomes(&env), ["usage-window", "done"]);
    assert_eq!(programs(&env, "a"), ["claude", "codex"], "{output}");
    assert_eq!(programs(&env, "e"), ["claude"], "{output}");
    // One attempt met the limit; the agents met it no second time, and each task was done at once.
    let attempts: usize = TASKS.iter().map(|id| programs(&env, id).len()).sum();
    assert_eq!(attempts, TASKS.len() + 1, "{output}");
    let files = env.git(&["ls-tree", "--name-only", "HEAD"]);
    for file in ["half.txt", "a.txt", "b.txt", "c.txt", "d.txt", "e.txt"] {
        has(&files, file);
    }
    assert_eq!(env.git(&["show", "HEAD:e.txt"]), "claude\n");
    assert_eq!(processes(&env), [""; 0]);
}
