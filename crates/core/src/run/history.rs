//! What the records of a task say about its next attempt: how often it was returned, how it failed, what it cost, and
//! whether its last attempt left finished work.

use super::approval::is_approved;
use super::class::{CLASSES, Class, Row};
use super::messages::waits_for_session;
use super::report::{
    CHANGES, FinishedWork, PROTECTED, SIGNAL, SameFailure, TaskBrief, Unsignaled, WEAKENED,
};
use super::verifier::VERIFIER;
use crate::ids::AttemptId;
use crate::records::{Attempt, AttemptEnd, Evidence, GateReport, LogEntry, LogKind, Verdict};
use crate::task::Task;
use crate::time::Timestamp;

/// Evidence that no gate gave.
const REMARKS: [&str; 3] = [CHANGES, PROTECTED, WEAKENED];

impl TaskBrief {
    /// What the loop needs to know of a task that it holds. Attempts, log and evidence are those of the task, in order.
    pub fn new(
        task: &Task,
        attempt: AttemptId,
        attempts: &[Attempt],
        log: &[LogEntry],
        evidence: &[Evidence],
    ) -> Self {
        let last = |kinds: &[LogKind]| {
            log.iter().rev().find(|entry| kinds.contains(&entry.kind)).map(|entry| entry.at)
        };
        let reopened = since(last(&[LogKind::Reset]), attempts);
        let untouched = since(last(&[LogKind::Reset, LogKind::Answered]), attempts);
        Self {
            id: task.id.clone(),
            title: task.title.to_string(),
            generation: task.claim.as_ref().map_or(task.generation, |claim| claim.generation),
            retry_count: task.retry_count,
            returns: returns(untouched),
            spec: task.spec.clone(),
            attempt,
            attempt_number: u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
            spent_micro_usd: cost(reopened),
            failed: same_failure(untouched),
            finished: finished(attempts, log, evidence),
            unsignaled: unsignaled(untouched, evidence),
        }
    }
}

impl FinishedWork {
    /// The newest tree of an attempt that was judged, if every judge accepted it.
    pub fn of(attempt: &Attempt, evidence: &[Evidence]) -> Option<Self> {
        // Evidence about its signals does not judge the tree.
        let judges =
            |row: &&Evidence| row.attempt.as_ref() == Some(&attempt.id) && row.judge != SIGNAL;
        let rows: Vec<&Evidence> = evidence.iter().filter(judges).collect();
        let tree = &rows.last()?.tree;
        let mut of_tree = rows.iter().filter(|row| row.tree == *tree);
        let verified = of_tree.clone().any(|row| row.judge == VERIFIER);
        let gates = of_tree.clone().map(|row| GateReport {
            name: row.judge.clone(),
            verdict: row.verdict,
            exit_code: row.exit_code,
            duration_ms: row.duration_ms,
            digest: row.digest.clone(),
            log: None,
        });
        let gates: Vec<GateReport> =
            gates.filter(|gate| !REMARKS.contains(&gate.name.as_str())).collect();
        let passed =
            |verdict| matches!(verdict, Verdict::Pass | Verdict::Ungated | Verdict::Unchanged);
        of_tree.all(|row| passed(row.verdict)).then(|| Self {
            tree: tree.clone(),
            verified,
            approved: false,
            gates,
        })
    }
}

/// What attempts cost, as far as their agents reported it.
pub fn cost(attempts: &[Attempt]) -> u64 {
    let ends = attempts.iter().filter_map(|attempt| attempt.end.as_ref());
    ends.filter_map(|end| end.cost_micro_usd).fold(0, u64::saturating_add)
}

