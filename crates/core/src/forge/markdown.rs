//! Texts from outside in ralph's markdown, escaped so that they stay text: they cannot start or end a block,
//! mention a user or close an issue.

use crate::text::{printable, printable_line};

/// A part of a line: at most `max` characters, without meaning as markdown or HTML.
pub(super) fn inline(text: &str, max: usize) -> String {
    let text = one_line(text, max);
    let chars: Vec<char> = text.chars().collect();
    let mut shown = String::with_capacity(text.len());
    for (at, &c) in chars.iter().enumerate() {
        let before = &chars[..at];
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' => shown.extend(['\\', c]),
            _ => shown.push(c),
        }
        // Names after them would be mentioned, numbers linked, and issues closed by the merge.
        if matches!(c, '@' | '#') || ends_link(before, c) {
            shown.push_str("&#8203;");
        }
    }
    shown
}

/// The beginnings of `GH-12` and of the address of an issue, which mean the same as `#12`.
fn ends_link(before: &[char], c: char) -> bool {
    let tail = |n: usize| before[before.len().saturating_sub(n)..].iter().collect::<String>();
    match c {
        '-' => tail(2).eq_ignore_ascii_case("gh"),
        '/' => ["/issues", "/pull"].iter().any(|word| tail(word.len()).eq_ignore_ascii_case(word)),
        _ => false,
    }
}

/// A short text as code.
pub(super) fn code(text: &str, max: usize) -> String {
    let text = one_line(text, max);
    if text.is_empty() {
        return "``".to_owned();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Lines as they are, between fences that none of them can end.
pub(super) fn block(text: &str, max: usize) -> String {
    let text = cut(printable(text).trim_end(), max);
    // ralph finds its own part by these words at the start of a line.
    let text = text.replace("<!--", "<! --");
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}text\n{text}\n{fence}")
}

/// One printable line with single spaces.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let words: Vec<_> = printable_line(text).split_whitespace().map(str::to_owned).collect();
    cut(&words.join(" "), max)
}

/// At most so many characters; one that stands for the others is among them.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_a_line_means_nothing_to_markdown() {
        let shown = inline("**x** `y` [l](http://e.org) <script> a|b\n# next &amp; 1", 200);
        let expected = "\\*\\*x\\*\\* \\`y\\` \\[l\\](http://e.org) &lt;script&gt; a\\|b \
                        #&#8203; next &amp;amp; 1";
        assert_eq!(shown, expected);
    }

    #[test]
    fn no_user_is_mentioned_and_no_issue_closed() {
        assert_eq!(inline("thanks @ada, fixes #12", 99), "thanks @&#8203;ada, fixes #&#8203;12");
        assert_eq!(inline("closes GH-7", 99), "closes GH-&#8203;7");
        let shown = inline("fixes https://github.com/o/r/issues/5", 99);
        assert_eq!(shown, "fixes https://github.com/o/r/issues/&#8203;5");
    }

    #[test]
    fn code_and_fences_are_longer_than_what_is_in_them() {
        assert_eq!(code("a`b``c", 99), "```a`b``c```");
        assert_eq!(code("`x", 99), "`` `x ``");
        let shown = block("x\n````\n## not a heading\n<!-- ralph:end -->\u{1b}[2J\r\n\n", 999);
        assert_eq!(shown, "`````text\nx\n````\n## not a heading\n<! -- ralph:end -->\n`````");
        assert_eq!(block("0123456789", 4), "```text\n012…\n```");
    }
}
