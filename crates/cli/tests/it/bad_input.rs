//! Bad input: one clear sentence, what to type, nothing changed, no panic.

use crate::env;

#[test]
fn titles_that_are_no_titles() {
    let env = env();
    let huge = "x".repeat(120_000);
    for (title, why) in [
        ("", "empty"),
        ("   ", "empty"),
        ("a\nb", "control character"),
        ("a\u{1b}[31mb", "control character"),
        (huge.as_str(), "120000 characters"),
    ] {
        let output = env.ralph(&["task", "add", title]).failure(1);
        assert!(output.contains(why) && output.contains("hint:"), "{output}");
        assert!(output.len() < 400, "an error repeats its input");
    }
    let megabyte = format!("{{\"id\":\"a\",\"t\":\"{}\"}}\n", "x".repeat(1 << 20));
    let output = env.ralph_with(&["task", "plan-sync"], megabyte).failure(1);
    assert!(
        output.contains("line 1") && output.contains("1048576 characters") && output.len() < 600,
        "{output}"
    );
    assert_eq!(env.task(&["list"]).lines().count(), 0);
}

#[test]
fn ids_that_are_no_ids() {
    let env = env();
    for id in [
        "",
        "a b",
        "a,b",
        "caf\u{e9}",
        "cafe\u{301}",
        "../up",
        "a/../b",
        "/etc",
        "x\u{7}",
        &"x".repeat(81),
    ] {
        let output = env.ralph(&["task", "add", "T", "--id", id]).failure(1);
        assert!(output.contains("is not a valid task id"), "{output}");
    }
    let option = env.ralph(&["task", "create", "--", "--all", "T"]).failure(1);
    assert!(option.contains("starts with a letter or a digit"), "{option}");
    env.ralph(&["task", "show", "--", "-x"]).failure(1);
    env.ralph(&["task", "claim", "--agent", "a b"]).failure(1);
    env.task(&["add", "--", "--a title like an option"]);
}

#[test]
fn unknown_ids_come_with_what_was_meant() {
    let env = env();
    env.task(&["add", "T", "--id", "parser/01"]);
    for call in [
        vec!["show", "parser/10"],
        vec!["done", "parser/02"],
        vec!["log", "parser/1", "x"],
        vec!["reset", "parsr/01"],
        vec!["delete", "parser/00"],
        vec!["block", "parser/01", "--by", "parser/0l"],
    ] {
        let mut all = vec!["task"];
        all.extend(&call);
        let output = env.ralph(&all).failure(2);
        assert!(
            output.contains("there is no task") && output.contains("did you mean parser/01?"),
            "{output}"
        );
    }
    let far = env.ralph(&["task", "show", "zzz"]).failure(2);
    assert!(far.contains("ralph task list"), "{far}");
}

#[test]
fn nothing_ready_comes_with_the_reason() {
    let env = env();
    let empty = env.ralph(&["task", "claim"]).failure(2);
    assert!(empty.contains("no task is ready") && empty.contains("ralph task add"), "{empty}");
    env.task(&["add", "Epic", "--id", "e"]);
    env.task(&["add", "Part", "--id", "p", "--parent", "e"]);
    env.task(&["claim"]);
    let held = env.ralph(&["task", "claim"]).failure(2);
    assert!(held.contains("1 open, 1 active") && held.contains("unfinished parts"), "{held}");
}

#[test]
fn what_is_not_allowed_now_is_exit_2() {
    let env = env();
    env.task(&["add", "Epic", "--id", "e"]);
    env.task(&["add", "Part", "--id", "p", "--parent", "e"]);
    env.task(&["add", "Done", "--id", "d"]);
    env.task(&["claim", "d"]);
    env.task(&["done", "d"]);
    let refused = |arguments: &[&str], why: &str| {
        let output = env.ralph(&[&["task"], arguments].concat()).failure(2);
        assert!(output.contains(why), "{arguments:?}: {output}");
    };
    refused(&["delete", "e"], "has unfinished parts");
    refused(&["block", "d", "--by", "e"], "a blocker would change nothing");
    refused(&["add", "More", "--parent", "d"], "cannot get new parts");
    env.task(&["claim", "p"]);
    env.task(&["fail", "p", "--reason", "no", "--final"]);
    refused(&["reset", "e"], "failed because its parts failed");
}

