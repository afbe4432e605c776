//! A world that answers the loop at random, and the runs that come of it. Every run is one that can happen, so displays are
//! tested with them too.

#![allow(dead_code, reason = "not every test that includes it uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use ralph_core::agent::{self, EndClass, ProcessEnd, SessionEnd, Signals, Tier};
use ralph_core::ids::{AttemptId, QuestionId, RunId};
use ralph_core::policy::strategy::TierNames;
use ralph_core::records::{UserMessage, Verdict};
use ralph_core::run::{
    Cancel, ChangeSize, Claims, Class, Commits, Conflict, Control, Effect, EndsWhen, Exhausted,
    Fact, FallbackAgent, GateReport, Input, Landing, Phase, Picker, Policy, Port, Publication,
    Publish, PublishEnd, Request, RequestedOutcome, Review, ReviewEnd, RunEvent, RunState,
    SessionReport, Settled, Slot, SlotId, Survey, TaskAction, TaskBrief, TaskResult, Unit,
    VERIFIER, Verifier, VerifierModel, VerifierReport, decide,
};
use ralph_core::task::{Counts, RetryLimit, Status};
use ralph_core::{AgentId, TaskId, Timestamp};

pub(crate) fn policy(picker: Picker, slots: u32, max: Option<u32>) -> Policy {
    Policy {
        picker,
        slots,
        max_sessions: max,
        retries: match picker {
            Picker::Loop => RetryLimit::AtMost(3),
            Picker::Agent => RetryLimit::Unlimited,
        },
        claims: Claims::Confirm,
        port_retries: 3,
        ..Policy::default()
    }
}

/// The iteration as a whole is judged, as a checklist is.
pub(crate) fn by_iteration(max: u32) -> Policy {
    Policy {
        preset: "checklist".to_owned(),
        graph: false,
        retries: RetryLimit::AtMost(3),
        unit: Unit::Iteration,
        on_exhausted: Exhausted::Stop,
        commits: Commits::EveryIteration,
        ends: vec![EndsWhen::Ticked, EndsWhen::Marker],
        promises: vec!["COMPLETE".to_owned()],
        unchanged_fails: true,
        ..policy(Picker::Agent, 1, Some(max))
    }
}

/// With a verifier.
pub(crate) fn verified(policy: Policy) -> Policy {
    let verifier = Verifier { agent: "script".to_owned(), model: VerifierModel::Same };
    Policy { verify: Some(Box::new(verifier)), ..policy }
}

/// Whose branch is published when it is complete.
pub(crate) fn published(policy: Policy) -> Policy {
    Policy {
        publish: Some(Publish { auto_push: false, auto_pr: true, watch_ms: 60_000 }),
        ..policy
    }
}

/// With agents that stand in for the preferred one.
pub(crate) fn with_fallback(policy: Policy, agents: usize) -> Policy {
    let agent = |name: &str| FallbackAgent { name: name.to_owned(), tiers: TierNames::default() };
    Policy { fallback: ["codex", "gemini"].into_iter().take(agents).map(agent).collect(), ..policy }
}

fn message() -> UserMessage {
    UserMessage { number: 1, text: "use tabs".to_owned() }
}

fn publication(dice: &mut Dice<'_>) -> Publication {
    const ENDS: [PublishEnd; 3] = [PublishEnd::Opened, PublishEnd::Failed, PublishEnd::Interrupted];
    Publication {
        end: ENDS[usize::from(dice.roll(3))],
        branch: "feature".to_owned(),
        number: Some(1),
        page: String::new(),
        why: "it broke".to_owned(),
        command: String::new(),
    }
}

/// Dice that a test case brings along.
struct Dice<'a> {
    rolls: &'a [u8],
    at: usize,
}

impl Dice<'_> {
    fn roll(&mut self, sides: u8) -> u8 {
        let roll = self.rolls.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        roll % sides
    }

    fn is_over(&self) -> bool {
        self.at >= self.rolls.len()
    }
}

