//! `ralph feature` with what people get wrong.

use super::*;
use crate::looping::touch;

#[test]
fn unknown_features_and_names_that_are_none() {
    let env = project(&[]);
    env.ralph(&["feature", "create", "login"]).success();
    for command in ["plan", "build"] {
        let output = env.ralph(&["feature", command, "logn"]).failure(2);
        has(&output, "there is no feature logn");
        has(&output, "did you mean login?");
        for name in ["../login", ".ralph", "a b", ""] {
            has(&env.ralph(&["feature", command, name]).failure(1), "is not a valid feature name");
        }
        has(&env.ralph(&["feature", command, "--model"]).failure(64), "--model");
    }
    for name in ["../x", "a/b"] {
        for how in ["--interview", "--edit"] {
            env.ralph(&["feature", "create", name, how]).failure(1);
        }
    }
    let output = env.ralph(&["feature", "create", "login"]).failure(1);
    has(&output, "--edit, or --interview");
    assert!(!env.folder().join("x").exists());
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let env = planned();
    for call in [
        &["create", "new", "--model", "opus"][..],
        &["create", "new", "--edit", "--agent", "claude"],
        &["create", "new", "--edit", "--interview"],
        &["plan", "login", "--edit", "--timeout", "5m"],
        &["build", "login", "--apply", "--model", "opus"],
        &["build", "login", "--yes", "--no-apply"],
        &["build", "login", "--apply", "--no-apply"],
    ] {
        env.ralph(&[&["feature"], call].concat()).failure(64);
    }
    assert!(!env.repo().join(".ralph/features/new").exists());
    let output = env.ralph(&["feature", "create", "login", "--answer", "Yes"]).failure(2);
    has(&output, "there is no open question about login");
    env.write(INTERVIEW, "idea = 'x'\n[[question]]\ntext = 3\n");
    let output = env.ralph(&["feature", "create", "login", "--interview"]).failure(1);
    has(&output, "interview.toml cannot be read: line 3: ");
    has(&output, "restart the interview: rm ");
}

#[test]
fn folders_in_the_place_of_texts_are_named_before_a_session_starts() {
    let env = planned();
    std::fs::remove_file(env.repo().join(SPEC)).unwrap();
    std::fs::create_dir(env.repo().join(SPEC)).unwrap();
    for call in [&["create", "login", "--interview"][..], &["plan", "login"]] {
        let output = env.ralph(&[&["feature"], call, &SCRIPTED].concat()).failure(1);
        has(&output, "spec.md is not a file");
        has(&output, "move it away: mv ");
    }
    std::fs::remove_file(env.repo().join(PLAN)).unwrap();
    std::fs::create_dir(env.repo().join(PLAN)).unwrap();
    has(&env.ralph(&["feature", "build", "login"]).failure(1), "plan.md is not a file");
    assert_eq!(runs(&env).len(), 0);
}

#[test]
fn without_its_agent_nothing_begins() {
    let mut env = planned();
    let git = env.folder().join("only-git");
    std::fs::create_dir(&git).unwrap();
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|path| path.exists())
        .unwrap();
    std::os::unix::fs::symlink(found, git.join("git")).unwrap();
    env.set("PATH", git.to_str().unwrap());
    for call in
        [&["create", "login", "--interview", "x"][..], &["plan", "login"], &["build", "login"]]
    {
        let ran = env.ralph(&[&["feature"], call, &["--agent", "claude"]].concat());
        assert_ne!(ran.code, 0);
        has(&ran.stderr, "claude");
        assert_eq!(runs(&env).len(), 0, "{}", ran.stderr);
    }
    has(&env.ralph(&["feature", "plan", "login", "--agent", "nobody"]).failure(64), "nobody");
}

#[test]
fn a_run_in_the_same_worktree_and_a_foreign_store_are_named() {
    let env = planned();
    env.task(&["add", "a", "--id", "a"]);
    let running = start(&env, &[&session(&[gate_step("there", "go"), works()])], &[]);
    wait_for(&env, "there");
    let output = env.ralph(&["feature", "plan", "login"]).failure(1);
    has(&output, &format!("another run is active in this worktree (pid {})", running.id()));
    touch(&env, "go");
    Ran::end_of(running).success();
    std::fs::write(env.store(), "not a database, and long enough to be looked at").unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(env.repo().join(format!(".ralph/progress.db{suffix}")));
    }
    let output = env.ralph(&["feature", "build", "login"]).failure(1);
    has(&output, "progress.db");
}

#[test]
fn a_session_cannot_build_features_of_its_own() {
    let env = planned();
    let nested = session(&[
        sh("ralph feature plan login > ../notes/nested 2>&1; echo $? >> ../notes/nested"),
        write(PLAN, "# Plan\n\nOne.\n"),
        say("Written."),
    ]);
    ended(feature(&env, &[&nested], &["plan", "login"]), 0);
    has(&noted(&env, "nested"), "a session cannot use this command");
    // Only a session that is to propose tasks may.
    let adds = session(&[
        sh("ralph task add X > ../notes/nested 2>&1; echo $? >> ../notes/nested"),
        say("x"),
    ]);
    ended(feature(&env, &[&adds], &["plan", "login"]), 0);
    has(&noted(&env, "nested"), "a session cannot use this command");
}
