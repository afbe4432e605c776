//! `docs/regressions.md`: every row names tests, and every test named there exists.

use std::collections::BTreeSet;

use crate::named_tests::{crates, exists, sources};

fn page() -> String {
    std::fs::read_to_string(crates().join("../docs/regressions.md")).unwrap()
}

/// One line of a table.
#[derive(Debug)]
struct Row {
    finding: String,
    what: String,
    tests: String,
}

/// The rows of all tables. A row with another number of columns is a mistake and stops the test.
fn rows(page: &str) -> Vec<Row> {
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| finding |");
    page.lines()
        .filter(is_row)
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [finding, what, tests] = cells[..] else { panic!("not three columns: {line}") };
            Row { finding: finding.into(), what: what.into(), tests: tests.into() }
        })
        .collect()
}

/// The names between backticks in the last column.
fn named(tests: &str) -> Vec<&str> {
    tests.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let all = sources(&crates());
    for row in rows(&page()) {
        for test in named(&row.tests) {
            assert!(exists(test, &all), "{}: there is no test {test}", row.finding);
        }
    }
}

#[test]
fn every_row_says_what_holds_and_names_a_test_or_why_there_is_none() {
    let rows = rows(&page());
    assert!(!rows.is_empty());
    let mut seen = BTreeSet::new();
    for Row { finding, what, tests } in rows {
        let number = finding.strip_prefix('F').and_then(|number| number.parse::<u32>().ok());
        // A dash stands for a fault that has no number.
        assert!(number.is_some() || finding == "–", "{finding} is not the number of a finding");
        assert!(finding == "–" || seen.insert(number), "{finding} has two rows");
        assert!(what.ends_with('.'), "{finding}: not a sentence: {what}");
        let reason = tests.strip_prefix("none: ").is_some_and(|reason| !reason.is_empty());
        assert!(reason || !named(&tests).is_empty(), "{finding} names no test");
    }
}

#[test]
fn a_test_that_does_not_exist_is_noticed_in_both_ways_of_naming_it() {
    let all = sources(&crates());
    let here = "every_row_says_what_holds_and_names_a_test_or_why_there_is_none";
    for (test, so) in [
        (format!("cli/tests/it/regressions_page.rs::{here}"), true),
        (format!("ralph regressions_page::{here}"), true),
        (format!("regressions_page::{here}"), true),
        (format!("ralph-core regressions_page::{here}"), false),
        (format!("ralph acceptance_page::{here}"), false),
        (format!("cli/tests/it/acceptance_page.rs::{here}"), false),
        (format!("regressions_page::{here}_not"), false),
        (here.to_owned(), false),
    ] {
        assert_eq!(exists(&test, &all), so, "{test}");
    }
}
