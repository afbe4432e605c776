//! The user's own instructions: a template file that replaces the built-in one.
//!
//! The language is Jinja without includes: a template reads nothing but its variables. An unknown variable is an
//! error with its line and column, because a prompt with a gap costs a whole session.

mod error;
mod limits;
mod older;
mod overhead;
pub mod prompting;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::prompt::{Parts, Placed, Prompt, RULES};
use ralph_core::text::printable;

pub use error::{TemplateError, TemplateFault};
pub use older::{InitFile, OldRules};
pub use overhead::Shape;
pub use prompting::{PromptError, PromptFor, Prompting};

use crate::untrusted;
use crate::worktree_files;

/// The instructions for each kind of plan, and of the commands that write plans and features.
pub const PROGRESS_TEMPLATE: &str = include_str!("prompts/progress.md");
pub const CHECKLIST_TEMPLATE: &str = include_str!("prompts/checklist.md");
pub const BRANCHES_TEMPLATE: &str = include_str!("prompts/branches.md");
pub const PLAN_BRANCHES_TEMPLATE: &str = include_str!("prompts/plan_branches.md");
pub const PLAN_TEMPLATE: &str = include_str!("prompts/plan.md");
pub const FEATURE_SPEC_TEMPLATE: &str = include_str!("prompts/feature_spec.md");
pub const FEATURE_PLAN_TEMPLATE: &str = include_str!("prompts/feature_plan.md");
pub const FEATURE_TASKS_TEMPLATE: &str = include_str!("prompts/feature_tasks.md");

pub const VARIABLES: [&str; 14] = [
    "feature",
    "iteration",
    "learning",
    "mode",
    "peek",
    "plan_file",
    "rules",
    "signals",
    "skills",
    "specs_dir",
    "task",
    "task_id",
    "task_title",
    "test_command",
];

/// The values for a template besides the parts of the prompt. Empty where there is no value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variables {
    /// The built-in instructions of this kind of run; [`RULES`] when empty.
    pub rules: String,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    /// The iteration, from 1.
    pub iteration: u32,
    pub task_id: String,
    pub task_title: String,
    pub feature: String,
    pub plan_file: String,
    pub specs_dir: String,
    pub test_command: String,
    pub peek: String,
}

impl Variables {
    /// What the context of an attempt says, in `ralph build`.
    pub fn of(context: &AttemptContext) -> Self {
        let task = context.task.as_ref();
        Self {
            mode: "build".to_owned(),
            iteration: 1,
            task_id: task.map(|task| task.id.to_string()).unwrap_or_default(),
            task_title: task.map(|task| printable(&task.title).into_owned()).unwrap_or_default(),
            plan_file: context.plan_file.clone().unwrap_or_default(),
            specs_dir: "specs".to_owned(),
            ..Self::default()
        }
    }
}

/// A template whose syntax is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its file; `None` for the embedded one.
    path: Option<PathBuf>,
    text: String,
    /// Rules that ralph 0.1 wrote into it were replaced.
    had_old_rules: bool,
}

impl Template {
    pub fn built_in(text: &str) -> Self {
        Self { path: None, text: text.to_owned(), had_old_rules: false }
    }

