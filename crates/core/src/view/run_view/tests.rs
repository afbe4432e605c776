//! What a journal comes to.

use super::*;
use crate::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
use crate::ids::AttemptId;
use crate::policy::strategy::{ModelState, Strategy};
use crate::run::{Policy, Port, SessionReport, TaskBrief, Wait};
use crate::view::Waiting;

struct Run {
    view: RunView,
    seq: u64,
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

impl Run {
    fn new(slots: u32) -> Self {
        let mut run = Self { view: RunView::default(), seq: 0 };
        let policy = Policy { slots, strategy: Strategy::Agent, ..Policy::default() };
        run.fact(Fact::RunStarted {
            policy: Box::new(policy),
            ralph: "0.1.0".into(),
            agent: "claude".into(),
            agent_ids: vec![],
            target: "the plan".into(),
            gates: vec!["test".into()],
            level: "full".into(),
            head: None,
            branch: None,
            settled_tree: String::new(),
            resumed: None,
            earlier: Default::default(),
        });
        run
    }

    /// Each fact comes a second after the one before.
    fn fact(&mut self, fact: Fact) -> &mut Self {
        let at = Timestamp::from_millis(0).plus_seconds(self.seq);
        self.seq += 1;
        let run = RunId::new("r-1").unwrap();
        self.view.apply(&RunEvent { v: RunEvent::VERSION, run, seq: self.seq, at, fact });
        self
    }

    fn begin(&mut self, slot: SlotId, iteration: u32, task: &str) -> &mut Self {
        let task = TaskBrief {
            id: id(task),
            title: "Title".into(),
            generation: 1,
            retry_count: 0,
            returns: 0,
            spec: None,
            attempt: AttemptId::new("a-1").unwrap(),
            attempt_number: 1,
            spent_micro_usd: 0,
            failed: None,
            finished: None,
            unsignaled: None,
        };
        let (model, models) = (Some("sonnet".into()), ModelState::default());
        let (task, offered, overridden) = (Some(task), 0, None);
        self.fact(Fact::IterationStarted {
            slot,
            iteration,
            task,
            offered,
            about: None,
            retry: 0,
            model,
            agent: None,
            overridden,
            raised: None,
            models,
        })
    }

    fn settle(&mut self, task: &str, class: Class, status: Status, reason: &str) -> &mut Self {
        let (task, title, reason) = (id(task), "Title".into(), reason.into());
        self.fact(Fact::TaskSettled { slot: 0, task, title, class, status, reason, retry_count: 0 })
    }

    fn end(&mut self, class: Class, detail: &str) -> &mut Self {
        self.fact(Fact::IterationEnded {
            slot: 0,
            iteration: 1,
            class,
            detail: detail.into(),
            head: None,
            tree: String::new(),
            settled: false,
            again: false,
            duration_ms: 0,
        })
    }

