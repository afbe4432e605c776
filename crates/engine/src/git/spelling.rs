//! Paths as text, without loss. A path in git is any bytes; rules, reports and the task database need text. A path
//! that is valid text stays as it is; any other is quoted, with its odd bytes in octal, as git prints it. So two
//! paths never have the same text, and the text can be turned back into the path.

pub(crate) fn spelled(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => return text.to_owned(),
        _ => {}
    }
    let mut text = String::from("\"");
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if matches!(letter, '"' | '\\') {
                text.push('\\');
            }
            text.push(letter);
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\{byte:03o}"));
        }
    }
    text.push('"');
    text
}

/// The path that was spelled so.
pub(crate) fn unspelled(text: &str) -> Vec<u8> {
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let Some(quoted) = quoted else { return text.as_bytes().to_vec() };
    let mut path = Vec::new();
    let mut rest = quoted.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                path.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            (b'\\', [plain, after @ ..]) => {
                path.push(*plain);
                rest = after;
            }
            (byte, _) => path.push(*byte),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_text_of_its_own_that_leads_back() {
        let paths: [&[u8]; 9] = [
            b"src/a.rs",
            b"a\xff",
            b"a\xfe",
            b"\"a\\377\"",
            b"\"",
            b"a\\377",
            "\u{fffd}a".as_bytes(),
            b"\xc3\xa9\xc3",
            b"d\\x/\xf0\x9f\"b",
        ];
        let mut texts: Vec<String> = paths.iter().map(|path| spelled(path)).collect();
        for (path, text) in paths.iter().zip(&texts) {
            assert_eq!(unspelled(text), *path, "{text}");
        }
        assert_eq!(texts[..2], ["src/a.rs", "\"a\\377\""]);
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), paths.len());
    }
}
