//! `ralph status`: the current state, once or updated until the run ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use ralph_core::run::RunEvent;
use ralph_core::view::RunView;
use ralph_engine::clock;
use ralph_ui::status::StatusPage;

use crate::attach;
use crate::error::{Done, Result};
use crate::status_query::{self, RunFiles};
use crate::wiring::Context;

/// Show the current run, the plan, open questions and what to type next
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph status --watch")]
pub(crate) struct StatusArgs {
    /// Keep the page up to date until the run ends
    #[arg(long)]
    watch: bool,
    /// Print JSON; with --watch a line for each change
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_status(args: &StatusArgs, context: &mut Context<'_>) -> Done {
    if args.watch
        && let Some(lines) = attach::follow(context)?
    {
        return watch(&lines, args.json, context);
    }
    let page = status_query::now(context)?;
    print(&page, args.json, context)?;
    if args.watch {
        attach::report_no_run(context);
    }
    Ok(())
}

fn print(page: &StatusPage, json: bool, context: &mut Context<'_>) -> Done {
    match json {
        true => context.out.json(page)?,
        false => context.out.data(page.text(context.out.style))?,
    }
    Ok(())
}

/// Shows the page again whenever something happens. On a terminal it is rewritten in place; without one, or on a
/// dumb one, it is printed at the beginning and at the end.
fn watch(lines: &Receiver<String>, json: bool, context: &mut Context<'_>) -> Done {
    let mut view = RunView::default();
    let mut shown: Option<StatusPage> = None;
    let mut rows = 0;
    let is_terminal = context.out.style.is_terminal() && !context.environment.is_dumb;
    loop {
        let first = lines.recv_timeout(Duration::from_secs(1));
        let over = matches!(first, Err(RecvTimeoutError::Disconnected));
        let news: Vec<String> = first.into_iter().chain(lines.try_iter()).collect();
        for event in news.iter().filter_map(|line| serde_json::from_str::<RunEvent>(line).ok()) {
            view.apply(&event);
        }
        let page = match &shown {
            Some(page) if news.is_empty() && !over => {
                StatusPage { now: clock::now(), ..page.clone() }
            }
            _ => {
                let run_files = RunFiles::read(context)?;
                let mut page = status_query::page(&run_files, Some(view.clone()), context)?;
                page.next.retain(|command| command != "ralph status --watch");
                page
            }
        };
        if json {
            if !news.is_empty() {
                print(&page, true, context)?;
            }
        } else if is_terminal {
            rows = draw(rows, &page, context)?;
        } else if shown.is_none() || over {
            print(&page, false, context)?;
        }
        context.out.finish()?;
        if over {
            return Ok(());
        }
        shown = Some(page);
    }
}

/// Writes the page over the last `rows` rows of a terminal. Returns how many it has now.
fn draw(rows: usize, page: &StatusPage, context: &mut Context<'_>) -> Result<usize> {
    let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
    let mut text = if rows > 0 { format!("\u{1b}[{rows}F") } else { String::new() };
    // Rows beyond the screen cannot be rewritten in place.
    let page = page.text(context.out.style);
    let lines: Vec<&str> = page.lines().take(height.saturating_sub(1)).collect();
    for line in &lines {
        text.push_str(&format!("{line}\u{1b}[K\n"));
    }
    text.push_str("\u{1b}[J");
    context.out.data(text)?;
    Ok(lines.len())
}
