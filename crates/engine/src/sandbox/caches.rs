//! The cache folders that tools write to, below the user's cache folder: one set for the sessions of a project, and
//! one for its gates and verifiers, which no session sees. Nothing that a session writes to its caches is used
//! outside of a session.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::environment::folder;
use super::registries::without_logins;
use crate::process::{abandoned, project_folder};
use crate::project::{is_folder, private_folder, write_privately};
use crate::untrusted::if_there;

/// The most bytes that are copied from one cache of the user.
const MOST: u64 = 512 << 20;
/// The name of the file with nothing in it.
pub(super) const NOTHING: &str = ".nothing";
/// The folder for temporary files, where a sandbox has no `/tmp` of its own.
pub(super) const TEMPORARY: &str = "tmp";
/// Lists the caches that were seeded, a line each; ralph 0.1 left it empty once all were.
const SEEDED: &str = ".seeded";
/// The caches of gates and verifiers.
const JUDGES: &str = "judges";
/// Folders for one checkout, or for one verifier.
const FRESH: &str = "fresh";

/// The folders that a sandbox shows, each mounted by itself: no sandboxed program can replace the folders
/// around them. Each costs a start 0.4 ms, so a tool has its own only where ralph itself writes or removes
/// files in it.
const FOLDERS: [&str; 4] = [SHARED, "cargo", "gradle", TEMPORARY];
/// The folder of all other tools.
const SHARED: &str = "xdg";

/// Variables that name the cache of a tool, and its folder.
const VARIABLES: [(&str, &str); 9] = [
    ("XDG_CACHE_HOME", SHARED),
    ("CARGO_HOME", "cargo"),
    ("GRADLE_USER_HOME", "gradle"),
    ("npm_config_cache", "xdg/npm"),
    ("YARN_CACHE_FOLDER", "xdg/yarn"),
    ("PIP_CACHE_DIR", "xdg/pip"),
    ("GOCACHE", "xdg/go-build"),
    ("GOMODCACHE", "xdg/go-mod"),
    ("UV_CACHE_DIR", "xdg/uv"),
];

