//! Turns comments and failed checks on the pull request of a run into tasks of the same run: checkboxes of its plan,
//! or tasks of the task database. They are worked on and judged like any other.

use ralph_core::Timestamp;
use ralph_core::run::{Effect, Input, Review, ReviewEnd};

use crate::plan_file::NewBox;
use crate::publishing::{PublishSetup, Watched, Work};
use crate::run::ports::Ports;

impl Ports {
    /// Watches the pull request, and sends the result to the loop.
    pub(in crate::run) fn watch_review(
        &self,
        number: u64,
        page: &str,
        until: Timestamp,
    ) -> Vec<Effect> {
        let act = || self.review(number, page, until);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let made = made.unwrap_or_else(|_| Review {
            why: "a step of the loop panicked".to_owned(),
            ..Review::blank(ReviewEnd::Failed, page)
        });
        self.step(&Input::Reviewed(made))
    }

    fn review(&self, number: u64, page: &str, until: Timestamp) -> Review {
        let failed = |why: String| Review { why, ..Review::blank(ReviewEnd::Failed, page) };
        let Some(setup) = &self.setup.publish else { return failed("nothing is published".into()) };
        let branch = self.home.base().branch.unwrap_or_default();
        let watched = self.with_outlet(setup, |outlet| outlet.watch(&branch, number, page, until));
        let work = match watched {
            Watched::Over(review) => return review,
            Watched::Work(work) => work,
        };
        let review = Review {
            tasks: work.findings.iter().map(|(finding, _)| finding.title.clone()).collect(),
            round: work.record.rounds,
            rounds: setup.watch.rounds,
            ..Review::blank(ReviewEnd::Work, page)
        };
        match self.take_in(setup, &branch, work) {
            Ok(()) => review,
            Err(why) => failed(why),
        }
    }

    /// Makes tasks of what was found. A run that is killed in between finds it again, and makes no task twice.
    fn take_in(&self, setup: &PublishSetup, branch: &str, work: Work) -> Result<(), String> {
        let secrets = &self.setup.files.secrets;
        let found = work.findings.into_iter().map(|(finding, mut text)| {
            let mut title = finding.title;
            secrets.clean(&mut title);
            secrets.clean(&mut text);
            NewBox { title, text, page: finding.page }
        });
        let found: Vec<NewBox> = found.collect();
        self.plan.add(self, &found)?;
        let mut record = setup.records.read(branch);
        record.review = work.record;
        setup.records.write(&record).map_err(|error| format!("ralph cannot record it: {error}"))
    }
}
