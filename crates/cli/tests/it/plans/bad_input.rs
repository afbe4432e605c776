//! Plans that are none, and command lines that do not fit.

use super::*;

/// The binary runs no agent here.
fn refused(env: &TestEnv, arguments: &[&str], code: i32) -> String {
    cassette(env, &[]);
    let ran = again(env, arguments);
    assert_eq!(ran.code, code, "{arguments:?}\n{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    has_not(&ran.stderr, "panicked");
    ran.stderr
}

#[test]
fn s2_6_a_plan_that_is_not_text_is_an_error_with_its_line() {
    let env = with_plan("progress.md", PROGRESS);
    env.write("progress.md", b"# Progress: x\n\n## Tasks\n- [ ] \xff\n");
    let text = refused(&env, &["progress.md"], 1);
    has(&text, "Build failed: progress.md:4: ");
    env.write("progress.md", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00");
    has(&refused(&env, &["progress.md"], 1), "progress.md");
    let text = again(&env, &["progress.md", "--dry-run"]).failure(1);
    has(&text, "progress.md");
    assert!(runs(&env).is_empty(), "nothing was begun");
}

#[test]
fn s2_6_a_section_that_is_there_twice_is_an_error_with_its_line() {
    let env = with_plan("progress.md", &format!("{PROGRESS}\n## Status\nAgain\n"));
    for arguments in [&["progress.md"][..], &[], &["--dry-run"]] {
        let text = refused(&env, arguments, 1);
        has(&text, "Build failed: progress.md:28: a second \"## Status\"; the first is on line 3");
    }
    assert!(runs(&env).is_empty(), "nothing was begun");
}

#[test]
fn s2_6_s2_8_empty_and_blank_plans_are_no_plans() {
    for text in ["", "\n\n  \n\t\n", "\u{feff}", "\u{feff}\n \n"] {
        for arguments in [&["implementation_plan.md"][..], &[], &["--preset", "checklist"]] {
            let env = with_plan("implementation_plan.md", text);
            let output = refused(&env, arguments, 2);
            has(&output, "implementation_plan.md is empty");
        }
    }
}

#[test]
fn a_plan_that_is_a_folder_or_outside_or_missing_is_reported() {
    let env = project(&[]);
    env.write("folder/x", "x");
    has(&refused(&env, &["folder"], 1), "not a file");
    has(
        &refused(&env, &["missing.md"], 2),
        "Implementation plan not found. Run 'ralph plan' first.",
    );
    refused(&env, &["missing/missing.md"], 2);
    std::fs::write(env.folder().join("outside.md"), PROGRESS).unwrap();
    has(&refused(&env, &["../outside.md"], 1), "outside the repository");
    has(&refused(&env, &[env.folder().join("outside.md").to_str().unwrap()], 1), "outside");
    let missing = again(&env, &["missing.md", "--dry-run"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    has(&missing.stderr, "Implementation plan not found.");
}

#[test]
fn a_plan_that_may_not_be_read_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let env = with_progress();
    let path = env.repo().join("progress.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        ralph_testkit::skip("an unreadable plan: this user may read everything");
        return;
    }
    has(&refused(&env, &[], 1), "cannot be read");
}

#[test]
fn arguments_that_do_not_fit_are_usage_errors() {
    let env = with_progress();
    env.write("other.md", PROGRESS);
    cassette(&env, &[]);
    for arguments in [
        &["progress.md", "other.md"][..],
        &["3", "4"],
        &["3", "progress.md", "other.md"],
        &["progress.md", "--task", "t-1"],
        &["progress.md", "--feature", "x"],
        &["3", "--max-iterations", "4"],
        &["99999999999"],
        &["progress.md", "--preset", "dag"],
    ] {
        let text = again(&env, arguments).failure(64);
        has(&text, "error:");
    }
    let text = again(&env, &["progress.md", "--preset", "nonsense"]).failure(64);
    has(&text, "\"progress\", \"checklist\"");
    assert!(runs(&env).is_empty());
}

#[test]
fn a_preset_that_does_not_fit_the_file_is_refused_with_both_names() {
    let env = with_progress();
    let text = refused(&env, &["progress.md", "--preset", "checklist"], 1);
    has(&text, "progress.md is a progress plan, and the preset checklist needs a checklist plan");
    let env = with_checklist();
    let text = refused(&env, &["implementation_plan.md", "--preset", "progress"], 1);
    has(&text, "needs a progress plan");
    assert!(runs(&env).is_empty());
}

#[test]
fn a_very_large_plan_is_worked_off() {
    let mut text = PROGRESS.to_owned();
    let prose = "Something that somebody once wrote down about all of this.\n".repeat(35_000);
    text = text.replace("Three words are missing.\n", &prose);
    assert!(text.len() > 2_000_000);
    let env = with_plan("progress.md", &text);
    let steps = session(&[write("one", "x"), tick("progress.md", "Write one"), say("ok")]);
    output_of(build(&env, &[&steps], &["--once"]), 0);
    let file = read(&env, "progress.md");
    assert_eq!(ticks(&file), ["Write one"]);
    assert!(file.contains(&prose));
    // With the real argument list it does not reach the limit of the system either.
    let mut env = with_plan("progress.md", &text);
    let here = stand_in(&mut env, "echo $n > work; result ok");
    output_of(env.ralph(&["build", "--once", "--agent", "claude"]), 0);
    assert_eq!(sessions_of(&here), 1);
}

#[test]
fn many_tasks_are_taken_in() {
    let checkboxes: String = (0..1000).map(|n| format!("- [ ] Task number {n}\n")).collect();
    let env = with_plan("progress.md", &format!("# Progress: Big\n\n## Tasks\n{checkboxes}"));
    let steps = session(&[write("x", "x"), tick("progress.md", "Task number 0"), say("ok")]);
    output_of(build(&env, &[&steps], &["--once"]), 0);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Task number 0"]);
}

#[test]
fn odd_shapes_are_read_as_a_reader_would() {
    let odd = "# Progress: Odd\n\n## Status\nA\n\n## Tasks\n### Phase\n- [ ] Same\n\t- [ ] Inner one\n\t- [ ] Inner two\n* [ ] Star\n+ [x] Plus\n1. [ ] Number\n### Phase\n- [ ] Same\n- [ ]\n- [ ]NoSpace\n- [y] Other\n";
    let env = with_plan("progress.md", odd);
    let ran = build(&env, &[&only_says("hm")], &["--once"]);
    let text = output_of(ran, 0);
    let listed = tasks(&env);
    for title in ["Inner one", "Inner two", "Star", "Plus", "Number"] {
        assert!(listed.iter().any(|(known, _)| known == title), "{title}: {listed:?}\n{text}");
    }
    assert_eq!(listed.iter().filter(|(title, _)| title == "Same").count(), 2, "{listed:?}");
    for line in odd.lines().filter(|line| line.contains('[')) {
        has(&read(&env, "progress.md"), line);
    }
    let journal = journal(&env);
    let first = &of_kind(&journal, "iteration_started")[0]["task"]["title"];
    assert_eq!(first, "Inner one", "a parent is done with its parts");
}

#[test]
fn parts_finish_their_parent() {
    let nested =
        "# Progress: Nested\n\n## Tasks\n- [ ] Whole\n  - [ ] Part one\n  - [ ] Part two\n";
    let env = with_plan("progress.md", nested);
    let part = |n: u32, word: &str| {
        let step = sh(&format!("sed -i 's/\\[ \\] Part {word}/[x] Part {word}/' progress.md"));
        session(&[write(&format!("f{n}"), "x"), step, say("ok")])
    };
    output_of(build(&env, &[&part(1, "one"), &part(2, "two")], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("complete".into(), 2));
    has(&read(&env, "progress.md"), "- [x] Whole\n  - [x] Part one\n  - [x] Part two\n");
    assert!(tasks(&env).iter().all(|(_, status)| status == "done"), "{:?}", tasks(&env));
}

#[test]
fn without_agents_md_there_is_no_gate_and_that_is_reported() {
    for env in [with_progress(), with_checklist()] {
        let steps = session(&[write("x", "x"), say("ok")]);
        let text = output_of(build(&env, &[&steps], &["--once"]), 0);
        has(&text, "no gates: work is accepted unchecked");
    }
}

#[test]
fn an_agents_md_without_a_command_is_no_gate_either() {
    let env = with_checklist();
    commit_file(&env, "AGENTS.md", "# Agents\n\nBe nice.\n");
    let text = output_of(build(&env, &[&session(&[write("x", "x"), say("ok")])], &["--once"]), 0);
    has(&text, "no gates: work is accepted unchecked");
}

#[test]
fn words_in_a_plan_cannot_paint_the_terminal_or_the_commit() {
    let env = with_plan(
        "implementation_plan.md",
        "- [ ] Evil \u{1b}[2J\u{1b}]0;title\u{7} task $(touch pwned) `id`; rm -rf /\n",
    );
    let ticks = sh("sed -i 's/\\[ \\]/[x]/' implementation_plan.md");
    let works = session(&[write("x", "x"), ticks, say("ok")]);
    let text = output_of(build(&env, &[&works], &["1"]), 0);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    assert!(!log(&env).contains('\u{1b}'));
    assert!(!env.repo().join("pwned").exists());
    assert!(subjects(&env)[0].starts_with("build: iteration 1 - Evil"), "{:?}", subjects(&env));
}
