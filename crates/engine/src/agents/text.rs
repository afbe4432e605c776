//! Bounds texts of agents: excerpts for users.

/// The beginning of a text: at most so many bytes, whole characters.
pub(super) fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    &text[..text.floor_char_boundary(most)]
}

/// The text on one line: runs of white space and control characters become one space; what goes
/// beyond `most` characters becomes an ellipsis.
pub(super) fn one_line(text: &str, most: usize) -> String {
    if is_one_line(text) && text.len() <= most {
        return text.to_owned();
    }
    let mut line = String::with_capacity(text.len().min(most));
    let (mut length, mut gap) = (0, false);
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = length > 0;
            continue;
        }
        if length + usize::from(gap) >= most {
            line.push('…');
            break;
        }
        if gap {
            line.push(' ');
            length += 1;
            gap = false;
        }
        line.push(c);
        length += 1;
    }
    line
}

/// Nothing would be changed about it; only the simplest texts are known as such.
fn is_one_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && !bytes.windows(2).any(|two| two == b"  ")
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ')
}

pub(super) fn last_words(stderr_tail: &str) -> String {
    const LINES: usize = 3;
    const CHARS: usize = 600;
    let lines = stderr_tail.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    one_line(&last.join("; "), CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_between_characters() {
        assert_eq!(head("añb", 2), "a");
        assert_eq!(head("añb", 3), "añ");
        assert_eq!(head("añb", 99), "añb");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("  cargo  test\n\t-p\u{1b} x ", 99), "cargo test -p x");
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line("abcd", 3), "abc…");
        assert_eq!(one_line("ab cd", 3), "ab…");
        assert_eq!(one_line("", 3), "");
        for text in [" ab", "ab ", "a  b", "a\tb", "añb"] {
            assert_eq!(one_line(text, 99), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    #[test]
    fn the_last_words_are_the_last_lines() {
        assert_eq!(last_words("a\nb\n\nc\n d \n\n"), "b; c; d");
        assert_eq!(last_words(" \n"), "");
    }
}
