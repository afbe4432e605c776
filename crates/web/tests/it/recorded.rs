//! A repository after the day that the snapshots of every display show, as the page sees it: the run from its journal, and
//! of the task database what that run wrote there.

#[path = "../../../core/tests/run_model/sample.rs"]
mod sample;

use std::collections::VecDeque;
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::ids::{AgentId, AttemptId, RunId};
use ralph_core::records::{
    Attempt, AttemptEnd, Changes, Evidence, FileChange, LogEntry, LogKind, Question,
};
use ralph_core::run::{Class, Fact, RunEvent};
use ralph_core::task::{Status, Task};
use ralph_core::text::Title;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::RunView;
use ralph_core::view::history::RunSummary;
use ralph_core::view::report::Report;
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};
use ralph_ui::ports::{Answer, Board, Ports, Refused, UserAction};
use ralph_ui::runs::{RunRow, RunState};
use ralph_ui::status::{State, StatusPage};
use ralph_ui::tasks::{Details, details};
use serde_json::Value;

use self::sample::{SampleEvent, busy_day, id, run};

/// What it landed first, as `ralph diff` prints it.
const DIFF: &str = "\
diff --git a/src/routes/login.rs b/src/routes/login.rs
new file mode 100644
--- /dev/null
+++ b/src/routes/login.rs
@@ -0,0 +1,2 @@
+pub async fn login(form: Form<Login>) -> Response {
+}
";

/// The repository, and its only run.
#[derive(Clone)]
pub(crate) struct Recorded {
    events: Vec<RunEvent>,
    view: RunView,
    tasks: Vec<Task>,
    attempts: Vec<Attempt>,
    evidence: Vec<Evidence>,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let events = run();
        let mut recorded = Self {
            view: RunView::of(&events),
            events: vec![],
            tasks: vec![],
            attempts: vec![],
            evidence: vec![],
        };
        events.iter().for_each(|event| recorded.take(event));
        // Two tasks that the run did not reach.
        let began = recorded.view.began_at;
        let last = recorded.tasks.last().map(|task| task.id.clone());
        recorded.task("t-7wz2kd4p", "Log every login in the audit table", began);
        let blocked =
            recorded.task("t-c5vnq8rj", "Lock an account after ten wrong passwords", began);
        blocked.deps = last.into_iter().collect();
        blocked.neighbors.open_blockers = 1;
        recorded.events = events;
        recorded
    }

    fn task(&mut self, name: &str, title: &str, at: Timestamp) -> &mut Task {
        let known = self.tasks.iter().position(|task| task.id.as_str() == name);
        let at = known.unwrap_or_else(|| {
            let mut task = Task::new(id(name), Title::new(title).unwrap(), at);
            task.order = self.tasks.len() as u64;
            self.tasks.push(task);
            self.tasks.len() - 1
        });
        &mut self.tasks[at]
    }

    /// What the run wrote into the task database.
    fn take(&mut self, event: &RunEvent) {
        let (at, run) = (event.at, &event.run);
        match &event.fact {
            Fact::IterationStarted { task: Some(task), model, .. } => {
                let began = self.view.began_at;
                self.task(task.id.as_str(), &task.title, began);
                self.attempts.push(Attempt {
                    id: AttemptId::new(format!("a-{}", self.attempts.len() + 1)).unwrap(),
                    task: task.id.clone(),
                    run: Some(run.clone()),
                    agent: AgentId::new("agent-4f2a91c0").unwrap(),
                    generation: task.generation,
                    program: Some("claude".to_owned()),
                    model: model.clone(),
                    sandbox: Some("full".to_owned()),
                    started_at: at,
                    end: Some(AttemptEnd {
                        at,
                        outcome: String::new(),
                        detail: String::new(),
                        commit: None,
                        input_tokens: 0,
                        output_tokens: 0,
                        cost_micro_usd: None,
                        changed: Changes::default(),
                        last_message: String::new(),
                        fingerprint: None,
                    }),
                });
            }
            Fact::SessionEnded { report, .. } => {
                let end = self.end();
                let usage = report.end.usage;
                end.input_tokens = usage.input_tokens;
                end.output_tokens = usage.output_tokens;
                end.cost_micro_usd = usage.cost_micro_usd;
                end.last_message.clone_from(&report.end.text);
            }
            Fact::CandidateMade { files, .. } => {
                let one = |(path, lines): (&String, u64)| FileChange {
                    path: path.clone(),
                    added: Some(lines * 7),
                    removed: Some(lines),
                };
                self.end().changed = Changes::of(files.iter().zip(1..).map(one).collect());
            }
            Fact::Judged { tree, gates, .. } => {
                let attempt = self.attempts.last().unwrap();
                self.evidence.extend(gates.iter().map(|gate| Evidence {
                    task: attempt.task.clone(),
                    attempt: Some(attempt.id.clone()),
                    tree: tree.clone(),
                    judge: gate.name.clone(),
                    verdict: gate.verdict,
                    exit_code: gate.exit_code,
                    duration_ms: gate.duration_ms,
                    digest: gate.digest.clone(),
                    at,
                }));
            }
            Fact::TaskSettled { task, title, class, status, reason, .. } => {
                let end = self.end();
                (end.at, end.outcome) = (at, class.to_string());
                end.detail.clone_from(reason);
                let task = self.task(task.as_str(), title, at);
                task.status = *status;
                task.retry_count += u32::from(*class == Class::Red);
                task.reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
                task.done_at = (*status == Status::Done).then_some(at);
            }
            Fact::Committed { commit, .. } => self.end().commit = Some(commit.clone()),
            _ => {}
        }
    }

    /// The end of the newest attempt.
    fn end(&mut self) -> &mut AttemptEnd {
        self.attempts.last_mut().and_then(|attempt| attempt.end.as_mut()).unwrap()
    }

    fn questions(&self, of: &TaskId) -> Vec<Question> {
        let asked = self.events.iter().filter_map(|event| match &event.fact {
            Fact::QuestionAsked { task, question, text } if task == of => Some(Question {
                id: question.clone(),
                task: task.clone(),
                by: AgentId::new("agent-4f2a91c0").unwrap(),
                text: text.clone(),
                asked_at: event.at,
                answer: None,
            }),
            _ => None,
        });
        asked.collect()
    }

    fn log(&self, of: &TaskId) -> Vec<LogEntry> {
        let by = || AgentId::new("agent-4f2a91c0").unwrap();
        let own = self.attempts.iter().filter(|attempt| attempt.task == *of);
        let claimed = own.map(|attempt| LogEntry {
            at: attempt.started_at,
            by: by(),
            kind: LogKind::Claimed,
            text: String::new(),
        });
        claimed.collect()
    }
}

