//! Handwritten journals, with what the agents said between their lines: for tests that show them.

#![allow(dead_code, reason = "not every test that includes it uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use ralph_core::TaskId;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Signals, Usage};
use ralph_core::ids::{AgentId, AttemptId, QuestionId, RunId};
use ralph_core::policy::strategy::ModelState;
use ralph_core::records::Verdict;
use ralph_core::run::{
    Budget, Cancel, Claims, Class, Control, Fact, GateReport, Notice, Outcome, Policy, RunEvent,
    SessionReport, SlotId, StopReason, TaskBrief, Wait,
};
use ralph_core::task::{Counts, Status};
use ralph_core::time::Timestamp;
use ralph_core::view::Reporter;

/// The model of every session.
const MODEL: &str = "claude-sonnet-4-5";

/// The events of a reporter.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a few hundred of them, in tests")]
pub(crate) enum SampleEvent {
    Event(RunEvent),
    Agent(SlotId, AgentEvent),
}

/// Tells a reporter everything.
pub(crate) fn replay(reported: &[SampleEvent], reporter: &mut impl Reporter) {
    for reported in reported {
        match reported {
            SampleEvent::Event(event) => reporter.event(event),
            SampleEvent::Agent(slot, event) => reporter.agent(*slot, Timestamp::default(), event),
        }
    }
    reporter.finish();
}

/// The journal alone.
pub(crate) fn journal(reported: &[SampleEvent]) -> Vec<RunEvent> {
    let event = |reported: &SampleEvent| match reported {
        SampleEvent::Event(event) => Some(event.clone()),
        SampleEvent::Agent(..) => None,
    };
    reported.iter().filter_map(event).collect()
}

