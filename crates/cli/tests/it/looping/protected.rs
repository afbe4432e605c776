//! Protected files, and the definitions of the gates.

use ralph_testkit::Ran;

use super::*;

fn config(env: &TestEnv, gates: &str) {
    env.write("tests/golden.txt", "truth\n");
    env.write("AGENTS.md", "```\nTEST_COMMAND=\"test -f a.txt\"\n```\n");
    env.write("ralph.toml", format!("[gates]\n{gates}\n"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "config"]);
}

fn changes(path: &str, text: &str) -> String {
    session(&[write("a.txt", "x\n"), write(path, text), say("<task-done>{id}</task-done>")])
}

#[test]
fn a_change_of_a_protected_file_is_reported() {
    let env = project(&["a"]);
    config(&env, "protected = [\"tests/\", \"!tests/new/\"]");
    let ran = build(&env, &[&changes("tests/golden.txt", "lies\n")], &[]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert!(ran.stderr.contains("protected files changed: tests/golden.txt"), "{}", ran.stderr);
    let rows = show(&env, "a")["evidence"].clone();
    assert_eq!(rows[1]["judge"], "protected files");
    assert_eq!(rows[1]["digest"], "protected files changed: tests/golden.txt");
    // What is taken out of the patterns may change.
    let env = project(&["a"]);
    config(&env, "protected = [\"tests/\", \"!tests/new/\"]");
    let ran = build(&env, &[&changes("tests/new/b.txt", "x\n")], &[]);
    assert!(ran.code == 0 && !ran.stderr.contains("protected files"), "{}", ran.stderr);
}

#[test]
fn a_change_of_a_protected_file_is_refused_until_it_is_undone() {
    let env = project(&["a"]);
    config(&env, "protected = [\"tests/**\"]\non_protected = \"reject\"");
    let lies = changes("tests/golden.txt", "lies\n");
    let honest = changes("tests/golden.txt", "truth\n");
    build(&env, &[&lies, &honest], &[]).success();
    assert_eq!(classes(&env), ["red", "done"]);
    let output = "protected files changed: tests/golden.txt";
    assert!(env.task(&["log", "a"]).contains(output));
    assert!(run_file(&env, "iteration-002.task.md").contains(output));
    assert_eq!(env.git(&["show", "HEAD:tests/golden.txt"]), "truth\n");
}

#[test]
fn gates_count_as_they_were_when_the_run_began() {
    let loose = "```\nTEST_COMMAND=\"true\"\n```\n";
    let env = project(&["a"]);
    config(&env, "");
    let lazy = session(&[write("AGENTS.md", loose), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&lazy], &["--once"]);
    assert_eq!(classes(&env), ["red"], "the test command of the base judges");
    let output = "protected files changed: AGENTS.md (the test command)";
    assert!(ran.stderr.contains(output), "{}", ran.stderr);
    // Prose may change.
    let env = project(&["a"]);
    config(&env, "on_protected = \"reject\"");
    let prose = "Hello.\n\n```\nTEST_COMMAND=\"test -f a.txt\"\n```\n";
    build(&env, &[&changes("AGENTS.md", prose)], &[]).success();
    assert_eq!(classes(&env), ["done"]);
    // Gates in ralph.toml may not.
    let env = project(&["a"]);
    config(&env, "on_protected = \"reject\"");
    let gate = "[[gate]]\nname = \"x\"\ncommand = \"true\"\n";
    build(&env, &[&changes("ralph.toml", gate)], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    let reason = show(&env, "a")["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "protected files changed: ralph.toml (the gates)");
}

/// What is reported of a session that greens its gate by other means than the tree.
fn reported(include: &str, steps: &[String]) -> (TestEnv, String) {
    let mut env = project(&["a"]);
    env.without_sandbox("at level full a session has git settings of its own");
    env.write(".gitignore", ".env\n");
    env.write(".env", "A=1\n");
    env.write(".worktreeinclude", include);
    let gates = "clean = true\non_protected = \"reject\"";
    config(&env, gates);
    let mut all = vec![write("a.txt", "x\n")];
    all.extend_from_slice(steps);
    all.push(say("<task-done>{id}</task-done>"));
    let ran = build(&env, &[&session(&all)], &["--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (env, ran.stderr)
}

#[test]
fn a_filter_that_a_session_plants_is_taken_back_or_refused() {
    let plants = "git config filter.x.smudge 'echo hello'; echo '* filter=x' > .git/info/attributes; \
                  mkdir -p .git/hooks; echo exit 0 > .git/hooks/planted";
    let (env, output) = reported("", &[sh(plants)]);
    assert_eq!(classes(&env), ["done"], "{output}");
    for file in [".git/config", ".git/info/attributes", ".git/hooks/planted"] {
        let text = format!("{file}; ralph restored it");
        assert!(output.contains(&text), "{output}");
    }
    assert!(!env.git(&["config", "--list"]).contains("filter"));
    for plants in ["git config core.symlinks false", "git config core.fileMode false"] {
        let (env, output) = reported("", &[sh(plants)]);
        assert_eq!(classes(&env), ["done"], "{plants}: {output}");
        assert!(output.contains(".git/config; ralph restored it"), "{output}");
    }
    let (env, output) = reported("", &[sh("git config --global filter.x.smudge 'echo hello'")]);
    assert_eq!(classes(&env), ["red"]);
    assert!(output.contains("~/.gitconfig (how git shows files)"), "{output}");
    let (env, output) = reported("", &[sh("echo a.txt >> .git/info/exclude")]);
    assert_eq!(classes(&env), ["red"], "{output}");
    assert!(output.contains(".git/info/exclude (which files git ignores)"), "{output}");
    // Other settings are nobody's business.
    let (env, output) = reported("", &[sh("git config color.ui false")]);
    assert_eq!(classes(&env), ["done"], "{output}");
}

#[test]
fn a_file_that_clean_checkouts_get_counts_as_it_was() {
    let (env, output) = reported(".env\n", &[write(".env", "A=2\n")]);
    assert_eq!(classes(&env), ["red"]);
    assert!(output.contains(".env (copied into a clean checkout)"), "{output}");
    let (env, output) = reported(".env\n", &[write(".env", "A=1\n")]);
    assert_eq!(classes(&env), ["done"], "{output}");
    let (env, output) = reported("", &[write(".env", "A=2\n")]);
    assert_eq!(classes(&env), ["done"], "it is given to nobody: {output}");
}

#[test]
fn a_link_out_of_the_repository_is_refused() {
    let (env, output) = reported("", &[sh("ln -s /etc/hostname name")]);
    assert_eq!(classes(&env), ["red"]);
    assert!(output.contains("name (a link that points outside the repository)"), "{output}");
    let (env, output) = reported("", &[sh("mkdir d; ln -s ../a.txt d/link")]);
    assert_eq!(classes(&env), ["done"], "{output}");
}

/// A step that says that it was reached and waits, by files that a sandbox shows, too.
fn waits_inside() -> String {
    sh("mkdir -p flags; touch flags/there; until test -e flags/go; do sleep 0.02; done")
}

fn wait_inside(env: &TestEnv) {
    let flag = env.repo().join("flags/there");
    wait_until("the session", PATIENCE, || flag.exists());
}

/// A run that is stopped in its first session.
fn stopped_run(env: &TestEnv, stays: &str) {
    let running = start(env, &[stays, &works()], &[]);
    wait_inside(env);
    env.ralph(&["cancel", "--now"]).success();
    assert_eq!(Ran::end_of(running).code, 130);
}

fn with_gates(level: &'static str) -> TestEnv {
    let mut env = project(&["a"]);
    env.at_level(level, "both the default and where commits of sessions are on the branch at once");
    env.write(".gitignore", "flags/\n");
    config(&env, "protected = [\"tests/\"]\non_protected = \"reject\"");
    env
}

/// The user's own edits of gates and protected files, committed.
fn user_commits(env: &TestEnv) {
    env.write("tests/golden.txt", "new truth\n");
    env.write("AGENTS.md", "```\nTEST_COMMAND=\"test -f a.txt && true\"\n```\n");
    env.git(&["add", "tests", "AGENTS.md"]);
    env.git(&["commit", "-qm", "mine"]);
}

#[test]
fn a_commit_of_the_user_between_two_runs_is_not_held_against_the_agent() {
    // At the default level, and where commits of sessions are on the branch at once.
    for level in ["auto", "none"] {
        let env = with_gates(level);
        stopped_run(&env, &session(&[waits_inside(), say("x")]));
        user_commits(&env);
        let ran = again(&env, &[]);
        assert_eq!(ran.code, 0, "{level}: {}", ran.stderr);
        assert!(!ran.stderr.contains("protected files"), "{level}: {}", ran.stderr);
        let journal = journal(&env);
        assert!(!of_kind(&journal, "run_started")[0]["resumed"].is_null(), "{level}: it goes on");
        assert_eq!(status(&env, "a"), "done", "{level}");
    }
}

#[test]
fn what_a_session_of_the_run_before_committed_is_still_held_against_it() {
    for level in ["auto", "none"] {
        let env = with_gates(level);
        let lies = sh("echo lies > tests/golden.txt; git commit -qam theirs");
        stopped_run(&env, &session(&[lies, waits_inside(), say("x")]));
        env.write("notes.txt", "mine\n");
        env.git(&["add", "notes.txt"]);
        env.git(&["commit", "-qm", "mine"]);
        let ran = again(&env, &["--once"]);
        let golden = env.git(&["show", "HEAD:tests/golden.txt"]);
        let refused = ran.stderr.contains("protected files changed: tests/golden.txt");
        assert!(refused || golden == "truth\n", "{level}: {golden} {}", ran.stderr);
        assert!(!ran.stderr.contains("notes.txt"), "{level}: {}", ran.stderr);
    }
}

#[test]
fn a_commit_of_the_user_during_a_session_is_not_held_against_the_agent() {
    let env = with_gates("auto");
    let waits =
        session(&[waits_inside(), write("a.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let running = start(&env, &[&waits], &["--once"]);
    wait_inside(&env);
    user_commits(&env);
    env.write("flags/go", "");
    let ran = Ran::end_of(running);
    assert!(!ran.stderr.contains("protected files"), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "done", "{}", ran.stderr);
}

/// What a gate runs is the work of a session: here a build that puts another test in the place of the real one.
#[test]
fn a_gate_that_rewrites_a_protected_file_is_red_and_the_file_is_put_back() {
    let gates = "[gates]\nprotected = [\"tests/\"]\n[[gate]]\nname = \"build\"\n\
                 command = \"sh build.sh\"\n[[gate]]\nname = \"check\"\ncommand = \"sh tests/check.sh\"\n";
    for level in ["full", "landlock", "none"] {
        let mut env = project(&["a"]);
        env.at_level(level, "what each level does for protected files is measured");
        env.write("tests/check.sh", "grep -qx hello greet.txt\n");
        env.write("build.sh", "true\n");
        env.write("ralph.toml", gates);
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "gates"]);
        let builds = |how: &str, greets: &str| {
            session(&[
                write("build.sh", how),
                write("greet.txt", greets),
                say("<task-done>{id}</task-done>"),
            ])
        };
        // Written over, which is refused where the file is read-only; or out of the way with its folder.
        let overwrites = builds("echo true > tests/check.sh || true\n", "bye\n");
        let moves = builds("mv tests old; mkdir tests; echo true > tests/check.sh\n", "bye\n");
        let honest = builds("rm -rf old; echo built > out.txt; cat tests/check.sh\n", "hello\n");
        let ran = build(&env, &[&overwrites, &moves, &honest], &[]);
        assert_eq!(classes(&env), ["red", "red", "done"], "{level}: {}", ran.stderr);
        let log = env.task(&["log", "a"]);
        let output = "this gate changed protected files: tests/check.sh";
        // Read-only, the file stays as it is, and the next gate judges by it.
        assert!(log.contains(if level == "full" { "gate check failed" } else { output }), "{log}");
        let prompt = run_file(&env, "iteration-003.task.md");
        assert!(level == "full" || prompt.contains(output), "{level}: {log}");
        let kept = std::fs::read_to_string(env.repo().join("tests/check.sh")).unwrap();
        assert_eq!(kept, "grep -qx hello greet.txt\n", "{level}");
    }
}
