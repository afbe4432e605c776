//! `docs/threat-model.md`: enough entry points, each with a guard and attacks that exist.

use std::collections::BTreeSet;

use ralph_testkit::threats::{Held, entry_points, names_each_once};

use crate::named_tests::{crates, exists, sources};

/// A suite with more attacks on one entry point tests the kernel and not ralph.
const VARIANTS: usize = 3;

#[test]
fn every_entry_point_has_a_guard_and_one_to_three_attacks() {
    let points = entry_points();
    assert!(points.len() >= 60, "only {} entry points", points.len());
    let mut seen = BTreeSet::new();
    for point in &points {
        assert!(seen.insert(&point.name), "{} has two rows", point.name);
        assert!(!point.guard.is_empty(), "{} has no guard", point.name);
        let attacks = point.tests.len();
        assert!((1..=VARIANTS).contains(&attacks), "{}: {attacks} attacks", point.name);
    }
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let all = sources(&crates());
    for point in entry_points() {
        for test in point.tests.iter().filter(|test| test.contains(".rs::")) {
            assert!(exists(test, &all), "{}: there is no test {test}", point.name);
        }
        let of_a_suite =
            |test: &String| test.starts_with("escape::") || test.starts_with("claim::");
        let strange = point.tests.iter().find(|test| !of_a_suite(test) && !test.contains(".rs::"));
        assert_eq!(strange, None, "{}", point.name);
    }
}

#[test]
fn the_threat_model_has_every_false_claim_and_says_that_it_is_refused() {
    let names = crate::judging::names();
    names_each_once("claim", &names);
    for point in entry_points() {
        let open = [point.full, point.landlock, point.none].contains(&Held::No);
        assert!(point.attacks("claim").next().is_none() || !open, "{}", point.name);
    }
}

#[test]
fn the_level_full_leaves_nothing_open() {
    let points = entry_points();
    let open = points.iter().filter(|point| point.full == Held::No);
    let open: Vec<&str> = open.map(|point| point.name.as_str()).collect();
    assert_eq!(open, Vec::<&str>::new());
}
