//! The interview: the agent asks and the user answers, until the spec is written. Each session is a separate run;
//! questions and answers are on disk before the next one starts, so the same command continues after any stop.
//!
//! At a terminal the user sees one conversation: a greeting, one question at a time, and one end with the cost of
//! all runs. Without a terminal, and with `--ui json`, a call ends at the first open question.

use ralph_core::FeatureName;
use ralph_core::agent::Usage;
use ralph_core::run::{Outcome, StopReason};
use ralph_core::text;
use ralph_core::view::words::count;
use ralph_engine::asking::{self, Typed};
use ralph_engine::features::FeatureFiles;
use ralph_engine::interrupts::Interrupts;
use ralph_engine::interview::{DECIDE_YOURSELF, Interview, InterviewQuestion};
use ralph_ui::line::{paragraph, wrap};
use ralph_ui::plain::{self, Conversation};
use ralph_ui::style::Meaning;
use ralph_ui::units::brief_duration;

use super::{Call, fallen_short, run};
use crate::commands::flags::SessionArgs;
use crate::error::{CliError, Done, Result, quoted};
use crate::exit_codes::Exit;
use crate::launch::{self, DisplayKind, FeatureStep, FeatureWork};
use crate::trust::may_ask;
use crate::wiring::Context;

#[derive(Debug, Default)]
struct Totals {
    usage: Usage,
    unpriced: bool,
    duration_ms: u64,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.unpriced |= outcome.usage.cost_micro_usd.is_none();
        self.usage = self.usage.plus(outcome.usage);
        self.duration_ms += outcome.duration_ms;
    }

    /// `3 answers, 1m 20s, $0.41 (36k tokens in, 1.2k out)`.
    fn words(&self, talk: &Interview) -> String {
        let mut words = vec![count(talk.answers().len() as u64, "answer")];
        if self.duration_ms > 0 {
            words.push(brief_duration(self.duration_ms));
        }
        words.extend(plain::spent(self.usage, self.unpriced));
        words.join(", ")
    }
}

/// Runs the interview until the spec is written or a question stays open.
pub(super) fn hold(
    name: &FeatureName,
    files: &FeatureFiles,
    (idea, answer): (&str, Option<&str>),
    session: &SessionArgs,
    context: &mut Context<'_>,
) -> Done {
    let mut talk = load(files)?;
    take_in(name, idea, answer, &mut talk)?;
    let sessions = launch::sessions_for_texts(&context.config()?);
    let mut call = Call { sessions, ..Call::default() };
    if may_ask() && launch::chosen_display(&context.config()?) != DisplayKind::Json {
        call.conversation = Some(Conversation::default());
        greet(name, &talk, context);
    }
    let interrupts = Interrupts::listen()?;
    let mut totals = Totals::default();
    loop {
        save(&talk, files)?;
        if interrupts.was_interrupted() {
            return Err(stopped(name, &talk, &totals, Exit::Cancelled, context));
        }
        if talk.open().is_some() {
            if call.conversation.is_none() {
                return Err(open_question(name, &talk, context));
            }
            let exit = match ask(&mut talk, context)? {
                Typed::Line(line) => {
                    talk.answer(&meant(&line)?);
                    continue;
                }
                Typed::End => Exit::Blocked,
                Typed::Interrupted => Exit::Cancelled,
            };
            return Err(stopped(name, &talk, &totals, exit, context));
        }
        if call.sessions == Some(0) {
            return Err(CliError::failed("this interview has reached its limit of sessions")
                .hint(format!("continue: ralph feature create {name} --interview"))
                .hint(format!("or write the spec yourself: ralph feature create {name} --edit")));
        }
        let stage = FeatureStep::Spec(talk.clone());
        let outcome = run(FeatureWork { name: name.clone(), stage }, &call, session, context)?;
        totals.add(&outcome);
        call.sessions = call.sessions.map(|left| left.saturating_sub(outcome.iterations.max(1)));
        call.spent += outcome.usage.cost_micro_usd.unwrap_or(0);
        if let Some(question) = outcome.question() {
            talk.questions.push(InterviewQuestion { text: question.to_owned(), answer: None });
            save(&talk, files)?;
        }
        match (&outcome.reason, &call.conversation) {
            (StopReason::Asked { .. }, _) => {}
            (StopReason::Session, conversation) => {
                if conversation.is_some() {
                    finished(&talk, &totals, context);
                }
                return Ok(());
            }
            (StopReason::Cancelled, Some(_)) => {
                return Err(stopped(name, &talk, &totals, Exit::Cancelled, context));
            }
            (_, conversation) => {
                if conversation.is_some() {
                    context.out.note(format!("\nInterview so far: {}", totals.words(&talk)));
                }
                let again = format!("ralph feature create {name} --interview");
                return Err(fallen_short(&outcome, "spec.md", &again));
            }
        }
    }
}

