//! The end of an iteration: applies the class table to each task and decides what to commit, save and revert.

use super::Draft;
use crate::attempt::fingerprint::fingerprint;
use crate::ids::TaskId;
use crate::records::{GateReport, Verdict};
use crate::run::SlotId;
use crate::run::class::{Becomes, Class, Retry};
use crate::run::effect::{CommitPlan, Effect, Ending, Settlement, TaskAction};
use crate::run::fact::Fact;
use crate::run::landing::Landing;
use crate::run::notice::Notice;
use crate::run::policy::{Claims, Commits, Picker, Policy};
use crate::run::report::{COMMIT_HOOK, PROTECTED, RequestedOutcome, SessionReport, TaskBrief};
use crate::run::slot::{Difference, Interventions, Iteration, Slot, Work};
use crate::run::state::RunState;
use crate::run::verifier::{VERIFICATION_FAILED, VERIFIER};
use crate::task::{Status, after_failure};
use crate::text::{tail, with_detail};

/// Why a task fails that a session claimed and left open, where the agent picks.
const LEFT: &str = "session exited without completing task";

/// A task that failed so often in a row in the same way waits for the user, whatever the preset: another
/// attempt would only cost money.
pub(super) const SAME_FAILURES: u32 = 5;

/// A model that refuses the same twice is going to refuse it again.
const SAME_REFUSALS: u32 = 2;

/// The note on an iteration that changed files and finished no task of its plan.
const NOTHING_TICKED: &str = "no task ticked";

/// How much of a gate's first line goes into the reason, in characters.
const REASON: usize = 200;
/// How much of what the session said last the attempt keeps for the next one, in bytes.
const LAST_WORDS: usize = 800;
/// How much of the verifier's message goes into the reason, in characters.
const VERIFIER_REASON: usize = 600;

impl Draft {
    /// Decides the end of the iteration and asks for it to be recorded.
    pub(super) fn settle(&mut self, slot: SlotId) {
        let Some(current) = self.slot(slot) else { return };
        let Some(settlement) = settlement(&self.state, current) else { return };
        let reports = current.work().map(|work| notices(&self.state.policy, work, &settlement));
        for notice in reports.unwrap_or_default() {
            self.notice(notice);
        }
        self.warn_of_tasks(slot, &settlement);
        self.fact(Fact::Settling { slot, class: settlement.class });
        self.effect(Effect::Settle { slot, settlement: Box::new(settlement) });
    }

    /// Warns about tasks that are retried with little left of their budget, and about unknown prices.
    fn warn_of_tasks(&mut self, slot: SlotId, settlement: &Settlement) {
        let budget = self.state.policy.budget;
        let session = self.slot(slot).and_then(Slot::session);
        let Some(report) = session.map(|session| session.report.clone()) else { return };
        let unpriced = budget.has_money() && report.end.usage.is_unpriced();
        if unpriced && !self.state.unpriced_reported {
            self.notice(Notice::Unpriced);
        }
        for ending in &settlement.tasks {
            let again = matches!(
                ending.action,
                Some(TaskAction::Fail { for_good: false, .. } | TaskAction::Release)
            );
            let used = budget.of_task(spent(&report, &ending.task)).filter(|_| again);
            if let Some(used) = used {
                self.warn_of(used, Some(&ending.task.id));
            }
        }
    }

    /// A commit hook refused the work: what was decided does not hold, and the hook is a gate that failed.
    pub(super) fn hook_refused(&mut self, slot: SlotId, gate: &GateReport) {
        self.fact(Fact::HookRefused { slot, gate: gate.clone() });
        let red = self.slot(slot).and_then(|slot| settlement(&self.state, slot));
        let Some(settlement) = red else { return };
        self.fact(Fact::Settling { slot, class: settlement.class });
        self.effect(Effect::Settle { slot, settlement: Box::new(settlement) });
    }

    /// Asks again to record what was decided before.
    pub(super) fn settle_again(&mut self, slot: SlotId) {
        let again = self.slot(slot).and_then(|slot| settlement(&self.state, slot));
        if let Some(settlement) = again {
            self.effect(Effect::Settle { slot, settlement: Box::new(settlement) });
        }
    }
}