    fn session(&mut self, slot: SlotId, usage: Usage) -> &mut Self {
        let mut end = SessionEnd::of(EndClass::Completed, "");
        end.usage = usage;
        end.model = Some("claude-sonnet-4-5".into());
        let report = SessionReport {
            end,
            process: ProcessEnd::Exited { code: 0 },
            signals: Signals::default(),
            requests: vec![],
            held: vec![],
            notes: vec![],
            duration_ms: 0,
            leftovers: 0,
        };
        self.fact(Fact::SessionEnded { slot, report })
    }
}

#[test]
fn a_slot_is_followed_from_the_claim_to_the_outcome() {
    let mut run = Run::new(2);
    let mut seen = vec![];
    let tree = String::new;
    for fact in [
        Fact::Surveying { slot: 1 },
        Fact::Claiming { slot: 1 },
        Fact::SlotFreed { slot: 1 },
        Fact::SessionStarted { slot: 1, log: tree() },
        Fact::CandidateMade {
            slot: 1,
            tree: tree(),
            changed: true,
            plan_only: false,
            files: vec![],
            file_count: 1,
        },
        Fact::Judged { slot: 1, tree: tree(), gates: vec![], green: true, risks: vec![] },
        Fact::Settling { slot: 1, class: Class::Done },
    ] {
        run.fact(fact);
        let slot = &run.view.slots[1];
        seen.push((slot.doing.as_str(), slot.since.as_millis() / 1000));
    }
    assert_eq!(
        seen,
        [
            ("looking for work", 1),
            ("looking for work", 1),
            ("idle", 3),
            ("working", 4),
            ("running gates", 5),
            ("recording the result", 6),
            ("recording the result", 6),
        ]
    );
    assert_eq!(run.view.slots[0].doing, Doing::Idle);
    assert_eq!(run.view.busy().map(|(slot, _)| slot).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_model_is_what_was_asked_for_until_the_agent_reports_it() {
    let mut run = Run::new(1);
    run.begin(0, 4, "t-1");
    assert_eq!(run.view.slots[0].model.as_deref(), Some("sonnet"));
    assert_eq!(run.view.slots[0].iteration, 4);
    run.session(0, Usage::default());
    assert_eq!(run.view.slots[0].model.as_deref(), Some("claude-sonnet-4-5"));
    run.end(Class::Done, "");
    assert_eq!(run.view.slots[0], SlotView { since: run.view.last_at, ..SlotView::default() });
}

#[test]
fn a_missing_price_is_remembered() {
    let mut run = Run::new(1);
    let tokens = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    run.session(0, Usage { cost_micro_usd: Some(70), ..tokens }).session(0, tokens);
    run.session(0, Usage::default());
    assert_eq!(run.view.usage.cost_micro_usd, Some(70));
    assert_eq!((run.view.usage.input_tokens, run.view.unpriced), (20, 1));
}

#[test]
fn what_keeps_a_task_is_over_when_it_is_taken_up_again() {
    let mut run = Run::new(1);
    let question = QuestionId::new("q-1").unwrap();
    run.fact(Fact::QuestionAsked { task: id("t-1"), question, text: "Which?".into() });
    run.settle("t-1", Class::Question, Status::Waiting, "Which?");
    run.settle("t-2", Class::TaskFailed, Status::Failed, "no way");
    run.settle("t-3", Class::Crash, Status::Waiting, "returned 10 times");
    let left =
        |view: &RunView| (view.questions.len(), view.failed_tasks.len(), view.held_tasks.len());
    assert_eq!(left(&run.view), (1, 1, 1));
    run.begin(0, 1, "t-1");
    assert_eq!(left(&run.view), (0, 1, 1));
    run.begin(0, 2, "t-2").begin(0, 3, "t-3");
    assert_eq!(left(&run.view), (0, 0, 0));
}

#[test]
fn only_work_that_is_not_done_counts_as_saved() {
    let mut run = Run::new(1);
    for (task, name) in [("t-1", "wip/1"), ("t-1", "wip/2"), ("t-2", "wip/1")] {
        run.fact(Fact::WorkSaved { task: id(task), name: name.into() });
    }
    run.settle("t-2", Class::Done, Status::Done, "");
    assert_eq!(run.view.saved, [SavedWork { task: id("t-1"), name: "wip/2".into() }]);
}

#[test]
fn waits_pauses_and_errors_are_reported() {
    let mut run = Run::new(1);
    let wait = Wait::Limit { class: Class::UsageWindow, streak: 1, reset_known: true, agent: None };
    let until = Some(Timestamp::from_millis(9_000_000));
    run.end(Class::UsageWindow, "resets at 5");
    run.fact(Fact::WaitStarted { slot: 0, wait: wait.clone(), until });
    assert_eq!(run.view.slots[0].waiting, Some(Waiting { wait, until }));
    assert_eq!(run.view.last_error.as_deref(), Some("usage limit: resets at 5"));
    assert_eq!((run.view.successful, run.view.failed), (0, 0), "a limit is no failure");
    run.fact(Fact::WaitEnded { slot: 0 });
    assert_eq!(run.view.slots[0].waiting, None);
    run.fact(Fact::ControlReceived { control: Control::Pause });
    assert!(run.view.paused);
    run.fact(Fact::ControlReceived { control: Control::Resume });
    assert!(!run.view.paused);
    run.fact(Fact::PortFailed { slot: 0, port: Port::Git, error: "locked".into(), streak: 1 });
    assert_eq!(run.view.last_error.as_deref(), Some("git failed: locked"));
    run.settle("t-1", Class::Red, Status::Pending, "gate test failed (exit code 1)\nmore");
    run.end(Class::Red, "");
    assert_eq!(run.view.last_error.as_deref(), Some("t-1: gate test failed (exit code 1)"));
}

#[test]
fn a_gate_and_a_step_have_an_end_where_the_journal_names_it() {
    let mut run = Run::new(1);
    run.begin(0, 1, "t-1");
    let of = |line: &str| serde_json::from_str::<Fact>(line).unwrap();
    let shown = |run: &Run| (run.view.slots[0].activity(), run.view.slots[0].limit_ms());
    // As ralph 0.1 wrote it.
    run.fact(of(r#"{"kind":"gate_started","slot":0,"gate":"test"}"#));
    assert_eq!(shown(&run), ("gate test".to_owned(), None));
    run.fact(of(r#"{"kind":"gate_started","slot":0,"gate":"test","timeout_ms":1800000}"#));
    assert_eq!(shown(&run), ("gate test".to_owned(), Some(1_800_000)));
    run.fact(of(r#"{"kind":"step_started","slot":0,"step":"setup","timeout_ms":5000}"#));
    assert_eq!(shown(&run), ("running the setup command".to_owned(), Some(5_000)));
    run.fact(Fact::SessionStarted { slot: 0, log: String::new() });
    assert_eq!(shown(&run), ("working".to_owned(), None));
}

#[test]
fn a_run_without_sessions_says_what_it_waits_for() {
    let mut run = Run::new(1);
    run.fact(Fact::Publishing);
    let phase = run.view.phase.clone().unwrap();
    assert_eq!((phase.what, phase.since), ("publishing the branch", run.view.last_at));
    let until = Timestamp::from_millis(9_000_000);
    run.fact(Fact::Watching { page: "https://x".into(), until });
    assert_eq!(run.view.phase.as_ref().and_then(|phase| phase.until), Some(until));
    run.fact(Fact::Reviewed { review: Review::blank(crate::run::ReviewEnd::Green, "") });
    assert_eq!(run.view.phase, None);
}

#[test]
fn lists_do_not_grow_without_bound() {
    let mut run = Run::new(1);
    for n in 0..200 {
        let (commit, subject) = (format!("{n:040}"), format!("commit {n}"));
        run.fact(Fact::Committed { slot: 0, commit, subject });
        run.fact(Fact::Noticed { notice: Notice::Other { text: format!("{n}") } });
        run.fact(Fact::Noticed { notice: Notice::Ungated });
    }
    assert_eq!((run.view.commits.len(), run.view.commit_count), (COMMITS, 200));
    assert_eq!(run.view.commits.last().map(|last| last.subject.as_str()), Some("commit 199"));
    assert_eq!(run.view.warnings.len(), WARNINGS);
}

#[test]
fn the_end_has_the_last_word() {
    let mut run = Run::new(1);
    let left = Counts { done: 3, ..Counts::default() };
    let outcome = Outcome {
        reason: StopReason::Complete,
        left,
        iterations: 3,
        successful: 3,
        failed: 0,
        usage: Usage { cost_micro_usd: Some(5), ..Usage::default() },
        duration_ms: 1234,
        strict: false,
        failed_task: None,
        planned: None,
        unpublished: false,
        asked: None,
    };
    run.fact(Fact::StopDecided { reason: StopReason::Complete });
    run.fact(Fact::RunEnded { outcome });
    assert_eq!(run.view.counts, left);
    assert_eq!(run.view.usage.cost_micro_usd, Some(5));
    assert_eq!(run.view.elapsed(Timestamp::from_millis(99_000)), 1234);
    assert_eq!(words::next(&run.view), [""; 0]);
}

#[test]
fn the_forecast_uses_the_finished_tasks_of_the_run() {
    let mut run = Run::new(1);
    let usage = Usage { input_tokens: 9, cost_micro_usd: Some(200_000), ..Usage::default() };
    let counts = Counts { open: 4, done: 2, failed: 1, ..Counts::default() };
    run.session(0, usage).settle("a", Class::Done, Status::Done, "");
    run.session(0, usage).settle("b", Class::Red, Status::Pending, "red");
    run.session(0, usage).settle("b", Class::Done, Status::Done, "");
    run.fact(Fact::PlanCounted { counts });
    assert_eq!(run.view.forecast(), None, "two are too few");
    run.settle("c", Class::TaskFailed, Status::Failed, "");
    let reported = run.view.forecast().unwrap();
    assert_eq!((reported.tasks, reported.micro_usd, reported.from_tasks), (4, Some(800_000), 3));
    run.session(0, Usage { input_tokens: 9, ..Usage::default() });
    assert_eq!(run.view.forecast().unwrap().micro_usd, None, "a price is missing");
}

#[test]
fn json_has_the_words_of_what_a_slot_does() {
    let mut run = Run::new(2);
    let wait = Wait::Others { tasks: 2 };
    run.fact(Fact::WaitStarted { slot: 0, wait, until: None });
    run.fact(Fact::Surveying { slot: 1 });
    let json = serde_json::to_value(&run.view).unwrap();
    assert_eq!(json["slots"][0]["activity"], "waiting: other agents have claimed the 2 open tasks");
    assert_eq!(json["slots"][1]["activity"], "looking for work");
}

#[test]
fn json_has_the_cost_of_sessions_under_way() {
    let mut run = Run::new(1);
    let usage = Usage { cost_micro_usd: Some(200_000), ..Usage::default() };
    run.session(0, usage);
    let message = AgentEvent::Message { model: "opus".to_owned(), usage };
    run.view.on_agent_event(0, &message, Timestamp::default());
    let json = serde_json::to_value(&run.view).unwrap();
    assert_eq!(json["usage"]["cost_micro_usd"], 200_000);
    assert_eq!(json["usage_so_far"]["cost_micro_usd"], 400_000);
}
