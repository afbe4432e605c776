//! Completions: what ralph offers at a Tab, and that bash, zsh and fish insert it.

use ralph_testkit::{TestEnv, skip};

use crate::{RALPH, env};

/// The values that ralph offers for the last word, without options.
fn values(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let mut offered = offered(env, words);
    offered.retain(|word| !word.starts_with('-'));
    offered
}

/// Everything that ralph offers for the last word.
fn offered(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let ran = env.ralph(&[&["__complete", &index, "--", "ralph"], words].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    ran.stdout.lines().map(value).collect()
}

/// A repository with tasks, a feature and a question.
fn stocked() -> TestEnv {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "Write the parser", "--id", "parser"]);
    env.task(&["add", "Write the docs", "--id", "docs/01"]);
    env.task(&["add", "Old work", "--id", "past"]);
    env.task(&["claim", "past"]);
    env.task(&["done", "past"]);
    env
}

#[test]
fn ids_and_names_of_the_repository_are_offered() {
    let env = stocked();
    let words = |words: &[&str]| offered(&env, words);
    assert_eq!(words(&["task", "claim", ""]), ["parser", "docs/01"]);
    assert_eq!(words(&["task", "show", ""]), ["parser", "docs/01", "past"]);
    assert_eq!(words(&["task", "show", "pa"]), ["parser", "past"]);
    assert_eq!(words(&["task", "add", "T", "--deps", "past,do"]), ["past,docs/01"]);
    assert_eq!(words(&["build", "--task", "p"]), ["parser"]);
    assert_eq!(words(&["build", "--task=p"]), ["--task=parser"]);
    assert_eq!(words(&["run", ""]), ["login", "parser", "docs/01"]);
    assert_eq!(words(&["feature", "plan", ""]), ["login"]);
    assert_eq!(words(&["task", "list", "--feature", "l"]), ["login"]);
    env.task(&["ask", "parser", "Which grammar?"]);
    let question = words(&["answer", ""]);
    assert!(question.len() == 1 && question[0].starts_with("q-"), "{question:?}");
    let shown = env.ralph(&["__complete", "2", "--", "ralph", "answer", ""]).success();
    assert!(shown.ends_with("\tWhich grammar?\n"), "{shown}");
    // From another folder, as the command itself would.
    let elsewhere = env.repo().display().to_string();
    let index = ["__complete", "5", "--", "ralph", "-C", &elsewhere, "task", "claim", "par"];
    let ran = env.command(&index).current_dir(env.home()).output().unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "parser\tWrite the parser\n");
}

#[test]
fn settings_presets_and_commands_are_offered() {
    let env = env();
    let words = |words: &[&str]| offered(&env, words);
    assert_eq!(words(&["config", "get", "loop.jo"]), ["loop.jobs"]);
    assert_eq!(words(&["config", "set", "loop.on_red", ""]), ["retry", "feed", "preset"]);
    assert_eq!(words(&["config", "set", "git.auto_push", "t"]), ["true"]);
    assert_eq!(words(&["--set", "loop.jo"]), ["loop.jobs="]);
    assert_eq!(words(&["--set", "loop.pick=a"]), ["loop.pick=agent"]);
    assert_eq!(words(&["build", "--preset", "ch"]), ["checklist"]);
    assert_eq!(words(&["conf"]), ["config"]);
    assert_eq!(words(&["help", "task", "cl"]), ["claim"]);
    assert_eq!(words(&["build", "--unl"]), ["--unlimited"]);
    assert_eq!(words(&["completions", "z"]), ["zsh"]);
    // Options follow a dash; without one they would hide the commands.
    let all = words(&[""]);
    assert!(all.contains(&"build".to_owned()) && !all.iter().any(|word| word.starts_with('-')));
    assert!(!all.iter().any(|word| word.starts_with("__")), "{all:?}");
    // Paths are the shell's.
    assert_eq!(words(&["import", "pl"]), [":files"]);
    assert_eq!(words(&["-C", ""]), [":folders"]);
    assert_eq!(words(&["--config=pl"]), [":files"]);
    assert!(words(&["build", ""]).contains(&":files".to_owned()));
}

#[test]
fn runs_and_saved_work_are_offered() {
    let env = stocked();
    let event = r#"{"v":1,"run":"r-abcd2345","seq":1,"at":"2026-01-01T00:00:00.000Z","kind":"x"}"#;
    env.write(".ralph/logs/session-20260101-000000/events.jsonl", format!("{event}\n"));
    assert_eq!(offered(&env, &["report", ""]), ["r-abcd2345"]);
    env.write("file", "text");
    env.git(&["add", "."]);
    env.git(&["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first"]);
    env.git(&["update-ref", "refs/ralph/wip/docs=2F01/2", "HEAD"]);
    env.git(&["update-ref", "refs/ralph/wip/docs=2F01/1", "HEAD"]);
    assert_eq!(offered(&env, &["recover", ""]), ["docs/01"]);
}

