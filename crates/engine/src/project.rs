//! Finds the repository, `.ralph/` and `info/exclude` on the user's disk.
//!
//! The repository is found by reading files, not by asking git: a task command starts in a millisecond, and git
//! alone takes longer than that.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

pub use crate::ports::ProjectError;
use crate::untrusted;

mod atomic;

pub use atomic::{
    halves, private_folder, sweep_halves, write_atomically, write_privately, write_through,
};

/// The longest file that only says where a git directory is.
const LONGEST_POINTER: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The working tree that we are in.
    pub worktree: PathBuf,
    /// The main working tree, which contains `.ralph/`, whichever worktree ralph runs in.
    pub root: PathBuf,
    /// The git directory that all worktrees share.
    pub git_dir: PathBuf,
}

impl Project {
    pub fn find(folder: &Path) -> Result<Self, ProjectError> {
        let folder = folder.canonicalize().map_err(|source| io_error(folder, source))?;
        for candidate in folder.ancestors() {
            let dot_git = candidate.join(".git");
            match std::fs::metadata(&dot_git) {
                Ok(found) if found.is_dir() => {
                    let worktree = candidate.to_owned();
                    return Ok(Self { root: worktree.clone(), worktree, git_dir: dot_git });
                }
                Ok(_) => return Self::linked(candidate, &dot_git),
                Err(_) if is_git_dir(candidate) => {
                    return Err(ProjectError::Bare(candidate.to_owned()));
                }
                Err(_) => {}
            }
        }
        Err(ProjectError::NoRepository(folder))
    }

    /// A worktree or a submodule: its `.git` is a file that names the real directory.
    fn linked(worktree: &Path, file: &Path) -> Result<Self, ProjectError> {
        let own = target_of(worktree, file)?;
        let broken = |reason: String| ProjectError::BrokenLink { file: file.to_owned(), reason };
        // Only a linked worktree shares the directory of another checkout.
        let Ok(common) = untrusted::read_own(&own.join("commondir"), LONGEST_POINTER) else {
            let worktree = worktree.to_owned();
            return Ok(Self { root: worktree.clone(), worktree, git_dir: own });
        };
        let common = own.join(OsStr::from_bytes(common.trim_ascii()));
        let git_dir = common
            .canonicalize()
            .map_err(|_| broken(format!("{} is missing", common.display())))?;
        let root = match git_dir.parent() {
            Some(parent) if git_dir.file_name().is_some_and(|name| name == ".git") => {
                parent.to_owned()
            }
            // The main repository is bare: the worktrees have no home but the repository itself.
            _ => return Err(ProjectError::Bare(git_dir)),
        };
        Ok(Self { worktree: worktree.to_owned(), root, git_dir })
    }

    /// The git directory of this worktree alone: its HEAD and its index. The same as `git_dir` in
    /// the main worktree.
    pub fn own_git_dir(&self) -> Result<PathBuf, ProjectError> {
        let dot_git = self.worktree.join(".git");
        match std::fs::metadata(&dot_git) {
            Ok(found) if found.is_dir() => Ok(dot_git),
            Ok(_) => target_of(&self.worktree, &dot_git),
            Err(source) => Err(io_error(&dot_git, source)),
        }
    }

    pub fn ralph_dir(&self) -> PathBuf {
        self.root.join(".ralph")
    }

