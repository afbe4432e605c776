//! What a preset and the settings come to: plain data that the loop reads and never changes.

use serde::{Deserialize, Serialize};

use crate::policy::strategy::{Strategy, TierNames};
use crate::task::RetryLimit;

/// Who chooses the task of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picker {
    /// The loop claims the first ready task.
    Loop,
    /// The agent claims one of those that it is shown.
    Agent,
}

/// What is made of a claim that nothing can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// It is taken at its word, and the summary says so.
    Trust,
    /// It is refused.
    Confirm,
}

/// What a run may spend; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar.
    pub micro_usd: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Milliseconds since the start.
    pub time_ms: u64,
}

/// How a run behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The preset that most of it comes from.
    pub preset: String,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    /// Who picks.
    pub picker: Picker,
    /// How many sessions run side by side.
    pub slots: u32,
    /// How many sessions may count; `None` is no limit.
    pub max_sessions: Option<u32>,
    /// How often a task may come back.
    #[serde(with = "retries")]
    pub retries: RetryLimit,
    /// Returns without progress before a task waits for a person.
    pub give_up_after: u32,
    /// Consecutive errors that open the breaker; 0 is off.
    pub breaker: u32,
    /// Iterations without a change that end the run; 0 is off.
    pub idle: u32,
    /// Claims that nothing checks.
    pub claims: Claims,
    /// What it may spend.
    pub budget: Budget,
    /// How the model of a session is chosen.
    pub strategy: Strategy,
    /// What the agent calls the models.
    pub tiers: TierNames,
    /// How often a store or git failure is tried again.
    pub port_retries: u32,
}

impl Policy {
    /// The loop claims from the store by itself: the preset of a task graph.
    pub fn is_graph(&self) -> bool {
        self.picker == Picker::Loop
    }
}

mod retries {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::task::RetryLimit;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
    pub(super) fn serialize<S: Serializer>(limit: &RetryLimit, to: S) -> Result<S::Ok, S::Error> {
        match limit {
            RetryLimit::AtMost(most) => to.serialize_some(most),
            RetryLimit::Unlimited => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RetryLimit, D::Error> {
        Ok(Option::<u32>::deserialize(from)?.map_or(RetryLimit::Unlimited, RetryLimit::AtMost))
    }
}
