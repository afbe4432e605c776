//! Files that a session could have put into the worktree: a pipe, a link to a secret or a giant in place of a
//! file stops the command with one sentence, and is neither waited for nor shown to an agent.

use std::os::unix::fs::symlink;

use super::*;

fn pipe(env: &TestEnv, path: &str) {
    let path = env.repo().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&path);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
}

/// A call that ends by itself.
#[track_caller]
fn ended(env: &TestEnv, call: &[&str]) -> Ran {
    let mut child = env.start(call);
    let clock = ralph_engine::clock::Stopwatch::start();
    while child.try_wait().unwrap().is_none() {
        if clock.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{call:?} waits for ever");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ran::end_of(child)
}

/// The text of the first prompt of the newest run.
fn prompt(env: &TestEnv) -> String {
    run_file(env, "iteration-001.system.md")
}

#[test]
fn a_pipe_in_place_of_a_file_hangs_no_command() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    for file in ["PROMPT_build.md", "AGENTS.md", "ralph.toml", ".worktreeinclude"] {
        pipe(&env, file);
        let output = ended(&env, &arguments(&[])).failure(1);
        let why = format!("{file} cannot be read: it is a pipe, not a regular file");
        assert!(output.contains(&why), "{output}");
        let dry = ended(&env, &arguments(&["--dry-run"]));
        assert!(dry.code == 1 || file == ".worktreeinclude", "{file}: {}", dry.stderr);
        let doctor = ended(&env, &["doctor"]);
        assert!(!doctor.stderr.contains("panicked"), "{}", doctor.stderr);
        std::fs::remove_file(env.repo().join(file)).unwrap();
    }
    pipe(&env, "PROMPT_plan.md");
    let output =
        ended(&env, &["plan", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl"])
            .failure(1);
    assert!(output.contains("PROMPT_plan.md cannot be read: it is a pipe"), "{output}");
    std::fs::remove_file(env.repo().join("PROMPT_plan.md")).unwrap();
    // A skill is passed over.
    pipe(&env, ".ralph/skills/x/SKILL.md");
    let ran = ended(&env, &arguments(&[]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("skills/x/SKILL.md: it is a pipe"), "{}", ran.stderr);
}

#[test]
fn a_prompt_that_leads_into_git_or_out_of_the_repository_is_not_shown_to_an_agent() {
    let env = project(&["a"]);
    env.git(&["config", "remote.origin.url", "https://secret-token@example.org/x"]);
    let elsewhere = env.folder().join("elsewhere.md");
    std::fs::write(&elsewhere, "secret-token").unwrap();
    let link = |target: &str| {
        let path = env.repo().join("PROMPT_build.md");
        let _ = std::fs::remove_file(&path);
        symlink(target, path).unwrap();
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "link"]);
    };
    for (target, why) in
        [(".git/config", "it is in .git"), ("../elsewhere.md", "outside the repository")]
    {
        link(target);
        let output = build(&env, &[&works()], &[]).failure(1);
        assert!(output.contains("PROMPT_build.md") && output.contains(why), "{output}");
    }
    std::fs::remove_file(env.repo().join("PROMPT_build.md")).unwrap();
    for (path, why) in [
        (elsewhere.to_str().unwrap(), "`prompts.build` must be a path inside the repo"),
        ("../elsewhere.md", "`prompts.build` must be a path inside the repo"),
        (".git/config", "`prompts.build` must be a path inside the repo"),
        ("docs/../.git/config", "`prompts.build` must be a path inside the repo"),
        (".ralph/progress.db", "part of ralph's own state"),
        (".ralph/logs/x/iteration-001.system.md", "part of ralph's own state"),
        (".ralph/state.toml", "part of ralph's own state"),
    ] {
        env.write("ralph.toml", format!("[prompts]\nbuild = {path:?}\n"));
        let output = build(&env, &[&works()], &[]).failure(1);
        assert!(output.contains(why), "{path}: {output}");
    }
    assert!(runs(&env).is_empty());
    // What the user names is the user's choice.
    std::fs::remove_file(env.repo().join("ralph.toml")).unwrap();
    let ran = build(&env, &[&works()], &["--prompt", "../elsewhere.md"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(prompt(&env).starts_with("secret-token"), "{}", prompt(&env));
}

#[test]
fn a_committed_link_within_the_repository_is_read_and_a_new_one_is_named() {
    let env = project(&["a"]);
    env.write("docs/prompt.md", "Words of a linked prompt.\n");
    env.write("CLAUDE.md", "```\nTEST_COMMAND=\"touch ../notes/judged\"\n```\n");
    symlink("docs/prompt.md", env.repo().join("PROMPT_build.md")).unwrap();
    symlink("CLAUDE.md", env.repo().join("AGENTS.md")).unwrap();
    let output = build(&env, &[&works()], &[]).failure(1);
    assert!(output.contains("symbolic link to docs/prompt.md that is not committed"), "{output}");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "links"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(prompt(&env).starts_with("Words of a linked prompt."), "{}", prompt(&env));
    assert!(env.note("judged").exists(), "the command of the linked AGENTS.md is the gate");
}

#[test]
fn a_giant_and_an_endless_template_are_refused_with_their_limit() {
    let env = project(&["a"]);
    let giant = std::fs::File::create(env.repo().join("AGENTS.md")).unwrap();
    giant.set_len(1 << 33).unwrap();
    let output = build(&env, &[&works()], &[]).failure(1);
    assert!(output.contains("AGENTS.md cannot be read: it is larger than 1 MiB"), "{output}");
    std::fs::remove_file(env.repo().join("AGENTS.md")).unwrap();
    let nested =
        "{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxx{% endfor %}{% endfor %}";
    env.write("PROMPT_build.md", nested);
    let ran = build(&env, &[&works()], &[]);
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("more than 10000 steps"), "{}", ran.stderr);
    assert!(ran.stderr.contains("PROMPT_build.md"), "{}", ran.stderr);
}

#[test]
fn a_planted_link_for_the_lock_of_a_run_leaves_the_users_file_alone() {
    let env = project(&["a"]);
    let precious = env.folder().join("precious");
    std::fs::write(&precious, "words\n").unwrap();
    let lock = env.repo().join(".ralph/run.lock");
    let _ = std::fs::remove_file(&lock);
    symlink(&precious, &lock).unwrap();
    let output = build(&env, &[&works()], &[]).failure(1);
    assert!(output.contains(".ralph/run.lock") && output.contains("symbolic link to"), "{output}");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "words\n");
    std::fs::remove_file(&lock).unwrap();
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_planted_task_database_with_a_trigger_ends_the_run_before_the_first_session() {
    let env = project(&["a"]);
    let planter = rusqlite::Connection::open(env.store()).unwrap();
    let trigger = "CREATE TRIGGER t AFTER UPDATE ON tasks WHEN new.status <> 'done'
        BEGIN UPDATE tasks SET status = 'done', done_at = 1, agent = NULL, lease_expires_at = NULL; END";
    planter.execute_batch(trigger).unwrap();
    drop(planter);
    let ran = build(&env, &[&works()], &[]);
    let output = ran.failure(1);
    assert!(output.contains("ralph did not create its trigger t"), "{output}");
    assert!(runs(&env).is_empty());
    env.ralph(&["task", "list"]).failure(1);
    let planter = rusqlite::Connection::open(env.store()).unwrap();
    planter.execute_batch("DROP TRIGGER t").unwrap();
    drop(planter);
    assert_eq!(build(&env, &[&works()], &[]).code, 0);
}

/// A call of ralph behind a line of shell.
fn behind(env: &TestEnv, line: &str, call: &[&str]) -> Ran {
    let ralph = env.command(call);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &format!("{line}; exec \"$@\"")]).arg("sh");
    shell.arg(ralph.get_program()).args(ralph.get_args());
    shell.current_dir(ralph.get_current_dir().unwrap()).env_clear();
    shell.envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(call, shell.output().unwrap())
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let env = project(&["a"]);
    assert_eq!(build(&env, &[&works()], &[]).code, 0);
    let calls: [&[&str]; 8] = [
        &["logs"],
        &["logs", "--json"],
        &["logs", "--replay"],
        &["status"],
        &["task", "list"],
        &["report"],
        &["--help"],
        &["help"],
    ];
    for call in calls {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = env.command(call).stdout(full).output().unwrap();
        assert!(!ran.status.success(), "{call:?}");
    }
}

#[test]
fn too_few_open_files_are_one_sentence_before_the_first_session() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    let call = arguments(&[]);
    let ran = behind(&env, "ulimit -n 12", &call);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the limit of open files is 12"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(runs(&env).is_empty());
    // A low limit that may be raised is raised.
    let ran = behind(&env, "ulimit -S -n 40", &call);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}
