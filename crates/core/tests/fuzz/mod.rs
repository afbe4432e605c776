//! Changes plans at random and checks what must hold for any text.

use ralph_core::plan::markdown::{
    AttemptNote, Known, LogRow, PlanKind, apply, content_ids, identify, inverse, printed, read,
};

/// Real-looking plans, with the names of their files.
pub(crate) const PLANS: [(&str, &str); 15] = [
    ("branches-plain.md", include_str!("../plans/branches-plain.md")),
    ("branches-crlf-bom.md", include_str!("../plans/branches-crlf-bom.md")),
    ("progress-full.md", include_str!("../plans/progress-full.md")),
    ("progress-done-crlf.md", include_str!("../plans/progress-done-crlf.md")),
    ("progress-sparse.md", include_str!("../plans/progress-sparse.md")),
    ("progress-setext.md", include_str!("../plans/progress-setext.md")),
    ("checklist-mixed-bullets.md", include_str!("../plans/checklist-mixed-bullets.md")),
    ("checklist-nested.md", include_str!("../plans/checklist-nested.md")),
    ("checklist-hidden.md", include_str!("../plans/checklist-hidden.md")),
    ("checklist-unicode.md", include_str!("../plans/checklist-unicode.md")),
    ("checklist-headings.md", include_str!("../plans/checklist-headings.md")),
    ("checklist-prose.md", include_str!("../plans/checklist-prose.md")),
    ("checklist-duplicates.md", include_str!("../plans/checklist-duplicates.md")),
    ("checklist-loose.md", include_str!("../plans/checklist-loose.md")),
    ("checklist-frontmatter.md", include_str!("../plans/checklist-frontmatter.md")),
];

/// Pieces that are put in: what the grammar of a plan is made of.
const PIECES: [&str; 24] = [
    "\n",
    "\r\n",
    "\t",
    "    ",
    "- [ ] ",
    "- [x] ",
    "```\n",
    "~~~",
    "<!--",
    "-->",
    "> ",
    "# ",
    "## Tasks\n",
    "## Status\n",
    "### Iteration 3\n",
    "## Branch: x\n",
    "---\n",
    "|",
    "RALPH_DONE\n",
    "\u{feff}",
    "é",
    "**Status:** done\n",
    "### Task 4: t\n",
    "1. ",
];

/// SplitMix64: a seed gives the same changes everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}

/// A plan with a few changes.
fn mutated(random: &mut Random) -> String {
    let mut text = PLANS[random.below(PLANS.len())].1.to_owned();
    for _ in 0..=random.below(8) {
        let place = |random: &mut Random, text: &str| {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (place(random, &text), place(random, &text));
        let (start, end) = (a.min(b), a.max(b));
        match random.below(5) {
            0 => text.insert_str(start, PIECES[random.below(PIECES.len())]),
            1 => {
                // The start of a line is where most pieces mean something.
                let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
                text.insert_str(line, PIECES[random.below(PIECES.len())]);
            }
            2 if end - start < 60 => text.replace_range(start..end, ""),
            3 if end - start < 400 => {
                let copy = text[start..end].to_owned();
                text.insert_str(start, &copy);
            }
            _ => {
                let other = PLANS[random.below(PLANS.len())].1;
                let line = random.below(other.lines().count());
                let line = other.lines().nth(line).unwrap_or_default();
                text.insert_str(start, line);
            }
        }
    }
    text
}

/// One round: what must hold is asserted.
pub(crate) fn round(random: &mut Random) {
    let text = mutated(random);
    assert_eq!(apply(&text, &[]).as_deref(), Ok(text.as_str()));
    let found = PlanKind::of("plan.md", &text);
    for kind in [PlanKind::Branches, PlanKind::Progress, PlanKind::Checklist] {
        let Ok(doc) = read(kind, &text) else { continue };
        for (index, item) in doc.items.iter().enumerate() {
            assert!(item.span.end <= text.len() && !item.title.trim().is_empty(), "{text:?}");
            let edit = doc.set_done(index, !item.is_done()).unwrap_or_else(|| panic!("{text:?}"));
            let edits = [edit];
            let ticked = apply(&text, &edits).unwrap_or_else(|e| panic!("{e}: {text:?}"));
            let back = inverse(&text, &edits).and_then(|back| apply(&ticked, &back));
            assert_eq!(back.as_deref(), Ok(text.as_str()));
            let after = read(kind, &ticked).unwrap_or_else(|e| panic!("{e}: {ticked:?}"));
            assert_eq!(after.items.len(), doc.items.len(), "{text:?}");
            for (other, (before, after)) in doc.items.iter().zip(&after.items).enumerate() {
                assert_eq!(before.title, after.title, "{text:?}");
                assert_eq!(before.is_done() != after.is_done(), other == index, "{text:?}");
            }
            let odd = doc.warnings.iter().any(|warning| warning.line == item.line);
            if item.label.is_none() && !odd {
                assert_eq!(ticked.len(), text.len());
                let differing = text.bytes().zip(ticked.bytes()).filter(|(a, b)| a != b).count();
                assert_eq!(differing, 1, "{text:?}");
            }
        }
        let known = content_ids(&doc).into_iter().zip(&doc.items).enumerate();
        let known = known.map(|(index, (id, item))| Known {
            id,
            title: item.title.clone(),
            body: item.body.clone(),
            group: doc.group_of(index).map(|group| group.title.clone()),
            done: item.is_done(),
        });
        let known: Vec<Known> = known.collect();
        assert!(identify(&known, &doc).gone.is_empty(), "{text:?}");
        if let Ok(other) = read(kind, &mutated(random)) {
            let pairs = identify(&known, &other);
            let paired = pairs.items.iter().flatten().count();
            assert_eq!(paired + pairs.gone.len(), known.len(), "{text:?}");
        }
        if kind == PlanKind::Progress {
            progress(random, &text, found == kind);
        }
    }
}

/// What is written into a progress file leaves its tasks alone.
fn progress(random: &mut Random, text: &str, is_progress: bool) {
    let Ok(doc) = read(PlanKind::Progress, text) else { return };
    let titles: Vec<&str> = doc.items.iter().map(|item| item.title.as_str()).collect();
    let note = AttemptNote { iteration: 9, tried: "t".into(), result: "r".into(), next: None };
    let row = LogRow { iteration: 9, notes: "a | b".into(), ..LogRow::default() };
    for edits in [
        doc.record_attempt(text, &note, random.below(4)),
        doc.log_row(text, &row),
        doc.set_completed(text, &["- [ ] x".into()]),
        doc.set_status(text, "RALPH_DONE"),
    ] {
        let after = apply(text, &edits).unwrap_or_else(|e| panic!("{e}: {text:?}"));
        let back = inverse(text, &edits).and_then(|back| apply(&after, &back));
        assert_eq!(back.as_deref(), Ok(text));
        let read = read(PlanKind::Progress, &after).unwrap_or_else(|e| panic!("{e}: {after:?}"));
        let now: Vec<&str> = read.items.iter().map(|item| item.title.as_str()).collect();
        assert_eq!(now, titles, "{text:?} became {after:?}");
    }
    if let Some(asked) = printed(&doc, text, &mutated(random)) {
        assert!(asked.ticked.iter().all(|item| !doc.items[*item].is_done()), "{text:?}");
    }
    if is_progress && let Some(asked) = printed(&doc, text, text) {
        assert!(asked.ticked.is_empty(), "{text:?}");
    }
}
