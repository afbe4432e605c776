//! Which model the next iteration uses.
//!
//! A strategy looks at how the run goes; a hint of the agent (`<next-model>`) beats it for one
//! iteration. Models are named by their [`Tier`]; what a tier is called by an agent is a table.

use serde::{Deserialize, Serialize};

use crate::agent::Tier;

/// Words in a task log that mean trouble.
const MODERATE: [&str; 4] = ["error", "failure", "failed", "bug"];
/// Words that mean serious trouble.
const SEVERE: [&str; 7] = ["stuck", "cannot", "unable", "panic", "crash", "broken", "regression"];
/// After so many tasks done in a row `cost-optimized` tries the small model.
const STEADY: u32 = 3;

/// The names of the strategies, as users write them.
pub const STRATEGIES: [&str; 5] =
    ["agent", "fixed", "cost-optimized", "escalate", "plan-then-execute"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The agent's own default: no model is sent.
    Agent,
    /// Always this one.
    Fixed(Model),
    /// The middle one; the large one in trouble, the small one when all goes well.
    CostOptimized,
    /// From the small one upwards, and down only by a hint.
    Escalate,
    /// The large one first, then the middle one.
    PlanThenExecute,
}

/// Why there is no such strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    #[error("{name:?} is not a model strategy; choose one of {}", STRATEGIES.join(", "))]
    Unknown { name: String },
    #[error("the strategy \"fixed\" needs a model")]
    NoModel,
}

impl Strategy {
    /// The strategy called `name`; `model` is the one for `fixed`, and empty means none.
    pub fn named(name: &str, model: &str) -> Result<Self, StrategyError> {
        match name {
            "agent" => Ok(Self::Agent),
            "fixed" if model.trim().is_empty() => Err(StrategyError::NoModel),
            "fixed" => Ok(Self::Fixed(Model::named(model))),
            "cost-optimized" => Ok(Self::CostOptimized),
            "escalate" => Ok(Self::Escalate),
            "plan-then-execute" => Ok(Self::PlanThenExecute),
            _ => Err(StrategyError::Unknown { name: name.to_owned() }),
        }
    }
}

/// A model, by its tier or by a name that only its agent knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    Tier(Tier),
    Named(String),
}

impl Model {
    /// The model that a user calls `name`: the size of a tier, or Claude's name for it, means the tier.
    pub fn named(name: &str) -> Self {
        let name = name.trim();
        Tier::in_settings(name).map_or_else(|| Self::Named(name.to_owned()), Self::Tier)
    }
}

/// What the tiers are called by one agent; an empty name stands for the tier's own word.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TierNames {
    /// The large model.
    pub opus: String,
    /// The middle model.
    pub sonnet: String,
    /// The small model.
    pub haiku: String,
    /// The agent chooses itself where a name is empty: no model is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent_chooses: bool,
}

impl TierNames {
    /// The name that was set for a tier; may be empty.
    pub fn own(&self, tier: Tier) -> &str {
        match tier {
            Tier::Opus => &self.opus,
            Tier::Sonnet => &self.sonnet,
            Tier::Haiku => &self.haiku,
        }
    }

    /// The name to send to the agent; `None` leaves the choice to it.
    pub fn sent(&self, model: &Model) -> Option<String> {
        match model {
            Model::Tier(tier) if self.agent_chooses && self.own(*tier).is_empty() => None,
            model => Some(self.name(model).to_owned()),
        }
    }

    /// The name of a model.
    pub fn name<'a>(&'a self, model: &'a Model) -> &'a str {
        let tier = match model {
            Model::Named(name) => return name,
            Model::Tier(tier) => *tier,
        };
        let word = match tier {
            Tier::Opus => "opus",
            Tier::Sonnet => "sonnet",
            Tier::Haiku => "haiku",
        };
        Some(self.own(tier)).filter(|own| !own.is_empty()).unwrap_or(word)
    }
}

/// What a run remembers between two choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelState {
    /// How far `escalate` has gone.
    pub level: Tier,
    /// What the last session asked for.
    pub hint: Option<Tier>,
}

