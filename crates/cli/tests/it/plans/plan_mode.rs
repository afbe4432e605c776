//! `ralph plan`: sessions that write the plan, and nothing that judges them but the plan itself.

use super::*;

const PLAN: &str = "implementation_plan.md";
const COMPLETE: &str = "<promise>COMPLETE</promise>";

/// `ralph plan` with these sessions.
fn plan(env: &TestEnv, sessions: &[&str], extra: &[&str]) -> Ran {
    cassette(env, sessions);
    let mut all = vec!["plan", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
    all.extend(extra);
    env.ralph(&all)
}

/// A session that writes the plan and goes on.
fn drafts(text: &str) -> String {
    session(&[write(PLAN, text), say("A beginning.")])
}

#[test]
fn s3_1_s0_15_s0_17_plan_mode_writes_a_checklist_and_ends_on_its_promise() {
    for promise in [COMPLETE, "<promise>Tastes Like Burning.</promise>"] {
        let env = project(&[]);
        let last = session(&[write(PLAN, CHECKLIST), say(promise)]);
        let text = output_of(plan(&env, &[&drafts("- [ ] Write one\n"), &last], &[]), 0);
        assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 2), "{text}");
        assert_eq!(read(&env, PLAN), CHECKLIST);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let subjects = subjects(&env);
        assert!(subjects[0].starts_with("plan: iteration 2 - "), "{subjects:?}");
        assert!(subjects[1].starts_with("plan: iteration 1 - "), "{subjects:?}");
        has(&log(&env), "Mode: plan\n");
        // What was planned can be built.
        output_of(build(&env, &[&checks("one", "Write one"), &checks("two", "Write two")], &[]), 0);
        assert_eq!(stop(&env), "complete");
    }
}

#[test]
fn an_idea_is_the_goal_of_the_planner_and_is_kept_with_the_run() {
    let mut env = project(&[]);
    let here = stand_in(
        &mut env,
        "cat > $here/prompt.$n; test -e ../notes/stop && exit 1; \
         printf 'Goal: Dark mode\\n\\n- [ ] x\\n' > implementation_plan.md; result '<promise>COMPLETE</promise>'",
    );
    output_of(env.ralph(&["plan", "Dark mode for \"night\" people", "--agent", "claude"]), 0);
    let prompt = std::fs::read_to_string(here.join("prompt.1")).unwrap();
    has(&prompt, "## Goal\n\n> Dark mode for \"night\" people\n");
    has(&prompt, "as a line `Goal: …`");
    has(&prompt, "into `implementation_plan.md`");
    has(&subjects(&env)[0], "Dark mode for \"night\" people");
    let usage = env.ralph(&["plan", "Dark", "mode"]).failure(64);
    has(&usage, "plan one idea at a time");
    has(&env.ralph(&["plan", " "]).failure(64), "the idea is empty");
}

#[test]
fn s3_10_no_gate_judges_a_plan() {
    let env = project(&[]);
    gate(&env, "touch ../notes/gate-ran; false");
    output_of(plan(&env, &[&session(&[write(PLAN, CHECKLIST), say(COMPLETE)])], &[]), 0);
    assert!(!env.note("gate-ran").exists());
    assert_eq!(read(&env, PLAN), CHECKLIST);
}

