//! What a session leaves outside of the tree, and what of it reaches gates and verifier. One run for each level:
//! the session plants something in every place, gates and verifier write down what they find.

use std::collections::BTreeSet;

use ralph_testkit::{Ran, TestEnv};

use super::page;
use crate::looping::{project, stand_in, status};
use crate::sandboxed::{as_ordinary_user, has_boxes};

/// Each place: its name on the page, and the shell's word for it.
const PLACES: [(&str, &str); 15] = [
    ("cargo settings", "${CARGO_HOME:-$HOME/.cargo}/config.toml"),
    ("a program that cargo starts", "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-verify"),
    ("the source of a dependency", "${CARGO_HOME:-$HOME/.cargo}/registry/src/x/lib.rs"),
    ("a checker in the cache of npx", "${npm_config_cache:-$HOME/.npm}/_npx/x/index.js"),
    ("a package in npm's cache", "${npm_config_cache:-$HOME/.npm}/_cacache/x"),
    ("a package in yarn's cache", "${YARN_CACHE_FOLDER:-$HOME/.cache/yarn}/x"),
    ("a pip wheel", "${PIP_CACHE_DIR:-$HOME/.cache/pip}/wheels/x.whl"),
    ("a uv wheel", "${UV_CACHE_DIR:-$HOME/.cache/uv}/x.whl"),
    ("a result in go's cache", "${GOCACHE:-$HOME/.cache/go-build}/x"),
    ("a go module", "${GOMODCACHE:-$HOME/go/pkg/mod}/x"),
    ("a script that gradle runs first", "${GRADLE_USER_HOME:-$HOME/.gradle}/init.d/x.gradle"),
    ("any other cache", "${XDG_CACHE_HOME:-$HOME/.cache}/x"),
    ("a temporary file", "${TMPDIR:-/nowhere}/x"),
    ("instructions for the agent", "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/CLAUDE.md"),
    ("an agent hook", "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"),
];
/// Places that git knows.
const GIT: [&str; 3] = ["a git setting", "a git hook", "git attributes"];

/// `plant WHO` puts the word into every place, `seen` lists the places that have one.
fn script() -> String {
    let mut text = "places() {\n".to_owned();
    for (name, path) in PLACES {
        text.push_str(&format!("echo \"{path}|{name}\"\n"));
    }
    text.push_str(
        r##"}
common() { git rev-parse --path-format=absolute --git-common-dir; }
plant() {
  places | while IFS='|' read -r path name; do
    mkdir -p "$(dirname "$path")" && echo "$1" > "$path"
  done
  git config planted.by "$1"
  mkdir -p "$(common)/hooks" "$(common)/info"
  echo "$1" > "$(common)/hooks/planted"
  echo "# $1" > "$(common)/info/attributes"
}
seen() {
  places | while IFS='|' read -r path name; do
    [ ! -f "$path" ] || echo "$(cat "$path")|$name"
  done
  git config --get planted.by > /dev/null && echo "$(git config --get planted.by)|a git setting"
  [ ! -f "$(common)/hooks/planted" ] || echo "$(cat "$(common)/hooks/planted")|a git hook"
  [ ! -f "$(common)/info/attributes" ] ||
    echo "$(cut -c3- "$(common)/info/attributes")|git attributes"
}
"##,
    );
    text
}

/// Two sessions and two judgings, of which the first is red.
fn run(level: &str, clean: bool, as_user: bool) -> Option<TestEnv> {
    let mut env = project(&["a"]);
    env.at_level(level, "what each level keeps from gates is measured").with_verifier();
    std::fs::create_dir_all(env.note("")).unwrap();
    std::fs::write(env.note("places.sh"), script()).unwrap();
    let notes = env.note("").display().to_string();
    let notes = notes.trim_end_matches('/');
    let gate = format!(
        "exec 2>/dev/null; . {notes}/places.sh; n=$(cat {notes}/judged 2>/dev/null || echo 0); \
         echo $((n + 1)) > {notes}/judged; seen > {notes}/seen.gate.$n; plant gate; test $n = 1"
    );
    env.write("ralph.toml", format!(
        "[completion]\nclaims = \"confirm\"\n[gates]\nclean = {clean}\n[[gate]]\nname = \"check\"\ncommand = {gate:?}\n"
    ));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    stand_in(
        &mut env,
        &format!(
            r#". {notes}/places.sh
case "$*" in
*"verifier of a loop"*) seen > {notes}/seen.verifier 2>/dev/null; result 'Good.\n<verify-pass/>';;
*) echo "$n" > work.txt; plant session 2>/dev/null; result '<task-done>a</task-done>';;
esac"#
        ),
    );
    let arguments = ["build", "--set", "agent.build=claude", "--set", "loop.verify=true"];
    let ran: Ran = match as_user {
        true => {
            use std::os::unix::fs::PermissionsExt;
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(env.folder(), open).unwrap();
            as_ordinary_user(&env, &arguments)?
        }
        false => env.ralph(&arguments),
    };
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{level}: {}", ran.stderr);
    Some(env)
}

/// What gates and verifier found of what `who` left.
fn reached(env: &TestEnv, who: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for name in ["seen.gate.0", "seen.gate.1", "seen.verifier"] {
        let text = std::fs::read_to_string(env.note(name));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
        let of = text.lines().filter_map(|line| line.split_once('|')).filter(|(by, _)| *by == who);
        all.extend(of.map(|(_, name)| name.to_owned()));
    }
    all
}

#[test]
fn what_a_session_leaves_outside_of_the_tree_reaches_no_gate_and_no_verifier() {
    if !has_boxes("what reaches gates and verifier") {
        return;
    }
    let found = ["full", "landlock", "none"].map(|level| {
        let env = run(level, true, false).unwrap();
        let by_gates = reached(&env, "gate");
        assert!(level == "none" || by_gates.is_empty(), "{level}: {by_gates:?}");
        reached(&env, "session")
    });
    assert!(found[0].is_empty() && found[1].is_empty(), "{found:?}");
    for name in GIT {
        assert!(!found[2].contains(name), "{name}");
    }
    let mut rows = vec![
        "| the session leaves | full | landlock | none |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for name in PLACES.iter().map(|(name, _)| *name).chain(GIT) {
        let cell = |found: &BTreeSet<String>| match found.contains(name) {
            true => "**reaches**",
            false => "kept out",
        };
        let [full, landlock, none] = found.each_ref().map(cell);
        rows.push(format!("| {name} | {full} | {landlock} | {none} |"));
    }
    page::same_as_part("Outside of the tree", &(rows.join("\n") + "\n"));
}

#[test]
fn gates_keep_their_caches_and_an_ordinary_user_has_the_same() {
    if !has_boxes("what reaches gates and verifier, as an ordinary user") {
        return;
    }
    let Some(env) = run("full", false, true) else { return };
    assert_eq!(reached(&env, "session"), BTreeSet::new());
    let warm = reached(&env, "gate");
    assert!(warm.contains("a package in npm's cache"), "{warm:?}");
    for name in ["cargo settings", "a program that cargo starts"].iter().chain(&GIT) {
        assert!(!warm.contains(*name), "{name}: {warm:?}");
    }
}
