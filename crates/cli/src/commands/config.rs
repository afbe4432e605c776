//! `ralph config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::{self, Config};
use crate::error::{CliError, Done};
use crate::wire::{Context, config_error};

/// Show and check the settings
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example: ralph config show"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show every setting, its value and where the value comes from
    #[command(after_help = "Example: ralph config show | grep loop.")]
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of ralph.toml, for editors
    #[command(after_help = "Example: ralph config schema > ralph.schema.json")]
    Schema,
    /// Check a config file, or all the files that ralph uses here
    #[command(after_help = "Example: ralph config check ralph.toml")]
    Check {
        /// The file [default: the files that ralph uses here]
        file: Option<PathBuf>,
    },
    /// Print every setting with its default and what it means, as ralph.toml
    #[command(after_help = "Example: ralph config defaults | less")]
    Defaults,
    #[command(hide = true)]
    Reference,
}

pub(crate) fn cmd_config(args: &ConfigArgs, context: &mut Context<'_>) -> Done {
    match &args.command {
        ConfigCommand::Show { json } => {
            let config = context.config()?;
            match json {
                true => Ok(context.out.json(&config::show_json(&config))?),
                false => Ok(context.out.data(config::show(&config))?),
            }
        }
        ConfigCommand::Schema => Ok(context.out.data(config::schema())?),
        ConfigCommand::Defaults => Ok(context.out.data(config::DEFAULTS)?),
        ConfigCommand::Reference => Ok(context.out.data(config::reference_markdown())?),
        ConfigCommand::Check { file } => check(file.as_ref(), context),
    }
}

fn check(file: Option<&PathBuf>, context: &mut Context<'_>) -> Done {
    let mut sources = context.sources()?;
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            CliError::failed(format!("{} cannot be read: {error}", file.display()))
        })?;
        sources.repo = Some((file.clone(), text));
    }
    let read = [&sources.user, &sources.repo].into_iter().flatten();
    let names: Vec<String> = read.map(|(path, _)| path.display().to_string()).collect();
    let loaded = Config::load(sources).map_err(|error| config_error(&error))?;
    for warning in &loaded.warnings {
        context.out.warning(warning);
    }
    let files =
        if names.is_empty() { "no config file: defaults".to_owned() } else { names.join(", ") };
    let word = match loaded.warnings.len() {
        0 => "ok".to_owned(),
        1 => "ok, with a warning".to_owned(),
        n => format!("ok, with {n} warnings"),
    };
    Ok(context.out.line(format!("{word} ({files})"))?)
}
