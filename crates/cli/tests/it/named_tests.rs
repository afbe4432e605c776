//! Tests that pages and tables name, such as `core/src/x.rs::name`: whether they exist, and what they say.

use std::path::{Path, PathBuf};

/// The folder with all crates.
pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every file with Rust code below a folder, with its text.
pub(crate) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// Whether this test exists: `core/src/x.rs::name`, or `ralph-core x::tests::name`, where each module is a
/// file, a folder or a `mod` of the file.
pub(crate) fn exists(test: &str, all: &[(PathBuf, String)]) -> bool {
    let defines = |text: &str, name: &str| text.contains(&format!("fn {name}("));
    if let Some((file, name)) = test.split_once(".rs::") {
        let path = crates().join(format!("{file}.rs"));
        return all.iter().any(|(known, text)| *known == path && defines(text, name));
    }
    let (package, path) = test.split_once(' ').unwrap_or(("", test));
    let folder = match package.trim_start_matches("ralph-") {
        "" => None,
        "ralph" => Some("cli"),
        other => Some(other),
    };
    let mut modules: Vec<&str> = path.trim().split("::").collect();
    let Some(name) = modules.pop().filter(|_| !modules.is_empty()) else { return false };
    let root = crates();
    all.iter().any(|(file, text)| {
        let inside = file.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        folder.is_none_or(|folder| parts[0] == folder)
            && defines(text, name)
            && modules.iter().all(|m| parts.contains(m) || text.contains(&format!("mod {m} ")))
    })
}

/// The function or constant of this name with its attributes and without its comments, from code as rustfmt
/// leaves it.
pub(crate) fn item(text: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_fn =
        |line: &str| line.contains(&format!("fn {name}(")) || line.contains(&format!("fn {name}<"));
    let is_const = |line: &str| line.contains(&format!("const {name}: "));
    let at = lines.iter().position(|line| is_fn(line) || is_const(line))?;
    let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
    let attributes = lines[..at].iter().rev();
    let above = attributes.take_while(|line| line.trim_start().starts_with(['#', '/'])).count();
    let last = |line: &&str| match is_fn(lines[at]) {
        true => **line == *format!("{indent}}}"),
        false => line.ends_with(';'),
    };
    let below = lines[at..].iter().position(last)?;
    let code = lines[at - above..=at + below].iter();
    Some(
        code.filter(|line| !line.trim_start().starts_with("//"))
            .copied()
            .collect::<Vec<_>>()
            .join("\n"),
    )
}
