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

const JAVA: &str = "\
class SumsTest {
    @Test
    void adds() {
        assertEquals(3, add(1, 2));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void fails(int value) {
        assertThrows(Error.class, () -> add(value));
    }
}
";

const RUBY: &str = "\
RSpec.describe Sums do
  describe '#add' do
    it 'adds' do
      expect(add(1, 2)).to eq(3)
    end

    it 'fails' do
      expect { add }.to raise_error(ArgumentError)
    end
  end
end
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
    let java = format!("{}}}\n", JAVA.split("    @Param").next().unwrap());
    assert_eq!(changed("ATest.java", JAVA, &java), ["ATest.java: SumsTest > fails was removed"]);
    let ruby = format!("{}  end\nend\n", RUBY.split("    it 'fails'").next().unwrap());
    assert_eq!(changed("a_spec.rb", RUBY, &ruby), ["a_spec.rb: #add > fails was removed"]);
    let (php, kept) = (
        "<?php\nclass A {\n  public function testA() { $this->assertSame(1, f()); }\n  public function testB() {\n    $this->assertSame(2, g());\n  }\n}\n",
        "<?php\nclass A {\n  public function testB() {\n    $this->assertSame(2, g());\n  }\n}\n",
    );
    assert_eq!(changed("tests/ATest.php", php, kept), ["tests/ATest.php: A > testA was removed"]);
    let (elixir, kept) = (
        "test \"a\" do\n  assert f(1) == 2\nend\n\ntest \"b\" do\n  assert g(7) == 8\nend\n",
        "test \"b\" do\n  assert g(7) == 8\nend\n",
    );
    assert_eq!(changed("test/a_test.exs", elixir, kept), ["test/a_test.exs: a was removed"]);
    let (swift, kept) = (
        "func testA() {\n  XCTAssertEqual(f(), 1)\n}\nfunc testB() {\n  XCTAssertEqual(g(), 2)\n}\n",
        "func testB() {\n  XCTAssertEqual(g(), 2)\n}\n",
    );
    assert_eq!(changed("ATests.swift", swift, kept), ["ATests.swift: testA was removed"]);
    let (sharp, kept) = (
        "[Fact]\npublic void A() { Assert.Equal(1, F()); }\n[Theory]\n[InlineData(4)]\npublic void B(int x) => Assert.Equal(x, G());\n",
        "[Theory]\n[InlineData(4)]\npublic void B(int x) => Assert.Equal(x, G());\n",
    );
    assert_eq!(changed("ATests.cs", sharp, kept), ["ATests.cs: A was removed"]);
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
        ("a.rs", RUST, "let it", "return;\n    let it", "a.rs: waits is skipped now"),
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
            "a_test.go",
            GO,
            "\trequire",
            "\tt.Skip(\"later\")\n\trequire",
            "a_test.go: TestFails is skipped now",
        ),
        (
            "ATest.kt",
            JAVA,
            "    @Test",
            "    @Disabled(\"x\")\n    @Test",
            "ATest.kt: SumsTest > adds is skipped now",
        ),
        ("a_spec.rb", RUBY, "it 'adds'", "xit 'adds'", "a_spec.rb: #add > adds is skipped now"),
        (
            "a_spec.rb",
            RUBY,
            "      expect(add",
            "      skip 'later'\n      expect(add",
            "a_spec.rb: #add > adds is skipped now",
        ),
    ];
    for (path, before, from, to, said) in rows {
        assert_eq!(changed(path, before, &before.replacen(from, to, 1)), [said], "{to}");
    }
    let module = format!("pytestmark = pytest.mark.skip\n{PYTHON}");
    assert_eq!(changed("test_a.py", PYTHON, &module).len(), 2);
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
            "a.rs: waits asserts what is always true",
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
            "test_a.py: TestSums > test_adds asserts what is always true",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "expect(add(1, 2)).toBe(3)",
            "expect(true).toBe(true)",
            "a.test.ts: sums > adds asserts what is always true",
        ),
        (
            "a_test.go",
            GO,
            "t.Errorf(\"got %d\", got)",
            "_ = got",
            "a_test.go: TestAdds asserts nothing now (1 before)",
        ),
    ];
    for (path, before, from, to, said) in rows {
        assert_eq!(changed(path, before, &before.replacen(from, to, 1)), [said], "{to}");
    }
}

#[test]
fn a_deleted_file_is_named_once() {
    assert_eq!(found(&[("test_a.py", Some(PYTHON), None)]), ["test_a.py was deleted with 2 tests"]);
    assert_eq!(found(&[("src/lib.rs", Some("fn main() {}"), None)]), [""; 0]);
    assert_eq!(found(&[("a.bats", Some("@test x { true; }"), None)]), ["a.bats was deleted"]);
}

#[test]
fn honest_changes_raise_no_alarm() {
    let rows = [
        // Another name, another value, a comment, one assertion less.
        ("a.rs", RUST, "fn adds", "fn adds_numbers"),
        ("a.rs", RUST, "add(1, 2), 3", "add(2, 2), 4"),
        ("a.rs", RUST, "    assert_eq!(add(0, 0), 0);\n", ""),
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
        ("ATest.java", JAVA, "void adds", "void addsUp"),
        ("a_spec.rb", RUBY, "it 'adds'", "it 'adds up'"),
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

#[test]
fn tests_become_tables_and_helpers() {
    let two =
        "def test_a():\n    assert add(1, 2) == 3\n\ndef test_b():\n    assert add(5, 6) == 11\n";
    let table = "@pytest.mark.parametrize(\"a,b,c\", [(1, 2, 3), (5, 6, 11)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n";
    assert_eq!(changed("test_a.py", two, table), [""; 0]);
    let without = table.replace(", (5, 6, 11)", "");
    assert_eq!(changed("test_a.py", two, &without), ["test_a.py: test_b was removed"]);
    let merged = "def test_a():\n    assert add(1, 2) == 3\n    assert add(5, 6) == 11\n";
    assert_eq!(changed("test_a.py", two, merged), [""; 0]);
    let fields = "#[test]\nfn reads() {\n    assert_eq!(c.a, 1);\n    assert_eq!(c.b, 2);\n    assert_eq!(c.d, 4);\n}\n";
    let whole = "#[test]\nfn reads() {\n    assert_eq!(c, Config { a: 1, b: 2, d: 4 });\n}\n";
    assert_eq!(changed("a.rs", fields, whole), [""; 0]);
    let helper = "#[test]\nfn reads() {\n    config_is(c, 1, 2, 4);\n}\n\nfn config_is(c: Config, a: u8, b: u8, d: u8) {\n    assert_eq!((c.a, c.b, c.d), (a, b, d));\n}\n";
    assert_eq!(changed("a.rs", fields, helper), [""; 0]);
    let empty = helper.replace("assert_eq!((c.a, c.b, c.d), (a, b, d));", "");
    assert_eq!(changed("a.rs", fields, &empty), ["a.rs: reads asserts nothing now (3 before)"]);
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
        for path in ["a.rs", "a.test.js", "test_a.py", "a_test.go", "ATest.java", "a_spec.rb", "a_test.exs", "ATests.cs", "ATests.swift", "ATest.php"] {
            changed(path, &before, &after);
            changed(path, &after, &before);
        }
    }
}

/// Found by a fuzzer: the line was cut in the middle of a character.
#[test]
fn what_stands_before_a_word_is_no_part_of_it() {
    let text = "\u{FFFD}it 'a' do\n  expect(x).to eq 1\nend\n";
    let file = |before, after| ChangedFile { path: "a_spec.rb", before, after };
    assert_eq!(find(&[file(Some(text), Some(text))]), []);
}
