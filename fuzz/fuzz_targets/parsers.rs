//! The fuzzer: bytes for the parser that RALPH_FUZZ names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../targets.rs"]
mod targets;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("RALPH_FUZZ").unwrap_or_default();
    let found = targets::ALL.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("RALPH_FUZZ must name a parser, not {name:?}")).1
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
