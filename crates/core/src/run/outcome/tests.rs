//! The outcome line: what it says and what it must not say.

use super::*;

fn ended(reason: StopReason, left: Counts) -> Outcome {
    Outcome {
        reason,
        left,
        iterations: 1,
        successful: 1,
        failed: 0,
        usage: Usage::default(),
        duration_ms: 1,
        strict: false,
        failed_task: None,
        planned: None,
        unpublished: false,
        asked: None,
    }
}

fn counts(done: u64, failed: u64, blocked: u64) -> Counts {
    Counts { done, failed, blocked, ..Counts::default() }
}

#[test]
fn a_plan_is_called_done_only_when_every_task_is() {
    let line = |reason, left| ended(reason, left).sentence();
    let marker = || StopReason::Marker { text: "COMPLETE".to_owned() };
    for reason in [StopReason::Complete, marker()] {
        assert_eq!(line(reason.clone(), counts(3, 0, 0)), "All 3 tasks done.");
        assert_eq!(line(reason.clone(), counts(1, 0, 0)), "The task is done.");
        assert_eq!(
            line(reason, counts(2, 1, 0)),
            "Finished: 2 done, 1 failed (see: ralph task list --status failed)"
        );
    }
    assert_eq!(
        line(marker(), counts(2, 0, 1)),
        "Stopped: the plan is declared done (COMPLETE). Tasks remaining: 1"
    );
    assert_eq!(
        line(StopReason::Complete, counts(2, 1, 1)),
        "Stopped: nothing is ready. Tasks remaining: 1 blocked (ralph task list --status blocked)"
    );
    assert_eq!(line(StopReason::Complete, counts(0, 0, 0)), "Nothing to do.");
}

#[test]
fn a_finished_plan_with_one_failed_task_names_it() {
    let task = TaskId::new("pay").ok();
    let outcome = Outcome { failed_task: task, ..ended(StopReason::Complete, counts(2, 1, 0)) };
    assert_eq!(outcome.sentence(), "Finished: 2 done, 1 failed (see: ralph task show pay)");
    let many = Outcome { left: counts(2, 2, 0), ..outcome };
    assert!(many.sentence().ends_with("(see: ralph task list --status failed)"));
}

#[test]
fn a_planning_run_counts_the_tasks_that_it_wrote() {
    let planned = Some(Planned { tasks: 4, file: "implementation_plan.md".to_owned() });
    let line = |reason| {
        Outcome { planned: planned.clone(), ..ended(reason, Counts::default()) }.sentence()
    };
    let written = "Plan written: 4 tasks in implementation_plan.md";
    assert_eq!(line(StopReason::Marker { text: "COMPLETE".to_owned() }), written);
    assert_eq!(line(StopReason::Idle { iterations: 2 }), written);
    assert_eq!(
        line(StopReason::Limit { sessions: 1, remaining: 0 }),
        format!("Stopped: max iterations (1) reached. {written}")
    );
    assert_eq!(line(StopReason::Cancelled), "Stopped: cancelled.");
}

#[test]
fn strict_codes_distinguish_failed_blocked_and_unfinished_plans() {
    let limit = StopReason::Limit { sessions: 1, remaining: 1 };
    let rows = [
        (StopReason::Complete, counts(1, 0, 0), (0, 0)),
        (StopReason::Complete, counts(1, 1, 0), (0, 1)),
        (StopReason::Complete, counts(1, 1, 1), (0, 7)),
        (limit, counts(1, 0, 1), (0, 9)),
        (StopReason::Idle { iterations: 2 }, counts(0, 0, 1), (0, 9)),
    ];
    for (reason, left, codes) in rows {
        let outcome = ended(reason, left);
        let strict = Outcome { strict: true, ..outcome.clone() };
        assert_eq!((outcome.code(), strict.code()), codes, "{outcome:?}");
    }
}

#[test]
fn outcomes_of_older_journals_are_read() {
    let line = r#"{"reason":{"stop":"agent_failed","why":"x"},"left":{"open":0,"active":0,"done":1,
        "blocked":0,"deleted":0,"failed":0,"waiting":0},"iterations":1,"successful":1,"failed":0,
        "usage":{"input_tokens":0,"output_tokens":0,"cost_micro_usd":null},"duration_ms":1}"#;
    let read: Outcome = serde_json::from_str(line).unwrap();
    assert_eq!(read.reason, StopReason::AgentFailed { why: "x".to_owned(), class: None });
    assert_eq!((read.strict, read.planned), (false, None));
}
