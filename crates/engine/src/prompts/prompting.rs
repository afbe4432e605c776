//! Builds the prompt of an attempt: the context of the task, rendered by the template.

use std::path::PathBuf;

use ralph_core::TaskId;
use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::context::{
    AssignedTask, BranchWork, GateFailure, RetryInfo, SignalInfo, Skill,
};
use ralph_core::attempt::prompt::{
    PROGRESS_SIGNALS, PROMISES, Parts, Prompt, Work, from_user, verifier,
};
use ralph_core::records::{UserMessage, Verdict};
use ralph_core::run::{Earlier, TaskBrief};
use ralph_core::task::{RetryLimit, Task};

use crate::agents::Profile;
use crate::context::{FeatureTexts, Gather, Skills, gather};
use crate::ports::{Store, StoreError};
use crate::prompts::{Template, TemplateError, Variables};

/// Everything about prompts that stays the same for a whole run.
#[derive(Debug, Clone)]
pub struct Prompting {
    /// The user's own instructions, or the built-in ones.
    pub template: Template,
    /// The built-in ones for this kind of run.
    pub rules: Template,
    /// The feature's spec and plan, read once.
    pub feature: FeatureTexts,
    /// Where skills are; reread for every session, because sessions write some.
    pub skill_folders: Vec<PathBuf>,
    /// The text of the skill by which an agent picks its task.
    pub build_skill: String,
    /// Whether sessions are asked to leave what they learned.
    pub learn: bool,
    /// How often a task may be retried.
    pub retries: RetryLimit,
    /// What ralph may put into a prompt, in tokens.
    pub budget: usize,
    /// The project's own test command; empty when there is none.
    pub test_command: String,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    /// The markdown plan that the run works through or writes.
    pub plan_file: Option<String>,
    /// The branch that is worked on, where the plan has branches.
    pub branch: Option<BranchWork>,
    /// What to plan, in the user's words.
    pub idea: Option<String>,
    /// Nothing is added to what the template says.
    pub bare: bool,
    /// Additional context for every session, where the run is for a feature's texts or tasks.
    pub known: Option<AttemptContext>,
}

