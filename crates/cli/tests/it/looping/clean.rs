//! `gates.clean`: gates in a fresh checkout.

use super::*;

/// `{notes}` in the command is the folder for notes: a checkout lies elsewhere.
fn config(env: &TestEnv, command: &str, more: &str) {
    let notes = env.note("").display().to_string();
    let command = toml::Value::String(command.replace("{notes}", &notes));
    env.write(
        "ralph.toml",
        format!("{more}\n[gates]\nclean = true\n[[gate]]\nname = \"check\"\ncommand = {command}\n"),
    );
    env.write(".gitignore", "*.cache\n.env\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
}

#[test]
fn what_is_not_in_the_tree_is_not_there() {
    let env = project(&["a"]);
    config(&env, "test -f a.txt && test -f needed.cache", "");
    env.write("needed.cache", "lies only in the worktree\n");
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    // In the worktree the same gate is green.
    build(&env, &[&works()], &["--once", "--set", "gates.clean=false"]).success();
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn the_checkout_has_the_tree_and_a_repository_and_is_gone_afterwards() {
    let env = project(&["a"]);
    let look = "test -f a.txt && test $(git rev-list --count HEAD) = 2 && \
                git diff --cached --name-only | grep -qx a.txt && test -z \"$(git diff)\" && \
                pwd > {notes}/place";
    config(&env, look, "");
    build(&env, &[&works()], &[]).success();
    assert_eq!(status(&env, "a"), "done");
    let place = std::fs::read_to_string(env.note("place")).unwrap();
    assert!(!place.starts_with(env.repo().to_str().unwrap()), "{place}");
    assert!(!std::path::Path::new(place.trim()).exists(), "{place}");
    assert_eq!(env.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn included_files_are_copied_and_the_setup_command_runs_first() {
    let env = project(&["a"]);
    env.write(".worktreeinclude", ".env\n*.txt\n");
    config(
        &env,
        "test \"$(cat .env)\" = secret && test -f made && test ! -f other.cache",
        "[git.worktree]\nsetup = \"test -f .env && touch made\"\n",
    );
    env.write(".env", "secret\n");
    env.write("other.cache", "x\n");
    build(&env, &[&works()], &[]).success();
    assert_eq!(status(&env, "a"), "done");
    assert!(!env.repo().join("made").exists());
}

#[test]
fn a_setup_command_that_fails_is_red_with_its_output() {
    let env = project(&["a"]);
    let setup = "[git.worktree]\nsetup = \"echo cannot install; exit 9\"\n";
    config(&env, "touch {notes}/ran", setup);
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    let reason = show(&env, "a")["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "gate setup failed (exit code 9): cannot install");
    assert!(!env.note("ran").exists());
}

#[test]
fn a_checkout_that_a_killed_run_left_is_removed_by_the_next() {
    let mut env = project(&["a"]);
    config(&env, "pwd > {notes}/place; test -f a.txt", "");
    let temporary = env.folder().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    env.set("TMPDIR", temporary.to_str().unwrap());
    env.set("RALPH_TEST_CRASH", "gate-ended");
    assert_ne!(build(&env, &[&works(), &works()], &[]).code, 0);
    let place = PathBuf::from(std::fs::read_to_string(env.note("place")).unwrap().trim());
    assert!(place.exists(), "{}", place.display());
    env.set("RALPH_TEST_CRASH", "");
    again(&env, &[]).success();
    assert!(!place.exists() && status(&env, "a") == "done");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}
