//! `ralph feature`.

use clap::{Args, Subcommand};
use ralph_core::FeatureName;
use ralph_core::task::Counts;
use ralph_engine::clock;
use ralph_engine::features::FeatureFiles;
use ralph_engine::ports::{Filter, Scope};
use ralph_ui::columns::{Cell, table};
use ralph_ui::style::Meaning;
use ralph_ui::tasks;

use crate::error::{CliError, Done, feature_name, with_store};
use crate::wire::Context;

/// Group tasks into features, each with a spec and a plan on disk
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example: ralph feature create login-form"
)]
pub(crate) struct FeatureArgs {
    #[command(subcommand)]
    command: FeatureCommand,
}

#[derive(Debug, Subcommand)]
enum FeatureCommand {
    /// Make a feature with a spec.md and a plan.md to fill in
    #[command(after_help = "Example: ralph feature create login-form")]
    Create {
        /// Its name, also of its folder
        name: String,
    },
    /// List the features and where their tasks stand
    #[command(after_help = "Example: ralph feature list")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a feature: its files and its tasks
    #[command(after_help = "Example: ralph feature show login-form")]
    Show {
        /// The feature
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a feature away with its unfinished tasks; its files stay
    #[command(after_help = "Example: ralph feature delete login-form --confirm")]
    Delete {
        /// The feature
        name: String,
        /// Delete its unfinished tasks too
        #[arg(long)]
        confirm: bool,
    },
}

pub(crate) fn cmd_feature(args: FeatureArgs, context: &mut Context<'_>) -> Done {
    match args.command {
        FeatureCommand::Create { name } => create(&feature_name(&name)?, context),
        FeatureCommand::List { json } => list(json, context),
        FeatureCommand::Show { name, json } => show(&feature_name(&name)?, json, context),
        FeatureCommand::Delete { name, confirm } => delete(&feature_name(&name)?, confirm, context),
    }
}

fn create(name: &FeatureName, context: &mut Context<'_>) -> Done {
    let mut ids = context.ids();
    let mut store = context.store()?;
    let id = ids.feature().map_err(|error| CliError::failed(error.to_string()))?;
    store.add_feature(id, name, clock::now()).map_err(|error| with_store(error, &mut *store))?;
    let project = context.project()?;
    let files = FeatureFiles::of(&project, name);
    let kept = files.create(name).map_err(|error| {
        CliError::failed(format!("{} cannot be written: {error}", files.folder.display()))
    })?;
    for path in kept {
        context.out.note(format!("kept {}", path.display()));
    }
    context.out.line(files.spec().display())?;
    context.out.line(files.plan().display())?;
    context
        .out
        .note(format!("next: fill them in, then ralph task add \"What to do\" --feature {name}"));
    Ok(())
}

fn list(json: bool, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let mut rows: Vec<(String, String, Counts)> = Vec::new();
    for feature in store.features()? {
        let counts = store.counts(&Scope::Feature(feature.name.clone()))?;
        rows.push((feature.name.to_string(), feature.id.to_string(), counts));
    }
    if json {
        let list: Vec<serde_json::Value> = rows
            .iter()
            .map(|(name, id, counts)| serde_json::json!({"name": name, "id": id, "tasks": counts}))
            .collect();
        return Ok(context.out.json(&list)?);
    }
    let cells: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(name, id, counts)| {
            vec![
                Cell::meaning(name, Some(Meaning::Name)),
                Cell::new(id),
                Cell::new(counts.to_string()),
            ]
        })
        .collect();
    let look = context.out.look;
    Ok(context.out.data(table(&["FEATURE", "ID", "TASKS"], 2, &cells, look))?)
}

fn show(name: &FeatureName, json: bool, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let known = store.features()?.into_iter().find(|feature| feature.name == *name);
    let Some(feature) = known else {
        let unknown = ralph_core::task::Refusal::UnknownFeature { name: name.clone() };
        return Err(with_store(unknown.into(), &mut *store));
    };
    let counts = store.counts(&Scope::Feature(name.clone()))?;
    let list = store.list(&Filter { feature: Some(name.clone()), ..Filter::default() })?;
    let project = context.project()?;
    let files = FeatureFiles::of(&project, name);
    if json {
        let value = serde_json::json!({
            "name": name, "id": feature.id, "created_at": feature.created_at, "tasks": counts,
            "spec": files.spec(), "plan": files.plan(),
            "spec_text": FeatureFiles::read(&files.spec())?,
            "plan_text": FeatureFiles::read(&files.plan())?,
        });
        return Ok(context.out.json(&value)?);
    }
    let look = context.out.look;
    context.out.line(format!(
        "{}  {}",
        look.paint(Meaning::Name, name),
        look.paint(Meaning::Faint, &feature.id)
    ))?;
    context.out.line(format!("  {counts}"))?;
    for path in [files.spec(), files.plan()] {
        let missing = if path.exists() { "" } else { "  (missing)" };
        context.out.line(format!("  {}{missing}", path.display()))?;
    }
    if !list.is_empty() {
        context.out.line("")?;
        context.out.data(tasks::tree(&list, look))?;
    }
    Ok(())
}

fn delete(name: &FeatureName, confirm: bool, context: &mut Context<'_>) -> Done {
    let by = context.actor()?;
    let mut store = context.store()?;
    let deleted = store.delete_feature(name, confirm, &by, clock::now());
    let deleted = deleted.map_err(|error| with_store(error, &mut *store))?;
    for id in deleted {
        context.out.line(id)?;
    }
    let files = FeatureFiles::of(&context.project()?, name);
    if files.folder.exists() {
        context.out.note(format!("its files stay in {}", files.folder.display()));
    }
    Ok(())
}
