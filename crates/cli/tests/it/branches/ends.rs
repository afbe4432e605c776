//! How the run of a branch goes on and ends.

use super::*;

#[test]
fn s4_14_s4_23_every_session_is_fresh_and_gets_the_prompt_file_on_its_standard_input() {
    let mut env = with_plan(TWO);
    env.write("PROMPT_build.md", "House rules for {{ task_title }}.\n");
    let here = agent(&mut env, "echo $$ >> $here/pids; works; done_");
    output_of(build(&env, &["--branch", "one"]), 0);
    for (session, title) in [("prompt.one.1", "Write a"), ("prompt.one.2", "Write b")] {
        let prompt = note(&here, session);
        has(&prompt, &format!("House rules for {title}."));
        has(&prompt, "<task-done>");
    }
    assert_eq!(note(&here, "pids").lines().count(), 2);
    has_not(&note(&here, "prompt.one.2"), "Write a\n");
    assert!(worktree(&env, "one").join(".ralph/state.toml").exists(), "persisted");
}

#[test]
fn s4_14_without_a_prompt_file_the_built_in_one_is_reported() {
    let mut env = with_plan(&branches(&[("one", "")]));
    let here = agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    let prompt = note(&here, "prompt.one.1");
    for part in ["one branch of a plan", "why", "IMPLEMENTATION_PLAN.md", "<question>"] {
        has(&prompt, part);
    }
}

#[test]
fn s4_15_each_branch_has_its_own_limit_of_sessions() {
    let mut env = with_plan(TWO);
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &["--max", "1"]), 0);
    assert_eq!([stops(&env, "one"), stops(&env, "two")], [["limit"], ["limit"]], "{text}");
    assert_eq!(note(&here, "order").lines().count(), 2);
    assert_eq!(ticks(&env), ["Write a", "Write c"]);
    output_of(build(&env, &[]), 0);
    assert_eq!(ticks(&env).len(), 4);
}

#[test]
fn s4_18_red_gates_go_into_the_next_prompt_and_are_no_errors() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"check\"\ncommand = \"echo odd-words-here; test -e good.txt\"\n",
    );
    let here = agent(&mut env, "works; echo $k > n.txt; test $k = 5 && touch good.txt; done_");
    output_of(build(&env, &[]), 0);
    has(&note(&here, "prompt.one.2"), "odd-words-here");
    assert_eq!(note(&here, "count.one").trim(), "5", "more often than the breaker allows errors");
}

#[test]
fn s4_19_s4_21_timeouts_count_as_errors_until_the_breaker_opens() {
    let mut env = with_plan(&branches(&[("one", "")]));
    let here = agent(&mut env, "sleep 60");
    let text = output_of(build(&env, &["--timeout", "1s", "--set", "agent.grace=1s"]), 4);
    assert_eq!(stops(&env, "one"), ["breaker"], "{text}");
    assert_eq!(note(&here, "count.one").trim(), "3");
    has(&text, "3 errors in a row");
}

#[test]
fn s4_22_an_error_that_does_not_pass_stops_its_branch_and_is_reported() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    let body = "test $b = two && { works; done_; exit; }
echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":401,\"result\":\"Invalid API key · Please run /login\",\"session_id\":\"s\"}'
exit 1";
    agent(&mut env, body);
    let text = output_of(build(&env, &[]), 4);
    assert_eq!(stops(&env, "two"), ["complete"], "{text}");
    assert_ne!(stops(&env, "one"), ["complete"]);
    assert_eq!(ticks(&env), ["Work on two"]);
}

#[test]
fn a_question_waits_for_the_user_and_the_answer_is_in_the_next_prompt() {
    let mut env = with_plan(&branches(&[("one", "")]));
    let here = agent(
        &mut env,
        "test $k = 1 && { result '<question>Red or blue?</question>'; exit; }; works; done_",
    );
    output_of(build(&env, &[]), 7);
    let listed = env.ralph(&["answer"]).success();
    let id = listed.split_whitespace().find(|word| word.starts_with("q-")).expect(&listed);
    assert_eq!(env.ralph(&["answer", id, "Blue"]).code, 0);
    output_of(build(&env, &[]), 0);
    has(&note(&here, "prompt.one.2"), "Blue");
}