/// The work of the last attempt, if it passed and did not land: the run ended first, files of the user were in the
/// way, or it waited until the user approved it.
fn finished(attempts: &[Attempt], log: &[LogEntry], evidence: &[Evidence]) -> Option<FinishedWork> {
    let last = attempts.last()?;
    let held_up = |end: &AttemptEnd| end.outcome == Class::Conflict.as_str();
    let work = || FinishedWork::of(last, evidence);
    match &last.end {
        Some(_) if is_approved(attempts, log) => {
            work().map(|work| FinishedWork { approved: true, ..work })
        }
        Some(end) if !held_up(end) => None,
        // The user said something since: the work may have to change.
        _ if waits_for_session(log, attempts) => None,
        _ => work().map(|work| FinishedWork { gates: vec![], ..work }),
    }
}

/// The row of the class that an attempt ended with.
fn row(attempt: &Attempt) -> Option<(&'static Row, &AttemptEnd)> {
    let end = attempt.end.as_ref()?;
    Some((CLASSES.iter().find(|row| row.class.as_str() == end.outcome)?, end))
}

/// The last failure, and how often in a row it was the same. What does not count says nothing.
fn same_failure(attempts: &[Attempt]) -> Option<SameFailure> {
    let ends = attempts.iter().rev().filter_map(row);
    let mut prints = ends.filter(|(row, _)| row.counts).map(|(_, end)| end.fingerprint.as_deref());
    let fingerprint = prints.next()??;
    let times = 1 + prints.take_while(|other| *other == Some(fingerprint)).count();
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    Some(SameFailure { fingerprint: fingerprint.to_owned(), times })
}

/// The last attempts in a row that ended without a signal. What does not count says nothing.
fn unsignaled(attempts: &[Attempt], evidence: &[Evidence]) -> Option<Unsignaled> {
    let mut found = None;
    for attempt in attempts {
        let Some((_, end)) = row(attempt).filter(|(row, _)| row.counts) else { continue };
        let missing = evidence.iter().find(|row| {
            row.judge == SIGNAL
                && row.verdict == Verdict::Unclaimed
                && row.attempt.as_ref() == Some(&attempt.id)
        });
        found = missing
            .map(|row| Unsignaled::after(found.as_ref(), &row.tree, end.changed.count() > 0));
    }
    found
}

/// The attempts that began then or later.
fn since(from: Option<Timestamp>, attempts: &[Attempt]) -> &[Attempt] {
    let before = |attempt: &&Attempt| from.is_some_and(|from| attempt.started_at < from);
    &attempts[attempts.iter().take_while(before).count()..]
}

