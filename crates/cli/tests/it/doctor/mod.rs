//! `ralph doctor`: each line is true, and says what to do.

#[cfg(target_os = "linux")]
mod gates;
mod leftovers;
mod publishing;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_testkit::TestEnv;

use crate::{RALPH, env};

/// A repository with a commit and an identity, and a PATH on which there is nothing but git, a shell
/// and what a test puts there.
fn healthy() -> TestEnv {
    let mut env = env();
    let tools = tools(&env);
    std::fs::create_dir(&tools).unwrap();
    for tool in ["git", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(tool))
            .find(|path| path.is_file());
        symlink(found.unwrap(), tools.join(tool)).unwrap();
    }
    let config = "[user]\nname = Ada\nemail = ada@example.org\n";
    std::fs::write(env.home().join(".gitconfig"), config).unwrap();
    env.git(&["commit", "--quiet", "--allow-empty", "-m", "Start"]);
    env.set("PATH", tools.to_str().unwrap());
    env.write("Makefile", "");
    env.write("AGENTS.md", "```\nTEST_COMMAND=\"echo fine\"\n```\n");
    env
}

fn tools(env: &TestEnv) -> PathBuf {
    env.folder().join("tools")
}

/// Puts a `claude` on the PATH that runs this shell script.
fn claude(env: &TestEnv, script: &str) {
    program(env, "claude", script);
}

/// Puts a program on the PATH that runs this shell script.
fn program(env: &TestEnv, name: &str, script: &str) {
    // Written by another process: one that this process has just forked for another test could
    // still hold the file open, and then it cannot be run.
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
    let mut command = Command::new("sh");
    command.args(["-c", write, "sh", script]).arg(tools(env).join(name));
    assert!(command.status().unwrap().success());
}

/// The state and the rest of a line.
fn line<'a>(text: &'a str, name: &str) -> (&'a str, &'a str) {
    let found = text.lines().find_map(|line| {
        let (state, rest) = line.split_once(' ')?;
        Some((state, rest.trim_start().strip_prefix(name)?.strip_prefix(' ')?.trim()))
    });
    found.unwrap_or_else(|| panic!("no line {name} in\n{text}"))
}

