//! `ralph trust` itself: what it shows, what it asks, and what it writes.

use super::*;
use crate::features::terminal::Terminal;

/// A repository in which a session changed the settings.
fn changed() -> TestEnv {
    let env = committed(&["a"], &[("ralph.toml", SETTINGS)]);
    let loosens =
        session(&[sh("sed -i s/test.-f.proof.txt/true/ ralph.toml"), say("I looked around.")]);
    build(&env, &[&loosens], &["--once"]);
    env
}

#[test]
fn nothing_waits_in_a_repository_that_was_made_here() {
    let env = project(&[]);
    let output = env.ralph(&["trust"]).success();
    assert_eq!(output, "Nothing waits for your approval.\nNo file here decides what ralph runs.\n");
    let env = committed(&[], &[("ralph.toml", SETTINGS)]);
    let output = env.ralph(&["trust"]).success();
    assert_eq!(
        output,
        "Nothing waits for your approval.\n\
         This repository was created here, so its files are yours. These files decide what ralph runs:\n  \
         ralph.toml  gate proof: test -f proof.txt\n"
    );
}

#[test]
fn what_a_session_changed_is_shown_as_a_difference_and_approved() {
    let env = changed();
    let ran = env.ralph(&["trust"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("ralph.toml: a session changed it; ralph uses your last version"));
    assert!(ran.stdout.contains("  -command = \"test -f proof.txt\"\n  +command = \"true\""));
    assert!(ran.stderr.contains("ralph trust --yes"), "{}", ran.stderr);
    let listed = env.ralph(&["trust", "--list"]).success();
    assert!(listed.contains("waits  ralph.toml"), "{listed}");
    let ran = env.ralph(&["trust", "README.md", "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("README.md does not wait"), "{}", ran.stderr);
    let ran = env.ralph(&["trust", "ralph.toml", "--yes"]);
    assert!(ran.code == 0 && ran.stderr.contains("Approved 1 file"), "{}", ran.stderr);
    assert!(env.ralph(&["trust"]).success().contains("Nothing waits"));
    let ran = build(&env, &[&works()], &["--once"]);
    assert_eq!(classes(&env), ["done"], "{}", ran.stderr);
}

#[test]
fn trust_speaks_json() {
    let env = changed();
    let read = |ran: Ran| -> serde_json::Value { ralph_testkit::data(&ran.success()) };
    let listed = read(env.ralph(&["trust", "--list", "--json"]));
    assert_eq!(listed["standing"], "yours");
    assert_eq!(listed["waiting"][0]["path"], "ralph.toml");
    assert_eq!(listed["waiting"][0]["used"], SETTINGS);
    assert_eq!(env.ralph(&["trust", "--json"]).code, 1);
    let approved = read(env.ralph(&["trust", "--yes", "--json"]));
    assert_eq!(approved["approved"][0]["path"], "ralph.toml");
    let listed = read(env.ralph(&["trust", "--json"]));
    assert_eq!(listed["waiting"], serde_json::json!([]));
}

#[test]
fn an_approval_can_be_revoked() {
    let env = committed(&["a"], &[("ralph.toml", "[loop]\nlearn = false\n")]);
    env.ralph(&["trust", "--revoke"]).success();
    let output = build(&env, &[&works()], &[]).failure(1);
    assert!(output.contains("this repository has files that decide"), "{output}");
    env.ralph(&["trust", "--yes"]).success();
    build(&env, &[&works()], &[]).success();
    let read = env.json(&["trust", "--revoke"]);
    assert_eq!(read, serde_json::json!({"standing": "asks"}));
}

#[test]
fn the_difference_is_approved_at_a_terminal() {
    let mut env = changed();
    env.set("TERM", "dumb");
    let Some(mut terminal) = Terminal::call(&env, &["trust"]) else { return };
    terminal.reply("Approve? [y/N] ", 1, "\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("+command = \"true\""), "{screen}");
    let Some(mut terminal) = Terminal::call(&env, &["trust"]) else { return };
    terminal.reply("Approve? [y/N] ", 1, "yes\n");
    assert_eq!(terminal.end().0, 0);
    assert!(env.ralph(&["trust"]).success().contains("Nothing waits"));
}

#[test]
fn no_session_and_no_gate_approves_anything() {
    let mut env = changed();
    for name in ["RALPH_MARK", "RALPH_GATE"] {
        env.set(name, "1");
        let ran = env.ralph(&["trust", "--yes"]);
        assert_ne!(ran.code, 0, "{name}");
        env.set(name, "");
    }
    assert!(env.ralph(&["trust", "--list"]).success().contains("waits"));
}
