//! What prompts are made of: the template, the texts of the feature, the skills.

use ralph_core::agents_md;
use ralph_core::run::Notice;
use ralph_core::task::RetryLimit;
use ralph_engine::context::{FeatureTexts, Skills};
use ralph_engine::ports::{Scope, Store};
use ralph_engine::project::Project;
use ralph_engine::prompts::{Template, TemplateError};
use ralph_engine::run::Prompting;

use super::Wishes;
use crate::commands::init::found_commands;
use crate::config::Config;
use crate::error::CliError;

pub(super) fn prompting(
    wishes: &Wishes,
    config: &Config,
    project: &Project,
    store: &mut dyn Store,
    scope: &Scope,
    retries: RetryLimit,
) -> Result<Prompting, CliError> {
    let feature = FeatureTexts::read(project, store, scope)
        .map_err(|error| CliError::failed(format!("Build failed: {error}")))?;
    Ok(Prompting {
        template: template(wishes, config, project)?,
        feature,
        skills: skills(project).found,
        learn: wishes.learn.unwrap_or_else(|| config.boolean("loop.learn")),
        retries,
        test_command: test_command(project),
        budget: usize::try_from(config.whole("prompts.budget_tokens")).unwrap_or(usize::MAX),
    })
}

/// The user's template: the one that is named must be there, the usual one may be.
fn template(wishes: &Wishes, config: &Config, project: &Project) -> Result<Template, CliError> {
    let path = match &wishes.prompt {
        Some(path) => path.clone(),
        None => project.worktree.join(config.text("prompts.build")),
    };
    let found = Template::load(&path).map_err(|error| template_error(&error))?;
    match found {
        Some(template) => Ok(template),
        None if wishes.prompt.is_some() => {
            Err(CliError::failed(format!("Build failed: there is no prompt {}", path.display()))
                .hint("write it first, or leave --prompt out for the built-in one"))
        }
        None => Ok(Template::embedded()),
    }
}

/// The command of `AGENTS.md`, or else the one that the project shows.
fn test_command(project: &Project) -> String {
    let text = std::fs::read_to_string(project.worktree.join("AGENTS.md")).unwrap_or_default();
    let shown = || found_commands(project).into_iter().next().map(|found| found.command);
    agents_md::test_command(&text).or_else(shown).unwrap_or_default()
}

fn template_error(error: &TemplateError) -> CliError {
    let text = error.to_string();
    let (message, excerpt) = text.split_once('\n').unwrap_or((&text, ""));
    let failed = CliError::failed(format!("Build failed: {message}"));
    let failed = if excerpt.is_empty() { failed } else { failed.excerpt(excerpt) };
    failed.hint("every variable is listed in docs/prompts.md")
}

fn skills(project: &Project) -> Skills {
    Skills::discover(&project.ralph_dir().join("skills"))
}

/// Skills that could not be read.
pub(super) fn warnings(project: &Project) -> Vec<Notice> {
    let warnings = skills(project).warnings;
    warnings.iter().map(|warning| Notice::Other { text: warning.to_string() }).collect()
}
