//! Branches at the same time, and in order.

use super::*;

#[test]
fn s4_5_s4_6_s4_10_s4_12_all_branches_are_built_and_a_summary_says_so() {
    let mut env = with_plan(TWO);
    agent(&mut env, COMMITS);
    let text = output_of(build(&env, &[]), 0);
    assert_eq!(subjects(&env, "one"), ["Write a", "Write b"], "{text}");
    assert_eq!(subjects(&env, "two"), ["Write c", "Write d"]);
    assert_eq!(ticks(&env), ["Write a", "Write b", "Write c", "Write d"]);
    has(&text, "one │ ");
    has(&text, "two │ ");
    has(&text, "  one  Complete  2/2 tasks  2 commits  $0.02");
    has(&text, "  two  Complete  2/2 tasks  2 commits  $0.02");
    has(&text, "All 2 branches done.");
    assert_eq!(
        env.git(&["branch", "--show-current"]),
        "main\n",
        "the person stays where they were"
    );
    assert_eq!(env.git(&["status", "--porcelain"]), format!(" M {PLAN}\n"));
}

/// When each run of a branch began and ended.
fn times(env: &TestEnv, branch: &str) -> (String, String) {
    let (_, events) = journals(env)
        .into_iter()
        .find(|(target, _)| target == branch)
        .expect("a run of the branch");
    let at = |kind: &str| {
        let event = events.iter().find(|event| event["kind"] == kind).expect(kind);
        event["at"].as_str().unwrap().to_owned()
    };
    (at("run_started"), at("run_ended"))
}

/// Whether the runs of these branches had no moment in common.
#[track_caller]
fn one_after_the_other(env: &TestEnv, first: &str, second: &str) {
    let ((_, end), (start, _)) = (times(env, first), times(env, second));
    assert!(end <= start, "{first} ended at {end}, and {second} began at {start}");
}

/// Each session waits for the other branch's.
const MEETS: &str = "touch $here/in.$b
for i in $(seq 1500); do test -e $here/in.one -a -e $here/in.two && break; sleep 0.02; done
test -e $here/in.one -a -e $here/in.two || exit 1
works; done_";

#[test]
fn s4_5_s4_10_sessions_of_two_branches_meet() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(&mut env, MEETS);
    output_of(build(&env, &[]), 0);
    assert_eq!(ticks(&env).len(), 2);
}

#[test]
fn s4_5_a_set_number_of_jobs_holds_for_branches_too() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(&mut env, LEAVES);
    output_of(build(&env, &["--set", "loop.jobs=1"]), 0);
    one_after_the_other(&env, "one", "two");
}

#[test]
fn s4_5_sequential_is_one_branch_at_a_time_still_in_worktrees() {
    for arguments in [&["--sequential"][..], &["-j", "1"]] {
        let mut env = with_plan(TWO);
        let here = agent(&mut env, LEAVES);
        output_of(build(&env, arguments), 0);
        one_after_the_other(&env, "one", "two");
        assert_eq!(
            note(&here, "order"),
            "one Write a\none Write b\ntwo Write c\ntwo Write d\n",
            "{arguments:?}"
        );
        assert!(worktree(&env, "one").join(".git").exists() && worktree(&env, "two").exists());
    }
}

#[test]
fn a_branch_begins_after_those_it_needs_and_from_their_work() {
    let plan =
        branches(&[("last", "Needs: first"), ("first", ""), ("other", "Needs: first\nBase: main")]);
    let mut env = with_plan(&plan);
    agent(&mut env, COMMITS);
    let text = output_of(build(&env, &[]), 0);
    one_after_the_other(&env, "first", "last");
    one_after_the_other(&env, "first", "other");
    assert_eq!(subjects(&env, "last"), ["Work on first", "Work on last"], "{text}");
    assert_eq!(subjects(&env, "other"), ["Work on other"], "what it begins from is said");
}

