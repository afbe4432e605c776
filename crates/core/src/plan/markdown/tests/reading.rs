//! What is a task and what only looks like one.

use super::*;

#[test]
fn every_bullet_may_have_a_checkbox() {
    let text = "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n22) [x] e\n- [ ]\tf\n-\t[ ] g\n- [~] h\n";
    assert_eq!(titles(text), ["a", "x b", "x c", "d", "x e", "f", "g", "h"]);
}

#[test]
fn what_only_looks_like_a_checkbox_is_text() {
    for text in [
        "- [ ]\n",
        "- [ ]   \n",
        "- []\n",
        "- [x](url)\n",
        "[ ] a\n",
        "- [y] a\n",
        "> - [ ] a\n",
        "1234567890. [ ] a\n",
        "    - [ ] a\n",
        "\t- [ ] a\n",
        "text\n    - [ ] a\n",
        "\\- [ ] a\n",
        "- - - [ ]\n",
    ] {
        assert_eq!(titles(text), [""; 0], "{text:?}");
    }
}

#[test]
fn code_comments_quotes_and_front_matter_hold_no_tasks() {
    for hidden in [
        "```\n- [ ] no\n```\n",
        "~~~~ sh\n- [ ] no\n~~~\n```\n- [ ] no\n~~~~~\n",
        "   ```\n   - [ ] no\n   ```\n",
        "````\n```\n- [ ] no\n```\n- [ ] no\n````\n",
        "<!-- - [ ] no -->\n",
        "<!--\n- [ ] no\n\n# no\n- [ ] no\n-->\n",
        "<pre>\n- [ ] no\n</PRE>\n",
        "> - [ ] no\n> # no\n",
        "\n    - [ ] no\n\n    # no\n",
    ] {
        for (before, after) in [("", ""), ("text\n\n", "\n"), ("- [ ] zero\n\n\n# H\n", "")] {
            let text = format!("{before}{hidden}{after}- [ ] yes\n");
            let found = titles(&text);
            assert_eq!(found.last().map(String::as_str), Some("yes"), "{text:?}");
            assert!(!found.iter().any(|title| title == "no"), "{text:?} has {found:?}");
        }
    }
    assert_eq!(titles("---\ntitle: x\nlist:\n- [ ] no\n---\n- [ ] yes\n"), ["yes"]);
    assert_eq!(titles("---\n\n- [ ] yes\n\n---\n"), ["yes"]);
    assert_eq!(titles("---\ntitle: x\n- [ ] yes\n"), ["yes"]);
}

#[test]
fn a_fence_that_is_not_closed_reaches_the_end() {
    assert_eq!(titles("- [ ] a\n\n```\n- [ ] b\n# c\n- [ ] d"), ["a"]);
    assert_eq!(titles("- [ ] a\n<!-- \n- [ ] b\n"), ["a"]);
}

#[test]
fn a_fence_in_an_item_ends_with_the_item() {
    let text = "- [ ] a\n  ```sh\n  - [ ] no\n  ```\n- [ ] b\n  ```\n  - [ ] no\n- [ ] c\n";
    assert_eq!(titles(text), ["a", "b", "c"]);
    let text = "1. [ ] a\n\n   ~~~\n   - [ ] no\n\n   - [ ] no\n   ~~~\n\n   text\n2. [ ] b\n";
    assert_eq!(titles(text), ["a", "b"]);
    let aligned = "- [ ] a\n      ```\n      - [ ] no\n      ```\n- [ ] b\n";
    assert_eq!(titles(aligned), ["a", "b"]);
    assert_eq!(titles("- ```\n  - [ ] no\n  ```\n- [ ] b\n"), ["b"]);
}

/// To CommonMark such a fence stands behind the item: nothing ends it but its end.
#[test]
fn a_fence_left_of_the_text_of_an_item_hides_nothing_behind_its_end() {
    for code in ["  ```sh\nmake\n  ```", "  ```\n  - [ ] no\n```", " ~~~\n\n- [ ] no\n~~~"] {
        let text = format!("1. [ ] a\n{code}\n2. [ ] b\n");
        assert_eq!(titles(&text), ["a", "b"], "{text}");
    }
}

/// To CommonMark these fences are words: the next line goes on with the item, and what is below it is in it.
#[test]
fn a_line_behind_a_fence_that_may_be_words_does_not_end_the_item() {
    let code = "      ```\n      - [ ] no\n      ```\n";
    assert_eq!(titles(&format!("- [ ] a\n{code}text\n    - [ ] b\n")), ["a", ">b"]);
    let less = code.replace("      ", "    ");
    assert_eq!(titles(&format!("  1. - [ ] a\n{less}text\n      - [ ] b\n")), ["a", "b"]);
    assert_eq!(titles(&format!("- [ ] a\n{code}\ntext\n\n    - [ ] code\n")), ["a"]);
}

