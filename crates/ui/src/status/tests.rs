//! The page, as people and programs see it.

use ralph_core::ids::QuestionId;
use ralph_core::run::{Cancel, Control, Fact};
use ralph_core::view::{Doing, TaskView};

use super::*;
use crate::tests::sample::{self, SampleEvent};

/// The page in the middle of the sample: before the first event for which `until` is true.
fn page(until: impl Fn(&Fact) -> bool, state: State) -> StatusPage {
    let events: Vec<_> =
        sample::run().into_iter().take_while(|event| !until(&event.fact)).collect();
    let run = RunView::of(&events);
    StatusPage {
        state,
        counts: run.counts,
        forecast: run.forecast(),
        level: Some("full".into()),
        waiting: vec![],
        lanes: vec![],
        questions: vec![QuestionView {
            id: QuestionId::new("q-5ohb2kdx").unwrap(),
            task: sample::id("t-m4xw6tfe"),
            text: "A day, or 30 days?".into(),
        }],
        last_error: run.last_error.clone(),
        commits: run.commits.iter().rev().cloned().collect(),
        next: vec!["ralph answer q-5ohb2kdx \"…\"".into()],
        now: run.last_at.plus_millis(63_000),
        run: Some(run),
    }
}

const WIDE: TextStyle = TextStyle { color: false, width: Some(80) };

