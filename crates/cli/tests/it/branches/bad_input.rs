//! Plans and repositories that cannot be worked off: named before anything is made.

use super::*;

/// The plan is refused with this code and these words, and nothing was made.
#[track_caller]
fn refused(env: &TestEnv, code: i32, words: &[&str]) {
    let before = env.git(&["for-each-ref"]);
    let text = build(env, &[]).failure(code);
    for part in words {
        has(&text, part);
    }
    assert_eq!(env.git(&["for-each-ref"]), before, "{text}");
    assert!(!env.repo().join(".worktrees").exists(), "{text}");
}

#[test]
fn names_bases_and_needs_that_cannot_be_are_named() {
    let cases: [(&[(&str, &str)], &str); 15] = [
        (
            &[("--upload-pack=x", "")],
            "IMPLEMENTATION_PLAN.md: line 1: a branch name cannot start with \"-\"",
        ),
        (&[("../out", "")], "cannot contain \"..\""),
        (&[("/etc/x", "")], "cannot be part of a branch name: it is empty"),
        (&[("a b", "")], "cannot contain ' '"),
        (&[("a\u{202e}b", "")], "a branch name cannot contain"),
        (&[("HEAD", "")], "has a special meaning in git"),
        (&[("One", ""), ("one", "")], "branches One and one differ only in case"),
        (&[("a", ""), ("a/b", "")], "branches a and a/b cannot both exist"),
        (&[("a", ""), ("a", "")], "the branch \"a\" is already on line 1"),
        (&[("production", "")], "IMPLEMENTATION_PLAN.md:1: branch production is protected"),
        (&[("main", "")], "branch main is protected"),
        (
            &[("a", "Base: nowhere")],
            "IMPLEMENTATION_PLAN.md:1: there is no commit \"nowhere\" to start branch a from",
        ),
        (&[("a", "Base: --all")], "there is no commit \"--all\" to start branch a from"),
        (&[("a", "Needs: b"), ("b", "Needs: a")], "these branches need each other: a → b → a"),
        (&[("a", "Needs: c")], "branch a needs c, and the plan has no such branch"),
    ];
    for (list, words) in cases {
        let env = with_plan(&branches(list));
        refused(&env, 1, &["Loop failed: ", words]);
    }
    let env = with_plan(&branches(&[("work", "")]));
    env.git(&["switch", "--quiet", "-c", "work"]);
    refused(&env, 1, &["branch work is checked out here", "git switch main"]);
}

#[test]
fn a_plan_without_a_section_or_a_task_is_no_plan() {
    let none = "Implementation plan not found. Run 'ralph plan' first.";
    for text in ["", "# Plan\n", "- [ ] A box\n", "## Branch: one\nGoal: x\n"] {
        let env = with_plan(text);
        refused(&env, 2, &["No plan: IMPLEMENTATION_PLAN.md", "ralph loop plan"]);
    }
    let env = project(&[]);
    refused(&env, 2, &[none]);
}

#[test]
fn names_of_users_and_of_all_languages_are_branches() {
    let mut env = with_plan(&branches(&[("feat/größe-日本", ""), ("a;$(touch${IFS}x)", "")]));
    agent(&mut env, COMMITS);
    output_of(build(&env, &[]), 0);
    assert_eq!(subjects(&env, "feat/größe-日本").len(), 1);
    assert_eq!(subjects(&env, "a;$(touch${IFS}x)").len(), 1);
    assert!(!env.repo().join("x").exists() && !worktree(&env, "x").exists(), "no shell saw a name");
}

#[test]
fn a_branch_that_the_user_has_checked_out_elsewhere_is_refused_and_the_others_go_on() {
    let mut env = with_plan(&branches(&[("theirs", ""), ("ours", "")]));
    let place = env.folder().join("elsewhere").display().to_string();
    env.git(&["worktree", "add", "--quiet", "-b", "theirs", &place]);
    agent(&mut env, LEAVES);
    let text = output_of(build(&env, &[]), 1);
    has(&text, "theirs │ error: branch theirs is checked out in");
    assert_eq!(ticks(&env), ["Work on ours"]);
}

#[test]
fn without_an_identity_no_session_is_started() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.git(&["config", "--unset", "user.name"]);
    env.git(&["config", "--unset", "user.email"]);
    env.git(&["config", "user.useConfigOnly", "true"]);
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &[]), 5);
    has(&text, "git config user.name");
    assert_eq!(note(&here, "order"), "");
    // Those of the worktrees will do.
    let ours = ["--set", "git.worktree.name=Bot", "--set", "git.worktree.email=bot@example.org"];
    output_of(build(&env, &ours), 0);
    assert_eq!(env.git(&["log", "-1", "--format=%an", "one"]), "Bot\n");
}

#[test]
fn an_unborn_repository_and_a_detached_head_are_named() {
    let env = crate::env();
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.org"]);
    env.write(PLAN, branches(&[("one", "")]));
    refused(&env, 1, &["there is no commit to start branch one from", "git.pr_base"]);
    let mut env = with_plan(&branches(&[("one", "")]));
    env.git(&["switch", "--quiet", "--detach"]);
    refused(&env, 1, &["there is no commit to start branch one from"]);
    agent(&mut env, LEAVES);
    output_of(build(&env, &["--set", "git.pr_base=main"]), 0);
}

#[test]
fn side_by_side_is_refused_where_there_is_one_place_to_work_in() {
    for (name, text, preset) in [
        ("progress.md", "# Progress: x\n\n## Tasks\n- [ ] a\n", "progress"),
        ("implementation_plan.md", "- [ ] a\n", "checklist"),
    ] {
        let mut env = project(&[]);
        env.write(name, text);
        agent(&mut env, LEAVES);
        let output = env.ralph(&["build", "-j", "2"]).failure(64);
        has(&output, &format!("the preset {preset} works in one place"));
        let output = env.ralph(&["build", "--branch", "x"]).failure(64);
        has(&output, "--branch x is for a plan with `## Branch:` sections");
    }
    let mut env = project(&["a"]);
    agent(&mut env, LEAVES);
    env.ralph(&["build", "--preset", "pick", "-j", "2"]).failure(64);
    env.ralph(&["loop", "build", "-j", "0"]).failure(64);
}

#[test]
fn submodules_and_large_file_pointers_are_committed_as_they_are() {
    let mut env = with_plan(&branches(&[("one", "")]));
    let inner = env.folder().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let place = inner.display().to_string();
    env.git(&["-C", &place, "init", "--quiet"]);
    env.git(&[
        "-C",
        &place,
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@e",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "x",
    ]);
    env.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &place, "sub"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    env.write("big.bin", pointer);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "sub"]);
    agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    assert_eq!(changed(&env, "one"), ["Work-on-one.txt"]);
    assert_eq!(env.git(&["show", "one:big.bin"]), pointer);
    assert_eq!(env.git(&["rev-parse", "one:sub"]), env.git(&["rev-parse", "main:sub"]));
}

#[test]
fn a_signing_key_that_is_missing_is_reported() {
    let mut env = with_plan(&branches(&[("one", "")]));
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &["--set", "git.worktree.signing_key=NOSUCHKEY"]), 5);
    has(&text, "gpg --list-secret-keys");
    assert_eq!(note(&here, "order"), "", "no session was started");
    // Without the key the same worktree does.
    output_of(build(&env, &[]), 0);
    assert_eq!(ticks(&env), ["Work on one"]);
}
