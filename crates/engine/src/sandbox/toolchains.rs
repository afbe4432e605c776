//! The folders of the user's home that contain compilers, interpreters and their tools: the roots behind the
//! entries of `PATH`, the folders that toolchain variables name, and the usual places.
//!
//! A sandbox shows a root as a whole only if it looks like an installation. Many other tools keep logins next to
//! their programs (`~/.fly/bin` and `~/.fly/config.yml`): of those it shows only the folders for programs and
//! libraries. It never shows a folder that contains a known place of logins, and never a whole home.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::environment::paths;
use crate::host::stops_on;

/// Places of toolchains below a home, and variables that name others.
const PLACES: &str = include_str!("toolchains.txt");

/// Folders of programs: the installation that they belong to is next to them.
const OF_PROGRAMS: [&str; 5] = ["bin", "sbin", "shims", "condabin", ".bin"];
/// Folders that are shown next to the programs of an unknown installation.
const BESIDE: [&str; 5] = ["lib", "lib64", "libexec", "include", "share"];
/// What only an installation has.
const MARKS: [&str; 14] = [
    "pyvenv.cfg",
    "conda-meta",
    "jmods",
    "lib/modules",
    "lib/node_modules",
    "lib/rustlib",
    "lib/ruby",
    "lib/erlang",
    "lib/ocaml",
    "lib/perl5",
    "lib/dart",
    "src/runtime",
    "packages/flutter",
    "platform/gsutil",
];
/// Folders that are an installation by their name.
const NAMES: [&str; 8] = [
    ".npm-global",
    ".npm-packages",
    ".poetry",
    ".linuxbrew",
    "flutter",
    "node_modules",
    "mise",
    "google-cloud-sdk",
];

/// How many places are shown at most: each costs a mount.
const MOST: usize = 160;
/// How many links from one program to the next are followed.
const DEEPEST: usize = 4;
/// From this many sibling places on, the folder around them is shown.
const SIDE_BY_SIDE: usize = 4;

