//! Which level is given, what is said of it, and what each holds.

use std::fs;
use std::process::{Command, Stdio};

use crate::attempts::{GROUPS, Landlock};
use crate::sessions::{GROUPS_OF_SESSIONS, nothing_decides_outside};
use crate::world::{Who, World, everybody, has_boxes};

/// What works for an ordinary user only: root gave up its rights, and others of root have not.
const NOT_FOR_ROOT: [&str; 1] = ["priority"];

#[test]
fn landlock_alone_holds_what_the_page_says() {
    for who in everybody("Landlock alone") {
        let world = World::new(who, "landlock");
        world.aim(GROUPS_OF_SESSIONS);
        let ended = world.build(&[]);
        let tried = world.tried(&ended);
        let mut wrong = Vec::new();
        for attempt in GROUPS.iter().flat_map(|(_, all)| all.iter()) {
            let Some((worked, output)) = tried.get(attempt.name) else { continue };
            let lets = attempt.landlock == Landlock::Lets;
            let may_fail = who.is_root() && NOT_FOR_ROOT.contains(&attempt.name);
            if lets != *worked && !(lets && may_fail) {
                wrong.push(format!("{}: {output}", attempt.name));
            }
        }
        let text = fs::read_to_string(world.repo("attacker.out")).unwrap();
        assert!(wrong.is_empty(), "{who:?}: otherwise than told: {wrong:#?}\n{text}");
        assert_eq!(ended.code, 0, "{}", ended.output);
        assert_eq!(world.show("foreign")["status"], "open");
        assert_eq!(world.left(), Vec::<String>::new());
        nothing_decides_outside(&world);
    }
}

/// A whole plan by an ordinary user with a home of its own.
#[test]
fn an_ordinary_user_builds_a_plan_in_full_sandboxes() {
    if !has_boxes("an ordinary user builds a plan") {
        return;
    }
    let Some(who) = everybody("an ordinary user builds a plan").pop() else { return };
    let world = World::new(who, "full");
    let session = "{\"do\":\"session\"}\n{\"do\":\"write\",\"path\":\"{id}.txt\",\"text\":\"work\\n\"}\n\
                   {\"do\":\"say\",\"text\":\"<task-done>{id}</task-done>\"}\n";
    fs::write(world.path("cassette.jsonl"), session.repeat(2)).unwrap();
    world.env.write("ralph.toml", "[[gate]]\nname = \"there\"\ncommand = \"ls *.txt\"\n");
    world.env.git(&["add", "-A"]);
    world.env.git(&["commit", "--quiet", "-m", "gate"]);
    let set = "agent.script.path=../cassette.jsonl";
    let ended = world.ralph(&["build", "--agent", "script", "--set", set]);
    assert_eq!(ended.code, 0, "{}", ended.output);
    for task in ["mine", "foreign"] {
        let shown = world.show(task);
        assert_eq!(shown["status"], "done", "{}", ended.output);
        assert!(shown.to_string().contains("\"full\""), "{shown}");
    }
    assert!(ended.output.contains("full"), "{}", ended.output);
}

/// ralph in a box that allows no further one.
fn nested(world: &World, level: &str) -> Command {
    let inner = world.command(&["build", "--task", "mine"]);
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap()).env_clear().stdin(Stdio::null());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("RALPH_SANDBOX_LEVEL", level);
    command
}

#[test]
fn where_no_sandbox_can_be_made_full_is_refused_and_auto_says_what_it_is() {
    let what = "where no box can be made";
    if !has_boxes(what) {
        return;
    }
    let world = World::new(Who::Me, "landlock");
    world.aim("");
    let probe = nested(&world, "none");
    let mut probe = {
        let mut command = Command::new(probe.get_program());
        command.args(["--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "true"]);
        command
    };
    if !probe.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        ralph_testkit::skip(&format!("{what}: this bubblewrap cannot forbid boxes"));
        return;
    }
    let full = nested(&world, "full").output().unwrap();
    let output = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(10), "{output}");
    assert!(
        output.starts_with("error: the sandbox level full is not available here: "),
        "{output}"
    );
    assert!(output.contains("hint: ") && output.contains("sandbox.level=auto"), "{output}");
    assert!(!world.repo("agent.argv").exists(), "no session was started");
    let auto = nested(&world, "auto").output().unwrap();
    let output = String::from_utf8_lossy(&[auto.stdout, auto.stderr].concat()).into_owned();
    assert_eq!(auto.status.code(), Some(0), "{output}");
    assert!(output.contains("landlock") && output.contains("full"), "{output}");
    let shown = world.show("mine");
    assert!(shown.to_string().contains("\"landlock\""), "{shown}");
    let status = world.ralph(&["status"]).output;
    assert!(status.contains("landlock"), "{status}");
    let journal = crate::world::find_below(&world.repo(".ralph/logs"), "events.jsonl")
        .or_else(|| crate::world::find_below(&world.repo(".ralph/logs"), "journal.jsonl"));
    let journal = fs::read_to_string(journal.unwrap()).unwrap();
    assert!(journal.contains("\"landlock\""), "{journal}");
}
