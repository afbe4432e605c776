//! The command line: which commands exist and which module runs each.

use std::io;

use clap::{CommandFactory, FromArgMatches, Parser};

use ralph_core::redact::Secrets;
use ralph_engine::host;

use crate::arguments::{GlobalArgs, answer_of, misread};
use crate::board;
use crate::commands;
use crate::environment::Environment;
use crate::error::CliError;
use crate::exit_codes::Exit;
use crate::session_requests;
use crate::wiring::{Context, Program};

/// Run a coding agent on a plan, session after session, until every task is done; your gates decide
/// what is done
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    disable_help_subcommand = true,
    after_help = "Start here: ralph demo. Then, in your repository: ralph init, ralph task add \"What to do\", ralph build."
)]
struct App {
    #[command(flatten)]
    global: GlobalArgs,
    /// `ralph plan`, as other loops spell it
    #[arg(long, hide = true)]
    plan: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

commands! {
    enum Command {
        Init(commands::init::InitArgs) => commands::init::cmd_init,
        Doctor(commands::doctor::DoctorArgs) => commands::doctor::cmd_doctor,
        Plan(commands::plan::PlanArgs) => commands::plan::cmd_plan,
        Build(Box<commands::build::BuildArgs>) => commands::build::cmd_build,
        Run(Box<commands::build::RunArgs>) => commands::build::cmd_run,
        Loop(Box<commands::loop_::LoopCommandArgs>) => commands::loop_::cmd_loop,
        Prompt(commands::prompt::PromptArgs) => commands::prompt::cmd_prompt,
        Status(commands::status::StatusArgs) => commands::status::cmd_status,
        Logs(commands::logs::LogsArgs) => commands::logs::cmd_logs,
        Replay(commands::replay::ReplayArgs) => commands::replay::cmd_replay,
        Runs(commands::runs::RunsArgs) => commands::runs::cmd_runs,
        Report(commands::report::ReportArgs) => commands::report::cmd_report,
        Serve(commands::serve::ServeArgs) => commands::serve::cmd_serve,
        Bundle(commands::bundle::BundleArgs) => commands::bundle::cmd_bundle,
        Diff(commands::diff::DiffArgs) => commands::diff::cmd_diff,
        Undo(commands::undo::UndoArgs) => commands::undo::cmd_undo,
        Task(Box<commands::task::TaskArgs>) => commands::task::cmd_task,
        Feature(commands::feature::FeatureArgs) => commands::feature::cmd_feature,
        Import(commands::import::ImportArgs) => commands::import::cmd_import,
        Export(commands::export::ExportArgs) => commands::export::cmd_export,
        Trust(commands::trust::TrustArgs) => commands::trust::cmd_trust,
        Recover(commands::recover::RecoverArgs) => commands::recover::cmd_recover,
        Clean(commands::clean::CleanArgs) => commands::clean::cmd_clean,
        Answer(commands::answer::AnswerArgs) => commands::answer::cmd_answer,
        Approve(commands::approve::ApproveArgs) => commands::approve::cmd_approve,
        Reject(commands::approve::RejectArgs) => commands::approve::cmd_reject,
        Tell(commands::tell::TellArgs) => commands::tell::cmd_tell,
        Attach(commands::attach::AttachArgs) => commands::attach::cmd_attach,
        Watch(commands::watch::WatchArgs) => commands::watch::cmd_watch,
        Takeover(commands::takeover::TakeoverArgs) => commands::takeover::cmd_takeover,
        /// Pause: finish the current session, start nothing new
        #[command(after_help = "Example: ralph pause")]
        Pause(commands::control::ControlArgs) => commands::control::cmd_pause,
        /// Resume a paused loop
        #[command(after_help = "Example: ralph resume")]
        Resume(commands::control::ControlArgs) => commands::control::cmd_resume,
        Cancel(commands::control::CancelArgs) => commands::control::cmd_cancel,
        /// Skip a task: stop its session and leave it for you
        #[command(after_help = "Example: ralph skip t-abcd2345")]
        Skip(commands::control::TaskControlArgs) => commands::control::cmd_skip,
        /// Retry a task from scratch: clear its claim, its retries and its open questions
        #[command(after_help = "Example: ralph retry t-abcd2345")]
        Retry(commands::control::TaskControlArgs) => commands::control::cmd_retry,
        Hook(commands::hook::HookArgs) => commands::hook::cmd_hook,
        Config(commands::config::ConfigArgs) => commands::config::cmd_config,
        Demo(commands::demo::DemoArgs) => commands::demo::cmd_demo,
        Completions(commands::completions::CompletionsArgs) => commands::completions::cmd_completions,
        Man(commands::man::ManArgs) => commands::man::cmd_man,
        Help(commands::help::HelpArgs) => commands::help::cmd_help,
        #[command(name = ralph_engine::agents::script::COMMAND, hide = true)]
        ScriptAgent(commands::script_agent::ScriptAgentArgs) => commands::script_agent::cmd_script_agent,
        #[command(name = ralph_engine::session_git::inspect::COMMAND, hide = true)]
        Look(commands::inspect::InspectArgs) => commands::inspect::cmd_inspect,
        #[command(name = "__complete", hide = true)]
        Complete(commands::complete::CompleteArgs) => commands::complete::cmd_complete,
        #[command(name = "__crash-points", hide = true)]
        CrashPoints(commands::crash_points::CrashPointsArgs) => commands::crash_points::cmd_crash_points,
    }
}

/// This program, for commands that need all of it.
pub(crate) const PROGRAM: Program = Program {
    command_line: App::command,
    run,
    session_handler: session_requests::handler,
    ports: board::ports,
};

pub(crate) fn run(environment: &Environment) -> Exit {
    let parsed = App::command().try_get_matches_from(&environment.arguments);
    let parsed = parsed.and_then(|matches| Ok((App::from_arg_matches(&matches)?, matches)));
    let (app, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let shown = misread(&error, environment);
            return match error.use_stderr() {
                true => Exit::Usage,
                // The help is data, like any other.
                false => match shown {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Error,
                    _ => Exit::Success,
                },
            };
        }
    };
    let mut context = Context::new(environment, &app.global, PROGRAM);
    let (kind, json) = answer_of(&matches);
    context.out.answer_as(kind, json);
    host::settle(environment.path.clone(), &context.folder());
    let done = match (app.plan, app.command) {
        (true, None) => commands::plan::cmd_plan_flag(&mut context),
        (true, Some(_)) => {
            Err(CliError::usage("--plan does not go with a command; use: ralph plan"))
        }
        (false, Some(command)) => command.run(&mut context),
        (false, None) => commands::overview::cmd_overview(&mut context),
    };
    let done = done.and_then(|()| context.out.finish());
    match done {
        Ok(()) => Exit::Success,
        Err(error) if error.is_closed_pipe => Exit::Success,
        Err(error) if error.already_reported => error.exit,
        Err(error) => {
            let secrets = Secrets::new(environment.secrets());
            context.out.failure(&error, |text| secrets.redact(text).into_owned());
            error.exit
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::run::Budget;
    use ralph_core::view::RunView;
    use ralph_core::view::next::{self, table};

    use super::*;

    /// The words of a command as a shell takes it apart.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for letter in command.chars() {
            match (quote, letter) {
                (None, '"' | '\'') => quote = Some(letter),
                (Some(open), letter) if open == letter => quote = None,
                (None, ' ') => words.push(String::new()),
                (_, letter) => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    /// A command that ralph tells people to type must not be refused.
    #[test]
    fn every_next_command_of_a_run_is_one_that_ralph_takes() {
        let budget = Budget { micro_usd: 1, tokens: 1, time_ms: 1, ..Budget::default() };
        let mut commands: Vec<String> =
            ["answer q-1 \"…\"", "task show t-1", "retry t-1"].map(|c| format!("ralph {c}")).into();
        for row in table::ROWS {
            for (kind, step) in row.kinds.iter().flat_map(|k| row.steps.iter().map(move |s| (k, s)))
            {
                for target in ["all tasks", "feature login", "task t-1", "docs/plan.md"] {
                    let (mode, target) = (kind.to_string(), target.to_owned());
                    let view = RunView { mode, target, budget, ..RunView::default() };
                    commands.push(next::command(*step, &view));
                }
            }
        }
        commands.sort();
        commands.dedup();
        let mut ours = 0;
        for command in commands.iter().filter(|command| command.starts_with("ralph ")) {
            // Text without a feature would be a hole in the command.
            if command.contains("  ") || command.ends_with(' ') {
                continue;
            }
            let parsed = App::command().try_get_matches_from(words(command));
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
            ours += 1;
        }
        assert!(ours > 30, "{ours} of {}", commands.len());
    }
}
