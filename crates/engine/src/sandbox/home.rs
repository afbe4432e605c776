//! The user's home as a sandbox shows it at level full: an empty writable folder that contains only what is listed
//! here. The other folders of users are empty too.
//!
//! ralph makes the list once, before the first session: toolchains behind `PATH`, registry settings without logins,
//! the git identity, and packages that the repository names by path. Agent state, caches and the repository come on
//! top, as they do where the home is masked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::caches::Caches;
use super::elsewhere::Top;
use super::environment::paths;
use super::mount_plan::{Mount, MountPlan};
use super::toolchains::Toolchains;
use super::{aliases, registries, secrets};
use crate::ports::Bind;
use crate::project::{Project, write_privately};
use crate::session_git::shared_settings;

/// Folders of the system, which some users have as their home.
const OF_SYSTEM: [&str; 14] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/boot", "/nix",
    "/tmp", "/var/tmp", "/run",
];

/// Where the copies of settings are kept, in the caches of the project. No sandbox shows it.
const COPIES: &str = "home";
/// Who commits, below the home.
const GIT: &str = ".gitconfig";

#[derive(Debug, Clone, Copy)]
pub struct HomeNeeds<'a> {
    /// The user's homes, each by its real name.
    pub homes: &'a [PathBuf],
    pub project: &'a Project,
    pub environment: &'a [(OsString, OsString)],
    pub caches: &'a Caches,
    /// Programs that must be found wherever they are.
    pub programs: &'a [PathBuf],
    /// Packages beside the repository that sessions may read.
    pub dependencies: &'a [PathBuf],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    emptied: Vec<PathBuf>,
    /// What is at the top of the file system; `None` where all of it is shown.
    top: Option<Top>,
    /// Where else the homes could be reached.
    aliases: Vec<PathBuf>,
    binds: Vec<Bind>,
    links: Vec<(PathBuf, PathBuf)>,
    covered: Vec<PathBuf>,
    git: Option<Bind>,
}

impl Home {
    /// All of it but for known places of logins.
    pub fn masked() -> Self {
        Self::default()
    }

    /// Nothing of it but what is needed. A home that is the repository, holds the system or is held by the
    /// repository cannot be empty: it is masked.
    pub fn listed(needs: &HomeNeeds<'_>) -> Self {
        let root = &needs.project.root;
        let can_be_empty = |home: &&PathBuf| !home.starts_with(root) && !is_of_system(home);
        let emptied: Vec<PathBuf> = needs.homes.iter().filter(can_be_empty).cloned().collect();
        let top = Top::of(needs.environment);
        if emptied.is_empty() {
            return Self { top: Some(top), ..Self::default() };
        }
        let secrets = secrets::present(&emptied, needs.environment, &[]);
        let environment = with_programs(needs);
        let hiding: Vec<PathBuf> = emptied.iter().chain(&top.elsewhere).cloned().collect();
        let tools = Toolchains::new(&hiding, root, &secrets).collect(&environment);
        let (places, links) = (tools.places, tools.links);
        let copies = needs.caches.of_name(COPIES);
        let mut binds: Vec<Bind> = places.into_iter().map(Bind::readable).collect();
        let mut covered = Vec::new();
        for package in needs.dependencies {
            binds.push(Bind::readable(package));
            // A remote may be written with a password.
            covered.extend([".git", ".ralph"].map(|name| package.join(name)));
        }
        binds.extend(registries::copies(&emptied, needs.environment, &copies));
        let aliases = emptied.iter().flat_map(|home| aliases::of(home)).collect();
        let top = Some(top);
        let mut home = Self { emptied, top, aliases, binds, links, covered, git: None };
        home.show_git(needs, &copies);
        home
    }

    /// The settings of git that the user has for all repositories, without what logs in or signs.
    fn show_git(&mut self, needs: &HomeNeeds<'_>, copies: &Path) {
        let Some(first) = self.emptied.first() else { return };
        let Some(text) = shared_settings(&needs.project.worktree) else { return };
        let bind = Bind::readable(copies.join("gitconfig")).at(first.join(GIT));
        if write_privately(&bind.from, &String::from_utf8_lossy(&text)).is_ok() {
            self.git = Some(bind);
        }
    }

    /// Homes of which nothing is there but what is listed.
    pub(super) fn emptied(&self) -> &[PathBuf] {
        &self.emptied
    }

    /// Whether all of it is shown but for known places of logins.
    pub fn is_masked(&self) -> bool {
        self.emptied.is_empty()
    }

    /// Folders outside of the homes of which nothing is there but what is listed.
    pub(super) fn elsewhere(&self) -> &[PathBuf] {
        self.top.as_ref().map_or(&[], |top| &top.elsewhere)
    }

    pub(super) fn show_top(&self, mount_plan: &mut MountPlan) {
        self.top.iter().for_each(|top| top.show(mount_plan));
    }

