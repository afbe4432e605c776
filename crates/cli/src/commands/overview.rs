//! Bare `ralph`: where the plan stands, and what to type next.

use ralph_core::task::Counts;
use ralph_engine::ports::Scope;
use ralph_engine::project::{Project, ProjectError};
use ralph_ui::style::Meaning;

use crate::error::Done;
use crate::wire::Context;

pub(crate) fn cmd_overview(context: &mut Context<'_>) -> Done {
    let look = context.out.look;
    if let Err(ProjectError::NoRepository(_)) = Project::find(&context.folder()) {
        context.out.line("There is no git repository here; ralph keeps its plan in one.")?;
        return next(
            context,
            &[("git init", "make one here"), ("ralph demo", "see ralph at work first")],
        );
    }
    let counts = context.reader()?.counts(&Scope::All)?;
    if counts.total() == 0 {
        context.out.line("The plan is empty.")?;
        return next(
            context,
            &[
                ("ralph task add \"What to do\"", "add the first task"),
                ("ralph import FILE", "bring in a plan (prd.json, beads)"),
                ("ralph demo", "see ralph at work first"),
            ],
        );
    }
    context.out.line(look.paint(Meaning::Heading, counts))?;
    next(context, &next_steps(&counts))
}

fn next_steps(counts: &Counts) -> Vec<(&'static str, &'static str)> {
    let mut steps = Vec::new();
    if counts.open > 0 {
        steps.push(("ralph task ready", "what could be done now"));
        steps.push(("ralph task claim", "take the first of them"));
    }
    if counts.failed > 0 {
        steps.push(("ralph task list --status failed", "what was given up"));
    }
    if counts.waiting > 0 {
        steps.push(("ralph task list --status waiting", "what waits for a person"));
    }
    if counts.unresolved() == 0 {
        steps.push(("ralph task list", "everything is done or failed"));
    } else {
        steps.push(("ralph task tree", "the whole plan"));
    }
    steps
}

fn next(context: &mut Context<'_>, steps: &[(&str, &str)]) -> Done {
    let look = context.out.look;
    let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    context.out.line("")?;
    for (command, why) in steps {
        let command = look.paint(Meaning::Name, format!("{command:<width$}"));
        let why = look.paint(Meaning::Faint, why);
        context.out.line(format!("  {command}  {why}"))?;
    }
    Ok(())
}