/// What to record about the slot's iteration. The same slot gives the same settlement.
pub(super) fn settlement(state: &RunState, slot: &Slot) -> Option<Settlement> {
    let work = slot.work()?;
    let under = state.interventions(slot);
    let (policy, report) = (&state.policy, &work.session.report);
    let iteration = &work.session.iteration;
    let changed = work.difference == Difference::Work;
    let tasks: Vec<Ending> =
        report.held.iter().map(|task| ending(policy, work, under, task)).collect();
    let (class, detail) = match policy.by_iteration() {
        true => judged_as_a_whole(policy, work, under, &tasks),
        false => {
            let unverified = work.unverified.as_ref().map(|(_, detail)| detail);
            let detail = unverified.unwrap_or(&report.end.detail).clone();
            (class_of_iteration(report, under, &tasks), detail)
        }
    };
    let done: Vec<&Ending> = tasks.iter().filter(|ending| ending.class == Class::Done).collect();
    let given_up = match policy.by_iteration() {
        true => state.is_retried(class) && !state.tries_again(class),
        // Only the user's uncommitted changes stop it: the work itself is still good.
        false if is_in_the_way(work) => false,
        false => done.is_empty() && tasks.iter().any(|ending| gives_up(policy, ending)),
    };
    let commits = match policy.commits {
        Commits::WhenDone => !done.is_empty(),
        Commits::EveryIteration => class == Class::Done && work.difference != Difference::None,
        Commits::Agent => false,
    };
    let commit = commits.then(|| commit_plan(policy, iteration, &done, report));
    let save = match &commit {
        Some(_) => None,
        None if policy.by_iteration() => {
            TaskId::new(&policy.mode).ok().map(|mode| (mode, iteration.number))
        }
        None => tasks
            .first()
            .map(|ending| &ending.task)
            .or(iteration.task.as_ref())
            .map(|task| (task.id.clone(), task.attempt_number)),
    };
    let unchanged = !changed && !done.is_empty();
    let green = work.judged.as_ref().is_some_and(|(_, green)| *green);
    let marker = report.promise(policy).filter(|_| green && class.row().counts).cloned();
    let land = policy.integrates && class == Class::Done;
    let start_over = matches!(work.landing, Some(Landing::Conflict(_)));
    Some(Settlement {
        class,
        detail,
        commit,
        save,
        put_back: given_up,
        unchanged,
        marker,
        tasks,
        gates: work.gates().to_vec(),
        usage: report.end.usage,
        last_words: tail(report.end.text.trim(), LAST_WORDS),
        land,
        start_over,
    })
}

/// The end of one task.
fn ending(policy: &Policy, work: &Work, under: Interventions, task: &TaskBrief) -> Ending {
    let (class, detail, outcome) = class_of_task(policy, work, under, task);
    let row = class.row();
    let counts = match row.retry {
        Retry::No => false,
        Retry::Yes => true,
        Retry::WhereAgentPicks => policy.picker == Picker::Agent,
        Retry::UnlessGraph => !policy.graph,
    };
    // Where the loop retries the iteration, its tasks stay open. And work that was judged without a signal
    // was never called done.
    let unclaimed = work.is_unclaimed(policy);
    let counts = counts && !policy.by_iteration() && !(unclaimed && class == Class::Red);
    let parked = work.parked(policy, task, class);
    let give_up =
        class.is_return() && task.returns + 1 >= policy.give_up_after && !policy.by_iteration();
    let fingerprint = match class {
        Class::Red => work.judged.as_ref().and_then(|(gates, _)| red(gates)).map(print_of),
        // The refusal names the model, and the next attempt may use another one.
        Class::Refusal => Some(fingerprint(class.as_str(), "")),
        _ => None,
    };
    let alike = fingerprint.as_deref().map_or(0, |print| task.times_like(print));
    let used_up = after_failure(task.retry_count, policy.retries, false) == Status::Failed;
    let most_alike = if class == Class::Refusal { SAME_REFUSALS } else { SAME_FAILURES };
    let stuck = alike >= most_alike && !used_up && !policy.by_iteration();
    // A task whose end does not count is released as it was; the next claim checks the budget.
    let counts_or_unverified = row.counts || work.unverified.is_some();
    let over_task_budget = policy
        .budget
        .holds_task(spent(&work.session.report, task))
        .filter(|_| counts_or_unverified);
    let in_the_way = class == Class::Conflict && is_in_the_way(work);
    let action = match (row.becomes, outcome) {
        (Becomes::Untouched, _) => None,
        (Becomes::Done, Some(RequestedOutcome::Done { result })) => {
            Some(TaskAction::Done { result })
        }
        (Becomes::Done, _) => Some(TaskAction::Done { result: None }),
        (Becomes::Failed, Some(RequestedOutcome::Fail { reason, for_good })) => {
            Some(TaskAction::Fail { reason, for_good })
        }
        (Becomes::Failed, _) => Some(TaskAction::Fail { reason: detail.clone(), for_good: true }),
        (Becomes::Waiting, Some(RequestedOutcome::Ask { text })) => Some(TaskAction::Ask { text }),
        (Becomes::Waiting, _) => Some(TaskAction::Hold { reason: detail.clone() }),
        (Becomes::Pending, _) if in_the_way => Some(TaskAction::Hold { reason: detail.clone() }),
        (Becomes::Pending, _) if over_task_budget.is_some() => Some(TaskAction::Hold {
            reason: format!("{}, last: {detail}", over_task_budget.unwrap_or_default()),
        }),
        (Becomes::Pending, _) if give_up => Some(TaskAction::Hold {
            reason: format!("returned {} times without progress, last: {detail}", task.returns + 1),
        }),
        (Becomes::Pending, _) if parked.is_some() => Some(TaskAction::Hold {
            reason: format!("{}, last: {detail}", parked.unwrap_or_default()),
        }),
        (Becomes::Pending, _) if stuck => Some(TaskAction::Hold {
            reason: format!("failed {alike} times in the same way: {detail}"),
        }),
        (Becomes::Pending, _) if counts => {
            let reason = if used_up {
                format!("gave up after {} attempts, last: {detail}", task.retry_count + 1)
            } else {
                detail.clone()
            };
            Some(TaskAction::Fail { reason, for_good: false })
        }
        (Becomes::Pending, _) => Some(TaskAction::Release),
    };
    let signal = work.signal_note(policy, class);
    Ending { task: task.clone(), class, action, detail, fingerprint, signal }
}

