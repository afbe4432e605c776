//! A plan file belongs to its owner: what people and agents do to it while ralph runs, and what ralph
//! never does to it.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Runs one session of a progress file; while it waits, somebody edits.
fn while_it_runs(env: &TestEnv, last: &[String], edit: impl FnOnce(&TestEnv)) -> String {
    let mut steps = vec![write("one.txt", "x"), gate_step("there", "go")];
    steps.extend_from_slice(last);
    let running = start(env, &[&session(&steps)], &["--once"]);
    wait_for(env, "there");
    edit(env);
    touch(env, "go");
    output_of(Ran::end_of(running), 0)
}

/// Changes the file in place.
fn change(env: &TestEnv, name: &str, from: &str, to: &str) {
    let text = read(env, name);
    assert!(text.contains(from), "{from:?} is not in {text}");
    env.write(name, text.replacen(from, to, 1));
}

#[test]
fn s2_7_s2_29_what_the_user_writes_during_a_session_stays() {
    let env = with_progress();
    let text = while_it_runs(&env, &[say(&ticked(PROGRESS, &["Write one"]))], |env| {
        change(env, "progress.md", "Three words are missing.", "Three words, and courage.");
        change(
            env,
            "progress.md",
            "- [ ] Write two\n",
            "- [ ] Write two, but better\n- [ ] Write more\n",
        );
    });
    let file = read(&env, "progress.md");
    has(&file, "Three words, and courage.");
    has(&file, "- [x] Write one\n- [ ] Write two, but better\n- [ ] Write more\n");
    assert_eq!(ticks(&file), ["Write one"], "{text}");
    // The task that was reworded is the same, the other is new.
    output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    let titles: Vec<String> = tasks(&env).into_iter().map(|(title, _)| title).collect();
    assert_eq!(titles.len(), 4, "{titles:?}");
    assert!(titles.contains(&"Write two, but better".to_owned()), "{titles:?}");
}

#[test]
fn a_task_that_leaves_while_a_session_runs_waits_until_the_user_agrees() {
    let env = with_progress();
    let text = while_it_runs(&env, &[say(&ticked(PROGRESS, &["Write one"]))], |env| {
        change(env, "progress.md", "- [ ] Write three\n", "");
    });
    has(&text, "\"Write three\" was removed from the plan");
    has_not(&read(&env, "progress.md"), "Write three");
    output_of(build(&env, &[&prints("two", &["Write two"])], &[]), 7);
    assert_eq!(stop(&env), "blocked");
    env.task(&["delete", &leaving::id_of(&env, "Write three")]);
    output_of(build(&env, &[], &[]), 0);
    assert_eq!(stop(&env), "complete");
    assert!(!tasks(&env).iter().any(|(title, _)| title == "Write three"), "{:?}", tasks(&env));
}

#[test]
fn the_claimed_task_itself_may_be_removed_or_moved() {
    let env = with_progress();
    while_it_runs(&env, &[say(&ticked(PROGRESS, &["Write one"]))], |env| {
        change(env, "progress.md", "- [ ] Write one\n", "");
    });
    has_not(&read(&env, "progress.md"), "] Write one\n");
    let env = with_progress();
    while_it_runs(&env, &[say(&ticked(PROGRESS, &["Write one"]))], |env| {
        change(env, "progress.md", "- [ ] Write one\n", "");
        change(env, "progress.md", "- [ ] Write three\n", "- [ ] Write three\n- [ ] Write one\n");
    });
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"]);
    assert!(tasks(&env).contains(&("Write one".into(), "done".into())), "{:?}", tasks(&env));
}

#[test]
fn a_users_tick_between_runs_counts_and_so_does_removing_one() {
    let env = with_progress();
    output_of(build(&env, &[&prints("one", &["Write one"])], &["--once"]), 0);
    change(&env, "progress.md", "- [ ] Write two", "- [X] Write two");
    output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    assert!(tasks(&env).contains(&("Write two".into(), "done".into())), "{:?}", tasks(&env));
    change(&env, "progress.md", "- [x] Write one", "- [ ] Write one");
    output_of(build(&env, &[&only_says("hm")], &["--once"]), 0);
    let again = tasks(&env).into_iter().filter(|(title, _)| title == "Write one");
    let mut again: Vec<String> = again.map(|(_, status)| status).collect();
    again.sort();
    assert_eq!(again, ["done", "open"], "it is to be done once more");
    has(&read(&env, "progress.md"), "- [ ] Write one\n");
    has(&read(&env, "progress.md"), "- [X] Write two\n");
}

#[test]
fn a_tick_that_the_user_takes_away_right_after_the_run_stays_away() {
    for (name, text) in [("progress.md", PROGRESS), ("implementation_plan.md", CHECKLIST)] {
        let env = with_plan(name, text);
        let steps = session(&[write("one", "x"), tick(name, "Write one"), say("ok")]);
        output_of(build(&env, &[&steps], &["--once"]), 0);
        change(&env, name, "- [x] Write one", "- [ ] Write one");
        let more = session(&[write("more", "x"), say("ok")]);
        output_of(build(&env, &[&more], &["--once"]), 0);
        has(&read(&env, name), "- [ ] Write one\n");
        let open = tasks(&env).into_iter().filter(|(_, status)| status == "open");
        assert!(open.into_iter().any(|(title, _)| title == "Write one"), "{:?}", tasks(&env));
    }
}

