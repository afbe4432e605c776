//! Runs for the texts and the tasks of a feature: their expected result, their policy and their prompts.

use ralph_core::FeatureName;
use ralph_core::attempt::AttemptContext;
use ralph_core::run::{Claims, Commits, EndsWhen, Exhausted, OnRed, Picker, Policy, Unit};
use ralph_core::task::{Status, Task};
use ralph_engine::context::FeatureTexts;
use ralph_engine::features::FeatureFiles;
use ralph_engine::interview::Interview;
use ralph_engine::ports::{Filter, Store};
use ralph_engine::project::Project;
use ralph_engine::prompts::{FEATURE_PLAN_TEMPLATE, FEATURE_SPEC_TEMPLATE, FEATURE_TASKS_TEMPLATE};
use ralph_engine::run::Deliverable;

use crate::error::CliError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeatureWork {
    pub(crate) name: FeatureName,
    pub(crate) stage: FeatureStep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeatureStep {
    /// Writing its spec, with the questions and answers so far.
    Spec(Interview),
    Plan,
    Tasks,
}

impl FeatureWork {
    pub(super) fn mode(&self) -> &'static str {
        match self.stage {
            FeatureStep::Spec(_) => "feature-spec",
            FeatureStep::Plan => "feature-plan",
            FeatureStep::Tasks => "feature-tasks",
        }
    }

    /// The title of every iteration.
    pub(super) fn about(&self) -> String {
        let name = &self.name;
        match self.stage {
            FeatureStep::Spec(_) => format!("the spec of {name}"),
            FeatureStep::Plan => format!("the plan of {name}"),
            FeatureStep::Tasks => format!("the tasks of {name}"),
        }
    }

    pub(super) fn template(&self) -> &'static str {
        match self.stage {
            FeatureStep::Spec(_) => FEATURE_SPEC_TEMPLATE,
            FeatureStep::Plan => FEATURE_PLAN_TEMPLATE,
            FeatureStep::Tasks => FEATURE_TASKS_TEMPLATE,
        }
    }

    /// The policy: one session with the expected result, retried with the reason until it has it.
    pub(super) fn policy(&self, policy: Policy, sessions: Option<u32>) -> Policy {
        Policy {
            mode: self.mode().to_owned(),
            picker: Picker::Agent,
            max_sessions: sessions,
            idle: 0,
            unit: Unit::Iteration,
            on_red: OnRed::Retry,
            on_exhausted: Exhausted::Stop,
            commits: match self.stage {
                FeatureStep::Spec(_) | FeatureStep::Plan => Commits::EveryIteration,
                // The session must change nothing else.
                FeatureStep::Tasks => Commits::Agent,
            },
            ends: vec![EndsWhen::Session],
            promises: vec![],
            unchanged_fails: false,
            always_judged: true,
            asks: matches!(self.stage, FeatureStep::Spec(_)),
            claims: Claims::Trust,
            ..policy
        }
    }

    pub(super) fn deliverable(&self, project: &Project) -> Deliverable {
        let files = FeatureFiles::of(project, &self.name);
        let text = |path: std::path::PathBuf, template: String| {
            let shown = path.strip_prefix(&project.worktree).unwrap_or(&path);
            Deliverable::Text { name: shown.display().to_string(), path, template }
        };
        match self.stage {
            FeatureStep::Spec(_) => text(files.spec(), FeatureFiles::spec_template(&self.name)),
            FeatureStep::Plan => text(files.plan(), FeatureFiles::plan_template(&self.name)),
            FeatureStep::Tasks => {
                Deliverable::Tasks { feature: self.name.clone(), kept: files.proposed() }
            }
        }
    }

    /// The file that the sessions write, before they change it.
    pub(super) fn file(&self, project: &Project) -> Option<String> {
        match self.deliverable(project) {
            Deliverable::Text { name, .. } => Some(name),
            Deliverable::Tasks { .. } => None,
        }
    }

    pub(super) fn known(
        &self,
        texts: &FeatureTexts,
        store: &mut dyn Store,
    ) -> Result<AttemptContext, CliError> {
        let mut known = AttemptContext::default();
        match &self.stage {
            FeatureStep::Spec(interview) => {
                known.answers = interview.answers();
                if !interview.idea.trim().is_empty() {
                    let idea = interview.idea.trim();
                    known.notes = vec![format!("The idea, in the user's words:\n{idea}")];
                }
            }
            FeatureStep::Plan => known.spec.clone_from(&texts.spec),
            FeatureStep::Tasks => {
                known.spec.clone_from(&texts.spec);
                known.plan.clone_from(&texts.plan);
                let feature = Some(self.name.clone());
                let tasks = store.list(&Filter { feature, ..Filter::default() })?;
                known.notes = tasks.iter().map(note).collect();
            }
        }
        Ok(known)
    }
}

/// An existing task of the feature, in one line.
fn note(task: &Task) -> String {
    let ids = |ids: &[ralph_core::TaskId]| {
        ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("Task `{}`, {}, priority {}", task.id, task.status, task.priority);
    if let Some(parent) = &task.parent {
        text.push_str(&format!(", part of `{parent}`"));
    }
    if !task.deps.is_empty() && task.status != Status::Done {
        text.push_str(&format!(", after {}", ids(&task.deps)));
    }
    format!("{text}: {}", task.title)
}
