//! The page about the box says of each attempt what was measured.
//! `RALPH_BLESS=1 cargo test -p ralph --test escape page` writes its tables anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::attempts::{GROUPS, Landlock};

const BEGIN: &str = "<!-- what was tried -->\n";
const END: &str = "<!-- the end of what was tried -->\n";

/// The groups whose outcome is a matter of the level; the network is a matter of its policy.
const SHOWN: [(&str, &str); 5] = [
    ("files", "Files"),
    ("processes", "Processes, and ralph's own files"),
    ("kernel", "The kernel"),
    ("sockets", "Sockets of other programs"),
    ("repository", "The git directory, in the main worktree"),
];

fn tables() -> String {
    let mut text = String::new();
    for (group, heading) in SHOWN {
        let all = GROUPS.iter().find(|(name, _)| *name == group).unwrap().1;
        write!(text, "\n### {heading}\n\n| what is tried | full | landlock |\n|---|---|---|\n")
            .unwrap();
        for attempt in all {
            let landlock = match attempt.landlock {
                Landlock::Holds => "held",
                Landlock::Lets => "**open**",
            };
            writeln!(text, "| {} | held | {landlock} |", attempt.what).unwrap();
        }
    }
    text.push('\n');
    text
}

#[test]
fn the_page_about_the_sandbox_says_what_was_tried() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let tables = tables();
    if std::env::var_os("RALPH_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{tables}{END}{after}")).unwrap();
        return;
    }
    assert!(
        written == tables,
        "docs/sandbox.md says otherwise; run RALPH_BLESS=1 cargo test -p ralph --test escape page"
    );
}
