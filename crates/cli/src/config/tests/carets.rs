//! The exact text of errors and warnings about files.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(error(repo(text)), expected.trim_matches('\n'));
}

#[test]
fn a_wrong_type() {
    check(
        "preset = \"dag\"\n\n[loop]\njobs = \"two\" # at once\n",
        r#"
`loop.jobs` must be a whole number of at least 1, not "two"
 --> ralph.toml:4:8
  |
4 | jobs = "two" # at once
  |        ^^^^^
"#,
    );
    check(
        "[loop]\n\n\n\n\n\n\n\n\nlearn = [\n  true\n]\n",
        r#"
`loop.learn` must be true or false, not a list
  --> ralph.toml:10:9
   |
10 | learn = [
   |         ^
"#,
    );
    check(
        "agent = \"codex\"",
        r#"
`agent` must be a section such as [agent], not "codex"
 --> ralph.toml:1:9
  |
1 | agent = "codex"
  |         ^^^^^^^
"#,
    );
}

#[test]
fn a_pattern_that_protects_nothing_is_refused() {
    check(
        "[gates]\nprotected = [\"tests/\", \"a[[:digit\"]",
        r#"
each item of `gates.protected` must be a pattern as in a .gitignore, not "a[[:digit": it has a [ without its ]; write \[ for the character itself
 --> ralph.toml:2:24
  |
2 | protected = ["tests/", "a[[:digit"]
  |                        ^^^^^^^^^^^
"#,
    );
}

#[test]
fn a_bad_choice_names_the_nearest() {
    check(
        "ui.color = \"allways\"",
        r#"
`ui.color` must be one of "auto", "always", "never", not "allways"; did you mean "always"?
 --> ralph.toml:1:12
  |
1 | ui.color = "allways"
  |            ^^^^^^^^^
"#,
    );
    check(
        "[notify]\non = [\"done\", \"fail\", \"end\"]",
        r#"
each item of `notify.on` must be one of "done", "failed", "question", "limit", "end", not "fail"; did you mean "failed"?
 --> ralph.toml:2:15
  |
2 | on = ["done", "fail", "end"]
  |               ^^^^^^
"#,
    );
    check(
        "loop.verify = \"Preset\"",
        r#"
`loop.verify` must be true or false, or "preset", not "Preset"; did you mean "preset"?
 --> ralph.toml:1:15
  |
1 | loop.verify = "Preset"
  |               ^^^^^^^^
"#,
    );
}

#[test]
fn a_bad_length_of_time() {
    check(
        "[agent]\r\nsilence = \"15 minutes\"\r\n",
        r#"
`agent.silence` must be a length of time such as "15m" or "1h 30m", not "15 minutes"
 --> ralph.toml:2:11
  |
2 | silence = "15 minutes"
  |           ^^^^^^^^^^^^
"#,
    );
}

#[test]
fn a_syntax_error() {
    check(
        "[loop]\njobs = many\n",
        r#"
this is not valid TOML: string values must be quoted, expected literal string
 --> ralph.toml:2:8
  |
2 | jobs = many
  |        ^^^^
"#,
    );
    check(
        "[loop\njobs = 1\n",
        r#"
this is not valid TOML: unclosed table, expected `]`
 --> ralph.toml:1:6
  |
1 | [loop
  |      ^
"#,
    );
    check(
        "preset = \"dag",
        r#"
this is not valid TOML: invalid basic string, expected `"`
 --> ralph.toml:1:14
  |
1 | preset = "dag
  |              ^
"#,
    );
    check(
        "[loop]\njobs = 1\njobs = 2\n",
        r#"
this is not valid TOML: duplicate key
 --> ralph.toml:3:1
  |
3 | jobs = 2
  | ^^^^
"#,
    );
}

#[test]
fn a_reach_violation() {
    check(
        "[notify]\nwebhook = \"https://example.org\"\n",
        r#"
`notify.webhook` can only be set in your own config file, not in the repo's
 --> ralph.toml:2:1
  |
2 | webhook = "https://example.org"
  | ^^^^^^^
"#,
    );
    check(
        "store.path = \"../elsewhere.db\"",
        r#"
`store.path` must be a path inside the repo here; only your own config file may name another path
 --> ralph.toml:1:14
  |
1 | store.path = "../elsewhere.db"
  |              ^^^^^^^^^^^^^^^^^
"#,
    );
    for path in ["/var/logs", "a/../../b", "~/logs", "."] {
        assert!(error(repo(&format!("logs.dir = '{path}'"))).contains("inside the repo"), "{path}");
    }
    assert_eq!(config(repo("logs.dir = './a/b'")).get(key::LOGS_DIR), "./a/b");
    assert_eq!(config(user("logs.dir = '/var/logs'")).get(key::LOGS_DIR), "/var/logs");
}

#[test]
fn the_first_error_in_the_file_is_reported() {
    check(
        "[ui]\nmode = 1\n[agent]\nname = 2\n",
        r#"
`ui.mode` must be one of "auto", "plain", "json", "tui", not 1
 --> ralph.toml:2:8
  |
2 | mode = 1
  |        ^
"#,
    );
}

#[test]
fn tabs_and_wide_letters_do_not_shift_the_caret() {
    check(
        "[notify]\n\ton\t= [\"done\",\t\"fail\"]",
        "
each item of `notify.on` must be one of \"done\", \"failed\", \"question\", \"limit\", \"end\", not \"fail\"; did you mean \"failed\"?
 --> ralph.toml:2:16
  |
2 |  on = [\"done\", \"fail\"]
  |                ^^^^^^
",
    );
    check(
        "models = { fixed = '日本🙂e\u{301}', strategy = '日本' }",
        "
`models.strategy` must be one of \"agent\", \"fixed\", \"cost-optimized\", \"escalate\", \"plan-then-execute\", \"preset\", not \"日本\"
 --> ralph.toml:1:40
  |
1 | models = { fixed = '日本🙂e\u{301}', strategy = '日本' }
  |                                          ^^^^^^
",
    );
}

#[test]
fn what_would_act_on_the_terminal_is_replaced() {
    let text = "\u{feff}ui.color = 'x\u{202e}y'";
    let expected = "\
`ui.color` must be one of \"auto\", \"always\", \"never\", not \"x\\u202Ey\"
 --> ralph.toml:1:12
  |
1 | ui.color = 'x\u{fffd}y'
  |            ^^^^^";
    assert_eq!(error(repo(text)), expected);
}

#[test]
fn gates_are_checked() {
    check(
        "[[gate]]\nname = \"test\"\n",
        "
this gate has no `command`
 --> ralph.toml:1:1
  |
1 | [[gate]]
  | ^^^^^^^^
",
    );
    check(
        "[[gate]]\nname = 'test'\ncommand = 'make'\ntimeout = 'soon'\n",
        "
`gate.timeout` must be a length of time such as \"15m\" or \"1h 30m\", not \"soon\"
 --> ralph.toml:4:11
  |
4 | timeout = 'soon'
  |           ^^^^^^
",
    );
    check(
        "[[gate]]\nname = 'a'\ncommand = 'x'\n[[gate]]\nname = 'a'\ncommand = 'y'\n",
        "
two gates are called `a`
 --> ralph.toml:5:8
  |
5 | name = 'a'
  |        ^^^
",
    );
    check(
        "[[gate]]\nname = 'verifier'\ncommand = 'x'\n",
        "
\"verifier\" is the name of one of ralph's own checks
 --> ralph.toml:2:8
  |
2 | name = 'verifier'
  |        ^^^^^^^^^^
",
    );
    assert!(error(repo("[[gate]]\nname = ' '\ncommand = 'x'")).contains("must not be empty"));
    assert!(error(repo("[[gate]]\nname = \"a\\nb\"\ncommand = 'x'")).contains("one line"));
    assert!(error(repo("gate = 'make'")).contains("begin with [[gate]]"));
    assert!(error(repo("gate = [1]")).contains("begin with [[gate]]"));
    assert!(error(repo("[[gates]]\nname = 'a'")).contains("`gates` must be a section"));
}

#[test]
fn unknown_names_are_warnings_with_the_nearest() {
    let text = "\
max_retries = 3
colour = 1
[notfy]
desktop = true
[ui]
colour = 'auto'
[somewhere.else]
a = 1
";
    assert_eq!(
        warnings(repo(text)),
        [
            "ralph.toml:1:1: unknown setting `max_retries`; did you mean `loop.max_retries`?",
            "ralph.toml:2:1: unknown setting `colour`; did you mean `ui.color`?",
            "ralph.toml:3:2: unknown section `notfy`; did you mean `notify`?",
            "ralph.toml:6:1: unknown setting `ui.colour`; did you mean `ui.color`?",
            "ralph.toml:7:2: unknown section `somewhere`",
        ]
    );
    assert_eq!(
        warnings(repo("\"loop.jobs\" = 2")),
        ["ralph.toml:1:1: unknown setting `\"loop.jobs\"`"]
    );
}

/// A typo there would silently switch off a limit, the sandbox or a gate.
#[test]
fn unknown_names_are_errors_where_money_work_or_trust_depends_on_them() {
    for (text, wanted) in [
        ("[budget]\nusdd = 5", "unknown setting `budget.usdd`; did you mean `budget.usd`?"),
        (
            "[loop]\nmax_retrys = 3",
            "unknown setting `loop.max_retrys`; did you mean `loop.max_retries`?",
        ),
        (
            "[sandbox]\nlevl = 'full'",
            "unknown setting `sandbox.levl`; did you mean `sandbox.level`?",
        ),
        (
            "[sandbox.netwrk]\npolicy = 'deny'",
            "unknown section `sandbox.netwrk`; did you mean `sandbox.network`?",
        ),
        ("[gates]\nclaen = true", "unknown setting `gates.claen`; did you mean `gates.clean`?"),
        (
            "[[gate]]\nname = 'a'\ncommand = 'b'\ntimeot = '1s'",
            "unknown setting `gate.timeot`; did you mean `gate.timeout`?",
        ),
        ("[agent]\ntimout = '1m'", "unknown setting `agent.timout`; did you mean `agent.timeout`?"),
        (
            "[agent.calude]\npath = ''",
            "unknown section `agent.calude`; did you mean `agent.claude`?",
        ),
        (
            "[agent.made-up]\npth = '/x'",
            "unknown setting `agent.made-up.pth`; did you mean `agent.made-up.path`?",
        ),
        (
            "[agent.made-up]\nlimit_exits = [1]",
            "unknown setting `agent.made-up.limit_exits`; did you mean `agent.made-up.limit_exit`?",
        ),
        ("[agent.claude]\nstate = []", "unknown setting `agent.claude.state`"),
        (
            "[completion]\nclaim = 'trust'",
            "unknown setting `completion.claim`; did you mean `completion.claims`?",
        ),
        ("[git]\nauto_psh = true", "unknown setting `git.auto_psh`; did you mean `git.auto_push`?"),
        ("[budgett]\nusd = 5", "unknown section `budgett`; did you mean `budget`?"),
    ] {
        let output = error(repo(text));
        assert!(output.contains(wanted), "{text}: {output}");
    }
}

#[test]
fn a_repository_does_not_say_which_program_runs() {
    for text in [
        "agent.claude.path = 'tools/claude'",
        "agent.claude.args = ['--dangerously-skip-permissions']",
        "agent.script.path = 'x.jsonl'",
        "claude_path = 'tools/claude'",
        "git.worktree.ssh_key = '~/.ssh/id'",
        "git.worktree.signing_key = 'x'",
    ] {
        let output = error(repo(text));
        assert!(output.contains("can only be set in your own config file"), "{text}: {output}");
        config(user(text));
    }
}
