//! Gates, setup commands and the verifier run what a session wrote: they get no further than it.

use std::fs;

use crate::attempts::{Tried, read};
use crate::world::{Ended, Picture, World, everybody, has_boxes};

const GROUPS: &str = "files processes kernel sockets";
/// What does not apply to a gate: it has no prompt, and no task.
const NOT_ITS: [&str; 2] = ["prompt", "other_task"];

fn out(tried: &Tried) -> Vec<(&String, &String)> {
    let out =
        tried.iter().filter(|(name, (worked, _))| *worked && !NOT_ITS.contains(&name.as_str()));
    out.map(|(name, (_, output))| (name, output)).collect()
}

/// Commits what a fresh checkout needs to attack from.
fn commit_aim(world: &World, config: &str) {
    world.env.write("ralph.toml", config);
    world.env.write(".gitignore", "");
    let git = |arguments: &[&str]| {
        let all: Vec<&str> = ["-c", "safe.directory=*"].iter().chain(arguments).copied().collect();
        world.env.git(&all)
    };
    git(&["add", "-f", "ralph.toml", "aim.json", ".gitignore"]);
    git(&["commit", "--quiet", "-m", "aim"]);
    // From now on everything belongs to whoever runs ralph.
    let _ = world.command(&["task", "list"]);
}

/// A file that was carried out by the caches.
fn carried(world: &World, name: &str, ended: &Ended) -> String {
    let found = crate::world::find_below(&world.env.home().join(".cache/ralph"), name);
    let path = found.unwrap_or_else(|| panic!("no {name}: {}", ended.output));
    fs::read_to_string(path).unwrap()
}

fn nothing_happened(world: &World, before: &Picture) {
    let after = world.picture();
    let changed: Vec<_> =
        after.iter().filter(|(path, now)| before.get(*path) != Some(now)).collect();
    assert!(changed.is_empty(), "{changed:#?}");
    assert_eq!(world.reached(), 0);
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn no_gate_gets_out_and_none_has_the_logins() {
    if !has_boxes("no gate gets out") {
        return;
    }
    for who in everybody("no gate gets out") {
        let world = World::new(who, "full");
        world.aim(GROUPS);
        // The session itself does nothing; the gate runs what it left.
        world.set_agent("attack() { :; }; touch late.there");
        let attacker = world.path("bin/attacker");
        let gate = format!(
            "[[gate]]\nname = \"attack\"\ncommand = \"\"\"\nenv > env.txt; touch agent.argv\n\
             {} attempts::go --exact --ignored --nocapture --test-threads=1 > attacker.out 2>&1\n\
             cp env.txt tried.jsonl attacker.out $XDG_CACHE_HOME/\n\"\"\"\n",
            attacker.display()
        );
        commit_aim(&world, &gate);
        let before = world.picture();
        let ended = world.build(&["--once"]);
        let text = |name: &str| carried(&world, name, &ended);
        let tried = read(&text("tried.jsonl"));
        assert!(tried.len() > 80, "only {} were tried: {}", tried.len(), text("attacker.out"));
        assert_eq!(out(&tried), [], "{who:?}: {}", text("attacker.out"));
        let environment = text("env.txt");
        for secret in ["login-of-the-agent", world.secret.as_str(), "RALPH_SOCKET"] {
            assert!(!environment.contains(secret), "{environment}");
        }
        nothing_happened(&world, &before);
    }
}

#[test]
fn no_verifier_gets_out() {
    if !has_boxes("no verifier gets out") {
        return;
    }
    for who in everybody("no verifier gets out") {
        let mut world = World::new(who, "full");
        world.env.with_verifier();
        world.aim(GROUPS);
        // The session does its work; the second one, which is to judge it, attacks.
        world.set_agent(&format!(
            "touch late.there\nif [ \"$PWD\" = {repo} ]; then attack() {{ :; }}; else attack; \
             cp tried.jsonl \"$XDG_CACHE_HOME/verifier.jsonl\"; fi\n",
            repo = world.env.repo().display()
        ));
        commit_aim(&world, "");
        let before = world.picture();
        let ended = world.build(&["--once"]);
        let tried = read(&carried(&world, "verifier.jsonl", &ended));
        assert!(tried.len() > 80, "only {} were tried", tried.len());
        assert_eq!(out(&tried), [], "{who:?}");
        nothing_happened(&world, &before);
    }
}

#[test]
fn no_setup_command_gets_out() {
    if !has_boxes("no setup command gets out") {
        return;
    }
    for who in everybody("no setup command gets out") {
        let world = World::new(who, "full");
        world.aim(GROUPS);
        world.set_agent("attack() { :; }");
        commit_aim(&world, "");
        let before = world.picture();
        let setup = format!(
            "git.worktree.setup=touch late.there agent.argv; {} attempts::go --exact --ignored --nocapture \
             --test-threads=1 > attacker.out 2>&1; cp tried.jsonl $XDG_CACHE_HOME/setup.jsonl",
            world.path("bin/attacker").display()
        );
        let ended = world.ralph(&["build", "-j", "2", "--once", "--set", &setup]);
        let tried = read(&carried(&world, "setup.jsonl", &ended));
        assert!(tried.len() > 80, "only {} were tried", tried.len());
        assert_eq!(out(&tried), [], "{who:?}");
        nothing_happened(&world, &before);
    }
}
