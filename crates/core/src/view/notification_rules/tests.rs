//! Which event becomes which message.

use super::*;
use crate::agent::Usage;
use crate::ids::{AttemptId, QuestionId};
use crate::policy::strategy::ModelState;
use crate::run::{Outcome, Port, Publication, PublishEnd, StopReason};
use crate::task::Counts;

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn event(run: &str, fact: Fact) -> RunEvent {
    let run = RunId::new(run).unwrap();
    RunEvent { v: RunEvent::VERSION, run, seq: 1, at: Timestamp::from_millis(0), fact }
}

fn started() -> Fact {
    Fact::RunStarted {
        policy: Box::default(),
        ralph: "0.1.0".into(),
        agent: "claude".into(),
        agent_ids: vec![],
        target: "the plan".into(),
        gates: vec![],
        level: "none".into(),
        head: None,
        branch: None,
        settled_tree: String::new(),
        resumed: None,
        earlier: Default::default(),
    }
}

fn settled(title: &str, class: Class, status: Status, reason: &str) -> Fact {
    let (task, title, reason) = (id("t-1"), title.into(), reason.into());
    Fact::TaskSettled { slot: 0, task, title, class, status, reason, retry_count: 0 }
}

fn ended(class: Class) -> Fact {
    Fact::IterationEnded {
        slot: 0,
        iteration: 1,
        class,
        detail: String::new(),
        head: None,
        tree: String::new(),
        settled: false,
        again: false,
        duration_ms: 0,
    }
}

fn limit(class: Class, seconds: Option<u64>) -> Fact {
    let until = seconds.map(|seconds| Timestamp::from_millis(0).plus_seconds(seconds));
    Fact::WaitStarted {
        slot: 0,
        wait: Wait::Limit { class, streak: 1, reset_known: true, agent: None },
        until,
    }
}

fn over() -> Fact {
    let outcome = Outcome {
        reason: StopReason::Complete,
        left: Counts::default(),
        iterations: 1,
        successful: 1,
        failed: 0,
        usage: Usage::default(),
        strict: false,
        failed_task: None,
        planned: None,
        unpublished: false,
        asked: None,
        duration_ms: 0,
    };
    Fact::RunEnded { outcome }
}

fn question(text: &str) -> Fact {
    let question = QuestionId::new("q-1").unwrap();
    Fact::QuestionAsked { task: id("t-1"), question, text: text.into() }
}

/// One that has heard the run r-1 begin.
fn rules(on: &[NotificationKind]) -> NotificationRules {
    let mut rules = NotificationRules::new(on.iter().copied(), "shop");
    assert_eq!(rules.on_event(&event("r-1", started())), None);
    rules
}

/// The messages that these facts lead to.
fn messages_of(facts: impl IntoIterator<Item = Fact>) -> Vec<Message> {
    let mut rules = rules(&NotificationKind::ALL);
    facts.into_iter().filter_map(|fact| rules.on_event(&event("r-1", fact))).collect()
}

fn parts(message: &Message) -> (&str, &str, &str) {
    (message.event.as_str(), &message.title, &message.text)
}

#[test]
fn s1_29_a_task_that_is_done_or_failed_is_reported_and_spoken() {
    let messages = messages_of([
        settled("Add login", Class::Done, Status::Done, ""),
        settled("Add login", Class::TaskFailed, Status::Failed, "no such table"),
    ]);
    assert_eq!(parts(&messages[0]), ("done", "Task done: t-1", "Add login"));
    assert_eq!(messages[0].spoken, "Task done: Add login");
    let failed = ("failed", "Task failed: t-1", "Add login: no such table");
    assert_eq!(parts(&messages[1]), failed);
    assert_eq!(messages[1].spoken, "Task failed: Add login");
    assert_eq!((&messages[1].task, messages[1].repo.as_str()), (&Some(id("t-1")), "shop"));
}

#[test]
fn a_task_that_comes_back_or_was_skipped_is_not_reported_and_one_that_is_held_is() {
    let messages = messages_of([
        settled("T", Class::Red, Status::Pending, "a gate is red"),
        settled("T", Class::Skipped, Status::Waiting, "skipped"),
        settled("T", Class::NoSignal, Status::Waiting, "returned 10 times"),
    ]);
    assert_eq!(messages.len(), 1);
    let held = ("failed", "Task waiting for you: t-1", "T: returned 10 times");
    assert_eq!(parts(&messages[0]), held);
}

#[test]
fn a_question_is_reported_once_with_its_name() {
    let task = TaskBrief {
        id: id("t-1"),
        title: "Add login".into(),
        generation: 1,
        retry_count: 0,
        returns: 0,
        spec: None,
        attempt: AttemptId::new("a-1").unwrap(),
        spent_micro_usd: 0,
        failed: None,
        unsignaled: None,
        attempt_number: 1,
        finished: None,
    };
    let began = Fact::IterationStarted {
        slot: 0,
        iteration: 1,
        task: Some(task),
        offered: 0,
        about: None,
        retry: 0,
        model: None,
        agent: None,
        overridden: None,
        raised: None,
        models: ModelState::default(),
    };
    let messages = messages_of([
        began,
        question("Which database?"),
        settled("Add login", Class::Question, Status::Waiting, ""),
        ended(Class::Question),
        question("And now?"),
    ]);
    assert_eq!(messages.len(), 2);
    let asked = ("question", "Question q-1 about t-1", "Which database?");
    assert_eq!(parts(&messages[0]), asked);
    assert_eq!(messages[0].spoken, "Question about Add login");
    // Nobody works on it any more: the id has to do.
    assert_eq!(messages[1].spoken, "Question about t-1");
}

