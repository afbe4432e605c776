//! The lock of a run on its worktree, and the removal of expired files of earlier runs.

use ralph_engine::plan_file::PlanFile;
use ralph_engine::project::Project;
use ralph_engine::run_files::{LockError, RunLogs, WorktreeLock};

use crate::config::{Config, key};
use crate::error::{CliError, Done, Result};

/// Removes leftovers of earlier runs: half-written plans and expired logs.
pub(super) fn tidy(plan: Option<&PlanFile>, project: &Project, config: &Config) -> Done {
    if let Some(plan) = plan {
        plan.sweep();
    }
    let folder = project.resolve(config.get(key::LOGS_DIR));
    project.exclude_folder(&folder)?;
    let keep = usize::try_from(config.get(key::LOGS_KEEP_RUNS)).unwrap_or(usize::MAX);
    let size = config.get(key::LOGS_KEEP_SIZE).unwrap_or(u64::MAX);
    RunLogs::prune(&folder, keep, size)
        .map(drop)
        .map_err(|error| CliError::file(&folder, "written", error))
}

pub(super) fn lock(project: &Project) -> Result<WorktreeLock> {
    WorktreeLock::take(&project.worktree.join(".ralph")).map_err(|error| match error {
        LockError::Held { pid } => {
            run_failed!("another run is active in this worktree (pid {pid})")
                .hint("see what it does: ralph status")
                .hint("stop it: ralph cancel")
        }
        LockError::Io { path, source } => {
            run_failed!("{} cannot be written: {source}", path.display()).hint(format!(
                "check its owner and permissions: ls -ld {}",
                crate::error::quoted(path.parent().unwrap_or(&path))
            ))
        }
    })
}
