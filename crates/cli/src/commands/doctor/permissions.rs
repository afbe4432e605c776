//! Checks who may read and write ralph's own files.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::amounts::first_of;
use ralph_engine::process::user;
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::{Config, key};
use crate::wiring::store_files;

/// Files of a run besides the task database and the logs.
const FILES: [&str; 2] = ["state.toml", "run.lock"];
/// How many names the check lists.
const TOLD: usize = 3;

pub(super) fn inspect(project: &Project, config: &Config) -> Check {
    let (open, foreign) = open(project, config);
    let shown =
        |path: &Path| path.strip_prefix(&project.root).unwrap_or(path).display().to_string();
    if let Some(path) = foreign.first() {
        return Check::fail("files", format!("{} belongs to another user", shown(path)))
            .remedy(format!("take ownership: chown -R $(id -u) {}", crate::error::quoted(path)));
    }
    if open.is_empty() {
        return Check::ok("files", "only you can read ralph's files");
    }
    let names = first_of(open.iter().map(|(path, _)| shown(path)), TOLD);
    Check::warn("files", format!("open to other users: {names}")).remedy("ralph doctor --fix")
}

/// Removes the access of other users. Returns what it did.
pub(super) fn fix(project: &Project, config: &Config) -> Vec<String> {
    let (open, _) = open(project, config);
    let close = |(path, mode): &(PathBuf, u32)| {
        std::fs::set_permissions(path, Permissions::from_mode(*mode)).ok()?;
        Some(format!("chmod {mode:o} {}", path.display()))
    };
    open.iter().filter_map(close).collect()
}

/// The files that other users can access, with the modes that they should have, and those of other users.
fn open(project: &Project, config: &Config) -> (Vec<(PathBuf, u32)>, Vec<PathBuf>) {
    let mut all = store_files(&project.resolve(config.get(key::STORE_PATH))).to_vec();
    let own = project.worktree.join(".ralph");
    all.extend(FILES.map(|name| own.join(name)));
    // The folder itself contains only the names of branches.
    all.extend(below(&project.ralph_dir().join("worktrees")).into_iter().skip(1));
    all.extend(below(&project.resolve(config.get(key::LOGS_DIR))));
    let me = user();
    let (mut found, mut foreign) = (vec![], vec![]);
    for path in all {
        // Links are not followed: their targets may not be ralph's.
        let Ok(data) = path.symlink_metadata() else { continue };
        let kind = data.file_type();
        let mode = data.mode() & 0o7777;
        if !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        if data.uid() != me {
            foreign.push(path);
        } else if mode & 0o077 != 0 {
            found.push((path, mode & !0o077));
        }
    }
    // Others may read features and skills in it, but not write there.
    if let Ok(data) = own.symlink_metadata()
        && data.is_dir()
        && data.uid() == me
        && data.mode() & 0o022 != 0
    {
        found.push((own, data.mode() & 0o7755));
    }
    (found, foreign)
}

/// A folder and everything in it; links are not followed.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            found.push(entry.path());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}
