//! The book: `docs/SUMMARY.md` lists every page of docs/ once, and every link in a page leads to a file and a heading
//! that exist, in the repository and in the book. It knows markdown only as far as links and headings go.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::root;

/// Every page of docs/ and docs/design/, as a path from docs/.
fn in_docs() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["", "design/"] {
        for entry in std::fs::read_dir(root().join("docs").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                found.insert(format!("{folder}{name}"));
            }
        }
    }
    found
}

/// The targets of the links of a page, outside of code, with their lines.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = vec![];
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| (index + 1, target.to_owned())));
    }
    found
}

/// The names that links can use for the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let plain = heading.trim().to_lowercase();
        let kept = plain.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        found.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    found
}

/// Whether a link of a page leads to a place that the book has too. The book is docs/ and nothing around it, so a
/// link that leaves docs/ works in the repository and is dead in the book.
fn stays_in_book(page: &str, file: &str) -> bool {
    let Some(page) = page.strip_prefix("docs/") else { return true };
    let mut depth = page.matches('/').count();
    file.split('/').all(|part| match part {
        ".." => depth.checked_sub(1).map(|above| depth = above).is_some(),
        "." | "" => true,
        _ => {
            depth += 1;
            true
        }
    })
}

#[test]
fn the_book_lists_every_page_once() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<String> = links(&summary).into_iter().map(|(_, target)| target).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    assert_eq!(once, in_docs());
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let top =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(str::to_owned);
    let docs = in_docs().into_iter().map(|page| format!("docs/{page}"));
    let mut wrong = vec![];
    for page in top.into_iter().chain(docs) {
        let path = root().join(&page);
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, target) in links(&text) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target.as_str(), ""));
            let to: PathBuf = match file {
                "" => path.clone(),
                file => path.parent().unwrap_or(Path::new("")).join(file),
            };
            let there = std::fs::read_to_string(&to).unwrap_or_default();
            let heading = anchor.is_empty() || anchors(&there).contains(anchor);
            if !to.exists() || !heading || !stays_in_book(&page, file) {
                wrong.push(format!("{page}:{line}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_that_leave_the_book_are_found() {
    for (page, file, stays) in [
        ("docs/a.md", "b.md", true),
        ("docs/a.md", "design/b.md", true),
        ("docs/design/a.md", "../b.md", true),
        ("docs/a.md", "../ARCHITECTURE.md", false),
        ("docs/design/a.md", "../../README.md", false),
        ("README.md", "docs/a.md", true),
    ] {
        assert_eq!(stays_in_book(page, file), stays, "{page} {file}");
    }
}

#[test]
fn links_and_headings_are_found_outside_of_code() {
    let page = "# What `a.b` is: x\n\n[one](a.md#b), `[no](c.md)`\n```\n# no\n[no](d.md)\n```\n";
    assert_eq!(links(page), [(3, "a.md#b".to_owned())]);
    assert_eq!(anchors(page), BTreeSet::from(["what-ab-is-x".to_owned()]));
}