#[test]
fn a_healthy_repository_has_no_failure() {
    let mut env = healthy();
    claude(&env, "echo '2.1.325 (Claude Code)'");
    env.set("ANTHROPIC_API_KEY", "sk-very-secret");
    env.task(&["add", "T"]);
    env.ralph(&["init"]).success();
    let ran = env.ralph(&["doctor", "--set", "sandbox.level=none"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let text = &ran.stdout;
    for name in [
        "git",
        "identity",
        "settings",
        "repository",
        "disk",
        "store",
        "files",
        "runs",
        "worktrees",
        "init",
        "forge",
        "agent",
        "login",
        "permissions",
        "sandbox",
        "gate test",
    ] {
        let (state, says) = line(text, name);
        assert!(state == "ok" || (name == "disk" && state == "warn"), "{name}: {says}\n{text}");
    }
    assert_eq!(line(text, "identity").1, "Ada <ada@example.org>");
    assert!(line(text, "repository").1.ends_with(" on main"), "{text}");
    assert!(line(text, "agent").1.starts_with("claude 2.1.325 ("), "{text}");
    assert_eq!(line(text, "login").1, "claude: ANTHROPIC_API_KEY is set");
    assert!(line(text, "store").1.contains("1 open"), "{text}");
    assert!(line(text, "gate test").1.contains("echo fine (AGENTS.md)"), "{text}");
    assert!(!text.contains("sk-very-secret"), "{text}");
    let json = env.ralph(&["doctor", "--json", "--set", "sandbox.level=none"]).success();
    let json: serde_json::Value = ralph_testkit::data(&json);
    assert_eq!((&json["ok"], &json["failed"]), (&true.into(), &0.into()));
    assert_eq!(json["checks"][0]["name"], "git");
    assert_eq!(json["checks"][0]["state"], "ok");
    assert!(!json.to_string().contains("sk-very-secret"));
}

#[test]
fn no_agent_is_a_failure_with_the_remedy() {
    let env = healthy();
    let ran = env.ralph(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert_eq!(line(&ran.stdout, "agent").0, "fail");
    assert!(ran.stdout.contains("do: install it: npm install -g @anthropic-ai/claude-code"));
    assert!(ran.stdout.contains("agent.claude.path"), "{}", ran.stdout);
    assert!(ran.stderr.contains("error: 1 check failed"), "{}", ran.stderr);
    let named = env.ralph(&["doctor", "--set", "agent.claude.path=/nowhere/claude"]);
    assert!(line(&named.stdout, "agent").1.contains("/nowhere/claude"), "{}", named.stdout);
    // A file that may not be run is no program.
    std::fs::write(tools(&env).join("claude"), "#!/bin/sh\n").unwrap();
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "agent").0, "fail");
    for (set, part) in [
        ("agent.name=script", "needs no login"),
        ("agent.name=acp", "agent.acp.path is not set"),
        ("agent.name=codex", "install it: npm install -g @openai/codex"),
        ("agent.verify=gemini", "install it: npm install -g @google/gemini-cli"),
        ("agent.name=opencode", "install it: npm install -g opencode-ai"),
        ("agent.name=other", "the agent other is neither built in nor in your config"),
    ] {
        let text = env.ralph(&["doctor", "--set", set]).stdout;
        assert!(text.contains(part), "{set}: {text}");
    }
}

#[test]
fn versions_that_are_old_unknown_or_broken_are_distinguished() {
    let env = healthy();
    for (script, state, part) in [
        ("echo '1.0.3 (Claude Code)'", "warn", "older than 2.1"),
        ("echo 'what a fine day'", "warn", "unknown version"),
        ("printf '\\033[2Jred'", "warn", "unknown version"),
        ("echo 'no such module' >&2; exit 3", "fail", "exit code 3"),
        ("exec /nonexistent/node", "fail", "exit code"),
    ] {
        claude(&env, script);
        let ran = env.ralph(&["doctor"]);
        let (found, says) = line(&ran.stdout, "agent");
        assert_eq!(found, state, "{script}: {says}");
        assert!(says.contains(part), "{script}: {says}");
        assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
    }
}

#[test]
fn each_agent_has_its_own_version_and_login() {
    for (name, printed, older, login) in [
        ("codex", "codex-cli 0.166.0", "codex-cli 0.98.0", ".codex/auth.json"),
        ("gemini", "0.61.0", "0.9.1", ".gemini/oauth_creds.json"),
        ("opencode", "1.18.33", "1.0.2", ".local/share/opencode/auth.json"),
    ] {
        let env = healthy();
        let set = format!("agent.name={name}");
        let text = || env.ralph(&["doctor", "--set", &set]).stdout;
        program(&env, name, &format!("echo {older}"));
        assert!(line(&text(), "agent").1.contains("older than"), "{}", text());
        program(&env, name, &format!("echo {printed}"));
        assert_eq!((line(&text(), "agent").0, line(&text(), "login").0), ("ok", "warn"));
        let file = env.home().join(login);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "{}").unwrap();
        let found = line(&text(), "login").1.to_owned();
        assert_eq!(found, format!("{name}: {} exists", file.display()));
    }
}

#[test]
fn an_agent_that_hangs_is_not_waited_for() {
    let env = healthy();
    claude(&env, "echo here; /bin/sleep 300 & wait");
    let start = Instant::now();
    let ran = env.ralph(&["doctor", "--set", "agent.silence=1s"]);
    assert!(start.elapsed() < Duration::from_secs(30));
    let (state, says) = line(&ran.stdout, "agent");
    assert!(state == "fail" && says.contains("timed out after 1s"), "{says}");
    assert_eq!(ran.code, 1);
}

#[test]
fn a_login_is_found_in_files_too() {
    let mut env = healthy();
    claude(&env, "echo 2.1.400");
    let ran = env.ralph(&["doctor"]);
    assert_eq!(line(&ran.stdout, "login").0, "warn");
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    std::fs::write(env.home().join(".claude.json"), "{\"oauthAccount\": {\"x\": \"secret-mail\"}}")
        .unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    assert!(line(&text, "login").1.contains("names an account") && !text.contains("secret-mail"));
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    std::fs::write(env.home().join(".claude/.credentials.json"), "{\"t\": \"secret-token\"}")
        .unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    assert!(
        line(&text, "login").1.contains(".credentials.json exists")
            && !text.contains("secret-token")
    );
    env.set("CLAUDE_CONFIG_DIR", "/nonexistent");
    assert!(!env.ralph(&["doctor"]).stdout.contains(".credentials.json exists"));
}