#[test]
fn s3_2_s3_3_s3_12_plan_mode_has_its_limit_and_ends_when_nothing_changes() {
    let env = project(&[]);
    let drafted: Vec<String> = (0..12).map(|n| drafts(&format!("- [ ] Task {n}\n"))).collect();
    let drafted: Vec<&str> = drafted.iter().map(String::as_str).collect();
    output_of(plan(&env, &drafted, &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("limit".into(), 10), "without a word it is ten");
    for arguments in [&["2"][..], &["--max-iterations", "2"]] {
        let env = project(&[]);
        output_of(plan(&env, &drafted, arguments), 0);
        assert_eq!(sessions(&env), 2, "{arguments:?}");
    }
    let env = project(&[]);
    let idle = only_says("It says all.");
    output_of(plan(&env, &[drafted[0], &idle, &idle, &idle], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("idle".into(), 3));
}

#[test]
fn the_format_of_the_plan_that_is_there_is_kept() {
    let env = with_progress();
    let grown = PROGRESS.replace("- [ ] Write three\n", "- [ ] Write three\n- [ ] Write four\n");
    let steps = session(&[write("progress.md", &grown), say(COMPLETE)]);
    output_of(plan(&env, &[&steps], &[]), 0);
    assert_eq!(read(&env, "progress.md"), grown);
    assert!(!env.repo().join(PLAN).exists());
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "progress.md\n");
    // The new task is there to be built.
    has(&build(&env, &[], &["--dry-run"]).success(), "Tasks: 0/4 complete\n");
}

#[test]
fn a_plan_that_cannot_be_read_goes_back_to_the_agent() {
    let env = with_progress();
    let breaks = session(&[sh("printf '# Progress: x\\n\\377\\n' > progress.md"), say(COMPLETE)]);
    let mends = session(&[write("progress.md", PROGRESS), say(COMPLETE)]);
    let text = output_of(plan(&env, &[&breaks, &mends], &[]), 0);
    assert_eq!(sessions(&env), 2, "{text}");
    assert_eq!(read(&env, "progress.md"), PROGRESS);
}

#[test]
fn s3_7_a_template_gives_the_planner_the_paths_of_plan_and_specs() {
    let mut env = project(&[]);
    let here = stand_in(
        &mut env,
        "cat > $here/prompt.$n; echo '- [ ] x' > implementation_plan.md; result '<promise>COMPLETE</promise>'",
    );
    output_of(env.ralph(&["plan", "--agent", "claude"]), 0);
    let prompt = std::fs::read_to_string(here.join("prompt.1")).unwrap();
    for part in ["specs/", PLAN, COMPLETE, "You write no code"] {
        has(&prompt, part);
    }
    has_not(&prompt, "{{");
    assert_eq!(sessions_of(&here), 1);

    let mut env = project(&[]);
    commit_file(&env, "PROMPT_plan.md", "PLAN FOR {{ plan_file }} in {{ mode }} mode\n");
    let here = stand_in(
        &mut env,
        "cat > $here/prompt.$n; echo '- [ ] x' > implementation_plan.md; result '<promise>COMPLETE</promise>'",
    );
    output_of(env.ralph(&["plan", "--agent", "claude"]), 0);
    let prompt = std::fs::read_to_string(here.join("prompt.1")).unwrap();
    has(&prompt, "PLAN FOR implementation_plan.md in plan mode");
}

#[test]
fn s3_1_the_flag_is_another_spelling() {
    let mut env = project(&[]);
    let here = stand_in(
        &mut env,
        "echo '- [ ] x' > implementation_plan.md; result '<promise>COMPLETE</promise>'",
    );
    env.write("ralph.toml", "[agent]\nname = \"claude\"\n");
    output_of(env.ralph(&["--plan"]), 0);
    assert_eq!((stop(&env), sessions_of(&here)), ("marker".into(), 1));
    assert!(!env.ralph(&["--help"]).success().contains("--plan"), "it is not shown");
}

#[test]
fn s3_12_s3_16_a_planner_that_fails_again_and_again_is_exit_4() {
    let env = project(&[]);
    let crash = "{\"do\":\"exit\",\"code\":3}";
    let text = output_of(plan(&env, &[crash; 5], &[]), 4);
    assert_eq!(sessions(&env), 4, "{text}");
    has(&log(&env), "Exit Code: 4\n");
}

#[test]
fn s3_1_a_session_that_is_planning_cannot_start_another_run() {
    let env = project(&[]);
    let nested = session(&[
        sh(
            "ralph plan > ../notes/nested 2>&1; echo $? > ../notes/code; ralph prompt x >> ../notes/nested 2>&1; echo $? >> ../notes/code",
        ),
        write(PLAN, CHECKLIST),
        say(COMPLETE),
    ]);
    output_of(plan(&env, &[&nested], &[]), 0);
    assert_eq!(std::fs::read_to_string(env.note("code")).unwrap(), "1\n1\n");
}

#[test]
fn plan_mode_ends_with_the_number_of_tasks_that_it_wrote() {
    let env = project(&[]);
    let text = output_of(plan(&env, &[&session(&[write(PLAN, CHECKLIST), say(COMPLETE)])], &[]), 0);
    has(&text, "Plan written: 2 tasks in implementation_plan.md");
    has_not(&text, "no tasks");
    let env = project(&[]);
    let text = output_of(plan(&env, &[&drafts(CHECKLIST)], &["1"]), 0);
    has(&text, "reached. Plan written: 2 tasks in implementation_plan.md");
    has_not(&text, "Tasks remaining: 0");
}

#[test]
fn a_file_that_is_named_is_turned_into_a_plan() {
    let env = project(&[]);
    commit_file(&env, "TODO.md", "We need two words.\n");
    let writes = session(&[write("TODO.md", CHECKLIST), say(COMPLETE)]);
    let text = output_of(plan(&env, &[&writes], &["TODO.md"]), 0);
    has(&text, "Plan written: 2 tasks in TODO.md");
    assert!(!env.repo().join(PLAN).exists());
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn work_outside_the_plan_is_saved_and_not_committed() {
    saves_what_is_outside("true");
}

#[test]
fn commits_of_a_planning_session_outside_the_plan_are_saved_and_not_committed() {
    for commits in [
        "git add -A -- ':!mine.txt'; git commit -qm all",
        "git add code.txt more.txt; git commit -qm code; git add implementation_plan.md; git commit -qm plan",
    ] {
        saves_what_is_outside(commits);
    }
}

/// A planning session changes code beside the plan, and then does this.
fn saves_what_is_outside(then: &str) {
    let env = project(&[]);
    commit_file(&env, "code.txt", "old\n");
    env.write("mine.txt", "not committed\n");
    let writes = session(&[
        write(PLAN, CHECKLIST),
        write("code.txt", "new\n"),
        write("more.txt", "x"),
        sh(then),
        say(COMPLETE),
    ]);
    let text = output_of(plan(&env, &[&writes], &[]), 0);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    has(&text, "the planning session changed code.txt, more.txt: not committed");
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "implementation_plan.md\n");
    assert_eq!(read(&env, "code.txt"), "old\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? mine.txt\n");
    has(&env.ralph(&["recover"]).success(), "plan");
    let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/plan/"]);
    assert_eq!(env.git(&["show", &format!("{}:code.txt", saved.trim())]), "new\n");
    let touched = env.git(&["log", "--format=%s", "--", "code.txt", "more.txt"]);
    assert_eq!(touched, "code.txt\n", "no commit of the branch has it");
}
