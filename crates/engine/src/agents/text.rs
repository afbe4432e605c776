//! Bounds texts of agents: excerpts for users.

/// The text on one line: runs of white space and control characters become one space; what goes
/// beyond `most` characters becomes an ellipsis.
pub(super) fn one_line(text: &str, most: usize) -> String {
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
