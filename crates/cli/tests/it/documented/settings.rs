//! Settings in the pages: ralph accepts every block of TOML where its page says that it goes.

use super::pages;
use crate::env;

/// The blocks of TOML of a page, each with the paragraph before it.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut parts = page.split("```toml\n");
    let mut before = parts.next().unwrap_or_default();
    let mut found = vec![];
    for part in parts {
        let (block, rest) = part.split_once("```").unwrap_or((part, ""));
        found.push((before.trim_end().rsplit("\n\n").next().unwrap_or_default(), block));
        before = rest;
    }
    found
}

#[test]
fn every_block_of_settings_in_the_pages_is_valid_where_it_goes() {
    let env = env();
    let own = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let mut seen = 0;
    for (name, text) in pages() {
        for (before, block) in blocks(&text) {
            seen += 1;
            std::fs::write(&own, block).unwrap();
            let as_own = env.ralph(&["config", "check"]);
            std::fs::remove_file(&own).unwrap();
            assert_eq!(as_own.code, 0, "{name}: {}\n{block}", as_own.stderr);
            let file = env.write("ralph.toml", block);
            let as_shared = env.ralph(&["config", "check"]);
            std::fs::remove_file(file).unwrap();
            let says_own = [before, block].iter().any(|text| text.contains("config"));
            assert!(
                as_shared.code == 0 || says_own,
                "{name}: these settings go into your own config file, and the page does not say so\n{block}"
            );
        }
    }
    assert!(seen > 15, "only {seen} blocks were found");
}