/// A cache of the user that is copied where the repository uses its tool.
struct Seed {
    /// Files that show that the repository uses the tool.
    manifests: &'static [&'static str],
    /// The variable that names the user's folder, and its place below the home without it.
    source: (&'static str, &'static str),
    /// The part of the user's folder that is copied, and the folders of that part.
    part: (&'static str, &'static [&'static str]),
    /// Where it goes: a folder directly in one of [`FOLDERS`].
    to: &'static str,
}

const CARGO: &[&str] = &["Cargo.toml"];
const NODE: &[&str] = &["package.json"];
const PYTHON: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock", "Pipfile"];
const GO: &[&str] = &["go.mod", "go.work"];

// One line per cache reads as a table, so rustfmt must not wrap it.
#[rustfmt::skip]
const SEEDS: [Seed; 7] = [
    Seed { manifests: CARGO, source: CARGO_HOME, part: ("registry", &["index", "cache"]), to: "cargo/registry" },
    Seed { manifests: CARGO, source: CARGO_HOME, part: ("git", &["db"]), to: "cargo/git" },
    Seed { manifests: NODE, source: ("npm_config_cache", ".npm"), part: ("", &["_cacache"]), to: "xdg/npm" },
    Seed { manifests: NODE, source: ("YARN_CACHE_FOLDER", ".cache/yarn"), part: ("", &[""]), to: "xdg/yarn" },
    Seed { manifests: PYTHON, source: ("PIP_CACHE_DIR", ".cache/pip"), part: ("", &[""]), to: "xdg/pip" },
    Seed { manifests: PYTHON, source: ("UV_CACHE_DIR", ".cache/uv"), part: ("", &[""]), to: "xdg/uv" },
    Seed { manifests: GO, source: ("GOMODCACHE", "go/pkg/mod"), part: ("", &["cache/download"]), to: "xdg/go-mod" },
];

/// Folders that hold the manifests of other projects.
const FOREIGN: [&str; 4] = ["node_modules", "target", "vendor", "venv"];
/// How deep manifests are looked for, and in how many folders at most.
const DEEPEST: usize = 3;
const MOST_FOLDERS: usize = 500;

/// Settings of cargo that are copied each time: where packages come from.
const SETTINGS: [&str; 2] = ["config.toml", "config"];
const CARGO_HOME: (&str, &str) = ("CARGO_HOME", ".cargo");

/// Settings and programs that tools read from these folders.
const DECIDING: [(&str, &str); 9] = [
    ("cargo", "config.toml"),
    ("cargo", "config"),
    ("cargo", "credentials.toml"),
    ("cargo", "credentials"),
    ("cargo", "bin"),
    ("gradle", "init.d"),
    ("gradle", "init.gradle"),
    ("gradle", "init.gradle.kts"),
    ("gradle", "gradle.properties"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caches {
    folder: PathBuf,
    /// Where the project is looked through for the tools that it uses; `None` for the caches of gates and
    /// verifiers, which hold the same tools as `sessions`.
    root: Option<PathBuf>,
    sessions: PathBuf,
}

impl Caches {
    /// Those of the project at `root`, below the user's folder for caches.
    pub fn of(cache_home: &Path, root: &Path) -> Self {
        let folder = project_folder(cache_home, root);
        Self { sessions: folder.clone(), folder, root: Some(root.to_owned()) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn of_judges(&self) -> Self {
        self.of_judges_at(&self.folder.join(JUDGES))
    }

    /// Those in a folder that [`Caches::fresh`] made.
    pub(super) fn of_judges_at(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), root: None, sessions: self.sessions.clone() }
    }

    /// An empty folder that sessions do not see; it is removed when the value is dropped.
    pub(super) fn fresh(&self) -> io::Result<tempfile::TempDir> {
        let place = self.folder.join(FRESH);
        private_folder(&place)?;
        tempfile::Builder::new().prefix(&format!("{}-", std::process::id())).tempdir_in(place)
    }

    fn sweep(&self) {
        for folder in abandoned(&self.folder.join(FRESH), "") {
            // What cannot be removed is left.
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    /// The folder of one.
    pub fn of_name(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file with nothing in it, shown in the place of those that are hidden.
    pub(super) fn nothing(&self) -> PathBuf {
        self.folder.join(NOTHING)
    }

    pub(super) fn make(&self) -> io::Result<()> {
        private_folder(&self.folder)?;
        std::fs::write(self.nothing(), "")
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        FOLDERS.iter().map(|name| self.folder.join(name))
    }

    /// Caches that an earlier ralph kept elsewhere stay warm.
    fn take_in(&self) {
        let shared = self.folder.join(SHARED);
        for (_, name) in VARIABLES.iter().filter(|(_, name)| name.contains('/')) {
            let Some(before) = Path::new(name).file_name().map(|name| self.folder.join(name))
            else {
                continue;
            };
            if is_folder(&before) && !shared.is_symlink() {
                // An existing folder is as good.
                let _ = std::fs::rename(&before, self.folder.join(name));
            }
        }
    }

    /// Creates the folders, and copies the user's cache of each tool that the repository uses, once. Caches
    /// that are too large or unreadable are left out and reported.
    pub fn prepare(
        &self,
        home: Option<&Path>,
        environment: &[(OsString, OsString)],
    ) -> io::Result<Vec<String>> {
        self.make()?;
        self.sweep();
        self.folders().try_for_each(|folder| private_folder(&folder))?;
        self.take_in();
        let source = |(variable, below)| folder(environment, variable, home, below);
        let mut left_out = Vec::new();
        for file in SETTINGS {
            let Some(from) = source(CARGO_HOME).map(|folder| folder.join(file)) else { continue };
            let Ok(text) = std::fs::read_to_string(&from) else { continue };
            // Replaces the existing file: a session may have left a link, which would lead out.
            let text = without_logins(&text);
            if let Err(error) = write_privately(&self.of_name("cargo").join(file), &text) {
                left_out.push(format!("{} was not copied for sessions: {error}", from.display()));
            }
        }
        let seeded = seeded(&self.folder);
        if seeded.is_none() {
            // Never again: a session may have put a link in the place of any of them.
            VARIABLES.iter().try_for_each(|(_, name)| private_folder(&self.folder.join(name)))?;
        }
        let open = |seed: &&Seed| !seeded.as_ref().is_some_and(|seeded| seeded.has(seed));
        let open = SEEDS.iter().filter(open).filter_map(|seed| {
            let from = source(seed.source)?.join(seed.part.0);
            (from.is_dir() && !from.starts_with(&self.folder)).then_some((seed, from))
        });
        let open: Vec<_> = open.collect();
        let used = match &self.root {
            Some(root) if !open.is_empty() => manifests(root),
            _ => BTreeSet::new(),
        };
        let of_sessions = self.root.is_none().then(|| self::seeded(&self.sessions)).flatten();
        let is_used = |seed: &Seed| match &of_sessions {
            Some(seeded) => seeded.has(seed),
            None => seed.manifests.iter().any(|name| used.contains(*name)),
        };
        let (known, mut names) =
            (seeded.is_some(), seeded.map_or_else(|| "\n".to_owned(), |seeded| seeded.0));
        let before = names.len();
        for (seed, from) in open.into_iter().filter(|(seed, _)| is_used(seed)) {
            left_out.extend(self.copy_seed(seed, &from)?);
            names.push_str(&format!("{}\n", seed.to));
        }
        if !known || names.len() > before {
            std::fs::write(self.folder.join(SEEDED), names)?;
        }
        Ok(left_out)
    }

    /// Copies one cache, all or nothing, and says what was left out. Sessions may have used the folder before:
    /// nothing is written through it, and a cache that has contents stays.
    fn copy_seed(&self, seed: &Seed, from: &Path) -> io::Result<Vec<String>> {
        let mut left_out = Vec::new();
        let copy = self.fresh()?;
        for folder in seed.part.1 {
            let from = from.join(folder);
            match size(&from, MOST) {
                _ if !from.is_dir() => {}
                Some(_) => copy_all(&from, &copy.path().join("copy").join(folder))?,
                None => left_out.push(format!(
                    "{} is larger than {} MiB and was not copied for sessions",
                    from.display(),
                    MOST >> 20
                )),
            }
        }
        // Fails where the cache has contents already, or a session left a link in its place.
        let _ = std::fs::rename(copy.path().join("copy"), self.folder.join(seed.to));
        Ok(left_out)
    }

    /// The same for gates and verifiers, before each. Deciding settings of tools are the user's or absent: the
    /// code that gates run could have left others.
    pub(super) fn prepare_for_judges(
        &self,
        home: Option<&Path>,
        environment: &[(OsString, OsString)],
    ) -> io::Result<()> {
        // Gates of several slots may come at once.
        static TURN: Mutex<()> = Mutex::new(());
        let _held = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = self.folder.parent().is_some_and(|place| place.ends_with(FRESH));
        if !is_fresh {
            for (folder, name) in DECIDING {
                remove(&self.folder.join(folder).join(name))?;
            }
        }
        self.prepare(home, environment).map(drop)
    }

    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let one = |(variable, name): &(&str, &str)| {
            (OsString::from(*variable), self.folder.join(name).into_os_string())
        };
        VARIABLES.iter().map(one).collect()
    }
}

struct Seeded(String);

impl Seeded {
    fn has(&self, seed: &Seed) -> bool {
        self.0.is_empty() || self.0.lines().any(|line| line == seed.to)
    }
}

/// What the folder was seeded with; `None` before the first time.
fn seeded(folder: &Path) -> Option<Seeded> {
    std::fs::read_to_string(folder.join(SEEDED)).ok().map(Seeded)
}

/// The names of the manifests in a project, without those of its dependencies.
fn manifests(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = VecDeque::from([(root.to_owned(), 1)]);
    let mut left = MOST_FOLDERS;
    while let Some((folder, depth)) = folders.pop_front() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder {
                if SEEDS.iter().any(|seed| seed.manifests.contains(&name.as_str())) {
                    found.insert(name);
                }
            } else if depth < DEEPEST
                && left > 0
                && !name.starts_with('.')
                && !FOREIGN.contains(&name.as_str())
            {
                left -= 1;
                folders.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    if_there(removed).map(drop)
}

/// How large a folder is; `None` if more than that.
fn size(folder: &Path, most: u64) -> Option<u64> {
    let mut all = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        all += match found.is_dir() {
            true => size(&entry.path(), most.saturating_sub(all))?,
            false => found.len(),
        };
        if all > most {
            return None;
        }
    }
    Some(all)
}

/// Copies files and folders, not links: a link into the user's cache would lead out of the sandbox.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else if kind.is_file() && std::fs::copy(entry.path(), target).is_err() {
            // Tools that need it fetch it.
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_seeded_once_and_settings_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let index = home.join(".cargo/registry/index/x");
        std::fs::create_dir_all(&index).unwrap();
        std::fs::write(index.join("a"), "1").unwrap();
        std::fs::write(home.join(".cargo/config.toml"), "n = 1\ntoken = \"t\"\n").unwrap();
        std::fs::write(home.join(".cargo/credentials.toml"), "secret").unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let caches = Caches::of(&folder.path().join("cache"), folder.path());
        assert!(caches.prepare(Some(&home), &[]).unwrap().is_empty());
        let own = caches.of_name("cargo");
        assert_eq!(std::fs::read_to_string(own.join("registry/index/x/a")).unwrap(), "1");
        assert!(!own.join("credentials.toml").exists());
        assert_eq!(std::fs::read_to_string(own.join("config.toml")).unwrap(), "n = 1\n");
        std::fs::write(index.join("b"), "2").unwrap();
        std::fs::write(home.join(".cargo/config.toml"), "n = 2\n").unwrap();
        std::fs::write(home.join(".profile"), "mine").unwrap();
        std::fs::remove_file(own.join("config.toml")).unwrap();
        std::os::unix::fs::symlink(home.join(".profile"), own.join("config.toml")).unwrap();
        caches.prepare(Some(&home), &[]).unwrap();
        assert!(!own.join("registry/index/x/b").exists());
        assert_eq!(std::fs::read_to_string(own.join("config.toml")).unwrap(), "n = 2\n");
        assert_eq!(std::fs::read_to_string(home.join(".profile")).unwrap(), "mine");
    }

    #[test]
    fn a_cache_is_copied_only_where_the_repository_uses_its_tool() {
        let folder = tempfile::tempdir().unwrap();
        let (home, root) = (folder.path().join("home"), folder.path().join("repo"));
        for cache in
            [".cargo/registry/cache", ".npm/_cacache", ".cache/pip", "go/pkg/mod/cache/download"]
        {
            std::fs::create_dir_all(home.join(cache)).unwrap();
            std::fs::write(home.join(cache).join("a"), "mine").unwrap();
        }
        std::fs::create_dir_all(root.join("services/api")).unwrap();
        std::fs::create_dir_all(root.join("node_modules/dependency")).unwrap();
        std::fs::write(root.join("services/api/go.mod"), "").unwrap();
        std::fs::write(root.join("node_modules/dependency/package.json"), "").unwrap();
        let caches = Caches::of(&folder.path().join("cache"), &root);
        let judges = caches.of_judges();
        let prepare = || {
            caches.prepare(Some(&home), &[]).unwrap();
            judges.prepare_for_judges(Some(&home), &[]).unwrap();
        };
        prepare();
        let copied = |name: &str| [&caches, &judges].map(|caches| caches.of_name(name).exists());
        assert_eq!(copied("xdg/go-mod/cache/download/a"), [true, true]);
        for name in ["cargo/registry", "xdg/npm/_cacache", "xdg/pip/a"] {
            assert_eq!(copied(name), [false, false], "{name}");
        }

        // A manifest that comes later has its cache copied at the next run. What sessions wrote there stays, and
        // a link that one of them left leads nowhere.
        for name in ["Cargo.toml", "package.json", "setup.py"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::fs::create_dir(caches.of_name("xdg/npm/warm")).unwrap();
        std::fs::remove_dir(caches.of_name("xdg/pip")).unwrap();
        std::os::unix::fs::symlink(folder.path(), caches.of_name("xdg/pip")).unwrap();
        prepare();
        assert_eq!(copied("cargo/registry/cache/a"), [true, true]);
        assert_eq!(copied("xdg/npm/_cacache/a"), [false, true]);
        assert!(caches.of_name("xdg/npm/warm").exists() && !folder.path().join("a").exists());
        assert!(judges.of_name("xdg/pip/a").exists());
    }

    #[test]
    fn every_cache_lies_in_a_folder_that_is_shown_and_one_from_before_stays_warm() {
        let folder = tempfile::tempdir().unwrap();
        let caches = Caches::of(&folder.path().join("cache"), folder.path());
        std::fs::create_dir_all(caches.of_name("npm/_cacache")).unwrap();
        std::fs::write(caches.of_name("npm/_cacache/a"), "warm").unwrap();
        std::fs::write(caches.of_name(SEEDED), "").unwrap();
        caches.prepare(None, &[]).unwrap();
        let shown: Vec<PathBuf> = caches.folders().collect();
        for (variable, place) in caches.environment() {
            let is_shown = shown.iter().any(|folder| Path::new(&place).starts_with(folder));
            assert!(is_shown, "{variable:?}");
        }
        let warm = std::fs::read_to_string(caches.of_name("xdg/npm/_cacache/a")).unwrap();
        assert_eq!(warm, "warm");
        assert!(!caches.of_name("npm").exists());
        // A link that a session left leads nothing anywhere.
        std::fs::remove_dir_all(caches.of_name("xdg/npm")).unwrap();
        std::os::unix::fs::symlink(folder.path(), caches.of_name("xdg/npm")).unwrap();
        std::fs::create_dir_all(caches.of_name("npm/planted")).unwrap();
        caches.prepare(None, &[]).unwrap();
        assert!(!folder.path().join("planted").exists() && caches.of_name("xdg/npm").is_symlink());
    }

    #[test]
    fn judges_have_caches_of_their_own_and_settings_only_from_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let index = home.join(".cargo/registry/index/x");
        std::fs::create_dir_all(&index).unwrap();
        std::fs::write(index.join("a"), "1").unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let caches = Caches::of(&folder.path().join("cache"), folder.path());
        caches.prepare(Some(&home), &[]).unwrap();
        std::fs::write(caches.of_name("cargo/registry/index/x/a"), "poisoned").unwrap();
        std::fs::write(caches.of_name("cargo/config.toml"), "poisoned").unwrap();
        let judges = caches.of_judges();
        judges.prepare_for_judges(Some(&home), &[]).unwrap();
        let a = judges.of_name("cargo/registry/index/x/a");
        assert_eq!(std::fs::read_to_string(&a).unwrap(), "1");
        // Kept warm, but for what decides.
        std::fs::write(judges.of_name("cargo/registry/index/x/b"), "2").unwrap();
        std::fs::write(judges.of_name("cargo/config.toml"), "left by a gate").unwrap();
        std::fs::create_dir_all(judges.of_name("gradle/init.d")).unwrap();
        std::os::unix::fs::symlink(&home, judges.of_name("cargo/bin")).unwrap();
        judges.prepare_for_judges(Some(&home), &[]).unwrap();
        assert!(judges.of_name("cargo/registry/index/x/b").exists());
        for name in ["cargo/config.toml", "gradle/init.d", "cargo/bin"] {
            assert!(judges.of_name(name).symlink_metadata().is_err(), "{name}");
        }
        assert!(index.exists());
        std::fs::write(home.join(".cargo/config.toml"), "n = 1\n").unwrap();
        judges.prepare_for_judges(Some(&home), &[]).unwrap();
        let settings = std::fs::read_to_string(judges.of_name("cargo/config.toml")).unwrap();
        assert_eq!(settings, "n = 1\n");
    }

    #[test]
    fn fresh_caches_are_seeded_and_go_away() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join(".npm/_cacache")).unwrap();
        std::fs::write(home.join(".npm/_cacache/a"), "1").unwrap();
        std::fs::write(folder.path().join("package.json"), "").unwrap();
        let caches = Caches::of(&folder.path().join("cache"), folder.path());
        caches.prepare(Some(&home), &[]).unwrap();
        let held = caches.fresh().unwrap();
        let fresh = caches.of_judges_at(held.path());
        fresh.prepare_for_judges(Some(&home), &[]).unwrap();
        assert!(fresh.of_name("xdg/npm/_cacache/a").is_file());
        // What the setup command of a checkout installs is there for its gates.
        std::fs::create_dir(fresh.of_name("cargo/bin")).unwrap();
        fresh.prepare_for_judges(Some(&home), &[]).unwrap();
        assert!(fresh.of_name("cargo/bin").is_dir());
        let place = held.path().to_owned();
        drop(held);
        assert!(!place.exists());
        let dead = place.with_file_name(format!("{}-x", u32::MAX));
        std::fs::create_dir(&dead).unwrap();
        caches.prepare(Some(&home), &[]).unwrap();
        assert!(!dead.exists());
    }
}