fn is_in_the_way(work: &Work) -> bool {
    matches!(work.landing, Some(Landing::InTheWay { .. }))
}

/// The gate or verifier that failed.
fn red(gates: &[GateReport]) -> Option<&GateReport> {
    gates.iter().find(|gate| gate.verdict != Verdict::Pass)
}

fn print_of(gate: &GateReport) -> String {
    fingerprint(&gate.name, &gate.digest)
}

/// What the task cost so far. A session's cost is that of the first task that it held.
pub(super) fn spent(report: &SessionReport, task: &TaskBrief) -> u64 {
    let is_first = report.held.first().is_some_and(|first| first.id == task.id);
    let now = report.end.usage.cost_micro_usd.filter(|_| is_first);
    task.spent_micro_usd.saturating_add(now.unwrap_or(0))
}

/// The class of one task, the reason in words, and what the session requested for it.
fn class_of_task(
    policy: &Policy,
    work: &Work,
    under: Interventions,
    task: &TaskBrief,
) -> (Class, String, Option<RequestedOutcome>) {
    let report = &work.session.report;
    let changed = work.difference == Difference::Work;
    if under.lost {
        return (Class::ClaimLost, "another agent claimed the task".to_owned(), None);
    }
    if under.skip {
        return (Class::Skipped, "skipped by you".to_owned(), None);
    }
    if under.cancelled {
        return (Class::Cancelled, "the run was cancelled".to_owned(), None);
    }
    if report.says_failure() {
        return (Class::Failure, "the agent said FAILURE".to_owned(), None);
    }
    let outcome = report.requested_for(&task.id);
    let class = match &outcome {
        Some(RequestedOutcome::Done { .. }) => {
            let (class, detail) = judged(policy, work, task);
            return match came_too_late(work, under, task, class) {
                Some(late) => late,
                None => (class, detail, outcome),
            };
        }
        Some(RequestedOutcome::Fail { reason, for_good: true }) => {
            return match came_too_late(work, under, task, Class::TaskFailed) {
                Some(late) => late,
                None => (Class::TaskFailed, reason.clone(), outcome),
            };
        }
        Some(RequestedOutcome::Fail { reason, for_good: false }) => {
            return (Class::TaskRetry, reason.clone(), outcome);
        }
        Some(RequestedOutcome::Ask { text }) => return (Class::Question, text.clone(), outcome),
        Some(RequestedOutcome::Left { .. }) | None => Class::of(report.end.class),
    };
    if let Some(class) = class {
        let output = with_detail(class.words(), &report.end.detail);
        let detail = match class.remedy().filter(|_| class.parks()) {
            Some(remedy) => format!("{}; {remedy}", output.trim_end_matches('.')),
            None if report.end.detail.is_empty() => output,
            None => report.end.detail.clone(),
        };
        return (class, detail, None);
    }
    if let Some(RequestedOutcome::Left { reason }) = &outcome {
        return (Class::TaskRetry, reason.clone(), None);
    }
    if work.is_unclaimed(policy) {
        let (class, detail) = judged(policy, work, task);
        return came_too_late(work, under, task, class).unwrap_or((class, detail, None));
    }
    if !report.strangers().is_empty() {
        return (Class::WrongId, "the signal named another task".to_owned(), None);
    }
    let detail = match (policy.picker, changed) {
        (Picker::Agent, _) => LEFT,
        (Picker::Loop, true) => "no signal",
        (Picker::Loop, false) => "no signal; No changes detected",
    };
    (Class::NoSignal, detail.to_owned(), None)
}

