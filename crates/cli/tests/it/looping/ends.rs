//! What the end of a session means, with agents that end badly.

use ralph_testkit::leftovers::processes_of;

use super::*;

const CLAUDE: [&str; 3] = ["build", "--agent", "claude"];

/// The class of one session of the stand-in, and the run.
fn ends_as(body: &str, extra: &[&str]) -> (TestEnv, Vec<String>, Ran) {
    let mut env = project(&["a"]);
    stand_in(&mut env, body);
    let ran = env.ralph(&[&CLAUDE[..], &["--once"], extra].concat());
    let found = classes(&env);
    (env, found, ran)
}

#[test]
fn a_session_that_takes_too_long_is_ended_with_all_it_started() {
    let (env, classes, ran) = ends_as("init; sleep 300 & wait", &["--timeout", "1s"]);
    assert_eq!((ran.code, classes), (0, vec!["timeout".to_owned()]), "{}", ran.stderr);
    assert_eq!(processes_of(env.folder()), []);
    assert_eq!(show(&env, "a")["retry_count"], 1);
}

#[test]
fn a_silent_session_is_ended() {
    let (_, classes, ran) = ends_as("init; sleep 300", &["--set", "agent.silence=1s"]);
    assert_eq!((ran.code, classes), (0, vec!["silence".to_owned()]), "{}", ran.stderr);
}

#[test]
fn s1_24_a_flood_on_stderr_blocks_nothing() {
    let body = r#"head -c 8000000 /dev/zero | tr '\0' 'x' >&2; echo y >&2; echo z > z
                  result "<task-done>a</task-done>"; head -c 8000000 /dev/zero | tr '\0' 'x' >&2"#;
    let (env, classes, ran) = ends_as(body, &[]);
    assert_eq!((ran.code, classes), (0, vec!["done".to_owned()]), "{}", ran.stderr);
    assert!(ran.stderr.len() < 20_000, "the flood is not shown: {}", ran.stderr.len());
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn s1_26_the_raw_log_has_every_line_and_unparsable_ones_are_ignored() {
    let body = r#"init; echo 'not json {{{'; printf '\xff\xfe\n'; echo '{"type":"brand_new","x":1}'
                  result "first"; echo '[1,2'; echo z > z; result "<task-done>a</task-done>""#;
    let (env, classes, _) = ends_as(body, &[]);
    assert_eq!(classes, ["done"], "the last result counts");
    let raw = std::fs::read(runs(&env).pop().unwrap().join("iteration-001.ndjson")).unwrap();
    let has = |bytes: &[u8]| raw.windows(bytes.len()).any(|part| part == bytes);
    for line in
        [&b"not json {{{\n"[..], b"\xff\xfe\n", b"{\"type\":\"brand_new\",\"x\":1}\n", b"[1,2\n"]
    {
        assert!(has(line), "{:?}", String::from_utf8_lossy(line));
    }
    assert_eq!(raw.iter().filter(|byte| **byte == b'\n').count(), 11);
}

#[test]
fn s2_10_s4_23_every_session_is_a_process_of_its_own_with_fresh_context() {
    let mut env = project(&["a"]);
    let here = stand_in(
        &mut env,
        "echo $$ $(cut -d' ' -f22 /proc/$$/stat) >> $here/pids; echo $n > f; [ $n = 1 ] && result no || result '<task-done>a</task-done>'",
    );
    env.ralph(&CLAUDE).success();
    let pids = std::fs::read_to_string(here.join("pids")).unwrap();
    let pids: Vec<&str> = pids.lines().collect();
    assert!(pids.len() == 2 && pids[0] != pids[1], "{pids:?}");
    for session in [1, 2] {
        let argv = argv(&here, session);
        assert!(argv.contains(&"--no-session-persistence".to_owned()), "{argv:?}");
        for word in ["--continue", "--resume", "-c", "-r"] {
            assert!(!argv.contains(&word.to_owned()), "{argv:?}");
        }
    }
}

#[test]
fn allow_names_the_tools_and_nothing_skips_permissions() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, "result nothing");
    env.ralph(&[&CLAUDE[..], &["--once", "--allow", "Read,Grep Bash(git:*)"]].concat()).success();
    let argv = argv(&here, 1);
    let text = argv.join(" ");
    assert!(text.contains("--allowed-tools"), "{text}");
    for tool in ["Read", "Grep", "Bash(git:*)"] {
        assert!(text.contains(tool), "{text}");
    }
    assert!(!text.contains("Edit") && !text.contains("--dangerously-skip-permissions"), "{text}");
}

#[test]
fn what_a_session_leaves_running_is_ended() {
    let body = r#"setsid sleep 300 > /dev/null 2>&1 & echo z > z; sleep 0.2; result "<task-done>a</task-done>""#;
    let (env, classes, _) = ends_as(body, &[]);
    assert_eq!(classes, ["done"]);
    assert_eq!(processes_of(env.folder()), []);
}

#[test]
fn commits_of_agents_are_counted() {
    let mut env = project(&["a", "b"]);
    for level in ["auto", "none"] {
        if level == "none" {
            env = project(&["a", "b"]);
            env.without_sandbox("there the commits are on the branch before the session has ended");
        }
        let commits = |name: &str| {
            let one =
                format!("echo x > {name}; git add {name}; git commit -qm 'by the agent: {name}'");
            session(&[
                sh(&one),
                sh(&one.replace(name, &format!("{name}2"))),
                say("<task-done>{id}</task-done>"),
            ])
        };
        let left = session(&[sh("echo x > left.txt"), commits("two")]);
        let ran = build(&env, &[&commits("one"), &left], &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let head = env.git(&["rev-parse", "--short=7", "HEAD"]);
        let line = format!("commits 5, last {}", head.trim());
        let output = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.contains(&line), "{level}: no {line:?} in {output}");
        let journal = journal(&env);
        let text: Vec<_> =
            of_kind(&journal, "committed").iter().map(|fact| fact["subject"].clone()).collect();
        assert_eq!(text.len(), 5, "{level}: {text:?}");
    }
}