/// Which attempt a prompt is for.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptFor<'a> {
    /// The number of the iteration.
    pub iteration: u32,
    /// The text of the plan, where the agent is shown all of it.
    pub plan: Option<&'a str>,
    /// What the agent has to know about the worktree.
    pub note: Option<&'a str>,
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
    /// The text of the build skill, for an agent that a prompt cannot call with it.
    pub fn skill_for(&self, agent: &Profile) -> Option<&str> {
        (!agent.conventions.calls_skills).then_some(&*self.build_skill)
    }

    /// The prompt of the next attempt on a task.
    pub fn prompt(
        &self,
        store: &mut dyn Store,
        task: &TaskId,
        of: &PromptFor<'_>,
    ) -> Result<Prompt, PromptError> {
        let mut context = self.context(store, task)?;
        context.notes.extend(of.note.map(str::to_owned));
        let feature = store.get(task)?.feature.map(|name| name.to_string()).unwrap_or_default();
        Ok(self.task(&context, feature, of)?)
    }

    /// What is known about a task.
    fn context(&self, store: &mut dyn Store, task: &TaskId) -> Result<AttemptContext, StoreError> {
        let about = Gather {
            task,
            limit: self.retries,
            texts: &self.feature,
            plan_file: self.plan_file.as_deref(),
            branch: self.branch.as_ref(),
            skills: &self.skills(),
            learn: self.learn,
        };
        gather(store, &about)
    }

    /// What is known about each of these tasks that was worked on or asked about before.
    pub fn returned(
        &self,
        store: &mut dyn Store,
        tasks: &[Task],
    ) -> Result<Vec<AttemptContext>, StoreError> {
        tasks.iter().map(|task| self.context(store, &task.id)).collect()
    }

    /// The prompt of the verifier of these tasks; `work` is what was done about them.
    pub(crate) fn verifier(
        &self,
        store: &mut dyn Store,
        tasks: &[TaskBrief],
        work: Work,
    ) -> Result<Prompt, StoreError> {
        let known = tasks.iter().map(|task| self.context(store, &task.id));
        let tasks = known.collect::<Result<Vec<_>, _>>()?;
        Ok(verifier(&Work { tasks, ..work }, self.budget))
    }

    /// The prompt for a task of which this is known.
    pub fn task(
        &self,
        context: &AttemptContext,
        feature: String,
        of: &PromptFor<'_>,
    ) -> Result<Prompt, TemplateError> {
        let mut variables = Variables::of(context);
        variables.iteration = of.iteration;
        variables.test_command.clone_from(&self.test_command);
        variables.feature = feature;
        let mut parts = Parts::of(context, self.budget);
        if of.plan.is_some() {
            parts = parts.with_signals(PROGRESS_SIGNALS);
        }
        variables.rules = self.rules(&variables, &parts)?;
        let mut prompt = self.template.render(&variables, parts)?;
        if let (Some(plan), Some(task)) = (of.plan, &context.task) {
            prompt.task = progress_words(plan, task, &prompt.task);
        }
        Ok(prompt)
    }

    /// The skills that there are now.
    pub fn skills(&self) -> Vec<Skill> {
        Skills::discover(&self.skill_folders).found
    }

    /// The built-in instructions, for a template of the user's that wants them.
    fn rules(&self, variables: &Variables, parts: &Parts) -> Result<String, TemplateError> {
        match self.template == self.rules {
            true => Ok(String::new()),
            false => Ok(self.rules.render_bare(variables, parts.clone())?.system),
        }
    }

    /// The whole prompt of an iteration that is judged as a whole.
    /// `told`: what the user says about tasks of the plan.
    pub fn whole(
        &self,
        iteration: u32,
        retry: &Earlier,
        told: &[(TaskId, Vec<UserMessage>)],
    ) -> Result<String, PromptError> {
        let reason = Some(retry.reason.clone()).filter(|reason| !reason.is_empty());
        let red = retry.gates.iter().filter(|gate| gate.verdict != Verdict::Pass);
        let failures: Vec<GateFailure> = red
            .map(|gate| GateFailure {
                judge: gate.name.clone(),
                exit_code: gate.exit_code,
                digest: gate.digest.clone(),
            })
            .collect();
        let reported = RetryInfo::of(retry.tries, self.retries, reason);
        let known = self.known.clone().unwrap_or_default();
        let context = AttemptContext {
            plan_file: self.plan_file.clone().filter(|_| self.mode == "build"),
            retry: reported.map(|reported| reported.after(&failures, &[])),
            signal: (!retry.ignored.is_empty())
                .then(|| SignalInfo { missing: false, ignored: retry.ignored.clone() }),
            failures,
            skills: self.skills(),
            learn: self.learn,
            ..known
        };
        let mut variables = Variables::of(&context);
        variables.feature =
            self.feature.feature.as_ref().map(ToString::to_string).unwrap_or_default();
        variables.mode.clone_from(&self.mode);
        variables.iteration = iteration;
        variables.test_command.clone_from(&self.test_command);
        variables.plan_file = self.plan_file.clone().unwrap_or_default();
        // The template of such a run says itself what may be asked for.
        let signals = if self.known.is_some() { "" } else { PROMISES };
        let parts = Parts::of(&context, self.budget).with_signals(signals);
        variables.rules = self.rules(&variables, &parts)?;
        let prompt = match self.bare {
            true => self.template.render_bare(&variables, parts)?,
            false => self.template.render(&variables, parts)?,
        };
        let goal = self.idea.as_deref().map(|idea| goal(idea, &variables.plan_file));
        let more = [goal.unwrap_or_default(), from_user(told)];
        let more = more.iter().filter(|text| !text.is_empty());
        Ok(more.fold(prompt.whole(), |all, text| format!("{all}\n\n{text}")))
    }
}

/// What a planner with an idea has to do, whatever its instructions say about specifications.
fn goal(idea: &str, plan_file: &str) -> String {
    let quoted: Vec<String> = idea.lines().map(|line| format!("> {line}")).collect();
    format!(
        "## Goal\n\n{}\n\nThese are the user's words. Plan this goal and nothing else: search the specifications and \
         the code for what it needs and what exists already, and write the missing work into `{plan_file}`. If the \
         file exists, add the tasks below a heading of their own and leave its other tasks as they are. Above the \
         tasks, write the goal in the user's words as a line `Goal: …`. The plan is complete when it lists all work \
         that the goal needs.",
        quoted.join("\n")
    )
}

/// The task of a progress file: the file as it is, and which of its checkboxes is next.
fn progress_words(plan: &str, task: &AssignedTask, rest: &str) -> String {
    let plan = plan.trim_start_matches('\u{feff}').trim_end();
    format!(
        "## Current Progress\n\n{plan}\n\n## Instructions\n\nExecute the next incomplete task: \
         {} (`{}`).\n\n{rest}",
        task.title, task.id
    )
}
