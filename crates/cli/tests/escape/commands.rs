//! Gates, setup commands and the verifier run what a session wrote: they get no further than it.

use std::fs;

use crate::attempts::{Tried, read};
use crate::world::{World, everybody, has_boxes};

/// Some that a gate is to be held by as well: it has no socket, no prompt and no login.
const GROUPS: &str = "files processes kernel sockets";
/// What does not apply to a gate: it has no prompt, and the late socket is known.
const NOT_ITS: [&str; 3] = ["prompt", "late_socket", "other_task"];

fn out(tried: &Tried) -> Vec<(&String, &String)> {
    let out =
        tried.iter().filter(|(name, (worked, _))| *worked && !NOT_ITS.contains(&name.as_str()));
    out.map(|(name, (_, said))| (name, said)).collect()
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
        world.env.write("ralph.toml", gate);
        // Gates look at a fresh checkout: what they need goes with the commit.
        world.env.write(".gitignore", "");
        world.env.git(&[
            "-c",
            "safe.directory=*",
            "add",
            "-A",
            "-f",
            "ralph.toml",
            "aim.json",
            ".gitignore",
        ]);
        world.env.git(&["-c", "safe.directory=*", "commit", "--quiet", "-m", "gate"]);
        let _ = world.command(&["task", "list"]);
        let before = world.picture();
        let ended = world.build(&[]);
        let text = |name: &str| {
            let found = crate::world::find_below(&world.env.home().join(".cache/ralph"), name);
            let path = found.unwrap_or_else(|| panic!("no {name}: {}", ended.said));
            fs::read_to_string(path).unwrap()
        };
        let tried = read(&text("tried.jsonl"));
        assert!(tried.len() > 80, "only {} were tried: {}", tried.len(), text("attacker.out"));
        assert_eq!(out(&tried), [], "{who:?}: {}", text("attacker.out"));
        let environment = text("env.txt");
        for secret in ["login-of-the-agent", world.secret.as_str(), "RALPH_SOCKET"] {
            assert!(!environment.contains(secret), "{environment}");
        }
        let after = world.picture();
        let changed: Vec<_> =
            after.iter().filter(|(path, now)| before.get(*path) != Some(now)).collect();
        assert!(changed.is_empty(), "{changed:#?}");
        assert_eq!(world.left(), Vec::<String>::new());
    }
}
