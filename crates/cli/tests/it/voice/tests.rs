//! The parts of the search, each by itself.

use std::rc::Rc;

use super::exceptions::Exception;
use super::matching::Pattern;
use super::passage::Passage;
use super::rules::RULES;
use super::rust::{TextKind, pieces};
use super::sources::{Reader, Source};
use super::{Search, concerns, script, sources};

/// What the rules forbid in a page, in order.
fn forbidden(text: &str, reader: Reader) -> Vec<String> {
    let mut search = Search::new();
    let passage = Passage::of(text).of_markdown();
    let whole: Rc<str> = text.into();
    search.read(&Source { file: "docs/page.md".to_owned(), whole, reader, passage });
    search.hits.iter().map(|hit| format!("{}:{}", hit.line, hit.words)).collect()
}

#[test]
fn phrases_are_found_over_lines_and_in_links_but_not_in_code() {
    let table: [(&str, &[&str]); 17] = [
        ("It runs in the box.", &["1:box"]),
        ("The sandbox, a checkbox, a boxer.", &[]),
        ("The agent's box's Box", &["1:box's", "1:Box"]),
        ("The next session is\ntold why.", &["1:is told"]),
        ("It is told once. It is\n\ntold by you.", &["1:is told", "3:told by"]),
        ("You are [told](docs/told.md) so.", &["1:are told"]),
        ("See `the box`, `.ralph/box/` and [page](docs/box.md).", &[]),
        ("Below .ralph/box/, box.rs, x.box, --box, BOX_SIZE, a::box.", &[]),
        ("```sh\nmend the box\n```\nIt mends.", &["4:mends"]),
        ("{% if box %}the {{ box }} is {box}{% endif %}", &[]),
        ("It is no file. There is no file. It is no longer there.", &["1:is no"]),
        ("That is no.", &[]),
        ("ralph put 1 file back.", &["1:put 1 file back"]),
        ("a file of yours, on top of yours", &["1:of yours"]),
        ("ralph stores it, and may store it in the store", &["1:store"]),
        ("every task is settled", &["1:settled"]),
        ("colour, color, cancelled", &["1:colour"]),
    ];
    for (text, expected) in table {
        assert_eq!(forbidden(text, Reader::User), expected, "{text}");
    }
}

#[test]
fn words_that_are_names_in_the_code_may_be_in_its_documentation() {
    assert_eq!(forbidden("The store is settled in the box.", Reader::Developer), ["1:box"]);
    assert_eq!(forbidden("Where.", Reader::Programmer), ["1:Where"]);
    assert!(forbidden("Where.", Reader::Developer).is_empty());
    assert!(forbidden("Where the log is.", Reader::Programmer).is_empty());
}

