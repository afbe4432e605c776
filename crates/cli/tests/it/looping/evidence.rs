//! What `ralph task show` tells of the attempts on a task.

use super::*;

/// A page without what differs from run to run: moments, durations, names of agents and commits.
fn steady(page: &str) -> String {
    let word = |word: &str| -> String {
        let bare = word.trim_end_matches(',');
        let comma = &word[bare.len()..];
        let is_hex = bare.len() >= 12 && bare.chars().all(|c| c.is_ascii_hexdigit());
        let is_duration = bare.ends_with('s') && bare[..bare.len() - 1].parse::<f64>().is_ok();
        let is_level = ["full", "landlock", "seatbelt", "none"].contains(&bare);
        let shown = match bare {
            _ if is_level => "LEVEL",
            _ if is_hex => "COMMIT",
            _ if is_duration => "0.1s",
            _ if bare.starts_with("agent-") => "AGENT",
            _ if bare.starts_with("{\"commit\"") => "RESULT",
            other => other,
        };
        format!("{shown}{comma}")
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let page = ralph_testkit::without_times(page);
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

const BACK: &str = "\
a  a
  status        open
  priority      2
  retries       2
  reason        gate test failed (exit code 1): Failing tests: sums::adds
  attempts      2, 0.1s
  created       TIME

Attempt 2 of 2
  a gate failed  TIME, 0.1s, opus, sandbox LEVEL
  gate test failed (exit code 1): Failing tests: sums::adds
    passed  lint  0.1s
    failed  test  exit code 1, 0.1s
  changed 3 files, +4 -2
    +1 -0  docs/sums.md
    +2 -1  said.txt
    +1 -1  tests/test_sums.py
  protected files changed: docs/sums.md
  tests are weaker than before: tests/test_sums.py: test_adds asserts nothing now (1 before)
  last message
    It works now. <task-done>a</task-done>

Last failure: test
  Failing tests:
  - sums::adds
  test sums::adds ... FAILED
  assertion: 1 is not 2

Earlier attempts (in full: ralph task show a --all)
   1  a gate failed  TIME  0.1s, sonnet  gate test failed (exit code 1): Failing tests: sums::adds

Log
  TIME  created    user-tester
  TIME  claimed    AGENT
  TIME  retry      AGENT  gate test failed (exit code 1): Failing tests: sums::adds
  TIME  claimed    AGENT
  TIME  retry      AGENT  gate test failed (exit code 1): Failing tests: sums::adds";
const DONE: &str = "\
a  a
  status        done
  priority      2
  retries       2
  result        RESULT
  attempts      3, 0.1s
  created       TIME
  done          TIME

Attempt 3 of 3
  done  TIME, 0.1s, opus, sandbox LEVEL
    passed  lint  0.1s
    passed  test  0.1s
  changed 2 files, +1 -1, commit COMMIT
    +1 -0  docs/sums.md
    +0 -1  said.txt
  protected files changed: docs/sums.md
  last message
    Done. <task-done>a</task-done>

Earlier attempts (in full: ralph task show a --all)
   2  a gate failed  TIME  0.1s, opus  gate test failed (exit code 1): Failing tests: sums::adds
   1  a gate failed  TIME  0.1s, sonnet  gate test failed (exit code 1): Failing tests: sums::adds

Log
  TIME  created    user-tester
  TIME  claimed    AGENT
  TIME  retry      AGENT  gate test failed (exit code 1): Failing tests: sums::adds
  TIME  claimed    AGENT
  TIME  retry      AGENT  gate test failed (exit code 1): Failing tests: sums::adds
  TIME  claimed    AGENT
  TIME  done       AGENT";

/// Two red attempts, the second with all there is to warn of, and then `last`.
fn tried(last: &[&str]) -> TestEnv {
    let env = project(&["a", "b"]);
    env.write("tests/test_sums.py", "def test_adds():\n    assert add(1, 2) == 3\n");
    env.write("said.txt", "nothing yet\n");
    env.write(
        "ralph.toml",
        "[gates]\nprotected = [\"docs/\"]\n[[gate]]\nname = \"lint\"\ncommand = \"true\"\n\
         [[gate]]\nname = \"test\"\ncommand = \"cat said.txt; test ! -s said.txt\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    let red = "test sums::adds ... FAILED\nassertion: 1 is not 2\n";
    let done = |words: &str| say(&format!("{words} <task-done>a</task-done>"));
    let first = session(&[write("said.txt", red), done("I turned the sign.")]);
    let second = session(&[
        write("docs/sums.md", "Sums.\n"),
        write("tests/test_sums.py", "def test_adds():\n    assert True\n"),
        done("It works now."),
    ]);
    let sessions: Vec<&str> = [first.as_str(), &second].iter().chain(last).copied().collect();
    let count = sessions.len().to_string();
    build(&env, &sessions, &["--max-iterations", &count]);
    env
}

#[test]
fn a_task_that_came_back_shows_what_was_tried_and_why_it_failed() {
    let env = tried(&[]);
    assert_eq!(steady(&env.task(&["show", "a"])), BACK);
    let all = env.task(&["show", "a", "--all"]);
    assert!(all.contains("\nAttempt 1 of 2\n") && !all.contains("Earlier attempts"), "{all}");
    assert!(
        all.contains("I turned the sign.") && all.matches("sums::adds ... FAILED").count() == 2
    );
    let value = show(&env, "a");
    assert_eq!(value["totals"]["attempts"], 2);
    assert_eq!(
        (&value["attempts"][1]["number"], &value["last_failure"]["judge"]),
        (&2.into(), &"test".into())
    );
}

#[test]
fn a_done_task_shows_its_proof_and_a_task_never_tried_says_so() {
    let good = session(&[
        write("said.txt", ""),
        write("tests/test_sums.py", "def test_adds():\n    assert add(1, 2) == 3\n"),
        say("Done. <task-done>a</task-done>"),
    ]);
    let env = tried(&[&good]);
    assert_eq!(steady(&env.task(&["show", "a"])), DONE);
    assert_eq!(show(&env, "a")["last_failure"], Value::Null);
    let page = env.task(&["show", "b"]);
    assert!(page.contains("\n  attempts      none yet\n") && !page.contains("Attempt "), "{page}");
    assert_eq!(show(&env, "b")["totals"]["attempts"], 0);
}