/// What of the homes toolchains need.
#[derive(Debug)]
pub(super) struct Toolchains<'a> {
    homes: &'a [PathBuf],
    /// The repository: shown by itself.
    root: &'a Path,
    secrets: &'a [PathBuf],
    pub(super) places: Vec<PathBuf>,
    /// Links on the way to them, and where each leads.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl<'a> Toolchains<'a> {
    pub(super) fn new(homes: &'a [PathBuf], root: &'a Path, secrets: &'a [PathBuf]) -> Self {
        Self { homes, root, secrets, places: vec![], links: vec![] }
    }

    /// Those that this environment leads to.
    pub(super) fn collect(mut self, environment: &[(OsString, OsString)]) -> Self {
        for home in self.homes {
            for name in usual() {
                self.show(&home.join(name));
            }
        }
        for name in PLACES.lines().filter_map(|line| line.strip_prefix('$')) {
            for path in paths(environment, name) {
                self.show(&path);
            }
        }
        for folder in paths(environment, "GOPATH") {
            self.programs(&folder.join("bin"), 0);
        }
        for folder in paths(environment, "PATH") {
            self.programs(&folder, 0);
        }
        self.gather();
        self
    }

    /// Shows a place as it is, if it may be.
    fn show(&mut self, path: &Path) {
        if !path.is_absolute() {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        if self.is_ours(&real) {
            self.note_links(path);
            self.add(real);
        }
    }

    /// The folder of programs, what belongs to it, and what the links in it lead to.
    fn programs(&mut self, folder: &Path, depth: usize) {
        if !folder.is_absolute() || depth > DEEPEST {
            return;
        }
        let Ok(real) = folder.canonicalize() else { return };
        // A folder of programs outside of homes may hold links into them.
        if self.is_below_home(&real) {
            if !self.is_ours(&real) {
                return;
            }
            self.note_links(folder);
            for place in self.belonging(&real) {
                self.add(place);
            }
        } else if depth > 0 {
            return;
        }
        self.follow(&real, depth);
    }

    /// Where the links in a folder of programs lead.
    fn follow(&mut self, folder: &Path, depth: usize) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let Ok(real) = entry.path().canonicalize() else { continue };
            if !self.is_ours(&real) || self.is_shown(&real) {
                continue;
            }
            self.note_links(&entry.path());
            match real.parent().filter(|above| is_installation(above.parent())) {
                Some(above) => self.programs(above, depth + 1),
                None => self.add(real),
            }
        }
    }

    /// The folders to show so that the programs of a folder run.
    fn belonging(&self, folder: &Path) -> Vec<PathBuf> {
        let is_known =
            folder.file_name().is_some_and(|name| OF_PROGRAMS.iter().any(|n| name == *n));
        let Some(prefix) = folder.parent().filter(|prefix| is_known && !self.is_broad(prefix))
        else {
            return self.of_local(folder);
        };
        if is_installation(Some(prefix)) && self.is_ours(prefix) {
            return vec![prefix.to_owned()];
        }
        let beside = BESIDE.iter().map(|name| prefix.join(name)).filter(|path| path.is_dir());
        std::iter::once(folder.to_owned()).chain(beside).collect()
    }

    /// `~/.local/bin` has the libraries of its programs in `~/.local/lib`; what else is there is the user's.
    fn of_local(&self, folder: &Path) -> Vec<PathBuf> {
        let libraries = folder.with_file_name("lib");
        let local = self.homes.iter().any(|home| folder == home.join(".local/bin"));
        let libraries = Some(libraries).filter(|path| local && path.is_dir());
        std::iter::once(folder.to_owned()).chain(libraries).collect()
    }

    /// A folder that holds more than an installation.
    fn is_broad(&self, folder: &Path) -> bool {
        let broad = [".local", ".config", ".cache", ".local/share", ".local/state"];
        self.homes
            .iter()
            .any(|home| folder == home || broad.iter().any(|name| folder == home.join(name)))
    }

    fn is_below_home(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| path.starts_with(home) && path != home)
    }

    /// Whether a place below a home may be shown: not the repository or what is around it, nothing that holds
    /// logins or is among them, and nothing broad.
    fn is_ours(&self, path: &Path) -> bool {
        let around = self.homes.iter().any(|home| home.starts_with(path));
        let of_repository = path.starts_with(self.root) || self.root.starts_with(path);
        let secret = |place: &PathBuf| place.starts_with(path) || path.starts_with(place);
        self.is_below_home(path)
            && !around
            && !of_repository
            && !self.is_broad(path)
            && !self.secrets.iter().any(secret)
    }

    fn is_shown(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    fn add(&mut self, place: PathBuf) {
        if self.places.len() < MOST && self.is_ours(&place) && !self.is_shown(&place) {
            self.places.retain(|known| !known.starts_with(&place));
            self.places.push(place);
        }
    }

    /// The links in its path, which an empty home lacks.
    fn note_links(&mut self, path: &Path) {
        for stop in stops_on(path).unwrap_or_default() {
            let Ok(leads) = std::fs::read_link(&stop) else { continue };
            if self.is_below_home(&stop) && self.links.iter().all(|(known, _)| *known != stop) {
                self.links.push((stop, leads));
            }
        }
    }

    /// Shows the folder around many places of one kind, such as the environments of pipx.
    fn gather(&mut self) {
        let mut parents: Vec<(PathBuf, usize)> = Vec::new();
        for parent in self.places.iter().filter_map(|place| place.parent()) {
            match parents.iter_mut().find(|(known, _)| known == parent) {
                Some((_, count)) => *count += 1,
                None => parents.push((parent.to_owned(), 1)),
            }
        }
        let deep = |path: &Path| {
            let below = self.homes.iter().filter_map(|home| path.strip_prefix(home).ok());
            below.map(|rest| rest.components().count()).min().unwrap_or(0) > 2
        };
        let many = parents.into_iter().filter(|(path, count)| *count >= SIDE_BY_SIDE && deep(path));
        let many: Vec<PathBuf> = many.map(|(path, _)| path).collect();
        many.into_iter().for_each(|path| self.add(path));
        let shown = |link: &Path| {
            let folder = link.parent().unwrap_or(link);
            self.places.iter().any(|place| folder.starts_with(place))
        };
        let links = std::mem::take(&mut self.links);
        self.links = links.into_iter().filter(|(link, _)| !shown(link)).collect();
    }
}

/// The usual places below a home.
fn usual() -> impl Iterator<Item = &'static str> {
    PLACES.lines().filter_map(|line| line.strip_prefix("~/"))
}

