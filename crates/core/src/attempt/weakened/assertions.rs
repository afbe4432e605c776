//! What a piece of code asserts: which of its lines, and whether they can fail at all.

use super::language::Language;

/// The longest assertion that is looked at, in bytes.
const MAX_STATEMENT: usize = 2_000;

/// How many assertions of a piece of code can fail, and how many cannot; `code` and `bare` are its two forms.
pub(super) fn assertions(code: &str, bare: &str, language: Language) -> (usize, usize) {
    let (mut real, mut trivial) = (0, 0);
    let mut taken = 0;
    for (at, word) in words(code) {
        if at < taken || !is_assertion(code, at, word, language) {
            continue;
        }
        // What an assertion calls is a part of it.
        taken = statement_end(code, at + word.len());
        match is_trivial(&squeezed(&bare[at..taken])) {
            true => trivial += 1,
            false => real += 1,
        }
    }
    (real, trivial)
}

/// The words of a text, and where they begin.
pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = at + code[at..].find(is_word)?;
        let length = code[start..].find(|c| !is_word(c)).unwrap_or(code.len() - start);
        at = start + length;
        Some((start, &code[start..at]))
    })
}

fn is_assertion(code: &str, at: usize, word: &str, language: Language) -> bool {
    let after = code[at + word.len()..].trim_start_matches([' ', '\t']).chars().next();
    let is_call = matches!(after, Some('(' | '!' | '.' | '{'));
    let is_method = code[..at].ends_with('.');
    let low = word.to_ascii_lowercase();
    if low.contains("assert") || low == "should" {
        // Python needs no brackets.
        return is_call || language == Language::Python;
    }
    // `Result::expect` is how Rust takes a value out.
    if low.starts_with("expect") {
        return is_call && !(language == Language::Rust && is_method);
    }
    let starts = ["verify", "check", "ensure"];
    let names = ["fail", "panic", "raises", "unreachable"];
    let methods = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];
    let known = starts.iter().any(|start| low.starts_with(start))
        || names.contains(&low.as_str())
        || (low == "require" && after == Some('.'))
        || (language == Language::Go && is_method && methods.contains(&word));
    known && is_call
}

/// How much deeper the code behind a bracket lies.
pub(super) const fn nesting(byte: u8) -> i32 {
    match byte {
        b'(' | b'[' | b'{' => 1,
        b')' | b']' | b'}' => -1,
        _ => 0,
    }
}

/// The end of the line, or of the line in which the brackets are closed.
fn statement_end(code: &str, from: usize) -> usize {
    let mut depth = 0i32;
    for (offset, byte) in code.as_bytes()[from..].iter().enumerate() {
        depth += nesting(*byte);
        if depth < 0 || (depth == 0 && matches!(byte, b'\n' | b';')) {
            return from + offset;
        }
        if offset > MAX_STATEMENT {
            return code.floor_char_boundary(from + offset);
        }
    }
    code.len()
}

/// The text without white space.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Whether an assertion without white space holds whatever the code does.
fn is_trivial(statement: &str) -> bool {
    let low = statement.to_ascii_lowercase();
    let low = low.trim_end_matches([';', ',']);
    // `a == b or True`
    if low.trim_end_matches(')').ends_with("||true") || low.ends_with("ortrue") {
        return true;
    }
    let low = low.strip_suffix(".tobetruthy()").unwrap_or(low);
    // `expect(a).toBe(b)`: two values; anything else: what stands in the brackets.
    if let Some((value, wanted)) = low.strip_prefix("expect(").and_then(|rest| rest.split_once(')'))
        && (wanted.is_empty() || wanted.starts_with(".to"))
    {
        let other = wanted.split_once('(').map(|(_, rest)| rest.trim_end_matches(')'));
        let other = other.or_else(|| wanted.strip_prefix(".tobe"));
        return match other {
            None => is_literal(value),
            Some(other) => other == value,
        };
    }
    let inside = match low.split_once('(') {
        Some((_, rest)) if rest.ends_with(')') => &rest[..rest.len() - 1],
        _ => low.strip_prefix("assert").unwrap_or(low),
    };
    let inside = inside.split(",\"").next().unwrap_or(inside);
    if matches!(inside, "true" | "!false" | "notfalse" | "1") {
        return true;
    }
    let sides = inside.split_once("==").or_else(|| inside.split_once(','));
    sides.is_some_and(|(left, right)| left == right.trim_start_matches('='))
}

fn is_literal(text: &str) -> bool {
    matches!(text, "true" | "false" | "none" | "null" | "nil" | "()")
        || text.parse::<f64>().is_ok()
        || (text.len() >= 2 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::super::mask::mask;
    use super::*;

    fn of(text: &str, language: Language) -> (usize, usize) {
        let masked = mask(text, language);
        assertions(&masked.code, &masked.bare, language)
    }

    #[test]
    fn what_can_fail_is_distinguished_from_what_cannot() {
        use Language::*;
        let rows = [
            (Rust, "assert_eq!(add(1, 2), 3); assert!(x.expect(\"y\") > 2, \"so\");", (2, 0)),
            (Rust, "assert!(true); assert_eq!(1, 1); assert!(true, \"ok\");", (0, 3)),
            (Rust, "let x = y.expect(\"z\"); // assert!(false)\n\"assert!(x)\";", (0, 0)),
            (Python, "assert add(1, 2) == 3\nself.assertEqual(\n    a,\n    b,\n)\n", (2, 0)),
            (Python, "assert True\nself.assertTrue(True)\nassert 1 == 1\n", (0, 3)),
            (Python, "assert f(1) == 2 or True\nassert x == x\n", (0, 2)),
            (Rust, "assert!(f() == 2 || true); assert_eq!(x, x);", (0, 2)),
            (Script, "expect(x).toBe(x); expect(x).toBe(3)", (1, 1)),
            (Python, "with pytest.raises(ValueError):\n    f()\n", (1, 0)),
            (Script, "expect(add(1, 2)).toBe(3); expect(f()).toBeTruthy()", (2, 0)),
            (
                Script,
                "expect(true).toBe(true); expect(1).toEqual(1);expect(true).toBeTruthy()",
                (0, 3),
            ),
            (Script, "assert.equal(a, b)\nconst x = require('x')", (1, 0)),
            (Go, "if got != 3 {\n t.Errorf(\"no %d\", got)\n}\nrequire.NoError(t, err)", (2, 0)),
        ];
        for (language, text, expected) in rows {
            assert_eq!(of(text, language), expected, "{language:?}: {text}");
        }
    }
}
