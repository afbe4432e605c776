//! Digests of what real tools print.

use proptest::prelude::*;

use super::*;

const ESC: char = '\u{1b}';

fn names(output: &str) -> Vec<String> {
    read(output, DEFAULT_MAX).failing
}

#[test]
fn failing_tests_are_known_by_the_habits_of_their_runner() {
    for (printed, name) in [
        ("test tests::adds ... FAILED", "tests::adds"),
        ("        FAIL [   0.005s] (1/9) my-crate tests::adds", "my-crate tests::adds"),
        ("     TIMEOUT [  60.003s] my-crate::it slow", "my-crate::it slow"),
        ("     SIGABRT [   0.1s] my-crate boom", "my-crate boom"),
        ("FAILED tests/test_a.py::test_b[x - y] - assert 1 == 2", "tests/test_a.py::test_b[x - y]"),
        ("ERROR tests/test_a.py - ImportError: no", "tests/test_a.py"),
        ("FAIL: test_b (module.Class.test_b)", "test_b (module.Class.test_b)"),
        ("    --- FAIL: TestAdds/zero (0.00s)", "TestAdds/zero"),
        ("  ● suite › adds numbers", "suite › adds numbers"),
        ("    ✕ adds numbers (5 ms)", "adds numbers"),
        (" FAIL  src/a.test.ts > suite > adds", "src/a.test.ts > suite > adds"),
        ("not ok 3 - adds", "adds"),
        ("✖ adds two (0.53ms)", "adds two"),
        (" × src/a.test.ts > suite > adds 3ms", "src/a.test.ts > suite > adds"),
        ("rspec ./spec/calc_spec.rb:5 # Calc adds", "Calc adds"),
        ("1) Tests\\CalcTest::testAdds", "Tests\\CalcTest::testAdds"),
        ("  2) test adds two (CalcTest)", "test adds two (CalcTest)"),
        ("CalcTest > adds() FAILED", "CalcTest > adds()"),
        (
            "[ERROR] org.example.CalcTest.adds -- Time elapsed: 0.012 s <<< FAILURE!",
            "org.example.CalcTest.adds",
        ),
        (
            "[ERROR] adds(org.example.CalcTest)  Time elapsed: 0.01 s  <<< ERROR!",
            "adds(org.example.CalcTest)",
        ),
        ("adds ... FAILED (5ms)", "adds"),
        ("  Failed Calc.Tests.Adds [5 ms]", "Calc.Tests.Adds"),
        ("(fail) suite > adds [0.10ms]", "suite > adds"),
        ("Test Case 'CalcTests.testAdds' failed (0.002 seconds)", "CalcTests.testAdds"),
    ] {
        assert_eq!(names::failing_test(printed), Some(name), "{printed}");
    }
    for printed in [
        "test tests::adds ... ok",
        "FAIL",
        "FAILED (failures=1)",
        "ERROR: could not connect (timeout after 3 tries)",
        "ERROR something",
        "FAIL [later] x",
        "not ok 3 # SKIP no database",
        "● Console",
        "> Task :test FAILED",
        "✖ failing tests:",
        "[ERROR] Tests run: 2, Failures: 1, Time elapsed: 0.1 s <<< FAILURE!",
        "1) then call Foo::bar()",
        "",
    ] {
        assert_eq!(names::failing_test(printed), None, "{printed}");
    }
}

#[test]
fn passed_tests_are_counted_by_the_sums_of_their_runner() {
    for (printed, passed) in [
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored; finished in 0.1s", 3),
        ("test result: ok. 2 passed; 0 failed;\ntest result: FAILED. 1 passed; 1 failed;", 3),
        ("  Summary [   0.005s] 4 tests run: 3 passed, 1 failed, 0 skipped", 3),
        ("========== 1 failed, 3 passed, 1 warning in 0.12s ==========", 3),
        ("1 failed, 3 passed in 0.12s", 3),
        ("========== 2 failed in 0.12s ==========", 0),
        ("Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1)", 2),
        ("Ran 1 test in 0.001s\n\nOK", 1),
        ("Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 3 passed, 4 total", 3),
        (" Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed (4)", 3),
        ("  3 passing (5ms)\n  1 failing", 3),
        ("ok 1 - a\nnot ok 2 - b\n# tests 2\n# pass 1\n# fail 1", 1),
        ("ℹ tests 4\nℹ pass 3\nℹ fail 1", 3),
        (" 3 pass\n 1 fail", 3),
        ("FAILED | 3 passed | 1 failed (5ms)", 3),
        ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nok  \texample.org/a\t0.01s", 2),
        (
            "{\"Action\":\"pass\",\"Test\":\"TestA\"}\n{\"Action\":\"output\",\"Output\":\"ok\\tx\\t1s\\n\"}",
            1,
        ),
        ("1..3\nok 1 - a\nnot ok 2 - b\nok 3 # SKIP none", 1),
        ("4 examples, 1 failure", 3),
        ("4 tests, 1 failure", 3),
        ("Tests: 4, Assertions: 5, Failures: 1.", 3),
        ("4 tests completed, 1 failed", 3),
        ("[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 1", 2),
        (
            "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4, Duration: 5 ms",
            3,
        ),
        ("Executed 4 tests, with 1 failure (0 unexpected) in 0.1 seconds", 3),
    ] {
        assert_eq!(read(printed, DEFAULT_MAX).passed, Some(passed), "{printed}");
    }
    for printed in ["test a ... FAILED", "3 users passed", "ok", "compiled 3 tests", ""] {
        assert_eq!(read(printed, DEFAULT_MAX).passed, None, "{printed}");
    }
}