    /// Whether one of the links that it shows is on the way to a path. `mounted` are paths that are mounted later: no link
    /// is shown where one of them lies behind it.
    pub(super) fn links_to(&self, path: &Path, mounted: &[&Path]) -> bool {
        self.links_beside(mounted).any(|(link, _)| path.starts_with(link))
    }

    fn links_beside<'a>(
        &'a self,
        mounted: &'a [&Path],
    ) -> impl Iterator<Item = &'a (PathBuf, PathBuf)> {
        self.links.iter().filter(|(link, _)| !mounted.iter().any(|path| path.starts_with(link)))
    }

    /// Empties the homes, wherever they can be reached.
    pub(super) fn empty(&self, mount_plan: &mut MountPlan) {
        self.emptied.iter().for_each(|home| mount_plan.scratch(home));
        self.aliases.iter().for_each(|path| mount_plan.hide(path));
    }

    /// The file with the user's settings of git: in the home, or where the copy is if nothing can be mounted.
    pub(super) fn git(&self, mounts: bool) -> Option<Bind> {
        let bind = self.git.clone()?;
        Some(if mounts { bind } else { Bind::readable(bind.from) })
    }

    /// Adds the listed places to mounts in which the homes are empty. `mounted` as above.
    pub(super) fn show(&self, mounted: &[&Path], mount_plan: &mut MountPlan) {
        for bind in self.binds.iter().filter(|bind| bind.from.exists()) {
            mount_plan.show(bind.clone());
        }
        for path in &self.covered {
            mount_plan.hide(path);
        }
        for (link, leads) in self.links_beside(mounted) {
            if mount_plan.is_hidden(link) {
                mount_plan.mounts.push(Mount::Link(link.clone(), leads.clone()));
            }
        }
    }
}

/// The environment with the folders of programs on its `PATH`.
fn with_programs(needs: &HomeNeeds<'_>) -> Vec<(OsString, OsString)> {
    let mut environment = needs.environment.to_vec();
    let real = needs.programs.iter().filter_map(|program| program.canonicalize().ok());
    let all = needs.programs.iter().cloned().chain(real);
    let folders = all.filter_map(|program| program.parent().map(Path::to_owned));
    let known = paths(&environment, "PATH");
    if let Ok(joined) = std::env::join_paths(known.into_iter().chain(folders)) {
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".into(), joined));
    }
    environment
}

fn is_of_system(home: &Path) -> bool {
    let within = |folder: &str| home.starts_with(folder);
    let is_shared = ["/tmp", "/var/tmp", "/run", "/nix", "/dev/shm"].into_iter().any(within);
    OF_SYSTEM
        .into_iter()
        .any(|folder| Path::new(folder).starts_with(home) || (!is_shared && within(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(home: &Path, root: &Path) -> Home {
        let homes = [home.to_owned()];
        let project = Project {
            worktree: root.to_owned(),
            root: root.to_owned(),
            git_dir: root.join(".git"),
        };
        let caches = Caches::of(&home.join(".cache"), root);
        let path = format!("{}/tools/bin:/usr/bin", home.display());
        Home::listed(&HomeNeeds {
            homes: &homes,
            project: &project,
            environment: &[("PATH".into(), path.into())],
            caches: &caches,
            programs: &[home.join("agent"), home.join("agents/one/agent")],
            dependencies: &[],
        })
    }

    #[test]
    fn a_home_is_empty_but_for_what_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in [".ssh", "src/repo", "tools/bin", "agents/one", "private"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join("agent"), "x").unwrap();
        let made = made(&home, &home.join("src/repo"));
        assert_eq!(made.emptied(), std::slice::from_ref(&home));
        let mut mount_plan = MountPlan::default();
        mount_plan.scratch(&home);
        made.show(&[], &mut mount_plan);
        for name in ["tools/bin/x", "agents/one/agent"] {
            assert!(!mount_plan.is_hidden(&home.join(name)), "{name}");
        }
        for name in [".ssh", "private", "agent", "agents/two", "src"] {
            assert!(mount_plan.is_hidden(&home.join(name)), "{name}");
        }
    }

    #[test]
    fn a_home_that_holds_more_than_a_users_files_is_masked() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("inside")).unwrap();
        assert!(made(&root, &root).emptied().is_empty(), "the home is the repository");
        assert!(made(&root.join("inside"), &root).emptied().is_empty(), "it lies in it");
        for odd in ["/", "/usr/sbin", "/var", "/dev", "/etc", "/bin"] {
            assert!(is_of_system(Path::new(odd)), "{odd}");
        }
        for usual in
            ["/root", "/home/me", "/home", "/var/lib/me", "/tmp/x/home", "/run/me", "/dev/shm/me"]
        {
            assert!(!is_of_system(Path::new(usual)), "{usual}");
        }
    }
}