/// The world around the loop: a plan of numbered tasks, and the effects that wait for an answer.
pub(crate) struct World {
    pub(crate) state: RunState,
    pub(crate) events: Vec<RunEvent>,
    pending: Vec<Effect>,
    now: Timestamp,
    open: u64,
    claimed: u64,
    done: u64,
    failed: u64,
    waiting: u64,
    claims: u64,
    pub(crate) finished: u32,
    pub(crate) published: u32,
    /// How often watching the pull request led to work.
    pub(crate) rounds: u32,
    in_session: bool,
    settled: Vec<(TaskId, Class)>,
    pub(crate) started: Vec<u32>,
    pub(crate) ended: Vec<u32>,
    /// Tasks that a session was started on.
    begun: Vec<TaskId>,
    /// Sessions that are over and not reported yet.
    over: HashMap<SlotId, Box<SessionReport>>,
}

fn conflict() -> Conflict {
    Conflict { files: vec!["a".to_owned()], report: None }
}

impl World {
    fn new(policy: Policy, tasks: u64) -> Self {
        let slots = policy.slots;
        let mut world = Self {
            state: RunState::new(policy.clone()),
            events: vec![],
            pending: vec![],
            now: Timestamp::from_millis(1_794_710_700_000),
            open: tasks,
            claimed: 0,
            done: 0,
            failed: 0,
            waiting: 0,
            claims: 0,
            finished: 0,
            published: 0,
            rounds: 0,
            in_session: false,
            settled: vec![],
            started: vec![],
            ended: vec![],
            begun: vec![],
            over: HashMap::new(),
        };
        let started = Fact::RunStarted {
            policy: Box::new(policy),
            ralph: "0".to_owned(),
            agent: "script".to_owned(),
            agent_ids: (0..slots).map(|n| AgentId::new(format!("agent-{n}")).unwrap()).collect(),
            target: "all".to_owned(),
            gates: vec!["test".to_owned()],
            level: "none".to_owned(),
            head: None,
            branch: None,
            settled_tree: "t0".to_owned(),
            resumed: None,
            earlier: Default::default(),
        };
        world.send(&Input::Begin { started: Box::new(started), notices: vec![] }).unwrap();
        world
    }

    fn counts(&self) -> Counts {
        Counts {
            open: self.open,
            active: self.claimed,
            done: self.done,
            failed: self.failed,
            waiting: self.waiting,
            ..Counts::default()
        }
    }

