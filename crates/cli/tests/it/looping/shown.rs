//! What a run shows and writes for people and programs.

use std::process::Command;

use ralph_testkit::skip;

use super::*;

#[test]
fn every_line_of_json_is_an_event_and_nothing_else_is_printed() {
    let env = project(&["a", "b"]);
    let ran = build(&env, &[&only_says("hm"), &works(), &works()], &["--ui", "json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"run_started"), Some(&"run_ended")));
    // The journal has the same facts.
    let numbered: Vec<&Value> = events.iter().filter(|event| !event["seq"].is_null()).collect();
    assert_eq!(numbered.len(), journal(&env).len());
    assert!(events.iter().all(|event| event["v"] == 1));
}

#[test]
fn without_a_terminal_there_are_no_escape_codes_and_stdout_is_empty() {
    let env = project(&["a"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.stdout, "");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\r'), "{:?}", ran.stderr);
    assert!(ran.stderr.lines().count() < 30, "{}", ran.stderr);
    let env = project(&["a"]);
    let quiet = build(&env, &[&works()], &["-q"]);
    assert!(
        quiet.stderr.len() < ran.stderr.len() && !quiet.stderr.contains("── 1 ──"),
        "{}",
        quiet.stderr
    );
}

/// Runs the loop on a terminal of its own; everything that it received.
fn on_a_terminal(env: &TestEnv, arguments: &str) -> Option<Vec<u8>> {
    on_this_terminal(env, "xterm-256color", arguments)
}

/// The same with another `TERM`.
fn on_this_terminal(env: &TestEnv, kind: &str, arguments: &str) -> Option<Vec<u8>> {
    let Ok(probe) = Command::new("script").args(["-qec", "true", "/dev/null"]).output() else {
        skip("runs on a terminal: there is no script program here");
        return None;
    };
    if !probe.status.success() {
        skip("runs on a terminal: the script program here cannot run a command");
        return None;
    }
    let inner = format!("{} {arguments}", crate::RALPH);
    let mut command = Command::new("script");
    command.args(["-qec", &inner, "/dev/null"]).current_dir(env.repo());
    command.env("HOME", env.home()).env("TERM", kind).env_remove("NO_COLOR");
    command.env("RALPH_LOOP_VERIFY", "false");
    Some(command.output().unwrap().stdout)
}

#[test]
fn s1_27_s1_28_on_a_terminal_there_are_colors_and_the_log_is_a_link() {
    let env = project(&["a"]);
    let failing = sh("for i in 1 2 3 4 5 6 7 8; do echo line $i; done; exit 3");
    let full = session(&[
        "{\"do\":\"think\",\"text\":\"THOUGHT\"}".to_owned(),
        say("WORDS"),
        failing,
        write("x", "x"),
        "{\"do\":\"usage\",\"input\":1,\"output\":1,\"usd\":0.25}".to_owned(),
        say("<task-done>{id}</task-done>"),
    ]);
    cassette(&env, &[&full]);
    let Some(bytes) = on_a_terminal(&env, &arguments(&[]).join(" ")) else { return };
    let text = String::from_utf8(bytes).unwrap();
    let line = |what: &str| {
        text.lines()
            .find(|line| line.contains(what))
            .unwrap_or_else(|| panic!("{what}: {text:?}"))
            .to_owned()
    };
    assert!(line("THOUGHT").contains("\u{1b}[2m"), "thinking is dim: {:?}", line("THOUGHT"));
    // The terminal's own color, which is readable on every theme.
    assert!(line("WORDS").trim_end().ends_with("  WORDS"), "{:?}", line("WORDS"));
    assert!(
        line("sonnet").contains("\u{1b}[35m") || line("sonnet").contains("\u{1b}[38;5;"),
        "the model is purple: {:?}",
        line("sonnet")
    );
    assert!(line("→ ").contains("\u{1b}[36m"), "tools are cyan: {:?}", line("→ "));
    assert!(line("line 1").contains("\u{1b}[31m"), "errors are red: {:?}", line("line 1"));
    // Commits have names such as "--oneline 5e2f1aa".
    let fifth = text.lines().any(|line| line.contains('│') && line.contains("line 5"));
    assert!(text.contains("line 4") && !fifth, "five lines of an error: {text:?}");
    assert!(line("$0.25").contains("\u{1b}[32m"), "the result is green: {:?}", line("$0.25"));
    let link = "\u{1b}]8;;file://";
    let at = text.find(link).unwrap_or_else(|| panic!("no link: {text:?}"));
    let target = &text[at + link.len()..];
    assert!(
        target[..target.find(['\u{7}', '\u{1b}']).unwrap()].ends_with("iteration-001.ndjson"),
        "{target:?}"
    );
}

/// F60: it got `ESC[2K`.
#[test]
fn a_dumb_terminal_gets_no_escape_sequence_and_no_progress_line() {
    let env = project(&["a"]);
    let slow = session(&[sh("sleep 0.2"), write("x", "x"), say("<task-done>{id}</task-done>")]);
    cassette(&env, &[&slow]);
    let command = format!("{} --color auto", arguments(&[]).join(" "));
    let Some(bytes) = on_this_terminal(&env, "dumb", &command) else { return };
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("The task is done."), "{text:?}");
    assert!(!text.contains('\u{1b}') && !text.contains("total"), "{text:?}");
}

#[test]
fn s3_8_what_the_agent_says_is_live_on_stderr_and_in_both_logs() {
    let env = project(&["a"]);
    let waits = session(&[
        say("HELLO-FROM-THE-AGENT"),
        gate_step("there", "go"),
        say("<task-failed>a</task-failed>"),
    ]);
    let mut running = start(&env, &[&waits], &[]);
    let mut stderr = running.stderr.take().unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("HELLO-FROM-THE-AGENT") {
        let read = std::io::Read::read(&mut stderr, &mut buffer).unwrap();
        assert!(read > 0, "it ended without telling: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..read]);
    }
    touch(&env, "go");
    std::io::Read::read_to_end(&mut stderr, &mut seen).unwrap();
    assert!(running.wait().unwrap().success());
    assert!(run_file(&env, "iteration-001.ndjson").contains("HELLO-FROM-THE-AGENT"));
    let log = std::fs::read_to_string(runs(&env).pop().unwrap().with_extension("log")).unwrap();
    assert!(log.contains("HELLO-FROM-THE-AGENT"));
}

#[test]
fn s3_13_s3_14_s3_15_the_session_log_has_header_footer_and_summary() {
    let env = project(&[]);
    env.task(&["add", "Parse it", "--id", "a", "-r", "specs/parse.md"]);
    let costs = session(&[
        write("x", "x"),
        "{\"do\":\"usage\",\"input\":10,\"output\":5,\"usd\":0.02}".to_owned(),
        say("<task-done>{id}</task-done>"),
    ]);
    build(&env, &[&only_says("hm"), &costs], &[]).success();
    let log = std::fs::read_to_string(runs(&env).pop().unwrap().with_extension("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let (double, single) = ("=".repeat(80), "-".repeat(80));
    assert_eq!(
        lines[..6],
        [
            &*double,
            "ITERATION 1",
            &*double,
            "Mode: build",
            "Task: Parse it",
            "Spec: specs/parse.md"
        ]
    );
    assert!(
        lines[6].starts_with("Start Time: ")
            && lines[6].len() == "Start Time: 2026-01-01 00:00:00".len()
    );
    assert_eq!(lines[7], single);
    let footer = lines.iter().position(|line| *line == "ITERATION 2 COMPLETE").unwrap();
    assert_eq!(lines[footer - 1], single);
    let names: Vec<&str> = lines[footer + 1..]
        .iter()
        .map_while(|line| line.split_once(": "))
        .map(|pair| pair.0)
        .collect();
    assert_eq!(names, ["End Time", "Duration", "Model", "Cost", "Retries", "Status"]);
    assert!(
        log.contains("Cost: $0.02")
            && log.contains("Status: success")
            && log.contains("Status: failed")
    );
    let summary = log.split("SESSION SUMMARY").nth(1).unwrap_or_else(|| panic!("{log}"));
    for line in [
        "Total Iterations: 2",
        "Successful: 1",
        "Failed: 1",
        "Total Duration: ",
        "Exit Reason: ",
        "Exit Code: 0",
    ] {
        assert!(summary.contains(line), "{line}\n{summary}");
    }
}

#[test]
fn s3_15_the_summary_comes_with_every_exit() {
    let idle = only_says("hm");
    let crash = "{\"do\":\"exit\",\"code\":1}";
    let failure = only_says("<promise>FAILURE</promise>");
    for (session, arguments, code) in [
        (idle.as_str(), &["1"][..], 0),
        (&idle, &["1", "--strict-exit"], 9),
        (&failure, &[], 6),
        (crash, &["--set", "loop.max_consecutive_errors=1"], 4),
    ] {
        let env = project(&["a"]);
        assert_eq!(build(&env, &[session], arguments).code, code);
        let log = std::fs::read_to_string(runs(&env).pop().unwrap().with_extension("log")).unwrap();
        assert!(log.contains(&format!("Exit Code: {code}\n")), "{log}");
    }
    let env = project(&[]);
    assert_eq!(build(&env, &[], &[]).code, 2);
    assert!(runs(&env).is_empty(), "nothing was begun");
}

/// Every file of the folder with its bytes, but for the store's own bookkeeping.
fn tree(env: &TestEnv) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    let mut folders = vec![env.folder().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false
                    if name.ends_with("-shm")
                        || name.ends_with("-wal")
                        || name.ends_with("-lock") => {}
                false => found.push((path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn s2_24_a_dry_run_prints_the_lines_of_the_seed_and_touches_nothing() {
    let env = project(&["a", "b"]);
    env.task(&["claim", "a"]);
    env.task(&["done", "a"]);
    cassette(&env, &[&works()]);
    let before = tree(&env);
    let ran = again(&env, &["--dry-run", "7", "--once"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(tree(&env), before);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        (lines.first(), lines.last()),
        (Some(&"=== DRY RUN MODE ==="), Some(&"=== END DRY RUN ==="))
    );
    for line in [
        "Progress file: .ralph/progress.db",
        "Once mode: true",
        "Current status: 1 open, 0 active, 1 done, 0 blocked, 0 deleted",
        "Tasks: 1/2 complete",
        "Next task to execute:",
        "Would use prompt: default (embedded)",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", ran.stdout);
    }
    let at = |name: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}\n{}", ran.stdout))
    };
    let order = [
        "Progress file:",
        "Max iterations:",
        "Once mode:",
        "Current status:",
        "Tasks:",
        "Next task",
        "Would use prompt:",
        "Agent command:",
        "Prompt size:",
        "Gates:",
        "Sandbox:",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{}", ran.stdout);
    // With nothing to do it says so.
    let empty = project(&[]);
    cassette(&empty, &[]);
    let ran = again(&empty, &["--dry-run"]);
    assert_eq!(ran.code, 2, "as the run would: {}", ran.stderr);
    assert!(!empty.repo().join(".ralph/logs").exists());
}

#[test]
fn s2_25_your_own_prompt_is_used_and_named() {
    let env = project(&["a"]);
    let file = env.folder().join("own.md");
    std::fs::write(&file, "MY OWN RULES\n").unwrap();
    let prompt = file.to_str().unwrap();
    let dry = build(&env, &[&works()], &["--prompt", prompt, "--dry-run"]).success();
    assert!(dry.contains("Would use prompt: custom"), "{dry}");
    again(&env, &["--prompt", prompt]).success();
    let text = run_file(&env, "iteration-001.system.md");
    assert!(text.contains("MY OWN RULES") && !text.contains("placeholders"), "{text}");
}

/// What a dry run says of the prompt: all of it, and what is ralph's own.
fn prompt_size(dry: &str) -> (u64, u64) {
    let line = dry.lines().find(|line| line.starts_with("Prompt size:")).unwrap();
    let numbers = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    (numbers[0], numbers[1])
}

#[test]
fn a_dry_run_shows_how_much_of_the_prompt_is_ralphs_own() {
    let plan = "# Progress: P\n\n## Status\nIn Progress\n\n## Tasks\n- [ ] Write one\n";
    for preset in ["dag", "pick", "progress", "checklist"] {
        let env = project(&["a"]);
        env.write("progress.md", plan);
        env.write("implementation_plan.md", "# P\n\n- [ ] Write one\n");
        cassette(&env, &[]);
        let arguments = ["--dry-run", "--preset", preset];
        let (all, own) = prompt_size(&again(&env, &arguments).success());
        assert!(own > 0 && own <= all && own < 1_500, "{preset}: {own} of {all}");
        // What the plan says is not ralph's.
        env.task(&["update", "a", "-d", &"A long story. ".repeat(300)]);
        env.write("progress.md", format!("{plan}\n## Analysis\n{}\n", "Long. ".repeat(900)));
        let (more, same) = prompt_size(&again(&env, &arguments).success());
        assert_eq!(own, same, "{preset}");
        assert!(preset == "checklist" || preset == "pick" || more > all + 500, "{preset}: {more}");
    }
}

/// The connection to it hangs, or the user pressed Ctrl-S.
#[test]
fn a_terminal_that_takes_no_more_output_does_not_stop_the_run() {
    let tasks = ["a", "b", "c", "d", "e", "f"];
    let env = project(&tasks);
    let line = |number: u32| say(&format!("{number} {}", "word ".repeat(50)));
    let words: Vec<String> = (0..200).map(line).collect();
    let talks = session(&[session(&words), works()]);
    let running = start(&env, &tasks.map(|_| talks.as_str()), &[]);
    // Nothing reads what it prints, and a pipe holds little more than what the first session says.
    wait_until("the run ends", PATIENCE, || !of_kind(&journal(&env), "run_ended").is_empty());
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("… some output is missing here"), "{}", ran.stderr);
    assert!(ran.stderr.contains("All 6 tasks done"), "{}", ran.stderr);
}
