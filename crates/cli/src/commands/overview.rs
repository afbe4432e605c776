//! Bare `ralph`: the current state in a few lines, and what to type next.

use ralph_engine::project::{Project, ProjectError};
use ralph_ui::line::TextLine;
use ralph_ui::style::Meaning;

use crate::error::Done;
use crate::status_query::{self, NextStep};
use crate::wiring::Context;

pub(crate) fn cmd_overview(context: &mut Context<'_>) -> Done {
    if let Err(ProjectError::NoRepository(_)) = Project::find(&context.folder()) {
        context.out.line("This is not a git repository, and ralph needs one.")?;
        let steps = [("git init", "create one here"), ("ralph demo", "see ralph at work first")];
        return next(context, &steps.map(|(command, why)| (command.to_owned(), why.into())));
    }
    let page = status_query::now(context)?;
    let nothing_yet = page.run.is_none();
    for line in page.brief(context.out.style) {
        context.out.line(line)?;
    }
    let mut steps = status_query::next(&page, &context.project()?);
    if nothing_yet && page.counts.total() == 0 {
        steps.push(("ralph demo".to_owned(), "see ralph at work first".into()));
    }
    next(context, &steps)
}

fn next(context: &mut Context<'_>, steps: &[NextStep]) -> Done {
    let style = context.out.style;
    let width = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    context.out.line("")?;
    for (command, why) in steps {
        let line = TextLine::new().plain("  ").add(Meaning::Name, format!("{command:<width$}"));
        let line = line.plain("  ").flexible(Some(Meaning::Faint), why);
        context.out.line(line.show(style))?;
    }
    Ok(())
}
