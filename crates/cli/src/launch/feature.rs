//! Runs for the texts and the tasks of a feature: their expected result, their policy and their prompts.

use ralph_core::FeatureName;
use ralph_core::attempt::AttemptContext;
use ralph_core::run::{Claims, Commits, Policy};
use ralph_core::task::{Status, Task};
use ralph_engine::context::FeatureTexts;
use ralph_engine::features::FeatureFiles;
use ralph_engine::interview::Interview;
use ralph_engine::ports::{Filter, Store};
use ralph_engine::project::Project;
use ralph_engine::prompts::{FEATURE_PLAN_TEMPLATE, FEATURE_SPEC_TEMPLATE, FEATURE_TASKS_TEMPLATE};
use ralph_engine::run::Deliverable;

use crate::error::Result;

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
    /// The mode of the run, what it is about, and its instructions.
    const fn words(&self) -> (&'static str, &'static str, &'static str) {
        match self.stage {
            FeatureStep::Spec(_) => ("feature-spec", "spec", FEATURE_SPEC_TEMPLATE),
            FeatureStep::Plan => ("feature-plan", "plan", FEATURE_PLAN_TEMPLATE),
            FeatureStep::Tasks => ("feature-tasks", "tasks", FEATURE_TASKS_TEMPLATE),
        }
    }

    pub(super) const fn mode(&self) -> &'static str {
        self.words().0
    }

    /// The title of every iteration.
    pub(super) fn about(&self) -> String {
        format!("the {} of {}", self.words().1, self.name)
    }

    pub(super) const fn template(&self) -> &'static str {
        self.words().2
    }

    /// The policy: one session with the expected result, retried with the reason until it has it. `policy` is that of
    /// sessions without a plan.
    pub(super) fn policy(&self, policy: Policy, sessions: Option<u32>) -> Policy {
        Policy {
            mode: self.mode().to_owned(),
            max_sessions: sessions,
            commits: match self.stage {
                FeatureStep::Spec(_) | FeatureStep::Plan => Commits::EveryIteration,
                // The session must change nothing else.
                FeatureStep::Tasks => Commits::Agent,
            },
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
    ) -> Result<AttemptContext> {
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
