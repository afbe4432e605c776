//! Whole prompts, and which part is there when.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::attempt::context::{
    AnsweredQuestion, EarlierAttempt, FinishedBlocker, GateFailure, ParentTask, Skill,
};
use crate::ids::TaskId;
use crate::records::{Changes, FileChange};
use crate::task::RetryLimit;

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn task() -> AssignedTask {
    AssignedTask {
        id: id("t-abcd2345"),
        title: "Add a login form".into(),
        description: "Users log in by mail.\n\nNo passwords.".into(),
        steps: vec!["Write the form".into(), "Send the mail".into()],
        category: Some("auth".into()),
        spec: Some("specs/login.md".into()),
        reference: Some("#12".into()),
    }
}

fn bare() -> AttemptContext {
    let task = AssignedTask {
        description: String::new(),
        steps: vec![],
        category: None,
        spec: None,
        reference: None,
        ..task()
    };
    AttemptContext { task: Some(task), ..AttemptContext::default() }
}

fn file(path: &str, text: &str) -> Document {
    Document { path: path.into(), text: Arc::from(text) }
}

fn full() -> AttemptContext {
    AttemptContext {
        task: Some(task()),
        plan_file: None,
        branch: None,
        parent: Some(ParentTask { title: "Accounts".into(), description: "All of it.".into() }),
        blockers: vec![
            FinishedBlocker {
                id: id("t-1"),
                title: "Send mail".into(),
                summary: "Use `mailer::send`.\nIt retries.".into(),
                commit: Some("0123abc".into()),
            },
            FinishedBlocker {
                id: id("t-2"),
                title: "Tables".into(),
                summary: String::new(),
                commit: None,
            },
        ],
        more_blockers: 3,
        spec: Some(file(".ralph/features/login/spec.md", "# login\n\nGoal: log in.\n")),
        plan: Some(file(".ralph/features/login/plan.md", "# Plan: login\n")),
        signal: Some(SignalInfo::of(
            true,
            "The session ended without a signal.\nIgnored: <task-done>t-9</task-done> is in code or a quotation.",
        )),
        retry: RetryInfo::of(1, RetryLimit::AtMost(3), Some("tests red\nsecond line".into())),
        messages: vec![],
        answers: vec![AnsweredQuestion {
            question: "Which sender?".into(),
            answer: "no-reply@example.org".into(),
        }],
        failures: vec![GateFailure {
            judge: "test".into(),
            exit_code: Some(101),
            digest: "Failing tests:\n- login\n```\n".into(),
        }],
        earlier: vec![EarlierAttempt {
            detail: "timed out after 60 minutes".into(),
            ..earlier(1, "timeout", None)
        }],
        notes: vec!["The mailer is in `mail/`.\nIt has tests.".into(), "Mind the gap.".into()],
        skills: vec![Skill { name: "run-tests".into(), description: "How to test.".into() }],
        learn: true,
    }
}

fn earlier(number: u32, outcome: &str, fingerprint: Option<&str>) -> EarlierAttempt {
    EarlierAttempt {
        number,
        outcome: outcome.into(),
        detail: String::new(),
        commit: None,
        changed: Changes::default(),
        last_message: String::new(),
        fingerprint: fingerprint.map(str::to_owned),
    }
}

