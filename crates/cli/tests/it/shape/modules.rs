//! Which top-level modules of a crate name which others, and a cycle among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// For each module the modules that it names, and the files that name them.
pub(super) type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The graph of a crate, from its files: the place of each below `src`, and its text. Tests do not count, nor does the
/// root, which names every module.
pub(super) fn graph(files: &[(String, String)]) -> Graph {
    let is_test = |place: &str| place.ends_with("tests.rs") || place.contains("tests/");
    let own: Vec<_> = files
        .iter()
        .filter(|(place, _)| !is_test(place) && place != "lib.rs" && place != "main.rs")
        .map(|(place, text)| (place, module(place), without_tests(text)))
        .collect();
    let tops: BTreeSet<&str> = own.iter().map(|(_, module, _)| module[0]).collect();
    let mut graph = Graph::new();
    for (place, module, code) in &own {
        for name in named(module.len(), code) {
            if name != module[0] && tops.contains(name) {
                let names = graph.entry(module[0].to_owned()).or_default();
                names.entry(name.to_owned()).or_default().insert((*place).clone());
            }
        }
    }
    graph
}

/// The shortest cycle, as one line for each step with the files that take it.
pub(super) fn cycle(graph: &Graph) -> Option<Vec<String>> {
    let way = graph.keys().filter_map(|start| way_back(graph, start)).min_by_key(Vec::len)?;
    let step = |pair: &[&str]| {
        let files: Vec<_> = graph[pair[0]][pair[1]].iter().map(String::as_str).collect();
        format!("{} -> {}: {}", pair[0], pair[1], files.join(", "))
    };
    Some(way.windows(2).map(step).collect())
}

/// The shortest way from a module to itself.
fn way_back<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let (mut ways, mut seen) = (VecDeque::from([vec![start]]), BTreeSet::new());
    while let Some(way) = ways.pop_front() {
        for next in graph.get(way[way.len() - 1]).into_iter().flat_map(BTreeMap::keys) {
            let further = [way.as_slice(), &[next]].concat();
            if next == start {
                return Some(further);
            }
            if seen.insert(next) {
                ways.push_back(further);
            }
        }
    }
    None
}

/// The path of the module that a file is: `git/mod.rs` is `git`, `git/base.rs` is `git`, `base`.
fn module(place: &str) -> Vec<&str> {
    let place = place.strip_suffix(".rs").unwrap_or(place);
    place.strip_suffix("/mod").unwrap_or(place).split('/').collect()
}

/// The code without comments, and without the tests inside it.
fn without_tests(text: &str) -> String {
    let opens = |line: &str| line.starts_with("mod ") && line.ends_with('{');
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
        if line == "#[cfg(test)]" && lines.clone().next().is_some_and(opens) {
            lines.find(|line| *line == "}");
        }
    }
    code
}

/// What a module names at the top of its crate, by `crate::…` or by `super::…` from `depth` modules below the top.
fn named(depth: usize, code: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for (at, root) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with(|before| is_word(before) || before == ':') {
            continue;
        }
        let mut rest = &code[at..];
        let mut steps = 0;
        while let Some(after) = rest.strip_prefix(root) {
            (rest, steps) = (after, steps + 1);
        }
        if root == "super::" && steps < depth {
            continue;
        }
        let paths: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => {
                group.split(';').next().unwrap_or_default().split(['{', ',', '}']).collect()
            }
            None => vec![rest],
        };
        for path in paths {
            found.extend(path.trim_start().split(|letter| !is_word(letter)).next());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(files: &[(&str, &str)]) -> Graph {
        let owned = |(place, text): &(&str, &str)| ((*place).to_owned(), (*text).to_owned());
        graph(&files.iter().map(owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_cycle_is_found_with_its_files_and_the_shortest_first() {
        let files = [
            ("lib.rs", "use crate::top; use crate::low;"),
            ("top.rs", "use crate::{low::Low, middle};"),
            ("middle/mod.rs", "mod part;\nuse super::low::Low;"),
            ("middle/part.rs", "use super::Own; use super::super::upper::Upper;"),
            ("upper.rs", "fn f() { crate::low::f() }"),
            ("low.rs", ""),
        ];
        assert_eq!(cycle(&made_up(&files)), None);
        let mut long = files.to_vec();
        long[5].1 = "use crate::top::Top;";
        let expected = ["low -> top: low.rs", "top -> low: top.rs"];
        assert_eq!(cycle(&made_up(&long)).unwrap(), expected);
        long[1].1 = "use crate::middle;";
        let expected =
            ["low -> top: low.rs", "top -> middle: top.rs", "middle -> low: middle/mod.rs"];
        assert_eq!(cycle(&made_up(&long)).unwrap(), expected);
        long.push(("middle/other.rs", "use crate::low;"));
        let found = cycle(&made_up(&long)).unwrap();
        assert_eq!(found[2], "middle -> low: middle/mod.rs, middle/other.rs");
    }

    #[test]
    fn tests_comments_and_own_modules_make_no_cycle() {
        let files = [
            ("a.rs", "use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
            (
                "b.rs",
                "// see crate::a\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\nuse my_crate::a;\n",
            ),
            ("b/tests.rs", "use crate::a;"),
            ("b/tests/more.rs", "use crate::a;"),
            ("b/deep.rs", "use super::a; use crate::b::a; use crate::a_b;"),
        ];
        assert_eq!(cycle(&made_up(&files)), None);
        // What comes after the tests of a file counts.
        let after = "#[cfg(test)]\nmod tests {\n}\nuse crate::a;\n";
        assert!(cycle(&made_up(&[files[0], ("b.rs", after)])).is_some());
        assert!(
            cycle(&made_up(&[files[0], ("b.rs", "#[cfg(test)]\nmod tests;\nuse super::a;")]))
                .is_some()
        );
    }
}
