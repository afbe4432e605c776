//! `ralph config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

mod change;

use crate::config::{self, Config};
use crate::error::{CliError, Done};
use crate::launch;
use crate::wiring::Context;

/// Show, change and check the settings
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  ralph config show\n  ralph config set loop.jobs 4\n  ralph config set --user notify.desktop true"
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
    /// Print the current value of a setting; lists with one item per line
    #[command(
        after_help = "Examples:\n  ralph config get loop.jobs\n  ralph config get loop.jobs --show-origin"
    )]
    Get {
        /// The setting, such as loop.jobs
        #[arg(value_name = "KEY")]
        key: String,
        /// Print where the value comes from, too
        #[arg(long)]
        show_origin: bool,
        /// Print JSON
        #[arg(long, conflicts_with = "show_origin")]
        json: bool,
    },
    /// Set a setting in ralph.toml or in your own config file
    ///
    /// ralph writes into ralph.toml. Outside of a repository, and for settings that ralph.toml may not set, such as
    /// notify.command, it writes into your own config file. Comments and all other lines stay. ralph refuses values
    /// that it would ignore.
    #[command(
        after_help = "Examples:\n  ralph config set loop.jobs 4\n  ralph config set --user budget.day_usd 20\n  ralph config set gates.protected 'tests/**, Cargo.lock'"
    )]
    Set {
        /// The setting, such as loop.jobs
        #[arg(value_name = "KEY")]
        key: String,
        /// The value; a list is a TOML list, or items separated by commas
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        which: change::WhichFile,
    },
    /// Remove a setting from ralph.toml or from your own config file
    #[command(after_help = "Example: ralph config unset loop.jobs")]
    Unset {
        /// The setting, such as loop.jobs
        #[arg(value_name = "KEY")]
        key: String,
        #[command(flatten)]
        which: change::WhichFile,
    },
    /// Open ralph.toml or your own config file in $VISUAL or $EDITOR, then check it
    #[command(after_help = "Examples:\n  ralph config edit\n  ralph config edit --user")]
    Edit {
        #[command(flatten)]
        which: change::WhichFile,
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
            let preset = launch::preset_here(&config, &context.folder());
            match json {
                true => context.out.json(&config::show_json(&config, preset)),
                false => context.out.data(config::show(&config, preset)),
            }
        }
        ConfigCommand::Get { key, show_origin, json } => {
            change::get(key, *show_origin, *json, context)
        }
        ConfigCommand::Set { key, value, which } => change::set(key, value, *which, context),
        ConfigCommand::Unset { key, which } => change::unset(key, *which, context),
        ConfigCommand::Edit { which } => change::edit(*which, context),
        ConfigCommand::Schema => context.out.data(config::schema()),
        ConfigCommand::Defaults => context.out.data(config::DEFAULTS),
        ConfigCommand::Reference => context.out.data(config::reference_markdown()),
        ConfigCommand::Check { file } => check(file.as_ref(), context),
    }
}

fn check(file: Option<&PathBuf>, context: &mut Context<'_>) -> Done {
    let mut sources = context.sources()?;
    if let Some(file) = file {
        let text =
            std::fs::read_to_string(file).map_err(|error| CliError::file(file, "read", error))?;
        sources.repo = Some((file.clone(), text));
    }
    let files = sources.files();
    let loaded = Config::load(sources)?;
    for warning in &loaded.warnings {
        context.out.warning(warning);
    }
    let word = match loaded.warnings.len() {
        0 => "ok".to_owned(),
        1 => "ok, with a warning".to_owned(),
        n => format!("ok, with {n} warnings"),
    };
    context.out.line(format!("{word} ({files})"))
}
