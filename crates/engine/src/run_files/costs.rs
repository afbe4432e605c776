//! The cost of today: attempts in the store, and sessions without an attempt. The latter are sessions of plans,
//! prompts and checklists, and sessions whose run was killed before their outcome was recorded.

use std::collections::HashSet;
use std::path::Path;

use ralph_core::Timestamp;
use ralph_core::ids::AttemptId;
use ralph_core::records::Attempt;
use ralph_core::run::{RunEvent, cost};
use ralph_core::view::sessions::sessions;

use super::{RunLogs, journal};

/// A session whose cost may be in no attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnattributedCost {
    pub(crate) at: Timestamp,
    /// Millionths of a dollar.
    pub(crate) micro_usd: u64,
    /// The attempts that have its cost once one of them has ended; none for a session without a task.
    pub(crate) attempts: Vec<AttemptId>,
}

/// What attempts and these sessions cost since the day began.
pub(crate) fn spent(
    attempts: &[Attempt],
    unattributed: &[UnattributedCost],
    today: Timestamp,
) -> u64 {
    let ended: HashSet<&AttemptId> =
        attempts.iter().filter(|one| has_cost(one)).map(|one| &one.id).collect();
    let open = unattributed.iter().filter(|session| {
        session.at >= today && !session.attempts.iter().any(|id| ended.contains(id))
    });
    open.fold(cost(attempts), |sum, session| sum.saturating_add(session.micro_usd))
}

/// An attempt that ended without a price, after its run was killed, does not give the cost of its session.
fn has_cost(attempt: &Attempt) -> bool {
    attempt.end.as_ref().is_some_and(|end| end.cost_micro_usd.is_some())
}

/// Today's sessions in the journals of earlier runs. Unreadable journals are skipped.
pub(crate) fn sessions_before(logs: &Path, today: Timestamp) -> Vec<UnattributedCost> {
    let mut found = Vec::new();
    for run in RunLogs::all(logs).unwrap_or_default() {
        let path = run.journal();
        if changed(&path).is_some_and(|at| at >= today) {
            let events = journal::read(&path).unwrap_or_default();
            found.extend(priced(&events).filter(|session| session.at >= today));
        }
    }
    found
}

/// The sessions of a journal that have a price. What a verifier cost belongs to the attempts that it judged.
fn priced(events: &[RunEvent]) -> impl Iterator<Item = UnattributedCost> {
    sessions(events).into_iter().filter_map(|session| {
        let micro_usd = session.usage.cost_micro_usd?;
        Some(UnattributedCost { at: session.ended_at, micro_usd, attempts: session.attempts })
    })
}

fn changed(path: &Path) -> Option<Timestamp> {
    let at = std::fs::metadata(path).ok()?.modified().ok()?;
    let since_1970 = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since_1970.as_millis()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use ralph_core::records::AttemptEnd;
    use ralph_core::{AgentId, TaskId};

    use super::*;

    fn attempt(name: &str, cost: Option<u64>) -> Attempt {
        let at = Timestamp::from_millis(10);
        Attempt {
            id: AttemptId::new(name).unwrap(),
            task: TaskId::new("t").unwrap(),
            run: None,
            agent: AgentId::new("a").unwrap(),
            generation: 1,
            program: None,
            model: None,
            sandbox: None,
            started_at: at,
            end: cost.map(|cost| AttemptEnd {
                at,
                outcome: "done".to_owned(),
                detail: String::new(),
                commit: None,
                input_tokens: 0,
                output_tokens: 0,
                cost_micro_usd: Some(cost),
                ..AttemptEnd::default()
            }),
        }
    }

    fn unattributed(at: i64, micro_usd: u64, attempts: &[&str]) -> UnattributedCost {
        let attempts = attempts.iter().map(|name| AttemptId::new(*name).unwrap()).collect();
        UnattributedCost { at: Timestamp::from_millis(at), micro_usd, attempts }
    }

    #[test]
    fn nothing_that_was_spent_is_counted_twice_or_not_at_all() {
        let attempts = [attempt("a-1", Some(1)), attempt("a-2", None)];
        let sessions = [
            // Its attempt has ended and tells the cost, also where it held another besides.
            unattributed(10, 100, &["a-1"]),
            unattributed(10, 200, &["a-3", "a-1"]),
            // Its run was killed, or is just about to settle it.
            unattributed(10, 1_000, &["a-2"]),
            // It had no task.
            unattributed(10, 10_000, &[]),
            // It was yesterday.
            unattributed(4, 100_000, &[]),
        ];
        assert_eq!(spent(&attempts, &sessions, Timestamp::from_millis(5)), 11_001);
    }
}
