//! Cleans up at the end of a run: worktrees and branches of finished tasks, refs and sandbox folders that nothing
//! needs any more, and saved work beyond its limits. It does not change how the run ended.

use ralph_core::TaskId;
use ralph_core::task::Status;

use super::ports::Ports;
use crate::ports::Ending;
use crate::run::activity::integrate::sweep;

/// What could not be cleaned up, in sentences.
pub(super) fn tidy(ports: &Ports) -> Vec<String> {
    let work = &ports.setup.work;
    let mut notes = Vec::new();
    if let Some(pool) = work.pool.as_ref().or(work.earlier.as_ref()) {
        match sweep(pool, ports.store().as_mut()) {
            Ok(reported) => notes.extend(reported),
            Err(error) => notes.push(format!("finished worktrees could not be removed: {error}")),
        }
    }
    let mut ending = |task: &TaskId| match ports.store().get(task) {
        Ok(task) => match task.status {
            Status::Done | Status::Deleted => Ending::Done,
            Status::Failed => Ending::Failed,
            _ => Ending::Open,
        },
        // Even if the store does not know it, the work may be all that is left.
        Err(_) => Ending::Open,
    };
    let vcs = &ports.setup.ports.vcs;
    if let Err(error) = vcs.tidy(&work.keep_saves, &mut ending) {
        notes.push(format!("not everything could be cleaned up after the run: {error}"));
    }
    notes.extend(vcs.warnings());
    notes
}
