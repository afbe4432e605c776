//! One line of markdown, looked at by itself: indentation, markers, fences, underlines.

/// Tabs reach to the next column that is a multiple of this.
const TAB: usize = 4;

/// The columns of white space that a text starts with, and their bytes. It starts at `column` of its line.
pub(super) fn indent(text: &str, column: usize) -> (usize, usize) {
    let mut at = column;
    let mut bytes = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => at += 1,
            b'\t' => at = (at / TAB + 1) * TAB,
            _ => break,
        }
        bytes += 1;
    }
    (at - column, bytes)
}

/// The line without its first `columns` columns of white space.
pub(super) fn dedented(line: &str, columns: usize) -> String {
    let mut at = 0;
    for (index, byte) in line.bytes().enumerate() {
        if at >= columns || !matches!(byte, b' ' | b'\t') {
            return format!("{}{}", " ".repeat(at.saturating_sub(columns)), &line[index..]);
        }
        at = if byte == b'\t' { (at / TAB + 1) * TAB } else { at + 1 };
    }
    String::new()
}

/// The bytes of a list marker at the start of `text`: `-`, `*`, `+`, `1.` or `1)`.
pub(super) fn marker(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let length = match bytes.first()? {
        b'-' | b'*' | b'+' => 1,
        b'0'..=b'9' => {
            let digits = bytes.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
            let closed = digits <= 9 && matches!(bytes.get(digits), Some(b'.' | b')'));
            closed.then_some(digits + 1)?
        }
        _ => return None,
    };
    matches!(bytes.get(length), None | Some(b' ' | b'\t')).then_some(length)
}

/// The level of an ATX heading, and where its words are in `text`.
pub(super) fn atx(text: &str) -> Option<(u8, std::ops::Range<usize>)> {
    let level = text.bytes().take(7).take_while(|byte| *byte == b'#').count();
    let rest = text.get(level..)?;
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let words = rest.trim();
    let bare = words.trim_end_matches('#');
    let words =
        if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { words };
    let start = text.len() - rest.trim_start().len();
    Some((level as u8, start..start + words.len()))
}

/// The level of a setext heading whose underline `text` is.
pub(super) fn underline(text: &str) -> Option<u8> {
    let text = text.trim_end();
    let only = |wanted: u8| !text.is_empty() && text.bytes().all(|byte| byte == wanted);
    match () {
        () if only(b'=') => Some(1),
        () if only(b'-') => Some(2),
        () => None,
    }
}

/// Whether `text` is a line across the page: three or more of `-`, `*` or `_`.
pub(super) fn is_rule(text: &str) -> bool {
    let Some(first @ (b'-' | b'*' | b'_')) = text.bytes().next() else {
        return false;
    };
    let mut count = 0;
    for byte in text.bytes() {
        match byte {
            b' ' | b'\t' => {}
            _ if byte == first => count += 1,
            _ => return false,
        }
    }
    count >= 3
}

/// An open fence: its character and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    byte: u8,
    length: usize,
}

impl Fence {
    /// The fence that `text` opens.
    pub(crate) fn opened(text: &str) -> Option<Self> {
        let byte @ (b'`' | b'~') = text.bytes().next()? else {
            return None;
        };
        let length = text.bytes().take_while(|found| *found == byte).count();
        let opens = length >= 3 && !(byte == b'`' && text[length..].contains('`'));
        opens.then_some(Self { byte, length })
    }

    pub(super) fn closing(self) -> String {
        char::from(self.byte).to_string().repeat(self.length)
    }

    pub(crate) fn is_closed_by(self, text: &str) -> bool {
        let length = text.bytes().take_while(|found| *found == self.byte).count();
        length >= self.length && text[length..].trim().is_empty()
    }
}

/// What ends a block of HTML that `text` opens, if it may hold what looks like a task.
pub(super) fn html_end(text: &str) -> Option<&'static str> {
    if text.starts_with("<!--") {
        return Some("-->");
    }
    let tag = text.strip_prefix('<')?;
    let name = tag.bytes().take(9).take_while(u8::is_ascii_alphabetic).count();
    if !matches!(tag.as_bytes().get(name), None | Some(b'>' | b' ' | b'\t')) {
        return None;
    }
    match tag[..name].to_ascii_lowercase().as_str() {
        "pre" => Some("</pre>"),
        "script" => Some("</script>"),
        "style" => Some("</style>"),
        "textarea" => Some("</textarea>"),
        _ => None,
    }
}
