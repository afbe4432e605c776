//! Settings that change the shape of a loop: who commits, where sessions work, what completes a run, which tools the
//! agent has. Where a kind of run cannot follow one, it is refused before a session is paid for.

use super::*;

/// A session that commits one file, leaves another, and is done.
fn commits_half() -> String {
    session(&[
        sh("echo x > kept.txt; git add kept.txt; git commit -qm 'by the agent'; echo y > left.txt"),
        say("<task-done>{id}</task-done>"),
    ])
}

fn committed(env: &TestEnv) -> String {
    env.git(&["ls-tree", "-r", "--name-only", "HEAD"])
}

fn checklist(text: &str) -> TestEnv {
    let env = project(&[]);
    env.write("implementation_plan.md", text);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    env
}

/// The run is refused with these words, and no session was started.
fn refused(env: &TestEnv, extra: &[&str], output: &[&str]) {
    let text = build(env, &[&works()], extra).failure(1);
    for part in output {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(runs(env).len(), 0, "{text}");
}

#[test]
fn loop_commit_says_whether_ralph_commits_what_the_agent_left() {
    let env = project(&["a"]);
    build(&env, &[&commits_half()], &[]).success();
    assert_eq!(committed(&env), "README.md\nkept.txt\nleft.txt\n");

    let env = project(&["a"]);
    build(&env, &[&commits_half()], &["--set", "loop.commit=agent"]).success();
    assert_eq!(committed(&env), "README.md\nkept.txt\n");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:left.txt"]), "y\n", "saved");
}

#[test]
fn loop_commit_done_leaves_an_iteration_without_a_tick_uncommitted() {
    let plan = "# P\n\n- [ ] one\n";
    let changes = session(&[write("half.txt", "x\n"), say("not yet")]);
    let env = checklist(plan);
    build(&env, &[&changes], &["1"]);
    assert!(committed(&env).contains("half.txt"));

    let env = checklist(plan);
    build(&env, &[&changes], &["1", "--set", "loop.commit=done"]);
    assert!(!committed(&env).contains("half.txt"));
}

#[test]
fn loop_commit_session_is_refused_where_tasks_are_judged_one_by_one() {
    let env = project(&["a"]);
    let output = ["`loop.commit = \"session\"` (--set) does not apply", "once it is done"];
    refused(&env, &["--set", "loop.commit=session"], &output);
}

#[test]
fn works_in_a_worktree_leaves_your_checkout_to_you_with_one_session_at_a_time() {
    let env = project(&["a", "b"]);
    let edits = session(&[sh("pwd > where.txt"), works()]);
    // At the default level worktrees of finished tasks stay behind; this is about where sessions work.
    env.write("README.md", "You are editing this.\n");
    let ran = build(&env, &[&edits, &works()], &["--set", "loop.works_in=worktree"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let place = std::fs::read_to_string(env.repo().join("where.txt")).unwrap();
    assert!(place.contains("/.worktrees/"), "{place}");
    assert_eq!(env.git(&["status", "--porcelain"]), " M README.md\n");
    for file in ["a.txt", "b.txt"] {
        assert!(committed(&env).contains(file), "{}", committed(&env));
    }
    let journal = journal(&env);
    assert_eq!(of_kind(&journal, "session_started").len(), 2);
}

#[test]
fn works_in_is_refused_where_a_run_has_one_place_to_work_in() {
    let env = checklist("# P\n\n- [ ] one\n");
    let output = ["`loop.works_in = \"worktree\"` (--set)", "preset checklist", "ralph import"];
    refused(&env, &["--set", "loop.works_in=worktree"], &output);

    let env = project(&["a", "b"]);
    let output =
        ["`loop.works_in = \"place\"` (--set)", "2 tasks in parallel need a worktree each"];
    refused(&env, &["-j", "2", "--set", "loop.works_in=place"], &output);
}

#[test]
fn ends_when_decides_whether_ticks_or_the_promise_complete_a_checklist() {
    let ticks = session(&[
        write("one.txt", "x\n"),
        sh("sed -i 's/\\[ \\]/[x]/' implementation_plan.md"),
        say("ticked"),
    ]);
    let promises = session(&[write("two.txt", "x\n"), say("<promise>COMPLETE</promise>")]);
    let env = checklist("# P\n\n- [ ] one\n");
    build(&env, &[&ticks, &promises], &["--set", "loop.ends_when=marker"]).success();
    assert!(env.repo().join("two.txt").exists(), "the ticks alone do not complete it");

    let env = checklist("# P\n\n- [ ] one\n");
    build(&env, &[&promises, &ticks], &["--set", "loop.ends_when=finished"]).success();
    assert!(env.repo().join("one.txt").exists(), "the promise alone does not complete it");
}

#[test]
fn ends_when_that_could_never_complete_a_run_is_refused() {
    let env = project(&["a"]);
    let output = ["`loop.ends_when = \"marker\"` (--set)", "the task database has no marker"];
    refused(&env, &["--set", "loop.ends_when=marker"], &output);
    let env = checklist("# P\n\n- [ ] one\n");
    refused(&env, &["--set", "loop.ends_when="], &["is empty, so the run would never be complete"]);
}

#[test]
fn allowed_tools_limit_the_agent_in_the_sandbox_too() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, "result nothing");
    let claude = ["build", "--agent", "claude", "--once"];
    env.ralph(&claude).success();
    let all = argv(&here, 1).join(" ");
    if !all.contains("--dangerously-skip-permissions") {
        // There is no sandbox on this machine, where the list always counts.
        return;
    }
    env.ralph(&[&claude[..], &["--new", "--allow", "Read,Grep"]].concat()).success();
    let some = argv(&here, 2).join(" ");
    assert!(some.contains("--allowed-tools Read Grep"), "{some}");
    assert!(!some.contains("--dangerously-skip-permissions"), "{some}");
    let dry = env.ralph(&["build", "--agent", "claude", "--dry-run", "--allow", "Read,Grep"]);
    let dry = dry.success();
    assert!(dry.contains("--allowed-tools"), "{dry}");
}

#[test]
fn an_import_names_the_branch_that_its_stories_are_for() {
    let env = project(&[]);
    let prd = r#"{"branchName":"ralph/login","userStories":[{"id":"US-1","title":"Log in","passes":false}]}"#;
    env.write("prd.json", prd);
    let text = env.ralph(&["import", "prd.json"]).success();
    assert!(!text.is_empty());
    let ran = env.ralph(&["import", "prd.json"]);
    assert!(ran.stderr.contains("git switch -c ralph/login"), "{}", ran.stderr);
    env.git(&["switch", "--quiet", "-c", "ralph/login"]);
    let ran = env.ralph(&["import", "prd.json"]);
    assert!(!ran.stderr.contains("git switch"), "{}", ran.stderr);
}
