//! The loop by tables: a world that always answers, and what the loop makes of the reports it gets.

mod approving;
mod budgets;
mod cancelling;
mod ends;
mod fallback;
mod iterations;
mod landing;
mod models;
mod outcomes;
mod publishing;
mod telling;
mod unsignaled;
mod verifying;

use super::*;
use crate::agent::{self, EndClass, ProcessEnd, SessionEnd, Signals, Usage};
use crate::ids::{AgentId, AttemptId, QuestionId, TaskId};
use crate::policy::strategy::{Strategy, TierNames};
use crate::records::Verdict;
use crate::run::{
    Budget, ChangeSize, Claims, Class, Conflict, GateReport, Landing, Outcome, Picker, Policy,
    Review, ReviewEnd, SameFailure, SessionReport, Settled, Settlement, Survey, TaskAction,
    TaskBrief, TaskResult, Unsignaled, VerifierReport,
};
use crate::task::{Counts, RetryLimit, Status, after_failure};

/// The preset `dag`, without a strategy for models.
fn dag() -> Policy {
    Policy { strategy: Strategy::Agent, port_retries: 3, ..Policy::default() }
}

/// The preset `pick`.
fn pick() -> Policy {
    Policy {
        preset: "pick".to_owned(),
        graph: false,
        picker: Picker::Agent,
        retries: RetryLimit::Unlimited,
        ..dag()
    }
}

/// What a session does: how it ends, what it says last, what the tree and the gate are after it.
#[derive(Debug, Clone)]
struct Play {
    end: EndClass,
    text: String,
    changes: bool,
    gate: Option<bool>,
    digest: String,
    notes: Vec<String>,
    usage: Usage,
    /// When its limit resets, in milliseconds from then.
    resets_in: Option<u64>,
    /// How the verifier's sessions end, one after the other, and what they say.
    verifier: Vec<(EndClass, &'static str)>,
}

/// A session that ends well, changes something, says this, and meets no gate.
fn says(text: &str) -> Play {
    Play {
        end: EndClass::Completed,
        text: text.to_owned(),
        changes: true,
        gate: None,
        digest: String::new(),
        notes: vec![],
        usage: Usage::default(),
        resets_in: None,
        verifier: vec![],
    }
}

/// A session that asks for its task to be done.
fn done() -> Play {
    says("<task-done>{id}</task-done>")
}

/// A session that ends like this.
fn ends(end: EndClass) -> Play {
    Play { end, ..says("") }
}

impl Play {
    fn gate(self, green: bool) -> Self {
        Self { gate: Some(green), ..self }
    }

    /// The gate is red, and prints this.
    fn red(self, digest: &str) -> Self {
        Self { gate: Some(false), digest: digest.to_owned(), ..self }
    }

    fn without_changes(self) -> Self {
        Self { changes: false, ..self }
    }
}

/// A plan whose tasks are done in order, and the loop in front of it.
struct World {
    state: RunState,
    now: Timestamp,
    pending: Vec<Effect>,
    facts: Vec<Fact>,
    /// Number, status, retries, returns.
    tasks: Vec<(Status, u32, u32)>,
    /// Tasks that nothing makes ready.
    stuck: u64,
    /// Tasks that others hold.
    foreign: u64,
    settlements: Vec<Settlement>,
    sessions: u32,
    models: Vec<Option<String>>,
    /// Which agent each session had.
    agents: Vec<usize>,
    trees: u32,
    /// The tree that was settled last.
    settled: u32,
    gate: Option<bool>,
    verifier: Vec<(EndClass, &'static str)>,
    /// The models of the verifier's sessions.
    verified_by: Vec<Option<String>>,
    /// What each task has cost.
    spent: Vec<u64>,
    /// How each task failed last.
    failed: Vec<Option<SameFailure>>,
    /// The sessions of each task that gave no signal.
    unsignaled: Vec<Option<Unsignaled>>,
    /// What the gate prints when it is red.
    digest: String,
    /// What others spent today.
    day: u64,
    /// The results of landing work on the branch, in order; after these, every landing succeeds.
    landings: Vec<Landing>,
    /// The files in which green work conflicts with what has landed.
    conflict: Vec<String>,
    /// What the work changes.
    change: ChangeSize,
    /// The slots whose turn it was.
    landed_by: Vec<SlotId>,
}

impl World {
    fn new(policy: Policy, tasks: usize) -> Self {
        Self {
            state: RunState::new(policy),
            now: Timestamp::from_millis(1_794_710_700_000),
            pending: vec![],
            facts: vec![],
            tasks: vec![(Status::Pending, 0, 0); tasks],
            stuck: 0,
            foreign: 0,
            settlements: vec![],
            sessions: 0,
            models: vec![],
            agents: vec![],
            trees: 0,
            settled: 0,
            gate: None,
            verifier: vec![],
            verified_by: vec![],
            spent: vec![0; tasks],
            failed: vec![None; tasks],
            unsignaled: vec![None; tasks],
            digest: String::new(),
            day: 0,
            landings: vec![],
            conflict: vec![],
            change: ChangeSize::default(),
            landed_by: vec![],
        }
    }

