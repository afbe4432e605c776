//! The stream of the active runs, from another process than theirs.

use std::path::{Path, PathBuf};

use ralph_core::ids::RunId;
use ralph_core::view::stream::EventSource;
use ralph_engine::observe::{AllSource, Place, SocketSource, StoredSource};
use ralph_engine::project::Project;
use ralph_engine::run_files::{WorktreeLock, state_file};
use ralph_engine::socket::client::ClientError;
use ralph_engine::worktrees::Worktrees;

use crate::config::key;
use crate::error::{CliError, Result};
use crate::history::KeptRun;
use crate::status_query;
use crate::wiring::Context;

/// The runs that a command in this worktree shows, if one of them is active: in the main worktree its own and those of all
/// branches, elsewhere the one of the worktree.
pub(crate) fn follow(context: &mut Context<'_>) -> Result<Option<AllSource>> {
    context.refuse_in_session()?;
    let project = context.project()?;
    project.check_ours()?;
    let is_main = project.worktree == project.root;
    let is_active = holder(&project.worktree).is_some()
        || (is_main && status_query::first_lane(context)?.is_some());
    let places = worktrees(is_main, context)?;
    let logs = logs(context)?;
    Ok(is_active.then(|| AllSource::new(Box::new(places), &logs)))
}

/// The runs of the whole repository.
pub(crate) fn everything(context: &mut Context<'_>) -> Result<AllSource> {
    context.project()?.check_ours()?;
    let places = worktrees(true, context)?;
    Ok(AllSource::new(Box::new(places), &logs(context)?))
}

/// One run: as it happens while it is active, else from its journal.
pub(crate) fn one(
    kept: &KeptRun,
    context: &mut Context<'_>,
) -> Result<Box<dyn EventSource + Send>> {
    let journal = kept.logs.journal();
    if let Some(socket) = socket_of(&kept.run, context)?
        && let Some(source) = run_at(&socket, Some(&journal))?
    {
        return Ok(Box::new(source));
    }
    let stored = StoredSource::facts(&journal);
    Ok(Box::new(stored.map_err(|error| CliError::file(&journal, "read", error))?))
}

/// Where a run listens, if it is active.
fn socket_of(run: &RunId, context: &mut Context<'_>) -> Result<Option<PathBuf>> {
    let socket = |place: Place| {
        holder(&place.worktree)?;
        let state = state_file::read(&place.worktree.join(".ralph").join("state.toml")).ok()??;
        state.control_socket.filter(|_| state.run == *run)
    };
    Ok(worktrees(true, context)?().into_iter().find_map(socket))
}

/// The run with this control socket; `None` if it has ended a moment ago.
pub(crate) fn run_at(socket: &Path, journal: Option<&Path>) -> Result<Option<SocketSource>> {
    match SocketSource::open(socket, journal) {
        Ok(source) => Ok(Some(source)),
        Err(ClientError::NobodyThere(_)) => Ok(None),
        Err(error) => Err(failed!("the run cannot be followed: {error}")),
    }
}

/// Lists the worktree of the command, and with `all` the main one and those of branches, as they are at each call.
fn worktrees(
    all: bool,
    context: &mut Context<'_>,
) -> Result<impl FnMut() -> Vec<Place> + Send + 'static> {
    let project = context.project()?;
    let folder = context.worktree_folder(&project)?;
    if all {
        // An error is one of the command; later ones are not.
        context.places(&project)?;
    }
    Ok(move || {
        let mut places = own_worktrees(&project, all);
        let branches = if all { Worktrees::new(&project, &folder).places() } else { Ok(vec![]) };
        for (branch, worktree) in branches.unwrap_or_default() {
            let name = branch.to_string();
            match places.iter_mut().find(|known| known.worktree == worktree) {
                Some(known) => known.name = name,
                None => places.push(Place { worktree, name }),
            }
        }
        places
    })
}

fn own_worktrees(project: &Project, all: bool) -> Vec<Place> {
    let mut own = vec![project.worktree.clone()];
    if all && project.root != project.worktree {
        own.insert(0, project.root.clone());
    }
    own.into_iter().map(|worktree| Place { worktree, name: String::new() }).collect()
}

fn logs(context: &mut Context<'_>) -> Result<PathBuf> {
    let project = context.project()?;
    Ok(project.resolve(context.config()?.get(key::LOGS_DIR)))
}

/// The process of the active run of a worktree.
fn holder(worktree: &Path) -> Option<String> {
    WorktreeLock::holder(&worktree.join(".ralph"))
}

pub(crate) fn report_no_run(context: &mut Context<'_>) {
    context.out.note("no run is active in this worktree; start one: ralph build");
}
