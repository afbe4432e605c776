//! The folders at the top of the file system that hold neither the system nor a toolchain: `/home`, `/srv`, `/data`
//! and wherever else users keep their files. At level full a sandbox shows of them what it shows of a home: the
//! repository, and what is listed. A program that begins to listen there during a session is out of reach, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders that programs need, or that a sandbox empties anyway.
const OF_SYSTEM: [&str; 22] = [
    "bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libexec", "libx32", "nix", "opt",
    "proc", "run", "sbin", "snap", "sw", "sys", "system", "tmp", "usr", "var",
];
/// Where systems with a read-only root keep what others have at the top.
const OF_OTHERS: [&str; 6] =
    ["/var/home", "/var/mnt", "/var/srv", "/var/roothome", "/var/www", "/usr/home"];

/// Those of this machine. A folder whose programs the `PATH` names is a toolchain of its own.
pub fn elsewhere(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let programs: Vec<PathBuf> =
        path.map(|(_, list)| std::env::split_paths(list).collect()).unwrap_or_default();
    let top = std::fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = top.chain(OF_OTHERS.map(PathBuf::from)).collect();
    all.retain(|folder| is_elsewhere(folder, &programs) && is_folder(folder));
    all.sort();
    all
}

fn is_elsewhere(folder: &Path, programs: &[PathBuf]) -> bool {
    let is_system = folder.parent() == Some(Path::new("/"))
        && folder.file_name().is_none_or(|name| OF_SYSTEM.iter().any(|known| name == *known));
    let is_toolchain = programs.iter().any(|path| path == folder || path.parent() == Some(folder));
    !is_system && !is_toolchain
}

/// A folder itself, and not a link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_the_system_nor_a_toolchain_is_elsewhere() {
        let programs = ["/usr/bin", "/venv/bin", "/work/tools/bin"].map(PathBuf::from);
        for folder in ["/home", "/root", "/srv", "/mnt", "/work", "/var/home", "/data"] {
            assert!(is_elsewhere(Path::new(folder), &programs), "{folder}");
        }
        for folder in ["/usr", "/etc", "/opt", "/var", "/tmp", "/venv"] {
            assert!(!is_elsewhere(Path::new(folder), &programs), "{folder}");
        }
    }
}