/// How the run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The iteration that the model is for, from 1.
    pub iteration: u32,
    /// What the task log of this run says since the last task that was done.
    #[serde(rename = "distress")]
    pub trouble: TroubleSignals,
    /// How many tasks were done in a row until now.
    pub done_in_a_row: u32,
    /// How often in a row the task has failed in the same way.
    #[serde(default)]
    pub same_failures: u32,
}

/// Which words of trouble a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TroubleSignals {
    /// Something went wrong.
    pub moderate: bool,
    /// It went badly wrong.
    pub severe: bool,
}

impl TroubleSignals {
    pub fn any(self) -> bool {
        self.moderate || self.severe
    }

    /// The trouble of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { moderate: self.moderate || other.moderate, severe: self.severe || other.severe }
    }
}

/// Looks for words of trouble in a text: whole words, in any case.
pub fn trouble_signals(text: &str) -> TroubleSignals {
    let has = |list: &[&str]| {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| list.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    TroubleSignals { moderate: has(&MODERATE), severe: has(&SEVERE) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The model to ask for; `None` leaves it to the agent.
    pub model: Option<Model>,
    /// Present when something other than the strategy chose, and the two differ: for the record.
    pub overridden: Option<Overridden>,
    /// What to remember: the hint is used up.
    pub state: ModelState,
}

/// A choice that is not the strategy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overridden {
    /// What the strategy would have chosen.
    pub strategy: Option<Model>,
    /// What chose instead.
    pub by: By,
}

/// What can override a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The agent asked for it.
    Hint(Tier),
    /// The task has failed so often in the same way.
    SameFailure(u32),
}

/// After so many equal failures in a row a strategy goes one tier up, and after as many more another one.
pub const FAILURES_PER_TIER: u32 = 2;

pub fn choose(strategy: &Strategy, state: &ModelState, facts: &ModelFacts) -> Choice {
    let level = state.level.max(need(facts.trouble));
    let wanted = match strategy {
        Strategy::Agent => None,
        Strategy::Fixed(model) => Some(model.clone()),
        Strategy::CostOptimized if facts.trouble.any() => Some(Model::Tier(Tier::Opus)),
        Strategy::CostOptimized if facts.done_in_a_row >= STEADY => Some(Model::Tier(Tier::Haiku)),
        Strategy::CostOptimized => Some(Model::Tier(Tier::Sonnet)),
        Strategy::Escalate => Some(Model::Tier(level)),
        Strategy::PlanThenExecute if facts.iteration <= 1 => Some(Model::Tier(Tier::Opus)),
        Strategy::PlanThenExecute => Some(Model::Tier(Tier::Sonnet)),
    };
    let raised = raised(strategy, wanted.as_ref(), facts.same_failures);
    let Some(hint) = state.hint else {
        let state = ModelState { level, hint: None };
        let Some(tier) = raised else {
            return Choice { model: wanted, overridden: None, state };
        };
        let by = By::SameFailure(facts.same_failures);
        let overridden = Some(Overridden { strategy: wanted, by });
        return Choice { model: Some(Model::Tier(tier)), overridden, state };
    };
    let wanted = raised.map(Model::Tier).or(wanted);
    let hinted = Some(Model::Tier(hint));
    let overridden =
        (wanted != hinted).then_some(Overridden { strategy: wanted, by: By::Hint(hint) });
    Choice { model: hinted, overridden, state: ModelState { level: hint, hint: None } }
}

/// The tier above the one that the strategy wants, for a task that fails in the same way again and
/// again. A model that the user fixed, or left to the agent, stays.
fn raised(strategy: &Strategy, wanted: Option<&Model>, failures: u32) -> Option<Tier> {
    let Some(Model::Tier(tier)) = wanted else { return None };
    if matches!(strategy, Strategy::Agent | Strategy::Fixed(_)) {
        return None;
    }
    let above = Tier::ALL.into_iter().filter(|above| above > tier);
    let raised = above.take((failures / FAILURES_PER_TIER) as usize).last().unwrap_or(*tier);
    (raised != *tier).then_some(raised)
}

fn need(trouble: TroubleSignals) -> Tier {
    match trouble {
        TroubleSignals { severe: true, .. } => Tier::Opus,
        TroubleSignals { moderate: true, .. } => Tier::Sonnet,
        _ => Tier::Haiku,
    }
}

#[cfg(test)]
mod tests;