    /// Makes sure that `.ralph/` is ours to use: a `state.toml` that we cannot read belongs to
    /// another program, and then nothing there is touched.
    pub fn check_ours(&self) -> Result<(), ProjectError> {
        // Each worktree has such a folder, with its lock and its record.
        for folder in [self.ralph_dir(), self.worktree.join(".ralph")] {
            if let Some(owner) = untrusted::other_owner(&folder) {
                return Err(ProjectError::OwnedByOther { path: folder, owner });
            }
            untrusted::refuse_foreign_state(&folder).map_err(|(path, reason)| {
                ProjectError::Foreign { path, reason: reason.to_string() }
            })?;
        }
        let path = self.ralph_dir().join("state.toml");
        let foreign = |reason: String| ProjectError::Foreign { path: path.clone(), reason };
        let read = untrusted::if_there(untrusted::read_own(&path, untrusted::SMALL));
        let Some(bytes) = read.map_err(|error| foreign(error.to_string()))? else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        let table: toml::Table = text.parse().map_err(|_| foreign("it is not TOML".to_owned()))?;
        match table.get("iteration") {
            Some(toml::Value::Integer(_)) => Ok(()),
            _ => Err(foreign("it has no iteration count".to_owned())),
        }
    }

    /// Keeps ralph's state out of every status, commit and pull request: appends it to the repository's own
    /// exclude file, once.
    pub fn exclude_state(&self) -> Result<(), ProjectError> {
        let Excluded { path, text, missing } = self.excluded()?;
        if missing.is_empty() {
            return Ok(());
        }
        add_lines(&path, text, &missing)
    }

    /// The same for a folder of ralph's that the user has put elsewhere in the working tree.
    pub fn exclude_folder(&self, folder: &Path) -> Result<(), ProjectError> {
        let Some(line) = self.folder_line(folder) else { return Ok(()) };
        let Excluded { path, text, .. } = self.excluded()?;
        if has_line(&text, &line) {
            return Ok(());
        }
        add_lines(&path, text, &[&line])
    }

    /// How many lines of the exclude file are ralph's: those for its state, and for `folders`.
    pub fn excluded_lines(&self, folders: &[PathBuf]) -> Result<usize, ProjectError> {
        let text = self.excluded()?.text;
        let lines = |text: &[u8]| text.iter().filter(|byte| is_newline(byte)).count();
        Ok(lines(&text).saturating_sub(lines(&self.without_own_lines(&text, folders))))
    }

    /// Removes them. A file with nothing else in it goes too.
    pub fn include_state(&self, folders: &[PathBuf]) -> Result<(), ProjectError> {
        let Excluded { path, text, .. } = self.excluded()?;
        let after = self.without_own_lines(&text, folders);
        let done = match after.trim_ascii().is_empty() {
            true => std::fs::remove_file(&path),
            false => write_through(&path, &after, MODE),
        };
        done.map_err(|source| io_error(&path, source))
    }

    fn without_own_lines(&self, text: &[u8], folders: &[PathBuf]) -> Vec<u8> {
        let folders = folders.iter().filter_map(|folder| self.folder_line(folder));
        let own: Vec<Vec<u8>> = OWN_LINES
            .into_iter()
            .chain([OWN_COMMENT])
            .map(|line| line.as_bytes().to_vec())
            .chain(folders)
            .collect();
        let is_own = |line: &&[u8]| own.iter().any(|own| own == line.trim_ascii());
        let kept: Vec<&[u8]> = text.split(is_newline).filter(|line| !is_own(line)).collect();
        kept.join(&b'\n')
    }

    fn folder_line(&self, folder: &Path) -> Option<Vec<u8>> {
        let inside = folder.strip_prefix(&self.root).ok()?;
        Some([b"/", inside.as_os_str().as_bytes(), b"/"].concat())
    }

    /// Whether [`Project::exclude_state`] would change nothing.
    pub fn excludes_state(&self) -> Result<bool, ProjectError> {
        Ok(self.excluded()?.missing.is_empty())
    }

    fn excluded(&self) -> Result<Excluded, ProjectError> {
        let path = self.git_dir.join("info").join("exclude");
        let read = untrusted::if_there(untrusted::read_through_links(&path, untrusted::DOCUMENT));
        let text = read.map_err(|source| io_error(&path, source))?.unwrap_or_default();
        let lines = OWN_LINES.into_iter().map(str::as_bytes);
        let missing = lines.filter(|line| !has_line(&text, line)).collect();
        Ok(Excluded { path, text, missing })
    }