/// The journal of [`busy_day`].
pub(crate) fn run() -> Vec<RunEvent> {
    journal(&busy_day())
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// Builds a journal.
pub(crate) struct Tape {
    pub(crate) events: Vec<SampleEvent>,
    at: Timestamp,
    seq: u64,
    pub(crate) counts: Counts,
    usage: Usage,
    began: Timestamp,
}

impl Tape {
    pub(crate) fn new(slots: u32, total: u64) -> Self {
        let began = Timestamp::parse("2026-11-15T02:45:00Z").unwrap();
        let counts = Counts { open: total, ..Counts::default() };
        let usage = Usage::default();
        let mut tape = Self { events: vec![], at: began, seq: 0, counts, usage, began };
        tape.fact(Fact::RunStarted {
            policy: Box::new(Policy {
                slots,
                claims: Claims::Confirm,
                budget: Budget { micro_usd: 5_000_000, ..Budget::default() },
                port_retries: 5,
                ..Policy::default()
            }),
            ralph: "0.1.0".into(),
            agent: "claude".into(),
            agent_ids: vec![AgentId::new("agent-4f2a91c0").unwrap(); slots as usize],
            target: "the feature login".into(),
            gates: vec!["fmt".into(), "test".into()],
            level: "full".into(),
            head: Some("9d1c4e7aa0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5".into()),
            branch: None,
            settled_tree: "tree0".into(),
            resumed: None,
            earlier: Default::default(),
        });
        tape.notice(Notice::Level {
            level: "full".into(),
            text: "bubblewrap, Landlock and seccomp; the agent writes in the worktree only".into(),
        });
        tape
    }

    pub(crate) fn fact(&mut self, fact: Fact) -> &mut Self {
        self.seq += 1;
        let run = RunId::new("r-4qz7k2ma").unwrap();
        let event = RunEvent { v: 1, run, seq: self.seq, at: self.at, fact };
        self.events.push(SampleEvent::Event(event));
        self
    }

    pub(crate) fn later(&mut self, millis: u64) -> &mut Self {
        self.at = self.at.plus_millis(millis);
        self
    }

    pub(crate) fn notice(&mut self, notice: Notice) -> &mut Self {
        self.fact(Fact::Noticed { notice })
    }

    /// The plan changes and is counted.
    pub(crate) fn count(&mut self, change: impl Fn(&mut Counts)) -> &mut Self {
        change(&mut self.counts);
        let counts = self.counts;
        self.fact(Fact::PlanCounted { counts })
    }

    pub(crate) fn says(&mut self, slot: SlotId, event: AgentEvent) -> &mut Self {
        self.events.push(SampleEvent::Agent(slot, event));
        self
    }

    pub(crate) fn text(&mut self, slot: SlotId, text: &str) -> &mut Self {
        self.says(slot, AgentEvent::Text { text: text.into() })
    }

    pub(crate) fn tool(&mut self, slot: SlotId, name: &str, input: &str) -> &mut Self {
        let (id, name, input) = ("toolu_1".into(), name.into(), input.into());
        self.says(slot, AgentEvent::ToolStarted { id, name, input })
    }

    /// A session begins on a task.
    pub(crate) fn begin(&mut self, slot: SlotId, n: u32, task: &str, title: &str, attempt: u32) {
        self.fact(Fact::Surveying { slot }).later(2).fact(Fact::Claiming { slot }).later(3);
        let brief = brief(task, title, attempt);
        self.fact(Fact::IterationStarted {
            slot,
            iteration: n,
            task: Some(brief),
            offered: 0,
            about: None,
            retry: 0,
            model: Some("sonnet".into()),
            agent: None,
            overridden: None,
            raised: None,
            models: ModelState::default(),
        });
        let log = format!(
            "/home/ann/shop/.ralph/logs/session-20261115-024500/iteration-{n:03}-{attempt}.ndjson"
        );
        self.later(40).fact(Fact::SessionStarted { slot, log }).later(900);
        let (model, version) = (Some(MODEL.to_owned()), Some("2.1.0".to_owned()));
        self.says(slot, AgentEvent::Started { model, version });
        self.message(slot, Usage::default());
    }

    /// The agent begins a message, after it used this much.
    pub(crate) fn message(&mut self, slot: SlotId, usage: Usage) {
        self.says(slot, AgentEvent::Message { model: MODEL.to_owned(), usage });
    }

    /// The session ends.
    pub(crate) fn end(&mut self, slot: SlotId, task: &str, end: SessionEnd, millis: u64) {
        self.later(millis);
        self.usage = self.usage.plus(end.usage);
        let done = end.text.contains("<task-done>");
        let report = SessionReport {
            process: match end.class {
                EndClass::Crash => ProcessEnd::Exited { code: 139 },
                EndClass::Cancelled => ProcessEnd::Stopped,
                _ => ProcessEnd::Exited { code: 0 },
            },
            end,
            signals: Signals {
                done: if done { vec![task.into()] } else { vec![] },
                ..Signals::default()
            },
            requests: vec![],
            held: vec![],
            notes: vec![],
            duration_ms: millis + 900,
            leftovers: 0,
        };
        self.fact(Fact::SessionEnded { slot, report }).later(60);
    }

    pub(crate) fn changed(&mut self, slot: SlotId, files: &[&str]) -> &mut Self {
        let file_count = files.len() as u32;
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let changed = file_count > 0;
        let (tree, plan_only) = ("tree1".into(), false);
        self.fact(Fact::CandidateMade { slot, tree, changed, plan_only, files, file_count })
    }

    pub(crate) fn judged(&mut self, slot: SlotId, gates: Vec<GateReport>) -> &mut Self {
        self.later(gates.iter().map(|gate| gate.duration_ms).sum());
        let green = gates.iter().all(|gate| gate.verdict == Verdict::Pass);
        self.fact(Fact::Judged { slot, tree: "tree1".into(), gates, green, risks: Vec::new() })
    }

    /// The iteration ends with one task.
    #[expect(clippy::too_many_arguments, reason = "a whole ending on one line of a journal")]
    pub(crate) fn settle(
        &mut self,
        slot: SlotId,
        n: u32,
        task: &str,
        title: &str,
        class: Class,
        status: Status,
        reason: &str,
        took: u64,
    ) {
        self.fact(Fact::Settling { slot, class }).later(20);
        self.settled(slot, task, title, class, status, reason);
        if class == Class::Done {
            let commit = format!("{n}f2a91c07d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a");
            let subject = format!("build: iteration {n} - {title}");
            self.fact(Fact::Committed { slot, commit, subject });
            self.count(|counts| {
                counts.open -= 1;
                counts.done += 1;
            });
        } else {
            let name = format!("refs/ralph/wip/{task}/{n}");
            self.fact(Fact::WorkSaved { task: id(task), name });
        }
        self.ended(slot, n, class, reason, took);
    }

    fn settled(
        &mut self,
        slot: SlotId,
        task: &str,
        title: &str,
        class: Class,
        status: Status,
        reason: &str,
    ) {
        let (task, title, reason) = (id(task), title.into(), reason.into());
        self.fact(Fact::TaskSettled { slot, task, title, class, status, reason, retry_count: 0 });
    }

    pub(crate) fn ended(&mut self, slot: SlotId, n: u32, class: Class, detail: &str, took: u64) {
        self.fact(Fact::IterationEnded {
            slot,
            iteration: n,
            class,
            detail: detail.into(),
            head: None,
            tree: "tree1".into(),
            settled: class == Class::Done,
            again: false,
            duration_ms: took,
        });
    }

    pub(crate) fn stop(
        &mut self,
        reason: StopReason,
        successful: u32,
        failed: u32,
    ) -> Vec<SampleEvent> {
        self.fact(Fact::StopDecided { reason: reason.clone() });
        let outcome = Outcome {
            reason,
            left: self.counts,
            iterations: successful + failed,
            successful,
            failed,
            usage: self.usage,
            duration_ms: self.at.millis_since(self.began),
            strict: false,
            failed_task: None,
            planned: None,
            unpublished: false,
            asked: None,
        };
        self.fact(Fact::RunEnded { outcome });
        std::mem::take(&mut self.events)
    }
}

pub(crate) fn brief(task: &str, title: &str, attempt: u32) -> TaskBrief {
    TaskBrief {
        id: id(task),
        title: title.into(),
        generation: 1,
        retry_count: attempt - 1,
        returns: attempt - 1,
        spec: Some("specs/login.md".into()),
        attempt: AttemptId::new(format!("a-{attempt}")).unwrap(),
        attempt_number: attempt,
        spent_micro_usd: 0,
        failed: None,
        finished: None,
        unsignaled: None,
    }
}

pub(crate) fn gate(name: &str, millis: u64) -> GateReport {
    GateReport {
        name: name.into(),
        verdict: Verdict::Pass,
        exit_code: Some(0),
        duration_ms: millis,
        digest: String::new(),
        log: None,
    }
}

pub(crate) fn red(name: &str, millis: u64, code: i32, digest: &str) -> GateReport {
    GateReport {
        verdict: Verdict::Fail,
        exit_code: Some(code),
        digest: digest.into(),
        log: Some(format!(
            "/home/ann/shop/.ralph/logs/session-20261115-024500/iteration-002.gate-{name}.log"
        )),
        ..gate(name, millis)
    }
}

/// A session that had its say.
pub(crate) fn completed_with(text: &str, cents: u64, turns: u32) -> SessionEnd {
    let mut end = SessionEnd::of(EndClass::Completed, "");
    end.text = text.into();
    end.model = Some("claude-sonnet-4-5".into());
    end.usage = Usage {
        input_tokens: 18_000 * u64::from(turns),
        output_tokens: 700 * u64::from(turns),
        cost_micro_usd: Some(cents * 10_000),
        turns: Some(turns),
        requests: Some(turns + 1),
    };
    end
}

const FORM: &str = "t-2kq7m3ab";
const REJECT: &str = "t-7hq2mz4a";
const REMEMBER: &str = "t-m4xw6tfe";
const RESET: &str = "t-q3nd5yhc";

/// One slot: a success, a red gate and then a green one, a question, a usage limit, a crash, and a
/// user who stops it.
pub(crate) fn busy_day() -> Vec<SampleEvent> {
    let mut tape = Tape::new(1, 6);
    tape.notice(Notice::DirtyStart { saved: "refs/ralph/start/r-4qz7k2ma".into(), paths: 2 });
    first_two(&mut tape);
    question_and_limit(&mut tape);
    crash_and_cancel(&mut tape);
    tape.stop(StopReason::Cancelled, 2, 3)
}

fn first_two(tape: &mut Tape) {
    tape.fact(Fact::Surveying { slot: 0 }).later(2).count(|counts| {
        counts.open -= 1;
        counts.blocked += 1;
    });
    let title = "Add the login form";
    tape.begin(0, 1, FORM, title, 1);
    for text in ["The router has no /login yet. I look at how ", "/signup is built and follow it."]
    {
        tape.says(0, AgentEvent::Thinking { text: text.into() });
    }
    tape.text(0, "I'll follow the signup page: same layout, same validation.\n\n");
    tape.tool(0, "Read", "src/routes/signup.rs");
    tape.tool(
        0,
        "Edit",
        r#"{"file_path":"src/routes/login.rs","old_string":"","new_string":"pub async fn login(form: Form<Login>) -> Response {"}"#,
    );
    tape.tool(0, "Bash", "cargo test -q login");
    tape.message(0, Usage::default());
    let last = "The form is there and tested.\n<task-done>t-2kq7m3ab</task-done>";
    tape.text(0, last);
    tape.end(0, FORM, completed_with(last, 8, 12), 94_000);
    tape.changed(0, &["src/routes/login.rs", "src/routes/mod.rs", "tests/login.rs"]);
    tape.judged(0, vec![gate("fmt", 810), gate("test", 12_440)]);
    tape.settle(0, 1, FORM, title, Class::Done, Status::Done, "", 109_300);

    let title = "Reject wrong passwords without telling which part was wrong";
    tape.begin(0, 2, REJECT, title, 1);
    tape.tool(0, "Bash", "cargo test -q");
    let error = "error[E0425]: cannot find function `verify` in this scope\n --> src/auth.rs:41:8\n   |\n41 |     if verify(&hash, &given) {\n   |        ^^^^^^ not found in this scope\n\nerror: aborting due to 1 previous error";
    tape.says(
        0,
        AgentEvent::ToolEnded { id: "toolu_1".into(), is_error: true, text: error.into() },
    );
    let last = "Both cases answer 401 now.\n<task-done>t-7hq2mz4a</task-done>";
    tape.text(0, last);
    tape.end(0, REJECT, completed_with(last, 11, 9), 61_000);
    tape.changed(0, &["src/auth.rs"]);
    let digest = "---- wrong_user_and_wrong_password_look_the_same stdout ----\nassertion `left == right` failed\n  left: \"no such user\"\n right: \"wrong name or password\"";
    tape.judged(0, vec![gate("fmt", 790), red("test", 9_100, 101, digest)]);
    let reason = format!("gate test failed (exit code 101)\n{digest}");
    tape.settle(0, 2, REJECT, title, Class::Red, Status::Pending, &reason, 72_000);

    tape.begin(0, 3, REJECT, title, 2);
    let last = "The test is right: one message for both.\n<task-done>t-7hq2mz4a</task-done>";
    tape.text(0, last);
    tape.end(0, REJECT, completed_with(last, 6, 5), 33_000);
    tape.changed(0, &["src/auth.rs", "tests/login.rs"]);
    tape.judged(0, vec![gate("fmt", 800), gate("test", 12_100)]);
    tape.settle(0, 3, REJECT, title, Class::Done, Status::Done, "", 47_100);
}

fn question_and_limit(tape: &mut Tape) {
    let title = "Remember the session";
    tape.begin(0, 4, REMEMBER, title, 1);
    let question = "How long is a session to be remembered: a day, as the spec says, or 30 days, as the mock-up shows?";
    let last = format!("The spec and the mock-up differ.\n<question>{question}</question>");
    tape.text(0, &last);
    tape.end(0, REMEMBER, completed_with(&last, 2, 3), 15_000);
    tape.changed(0, &[]);
    tape.fact(Fact::Settling { slot: 0, class: Class::Question });
    tape.fact(Fact::QuestionAsked {
        task: id(REMEMBER),
        question: QuestionId::new("q-5ohb2kdx").unwrap(),
        text: question.into(),
    });
    tape.settled(0, REMEMBER, title, Class::Question, Status::Waiting, question);
    tape.count(|counts| {
        counts.open -= 1;
        counts.waiting += 1;
    });
    tape.ended(0, 4, Class::Question, "", 16_100);

    let title = "Send a mail to reset the password";
    tape.begin(0, 5, RESET, title, 1);
    let (status, error) = (Some(529), "overloaded".into());
    tape.says(0, AgentEvent::Retrying { attempt: 2, delay_ms: 4000, status, error });
    let detail = "You've hit your limit · resets 5am";
    let mut end = SessionEnd::of(EndClass::UsageWindow, detail);
    end.usage.input_tokens = 2_000;
    end.usage.cost_micro_usd = Some(4_200);
    tape.end(0, RESET, end, 8_000);
    tape.changed(0, &[]);
    tape.settle(0, 5, RESET, title, Class::UsageWindow, Status::Pending, detail, 9_000);
    let until = Timestamp::parse("2026-11-15T05:00:00Z").unwrap();
    tape.fact(Fact::WaitStarted {
        slot: 0,
        wait: Wait::Limit { class: Class::UsageWindow, streak: 1, reset_known: true, agent: None },
        until: Some(until),
    });
    tape.at = until.plus_millis(1000);
    tape.fact(Fact::WaitEnded { slot: 0 });
}

fn crash_and_cancel(tape: &mut Tape) {
    let title = "Send a mail to reset the password";
    tape.begin(0, 5, RESET, title, 2);
    tape.text(0, "I add the mailer first.");
    let detail = "ended with signal 11 and no result";
    tape.end(0, RESET, SessionEnd::of(EndClass::Crash, detail), 21_000);
    tape.changed(0, &["src/mail.rs"]);
    tape.settle(0, 5, RESET, title, Class::Crash, Status::Pending, detail, 22_000);

    tape.begin(0, 6, RESET, title, 3);
    tape.text(0, "The mailer is there already, it only lacks the template.");
    tape.later(5_000)
        .fact(Fact::ControlReceived { control: Control::Cancel(Cancel::AfterSession) });
    tape.later(2_000).fact(Fact::ControlReceived { control: Control::Cancel(Cancel::Now) });
    tape.end(0, RESET, SessionEnd::of(EndClass::Cancelled, ""), 300);
    tape.changed(0, &["src/mail.rs", "templates/reset.txt"]);
    let detail = "the run was cancelled";
    tape.settle(0, 6, RESET, title, Class::Cancelled, Status::Pending, detail, 8_300);
}

/// Two slots side by side, until all is done or failed.
pub(crate) fn two_slots() -> Vec<SampleEvent> {
    let mut tape = Tape::new(2, 2);
    if let SampleEvent::Event(RunEvent { fact: Fact::RunStarted { gates, .. }, .. }) =
        &mut tape.events[0]
    {
        gates.clear();
    }
    tape.notice(Notice::Ungated);
    tape.count(|_| {});
    let (form, reject) = ("Add the login form", "Reject wrong passwords");
    tape.begin(0, 1, FORM, form, 1);
    tape.begin(1, 2, REJECT, reject, 4);
    tape.text(0, "I'll follow the ");
    tape.text(1, "There is no password store at all.\nI cannot");
    tape.text(0, "signup page.\n");
    tape.text(1, " go on.");
    let last = "<task-done>t-2kq7m3ab</task-done>";
    tape.text(0, last);
    tape.end(0, FORM, completed_with(last, 8, 12), 30_000);
    tape.changed(0, &["src/login.rs"]);
    tape.judged(0, vec![]);
    tape.settle(0, 1, FORM, form, Class::Done, Status::Done, "", 31_000);
    tape.fact(Fact::Surveying { slot: 0 }).fact(Fact::SlotFreed { slot: 0 });
    let mut end = completed_with("<task-failed>t-7hq2mz4a</task-failed>", 3, 4);
    end.usage.cost_micro_usd = None;
    tape.end(1, REJECT, end, 12_000);
    tape.changed(1, &[]);
    let reason = "There is no password store; the plan needs a task for it first.";
    tape.count(|counts| {
        counts.open -= 1;
        counts.failed += 1;
    });
    tape.settle(1, 2, REJECT, reject, Class::TaskFailed, Status::Failed, reason, 43_000);
    tape.stop(StopReason::Complete, 1, 1)
}
