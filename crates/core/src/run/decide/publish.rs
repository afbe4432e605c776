//! The end of a complete run: ralph publishes its branch and watches the pull request, if the user asked for
//! that. The review leads to more work for the same run, or to its end.

use super::Draft;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::fact::Fact;
use crate::run::outcome::StopReason;
use crate::run::publish::{Publication, Publishing};
use crate::run::review::Review;
use crate::time::Timestamp;

impl Draft {
    /// Starts publishing if the user asked for it. Returns whether the run has to wait for it.
    pub(super) fn publishes(&mut self, reason: &StopReason) -> bool {
        if self.state.is_to_publish(reason) {
            self.fact(Fact::Publishing);
            self.effect(Effect::Publish);
        }
        matches!(self.state.publishing, Publishing::UnderWay | Publishing::Watching)
    }

    pub(super) fn published(&mut self, publication: &Publication) {
        self.fact(Fact::Published { publication: publication.clone() });
        let Some(number) = publication.number.filter(|_| publication.is_open()) else { return };
        if let Some(until) = self.watch_until() {
            let page = publication.page.clone();
            self.fact(Fact::Watching { page: page.clone(), until });
            self.effect(Effect::Watch { number, page, until });
        }
    }

    /// When watching ends: after the configured time, and not beyond the time budget of the run. `None` does not
    /// watch.
    fn watch_until(&self) -> Option<Timestamp> {
        let watch_ms = self.state.policy.publish.map_or(0, |wanted| wanted.watch_ms);
        if watch_ms == 0 || self.state.cancel.is_some() {
            return None;
        }
        let wanted = self.now.plus_millis(watch_ms);
        let end = match self.state.policy.budget.time_ms {
            0 => wanted,
            most => wanted.min(self.state.began_at.plus_millis(most)),
        };
        (end > self.now).then_some(end)
    }

    /// Watching has ended for now. If it led to new tasks, every slot looks for work.
    pub(super) fn reviewed(&mut self, review: &Review) {
        self.fact(Fact::Reviewed { review: review.clone() });
        for slot in self.slots() {
            if self.state.stop.is_none() {
                self.stop_waiting(slot);
            }
            self.survey(slot);
        }
    }

    /// After a cancellation the run does not wait for publishing, unless the user lets tasks finish. Pushes
    /// between iterations continue unless everything has to stop now.
    pub(super) fn stop_publishing(&mut self) {
        let ending = match self.state.publishing {
            Publishing::UnderWay => self.state.cancel >= Some(Cancel::AfterSession),
            // Stopping to watch loses nothing.
            Publishing::Watching => true,
            Publishing::No | Publishing::Over | Publishing::Failed => false,
        };
        let now = self.state.cancel >= Some(Cancel::Now);
        if self.state.policy.publish.is_some() && (ending || now) {
            self.effect(Effect::StopPublishing);
        }
    }
}
