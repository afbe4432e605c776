//! How single facts change the state. [`RunState::evolve`] picks the function for each fact.

use super::SlotId;
use super::class::{Breaker, Class};
use super::control::{Cancel, Control};
use super::fact::Fact;
use super::policy::Exhausted;
use super::report::SessionReport;
use super::slot::{Iteration, Slot, Work};
use super::state::{Resume, RunState};
use crate::policy::strategy::{TroubleSignals, trouble_signals};
use crate::time::Timestamp;

impl RunState {
    pub(super) fn take_up(&mut self, resume: &Resume) {
        self.started_at = resume.started_at;
        self.counted = resume.iteration;
        self.last_iteration = resume.iteration;
        self.error_count = resume.error_count;
        self.consecutive_errors = resume.consecutive_errors;
        self.last_error.clone_from(&resume.last_error);
        self.idle_iterations = resume.idle_iterations;
        // Commits after that are not accepted yet: the run was interrupted before it recorded them.
        if resume.last_commit.is_some() {
            self.last_commit.clone_from(&resume.last_commit);
        }
    }

    pub(super) fn at(&mut self, slot: SlotId, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            change(slot);
        }
    }

    pub(super) fn at_iteration(&mut self, slot: SlotId, change: impl FnOnce(&mut Iteration)) {
        self.at(slot, |slot| slot.iteration_mut().map_or((), change));
    }

    pub(super) fn at_work(&mut self, slot: SlotId, change: impl FnOnce(&mut Work)) {
        self.at(slot, |slot| slot.work_mut().map_or((), change));
    }

    pub(super) fn session_ended(&mut self, slot: SlotId, report: &SessionReport, at: Timestamp) {
        self.usage = self.usage.plus(report.end.usage);
        if let Some(iteration) = self.slots.get(slot as usize).and_then(Slot::iteration) {
            self.agents.session_ended(iteration.agent, report.end.class, (iteration.began, at));
        }
        for note in &report.notes {
            self.trouble = self.trouble.and(trouble_signals(note));
        }
        self.earlier.ignored = report.ignored().iter().map(ToString::to_string).collect();
        if let Some(tier) = report.signals.next_model {
            self.models.hint = Some(tier);
        }
        self.at(slot, |slot| {
            slot.end_session(report.clone(), false);
            slot.port_streak = 0;
        });
    }

    pub(super) fn task_settled(&mut self, class: Class, reason: &str) {
        if class == Class::Done {
            self.done_in_a_row += 1;
            self.trouble = TroubleSignals::default();
        } else if class.row().counts {
            self.done_in_a_row = 0;
            self.trouble = self.trouble.and(trouble_signals(reason)).and(trouble(class));
        }
    }

    pub(super) fn iteration_ended(&mut self, fact: &Fact, at: Timestamp) {
        let Fact::IterationEnded {
            slot, iteration, class, detail, head, tree, settled, again, ..
        } = fact
        else {
            return;
        };
        let (row, again) = (class.row(), *again);
        // Only sessions count.
        let session = self.slot(*slot).and_then(Slot::session);
        let limited = session.is_some_and(|session| session.iteration.limited);
        let row_counts = row.counts && !limited;
        let counts = row_counts && !session.is_some_and(|session| session.found);
        let (started, parked) = session.map_or((false, false), |session| {
            (session.iteration.started, session.iteration.parked)
        });
        self.asked = (self.policy.asks && *class == Class::Question).then(|| detail.clone());
        match (self.is_retried(*class), again) {
            (false, _) if row_counts => self.iteration_retries = 0,
            (true, true) => self.iteration_retries += 1,
            (true, false) if self.policy.on_exhausted == Exhausted::Stop => {
                self.exhausted = Some(*class);
            }
            (true, false) => self.iteration_retries = 0,
            (false, _) => {}
        }
        if again {
            self.spare_iterations.push(*iteration);
        } else if counts {
            self.counted += 1;
            if class.is_success() {
                self.successful += 1;
            } else {
                self.failed += 1;
            }
            if *tree != self.last_tree {
                self.idle_iterations = 0;
            } else if row.breaker != Breaker::Add {
                self.idle_iterations += 1;
            }
        } else {
            self.spare_iterations.push(*iteration);
            if started && *class == Class::Cancelled && self.cancel.is_some() {
                self.cut_off += 1;
            }
        }
        match row.breaker {
            Breaker::Reset => self.consecutive_errors = 0,
            Breaker::Add => {
                self.consecutive_errors += 1;
                self.error_count += 1;
            }
            Breaker::Same => {}
        }
        if row.breaker == Breaker::Add
            || class.needs_user_action()
            || class.is_limit()
            || (self.policy.by_iteration() && class.is_tried_again())
        {
            self.last_error = Some(format!("{class}: {detail}"));
        }
        self.limit_streak = if class.is_limit() { self.limit_streak + 1 } else { 0 };
        self.last_limited = limited;
        self.last_tree.clone_from(tree);
        if *settled {
            self.last_commit.clone_from(head);
        }
        // An iteration that is judged as a whole may have no task that records it.
        if self.policy.by_iteration() && row_counts {
            self.trouble = match class {
                Class::Done => TroubleSignals::default(),
                _ => self.trouble.and(trouble(*class)),
            };
        }
        let gates = self.slots.get(*slot as usize).and_then(Slot::work).map(Work::gates);
        self.earlier.iteration_ended(*class, detail, gates.unwrap_or_default());
        self.last_class = Some(*class);
        self.last_parked = parked;
        self.parked_in_a_row = if class.parks() { self.parked_in_a_row + 1 } else { 0 };
        self.last_iteration_at = Some(at);
        let stays = self.cancel == Some(Cancel::AfterTask);
        let by_iteration = self.policy.by_iteration();
        self.at(*slot, |slot| {
            let left = slot.left_in_hand(by_iteration, again || class.is_limit() || limited);
            *slot = Slot { in_hand: left.filter(|_| stays), ..Slot::default() };
        });
    }

    pub(super) fn control(&mut self, control: &Control) {
        match control {
            Control::Pause => self.paused = true,
            Control::Resume => self.paused = false,
            Control::Cancel(wanted) => self.cancel = self.cancel.max(Some(*wanted)),
            Control::Skip { task } => {
                for slot in self.slots.iter_mut().filter(|slot| slot.holds(task)) {
                    if let Some(iteration) = slot.iteration_mut() {
                        iteration.skip = true;
                    }
                }
            }
            Control::Tell { task, message } => {
                let number = message.number;
                let new = |slot: &&mut Slot| slot.holds(task) && !slot.knows_message(number);
                for slot in self.slots.iter_mut().filter(new) {
                    if let Some(iteration) = slot.iteration_mut() {
                        iteration.unread.push(number);
                    }
                }
            }
            Control::Retry { .. } => {}
        }
    }
}

/// How the class of an attempt says that the run is in trouble, whatever the task log says.
const fn trouble(class: Class) -> TroubleSignals {
    match class {
        Class::Crash => TroubleSignals { moderate: true, severe: true },
        Class::Red
        | Class::Unchanged
        | Class::TaskFailed
        | Class::TaskRetry
        | Class::Timeout
        | Class::Silence
        | Class::Empty
        | Class::Malformed
        | Class::Refusal
        | Class::MaxTurns
        | Class::TooLong => TroubleSignals { moderate: true, severe: false },
        _ => TroubleSignals { moderate: false, severe: false },
    }
}
