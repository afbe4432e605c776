//! `ralph feature plan`.

use super::*;

#[test]
fn the_spec_is_compared_with_the_code_and_the_plan_is_judged() {
    let env = project(&[]);
    env.ralph(&["feature", "create", "login"]).success();
    for text in [None, Some("")] {
        if let Some(text) = text {
            env.write(SPEC, text);
        }
        let output = env.ralph(&["feature", "plan", "login"]).failure(2);
        has(&output, "write it first: ralph feature create login --edit, or --interview");
    }
    std::fs::remove_file(env.repo().join(SPEC)).unwrap();
    has(&env.ralph(&["feature", "plan", "login"]).failure(2), "spec.md does not exist");
    assert_eq!(runs(&env).len(), 0);
    env.write(SPEC, "# login\n\nPeople log in by mail.\n");
    let writes = session(&[write(PLAN, "# Plan\n\n1. The mailer\n"), say("Written.")]);
    let (out, output) =
        ended(feature(&env, &[&only_says("Done."), &writes], &["plan", "login"]), 0);
    assert!(out.ends_with("plan.md\n"), "{out}");
    has(&output, "next: read it, then ralph feature build login");
    assert_eq!(classes(&env), ["red", "done"]);
    let prompt = run_file(&env, "iteration-001.prompt.md");
    has(&prompt, "People log in by mail.");
    has(&prompt, &format!("Write `{PLAN}`"));
    has_not(&prompt, "{{");
    assert_eq!(subjects(&env)[0], "feature-plan: iteration 1 - the plan of login");
    // An interrupted plan of a feature is not what `ralph plan` goes on with.
    has(&read(&env, ".ralph/state.toml"), "mode = \"feature-plan\"");
}

#[test]
fn a_question_is_not_for_a_plan() {
    let env = planned();
    ended(feature(&env, &[&only_says("<question>Which?</question>")], &["plan", "login"]), 0);
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn the_retry_limit_of_the_settings_counts_for_the_texts_of_a_feature() {
    let env = project(&[]);
    env.ralph(&["feature", "create", "login"]).success();
    env.write(SPEC, "# login\n\nPeople log in by mail.\n");
    let silent = only_says("Done.");
    let call = ["plan", "login", "--set", "loop.max_retries=0"];
    assert_ne!(feature(&env, &[&silent, &silent], &call).code, 0);
    assert_eq!(classes(&env), ["red"], "one session and no retry");
}
