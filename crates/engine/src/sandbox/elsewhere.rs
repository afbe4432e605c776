//! The top of the file system: folders of the system and of toolchains, and folders where users keep their files,
//! such as `/home`, `/srv` and `/data`. At level full a sandbox shows the former; of the latter it shows what it
//! shows of a home: the repository, and what is listed. Sockets that another program opens there during a session
//! are out of reach, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::environment::paths;
use super::mount_plan::{Mount, MountPlan};
use crate::ports::Bind;

/// Folders that programs need.
const OF_SYSTEM: [&str; 17] = [
    "bin", "etc", "gnu", "lib", "lib32", "lib64", "libexec", "libx32", "nix", "opt", "sbin",
    "snap", "sw", "sys", "system", "usr", "var",
];
/// Folders that every sandbox has for itself.
const OF_SANDBOX: [&str; 4] = ["dev", "proc", "run", "tmp"];
/// Where systems with a read-only root keep what others have at the top.
const OF_OTHERS: [&str; 6] =
    ["/var/home", "/var/mnt", "/var/srv", "/var/roothome", "/var/www", "/usr/home"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Top {
    system: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    pub(super) elsewhere: Vec<PathBuf>,
}

impl Top {
    /// That of this machine. A folder whose programs the `PATH` names is a toolchain of its own.
    pub(super) fn of(environment: &[(OsString, OsString)]) -> Self {
        let programs = paths(environment, "PATH");
        let top = std::fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found = Self::default();
        for path in top.chain(OF_OTHERS.map(PathBuf::from)) {
            if let Ok(leads) = std::fs::read_link(&path) {
                found.links.push((path, leads));
            } else if path.is_dir() && !is_one_of(&path, &OF_SANDBOX) {
                let list = match is_elsewhere(&path, &programs) {
                    true => &mut found.elsewhere,
                    false => &mut found.system,
                };
                list.push(path);
            }
        }
        found.elsewhere.sort();
        found
    }

    /// A root with nothing in it but the system.
    pub(super) fn show(&self, mount_plan: &mut MountPlan) {
        mount_plan.mounts.push(Mount::Empty(PathBuf::from("/")));
        self.system.iter().for_each(|folder| mount_plan.show(Bind::readable(folder)));
        let links = self.links.iter().filter(|(link, _)| mount_plan.is_hidden(link));
        let links: Vec<Mount> = links.map(|(at, to)| Mount::Link(at.clone(), to.clone())).collect();
        mount_plan.mounts.extend(links);
        self.elsewhere.iter().for_each(|folder| mount_plan.hide(folder));
    }
}

pub fn elsewhere(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    Top::of(environment).elsewhere
}

fn is_one_of(folder: &Path, names: &[&str]) -> bool {
    let name = folder.file_name().filter(|_| folder.parent() == Some(Path::new("/")));
    name.is_some_and(|name| names.iter().any(|known| name == *known))
}

fn is_elsewhere(folder: &Path, programs: &[PathBuf]) -> bool {
    let is_toolchain = programs.iter().any(|path| path == folder || path.parent() == Some(folder));
    !is_one_of(folder, &OF_SYSTEM) && !is_toolchain
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
        for folder in ["/usr", "/etc", "/opt", "/var", "/venv"] {
            assert!(!is_elsewhere(Path::new(folder), &programs), "{folder}");
        }
    }
}