#[test]
fn gates_are_run_and_reported_green_or_red() {
    let env = healthy();
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"good\"\ncommand = \"pwd\"\n\n[[gate]]\nname = \"bad\"\ncommand = \"echo 1 test failed; exit 7\"\n\n\
         [[gate]]\nname = \"gone\"\ncommand = \"no-such-program\"\n\n[[gate]]\nname = \"slow\"\ncommand = \"/bin/sleep 300\"\ntimeout = \"1s\"\n",
    );
    let ran = env.ralph(&["doctor"]);
    let text = &ran.stdout;
    assert_eq!(ran.code, 1);
    assert_eq!(line(text, "gate good").0, "ok");
    assert!(line(text, "gate bad").1.starts_with("failed with exit code 7 after "), "{text}");
    assert!(text.contains("| 1 test failed\n"), "{text}");
    assert!(line(text, "gate gone").1.starts_with("gate command not found: no-such-program"));
    assert!(line(text, "gate slow").1.starts_with("timed out after 1s"), "{text}");
    assert!(ran.stderr.contains("checks failed"), "{}", ran.stderr);
}

#[test]
fn without_a_gate_there_is_a_warning() {
    let env = healthy();
    env.write("AGENTS.md", "```\nTEST_COMMAND=\"\"\n```\n");
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "gates").0, "warn");
    env.write("AGENTS.md", "nothing");
    let text = env.ralph(&["doctor"]).stdout;
    assert_eq!(line(&text, "gates").0, "warn", "{text}");
    // What the project shows counts where nobody wrote anything.
    env.write("Makefile", "test:\n\ttrue\n");
    let text = env.ralph(&["doctor"]).stdout;
    assert!(line(&text, "gate test").1.contains("make test (Makefile)"), "{text}");
}

#[test]
fn no_identity_is_a_failure_with_the_remedy() {
    let env = healthy();
    // Without this git may make one up, depending on the machine.
    std::fs::write(env.home().join(".gitconfig"), "[user]\nuseConfigOnly = true\n").unwrap();
    let ran = env.ralph(&["doctor"]);
    assert_eq!((ran.code, line(&ran.stdout, "identity").0), (1, "fail"));
    assert!(ran.stdout.contains("do: git config --global user.name"), "{}", ran.stdout);
}

#[test]
fn no_git_at_all_is_reported_and_nothing_panics() {
    let mut env = healthy();
    env.set("PATH", "/nonexistent");
    let ran = env.ralph(&["doctor"]);
    assert_eq!((ran.code, line(&ran.stdout, "git").0), (1, "fail"));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

/// The floor is one, for the doctor and for runs.
#[test]
fn a_git_that_is_too_old_is_reported_and_no_run_begins() {
    let env = healthy();
    let real = std::fs::read_link(tools(&env).join("git")).unwrap();
    std::fs::remove_file(tools(&env).join("git")).unwrap();
    for (version, state) in [("2.37.9", "fail"), ("2.38.0", "ok"), ("odd", "warn")] {
        let text = format!("case $* in *--version) echo 'git version {version}'; exit;; esac");
        program(&env, "git", &format!("{text}\nexec {} \"$@\"", real.display()));
        assert_eq!(line(&env.ralph(&["doctor"]).stdout, "git").0, state, "{version}");
        env.task(&["add", "T"]);
        let ran = env.ralph(&["build", "--agent", "script", "--set", "agent.script.path=none"]);
        let refused = ran.stderr.contains("git 2.37.9 is too old; ralph needs 2.38 or later");
        assert_eq!(refused, state == "fail", "{}", ran.stderr);
        assert!(!refused || ran.code == 5, "{}", ran.code);
    }
}

#[test]
fn no_repository_and_no_commit_are_reported() {
    let nowhere = TestEnv::without_repository(RALPH);
    let ran = nowhere.ralph(&["doctor"]);
    assert_eq!((ran.code, line(&ran.stdout, "repository").0), (1, "fail"));
    assert!(ran.stdout.contains("git init"), "{}", ran.stdout);
    let env = env();
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "repository").0, "warn");
}

#[test]
fn settings_store_and_sandbox_are_judged() {
    let env = healthy();
    env.write("ralph.toml", "[loop]\nmax_retries = \"many\"\n");
    let text = env.ralph(&["doctor"]).stdout;
    assert!(line(&text, "settings").0 == "fail" && text.contains("ralph.toml:2:15"), "{text}");
    env.write("ralph.toml", "[loop]\nmax_retrys = 1\n");
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "settings").0, "fail");
    env.write("ralph.toml", "[ui]\ncolour = \"auto\"\n");
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "settings").0, "warn");
    env.write("ralph.toml", "[sandbox]\nlevel = \"seatbelt\"\n");
    let text = env.ralph(&["doctor", "--set", "agent.allowed_tools=Read"]).stdout;
    assert_eq!(line(&text, "sandbox").0, "fail");
    assert_eq!(line(&text, "permissions").0, "warn");
    env.write(".ralph/progress.db", "notes of another tool\n".repeat(40));
    let text = env.ralph(&["doctor", "--fix"]).stdout;
    assert!(line(&text, "store").0 == "fail" && text.contains("mv "), "{text}");
    assert!(!env.repo().join("PROMPT_build.md").exists(), "nothing is written beside another tool");
}

