//! Tables of changes: those that weaken tests, and those that do not.

use proptest::prelude::*;

use super::*;

fn found(files: &[(&str, Option<&str>, Option<&str>)]) -> Vec<String> {
    let files: Vec<ChangedFile<'_>> = files
        .iter()
        .map(|(path, before, after)| ChangedFile { path, before: *before, after: *after })
        .collect();
    find(&files).iter().map(ToString::to_string).collect()
}

fn changed(path: &str, before: &str, after: &str) -> Vec<String> {
    found(&[(path, Some(before), Some(after))])
}

const RUST: &str = "\
use super::*;

#[test]
fn adds() {
    assert_eq!(add(1, 2), 3);
    assert_eq!(add(0, 0), 0);
}

#[tokio::test(flavor = \"current_thread\")]
async fn waits() {
    let it = start().await;
    assert!(it.is_ready(), \"{it:?}\");
}
";

const PYTHON: &str = "\
import pytest

class TestSums:
    def test_adds(self):
        assert add(1, 2) == 3
        assert add(0, 0) == 0

def test_fails():
    with pytest.raises(ValueError):
        add(None, 1)
";

const SCRIPT: &str = "\
describe('sums', () => {
  it('adds', () => {
    expect(add(1, 2)).toBe(3);
    expect(add(0, 0)).toBe(0);
  });
  test(\"fails\", async () => {
    await expect(add()).rejects.toThrow(/no \"/);
  });
});
";

const GO: &str = "\
package sums

