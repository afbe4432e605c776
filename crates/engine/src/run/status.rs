//! The status that a running loop reports to those who ask.

use ralph_core::run::{Phase, RunState};
use serde_json::{Value, json};

/// The state of a run in a few words.
pub(super) fn of(state: &RunState) -> Value {
    let slots: Vec<Value> = state
        .slots
        .iter()
        .map(|slot| {
            json!({
                "phase": phase(slot.phase),
                "iteration": slot.iteration,
                "task": slot.task.as_ref().map(|task| task.id.as_str()),
                "title": slot.task.as_ref().map(|task| task.title.as_str()),
                "model": slot.model,
                "since": slot.began,
                "waits_for": slot.wait.as_ref().map(|(wait, _)| wait),
                "until": slot.wait.as_ref().and_then(|(_, until)| *until),
            })
        })
        .collect();
    json!({
        "preset": state.policy.preset,
        "mode": state.policy.mode,
        "started_at": state.started_at,
        "iteration": state.counted,
        "max_iterations": state.policy.max_sessions,
        "counts": state.counts,
        "usage": state.usage,
        "paused": state.paused,
        "stopping": state.stop.is_some(),
        "cancel": state.cancel,
        "last_error": state.last_error,
        "last_commit": state.last_commit,
        "slots": slots,
    })
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Free => "free",
        Phase::Surveying => "looking",
        Phase::Claiming => "claiming",
        Phase::Running => "running",
        Phase::Candidate => "writing the tree",
        Phase::Judging => "judging",
        Phase::Queued => "waiting to land",
        Phase::Integrating => "landing",
        Phase::Verifying => "verifying",
        Phase::Settling => "settling",
    }
}
