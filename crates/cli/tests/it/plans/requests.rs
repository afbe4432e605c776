//! What sessions and people ask for besides ticks, and which plan it is about.

use super::*;

/// The id of a task by its title.
fn id_of(env: &TestEnv, title: &str) -> String {
    let listed: Vec<Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    let found = listed.iter().find(|task| task["title"] == title).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_has_an_id_that_stays_and_can_be_named() {
    let env = with_progress();
    output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    let id = id_of(&env, "Write one");
    assert!(id.starts_with("t-"), "{id}");
    has(&run_file(&env, "iteration-001.task.md"), &id);
    // Reworded and moved, it is the same.
    let moved = PROGRESS
        .replace("- [ ] Write one\n", "")
        .replace("- [ ] Write three\n", "- [ ] Write three\n- [ ] Write one, well\n");
    env.write("progress.md", moved);
    let done = session(&[write("x", "x"), say("<task-done>{id}</task-done>")]);
    output_of(build(&env, &[&done], &["--once"]), 0);
    assert_eq!(id_of(&env, "Write one, well"), id);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write two"], "a signal is as good as a tick");
}

#[test]
fn a_command_inside_the_session_is_as_good_as_a_tick() {
    let env = with_progress();
    let done = "ralph task done $RALPH_TASK_ID > ../notes/said 2>&1";
    let steps = session(&[write("x", "x"), sh(done), say("ok")]);
    let text = output_of(build(&env, &[&steps], &["--once"]), 0);
    let prompt = std::fs::read_to_string(env.note("said")).unwrap();
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"], "{prompt}\n{text}");
}

#[test]
fn a_task_that_is_given_up_is_failed_and_the_next_one_taken() {
    let env = with_progress();
    let gives_up = only_says("<task-failed>{id}</task-failed> <reason>no paper</reason>");
    let text = output_of(build(&env, &[&gives_up, &prints("two", &["Write two"])], &["2"]), 0);
    has(&text, "no paper");
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write two"]);
    assert!(tasks(&env).contains(&("Write one".into(), "failed".into())), "{:?}", tasks(&env));
    has(&read(&env, "progress.md"), "no paper");
}

#[test]
fn a_plan_whose_last_open_tasks_have_failed_is_over_and_says_so() {
    let env = with_progress();
    let gives_up = only_says("<task-failed>{id}</task-failed> <reason>no paper</reason>");
    let (two, three) = (prints("two", &["Write two"]), prints("three", &["Write three"]));
    let ran = build(&env, &[&gives_up, &two, &three], &[]);
    let text = output_of(ran, 0);
    assert_eq!(stop(&env), "complete", "{text}");
    has(&text, "1 failed");
    assert_eq!(build(&env, &[], &["--strict-exit"]).code, 1);
}

#[test]
fn a_question_lets_its_task_wait_and_the_answer_is_reported() {
    let env = with_progress();
    let asks = only_says("<question>Which colour?</question>");
    output_of(build(&env, &[&asks, &prints("two", &["Write two"])], &["2"]), 0);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write two"]);
    let open = env.json(&["answer"]);
    let id = open[0]["id"].as_str().unwrap_or_else(|| panic!("{open}")).to_owned();
    env.ralph(&["answer", &id, "Blue."]).success();
    output_of(build(&env, &[&prints("one", &["Write one"])], &["--once"]), 0);
    has(&run_file(&env, "iteration-001.task.md"), "Blue.");
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one", "Write two"]);
}

#[test]
fn two_plans_are_two_plans() {
    let env = with_progress();
    let other = PROGRESS.replace("Write", "Draw");
    commit_file(&env, "docs/other.md", &other);
    output_of(build(&env, &[&only_says("hm")], &["--once", "docs/other.md"]), 0);
    let all = prints("x", &["Write one", "Write two", "Write three"]);
    output_of(build(&env, &[&all], &["progress.md"]), 0);
    assert_eq!(stop(&env), "complete");
    let file = read(&env, "docs/other.md");
    assert_eq!(ticks(&file), [""; 0]);
    let open = tasks(&env).into_iter().filter(|(_, status)| status == "open");
    let open: Vec<String> = open.map(|(title, _)| title).collect();
    assert_eq!(open, ["Draw one", "Draw two", "Draw three"]);
}

#[test]
fn the_plan_that_is_there_decides_and_progress_comes_first() {
    let env = with_progress();
    commit_file(&env, "implementation_plan.md", CHECKLIST);
    let text = output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    has(&text, "preset progress");
    let text =
        output_of(build(&env, &[&checks("a", "Write one")], &["1", "implementation_plan.md"]), 0);
    has(&text, "preset checklist");
    // A list of boxes in any file is a checklist.
    let env = with_plan("todo.md", CHECKLIST);
    let steps = session(&[write("a", "x"), tick("todo.md", "Write one"), say("ok")]);
    has(&output_of(build(&env, &[&steps], &["1", "todo.md"]), 0), "preset checklist");
    assert_eq!(ticks(&read(&env, "todo.md")), ["Write one"]);
    // A task that is named is one of the store.
    let env = with_progress();
    env.task(&["add", "By hand", "--id", "hand"]);
    let done = session(&[write("h", "x"), say("<task-done>{id}</task-done>")]);
    output_of(build(&env, &[&done], &["--task", "hand"]), 0);
    assert_eq!(read(&env, "progress.md"), PROGRESS);
}

#[test]
fn cancelling_a_checklist_reverts_unjudged_ticks() {
    let env = with_checklist();
    let cut = session(&[
        write("one.txt", "half\n"),
        tick("implementation_plan.md", "Write one"),
        gate_step("there", "never"),
    ]);
    let running = start(&env, &[&cut], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--now"]).success();
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert_eq!(ticks(&read(&env, "implementation_plan.md")), [""; 0]);
    assert_eq!(read(&env, "one.txt"), "half\n");
    assert!(!env.git(&["for-each-ref", "refs/ralph/wip"]).is_empty(), "the work is kept");
    output_of(build(&env, &[&checks("one.txt", "Write one")], &["1"]), 0);
    assert_eq!(ticks(&read(&env, "implementation_plan.md")), ["Write one"]);
}

#[test]
fn s3_1_s3_2_it_runs_from_wherever_it_lies_and_with_settings_from_anywhere() {
    let env = with_checklist();
    std::fs::create_dir_all(env.repo().join(".ralph")).unwrap();
    for place in ["ralph", ".ralph/ralph"] {
        std::os::unix::fs::symlink(crate::RALPH, env.repo().join(place)).unwrap();
    }
    std::fs::write(env.folder().join("other.toml"), "[loop]\nmax_iterations = 1\n").unwrap();
    let changes = |n: u32| session(&[write(&format!("f{n}"), "x"), say("ok")]);
    cassette(&env, &[&changes(1), &changes(2), &changes(3), &changes(4)]);
    for place in ["./ralph", ".ralph/ralph"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!(
            "{place} build --config ../other.toml --agent script --set agent.script.path=../cassette.jsonl"
        )]);
        command.current_dir(env.repo()).env("HOME", env.home());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(sessions(&env), 1, "{place}");
    }
}

