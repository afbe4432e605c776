//! Sessions that end without a signal: which work the gates judge anyway, what ralph reports about it, and
//! when the task waits for the user.

use crate::agent::EndClass;
use crate::run::class::Class;
use crate::run::effect::SignalNote;
use crate::run::notice::Notice;
use crate::run::policy::{Picker, Policy};
use crate::run::report::{RequestedOutcome, SessionReport, TaskBrief, Unsignaled};
use crate::run::slot::{Difference, Work};
use crate::task::RetryLimit;

/// After so many sessions in a row without a signal and without a new tree the task waits for the user.
const UNCHANGED_ENDS: u32 = 3;
/// After so many sessions in a row without a signal it waits even if each left a new tree. Fewer retries
/// mean fewer of these, but never fewer than the number above.
const ENDS: u32 = 5;

impl Policy {
    /// The loop asks for `<task-done>`: nothing else says that a task is finished.
    fn asks_for_signal(&self) -> bool {
        self.graph && self.picker == Picker::Loop && !self.by_iteration()
    }

    /// How many ends in a row without a signal there may be.
    fn unsignaled_ends(&self) -> u32 {
        match self.retries {
            RetryLimit::AtMost(most) => most.saturating_add(1).clamp(UNCHANGED_ENDS, ENDS),
            RetryLimit::Unlimited => ENDS,
        }
    }
}

impl Work {
    /// The session left work and asked for nothing. Where a verifier judges, that is judged as if the
    /// session had called its task done.
    pub(super) fn is_unclaimed(&self, policy: &Policy) -> bool {
        let report = &self.session.report;
        policy.asks_for_signal()
            && policy.verify.is_some()
            && self.difference == Difference::Work
            && report.end.class == EndClass::Completed
            && report.says_nothing()
    }

    /// The tasks that are to be judged.
    pub(super) fn tasks_to_judge(&self, policy: &Policy) -> Vec<TaskBrief> {
        let report = &self.session.report;
        match self.is_unclaimed(policy) {
            true => report.held.clone(),
            false => report.called_done(),
        }
    }

    /// The problems with the signals of the session, for the end of one of its tasks.
    pub(super) fn signal_note(&self, policy: &Policy, class: Class) -> SignalNote {
        SignalNote {
            missing: policy.asks_for_signal() && self.is_silent(policy, class),
            ignored: self.session.report.ignored(),
        }
    }

    /// Whether a task that ended so was not named by a signal of its session.
    fn is_silent(&self, policy: &Policy, class: Class) -> bool {
        match class {
            Class::NoSignal | Class::WrongId => true,
            Class::Done | Class::Approval | Class::Red | Class::Conflict => {
                self.is_unclaimed(policy)
            }
            _ => false,
        }
    }

    /// Why the task waits for the user after this end, where too many of its sessions gave no signal.
    pub(super) fn parked(&self, policy: &Policy, task: &TaskBrief, class: Class) -> Option<String> {
        let comes_back = matches!(class, Class::NoSignal | Class::WrongId | Class::Red);
        if !comes_back || !self.signal_note(policy, class).missing {
            return None;
        }
        let changed = self.difference == Difference::Work;
        let now = Unsignaled::after(task.unsignaled.as_ref(), &self.tree, changed);
        if now.unchanged >= UNCHANGED_ENDS {
            let times = now.unchanged;
            return Some(format!(
                "{times} sessions in a row ended without a signal and without new changes"
            ));
        }
        (now.ends >= policy.unsignaled_ends())
            .then(|| format!("{} sessions in a row ended without a signal", now.ends))
    }

    /// What the user should know about the signals of the session.
    pub(super) fn signal_notices(&self, policy: &Policy) -> Vec<Notice> {
        let report = &self.session.report;
        let mut found = Vec::new();
        let signals = report.ignored();
        if !signals.is_empty() {
            found.push(Notice::SignalsIgnored { signals });
        }
        let judged = self.judged.is_some() && self.is_unclaimed(policy);
        if let Some(task) = report.held.first().filter(|_| judged) {
            found.push(Notice::Unclaimed { task: task.id.clone() });
        }
        found
    }
}

impl SessionReport {
    /// It requested nothing for any task, neither by command nor by signal.
    fn says_nothing(&self) -> bool {
        let silent = |task: &TaskBrief| {
            matches!(self.requested_for(&task.id), None | Some(RequestedOutcome::Left { .. }))
        };
        !self.says_failure()
            && !self.held.is_empty()
            && self.held.iter().all(silent)
            && self.strangers().is_empty()
    }

    /// The ids in its signals that are not those of its tasks.
    pub(super) fn strangers(&self) -> Vec<String> {
        let held: Vec<&str> = self.held.iter().map(|task| task.id.as_str()).collect();
        self.signals.strangers(&held).into_iter().map(str::to_owned).collect()
    }

    /// What looks like a signal in its final text and did not count.
    pub(in crate::run) fn ignored(&self) -> Vec<crate::agent::Ignored> {
        let held: Vec<&str> = self.held.iter().map(|task| task.id.as_str()).collect();
        self.signals.ignored_for(&held)
    }
}
