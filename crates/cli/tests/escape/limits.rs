//! Limits on processes, memory and files hold for everything in a box together.

use std::fs;

use crate::world::{World, everybody, has_boxes};

/// Starts processes until it may not. A plain shell ends then, and says why; what it started ends with the box.
const FORKS: &str =
    "n=0; while [ $n -lt 400 ]; do sleep 60 & n=$((n + 1)); echo $n > forks.txt; done";

#[test]
fn a_session_that_multiplies_is_stopped_at_its_limit() {
    if !has_boxes("a limit on processes") {
        return;
    }
    for who in everybody("a limit on processes") {
        let world = World::new(who, "full");
        world.aim("");
        fs::write(world.path("bin/forks"), FORKS).unwrap();
        let forks = world.path("bin/forks");
        world.set_agent(&format!("sh {} 2> forks.err\nexit 1", forks.display()));
        let ended = world.build(&["--once", "--set", "sandbox.limits.processes=80"]);
        let count = fs::read_to_string(world.repo("forks.txt")).unwrap();
        let count = count.trim().parse::<u32>().unwrap();
        let text = fs::read_to_string(world.repo("forks.err")).unwrap();
        assert!((10..80).contains(&count), "{who:?}: {count}: {text}{}", ended.output);
        assert!(text.contains("fork"), "{who:?}: {count}: {text}{}", ended.output);
        assert_eq!(world.left(), Vec::<String>::new());
    }
}

#[test]
fn a_file_that_grows_and_grows_is_stopped_at_its_limit() {
    if !has_boxes("a limit on files") {
        return;
    }
    for who in everybody("a limit on files") {
        let world = World::new(who, "full");
        world.aim("");
        world.set_agent("head -c 9000000 /dev/zero > large.bin; echo $? > large.txt");
        let ended = world.build(&["--set", "sandbox.limits.file_size=1MiB"]);
        assert_eq!(
            fs::metadata(world.repo("large.bin")).unwrap().len(),
            1 << 20,
            "{}",
            ended.output
        );
        assert_ne!(fs::read_to_string(world.repo("large.txt")).unwrap().trim(), "0");
    }
}

#[test]
fn a_session_that_wants_all_memory_does_not_get_it() {
    if !has_boxes("a limit on memory") {
        return;
    }
    for who in everybody("a limit on memory") {
        let world = World::new(who, "full");
        world.aim("");
        let eats = "(x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x} > eaten.txt)";
        world.set_agent(eats);
        let ended = world.build(&["--set", "sandbox.limits.memory=120MiB"]);
        let eaten = fs::read_to_string(world.repo("eaten.txt")).unwrap_or_default();
        assert_ne!(eaten.trim(), "300000000", "{who:?}: {}", ended.output);
    }
}
