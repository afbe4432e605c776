//! Programs that become agents by the user's config alone.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Writes a shell script that is on PATH, and the user's config.
fn made(env: &mut TestEnv, scripts: &[(&str, &str)], config: &str) {
    let bin = env.note("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for (name, body) in scripts {
        let program = bin.join(name);
        std::fs::write(&program, format!("#!/bin/bash\n{body}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{}:{path}", bin.display()));
    let own = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(own, config).unwrap();
}

fn level(env: &TestEnv) -> String {
    journal(env)[0]["level"].as_str().unwrap().to_owned()
}

/// Does its task, whatever the prompt says.
const WORKS: &str = r#"echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"; echo "Done. <task-done>$RALPH_TASK_ID</task-done>""#;

#[test]
fn an_agent_by_config_does_a_whole_run_in_the_sandbox() {
    let mut env = project(&["a", "b"]);
    let body = format!(
        r#"printf '%s\n' "$@" > ../notes/argv; cat "$2" > ../notes/prompt; cat > ../notes/stdin
{WORKS}"#
    );
    let config = r#"[agent.made-up]
path = "my-agent"
args = ["--message-file", "{prompt_file}", "--model", "{model}", "--yes"]

[models.made-up]
medium = "my-model"

[models]
strategy = "plan-then-execute"
"#;
    made(&mut env, &[("my-agent", &body)], config);
    let dry = env.ralph(&["build", "--agent", "made-up", "--dry-run"]).success();
    assert!(dry.contains("my-agent --message-file ") && dry.contains("--yes"), "{dry}");
    env.ralph(&["build", "--agent", "made-up", "--once"]).success();
    let note = |name| std::fs::read_to_string(env.note(name)).unwrap();
    assert!(
        note("argv").ends_with(".prompt.md\n--yes\n"),
        "ralph chooses no model: {}",
        note("argv")
    );
    let ran = env.ralph(&["build", "--agent", "made-up", "--model", "medium"]);
    assert!(ran.stderr.contains("Done. <task-done>"), "its words are shown: {}", ran.stderr);
    ran.success();
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "done".into()));
    let argv = note("argv");
    assert!(argv.ends_with("--model\nmy-model\n--yes\n"), "{argv}");
    // Rules and task are one text.
    assert!(note("prompt").contains("<task-done>") && note("prompt").contains("\nb"), "{argv}");
    assert_eq!(note("stdin"), "");
    assert_eq!(journal(&env)[0]["agent"], "made-up");
    let logs = env.ralph(&["logs"]).success();
    assert!(logs.contains("Done. <task-done>"), "{logs}");
}

#[test]
fn without_a_placeholder_the_prompt_goes_by_stdin() {
    let mut env = project(&["a"]);
    let body = format!("cat > ../notes/stdin; {WORKS}");
    made(&mut env, &[("my-agent", &body)], "[agent.made-up]\npath = \"my-agent\"\n");
    env.ralph(&["build", "--agent", "made-up"]).success();
    assert_eq!(status(&env, "a"), "done");
    let prompt = std::fs::read_to_string(env.note("stdin")).unwrap();
    assert!(prompt.contains("<task-done>"), "{prompt}");
}

#[test]
fn an_exit_code_may_mean_a_limit_and_another_agent_goes_on() {
    let mut env = project(&["a"]);
    let config = r#"[agent]
name = "command"
fallback = ["second"]

[agent.command]
path = "first"
limit_exit = [75]

[agent.second]
path = "second"
"#;
    let limited = "echo 'no tokens left' >&2; exit 75";
    made(&mut env, &[("first", limited), ("second", WORKS)], config);
    let ran = env.ralph(&["build"]);
    assert!(ran.stderr.contains("second works instead of command (usage limit)"), "{}", ran.stderr);
    ran.success();
    assert_eq!(classes(&env), ["usage_window", "done"]);
    let programs: Vec<Value> = show(&env, "a")["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| attempt["program"].clone())
        .collect();
    assert_eq!(programs, ["command", "second"]);
}

#[test]
fn an_exit_code_may_mean_a_missing_login() {
    let mut env = project(&["a"]);
    let config = "[agent.command]\npath = \"my-agent\"\nlogin_exit = [41]\n";
    made(&mut env, &[("my-agent", "echo 'who are you' >&2; exit 41")], config);
    let ran = env.ralph(&["build", "--agent", "command"]);
    let says = "who are you (exited with code 41, see agent.command.login_exit); log in to command";
    assert!(ran.code == 4 && ran.stderr.contains(says), "{}: {}", ran.code, ran.stderr);
    assert_eq!((classes(&env), status(&env, "a")), (vec!["auth".to_owned()], "open".into()));
}

#[test]
fn an_agent_by_config_sees_its_files_and_changes_a_copy() {
    let mut env = project(&["a"]);
    let body = format!("cat ~/.made/token > ../notes/token; echo x > ~/.made/new; {WORKS}");
    let config = "[agent.command]\npath = \"my-agent\"\nstate = [\"~/.made\"]\n";
    made(&mut env, &[("my-agent", &body)], config);
    let own = env.home().join(".made");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("token"), "MINE").unwrap();
    env.ralph(&["build", "--agent", "command"]).success();
    if level(&env) != "full" {
        return ralph_testkit::skip("files of an agent: there is no full sandbox here");
    }
    assert_eq!(std::fs::read_to_string(env.note("token")).unwrap(), "MINE");
    assert!(!own.join("new").exists(), "it stays in the sandbox");
}

#[test]
fn an_agent_by_config_reaches_its_hosts_and_no_others() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for caller in server.incoming() {
            let _ = std::io::Write::write_all(&mut caller.unwrap(), b"hello");
        }
    });
    for (hosts, heard) in [("", ""), (&format!("hosts = [\"localhost:{port}\"]\n"), "hello")] {
        let mut env = project(&["a"]);
        let tries = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -c 5 <&3");
        let tries = format!("timeout 20 bash -c '{tries}' > ../notes/heard 2>/dev/null");
        let config = format!("[agent.command]\npath = \"my-agent\"\n{hosts}");
        made(&mut env, &[("my-agent", &format!("{tries}; {WORKS}"))], &config);
        let deny = "sandbox.network.policy=deny";
        env.ralph(&["build", "--agent", "command", "--set", deny]).success();
        if level(&env) != "full" {
            return ralph_testkit::skip("the network of a sandbox: there is no full one here");
        }
        assert_eq!(std::fs::read_to_string(env.note("heard")).unwrap(), heard, "{hosts}");
    }
}

#[test]
fn doctor_prints_the_version_of_an_agent_by_config() {
    let mut env = project(&["a"]);
    let config = "[agent]\nname = \"command\"\n[agent.command]\npath = \"my-agent\"\n\
                  version = \"--show-version\"\n";
    let body = "[ \"$1\" = --show-version ] && echo 'my-agent 7.1'";
    made(&mut env, &[("my-agent", body)], config);
    let found = env.ralph(&["doctor"]);
    assert!(found.stdout.contains("command my-agent 7.1 ("), "{}{}", found.stdout, found.stderr);
    made(&mut env, &[("my-agent", "exit 3")], config);
    let found = env.ralph(&["doctor"]);
    assert!(found.stdout.contains("--show-version failed"), "{}{}", found.stdout, found.stderr);
}
