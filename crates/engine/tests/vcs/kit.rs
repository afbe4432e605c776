//! A repository to try things on, and what can be seen of it from outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use ralph_engine::ports::{Candidate, GitError, RunBase, Saved, Vcs};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;

/// A repository in a folder of its own.
pub(crate) struct Repo {
    /// None for one that another process has made.
    folder: Option<tempfile::TempDir>,
    place: PathBuf,
}

/// What lies in the worktree: the mode and the bytes of every file, the target of every link.
pub(crate) type WorktreeFiles = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Repo {
    /// No commit yet. Settings are those of the repository, whatever the machine has.
    pub(crate) fn unborn() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&place).unwrap();
        let repo = Self { folder: Some(folder), place };
        repo.git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        let settings = "[user]\nname = Tester\nemail = tester@example.org\n\
                        [commit]\ngpgsign = false\n\
                        [core]\nautocrlf = false\nexcludesFile = /dev/null\n\
                        [protocol \"file\"]\nallow = always\n";
        let config = repo.read(".git/config");
        repo.write(".git/config", config + settings);
        repo
    }

    /// One that another process has made.
    pub(crate) fn at(place: PathBuf) -> Self {
        Self { folder: None, place }
    }

    /// Two files and an ignore rule, committed.
    pub(crate) fn new() -> Self {
        let repo = Self::unborn();
        repo.write(".gitignore", "*.log\nbuild/\n");
        repo.write("a.txt", "a\n");
        repo.write("src/b.txt", "b\n");
        repo.commit("first");
        repo
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.place.join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(std::fs::read(self.path(path)).unwrap()).unwrap()
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn git_bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new("git").args(arguments).current_dir(&self.place).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {printed}");
        output.stdout
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.git_bytes(arguments)).trim_end().to_owned()
    }

    /// Commits everything, as a person or an agent does.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// The same where the settings say that commits are signed.
    pub(crate) fn commit_unsigned(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["-c", "commit.gpgsign=false", "commit", "--quiet", "-m", message]);
    }

    /// The same past all hooks.
    pub(crate) fn commit_without_hooks(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "--no-verify", "-m", message]);
    }

    pub(crate) fn vcs(&self) -> GitVcs {
        GitVcs::new(Project::find(&self.place).unwrap()).unwrap()
    }

    /// Begins the run `r-1`.
    pub(crate) fn begin(&self) -> (GitVcs, RunBase) {
        let vcs = self.vcs();
        let base = vcs.begin(&run("r-1"), None).unwrap();
        (vcs, base)
    }

    /// What a tree differs in from another: `A path`, `M path` and so on.
    pub(crate) fn differs(&self, from: &str, to: &str) -> Vec<String> {
        let printed =
            self.git_bytes(&["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]);
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        let pairs = fields.chunks_exact(2);
        pairs.map(|p| String::from_utf8_lossy(&p.join(&b' ')).into_owned()).collect()
    }

    /// What the candidate has beyond HEAD.
    pub(crate) fn beyond_head(&self, candidate: &Candidate) -> Vec<String> {
        self.differs(&candidate.head_tree, &candidate.tree)
    }

    /// What the index holds.
    pub(crate) fn staged(&self) -> String {
        self.git(&["ls-files", "--stage"])
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    /// Every file of the worktree.
    pub(crate) fn seen(&self) -> WorktreeFiles {
        let mut seen = WorktreeFiles::new();
        let mut folders = vec![self.place.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let about = path.symlink_metadata().unwrap();
                let name = path.strip_prefix(&self.place).unwrap().to_owned();
                if about.is_symlink() {
                    let target = std::fs::read_link(&path).unwrap();
                    seen.insert(name, (0, target.as_os_str().as_bytes().to_vec()));
                } else if about.is_file() {
                    let mode = about.permissions().mode() & 0o111;
                    seen.insert(name, (mode, std::fs::read(&path).unwrap()));
                } else if name != Path::new(".git") && !name.ends_with(".git") {
                    folders.push(path);
                }
            }
        }
        seen
    }

    /// Nothing is broken.
    pub(crate) fn fsck(&self) {
        let output = self.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(output, "");
        assert!(!self.exists(".git/index.lock"));
    }
}

/// Saves what lies in the worktree now.
pub(crate) trait SaveNow: Vcs {
    fn save_wip(
        &self,
        base: &RunBase,
        task: &TaskId,
        attempt: u32,
    ) -> Result<Option<Saved>, GitError> {
        self.save(base, &self.candidate(base)?, task, attempt)
    }
}

impl<V: Vcs> SaveNow for V {}

pub(crate) fn run(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

pub(crate) fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The ids of the commits between two commits.
pub(crate) fn ids_between(vcs: &dyn Vcs, from: Option<&str>, to: &str) -> Vec<String> {
    vcs.listed_commits(from, to).unwrap().into_iter().map(|(id, _)| id).collect()
}
