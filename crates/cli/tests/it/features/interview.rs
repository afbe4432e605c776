//! `ralph feature create --interview`: sessions that ask, answers that survive, a spec that is judged.

use super::*;

const ASKS: &str = "I looked.\n<question>1. By mail?\n2. For how long?</question>";

fn writes() -> String {
    session(&[write(SPEC, "# login\n\nBy mail, ten minutes.\n"), say("Written.")])
}

#[test]
fn a_question_ends_the_call_and_the_answer_continues_the_conversation() {
    let env = project(&[]);
    let all = [&only_says(ASKS)[..], &only_says("<question>Which sender?</question>"), &writes()];
    let (out, output) =
        ended(feature(&env, &all, &["create", "login", "--interview", "Log in"]), 7);
    assert_eq!(out, "");
    has(&output, "? Stopped: the agent asked you a question.\n");
    has(&output, "Next: ralph feature create login --answer");
    has(&output, "  1. By mail?\n  2. For how long?\n");
    has(&output, "hint: answer it: ralph feature create login --answer \"…\"");
    assert_eq!(classes(&env), ["question"]);
    let first = run_file(&env, "iteration-001.prompt.md");
    has(&first, "the feature login\n");
    has(&first, "in the user's words:\n  Log in");
    has_not(&first, "{{");
    has(&env.ralph(&["feature", "show", "login"]).success(), "a question about the spec is open");
    // Asking again without an answer starts no session.
    let count = runs(&env).len();
    ended(feature_again(&env, &["create", "login", "--interview"]), 7);
    assert_eq!(runs(&env).len(), count);
    ended(feature_again(&env, &["create", "login", "--answer", "Yes; ten minutes"]), 7);
    // An empty answer leaves it to the agent.
    let (out, output) = ended(feature_again(&env, &["create", "login", "--answer", ""]), 0);
    assert!(out.ends_with("login/spec.md\n"), "{out}");
    has(&output, "ralph feature plan login");
    let last = run_file(&env, "iteration-001.prompt.md");
    for part in ["  > 2. For how long?", "  > Yes; ten minutes", "Which sender?", "Decide yourself"]
    {
        has(&last, part);
    }
    assert_eq!(subjects(&env)[0], "feature-spec: iteration 1 - the spec of login");
    has(&env.git(&["show", "--name-only", "--format="]), SPEC);
    has(&read(&env, INTERVIEW), "answer = \"Yes; ten minutes\"");
    has(&env.git(&["status", "--porcelain", "-uall"]), INTERVIEW);
}

#[test]
fn a_spec_that_says_nothing_goes_back_with_the_reason_and_not_for_ever() {
    let env = project(&[]);
    let blank = session(&[write(SPEC, " \n"), say("Written.")]);
    let gone = session(&[sh(&format!("rm {SPEC}")), say("Written.")]);
    let all = [&only_says("Done.")[..], &blank, &gone, &writes()];
    let (_, output) = ended(feature(&env, &all, &["create", "login", "--interview"]), 0);
    assert_eq!(classes(&env), ["red", "red", "red", "done"]);
    for reason in ["is still the template", "is empty", "does not exist"] {
        has(&output, &format!("spec.md {reason}"));
    }
    let last = run_file(&env, "iteration-001.prompt.md");
    has(&last, "This is retry attempt 4 of 4.");
    has(&last, "spec.md does not exist");
    let env = project(&[]);
    let (_, output) =
        ended(feature(&env, &[&only_says("Done.")[..]; 6], &["create", "login", "--interview"]), 3);
    assert_eq!(sessions(&env), 4, "{output}");
    has(&output, "is still the template that ralph wrote");
}

#[test]
fn a_spec_is_judged_where_git_does_not_see_it() {
    let env = project(&[]);
    env.write(".gitignore", ".ralph/\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "ignore"]);
    ended(feature(&env, &[&only_says("Done."), &writes()], &["create", "login", "--interview"]), 0);
    assert_eq!(classes(&env), ["red", "done"]);
    assert_eq!(subjects(&env)[0], "ignore");
}

#[test]
fn an_existing_text_is_continued_and_a_failing_agent_is_exit_4() {
    let env = planned();
    let crash = "{\"do\":\"exit\",\"code\":3}";
    ended(feature(&env, &[crash; 5], &["create", "login", "--interview"]), 4);
    assert_eq!(
        (sessions(&env), read(&env, SPEC).as_str()),
        (4, "# login\n\nPeople log in by mail.\n")
    );
    ended(feature(&env, &[&only_says("It is good.")], &["create", "login", "--interview"]), 0);
    ended(
        feature(
            &env,
            &[&only_says("<promise>FAILURE</promise>")],
            &["create", "login", "--interview"],
        ),
        6,
    );
}

#[test]
fn events_that_are_printed_stay_alone_on_standard_output() {
    let env = project(&[]);
    let (out, output) =
        ended(feature(&env, &[&writes()], &["create", "login", "--interview", "--ui", "json"]), 0);
    for line in out.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
    has(&out, "run_ended");
    has(&output, "login/spec.md\"");
    let adds = session(&[sh("ralph task add A --id a"), say("x")]);
    env.write(PLAN, "# Plan\n\nOne.\n");
    let (out, output) = ended(feature(&env, &[&adds], &["build", "login", "--ui", "json"]), 0);
    assert!(out.lines().all(|line| line.starts_with('{')), "{out}");
    has(&output, "a  open  A");
    has(&output, "inserted: 1,");
}

/// A shell script as the editor.
fn editor(env: &mut TestEnv, variable: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = env.folder().join(format!("{variable}.sh"));
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.set(variable, &format!("{} --wait", path.display()));
}

#[test]
fn the_editor_of_the_user_opens_the_file() {
    let mut env = project(&[]);
    let output = env.ralph(&["feature", "create", "login", "--edit"]).failure(1);
    has(&output, "neither VISUAL nor EDITOR");
    has(&output, "EDITOR=nano");
    assert!(!env.repo().join(SPEC).exists(), "nothing was begun");
    editor(&mut env, "EDITOR", "test \"$1\" = --wait && echo by EDITOR > \"$2\"");
    let (out, output) = ended(env.ralph(&["feature", "create", "login", "--edit"]), 0);
    assert!(out.ends_with("spec.md\n"), "{out}");
    has(&output, "next: ralph feature plan login");
    assert_eq!(read(&env, SPEC), "by EDITOR\n");
    editor(&mut env, "VISUAL", "echo by VISUAL > \"$2\"");
    ended(env.ralph(&["feature", "create", "login", "--edit"]), 0);
    assert_eq!(read(&env, SPEC), "by VISUAL\n");
    ended(env.ralph(&["feature", "plan", "login", "--edit"]), 0);
    assert_eq!(read(&env, PLAN), "by VISUAL\n");
    editor(&mut env, "VISUAL", "echo half > \"$2\"; exit 3");
    let output = env.ralph(&["feature", "create", "login", "--edit"]).failure(1);
    has(&output, "failed with exit code 3");
    has(&output, "your saved text is in ");
    assert_eq!(read(&env, SPEC), "half\n");
    env.set("VISUAL", "no-such-editor");
    let (_, output) = ended(env.ralph(&["feature", "plan", "login", "--edit"]), 1);
    has(&output, "the editor \"no-such-editor\" was not found");
    editor(&mut env, "VISUAL", "true > \"$2\"");
    let (_, output) = ended(env.ralph(&["feature", "create", "login", "--edit"]), 0);
    has(&output, "spec.md is empty");
}