/// How often in a row the task was returned without progress.
fn returns(attempts: &[Attempt]) -> u32 {
    let mut count = 0;
    for (row, _) in attempts.iter().rev().filter_map(row) {
        match row.class.is_return() {
            true => count += 1,
            // What does not count says nothing: a limit, a cancellation, a run that was killed.
            false if row.counts => break,
            false => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, TaskId};
    use crate::records::{Changes, FileChange};

    /// An attempt for each class, a millisecond apart; every one changed a file and cost a cent.
    fn attempts(classes: &[Option<Class>]) -> Vec<Attempt> {
        let attempt = |(number, class): (i64, &Option<Class>)| Attempt {
            id: AttemptId::new(format!("a-{number}")).unwrap(),
            task: TaskId::new("t").unwrap(),
            run: None,
            agent: AgentId::new("agent").unwrap(),
            generation: 1,
            model: None,
            program: None,
            sandbox: None,
            started_at: Timestamp::from_millis(number),
            end: class.map(|class| AttemptEnd {
                outcome: class.as_str().to_owned(),
                cost_micro_usd: Some(10_000),
                fingerprint: (class == Class::Red).then(|| "print".to_owned()),
                changed: Changes {
                    files: vec![FileChange { path: "a".to_owned(), added: None, removed: None }],
                    more: 0,
                },
                ..AttemptEnd::default()
            }),
        };
        (0..).zip(classes).map(attempt).collect()
    }

    fn row(attempt: &str, tree: &str, judge: &str, verdict: Verdict) -> Evidence {
        Evidence {
            task: TaskId::new("t").unwrap(),
            attempt: Some(AttemptId::new(attempt).unwrap()),
            tree: tree.to_owned(),
            judge: judge.to_owned(),
            verdict,
            exit_code: None,
            duration_ms: 0,
            digest: String::new(),
            at: Timestamp::default(),
        }
    }

    #[test]
    fn what_does_not_count_neither_ends_nor_prolongs_a_series() {
        use Class::{Cancelled, Done, NoSignal, RateLimit, Red};
        for (classes, count, alike) in [
            (vec![], 0, 0),
            (vec![Some(NoSignal), Some(Cancelled), Some(NoSignal)], 2, 0),
            (vec![Some(Red), Some(RateLimit), None, Some(Red)], 2, 2),
            (vec![Some(Red), Some(Done), Some(NoSignal)], 1, 0),
            (vec![Some(Red), Some(NoSignal), Some(Red)], 3, 1),
        ] {
            let attempts = attempts(&classes);
            assert_eq!(returns(&attempts), count, "{classes:?}");
            let times = same_failure(&attempts).map_or(0, |failure| failure.times);
            assert_eq!(times, alike, "{classes:?}");
        }
    }

    #[test]
    fn only_attempts_since_you_intervened_count() {
        let all = attempts(&[Some(Class::Red), Some(Class::Red), Some(Class::Red)]);
        assert_eq!(since(None, &all).len(), 3);
        let later = since(Some(Timestamp::from_millis(1)), &all);
        assert_eq!((later.len(), cost(later)), (2, 20_000));
    }

    #[test]
    fn work_is_finished_if_every_judge_of_its_newest_tree_passed() {
        let attempts = attempts(&[None]);
        let old = row("a-0", "old", "unit", Verdict::Fail);
        let unit = row("a-0", "new", "unit", Verdict::Pass);
        let verifier = row("a-0", "new", VERIFIER, Verdict::Pass);
        let signal = row("a-0", "newest", SIGNAL, Verdict::Unclaimed);
        let other = row("a-9", "new", "unit", Verdict::Fail);
        let found = |rows: &[&Evidence]| {
            let rows: Vec<Evidence> = rows.iter().map(|row| (*row).clone()).collect();
            FinishedWork::of(&attempts[0], &rows).map(|work| (work.tree, work.verified))
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[&signal]), None, "signals judge no tree");
        assert_eq!(found(&[&old, &unit, &signal, &other]), Some(("new".to_owned(), false)));
        assert_eq!(found(&[&unit, &verifier]), Some(("new".to_owned(), true)));
        let red = row("a-0", "new", VERIFIER, Verdict::Fail);
        assert_eq!(found(&[&unit, &red]), None);
    }

    #[test]
    fn work_of_an_attempt_that_ended_is_found_only_if_it_could_not_land() {
        let pass = [row("a-0", "new", "unit", Verdict::Pass)];
        for (class, is_found) in
            [(None, true), (Some(Class::Conflict), true), (Some(Class::Red), false)]
        {
            let attempts = attempts(&[class]);
            assert_eq!(finished(&attempts, &[], &pass).is_some(), is_found, "{class:?}");
        }
    }

    #[test]
    fn a_signal_ends_the_series_without_one() {
        let missing = |attempt: &str, tree: &str| row(attempt, tree, SIGNAL, Verdict::Unclaimed);
        let all = attempts(&[Some(Class::NoSignal), Some(Class::RateLimit), Some(Class::NoSignal)]);
        let rows = [missing("a-0", "one"), missing("a-2", "one")];
        let found = unsignaled(&all, &rows).unwrap();
        assert_eq!((found.ends, found.unchanged), (2, 1));
        let all = attempts(&[Some(Class::NoSignal), Some(Class::Red)]);
        assert_eq!(unsignaled(&all, &rows[..1]), None);
    }
}
