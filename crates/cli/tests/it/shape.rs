//! The shape of the workspace: what may know what.

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
    for name in ["core", "engine", "ui"] {
        assert!(!dependencies(name).iter().any(|d| d == "clap" || d == "ralph-testkit"), "{name}");
    }
}

#[test]
fn every_file_says_what_it_owns_and_stays_readable() {
    for name in ["core", "engine", "ui", "cli", "testkit"] {
        for file in sources(name) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} does not say what it owns", file.display());
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines: it is two files", file.display());
        }
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
    ("engine/src/process/family/other.rs", "agents and gates where there is no /proc"),
];

#[test]
fn programs_are_started_in_few_places_and_never_by_a_bare_name() {
    let mut found = Vec::new();
    for name in ["core", "engine", "ui", "cli"] {
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