#[test]
fn edges_that_cannot_be() {
    let env = env();
    for id in ["a", "b", "c"] {
        env.task(&["add", "T", "--id", id]);
    }
    env.task(&["block", "b", "--by", "a"]);
    env.task(&["block", "c", "--by", "b"]);
    let itself = env.ralph(&["task", "block", "a", "--by", "a"]).failure(1);
    assert!(itself.contains("a cannot depend on itself"), "{itself}");
    let cycle = env.ralph(&["task", "block", "a", "--by", "c"]).failure(1);
    assert!(cycle.contains("a needs c needs b needs a"), "{cycle}");
    env.task(&["add", "T", "--id", "part", "--parent", "a"]);
    let through = env.ralph(&["task", "update", "part", "--deps", "c"]).failure(1);
    assert!(through.contains("part needs c needs b needs a needs part"), "{through}");
    env.ralph(&["task", "update", "a", "--parent", "part"]).failure(1);
    env.ralph(&["task", "unblock", "a", "--by", "c"]).failure(2);
    env.ralph(&["task", "add", "T", "--deps", "nope"]).failure(2);
    env.ralph(&["task", "add", "T", "--parent", "nope"]).failure(2);
    env.ralph(&["task", "add", "T", "--feature", "nope"]).failure(2);
    assert_eq!(env.task(&["list"]).lines().count(), 5, "a refused task was added");
}

