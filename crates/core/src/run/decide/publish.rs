//! The end of a complete run: its branch is published before the run ends, and its pull request watched where
//! that is wanted. What comes of that is more work for the same run, or its end.

use super::Draft;
use crate::run::SlotId;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::fact::Fact;
use crate::run::input::Input;
use crate::run::outcome::StopReason;
use crate::run::publish::{Publication, Publishing};
use crate::run::review::Review;
use crate::time::Timestamp;

impl Draft {
    /// Begins to publish where that is wanted. Whether the run has to wait for it.
    pub(super) fn publishes(&mut self, reason: &StopReason) -> bool {
        if self.state.is_to_publish(reason) {
            self.fact(Fact::Publishing);
            self.effect(Effect::Publish);
        }
        matches!(self.state.publishing, Publishing::UnderWay | Publishing::Watching)
    }

    pub(super) fn published(&mut self, input: &Input, publication: &Publication) {
        if self.state.publishing != Publishing::UnderWay {
            self.anomaly(input, None);
            return;
        }
        self.fact(Fact::Published { publication: publication.clone() });
        let Some(number) = publication.number.filter(|_| publication.is_open()) else { return };
        if let Some(until) = self.watch_until() {
            let page = publication.page.clone();
            self.fact(Fact::Watching { page: page.clone(), until });
            self.effect(Effect::Watch { number, page, until });
        }
    }

    /// How long the pull request is watched: as long as is wanted, and not beyond the time of the run. `None` is
    /// not at all.
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

    /// Watching is over for now. Where it led to work, every slot looks for it.
    pub(super) fn reviewed(&mut self, input: &Input, review: &Review) {
        if self.state.publishing != Publishing::Watching {
            self.anomaly(input, None);
            return;
        }
        self.fact(Fact::Reviewed { review: review.clone() });
        for slot in 0..self.state.slots.len() as SlotId {
            if self.state.stop.is_none() && self.slot(slot).is_some_and(|slot| slot.wait.is_some())
            {
                self.fact(Fact::WaitEnded { slot });
                self.effect(Effect::StopWaiting { slot });
            }
            self.look(slot);
        }
    }

    /// After a cancellation the end of the run is not waited for, unless the user lets tasks finish. Pushes
    /// between iterations are let go unless everything is to end now.
    pub(super) fn stop_publishing(&mut self) {
        let ending = match self.state.publishing {
            Publishing::UnderWay => self.state.cancel >= Some(Cancel::AfterSession),
            // Nothing of it would be lost.
            Publishing::Watching => true,
            Publishing::No | Publishing::Over | Publishing::Failed => false,
        };
        let now = self.state.cancel >= Some(Cancel::Now);
        if self.state.policy.publish.is_some() && (ending || now) {
            self.effect(Effect::StopPublishing);
        }
    }
}
