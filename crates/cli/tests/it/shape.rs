//! The shape of the workspace: what may know what.

mod modules;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The dependencies of a crate, without those of its tests.
fn dependencies(name: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table
        .get("dependencies")
        .and_then(|d| d.as_table())
        .map(|d| d.keys().cloned().collect())
        .unwrap_or_default()
}

#[test]
fn the_core_does_no_input_or_output() {
    let allowed = ["jiff", "serde", "serde_json", "strsim", "thiserror"];
    for name in dependencies("core") {
        assert!(allowed.contains(&name.as_str()), "the core depends on {name}");
    }
    for file in sources("core") {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["std::fs", "std::net", "std::process", "std::env", "SystemTime", "std::thread"]
        {
            assert!(!text.contains(word), "{} uses {word}", file.display());
        }
    }
}

#[test]
fn displays_and_engine_do_not_know_each_other() {
    assert!(!dependencies("ui").iter().any(|name| name == "ralph-engine"));
    assert!(!dependencies("engine").iter().any(|name| name == "ralph-ui"));
    // The server of the page is a display: it asks through ports.
    assert!(!dependencies("web").iter().any(|name| name == "ralph-engine"));
    for name in ["core", "engine", "ui"] {
        assert!(
            !dependencies(name).iter().any(|name| name == "ralph-web" || name == "axum"),
            "{name}"
        );
    }
    for name in ["core", "engine", "ui", "web"] {
        assert!(!dependencies(name).iter().any(|d| d == "clap" || d == "ralph-testkit"), "{name}");
    }
}

#[test]
fn the_modules_of_a_crate_form_no_cycle() {
    for name in ["core", "engine", "ui", "web", "cli"] {
        let src = root().join("crates").join(name).join("src");
        let read = |file: PathBuf| {
            let place = file.strip_prefix(&src).unwrap().display().to_string();
            (place, std::fs::read_to_string(&file).unwrap())
        };
        let files: Vec<_> = sources(name).into_iter().map(read).collect();
        let graph = modules::graph(&files);
        assert!(!graph.is_empty(), "{name}");
        if let Some(cycle) = modules::cycle(&graph) {
            panic!("modules of {name} need each other:\n{}", cycle.join("\n"));
        }
    }
}

#[test]
fn every_file_says_what_it_owns_and_stays_readable() {
    for name in ["core", "engine", "ui", "web", "cli", "testkit"] {
        for file in sources(name) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} does not say what it owns", file.display());
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines: it is two files", file.display());
        }
    }
}

/// Sources beside `untrusted` that open files by themselves, and why they may. Each is one file: a folder would let in
/// whatever comes next.
const READERS: [(&str, &str); 31] = [
    ("engine/src/bundle.rs", "the name of the operating system"),
    ("engine/src/agents/script/player.rs", "a recording that the user named"),
    ("engine/src/agents/script/cursor.rs", "the cursor of a recording that the user named"),
    ("engine/src/plan_file/replace.rs", "writes beside the plan, and opens its folder to sync it"),
    ("engine/src/process/process_tree/linux.rs", "/dev/null"),
    ("engine/src/process/liveness.rs", "the kernel's boot id"),
    ("engine/src/process/procfs.rs", "the kernel's files below /proc"),
    ("engine/src/project/atomic.rs", "opens a folder to sync it"),
    ("engine/src/run/sandboxed.rs", "the cursor of a recording that the user named"),
    ("engine/src/run/activity/session.rs", "makes new files only"),
    ("engine/src/sandbox/aliases.rs", "the kernel's list of mounts"),
    ("engine/src/sandbox/caches.rs", "settings of the user's home"),
    ("engine/src/sandbox/cgroup.rs", "the kernel's list of groups"),
    ("engine/src/sandbox/choose.rs", "the kernel's settings below /proc/sys"),
    ("engine/src/sandbox/guard.rs", "opens as untrusted does, and keeps the mode"),
    ("engine/src/sandbox/config.rs", "git's list of worktrees"),
    ("engine/src/sandbox/inside.rs", "the kernel's file of a group"),
    ("engine/src/sandbox/registries.rs", "settings of the user's home"),
    ("engine/src/sandbox/seatbelt.rs", "HEAD of the git directory"),
    ("engine/src/sandbox/secrets.rs", "the kernel's list of sockets"),
    ("engine/src/sandbox/self_test.rs", "a file that it has made itself"),
    ("engine/src/socket/session.rs", "makes a new file only"),
    ("engine/src/git/scratch.rs", "the index, which it copies with its time"),
    ("engine/src/session_git/inspect.rs", "runs in the sandbox"),
    ("engine/src/session_git/owners.rs", "the index, which it copies with its time"),
    ("engine/src/worktrees/equip.rs", "the user's own list of ignored files"),
    ("cli/src/commands/config.rs", "a file that the user names"),
    ("cli/src/commands/doctor/agent.rs", "a file of the user's home"),
    ("cli/src/commands/doctor/sandbox.rs", "the user's own settings"),
    ("cli/src/commands/import.rs", "a file that the user names, or a pipe"),
    ("cli/src/launch/sandbox.rs", "/etc/passwd"),
];

#[test]
fn files_that_a_session_could_have_written_are_opened_in_one_place() {
    let mut seen = Vec::new();
    for name in ["engine", "web", "cli"] {
        for file in sources(name) {
            let name = file.strip_prefix(root().join("crates")).unwrap().display().to_string();
            if name.contains("/tests") || name.contains("/untrusted") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let reads = ["fs::read(", "fs::read_to_string(", "File::open("];
            let safely = ["open_own(", "open_lock("].iter().any(|call| code.contains(call));
            let opens = code.contains("OpenOptions::new()") && !safely;
            if opens || reads.iter().any(|call| code.contains(call)) {
                seen.push(name);
            }
        }
    }
    let may = |name: &String| READERS.iter().any(|(reader, _)| name == reader);
    let odd: Vec<_> = seen.iter().filter(|name| !may(name)).collect();
    assert!(
        odd.is_empty(),
        "use untrusted or worktree_files of the engine, or say why no session wrote the file: {odd:?}"
    );
    for (reader, _) in READERS {
        assert!(seen.iter().any(|name| name == reader), "{reader} opens no file");
    }
}

fn sources(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates").join(name).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The files that may start a program, and what each starts.
const STARTERS: [(&str, &str); 4] = [
    ("engine/src/host.rs", "git and the shell of the editor, outside the sandbox"),
    ("engine/src/sandbox/inside.rs", "the sandboxed program itself"),
    ("engine/src/agents/script/player.rs", "what a recording runs, as an agent would"),
    ("engine/src/process/process_tree/other.rs", "agents and gates where there is no /proc"),
];

#[test]
fn programs_are_started_in_few_places_and_never_by_a_bare_name() {
    let mut found = Vec::new();
    for name in ["core", "engine", "ui", "web", "cli"] {
        for file in sources(name) {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let place = file.strip_prefix(root().join("crates")).unwrap().display().to_string();
            if place.ends_with("/tests.rs") || place.contains("/tests/") {
                continue;
            }
            let starts = |line: &&str| {
                line.contains("Command::new(") && !line.contains("clap::Command::new(")
            };
            if code.lines().any(|line| starts(&line)) {
                found.push(place.clone());
            }
            for (_, rest) in code.lines().filter_map(|line| line.split_once("program: \"")) {
                assert!(rest.starts_with('/'), "{place} starts a program by its name: {rest}");
            }
        }
    }
    found.sort();
    let mut allowed = STARTERS.map(|(place, _)| place);
    allowed.sort_unstable();
    assert_eq!(found, allowed);
}
