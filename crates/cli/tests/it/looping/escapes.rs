//! Text of others cannot drive the terminal, whatever place it comes from and whoever prints it.

use super::*;

/// Clears the screen, writes the clipboard, makes a link, goes backwards, in seven and in eight bits.
const HOSTILE: &str =
    "x\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]8;;http://evil\u{7}y\u{202e}z\u{9b}31mw\u{200b}\rv";
/// The same for names, which have no control characters.
const BENT: &str = "b\u{202e}c\u{2066}d\u{200b}e";

/// What may never reach a terminal.
fn drives(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[track_caller]
fn harmless(ran: &Ran, call: &[&str]) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(drives), "{call:?}: {text:?}");
    }
}

/// A run in which titles, words, notes, files, commits, branches and gates are all hostile.
fn hostile_run() -> (TestEnv, Ran) {
    let env = project(&["b"]);
    let gate = format!(
        "printf 'error: \\033[2J\\033]52;c;x\\007 \\302\\233 {BENT} FAILED\\n'; test -f good.txt"
    );
    let gate = toml::Value::String(gate);
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {gate}\n"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    env.git(&["switch", "-q", "-c", "br\u{202e}anch\u{2066}"]);
    env.task(&["add", BENT, "--id", "a", "-d", HOSTILE, "-p", "0"]);
    let first = session(&[
        say(HOSTILE),
        sh(&format!(
            "printf '%s\\n' '{HOSTILE}'; ralph task log a '{HOSTILE}'; touch -- 'f\u{1b}[2J{BENT}'; \
             git add -A; git commit -qm 'sub\u{1b}[2J{BENT}'"
        )),
        say(&format!("{HOSTILE} <task-done>{{id}}</task-done>")),
    ]);
    let second = session(&[write("good.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let third = say(&format!("<task-failed>{{id}}</task-failed><reason>{HOSTILE}</reason>"));
    let ran = build(&env, &[&first, &second, &third], &["-v"]);
    (env, ran)
}

#[test]
fn a_hostile_run_prints_nothing_that_drives_a_terminal() {
    let (env, ran) = hostile_run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    harmless(&ran, &["build"]);
    for call in [
        &["status"][..],
        &["logs"],
        &["report"],
        &["recover"],
        &["doctor"],
        &["config", "show"],
        &["build", "--dry-run"],
        &["task", "list"],
        &["task", "tree"],
        &["task", "show", "a"],
        &["task", "show", "b"],
        &["task", "log", "a"],
    ] {
        harmless(&env.ralph(call), call);
    }
}

#[test]
fn errors_about_hostile_arguments_settings_and_plans_drive_no_terminal() {
    let env = project(&["a"]);
    let (path, set) = (format!("/no{HOSTILE}"), format!("loop.jobs={HOSTILE}"));
    let (key, option) = (format!("a{HOSTILE}=1"), format!("--{HOSTILE}"));
    for call in [
        &["task", "show", HOSTILE][..],
        &["task", "show", BENT],
        &["task", "add", HOSTILE],
        &["task", "block", "a", HOSTILE],
        &["-C", &path, "status"],
        &["--config", &path, "status"],
        &["--set", &key, "status"],
        &["--set", &set, "build", "--dry-run"],
        &["build", "--agent", HOSTILE],
        &["build", &path],
        &["run", HOSTILE],
        &["prompt", &path],
        &["import", &path],
        &["export", &path],
        &["feature", "show", HOSTILE],
        &["loop", "build", "--branch", HOSTILE],
        &["answer", HOSTILE, "x"],
        &["skip", HOSTILE],
        &["logs", HOSTILE],
        &[HOSTILE],
        &[&option],
    ] {
        let ran = env.ralph(call);
        assert!(ran.code != 0 || call.contains(&"--set"), "{call:?}");
        harmless(&ran, call);
    }
    for settings in [
        "[loop]\nnon\u{202e}sense = 1\n".to_owned(),
        format!("[loop]\njobs = \"{BENT}\"\n"),
        "[loop]\n\"x\\u001b[2J\" = 1\n".to_owned(),
        format!("x = \"{BENT}\n"),
        format!("[[gate]]\nname = \"g\\u001b[2J{BENT}\"\ncommand = \"false \\u001b[2J\"\n"),
        format!("{}1{}\n", "x = ".to_owned() + &"[".repeat(20_000), "]".repeat(20_000)),
        format!("x = \"{}\"\n", "y".repeat(3 << 20)),
    ] {
        env.write("ralph.toml", &settings);
        for call in [&["status"][..], &["config", "show"], &["build", "--dry-run"]] {
            let ran = env.ralph(call);
            assert!(!ran.stderr.contains("panicked") && ran.code < 128, "{call:?} {}", ran.stderr);
            harmless(&ran, call);
        }
    }
    for (kind, make) in
        [("a pipe", "mkfifo ralph.toml"), ("a device", "ln -s /dev/zero ralph.toml")]
    {
        let make = format!("rm -f ralph.toml; {make}");
        let made =
            std::process::Command::new("sh").args(["-c", &make]).current_dir(env.repo()).status();
        assert!(made.unwrap().success());
        let output = env.ralph(&["config", "show"]).failure(1);
        assert!(output.contains("cannot be read: it is a"), "{kind}: {output}");
    }
    std::fs::remove_file(env.repo().join("ralph.toml")).unwrap();
    for (name, text) in [
        (
            "prd.json",
            format!("{{\"userStories\":[{{\"id\":\"{BENT}\",\"title\":\"\\u001b[2J{BENT}\"}}]}}"),
        ),
        ("x.jsonl", format!("{{\"id\":\"{BENT}\",\"title\":\"\\u001b[2J\",\"{BENT}\":1}}\n")),
        ("y.json", format!("{{\"userStories\":[{{\"{BENT}\":{HOSTILE}")),
        ("PLAN.md", format!("# P\n- [ ] a {HOSTILE}\n")),
        ("z.json", "[".repeat(100_000)),
    ] {
        env.write(name, text);
        let call = ["import", name];
        let ran = env.ralph(&call);
        assert!(!ran.stderr.contains("panicked") && ran.code < 128, "{name} {}", ran.stderr);
        harmless(&ran, &call);
    }
}
