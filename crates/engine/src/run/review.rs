//! Turns comments and failed checks on the pull request of a run into tasks of the same run: checkboxes of its plan,
//! or tasks of the task database. They are worked on and judged like any other.

use ralph_core::AgentId;
use ralph_core::run::{Effect, Input, Review, ReviewEnd};
use ralph_core::task::{Actor, NewTask, TaskPatch};
use ralph_core::text::Title;
use ralph_core::{TaskId, Timestamp};

use super::ports::Ports;
use crate::clock::now;
use crate::plan_file::NewBox;
use crate::ports::{Filter, Scope};
use crate::publishing::{PublishSetup, Watched, Work};

/// The name under which they come into the task database.
fn by_review() -> Actor {
    #[expect(clippy::expect_used, reason = "a constant that is an id")]
    Actor::User(AgentId::new("review").expect("review is an id"))
}

impl Ports {
    /// Watches the pull request, and sends the result to the loop.
    pub(super) fn watch_review(&self, number: u64, page: &str, until: Timestamp) -> Vec<Effect> {
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
        let sandbox = work.findings.into_iter().map(|(finding, mut text)| {
            let mut title = finding.title;
            secrets.clean(&mut title);
            secrets.clean(&mut text);
            NewBox { title, text, page: finding.page }
        });
        let sandbox: Vec<NewBox> = sandbox.collect();
        match &self.setup.work.plan {
            Some(plan) => plan.add(&sandbox).map_err(|error| error.to_string())?,
            None => self.add_tasks(&sandbox)?,
        }
        let mut record = setup.records.read(branch);
        record.review = work.record;
        setup.records.write(&record).map_err(|error| format!("ralph cannot record it: {error}"))
    }

    fn add_tasks(&self, sandbox: &[NewBox]) -> Result<(), String> {
        let feature = match &self.setup.work.scope {
            Scope::All | Scope::Plan(_) => None,
            Scope::Feature(name) => Some(name.clone()),
            Scope::Task(id) => {
                return Err(format!("this run is only for {id}; run `ralph build` for all tasks"));
            }
        };
        let (mut store, mut ids) = (self.store(), self.ids());
        for NewBox { title, text, page } in sandbox {
            let title = Title::new(title).map_err(|error| error.to_string())?;
            let reference = Some(page.clone()).filter(|page| !page.is_empty());
            let known = Filter { reference: reference.clone(), ..Filter::default() };
            let known = store.list(&known).map_err(|error| error.to_string())?;
            if known.iter().any(|task| task.title == title) {
                continue;
            }
            let fields = TaskPatch {
                description: Some(text.clone()),
                reference: reference.map(Some),
                feature: feature.clone().map(Some),
                ..TaskPatch::default()
            };
            let task = NewTask { id: None, title, fields };
            let id: TaskId = ids.task().map_err(|error| error.to_string())?;
            store.add(id, task, &by_review(), now()).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
