//! `ralph init`: writes what is missing, keeps what is there.

use std::collections::BTreeMap;
use std::path::Path;

use ralph_testkit::{TestEnv, private_mounts};

use crate::{RALPH, env};

const FILES: [&str; 7] = [
    "ralph.toml",
    "PROMPT_build.md",
    "AGENTS.md",
    ".claude/settings.json",
    ".claude/skills/ralph-spec/SKILL.md",
    ".claude/skills/ralph-plan/SKILL.md",
    ".claude/skills/ralph-build/SKILL.md",
];

/// Every file of the repository with its bytes and its inode, but for git's own.
fn snapshot(folder: &Path) -> BTreeMap<String, (u64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !path.is_symlink() {
                let keep = name != ".git";
                found.insert(format!("{name}/"), (0, vec![]));
                folders.extend(keep.then_some(path));
            } else {
                let inode = path.symlink_metadata().unwrap().ino();
                found.insert(name, (inode, std::fs::read(&path).unwrap_or_default()));
            }
        }
    }
    found.insert(
        "exclude".to_owned(),
        (0, std::fs::read(folder.join(".git/info/exclude")).unwrap()),
    );
    found
}

fn read(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.repo().join(path)).unwrap()
}

fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(did, path)| (path.trim(), did.trim()))
        .collect()
}

