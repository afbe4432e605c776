//! The runs of a stream taken together: what the first lines of a display say about all of them.

use super::forecast::Forecast;
use super::live::{LiveRun, LiveView};
use crate::agent::Usage;
use crate::run::{Budget, Cancel};
use crate::task::Counts;
use crate::time::Timestamp;

/// The runs that are active, together; where none is, those that ended last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// How many of them have not ended.
    pub active: usize,
    pub sessions: usize,
    pub counts: Counts,
    pub usage: Usage,
    /// Some session reported no price: the cost is a lower bound.
    pub has_unpriced: bool,
    /// Branches share one budget.
    pub budget: Budget,
    pub forecast: Option<Forecast>,
    /// Milliseconds since the first of them began.
    pub elapsed_ms: u64,
    pub paused: bool,
    pub cancel: Option<Cancel>,
    pub stopping: bool,
}

impl LiveView {
    /// The runs that count now: those that are active, and the branches beside them. Where none is active, the last.
    pub fn current(&self) -> Vec<&LiveRun> {
        let active = |run: &&LiveRun| !run.has_ended();
        let several = match self.runs.iter().rev().find(active).or(self.runs.last()) {
            None => return vec![],
            Some(run) => !run.name.is_empty(),
        };
        let any = self.runs.iter().any(|run| active(&run));
        let mut counted: Vec<&LiveRun> = self
            .runs
            .iter()
            .filter(|run| (any && active(run)) || (several && !run.name.is_empty()))
            .collect();
        if counted.is_empty() {
            counted.extend(self.runs.last());
        }
        counted
    }

    pub fn totals(&self, now: Timestamp) -> Totals {
        let runs = self.current();
        let mut all = Totals::default();
        let Some(first) = runs.first() else { return all };
        all.budget = first.view.budget;
        if let [run] = runs.as_slice() {
            all.forecast = run.view.forecast();
        }
        let unended: Vec<&&LiveRun> = runs.iter().filter(|run| !run.has_ended()).collect();
        all.active = unended.len();
        all.paused = !unended.is_empty() && unended.iter().all(|run| run.view.paused);
        all.stopping = unended.iter().any(|run| run.view.stopping.is_some());
        all.cancel = unended.iter().filter_map(|run| run.view.cancel).max();
        for run in &runs {
            let view = &run.view;
            let until = if run.left { view.last_at } else { now };
            all.sessions += view.sessions();
            all.counts = sum(all.counts, view.counts);
            all.usage = all.usage.plus(view.usage_so_far());
            all.has_unpriced |= view.unpriced > 0;
            all.elapsed_ms = all.elapsed_ms.max(view.elapsed(until));
        }
        all
    }
}

fn sum(a: Counts, b: Counts) -> Counts {
    Counts {
        open: a.open + b.open,
        active: a.active + b.active,
        done: a.done + b.done,
        blocked: a.blocked + b.blocked,
        deleted: a.deleted + b.deleted,
        failed: a.failed + b.failed,
        waiting: a.waiting + b.waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, left: bool, done: u64) -> LiveRun {
        let mut run = LiveRun { name: name.to_owned(), left, ..LiveRun::default() };
        run.view.counts.done = done;
        run
    }

    fn done(runs: Vec<LiveRun>) -> (u64, usize) {
        let totals = LiveView { runs }.totals(Timestamp::default());
        (totals.counts.done, totals.active)
    }

    #[test]
    fn runs_that_ended_before_do_not_count() {
        assert_eq!(done(vec![]), (0, 0));
        assert_eq!(done(vec![run("", true, 1), run("", false, 2)]), (2, 1));
        assert_eq!(done(vec![run("", true, 1), run("", true, 2)]), (2, 0));
    }

    #[test]
    fn branches_count_together_also_those_that_are_done() {
        assert_eq!(done(vec![run("a", true, 1), run("b", false, 2)]), (3, 1));
        assert_eq!(done(vec![run("a", true, 1), run("b", true, 2)]), (3, 0));
    }
}