#[test]
fn a_better_sandbox_is_offered_and_written_into_the_users_own_file() {
    let env = healthy();
    let own = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "# mine\n[sandbox]\nlevel = \"none\" # for now\n").unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    assert_eq!(line(&text, "sandbox").0, "ok");
    if !text.contains("works here") {
        ralph_testkit::skip("a better box: none works here");
        return;
    }
    let ran = env.ralph(&["doctor", "--fix"]);
    assert!(ran.stderr.contains("wrote sandbox.level"), "{}", ran.stderr);
    let now = std::fs::read_to_string(&own).unwrap();
    assert!(now.starts_with("# mine\n") && now.contains("# for now"), "{now}");
    assert!(now.contains("level = \"full\"") || now.contains("level = \"landlock\""), "{now}");
    assert!(env.ralph(&["doctor"]).stdout.contains("writes only in"), "{now}");
}

#[test]
fn fix_does_what_init_would_and_no_more() {
    let env = healthy();
    claude(&env, "echo 2.1.400");
    env.write("PROMPT_build.md", "mine\n");
    let text = env.ralph(&["doctor"]).stdout;
    assert_eq!(line(&text, "init").0, "warn");
    assert!(text.contains("ralph doctor --fix") && !env.repo().join(".claude").exists(), "{text}");
    let ran = env.ralph(&["doctor", "--fix"]);
    assert_eq!(line(&ran.stdout, "init").0, "ok");
    assert!(
        ran.stderr.contains("made ralph.toml\n") && !ran.stderr.contains("PROMPT_build"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(env.repo().join("PROMPT_build.md")).unwrap(), "mine\n");
    assert_eq!(env.ralph(&["-q", "doctor", "--fix"]).stderr, "");
}

#[test]
fn an_interrupted_doctor_leaves_no_gate_behind() {
    let env = healthy();
    claude(&env, "echo 2.1.400");
    let fifo = env.folder().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let gate = format!("echo $$ > {}; exec /bin/sleep 300", fifo.display());
    env.write("ralph.toml", format!("[[gate]]\nname = \"slow\"\ncommand = \"{gate}\"\n"));
    for signal in ["-INT", "-TERM", "-HUP"] {
        // In a sandbox the gate would have another pid, and no fifo.
        let child = env.start(&["doctor", "--set", "sandbox.level=none"]);
        // Opening waits for the gate.
        let pid = std::fs::read_to_string(&fifo).unwrap();
        let kill = |arguments: &[&str]| Command::new("kill").args(arguments).output().unwrap();
        assert!(kill(&[signal, &child.id().to_string()]).status.success());
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{signal}: {printed}");
        assert!(printed.contains("error: interrupted"), "{signal}: {printed}");
        assert!(!kill(&["-0", pid.trim()]).status.success(), "{signal}: the gate is still there");
    }
}

#[test]
fn a_notifier_whose_program_is_missing_is_reported_with_a_remedy() {
    let env = healthy();
    claude(&env, "echo '2.1.325 (Claude Code)'");
    let doctor = |extra: &[&str]| {
        let mut arguments = vec!["doctor", "--set", "sandbox.level=none"];
        arguments.extend(extra);
        env.ralph(&arguments).stdout
    };
    let text = doctor(&[]);
    assert!(!text.contains("notify"), "{text}");
    let wished = ["--set", "notify.desktop=true", "--set", "notify.command=true"];
    let text = doctor(&wished);
    assert_eq!(line(&text, "notify"), ("ok", "through notify.command"));
    if cfg!(target_os = "linux") {
        assert!(text.contains("warn  notify      notify-send was not found"), "{text}");
        assert!(text.contains("apt-get install libnotify-bin"), "{text}");
        symlink("/bin/sh", tools(&env).join("notify-send")).unwrap();
        let text = doctor(&wished);
        assert_eq!(line(&text, "notify"), ("ok", "through notify-send, notify.command"));
    }
    let text = doctor(&["--set", "notify.webhook=ftp://secret.example.org"]);
    let (state, says) = line(&text, "notify");
    assert_eq!(state, "fail");
    assert!(says.contains("must begin with") && !text.contains("secret"), "{text}");
}
