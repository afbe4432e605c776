//! Boxes with marks other than a tick, plans that are links or elsewhere, and what a run says of them.

use super::*;

const PLAN: &str = "implementation_plan.md";

/// What is said, on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_marked_task_waits_and_the_run_ends_blocked_naming_it() {
    for (name, text) in [
        (PLAN, "- [x] one\n- [!] two\n"),
        ("progress.md", "# Progress: P\n\n## Tasks\n- [x] one\n- [!] two\n"),
    ] {
        let env = with_plan(name, text);
        let output = flat(&output_of(build(&env, &[], &[]), 7));
        assert_eq!((stop(&env).as_str(), sessions(&env)), ("blocked", 0), "{output}");
        has(&output, "\"two\" is marked [!], so it waits for you");
        has(&output, "waiting for you: \"two\"");
        assert_eq!(read(&env, name).matches("[!] two").count(), 1);
    }
}

#[test]
fn an_agent_that_marks_a_task_blocked_does_not_finish_the_plan() {
    let env = with_checklist();
    let marks = session(&[
        write("one.txt", "x"),
        tick(PLAN, "Write one"),
        sh(&format!("sed -i 's/\\[ \\] Write two/[!] Write two/' {PLAN}")),
        say("<promise>COMPLETE</promise>"),
    ]);
    let text = flat(&output_of(build(&env, &[&marks], &[]), 7));
    assert_eq!(stop(&env), "blocked", "{text}");
    has(&text, "ralph reverted the mark [!] of \"Write two\"");
    has(&text, "ralph retry t-");
    has(&read(&env, PLAN), "- [x] Write one\n- [ ] Write two\n");
}

#[test]
fn a_dropped_task_does_not_keep_a_plan_from_being_complete() {
    let env = with_plan(PLAN, "- [x] one\n- [-] two\n");
    output_of(build(&env, &[], &[]), 0);
    assert_eq!((stop(&env).as_str(), sessions(&env)), ("complete", 0));
}

#[test]
fn a_plan_that_is_a_link_is_refused_with_its_target() {
    let env = project(&[]);
    commit_file(&env, "elsewhere.md", CHECKLIST);
    std::os::unix::fs::symlink("elsewhere.md", env.repo().join(PLAN)).unwrap();
    for extra in [&[][..], &["--dry-run"]] {
        let ran = build(&env, &[], extra);
        let text = flat(&output_of(ran, 2));
        has(&text, "implementation_plan.md is a link to elsewhere.md");
    }
    assert_eq!(read(&env, "elsewhere.md"), CHECKLIST);
}

#[test]
fn a_file_that_is_there_is_never_called_not_found() {
    let env = with_plan("progress.md", "# Progress: P\n\n## Work\n- [ ] a\n- [ ] b\n");
    for extra in [&[][..], &["--dry-run"]] {
        let text = flat(&output_of(build(&env, &[], extra), 2));
        has(&text, "progress.md has no checkbox (`- [ ] task`) below `## Tasks`");
        has(&text, "2 checkboxes");
        has_not(&text, "not found");
    }
    let env = with_plan(PLAN, "\n");
    let text = flat(&output_of(build(&env, &[], &[]), 2));
    has(&text, "implementation_plan.md is empty");
    has(&text, "ralph plan implementation_plan.md");
}

#[test]
fn usual_names_are_suggested_and_not_taken() {
    let env = project(&[]);
    for extra in [&[][..], &["--dry-run"]] {
        has(&output_of(build(&env, &[], extra), 2), "Implementation plan not found");
    }
    commit_file(&env, "TODO.md", CHECKLIST);
    for extra in [&[][..], &["--dry-run"]] {
        let text = flat(&output_of(build(&env, &[], extra), 2));
        has(&text, "ralph build TODO.md");
        has_not(&text, "not found");
    }
    let works = [checks("one", "Write one"), checks("two", "Write two")];
    let works: Vec<String> = works.iter().map(|text| text.replace(PLAN, "TODO.md")).collect();
    let works: Vec<&str> = works.iter().map(String::as_str).collect();
    output_of(build(&env, &works, &["TODO.md"]), 0);
    has(&read(&env, "TODO.md"), "- [x] Write two");
}

#[test]
fn plans_and_lists_under_usual_names_are_suggested_everywhere() {
    let env = project(&[]);
    commit_file(&env, "Plan.md", "- [ ] a\n- [x] b\n- [ ] c\n");
    commit_file(&env, "@fix_plan.md", "Fix everything.\n");
    commit_file(&env, "TODO.md", "- [x] all done\n");
    commit_file(&env, "specs/001-a/tasks.md", "## Phase 1: A\n- [ ] T001 a\n");
    commit_file(&env, "prd.json", "{\"userStories\": [{\"id\": \"1\", \"title\": \"a\"}]}");
    let expected = [
        "found Plan.md (2 open tasks): ralph build Plan.md",
        "found @fix_plan.md (text without checkboxes): ralph build @fix_plan.md",
        "found specs/001-a/tasks.md (1 open task): ralph import specs/001-a/tasks.md",
        "found prd.json (1 open task): ralph import prd.json",
    ];
    let refused = flat(&output_of(build(&env, &[], &[]), 2));
    expected.iter().for_each(|hint| has(&refused, hint));
    has_not(&refused, "TODO.md");
    let alone = env.ralph(&[]).success();
    has(&alone, "ralph build Plan.md ");
    has(&alone, "work through Plan.md (2 open tasks)");
    let init = env.ralph(&["init"]).stderr;
    has(&flat(&init), expected[0]);
}