    /// A path from the config, relative to the main working tree, without `.` and `..`.
    pub fn resolve(&self, path: &str) -> PathBuf {
        without_dots(&self.root.join(path))
    }
}

/// What ralph writes into the exclude file, and the comment above it.
const OWN_LINES: [&str; 8] = [
    "/.ralph/progress.db*",
    "/.ralph/state.toml*",
    "/.ralph/run.lock",
    "/.ralph/logs/",
    "/.ralph/plans/",
    "/.ralph/worktrees/",
    "/.ralph/box/",
    "/.worktrees/",
];
const OWN_COMMENT: &str = "# state of ralph";
/// The permissions of a new exclude file.
const MODE: u32 = 0o644;

fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}

/// A folder itself, and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// A path without `.` and `..`, without looking at the disk. `..` at the top is ignored.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// The exclude file, its text, and the lines it lacks.
struct Excluded {
    path: PathBuf,
    text: Vec<u8>,
    missing: Vec<&'static [u8]>,
}

fn target_of(worktree: &Path, file: &Path) -> Result<PathBuf, ProjectError> {
    let broken = |reason: String| ProjectError::BrokenLink { file: file.to_owned(), reason };
    let text = untrusted::read_through_links(file, LONGEST_POINTER);
    let text = text.map_err(|error| broken(error.to_string()))?;
    let target = text
        .strip_prefix(b"gitdir:")
        .ok_or_else(|| broken("it does not start with \"gitdir:\"".to_owned()))?;
    let own = worktree.join(OsStr::from_bytes(target.trim_ascii()));
    own.canonicalize().map_err(|_| broken(format!("{} is missing", own.display())))
}

fn has_line(text: &[u8], line: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|had| had.trim_ascii() == line)
}

fn add_lines(path: &Path, before: Vec<u8>, lines: &[&[u8]]) -> Result<(), ProjectError> {
    let mut after = before;
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after.extend(OWN_COMMENT.as_bytes());
    after.push(b'\n');
    for line in lines {
        after.extend(*line);
        after.push(b'\n');
    }
    write_through(path, &after, MODE).map_err(|source| io_error(path, source))
}

fn is_git_dir(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

fn io_error(path: &Path, source: io::Error) -> ProjectError {
    ProjectError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ralph_folder_with_links_for_its_state_is_not_ours() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        let project =
            Project { worktree: root.clone(), root: root.clone(), git_dir: root.join(".git") };
        std::fs::create_dir_all(project.ralph_dir()).unwrap();
        project.check_ours().unwrap();
        std::fs::write(root.join("precious"), "words").unwrap();
        for name in ["run.lock", "logs", "progress.db", "state.toml", "worktrees", "box"] {
            let link = project.ralph_dir().join(name);
            symlink("../precious", &link).unwrap();
            let output = project.check_ours().unwrap_err().to_string();
            assert!(output.contains(name) && output.contains("link to ../precious"), "{output}");
            std::fs::remove_file(link).unwrap();
        }
        std::fs::rename(project.ralph_dir(), root.join("moved")).unwrap();
        symlink("moved", project.ralph_dir()).unwrap();
        let output = project.check_ours().unwrap_err().to_string();
        assert!(output.contains(".ralph") && output.contains("link to moved"), "{output}");
    }

    #[test]
    fn a_path_of_the_settings_leads_where_it_says_without_dots() {
        let root = PathBuf::from("/home/me/repo");
        let project = Project { worktree: root.clone(), git_dir: root.join(".git"), root };
        for (path, expected) in [
            (".worktrees", "/home/me/repo/.worktrees"),
            ("./a/../b", "/home/me/repo/b"),
            ("../wts", "/home/me/wts"),
            ("../../../../wts", "/wts"),
            ("/var/wts/", "/var/wts"),
            ("/var/x/../wts", "/var/wts"),
        ] {
            assert_eq!(project.resolve(path), PathBuf::from(expected), "{path}");
        }
    }
}
