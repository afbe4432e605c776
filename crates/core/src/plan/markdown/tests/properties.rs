//! What holds for any text.

use proptest::prelude::*;

use super::*;

/// Pages made of the pieces that matter, in any order and indentation.
fn page() -> impl Strategy<Value = String> {
    const PIECES: [&str; 50] = [
        "- [ ] a",
        "- [x] b",
        "* [X] c",
        "1. [ ] d",
        "2) [x] e",
        "- [ ]",
        "- f",
        "text",
        "> - [ ] q",
        "```",
        "~~~~",
        "````sh",
        "<!--",
        "-->",
        "<!-- c -->",
        "---",
        "===",
        "# Progress: p",
        "## Status",
        "## Tasks",
        "### Phase",
        "## Recent Attempts",
        "### Iteration 2",
        "- Tried: x",
        "- Result: y",
        "## Iteration Log",
        "| Iteration | Notes |",
        "|---|---|",
        "RALPH_DONE",
        "## Branch: b",
        "## Branch: c",
        "Goal: g",
        "### Task 1: t",
        "**Status:** done",
        "**Status:** planned",
        "**Dependencies:** Task 1",
        "- - [ ] g",
        "ünï 設計",
        "## Completed This Iteration",
        "<pre>",
        "- [!] m",
        "- [-] n",
        "- [b] o",
        "### 2. [ ] h",
        "#### i [x]",
        "| [ ] | r |",
        "| s | [x] |",
        "| t | [?] |",
        "- [^1] note",
        "- [Go](url)",
    ];
    let indent = prop_oneof![
        6 => Just(""), 2 => Just("  "), 1 => Just("    "), 1 => Just("\t"), 1 => Just("      "), 1 => Just(" ")
    ];
    let end = prop_oneof![8 => Just("\n"), 3 => Just("\n\n"), 2 => Just("\r\n"), 1 => Just(" \n")];
    let line = (indent, prop::sample::select(PIECES.to_vec()), end)
        .prop_map(|(indent, piece, end)| format!("{indent}{piece}{end}"));
    let bom = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    (bom, prop::collection::vec(line, 0..25), any::<bool>()).prop_map(|(bom, lines, cut)| {
        let text = format!("{bom}{}", lines.concat());
        if cut { text.trim_end().to_owned() } else { text }
    })
}

fn kinds(text: &str) -> impl Iterator<Item = (PlanKind, PlanDoc)> {
    [PlanKind::Branches, PlanKind::Progress, PlanKind::Checklist]
        .into_iter()
        .filter_map(move |kind| read(kind, text).ok().map(|doc| (kind, doc)))
}

