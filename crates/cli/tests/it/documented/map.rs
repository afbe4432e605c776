//! The code map of ARCHITECTURE.md: every file that it names exists.

use super::root;

/// The files that a cell names. `a/{b,c}.rs` is two; a name without a folder is beside the name before it.
fn files(cell: &str) -> Vec<String> {
    let mut folder = "";
    let mut found = vec![];
    for name in cell.split('`').skip(1).step_by(2) {
        let (own, rest) = name.rsplit_once('/').map_or((folder, name), |(own, rest)| (own, rest));
        let in_folder = |name: &str| match own {
            "" => name.to_owned(),
            own => format!("{own}/{name}"),
        };
        match rest.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
            Some((names, end)) => {
                found.extend(names.split(',').map(|name| in_folder(&format!("{name}{end}"))));
            }
            None => found.push(in_folder(rest)),
        }
        folder = own;
    }
    found
}

#[test]
fn every_file_of_the_code_map_exists() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut krate = None;
    let mut wrong = vec![];
    let mut count = 0;
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix('#') {
            let name = heading.trim_start_matches('#').trim();
            krate = Some(name).filter(|name| ["core", "engine", "ui", "cli"].contains(name));
        }
        let (Some(krate), Some(row)) = (krate, line.strip_prefix("| `")) else { continue };
        let cell = format!("`{}", row.split(" | ").next().unwrap_or_default());
        let sources = root().join("crates").join(krate).join("src");
        for file in files(&cell) {
            count += 1;
            // The second name of a row may be at the top again.
            let top = file.rsplit('/').next().unwrap_or_default();
            if !sources.join(&file).exists() && !sources.join(top).exists() {
                wrong.push(format!("ARCHITECTURE.md:{}: {file}", index + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "the code map was not found: {count} files");
}

#[test]
fn names_in_a_cell_are_read_as_files() {
    let cell = "`run/{a,b}.rs`, `c.rs`, `plan/d.rs`, `e/`";
    assert_eq!(files(cell), ["run/a.rs", "run/b.rs", "run/c.rs", "plan/d.rs", "e/"]);
}
