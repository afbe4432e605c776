//! Names of branches: what ralph accepts, git accepts.

use std::process::Command;

use proptest::prelude::*;
use ralph_core::branch::{BranchError, BranchName};

use crate::kit::Repo;

fn git_accepts(text: &str) -> bool {
    let asked = Command::new("git").args(["check-ref-format", "--branch", text]).output().unwrap();
    asked.status.success() && asked.stdout == format!("{text}\n").as_bytes()
}

/// Pieces that matter to git, and some that matter only to people.
fn names() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => prop::sample::select(vec!["a", "B", "feat", "x1", "ü", "日", "-", "_", "#", "$(x)"]),
        2 => prop::sample::select(vec!["/", ".", "@", "{", "}", ".lock", ".LOCK", "HEAD"]),
        1 => prop::sample::select(vec![
            "..", "@{", "//", "~", "^", ":", "?", "*", "[", "\\", " ", "\t", "\u{7f}", "\u{1}", "\u{200b}",
            "refs/", "-",
        ]),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_name_that_ralph_accepts_is_one_for_git(text in names()) {
        match BranchName::new(&text) {
            Ok(_) => prop_assert!(git_accepts(&text), "git refuses {text:?}"),
            // Where ralph is stricter.
            Err(BranchError::Taken { .. } | BranchError::TooLong { .. }) => {}
            Err(BranchError::Character { found }) if found as u32 > 0x7f => {}
            Err(BranchError::Part { part, .. }) if part.ends_with(".LOCK") || part.ends_with('.') => {}
            Err(error) => prop_assert!(!git_accepts(&text), "git accepts {text:?}, but {error}"),
        }
    }
}

#[test]
fn git_makes_branches_of_the_oddest_names() {
    let repo = Repo::new();
    for text in ["größe", "日本語", "a;$(touch${IFS}x)", "a@b", "x/-b", "{a}", "fix#7"] {
        let name = BranchName::new(text).unwrap();
        repo.git(&["branch", name.as_str()]);
        repo.git(&["rev-parse", "--verify", &format!("refs/heads/{name}")]);
    }
    assert!(!repo.exists("x"), "no shell saw a name");
}
