//! Tasks remain, and none can become ready by itself.

use super::View;
use crate::amounts::first_of;
use crate::run::outcome::StopReason;
use crate::run::policy::Picker;

/// How many tasks are named.
const MOST: usize = 5;

pub(super) fn blocked(view: View<'_>) -> Option<StopReason> {
    let survey = view.survey?;
    let policy = &view.state.policy;
    // An agent that picks from a plan file is given the file, unless nothing in it is left to do. One that picks
    // from the task database waits for others, and not for the user.
    let picks = policy.picker == Picker::Agent && !policy.by_iteration();
    if survey.claimable > 0
        || (picks && (survey.needs_merge.is_empty() || survey.foreign > 0))
        || view.state.others_busy(view.slot)
    {
        return None;
    }
    let counts = survey.counts;
    let mut parts = Vec::new();
    let mut part = |n: u64, text: &str| {
        if n > 0 {
            parts.push(format!("{n} {text}"));
        }
    };
    let approvals = survey.left.iter().filter(|task| task.approval);
    let approvals: Vec<String> =
        approvals.map(|task| format!("{} (ralph approve {})", task.id, task.id)).collect();
    let approved = approvals.len() as u64;
    part(approved, &format!("waiting for your approval: {}", first_of(&approvals, MOST)));
    part(counts.waiting.saturating_sub(approved), &waiting_words(&survey.needs_you));
    part(survey.foreign, "claimed by other agents");
    part(counts.blocked, "blocked by unfinished or failed tasks");
    let merges = survey.needs_merge.len() as u64;
    if let Some(first) = survey.needs_merge.first() {
        let words = format!("{} {} ({})", first.task, first.reason(), first.command());
        part(merges, &format!("waiting for a merge: {words}"));
    }
    part(
        counts.open.saturating_sub(merges),
        "open below a failed task, or with unfinished parts (ralph task tree)",
    );
    let why = format!("nothing is ready, and tasks remain: {}", parts.join(", "));
    Some(StopReason::Blocked { why })
}

/// The names of the tasks that wait for the user, or the commands to type where they are not known.
pub(super) fn waiting_words(names: &[String]) -> String {
    if names.is_empty() {
        return "waiting for you (ralph answer, ralph retry ID)".to_owned();
    }
    format!("waiting for you: {}", first_of(names, MOST))
}