#[test]
fn half_broken_plans_apply_nothing() {
    let env = env();
    for (bad, line, why) in [
        ("{\"id\":\"a\",\"t\":\"T\"}\n{\"id\":\"b\",", 2, ""),
        ("{\"id\":\"a\",\"t\":\"T\"}\n[]\n", 2, ""),
        ("{\"id\":\"a\",\"t\":\"T\"}\n\n{\"t\":\"T\"}\n", 3, "id"),
        ("{\"id\":\"a\",\"t\":\"T\"}\n{\"id\":\"a\",\"t\":\"T\"}\n", 2, "line 1"),
        ("{\"id\":\"a\",\"t\":\"T\",\"prio\":1}\n", 1, "\"prio\""),
        ("{\"id\":\"a\",\"t\":\"T\",\"p\":-1}\n", 1, "priority"),
        (
            "{\"id\":\"a\",\"t\":\"T\"}\n{\"id\":\"b\",\"t\":\"T\",\"deps\":[\"zz\"]}\n",
            2,
            "there is no task zz",
        ),
        (
            "{\"id\":\"a\",\"t\":\"T\",\"deps\":[\"b\"]}\n{\"id\":\"b\",\"t\":\"T\",\"deps\":[\"a\"]}\n",
            1,
            "cycle",
        ),
        ("{\"id\":\"a\",\"t\":\"T\",\"deps\":[\"a\"]}\n", 1, ""),
        ("{\"id\":\"a\",\"t\":\"T\\u0000\"}\n", 1, "control character"),
    ] {
        let output = env.ralph_with(&["task", "plan-sync"], bad).failure(1);
        assert!(
            output.contains(&format!("line {line}")) && output.contains(why),
            "{bad}\n{output}"
        );
        assert!(output.contains("nothing was applied"), "{output}");
    }
    let output = env
        .ralph_with(
            &["task", "plan-sync"],
            b"{\"id\":\"a\",\"t\":\"T\"}\n{\"id\":\"b\",\"t\":\"\xff\"}\n",
        )
        .failure(1);
    assert!(output.contains("line 2") && output.contains("UTF-8"), "{output}");
    let deep = format!("{{\"id\":\"a\",\"t\":{}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    env.ralph_with(&["task", "plan-sync"], deep).failure(1);
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
}

#[test]
fn a_hundred_thousand_lines_come_in_whole_or_not_at_all() {
    let env = env();
    let mut plan: String = (0..100_000)
        .map(|n| {
            format!(
                "{{\"id\":\"n{n}\",\"t\":\"Task {n}\",\"deps\":[\"n{}\"]}}\n",
                (n + 1).min(99_999) % 99_999
            )
        })
        .collect();
    // The chain leads round: n0 needs n1 … needs n99998 needs n0.
    let output = env.ralph_with(&["task", "plan-sync"], &plan).failure(1);
    assert!(output.contains("cycle") && output.len() < 2_000_000, "{}", &output[..200]);
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    plan = (0..100_000)
        .map(|n| {
            format!(
                "{{\"id\":\"n{n}\",\"t\":\"Task {n}\",\"deps\":[{}]}}\n",
                if n > 0 { format!("\"n{}\"", n - 1) } else { String::new() }
            )
        })
        .collect();
    let done = env.ralph_with(&["task", "plan-sync"], &plan).success();
    assert_eq!(done, "inserted: 100000, updated: 0, deleted: 0, skipped (done): 0\n");
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 0 done, 99999 blocked, 0 deleted\n");
}

#[test]
fn arguments_that_are_wrong_exit_with_64() {
    let env = env();
    for call in [
        &["task", "ad"][..],
        &["task", "add"],
        &["task", "list", "--status", "opne"],
        &["task", "claim", "--lease", "x"],
        &["nope"],
        &["task", "delete"],
        &["--colour"],
        &["task", "add", "T", "-p", "x"],
    ] {
        let ran = env.ralph(call);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{call:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error:"), "{}", ran.stderr);
    }
    let near = env.ralph(&["task", "list", "--status", "opne"]);
    assert!(near.stderr.contains("did you mean open?"), "{}", near.stderr);
    env.ralph(&["task", "claim", "--lease", "0"]).failure(64);
    env.ralph(&["task", "add", "T", "-p", "-1"]).failure(1);
    env.ralph(&["task", "add", "T", "-p", "10000"]).failure(1);
    env.ralph(&["task", "add", "T", "-s", "not json"]).failure(1);
}

#[test]
fn hostile_text_cannot_drive_the_terminal() {
    let env = env();
    env.task(&[
        "add",
        "T\u{202e}gnp.exe",
        "--id",
        "a",
        "-d",
        "\u{1b}]0;owned\u{7}\u{1b}[2J",
        "-c",
        "c\u{200b}",
    ]);
    env.task(&["log", "a", "\u{1b}[31mred\u{9b}31m"]);
    for call in [
        &["list"][..],
        &["list", "--markdown"],
        &["show", "a"],
        &["tree"],
        &["claim", "a"],
        &["log", "a"],
    ] {
        let text = env.task(call);
        assert!(
            !text.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}', '\u{200b}']),
            "{call:?} {text:?}"
        );
    }
}

#[test]
fn places_that_are_no_repository() {
    let env = ralph_testkit::TestEnv::without_repository(crate::RALPH);
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(
        output.contains("not inside a git repository") && output.contains("git init"),
        "{output}"
    );
    env.ralph(&["-C", "/nowhere/at/all", "task", "list"]).failure(1);
    let bare = env.folder().join("bare.git");
    assert!(
        std::process::Command::new("git")
            .args(["init", "-q", "--bare"])
            .arg(&bare)
            .status()
            .unwrap()
            .success()
    );
    let output = env.ralph(&["-C", bare.to_str().unwrap(), "task", "list"]).failure(1);
    assert!(output.contains("bare repository"), "{output}");
}
