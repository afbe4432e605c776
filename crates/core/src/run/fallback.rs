//! Agents that stand in for each other: which one works next, and until when the others are at their limits.
//!
//! The first agent is the preferred one. While it is at a limit the next one works, in the order of the settings; as
//! soon as its limit has reset it works again. A short failure switches nothing: only the third in a row does.

use serde::{Deserialize, Serialize};

use super::class::Class;
use crate::agent::EndClass;
use crate::policy::backoff::{MAX_TRANSIENT, usage_probe};
use crate::policy::strategy::{Model, TierNames};
use crate::time::{Timestamp, millis};

/// After this many rate limits, overloads or lost connections in a row another agent goes on.
const HICCUPS: u32 = 3;

/// An agent that works while the preferred one cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackAgent {
    /// Its name in the settings.
    pub name: String,
    /// What it calls the models; an empty name is its own choice.
    #[serde(default)]
    pub tiers: TierNames,
}

impl FallbackAgent {
    /// The model to ask it for. A name that only the preferred agent knows means nothing to this one.
    pub fn model(&self, model: &Model) -> Option<String> {
        match model {
            Model::Named(_) => None,
            Model::Tier(tier) => Some(self.tiers.own(*tier)).filter(|name| !name.is_empty()),
        }
        .map(str::to_owned)
    }
}

/// A limit that lasts: the agent starts no session before it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimit {
    pub class: Class,
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// The provider said when it resets; otherwise ralph tries again then.
    pub reset_known: bool,
}

/// What the run knows of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Agent {
    name: String,
    /// Sessions in a row that met a limit.
    streak: u32,
    /// When the last of them ended.
    failed_at: Timestamp,
    limit: Option<AgentLimit>,
}

/// The agents of a run, the preferred one first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    known: Vec<Agent>,
    /// The agent of the newest session.
    current: usize,
}

impl Agents {
    pub(super) fn new(preferred: &str, fallback: &[FallbackAgent]) -> Self {
        let names = std::iter::once(preferred).chain(fallback.iter().map(|agent| &*agent.name));
        let agent = |name: &str| Agent { name: name.to_owned(), ..Agent::default() };
        Self { known: names.map(agent).collect(), current: 0 }
    }

    /// Whether another agent can go on.
    pub fn is_several(&self) -> bool {
        self.known.len() > 1
    }

    pub fn current(&self) -> usize {
        self.current
    }

    pub fn name(&self, agent: usize) -> &str {
        self.known.get(agent).map_or("", |agent| &agent.name)
    }

    /// The limit that the agent met last; it may be over.
    pub fn limit(&self, agent: usize) -> Option<AgentLimit> {
        self.known.get(agent)?.limit
    }

    pub(super) fn streak(&self, agent: usize) -> u32 {
        self.known.get(agent).map_or(0, |agent| agent.streak)
    }

    /// The place of an agent; that of the preferred one for a name that is not known.
    pub(super) fn index(&self, name: &str) -> usize {
        self.known.iter().position(|agent| agent.name == name).unwrap_or(0)
    }

    /// The agent of the next session: the first that is at no limit, else the one whose limit ends first.
    pub(super) fn next(&self, now: Timestamp) -> usize {
        let free = self.known.iter().position(|agent| agent.limit_at(now).is_none());
        free.or_else(|| self.first_to_return(now).map(|(agent, _)| agent)).unwrap_or(0)
    }

    /// Every agent is at a limit: the one whose limit ends first.
    pub(super) fn first_to_return(&self, now: Timestamp) -> Option<(usize, AgentLimit)> {
        let limits: Option<Vec<_>> = self.known.iter().map(|agent| agent.limit_at(now)).collect();
        limits?.into_iter().enumerate().min_by_key(|(_, limit)| limit.until)
    }

    /// Every agent is out of credit, which no wait fixes.
    pub(super) fn is_out_of_credit(&self) -> bool {
        let broke = |agent: &Agent| agent.limit.is_some_and(|limit| limit.class == Class::Billing);
        self.known.iter().all(broke)
    }