#[test]
fn a_branch_whose_need_is_not_complete_is_blocked() {
    let plan = branches(&[
        ("first", ""),
        ("second", "Needs: first"),
        ("third", "Needs: second"),
        ("free", ""),
    ]);
    let mut env = with_plan(&plan);
    let here = agent(&mut env, "test $b = first && { result hm; exit; }; works; done_");
    let text = output_of(build(&env, &[]), 7);
    has(&text, "  second  Blocked   0/1 tasks  0 commits  it needs first, which is not complete");
    has(&text, "  third   Blocked   0/1 tasks  0 commits  it needs second, which is not complete");
    has(&text, "1 of 4 branches done; to continue: ralph loop");
    has_not(&note(&here, "order"), "second");
    assert!(!worktree(&env, "second").exists(), "nothing is made for what does not begin");
    assert_eq!(ticks(&env), ["Work on free"]);
    // Once it is done, the others follow.
    agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    assert_eq!(ticks(&env).len(), 4);
}

#[test]
fn branches_that_touch_the_same_files_are_not_worked_on_together() {
    let plan = branches(&[("one", "Touches: src/**"), ("two", "Touches: src/x.rs, docs/")]);
    let mut env = with_plan(&plan);
    agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    one_after_the_other(&env, "one", "two");
}

#[test]
fn the_exit_code_is_the_gravest_of_all() {
    let plan = branches(&[("good", ""), ("idle", ""), ("failing", ""), ("broken", "")]);
    let mut env = with_plan(&plan);
    let body = "case $b in
good) works; done_;;
idle) result hm;;
failing) result '<promise>FAILURE</promise>';;
broken) echo nonsense >&2; exit 3;;
esac";
    agent(&mut env, body);
    let text = output_of(build(&env, &[]), 4);
    for (branch, stop) in
        [("good", "complete"), ("idle", "idle"), ("failing", "failure"), ("broken", "breaker")]
    {
        assert_eq!(stops(&env, branch), [stop], "{text}");
    }
    output_of(build(&env, &["--branch", "failing"]), 6);
    output_of(build(&env, &["--branch", "idle"]), 0);
    output_of(build(&env, &["--branch", "idle", "--strict-exit"]), 9);
}

#[test]
fn one_branch_alone_is_worked_on_where_it_is_named() {
    let mut env = with_plan(TWO);
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &["--branch", "two"]), 0);
    has(&text, "1 branch done.");
    assert_eq!(ticks(&env), ["Write c", "Write d"]);
    has_not(&note(&here, "order"), "one");
    let text = build(&env, &["--branch", "twos"]).failure(1);
    has(&text, "the plan has no branch twos");
    has(&text, "did you mean two?");
    // `ralph build` is the same loop.
    output_of(env.ralph(&["build", "--branch", "one"]), 0);
    assert_eq!(ticks(&env).len(), 4);
}

#[test]
fn all_branches_spend_from_one_budget() {
    let mut env = with_plan(TWO);
    agent(&mut env, LEAVES);
    let text = output_of(build(&env, &["--sequential", "--budget", "0.015"]), 8);
    assert_eq!(stops(&env, "one"), ["complete"], "{text}");
    assert_eq!(stops(&env, "two"), ["budget"]);
    has(&text, "money for this run: $0.02 of $0.02");
    assert_eq!(ticks(&env), ["Write a", "Write b"]);
}

#[test]
fn a_dry_run_shows_the_branches_and_does_nothing() {
    let plan = branches(&[("one", ""), ("two", "Needs: one"), ("three", "")]);
    let env = with_plan(&plan);
    let before = env.git(&["for-each-ref"]);
    let text = env.ralph(&["loop", "build", "--dry-run", "--max", "7"]).success();
    has(&text, "=== DRY RUN MODE ===\n\nProgress file: IMPLEMENTATION_PLAN.md\n");
    has(&text, "Max iterations: 7 for each branch\n");
    has(&text, "Branches: 3, 2 start at once\n");
    has(&text, "Branch: two\n  Goal: Do two\n  Base: one\n  Needs: one\n  Tasks: 0/1 complete\n");
    assert_eq!(env.git(&["for-each-ref"]), before);
    assert!(!env.repo().join(".worktrees").exists() && !env.repo().join(".ralph").exists());
}

#[test]
fn every_line_of_json_is_an_event_of_one_of_the_runs() {
    let mut env = with_plan(TWO);
    agent(&mut env, LEAVES);
    let ran = build(&env, &["--ui", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let mut runs: Vec<&str> = events.iter().filter_map(|event| event["run"].as_str()).collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), 2);
    let ended = events.iter().filter(|event| event["kind"] == "run_ended").count();
    assert_eq!(ended, 2);
}