#[test]
fn a_long_wait_is_reported_once_until_something_worked() {
    let usage = || limit(Class::UsageWindow, Some(3600));
    let messages = messages_of([usage(), ended(Class::UsageWindow), usage()]);
    assert_eq!(messages.len(), 1);
    let waits = ("limit", "Run waiting in shop", "usage limit; ralph tries again in 1h 00m 00s");
    assert_eq!(parts(&messages[0]), waits);
    assert_eq!(messages_of([usage(), ended(Class::Done), usage()]).len(), 2);
    assert_eq!(messages_of([limit(Class::Overload, None)]).len(), 1);
    let disk = Fact::WaitStarted { slot: 0, wait: Wait::DiskLow, until: None };
    assert_eq!(messages_of([disk])[0].text, "the disk is nearly full");
}

#[test]
fn a_short_wait_is_nobodys_business() {
    let wait = |wait| Fact::WaitStarted { slot: 0, wait, until: None };
    let none = messages_of([
        limit(Class::Overload, Some(8)),
        limit(Class::RateLimit, Some(29)),
        wait(Wait::Paused),
        wait(Wait::Others { tasks: 2 }),
        wait(Wait::Port { port: Port::Git }),
    ]);
    assert_eq!(none, []);
    assert_eq!(
        messages_of([limit(Class::Network, Some(8)), limit(Class::Network, Some(40))]).len(),
        1
    );
}

#[test]
fn the_end_of_a_run_is_reported() {
    let messages = messages_of([over()]);
    let end = ("end", "Run ended in shop", "Nothing to do.");
    assert_eq!(parts(&messages[0]), end);
    assert_eq!(messages[0].task, None);
}

#[test]
fn the_pull_request_is_reported_with_the_end_and_not_spoken() {
    let publication = Publication {
        number: None,
        end: PublishEnd::Opened,
        branch: "login".to_owned(),
        page: "https://github.com/ada/engine/pull/1".to_owned(),
        why: String::new(),
        command: String::new(),
    };
    let reported = messages_of([Fact::Publishing, Fact::Published { publication }, over()]);
    assert_eq!(reported.len(), 1);
    let (text, spoken) = (&reported[0].text, &reported[0].spoken);
    assert!(text.ends_with("Published: opened https://github.com/ada/engine/pull/1"), "{text}");
    assert!(!spoken.contains("https"), "{spoken}");
}

#[test]
fn only_what_was_asked_for_is_reported() {
    let facts = || {
        [
            settled("T", Class::Done, Status::Done, ""),
            settled("T", Class::TaskFailed, Status::Failed, ""),
            question("Which?"),
            limit(Class::UsageWindow, None),
            over(),
        ]
    };
    for wanted in NotificationKind::ALL {
        assert_eq!(wanted.as_str().parse(), Ok(wanted));
        let mut rules = rules(&[wanted]);
        let reported: Vec<NotificationKind> = facts()
            .into_iter()
            .filter_map(|fact| rules.on_event(&event("r-1", fact)))
            .map(|message| message.event)
            .collect();
        assert_eq!(reported, [wanted]);
    }
    assert!("fail".parse::<NotificationKind>().is_err());
}

#[test]
fn nothing_of_another_run_is_reported() {
    let mut fresh = NotificationRules::new(NotificationKind::ALL, "shop");
    assert_eq!(fresh.on_event(&event("r-1", over())), None);
    let mut rules = rules(&NotificationKind::ALL);
    assert_eq!(rules.on_event(&event("r-0", over())), None);
    assert!(rules.on_event(&event("r-1", over())).is_some());
}

#[test]
fn texts_are_one_safe_line_of_at_most_200_characters() {
    let title = format!("a\u{1b}[2J\nb\u{202e}  c {}", "ü".repeat(990));
    let reason = "\0\u{7}$(reboot)\r\n";
    let messages = messages_of([
        settled(&title, Class::Done, Status::Done, ""),
        settled(&title, Class::TaskFailed, Status::Failed, reason),
        question(&"x\n".repeat(1 << 20)),
    ]);
    for message in &messages {
        for text in [&message.title, &message.text, &message.spoken] {
            assert!(text.chars().count() <= MAX_MESSAGE, "{text}");
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
        assert!(message.title.starts_with(char::is_uppercase), "{message:?}");
        assert!(message.spoken.starts_with(char::is_uppercase), "{message:?}");
    }
    assert!(messages[0].text.starts_with("a b c üü"), "{:?}", messages[0].text);
    assert!(messages[0].text.ends_with('…'));
    assert_eq!(messages[0].text.chars().count(), MAX_MESSAGE);
    assert!(messages[1].text.ends_with("ü…: $(reboot)"), "{:?}", messages[1].text);
}

#[test]
fn as_json_it_has_the_six_facts() {
    let message = &messages_of([settled("T", Class::Done, Status::Done, "")])[0];
    let json = r#"{"event":"done","run":"r-1","task":"t-1","title":"Task done: t-1","text":"T","repo":"shop"}"#;
    assert_eq!(serde_json::to_string(message).unwrap(), json);
}
