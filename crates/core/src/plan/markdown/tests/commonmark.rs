//! The reader beside a parser of CommonMark: which lines are items of task lists.
//!
//! In tidy pages both call the same lines tasks; in pages of any indentation the reader finds all that
//! CommonMark finds. It accepts more on purpose: the last test lists the differences with their reasons.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

/// The lines of the task list items that CommonMark finds, and whether each is ticked. Items in quotations
/// are left out: the reader takes those for quoted words.
fn expected(text: &str) -> BTreeMap<usize, bool> {
    let mut found = BTreeMap::new();
    let mut quotes = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Event::TaskListMarker(ticked) if quotes == 0 => {
                let line = 1 + text[..range.start].matches('\n').count();
                found.insert(line, ticked);
            }
            _ => {}
        }
    }
    found
}

/// The lines of the checkboxes that the reader finds.
fn found(text: &str) -> BTreeMap<usize, bool> {
    let doc = doc(PlanKind::Checklist, text);
    doc.items.iter().map(|item| (item.line, item.is_done())).collect()
}

/// Lines in any indentation, as people leave them behind. Code is closed where it was opened, and a quotation
/// ends with a blank line.
fn rough_page() -> impl Strategy<Value = String> {
    const PIECES: [&str; 25] = [
        "- [ ] a",
        "- [x] b",
        "* [X] c",
        "+ [ ] d",
        "1. [ ] e",
        "2. [x] f",
        "3) [ ] g",
        "- h",
        "1. i",
        "text",
        "more text",
        "<!-- c -->",
        "# H",
        "## H",
        "---",
        "***",
        "===",
        "> quote\n",
        "> - [ ] q\n",
        "- - [ ] j",
        "1. - [x] k",
        "```\n- [ ] no\n```",
        "~~~ sh\ntext\n~~~",
        "````\n```\n- [ ] no\n````",
        "<!--\n- [ ] no\n-->",
    ];
    let indent = prop_oneof![
        8 => Just(""), 3 => Just("  "), 2 => Just("   "), 2 => Just("    "), 1 => Just("\t"),
        1 => Just("      "), 1 => Just(" ")
    ];
    let end = prop_oneof![8 => Just("\n"), 4 => Just("\n\n")];
    let line =
        (indent, prop::sample::select(PIECES.to_vec()), end).prop_map(|(indent, piece, end)| {
            let lines: Vec<String> = piece.lines().map(|line| format!("{indent}{line}")).collect();
            let gap = if piece.ends_with('\n') { "\n" } else { "" };
            format!("{}{gap}{end}", lines.join("\n"))
        });
    prop::collection::vec(line, 0..12).prop_map(|lines| format!("# Page\n\n{}", lines.concat()))
}

/// Blocks as markdown wants them: what is in an item stands below its text.
fn block() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "text",
        "two\nlines",
        "# Heading",
        "***",
        "```\n- [ ] no\n\n# no\n```",
        "~~~ sh\n- [x] no\n~~~",
        "<!-- - [ ] no -->",
        "<!--\n\n- [ ] no\n-->",
        "> - [ ] no",
        "| a | b |",
        "[link](x) and `- [ ] no`",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 5, |inner| {
        let bullet = prop::sample::select(vec!["- ", "* ", "+ ", "-   ", "1. ", "1) ", "1.  "]);
        let mark = prop::sample::select(vec!["", "[ ] ", "[x] ", "[X] "]);
        let item = (mark, prop::collection::vec(inner, 0..3), any::<bool>());
        (bullet, prop::collection::vec(item, 1..4)).prop_map(|(bullet, items)| {
            let below = " ".repeat(bullet.len());
            let item = |(mark, blocks, loose): (&str, Vec<String>, bool)| {
                let gap = if loose { "\n\n" } else { "\n" };
                let mut text = format!("{bullet}{mark}words");
                for block in blocks {
                    // A paragraph goes on with what stands right below it.
                    let gap = if block.starts_with(['1', '|', '[', 't']) { "\n\n" } else { gap };
                    let lines = block.lines().map(|line| match line {
                        "" => String::new(),
                        line => format!("{below}{line}"),
                    });
                    text.push_str(gap);
                    text.push_str(&lines.collect::<Vec<_>>().join("\n"));
                }
                text
            };
            items.into_iter().map(item).collect::<Vec<_>>().join("\n")
        })
    })
}

fn tidy_page() -> impl Strategy<Value = String> {
    prop::collection::vec(block(), 0..6).prop_map(|blocks| blocks.join("\n\n") + "\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn in_a_tidy_page_the_same_lines_are_tasks(text in tidy_page()) {
        prop_assert_eq!(found(&text), expected(&text), "{}", text);
    }

    #[test]
    fn no_task_of_a_rough_page_vanishes(text in rough_page()) {
        let found = found(&text);
        for (line, ticked) in expected(&text) {
            prop_assert_eq!(found.get(&line), Some(&ticked), "line {} of\n{}", line, text);
        }
    }
}

/// What the reader takes for a task and CommonMark does not, or the other way round.
#[test]
fn the_differences_from_commonmark_are_these() {
    let rows: [(&str, &str, &[usize], &[usize]); 10] = [
        ("people number on below a line of text", "text\n2. [ ] a\n", &[], &[2]),
        (
            "two columns are enough to be inside of an item",
            "  1. [ ] a\n    - [ ] b\n",
            &[1],
            &[1, 2],
        ),
        ("an item may be indented too far", "- [ ] a\n      - [ ] b\n", &[1], &[1, 2]),
        ("also below one that is itself", "   - [ ] a\n    - [ ] b\n", &[1], &[1, 2]),
        ("tags hide nothing but code and comments", "<details>\n- [ ] a\n</details>\n", &[], &[2]),
        ("the end of a fence may be indented, too", "  ~~~\n    ~~~\n- [ ] a\n", &[], &[3]),
        ("front matter is not the page", "---\nlist: x\n- [ ] a\n---\n", &[3], &[]),
        // It hides less or more where code is never closed: nobody can tell what was meant.
        ("an open fence may be indented too far", "- [ ] a\n      ```\n  - [ ] b\n", &[1, 3], &[1]),
        ("a line below a quotation is not part of it", "- > q\nx\n    - [ ] b\n", &[3], &[]),
        ("a quotation is what somebody else says", "> - [ ] a\n", &[], &[]),
    ];
    for (reason, text, commonmark, reader) in rows {
        let lines = |tasks: BTreeMap<usize, bool>| tasks.into_keys().collect::<Vec<_>>();
        assert_eq!(lines(expected(text)), commonmark, "{reason}: CommonMark, {text:?}");
        assert_eq!(lines(found(text)), reader, "{reason}: the reader, {text:?}");
    }
}