fn is_installation(prefix: Option<&Path>) -> bool {
    let Some(prefix) = prefix else { return false };
    let named = prefix.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known));
    let usual = usual().any(|place| prefix.ends_with(place));
    let python = || {
        let inside = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        inside.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
    };
    named || usual || MARKS.iter().any(|mark| prefix.join(mark).exists()) || python()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Lived {
        _folder: tempfile::TempDir,
        home: PathBuf,
    }

    impl Lived {
        fn new(files: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path().canonicalize().unwrap().join("home");
            let lived = Self { _folder: folder, home };
            files.iter().for_each(|name| lived.put(name));
            lived
        }

        fn put(&self, name: &str) {
            let path = self.home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }

        fn link(&self, at: &str, leads: &str) {
            std::fs::create_dir_all(self.home.join(at).parent().unwrap()).unwrap();
            symlink(leads, self.home.join(at)).unwrap();
        }

        /// What is shown, below the home: places and links.
        fn shown(&self, variables: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
            let at = |value: &str| value.replace('~', &self.home.display().to_string());
            let environment: Vec<(OsString, OsString)> =
                variables.iter().map(|(name, value)| (name.into(), at(value).into())).collect();
            let secrets = [".ssh", ".fly/config.yml", ".cargo/credentials.toml"];
            let secrets: Vec<PathBuf> = secrets.iter().map(|name| self.home.join(name)).collect();
            let homes = [self.home.clone()];
            let root = self.home.join("src/repo");
            let found = Toolchains::new(&homes, &root, &secrets).collect(&environment);
            let short = |path: &PathBuf| {
                let below = path.strip_prefix(&self.home).unwrap();
                below.display().to_string()
            };
            let mut places: Vec<String> = found.places.iter().map(short).collect();
            places.sort();
            (places, found.links.iter().map(|(link, _)| short(link)).collect())
        }
    }

    #[test]
    fn a_whole_installation_is_shown_and_of_other_tools_only_their_programs() {
        let lived = Lived::new(&[
            ".cargo/bin/cargo",
            ".cargo/credentials.toml",
            ".rustup/settings.toml",
            "node/bin/node",
            "node/lib/node_modules/npm/x",
            ".fly/bin/fly",
            ".fly/config.yml",
            "go/bin/tool",
            "go/src/private.go",
            ".local/bin/black",
            ".local/lib/python3.12/site",
            ".local/share/keyrings/login",
            "tools/bin/x",
            "tools/lib/y",
            "tools/token",
        ]);
        let path =
            "~:~/.cargo/bin:~/node/bin:~/.fly/bin:~/go/bin:~/.local/bin:~/tools/bin:/usr/bin";
        let (places, _) = lived.shown(&[("PATH", path)]);
        let wanted = [
            ".cargo/bin",
            ".fly/bin",
            ".local/bin",
            ".local/lib",
            ".rustup",
            "go/bin",
            "node",
            "tools/bin",
            "tools/lib",
        ];
        assert_eq!(places, wanted);
    }

    #[test]
    fn links_on_the_way_to_a_program_are_there_too() {
        let lived = Lived::new(&[
            "jdk/17/bin/java",
            "jdk/17/lib/modules",
            ".local/share/pipx/venvs/black/pyvenv.cfg",
            ".local/share/pipx/venvs/black/bin/black",
            ".local/share/agent/versions/1.2",
            "private/notes/run.sh",
        ]);
        lived.link("jdk/current", "17");
        lived.link(".local/bin/black", "../share/pipx/venvs/black/bin/black");
        lived.link(".local/bin/agent", "../share/agent/current");
        lived.link(".local/share/agent/current", "versions/1.2");
        lived.link(".local/bin/run", "../../private/notes/run.sh");
        let (places, links) = lived.shown(&[("PATH", "~/jdk/current/bin:~/.local/bin")]);
        let wanted = [
            ".local/bin",
            ".local/share/agent/versions/1.2",
            ".local/share/pipx/venvs/black",
            "jdk/17",
            "private/notes/run.sh",
        ];
        assert_eq!(places, wanted);
        assert_eq!(links, ["jdk/current", ".local/share/agent/current"]);
    }

    #[test]
    fn variables_name_toolchains_and_certificates_and_never_logins() {
        let lived = Lived::new(&["sdk/java/bin/java", ".ssh/ca.pem", "ca.pem", "src/repo/x"]);
        let variables = [
            ("JAVA_HOME", "~/sdk/java"),
            ("NODE_EXTRA_CA_CERTS", "~/ca.pem"),
            ("SSL_CERT_FILE", "~/.ssh/ca.pem"),
            ("GOROOT", "~"),
            ("NODE_PATH", "~/src:~/src/repo"),
            ("SECRET_HOME", "~/sdk"),
        ];
        assert_eq!(lived.shown(&variables).0, ["ca.pem", "sdk/java"]);
    }

    #[test]
    fn many_of_one_kind_are_shown_by_the_folder_around_them() {
        let lived = Lived::new(&[".local/bin/keep", ".local/share/pipx/secret"]);
        for name in ["a", "b", "c", "d"] {
            lived.put(&format!(".local/share/pipx/venvs/{name}/pyvenv.cfg"));
            lived.put(&format!(".local/share/pipx/venvs/{name}/bin/{name}"));
            let leads = format!("../share/pipx/venvs/{name}/bin/{name}");
            lived.link(&format!(".local/bin/{name}"), &leads);
        }
        let (places, _) = lived.shown(&[("PATH", "~/.local/bin")]);
        assert_eq!(places, [".local/bin", ".local/share/pipx/venvs"]);
    }
}
