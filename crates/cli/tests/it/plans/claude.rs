//! Plan files with the real Claude Code and a scripted model.

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Script, Turn};
use serde_json::json;

use super::*;
use crate::RALPH;
use crate::claude_code::{openings, processes};

/// A repository with this plan, and a model that plays nothing yet.
fn claude_with(name: &str, text: &str) -> Option<ClaudeEnv> {
    let env = ClaudeEnv::new(RALPH, Script::new())?;
    commit_file(&env, name, text);
    Some(env)
}

/// The model reads a file and then replaces a text in it, as it would.
fn edits(env: &ClaudeEnv, name: &str, from: &str, to: &str) -> [Turn; 2] {
    let path = env.repo().join(name);
    let path = path.to_str().unwrap();
    [
        Turn::tool("Read", json!({ "file_path": path })),
        Turn::tool("Edit", json!({ "file_path": path, "old_string": from, "new_string": to })),
    ]
}

#[test]
fn s2_9_s2_16_s2_17_s2_20_a_progress_file_by_printing_it() {
    let Some(env) = claude_with("progress.md", PROGRESS) else { return };
    let done = |tasks: &[&str]| Turn::text(format!("Here it is.\n\n{}", ticked(PROGRESS, tasks)));
    env.play(
        Script::new()
            .session([Turn::bash("echo 1 > one.txt"), done(&["Write one"])])
            .session([Turn::bash("echo 2 > two.txt"), done(&["Write one", "Write two"])])
            .session([
                Turn::bash("echo 3 > three.txt"),
                Turn::text(
                    ticked(PROGRESS, &["Write one", "Write two", "Write three"])
                        .replace("In Progress", "RALPH_DONE"),
                ),
            ]),
    );
    let text = output_of(env.build(&["progress.md"]), 0);
    has(&text, "3 of 3 done");
    let file = read(&env, "progress.md");
    assert_eq!(ticks(&file), ["Write one", "Write two", "Write three"]);
    assert_eq!(file.matches("| 1 task(s) completed |").count(), 3, "{file}");
    assert_eq!(env.git(&["status", "--short"]), "");
    assert_eq!(
        subjects(&env)[..3],
        [
            "build: iteration 3 - Write three",
            "build: iteration 2 - Write two",
            "build: iteration 1 - Write one"
        ]
    );
    // What the model was told.
    let openings = openings(&env);
    assert_eq!(openings.len(), 3);
    has(&openings[0].system_text(), "You are one session of a loop");
    let second = openings[1].user_text();
    has(&second, "Current Progress");
    has(&second, "- [x] Write one");
    has(&second, "- [ ] Write two");
    assert_eq!(processes(&env), [""; 0]);
}

#[test]
fn s2_7_s2_16_a_progress_file_by_its_edit_tool() {
    let Some(env) = claude_with("progress.md", PROGRESS) else { return };
    let tick = |task: &str| {
        edits(&env, "progress.md", &format!("- [ ] {task}\n"), &format!("- [x] {task}\n"))
    };
    let [read_one, edit_one] = tick("Write one");
    let [read_two, edit_two] = tick("Write two");
    env.play(
        Script::new()
            .session([Turn::bash("echo 1 > one.txt"), read_one, edit_one, Turn::text("Done.")])
            .session([Turn::bash("echo 2 > two.txt"), read_two, edit_two, Turn::text("Done.")]),
    );
    let text = output_of(env.build(&["2"]), 0);
    let file = read(&env, "progress.md");
    assert_eq!(ticks(&file), ["Write one", "Write two"], "{text}");
    assert_eq!(subjects(&env)[0], "build: iteration 2 - Write two");
    has(&env.git(&["show", "HEAD:progress.md"]), "- [x] Write two");
    assert_eq!(env.git(&["status", "--short"]), "");
    has(&openings(&env)[1].user_text(), "- [x] Write one");
}

