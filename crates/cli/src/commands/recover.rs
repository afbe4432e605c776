//! `ralph recover`.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::amounts::count;
use ralph_core::{TaskId, Timestamp};
use ralph_engine::clock;
use ralph_engine::ports::Saved;
use ralph_engine::project::Project;
use ralph_engine::vcs::restore::{Obstacle, RecoverError, Recovered, recover};
use ralph_engine::vcs::wip::{Wip, list_wip};
use ralph_ui::columns::{Cell, table};
use ralph_ui::style::Meaning;

use crate::error::{CliError, Done, quoted, task_id};
use crate::wiring::Context;

/// List saved unfinished work, or restore it
///
/// ralph saves the unfinished work of a session before it removes anything from the worktree. Restoring
/// overwrites nothing: if a file is in the way, nothing is written. The saved copy stays.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph recover t-abcd2345")]
pub(crate) struct RecoverArgs {
    /// The task whose newest saved work to restore [default: list all]
    id: Option<String>,
    /// Restore the work of this attempt
    #[arg(long, value_name = "N", requires = "id")]
    attempt: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_recover(args: &RecoverArgs, context: &mut Context<'_>) -> Done {
    let project = context.project()?;
    let Some(id) = &args.id else {
        return list(args.json, &project, context);
    };
    let id = task_id(id)?;
    match recover(&project, &id, args.attempt) {
        Ok(recovered) => print_result(&recovered, args.json, context),
        Err(error) => Err(refused(error, &project)),
    }
}

fn list(json: bool, project: &Project, context: &mut Context<'_>) -> Done {
    let saves = list_wip(project)?;
    // The list must work even without the task database.
    let mut store = if saves.is_empty() { None } else { context.reader().ok() };
    let mut title = |id: &TaskId| Some(store.as_mut()?.get(id).ok()?.title.to_string());
    let titled: Vec<(&Wip, Option<String>)> =
        saves.iter().map(|wip| (wip, title(&wip.task))).collect();
    if json {
        let list: Vec<serde_json::Value> = titled
            .iter()
            .map(|(wip, title)| {
                let mut value = wip_json(wip);
                value["title"] = serde_json::json!(title);
                value["files"] = names(&wip.files).into();
                value
            })
            .collect();
        return context.out.json(&list);
    }
    if saves.is_empty() {
        return context.out.conclude("no saved work");
    }
    let now = clock::now();
    let rows: Vec<Vec<Cell>> = titled
        .into_iter()
        .map(|(wip, title)| {
            vec![
                Cell::meaning(wip.task.to_string(), Some(Meaning::Name)),
                Cell::new(wip.attempt.to_string()),
                Cell::new(age(wip.at, now, 48)),
                Cell::new(wip.files.len().to_string()),
                Cell::new(title.unwrap_or_else(|| wip.subject.clone())),
            ]
        })
        .collect();
    let headings = ["TASK", "ATTEMPT", "AGE", "FILES", "SUBJECT"];
    context.out.data(table(&headings, 4, &rows, context.out.style))?;
    context.out.conclude("restore one: ralph recover TASK [--attempt N]")
}

fn print_result(recovered: &Recovered, json: bool, context: &mut Context<'_>) -> Done {
    let Recovered { wip, restored, unchanged, left } = recovered;
    if json {
        let mut value = wip_json(wip);
        value["restored"] = names(restored).into();
        value["unchanged"] = names(unchanged).into();
        value["left"] = names(left).into();
        return context.out.json(&value);
    }
    for path in restored {
        context.out.line(shown(path))?;
    }
    let Wip { task, attempt, saved, .. } = wip;
    if restored.is_empty() {
        context.out.note(format!("all files of {task}, attempt {attempt}, are already there"));
    } else {
        let files = count(restored.len() as u64, "file");
        context.out.note(format!("restored {files} of {task}, attempt {attempt}"));
    }
    for path in left {
        let path = shown(path);
        context.out.warning(format!("{path} is a separate git repository and was not saved"));
    }
    context.out.conclude(format!(
        "next: review it with `git status` and `git diff`, and commit what you keep; the saved copy stays in {}",
        saved.name
    ))
}

fn refused(error: RecoverError, project: &Project) -> CliError {
    let failed = CliError::failed(error.to_string());
    match error {
        RecoverError::Git(error) => error.into(),
        RecoverError::NotSaved { task, attempt } => {
            let saves = list_wip(project).unwrap_or_default();
            let mut attempts: Vec<String> =
                saves.iter().filter(|w| w.task == task).map(|w| w.attempt.to_string()).collect();
            if attempt.is_some() && !attempts.is_empty() {
                attempts.reverse();
                return failed.hint(format!("saved attempts: {}", attempts.join(", ")));
            }
            let known = saves.iter().map(|wip| wip.task.as_str());
            failed.near(task.as_str(), known, "see all saved work: ralph recover")
        }
        RecoverError::InTheWay { wip, obstacles } => in_the_way(failed, &wip.saved, &obstacles),
    }
}

fn in_the_way(failed: CliError, saved: &Saved, obstacles: &[(PathBuf, Obstacle)]) -> CliError {
    const MOST: usize = 20;
    let mut lines = String::new();
    for (path, obstacle) in obstacles.iter().take(MOST) {
        let why = match obstacle {
            Obstacle::Uncommitted => "is not committed",
            Obstacle::CommittedSince => "has been committed since",
        };
        lines.push_str(&format!("  {} {why}\n", shown(path)));
    }
    if obstacles.len() > MOST {
        lines.push_str(&format!("  and {} more\n", obstacles.len() - MOST));
    }
    let mut failed = failed.excerpt(lines).hint("nothing was changed");
    if let Some((path, _)) = obstacles.first() {
        let compare = format!("git diff {} -- {}", saved.name, quoted(path));
        failed = failed.hint(format!("see the differences: {compare}"));
    }
    let is_there = |wanted| obstacles.iter().any(|(_, obstacle)| *obstacle == wanted);
    if is_there(Obstacle::Uncommitted) {
        failed = failed.hint("commit these files, or run `git stash -u`, and try again");
    }
    if is_there(Obstacle::CommittedSince) {
        failed = failed.hint(format!(
            "let git merge the two: git cherry-pick --no-commit -m 1 {}",
            saved.name
        ));
    }
    failed
}

fn wip_json(wip: &Wip) -> serde_json::Value {
    serde_json::json!({
        "task": wip.task, "attempt": wip.attempt, "ref": wip.saved.name,
        "commit": wip.saved.commit, "at": wip.at, "subject": wip.subject,
    })
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// A path on one line of a terminal, whatever bytes it has.
fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("{path:?}"),
    }
}

/// An age in the largest unit that fits; in days from so many hours on.
pub(super) fn age(then: Timestamp, now: Timestamp, hours: u64) -> String {
    let seconds = now.millis_since(then) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        _ if seconds < hours * 3600 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_reported_in_one_unit() {
        let then = Timestamp::from_millis(0);
        for (seconds, text) in [(0, "0s"), (59, "59s"), (60, "1m"), (7_199, "1h"), (172_800, "2d")]
        {
            assert_eq!(age(then, then.plus_seconds(seconds), 48), text);
        }
        assert_eq!(age(then.plus_seconds(5), then, 48), "0s");
    }

    #[test]
    fn odd_names_stay_on_their_line() {
        assert_eq!(shown(Path::new("a b")), "a b");
        assert_eq!(shown(Path::new("a\nb")), "\"a\\nb\"");
    }
}