fn greet(name: &FeatureName, talk: &Interview, context: &mut Context<'_>) {
    let style = context.out.message_style;
    let heading = style.paint(Meaning::Heading, format!("Interview about {name}"));
    let begun = match talk.answers().len() {
        0 => String::new(),
        answered => format!(", {} so far", count(answered as u64, "answer")),
    };
    let how = "The agent reads your code, asks what it needs to know, and writes the spec. \
               Enter alone lets the agent decide. Ctrl-D stops; the same command continues later.";
    let how = paragraph(2, Some(Meaning::Faint), how, style).join("\n");
    context.out.note(format!("{heading}{begun}\n{how}"));
}

fn finished(talk: &Interview, totals: &Totals, context: &mut Context<'_>) {
    let style = context.out.message_style;
    let (mark, words) = (style.paint(Meaning::Good, "✓"), totals.words(talk));
    context.out.note(format!("\n{mark} Spec written after {words}"));
}

/// The last words of a call that the user stops.
fn stopped(
    name: &FeatureName,
    talk: &Interview,
    totals: &Totals,
    exit: Exit,
    context: &mut Context<'_>,
) -> CliError {
    let at = match talk.open() {
        Some(number) => format!("Stopped at question {number}"),
        None => "Stopped".to_owned(),
    };
    let next = context.out.message_style.paint(Meaning::Heading, "Next: ");
    context.out.error(format!(
        "\n{at} after {}. Your answers are saved.\n{next}ralph feature create {name} --interview",
        totals.words(talk)
    ));
    CliError::already_reported(exit.code())
}

pub(super) fn load(files: &FeatureFiles) -> Result<Interview> {
    let path = files.interview();
    Interview::load(&path).map_err(|error| {
        CliError::file(&path, "read", error)
            .hint(format!("fix it, or restart the interview: rm {}", quoted(&path)))
    })
}

fn save(talk: &Interview, files: &FeatureFiles) -> Done {
    let path = files.interview();
    if *talk == Interview::default() {
        return Ok(());
    }
    talk.save(&path).map_err(|error| CliError::file(&path, "written", error))
}

fn take_in(name: &FeatureName, idea: &str, answer: Option<&str>, talk: &mut Interview) -> Done {
    if !idea.trim().is_empty() {
        talk.idea = text::long("idea", idea.trim())?;
    }
    let Some(answer) = answer else { return Ok(()) };
    if talk.open().is_none() {
        return Err(refused!("there is no open question about {name}")
            .hint(format!("start or continue: ralph feature create {name} --interview")));
    }
    talk.answer(&meant(answer)?);
    Ok(())
}

/// The answer; an empty one lets the agent decide.
fn meant(answer: &str) -> Result<String> {
    match answer.trim() {
        "" => Ok(DECIDE_YOURSELF.to_owned()),
        answer => Ok(text::long("answer", answer)?),
    }
}

/// Asks the open question at the terminal; one of several at a time.
fn ask(talk: &mut Interview, context: &mut Context<'_>) -> Result<Typed> {
    talk.split_open();
    let (Some(number), Some(text)) = (talk.open(), talk.open_text()) else {
        return Ok(Typed::End);
    };
    let style = context.out.message_style;
    let heading = style.paint(Meaning::Heading, format!("Question {number}"));
    let lines = paragraph(2, None, text.trim(), style).join("\n");
    context.out.error(format!("\n{heading}\n{lines}\n"));
    asking::forget_typed();
    context.out.prompt("Your answer (empty: the agent decides): ");
    let typed = asking::answer()?;
    if !matches!(typed, Typed::Line(_)) {
        context.out.error("");
    }
    Ok(typed)
}

/// The question that a call without a terminal ends with.
fn open_question(name: &FeatureName, talk: &Interview, context: &Context<'_>) -> CliError {
    let room = context.out.message_style.width.map(|width| width.saturating_sub(2));
    let lines = wrap(talk.open_text().unwrap_or_default().trim(), room);
    let indented: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    CliError::new(Exit::Blocked, format!("a question about {name} is open"))
        .hint(format!("answer it: ralph feature create {name} --answer \"…\""))
        .hint("let the agent decide: --answer \"\"")
        .excerpt(indented.join("\n"))
}