    /// The limit of an agent whose session ended so, if it lasts long enough for another agent to go on.
    pub(super) fn lasting(
        &self,
        agent: usize,
        class: Class,
        resets_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<AgentLimit> {
        let streak = self.streak(agent);
        let soon = now.plus_millis(1000);
        let later = |probe| {
            let wait = u64::try_from(usage_probe(probe).as_millis()).unwrap_or(u64::MAX);
            (now.plus_millis(wait), false)
        };
        let (until, reset_known) = match (class, resets_at) {
            (Class::UsageWindow | Class::Billing, Some(reset)) => (reset.max(soon), true),
            (Class::UsageWindow | Class::Billing, None) => later(streak),
            (Class::RateLimit, Some(reset)) if is_long(now, reset) => (reset, true),
            (Class::RateLimit | Class::Overload | Class::Network, _) if streak >= HICCUPS => {
                later(streak - HICCUPS + 1)
            }
            _ => return None,
        };
        Some(AgentLimit { class, until, reset_known })
    }

    /// A session of the agent ended. A session that began before the last failure says nothing new.
    pub(super) fn session_ended(
        &mut self,
        agent: usize,
        end: EndClass,
        (began, at): (Timestamp, Timestamp),
    ) {
        let Some(agent) = self.known.get_mut(agent).filter(|agent| began >= agent.failed_at) else {
            return;
        };
        match Class::of(end) {
            Some(Class::Cancelled) => {}
            Some(class) if class.is_limit() || class == Class::Billing => {
                agent.streak += 1;
                agent.failed_at = at;
            }
            _ => (agent.streak, agent.limit) = (0, None),
        }
    }

    pub(super) fn limited(&mut self, name: &str, limit: AgentLimit) {
        if let Some(agent) = self.known.iter_mut().find(|agent| agent.name == name) {
            agent.limit = Some(limit);
        }
    }

    pub(super) fn switched(&mut self, to: &str) {
        self.current = self.index(to);
    }
}

impl Agent {
    /// The limit that it is at.
    fn limit_at(&self, now: Timestamp) -> Option<AgentLimit> {
        self.limit.filter(|limit| limit.until > now)
    }
}

/// Longer than ralph waits for a failure that passes by itself.
fn is_long(now: Timestamp, reset: Timestamp) -> bool {
    u128::from(reset.millis_since(now)) > MAX_TRANSIENT.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn agents() -> Agents {
        let fallback =
            |name: &str| FallbackAgent { name: name.to_owned(), tiers: TierNames::default() };
        Agents::new("claude", &[fallback("codex"), fallback("gemini")])
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn limited(agents: &mut Agents, name: &str, class: Class, until: Timestamp) {
        agents.limited(name, AgentLimit { class, until, reset_known: true });
    }

    #[test]
    fn the_first_agent_at_no_limit_is_next() {
        let mut agents = agents();
        assert_eq!(agents.next(at(0)), 0);
        limited(&mut agents, "claude", Class::UsageWindow, at(100));
        assert_eq!(agents.next(at(0)), 1);
        limited(&mut agents, "codex", Class::UsageWindow, at(50));
        assert_eq!(agents.next(at(0)), 2);
        assert_eq!(agents.next(at(50)), 1, "its limit is over");
        assert_eq!(agents.next(at(100)), 0, "the preferred one works again");
    }

    #[test]
    fn with_all_at_a_limit_the_earliest_reset_counts() {
        let mut agents = agents();
        for (name, until) in [("claude", 300), ("codex", 100), ("gemini", 200)] {
            assert_eq!(agents.first_to_return(at(0)), None);
            limited(&mut agents, name, Class::UsageWindow, at(until));
        }
        assert_eq!(agents.first_to_return(at(0)).unwrap().0, 1);
        assert_eq!(agents.next(at(0)), 1);
    }

    #[test]
    fn a_hiccup_is_no_limit_and_the_third_in_a_row_is_one() {
        let mut agents = agents();
        for class in [Class::Overload, Class::Network, Class::RateLimit] {
            assert_eq!(agents.lasting(0, class, None, at(0)), None, "{class}");
        }
        for _ in 0..3 {
            agents.session_ended(0, EndClass::Overload, (at(0), at(0)));
        }
        let limit = agents.lasting(0, Class::Overload, None, at(0)).unwrap();
        assert_eq!((limit.until, limit.reset_known), (at(60_000), false));
        agents.session_ended(0, EndClass::Completed, (at(0), at(0)));
        assert_eq!(agents.lasting(0, Class::Overload, None, at(0)), None);
    }

    #[test]
    fn a_rate_limit_with_a_reset_that_is_far_away_is_a_limit() {
        let agents = agents();
        let near = agents.lasting(0, Class::RateLimit, Some(at(30_000)), at(0));
        assert_eq!(near, None);
        let far = at(0).plus_millis(HOUR);
        let limit = agents.lasting(0, Class::RateLimit, Some(far), at(0)).unwrap();
        assert_eq!((limit.until, limit.reset_known), (far, true));
    }

    #[test]
    fn sessions_side_by_side_that_meet_one_outage_count_once() {
        let mut agents = agents();
        for end in [10, 11, 12] {
            agents.session_ended(0, EndClass::Network, (at(0), at(end)));
        }
        assert_eq!(agents.streak(0), 1);
        agents.session_ended(0, EndClass::Completed, (at(0), at(13)));
        assert_eq!(agents.streak(0), 1, "it began before the outage");
    }

    #[test]
    fn a_model_by_name_is_for_the_preferred_agent_alone() {
        let tiers = TierNames { opus: "big".to_owned(), ..TierNames::default() };
        let agent = FallbackAgent { name: "codex".to_owned(), tiers };
        assert_eq!(agent.model(&Model::named("opus")).as_deref(), Some("big"));
        assert_eq!(agent.model(&Model::named("sonnet")), None, "its own choice");
        assert_eq!(agent.model(&Model::named("claude-9")), None);
    }
}