#[test]
fn a_numbered_list_of_another_tool_is_built_in_order_with_a_hint() {
    let env = with_plan("tasks.md", "## 1. A\n\n- [ ] 1.1 Write one\n");
    let works = checks("one", "1.1 Write one").replace(PLAN, "tasks.md");
    let text = flat(&output_of(build(&env, &[&works], &["tasks.md"]), 0));
    has(&text, "tasks.md is a task list in the format openspec");
    has(&text, "ralph import tasks.md");
}

#[test]
fn a_plan_below_the_state_folder_is_seen_by_sessions() {
    let env = project(&[]);
    env.write(".ralph/fix_plan.md", CHECKLIST);
    // The file alone is there: it is written in place, and no other is made beside it.
    let ticks = |title: &str| {
        let plan = ".ralph/fix_plan.md";
        sh(&format!(
            "sed 's/\\[ \\] {title}/[x] {title}/' {plan} > /tmp/new && cat /tmp/new > {plan}"
        ))
    };
    let works = [
        session(&[write("one", "x"), ticks("Write one"), say("One.")]),
        session(&[write("two", "x"), ticks("Write two"), say("Two.")]),
    ];
    let works: Vec<&str> = works.iter().map(String::as_str).collect();
    output_of(build(&env, &works, &[".ralph/fix_plan.md"]), 0);
    assert_eq!((stop(&env).as_str(), sessions(&env)), ("complete", 2));
    has(&read(&env, ".ralph/fix_plan.md"), "- [x] Write one\n- [x] Write two\n");
}

#[test]
fn a_text_plan_is_announced() {
    let env = with_plan(PLAN, "# Greeter\n\nWrite a greeting.\n");
    let works = session(&[write("one.txt", "x"), say("<promise>COMPLETE</promise>")]);
    let text = flat(&output_of(build(&env, &[&works], &[]), 0));
    has(&text, "implementation_plan.md has no checkboxes");
    has(&text, "ralph plan implementation_plan.md");
    let text = build(&env, &[], &["--dry-run"]).success();
    has(&text, "the whole text of implementation_plan.md");
}

#[test]
fn a_dry_run_ends_as_the_run_would() {
    let done = "# Progress: P\n\n## Status\nRALPH_DONE\n\n## Tasks\n- [ ] a\n";
    let waits = "# Progress: P\n\n## Tasks\n- [!] a\n";
    for (text, code, word) in [(done, 0, "RALPH_DONE"), (waits, 7, "waiting for you")] {
        let env = with_plan("progress.md", text);
        let dry = build(&env, &[], &["--dry-run"]);
        assert_eq!(dry.code, code, "{}", dry.stderr);
        has(&dry.stdout, "Would stop at once: ");
        has(&dry.stdout, word);
        output_of(build(&env, &[], &[]), code);
    }
    let mut env = with_checklist();
    stand_in(&mut env, "result ok");
    let text = env.ralph(&["build", "--dry-run", "--model", "opus", "--agent", "claude"]).success();
    has(&text, "--model opus");
}

#[test]
fn a_commit_names_what_was_ticked_and_no_other_task() {
    let env = with_checklist();
    let second = session(&[write("two.txt", "x"), tick(PLAN, "Write two"), say("Two.")]);
    let none = session(&[write("more.txt", "x"), say("Some work.")]);
    let first = session(&[write("one.txt", "x"), tick(PLAN, "Write one"), say("One.")]);
    let text = output_of(build(&env, &[&second, &none, &first], &[]), 0);
    let subjects = subjects(&env);
    assert_eq!(subjects[0], "build: iteration 3 - Write one");
    assert_eq!(subjects[1], "build: iteration 2 - no task ticked");
    assert_eq!(subjects[2], "build: iteration 1 - Write two");
    has(&text, "changed: no task ticked");
    has(&text, "the agent picks from 2 open tasks, first: Write one");
}

#[test]
fn a_planned_run_under_a_database_preset_says_what_to_type() {
    let env = with_checklist();
    commit_file(&env, "ralph.toml", "preset = \"dag\"\n");
    let text = flat(&output_of(build(&env, &[], &[]), 2));
    has(&text, "the plan is in implementation_plan.md");
    has(&text, "ralph import implementation_plan.md");
    env.ralph(&["import", PLAN]).success();
    has(&build(&env, &[], &["--dry-run"]).success(), "Tasks: 0/2 complete\n");
}

#[test]
fn a_feature_without_tasks_says_how_to_get_them() {
    let env = project(&[]);
    env.ralph(&["feature", "create", "greet"]).success();
    for extra in [&[][..], &["--dry-run"]] {
        let mut all = vec!["run", "greet", "--agent", "script"];
        all.extend(["--set", "agent.script.path=../cassette.jsonl"]);
        all.extend(extra);
        cassette(&env, &[]);
        let ran = env.ralph(&all);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        has(&ran.stderr, "ralph feature build greet");
        has_not(&ran.stderr, "ralph plan");
    }
}