#[test]
fn in_a_checklist_a_task_of_the_plan_can_be_called_done_by_command() {
    let env = with_checklist();
    output_of(build(&env, &[&only_says("hm")], &["--once", "--max-retries", "0"]), 4);
    let id = id_of(&env, "Write two");
    let done = format!("ralph task done {id} > ../notes/said 2>&1");
    let steps = session(&[write("x", "x"), sh(&done), say("ok")]);
    let text = output_of(build(&env, &[&steps], &["--once"]), 0);
    let prompt = std::fs::read_to_string(env.note("said")).unwrap();
    has(&prompt, "when the session ends");
    assert_eq!(ticks(&read(&env, "implementation_plan.md")), ["Write two"], "{text}");
}

#[test]
fn the_tasks_of_a_file_that_is_gone_are_not_worked_off_behind_its_owners_back() {
    let env = with_checklist();
    output_of(build(&env, &[&only_says("hm")], &["--once", "--max-retries", "0"]), 4);
    std::fs::remove_file(env.repo().join("implementation_plan.md")).unwrap();
    let text = output_of(build(&env, &[], &[]), 2);
    has(&text, "Implementation plan not found");
    has(&text, "implementation_plan.md, which is gone");
    env.task(&["add", "Something else", "--id", "else"]);
    let text = output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    has(&text, "preset dag");
}