/// A task does not end before a session got what the user told it: another session goes on from here.
fn came_too_late(
    work: &Work,
    under: Interventions,
    task: &TaskBrief,
    class: Class,
) -> Option<(Class, String, Option<RequestedOutcome>)> {
    let own = work.session.iteration.task.as_ref().is_some_and(|own| own.id == task.id);
    let ends = matches!(class, Class::Done | Class::Approval | Class::TaskFailed);
    (under.unread && own && ends)
        .then(|| (Class::NewMessage, Class::NewMessage.words().to_owned(), None))
}

/// The class of a request for done, by the results of the gates.
fn judged(policy: &Policy, work: &Work, task: &TaskBrief) -> (Class, String) {
    let Some((gates, green)) = &work.judged else {
        return (Class::Cancelled, "not checked".to_owned());
    };
    if !green && work.landing == Some(Landing::Rebased) {
        let reason = red_reason(gates);
        return (Class::Red, format!("on top of work that landed meanwhile, {reason}"));
    }
    if !green {
        return (Class::Red, red_reason(gates));
    }
    if let Some(obstacle) = work.landing.as_ref().and_then(Landing::obstacle) {
        return (Class::Conflict, obstacle);
    }
    if let Some(unverified) = &work.unverified {
        return unverified.clone();
    }
    // Work that changes nothing has nothing to land.
    let lands = work.difference == Difference::Work && !policy.by_iteration();
    let approval = work.needs_approval(policy.approve, &task.id).filter(|_| lands);
    if let Some(waits) = approval {
        return (Class::Approval, waits);
    }
    if work.difference == Difference::Work || !gates.is_empty() || policy.claims == Claims::Trust {
        return (Class::Done, String::new());
    }
    (Class::Unchanged, "No changes detected".to_owned())
}

fn red_reason(gates: &[GateReport]) -> String {
    let Some(red) = red(gates) else {
        return "the files changed while the gates ran".to_owned();
    };
    if red.name == VERIFIER {
        let words: Vec<&str> = red.digest.split_whitespace().collect();
        let output: String = words.join(" ").chars().take(VERIFIER_REASON).collect();
        return format!("{VERIFICATION_FAILED}: {output}");
    }
    // Without an exit code the digest says what happened: it timed out, or did not start.
    let how = red.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    // The whole digest is in the evidence, and from there in the next prompt.
    let mut lines = red.digest.lines().map(str::trim).skip_while(|line| line.is_empty());
    let mut first = lines.next().unwrap_or_default().to_owned();
    if first.ends_with(':') {
        let names = lines.map_while(|line| line.strip_prefix("- "));
        first = format!("{first} {}", names.collect::<Vec<_>>().join(", ")).trim_end().to_owned();
    }
    let first: String = first.chars().take(REASON).collect();
    if red.name == PROTECTED || red.name == COMMIT_HOOK {
        return first;
    }
    let gap = if first.is_empty() { "" } else { ": " };
    format!("gate {} failed{how}{gap}{first}", red.name)
}

