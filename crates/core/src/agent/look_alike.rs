//! Text that only looks like a signal: other letters, other brackets, invisible characters, another case.
//!
//! Nothing here is ever accepted. It is found so that the user and the next session learn why a signal
//! that seems to be there did not count.

use super::tags::mark_names;

/// The text with every character replaced by the ASCII character that it looks like. Invisible characters
/// go; what looks like nothing in ASCII stays as it is.
pub(super) fn plain_letters(text: &str) -> String {
    text.chars().filter_map(plain_letter).collect()
}

/// A line that has a tag which is nearly one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NearMiss<'a> {
    /// The line.
    pub(super) line: &'a str,
    /// Its letters are others; else only its spelling differs (case, blanks, escapes).
    pub(super) other_letters: bool,
}

/// The lines with a tag that is not exact. Takes linear time.
pub(super) fn near_misses(text: &str) -> Vec<NearMiss<'_>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        // Every bracket that we know is one of these, or is not ASCII.
        if line.is_ascii() && !line.contains(['<', '&']) {
            continue;
        }
        if marks(line) == marks_of(&plain_spelling(&plain_letters(line))) {
            continue;
        }
        let other_letters =
            marks_of(&plain_spelling(line)) != marks_of(&plain_spelling(&plain_letters(line)));
        found.push(NearMiss { line, other_letters });
    }
    found
}

/// How many exact tags a line has.
fn marks(line: &str) -> usize {
    marks_of(line)
}

fn marks_of(line: &str) -> usize {
    let begins = line.match_indices('<').map(|(at, _)| &line[at + 1..]);
    begins.filter(|rest| is_mark(rest)).count()
}

fn is_mark(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    mark_names().any(|name| {
        let after = rest.strip_prefix(name);
        after.is_some_and(|after| after.starts_with('>') || after.starts_with("/>"))
    })
}

/// In small letters, without escapes and without blanks inside of brackets, `_` as `-`.
fn plain_spelling(line: &str) -> String {
    let line = line.replace("&lt;", "<").replace("&gt;", ">").replace('\\', "");
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        let opened = plain.ends_with('<') || plain.ends_with("</");
        match c {
            c if c.is_whitespace() && opened => {}
            '>' => {
                plain.truncate(plain.trim_end().len());
                plain.push('>');
            }
            '_' => plain.push('-'),
            c => plain.push(c.to_ascii_lowercase()),
        }
    }
    plain
}

fn plain_letter(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    let code = u32::from(c);
    Some(match c {
        // Invisible: zero-width characters, marks of direction, soft hyphens, selectors, tags.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => return None,
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '‹' | '〈' | '\u{2329}' | '⟨' | '《' | '⟪' | '❮' | '❬' | '˂' | 'ᐸ' | '≺' | '«' => {
            '<'
        }
        '›' | '〉' | '\u{232a}' | '⟩' | '》' | '⟫' | '❯' | '❭' | '˃' | 'ᐳ' | '≻' | '»' => {
            '>'
        }
        '⁄' | '∕' | '⧸' | '╱' => '/',
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => ascii(code - 0xff01 + 0x21),
        // Mathematical letters: alphabets of 52, one after the other; then digits.
        '\u{1d400}'..='\u{1d6a3}' => match (code - 0x1d400) % 52 {
            large @ 0..26 => ascii(u32::from(b'A') + large),
            small => ascii(u32::from(b'a') + small - 26),
        },
        '\u{1d7ce}'..='\u{1d7ff}' => ascii(u32::from(b'0') + (code - 0x1d7ce) % 10),
        'а' | 'ɑ' | 'α' => 'a',
        'Ь' | 'Ƅ' => 'b',
        'с' | 'ϲ' | 'ⅽ' => 'c',
        'ԁ' | 'ⅾ' => 'd',
        'е' | 'ҽ' | '℮' => 'e',
        'ſ' => 'f',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' => 'h',
        'і' | 'ı' | 'ι' | 'ⅰ' | 'Ꭵ' => 'i',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' => 'k',
        'ⅼ' | 'ӏ' | 'Ӏ' | 'ǀ' => 'l',
        'м' | 'ⅿ' => 'm',
        'п' | 'ո' => 'n',
        'о' | 'ο' | 'օ' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' | 'զ' => 'q',
        'г' | 'ᴦ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' | 'ⅴ' => 'v',
        'ԝ' | 'ω' | 'ѡ' => 'w',
        'х' | 'χ' | 'ⅹ' => 'x',
        'у' | 'γ' | 'ү' => 'y',
        'ᴢ' => 'z',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' | 'Ϲ' => 'C',
        'Е' | 'Ε' => 'E',
        'Н' | 'Η' => 'H',
        'І' | 'Ι' => 'I',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Х' | 'Χ' => 'X',
        'У' | 'Υ' => 'Y',
        'Ζ' => 'Z',
        'З' => '3',
        c if c.is_whitespace() => ' ',
        c => c,
    })
}

/// The ASCII character with this number; the arms above compute no other.
fn ascii(code: u32) -> char {
    char::from_u32(code).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_brackets_and_invisible_characters_are_seen_through() {
        for (text, plain) in [
            ("t-аbс", "t-abc"),
            ("＜ｔask‑done＞", "<task-done>"),
            ("‹task-done›", "<task-done>"),
            ("ta\u{200b}sk", "task"),
            ("𝐭𝐚𝐬𝐤 𝟙", "task 1"),
            ("é stays, 漢 too", "é stays, 漢 too"),
        ] {
            assert_eq!(plain_letters(text), plain);
        }
    }

    #[test]
    fn nearly_a_tag_is_found_with_its_line_and_exact_ones_are_not() {
        let text = "fine\n<task-done>t-1</task-done>\n <tаsk-done>t-1</tаsk-done> \n<Task-Done>x</Task-Done>";
        let found = near_misses(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].other_letters && found[0].line.starts_with("<tаsk"));
        assert!(!found[1].other_letters);
        for other in [
            "＜task-done＞t-1＜/task-done＞",
            "&lt;task-done&gt;t-1&lt;/task-done&gt;",
            "\\<task-done\\>t-1\\</task-done\\>",
            "< task-done >t-1</ task-done >",
            "<task_done>t-1</task_done>",
            "<verify—pass/>",
        ] {
            assert_eq!(near_misses(other).len(), 1, "{other}");
        }
        for plain in
            ["a < b and c > d", "Ελληνικά <b>x</b>", "<task-done>t</task-done> für", "«quoted»"]
        {
            assert_eq!(near_misses(plain), [], "{plain}");
        }
    }
}