fn missing(message: &str) -> Refused {
    Refused { message: message.to_owned(), hints: vec![], missing: true }
}

impl Ports for Recorded {
    fn live(&self) -> Box<dyn EventSource + Send> {
        Box::new(Stored(VecDeque::new()))
    }

    fn run(&self, _: &RunId) -> Answer<Box<dyn EventSource + Send>> {
        let mut now = self.view.began_at;
        let joined = Observed::Joined { name: String::new() };
        let seen = busy_day().into_iter().map(|event| match event {
            SampleEvent::Event(event) => {
                now = event.at;
                Observed::Fact { event }
            }
            SampleEvent::Agent(slot, event) => Observed::Agent { slot, at: now, event },
        });
        let all = std::iter::once(joined).chain(seen).map(|what| Observation { of: 0, what });
        Ok(Box::new(Stored(all.collect())))
    }

    fn board(&self) -> Box<dyn Board> {
        Box::new(self.clone())
    }

    /// Twelve seconds after the end.
    fn now(&self) -> Timestamp {
        self.view.last_at.plus_millis(12_000)
    }

    fn zone(&self) -> Zone {
        Zone::UTC
    }

    fn root(&self) -> String {
        "/home/ann/shop".to_owned()
    }
}

struct Stored(VecDeque<Observation>);

impl EventSource for Stored {
    fn next(&mut self, _: Duration) -> Next {
        self.0.pop_front().map_or(Next::Over, Next::Seen)
    }
}

impl Board for Recorded {
    fn status(&mut self) -> Answer<StatusPage> {
        Ok(StatusPage {
            state: State::Stopped,
            run: Some(self.view.clone()),
            counts: self.view.counts,
            forecast: self.view.forecast(),
            level: Some(self.view.level.clone()),
            questions: self.view.questions.clone(),
            waiting: vec![],
            lanes: vec![],
            last_error: self.view.last_error.clone(),
            commits: self.view.commits.iter().rev().cloned().collect(),
            next: vec!["ralph answer q-5ohb2kdx".to_owned(), "ralph build".to_owned()],
            now: self.now(),
        })
    }

    fn tasks(&mut self) -> Answer<Vec<Task>> {
        Ok(self.tasks.clone())
    }

    fn version(&mut self) -> Answer<u64> {
        Ok(1)
    }

    fn task(&mut self, id: &TaskId) -> Answer<Value> {
        let task = self.tasks.iter().find(|task| task.id == *id);
        let task = task.ok_or_else(|| missing("no such task"))?;
        let of = |is: &dyn Fn(&Task) -> bool| {
            self.tasks.iter().filter(|task| is(task)).cloned().collect::<Vec<_>>()
        };
        let own = |attempt: &&Attempt| attempt.task == *id;
        let attempts: Vec<Attempt> = self.attempts.iter().filter(own).cloned().collect();
        let evidence: Vec<Evidence> =
            self.evidence.iter().filter(|found| found.task == *id).cloned().collect();
        let more = Details {
            log: &self.log(id),
            attempts: &attempts,
            evidence: &evidence,
            questions: &self.questions(id),
            blockers: Some(&of(&|other| task.deps.contains(&other.id))),
            dependents: Some(&of(&|other| other.deps.contains(id))),
            needs_merge: None,
            all: true,
            zone: &Zone::UTC,
        };
        Ok(serde_json::to_value(details(task, more)).unwrap())
    }

    fn diff(&mut self, id: &TaskId) -> Answer<String> {
        match self.tasks.first() {
            Some(first) if first.id == *id => Ok(DIFF.to_owned()),
            _ => Err(missing("no work")),
        }
    }

    fn runs(&mut self) -> Answer<Vec<RunRow>> {
        let summary = RunSummary::of(&self.events).ok_or_else(|| missing("no run"))?;
        Ok(vec![RunRow { summary, state: RunState::Ended }])
    }

    fn report(&mut self) -> Answer<Report> {
        // Every session of this day belongs to an attempt.
        Ok(Report::of(self.attempts.clone(), vec![]))
    }

    fn perform(&mut self, _: &UserAction) -> Answer<String> {
        Err(missing("a recorded run takes no actions"))
    }
}
