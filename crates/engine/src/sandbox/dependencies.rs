//! Packages outside the repository that its manifests name by path: `path = "../lib"` of cargo, `file:../lib` of
//! npm, `replace … => ../lib` of go, and similar.
//!
//! Only committed manifests count, and only paths to a package below the user's home: a folder with a manifest of
//! its own. The path dependencies of that package are found the same way. This module does not decide what sessions
//! get to see: a session can write a manifest.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::git::Git;
use crate::untrusted::{SMALL, read_through_links};

/// Manifests: whether the file names other packages, and whether it makes its folder a package.
const MANIFESTS: [(&str, bool, bool); 15] = [
    ("Cargo.toml", true, true),
    ("package.json", true, true),
    ("pnpm-workspace.yaml", true, false),
    ("go.mod", true, true),
    ("go.work", true, false),
    ("pyproject.toml", true, true),
    ("requirements.txt", true, false),
    ("setup.py", false, true),
    ("setup.cfg", true, true),
    ("Pipfile", true, false),
    ("Gemfile", true, true),
    ("composer.json", true, true),
    ("pubspec.yaml", true, true),
    ("mix.exs", true, true),
    ("build.gradle", false, true),
];

/// The manifests that name other packages.
fn naming() -> impl Iterator<Item = &'static str> {
    MANIFESTS.iter().filter(|(_, names, _)| *names).map(|(name, ..)| *name)
}

/// How many of them there are at most, and how far they are followed.
const MOST: usize = 64;
/// Larger than any manifest.
const LONGEST: u64 = 1 << 20;

/// The packages that the committed manifests of a worktree lead to, outside of `root` and below one of `homes`.
pub fn path_dependencies(worktree: &Path, root: &Path, homes: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = PathDependencies { root, homes, all: BTreeSet::new() };
    for (manifest, line) in committed_lines(worktree) {
        let folder = worktree.join(manifest.parent().unwrap_or(Path::new("")));
        found.take(&folder, &line);
    }
    found.all.into_iter().collect()
}

struct PathDependencies<'a> {
    root: &'a Path,
    homes: &'a [PathBuf],
    all: BTreeSet<PathBuf>,
}

impl PathDependencies<'_> {
    /// Takes what a line of a manifest in `folder` names, and what is named there.
    fn take(&mut self, folder: &Path, line: &str) {
        for path in paths_in(line) {
            let Ok(real) = folder.join(path).canonicalize() else { continue };
            let Some(package) = self.package(&real) else { continue };
            if self.all.len() < MOST && self.all.insert(package.clone()) {
                self.follow(&package);
            }
        }
    }

    /// What the manifests of a package name. They are the user's: no session can write them.
    fn follow(&mut self, package: &Path) {
        for name in naming() {
            let path = package.join(name);
            let is_small = |found: std::fs::Metadata| found.is_file() && found.len() <= LONGEST;
            if !path.metadata().is_ok_and(is_small) {
                continue;
            }
            let text = manifest(&path);
            text.lines().for_each(|line| self.take(package, line));
        }
    }

    /// The folder to show so that this can be built: its workspace, or itself.
    fn package(&self, real: &Path) -> Option<PathBuf> {
        let home = self.homes.iter().find(|home| real.starts_with(home))?;
        // A dot folder directly below the home is not a package but settings of a program.
        let first = real.strip_prefix(home).ok()?.components().next()?;
        let is_dotted =
            matches!(first, Component::Normal(name) if name.to_string_lossy().starts_with('.'));
        let around = self.root.starts_with(real) || self.homes.iter().any(|h| h.starts_with(real));
        let is_package =
            MANIFESTS.iter().any(|(name, _, makes)| *makes && real.join(name).is_file());
        let is_archive = real.is_file() && is_archive(real);
        if is_dotted || around || real.starts_with(self.root) || !(is_package || is_archive) {
            return None;
        }
        let above = real
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(home) && folder != home);
        let mut above = above.filter(|folder| !self.root.starts_with(folder));
        let workspace = above.find(|folder| is_workspace(folder));
        Some(workspace.unwrap_or(real).to_owned())
    }
}

fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    [".tgz", ".tar.gz", ".whl", ".gem", ".zip"].iter().any(|end| name.ends_with(end))
}

fn is_workspace(folder: &Path) -> bool {
    let text = manifest(&folder.join("Cargo.toml"));
    text.lines().any(|line| line.trim_start().starts_with("[workspace"))
}

/// The lines of manifests at HEAD in which a path may stand, by manifest.
fn committed_lines(worktree: &Path) -> Vec<(PathBuf, String)> {
    let mut call = vec![
        "grep",
        "-I",
        "-z",
        "--full-name",
        "-E",
        "-e",
        "\\.\\./|file:|=> */|path.*/",
        "HEAD",
        "--",
    ];
    let patterns: Vec<String> = naming().map(|name| format!(":(top,glob)**/{name}")).collect();
    call.extend(patterns.iter().map(String::as_str));
    // Without a commit, or without a match, it fails, and there is nothing.
    let Ok(printed) = Git::plumbing(worktree, &call).run() else { return vec![] };
    let text = String::from_utf8_lossy(&printed);
    let one = |line: &str| {
        let (name, rest) = line.split_once('\0')?;
        Some((PathBuf::from(name.strip_prefix("HEAD:")?), rest.to_owned()))
    };
    text.lines().filter_map(one).collect()
}

fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split(" //").next().unwrap_or(line);
    let words = line.split(['"', '\'', ' ', '\t', ',', '(', ')', '[', ']', '{', '}']);
    words.filter_map(|word| {
        let word = ["file:", "link:", "portal:", "path:"]
            .iter()
            .find_map(|kind| word.strip_prefix(kind))
            .unwrap_or(word);
        let word = word.strip_prefix("//").filter(|rest| rest.starts_with('/')).unwrap_or(word);
        (word.starts_with("../") || word == ".." || word.starts_with('/')).then_some(word)
    })
}

/// The text of a manifest; nothing where it is anything but a file of text.
fn manifest(path: &Path) -> String {
    let bytes = read_through_links(path, SMALL).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;

    #[test]
    fn packages_beside_the_repository_are_found_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let put = |name: &str, text: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(
            "src/repo/Cargo.toml",
            "[dependencies]\na = { path = \"../a\" }\ninner = { path = \"in\" }\n",
        );
        put("src/repo/web/package.json", "{\"dependencies\": {\"ui\": \"file:../../ui\"}}\n");
        put("src/repo/go.mod", "replace example.org/x => ../x // ../comment\n");
        put(
            "src/repo/evil/Cargo.toml",
            "k = { path = \"../../../.ssh\" }\nh = { path = \"../../..\" }\n",
        );
        put(
            "src/repo/evil/package.json",
            "{\"s\": \"file:../../notes\", \"up\": \"file:../..\"}\n",
        );
        put("src/a/Cargo.toml", "[dependencies]\nb = { path = \"../ws/crates/b\" }\n");
        put("src/ws/Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
        put("src/ws/crates/b/Cargo.toml", "");
        put("src/ui/package.json", "{}");
        put("src/x/go.mod", "");
        put("src/comment/go.mod", "");
        put("src/notes/diary.md", "");
        put(".ssh/Cargo.toml", "");
        put("Cargo.toml", "");
        let repo = home.join("src/repo");
        git(&repo, &["init", "--quiet"]).unwrap();
        git(&repo, &["add", "."]).unwrap();
        let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let commit: Vec<&str> = identity.into_iter().chain(["commit", "-q", "-m", "x"]).collect();
        git(&repo, &commit).unwrap();
        // What is not committed does not count.
        put("src/repo/Cargo.toml", "[dependencies]\ny = { path = \"../y\" }\n");
        put("src/y/Cargo.toml", "");
        let found = path_dependencies(&repo, &repo, std::slice::from_ref(&home));
        let found: Vec<_> = found.iter().map(|path| path.strip_prefix(&home).unwrap()).collect();
        assert_eq!(found, ["src/a", "src/ui", "src/ws", "src/x"].map(Path::new));
    }
}
