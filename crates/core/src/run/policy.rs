//! The policy of a run: what the preset and the settings decide, as plain data that the loop reads and never
//! changes.

use serde::{Deserialize, Serialize};

use super::approval::Approve;
use super::fallback::FallbackAgent;
use super::publish::Publish;
use super::verifier::Verifier;
use crate::policy::strategy::{Strategy, TierNames};
use crate::task::RetryLimit;

/// Who chooses the task of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picker {
    /// The loop claims the first ready task.
    Loop,
    /// The agent claims one of the tasks that it is shown.
    Agent,
}

/// What the loop does with a "done" that no gate can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// Accept it, with a warning in the summary.
    Trust,
    /// Reject it.
    Confirm,
}

/// What the gates judge and the loop retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Each task by itself: it is returned for retry, or fails, and the run continues.
    #[default]
    Task,
    /// The iteration as a whole: it is retried under the same number.
    Iteration,
}

/// What follows from failing gates, where the iteration as a whole is judged. A task that is judged by itself
/// is returned for retry either way, and its next session sees the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRed {
    /// The iteration is retried under the same number.
    #[default]
    Retry,
    /// The iteration ends, and the next one sees the failure.
    Feed,
}

/// What happens when the retries are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// The task fails and the run continues.
    #[default]
    Fail,
    /// The run stops.
    Stop,
}

/// Who commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commits {
    /// The loop, once a task is done: everything that is uncommitted by then.
    #[default]
    WhenDone,
    /// The loop, after every iteration that passes the gates.
    EveryIteration,
    /// Only the agent.
    Agent,
}

/// What makes a run complete. Any one of them is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndsWhen {
    /// Every task in scope is done or failed.
    Settled,
    /// Every task in scope is done.
    Ticked,
    /// The agent says that the plan is done, by a promise or by the marker in a progress file.
    Marker,
    /// One session succeeded.
    Session,
}

/// What a run may spend; 0 = unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar for the run.
    pub micro_usd: u64,
    /// Tokens for the run, read and written.
    pub tokens: u64,
    /// Milliseconds since the start.
    pub time_ms: u64,
    /// Millionths of a dollar for one task.
    #[serde(default)]
    pub task_micro_usd: u64,
    /// Millionths of a dollar for one day, over all runs.
    #[serde(default)]
    pub day_micro_usd: u64,
}

/// How a run behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The preset that most of it comes from.
    pub preset: String,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    pub picker: Picker,
    /// How many sessions run in parallel.
    pub slots: u32,
    /// The maximum number of sessions; `None` is unlimited.
    pub max_sessions: Option<u32>,
    /// How many retries a task may use.
    #[serde(with = "retries")]
    pub retries: RetryLimit,
    /// Returns without progress before a task waits for the user.
    pub give_up_after: u32,
    /// Consecutive errors that stop the run; 0 is off.
    pub breaker: u32,
    /// Iterations without a change that stop the run; 0 is off.
    pub idle: u32,
    /// What happens to a "done" that no gate can check.
    pub claims: Claims,
    pub budget: Budget,
    /// How the model of a session is chosen.
    pub strategy: Strategy,
    /// What the agent calls the models.
    pub tiers: TierNames,
    /// The agents that work while the preferred one is at a limit, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<FallbackAgent>,
    /// How often ralph retries after a failure of the task database or git.
    pub port_retries: u32,
    /// The loop works through a task graph by itself, and asks for a signal: nothing else says that a task is done.
    #[serde(default)]
    pub graph: bool,
    /// What the gates judge and the loop retries.
    #[serde(default)]
    pub unit: Unit,
    /// What follows from failing gates.
    #[serde(default)]
    pub on_red: OnRed,
    /// What happens when the retries are used up.
    #[serde(default)]
    pub on_exhausted: Exhausted,
    #[serde(default)]
    pub commits: Commits,
    /// What makes the run complete.
    #[serde(default = "settled")]
    pub ends: Vec<EndsWhen>,
    /// The promises that say that the plan is done.
    #[serde(default)]
    pub promises: Vec<String>,
    /// An iteration that changed nothing fails, where the iteration as a whole is judged.
    #[serde(default)]
    pub unchanged_fails: bool,
    /// The gates run after every session, even if nothing changed.
    #[serde(default)]
    pub always_judged: bool,
    /// A question of the agent ends the run: the user answers before the next one.
    #[serde(default)]
    pub asks: bool,
    /// Each task has a worktree of its own, and accepted work lands on the branch of the run, one task at a
    /// time.
    #[serde(default)]
    pub integrates: bool,
    /// The verifier of work that passed the gates; `None`: without a verifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Box<Verifier>>,
    /// Which work waits for the user before it lands.
    #[serde(default, skip_serializing_if = "Approve::is_never")]
    pub approve: Approve,
    /// The most changed lines that need no approval, where risky work does.
    #[serde(default = "approve_lines", skip_serializing_if = "is_usual")]
    pub approve_lines: u64,
    /// The exit code is not 0 when tasks failed or remain.
    #[serde(default)]
    pub strict_exit: bool,
    /// What a complete run does with its branch; `None` is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
    /// How the user logs in to the agent, as part of a sentence; empty where ralph does not know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub login: String,
}

/// The most changed lines that need no approval, unless a setting says otherwise.
const APPROVE_LINES: u64 = 500;

const fn approve_lines() -> u64 {
    APPROVE_LINES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_usual(lines: &u64) -> bool {
    *lines == APPROVE_LINES
}

fn settled() -> Vec<EndsWhen> {
    vec![EndsWhen::Settled]
}

/// The built-in preset of a task graph.
impl Default for Policy {
    fn default() -> Self {
        Self {
            preset: "dag".to_owned(),
            mode: "build".to_owned(),
            picker: Picker::Loop,
            slots: 1,
            max_sessions: Some(20),
            retries: RetryLimit::AtMost(3),
            give_up_after: 10,
            breaker: 0,
            idle: 0,
            claims: Claims::Trust,
            budget: Budget::default(),
            strategy: Strategy::CostOptimized,
            tiers: TierNames::default(),
            fallback: vec![],
            port_retries: 4,
            graph: true,
            unit: Unit::Task,
            on_red: OnRed::Retry,
            on_exhausted: Exhausted::Fail,
            commits: Commits::WhenDone,
            ends: settled(),
            promises: vec![],
            unchanged_fails: false,
            always_judged: false,
            asks: false,
            integrates: false,
            verify: None,
            approve: Approve::Never,
            approve_lines: APPROVE_LINES,
            strict_exit: false,
            publish: None,
            login: String::new(),
        }
    }
}

impl Policy {
    /// The iteration as a whole is judged and retried.
    pub fn by_iteration(&self) -> bool {
        self.unit == Unit::Iteration
    }

    /// Whether changes that were uncommitted before the run are committed with the work.
    pub fn adds_all(&self) -> bool {
        self.by_iteration() && self.mode == "build"
    }

    /// Whether this makes the run complete.
    pub fn ends_when(&self, end: EndsWhen) -> bool {
        self.ends.contains(&end)
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
