//! Every effective git setting of a worktree, as git lists them, so that includes, conditions and odd spellings are
//! read as git reads them.
//!
//! ralph needs settings before each session and each git call, and asking git starts a process. So it remembers the
//! answer until a file changes that it came from or could come from: files of the repository, the user and the
//! system, whether they exist or not, and included files. Sessions can write some of them, so ralph compares the
//! files each time, by what no program can fake: inode and change time.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ralph_core::Timestamp;

use super::fingerprint::{self, changed_at, stamp_of};
use super::{Git, GitResult};
use crate::clock;
use crate::host::host;
use crate::project::Project;

/// A file that changed so few milliseconds before it was read may change again without a later time.
const RACY: i64 = 20;
/// Where settings of the system are, unless git was built to look elsewhere.
const OF_SYSTEM: &str = "/etc/gitconfig";
/// Conditions of includes that depend on settings, or on the path of the repository. Others may depend on anything.
const CONDITIONS: [&[u8]; 3] = [b"gitdir:", b"gitdir/i:", b"hasconfig:"];

/// A setting as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) is_local: bool,
    /// The file that says it; `None` for what the environment says.
    pub(crate) file: Option<PathBuf>,
    /// In small letters but for the part between the dots.
    pub(crate) key: Vec<u8>,
    /// `None` for a key without `=`, which means true.
    pub(crate) value: Option<Vec<u8>>,
}

impl Listed {
    /// One that no file says.
    pub(crate) fn new(key: &str, value: impl AsRef<OsStr>) -> Self {
        let value = Some(value.as_ref().as_bytes().to_vec());
        Self { is_local: false, file: None, key: key.as_bytes().to_vec(), value }
    }

    /// An entry of a list without origins.
    pub(crate) fn parse(entry: &[u8]) -> Self {
        let end = entry.iter().position(|byte| *byte == b'\n');
        Self {
            is_local: false,
            file: None,
            key: entry[..end.unwrap_or(entry.len())].to_vec(),
            value: end.map(|end| entry[end + 1..].to_vec()),
        }
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or(b"true")
    }
}

/// The first part of a key, the one between the dots, and the last.
pub(crate) fn parts(key: &[u8]) -> (&[u8], Option<&[u8]>, &[u8]) {
    let first = key.iter().position(|byte| *byte == b'.').unwrap_or(key.len());
    let last = key.iter().rposition(|byte| *byte == b'.').unwrap_or(key.len());
    let middle = (first < last).then(|| &key[first + 1..last]);
    (&key[..first], middle, key.get(last + 1..).unwrap_or_default())
}

/// All settings that count, in the order in which git reads them.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) all: Vec<Listed>,
    author: OnceLock<(String, String)>,
}

impl Listing {
    /// The value of a key that counts; one without a value is true.
    pub(crate) fn value(&self, key: &str) -> Option<&[u8]> {
        self.all.iter().rfind(|one| one.key == key.as_bytes()).map(Listed::value)
    }

    /// Whether a key is set to what git takes for true.
    pub(crate) fn is_on(&self, key: &str) -> bool {
        let off: [&[u8]; 5] = [b"false", b"no", b"off", b"0", b""];
        let is_off = |value: &[u8]| off.iter().any(|off| value.eq_ignore_ascii_case(off));
        self.value(key).is_some_and(|value| !is_off(value))
    }

    /// Name and address of the committer by these settings, as git gives them. `None` where there is none.
    pub(crate) fn author(&self, worktree: &Path) -> Option<(String, String)> {
        if let Some(known) = self.author.get() {
            return Some(known.clone());
        }
        let line = Git::new(worktree, &["var", "GIT_AUTHOR_IDENT"]).line().ok()?;
        let (name, rest) = line.split_once(" <")?;
        let (email, _) = rest.split_once('>')?;
        Some(self.author.get_or_init(|| (name.to_owned(), email.to_owned())).clone())
    }
}

/// The state of a file; `None` for one that is not there.
type Stamp = Option<fingerprint::Stamp>;

/// An answer, and the files that it holds for.
struct Known {
    listing: Arc<Listing>,
    files: Vec<(PathBuf, Stamp)>,
}

static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());

