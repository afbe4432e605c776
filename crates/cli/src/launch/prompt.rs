//! The parts of prompts: the template, the texts of the feature, the skills.

use std::path::Path;

use ralph_core::attempt::prompt::RULES;
use ralph_core::plan::markdown::PlanKind;
use ralph_core::run::{Notice, Policy};
use ralph_engine::agents::Profile;
use ralph_engine::context::{FeatureTexts, Skills};
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::{Scope, Store};
use ralph_engine::project::Project;
use ralph_engine::prompts::Prompting;
use ralph_engine::prompts::{
    BRANCHES_TEMPLATE, CHECKLIST_TEMPLATE, InitFile, OldRules, PLAN_BRANCHES_TEMPLATE,
    PLAN_TEMPLATE, PROGRESS_TEMPLATE, Template, TemplateError, VARIABLES,
};
use ralph_engine::trust::name_of;
use ralph_engine::untrusted;
use ralph_engine::worktree_files;

use super::{Mode, RunLocation, RunOptions};
use crate::config::{Config, Origin, Preset, key};
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::wiring::Context;

/// The skill by which an agent picks its task, as `ralph init` writes it, and where it is below a folder of skills.
pub(crate) const BUILD_SKILL: &str = include_str!("../commands/init/ralph-build.md");
const SKILL: &str = "skills/ralph-build/SKILL.md";

/// The longest title of an iteration that is an idea of the user's.
const TITLE: usize = 60;

