//! Program text with comments and strings blanked out. Every byte keeps its place, so that a position in one
//! form is the same in the other.

/// How comments and strings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `//`, nested `/* */`, raw strings, lifetimes.
    Rust,
    /// `//`, `/* */`, templates, regular expressions.
    Script,
    /// `//`, `/* */`.
    Slash,
    /// `#`.
    Hash,
}

/// A text in two forms, both as long as the text.
#[derive(Debug)]
pub(super) struct Masked {
    /// Without comments.
    pub(super) bare: String,
    /// Without comments, and without what strings hold.
    pub(super) code: String,
}

/// Blanks comments and strings.
pub(super) fn mask(text: &str, syntax: Syntax) -> Masked {
    let mut masker = Masker {
        text: text.as_bytes(),
        bare: text.as_bytes().to_vec(),
        code: text.as_bytes().to_vec(),
        syntax,
    };
    let mut at = 0;
    while at < masker.text.len() {
        at = masker.step(at);
    }
    // Only whole characters are blanked: what is not ASCII lies within comments or strings, or stays.
    let text = |bytes| String::from_utf8(bytes).unwrap_or_default();
    Masked { bare: text(masker.bare), code: text(masker.code) }
}

struct Masker<'a> {
    text: &'a [u8],
    bare: Vec<u8>,
    code: Vec<u8>,
    syntax: Syntax,
}

impl Masker<'_> {
    /// Takes what begins at `at`, and returns where the next thing begins.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let slashes = self.syntax != Syntax::Hash;
        if slashes && rest.starts_with(b"//") || self.is_hash_comment(at) {
            let end = self.find(at, b"\n");
            return self.comment(at, end);
        }
        if slashes && rest.starts_with(b"/*") {
            let end = self.block_comment(at);
            return self.comment(at, end);
        }
        match rest[0] {
            b'"' | b'\'' | b'`' => self.quoted(at),
            b'r' if self.syntax == Syntax::Rust && self.starts_word(at) => self.raw_string(at),
            b'/' if self.syntax == Syntax::Script && self.may_be_pattern(at) => self.pattern(at),
            _ => at + 1,
        }
    }

    fn is_hash_comment(&self, at: usize) -> bool {
        self.syntax == Syntax::Hash && self.text[at] == b'#'
    }

    fn quoted(&mut self, at: usize) -> usize {
        let quote = self.text[at];
        let triple = [quote; 3];
        let has_triples = self.syntax == Syntax::Hash;
        if has_triples && quote != b'`' && self.text[at..].starts_with(&triple) {
            let end = self.find(at + 3, &triple);
            return self.string(at + 3, end, 3);
        }
        if self.syntax == Syntax::Rust && quote == b'\'' && !self.is_char(at) {
            return at + 1;
        }
        let spans_lines = quote == b'`' || self.syntax == Syntax::Rust;
        let mut end = at + 1;
        while let Some(byte) = self.text.get(end).filter(|byte| **byte != quote) {
            match byte {
                b'\\' => end += 2,
                b'\n' if !spans_lines => return self.string(at + 1, end, 0),
                _ => end += 1,
            }
        }
        self.string(at + 1, end, 1)
    }

    /// `'a'` is a character, `'a` a lifetime.
    fn is_char(&self, at: usize) -> bool {
        match self.text.get(at + 1) {
            Some(b'\\') => true,
            Some(byte) if byte.is_ascii() => self.text.get(at + 2) == Some(&b'\''),
            Some(_) => (3..=5).any(|width| self.text.get(at + width) == Some(&b'\'')),
            None => false,
        }
    }

    fn raw_string(&mut self, at: usize) -> usize {
        let hashes = self.text[at + 1..].iter().take_while(|byte| **byte == b'#').count();
        let open = at + 1 + hashes;
        if self.text.get(open) != Some(&b'"') {
            return at + 1;
        }
        let mut close = vec![b'"'];
        close.extend(std::iter::repeat_n(b'#', hashes));
        let end = self.find(open + 1, &close);
        self.string(open + 1, end, close.len())
    }

    /// After a value a slash divides; elsewhere it begins a pattern.
    fn may_be_pattern(&self, at: usize) -> bool {
        let before = self.text[..at].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        before.is_none_or(|byte| b"(,=:[!&|?{};\n".contains(byte))
    }

    fn pattern(&mut self, at: usize) -> usize {
        let mut end = at + 1;
        let mut in_class = false;
        loop {
            match self.text.get(end) {
                None | Some(b'\n') => return at + 1,
                Some(b'\\') => end += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => return self.string(at + 1, end, 1),
                Some(_) => {}
            }
            end += 1;
        }
    }

    fn block_comment(&self, at: usize) -> usize {
        let mut depth = 0;
        let mut next = at;
        while next < self.text.len() {
            let rest = &self.text[next..];
            if rest.starts_with(b"/*") {
                depth = if self.syntax == Syntax::Rust { depth + 1 } else { 1 };
                next += 2;
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                next += 2;
                if depth == 0 {
                    return next;
                }
            } else {
                next += 1;
            }
        }
        self.text.len()
    }

    fn starts_word(&self, at: usize) -> bool {
        at == 0 || !(self.text[at - 1].is_ascii_alphanumeric() || self.text[at - 1] == b'_')
    }

    /// Where `what` begins, at or after `from`; else the end.
    fn find(&self, from: usize, what: &[u8]) -> usize {
        let from = from.min(self.text.len());
        let found = self.text[from..].windows(what.len()).position(|window| window == what);
        found.map_or(self.text.len(), |found| from + found)
    }

    fn comment(&mut self, from: usize, to: usize) -> usize {
        blank(&mut self.bare[from..to]);
        blank(&mut self.code[from..to]);
        to
    }

    fn string(&mut self, from: usize, to: usize, close: usize) -> usize {
        let end = self.text.len();
        let (from, to) = (from.min(end), to.min(end));
        blank(&mut self.code[from..to]);
        (to + close).min(end)
    }
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(text: &str, syntax: Syntax) -> String {
        mask(text, syntax).code
    }

    #[test]
    fn comments_and_strings_are_blank() {
        let rust = "let a = \"{ // no\"; // {\n'x'; fn f<'a>() /* { /* } */ } */ {}";
        let kept = "let a = \"       \";     \n' '; fn f<'a>()                   {}";
        assert_eq!(code(rust, Syntax::Rust), kept);
        assert_eq!(code("r#\"a\"b\"# x", Syntax::Rust), "r#\"   \"# x");
        assert_eq!(code("x = /[/\"]/; y", Syntax::Script), "x = /    /; y");
        assert_eq!(code("a / b / c", Syntax::Script), "a / b / c");
        assert_eq!(code("'''a\n# b''' # c\nd", Syntax::Hash), "''' \n   '''    \nd");
        assert_eq!(mask("\"a\" // b", Syntax::Slash).bare, "\"a\"     ");
    }

    proptest! {
        #[test]
        fn every_byte_keeps_its_place(text in "[a\"'`/*#r\\\\é\n{}\\[ ]{0,60}") {
            for syntax in [Syntax::Rust, Syntax::Script, Syntax::Slash, Syntax::Hash] {
                let masked = mask(&text, syntax);
                for form in [&masked.bare, &masked.code] {
                    prop_assert_eq!(form.len(), text.len());
                    prop_assert_eq!(form.matches('\n').count(), text.matches('\n').count());
                }
            }
        }
    }
}
