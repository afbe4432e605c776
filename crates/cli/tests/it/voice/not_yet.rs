//! The files whose words were not gone over yet: how many hits each may have. A count only goes down, and the list
//! goes away with the last of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Files with words that voice/rules.rs forbids, and how many. A count only goes down:
# RALPH_BLESS=1 cargo test -p ralph --test it voice
";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/voice/not_yet.txt")
}

/// The count of each file. No list, no counts.
pub(super) fn counts() -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (count, file) =
                line.split_once(' ').unwrap_or_else(|| panic!("not_yet.txt: {line}"));
            (file.to_owned(), count.parse().unwrap_or_else(|_| panic!("not_yet.txt: {line}")))
        })
        .collect()
}

/// Lowers the counts to what was found, and raises none.
pub(super) fn lower(found: &BTreeMap<String, usize>) {
    let mut text = HEAD.to_owned();
    for (file, count) in counts() {
        let count = count.min(found.get(&file).copied().unwrap_or(0));
        if count > 0 {
            text.push_str(&format!("{count} {file}\n"));
        }
    }
    std::fs::write(path(), text).unwrap();
}
