//! The state of a run in a word that every display uses. How soon a cancelled run stops is in [`super::words::cancel`].

use serde::Serialize;

use super::live::LiveRun;
use super::run_view::RunView;
use crate::run::Outcome;

words! {
    /// What a run as a whole is doing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Condition {
        Running = "running",
        /// The user paused it.
        Paused = "paused",
        /// Nothing new starts; what is under way ends.
        Stopping = "stopping",
        /// Its process ended before the run did.
        Interrupted = "interrupted",
        /// Every task is done.
        Done = "done",
        /// Tasks are left, or have failed.
        Ended = "ended",
    }
}

impl Condition {
    pub fn of(run: &LiveRun) -> Self {
        match &run.view.outcome {
            Some(outcome) => Self::at_the_end(outcome),
            None if run.left => Self::Interrupted,
            None => Self::while_active(&run.view),
        }
    }

    /// Of a run that has not ended.
    pub const fn while_active(view: &RunView) -> Self {
        Self::of_active(view.paused, view.stopping.is_some())
    }

    /// Of runs that have not ended, taken together.
    pub const fn of_active(paused: bool, stopping: bool) -> Self {
        match (paused, stopping) {
            (true, _) => Self::Paused,
            (false, true) => Self::Stopping,
            (false, false) => Self::Running,
        }
    }

    fn at_the_end(outcome: &Outcome) -> Self {
        match (outcome.left.unresolved(), outcome.left.failed) {
            (0, 0) => Self::Done,
            _ => Self::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;
    use crate::run::StopReason;
    use crate::task::Counts;

    fn ended(left: Counts) -> LiveRun {
        let outcome = Outcome {
            reason: StopReason::Complete,
            left,
            iterations: 2,
            successful: 2,
            failed: 0,
            usage: Usage::default(),
            duration_ms: 1_000,
            strict: false,
            failed_task: None,
            planned: None,
            unpublished: false,
            asked: None,
        };
        let view = RunView { outcome: Some(outcome), ..RunView::default() };
        LiveRun { view, left: true, ..LiveRun::default() }
    }

    #[test]
    fn a_run_is_done_only_without_open_and_failed_tasks() {
        let table = [
            (Counts { done: 2, ..Counts::default() }, Condition::Done),
            (Counts { done: 2, failed: 1, ..Counts::default() }, Condition::Ended),
            (Counts { done: 2, waiting: 1, ..Counts::default() }, Condition::Ended),
            (Counts { done: 2, open: 1, ..Counts::default() }, Condition::Ended),
        ];
        for (left, expected) in table {
            assert_eq!(Condition::of(&ended(left)), expected, "{left:?}");
        }
    }

    #[test]
    fn a_run_that_has_not_ended_is_interrupted_once_its_process_is_gone() {
        let mut run = LiveRun::default();
        assert_eq!(Condition::of(&run), Condition::Running);
        run.view.stopping = Some(StopReason::Complete);
        assert_eq!(Condition::of(&run), Condition::Stopping);
        run.view.paused = true;
        assert_eq!(Condition::of(&run), Condition::Paused);
        run.left = true;
        assert_eq!(Condition::of(&run), Condition::Interrupted);
    }
}
