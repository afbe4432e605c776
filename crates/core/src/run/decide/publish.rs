//! The end of a complete run: its branch is published, once, before the run ends.

use super::Draft;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::fact::Fact;
use crate::run::input::Input;
use crate::run::outcome::StopReason;
use crate::run::publish::{Publication, Publishing};

impl Draft {
    /// Begins to publish where that is wanted. Whether the run has to wait for it.
    pub(super) fn publishes(&mut self, reason: &StopReason) -> bool {
        if self.state.is_to_publish(reason) {
            self.fact(Fact::Publishing);
            self.effect(Effect::Publish);
        }
        self.state.publishing == Publishing::UnderWay
    }

    pub(super) fn published(&mut self, input: &Input, publication: &Publication) {
        if self.state.publishing != Publishing::UnderWay {
            self.anomaly(input, None);
            return;
        }
        self.fact(Fact::Published { publication: publication.clone() });
    }

    /// After a cancellation the end of the run is not waited for, unless the user lets tasks finish. Pushes
    /// between iterations are let go unless everything is to end now.
    pub(super) fn stop_publishing(&mut self) {
        let ending = self.state.publishing == Publishing::UnderWay
            && self.state.cancel >= Some(Cancel::AfterSession);
        let now = self.state.cancel >= Some(Cancel::Now);
        if self.state.policy.publish.is_some() && (ending || now) {
            self.effect(Effect::StopPublishing);
        }
    }
}
