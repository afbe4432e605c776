//! The page with what was measured. `RALPH_BLESS=1 cargo test -p ralph --test it judging` writes it anew.

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::case::{Case, Measured};

/// The folder of the project.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The row of a case.
pub(super) fn row(case: &Case, found: &[Measured; 4]) -> String {
    let cell = |measured: &Measured| if measured.accepted { "**accepted**" } else { "refused" };
    let [strict, gates, confirm, trust] = found.each_ref().map(cell);
    let why = match found[0].accepted {
        true => "nothing",
        false => &found[0].why,
    };
    format!("| {} | {strict} | {gates} | {confirm} | {trust} | {why} |", case.does)
}

/// The section of the page must say what was measured.
pub(super) fn same_as_section(name: &str, rows: &[String]) {
    let table = format!(
        "| the session | strict | gates only | confirm only | trust | refused by |\n\
         |---|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    );
    same_as_part(name, &table);
}

/// The section of the page must have this many rows, and these among them.
pub(super) fn section_has(name: &str, number: usize, rows: &[String]) {
    let text = std::fs::read_to_string(root().join("docs/false-completion.md")).unwrap();
    let (_, rest) = text.split_once(&format!("\n### {name}\n\n")).unwrap();
    let part = rest.split("\n#").next().unwrap_or_default();
    let written: Vec<&str> = part.lines().skip(2).filter(|line| !line.is_empty()).collect();
    assert_eq!(written.len(), number, "rows under {name} in docs/false-completion.md");
    for row in rows {
        assert!(
            written.contains(&row.as_str()),
            "docs/false-completion.md does not say under {name} what was measured; run \
             RALPH_BLESS=1 cargo test -p ralph --test it judging\nmeasured:\n{row}\nwritten:\n{part}"
        );
    }
}

/// What stands below a heading, up to the next, must be this.
pub(super) fn same_as_part(name: &str, part: &str) {
    let path = root().join("docs/false-completion.md");
    let blesses = std::env::var_os("RALPH_BLESS").is_some();
    let mut file = std::fs::File::options().read(true).write(blesses).open(&path).unwrap();
    // Tests run beside each other, and each writes its own part.
    file.lock().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let heading = format!("\n### {name}\n\n");
    let (before, rest) = text.split_once(&heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let end = rest.find("\n#").unwrap_or(rest.len());
    if blesses {
        let whole = format!("{before}{heading}{part}{}", &rest[end..]);
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(whole.as_bytes()).unwrap();
        return;
    }
    assert!(
        rest[..end] == *part,
        "docs/false-completion.md does not say under {name} what was measured; run \
         RALPH_BLESS=1 cargo test -p ralph --test it judging\nmeasured:\n{part}\nwritten:\n{}",
        &rest[..end]
    );
}
