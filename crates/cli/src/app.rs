//! The command line: what there is and who does it.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::environment::Environment;
use crate::error::CliError;
use crate::exit_codes::Exit;
use crate::output::Color;
use crate::wire::Context;

/// Tasks for coding agents: a plan, claims and history that many processes share.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    disable_help_subcommand = true,
    after_help = "Start here: ralph demo, then ralph task add \"What to do\"."
)]
struct App {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// Read this file instead of the repository's ralph.toml
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Override a setting for this call (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub(crate) set: Vec<String>,
    /// When to use colours
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_default_value = true,
        global = true
    )]
    pub(crate) color: Color,
    /// Say only what was asked for
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more about what is done
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Task(Box<commands::task::TaskArgs>),
    Feature(commands::feature::FeatureArgs),
    Import(commands::import::ImportArgs),
    Export(commands::export::ExportArgs),
    Config(commands::config::ConfigArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    Help(commands::help::HelpArgs),
}

/// The command line as data, for completions, manual pages and the reference.
pub(crate) fn command_line() -> clap::Command {
    App::command()
}

/// Runs the call and tells how it ended.
pub(crate) fn run(environment: &Environment) -> Exit {
    let matches = match command_line().try_get_matches_from(&environment.arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    let app = match App::from_arg_matches(&matches) {
        Ok(app) => app,
        Err(error) => {
            let _ = error.print();
            return Exit::Usage;
        }
    };
    let mut context = Context::new(environment, &app.global);
    let done = dispatch(app.command, &mut context)
        .and_then(|()| context.out.finish().map_err(CliError::from));
    match done {
        Ok(()) => Exit::Success,
        Err(error) if error.is_closed_pipe => Exit::Success,
        Err(error) => {
            let text = error.render(context.out.message_look);
            context.out.error(text);
            error.exit
        }
    }
}

fn dispatch(command: Option<Command>, context: &mut Context<'_>) -> Result<(), CliError> {
    match command {
        None => commands::overview::cmd_overview(context),
        Some(Command::Task(args)) => commands::task::cmd_task(*args, context),
        Some(Command::Feature(args)) => commands::feature::cmd_feature(args, context),
        Some(Command::Import(args)) => commands::import::cmd_import(&args, context),
        Some(Command::Export(args)) => commands::export::cmd_export(&args, context),
        Some(Command::Config(args)) => commands::config::cmd_config(&args, context),
        Some(Command::Demo(args)) => commands::demo::cmd_demo(&args, context),
        Some(Command::Completions(args)) => commands::completions::cmd_completions(&args, context),
        Some(Command::Man(args)) => commands::man::cmd_man(&args, context),
        Some(Command::Help(args)) => commands::help::cmd_help(&args, context),
    }
}
