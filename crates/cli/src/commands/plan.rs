//! `ralph plan`: writes or updates the plan.

use std::path::Path;

use clap::Args;

use super::apart;
use super::build::sorted_out;
use super::flags::{LimitArgs, SessionArgs, of_limits};
use crate::config::key;
use crate::error::{CliError, Done};
use crate::launch::{Mode, RunOptions};
use crate::wiring::Context;

/// Write the plan: for an idea in a sentence, or from specifications and code
///
/// With an idea, the agent plans what the idea needs and adds the tasks to the plan, which names the idea.
/// Without one, it reads specs/ and the code and writes down what is missing. It keeps the format of an existing
/// plan; without one it writes implementation_plan.md. If you name a file, the agent writes or updates it; a text
/// without checkboxes becomes a list of tasks. ralph does not commit changes outside the plan: it saves them and
/// names them.
///
/// Planning ends when the agent says that the plan is complete, when two sessions in a row change nothing, or
/// after 10 sessions. If ralph cannot read the plan, the agent gets the line with the error. The instructions
/// are in PROMPT_plan.md, if that file exists.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph plan \"Dark mode that follows the system\"\n  ralph plan\n  ralph plan 3 --model opus\n  ralph plan TODO.md"
)]
pub(crate) struct PlanArgs {
    /// An idea in a sentence, the maximum number of sessions (0 = unlimited), and the file to write or to turn into
    /// a plan, all optional
    #[arg(value_name = "IDEA|N|FILE", num_args = 0..=3)]
    given: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) fn cmd_plan(args: &PlanArgs, context: &mut Context<'_>) -> Done {
    let folder = context.folder();
    let (ideas, rest): (Vec<String>, Vec<String>) =
        args.given.iter().cloned().partition(|text| is_idea(text, &folder));
    let (sessions, plan) = sorted_out(&rest)?;
    let idea = match &ideas[..] {
        [] => None,
        [idea] if idea.trim().is_empty() => {
            return Err(CliError::usage("the idea is empty")
                .hint("say what to plan: ralph plan \"Dark mode that follows the system\""));
        }
        [idea] => Some(idea.trim().to_owned()),
        [first, ..] => {
            return Err(CliError::usage("plan one idea at a time")
                .hint(format!("put the whole idea in quotes: ralph plan \"{first} …\"")));
        }
    };
    let options = RunOptions { plan, idea, ..RunOptions::default() };
    start(options, sessions, (&args.limits, &args.session), context)
}

/// Whether an argument is an idea. A number, an existing file and a file name are not.
fn is_idea(text: &str, folder: &Path) -> bool {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lower = text.to_ascii_lowercase();
    let is_name = !text.contains(char::is_whitespace)
        && (text.contains('/')
            || [".md", ".markdown", ".txt", ".json"].iter().any(|end| lower.ends_with(end)));
    !is_number && !is_name && (text.is_empty() || !folder.join(text).exists())
}

pub(super) fn start(
    options: RunOptions,
    sessions: Option<u32>,
    (limits, session): (&LimitArgs, &SessionArgs),
    context: &mut Context<'_>,
) -> Done {
    context.lay(of_limits(sessions, limits, session, key::PROMPTS_PLAN, &context.folder())?);
    let (once, new) = (limits.once, limits.new);
    let options = RunOptions { mode: Mode::Plan, once, new, ..options };
    apart::launch(&options, limits.serve, context)
}

/// `ralph --plan`, as other loops spell it.
pub(crate) fn cmd_plan_flag(context: &mut Context<'_>) -> Done {
    apart::launch(&RunOptions { mode: Mode::Plan, ..RunOptions::default() }, false, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_an_idea_and_names_are_files() {
        let folder = std::env::temp_dir();
        for idea in ["Dark mode", "login", "Write README.md", "3 more tests", ""] {
            assert!(is_idea(idea, &folder), "{idea}");
        }
        for other in ["3", "TODO.md", "docs/plan", "Plan.TXT", "."] {
            assert!(!is_idea(other, &folder), "{other}");
        }
    }
}