#[test]
fn colors_and_overwritten_text_are_gone() {
    for (raw, plain) in [
        ("\u{1b}[1m\u{1b}[31merror\u{1b}[0m: x", "error: x"),
        ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7}!", "link!"),
        ("\u{1b}(Bplain\u{9b}0m \u{1b}", "plain"),
        ("10%\r50%\r100%", "100%"),
        ("windows\r", "windows"),
        ("a\u{0}b\u{8}", "ab"),
        ("   ", ""),
    ] {
        assert_eq!(line::clean(raw), plain, "{raw:?}");
    }
    assert_eq!(names("\u{1b}[31mtest a ... FAILED"), ["a"]);
    assert_eq!(
        digest("\u{1b}[31mtest a ... FAILED\u{1b}[m", 100),
        "Failing tests:\n- a\n\ntest a ... FAILED"
    );
}

#[test]
fn errors_are_known_by_how_they_begin_or_what_they_hold() {
    for printed in [
        "error[E0308]: mismatched types",
        "src/a.ts(3,5): error TS2322: no",
        "./x.go:3:5: undefined: y",
        "thread 'main' panicked at src/lib.rs:1:1:",
        "ValueError: bad",
        "E   assert 1 == 2",
        "make: *** [Makefile:2: test] Error 1",
        "[ERROR] COMPILATION ERROR",
    ] {
        assert!(line::is_error(printed), "{printed}");
    }
    for printed in ["", "test error_cases ... ok", "0 errors", "warning: unused", "terror"] {
        assert!(!line::is_error(printed), "{printed}");
    }
}

#[test]
fn short_output_is_there_whole() {
    let output = "one\n\n\ntwo\nerror: three\n";
    assert_eq!(digest(output, 4_000), "one\n\ntwo\nerror: three");
    assert_eq!(digest("", 4_000), "");
    assert_eq!(digest("\n\n", 4_000), "");
}

#[test]
fn long_output_keeps_failing_tests_first_errors_and_the_end() {
    let mut output = String::new();
    for n in 0..500 {
        output.push_str(&format!("   Compiling crate-{n} v1.0.0 (/some/long/path/to/it)\n"));
    }
    output.push_str("error[E0308]: mismatched types\n --> src/lib.rs:4:5\n  |\n4 |     x\n\n");
    for n in 0..500 {
        output.push_str(&format!("test ok_{n} ... ok\n"));
    }
    output.push_str("test adds ... FAILED\ntest subs ... FAILED\n");
    for n in 500..900 {
        output.push_str(&format!("test ok_{n} ... ok\n"));
    }
    output.push_str("error[E0308]: mismatched types\ntest result: FAILED. 2 failed\n");
    let text = digest(&output, 420);
    let first = "error[E0308]: mismatched types\n --> src/lib.rs:4:5\n  |\n4 |     x\n\nFailing tests:\n- adds\n- subs\n\nOutput:\n[... ";
    assert!(text.starts_with(first), "{text}");
    let last = "test ok_899 ... ok\nerror[E0308]: mismatched types\ntest result: FAILED. 2 failed";
    assert!(text.ends_with(last) && text.len() <= 420, "{text}");
}

#[test]
fn many_failing_tests_are_counted() {
    let output: String = (0..2_000).map(|n| format!("test case_{n:04} ... FAILED\n")).collect();
    let text = digest(&output, 1_000);
    assert!(text.contains("Failing tests:\n- case_0000\n- case_0001\n"), "{text}");
    assert!(text.contains(" more\n\n"), "{text}");
    assert!(text.ends_with("test case_1999 ... FAILED"), "{text}");
    assert!(text.len() <= 1_000);
}

