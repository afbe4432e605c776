//! A journal as a JUnit report.

use super::*;
use crate::ids::{RunId, TaskId};
use crate::records::GateReport;
use crate::run::{Class, Fact, Policy, SlotId};
use crate::time::Timestamp;

fn started() -> Fact {
    Fact::RunStarted {
        policy: Box::new(Policy::default()),
        ralph: String::new(),
        agent: "claude".to_owned(),
        agent_ids: vec![],
        target: "all tasks".to_owned(),
        gates: vec![],
        level: String::new(),
        head: None,
        branch: None,
        settled_tree: String::new(),
        resumed: None,
        earlier: Default::default(),
    }
}

fn iteration(slot: SlotId, agent: Option<&str>) -> Fact {
    Fact::IterationStarted {
        slot,
        iteration: 1,
        task: None,
        offered: 0,
        about: None,
        retry: 0,
        model: None,
        agent: agent.map(str::to_owned),
        overridden: None,
        raised: None,
        models: Default::default(),
    }
}

fn judged(slot: SlotId, gates: &[(&str, Verdict, &str)]) -> Fact {
    let report = |(name, verdict, digest): &(&str, Verdict, &str)| GateReport {
        exit_code: (*verdict == Verdict::Fail).then_some(1),
        ..GateReport::of_check(name, *verdict, *digest)
    };
    let (gates, tree) = (gates.iter().map(report).collect(), String::new());
    Fact::Judged { slot, tree, gates, green: false, risks: vec![] }
}

fn settled(slot: SlotId, task: &str, (class, status): (Class, Status), reason: &str) -> Fact {
    Fact::TaskSettled {
        slot,
        task: TaskId::new(task).unwrap(),
        title: format!("Title <{task}>"),
        class,
        status,
        reason: reason.to_owned(),
        retry_count: 0,
    }
}

fn journal(facts: Vec<Fact>) -> Vec<RunEvent> {
    let run = RunId::new("r-1").unwrap();
    let began = Timestamp::parse("2026-11-15T02:45:00Z").unwrap();
    let event = |(seq, fact)| {
        let at = began.plus_millis(seq * 500);
        RunEvent { v: 1, run: run.clone(), seq, at, fact }
    };
    (0..).zip(facts).map(event).collect()
}

#[test]
fn a_run_is_a_suite_and_a_task_a_case() {
    let red = (Class::Red, Status::Pending);
    let events = journal(vec![
        started(),
        iteration(0, None),
        settled(0, "a", red, "gate test failed"),
        iteration(0, None),
        settled(0, "a", (Class::Done, Status::Done), ""),
        iteration(0, None),
        judged(
            0,
            &[
                ("fmt", Verdict::Pass, ""),
                ("test", Verdict::Fail, "\u{1b}[31mx < 1 & \"y\"\u{0}\nz"),
            ],
        ),
        settled(0, "b", (Class::Red, Status::Failed), "gate test failed\nmore"),
        iteration(0, None),
        settled(0, "c", (Class::Question, Status::Waiting), "Red or blue?"),
        iteration(0, None),
        settled(0, "d", (Class::Cancelled, Status::Pending), ""),
    ]);
    let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"ralph\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\" time=\"5.500\">
  <testsuite name=\"r-1\" timestamp=\"2026-11-15T02:45:00\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\" time=\"5.500\">
    <testcase classname=\"all tasks\" name=\"a: Title &lt;a&gt;\" time=\"1.000\"/>
    <testcase classname=\"all tasks\" name=\"b: Title &lt;b&gt;\" time=\"1.000\">
      <failure message=\"WORDS: gate test failed\" type=\"red\">gate test: fail (exit code 1)
[31mx &lt; 1 &amp; &quot;y&quot;
z</failure>
    </testcase>
    <testcase classname=\"all tasks\" name=\"c: Title &lt;c&gt;\" time=\"0.500\">
      <skipped message=\"waiting for you: QUESTION: Red or blue?\"/>
    </testcase>
    <testcase classname=\"all tasks\" name=\"d: Title &lt;d&gt;\" time=\"0.500\">
      <skipped message=\"CANCELLED\"/>
    </testcase>
  </testsuite>
</testsuites>
"
    .replace("WORDS", Class::Red.words())
    .replace("QUESTION", Class::Question.words())
    .replace("CANCELLED", Class::Cancelled.words());
    assert_eq!(junit([events.as_slice()]), expected);
}

#[test]
fn a_task_that_is_still_red_failed_and_one_that_met_a_limit_was_skipped() {
    let of = |class| {
        let facts =
            vec![started(), iteration(0, None), settled(0, "a", (class, Status::Pending), "")];
        junit([journal(facts).as_slice()])
    };
    assert!(of(Class::Red).contains("<failure "));
    assert!(of(Class::UsageWindow).contains("<skipped "));
}

#[test]
fn a_run_without_attempts_is_an_empty_suite_and_a_broken_journal_none() {
    let (run, none) = (journal(vec![started()]), journal(vec![Fact::Publishing]));
    let text = junit([run.as_slice(), none.as_slice(), &[]]);
    assert_eq!(text.matches("<testsuite ").count(), 1, "{text}");
    assert!(text.contains("tests=\"0\""), "{text}");
}

#[test]
fn attempts_know_their_agent_and_the_last_results_of_their_gates() {
    let events = journal(vec![
        started(),
        iteration(0, None),
        iteration(1, Some("codex")),
        judged(0, &[("test", Verdict::Fail, "")]),
        judged(0, &[("test", Verdict::Pass, ""), ("docs", Verdict::Fail, "")]),
        settled(0, "a", (Class::Red, Status::Pending), ""),
        settled(1, "b", (Class::Done, Status::Done), ""),
        settled(1, "c", (Class::Done, Status::Done), ""),
    ]);
    let all = tries(&events);
    let shown: Vec<[String; 3]> =
        all.iter().map(|one| [one.task.to_string(), one.agent.clone(), one.verdicts()]).collect();
    let expected =
        [["a", "claude", "test pass; docs fail"], ["b", "codex", ""], ["c", "codex", ""]];
    assert_eq!(shown, expected.map(|row| row.map(str::to_owned)));
}
