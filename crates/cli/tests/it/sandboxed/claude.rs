//! The real agent does a whole task in the box, with no network but its model.

use std::path::{Path, PathBuf};

use ralph_testkit::claude::{ClaudeEnv, claude};
use ralph_testkit::model_server::{Script, Turn};
use serde_json::{Value, json};

use super::{as_ordinary_user, changed, files, has_boxes};
use crate::RALPH;

const TRIES: &str = "echo hello > hello.txt; git add . && git commit --quiet -m 'Greet the world'; \
    curl -sSf -m 5 http://example.com/ >/dev/null 2>&1 && echo NET; \
    curl -sSf -m 5 --noproxy '*' http://1.1.1.1/ >/dev/null 2>&1 && echo DIRECT; \
    cat ~/.ssh/id_ed25519 2>/dev/null; touch ~/planted /etc/planted ../planted 2>/dev/null && echo OUT; \
    ls .ralph; id -u; env | grep -c SECRET_OF_THE_PERSON; true";

fn env(binary: &Path) -> Option<ClaudeEnv> {
    let script =
        Script::new().session([Turn::bash(TRIES), Turn::text("Done. <task-done>{id}</task-done>")]);
    let mut env = ClaudeEnv::new(binary, script)?;
    env.at_level("full", "it is about what level full holds");
    env.set("RALPH_SANDBOX_NETWORK_POLICY", "deny").set("SECRET_OF_THE_PERSON", "hunter2");
    std::fs::create_dir(env.home().join(".ssh")).unwrap();
    std::fs::write(env.home().join(".ssh/id_ed25519"), "PRIVATE KEY").unwrap();
    env.write("ralph.toml", "[[gate]]\nname = \"check\"\ncommand = \"grep hello hello.txt\"\n");
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "gate"]);
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    Some(env)
}

fn check(env: &ClaudeEnv, ran: &ralph_testkit::Ran, outside: &[PathBuf]) {
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert!(outside.is_empty(), "changed: {outside:?}");
    let shown: Value = ralph_testkit::data(&env.task(&["show", "a", "--json"]));
    assert_eq!(
        (&shown["status"], &shown["attempts"][0]["sandbox"]),
        (&json!("done"), &json!("full"))
    );
    let sessions = env.sessions_seen();
    let output = &sessions[0].last().unwrap().tool_results()[0].0;
    for word in ["NET", "DIRECT", "PRIVATE KEY", "OUT", "progress.db", "state.toml"] {
        assert!(!output.contains(word), "{word}: {output}");
    }
    assert!(output.contains("skills") && output.trim_end().ends_with('0'), "{output}");
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(text.contains("sandbox    full"), "{text}");
    assert!(text.contains("example.com:80"), "what was refused is told: {text}");
}

/// What may change: the repository, the caches of the sandbox, the records of runs, temporary files.
fn places(env: &ClaudeEnv) -> Vec<PathBuf> {
    let own = [".cache/ralph", ".local/state/ralph"].map(|name| env.home().join(name));
    own.into_iter().chain([env.repo(), env.folder().join("tmp")]).collect()
}

#[test]
fn s1_25_the_real_agent_does_a_task_in_the_sandbox_and_nothing_else_changes() {
    if !has_boxes("Claude Code in the box") {
        return;
    }
    let Some(env) = env(Path::new(RALPH)) else { return };
    let before = files(env.folder(), &places(&env));
    let ran = env.build(&[]);
    let mut outside = changed(&before, &files(env.folder(), &places(&env)));
    let above = [".cache", ".local", ".local/state"].map(|name| env.home().join(name));
    outside.retain(|path| !above.contains(path));
    check(&env, &ran, &outside);
    assert_eq!(env.git(&["log", "-1", "--format=%s"]), "Greet the world\n");
    assert_eq!(env.git(&["status", "--short"]), "");
}

#[test]
fn an_agent_that_is_reached_through_a_linked_folder_starts_in_the_sandbox() {
    if !has_boxes("Claude Code behind a linked folder") {
        return;
    }
    let Some(executable) = claude() else { return };
    let Some(env) = env(Path::new(RALPH)) else { return };
    let own = env.folder().join("bin/claude");
    // The sandbox has no home but what it lists, and shows links in there as links.
    for current in [env.folder().join("current"), env.home().join("current")] {
        std::os::unix::fs::symlink(executable.parent().unwrap(), &current).unwrap();
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(current.join("claude"), &own).unwrap();
        let readable = format!("sandbox.readable=[{:?}]", current.display().to_string());
        let ran = env.build(&["--sandbox", "full", "--set", &readable]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn s1_25_an_ordinary_user_has_the_same_sandbox() {
    if !has_boxes("Claude Code in the box, as an ordinary user") {
        return;
    }
    let Some(executable) = claude() else { return };
    let bin = tempfile::tempdir().unwrap();
    make_readable(bin.path());
    let ralph = bin.path().join("ralph");
    copy(Path::new(RALPH), &ralph);
    let Some(env) = env(&ralph) else { return };
    let own = env.folder().join("bin/claude");
    std::fs::remove_file(&own).unwrap();
    copy(&executable, &bin.path().join("claude"));
    std::os::unix::fs::symlink(bin.path().join("claude"), &own).unwrap();
    make_readable(env.folder());
    let Some(ran) = as_ordinary_user(&env, &["build"]) else { return };
    check(&env, &ran, &[]);
    let listed = std::fs::read_dir(env.home()).unwrap().flatten().map(|entry| entry.file_name());
    let mut listed: Vec<_> = listed.map(|name| name.into_string().unwrap()).collect();
    listed.sort();
    assert_eq!(listed, [".cache", ".gitconfig", ".local", ".ssh"]);
}

fn make_readable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    if std::fs::hard_link(from, to).is_err() {
        std::fs::copy(from, to).unwrap();
    }
}

/// Permissions are skipped in the sandbox; which tools there are is not.
#[test]
fn s1_42_a_sandboxed_verifier_has_only_the_tools_to_look() {
    if !has_boxes("the verifier's tools in the sandbox") {
        return;
    }
    let works = [
        Turn::bash("echo hello > hello.txt && git add . && git commit --quiet -m 'Greet'"),
        Turn::text("<task-done>{id}</task-done>"),
    ];
    let meddling = [
        Turn::tool("Write", json!({"file_path": "stray.txt", "content": "x"})),
        Turn::text("There is no such tool.\n<verify-pass/>"),
    ];
    let script = Script::new().session(works).session(meddling);
    let Some(mut env) = ClaudeEnv::new(RALPH, script) else { return };
    env.at_level("full", "it is about what level full holds").with_verifier();
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    let ran = env.build(&[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let sessions = env.sessions_seen();
    assert!(sessions[0][0].tools().contains(&"Write"), "{:?}", sessions[0][0].tools());
    let mut tools = sessions[1][0].tools();
    // Stands for tools that are not there yet, and does nothing.
    tools.retain(|tool| *tool != "DeferredToolPlaceholder");
    tools.sort_unstable();
    assert_eq!(tools, ["Bash", "Glob", "Grep", "Read"]);
    assert!(sessions[1][1].tool_results()[0].1, "the tool is refused");
}
