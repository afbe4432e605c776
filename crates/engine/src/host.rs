//! Finds the programs that ralph starts outside the sandbox, and the `PATH` that they get.
//!
//! A folder of the repository may be on the user's `PATH` (direnv, `./node_modules/.bin`), and a session can write
//! a `git` into it. So ralph drops the entries of `PATH` that are relative, are inside the repository or one of its
//! worktrees, or link there. [`host`] does this once per process, before the first session, and [`Host::find`]
//! remembers each program it has found.
//!
//! Sessions, gates and hooks keep the user's own `PATH`: what they start is their own business.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::project::Project;
use crate::untrusted::{SMALL, read_own};

/// Where programs are searched without a `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";
/// A search path without any entry: an empty one would mean the current folder.
const NOWHERE: &str = "/nonexistent";
/// The shell, at the path at which every system has it.
const SHELL: &str = "/bin/sh";
/// The longest chain of links that is followed, as the kernel has it.
const MOST_LINKS: usize = 40;

/// The arguments of [`settle`]: the user's search path, and the folder that ralph works in.
static TOLD: OnceLock<(Option<OsString>, PathBuf)> = OnceLock::new();
static HOST: OnceLock<Host> = OnceLock::new();

/// Sets the user's `PATH` and the folder that ralph works in, once per process. Nothing is looked up
/// until a program is needed.
pub fn settle(path: Option<OsString>, folder: &Path) {
    let _ = TOLD.set((path, folder.to_owned()));
}

pub fn host() -> &'static Host {
    HOST.get_or_init(|| match TOLD.get() {
        Some((path, folder)) => Host::new(path.as_deref(), Project::find(folder).ok().as_ref()),
        None => Host::new(own_path().as_deref(), None),
    })
}

/// Opens `file` in `editor`, which is a shell command as in `$EDITOR`, and waits until it is closed. The editor gets the
/// terminal; ralph does not supervise or end it. The exit code; 128 and more for a signal.
pub fn edit(editor: &str, file: &Path) -> io::Result<i32> {
    let mut command = host().shell();
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(file);
    let status = command.status()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Starts a program in a session of its own, so that it outlives the terminal that it was started from. It reads nothing,
/// and writes into `output`. It keeps the user's own environment.
#[expect(unsafe_code, reason = "only the new process itself can leave the session")]
#[expect(clippy::disallowed_methods, reason = "this is ralph itself, and nothing supervises it")]
pub fn start_apart(program: &Path, arguments: &[OsString], output: &File) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    // SAFETY: between fork and exec only system calls are allowed, and this is one.
    unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    command.spawn()
}

/// For tests of this crate and others that call git without a command line.
#[expect(clippy::disallowed_methods, reason = "the process did not set its search path")]
fn own_path() -> Option<OsString> {
    std::env::var_os("PATH")
}

#[derive(Debug)]
pub struct Host {
    ground: Ground,
    path: OsString,
    git: PathBuf,
    found: Mutex<BTreeMap<String, Option<PathBuf>>>,
}

impl Host {
    /// Programs on this search path that are outside the repository.
    pub fn new(path: Option<&OsStr>, project: Option<&Project>) -> Self {
        let ground = Ground::of(project);
        let path = ground.clean(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
        let git = ground.find(&path, "git").unwrap_or_else(|| Path::new(NOWHERE).join("git"));
        Self { ground, path, git, found: Mutex::default() }
    }

    /// The search path, without the repository's folders.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    pub fn folders(&self) -> Vec<PathBuf> {
        std::env::split_paths(&self.path).collect()
    }

    /// The path of a program of this name. It is searched once.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found.entry(name.to_owned());
        known.or_insert_with(|| self.ground.find(&self.path, name)).clone()
    }

    /// The path of a program of this name, by the `PATH` of this environment.
    pub(crate) fn find_by(
        &self,
        environment: &[(OsString, OsString)],
        name: &str,
    ) -> Option<PathBuf> {
        let (_, path) = environment.iter().rev().find(|(known, _)| known == "PATH")?;
        match path == &self.path {
            true => self.find(name),
            false => self.ground.find(&self.ground.clean(path), name),
        }
    }

    /// This environment, with a `PATH` without the repository's folders.
    pub fn environment(&self, all: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let cleaned = |(name, value): &(OsString, OsString)| match name == "PATH" {
            true => (name.clone(), self.ground.clean(value)),
            false => (name.clone(), value.clone()),
        };
        all.iter().map(cleaned).collect()
    }

    /// Git, being put together: `vcs::git` is the only caller.
    pub(crate) fn git(&self) -> Command {
        self.command(&self.git)
    }

    pub(crate) fn shell(&self) -> Command {
        self.command(Path::new(SHELL))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts host programs"
    )]
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", &self.path);
        command
    }
}