    /// Tells the loop something and checks everything that must hold at every moment.
    fn send(&mut self, input: &Input) -> Result<(), TestCaseError> {
        let was_stopping = self.state.stop.is_some();
        let cancel = self.state.cancel;
        let was_ended = self.state.ended;
        let step = decide(&self.state, input, self.now);
        prop_assert_eq!(&step, &decide(&self.state, input, self.now), "decide is a function");
        for fact in &step.facts {
            self.state.evolve(fact, self.now);
            let seq = self.events.len() as u64 + 1;
            let run = RunId::new("r-1").unwrap();
            let event = RunEvent { v: 1, run, seq, at: self.now, fact: fact.clone() };
            let text = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<RunEvent>(&text).unwrap(), &event);
            self.events.push(event);
            match fact {
                Fact::IterationStarted { iteration, .. } => self.started.push(*iteration),
                Fact::IterationEnded { iteration, .. } => self.ended.push(*iteration),
                Fact::TaskSettled { task, class, .. } => {
                    let carried_out = self.settled.contains(&(task.clone(), *class));
                    prop_assert!(carried_out, "{task} was not settled as {class}");
                }
                _ => {}
            }
        }
        for effect in step.effects {
            let begins = matches!(
                effect,
                Effect::Survey { .. }
                    | Effect::Claim { .. }
                    | Effect::Peek { .. }
                    | Effect::RunSession { .. }
            );
            let goes_on = matches!(input, Input::Reviewed(review) if review.is_work());
            let stopped = was_stopping && !goes_on;
            prop_assert!(!(begins && stopped), "{effect:?} after the run was to stop");
            let last = cancel >= Some(Cancel::AfterSession);
            prop_assert!(!(begins && last), "{effect:?} after the last session");
            if let (Some(Cancel::AfterTask), Effect::RunSession { task: Some(task), .. }) =
                (cancel, &effect)
            {
                let before = self.begun.contains(&task.id);
                prop_assert!(before, "{} was not in hand", task.id);
            }
            if let Effect::RunSession { task: Some(task), .. } = &effect {
                self.begun.push(task.id.clone());
            }
            let starts =
                step.facts.iter().any(|fact| matches!(fact, Fact::IterationStarted { .. }));
            if let (true, Effect::RunSession { agent, .. }) = (starts, &effect) {
                let at_limit = |agent| {
                    self.state.agents.limit(agent).is_some_and(|limit| limit.until > self.now)
                };
                let others = 0..=self.state.policy.fallback.len();
                let all = others.into_iter().all(at_limit);
                prop_assert!(all || !at_limit(*agent), "agent {agent} is at a limit");
            }
            let judged = matches!(effect, Effect::Judge { .. } | Effect::Verify { .. });
            prop_assert!(
                !(judged && cancel >= Some(Cancel::Now)),
                "{effect:?} of a cut-off session"
            );
            prop_assert!(!was_ended, "{effect:?} after the end");
            match &effect {
                Effect::Finish { .. } => {
                    self.finished += 1;
                    prop_assert!(self.state.slots.iter().all(|slot| slot.phase == Phase::Free));
                }
                Effect::Release { .. } => {
                    self.claimed = self.claimed.saturating_sub(1);
                    self.open += 1;
                }
                Effect::StopWaiting { slot } => {
                    let slot = *slot;
                    self.pending
                        .retain(|e| !matches!(e, Effect::Wake { slot: s, .. } if *s == slot));
                }
                Effect::Publish => {
                    prop_assert_eq!(self.published, self.rounds, "published twice");
                    self.published += 1;
                    prop_assert!(self.state.slots.iter().all(|slot| slot.phase == Phase::Free));
                    self.pending.push(effect);
                }
                Effect::Watch { .. } => {
                    let watches = self.pending.iter().any(|e| matches!(e, Effect::Watch { .. }));
                    prop_assert!(!watches && !self.state.ended, "watched twice");
                    self.pending.push(effect);
                }
                Effect::StopSession { .. }
                | Effect::StopPublishing
                | Effect::HoldTask { .. }
                | Effect::Say { .. }
                | Effect::ResetTask { .. } => {}
                _ => self.pending.push(effect),
            }
        }
        prop_assert!(self.finished <= 1, "Finish was emitted twice");
        // Where the agent picks, looks that failed count too, and may fail in several slots at once.
        if let (Some(most), Picker::Loop) =
            (self.state.policy.max_sessions, self.state.policy.picker)
        {
            prop_assert!(self.state.counted <= most, "{} of {most}", self.state.counted);
        }
        let turns = self.state.slots.iter().filter(|slot| slot.has_turn()).count();
        prop_assert!(turns <= 1, "{turns} land at the same time");
        let alive =
            self.state.ended || self.state.paused || self.in_session || !self.pending.is_empty();
        prop_assert!(alive, "nothing is under way and the run has not ended: {:?}", self.state);
        Ok(())
    }

    /// The end of a session reaches the loop, or the store fails first.
    fn report_session(&mut self, slot: SlotId, dice: &mut Dice<'_>) -> Result<(), TestCaseError> {
        if dice.roll(12) == 11 {
            let (error, for_good) = ("it broke".to_owned(), dice.roll(8) == 7);
            return self.send(&Input::PortFailed { slot, port: Port::Store, error, for_good });
        }
        let report = self.over.remove(&slot).unwrap();
        self.send(&Input::SessionEnded { slot, report })
    }

    /// Answers one effect, well or badly.
    fn answer(&mut self, effect: Effect, dice: &mut Dice<'_>) -> Result<(), TestCaseError> {
        if let Effect::Survey { slot }
        | Effect::Claim { slot, .. }
        | Effect::Peek { slot }
        | Effect::MakeCandidate { slot, .. }
        | Effect::Integrate { slot, .. }
        | Effect::Settle { slot, .. } = &effect
            && dice.roll(12) == 11
        {
            let port = [Port::Store, Port::Git, Port::Disk][usize::from(dice.roll(3))];
            let error = "it broke".to_owned();
            let for_good = dice.roll(8) == 7;
            return self.send(&Input::PortFailed { slot: *slot, port, error, for_good });
        }
        let input = match effect {
            Effect::Survey { slot } => Input::Surveyed {
                slot,
                survey: Survey {
                    counts: self.counts(),
                    claimable: match self.state.policy.unit {
                        Unit::Task => u32::try_from(self.open).unwrap(),
                        Unit::Iteration => 1,
                    },
                    foreign: u64::from(dice.roll(4) == 3),
                    next_expiry: None,
                    taken_back: vec![],
                    absent: false,
                    marker: (dice.roll(16) == 15).then(|| "RALPH_DONE".to_owned()),
                    ..Survey::default()
                },
            },
            Effect::Claim { slot, only } => {
                if self.open == 0 || dice.roll(10) == 9 {
                    Input::NothingToClaim { slot }
                } else {
                    let mut task = self.brief(dice);
                    // Whoever asks for one task gets that one.
                    task.id = only.unwrap_or(task.id);
                    Input::Claimed { slot, task: Box::new(task) }
                }
            }
            Effect::Peek { slot } => {
                Input::Peeked { slot, offered: u32::try_from(self.open).unwrap(), about: None }
            }
            Effect::RunSession { slot, task, .. } => {
                let log = "x".to_owned();
                self.in_session = true;
                self.send(&Input::SessionStarted { slot, log })?;
                self.in_session = false;
                let report = Box::new(self.report(task.map(|task| *task), dice));
                self.over.insert(slot, report);
                return self.report_session(slot, dice);
            }
            Effect::ReportSession { slot } => return self.report_session(slot, dice),
            Effect::MakeCandidate { slot, .. } => {
                let tree = format!("t{}", dice.roll(3));
                Input::CandidateMade { slot, tree, files: vec![], file_count: 0, plan_only: false }
            }
            Effect::Park { slot, .. } => {
                self.claimed -= 1;
                self.waiting += 1;
                Input::Parked { slot }
            }
            Effect::Judge { slot, foresee } => {
                let red = dice.roll(3) == 2;
                let gate = GateReport {
                    name: "test".to_owned(),
                    verdict: if red { Verdict::Fail } else { Verdict::Pass },
                    exit_code: Some(i32::from(red)),
                    duration_ms: 1,
                    digest: String::new(),
                    log: None,
                };
                let gates = if dice.roll(4) == 3 { vec![] } else { vec![gate] };
                let tree_changed_while_judging = dice.roll(10) == 9;
                let conflict = (foresee && dice.roll(6) == 5).then(conflict);
                Input::Judged {
                    slot,
                    tree: "t1".to_owned(),
                    gates,
                    tree_changed_while_judging,
                    conflict,
                    change: ChangeSize::default(),
                }
            }
            Effect::Verify { slot, .. } => {
                const ENDS: [EndClass; 8] = [
                    EndClass::Completed,
                    EndClass::Completed,
                    EndClass::Completed,
                    EndClass::Completed,
                    EndClass::Crash,
                    EndClass::UsageWindow,
                    EndClass::Auth,
                    EndClass::Cancelled,
                ];
                let class = ENDS[usize::from(dice.roll(8))];
                let output = match dice.roll(4) {
                    0 => None,
                    1 => Some(agent::Verdict::Fail("no".to_owned())),
                    _ => Some(agent::Verdict::Pass),
                };
                let report = VerifierReport {
                    end: SessionEnd::of(class, ""),
                    process: ProcessEnd::Exited { code: 0 },
                    verdict: output.filter(|_| class == EndClass::Completed),
                    duration_ms: 1,
                };
                Input::Verified { slot, report: Box::new(report) }
            }
            Effect::Integrate { slot, .. } => {
                let landing = match dice.roll(6) {
                    5 => return self.send(&Input::HeadMoved { slot }),
                    1 => Landing::Conflict(conflict()),
                    2 => Landing::InTheWay { files: vec!["a".to_owned()] },
                    0 => Landing::Straight,
                    _ => Landing::Rebased,
                };
                Input::Integrated { slot, onto: None, tree: "t2".to_owned(), landing }
            }
            Effect::Settle { slot, settlement } => {
                let turn = self.state.slot(slot).is_some_and(Slot::has_turn);
                prop_assert!(turn || !settlement.land, "it lands out of turn");
                if dice.roll(12) == 11 {
                    return self.send(&Input::HeadMoved { slot });
                }
                let judged =
                    self.state.slot(slot).and_then(Slot::work).and_then(|work| work.judged.clone());
                let mut tasks = vec![];
                for ending in &settlement.tasks {
                    self.settled.push((ending.task.id.clone(), ending.class));
                    // Meanwhile a person may do anything.
                    if dice.roll(4) == 3 {
                        let task = ending.task.id.clone();
                        self.in_session = true;
                        match dice.roll(3) {
                            0 => self.send(&Input::Control(Control::Skip { task }))?,
                            1 => self.send(&Input::Control(Control::Cancel(Cancel::Kill)))?,
                            _ => {
                                let agent = self.state.agent_ids[slot as usize].clone();
                                self.send(&Input::ClaimLost { agent, task })?;
                            }
                        }
                        self.in_session = false;
                    }
                    self.claimed -= 1;
                    let status = match &ending.action {
                        Some(TaskAction::Done { .. }) => {
                            let green = judged.as_ref().is_some_and(|(_, green)| *green);
                            prop_assert!(green, "done without a green judgement");
                            let by_verifier = judged
                                .as_ref()
                                .is_some_and(|(all, _)| all.iter().any(|one| one.name == VERIFIER));
                            let wanted = self.state.policy.verify.is_some();
                            prop_assert!(by_verifier || !wanted, "done without a verdict");
                            self.done += 1;
                            Status::Done
                        }
                        Some(TaskAction::Fail { for_good: true, .. }) => {
                            self.failed += 1;
                            Status::Failed
                        }
                        Some(TaskAction::Fail { .. } | TaskAction::Release) | None => {
                            self.open += 1;
                            Status::Pending
                        }
                        Some(TaskAction::Ask { .. } | TaskAction::Hold { .. }) => {
                            self.waiting += 1;
                            Status::Waiting
                        }
                    };
                    if ending.class.is_limit() {
                        prop_assert_eq!(&ending.action, &Some(TaskAction::Release));
                    }
                    tasks.push(TaskResult {
                        id: ending.task.id.clone(),
                        status: Some(status),
                        retry_count: 0,
                        question: Some(QuestionId::new("q-1").unwrap()),
                    });
                }
                let settled = Settled {
                    by_agent: vec![],
                    tasks,
                    commit: settlement.commit.map(|plan| ("c1".to_owned(), plan.subject)),
                    head: None,
                    saved: None,
                    put_back: 0,
                    tree: "t1".to_owned(),
                    counts: (dice.roll(8) != 7).then(|| self.counts()),
                    planned: None,
                };
                Input::Settled { slot, settled: Box::new(settled) }
            }
            Effect::Publish => Input::Published(publication(dice)),
            Effect::Watch { page, .. } => Input::Reviewed(self.review(dice, &page)),
            Effect::Wake { slot, at, .. } => {
                self.now = at.unwrap_or(self.now).max(self.now);
                Input::Woken { slot }
            }
            other => unreachable!("{other:?} has no answer"),
        };
        self.send(&input)
    }

    /// What watching the pull request comes to: at most two rounds of work.
    fn review(&mut self, dice: &mut Dice<'_>, page: &str) -> Review {
        if self.rounds == 2 || dice.roll(2) == 0 {
            return Review::blank(ReviewEnd::Green, page);
        }
        self.open += 1;
        // Where the run was cancelled, the task waits for the next one.
        self.rounds += u32::from(self.state.cancel.is_none());
        Review { tasks: vec!["fix it".to_owned()], ..Review::blank(ReviewEnd::Work, page) }
    }

    fn brief(&mut self, dice: &mut Dice<'_>) -> TaskBrief {
        self.open -= 1;
        self.claimed += 1;
        self.claims += 1;
        TaskBrief {
            id: TaskId::new(format!("t-{}", self.claims)).unwrap(),
            title: "a task".to_owned(),
            generation: 1,
            retry_count: u32::from(dice.roll(5)),
            returns: u32::from(dice.roll(11)),
            spec: None,
            attempt: AttemptId::new(format!("a-{}", self.claims)).unwrap(),
            attempt_number: 1,
            spent_micro_usd: 0,
            failed: None,
            finished: None,
            unsignaled: None,
        }
    }

    fn report(&mut self, task: Option<TaskBrief>, dice: &mut Dice<'_>) -> SessionReport {
        let mut held: Vec<TaskBrief> = task.into_iter().collect();
        if self.state.policy.picker == Picker::Agent {
            for _ in 0..dice.roll(3) {
                if self.open > 0 {
                    held.push(self.brief(dice));
                }
            }
        }
        const ENDS: [EndClass; 12] = [
            EndClass::Completed,
            EndClass::Completed,
            EndClass::Completed,
            EndClass::Completed,
            EndClass::Crash,
            EndClass::Timeout,
            EndClass::RateLimit,
            EndClass::UsageWindow,
            EndClass::Auth,
            EndClass::Empty,
            EndClass::Cancelled,
            EndClass::Overload,
        ];
        let class = match ENDS[usize::from(dice.roll(12))] {
            EndClass::Auth if dice.roll(2) == 1 => EndClass::Billing,
            class => class,
        };
        let mut signals = Signals::default();
        let mut requests = vec![];
        for task in &held {
            match dice.roll(7) {
                0 | 1 => signals.done.push(task.id.to_string()),
                2 => signals.failed.push(task.id.to_string()),
                3 => requests.push(Request {
                    task: task.id.clone(),
                    outcome: RequestedOutcome::Done { result: None },
                }),
                4 => signals.question = Some("why?".to_owned()),
                5 => signals.done.push("t-other".to_owned()),
                _ => {}
            }
        }
        if dice.roll(40) == 39 {
            signals.promises.push("FAILURE".to_owned());
        }
        if dice.roll(12) == 11 {
            signals.promises.push("COMPLETE".to_owned());
        }
        if dice.roll(5) == 4 {
            signals.next_model = Some(Tier::Opus);
        }
        if class != EndClass::Completed {
            signals = Signals::default();
        }
        SessionReport {
            end: SessionEnd::of(class, "it ended"),
            process: ProcessEnd::Exited { code: 0 },
            signals,
            requests,
            held,
            notes: vec![],
            duration_ms: 1,
            leftovers: 0,
        }
    }

    /// The user wants it to stop, and perhaps does not wait for it.
    fn cancel(&mut self, dice: &mut Dice<'_>) -> Result<(), TestCaseError> {
        const LEVELS: [Cancel; 4] =
            [Cancel::AfterTask, Cancel::AfterSession, Cancel::Now, Cancel::Kill];
        let before = self.state.cancel;
        match dice.roll(6) {
            level @ 0..4 => {
                let level = LEVELS[usize::from(level)];
                self.send(&Input::Control(Control::Cancel(level)))?;
                prop_assert!(self.state.cancel >= Some(level).max(before));
            }
            _ => {
                self.send(&Input::CtrlC)?;
                prop_assert!(self.state.cancel > before || before == Some(Cancel::Kill));
            }
        }
        Ok(())
    }

    /// A task that a slot holds, or another one.
    fn some_task(&self, dice: &mut Dice<'_>) -> TaskId {
        let mut held = self.state.slots.iter().filter_map(|slot| Some(slot.task()?.id.clone()));
        let other = || TaskId::new("t-1").unwrap();
        if dice.roll(4) == 0 { other() } else { held.next().unwrap_or_else(other) }
    }

    /// Something that nobody waits for.
    fn stray(&mut self, dice: &mut Dice<'_>) -> Result<(), TestCaseError> {
        let slot = SlotId::from(dice.roll(4));
        let input = match dice.roll(13) {
            0 => Input::Woken { slot },
            1 => Input::NothingToClaim { slot: 9 },
            2 => Input::SessionStarted { slot: 9, log: String::new() },
            3 => Input::ClaimLost {
                agent: AgentId::new("agent-0").unwrap(),
                task: TaskId::new("t-1").unwrap(),
            },
            4 => Input::Control(Control::Pause),
            5 => Input::Control(Control::Resume),
            6 => Input::Control(Control::Skip { task: TaskId::new("t-1").unwrap() }),
            7 => Input::Control(Control::Retry { task: TaskId::new("t-2").unwrap() }),
            10 => Input::Control(Control::Tell { task: self.some_task(dice), message: message() }),
            11 => {
                let (task, live) = (self.some_task(dice), dice.roll(2) == 0);
                Input::MessageGiven { slot, task, message: message(), live }
            }
            8 if self.published == 0 => Input::Published(publication(dice)),
            9 if self.published == 0 => Input::Reviewed(Review::blank(ReviewEnd::Green, "")),
            _ => Input::Judged {
                slot: 9,
                tree: String::new(),
                gates: vec![],
                tree_changed_while_judging: false,
                conflict: None,
                change: ChangeSize::default(),
            },
        };
        // A slot is woken once per wait: the engine forgets the timer of a wait that is over.
        if let Input::Woken { slot } = &input {
            let slot = *slot;
            self.pending.retain(|e| !matches!(e, Effect::Wake { slot: s, .. } if *s == slot));
            if self.pending.is_empty() && self.state.slot(slot).is_none_or(|s| s.wait.is_none()) {
                return Ok(());
            }
        }
        self.send(&input)
    }
}

pub(crate) fn play(
    policy: Policy,
    tasks: u64,
    rolls: &[u8],
    cancel_at: Option<usize>,
) -> Result<World, TestCaseError> {
    let mut world = World::new(policy, tasks);
    let mut dice = Dice { rolls, at: 0 };
    let mut steps = 0;
    while !world.state.ended && steps < 3000 {
        steps += 1;
        world.now = world.now.plus_millis(7);
        let again = world.state.cancel.is_some() && dice.roll(12) == 11;
        if cancel_at == Some(steps) || again {
            world.cancel(&mut dice)?;
            continue;
        }
        if !dice.is_over() && dice.roll(9) == 8 {
            world.stray(&mut dice)?;
            continue;
        }
        if world.pending.is_empty() {
            world.send(&Input::Control(Control::Resume))?;
            continue;
        }
        let index = usize::from(dice.roll(8)) % world.pending.len();
        let effect = world.pending.remove(index);
        world.answer(effect, &mut dice)?;
    }
    Ok(world)
}
