//! Measures how much of a prompt is ralph's own: rules, signals, learning and the text around them, without the
//! task, the plan, the project's skills and the user's template.

use ralph_core::TaskId;
use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::context::AssignedTask;
use ralph_core::attempt::prompt::{LEARNING, PROGRESS_SIGNALS, PROMISES, SIGNALS, tokens};
use ralph_core::run::Earlier;

use super::prompting::{PromptError, PromptFor, Prompting};
use crate::prompts::Template;

/// The shape of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// About one task.
    Task,
    /// About one task of a progress file, which it shows.
    Progress,
    /// About a whole iteration.
    Whole,
}

impl Prompting {
    /// About how many tokens of `prompt`, which is of this shape, are ralph's own.
    pub fn own_words(&self, shape: Shape, prompt: &str) -> Result<usize, PromptError> {
        if self.template.path().is_none() {
            return self.with_nothing_in_it(shape);
        }
        // The words of the template are the user's; those that it takes in, or that follow it, are not.
        let rules = Self { template: Template::built_in("{{ rules }}"), ..self.clone() };
        let rules = rules.instructions(shape)?;
        let all = [rules.trim(), SIGNALS, PROGRESS_SIGNALS, PROMISES, LEARNING];
        let there = all.into_iter().filter(|text| !text.is_empty() && prompt.contains(text));
        Ok(there.map(tokens).sum())
    }

    /// The size of a prompt about nothing.
    fn with_nothing_in_it(&self, shape: Shape) -> Result<usize, PromptError> {
        let bare = Self { skill_folders: vec![], ..self.clone() };
        if shape == Shape::Whole {
            return Ok(tokens(&bare.whole(1, &Earlier::default(), &[])?));
        }
        Ok(bare.about_nothing(shape)?.tokens())
    }

    /// What a template that is nothing but the rules says.
    fn instructions(&self, shape: Shape) -> Result<String, PromptError> {
        let bare = Self { skill_folders: vec![], learn: false, ..self.clone() };
        if shape == Shape::Whole {
            let bare = Self { bare: true, ..bare };
            return bare.whole(1, &Earlier::default(), &[]);
        }
        let system = bare.about_nothing(shape)?.system;
        let signals = if shape == Shape::Progress { PROGRESS_SIGNALS } else { SIGNALS };
        Ok(system.trim_end().trim_end_matches(signals).to_owned())
    }

    fn about_nothing(
        &self,
        shape: Shape,
    ) -> Result<ralph_core::attempt::prompt::Prompt, PromptError> {
        let task = TaskId::new("t").ok().map(|id| AssignedTask {
            id,
            title: String::new(),
            description: String::new(),
            steps: vec![],
            category: None,
            spec: None,
            reference: None,
        });
        let context = AttemptContext {
            task,
            plan_file: self.plan_file.clone(),
            learn: self.learn,
            ..AttemptContext::default()
        };
        let plan = (shape == Shape::Progress).then_some("");
        Ok(self.task(&context, String::new(), &PromptFor { iteration: 1, plan, note: None })?)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::attempt::prompt::RULES;
    use ralph_core::task::RetryLimit;

    use super::*;
    use crate::context::FeatureTexts;
    use crate::prompts::{
        CHECKLIST_TEMPLATE, FEATURE_PLAN_TEMPLATE, FEATURE_SPEC_TEMPLATE, FEATURE_TASKS_TEMPLATE,
        PLAN_TEMPLATE, PROGRESS_TEMPLATE,
    };

    fn prompting(rules: &str, mode: &str) -> Prompting {
        Prompting {
            template: Template::built_in(rules),
            rules: Template::built_in(rules),
            feature: FeatureTexts::default(),
            skill_folders: vec![],
            build_skill: String::new(),
            known: None,
            learn: true,
            retries: RetryLimit::AtMost(3),
            budget: 20_000,
            test_command: "cargo test".to_owned(),
            mode: mode.to_owned(),
            plan_file: Some("implementation_plan.md".to_owned()),
            branch: None,
            idea: None,
            bare: false,
        }
    }

    const KINDS: [(&str, &str, Shape); 4] = [
        (RULES, "build", Shape::Task),
        (PROGRESS_TEMPLATE, "build", Shape::Progress),
        (CHECKLIST_TEMPLATE, "build", Shape::Whole),
        (PLAN_TEMPLATE, "plan", Shape::Whole),
    ];

    #[test]
    fn ralphs_own_words_stay_below_1500_tokens_in_every_mode() {
        let features = [FEATURE_SPEC_TEMPLATE, FEATURE_PLAN_TEMPLATE, FEATURE_TASKS_TEMPLATE];
        let features = features.map(|rules| (rules, "feature", Shape::Whole));
        for (rules, mode, shape) in KINDS.into_iter().chain(features) {
            let own = prompting(rules, mode).own_words(shape, "").unwrap();
            assert!((200..1_500).contains(&own), "{mode} {shape:?}: {own}");
        }
    }

    #[test]
    fn a_note_about_the_worktree_is_in_the_prompt() {
        let mut store = crate::store::SqliteStore::empty().unwrap();
        let (id, now) = (TaskId::new("a").unwrap(), ralph_core::Timestamp::default());
        let by = ralph_core::task::Actor::User(ralph_core::AgentId::new("user").unwrap());
        let title = ralph_core::text::Title::new("a").unwrap();
        let task = ralph_core::task::NewTask { id: None, title, fields: Default::default() };
        crate::ports::Store::add(&mut store, id.clone(), task, &by, now).unwrap();
        let about = PromptFor { note: Some("Earlier work was not restored"), ..Default::default() };
        let prompt = prompting(RULES, "build").prompt(&mut store, &id, &about).unwrap();
        assert!(prompt.whole().contains("Earlier work was not restored"), "{}", prompt.whole());
    }

    #[test]
    fn words_of_the_user_are_not_counted() {
        for (rules, mode, shape) in KINDS {
            let own = prompting(rules, mode);
            let all = own.own_words(shape, "").unwrap();
            let long = "Be kind to whoever reads this. ".repeat(400);
            let reported = |template: &str| {
                let template = Template::new("PROMPT.md", template).unwrap();
                let theirs = Prompting { template, ..own.clone() };
                let prompt = match shape {
                    Shape::Whole => theirs.whole(1, &Earlier::default(), &[]),
                    _ => theirs.about_nothing(shape).map(|prompt| prompt.whole()),
                };
                theirs.own_words(shape, &prompt.unwrap()).unwrap()
            };
            let (without, with) =
                (reported(&long), reported(&format!("{long}\n\n{{{{ rules }}}}")));
            assert!(without < with && with <= all, "{mode} {shape:?}: {without} {with} {all}");
        }
    }
}
