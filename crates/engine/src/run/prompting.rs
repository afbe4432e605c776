//! The prompt of an attempt: what is known about the task, in the words of the template.

use ralph_core::TaskId;
use ralph_core::attempt::context::Skill;
use ralph_core::attempt::prompt::{Parts, Prompt};
use ralph_core::task::RetryLimit;

use crate::context::{FeatureTexts, Gather, gather};
use crate::ports::{Store, StoreError};
use crate::prompts::{Template, TemplateError, Variables};

/// Everything about prompts that stays the same for a whole run.
#[derive(Debug, Clone)]
pub struct Prompting {
    /// The user's own rules, or the built-in ones.
    pub template: Template,
    /// The feature's spec and plan, read once.
    pub feature: FeatureTexts,
    /// The skills of the project.
    pub skills: Vec<Skill>,
    /// Whether sessions are asked to leave what they learned.
    pub learn: bool,
    /// How often a task may come back.
    pub retries: RetryLimit,
    /// What ralph may put into a prompt, in tokens.
    pub budget: usize,
    /// The project's own test command; empty when there is none.
    pub test_command: String,
}

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The template.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl Prompting {
    /// The prompt of the next attempt on a task.
    pub fn prompt(
        &self,
        store: &mut dyn Store,
        task: &TaskId,
        iteration: u32,
    ) -> Result<Prompt, PromptError> {
        let about = Gather {
            task,
            limit: self.retries,
            texts: &self.feature,
            plan_file: None,
            skills: &self.skills,
            learn: self.learn,
        };
        let context = gather(store, &about)?;
        let mut variables = Variables::of(&context);
        variables.iteration = iteration;
        variables.test_command.clone_from(&self.test_command);
        variables.feature =
            store.get(task)?.feature.map(|name| name.to_string()).unwrap_or_default();
        Ok(self.template.render(&variables, Parts::of(&context, self.budget))?)
    }
}
