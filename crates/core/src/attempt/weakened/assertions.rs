//! What a piece of code asserts: which of its lines, and whether they can fail at all.

use std::collections::BTreeSet;

use super::language::Language;

/// The longest assertion that is looked at, in bytes.
const MAX_STATEMENT: usize = 2_000;

/// What was found in a piece of code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asserted {
    /// Assertions that can fail, each in one line without white space.
    pub(super) real: Vec<String>,
    /// How many cannot.
    pub(super) trivial: usize,
}

/// The assertions of a piece of code; `code` and `bare` are its two forms.
pub(super) fn assertions(code: &str, bare: &str, language: Language) -> Asserted {
    let mut found = Asserted::default();
    let mut taken = 0;
    for (at, word) in words(code) {
        if at < taken || !is_assertion(code, at, word, language) {
            continue;
        }
        let end = statement_end(code, at + word.len());
        // What an assertion calls is a part of it.
        taken = end;
        let statement = squeezed(&bare[at..end]);
        if is_trivial(&statement) {
            found.trivial += 1;
        } else {
            found.real.push(statement);
        }
    }
    found
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
    // These languages need no brackets.
    let is_bare =
        matches!(language, Language::Python | Language::Elixir | Language::Ruby | Language::Jvm);
    if low.contains("assert") || low.starts_with("refute") || low == "should" {
        return is_call || is_bare;
    }
    if language == Language::Go && is_method {
        let names = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];
        if names.contains(&word) {
            return is_call;
        }
    }
    // `Result::expect` is how Rust takes a value out.
    if low.starts_with("expect") {
        return is_call && !(language == Language::Rust && is_method);
    }
    let starts = ["verify", "check", "ensure", "is_expected", "xctunwrap", "xctfail"];
    let names = ["fail", "panic", "raises", "unreachable"];
    let known = starts.iter().any(|start| low.starts_with(start))
        || names.contains(&low.as_str())
        || (low == "require" && after == Some('.'))
        || (low == "must" || low.starts_with("must_"));
    known && (is_call || low == "is_expected")
}

/// The end of the line, or of the line in which the brackets are closed.
fn statement_end(code: &str, from: usize) -> usize {
    let mut depth = 0i32;
    for (offset, byte) in code.as_bytes()[from..].iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'\n' if depth <= 0 => return from + offset,
            b';' if depth == 0 => return from + offset,
            _ => {}
        }
        if depth < 0 {
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
    let low = low.strip_suffix(".tobetruthy()").unwrap_or(low);
    // `expect(a).toBe(b)`: two values; anything else: what stands in the brackets.
    if let Some((value, wanted)) = low.strip_prefix("expect(").and_then(|rest| rest.split_once(')'))
        && (wanted.is_empty() || wanted.starts_with(".to"))
    {
        let other = wanted.split_once('(').map(|(_, rest)| rest.trim_end_matches(')'));
        let other = other.or_else(|| wanted.strip_prefix(".tobe"));
        return is_literal(value) && other.is_none_or(|other| other == value);
    }
    let inside = match low.split_once('(') {
        Some((_, rest)) if rest.ends_with(')') => &rest[..rest.len() - 1],
        _ => low.strip_prefix("assert").unwrap_or(low),
    };
    let inside = inside.split(",\"").next().unwrap_or(inside);
    if inside == "true" || inside == "!false" || inside == "notfalse" {
        return true;
    }
    let sides = inside.split_once("==").or_else(|| inside.split_once(','));
    sides.is_some_and(|(left, right)| left == right.trim_start_matches('=') && is_literal(left))
}

fn is_literal(text: &str) -> bool {
    matches!(text, "true" | "false" | "none" | "null" | "nil" | "()")
        || text.parse::<f64>().is_ok()
        || (text.len() >= 2 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']))
}

/// The numbers and strings that a text has, and the words for yes and no.
pub(super) fn literals(bare: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = bare;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        plain_literals(&rest[..at], &mut found);
        let quote = rest[at..].chars().next().unwrap_or('"');
        rest = &rest[at + 1..];
        let Some(end) = rest.find(quote) else { break };
        found.insert(rest[..end].to_owned());
        rest = &rest[end + 1..];
    }
    plain_literals(rest, &mut found);
    found.remove("");
    found
}

fn plain_literals(text: &str, found: &mut BTreeSet<String>) {
    let spoken = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || matches!(
                word.to_ascii_lowercase().as_str(),
                "true" | "false" | "none" | "null" | "nil"
            )
    };
    found.extend(words(text).map(|(_, word)| word).filter(spoken).map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::super::mask::mask;
    use super::*;

    fn of(text: &str, language: Language) -> (usize, usize) {
        let masked = mask(text, language.syntax());
        let found = assertions(&masked.code, &masked.bare, language);
        (found.real.len(), found.trivial)
    }

    #[test]
    fn what_can_fail_is_told_from_what_cannot() {
        use Language::*;
        let rows = [
            (Rust, "assert_eq!(add(1, 2), 3); assert!(x.expect(\"y\") > 2, \"so\");", (2, 0)),
            (Rust, "assert!(true); assert_eq!(1, 1); assert!(true, \"ok\");", (0, 3)),
            (Rust, "let x = y.expect(\"z\"); // assert!(false)\n\"assert!(x)\";", (0, 0)),
            (Python, "assert add(1, 2) == 3\nself.assertEqual(\n    a,\n    b,\n)\n", (2, 0)),
            (Python, "assert True\nself.assertTrue(True)\nassert 1 == 1\n", (0, 3)),
            (Python, "with pytest.raises(ValueError):\n    f()\n", (1, 0)),
            (Script, "expect(add(1, 2)).toBe(3); expect(f()).toBeTruthy()", (2, 0)),
            (
                Script,
                "expect(true).toBe(true); expect(1).toEqual(1);expect(true).toBeTruthy()",
                (0, 3),
            ),
            (Script, "assert.equal(a, b)\nconst x = require('x')", (1, 0)),
            (Go, "if got != 3 {\n t.Errorf(\"no %d\", got)\n}\nrequire.NoError(t, err)", (2, 0)),
            (Jvm, "assertEquals(3, add(1, 2)); assertTrue(true);", (1, 1)),
            (CSharp, "Assert.Equal(3, x); Assert.True(true);", (1, 1)),
            (Ruby, "expect(x).to eq(3)\nassert_equal 3, x\nexpect { f }.to raise_error\n", (3, 0)),
            (Elixir, "assert f(1) == 2\nassert true\nrefute f(2)", (2, 1)),
            (Swift, "XCTAssertEqual(a, 3)\nXCTAssertTrue(true)", (1, 1)),
            (Php, "$this->assertSame(3, $x); $this->assertTrue(true);", (1, 1)),
        ];
        for (language, text, expected) in rows {
            assert_eq!(of(text, language), expected, "{language:?}: {text}");
        }
    }

    #[test]
    fn literals_are_numbers_strings_and_yes_and_no() {
        let found = literals("add(1, -2.5) == \"three\" && x1 is None");
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["1", "2", "5", "None", "three"]);
    }
}