/// All there is to know of a plan but where it stands and the tick of one item.
fn rest(mut doc: PlanDoc, item: usize) -> PlanDoc {
    doc.items[item].mark = Mark::Open;
    doc.items[item].status = None;
    let line = doc.items[item].line;
    doc.warnings.retain(|warning| warning.line != line);
    doc
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_to_do_changes_nothing(text in page()) {
        prop_assert_eq!(apply(&text, &[]).unwrap(), text);
    }

    #[test]
    fn places_are_in_the_text_and_in_order(text in page()) {
        for (_, doc) in kinds(&text) {
            let mut last = 0;
            for (index, item) in doc.items.iter().enumerate() {
                prop_assert!(last <= item.span.start && item.span.end <= text.len());
                last = item.span.start;
                let line = text[..item.span.start].matches('\n').count() + 1;
                prop_assert_eq!(line, item.line);
                if let Some(parent) = item.parent {
                    let span = &doc.items[parent].span;
                    prop_assert!(span.start < item.span.start && item.span.end <= span.end);
                    prop_assert!(parent < index && has_children(&doc, parent));
                }
                prop_assert_eq!(has_children(&doc, index), doc.parents()[index]);
                prop_assert!(crate::text::Title::new(&item.title).is_ok());
            }
        }
    }

    #[test]
    fn a_tick_changes_one_byte_and_one_item(text in page()) {
        for (kind, before) in kinds(&text) {
            for (index, item) in before.items.iter().enumerate() {
                let edit = before.set_done(index, !item.is_done()).unwrap();
                let ticked = apply(&text, std::slice::from_ref(&edit)).unwrap();
                let after = read(kind, &ticked).unwrap();
                prop_assert_eq!(after.items[index].is_done(), !item.is_done());
                if item.label.is_some() {
                    continue;
                }
                let differing = text.bytes().zip(ticked.bytes()).filter(|(a, b)| a != b).count();
                prop_assert_eq!((differing, text.len()), (1, ticked.len()));
                let back = after.set_mark(index, item.mark).unwrap();
                let back = apply(&ticked, &[back]).unwrap();
                prop_assert_eq!(back.to_lowercase(), text.to_lowercase());
                prop_assert_eq!(rest(after, index), rest(before.clone(), index));
            }
        }
    }

    #[test]
    fn what_is_written_keeps_every_line_that_is_not_ours(text in page(), keep in 0..4_usize) {
        let Ok(doc) = read(PlanKind::Progress, &text) else { return Ok(()) };
        let note = AttemptNote { iteration: 9, tried: "t".into(), result: "r".into(), next: None };
        let row = LogRow { iteration: 9, notes: "a|b".into(), ..LogRow::default() };
        for edits in [doc.record_attempt(&text, &note, usize::MAX), doc.log_row(&text, &row)] {
            let after = apply(&text, &edits).unwrap();
            prop_assert_eq!(apply(&after, &inverse(&text, &edits).unwrap()).unwrap(), text.as_str());
            // Lines are only added: the old ones are all there, in their order.
            let mut lines = after.trim_start_matches('\u{feff}').lines();
            for line in text.trim_start_matches('\u{feff}').lines() {
                prop_assert!(lines.any(|found| found == line), "{line:?} is lost in {after:?}");
            }
        }
        // These are checkboxes only beside others, which may stand in what is replaced.
        if doc.items.iter().any(|item| item.mark.needs_company()) {
            return Ok(());
        }
        let tasks: Vec<&str> = doc.items.iter().map(|item| &text[item.span.clone()]).collect();
        let all = [
            doc.record_attempt(&text, &note, keep),
            doc.set_completed(&text, &["- [ ] x".into()]),
            doc.set_status(&text, "fine"),
        ];
        for edits in all {
            let after = apply(&text, &edits).unwrap();
            let read = read(PlanKind::Progress, &after).unwrap();
            let now: Vec<&str> = read.items.iter().map(|item| &after[item.span.clone()]).collect();
            prop_assert_eq!(now.len(), tasks.len(), "{}", after);
            for (now, then) in now.iter().zip(&tasks) {
                // Code that was not closed is, before a section is written behind it.
                let added = now.trim_end().strip_prefix(then.trim_end()).map(str::trim);
                let closing = ["", "-->", "```", "~~~~", "````", "</pre>"];
                prop_assert!(added.is_some_and(|added| closing.contains(&added)), "{}", after);
            }
        }
    }

    #[test]
    fn a_plan_is_identified_with_itself(text in page()) {
        for (_, doc) in kinds(&text) {
            let known: Vec<Known> = content_ids(&doc).into_iter().zip(&doc.items).enumerate()
                .map(|(index, (id, item))| Known {
                    id, title: item.title.clone(), body: item.body.clone(),
                    group: doc.group_of(index).map(|group| group.title.clone()), done: item.is_done(),
                })
                .collect();
            let found = identify(&known, &doc);
            prop_assert!(found.gone.is_empty());
            prop_assert!(found.items.iter().enumerate().all(|(n, old)| *old == Some(n)));
        }
    }
}

/// Much of what is hardest, each read in a moment: a scan that looked back would not end.
#[test]
fn a_large_page_is_read_in_one_pass() {
    let size = 1 << 17;
    let deep: String = (0..1_000).map(|n| format!("{}- [ ] a\n", "  ".repeat(n))).collect();
    for piece in [
        "- [ ] a\n",
        "- ",
        "```\n",
        "<!--\n",
        "> ",
        "#",
        "    ",
        "- [ ] a\n  - [ ] b\n\n  why\n",
        "|",
        "\n",
        "[",
        "<pre>",
        "* * a",
    ] {
        let text = piece.repeat(size / piece.len());
        for kind in [PlanKind::Branches, PlanKind::Progress, PlanKind::Checklist] {
            let _ = read(kind, &text);
        }
    }
    assert_eq!(doc(PlanKind::Checklist, &deep).items.len(), 1_000);
}

proptest! {
    /// One branch of a plan: its items alone, in order, and what is changed in it is changed in the whole text.
    #[test]
    fn a_branch_of_a_plan_is_a_part_of_it(text in page(), pick in any::<prop::sample::Index>()) {
        let text = format!("## Branch: a\n- [ ] z\n  - [x] y\n\n{text}");
        let Ok(whole) = read(PlanKind::Branches, &text) else { return Ok(()) };
        let branch = pick.get(&whole.groups).title.clone();
        let part = whole.clone().only(&branch);
        let own = (0..whole.items.len())
            .filter(|at| whole.group_of(*at).is_some_and(|group| group.title == branch));
        let own: Vec<usize> = own.collect();
        prop_assert_eq!(part.items.len(), own.len());
        for (at, item) in part.items.iter().enumerate() {
            let there = &whole.items[own[at]];
            prop_assert_eq!((&item.title, item.is_done(), &item.span), (&there.title, there.is_done(), &there.span));
            let parent = item.parent.map(|parent| part.items[parent].line);
            prop_assert_eq!(parent, there.parent.map(|parent| whole.items[parent].line));
            prop_assert_eq!(part.set_done(at, !item.is_done()), whole.set_done(own[at], !item.is_done()));
        }
        prop_assert_eq!(part.again(&text).unwrap(), part.clone());
        prop_assert_eq!(whole.only("no such branch").items.len(), 0);
    }
}
