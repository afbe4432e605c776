//! A run as a process of its own, shown on the whole screen: it goes on whatever happens to the terminal. The process is
//! this program with the same arguments, and the display reads it like any other.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use std::os::unix::process::ExitStatusExt;

use ralph_engine::host;
use ralph_engine::run_files::WorktreeLock;
use ralph_ui::tui::Ended;

use super::serve;
use super::watch::{GOES_ON, need_terminal, show};
use crate::error::{CliError, Done, Result};
use crate::launch::{self, DisplayKind, Mode, RunOptions};
use crate::status_query::{self, RunFiles};
use crate::trust;
use crate::wiring::Context;

/// How often the display looks whether the run has begun or ended.
const MOMENT: Duration = Duration::from_millis(50);
/// How long a run that has recorded its end may take to clean up before the user sees the shell again.
const CLEANUP: u32 = 200;
/// How many lines of what a run printed last are shown, where it printed no summary.
const LAST: usize = 20;

/// Runs in this process, or in one of its own where the settings choose the whole screen. Serves the page beside the run,
/// if that is asked for.
pub(super) fn launch(options: &RunOptions, serve: bool, context: &mut Context<'_>) -> Done {
    let tui = launch::chosen_display(&context.config()?) == DisplayKind::Tui;
    match tui && matches!(options.mode, Mode::Build | Mode::Plan) {
        true if serve => Err(CliError::usage("the whole screen would hide the link of --serve")
            .hint("serve the page from another terminal: ralph serve")),
        true => on_whole_screen(context),
        false => {
            serve::beside(serve, context);
            launch::launch(options, context)
        }
    }
}

fn on_whole_screen(context: &mut Context<'_>) -> Done {
    need_terminal("--ui plain", context)?;
    // The process of the run has no terminal to ask at.
    trust::require(context)?;
    let ports = (context.program.ports)(context)?;
    let mut output = tempfile::tempfile()?;
    let program = launch::own_program(context.environment);
    let arguments = plain(context.environment.arguments.get(1..).unwrap_or_default());
    let mut run = host::start_apart(&program, &arguments, &output)
        .map_err(|error| failed!("the process of the run could not be started: {error}"))?;
    if let Some(status) = begun(&mut run, context)? {
        return reported(&mut output, status, false, context);
    }
    let ended = show(&ports, ports.live(), context)?;
    let is_over = ended == Ended::Quit;
    match over(&mut run, is_over)? {
        Some(status) => reported(&mut output, status, true, context),
        None if ended == Ended::Lost => Ok(()),
        None => context.out.conclude(GOES_ON),
    }
}

/// The arguments for the process of the run: the same, with lines of text as the display.
fn plain(given: &[OsString]) -> Vec<OsString> {
    let end = given.iter().position(|argument| argument == "--").unwrap_or(given.len());
    let mut arguments = Vec::new();
    let mut skips = false;
    for argument in &given[..end] {
        let is_value = std::mem::replace(&mut skips, argument == "--ui");
        if !is_value && !skips && !argument.to_string_lossy().starts_with("--ui=") {
            arguments.push(argument.clone());
        }
    }
    arguments.extend(["--set", "ui.mode=plain"].map(OsString::from));
    arguments.extend_from_slice(&given[end..]);
    arguments
}

/// Waits until the run can be watched; how it ended, where it ended before.
fn begun(run: &mut Child, context: &mut Context<'_>) -> Result<Option<ExitStatus>> {
    let process = run.id().to_string();
    loop {
        if let Some(status) = run.try_wait()? {
            return Ok(Some(status));
        }
        let here = RunFiles::read(context)?;
        let is_own = here.holder.as_ref() == Some(&process) && here.socket().is_some();
        let of_lane = |folder: std::path::PathBuf| WorktreeLock::holder(&folder.join(".ralph"));
        let lane = status_query::first_lane(context)?.and_then(of_lane);
        if is_own || lane.as_ref() == Some(&process) {
            return Ok(None);
        }
        std::thread::park_timeout(MOMENT);
    }
}

/// How the run ended. One whose end the user has seen may still be cleaning up.
fn over(run: &mut Child, is_over: bool) -> io::Result<Option<ExitStatus>> {
    for _ in 0..if is_over { CLEANUP } else { 1 } {
        if let Some(status) = run.try_wait()? {
            return Ok(Some(status));
        }
        if is_over {
            std::thread::park_timeout(MOMENT);
        }
    }
    Ok(None)
}

/// Prints what the run printed, or only how it ended, and ends with its exit code.
fn reported(
    output: &mut File,
    status: ExitStatus,
    only_end: bool,
    context: &mut Context<'_>,
) -> Done {
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = match lines.iter().rposition(|line| line.starts_with("──")) {
        _ if !only_end => 0,
        Some(rule) => rule + 1,
        None => lines.len().saturating_sub(LAST),
    };
    for line in &lines[from..] {
        context.out.error(line);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    CliError::ended_with(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_of_the_run_gets_the_same_arguments_and_prints_lines() {
        let plain = |given: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            plain(&given).join(&OsString::from(" ")).into_string().unwrap()
        };
        assert_eq!(plain(&["build", "--ui", "tui", "3"]), "build 3 --set ui.mode=plain");
        assert_eq!(plain(&["run", "--ui=tui", "t-1"]), "run t-1 --set ui.mode=plain");
        assert_eq!(plain(&["--plan"]), "--plan --set ui.mode=plain");
        assert_eq!(plain(&["plan", "--", "--ui"]), "plan --set ui.mode=plain -- --ui");
    }
}