#[test]
fn s3_7_s3_9_s3_11_s3_19_a_checklist_to_its_promise() {
    let Some(env) = claude_with("implementation_plan.md", CHECKLIST) else { return };
    let [look, edit] =
        edits(&env, "implementation_plan.md", "- [ ] Write one\n", "- [x] Write one\n");
    env.play(
        Script::new()
            .session([Turn::bash("echo 1 > one.txt"), look, edit, Turn::text("One is done.")])
            .session([Turn::text("Two was there already. <promise>COMPLETE</promise>")]),
    );
    let text = output_of(env.build(&[]), 0);
    assert_eq!((stop(&env), openings(&env).len()), ("marker".into(), 2), "{text}");
    assert_eq!(subjects(&env)[0], "build: iteration 1 - Write one");
    assert_eq!(ticks(&read(&env, "implementation_plan.md")), ["Write one"]);
    let prompt = openings(&env)[0].user_text();
    has(&prompt, "works through `implementation_plan.md`");
    has_not(&prompt, "{{");
    let log = log(&env);
    for part in ["ITERATION 2 COMPLETE", "Model: ", "Messages: ", "Cost: $"] {
        has(&log, part);
    }
}

#[test]
fn s3_10_s3_18_a_red_gate_and_then_a_green_one_in_a_checklist() {
    let Some(env) = claude_with("implementation_plan.md", CHECKLIST) else { return };
    commit_file(
        &env,
        "AGENTS.md",
        "# Agents\n\n```sh\nTEST_COMMAND=\"grep -qx hello one.txt || { echo 'FAILED: misspelt'; exit 1; }\"\n```\n",
    );
    let tick = || edits(&env, "implementation_plan.md", "- [ ] Write one\n", "- [x] Write one\n");
    let [look, edit] = tick();
    let [look_again, edit_again] = tick();
    env.play(
        Script::new()
            .session([Turn::bash("echo helo > one.txt"), look, edit, Turn::text("Done.")])
            .session([
                Turn::bash("echo hello > one.txt"),
                look_again,
                edit_again,
                Turn::text("Now."),
            ]),
    );
    let text = output_of(env.build(&["1"]), 0);
    has(&text, "ralph reverted the tick of \"Write one\"");
    assert_eq!(classes(&env), ["red", "done"]);
    let second = openings(&env)[1].user_text();
    has(&second, "FAILED: misspelt");
    assert_eq!(ticks(&read(&env, "implementation_plan.md")), ["Write one"]);
    assert_eq!(subjects(&env)[..2], ["build: iteration 1 - Write one", "AGENTS.md"]);
    has(&log(&env), "Retries: 1\nStatus: success\n");
}

#[test]
fn s3_1_plan_mode_and_then_what_was_planned() {
    let Some(env) = claude_with("specs/greeter.md", "# Greeter\n\nSays hello.\n") else { return };
    let plan = env.repo().join("implementation_plan.md");
    let [look, edit] =
        edits(&env, "implementation_plan.md", "- [ ] Write one\n", "- [x] Write one\n");
    env.play(
        Script::new()
            .session([
                Turn::tool("Read", json!({ "file_path": env.repo().join("specs/greeter.md") })),
                Turn::write(&plan, "# Greeter\n\n- [ ] Write one\n"),
                Turn::text("<promise>COMPLETE</promise>"),
            ])
            .session([Turn::bash("echo 1 > one.txt"), look, edit, Turn::text("Done.")]),
    );
    output_of(env.ralph(&["plan"]), 0);
    assert_eq!(
        (stop(&env), subjects(&env)[0].as_str()),
        ("marker".into(), "plan: iteration 1 - gap analysis")
    );
    has(&openings(&env)[0].user_text(), "specs/");
    output_of(env.build(&[]), 0);
    assert_eq!(stop(&env), "complete");
    assert_eq!(subjects(&env)[0], "build: iteration 1 - Write one");
}

#[test]
fn s3_21_one_prompt_of_ones_own() {
    let Some(env) =
        claude_with("ask.md", "# Look for stubs\n\nWrite what you find into stubs.txt.\n")
    else {
        return;
    };
    env.play(Script::new().session([
        Turn::write(env.repo().join("stubs.txt"), "none\n"),
        Turn::text("There are none. <promise>COMPLETE</promise>"),
    ]));
    output_of(env.ralph(&["prompt", "ask.md"]), 0);
    assert_eq!(subjects(&env)[0], "prompt: iteration 1 - Look for stubs");
    let opening = &openings(&env)[0];
    has(&opening.user_text(), "Write what you find into stubs.txt.");
    assert_eq!(openings(&env).len(), 1);
    has(&log(&env), "Mode: prompt\n");
}