    fn begin(&mut self) {
        let started = Fact::RunStarted {
            policy: Box::new(self.state.policy.clone()),
            ralph: "0".to_owned(),
            agent: "script".to_owned(),
            agent_ids: (0..self.state.policy.slots)
                .map(|slot| AgentId::new(format!("agent-{slot}")).unwrap())
                .collect(),
            target: "all".to_owned(),
            gates: vec![],
            level: "none".to_owned(),
            head: None,
            branch: None,
            settled_tree: "t0".to_owned(),
            resumed: None,
            earlier: Default::default(),
        };
        self.send(&Input::Begin { started: Box::new(started), notices: vec![] });
    }

    fn send(&mut self, input: &Input) {
        let step = decide(&self.state, input, self.now);
        for fact in step.facts {
            self.state.evolve(&fact, self.now);
            self.facts.push(fact);
        }
        self.pending.extend(step.effects);
    }

    /// A task comes into the plan.
    fn add_task(&mut self) {
        self.tasks.push((Status::Pending, 0, 0));
        self.spent.push(0);
        self.failed.push(None);
        self.unsignaled.push(None);
    }

    /// Runs with these sessions, one after the other, until the run ends. After the last one there must
    /// be none.
    fn run(policy: Policy, tasks: usize, plays: &[Play]) -> Self {
        let mut world = Self::new(policy, tasks);
        world.play(plays);
        world
    }

    fn play(&mut self, plays: &[Play]) {
        self.begin();
        let mut plays = plays.iter();
        self.go_on(&mut plays);
        assert_eq!(plays.len(), 0, "sessions that the loop did not start");
        assert_eq!(self.verifier, [], "verifiers that the loop did not start");
    }

    /// Answers whatever is asked, until nothing is.
    fn go_on<'a>(&mut self, plays: &mut impl Iterator<Item = &'a Play>) {
        while !self.pending.is_empty() {
            let effect = self.pending.remove(0);
            if let Some(input) = self.answer(effect, plays) {
                self.send(&input);
            }
        }
    }

    /// The same, without another session.
    fn finish(&mut self) {
        self.go_on(&mut [].iter());
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts { blocked: self.stuck, active: self.foreign, ..Counts::default() };
        for (status, _, _) in &self.tasks {
            match status {
                Status::Pending => counts.open += 1,
                Status::InProgress => counts.active += 1,
                Status::Waiting => counts.waiting += 1,
                Status::Done => counts.done += 1,
                Status::Failed => counts.failed += 1,
                Status::Deleted => counts.deleted += 1,
            }
        }
        counts
    }

    fn brief(&self, number: usize) -> TaskBrief {
        let (_, retry_count, returns) = self.tasks[number];
        TaskBrief {
            id: TaskId::new(format!("t-{number}")).unwrap(),
            title: format!("Task {number}"),
            generation: 1,
            retry_count,
            returns,
            spec: None,
            attempt: AttemptId::new(format!("a-{}", self.sessions)).unwrap(),
            attempt_number: 1,
            spent_micro_usd: self.spent[number],
            failed: self.failed[number].clone(),
            finished: None,
            unsignaled: self.unsignaled[number].clone(),
        }
    }

    fn ready(&self) -> Option<usize> {
        self.tasks.iter().position(|(status, _, _)| *status == Status::Pending)
    }