#[test]
fn one_endless_line_and_very_many_lines_are_cut() {
    let line = "x".repeat(5_000_000);
    assert!(digest(&line, 4_000).len() < 400);
    let lines = "error: no\n".repeat(200_000);
    assert!(digest(&lines, 4_000).len() <= 4_000);
}

fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        any::<String>(),
        Just("test a::b ... FAILED".to_owned()),
        "error: [a-z]{0,9}",
        "\u{1b}\\[[0-9;]{0,4}[a-zA-Z]?.{0,9}",
        "[ -~]{0,120}",
        Just(String::new()),
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_output_gives_a_bounded_digest_that_stays_the_same(
        output in output(), max in prop_oneof![0_usize..200, Just(DEFAULT_MAX)]
    ) {
        let text = digest(&output, max);
        prop_assert!(text.len() <= max);
        prop_assert_eq!(&text, &digest(&output, max));
        prop_assert!(!text.contains(ESC));
    }

    #[test]
    fn any_line_is_cleaned_to_one_short_line(raw in any::<String>()) {
        let text = line::clean(raw.lines().next().unwrap_or_default()).into_owned();
        prop_assert!(text.len() <= 310 && !text.contains([ESC, '\r', '\n']));
    }
}

/// What the programs really print, and the failing tests in it.
#[test]
fn outputs_of_real_programs_name_their_failing_tests() {
    let vitest: &[&str] = &["calc.vt.mjs > calc > adds numbers"];
    let junit: &[&str] = &["test_broken", "test_calc.test_text[a - b]", "test_calc.test_adds"];
    for (program, output, failing) in [
        ("cargo", include_str!("samples/cargo.txt"), &["tests::adds"] as &[&str]),
        ("nextest", include_str!("samples/nextest.txt"), &["calc tests::adds"]),
        (
            "pytest",
            include_str!("samples/pytest.txt"),
            &["test_calc.py::test_text[a - b]", "test_calc.py::test_adds", "test_broken.py"],
        ),
        (
            "unittest",
            include_str!("samples/unittest.txt"),
            &["test_broken (unittest.loader._FailedTest.test_broken)"],
        ),
        ("junit", include_str!("samples/junit.xml"), junit),
        (
            "jest",
            include_str!("samples/jest.txt"),
            &["./calc.test.js", "calc › adds numbers", "./broken.test.js"],
        ),
        ("vitest", include_str!("samples/vitest.txt"), vitest),
        (
            "mocha",
            include_str!("samples/mocha.txt"),
            &["stands alone", "calc › #add() › adds numbers"],
        ),
        ("node, TAP", include_str!("samples/node-tap.txt"), &["adds numbers", "calc"]),
        ("node, spec", include_str!("samples/node-spec.txt"), &["adds numbers", "calc"]),
        ("go", include_str!("samples/go.txt"), &["TestAdds", "TestTable", "TestTable/zero"]),
        ("go -v", include_str!("samples/go-v.txt"), &["TestAdds", "TestTable", "TestTable/zero"]),
        ("go -json", include_str!("samples/go-json.txt"), &["TestAdds"]),
        ("rspec", include_str!("samples/rspec.txt"), &["Calc adds numbers"]),
        (
            "phpunit",
            include_str!("samples/phpunit.txt"),
            &["Tests\\CalcTest::testAdds with data set #0 (1, 2)"],
        ),
        ("gradle", include_str!("samples/gradle.txt"), &["CalcTest > adds()"]),
        ("surefire", include_str!("samples/surefire.txt"), &["org.example.CalcTest.adds"]),
    ] {
        assert_eq!(names(output), failing, "{program}");
        let text = digest(output, 600);
        assert!(text.contains(&format!("Failing tests:\n- {}\n", failing[0])), "{program}\n{text}");
        assert!(text.len() <= 600, "{program}");
    }
}

#[test]
fn the_first_error_of_a_failing_test_is_kept_in_little_space() {
    for (output, error) in [
        (include_str!("samples/cargo.txt"), "panicked at src/lib.rs"),
        (include_str!("samples/jest.txt"), "Expected: 3"),
        (include_str!("samples/vitest.txt"), "AssertionError: expected 2 to be 3"),
        (include_str!("samples/go-json.txt"), "calc_test.go:7: got 2, want 3"),
        (include_str!("samples/rspec.txt"), "Failure/Error: expect(1 + 1).to eq(3)"),
        (include_str!("samples/phpunit.txt"), "Failed asserting that 2 is identical to 3."),
        (include_str!("samples/surefire.txt"), "expected: <3> but was: <2>"),
        (include_str!("samples/junit.xml"), "error: test_broken: collection failure"),
    ] {
        let noise: String = (0..200).map(|n| format!("line {n} of no interest\n")).collect();
        let text = digest(&format!("{noise}{output}{noise}"), 1_500);
        assert!(text.contains(error), "{error}\n{text}");
    }
}

