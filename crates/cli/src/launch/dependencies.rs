//! Which packages outside the repository sessions may read: those that manifests named before a session wrote one.
//!
//! A session can commit a manifest that names any of the user's packages. So a run records, in the user's state
//! folder, the packages that manifests name when it starts. Packages that are new when it ends stay hidden until
//! the user allows them with `sandbox.readable`. Packages that are new when a run starts are the user's own work,
//! unless the previous run was killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_engine::project::{Project, write_privately};
use ralph_engine::run_files::state_file;
use ralph_engine::sandbox::path_dependencies;
use ralph_engine::untrusted::{self, SMALL};

use crate::environment::Environment;

/// The name of the file in the folder for the records of a repository.
const FILE: &str = "dependencies";

/// The recorded packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dependencies {
    /// Sessions may read them.
    pub(super) admitted: BTreeSet<PathBuf>,
    /// A session may have named them.
    pub(super) withheld: BTreeSet<PathBuf>,
    /// A run is active, or was killed.
    working: bool,
}

impl Dependencies {
    /// The packages that the repository names now.
    pub(super) fn of(project: &Project, homes: &[PathBuf], environment: &Environment) -> Self {
        let found = found(project, homes);
        let before = match (found.is_empty(), place(project, environment)) {
            (false, Some(path)) => read(&path),
            _ => None,
        };
        Self::now(before, found)
    }

    /// Sorts the packages that are named now.
    fn now(before: Option<Self>, found: BTreeSet<PathBuf>) -> Self {
        let Some(before) = before else {
            return Self { admitted: found, ..Self::default() };
        };
        let is_withheld = |path: &PathBuf| {
            before.withheld.contains(path) || (before.working && !before.admitted.contains(path))
        };
        let (withheld, admitted) = found.into_iter().partition(is_withheld);
        Self { admitted, withheld, working: before.working }
    }

    fn text(&self) -> String {
        let line = |word: &str, path: &PathBuf| format!("{word} {}\n", path.display());
        let mut text = if self.working { "working\n".to_owned() } else { String::new() };
        self.admitted.iter().for_each(|path| text.push_str(&line("admitted", path)));
        self.withheld.iter().for_each(|path| text.push_str(&line("withheld", path)));
        text
    }
}

fn found(project: &Project, homes: &[PathBuf]) -> BTreeSet<PathBuf> {
    path_dependencies(&project.worktree, &project.root, homes).into_iter().collect()
}

fn place(project: &Project, environment: &Environment) -> Option<PathBuf> {
    let home = environment.state_home.as_deref()?;
    Some(state_file::folder(home, project).join(FILE))
}

fn read(path: &Path) -> Option<Dependencies> {
    let text = untrusted::read_through_links(path, SMALL).ok()?;
    let text = String::from_utf8(text).ok()?;
    let all = |word: &str| {
        let path = |line: &str| Some(PathBuf::from(line.strip_prefix(word)?.strip_prefix(' ')?));
        text.lines().filter_map(path).collect()
    };
    Some(Dependencies {
        admitted: all("admitted"),
        withheld: all("withheld"),
        working: text.lines().any(|line| line == "working"),
    })
}

/// An active run: packages that are new when it ends were named by its sessions.
pub(super) struct Watched {
    project: Project,
    homes: Vec<PathBuf>,
    path: Option<PathBuf>,
}

impl Watched {
    /// Records the packages that are named now.
    pub(super) fn begin(project: &Project, homes: Vec<PathBuf>, environment: &Environment) -> Self {
        let mut path = place(project, environment);
        let known = Dependencies::of(project, &homes, environment);
        if let Some(place) = &path
            && write(place, &Dependencies { working: true, ..known }).is_err()
        {
            path = None;
        }
        Self { project: project.clone(), homes, path }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(path) = &self.path else { return };
        let now = Dependencies::now(read(path), found(&self.project, &self.homes));
        // If this cannot be written, the record says that the run is still active, and new packages stay hidden.
        let _ = write(path, &Dependencies { working: false, ..now });
    }
}

fn write(path: &Path, known: &Dependencies) -> std::io::Result<()> {
    write_privately(path, &known.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_sessions_name_is_withheld_and_what_the_user_names_is_not() {
        let first = Dependencies::now(None, set(&["/a"]));
        assert_eq!(first, Dependencies { admitted: set(&["/a"]), ..Dependencies::default() });
        let at_work = Dependencies { working: true, ..first };
        let after = Dependencies::now(Some(at_work.clone()), set(&["/a", "/b"]));
        assert_eq!((&after.admitted, &after.withheld), (&set(&["/a"]), &set(&["/b"])));
        let ended = Dependencies { working: false, ..after };
        let next = Dependencies::now(Some(ended), set(&["/a", "/b", "/c"]));
        assert_eq!((&next.admitted, &next.withheld), (&set(&["/a", "/c"]), &set(&["/b"])));
        // A run that was killed may have named it.
        let killed = Dependencies::now(Some(at_work), set(&["/a", "/d"]));
        assert_eq!(killed.withheld, set(&["/d"]));
    }

    #[test]
    fn what_is_known_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/known");
        assert_eq!(read(&path), None);
        let known =
            Dependencies { admitted: set(&["/a b", "/c"]), withheld: set(&["/d"]), working: true };
        write(&path, &known).unwrap();
        assert_eq!(read(&path), Some(known));
    }
}