pub(super) fn prompting(
    options: &RunOptions,
    config: &Config,
    (at, context): (&RunLocation, &Context<'_>),
    store: &mut dyn Store,
    scope: &Scope,
    (preset, plan): (&Preset, Option<&PlanFile>),
    policy: &Policy,
) -> Result<Prompting> {
    let project = &at.project;
    let feature = FeatureTexts::read(project, store, scope)
        .map_err(|error| CliError::run_failed(error.to_string()))?;
    let rules = match (&options.mode, preset.source) {
        (Mode::Plan, _) if plan.is_some_and(|plan| plan.kind() == PlanKind::Branches) => {
            PLAN_BRANCHES_TEMPLATE
        }
        (Mode::Plan, _) => PLAN_TEMPLATE,
        (Mode::Feature(work), _) => work.template(),
        (Mode::Build, "branches") => BRANCHES_TEMPLATE,
        (Mode::Build, "progress") => PROGRESS_TEMPLATE,
        (Mode::Build, "checklist") => CHECKLIST_TEMPLATE,
        _ => RULES,
    };
    let (known, file) = match &options.mode {
        Mode::Feature(work) => (Some(work.known(&feature, store)?), work.file(project)),
        Mode::Build | Mode::Plan | Mode::Prompt(_) => (None, None),
    };
    Ok(Prompting {
        template: template(options, config, (&at.home, context), rules)?,
        rules: Template::built_in(rules),
        feature,
        skill_folders: Skills::folders(project),
        build_skill: build_skill(&at.home),
        // Only work that gates check teaches lessons.
        learn: options.mode == Mode::Build && config.get(key::LOOP_LEARN),
        retries: policy.retries,
        mode: policy.mode.clone(),
        plan_file: plan.map(|plan| plan.name().to_owned()).or(file),
        branch: at.lane.as_ref().map(|lane| lane.work.clone()),
        known,
        idea: options.idea.clone(),
        bare: matches!(options.mode, Mode::Prompt(_)),
        test_command: context.test_command(&at.home)?.map(|test| test.command).unwrap_or_default(),
        budget: usize::try_from(config.get(key::PROMPTS_BUDGET_TOKENS)).unwrap_or(usize::MAX),
    })
}

/// The user's template: one that the settings name must exist, the default one may.
fn template(
    options: &RunOptions,
    config: &Config,
    (project, context): (&Project, &Context<'_>),
    rules: &str,
) -> Result<Template> {
    let key = if options.mode == Mode::Plan { key::PROMPTS_PLAN } else { key::PROMPTS_BUILD };
    let (path, named) = match &options.mode {
        Mode::Feature(_) => return Ok(Template::built_in(rules)),
        Mode::Prompt(path) => (path.clone(), true),
        // A template that the settings name must exist.
        Mode::Plan | Mode::Build => {
            let set = config.is_set(key);
            (project.worktree.join(config.get(key)), set)
        }
    };
    let by_user = match (&options.mode, config.origin(key)) {
        (Mode::Prompt(_), _) | (_, Origin::Flag(_) | Origin::User(_) | Origin::Env(_)) => true,
        // A flag of the interrupted run, if no session could have changed the record of it.
        (_, Origin::Resumed) => options.interrupted.as_ref().is_some_and(|run| run.found.trusted),
        (_, Origin::Repo(_) | Origin::Default | Origin::Preset(_)) => false,
    };
    let root = &project.worktree;
    if !by_user && untrusted::is_outside(root, &path) {
        let (name, from) = (key.name(), config.origin(key));
        return Err(run_failed!(
            "{name} names {}, which is outside the repository ({from})",
            path.display()
        )
        .hint(format!("name a file in the repository, or set {name} in your own config file")));
    }
    let inside = std::path::absolute(&path).ok().and_then(|path| name_of(root, &path));
    let instead = match inside {
        Some(name) => context.instead_of(root, &name)?,
        None => None,
    };
    let found = match (instead, by_user) {
        (Some(version), _) => {
            version.text().map(|text| Template::new(path.clone(), text)).transpose()
        }
        (None, true) => Template::load_named(root, &path),
        (None, false) => Template::load(root, &path),
    };
    let found = found.map_err(|error| template_error(&error))?;
    match found {
        Some(template) if template.is_blank() && matches!(options.mode, Mode::Prompt(_)) => {
            Err(run_failed!("{} is empty", path.display()).hint("write what the agent must do"))
        }
        Some(template) => Ok(with_rules(template, &options.mode, rules)),
        None if named => {
            Err(run_failed!("there is no prompt {}", path.display()).hint(match options.mode {
                Mode::Prompt(_) => "write it first, then: ralph prompt FILE".to_owned(),
                _ if config.by_flag(key) => {
                    "write it first, or omit --prompt to use the built-in one".to_owned()
                }
                _ => format!("write it first, or remove {} from the settings", key.name()),
            }))
        }
        None => Ok(Template::built_in(rules)),
    }
}

/// The template for a run with these rules. The rules that ralph 0.1 wrote into the file fit only one preset; in a run
/// with another, that preset's rules replace them.
fn with_rules(template: Template, mode: &Mode, rules: &str) -> Template {
    let file = match mode {
        Mode::Build => InitFile::Build,
        Mode::Plan => InitFile::Plan,
        Mode::Prompt(_) | Mode::Feature(_) => return template,
    };
    if template.says(file.text()) {
        return Template::built_in(rules);
    }
    match template.old_rules(file) {
        OldRules::Alone => Template::built_in(rules),
        OldRules::Edited(edited) if !file.had(rules) => edited,
        OldRules::Edited(_) | OldRules::Absent => template,
    }
}

/// The title of every iteration without a plan: the first heading of a prompt, or its file name.
pub(super) fn about(options: &RunOptions, prompting: &Prompting) -> Option<String> {
    match &options.mode {
        Mode::Build => None,
        Mode::Plan => {
            let idea = options.idea.as_deref().map(ralph_core::text::printable_line);
            let idea = idea.map(|idea| ralph_ui::columns::cut(&idea, TITLE));
            Some(idea.unwrap_or_else(|| "gap analysis".to_owned()))
        }
        Mode::Feature(work) => Some(work.about()),
        Mode::Prompt(path) => {
            let name = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            prompting.template.heading().or_else(name)
        }
    }
}

fn template_error(error: &TemplateError) -> CliError {
    let text = error.to_string();
    let (message, excerpt) = text.split_once('\n').unwrap_or((&text, ""));
    let failed = CliError::run_failed(message);
    if excerpt.is_empty() {
        return failed.hint("replace it with a text file in your repository");
    }
    failed.excerpt(excerpt).hint(format!("the variables are {}", VARIABLES.join(", ")))
}

/// The text of the build skill: the project's own, or the built-in one.
fn build_skill(project: &Project) -> String {
    let own = Path::new(".agents").join(SKILL);
    let own = worktree_files::read_text(&project.worktree, &own, untrusted::DOCUMENT);
    own.ok().flatten().unwrap_or_else(|| BUILD_SKILL.to_owned())
}

/// A notice if the agent lacks the skill that prompts call when the agent picks its task.
pub(super) fn missing_skill(
    project: &Project,
    agent: &Profile,
    environment: &Environment,
) -> Option<Notice> {
    let of_user = agent.folders(&environment.all, environment.home.as_deref());
    let own = agent.conventions.skills.trim_end_matches("/skills");
    let mut places = of_user.map(|(folder, _)| folder).chain([project.worktree.join(own)]);
    let there = places.any(|place| place.join(SKILL).is_file());
    (agent.conventions.calls_skills && !own.is_empty() && !there).then(|| Notice::Other {
        text: "the agent lacks the skill ralph-build, which the prompt of each session calls; \
               install it: ralph init"
            .to_owned(),
    })
}

/// Notices about skills that cannot be read, and about a template with the rules of another preset.
pub(super) fn warnings(project: &Project, prompting: &Prompting) -> Vec<Notice> {
    let skills = Skills::discover(&prompting.skill_folders).warnings;
    let skills = skills.iter().map(ToString::to_string);
    let template = prompting.template.path().filter(|_| prompting.template.had_old_rules());
    let template = template.map(|path| {
        let path = path.strip_prefix(&project.worktree).unwrap_or(path).display();
        format!(
            "{path} has rules that ralph 0.1 wrote for another preset. This run uses the rules of its \
             preset and keeps your lines; write {{{{ rules }}}} in place of the old rules"
        )
    });
    skills.chain(template).map(|text| Notice::Other { text }).collect()
}

/// What a run works on, in words.
pub(super) fn target(options: &RunOptions, plan: Option<&PlanFile>) -> String {
    if let Mode::Prompt(path) = &options.mode {
        return path.display().to_string();
    }
    if let Some(plan) = plan {
        return plan.lane().map_or(plan.name(), |lane| &lane.branch).to_owned();
    }
    options.target.words()
}
