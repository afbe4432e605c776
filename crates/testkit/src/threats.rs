//! The tables of `docs/threat-model.md`, read for the suites: which attacks belong to which entry point, and what
//! each sandbox level makes of them.

use std::path::Path;

/// What a level makes of every attack of an entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Refused.
    Yes,
    /// At least one works.
    No,
}

/// One row: where an attack could enter.
#[derive(Debug, Clone)]
pub struct EntryPoint {
    /// The entry point in words.
    pub name: String,
    /// What stops the attack.
    pub guard: String,
    /// At the level `full`.
    pub full: Held,
    /// At the level `landlock`.
    pub landlock: Held,
    /// At the level `none`.
    pub none: Held,
    /// The names between backticks in the last column.
    pub tests: Vec<String>,
}

impl EntryPoint {
    /// The attacks of one suite, `escape` or `claim`.
    pub fn attacks<'a>(&'a self, suite: &'a str) -> impl Iterator<Item = &'a str> {
        let of_suite = move |test: &'a String| test.strip_prefix(suite)?.strip_prefix("::");
        self.tests.iter().filter_map(of_suite)
    }
}

/// The rows of all tables with these columns, in order.
///
/// # Panics
/// Where the page is missing or a row is not as the columns say.
#[must_use]
pub fn entry_points() -> Vec<EntryPoint> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/threat-model.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, tables) = page.split_once("\n## Entry points\n").unwrap();
    let (tables, _) = tables.split_once("\n## ").unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| entry point |");
    tables.lines().filter(is_row).map(row).collect()
}

fn row(line: &str) -> EntryPoint {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [name, guard, full, landlock, none, tests] = cells[..] else {
        panic!("not six columns: {line}");
    };
    let held = |cell: &str| match cell {
        "held" => Held::Yes,
        "open" => Held::No,
        other => panic!("neither held nor open: {other} in {line}"),
    };
    EntryPoint {
        name: name.to_owned(),
        guard: guard.to_owned(),
        full: held(full),
        landlock: held(landlock),
        none: held(none),
        tests: tests.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
    }
}

/// Each attack of a suite must belong to one entry point, and the page may name no other.
///
/// # Panics
/// With the names that are missing, unknown or there twice.
pub fn names_each_once(suite: &str, attacks: &[&str]) {
    let points = entry_points();
    let named: Vec<&str> = points.iter().flat_map(|point| point.attacks(suite)).collect();
    let missing: Vec<_> = attacks.iter().filter(|name| !named.contains(name)).collect();
    let unknown: Vec<_> = named.iter().filter(|name| !attacks.contains(name)).collect();
    let again = |name: &&&str| named.iter().filter(|other| other == name).count() > 1;
    let twice: Vec<_> = named.iter().filter(again).collect();
    assert!(
        missing.is_empty() && unknown.is_empty() && twice.is_empty(),
        "docs/threat-model.md and the suite {suite} differ: missing {missing:?}, unknown {unknown:?}, \
         twice {twice:?}"
    );
}