#[test]
fn a_fresh_repository_gets_everything() {
    let env = env();
    env.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let ran = env.ralph(&["init"]);
    let printed = ran.stdout.clone();
    for path in FILES {
        assert_eq!(lines(&printed)[path], "made", "{printed}");
        assert!(env.repo().join(path).is_file(), "{path}");
    }
    assert!(ran.stderr.contains("cargo test"), "{}", ran.stderr);
    assert!(env.repo().join(".ralph/features").is_dir());
    assert!(env.repo().join(".ralph/skills").is_dir());
    assert!(read(&env, "AGENTS.md").contains("\n```sh\nTEST_COMMAND=\"cargo test\"\n```\n"));
    assert!(read(&env, ".git/info/exclude").contains("/.ralph/progress.db*"));
    let shown = env.ralph(&["config", "show"]).success();
    let claims = shown.lines().find(|line| line.starts_with("completion.claims ")).unwrap();
    assert!(claims.contains("\"confirm\"") && claims.contains("ralph.toml:"), "{claims}");
    let checked = env.ralph(&["config", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    assert!(!env.store().exists(), "no store before the first task");
}

#[test]
fn a_second_run_changes_nothing() {
    let env = env();
    env.ralph(&["init"]).success();
    let before = snapshot(&env.repo());
    let printed = env.ralph(&["init"]).success();
    assert!(lines(&printed).values().all(|did| *did == "kept"), "{printed}");
    let printed = env.ralph(&["init", "--force"]).success();
    assert!(lines(&printed).values().all(|did| *did == "kept"), "{printed}");
    assert_eq!(snapshot(&env.repo()), before);
}

#[test]
fn what_is_there_is_kept_and_only_force_writes_ralphs_own_files_again() {
    let env = env();
    let mine = [
        ("ralph.toml", "[loop]\njobs = 2\n"),
        ("PROMPT_build.md", "my prompt\n"),
        (".claude/skills/ralph-build/SKILL.md", "my skill\n"),
    ];
    for (path, text) in mine {
        env.write(path, text);
    }
    env.write("AGENTS.md", "# House rules\n\nNo tabs.");
    env.write("Makefile", "test:\n\ttrue\n");
    let printed = env.ralph(&["init"]).success();
    for (path, text) in mine {
        assert_eq!((lines(&printed)[path], read(&env, path).as_str()), ("kept", text));
    }
    assert_eq!(lines(&printed)["AGENTS.md"], "updated");
    let agents = read(&env, "AGENTS.md");
    assert!(agents.starts_with("# House rules\n\nNo tabs.\n\n## Build & Test\n"), "{agents}");
    assert!(agents.contains("TEST_COMMAND=\"make test\""), "{agents}");
    // The command that a person wrote stays, even by force.
    let agents = agents.replace("make test", "make everything");
    env.write("AGENTS.md", &agents);
    let forced = env.ralph(&["init", "--force"]);
    for (path, text) in mine {
        assert_eq!(lines(&forced.stdout)[path], "updated");
        assert_ne!(read(&env, path), text);
    }
    assert_eq!(read(&env, "AGENTS.md"), agents);
    assert!(forced.stderr.contains("also found, but not used: make test"), "{}", forced.stderr);
}

#[test]
fn settings_of_the_user_stay_as_they_are() {
    let env = env();
    let before = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"SessionEnd\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"./bye\"}]}\n        ]\n    },\n    \"env\": {\"A\": \"1\"}\n}\n";
    let path = env.write(".claude/settings.json", before);
    let printed = env.ralph(&["init"]).success();
    assert_eq!(lines(&printed)[".claude/settings.json"], "updated");
    let after = std::fs::read_to_string(path).unwrap();
    let value: serde_json::Value = serde_json::from_str(&after).unwrap();
    assert_eq!(value["hooks"]["SessionEnd"][0]["hooks"][0]["command"], "./bye");
    assert!(
        value["hooks"]["SessionEnd"][1]["hooks"][0]["command"]
            .as_str()
            .unwrap()
            .contains("ralph hook session-end")
    );
    assert!(
        value["hooks"]["PreCompact"][0]["hooks"][0]["command"]
            .as_str()
            .unwrap()
            .contains("ralph hook pre-compact")
    );
    for line in before.lines().filter(|line| line.contains('"') && !line.contains("./bye")) {
        assert!(after.contains(line), "{line}\n{after}");
    }
    env.ralph(&["init"]).success();
    assert_eq!(read(&env, ".claude/settings.json"), after);
}

#[test]
fn a_file_that_cannot_be_understood_is_named_and_the_rest_is_done() {
    for (text, why) in [
        (&b"{ // mine\n}"[..], "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{\"hooks\": 1}", "\"hooks\" are not an object"),
        (b"{\"hooks\": {\"PreCompact\": 1}}", "\"hooks.PreCompact\" is not a list"),
    ] {
        let env = env();
        let path = env.write(".claude/settings.json", text);
        let ran = env.ralph(&["init"]);
        assert_eq!(ran.code, 1);
        let line = ran.stdout.lines().find(|line| line.contains("settings.json")).unwrap();
        assert!(line.starts_with("refused") && line.contains(why), "{line}");
        assert!(ran.stderr.contains("error: 1 file could not be written"), "{}", ran.stderr);
        assert_eq!(std::fs::read(path).unwrap(), text);
        for path in FILES {
            assert!(env.repo().join(path).is_file(), "{path}");
        }
        assert!(!ran.stdout.contains("panicked") && !ran.stderr.contains("panicked"));
    }
}

#[test]
fn links_do_not_lead_out_of_the_repository() {
    use std::os::unix::fs::symlink;
    let env = env();
    let outside = env.home().join("claude");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, env.repo().join(".claude")).unwrap();
    symlink(env.home().join("nothing"), env.repo().join("PROMPT_build.md")).unwrap();
    symlink(".git/config", env.repo().join("ralph.toml")).unwrap();
    std::fs::create_dir(env.repo().join("AGENTS.md")).unwrap();
    let git = read(&env, ".git/config");
    let ran = env.ralph(&["init"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let refused: Vec<&str> =
        ran.stdout.lines().filter(|line| line.starts_with("refused")).collect();
    assert_eq!(refused.len(), 7, "{}", ran.stdout);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!env.home().join("nothing").exists());
    assert_eq!(read(&env, ".git/config"), git);
}

#[test]
fn nothing_is_written_through_a_link_and_a_committed_one_that_says_enough_is_fine() {
    let env = env();
    env.write("CLAUDE.md", "# Rules\n");
    std::os::unix::fs::symlink("CLAUDE.md", env.repo().join("AGENTS.md")).unwrap();
    let ran = env.ralph(&["init"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let why = "AGENTS.md: it is a symbolic link to CLAUDE.md; ralph does not write through links";
    assert!(ran.stdout.contains(why), "{}", ran.stdout);
    assert!(env.repo().join("AGENTS.md").is_symlink());
    assert_eq!(read(&env, "CLAUDE.md"), "# Rules\n");
    env.write("CLAUDE.md", "# Rules\n\n```sh\nTEST_COMMAND=\"true\"\n```\n");
    env.git(&["add", "-A"]);
    env.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "rules"]);
    env.ralph(&["init"]).success();
}

#[test]
fn a_folder_of_another_tool_is_left_alone() {
    for (path, text) in [
        (".ralph/state.toml", "loop: yaml".to_owned()),
        (".ralph/progress.db", "notes of another tool\n".repeat(40)),
    ] {
        let env = env();
        env.write(path, text);
        let before = snapshot(&env.repo());
        env.ralph(&["init", "--force"]).failure(1);
        assert_eq!(snapshot(&env.repo()), before);
    }
}

#[test]
fn no_repository_and_a_bare_one_are_named() {
    let nowhere = TestEnv::without_repository(RALPH);
    let output = nowhere.ralph(&["init"]).failure(1);
    assert!(output.contains("git init"), "{output}");
    let env = env();
    env.git(&["init", "--quiet", "--bare", "../bare.git"]);
    let bare = env.folder().join("bare.git");
    let output = env.ralph(&["-C", bare.to_str().unwrap(), "init"]).failure(1);
    assert!(output.contains("bare repository"), "{output}");
}

#[test]
fn a_subfolder_prepares_the_whole_repository() {
    let env = env();
    env.write("src/deep/x", "");
    env.write("go.mod", "module x\n");
    let deep = env.repo().join("src/deep");
    env.ralph(&["-C", deep.to_str().unwrap(), "init"]).success();
    assert_eq!(std::fs::read_dir(deep).unwrap().count(), 1);
    assert!(read(&env, "AGENTS.md").contains("go test ./..."));
}

#[test]
fn a_worktree_gets_its_own_files_and_shares_the_state() {
    let env = env();
    let name = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "Start"];
    env.git(&[&name[..], &commit[..]].concat());
    env.git(&["worktree", "add", "--quiet", "../other"]);
    let other = env.folder().join("other");
    let printed = env.ralph(&["-C", other.to_str().unwrap(), "init"]).success();
    for path in FILES {
        assert!(other.join(path).is_file() && !env.repo().join(path).exists(), "{path}");
    }
    assert!(!other.join(".ralph").exists() && env.repo().join(".ralph/features").is_dir());
    let shared = env.repo().canonicalize().unwrap().join(".ralph/features");
    assert!(printed.contains(shared.to_str().unwrap()), "{printed}");
    let again = env.ralph(&["-C", other.to_str().unwrap(), "init"]).success();
    assert!(lines(&again).values().all(|did| *did == "kept"), "{again}");
}

#[test]
fn a_read_only_folder_is_reported_for_each_file() {
    let env = env();
    let script = r#"
        mount --bind "$REPO" "$REPO"
        mount -o remount,bind,ro "$REPO"
        "$RALPH" -C "$REPO" init 2>&1 && exit 1
        echo "code $?"
    "#;
    let Some(mut command) = private_mounts("init in a read-only folder", script) else {
        return;
    };
    command.env("RALPH", RALPH).env("REPO", env.repo()).env("HOME", env.home());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("refused  ralph.toml: it cannot be written: Read-only file system"),
        "{text}"
    );
    assert!(text.contains("code 1") && !text.contains("made "), "{text}");
}