/// The class of an iteration that is judged as a whole, and why.
fn judged_as_a_whole(
    policy: &Policy,
    work: &Work,
    under: Interventions,
    tasks: &[Ending],
) -> (Class, String) {
    let report = &work.session.report;
    let ended = class_of_iteration(report, under, &[]);
    if ended != Class::NoSignal {
        return (ended, report.end.detail.clone());
    }
    if let Some(question) = report.asked(policy) {
        return (Class::Question, question.clone());
    }
    if let Some((gates, false)) = &work.judged {
        return (Class::Red, red_reason(gates));
    }
    if let Some(unverified) = &work.unverified {
        return unverified.clone();
    }
    let promised = report.promise(policy).is_some();
    // Rejected ticks are reverted, and then nothing has changed.
    let refused = !tasks.is_empty() && tasks.iter().all(|task| task.class == Class::Unchanged);
    let unchanged = match work.difference {
        Difference::None => true,
        Difference::Plan => refused,
        Difference::Work => false,
    };
    if unchanged && policy.unchanged_fails && !promised {
        return (Class::Unchanged, "No changes detected".to_owned());
    }
    let picks = work.session.iteration.about.as_ref().is_some_and(|about| about.open.is_some());
    let ticked = tasks.iter().any(|task| task.class == Class::Done);
    let detail = if picks && !ticked && !promised { NOTHING_TICKED } else { "" };
    (Class::Done, detail.to_owned())
}

/// One class for the whole iteration: the best of its tasks, else how the session ended.
fn class_of_iteration(report: &SessionReport, under: Interventions, tasks: &[Ending]) -> Class {
    if tasks.iter().any(|ending| ending.class == Class::Done) {
        return Class::Done;
    }
    if let Some(first) = tasks.first() {
        return first.class;
    }
    if under.skip {
        return Class::Skipped;
    }
    if under.lost {
        return Class::ClaimLost;
    }
    if under.cancelled {
        return Class::Cancelled;
    }
    if report.says_failure() {
        return Class::Failure;
    }
    Class::of(report.end.class).unwrap_or(Class::NoSignal)
}

/// Whether ralph will not retry the task by itself.
fn gives_up(policy: &Policy, ending: &Ending) -> bool {
    match &ending.action {
        Some(TaskAction::Fail { for_good, .. }) => {
            after_failure(ending.task.retry_count, policy.retries, *for_good) == Status::Failed
        }
        // The user has not decided yet, and the next session may be about the same files.
        Some(TaskAction::Hold { .. }) if ending.class == Class::Approval => false,
        Some(TaskAction::Hold { .. }) => {
            ending.class != Class::Skipped || !ending.detail.is_empty()
        }
        Some(TaskAction::Done { .. } | TaskAction::Release | TaskAction::Ask { .. }) | None => {
            false
        }
    }
}

fn commit_plan(
    policy: &Policy,
    iteration: &Iteration,
    done: &[&Ending],
    report: &SessionReport,
) -> CommitPlan {
    let mode = &policy.mode;
    // What the agent picked is known only by what was ticked.
    let about = iteration.about.as_ref().filter(|about| about.open.is_none());
    let title = match (done, about) {
        ([], about) => about.map(|about| about.title.clone()),
        ([one], _) => Some(one.task.title.clone()),
        ([first, more @ ..], _) => Some(format!("{} and {} more", first.task.title, more.len())),
    };
    let unnamed = match iteration.about {
        Some(_) => NOTHING_TICKED,
        None => "changes of the session",
    };
    let mut body: Vec<String> = done
        .iter()
        .map(|ending| format!("Task: {} {}", ending.task.id, ending.task.title))
        .collect();
    if let Some(model) = &report.end.model {
        body.push(format!("Model: {model}"));
    }
    CommitPlan {
        subject: format!(
            "{mode}: iteration {} - {}",
            iteration.number,
            title.as_deref().unwrap_or(unnamed)
        ),
        body: body.join("\n"),
    }
}

/// What the user should know about the end of this iteration.
fn notices(policy: &Policy, work: &Work, settlement: &Settlement) -> Vec<Notice> {
    let report = &work.session.report;
    let mut found = work.signal_notices(policy);
    let named = report.strangers();
    if !named.is_empty() {
        let held = report.held.iter().map(|task| task.id.clone()).collect();
        found.push(Notice::WrongId { named, held });
    }
    let checked = work.judged.as_ref().is_some_and(|(gates, _)| !gates.is_empty());
    if settlement.unchanged && !checked && policy.claims == Claims::Trust {
        for ending in settlement.tasks.iter().filter(|ending| ending.class == Class::Done) {
            found.push(Notice::Trusted { task: ending.task.id.clone() });
        }
    }
    found
}