#[test]
fn a_users_tick_during_a_session_is_reverted_only_with_a_notice() {
    let env = with_progress();
    let text = while_it_runs(&env, &[say("I could not.")], |env| {
        change(env, "progress.md", "- [ ] Write three", "- [x] Write three");
    });
    let file = read(&env, "progress.md");
    match ticks(&file).contains(&"Write three") {
        true => assert!(tasks(&env).contains(&("Write three".into(), "done".into()))),
        false => has(&text, "ralph reverted the tick of \"Write three\""),
    }
}

#[test]
fn an_agent_that_removes_or_empties_the_plan_gets_it_back() {
    let gets_it_back = |name: &str, text: &str, how: &str| {
        let env = with_plan(name, text);
        let removes = session(&[write("x", "x"), sh(&format!("{how} {name}")), say("ok")]);
        let output = output_of(build(&env, &[&removes], &["--once"]), 0);
        has(&output, "ralph restored it");
        has(&read(&env, name), "- [ ] Write one\n- [ ] Write two\n");
        assert_eq!(tasks(&env).len(), boxes(text), "{:?}", tasks(&env));
        let usual = env.write("usual", "");
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(env.repo().join(name)), mode(usual), "{how} {name}");
    };
    // Each waits a while for the file to come back by itself.
    std::thread::scope(|scope| {
        for (name, text) in [("progress.md", PROGRESS), ("implementation_plan.md", CHECKLIST)] {
            for how in ["rm", "truncate -s 0"] {
                scope.spawn(move || gets_it_back(name, text, how));
            }
        }
    });
}

fn boxes(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("- [")).count()
}

#[test]
fn an_agent_that_rewrites_the_whole_file_gets_what_it_ticked_and_says_so_for_the_rest() {
    let env = with_progress();
    let other = "# Progress: Greeter\n\n## Status\nGoing well\n\n## Tasks\n- [x] Write one\n- [ ] Write two\n";
    let steps = session(&[write("one", "x"), write("progress.md", other), say("ok")]);
    let text = output_of(build(&env, &[&steps], &["--once"]), 0);
    has(&text, "\"Write three\" was removed from the plan during iteration 1");
    let file = read(&env, "progress.md");
    has(&file, "## Status\nGoing well\n");
    assert_eq!(ticks(&file), ["Write one"]);
    has(&file, "1 task(s) completed");
    // The old one is in the history.
    has(&env.git(&["show", "HEAD~1:progress.md"]), "Write three");
}

#[test]
fn line_endings_bullets_and_permissions_are_kept() {
    let text = PROGRESS.replace("- [ ] Write two", "* [ ] Write two").replace('\n', "\r\n");
    let env = project(&[]);
    env.git(&["config", "core.autocrlf", "false"]);
    commit_file(&env, "docs/real.md", &text);
    let path = env.repo().join("docs/real.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    let steps = session(&[
        write("one", "x"),
        sh(
            "sed -i 's/- \\[ \\] Write one/- [x] Write one/; s/* \\[ \\] Write two/* [X] Write two/' real.md",
        ),
        say("ok"),
    ]);
    let prompt = output_of(build(&env, &[&steps], &["--once", "docs/real.md"]), 0);
    let file = read(&env, "docs/real.md");
    has(&file, "- [x] Write one\r\n* [X] Write two\r\n");
    assert_eq!(file.matches('\n').count(), file.matches("\r\n").count(), "{prompt}\n{file:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o664);
}

#[test]
fn a_plan_that_was_never_committed_is_worked_off_and_goes_in_with_the_work() {
    let env = project(&[]);
    env.write("progress.md", PROGRESS);
    env.write("mine.txt", "not for ralph\n");
    output_of(build(&env, &[&prints("one", &["Write one"])], &["--once"]), 0);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "one\nprogress.md\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? mine.txt\n");
    has(&env.git(&["show", "HEAD:progress.md"]), "- [x] Write one\n");
}

#[test]
fn a_plan_that_git_ignores_is_worked_off_too() {
    let env = project(&[]);
    commit_file(&env, ".gitignore", "progress.md\n");
    env.write("progress.md", PROGRESS);
    output_of(build(&env, &[&prints("one", &["Write one"])], &["--once"]), 0);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"]);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "one\n");
}

#[test]
fn what_ralph_does_not_understand_survives_byte_for_byte() {
    let odd = "# Progress: Odd\n\n<!-- - [ ] not a task -->\n\n## Notes of mine\n\n```md\n- [ ] not a task either\n```\n\n> - [ ] quoted\n\n## Tasks\n\n1. [ ] Write one\n   because of *that*\n\n   | a | b |\n   |---|---|\n+ [ ] Write two\t \n\n## Änderungen\n\u{1F600} \t\n";
    let env = with_plan("progress.md", odd);
    let steps = session(&[
        write("one", "x"),
        sh("sed -i 's/^1. \\[ \\] Write one/1. [x] Write one/' progress.md"),
        say("ok"),
    ]);
    output_of(build(&env, &[&steps], &["--once"]), 0);
    let file = read(&env, "progress.md");
    let mut rest = file.as_str();
    for line in odd.lines() {
        let line = line.replace("1. [ ]", "1. [x]");
        let at = rest.find(&line).unwrap_or_else(|| panic!("{line:?} is lost in\n{file}"));
        rest = &rest[at + line.len()..];
    }
    assert_eq!(tasks(&env).len(), 2, "{:?}", tasks(&env));
}

#[test]
fn a_run_that_does_nothing_writes_nothing_into_a_checklist() {
    let env = with_checklist();
    output_of(build(&env, &[&only_says("hm")], &["--max-retries", "0"]), 4);
    assert_eq!(read(&env, "implementation_plan.md"), CHECKLIST);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}