    fn answer<'a>(
        &mut self,
        effect: Effect,
        plays: &mut impl Iterator<Item = &'a Play>,
    ) -> Option<Input> {
        Some(match effect {
            Effect::Survey { slot } => Input::Surveyed {
                slot,
                survey: Survey {
                    counts: self.counts(),
                    claimable: u32::from(
                        self.ready().is_some() || self.state.policy.by_iteration(),
                    ),
                    foreign: self.foreign,
                    next_expiry: None,
                    taken_back: vec![],
                    absent: self.counts().total() == 0 && self.state.policy.picker == Picker::Loop,
                    marker: None,
                    day_micro_usd: self.day + self.spent.iter().sum::<u64>(),
                    ..Survey::default()
                },
            },
            Effect::Claim { slot, only } => {
                let wanted = |only: TaskId| only.as_str()[2..].parse().unwrap();
                let number = only.map(wanted).or_else(|| self.ready());
                // Another slot may have been faster.
                let is_open = |number: &usize| self.tasks[*number].0 == Status::Pending;
                let Some(number) = number.filter(is_open) else {
                    return Some(Input::NothingToClaim { slot });
                };
                self.tasks[number].0 = Status::InProgress;
                Input::Claimed { slot, task: Box::new(self.brief(number)) }
            }
            Effect::Park { slot, task, .. } => {
                let number: usize = task.id.as_str()[2..].parse().unwrap();
                self.tasks[number].0 = Status::Waiting;
                Input::Parked { slot }
            }
            Effect::Peek { slot } => Input::Peeked { slot, offered: 1, about: None },
            Effect::RunSession { slot, task, model, agent, .. } => {
                let play = plays.next().expect("a session was started that nobody planned").clone();
                self.sessions += 1;
                self.models.push(model);
                self.agents.push(agent);
                self.send(&Input::SessionStarted { slot, log: "x".to_owned() });
                let report = Box::new(self.report(task.map(|task| *task), &play));
                self.trees += u32::from(play.changes);
                self.gate = play.gate;
                assert_eq!(self.verifier, [], "verifiers that the loop did not start");
                self.verifier.clone_from(&play.verifier);
                self.digest.clone_from(&play.digest);
                Input::SessionEnded { slot, report }
            }
            Effect::MakeCandidate { slot, .. } => {
                let tree = format!("t{}", self.trees);
                let below = if self.state.policy.integrates { 0 } else { self.settled };
                let file_count = self.trees - below;
                Input::CandidateMade { slot, tree, files: vec![], file_count, plan_only: false }
            }
            Effect::Judge { slot, foresee } => {
                let tree = format!("t{}", self.trees);
                let conflict = Some(self.conflict.clone());
                let conflict = conflict.filter(|files| foresee && !files.is_empty());
                let conflict = conflict.map(|files| Conflict { files, report: None });
                Input::Judged {
                    slot,
                    tree,
                    gates: self.gates(),
                    tree_changed_while_judging: false,
                    conflict,
                    change: self.change.clone(),
                }
            }
            Effect::Verify { slot, model, .. } => {
                self.verified_by.push(model);
                Input::Verified { slot, report: Box::new(self.verdict()) }
            }
            Effect::Integrate { slot, .. } => {
                self.landed_by.push(slot);
                let landing = if self.landings.is_empty() {
                    Landing::Straight
                } else {
                    self.landings.remove(0)
                };
                let tree = format!("t{}", self.trees);
                Input::Integrated { slot, onto: None, tree, landing }
            }
            Effect::Settle { slot, settlement } => self.settle(slot, *settlement),
            Effect::Wake { slot, at, .. } => {
                self.now = at.unwrap_or(self.now).max(self.now);
                Input::Woken { slot }
            }
            Effect::Publish => Input::Published(publishing::opened()),
            Effect::Watch { page, .. } => Input::Reviewed(Review::blank(ReviewEnd::Green, &page)),
            Effect::StopPublishing
            | Effect::StopSession { .. }
            | Effect::ReportSession { .. }
            | Effect::Release { .. }
            | Effect::HoldTask { .. }
            | Effect::Say { .. }
            | Effect::ResetTask { .. }
            | Effect::StopWaiting { .. }
            | Effect::Finish { .. } => return None,
        })
    }

