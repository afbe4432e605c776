//! What the sessions of a run used, from its journal, and which of them no attempt accounts for: sessions that
//! plan, write a feature's texts, follow a prompt or work through a checklist have no attempt, and the attempts of
//! a killed run have no usage.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::agent::Usage;
use crate::ids::{AttemptId, RunId};
use crate::records::Attempt;
use crate::run::{Fact, RunEvent, SlotId};
use crate::time::Timestamp;

/// One session of an agent that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionCost {
    pub run: RunId,
    /// What it was for: the mode of the run, `checklist` or `verifier`.
    pub kind: String,
    /// The model that was asked for.
    pub model: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    #[serde(flatten)]
    pub usage: Usage,
    /// The attempts that it belongs to; none for a session without a task.
    #[serde(skip)]
    pub attempts: Vec<AttemptId>,
}

/// The sessions in a journal, verifiers too, in the order in which they ended.
pub fn sessions(events: &[RunEvent]) -> Vec<SessionCost> {
    let mut found = Vec::new();
    let mut mode = String::new();
    let mut models: HashMap<SlotId, Option<String>> = HashMap::new();
    let mut held: HashMap<SlotId, Vec<AttemptId>> = HashMap::new();
    for event in events {
        let (slot, kind, usage, duration_ms) = match &event.fact {
            Fact::RunStarted { policy, .. } => {
                mode = match policy.mode.as_str() {
                    "build" if policy.by_iteration() => "checklist".to_owned(),
                    mode => mode.to_owned(),
                };
                continue;
            }
            Fact::IterationStarted { slot, model, .. } => {
                models.insert(*slot, model.clone());
                continue;
            }
            Fact::SessionEnded { slot, report } => {
                let attempts = report.held.iter().map(|task| task.attempt.clone());
                held.insert(*slot, attempts.collect());
                (slot, mode.clone(), report.end.usage, report.duration_ms)
            }
            Fact::Verified { slot, report } => {
                (slot, "verifier".to_owned(), report.end.usage, report.duration_ms)
            }
            _ => continue,
        };
        let back = i64::try_from(duration_ms).unwrap_or(0);
        found.push(SessionCost {
            run: event.run.clone(),
            kind,
            model: models.get(slot).cloned().flatten(),
            started_at: Timestamp::from_millis(event.at.as_millis().saturating_sub(back)),
            ended_at: event.at,
            usage,
            attempts: held.get(slot).cloned().unwrap_or_default(),
        });
    }
    found
}

/// The sessions whose use is in none of these attempts. An attempt that ended without reporting what it used
/// accounts for nothing.
pub fn unaccounted(sessions: Vec<SessionCost>, attempts: &[Attempt]) -> Vec<SessionCost> {
    let has_usage = |attempt: &&Attempt| {
        attempt.end.as_ref().is_some_and(|end| {
            end.cost_micro_usd.is_some() || end.input_tokens > 0 || end.output_tokens > 0
        })
    };
    let known: HashSet<&AttemptId> =
        attempts.iter().filter(has_usage).map(|attempt| &attempt.id).collect();
    let is_known = |session: &SessionCost| session.attempts.iter().any(|id| known.contains(id));
    sessions.into_iter().filter(|session| !is_known(session)).collect()
}
