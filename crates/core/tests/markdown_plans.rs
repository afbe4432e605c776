//! Plans as people and agents write them, and random changes of them.

mod fuzz;

use fuzz::{PLANS, Random, round};
use ralph_core::plan::markdown::{PlanDoc, PlanKind, read};

/// Each plan with its kind, its name and its items: group, depth, tick and title.
const EXPECTED: [(&str, PlanKind, &str, &[&str]); 15] = [
    (
        "branches-plain.md",
        PlanKind::Branches,
        "Implementation Plan",
        &[
            "fix-sandbox-image: - Delete Dockerfile",
            "fix-sandbox-image: x Update flake.nix dockerImage with claude-code, cursor-cli",
            "fix-sandbox-image: - Remove --dockerfile flag from image command",
            "add-watch-flag: - Add --watch flag to CLI",
            "add-watch-flag: - Add invoke_streaming to AgentProvider trait",
            "add-watch-flag: - Implement in Claude/Cursor providers",
        ],
    ),
    (
        "branches-crlf-bom.md",
        PlanKind::Branches,
        "Release 2",
        &[
            "release/2.0: - Bump the version",
            "release/2.0: >x Cargo.toml",
            "release/2.0: >- CHANGELOG",
            "release/2.0: x Tag",
            "docs: - Write the guide",
        ],
    ),
    (
        "progress-full.md",
        PlanKind::Progress,
        "config parser",
        &[
            "Phase 1: Reading: x Tokenise values",
            "Phase 1: Reading: x Read tables",
            "Phase 1: Reading: >x inline",
            "Phase 1: Reading: >x dotted",
            "Phase 1: Reading: - Errors with carets",
            "Phase 2: Writing: - Keep comments",
            "Phase 2: Writing: - Keep order",
        ],
    ),
    ("progress-done-crlf.md", PlanKind::Progress, "tiny", &[": x Only one thing"]),
    (
        "progress-sparse.md",
        PlanKind::Progress,
        "sparse",
        &[": - first", ": - second", "Later: - third"],
    ),
    ("progress-setext.md", PlanKind::Progress, "underlined", &[": x one", ": x two"]),
    (
        "checklist-mixed-bullets.md",
        PlanKind::Checklist,
        "TODO",
        &[
            ": - dash",
            ": x star",
            ": x plus",
            ": - one",
            ": - two",
            ": - begun",
            ": - dropped on purpose",
            ": - no space",
            "Second: - a tab behind the dash",
            "Second: >- a tab before it",
        ],
    ),
    (
        "checklist-nested.md",
        PlanKind::Checklist,
        "Nested",
        &[
            ": - Build the server",
            ": >x Listen",
            ": >- Answer",
            ": >>- Fast path",
            ": >>- Slow path",
            ": - under a plain bullet",
            ": - Two columns under a number",
            ": >- still inside",
            ": - Last",
            ": >- indented too far",
        ],
    ),
    (
        "checklist-hidden.md",
        PlanKind::Checklist,
        "Real tasks only",
        &[": - real one", ": - real two"],
    ),
    (
        "checklist-unicode.md",
        PlanKind::Checklist,
        "計画 📋",
        &[
            "Größe & Maß: - 設計を書く — naïve Lösung",
            "Größe & Maß: x Тест «на месте» ✅",
            "Größe & Maß: - שלום עולם",
            "Größe & Maß: - emoji 👩\u{200d}👩\u{200d}👧\u{200d}👦 family",
            "Größe & Maß: - e\u{301} decomposed and é composed",
            "Größe & Maß: - no-break\u{a0}space",
        ],
    ),
    (
        "checklist-headings.md",
        PlanKind::Checklist,
        "Implementation Plan",
        &[
            "Tasks: x Create the schema",
            "Tasks: - Open the database",
            "Tasks: - Migrate it",
            "Tasks: - Publish",
        ],
    ),
    ("checklist-prose.md", PlanKind::Checklist, "Rewrite the importer in one go", &[]),
    (
        "checklist-duplicates.md",
        PlanKind::Checklist,
        "Work",
        &[
            "Parser: x Write tests",
            "Parser: - Refactor",
            "Server: - Write tests",
            "Server: - Refactor",
            "Server: - Write tests",
        ],
    ),
    (
        "checklist-loose.md",
        PlanKind::Checklist,
        "Loose list",
        &[": - First item", ": x Second item", ": - Third item", ": - Right after a paragraph"],
    ),
    (
        "checklist-frontmatter.md",
        PlanKind::Checklist,
        "Heading",
        &[": - before any heading", ": x after it"],
    ),
];

fn shown(doc: &PlanDoc) -> Vec<String> {
    let line = |(index, item): (usize, &ralph_core::plan::markdown::Item)| {
        let group = doc.group_of(index).map_or("", |group| &group.title);
        let parents = std::iter::successors(item.parent, |parent| doc.items[*parent].parent);
        let tick = if item.is_done() { "x" } else { "-" };
        format!("{group}: {}{tick} {}", ">".repeat(parents.count()), item.title)
    };
    doc.items.iter().enumerate().map(line).collect()
}

#[test]
fn every_plan_of_the_corpus_has_the_items_that_a_reader_sees() {
    for ((file, text), (name, kind, title, items)) in PLANS.iter().zip(EXPECTED) {
        assert_eq!(*file, name);
        assert_eq!(PlanKind::of(file, text), kind, "{file}");
        let doc = read(kind, text).unwrap();
        assert_eq!(doc.name.as_deref().unwrap_or_default(), title, "{file}");
        assert_eq!(shown(&doc), items, "{file}");
    }
}

#[test]
fn fuzz_markdown() {
    let mut random = Random(2);
    for _ in 0..150 {
        round(&mut random);
    }
}