#[test]
fn where_nothing_can_be_read_nothing_is_offered_created_or_said() {
    let mut env = env();
    let none: [String; 0] = [];
    assert_eq!(values(&env, &["task", "show", ""]), none);
    assert!(!env.repo().join(".ralph").exists());
    env.write("ralph.toml", "[loop\n");
    assert_eq!(values(&env, &["task", "show", ""]), none);
    assert_eq!(values(&env, &["config", "get", "loop.jo"]), ["loop.jobs"]);
    env.write("ralph.toml", "");
    env.write(".ralph/progress.db", "not a database");
    assert_eq!(values(&env, &["task", "show", ""]), none);
    env.set("RALPH_SOCKET", "/nowhere");
    assert_eq!(values(&env, &["task", "show", ""]), none);
    let outside = TestEnv::without_repository(RALPH);
    assert_eq!(values(&outside, &["task", "show", ""]), none);
    assert_eq!(values(&outside, &["--unknown", "conf"]), ["config"]);
}

/// Whether a shell is on this machine.
fn has(env: &TestEnv, shell: &str) -> bool {
    let found = env.program(shell).args(["-c", "exit 0"]).status().is_ok();
    if !found {
        skip(&format!("completions in {shell}: it is not installed"));
    }
    found
}

fn script(env: &TestEnv, shell: &str) -> String {
    let script = env.ralph(&["completions", shell]).success();
    let path = env.folder().join(format!("ralph.{shell}"));
    std::fs::write(&path, script).unwrap();
    path.display().to_string()
}

#[test]
fn bash_completes_ids_options_with_a_value_and_paths() {
    let env = stocked();
    let load = script(&env, "bash");
    env.write("plans/plan one.md", "");
    // The words as bash splits them, the line, and the text that bash replaces.
    let complete = |words: &[&str], line: &str, typed: &str, listed: bool| {
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let kind = if listed { 63 } else { 9 };
        let text = format!(
            "source '{load}'; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE='{line}'; \
             COMP_POINT=${{#COMP_LINE}}; COMP_TYPE={kind}; _ralph ralph '{typed}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" ")
        );
        let ran = env.program("bash").args(["--norc", "-c", &text]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
        String::from_utf8(ran.stdout).unwrap()
    };
    let show = ["ralph", "task", "show", "pa"];
    assert_eq!(complete(&show, "ralph task show pa", "pa", false), "parser\npast\n");
    let listed = complete(&show, "ralph  task show pa", "pa", true);
    assert_eq!(listed, "parser  (Write the parser)\npast    (Old work)\n");
    let split = ["ralph", "build", "--task", "=", "pa"];
    assert_eq!(complete(&split, "ralph build --task=pa", "pa", false), "parser\n");
    let split = ["ralph", "--set", "loop.pick", "="];
    assert_eq!(complete(&split, "ralph --set loop.pick=", "", false), "loop\nagent\npreset\n");
    let path = complete(&["ralph", "import", "plans/p"], "ralph import plans/p", "plans/p", false);
    assert_eq!(path, "plans/plan one.md\n");
}

#[test]
fn fish_completes_ids_with_titles_and_paths() {
    let env = stocked();
    if !has(&env, "fish") {
        return;
    }
    let load = script(&env, "fish");
    env.write("plans/one.md", "");
    let complete = |line: &str| {
        let text = format!("source '{load}'; complete --do-complete '{line}'");
        let ran = env.program("fish").args(["--no-config", "-c", &text]).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(
        complete("ralph task claim "),
        "parser\tWrite the parser\ndocs/01\tWrite the docs\n"
    );
    assert_eq!(complete("ralph build --task=p"), "--task=parser\tWrite the parser\n");
    assert!(complete("ralph import pl").starts_with("plans/"), "{}", complete("ralph import pl"));
    let path = complete("ralph --config=plans/");
    assert!(path.starts_with("--config=plans/one.md"), "{path}");
}

#[test]
fn zsh_inserts_an_id() {
    let env = stocked();
    if !has(&env, "zsh") {
        return;
    }
    let load = script(&env, "zsh");
    // A shell at a terminal of its own; Ctrl-X prints the line instead of running it.
    let text = format!(
        r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        wait_for() {{ local seen= part; repeat 400; do
            if zpty -rt shell part; then seen+=$part; else sleep 0.02; fi
            [[ $seen == *$1* ]] && {{ print -r -- "$seen"; return }}
        done; print -r -- "never: $1: $seen"; }}
        zpty -w shell 'PS1=; autoload -U compinit; compinit -D -u; source {load}'
        zpty -w shell 'shown() {{ print -r -- "<$BUFFER>"; BUFFER=; zle accept-line }}; zle -N shown; bindkey "^X" shown'
        zpty -w shell 'print -r -- rea""dy'
        wait_for ready > /dev/null
        for line in "ralph task claim pars" "ralph build --preset=che" "ralph --set loop.job"; do
            zpty -w -n shell "$line"$'\t\x18'
            wait_for '>'
        done
        zpty -d shell
        "#
    );
    let ran = env.program("zsh").args(["-f", "-c", &text]).output().unwrap();
    let seen = String::from_utf8_lossy(&ran.stdout);
    for line in [
        "<ralph task claim parser >",
        "<ralph build --preset=checklist >",
        "<ralph --set loop.jobs=>",
    ] {
        assert!(seen.contains(line), "{line} is not in {seen:?}");
    }
}