#[test]
fn a_running_loop() {
    let reported = |fact: &Fact| matches!(fact, Fact::Judged { green: false, .. });
    insta::assert_snapshot!(page(reported, State::Running { pid: 4242 }).text(WIDE), @r#"
    running (pid 4242)
      run        build the feature login, dag with claude, 1 of 20 iterations ended
      now        iteration 2: t-7hq2mz4a Reject wrong passwords without telling
                 which part was wrong
                 running gates for 1m 03s, claude-sonnet-4-5
      plan       1 of 6 done, 1 blocked
      time       3m 53s
      cost       $0.19 (378k tokens in, 15k out)
      sandbox    full

    Questions
      t-m4xw6tfe  asks
        A day, or 30 days?
        ralph answer q-5ohb2kdx "…"

    Recent commits
      1f2a91c  build: iteration 1 - Add the login form

    Next: ralph answer q-5ohb2kdx "…"
    "#);
}

#[test]
fn a_loop_that_waits_for_its_limit() {
    let reported = |fact: &Fact| matches!(fact, Fact::WaitEnded { .. });
    insta::assert_snapshot!(page(reported, State::Running { pid: 4242 }).text(WIDE), @r#"
    running (pid 4242)
      run        build the feature login, dag with claude, 4 of 20 iterations ended
      now        waiting: usage limit, 2h 09m 44s left
      plan       2 of 6 done, 1 waiting for you, 1 blocked
      time       5m 15s
      cost       $0.27 (524k tokens in, 20k out)
      sandbox    full
      last error usage limit: You've hit your limit · resets 5am

    Questions
      t-m4xw6tfe  asks
        A day, or 30 days?
        ralph answer q-5ohb2kdx "…"

    Recent commits
      3f2a91c  build: iteration 3 - Reject wrong passwords without telling which pa…
      1f2a91c  build: iteration 1 - Add the login form

    Next: ralph answer q-5ohb2kdx "…"
    "#);
}

#[test]
fn a_loop_that_has_ended_or_was_cut_off() {
    let text = page(|_| false, State::Stopped).text(WIDE);
    assert!(text.starts_with("Stopped: cancelled.\n"), "{text}");
    assert!(text.contains("\n  time       2h 15m 31s\n"), "{text}");
    let cancelled = page(|_| false, State::Interrupted).text(WIDE);
    assert!(cancelled.starts_with("Stopped: cancelled. ralph build continues it\n"), "{cancelled}");
    let cut = page(|fact| matches!(fact, Fact::Judged { .. }), State::Interrupted);
    assert!(cut.text(WIDE).starts_with("interrupted: ralph build continues it\n"));
}

#[test]
fn a_cancelled_loop_says_what_it_stops_after() {
    let now = Control::Cancel(Cancel::Now);
    let again = |fact: &Fact| matches!(fact, Fact::ControlReceived { control } if *control == now);
    let stopping = page(again, State::Running { pid: 4242 });
    let text = stopping.text(WIDE);
    assert!(text.starts_with("Stopping after this session (pid 4242)\n"), "{text}");
    let json = serde_json::to_value(&stopping).unwrap();
    assert_eq!(json["run"]["cancel"], "after_session");
    // The run that was cancelled has ended, and another one begins.
    let text = page(|_| false, State::Running { pid: 4243 }).text(WIDE);
    assert!(text.starts_with("running (pid 4243)\n"), "{text}");
}

#[test]
fn nothing_has_run_yet() {
    let page = StatusPage {
        state: State::Stopped,
        run: None,
        counts: Counts::default(),
        forecast: None,
        level: None,
        lanes: vec![],
        questions: vec![],
        waiting: vec![],
        last_error: None,
        commits: vec![],
        next: vec!["ralph plan".into()],
        now: Timestamp::default(),
    };
    assert_eq!(
        page.text(WIDE),
        "nothing has run here yet\n  plan       no tasks\n\nNext: ralph plan\n"
    );
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!((&json["state"], &json["run"]), (&"stopped".into(), &serde_json::Value::Null));
}

#[test]
fn programs_get_the_same_as_users() {
    let reported = |fact: &Fact| matches!(fact, Fact::Judged { green: false, .. });
    let json = serde_json::to_string(&page(reported, State::Running { pid: 4242 })).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["state"], "running");
    assert_eq!(json["pid"], 4242);
    assert_eq!(json["counts"]["done"], 1);
    assert_eq!(json["run"]["slots"][0]["doing"], "judging");
    assert_eq!(json["run"]["slots"][0]["task"]["id"], "t-7hq2mz4a");
    assert_eq!(json["run"]["usage"]["cost_micro_usd"], 190_000);
    assert_eq!(json["questions"][0]["id"], "q-5ohb2kdx");
    assert_eq!(json["next"][0], "ralph answer q-5ohb2kdx \"…\"");
}

#[test]
fn hostile_text_cannot_drive_the_terminal() {
    let mut page = page(|_| false, State::Stopped);
    let evil = "a\u{1b}[2J\u{202e}\rb";
    page.last_error = Some(evil.into());
    page.level = Some(evil.into());
    page.next = vec![evil.into()];
    page.questions[0].text = evil.into();
    page.commits[0].subject = evil.into();
    let SampleEvent::Event(mut first) = sample::busy_day().remove(0) else { panic!("an event") };
    if let Fact::RunStarted { target, agent, .. } = &mut first.fact {
        (*target, *agent) = (evil.into(), evil.into());
    }
    page.run = Some(RunView::of([&first]));
    let text = page.text(WIDE);
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']), "{text:?}");
}

#[test]
fn the_forecast_is_shown_with_its_price_or_without() {
    let reported = |fact: &Fact| matches!(fact, Fact::Judged { green: false, .. });
    let forecast =
        Forecast { tasks: 5, micro_usd: Some(950_000), duration_ms: 754_000, from_tasks: 3 };
    let at_work = page(reported, State::Running { pid: 4242 });
    let page = StatusPage { forecast: Some(forecast), ..at_work };
    let text = page.text(WIDE);
    assert!(text.contains("\n  remaining  about $0.95 and 12m 34s for 5 tasks\n"), "{text}");
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!(json["forecast"]["cost_micro_usd"], 950_000);
    let forecast = Forecast { tasks: 1, micro_usd: None, ..forecast };
    let text = StatusPage { forecast: Some(forecast), ..page }.text(WIDE);
    assert!(text.contains("about 12m 34s for 1 task, cost unknown\n"), "{text}");
}

#[test]
fn branches_are_listed_with_how_they_stand() {
    let mut page = page(|_| false, State::Running { pid: 7 });
    let lane = |branch: &str, state, outcome: Option<&str>, error: Option<&str>| LaneStatus {
        branch: branch.to_owned(),
        state,
        outcome: outcome.map(str::to_owned),
        iterations: 2,
        done: 1,
        total: 3,
        cost_micro_usd: Some(250_000),
        last_error: error.map(str::to_owned),
        cancel: None,
        paused: false,
        slots: vec![],
        elapsed_ms: None,
        page: None,
    };
    page.lanes = vec![
        lane("one", State::Running { pid: 7 }, None, None),
        lane("two", State::Stopped, Some("Idle"), None),
        lane("three", State::Interrupted, None, Some("the gates were red")),
    ];
    let text = page.text(WIDE);
    for line in [
        "Branches\n",
        "  one    running      1 of 3 tasks done, 2 iterations, $0.25\n",
        "  two    Idle         1 of 3 tasks done, 2 iterations, $0.25\n",
        "  three  interrupted  1 of 3 tasks done, 2 iterations, $0.25\n    the gates were red\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
}

#[test]
fn a_branch_shows_its_task_its_time_and_its_pull_request() {
    let mut page = page(|_| false, State::Running { pid: 7 });
    let task = TaskView {
        id: TaskId::new("t-abcd2345").unwrap(),
        title: "Write the parser".to_owned(),
        attempt: 1,
    };
    let slot = SlotView {
        doing: Doing::Working,
        since: page.now,
        iteration: 3,
        task: Some(task),
        ..SlotView::default()
    };
    page.lanes = vec![LaneStatus {
        branch: "one".to_owned(),
        state: State::Running { pid: 7 },
        outcome: None,
        iterations: 2,
        done: 1,
        total: 3,
        cost_micro_usd: None,
        last_error: None,
        cancel: None,
        paused: true,
        slots: vec![slot],
        elapsed_ms: Some(62_000),
        page: Some("https://example.com/pull/7".to_owned()),
    }];
    let later = page.at(page.now.plus_seconds(10));
    let text = later.text(WIDE);
    let expected = "Branches
  one  paused  1 of 3 tasks done, 2 iterations, 1m 12s
    iteration 3: t-abcd2345 Write the parser
    working for 10s
    https://example.com/pull/7
";
    assert!(text.contains(expected), "{text}");
}