/// The settings that count in the worktree of a project.
pub(crate) fn listing(project: &Project) -> GitResult<Arc<Listing>> {
    listing_at(project, clock::now())
}

fn listing_at(project: &Project, now: Timestamp) -> GitResult<Arc<Listing>> {
    let worktree = &project.worktree;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known().get(worktree)
        && known.files.iter().all(|(file, before)| stamp(file) == *before)
    {
        return Ok(Arc::clone(&known.listing));
    }
    let listing = Arc::new(ask(worktree)?);
    let files = watched(project, &GitEnvironment::of_process(), &listing.all);
    match files.and_then(|files| settled(files, &listing.all, now)) {
        Some(files) => {
            known().insert(worktree.clone(), Known { listing: Arc::clone(&listing), files });
        }
        None => drop(known().remove(worktree)),
    }
    Ok(listing)
}

fn ask(worktree: &Path) -> GitResult<Listing> {
    let asked = ["config", "--list", "-z", "--includes", "--show-scope", "--show-origin"];
    let listed = Git::listing(worktree, &asked).run()?;
    let mut fields = listed.split(|byte| *byte == 0);
    let mut all = Vec::new();
    while let (Some(scope), Some(origin), Some(entry)) =
        (fields.next(), fields.next(), fields.next())
    {
        let file = origin.strip_prefix(b"file:");
        all.push(Listed {
            is_local: matches!(scope, b"local" | b"worktree"),
            file: file.map(|file| worktree.join(OsStr::from_bytes(file))),
            ..Listed::parse(entry)
        });
    }
    Ok(Listing { all, author: OnceLock::new() })
}

/// Variables of this process by which git finds the settings of the user and of the system.
#[derive(Debug, Default)]
struct GitEnvironment {
    home: Option<OsString>,
    config_home: Option<OsString>,
    global: Option<OsString>,
    system: Option<OsString>,
}

impl GitEnvironment {
    #[expect(
        clippy::disallowed_methods,
        reason = "git, which ralph starts with the environment of this process, reads the same variables"
    )]
    fn of_process() -> Self {
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            home: value("HOME"),
            config_home: value("XDG_CONFIG_HOME"),
            global: value("GIT_CONFIG_GLOBAL"),
            system: value("GIT_CONFIG_SYSTEM"),
        }
    }

    /// A file of git's in the folder for settings.
    fn of_git(&self, name: &str) -> Option<PathBuf> {
        let at_home = || Some(Path::new(self.home.as_ref()?).join(".config"));
        let folder = self.config_home.as_ref().map(PathBuf::from).or_else(at_home)?;
        Some(folder.join("git").join(name))
    }

    /// The paths of the user's and the system's settings, whether they exist or not.
    fn files(&self) -> Vec<PathBuf> {
        let mut all = vec![PathBuf::from(OF_SYSTEM)];
        all.extend(self.system.as_ref().map(PathBuf::from));
        // Git in an unusual place has its settings next to it.
        let git = PathBuf::from(host().git().get_program());
        let beside = |git: &Path| Some(git.parent()?.parent()?.join("etc/gitconfig"));
        all.extend(
            [beside(&git), git.canonicalize().ok().and_then(|git| beside(&git))]
                .into_iter()
                .flatten(),
        );
        all.extend(self.global.as_ref().map(PathBuf::from));
        all.extend(self.of_git("config"));
        all.extend(self.home.as_ref().map(|home| Path::new(home).join(".gitconfig")));
        all
    }

    /// A path as settings have it. `None` where only git knows where it leads.
    fn path(&self, written: &[u8]) -> Option<PathBuf> {
        if let Some(below) = written.strip_prefix(b"~/") {
            return Some(Path::new(self.home.as_ref()?).join(OsStr::from_bytes(below)));
        }
        let is_plain =
            !written.is_empty() && !written.starts_with(b"~") && !written.starts_with(b"%(");
        is_plain.then(|| PathBuf::from(OsStr::from_bytes(written)))
    }
}

/// A file of git's in the user's folder for settings, as `ignore`, where git looks when no setting names another.
pub(crate) fn standard_file(name: &str) -> Option<PathBuf> {
    GitEnvironment::of_process().of_git(name)
}