#[test]
fn a_retry_learns_from_what_was_tried_and_what_is_the_same_is_reported_once() {
    let change = |path: &str, added, removed| FileChange { path: path.into(), added, removed };
    let same = |number, last_message: &str| EarlierAttempt {
        detail: "gate test failed".into(),
        changed: Changes::of(vec![
            change("src/a.rs", Some(3), Some(1)),
            change("logo", None, None),
        ]),
        last_message: last_message.into(),
        ..earlier(number, "red", Some("test: a, b"))
    };
    let failures = vec![GateFailure {
        judge: "test".into(),
        exit_code: Some(1),
        digest: "Failing tests:\n- a\n- b\n\nthread 'a' panicked at src/a.rs:3:\nleft: 1".into(),
    }];
    let all = [
        earlier(1, "timeout", None),
        same(2, "I turned the sign."),
        same(3, "I turned the sign."),
        same(4, "Now it works.\n<task-done>t</task-done>"),
    ];
    let reason = Some("gate test failed (exit code 1): Failing tests: a".to_owned());
    let retry = RetryInfo::of(4, RetryLimit::Unlimited, reason).map(|r| r.after(&failures, &all));
    let context = AttemptContext { retry, failures, earlier: all.to_vec(), ..bare() };
    let prompt = built_in(&context, DEFAULT_BUDGET);
    let (_, reported) = prompt.task.split_once("## Retry").unwrap();
    insta::assert_snapshot!(reported, @r"
     information

    This is retry attempt 5.

    The same failure 3 times in a row: attempts 2, 3, 4. What they tried does not fix it: look for another cause.

    Failing tests:
    - a
    - b

    The first error:

          thread 'a' panicked at src/a.rs:3:

    The task was returned for this reason:

    > gate test failed (exit code 1): Failing tests: a

    Fix this first: without it the task is not done.

    ## Failing gates

    - `test`, exit code 1

          Failing tests:
          - a
          - b

          thread 'a' panicked at src/a.rs:3:
          left: 1

    These gates failed on the last attempt, and they will run again.

    ## Earlier attempts

    - attempt 1: timeout
    - attempts 2, 3, 4: red, the same 3 times
      gate test failed
      Attempts 2, 3 changed `src/a.rs` +3 -1, `logo`, and said:
      > I turned the sign.
      Attempt 4 changed `src/a.rs` +3 -1, `logo`, and said:
      > Now it works.
      > <task-done>t</task-done>
    ");
}

#[test]
fn s1_40_a_minimal_prompt_has_rules_signals_and_the_task() {
    let prompt = built_in(&bare(), DEFAULT_BUDGET);
    assert_eq!(prompt.system, format!("{RULES}\n\n{SIGNALS}"));
    insta::assert_snapshot!(prompt.task, @r"
    ## Assigned task

    - id: `t-abcd2345`
    - title: Add a login form

    When it is finished, end your last message with this line, as plain text:

    <task-done>t-abcd2345</task-done>

    If it cannot be done, end with these two lines instead:

    <reason>why it cannot be done</reason>
    <task-failed>t-abcd2345</task-failed>
    ");
}

#[test]
fn s1_41_a_full_prompt_has_every_section_in_its_order() {
    let prompt = built_in(&full(), DEFAULT_BUDGET);
    assert_eq!(prompt.cuts, []);
    let stable = format!("{RULES}\n\n{SIGNALS}\n\n");
    insta::assert_snapshot!(prompt.system.strip_prefix(&stable).unwrap(), @r"
    ## Available skills

    Each is a file `.ralph/skills/NAME/SKILL.md`. Read one before you do work that it is for.

    - **run-tests**: How to test.

    ## Learning

    Before you end, write down what took you long to find out and later sessions will need:

    - a procedure: `.ralph/skills/NAME/SKILL.md`, beginning with the lines `---`, `description: ` and
      when to use it, `---`;
    - a fact about this project: a line in `CLAUDE.md`, or in `AGENTS.md` if the project has only that.

    Correct existing entries instead of adding new ones beside them. If nothing is worth keeping, write nothing.
    ");
    insta::assert_snapshot!(prompt.task, @r##"
    ## Assigned task

    - id: `t-abcd2345`
    - title: Add a login form
    - category: auth
    - spec: specs/login.md
    - reference: #12

    Users log in by mail.

    No passwords.

    Steps:
    1. Write the form
    2. Send the mail

    When it is finished, end your last message with this line, as plain text:

    <task-done>t-abcd2345</task-done>

    If it cannot be done, end with these two lines instead:

    <reason>why it cannot be done</reason>
    <task-failed>t-abcd2345</task-failed>

    ## Parent context

    This task is a part of: Accounts

    All of it.

    ## Completed prerequisites

    - `t-1` Send mail (commit 0123abc)
      Use `mailer::send`.
      It retries.
    - `t-2` Tables

    [3 more; see `ralph task deps t-abcd2345`]

    ## Feature specification

    <file path=".ralph/features/login/spec.md">

    # login

    Goal: log in.

    </file>

    ## Feature plan

    <file path=".ralph/features/login/plan.md">

    # Plan: login

    </file>

    ## Retry information

    This is retry attempt 2 of 4.

    The task was returned for this reason:

    > tests red
    > second line

    Fix this first: without it the task is not done.

    ## Missing signal

    The last session on this task ended without a valid signal. If the task is finished, check it and end your last message with the signal.

    - <task-done>t-9</task-done> is in code or a quotation.

    A signal is valid only as plain text on a line of its own at the end of your last message, spelled exactly as shown, without backticks or a code block around it.

    ## Answers

    - An earlier session asked:
      > Which sender?
      The user answered:
      > no-reply@example.org

    ## Failing gates

    - `test`, exit code 101

          Failing tests:
          - login
          ```

    These gates failed on the last attempt, and they will run again.

    ## Earlier attempts

    - attempt 1: timeout
      timed out after 60 minutes

    ## Notes

    - The mailer is in `mail/`.
      It has tests.
    - Mind the gap.
    "##);
}

/// Agents repeat what they are shown: no signal of ours stands in backticks, in code or in a quotation.
#[test]
fn every_signal_in_a_prompt_is_shown_as_it_is_to_be_written() {
    let plan_file = Some("plan.md".to_owned());
    let texts = [
        built_in(&full(), DEFAULT_BUDGET).whole(),
        built_in(&AttemptContext { plan_file, ..AttemptContext::default() }, 100).whole(),
        PROMISES.to_owned(),
        PROGRESS_SIGNALS.to_owned(),
        VERIFIER_RULES.to_owned(),
    ];
    for text in texts {
        let signals = crate::agent::Signals::read(&text);
        assert_eq!(signals.ignored, [], "{text}");
        assert!(!text.contains("`<task") && !text.contains("`<promise"), "{text}");
        assert!(!text.contains("`<verify") && !text.contains("`<question"), "{text}");
    }
    let assigned = crate::agent::Signals::read(&built_in(&bare(), DEFAULT_BUDGET).task);
    assert_eq!(assigned.done, ["t-abcd2345"]);
    assert_eq!(assigned.failed, ["t-abcd2345"]);
}

#[test]
fn s1_40_the_rules_name_what_every_loop_needs() {
    let rules = RULES.to_lowercase();
    for word in ["one task", "search", "no stubs", "tests", "commit", "signal", "gates decide"] {
        assert!(rules.contains(word), "{word}");
    }
    assert!(RULES.contains(".ralph/progress.db") && RULES.contains("RALPH_SOCKET"));
    for signal in [
        "<task-done>ID</task-done>",
        "<task-failed>ID</task-failed>",
        "<reason>",
        "<question>",
        "<promise>COMPLETE</promise>",
        "<promise>FAILURE</promise>",
        "<next-model>sonnet</next-model>",
    ] {
        assert!(SIGNALS.contains(signal), "{signal}");
    }
}

#[test]
fn s0_16_the_agent_does_not_judge_the_plan_as_a_whole() {
    assert!(RULES.contains("The loop decides whether the plan as a whole is finished"));
    let text = built_in(&full(), DEFAULT_BUDGET).task;
    assert!(!text.contains("COMPLETE"), "{text}");
}

#[test]
fn s0_4_peek_output_goes_unmodified_behind_the_skill() {
    let peek = "## Task a\nid: a\ntitle: \u{1b}[1m {{ x }}\n";
    assert_eq!(pick_prompt(None, peek, &[], 1_000), format!("/ralph-build {peek}"));
}

#[test]
fn s1_41_each_section_is_there_exactly_when_its_input_is() {
    type Without = fn(&mut AttemptContext);
    let cases: [(&str, Without); 13] = [
        ("## Assigned task", |c| c.task = None),
        ("## Parent context", |c| c.parent = None),
        ("## Completed prerequisites", |c| c.blockers.clear()),
        ("## Feature specification", |c| c.spec = None),
        ("## Feature plan", |c| c.plan = None),
        ("## Retry information", |c| c.retry = None),
        ("## Answers", |c| c.answers.clear()),
        ("## Failing gates", |c| c.failures.clear()),
        ("## Earlier attempts", |c| c.earlier.clear()),
        ("## Notes", |c| c.notes.clear()),
        ("## Available skills", |c| c.skills.clear()),
        ("## Learning", |c| c.learn = false),
        ("[3 more;", |c| c.more_blockers = 0),
    ];
    let whole = built_in(&full(), DEFAULT_BUDGET).whole();
    for (heading, without) in cases {
        assert_eq!(whole.matches(heading).count(), 1, "{heading}");
        let mut context = full();
        without(&mut context);
        let less = built_in(&context, DEFAULT_BUDGET).whole();
        assert!(!less.contains(heading), "{heading}");
        for (other, _) in cases.iter().filter(|(other, _)| *other != heading) {
            let gone_too = heading == "## Completed prerequisites" && *other == "[3 more;";
            assert!(less.contains(other) || gone_too, "{other} without {heading}");
        }
    }
}

#[test]
fn s1_41_a_retry_says_which_and_why() {
    let text = |count, max, reason: Option<&str>| {
        let retry = RetryInfo::of(count, max, reason.map(str::to_owned));
        built_in(&AttemptContext { retry, ..bare() }, DEFAULT_BUDGET).task
    };
    assert!(!text(0, RetryLimit::AtMost(3), Some("x")).contains("retry"));
    let first = text(1, RetryLimit::AtMost(3), Some("2 tests\n\nare red"));
    assert!(first.contains("This is retry attempt 2 of 4.\n"), "{first}");
    assert!(first.contains("\n> 2 tests\n>\n> are red\n"), "{first}");
    assert!(first.contains("Fix this first"));
    assert!(text(3, RetryLimit::AtMost(3), None).contains("attempt 4 of 4."));
    assert!(text(7, RetryLimit::AtMost(3), None).contains("attempt 8 of 8."));
    assert!(text(2, RetryLimit::Unlimited, None).contains("attempt 3.\n"));
    assert!(!text(2, RetryLimit::Unlimited, Some("  ")).contains("\n>"), "no empty quote");
}

#[test]
fn a_markdown_plan_is_ticked_and_without_a_task_picked_from() {
    let plan_file = Some("implementation_plan.md".to_owned());
    let with = AttemptContext { plan_file: plan_file.clone(), ..bare() };
    assert!(built_in(&with, 100).task.contains("box is in `implementation_plan.md`"));
    let without = built_in(&AttemptContext { plan_file, ..AttemptContext::default() }, 100).task;
    assert!(without.starts_with("## Pick a task") && without.contains("COMPLETE"), "{without}");
    let nothing = built_in(&AttemptContext::default(), 100);
    assert_eq!((nothing.task.as_str(), nothing.task_file()), ("", GO_AHEAD));
}

#[test]
fn the_words_of_ralph_itself_are_few() {
    let tiny = |path| file(path, "x");
    let context = AttemptContext { spec: Some(tiny("s")), plan: Some(tiny("p")), ..full() };
    let prompt = built_in(&context, DEFAULT_BUDGET);
    assert!(prompt.tokens() < 1_500, "{} tokens", prompt.tokens());
}

#[test]
fn ten_megabytes_of_spec_are_cut_to_the_budget() {
    let line = "Every word of this specification matters \u{1b}[31m to somebody.\n";
    let text = line.repeat(10_000_000 / line.len());
    let context = AttemptContext { spec: Some(file("spec.md", &text)), ..full() };
    let prompt = built_in(&context, DEFAULT_BUDGET);
    let fixed = 1_500;
    assert!(prompt.tokens() <= DEFAULT_BUDGET + fixed, "{}", prompt.tokens());
    assert!(prompt.tokens() > DEFAULT_BUDGET - fixed, "the budget is used");
    assert!(!prompt.task.contains('\u{1b}'));
    let [cut] = prompt.cuts[..] else { panic!("{:?}", prompt.cuts) };
    let note = format!("[cut: {} of {} tokens; read spec.md]", cut.kept, cut.of);
    assert!(prompt.task.contains(&note), "{note}");
    assert!(prompt.task.contains("## Feature plan"), "what follows is still there");
}

#[test]
fn a_list_is_cut_between_its_entries() {
    let skill = |n| Skill { name: format!("skill-{n}"), description: "For this and that.".into() };
    let context = AttemptContext { skills: (0..1_000).map(skill).collect(), ..bare() };
    let prompt = built_in(&context, 100);
    assert!(prompt.system.contains("- **skill-5**: For this and that.\n"));
    assert!(prompt.system.ends_with("tokens; see `.ralph/skills/`]"), "{}", prompt.system);
}

#[test]
fn task_texts_cannot_carry_control_characters() {
    let mut context = full();
    let evil = "a\u{1b}]0;x\u{7}b\u{202e}c\n## Signals\u{0}";
    let task = context.task.as_mut().unwrap();
    task.description = evil.into();
    task.steps = vec![evil.into()];
    context.parent.as_mut().unwrap().title = evil.into();
    context.blockers[0].summary = evil.into();
    context.answers[0].answer = evil.into();
    context.failures[0].digest = evil.into();
    context.skills[0].description = evil.into();
    context.retry.as_mut().unwrap().reason = Some(evil.into());
    let whole = built_in(&context, DEFAULT_BUDGET).whole();
    let found: Vec<char> =
        whole.chars().filter(|c| c.is_control() && *c != '\n' || *c == '\u{202e}').collect();
    assert_eq!(found, []);
}

proptest! {
    #[test]
    fn any_texts_make_a_bounded_prompt(
        texts in prop::collection::vec(any::<String>(), 8), times in 1_usize..400, budget in 0_usize..3_000
    ) {
        let text = |n: usize| texts[n].repeat(times);
        let mut context = full();
        let task = context.task.as_mut().unwrap();
        task.description = text(0);
        task.steps = vec![text(1); 3];
        context.parent = Some(ParentTask { title: text(2), description: text(3) });
        context.blockers[0].summary = text(4);
        context.spec = Some(file("spec.md", &text(5)));
        context.retry.as_mut().unwrap().reason = Some(text(6));
        context.failures[0].digest = text(7);
        let prompt = built_in(&context, budget);
        // Titles and other one-line fields are bounded each for itself.
        prop_assert!(prompt.tokens() <= budget + 2_500, "{} of {budget}", prompt.tokens());
    }
}

#[test]
fn equal_failures_with_others_between_them_are_not_in_a_row() {
    let attempts = |prints: &[&str]| -> Vec<EarlierAttempt> {
        (1..).zip(prints).map(|(number, print)| earlier(number, "red", Some(print))).collect()
    };
    let same = |prints: &[&str]| {
        let info = RetryInfo::of(1, RetryLimit::AtMost(3), None).unwrap();
        info.after(&[], &attempts(prints)).same
    };
    assert_eq!(same(&["a", "b", "a", "a"]), [3, 4]);
    assert_eq!(same(&["a", "b", "a"]), Vec::<u32>::new());
}
