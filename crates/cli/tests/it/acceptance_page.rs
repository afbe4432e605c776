//! `docs/acceptance.md` names tests that exist, and every number of S0 to S3 has one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn page() -> String {
    std::fs::read_to_string(crates().join("../docs/acceptance.md")).unwrap()
}

/// The rows of the tables: number, and what is said to prove it.
fn rows(page: &str) -> BTreeMap<String, String> {
    page.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [number, _, proof] = cells[..] else { return None };
            let (list, rest) = number.strip_prefix('S')?.split_once('-')?;
            (list.parse::<u32>().is_ok() && rest.parse::<u32>().is_ok())
                .then(|| (number.to_owned(), proof.to_owned()))
        })
        .collect()
}

/// Every `path::name` between backticks.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs::")).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let page = page();
    let mut seen = 0;
    for (file, name) in named(&page) {
        let path = crates().join(format!("{file}.rs"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(text.contains(&format!("fn {name}(")), "there is no {name} in {}", path.display());
        seen += 1;
    }
    assert!(seen > 100, "only {seen} tests are named");
}

#[test]
fn a_test_that_carries_numbers_is_named_only_where_it_belongs() {
    for (number, proof) in rows(&page()) {
        let word = number.to_lowercase().replace('-', "_");
        for (file, name) in named(&proof) {
            let carries = name.split("_s").any(|part| {
                let part = part.strip_prefix('s').unwrap_or(part);
                format!("s{part}_").starts_with(&format!("{word}_"))
            });
            let carries_any = name.starts_with('s')
                && name[1..].starts_with(|c: char| c.is_ascii_digit())
                && name[2..].starts_with('_');
            assert!(carries || !carries_any, "{number}: {file}.rs::{name}");
        }
    }
}

#[test]
fn every_number_up_to_s3_has_a_test_or_the_part_it_comes_with() {
    let rows = rows(&page());
    let later = ["with judgement", "with the box"];
    // How the code is laid out is what ARCHITECTURE.md says.
    let laid_out = ["S1-30", "S2-27"];
    for (list, last) in [(0, 20), (1, 53), (2, 29), (3, 21)] {
        for number in (1..=last).map(|n| format!("S{list}-{n}")) {
            let proof = rows.get(&number).unwrap_or_else(|| panic!("{number} is missing"));
            let comes = later.iter().any(|part| proof.contains(part));
            let laid_out = laid_out.contains(&number.as_str());
            assert!(comes || laid_out || !named(proof).is_empty(), "{number}: {proof}");
        }
    }
}