/// A path as a setting has it, relative to the worktree or absolute. `None` where only git knows where it leads.
pub(crate) fn written_path(written: &[u8]) -> Option<PathBuf> {
    GitEnvironment::of_process().path(written)
}

/// The files that an answer came from or could come from; `None` where they are not all known.
fn watched(project: &Project, around: &GitEnvironment, all: &[Listed]) -> Option<Vec<PathBuf>> {
    let own = project.own_git_dir().ok()?;
    let mut files = vec![project.git_dir.join("config"), own.join("config.worktree")];
    files.extend(around.files());
    files.extend(all.iter().filter_map(|one| one.file.clone()));
    for one in all {
        let Some(condition) = includes(&one.key) else { continue };
        let begins = |kind: &[u8]| condition.starts_with(kind);
        if begins(b"onbranch:") {
            files.push(own.join("HEAD"));
            // Then the file does not say which branch it is.
            if project.git_dir.join("reftable").is_dir() {
                return None;
            }
        } else if !condition.is_empty() && !CONDITIONS.into_iter().any(begins) {
            return None;
        }
        let path = around.path(one.value.as_deref()?)?;
        files.push(one.file.as_ref()?.parent()?.join(path));
    }
    files.sort();
    files.dedup();
    Some(files)
}

/// The condition of a setting that has another file read; an empty one for always.
fn includes(key: &[u8]) -> Option<&[u8]> {
    if key == b"include.path" {
        return Some(b"");
    }
    key.strip_prefix(b"includeif.")?.strip_suffix(b".path")
}

/// The files as they are, unless one of them may have changed since `before`, when git was asked.
fn settled(
    files: Vec<PathBuf>,
    all: &[Listed],
    before: Timestamp,
) -> Option<Vec<(PathBuf, Stamp)>> {
    let with_stamp = |file: PathBuf| {
        let stamp = stamp(&file);
        (file, stamp)
    };
    let stamped: Vec<(PathBuf, Stamp)> = files.into_iter().map(with_stamp).collect();
    let is_settled = |(file, stamp): &(PathBuf, Stamp)| match stamp {
        Some(stamp) => changed_at(*stamp) + RACY < before.as_millis(),
        // It said something a moment ago.
        None => !all.iter().any(|one| one.file.as_ref() == Some(file)),
    };
    stamped.iter().all(is_settled).then_some(stamped)
}

