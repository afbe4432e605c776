//! The person's git hooks on the loop's own commits.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A project in which hooks may leave notes: in a sandbox they write nowhere but in the worktree.
fn hooked() -> TestEnv {
    let env = project(&["a"]);
    // ralph's own lines stay.
    let known = std::fs::read_to_string(env.repo().join(".git/info/exclude")).unwrap();
    env.write(".git/info/exclude", format!("{known}noted.*\n"));
    env
}

fn hook(env: &TestEnv, path: &str, script: &str) {
    env.write(path, format!("#!/bin/sh\n{script}\n"));
    let path = env.repo().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn all_hooks_of_a_commit_run_and_see_what_git_commit_would_show_them() {
    let env = hooked();
    env.write("mine.txt", "not of this commit\n");
    env.git(&["add", "mine.txt"]);
    let notes = env.repo().join("noted.hooks");
    let note = |what: &str| format!("{{ {what}; }} >> {}", notes.display());
    hook(&env, ".git/hooks/pre-commit", &note("echo pre; git diff --cached --name-only"));
    let prepare = format!("{}; echo 'Prepared: yes' >> \"$1\"", note("echo prepare $2"));
    hook(&env, ".git/hooks/prepare-commit-msg", &prepare);
    let check = format!("{}; echo 'Change-Id: I1' >> \"$1\"", note("echo check; head -1 \"$1\""));
    hook(&env, ".git/hooks/commit-msg", &check);
    hook(&env, ".git/hooks/post-commit", &note("echo post; git log -1 --format=%s"));
    build(&env, &[&works()], &[]).success();
    let text = std::fs::read_to_string(notes).unwrap();
    let subject = "build: iteration 1 - a";
    let expected = format!("pre\na.txt\nprepare message\ncheck\n{subject}\npost\n{subject}\n");
    assert_eq!(text, expected);
    let message = env.git(&["log", "-1", "--format=%B"]);
    assert!(message.ends_with("Prepared: yes\nChange-Id: I1\n\n"), "{message}");
    assert_eq!(env.git(&["show", "--name-only", "--format=", "HEAD"]), "a.txt\n");
    assert_eq!(env.git(&["diff", "--cached", "--name-only"]), "mine.txt\n", "still staged");
}

#[test]
fn hooks_are_found_where_core_hooks_path_says() {
    let env = hooked();
    hook(&env, "tools/hooks/pre-commit", "touch noted.ran");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "hooks"]);
    env.git(&["config", "core.hooksPath", "tools/hooks"]);
    build(&env, &[&works()], &[]).success();
    assert!(env.repo().join("noted.ran").exists());
}

#[test]
fn a_failing_commit_hook_is_a_red_gate_and_the_next_session_hears_of_it() {
    for hook_name in ["pre-commit", "commit-msg"] {
        let env = hooked();
        let says = "echo 'no trailing spaces, please' >&2; echo 'a.txt: line 1' >&2";
        let check = format!("test -e fixed.txt || {{ {says}; exit 3; }}");
        hook(&env, &format!(".git/hooks/{hook_name}"), &check);
        let fixes = session(&[write("fixed.txt", "yes\n"), works()]);
        let ran = build(&env, &[&works(), &fixes], &[]);
        assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
        let output =
            format!("the {hook_name} hook failed: exit code 3: no trailing spaces, please");
        assert!(ran.stderr.contains(&output), "{}", ran.stderr);
        assert!(ran.stderr.contains("✗ commit-hook"), "{}", ran.stderr);
        let rows = show(&env, "a")["evidence"].clone();
        assert!(rows.to_string().contains("commit-hook"), "{rows}");
        let first = run_file(&env, "iteration-001.task.md");
        assert!(!first.contains("commit-hook"), "{first}");
        let second = run_file(&env, "iteration-002.task.md");
        let (_, gates) = second.split_once("## Failing gates").unwrap_or_default();
        for part in ["- `commit-hook`", "no trailing spaces, please", "a.txt: line 1"] {
            assert!(gates.contains(part), "{part}: {second}");
        }
    }
}

