//! The interview: the agent asks and the user answers, until the spec is written. Each round is a separate
//! run; questions and answers are on disk before the next one starts.

use std::io::{self, IsTerminal};

use ralph_core::FeatureName;
use ralph_core::run::StopReason;
use ralph_core::text;
use ralph_engine::asking::{self, Typed};
use ralph_engine::features::FeatureFiles;
use ralph_engine::interview::{Asked, DECIDE_YOURSELF, Interview};
use ralph_ui::line::wrap;
use ralph_ui::style::Meaning;

use super::{Left, fallen_short, run};
use crate::commands::flags::SessionArgs;
use crate::commands::task::text_error;
use crate::error::{CliError, Done, quoted};
use crate::exit_codes::Exit;
use crate::launch::{self, FeatureWork, Stage};
use crate::wire::Context;

/// The input of this call.
pub(super) struct Given<'a> {
    /// What the user wants; may be empty.
    pub(super) idea: &'a str,
    /// The answer to the open question.
    pub(super) answer: Option<&'a str>,
}

/// Runs the interview until the spec is written or a question stays open.
pub(super) fn hold(
    name: &FeatureName,
    files: &FeatureFiles,
    given: &Given<'_>,
    session: &SessionArgs,
    context: &mut Context<'_>,
) -> Done {
    let mut talk = load(files)?;
    take_in(name, given, &mut talk)?;
    let sessions = launch::sessions_for_texts(&context.config()?);
    let mut left = Left { sessions, spent: 0 };
    loop {
        save(&talk, files)?;
        if let Some(asked) = talk.open() {
            asked.answer = Some(ask(name, &asked.text, context)?);
            continue;
        }
        if left.sessions == Some(0) {
            return Err(CliError::failed("this interview has reached its limit of sessions")
                .hint(format!("continue: ralph feature create {name} --interview"))
                .hint(format!("or write the spec yourself: ralph feature create {name} --edit")));
        }
        let stage = Stage::Spec(talk.clone());
        let outcome = run(FeatureWork { name: name.clone(), stage }, &left, session, context)?;
        left.sessions = left.sessions.map(|left| left.saturating_sub(outcome.iterations.max(1)));
        left.spent += outcome.usage.cost_micro_usd.unwrap_or(0);
        match &outcome.reason {
            StopReason::Session => return Ok(()),
            StopReason::Asked { question } => {
                talk.questions.push(Asked { text: question.clone(), answer: None });
            }
            _ => {
                let again = format!("ralph feature create {name} --interview");
                return Err(fallen_short(&outcome, "spec.md", &again));
            }
        }
    }
}

pub(super) fn load(files: &FeatureFiles) -> Result<Interview, CliError> {
    let path = files.interview();
    Interview::load(&path).map_err(|error| {
        CliError::failed(format!("{} cannot be read: {error}", path.display()))
            .hint(format!("fix it, or restart the interview: rm {}", quoted(&path)))
    })
}

fn save(talk: &Interview, files: &FeatureFiles) -> Done {
    let path = files.interview();
    if *talk == Interview::default() {
        return Ok(());
    }
    talk.save(&path)
        .map_err(|error| CliError::failed(format!("{} cannot be written: {error}", path.display())))
}

/// Records the idea and the answer of this call.
fn take_in(name: &FeatureName, given: &Given<'_>, talk: &mut Interview) -> Done {
    if !given.idea.trim().is_empty() {
        talk.idea = text::long("idea", given.idea.trim()).map_err(text_error)?;
    }
    let Some(answer) = given.answer else { return Ok(()) };
    let Some(asked) = talk.open() else {
        return Err(CliError::new(
            Exit::NotEligible,
            format!("there is no open question about {name}"),
        )
        .hint(format!("start or continue: ralph feature create {name} --interview")));
    };
    asked.answer = Some(meant(answer)?);
    Ok(())
}

/// The answer; an empty one lets the agent decide.
fn meant(answer: &str) -> Result<String, CliError> {
    match answer.trim() {
        "" => Ok(DECIDE_YOURSELF.to_owned()),
        answer => text::long("answer", answer).map_err(text_error),
    }
}

/// Asks the user at the terminal; without a terminal the question stays open.
fn ask(name: &FeatureName, question: &str, context: &mut Context<'_>) -> Result<String, CliError> {
    let look = context.out.message_look;
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let lines = wrap(question.trim(), look.width.map(|width| width.saturating_sub(2)));
        let indented: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        let what = format!("a question about {name} is open");
        return Err(open_question(name, &what).excerpt(indented.join("\n")));
    }
    let heading = look.paint(Meaning::Heading, "Question");
    let lines = wrap(question.trim(), look.width).join("\n");
    context.out.error(format!("\n{heading}\n{lines}\n"));
    context.out.prompt("Your answer (empty: the agent decides): ");
    let typed = asking::line()?;
    if !matches!(typed, Typed::Line(_)) {
        context.out.error("");
    }
    match typed {
        Typed::Line(line) => meant(&line),
        Typed::End => Err(open_question(name, "the question stays open")),
        Typed::Interrupted => {
            Err(open_question(name, "the question stays open").with_exit(Exit::Cancelled))
        }
    }
}

fn open_question(name: &FeatureName, what: &str) -> CliError {
    CliError::new(Exit::Blocked, what)
        .hint(format!("answer it: ralph feature create {name} --answer \"…\""))
        .hint("let the agent decide: --answer \"\"")
}
