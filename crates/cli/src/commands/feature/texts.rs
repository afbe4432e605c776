//! `ralph feature create` and `ralph feature plan`.

use std::path::Path;

use clap::Args;
use ralph_core::FeatureName;
use ralph_core::run::StopReason;
use ralph_engine::clock;
use ralph_engine::features::{FeatureFiles, TextFault};

use super::{Call, fallen_short, interview, run};
use crate::commands::editor::Editor;
use crate::commands::flags::SessionArgs;
use crate::error::{CliError, Done, Result, feature_name, known_feature, quoted, with_store};
use crate::launch::{FeatureStep, FeatureWork};
use crate::wiring::Context;

/// These commands, as hints name them.
const COMMAND: &str = "ralph feature …";

/// Create a feature with a spec.md and a plan.md to fill in
///
/// Without options the two files are templates for you to fill in. With --edit ralph opens the spec in your
/// editor. With --interview the agent reads the code, asks you what it needs to know, and writes the spec. At a
/// terminal you answer one question at a time; Enter alone lets the agent decide, Ctrl-D stops, and the same
/// command continues later. Without a terminal a question ends the command with exit code 7, and --answer
/// continues. Questions and answers are kept in interview.toml beside the spec.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph feature create login-form\n  ralph feature create login-form --edit\n  ralph feature create login-form --interview \"Log in by mail, without a password\"\n  ralph feature create login-form --answer \"Links are good for ten minutes\""
)]
pub(super) struct CreateArgs {
    /// The name of the feature and of its folder
    name: String,
    /// Open the spec in $VISUAL or $EDITOR
    #[arg(long, conflicts_with_all = ["interview", "answer"])]
    edit: bool,
    /// Have the agent write the spec and ask you what it needs to know; IDEA is what you want, in a few words
    #[arg(long, value_name = "IDEA", num_args = 0..=1, default_missing_value = "")]
    interview: Option<String>,
    /// Answer the agent's open question, and continue
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    answer: Option<String>,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) fn cmd_create(args: &CreateArgs, context: &mut Context<'_>) -> Done {
    let name = feature_name(&args.name)?;
    let by_agent = args.interview.is_some() || args.answer.is_some();
    refuse_idle_options(&args.session, by_agent, "--interview")?;
    let editor = args.edit.then(|| Editor::of(context, COMMAND)).transpose()?;
    let again = args.edit || by_agent;
    let files = make(&name, again, context)?;
    if let Some(editor) = editor {
        open(&editor, &files.spec(), &FeatureFiles::spec_template(&name), context)?;
        return context.out.conclude(format!("next: ralph feature plan {name}"));
    }
    if by_agent {
        refuse_unreadable(&files.spec(), &FeatureFiles::spec_template(&name))?;
        let given = (args.interview.as_deref().unwrap_or_default(), args.answer.as_deref());
        interview::hold(&name, &files, given, &args.session, context)?;
        context.out.line(files.spec().display())?;
        return context.out.conclude(format!("next: read it, then ralph feature plan {name}"));
    }
    context.out.line(files.spec().display())?;
    context.out.line(files.plan().display())?;
    context.out.conclude(format!(
        "next: fill in the spec (ralph feature create {name} --edit, or --interview), then ralph feature \
         plan {name}"
    ))
}

/// The feature with its files, new or, if the options allow it, existing.
fn make(name: &FeatureName, again: bool, context: &mut Context<'_>) -> Result<FeatureFiles> {
    let mut ids = context.ids();
    let mut store = context.store()?;
    let there = again && store.features()?.iter().any(|feature| feature.name == *name);
    if !there {
        let id = ids.feature()?;
        let added = store.add_feature(id, name, clock::now());
        added.map_err(|error| with_store(error, &mut *store))?;
    }
    let project = context.project()?;
    let files = FeatureFiles::of(&project, name);
    let kept =
        files.create(name).map_err(|error| CliError::file(&files.folder, "written", error))?;
    for path in kept.iter().filter(|_| !again) {
        context.out.note(format!("kept {}", path.display()));
    }
    Ok(files)
}

/// Compare the spec of a feature with the code and write its plan.md
///
/// The agent compares the code with the spec and writes down what is missing, in which order and why. If the
/// plan is empty or still the template, the agent tries again with the reason. With --edit ralph opens the plan
/// in your editor instead.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph feature plan login-form\n  ralph feature plan login-form --edit"
)]
pub(super) struct PlanArgs {
    /// The feature
    name: String,
    /// Open the plan in $VISUAL or $EDITOR
    #[arg(long)]
    edit: bool,
    #[command(flatten)]
    session: SessionArgs,
}

pub(super) fn cmd_plan(args: &PlanArgs, context: &mut Context<'_>) -> Done {
    let name = feature_name(&args.name)?;
    refuse_idle_options(&args.session, !args.edit, "the agent, not with --edit")?;
    known_feature(&name, &mut *context.reader()?)?;
    let files = FeatureFiles::of(&context.project()?, &name);
    let template = FeatureFiles::plan_template(&name);
    if args.edit {
        let editor = Editor::of(context, COMMAND)?;
        if !files.plan().exists() {
            files.create(&name)?;
        }
        open(&editor, &files.plan(), &template, context)?;
        return context.out.conclude(format!("next: ralph feature build {name}"));
    }
    let spec = FeatureFiles::spec_template(&name);
    written(&files.spec(), &spec, &format!("ralph feature create {name} --edit, or --interview"))?;
    refuse_unreadable(&files.plan(), &template)?;
    let work = FeatureWork { name: name.clone(), stage: FeatureStep::Plan };
    let outcome = run(work, &Call::default(), &args.session, context)?;
    if outcome.reason != StopReason::Session {
        return Err(fallen_short(&outcome, "plan.md", &format!("ralph feature plan {name}")));
    }
    context.out.line(files.plan().display())?;
    context.out.conclude(format!("next: read it, then ralph feature build {name}"))
}

/// Checks that a text has been written; otherwise says what to type.
pub(super) fn written(path: &Path, template: &str, how: &str) -> Done {
    match FeatureFiles::fault(path, template) {
        None => Ok(()),
        Some(TextFault::NotAFile) => refuse_unreadable(path, template),
        Some(fault) => {
            Err(refused!("{} {fault}", path.display()).hint(format!("write it first: {how}")))
        }
    }
}

/// Refuses a file that cannot be read: the agent could not write it either, and the session would be wasted.
fn refuse_unreadable(path: &Path, template: &str) -> Done {
    match FeatureFiles::fault(path, template) {
        Some(fault @ (TextFault::NotAFile | TextFault::Unreadable(_))) => {
            Err(failed!("{} {fault}", path.display())
                .hint(format!("move it away: mv {0} {0}.other", quoted(path))))
        }
        _ => Ok(()),
    }
}

/// Refuses session options in a call that starts no session.
fn refuse_idle_options(session: &SessionArgs, by_agent: bool, whom: &str) -> Done {
    match session.first_given().filter(|_| !by_agent) {
        Some(option) => Err(usage!("{option} is for a session, but this call starts none")
            .hint(format!("use it with {whom}"))),
        None => Ok(()),
    }
}

/// Opens a text in the editor, and warns if it is still unwritten afterwards.
fn open(editor: &Editor, file: &Path, template: &str, context: &mut Context<'_>) -> Done {
    refuse_unreadable(file, template)?;
    editor.open(file, context)?;
    context.out.line(file.display())?;
    if let Some(fault) = FeatureFiles::fault(file, template) {
        context.out.warning(format!("{} {fault}", file.display()));
    }
    Ok(())
}
