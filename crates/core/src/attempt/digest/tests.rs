//! Digests of what real tools print.

use proptest::prelude::*;

use super::*;

const ESC: char = '\u{1b}';

fn names(output: &str) -> Vec<&str> {
    output.lines().filter_map(line::failing_test).collect()
}

#[test]
fn failing_tests_are_known_by_the_habits_of_their_runner() {
    for (printed, name) in [
        ("test tests::adds ... FAILED", "tests::adds"),
        ("        FAIL [   0.005s] (1/9) my-crate tests::adds", "my-crate tests::adds"),
        ("     TIMEOUT [  60.003s] my-crate::it slow", "my-crate::it slow"),
        ("     SIGABRT [   0.1s] my-crate boom", "my-crate boom"),
        ("FAILED tests/test_a.py::test_b[x - y] - assert 1 == 2", "tests/test_a.py::test_b[x"),
        ("ERROR tests/test_a.py - ImportError: no", "tests/test_a.py"),
        ("FAIL: test_b (module.Class.test_b)", "test_b (module.Class.test_b)"),
        ("    --- FAIL: TestAdds/zero (0.00s)", "TestAdds/zero"),
        ("  ● suite › adds numbers", "suite › adds numbers"),
        ("    ✕ adds numbers (5 ms)", "adds numbers"),
        (" FAIL  src/a.test.ts > suite > adds", "src/a.test.ts > suite > adds"),
        ("not ok 3 - adds", "adds"),
    ] {
        assert_eq!(line::failing_test(printed), Some(name), "{printed}");
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
        "",
    ] {
        assert_eq!(line::failing_test(printed), None, "{printed}");
    }
}

#[test]
fn colours_and_overwritten_text_are_gone() {
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
    assert_eq!(names("\u{1b}[31mtest a ... FAILED"), [""; 0]);
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
    insta::assert_snapshot!(digest(&output, 420), @"
    Failing tests:
    - adds
    - subs

    [... 500 lines left out]
    error[E0308]: mismatched types
     --> src/lib.rs:4:5
      |
    4 |     x
    [... 894 lines left out]
    test ok_891 ... ok
    test ok_892 ... ok
    test ok_893 ... ok
    test ok_894 ... ok
    test ok_895 ... ok
    test ok_896 ... ok
    test ok_897 ... ok
    test ok_898 ... ok
    test ok_899 ... ok
    error[E0308]: mismatched types
    test result: FAILED. 2 failed
    ");
}

#[test]
fn many_failing_tests_are_counted() {
    let output: String = (0..2_000).map(|n| format!("test case_{n:04} ... FAILED\n")).collect();
    let text = digest(&output, 1_000);
    assert!(text.starts_with("Failing tests:\n- case_0000\n- case_0001\n"), "{text}");
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