func TestAdds(t *testing.T) {
\tif testing.Short() {
\t\tt.Skip(\"slow\")
\t}
\tif got := Add(1, 2); got != 3 {
\t\tt.Errorf(\"got %d\", got)
\t}
}

func TestFails(t *testing.T) {
\trequire.Error(t, Add(nil))
}
";

#[test]
fn a_removed_test_is_named() {
    let rust = RUST.split("#[tokio").next().unwrap();
    assert_eq!(changed("a.rs", RUST, rust), ["a.rs: waits was removed"]);
    let python = PYTHON.split("def test_fails").next().unwrap();
    assert_eq!(changed("test_a.py", PYTHON, python), ["test_a.py: test_fails was removed"]);
    let script = format!("{}}});\n", SCRIPT.split("  test(").next().unwrap());
    assert_eq!(changed("a.test.js", SCRIPT, &script), ["a.test.js: sums > fails was removed"]);
    let go = GO.split("func TestFails").next().unwrap();
    assert_eq!(changed("a_test.go", GO, go), ["a_test.go: TestFails was removed"]);
}

#[test]
fn a_commented_out_test_is_removed() {
    let rust = RUST.replace("#[test]", "/* #[test]").replace("0);\n}", "0);\n} */");
    assert_eq!(changed("a.rs", RUST, &rust), ["a.rs: adds was removed"]);
}

#[test]
fn a_test_that_is_skipped_now_is_named() {
    let rows = [
        ("a.rs", RUST, "#[test]", "#[test]\n#[ignore = \"later\"]", "a.rs: adds is skipped now"),
        ("a.rs", RUST, "#[test]", "#[cfg(any())]\n#[test]", "a.rs: adds is skipped now"),
        (
            "a_test.py",
            PYTHON,
            "def test_f",
            "@pytest.mark.skip(reason=\"x\")\ndef test_f",
            "a_test.py: test_fails is skipped now",
        ),
        (
            "a_test.py",
            PYTHON,
            "class ",
            "@unittest.skip(\"x\")\nclass ",
            "a_test.py: TestSums > test_adds is skipped now",
        ),
        (
            "a_test.py",
            PYTHON,
            "        assert add(1",
            "        pytest.skip(\"x\")\n        assert add(1",
            "a_test.py: TestSums > test_adds is skipped now",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "it('adds'",
            "it.skip('adds'",
            "a.test.ts: sums > adds is skipped now",
        ),
        ("a.test.ts", SCRIPT, "it('adds'", "xit('adds'", "a.test.ts: sums > adds is skipped now"),
        (
            "a.test.ts",
            SCRIPT,
            "it('adds'",
            "it.only('adds'",
            "a.test.ts: only some of its tests run now",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "it('adds', ()",
            "it('adds', { skip: true }, ()",
            "a.test.ts: sums > adds is skipped now",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "it('adds', () => {",
            "it('adds', function () {\n    this.skip();",
            "a.test.ts: sums > adds is skipped now",
        ),
        (
            "a_test.py",
            PYTHON,
            "def test_f",
            "@pytest.mark.skipif(True, reason=\"x\")\ndef test_f",
            "a_test.py: test_fails is skipped now",
        ),
        (
            "a_test.py",
            PYTHON,
            "    def test_adds",
            "    __test__ = False\n    def test_adds",
            "a_test.py: TestSums > test_adds is skipped now",
        ),
        (
            "a_test.go",
            GO,
            "\trequire",
            "\tt.Skip(\"later\")\n\trequire",
            "a_test.go: TestFails is skipped now",
        ),
    ];
    for (path, before, from, to, output) in rows {
        assert_eq!(changed(path, before, &before.replacen(from, to, 1)), [output], "{to}");
    }
    let module = format!("pytestmark = pytest.mark.skip\n{PYTHON}");
    assert_eq!(changed("test_a.py", PYTHON, &module).len(), 2);
    let left_out = format!("//go:build ignore\n\n{GO}");
    assert_eq!(changed("a_test.go", GO, &left_out).len(), 2);
    let left_out = format!("#![cfg(any())]\n{RUST}");
    assert_eq!(changed("a.rs", RUST, &left_out).len(), 2);
    let inside = format!("#[cfg(test)]\nmod tests {{\n{RUST}}}\n");
    let left_out = inside.replace("#[cfg(test)]", "#[cfg(any())]");
    assert_eq!(changed("a.rs", &inside, &left_out).len(), 2);
}

#[test]
fn a_test_that_asserts_less_is_named() {
    let rows = [
        (
            "a.rs",
            RUST,
            "assert!(it.is_ready(), \"{it:?}\");",
            "let _ = it;",
            "a.rs: waits asserts nothing now (1 before)",
        ),
        (
            "a.rs",
            RUST,
            "assert!(it.is_ready(), \"{it:?}\");",
            "assert!(true);",
            "a.rs: waits asserts nothing now (1 before)",
        ),
        ("a.rs", RUST, "assert!(it", "// assert!(it", "a.rs: waits asserts nothing now (1 before)"),
        (
            "test_a.py",
            PYTHON,
            "assert add(1, 2) == 3\n        assert add(0, 0) == 0",
            "pass",
            "test_a.py: TestSums > test_adds asserts nothing now (2 before)",
        ),
        (
            "test_a.py",
            PYTHON,
            "assert add(1, 2) == 3",
            "assert True",
            "test_a.py: TestSums > test_adds asserts less now (1, 2 before)",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "expect(add(1, 2)).toBe(3)",
            "expect(true).toBe(true)",
            "a.test.ts: sums > adds asserts less now (1, 2 before)",
        ),
        (
            "a.rs",
            RUST,
            "    assert_eq!(add(0, 0), 0);\n",
            "",
            "a.rs: adds asserts less now (1, 2 before)",
        ),
        (
            "a.rs",
            RUST,
            "    assert_eq!(add(1",
            "    return;\n    assert_eq!(add(1",
            "a.rs: adds asserts nothing now (2 before)",
        ),
        (
            "test_a.py",
            PYTHON,
            "        assert add(0",
            "        return\n        assert add(0",
            "test_a.py: TestSums > test_adds asserts less now (1, 2 before)",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "    expect(add(0",
            "    return;\n    expect(add(0",
            "a.test.ts: sums > adds asserts less now (1, 2 before)",
        ),
        (
            "a_test.go",
            GO,
            "\trequire",
            "\treturn\n\trequire",
            "a_test.go: TestFails asserts nothing now (1 before)",
        ),
        (
            "a_test.go",
            GO,
            "t.Errorf(\"got %d\", got)",
            "_ = got",
            "a_test.go: TestAdds asserts nothing now (1 before)",
        ),
    ];
    for (path, before, from, to, output) in rows {
        assert_eq!(changed(path, before, &before.replacen(from, to, 1)), [output], "{to}");
    }
}

#[test]
fn a_deleted_file_is_named_once() {
    assert_eq!(found(&[("test_a.py", Some(PYTHON), None)]), ["test_a.py was deleted with 2 tests"]);
    assert_eq!(found(&[("src/lib.rs", Some("fn main() {}"), None)]), [""; 0]);
    // Out of sight of the program that runs the tests.
    let hidden = [("tests/test_a.py", Some(PYTHON), None), ("tests/a.py", None, Some(PYTHON))];
    assert_eq!(found(&hidden), ["tests/test_a.py was deleted with 2 tests"]);
    let hidden = [("a_test.go", Some(GO), None), ("a_testing.go", None, Some(GO))];
    assert_eq!(found(&hidden), ["a_test.go was deleted with 2 tests"]);
}

#[test]
fn honest_changes_raise_no_alarm() {
    let rows = [
        // Another name, another value, a comment, a condition.
        ("a.rs", RUST, "fn adds", "fn adds_numbers"),
        ("a.rs", RUST, "add(1, 2), 3", "add(2, 2), 4"),
        (
            "a.rs",
            RUST,
            "assert_eq!(add(0, 0), 0);",
            "if early {\n        return;\n    }\n    assert_eq!(add(0, 0), 0);",
        ),
        ("a.rs", RUST, "#[test]", "/// Sums.\n#[test]\n#[cfg_attr(windows, ignore)]"),
        ("a.test.js", SCRIPT, "'sums'", "'sums of numbers'"),
        (
            "test_a.py",
            PYTHON,
            "    def test_adds",
            "    @pytest.mark.skipif(WINDOWS, reason=\"x\")\n    def test_adds",
        ),
        ("test_a.py", PYTHON, "class TestSums", "class TestAdding"),
        ("a_test.go", GO, "TestFails", "TestRefuses"),
    ];
    for (path, before, from, to) in rows {
        let after = before.replacen(from, to, 1);
        assert_ne!(before, after);
        assert_eq!(changed(path, before, &after), [""; 0], "{to}");
    }
}

#[test]
fn what_moved_is_not_removed() {
    let half = RUST.find("#[tokio").unwrap();
    let moved =
        [("src/a.rs", Some(RUST), Some(&RUST[..half])), ("tests/b.rs", None, Some(&RUST[half..]))];
    assert_eq!(found(&moved), [""; 0]);
    let renamed = [("test_a.py", Some(PYTHON), None), ("test_b.py", None, Some(PYTHON))];
    assert_eq!(found(&renamed), [""; 0]);
    // What is skipped on the way is not only moved.
    let skipped = PYTHON.replace("def test_f", "@pytest.mark.skip\ndef test_f");
    let renamed = [("test_a.py", Some(PYTHON), None), ("test_b.py", None, Some(skipped.as_str()))];
    assert_eq!(found(&renamed), ["test_a.py: test_fails is skipped now"]);
}

/// A file of so many tests, each of its own kind.
fn file(numbers: &[u8]) -> String {
    let test = |n: &u8| {
        format!("#[test]\nfn t{n}() {{\n    let x = f({n});\n    assert_eq!(x, {n}{n});\n}}\n\n")
    };
    numbers.iter().map(test).collect()
}

proptest! {
    #[test]
    fn adding_and_ordering_weaken_nothing(mut old in prop::collection::btree_set(any::<u8>(), 0..8), new in prop::collection::vec(any::<u8>(), 0..8)) {
        let before: Vec<u8> = old.iter().copied().collect();
        old.extend(new);
        let after: Vec<u8> = old.into_iter().rev().collect();
        prop_assert_eq!(changed("a.rs", &file(&before), &file(&after)), [""; 0]);
    }

    #[test]
    fn each_test_that_goes_is_named(all in prop::collection::btree_set(any::<u8>(), 1..8), pick in any::<prop::sample::Index>()) {
        let all: Vec<u8> = all.into_iter().collect();
        let gone = all[pick.index(all.len())];
        let left: Vec<u8> = all.iter().copied().filter(|n| *n != gone).collect();
        prop_assert_eq!(changed("a.rs", &file(&all), &file(&left)), [format!("a.rs: t{gone} was removed")]);
    }

    #[test]
    fn any_text_is_read(before in any::<String>(), after in "[a-z#@\\[\\](){}\"'`:;.\n =]{0,200}") {
        for path in ["a.rs", "a.test.js", "test_a.py", "a_test.go"] {
            changed(path, &before, &after);
            changed(path, &after, &before);
        }
    }
}