    /// Checks a template. `path` is the name of its file in messages.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Result<Self, TemplateError> {
        let template = Self { path: Some(path.into()), text: text.into(), had_old_rules: false };
        template.compiled(|_| Ok(()))?;
        Ok(template)
    }

    /// Reads a template that the worktree `root` has; `None` if there is no such file.
    pub fn load(root: &Path, path: &Path) -> Result<Option<Self>, TemplateError> {
        Self::loaded(path, worktree_files::read(root, path, untrusted::SMALL))
    }

    /// Reads a template that the user named, which may be outside of the worktree.
    pub fn load_named(root: &Path, path: &Path) -> Result<Option<Self>, TemplateError> {
        Self::loaded(path, worktree_files::read_named(Some(root), path, untrusted::SMALL))
    }

    fn loaded(path: &Path, read: io::Result<Vec<u8>>) -> Result<Option<Self>, TemplateError> {
        let read = untrusted::if_there(read)
            .map_err(|source| TemplateError::Unreadable { path: path.to_owned(), source })?;
        let Some(bytes) = read else { return Ok(None) };
        match String::from_utf8(bytes) {
            Ok(text) => Self::new(path, text).map(Some),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                Err(TemplateError::NotText { path: path.to_owned(), line })
            }
        }
    }

    /// Whether its text is the same, apart from trailing blanks.
    pub fn says(&self, text: &str) -> bool {
        self.text.trim_end() == text.trim_end()
    }

    pub fn heading(&self) -> Option<String> {
        let heading = self.text.lines().find_map(|line| line.strip_prefix('#'))?;
        let words = heading.trim_start_matches('#').trim();
        (!words.is_empty()).then(|| words.to_owned())
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether `{{ rules }}` took the place of rules that ralph 0.1 wrote into it.
    pub fn had_old_rules(&self) -> bool {
        self.had_old_rules
    }

    fn uses(&self, variable: &str) -> bool {
        let used = self.compiled(|template| Ok(template.undeclared_variables(false)));
        used.is_ok_and(|used| used.contains(variable))
    }

    /// Its file; `None` for the embedded one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn render_bare(
        &self,
        variables: &Variables,
        parts: Parts,
    ) -> Result<Prompt, TemplateError> {
        self.rendered(variables, parts, |_| true)
    }

    /// Writes the prompt: the rendered template as the instructions, and behind it those parts that
    /// the template does not place itself.
    pub fn render(&self, variables: &Variables, parts: Parts) -> Result<Prompt, TemplateError> {
        let used = self.compiled(|template| Ok(template.undeclared_variables(false)))?;
        self.rendered(variables, parts, |name| used.contains(name))
    }

    /// Renders within the limits; `is_placed` says which parts are not to be added.
    fn rendered(
        &self,
        variables: &Variables,
        parts: Parts,
        is_placed: impl Fn(&str) -> bool,
    ) -> Result<Prompt, TemplateError> {
        let core = self.compiled(|template| {
            let mut page = limits::Page::default();
            template.render_captured_to(Value::from(values(variables, &parts)), &mut page)?;
            Ok(page.text())
        })?;
        let placed = Placed {
            signals: is_placed("signals"),
            skills: is_placed("skills"),
            learning: is_placed("learning"),
            task: is_placed("task"),
        };
        Ok(parts.prompt(&printable(&core), placed))
    }

    fn compiled<T>(
        &self,
        act: impl FnOnce(minijinja::Template<'_, '_>) -> Result<T, minijinja::Error>,
    ) -> Result<T, TemplateError> {
        let mut environment = Environment::new();
        environment.set_debug(true);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // A prompt is never HTML, whatever its file is called.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        limits::set(&mut environment);
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        let shown = self.path.as_deref().unwrap_or(Path::new("PROMPT_build.md"));
        if let Some(found) = limits::forbidden(text) {
            let fault = TemplateFault::forbidden(shown, text, found);
            return Err(TemplateError::Fault(Box::new(fault)));
        }
        environment.template_from_named_str("template", text).and_then(act).map_err(|error| {
            TemplateError::Fault(Box::new(TemplateFault::new(shown, text, &error)))
        })
    }
}

fn values(given: &Variables, parts: &Parts) -> BTreeMap<&'static str, Value> {
    let text = |text: &str| Value::from(text);
    BTreeMap::from([
        ("feature", text(&given.feature)),
        ("iteration", Value::from(given.iteration)),
        ("learning", text(parts.learning)),
        ("mode", text(&given.mode)),
        ("peek", text(&given.peek)),
        ("plan_file", text(&given.plan_file)),
        ("rules", text(if given.rules.is_empty() { RULES } else { &given.rules })),
        ("signals", text(parts.signals)),
        ("skills", text(&parts.skills)),
        ("specs_dir", text(&given.specs_dir)),
        ("task", text(&parts.task)),
        ("task_id", text(&given.task_id)),
        ("task_title", text(&given.task_title)),
        ("test_command", text(&given.test_command)),
    ])
}

#[cfg(test)]
mod tests;
