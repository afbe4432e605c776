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
        let plain = marks(&plain_spelling(&plain_letters(line)));
        if marks(line) != plain {
            found.push(NearMiss { line, other_letters: marks(&plain_spelling(line)) != plain });
        }
    }
    found
}

/// How many exact tags a line has.
fn marks(line: &str) -> usize {
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

/// Characters of ASCII, each followed by those that look like it.
const LOOKS: &str = "\
    aаɑα bЬƄ cсϲⅽ dԁⅾ eеҽ℮ fſ gɡց hһհ iіıιⅰᎥ jјϳ kкκ lⅼӏӀǀ mмⅿ nпո oоοօσ pрρ qԛզ rгᴦ sѕꜱ tтτ \
    uυս vνѵⅴ wԝωѡ xхχⅹ yуγү zᴢ AАΑ BВΒ CСϹ EЕΕ HНΗ IІΙ KКΚ MМΜ NΝ OОΟ PРΡ SЅ TТΤ XХΧ YУΥ ZΖ \
    3З <‹〈\u{2329}⟨《⟪❮❬˂ᐸ≺« >›〉\u{232a}⟩》⟫❯❭˃ᐳ≻» /⁄∕⧸╱";

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
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => ascii(code - 0xff01 + 0x21),
        // Mathematical letters: alphabets of 52, one after the other; then digits.
        '\u{1d400}'..='\u{1d6a3}' => match (code - 0x1d400) % 52 {
            large @ 0..26 => ascii(u32::from(b'A') + large),
            small => ascii(u32::from(b'a') + small - 26),
        },
        '\u{1d7ce}'..='\u{1d7ff}' => ascii(u32::from(b'0') + (code - 0x1d7ce) % 10),
        c if c.is_whitespace() => ' ',
        c => {
            let row = LOOKS.find(c).and_then(|at| LOOKS[..at].rsplit(' ').next());
            row.and_then(|row| row.chars().next()).unwrap_or(c)
        }
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
