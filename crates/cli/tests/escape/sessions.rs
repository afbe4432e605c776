//! Sessions at the level full: nothing that is tried works, and nothing outside has changed.

use crate::attempts::GROUPS;
use crate::world::{Who, World, everybody, has_boxes};

/// All but the network, which is open unless the settings say otherwise, and git, which has a page of its own.
pub(crate) const GROUPS_OF_SESSIONS: &str = "files processes kernel sockets";

fn all_are_refused(who: Who) {
    let world = World::new(who, "full");
    world.aim(GROUPS_OF_SESSIONS);
    world.command(&["task", "list"]);
    let before = world.picture();
    let ended = world.build(&[]);
    let tried = world.tried(&ended);
    let out: Vec<_> = tried.iter().filter(|(_, (worked, _))| *worked).collect();
    let text = std::fs::read_to_string(world.repo("attacker.out")).unwrap();
    assert!(out.is_empty(), "{who:?} got out: {out:#?}\n{text}");
    for (_, attempts) in GROUPS.iter().filter(|(group, _)| GROUPS_OF_SESSIONS.contains(group)) {
        for attempt in *attempts {
            assert!(tried.contains_key(attempt.name), "{} was not tried", attempt.name);
        }
    }
    assert_eq!(ended.code, 0, "{}", ended.output);
    let after = world.picture();
    let changed: Vec<_> =
        after.iter().filter(|(path, now)| before.get(*path) != Some(now)).collect();
    let gone: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    assert!(changed.is_empty() && gone.is_empty(), "{who:?}: changed {changed:#?}, gone {gone:#?}");
    assert_eq!(world.reached(), 0, "somebody outside was reached");
    assert_eq!(world.left(), Vec::<String>::new());
    assert_eq!(world.show("foreign")["status"], "open");
    assert!(!world.env.home().join(".claude/settings.local.json").exists());
    nothing_decides_outside(&world);
}

/// What a session left neither runs with its owner's rights nor decides what git does.
pub(crate) fn nothing_decides_outside(world: &World) {
    let with_bits: Vec<_> = crate::world::modes_below(&world.repo(""))
        .into_iter()
        .filter(|(_, mode)| mode & 0o6000 != 0)
        .collect();
    assert!(with_bits.is_empty(), "{with_bits:?}");
    let included = std::fs::read_to_string(world.repo("conf/git.inc")).unwrap();
    assert!(included.contains("first = log"), "{included}");
    assert!(world.repo(".worktrees/inner/.git").is_file());
}

#[test]
fn no_session_gets_out() {
    if !has_boxes("no session gets out") {
        return;
    }
    for who in everybody("no session gets out") {
        all_are_refused(who);
    }
}

/// What is tried must be able to work: otherwise that it does not would say nothing.
#[test]
fn without_a_sandbox_nearly_everything_that_is_tried_works() {
    for who in everybody("attempts without a box") {
        let world = World::new(who, "none");
        world.aim(GROUPS_OF_SESSIONS);
        let ended = world.build(&[]);
        let tried = world.tried(&ended);
        let works = tried.values().filter(|(worked, _)| *worked).count();
        let refused: Vec<_> = tried.iter().filter(|(_, (worked, _))| !worked).collect();
        assert!(works > if who.is_root() { 70 } else { 55 }, "only {works}: {refused:#?}");
        for name in ["write_beside", "read_ssh_key", "signal", "named_socket", "store_read"] {
            assert!(tried[name].0, "{who:?} {name}: {refused:#?}");
        }
    }
}
