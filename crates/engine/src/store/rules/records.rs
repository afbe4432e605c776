//! Notes, questions and features.

use ralph_core::ids::QuestionId;
use ralph_core::records::{LogKind, Question};
use ralph_core::task::{Refusal, Status, may_write};
use ralph_core::{FeatureName, TaskId};

use super::{Change, State, Table};
use crate::ports::{Filter, Result};

impl<T: Table> Change<'_, T> {
    pub(super) fn note(&mut self, id: &TaskId, text: &str) -> Result<()> {
        let key = super::known(self.table, id)?;
        self.log(key, LogKind::Note, text)
    }

    pub(super) fn ask(&mut self, question: QuestionId, id: &TaskId, text: &str) -> Result<()> {
        let (key, task) = self.find(id)?;
        if task.status != Status::Waiting {
            self.may_become(&task, Status::Waiting)?;
            if task.status == Status::InProgress {
                may_write(&task, self.by)?;
            }
            self.settle(key, &task, &State::moved(&task, Status::Waiting))?;
        }
        let question = Question {
            id: question,
            task: task.id,
            by: self.by.name().clone(),
            text: text.to_owned(),
            asked_at: self.now,
            answer: None,
        };
        self.table.insert_question(key, &question)?;
        self.log(key, LogKind::Asked, text)
    }

    pub(super) fn answer(&mut self, id: &QuestionId, text: &str) -> Result<()> {
        let open = self.table.questions(None, true)?;
        let Some(question) = open.iter().find(|question| question.id == *id) else {
            return Err(Refusal::UnknownQuestion { id: id.clone() }.into());
        };
        let last = !open.iter().any(|other| other.task == question.task && other.id != *id);
        self.table.answer_question(id, self.now, text)?;
        let (key, task) = self.find(&question.task)?;
        if last && task.status == Status::Waiting {
            self.settle(key, &task, &State::moved(&task, Status::Pending))?;
        }
        self.log(key, LogKind::Answered, text)
    }

    /// Nobody needs to answer for a task that was reset or deleted.
    pub(super) fn withdraw_questions(&mut self, key: T::Key) -> Result<()> {
        for question in self.table.questions(Some(key), true)? {
            self.table.answer_question(&question.id, self.now, "withdrawn")?;
        }
        Ok(())
    }

    pub(super) fn delete_feature(
        &mut self,
        name: &FeatureName,
        confirmed: bool,
    ) -> Result<Vec<TaskId>> {
        let feature = self.table.features()?.into_iter().find(|feature| feature.name == *name);
        let Some(feature) = feature else {
            return Err(Refusal::UnknownFeature { name: name.clone() }.into());
        };
        let filter = Filter { feature: Some(name.clone()), ..Filter::default() };
        let mut tasks = self.table.list(&filter)?;
        tasks.retain(|task| task.status != Status::Done);
        if !confirmed && !tasks.is_empty() {
            let unfinished = tasks.len() as u64;
            return Err(Refusal::FeatureUnfinished { name: name.clone(), unfinished }.into());
        }
        let deleted = self.delete_tasks(tasks)?;
        self.table.remove_feature(&feature.id, self.now)?;
        Ok(deleted)
    }
}
