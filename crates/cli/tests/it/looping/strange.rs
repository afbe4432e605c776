//! Bad input for the loop: one sentence, what to type, the right code, nothing lost.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use ralph_testkit::private_mounts;

use super::*;

/// What a start that must fail said; nothing may have begun.
#[track_caller]
fn refused(env: &TestEnv, arguments: &[&str], code: i32, parts: &[&str]) -> String {
    let output = env.ralph(arguments).failure(code);
    for part in parts {
        assert!(output.contains(part), "{part:?} is missing in\n{output}");
    }
    assert!(output.contains("hint:"), "what to type?\n{output}");
    assert!(runs(env).iter().all(|folder| !folder.join("events.jsonl").exists()), "it began");
    output
}

#[test]
fn no_agent_on_the_path() {
    let mut env = project(&["a"]);
    env.set("PATH", "/usr/bin:/bin");
    refused(
        &env,
        &["build", "--agent", "claude"],
        1,
        &["claude was not found", "agent.claude.path", "ralph doctor"],
    );
    refused(
        &env,
        &["build", "--set", "agent.claude.path=/nowhere/claude"],
        1,
        &["/nowhere/claude was not found"],
    );
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn s2_13_an_agent_that_cannot_be_started_is_named() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, "result x");
    let program = here.join("bin/claude");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o644)).unwrap();
    let set = format!("agent.claude.path={}", program.display());
    refused(&env, &["build", "--set", &set], 1, &[program.to_str().unwrap()]);
    // A file that looks like a program and cannot be run.
    let broken = here.join("bin/broken");
    std::fs::write(&broken, "#!/nowhere/interpreter\n").unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    let set = format!("agent.claude.path={}", broken.display());
    let ran = env.ralph(&["build", "--set", &set]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains(broken.to_str().unwrap()), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn versions_that_are_old_or_garbage_are_warned_of() {
    for (version, parts) in [
        ("echo '1.0.3 (Claude Code)'", &["1.0.3 is older than", "update it"][..]),
        ("echo 'hello world'", &["does not print its version"]),
        ("head -c 300000 /dev/zero | tr '\\0' '\\377'", &["does not print its version"]),
        ("exit 3", &["does not print its version"]),
        ("echo 999999999999999999999999.1.1", &[]),
    ] {
        let mut env = project(&["a"]);
        let here = stand_in(&mut env, "echo z > z; result '<task-done>a</task-done>'");
        let program = here.join("bin/claude");
        let text = std::fs::read_to_string(&program).unwrap();
        let changed = text.replace("echo \"2.1.999 (Claude Code)\"", version);
        assert_ne!(text, changed);
        std::fs::write(&program, changed).unwrap();
        let ran = env.ralph(&["build", "--agent", "claude"]);
        assert_eq!(ran.code, 0, "{version}: {}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{version}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("panicked") && ran.stderr.len() < 10_000);
    }
}

#[test]
fn places_without_a_repository() {
    let none = TestEnv::without_repository(crate::RALPH);
    let output = none.ralph(&["build"]).failure(1);
    assert!(
        output.contains("not inside a git repository") && output.contains("git init"),
        "{output}"
    );
    let bare = none.folder().join("bare.git");
    let made = Command::new("git").args(["init", "-q", "--bare"]).arg(&bare).status().unwrap();
    assert!(made.success());
    let output = none.ralph(&["-C", bare.to_str().unwrap(), "build"]).failure(1);
    assert!(output.contains("bare repository") && output.contains("git worktree add"), "{output}");
}

#[test]
fn a_folder_that_may_not_be_written() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    let script = format!(
        "mount --bind \"$REPO/.ralph\" \"$REPO/.ralph\"; mount -o remount,bind,ro \"$REPO/.ralph\"; \
         cd \"$REPO\"; code=0; {} {} 2>&1 || code=$?; echo \"code $code\"",
        crate::RALPH,
        arguments(&[]).join(" ")
    );
    let Some(mut command) = private_mounts("a run in a read-only folder", &script) else { return };
    let output = command.env("REPO", env.repo()).env("HOME", env.home()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.starts_with("error: Build failed: ") && printed.ends_with("code 1\n"),
        "{printed}"
    );
    assert!(
        printed.contains(".ralph") && printed.contains("hint: ") && printed.contains("ls -ld"),
        "{printed}"
    );
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn a_folder_that_is_a_file() {
    let env = project(&[]);
    env.write(".ralph", "a file\n");
    cassette(&env, &[&works()]);
    let output = again(&env, &[]).failure(1);
    assert!(output.contains(".ralph") && output.contains("hint: "), "{output}");
    assert_eq!(std::fs::read_to_string(env.repo().join(".ralph")).unwrap(), "a file\n");
}

#[test]
fn templates_that_are_broken() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    env.write("PROMPT_build.md", "Rules.\nDo {{ task_title now.\n");
    let output = refused(&env, &arguments(&[]), 1, &["PROMPT_build.md:2"]);
    assert!(output.contains('^'), "line and caret: {output}");
    std::fs::write(env.repo().join("PROMPT_build.md"), b"\x00\xff\xfebinary").unwrap();
    refused(&env, &arguments(&[]), 1, &["PROMPT_build.md", "UTF-8"]);
    std::fs::remove_file(env.repo().join("PROMPT_build.md")).unwrap();
    refused(&env, &arguments(&["--prompt", "nowhere.md"]), 1, &["nowhere.md", "--prompt"]);
    refused(&env, &arguments(&["--prompt", "."]), 1, &["it is a folder, not a regular file"]);
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn a_template_with_a_variable_that_does_not_exist_costs_no_session() {
    let env = project(&["a"]);
    env.write("PROMPT_build.md", "Rules.\nDo {{ task_titel }} now.\n");
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for part in ["there is no variable task_titel", "PROMPT_build.md:2:7", "^^^^", "task_title?"] {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    assert_eq!(of_kind(&journal(&env), "session_started").len(), 0);
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["attempts"]), (&"open".into(), &serde_json::json!([])));
}

#[test]
fn a_spec_of_ten_megabytes_is_cut_with_a_note() {
    let env = project(&[]);
    env.ralph(&["feature", "create", "big"]).success();
    env.task(&["add", "T", "--id", "a", "--feature", "big"]);
    env.write(".ralph/features/big/spec.md", "0123456789 line of a spec\n".repeat(400_000));
    let before = std::time::Instant::now();
    build(&env, &[&works()], &["--feature", "big"]).success();
    assert!(before.elapsed().as_secs() < 20, "{:?}", before.elapsed());
    let prompt =
        run_file(&env, "iteration-001.task.md") + &run_file(&env, "iteration-001.system.md");
    assert!(prompt.len() < 1_000_000, "{}", prompt.len());
    assert!(prompt.contains("spec.md"), "the note says where the rest is");
}

#[test]
fn names_that_do_not_exist() {
    let env = project(&["parser"]);
    env.ralph(&["feature", "create", "login"]).success();
    cassette(&env, &[&works()]);
    refused(&env, &arguments(&["--preset", "dagg"]), 64, &["dagg", "dag", "pick"]);
    refused(
        &env,
        &["build", "--agent", "clade"],
        64,
        &["clade", "claude", "codex", "gemini", "opencode", "script"],
    );
    refused(&env, &arguments(&["--model-strategy", "cheap"]), 64, &["cheap", "cost-optimized"]);
    refused(&env, &arguments(&["--model-strategy", "fixed"]), 1, &["needs a model", "--model"]);
    refused(
        &env,
        &arguments(&["--task", "parsr"]),
        2,
        &["there is no task parsr", "did you mean parser?"],
    );
    refused(&env, &arguments(&["--feature", "logn"]), 2, &["logn", "login"]);
    let run = ["run", "logn", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
    refused(&env, &run, 2, &["logn", "login"]);
    assert_eq!(status(&env, "parser"), "open");
}

#[test]
fn numbers_that_are_none() {
    let env = project(&["a"]);
    for arguments in [
        &["build", "-1"][..],
        &["build", "99999999999999"],
        &["build", "--max-retries", "often"],
        &["build", "--timeout", "soon"],
        &["build", "--timeout", "10"],
        &["build", "--budget", "-3"],
        &["build", "--budget", "NaN"],
        &["build", "--budget", "0"],
        &["build", "--ui", "tv"],
        &["build", "--feature", "a", "--task", "b"],
    ] {
        let ran = env.ralph(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error:"), "{}", ran.stderr);
    }
    assert!(runs(&env).is_empty());
}

#[test]
fn state_of_another_tool() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    let foreign = "this = [is not ours\n";
    env.write(".ralph/state.toml", foreign);
    let output = refused(&env, &arguments(&[]), 1, &["state.toml"]);
    assert!(output.contains("mv ") || output.contains("rm "), "{output}");
    assert_eq!(std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap(), foreign);
    env.write(".ralph/state.toml", "name = \"another tool\"\nversion = 3\n");
    refused(&env, &arguments(&[]), 1, &["state.toml"]);
    std::fs::remove_file(env.repo().join(".ralph/state.toml")).unwrap();
    again(&env, &[]).success();
}

#[test]
fn a_store_that_is_none() {
    let env = project(&[]);
    env.write(".ralph/progress.db", "not a database at all, but long enough to be one, is it not?");
    cassette(&env, &[&works()]);
    refused(&env, &arguments(&[]), 1, &["progress.db"]);
    assert!(std::fs::read_to_string(env.store()).unwrap().starts_with("not a database"));
}

#[test]
fn a_detached_head_is_worked_on_in_place() {
    let env = project(&["a"]);
    env.git(&["checkout", "-q", "--detach"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(subjects(&env)[0], "build: iteration 1 - a");
    assert_eq!(env.git(&["log", "-1", "--format=%s", "main"]), "first\n", "main stays");
}

#[test]
fn a_branch_without_a_commit_gets_its_first() {
    let mut env = env();
    env.set("RALPH_TEST_SEED", "");
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.org"]);
    env.task(&["add", "a", "--id", "a"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(subjects(&env), ["build: iteration 1 - a"]);
}

#[test]
fn without_an_identity_nothing_is_committed_and_the_commands_are_reported() {
    let mut env = project(&["a"]);
    env.git(&["config", "--unset", "user.name"]);
    env.git(&["config", "--unset", "user.email"]);
    env.git(&["config", "user.useConfigOnly", "true"]);
    env.set("EMAIL", "");
    cassette(&env, &[&works()]);
    refused(
        &env,
        &arguments(&[]),
        5,
        &["who you are", "git config user.name", "git config user.email"],
    );
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn an_identity_that_is_lost_during_a_session_costs_no_work() {
    let mut env = project(&["a"]);
    env.set("EMAIL", "");
    env.without_sandbox("in a sandbox a session cannot change your git settings");
    for key in ["name", "email"] {
        env.git(&["config", "--unset", &format!("user.{key}")]);
    }
    let own = "[user]\n\tname = Tester\n\temail = tester@example.org\n";
    std::fs::write(env.home().join(".gitconfig"), own).unwrap();
    let loses = sh("printf '[user]\\n\\tuseConfigOnly = true\\n' > \"$HOME/.gitconfig\"");
    let ran = build(
        &env,
        &[&session(&[write("a.txt", "a\n"), loses, say("<task-done>a</task-done>")])],
        &[],
    );
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("git config user.email"), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "open");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:a.txt"]), "a\n");
}

#[test]
fn a_level_of_the_sandbox_that_cannot_be_given() {
    let env = project(&["a"]);
    cassette(&env, &[&works()]);
    let elsewhere = if cfg!(target_os = "macos") { "full" } else { "seatbelt" };
    let set = format!("sandbox.level={elsewhere}");
    refused(&env, &arguments(&["--set", &set]), 10, &[elsewhere, "sandbox.level=none"]);
    assert_eq!(status(&env, "a"), "open");
}

#[test]
fn a_socket_that_leads_nowhere() {
    let mut env = project(&["a"]);
    cassette(&env, &[&works()]);
    env.set("RALPH_SOCKET", "/nowhere/ralph.sock");
    let output = again(&env, &[]).failure(1);
    assert!(output.contains("session"), "{output}");
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(output.contains("/nowhere/ralph.sock"), "{output}");
}

#[test]
fn cassettes_that_are_missing_or_wrong() {
    let env = project(&["a"]);
    refused(&env, &["build", "--agent", "script"], 1, &["no cassette", "agent.script.path"]);
    let missing = env.ralph(&arguments(&[])).failure(1);
    assert!(missing.contains("cassette.jsonl") && !missing.contains("os error 2 (os"), "{missing}");
    let ran = build(&env, &["{\"do\":\"dance\"}"], &[]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("line 2") && ran.stderr.contains("cassette.jsonl"),
        "{}",
        ran.stderr
    );
    assert_eq!((status(&env, "a"), &show(&env, "a")["retry_count"]), ("open".into(), &0.into()));
    let ran = build(&env, &[&only_says("hm")], &[]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("no session left to play"), "{}", ran.stderr);
}