#[test]
fn the_test_command_of_the_project_is_found() {
    for (path, text, expected) in [
        ("Cargo.toml", "[package]\n", "cargo test"),
        (".config/nextest.toml", "", ""),
        ("package.json", r#"{"scripts":{"test":"jest"}}"#, "npm test"),
        (
            "package.json",
            r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            "",
        ),
        ("pytest.ini", "", "python3 -m pytest"),
        ("go.mod", "", "go test ./..."),
        ("Makefile", "test:\n", "make test"),
        ("justfile", "test:\n", "just test"),
        ("gradlew", "", "./gradlew test"),
        ("pom.xml", "", "mvn test"),
    ] {
        let env = env();
        env.write(path, text);
        let ran = env.ralph(&["init", "--json"]);
        let json: serde_json::Value = ralph_testkit::data(&ran.stdout);
        assert_eq!(json["test_command"], expected, "{path}");
        assert!(json["files"].as_array().unwrap().iter().all(|file| file["reason"].is_null()));
        assert!(read(&env, "AGENTS.md").contains(&format!("TEST_COMMAND=\"{expected}\"")));
        let warned = ran.stderr.contains(r#""kind":"warning""#);
        assert_eq!(warned, expected.is_empty(), "{}", ran.stderr);
    }
}

#[test]
fn the_skills_name_only_commands_that_there_are() {
    let env = env();
    env.ralph(&["init"]).success();
    let mut named = 0;
    for path in FILES.into_iter().filter(|path| path.ends_with("SKILL.md")) {
        let text = read(&env, path);
        for call in text.split("ralph task ").skip(1) {
            let word: String =
                call.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            env.ralph(&["help", "task", &word]).success();
            named += 1;
        }
    }
    assert!(named > 8, "{named}");
}

#[test]
fn a_task_can_wait_for_an_answer() {
    let env = env();
    env.task(&["add", "T", "--id", "a"]);
    env.task_as("ada", &["claim", "a"]).success();
    env.task_as("bob", &["ask", "a", "May I?"]).failure(2);
    env.task_as("ada", &["ask", "a", " "]).failure(1);
    env.task_as("ada", &["ask", "a", "May the old format go?"]).success();
    assert!(env.task(&["plan-status"]).contains("1 waiting"));
    assert!(env.task(&["show", "a"]).contains("May the old format go?"));
    env.task(&["reset", "a"]);
    assert!(env.task(&["plan-status"]).starts_with("1 open"));
}

#[test]
fn other_checks_are_comments_until_you_want_them_as_gates() {
    let package =
        r#"{"scripts":{"test":"vitest run","lint":"eslint .","format:check":"prettier -c ."}}"#;
    let env = env();
    env.write("package.json", package);
    let ran = env.ralph(&["init"]);
    let output = ran.stderr.replace("\n      ", " ");
    assert!(output.contains("the test command is: npm test (package.json)"), "{output}");
    assert!(
        output.contains("found, as comments in ralph.toml: npm run lint (lint, package.json)"),
        "{output}"
    );
    let gates = |env: &TestEnv| {
        let settings: toml::Table = read(env, "ralph.toml").parse().unwrap();
        let gates = settings.get("gate").and_then(|gates| gates.as_array().cloned());
        gates
            .unwrap_or_default()
            .iter()
            .map(|gate| gate["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(gates(&env), [""; 0]);
    assert!(
        read(&env, "ralph.toml")
            .contains("# [[gate]]\n# name = \"lint\"\n# command = \"npm run lint\"\n")
    );
    env.ralph(&["config", "check"]).success();
    // What is there stays, whatever is asked for.
    let kept = env.ralph(&["init", "--gates", "all"]);
    assert_eq!(lines(&kept.stdout)["ralph.toml"], "kept");
    assert_eq!(gates(&env), [""; 0]);
    env.ralph(&["init", "--gates", "all", "--force"]).success();
    assert_eq!(gates(&env), ["tests", "lint", "format"]);
    env.ralph(&["config", "check"]).success();
    env.ralph(&["init", "--gates", "tests", "--force"]).success();
    assert_eq!(gates(&env), [""; 0]);
}

#[test]
fn a_monorepo_without_tests_at_its_top_is_tested_in_its_folders() {
    let env = env();
    env.write("api/go.mod", "module x\n");
    env.write("web/package.json", r#"{"scripts":{"test":"vitest run"}}"#);
    env.write("node_modules/x/package.json", r#"{"scripts":{"test":"x"}}"#);
    env.ralph(&["init"]).success();
    let agents = read(&env, "AGENTS.md");
    assert!(
        agents.contains("TEST_COMMAND=\"(cd api && go test ./...) && (cd web && npm test)\""),
        "{agents}"
    );
    assert!(read(&env, "ralph.toml").contains("# command = \"cd api && go vet ./...\""));
}

#[test]
fn init_is_undone_completely_and_keeps_what_you_changed() {
    let env = env();
    env.write("go.mod", "module x\n");
    env.write("AGENTS.md", "# Rules\n\nBe kind.\n");
    env.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    let bytes = |env: &TestEnv| {
        let files = snapshot(&env.repo()).into_iter();
        files.map(|(name, (_, bytes))| (name, bytes)).collect::<BTreeMap<_, _>>()
    };
    let before = bytes(&env);
    for gates in ["tests", "all"] {
        env.ralph(&["init", "--gates", gates]).success();
        // The project grows, and its tests have another name now.
        env.write("AGENTS.md", read(&env, "AGENTS.md") + "\nMine.\n");
        let undone = env.ralph(&["init", "--undo"]).success();
        assert_eq!(lines(&undone)["ralph.toml"], "removed", "{undone}");
        assert_eq!(lines(&undone)["AGENTS.md"], "updated", "{undone}");
        assert_eq!(read(&env, "AGENTS.md"), "# Rules\n\nBe kind.\n\nMine.\n");
        env.write("AGENTS.md", "# Rules\n\nBe kind.\n");
        assert_eq!(bytes(&env), before, "{undone}");
    }
    assert!(env.ralph(&["init", "--undo"]).stderr.contains("nothing to remove"));

    env.ralph(&["init"]).success();
    env.write("PROMPT_build.md", "mine\n");
    env.write("ralph.toml", read(&env, "ralph.toml").replace("confirm", "trust"));
    env.task(&["add", "A task"]);
    let undone = env.ralph(&["init", "--undo", "--json"]).success();
    let undone: serde_json::Value = ralph_testkit::data(&undone);
    let did = |path: &str| {
        let files = undone["files"].as_array().unwrap();
        files
            .iter()
            .find(|file| file["path"] == path)
            .map(|file| file["did"].as_str().unwrap().to_owned())
    };
    for path in ["PROMPT_build.md", "ralph.toml", ".git/info/exclude"] {
        assert_eq!(did(path).as_deref(), Some("stays"), "{undone}");
    }
    assert_eq!(did("PROMPT_plan.md").as_deref(), Some("removed"));
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
}

#[test]
fn another_agent_gets_skills_hooks_and_rules_where_it_looks_for_them() {
    let env = env();
    let printed = env.ralph(&["init", "--agent", "gemini"]).success();
    for path in [
        ".agents/skills/ralph-build/SKILL.md",
        ".agents/skills/ralph-plan/SKILL.md",
        ".agents/skills/ralph-spec/SKILL.md",
        ".gemini/settings.json",
        "GEMINI.md",
    ] {
        assert_eq!(lines(&printed)[path], "made", "{printed}");
    }
    assert!(!env.repo().join(".claude").exists(), "{printed}");
    assert_eq!(read(&env, "GEMINI.md"), "@AGENTS.md\n");
    let settings: serde_json::Value =
        serde_json::from_str(&read(&env, ".gemini/settings.json")).unwrap();
    // It reports a full context where there is none.
    let events: Vec<&String> = settings["hooks"].as_object().unwrap().keys().collect();
    assert_eq!(events, ["SessionEnd"]);
    assert_eq!(env.ralph(&["config", "get", "agent.name"]).success().trim(), "gemini");
    // Now the settings name it.
    assert!(lines(&env.ralph(&["init"]).success()).values().all(|did| *did == "kept"));
    env.ralph(&["init", "--undo"]).success();
    for gone in [".agents", ".gemini", "GEMINI.md", "ralph.toml"] {
        assert!(!env.repo().join(gone).exists(), "{gone}");
    }
}

#[test]
fn files_of_an_agent_that_you_changed_stay() {
    const HOOKS: &str = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n";
    let env = env();
    env.write("GEMINI.md", "mine\n");
    env.write(".codex/hooks.json", HOOKS);
    env.ralph(&["--set", "agent.verify=gemini", "init", "--agent", "codex"]).success();
    assert!(read(&env, ".codex/hooks.json").contains("ralph hook session-end"));
    env.ralph(&["--set", "agent.name=gemini", "init"]).success();
    assert_eq!(read(&env, "GEMINI.md"), "mine\n");
    env.write(".agents/skills/ralph-build/SKILL.md", "my own\n");
    env.ralph(&["clean", "--all"]).success();
    assert_eq!(read(&env, ".agents/skills/ralph-build/SKILL.md"), "my own\n");
    assert!(!env.repo().join(".agents/skills/ralph-plan").exists());
    env.ralph(&["init", "--undo"]).success();
    assert_eq!(read(&env, ".codex/hooks.json"), HOOKS);
    assert_eq!(read(&env, "GEMINI.md"), "mine\n");
}

#[test]
fn an_agent_for_a_ralph_toml_that_stays_is_named_with_the_line_to_write() {
    let env = env();
    env.write("ralph.toml", "[loop]\nmax_retries = 1\n");
    let ran = env.ralph(&["init", "--agent", "codex"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("set agent.name = \"codex\" in it"), "{}", ran.stderr);
}