/// Left of the text of an inner item it may still be in the item around that one.
#[test]
fn a_fence_ends_with_the_innermost_item_that_it_is_in() {
    for code in ["    ```\n    - [ ] no", "    <!--\n    - [ ] no"] {
        let text = format!("- - [ ] a\n  1. [ ] b\n{code}\n- [ ] c\n");
        assert_eq!(titles(&text), ["a", "b", "c"], "{text}");
    }
}

#[test]
fn items_that_are_indented_further_and_further_do_not_vanish() {
    assert_eq!(titles("   - [ ] a\n    - [ ] b\n      - [ ] c\n"), ["a", "b", ">c"]);
    assert_eq!(titles("   - [ ] a\n    <!-- c -->\n      - [ ] b\n"), ["a", ">b"]);
}

#[test]
fn items_nest_by_indentation() {
    let text = "- [ ] a\n  - [x] b\n    - [ ] c\n  - [ ] d\n- [ ] e\n\t- [ ] f\n\t\t- [ ] g\n";
    assert_eq!(titles(text), ["a", ">x b", ">>c", ">d", "e", ">f", ">>g"]);
    let text = "1. [ ] a\n  - [ ] b\n10. [ ] c\n   - [ ] d\n\n   - [ ] e\n";
    assert_eq!(titles(text), ["a", ">b", "c", ">d", ">e"]);
    let text = "- plain\n  - [ ] a\n    - plain\n      - [ ] b\n- [ ]\n  - [ ] c\n";
    assert_eq!(titles(text), ["a", ">b", "c"]);
    assert_eq!(titles("- [ ] a\n        - [ ] b\n"), ["a", ">b"]);
    assert_eq!(titles("1. - [ ] a\n   - [x] b\n"), ["a", "x b"]);
}

#[test]
fn a_body_is_what_stands_below_without_the_parts() {
    let text = "- [ ] a\n  why\n\n  - plain\n  - [ ] b\n    inner\n\n        code\n  more\n\nout\n";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(doc.items[0].body, "why\n\n- plain\n\n\nmore");
    assert_eq!(doc.items[1].body, "inner\n\n    code");
    assert_eq!(&text[doc.items[0].span.clone()], &text[..text.len() - 5]);
    assert_eq!(&text[doc.items[1].span.clone()], "  - [ ] b\n    inner\n\n        code\n");
}

#[test]
fn a_long_title_is_cut_and_kept_whole_in_the_body() {
    let long = "wörd ".repeat(300);
    let text = format!("- [ ] {long}\n  why\n- [ ] tab\there\u{1b}[31m\n");
    let doc = doc(PlanKind::Checklist, &text);
    assert!(doc.items[0].title.ends_with("wörd…"), "{}", doc.items[0].title);
    assert!(crate::text::Title::new(&doc.items[0].title).is_ok());
    assert_eq!(doc.items[0].body, format!("{}\n\nwhy", long.trim()));
    assert_eq!(doc.items[1].title, "tab here[31m");
}

#[test]
fn headings_are_found_in_both_styles() {
    let text =
        "Title\n=====\n\n- [ ] a\n\nSub\n---\n- [ ] b\n\n### Deep ###\n- [ ] c\n#no\n- [ ] d\n";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(doc.name.as_deref(), Some("Title"));
    let groups: Vec<_> = (0..4).map(|i| doc.group_of(i).map(|g| g.title.as_str())).collect();
    assert_eq!(groups, [None, Some("Sub"), Some("Deep"), Some("Deep")]);
    assert_eq!(doc.groups[1].line, 10);
}

#[test]
fn bom_crlf_and_a_missing_last_line_break_are_ordinary() {
    let text = "\u{feff}# T\r\n\r\n- [ ] a\r\n  why\r\n- [x] b";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(shown(&doc), ["a", "x b"]);
    assert_eq!((doc.name.as_deref(), doc.items[0].body.as_str()), (Some("T"), "why"));
    assert_eq!(doc.items[0].line, 3);
    assert_eq!(&text[doc.items[1].span.clone()], "- [x] b");
}

#[test]
fn binary_is_refused_with_its_line() {
    let error = decode(b"a\nb\xff").unwrap_err();
    assert_eq!((error.line, error.problem.contains("binary")), (2, true));
    let error = decode(b"a\n\n\0").unwrap_err();
    assert_eq!((error.line, error.problem.contains("binary")), (3, true));
    assert_eq!(read(PlanKind::Checklist, "\0").unwrap_err().line, 1);
    assert_eq!(decode("# é".as_bytes()), Ok("# é"));
}

#[test]
fn parents_are_due_when_their_parts_are_done() {
    let text = "- [ ] a\n  - [ ] b\n    - [x] c\n  - [x] d\n- [ ] e\n- [ ] f\n  - [ ] g\n";
    let doc = doc(PlanKind::Checklist, text);
    assert_eq!(doc.due_parents(), [1, 0]);
    assert_eq!(doc.parents(), [true, true, false, false, false, true, false]);
    assert!(has_children(&doc, 5) && !has_children(&doc, 4));
}