/// Links are followed, as git does.
fn stamp(file: &Path) -> Stamp {
    Some(stamp_of(&std::fs::metadata(file).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything was written long ago.
    const LATER: Timestamp = Timestamp::from_millis(i64::MAX / 2);

    fn repository() -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| crate::git::git(folder.path(), arguments).unwrap();
        git(&["init", "--quiet", "--initial-branch=main"]);
        git(&["config", "extensions.worktreeConfig", "true"]);
        git(&["config", "include.path", "not-there"]);
        git(&["config", "--add", "include.path", "included"]);
        git(&["config", "includeIf.onbranch:other.path", "of-branch"]);
        let project = Project::find(folder.path()).unwrap();
        std::fs::write(project.git_dir.join("included"), "[x]\n\ty = 1\n").unwrap();
        std::fs::write(project.git_dir.join("of-branch"), "[x]\n\ty = other\n").unwrap();
        (folder, project)
    }

    fn value(listing: &Listing, key: &str) -> String {
        let found = listing.all.iter().rfind(|one| one.key == key.as_bytes());
        let value = found.and_then(|one| one.value.clone()).unwrap_or_default();
        String::from_utf8(value).unwrap()
    }

    #[test]
    fn settings_are_asked_once_and_again_when_any_file_of_theirs_changes() {
        let (_folder, project) = repository();
        let ask = || listing_at(&project, LATER).unwrap();
        assert_eq!(value(&ask(), "x.y"), "1");
        assert!(Arc::ptr_eq(&ask(), &ask()));
        let config = std::fs::read_to_string(project.git_dir.join("config")).unwrap();
        for (file, text, wanted) in [
            ("included", "[x]\n\ty = two\n", "two"),
            ("config.worktree", "[x]\n\ty = three\n", "three"),
            ("config.worktree", "", "two"),
            ("HEAD", "ref: refs/heads/other\n", "other"),
            ("HEAD", "ref: refs/heads/main\n", "two"),
            ("not-there", "[a]\n\tb = c\n", "two"),
            ("config", &format!("{config}[x]\n\ty = four\n"), "four"),
        ] {
            let before = ask();
            assert!(Arc::ptr_eq(&before, &ask()), "{file}");
            std::fs::write(project.git_dir.join(file), text).unwrap();
            let after = ask();
            assert!(!Arc::ptr_eq(&before, &after), "{file}");
            assert_eq!(value(&after, "x.y"), wanted, "{file}");
        }
        assert_eq!(value(&ask(), "a.b"), "c");
        // Another file of the same size and time, where a link leads.
        let (config, other) = (project.git_dir.join("config"), project.git_dir.join("other"));
        let text = std::fs::read_to_string(&config).unwrap().replace("four", "five");
        std::fs::rename(&config, project.git_dir.join("first")).unwrap();
        std::os::unix::fs::symlink("first", &config).unwrap();
        assert_eq!(value(&ask(), "x.y"), "four");
        std::fs::write(&other, text).unwrap();
        std::fs::remove_file(&config).unwrap();
        std::os::unix::fs::symlink("other", &config).unwrap();
        assert_eq!(value(&ask(), "x.y"), "five");
    }

    #[test]
    fn whoever_commits_is_asked_again_with_the_settings() {
        let (_folder, project) = repository();
        let author = || listing_at(&project, LATER).unwrap().author(&project.worktree).unwrap().0;
        for name in ["Ada", "Grace H."] {
            crate::git::git(&project.worktree, &["config", "user.name", name]).unwrap();
            crate::git::git(&project.worktree, &["config", "user.email", "a@b"]).unwrap();
            assert_eq!([author(), author()], [name, name]);
        }
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_is_not_relied_on() {
        let (_folder, project) = repository();
        let now = clock::now();
        let [one, two] = [listing_at(&project, now).unwrap(), listing_at(&project, now).unwrap()];
        assert!(!Arc::ptr_eq(&one, &two));
    }

    #[test]
    fn files_of_the_user_and_the_system_are_looked_at_whether_they_are_there_or_not() {
        let (_folder, project) = repository();
        let around = GitEnvironment { home: Some("/home/me".into()), ..GitEnvironment::default() };
        let files = watched(&project, &around, &[]).unwrap();
        for file in ["/home/me/.gitconfig", "/home/me/.config/git/config", OF_SYSTEM] {
            assert!(files.contains(&PathBuf::from(file)), "{file}: {files:?}");
        }
        let around = GitEnvironment {
            config_home: Some("/settings".into()),
            global: Some("/global".into()),
            system: Some("/system".into()),
            ..around
        };
        let files = watched(&project, &around, &[]).unwrap();
        for file in ["/settings/git/config", "/global", "/system"] {
            assert!(files.contains(&PathBuf::from(file)), "{file}: {files:?}");
        }
    }

    #[test]
    fn includes_that_ralph_cannot_follow_are_never_remembered() {
        let (_folder, project) = repository();
        let around = GitEnvironment { home: Some("/home/me".into()), ..GitEnvironment::default() };
        let watched = |key: &str, value: &str| {
            let file = Some(project.git_dir.join("config"));
            let (key, value) = (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
            watched(&project, &around, &[Listed { is_local: true, file, key, value }])
        };
        for (key, value, wanted) in [
            ("include.path", "~/mine", PathBuf::from("/home/me/mine")),
            ("includeif.gitdir:~/x/.path", "../mine", project.git_dir.join("../mine")),
            ("includeif.hasconfig:remote.*.url:x.path", "/a/b", PathBuf::from("/a/b")),
            ("includeif.onbranch:x.path", "/a", project.git_dir.join("HEAD")),
        ] {
            let files = watched(key, value).unwrap();
            assert!(files.contains(&wanted), "{key}: {files:?}");
        }
        for (key, value) in [
            ("include.path", "~other/mine"),
            ("include.path", "%(prefix)/mine"),
            ("includeif.weather:rain.path", "/a"),
        ] {
            assert_eq!(watched(key, value), None, "{key}");
        }
        std::fs::create_dir(project.git_dir.join("reftable")).unwrap();
        assert_eq!(watched("includeif.onbranch:x.path", "/a"), None);
    }
}