/// The folders that sessions can write to.
#[derive(Debug, Default)]
struct Ground {
    git_dir: Option<PathBuf>,
    roots: Vec<PathBuf>,
}

impl Ground {
    fn of(project: Option<&Project>) -> Self {
        let Some(project) = project else { return Self::default() };
        let mut roots =
            vec![project.worktree.clone(), project.root.clone(), project.git_dir.clone()];
        let linked = std::fs::read_dir(project.git_dir.join("worktrees")).into_iter().flatten();
        for entry in linked.flatten() {
            let named = read_own(&entry.path().join("gitdir"), SMALL).unwrap_or_default();
            let named = entry.path().join(OsStr::from_bytes(named.trim_ascii_end()));
            roots.extend(named.parent().map(Path::to_owned));
        }
        let real = |root: PathBuf| root.canonicalize().unwrap_or(root);
        let git_dir = Some(real(project.git_dir.clone()));
        Self { git_dir, roots: roots.into_iter().map(real).collect() }
    }

    /// A search path without the entries that sessions can write to.
    fn clean(&self, path: &OsStr) -> OsString {
        let kept = |entry: &PathBuf| entry.is_absolute() && !self.holds(entry);
        let entries = std::env::split_paths(path).filter(kept);
        let cleaned = std::env::join_paths(entries).unwrap_or_default();
        if cleaned.is_empty() { NOWHERE.into() } else { cleaned }
    }

    fn find(&self, path: &OsStr, name: &str) -> Option<PathBuf> {
        let files = std::env::split_paths(path).map(|folder| folder.join(name));
        files.filter(|file| may_run(file)).find(|file| !self.holds(file))
    }

    /// Whether the way to `path` leads through one of the folders: every link on it counts, not only where
    /// it ends, for a session could turn a link of its worktree elsewhere.
    fn holds(&self, path: &Path) -> bool {
        if self.roots.is_empty() {
            return false;
        }
        let mut at = PathBuf::new();
        let inside = |step: &Path, _: bool| {
            at = step.to_owned();
            self.roots.iter().any(|root| step.starts_with(root))
        };
        if walk(path, inside) != Some(false) {
            return true;
        }
        // A worktree that git has forgotten still says whose it is.
        Project::find(if at.is_dir() { &at } else { at.parent().unwrap_or(&at) })
            .is_ok_and(|found| found.git_dir.canonicalize().ok() == self.git_dir)
    }
}

/// Every path by which a program is reached: its own, those that its links name one after the other, as they are spelled,
/// and the real one.
pub(crate) fn names_of(program: &Path) -> Vec<PathBuf> {
    let mut names = vec![program.to_owned()];
    while let Some(last) = names.last().filter(|_| names.len() <= MOST_LINKS)
        && let Ok(target) = std::fs::read_link(last)
    {
        let around = last.parent().unwrap_or(last);
        names.push(around.join(target));
    }
    names.extend(program.canonicalize());
    names.dedup();
    names
}

/// Every link on the way to `path`, and where the way ends; `None` for links that lead nowhere.
pub(crate) fn stops_on(path: &Path) -> Option<Vec<PathBuf>> {
    let (mut stops, mut last) = (Vec::new(), PathBuf::new());
    let note = |step: &Path, is_link: bool| {
        last = step.to_owned();
        stops.extend(is_link.then(|| step.to_owned()));
        false
    };
    walk(path, note)?;
    stops.push(last);
    Some(stops)
}

/// Walks an absolute path as the system does, and asks at every step, with whether it is a link, if that is
/// enough. `None` where the links are too many.
fn walk(path: &Path, mut enough: impl FnMut(&Path, bool) -> bool) -> Option<bool> {
    let mut left: Vec<OsString> = Vec::new();
    push_parts(&mut left, path);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        let target = std::fs::read_link(&at).ok();
        if enough(&at, target.is_some()) {
            return Some(true);
        }
        let Some(target) = target else { continue };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        } else {
            at.pop();
        }
        push_parts(&mut left, &target);
    }
    // A path that ends in `..` was asked of before it did.
    Some(enough(&at, false))
}

/// Puts the parts of a path on a stack, the first on top.
fn push_parts(stack: &mut Vec<OsString>, path: &Path) {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    stack.extend(path.components().rev().filter_map(part));
}

