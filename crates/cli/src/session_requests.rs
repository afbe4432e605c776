//! The loop's side of `ralph task` in a session: carries out the same commands on behalf of the session, and sends
//! their output back.

use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use ralph_core::redact::Secrets;
use ralph_core::task::Actor;
use ralph_engine::project::Project;
use ralph_engine::socket::{Call, Reply, SessionIdentity, SessionRequestHandler};
use ralph_ui::style::TextStyle;

use crate::arguments::{GlobalArgs, answer_of, misread_json, misread_text};
use crate::commands::hook::HookEvent;
use crate::commands::task::{TaskArgs, cmd_hook_for_session, cmd_task_for_session};
use crate::config::Config;
use crate::environment::Environment;
use crate::exit_codes::Exit;
use crate::output::Output;
use crate::wiring::{Context, Program};

/// Answers the sessions of a run, with the project and the settings that the run started with.
struct TaskHandler {
    program: Program,
    environment: Environment,
    project: Project,
    config: Config,
    secrets: Secrets,
}

pub(crate) fn handler(
    context: &Context<'_>,
    project: Project,
    config: Config,
) -> Arc<dyn SessionRequestHandler> {
    Arc::new(TaskHandler::new(context.program, context.environment.clone(), project, config))
}

/// The arguments of a call.
#[derive(Debug, Parser)]
#[command(name = "ralph task", no_binary_name = true)]
struct Words {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(flatten)]
    task: TaskArgs,
}

impl TaskHandler {
    fn new(program: Program, environment: Environment, project: Project, config: Config) -> Self {
        let secrets = Secrets::new(environment.secrets());
        Self { program, environment, project, config, secrets }
    }

    fn carry_out(&self, identity: &SessionIdentity, call: &Call) -> Result<Reply, clap::Error> {
        let hook = match call.argv.as_slice() {
            [hook, event] if hook == "hook" => HookEvent::from_str(event, false).ok(),
            _ => None,
        };
        let (GlobalArgs { quiet, verbose, color, .. }, task, kind, json) = match hook {
            Some(_) => (GlobalArgs::default(), None, String::new(), false),
            None => {
                let matches = Words::command().try_get_matches_from(&call.argv)?;
                let (kind, json) = answer_of(&matches);
                let words = Words::from_arg_matches(&matches)?;
                (words.global, Some(words.task), format!("task.{kind}"), json)
            }
        };
        // Folder, config file and settings are those of the run. If a session could choose them, it could read any
        // file of the user.
        let global = GlobalArgs { quiet, verbose, ..GlobalArgs::default() };
        let style = |auto| TextStyle {
            color: color.or(auto),
            width: call.width.map(|width| width.clamp(40, 500)),
        };
        let mut context = Context::for_session(
            &self.environment,
            &global,
            (self.program, Output::kept(style(call.color), style(call.message_color), quiet)),
            (self.project.clone(), self.config.clone()),
            (Actor::Agent(identity.agent.clone(), None), call.stdin.clone()),
        );
        context.out.answer_as(kind, json);
        let done = match (hook, task) {
            (Some(event), _) => cmd_hook_for_session(event, identity, &mut context),
            (None, Some(task)) => cmd_task_for_session(task, identity, &mut context),
            (None, None) => Ok(()),
        };
        let code = match done {
            Ok(()) => Exit::Success,
            Err(error) => {
                context.out.failure(&error, str::to_owned);
                error.exit
            }
        };
        let (out, err) = context.out.into_texts();
        Ok(Reply { code: code.code(), out, err })
    }
}

impl SessionRequestHandler for TaskHandler {
    fn answer(&self, identity: &SessionIdentity, call: &Call) -> Reply {
        let clean = |text: &String| self.secrets.redact_exact(text).into_owned();
        let argv = call.argv.iter().map(clean).collect();
        let call = &Call { argv, stdin: clean(&call.stdin), ..call.clone() };
        self.carry_out(identity, call).unwrap_or_else(|error| {
            let as_json = error.use_stderr() && call.argv.iter().any(|word| word == "--json");
            let text = match as_json {
                true => misread_json(&error, str::to_owned) + "\n",
                false => misread_text(&error, call.message_color),
            };
            match error.use_stderr() {
                true => Reply { code: Exit::Usage.code(), out: String::new(), err: text },
                false => Reply { code: Exit::Success.code(), out: text, err: String::new() },
            }
        })
    }
}

#[cfg(test)]
mod tests;
