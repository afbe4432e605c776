//! Tasks that a session proposes for a feature: a list that grows by single requests, kept as JSON
//! lines until the user accepts it. The store decides whether they fit the plan.

use serde::{Deserialize, Serialize};

use super::{PlanError, PlanTask};
use crate::ids::{FeatureName, TaskId};
use crate::task::{Refusal, TaskPatch};
use crate::text::Title;

/// A task that is proposed: a new one, or one of the feature that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub id: TaskId,
    /// Its title; `fields.title` is not read.
    pub title: Title,
    /// What else is said of it. What is not said of a task that exists stays as it is.
    #[serde(flatten)]
    pub fields: TaskPatch,
}

/// The tasks that are proposed for a feature, in the order in which they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposals {
    pub feature: FeatureName,
    /// The tasks; no id twice.
    tasks: Vec<Proposal>,
}

impl Proposals {
    pub fn new(feature: FeatureName) -> Self {
        Self { feature, tasks: vec![] }
    }

    pub fn tasks(&self) -> &[Proposal] {
        &self.tasks
    }

    pub fn has(&self, id: &TaskId) -> bool {
        self.tasks.iter().any(|task| task.id == *id)
    }

    pub fn add(&mut self, proposal: Proposal) -> Result<(), Refusal> {
        if self.has(&proposal.id) {
            return Err(Refusal::Exists { id: proposal.id });
        }
        self.tasks.push(proposal);
        Ok(())
    }

    /// Proposes one in the place of the one with its id, or one more.
    pub fn put(&mut self, proposal: Proposal) {
        match self.tasks.iter_mut().find(|task| task.id == proposal.id) {
            Some(known) => *known = proposal,
            None => self.tasks.push(proposal),
        }
    }

    pub fn amend(&mut self, id: &TaskId, patch: TaskPatch) -> Result<(), Refusal> {
        let Some(known) = self.tasks.iter_mut().find(|task| task.id == *id) else {
            return Err(Refusal::Unknown { id: id.clone() });
        };
        if let Some(title) = &patch.title {
            known.title = title.clone();
        }
        let patch = TaskPatch { title: None, ..patch };
        known.fields = std::mem::take(&mut known.fields).amended(patch);
        Ok(())
    }

    pub fn withdraw(&mut self, id: &TaskId) -> Result<(), Refusal> {
        let before = self.tasks.len();
        self.tasks.retain(|task| task.id != *id);
        match self.tasks.len() < before {
            true => Ok(()),
            false => Err(Refusal::Unknown { id: id.clone() }),
        }
    }

    /// As a plan for the store. Each stands on the line that it has in [`Proposals::to_lines`].
    pub fn plan(&self) -> Vec<PlanTask> {
        let line = |(index, task): (usize, &Proposal)| PlanTask {
            line: index + 1,
            id: task.id.clone(),
            title: task.title.clone(),
            fields: TaskPatch { feature: Some(Some(self.feature.clone())), ..task.fields.clone() },
            done: None,
            waits: None,
        };
        self.tasks.iter().enumerate().map(line).collect()
    }

    /// The tasks that the proposals point at: what they are parts of, and what they wait for.
    pub fn needed(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.iter().flat_map(|task| {
            let parent = task.fields.parent.iter().flatten();
            parent.chain(task.fields.deps.iter().flatten())
        })
    }

    /// One JSON object a line.
    pub fn to_lines(&self) -> String {
        #[expect(clippy::expect_used, reason = "there is nothing in it that JSON cannot say")]
        let line = |task| serde_json::to_string(task).expect("texts and numbers are JSON") + "\n";
        self.tasks.iter().map(line).collect()
    }

    /// Reads what [`Proposals::to_lines`] wrote, with the user's changes.
    pub fn from_lines(feature: FeatureName, text: &str) -> Result<Self, PlanError> {
        let mut all = Self::new(feature);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let at = |problem: String| PlanError { line: index + 1, problem };
            let task = serde_json::from_str(line).map_err(|error| at(error.to_string()))?;
            all.add(task).map_err(|refusal| at(refusal.to_string()))?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    fn proposal(name: &str, fields: TaskPatch) -> Proposal {
        Proposal { id: id(name), title: Title::new(format!("Do {name}")).unwrap(), fields }
    }

    fn feature() -> FeatureName {
        FeatureName::new("login").unwrap()
    }

    #[test]
    fn proposals_survive_being_written_down() {
        let mut all = Proposals::new(feature());
        all.add(proposal("a", TaskPatch::default())).unwrap();
        let fields = TaskPatch {
            parent: Some(None),
            category: Some(Some("x".to_owned())),
            deps: Some(vec![]),
            steps: Some(vec!["one".to_owned()]),
            ..TaskPatch::default()
        };
        all.add(proposal("b", fields)).unwrap();
        let read = Proposals::from_lines(feature(), &all.to_lines()).unwrap();
        assert_eq!(read, all);
        assert_eq!(
            read.tasks()[1].fields.parent,
            Some(None),
            "no parent is not the same as none said"
        );
        assert_eq!(all.to_lines().lines().next(), Some(r#"{"id":"a","title":"Do a"}"#));
    }

    #[test]
    fn an_id_stands_once_and_what_is_amended_must_be_there() {
        let mut all = Proposals::new(feature());
        all.add(proposal("a", TaskPatch::default())).unwrap();
        assert_eq!(
            all.add(proposal("a", TaskPatch::default())),
            Err(Refusal::Exists { id: id("a") })
        );
        let patch = TaskPatch { deps: Some(vec![id("z")]), ..TaskPatch::default() };
        all.amend(&id("a"), patch.clone()).unwrap();
        assert_eq!(all.needed().collect::<Vec<_>>(), [&id("z")]);
        assert_eq!(all.amend(&id("b"), patch), Err(Refusal::Unknown { id: id("b") }));
        all.withdraw(&id("a")).unwrap();
        assert_eq!(all.withdraw(&id("a")), Err(Refusal::Unknown { id: id("a") }));
        let twice = "{\"id\":\"a\",\"title\":\"A\"}\n".repeat(2);
        assert_eq!(Proposals::from_lines(feature(), &twice).unwrap_err().line, 2);
    }
}
