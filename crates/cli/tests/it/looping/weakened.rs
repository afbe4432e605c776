//! Tests that a session left weaker than they were.

use super::*;

const BEFORE: &str = "def test_adds():\n    assert add(1, 2) == 3\n\ndef test_fails():\n    \
                      with raises(ValueError):\n        add(None, 1)\n";

/// A project with a test file and a gate that is always green.
fn tested() -> TestEnv {
    let env = project(&["a", "b"]);
    env.write("tests/test_sums.py", BEFORE);
    env.write("ralph.toml", "[[gate]]\nname = \"tests\"\ncommand = \"true\"\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "tests"]);
    env
}

fn makes(text: &str) -> String {
    session(&[write("tests/test_sums.py", text), say("<task-done>{id}</task-done>")])
}

#[test]
fn weakened_tests_are_reported_and_stay_in_the_evidence() {
    let env = tested();
    let lazy = BEFORE.replace("add(1, 2) == 3", "True").replace("def test_f", "def helper_f");
    let honest = session(&[write("b.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&makes(&lazy), &honest], &[]);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    let output = "tests are weaker than before: tests/test_sums.py: test_adds asserts nothing now \
                (1 before); tests/test_sums.py: test_fails was removed";
    let text: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(output), "{}", ran.stderr);
    let rows = show(&env, "a")["evidence"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["judge"] == "weakened tests").unwrap();
    assert_eq!((row["verdict"].as_str(), row["digest"].as_str()), (Some("pass"), Some(output)));
    // The next task did nothing of the kind.
    assert!(!show(&env, "b")["evidence"].to_string().contains("weaker"));
    let journal = journal(&env);
    let notices = of_kind(&journal, "noticed");
    let notices: Vec<_> =
        notices.iter().filter(|event| event["notice"] == "tests_weakened").collect();
    assert_eq!((notices.len(), notices[0]["count"].as_u64()), (1, Some(2)));
}

#[test]
fn a_deleted_test_file_is_reported_and_a_moved_one_is_not() {
    let env = tested();
    let gone = session(&[sh("git rm -q tests/test_sums.py"), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&gone], &["--once"]);
    let output = "tests/test_sums.py was deleted with 2 tests";
    assert!(ran.code == 0 && ran.stderr.contains(output), "{}", ran.stderr);
    let env = tested();
    let moved = session(&[
        sh("git mv tests/test_sums.py tests/test_numbers.py"),
        say("<task-done>{id}</task-done>"),
    ]);
    let ran = build(&env, &[&moved], &["--once"]);
    assert!(ran.code == 0 && !ran.stderr.contains("weaker"), "{}", ran.stderr);
}

#[test]
fn weakened_tests_are_refused_where_tests_are_protected() {
    let env = tested();
    let protected = "[gates]\nprotected = [\"tests/\"]\non_protected = \"reject\"\n";
    let text = std::fs::read_to_string(env.repo().join("ralph.toml")).unwrap();
    env.write("ralph.toml", format!("{protected}{text}"));
    env.git(&["commit", "-qam", "protect"]);
    let ran = build(&env, &[&makes("")], &["--once"]);
    assert_eq!((ran.code, classes(&env)), (0, vec!["red".to_owned()]), "{}", ran.stderr);
    let rows = show(&env, "a")["evidence"].to_string();
    assert!(rows.contains("weakened tests") && rows.contains("protected files"), "{rows}");
}
