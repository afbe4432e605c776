//! The plan is done, by its tasks or by the words of the agent.

use super::View;
use super::blocked::waiting_words;
use crate::run::outcome::StopReason;
use crate::run::policy::{Claims, EndsWhen, Exhausted, Picker};

pub(super) fn complete(view: View<'_>) -> Option<StopReason> {
    let policy = &view.state.policy;
    let counts = view.survey.map_or(view.state.counts, |survey| survey.counts);
    let settled = || match (policy.picker, view.survey) {
        (Picker::Loop, _) => counts.total() > 0 && counts.unresolved() == 0,
        // An empty survey: nothing to claim and no agent at work.
        (Picker::Agent, Some(survey)) => {
            survey.claimable == 0 && survey.foreign == 0 && survey.needs_merge.is_empty()
        }
        (Picker::Agent, None) => counts.open == 0 && counts.active == 0,
    };
    // Where the run skips failed tasks, they do not keep it from being complete: the outcome names them.
    let ticked = match policy.on_exhausted {
        Exhausted::Fail => counts.total() > 0 && counts.unresolved() == 0,
        Exhausted::Stop => counts.done > 0 && counts.done == counts.total(),
    };
    let done = (policy.ends_when(EndsWhen::Settled) && settled())
        || (policy.ends_when(EndsWhen::Ticked) && ticked);
    if done {
        return Some(StopReason::Complete);
    }
    if policy.ends_when(EndsWhen::Session) && view.state.successful > 0 {
        return Some(StopReason::Session);
    }
    // Where claims are confirmed, the plan decides whether it is done.
    let agrees = policy.claims == Claims::Trust || counts.unresolved() == 0;
    let text =
        view.state.marker.clone().filter(|_| agrees && policy.ends_when(EndsWhen::Marker))?;
    // Only the user can call a task done that waits for the user.
    if counts.waiting > 0 {
        let names = view.survey.map(|survey| survey.needs_you.as_slice()).unwrap_or_default();
        let why = format!("the agent said {text}, and {} {}", counts.waiting, waiting_words(names));
        return Some(StopReason::Blocked { why });
    }
    Some(StopReason::Marker { text })
}
