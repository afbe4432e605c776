//! Which agent works, where a run has several: the preferred one, or one that stands in for it at a limit.

use super::Draft;
use crate::run::SlotId;
use crate::run::class::Class;
use crate::run::fact::{Fact, Wait};
use crate::run::slot::{Slot, Work};

impl Draft {
    /// Records that the agent of the session met a limit that lasts. What a verifier met is not the agent's.
    pub(super) fn agent_limited(&mut self, slot: SlotId, work: &Work, class: Class) {
        let (session, agents) = (&work.session, &self.state.agents);
        let of_session = Class::of(session.report.end.class) == Some(class);
        if !agents.is_several() || !of_session || session.found || work.unverified.is_some() {
            return;
        }
        let agent = session.iteration.agent;
        let limit = agents.lasting(agent, class, session.report.end.resets_at, self.now);
        if let Some(limit) = limit {
            let agent = agents.name(agent).to_owned();
            self.fact(Fact::AgentLimited { slot, agent, limit });
        }
    }

    /// The agent of the next session. Records the switch, if it is another one than before.
    pub(super) fn next_agent(&mut self, slot: SlotId) -> usize {
        let agents = &self.state.agents;
        let (before, next) = (agents.current(), agents.next(self.now));
        if next != before {
            let limit = agents.limit(before).filter(|limit| limit.until > self.now);
            let (from, to) = (agents.name(before).to_owned(), agents.name(next).to_owned());
            self.fact(Fact::AgentSwitched { slot, from, to, limit });
        }
        next
    }

    /// Every agent is at a limit: the slot waits until the first of them can work again.
    pub(super) fn wait_for_an_agent(&mut self, slot: SlotId) {
        let agents = &self.state.agents;
        let Some((agent, limit)) = agents.first_to_return(self.now) else { return };
        let wait = Wait::Limit {
            class: limit.class,
            streak: agents.streak(agent),
            reset_known: limit.reset_known,
            agent: Some(agents.name(agent).to_owned()),
        };
        self.wait(slot, wait, Some(limit.until));
    }
}

impl Slot {
    /// Whether the agent of its iteration met a limit that lasts.
    pub(in crate::run) fn is_limited(&self) -> bool {
        self.iteration().is_some_and(|iteration| iteration.limited)
    }
}