    /// The session, and what it holds at its end. Where the agent picks, it claims the first ready task.
    fn report(&mut self, task: Option<TaskBrief>, play: &Play) -> SessionReport {
        let mut held: Vec<TaskBrief> = task.into_iter().collect();
        let claims = self.state.policy.picker == Picker::Agent && !self.state.policy.by_iteration();
        if let (true, Some(number)) = (claims, self.ready()) {
            self.tasks[number].0 = Status::InProgress;
            held.push(self.brief(number));
        }
        let id = held.first().map(|task| task.id.to_string()).unwrap_or_default();
        let text = play.text.replace("{id}", &id);
        SessionReport {
            signals: match play.end {
                EndClass::Completed => Signals::read(&text),
                _ => Signals::default(),
            },
            end: SessionEnd {
                text,
                usage: play.usage,
                resets_at: play.resets_in.map(|wait| self.now.plus_millis(wait)),
                ..SessionEnd::of(play.end, "")
            },
            process: ProcessEnd::Exited { code: 0 },
            requests: vec![],
            held,
            notes: play.notes.clone(),
            duration_ms: 1,
            leftovers: 0,
        }
    }

    fn gates(&self) -> Vec<GateReport> {
        let report = |green: bool| GateReport {
            name: "test".to_owned(),
            verdict: if green { Verdict::Pass } else { Verdict::Fail },
            exit_code: Some(i32::from(!green)),
            duration_ms: 1,
            digest: self.digest.clone(),
            log: None,
        };
        self.gate.map(report).into_iter().collect()
    }

    /// What the verifier says next.
    fn verdict(&mut self) -> VerifierReport {
        assert!(!self.verifier.is_empty(), "a verifier was started that nobody planned");
        let (class, text) = self.verifier.remove(0);
        let usage = Usage { cost_micro_usd: Some(10_000), ..Usage::default() };
        VerifierReport {
            end: SessionEnd { text: text.to_owned(), usage, ..SessionEnd::of(class, "") },
            process: ProcessEnd::Exited { code: 0 },
            verdict: Some(agent::Verdict::read(text)).filter(|_| class == EndClass::Completed),
            duration_ms: 1,
        }
    }

    /// The store: does what the settlement says.
    fn settle(&mut self, slot: SlotId, settlement: Settlement) -> Input {
        let mut results = vec![];
        let report =
            self.state.slot(slot).and_then(Slot::session).map(|session| session.report.clone());
        let mut cost = report.and_then(|report| report.end.usage.cost_micro_usd).unwrap_or(0);
        for ending in &settlement.tasks {
            let number: usize = ending.task.id.as_str()[2..].parse().unwrap();
            self.spent[number] += std::mem::take(&mut cost);
            self.failed[number] = ending.fingerprint.clone().map(|fingerprint| {
                let times = ending.task.times_like(&fingerprint);
                SameFailure { fingerprint, times }
            });
            let tree = format!("t{}", self.trees);
            self.unsignaled[number] = ending.signal.missing.then(|| {
                let changed = self.trees != self.settled;
                Unsignaled::after(ending.task.unsignaled.as_ref(), &tree, changed)
            });
            let (status, retries, returns) = &mut self.tasks[number];
            *status = match &ending.action {
                Some(TaskAction::Done { .. }) => Status::Done,
                Some(TaskAction::Fail { for_good, .. }) => {
                    let then = after_failure(*retries, self.state.policy.retries, *for_good);
                    *retries += u32::from(!for_good);
                    then
                }
                Some(TaskAction::Release) => Status::Pending,
                Some(TaskAction::Ask { .. } | TaskAction::Hold { .. }) => Status::Waiting,
                None => Status::InProgress,
            };
            *returns += u32::from(ending.class.is_return());
            results.push(TaskResult {
                id: ending.task.id.clone(),
                status: Some(*status),
                retry_count: *retries,
                question: Some(QuestionId::new("q-1").unwrap()),
            });
        }
        if settlement.class == Class::Done || settlement.put_back {
            self.settled = self.trees;
        }
        let settled = Settled {
            by_agent: vec![],
            tasks: results,
            commit: settlement.commit.as_ref().map(|plan| ("c1".to_owned(), plan.subject.clone())),
            head: None,
            saved: None,
            put_back: 0,
            tree: format!("t{}", self.trees),
            counts: Some(self.counts()),
            planned: None,
        };
        self.settlements.push(settlement);
        Input::Settled { slot, settled: Box::new(settled) }
    }

    /// How the run ended.
    fn outcome(&self) -> &Outcome {
        let ended = self.facts.iter().find_map(|fact| match fact {
            Fact::RunEnded { outcome } => Some(outcome),
            _ => None,
        });
        ended.expect("the run has ended")
    }

    fn ended_as(&self) -> &'static str {
        self.outcome().reason.name()
    }

    fn statuses(&self) -> Vec<&'static str> {
        self.tasks.iter().map(|(status, _, _)| status.as_str()).collect()
    }
}
