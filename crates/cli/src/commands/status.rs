//! `ralph status`: the current state, once or updated until the run ends.

use std::time::Duration;

use clap::Args;
use ralph_core::view::RunView;
use ralph_core::view::live::LiveView;
use ralph_core::view::stream::{EventSource, Next, Observed};
use ralph_engine::clock::{self, Stopwatch};
use ralph_engine::observe::AllSource;
use ralph_ui::status::StatusPage;

use crate::attach;
use crate::error::{Done, Result};
use crate::status_query::{self, RunFiles};
use crate::wiring::Context;

/// How often the page shows the time while nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// What happens within this time is shown together.
const TOGETHER: Duration = Duration::from_millis(100);

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
        && let Some(mut runs) = attach::follow(context)?
    {
        return watch(&mut runs, args.json, context);
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
fn watch(source: &mut AllSource, json: bool, context: &mut Context<'_>) -> Done {
    let mut live = LiveView::default();
    // The first page is there at once: the stream begins with everything that has happened.
    let mut shown = page(&live, context)?;
    let is_terminal = context.out.style.is_terminal() && !context.environment.is_dumb;
    let mut rows = match is_terminal && !json {
        true => draw(0, &shown, context)?,
        false => print(&shown, json, context).map(|()| 0)?,
    };
    context.out.finish()?;
    loop {
        let news = read(source, &mut live);
        let before = shown;
        shown = match news {
            News::None => before.at(clock::now()),
            _ => page(&live, context)?,
        };
        if json {
            // The end may change the page without another fact.
            let is_other = news == News::Over && before.at(shown.now) != shown;
            if news == News::Facts || is_other {
                print(&shown, true, context)?;
            }
        } else if is_terminal {
            rows = draw(rows, &shown, context)?;
        } else if news == News::Over {
            print(&shown, false, context)?;
        }
        context.out.finish()?;
        if news == News::Over {
            return Ok(());
        }
    }
}

/// What has happened since the page was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    None,
    /// Agents said something.
    Output,
    Facts,
    Over,
}

/// Waits for something to happen, and takes it in with all that follows at once.
fn read(source: &mut AllSource, live: &mut LiveView) -> News {
    let mut news = News::None;
    let mut wait = TICK;
    let mut since = None;
    loop {
        let seen = match source.next(wait) {
            Next::Seen(seen) => seen,
            Next::Quiet => return news,
            Next::Over => return News::Over,
        };
        live.apply(&seen);
        news = news.max(match seen.what {
            Observed::Agent { .. } | Observed::Missed { .. } => News::Output,
            _ => News::Facts,
        });
        let since = since.get_or_insert_with(Stopwatch::start);
        wait = TOGETHER.saturating_sub(since.elapsed());
        if wait.is_zero() {
            return news;
        }
    }
}

/// The page with what the stream says about the run of this worktree and those of the branches.
fn page(live: &LiveView, context: &mut Context<'_>) -> Result<StatusPage> {
    let run_files = RunFiles::read(context)?;
    let own = live.runs.iter().rev().find(|run| run.name.is_empty() && run.view.run.is_some());
    let run = match own {
        Some(run) => Some(run.view.clone()),
        None => {
            Some(run_files.journal()?).filter(|all| !all.is_empty()).map(|all| RunView::of(&all))
        }
    };
    let mut page = status_query::page(&run_files, run, &live.runs, context)?;
    page.next.retain(|command| command != "ralph status --watch");
    Ok(page)
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