/// F61: the excerpt was the head of the log. Now a digest begins with what failed.
#[test]
fn a_digest_begins_with_the_failing_assertion() {
    for (program, output, first, soon) in [
        (
            "cargo",
            include_str!("samples/cargo.txt"),
            "thread 'tests::adds' (30033) panicked at src/lib.rs:3:21:",
            " right: 3",
        ),
        (
            "nextest",
            include_str!("samples/nextest.txt"),
            "panicked at",
            "assertion `left == right`",
        ),
        (
            "pytest",
            include_str!("samples/pytest.txt"),
            "test_broken.py:1: in <module>",
            "E   ModuleNotFoundError",
        ),
        ("unittest", include_str!("samples/unittest.txt"), "", "ImportError: Failed to import"),
        (
            "jest",
            include_str!("samples/jest.txt"),
            "    expect(received).toBe(expected)",
            "Received: 2",
        ),
        ("vitest", include_str!("samples/vitest.txt"), "", "AssertionError: expected 2 to be 3"),
        ("mocha", include_str!("samples/mocha.txt"), "", "AssertionError [ERR_ASSERTION]"),
        (
            "go",
            include_str!("samples/go.txt"),
            "--- FAIL: TestAdds",
            "calc_test.go:7: got 2, want 3",
        ),
        ("go -v", include_str!("samples/go-v.txt"), "", "calc_test.go:7: got 2, want 3"),
        ("rspec", include_str!("samples/rspec.txt"), "  1) Calc adds numbers", "got: 2"),
        ("phpunit", include_str!("samples/phpunit.txt"), "1) Tests", "Failed asserting that 2"),
        ("surefire", include_str!("samples/surefire.txt"), "", "expected: <3> but was: <2>"),
        (
            "gradle",
            include_str!("samples/gradle.txt"),
            "CalcTest > adds() FAILED",
            "at CalcTest.java:9",
        ),
        ("node", include_str!("samples/node-spec.txt"), "✖ adds numbers", "2 !== 3"),
    ] {
        let noise: String = (0..40).map(|n| format!("line {n} of no interest\n")).collect();
        let text = digest(&format!("{noise}{output}"), DEFAULT_MAX);
        assert!(text.lines().next().unwrap_or_default().contains(first), "{program}\n{text}");
        let shown: Vec<&str> = text.lines().take(8).collect();
        assert!(shown.join("\n").contains(soon), "{program}\n{text}");
        let twice = text.matches(soon).count();
        assert!(twice <= output.matches(soon).count().max(1), "{program}\n{text}");
    }
}

#[test]
fn a_log_line_of_a_go_test_that_passes_is_not_a_failure() {
    let mut output = String::new();
    for n in 0..6 {
        output.push_str(&format!(
            "=== RUN   TestA{n}\n    a_test.go:5: started\n--- PASS: TestA{n}\n"
        ));
    }
    output.push_str(
        "=== RUN   TestB\n    a_test.go:9: got 2, want 3\n--- FAIL: TestB (0.0s)\nFAIL\n",
    );
    let text = digest(&output, DEFAULT_MAX);
    assert!(text.starts_with("=== RUN   TestB\n    a_test.go:9: got 2, want 3\n"), "{text}");
}

#[test]
fn without_an_assertion_the_first_error_comes_first() {
    let mut output: String = (0..20).map(|n| format!("   Compiling crate-{n}\n")).collect();
    output.push_str("error[E0308]: mismatched types\n --> src/lib.rs:4:5\n  |\n4 |     x\n\n");
    output.push_str("error: could not compile `calc`\n");
    let text = digest(&output, DEFAULT_MAX);
    let first = "error[E0308]: mismatched types\n --> src/lib.rs:4:5\n  |\n4 |     x\n";
    assert!(text.starts_with(first), "{text}");
    let lint: String = (0..20).map(|n| format!("checked file {n}\n")).collect();
    let lint = format!("{lint}src/a.js\n  3:5  error  'x' is not defined  no-undef\n");
    let text = digest(&lint, DEFAULT_MAX);
    assert!(text.starts_with("src/a.js\n  3:5  error"), "{text}");
}