/// Whether it is a file that the system would start.
pub fn may_run(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository with `bin/git` in it, beside a folder of the user's with `git` and `gh`.
    struct World {
        folder: tempfile::TempDir,
        project: Project,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let repo = folder.path().join("repo");
            for file in ["repo/bin/git", "repo/bin/gh", "user/git", "user/gh"] {
                program(&folder.path().join(file));
            }
            std::fs::create_dir(repo.join(".git")).unwrap();
            let project = Project::find(&repo).unwrap();
            Self { folder, project }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(path)
        }

        fn host(&self, before: &Path) -> Host {
            let path = std::env::join_paths([before, &self.at("user")]).unwrap();
            Host::new(Some(&path), Some(&self.project))
        }

        #[track_caller]
        fn passes_over(&self, before: &Path) {
            let host = self.host(before);
            assert_eq!(host.path(), self.at("user").as_os_str(), "{}", before.display());
            assert_eq!(host.git, self.at("user/git"));
            assert_eq!(host.find("gh"), Some(self.at("user/gh")));
            assert_eq!(host.git().get_program(), self.at("user/git").as_os_str());
        }
    }

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn folders_of_the_repository_are_on_no_search_path() {
        let world = World::new();
        symlink(world.at("repo/bin"), world.at("link")).unwrap();
        symlink("link", world.at("link-to-link")).unwrap();
        // The way leads through the repository, and a session can turn it elsewhere.
        symlink(world.at("user"), world.at("repo/out")).unwrap();
        symlink(world.at("repo/out"), world.at("through")).unwrap();
        for before in ["repo/bin", "repo", "repo/.git", "link", "link-to-link", "through"] {
            world.passes_over(&world.at(before));
        }
        for before in ["", ".", "./bin", "bin", "../repo/bin"] {
            world.passes_over(Path::new(before));
        }
        world.passes_over(&world.at("user/../repo/bin"));
        world.passes_over(&world.at("repo/not/there/yet"));
    }

    #[test]
    fn worktrees_elsewhere_are_the_repository_too() {
        let world = World::new();
        let own = world.at("repo/.git/worktrees/a");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        for (name, registered) in [("a", true), ("forgotten", false)] {
            program(&world.at(&format!("trees/{name}/bin/git")));
            let file = world.at(&format!("trees/{name}/.git"));
            std::fs::write(&file, format!("gitdir: {}\n", own.display())).unwrap();
            if registered {
                std::fs::write(own.join("gitdir"), format!("{}\n", file.display())).unwrap();
            }
            world.passes_over(&world.at(&format!("trees/{name}/bin")));
        }
        // Started in the worktree, the main checkout counts as well.
        let inside = Project::find(&world.at("trees/a")).unwrap();
        assert!(Host::new(None, Some(&inside)).ground.holds(&world.at("repo/bin/git")));
    }

    #[test]
    fn a_link_to_a_program_of_the_repository_is_not_taken() {
        let world = World::new();
        std::fs::create_dir(world.at("mine")).unwrap();
        symlink(world.at("repo/bin/git"), world.at("mine/git")).unwrap();
        assert_eq!(world.host(&world.at("mine")).git, world.at("user/git"));
    }

    #[test]
    fn the_first_folder_outside_the_repository_wins() {
        let world = World::new();
        program(&world.at("other/git"));
        let host = world.host(&world.at("other"));
        assert_eq!(host.git, world.at("other/git"));
        assert_eq!(host.find("gh"), Some(world.at("user/gh")));
        assert_eq!(host.find("nosuchtool"), None);
        let environment = [("A".into(), "b".into()), ("PATH".into(), "bin:/usr/bin".into())];
        let expected = vec![("A".into(), "b".into()), ("PATH".into(), "/usr/bin".into())];
        assert_eq!(host.environment(&environment), expected);
    }

    #[test]
    fn a_path_of_which_nothing_is_left_does_not_mean_the_current_folder() {
        let world = World::new();
        let host = Host::new(Some(OsStr::new("bin:.")), Some(&world.project));
        assert_eq!(host.path(), NOWHERE);
        assert_eq!(host.git, Path::new(NOWHERE).join("git"));
        let host = Host::new(Some(OsStr::new("")), None);
        assert_eq!(host.path(), NOWHERE);
    }

    #[test]
    fn what_was_found_once_stays() {
        let world = World::new();
        let host = world.host(Path::new("/nonexistent"));
        assert_eq!(host.find("gh"), Some(world.at("user/gh")));
        std::fs::remove_file(world.at("user/gh")).unwrap();
        assert_eq!(host.find("gh"), Some(world.at("user/gh")));
    }

    #[test]
    fn a_program_has_the_names_that_its_links_spell() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
        program(&at("versions/2/agent"));
        symlink("versions/2", at("current")).unwrap();
        std::fs::create_dir(at("bin")).unwrap();
        symlink("../current/agent", at("bin/agent")).unwrap();
        let names = names_of(&at("bin/agent"));
        assert_eq!(names, [at("bin/agent"), at("bin/../current/agent"), at("versions/2/agent")]);
        assert_eq!(names_of(&at("versions/2/agent")), [at("versions/2/agent")]);
        symlink("loop", at("loop")).unwrap();
        assert_eq!(names_of(&at("loop")), [at("loop")]);
    }
}