#[test]
fn in_a_progress_file_a_failing_commit_hook_is_no_done() {
    let env = hooked();
    let tasks = "- [ ] one\n";
    env.write(
        "progress.md",
        format!("# Progress: x\n\n## Status\nIn Progress\n\n## Tasks\n{tasks}"),
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "plan"]);
    let check = "test -e fixed.txt || { echo 'no trailing spaces, please' >&2; exit 3; }";
    hook(&env, ".git/hooks/pre-commit", check);
    let tick = "sed -i 's/- \\[ \\] one/- [x] one/' progress.md";
    let works = |file: &str| session(&[write(file, "work\n"), sh(tick), say("Done.")]);
    let ran = build(&env, &[&works("one.txt"), &works("fixed.txt")], &["progress.md"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let second = run_file(&env, "iteration-002.task.md");
    assert!(second.contains("- [ ] one"), "the tick was taken back: {second}");
    assert!(second.contains("no trailing spaces, please"), "{second}");
    let tried = second.split_once("## Recent Attempts").unwrap_or_default().1;
    assert!(tried.contains("Result: ") && !tried.contains("Result: done"), "{second}");
    let log = std::fs::read_to_string(runs(&env).pop().unwrap().with_extension("log")).unwrap();
    for part in ["ITERATION 1 COMPLETE", "ITERATION 2 COMPLETE"] {
        assert!(log.contains(part), "each iteration has its footer: {log}");
    }
}

#[test]
fn a_commit_hook_that_never_passes_uses_up_the_retries_and_the_work_is_kept() {
    let env = hooked();
    hook(&env, ".git/hooks/pre-commit", "echo no >&2; exit 3");
    let ran = build(&env, &[&works(), &works()], &["--max-retries", "1"]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "failed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Finished: 0 done, 1 failed"), "{}", ran.stderr);
    assert_eq!(subjects(&env), ["first"]);
    let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/"]);
    let newest = saved.lines().last().unwrap_or_default();
    assert_eq!(env.git(&["show", &format!("{newest}:a.txt")]), "work\n", "{saved}");
    // Without the hook, a retry goes on.
    std::fs::remove_file(env.repo().join(".git/hooks/pre-commit")).unwrap();
    env.ralph(&["retry", "a"]).success();
    build(&env, &[&works()], &[]).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn in_a_checklist_a_commit_hook_that_never_passes_is_exit_5() {
    let env = hooked();
    env.write("implementation_plan.md", "# Plan\n\n- [ ] one\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "plan"]);
    hook(&env, ".git/hooks/pre-commit", "echo no >&2; exit 3");
    let ticks = session(&[write("one.txt", "work\n"), say("Done.")]);
    let extra = ["implementation_plan.md", "--max-retries", "1"];
    let ran = build(&env, &[&ticks, &ticks], &extra);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("the pre-commit hook failed: exit code 3: no"), "{}", ran.stderr);
    let plan = std::fs::read_to_string(env.repo().join("implementation_plan.md")).unwrap();
    assert!(plan.contains("- [ ] one"), "{plan}");
    let saved = env.git(&["for-each-ref", "refs/ralph/wip/"]);
    assert!(!saved.is_empty(), "nothing was saved");
}

#[test]
fn what_a_hook_formats_is_judged_before_it_is_committed() {
    let env = hooked();
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"check\"\ncommand = \"cat a.txt >> ../notes/judged\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    hook(&env, ".git/hooks/pre-commit", "sed -i s/work/WORK/ a.txt && git add a.txt");
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(env.git(&["show", "HEAD:a.txt"]), "WORK\n");
    let judged = std::fs::read_to_string(env.note("judged")).unwrap();
    assert_eq!(judged, "work\nWORK\n", "what is committed was judged");
    let rows = show(&env, "a")["evidence"].clone();
    let tree = env.git(&["rev-parse", "HEAD^{tree}"]);
    assert!(rows.to_string().contains(tree.trim()), "{rows}");
    assert!(ran.stderr.contains("the pre-commit hook changed the files to commit"));
}

/// The way of the program that is called pre-commit: it formats, and fails where that changed something.
#[test]
fn a_formatter_that_fails_for_its_changes_to_be_added_is_run_again() {
    let env = hooked();
    env.write("mine.txt", "committed\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "mine"]);
    env.write("mine.txt", "dirty\n");
    let format = "sed -i s/work/WORK/ a.txt; git diff --quiet -- a.txt || exit 1";
    hook(&env, ".git/hooks/pre-commit", format);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert_eq!(env.git(&["show", "--name-only", "--format=", "HEAD"]), "a.txt\n");
    assert_eq!(env.git(&["show", "HEAD:a.txt"]), "WORK\n");
    assert_eq!(of_kind(&journal(&env), "judged").len(), 2);
    assert_eq!(env.git(&["status", "--porcelain"]), " M mine.txt\n");
}

#[test]
fn a_hook_that_never_comes_to_rest_is_a_failure() {
    let env = hooked();
    let restless = "echo x >> noted.tries; date +%N >> a.txt; git add a.txt";
    hook(&env, ".git/hooks/pre-commit", restless);
    let ran = build(&env, &[&works()], &["--max-retries", "0"]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "failed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("changes the files to commit every time"), "{}", ran.stderr);
    let tries = std::fs::read_to_string(env.repo().join("noted.tries")).unwrap().lines().count();
    let judged = of_kind(&journal(&env), "judged").len();
    assert!(judged == 3 && tries <= 8, "{judged} {tries}");
    assert_eq!(subjects(&env), ["first"]);
}

#[test]
fn a_failing_post_commit_is_only_reported() {
    let env = hooked();
    hook(&env, ".git/hooks/post-commit", "echo no mail; exit 1");
    let ran = build(&env, &[&works()], &[]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the post-commit hook failed: exit code 1: no mail"));
}