#[test]
fn strings_and_doc_comments_are_separated_from_code() {
    let code = r##"//! Of the
//! file.
/// Of `f`.
// Of nobody.
fn f<'a>(x: &'a str) { g("one \"two\" \
    three", 'x', '"', '\'', r#"four " five"#, b"six"); /* "seven" */ }
#[cfg(test)]
mod tests { fn t() { g("eight"); } }
#[cfg(test)]
use x::y;
fn h() { g("nine"); }
"##;
    let found: Vec<_> = pieces(code)
        .iter()
        .map(|piece| (piece.kind, piece.in_test, piece.passage.first_line(), piece.passage.text()))
        .collect();
    let string = |in_test, line, text: &str| (TextKind::String, in_test, line, text.to_owned());
    let doc = |line, text: &str| (TextKind::Doc, false, line, text.to_owned());
    assert_eq!(
        found,
        [
            doc(1, "Of the\nfile.\n"),
            doc(3, "Of `f`.\n"),
            string(false, 5, "one \"two\" three"),
            string(false, 6, "four \" five"),
            string(false, 6, "six"),
            string(true, 8, "eight"),
            string(false, 11, "nine"),
        ]
    );
}

#[test]
fn strings_and_comments_of_a_script_are_separated_from_code() {
    let code = r##"// Of the
// file.
const a = b.split(/["'`/]/g) / 2; /** Of `a`.
 * On. */
go('one \'two\'', "three \u00a0", `four ${h('five', `six ${b}`)} seven
eight`); const c = { d: 1 / 2 / 3 };
if (/'x'/.test(c)) return /`/ ?? 'nine';
"##;
    let found: Vec<_> = script::of_script(code)
        .iter()
        .map(|piece| (piece.kind, piece.passage.first_line(), piece.passage.text()))
        .collect();
    let string = |line, text: &str| (TextKind::String, line, text.to_owned());
    let doc = |line, text: &str| (TextKind::Doc, line, text.to_owned());
    assert_eq!(
        found,
        [
            doc(1, " Of the\n file.\n"),
            doc(3, "  Of `a`.\n   On. "),
            string(5, "one 'two'"),
            string(5, "three …"),
            string(5, "five"),
            string(5, "six §"),
            string(5, "four § seven\neight"),
            string(7, "nine"),
        ]
    );
}

#[test]
fn texts_and_attributes_of_html_are_separated_from_markup() {
    let html = "<!-- Of the file. -->\n<p class=\"a b\" title=\"one two\">three <b>four&nbsp;five</b>\n</p>\n<script>var six = 'seven';</script><i>eight</i>";
    let pieces = script::of_html(html);
    let found: Vec<_> = pieces
        .iter()
        .map(|piece| (piece.kind, piece.passage.first_line(), piece.passage.text()))
        .collect();
    let string = |line, text: &str| (TextKind::String, line, text.to_owned());
    assert_eq!(
        found,
        [
            (TextKind::Doc, 1, " Of the file. ".to_owned()),
            string(2, "one two"),
            string(2, "three "),
            string(2, "four five"),
            string(4, "eight"),
        ]
    );
}

#[test]
fn the_rules_see_what_the_page_says() {
    let found = |file: &str, text: &str| {
        let mut search = Search::new();
        sources::of_the_page(file, text).iter().for_each(|source| search.read(source));
        search.hits.iter().map(|hit| format!("{}:{}", hit.line, hit.words)).collect::<Vec<_>>()
    };
    let script = "// In the box.\nconst box = 'box';\nbutton('Open the box');\nsay(`${count(box)} are told`);\nsay(`The ${box} is\nsettled`);\n";
    assert_eq!(found("page/app.js", script), ["1:box", "3:box", "4:are told", "6:settled"]);
    let html = "<div class=\"the box\" aria-label=\"The box\">\n<p>Box</p></div>";
    assert_eq!(found("page/index.html", html), ["1:box", "2:Box"]);
    let read = sources::in_the_repository();
    for file in
        ["crates/web/page/app.js", "crates/web/page/js/words.js", "crates/web/page/index.html"]
    {
        assert!(read.iter().any(|source| source.file == file), "{file} is not read");
    }
}

#[test]
fn only_the_comments_of_a_settings_file_are_read() {
    let text = "# The box.\nbox = \"the box\" # and a box\n  # A box\n";
    let words = Passage::of(text).of_toml().words();
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    assert_eq!(words, ["the", "box", "a", "box"]);
}

#[test]
fn every_pattern_finds_its_own_words() {
    for rule in RULES {
        assert!(!rule.say.is_empty());
        for text in rule.not {
            let words = text.split(' ').filter(|word| !word.starts_with('!'));
            let first = |word: &str| match word.split('|').next().unwrap() {
                "*" => "any".to_owned(),
                word => word.trim_end_matches('*').to_owned(),
            };
            let phrase: Vec<String> = words.map(first).collect();
            let words = Passage::of(&format!("{} it", phrase.join(" "))).words();
            assert_eq!(Pattern::parse(text).length_at(&words, 0), Some(phrase.len()), "{text}");
        }
    }
}

#[test]
fn an_exception_is_about_a_file_or_about_many() {
    let of = |file| Exception { file, words: "box", reason: "a test" };
    assert!(concerns(&of("docs/a.md"), "docs/a.md"));
    assert!(!concerns(&of("docs/a.md"), "docs/b.md"));
    assert!(concerns(&of("docs/*.md"), "docs/design/b.md"));
    assert!(!concerns(&of("docs/*.md"), "crates/a.md"));
}
