//! A fresh checkout of a candidate: the files of its tree and nothing else, in a temporary folder.
//!
//! The folder is in the system's temporary folder and not inside the project, because most tools search upwards: a
//! missing `node_modules` would be found in the project itself. Its `.git` is that of a linked worktree that no list
//! names: history, refs and settings are those of the repository, HEAD and index are its own. So tests that ask git
//! find what they would find after the commit.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::in_place::GitVcs;
use crate::entropy::keyed_hash;
use crate::git::entries::{Change, Entry, RAW, os_path, parse_changes};
use crate::git::scratch::{self, Scratch};
use crate::git::spelling::spelled;
use crate::git::submodules::with_work;
use crate::git::{Git, GitError, GitResult};
use crate::ports::{Bind, Candidate, Checkout};
use crate::process::project_key;
use crate::session_git::sandbox::is_no;
use crate::untrusted;

impl GitVcs {
    pub(super) fn check_out_fresh(
        &self,
        candidate: &Candidate,
        include: &str,
    ) -> GitResult<Checkout> {
        let prefix = format!("{}{}-", prefix(self.worktree()), std::process::id());
        let held = tempfile::Builder::new().prefix(&prefix).tempdir();
        let held = held.map_err(|source| GitError::File { path: "temporary".into(), source })?;
        // A name that says what it is: some tools show that of the folder they are in.
        let name = self.worktree().file_name().unwrap_or_else(|| "checkout".as_ref());
        let folder = held.path().join(name);
        self.write_git_dir(&folder.join(".git"), candidate)?;
        let call = Git::checkout(&folder, &["read-tree", "--reset", "-u", &candidate.tree]);
        self.run_on(call, vec![Bind::writable(held.path())])?;
        for path in self.included(include)? {
            let from = self.worktree().join(&path);
            copy_inside(&from, &folder, &path)
                .map_err(|source| GitError::File { path: from, source })?;
        }
        Ok(Checkout::new(held, folder))
    }

    /// Copies the ignored files that match these patterns into another worktree, and returns those it could not
    /// copy. Existing files stay.
    pub(crate) fn copy_included(&self, patterns: &str, worktree: &Path) -> GitResult<Vec<String>> {
        let mut failed = Vec::new();
        for path in self.included(patterns)? {
            if worktree.join(&path).symlink_metadata().is_ok() {
                continue;
            }
            if let Err(error) = copy_inside(&self.worktree().join(&path), worktree, &path) {
                failed.push(format!("{} was not copied: {error}", path.display()));
            }
        }
        Ok(failed)
    }

    fn write_git_dir(&self, own: &Path, candidate: &Candidate) -> GitResult<()> {
        let file_error = |source| GitError::File { path: own.to_owned(), source };
        std::fs::create_dir_all(own).map_err(file_error)?;
        let common = self.project.git_dir.canonicalize().map_err(file_error)?;
        let mut common = common.as_os_str().as_bytes().to_vec();
        common.push(b'\n');
        std::fs::write(own.join("commondir"), common).map_err(file_error)?;
        let head = match &candidate.head {
            Some(head) => format!("{head}\n"),
            None => "ref: refs/heads/main\n".to_owned(),
        };
        std::fs::write(own.join("HEAD"), head).map_err(file_error)
    }

    /// The ignored files of the worktree that fit these patterns.
    fn included(&self, patterns: &str) -> GitResult<Vec<PathBuf>> {
        if patterns.trim().is_empty() {
            return Ok(vec![]);
        }
        let file_error = |source| GitError::File { path: ".worktreeinclude".into(), source };
        let mut file = tempfile::NamedTempFile::new().map_err(file_error)?;
        io::Write::write_all(&mut file, patterns.as_bytes()).map_err(file_error)?;
        let from = format!("--exclude-from={}", file.path().display());
        let call = self.git(&["ls-files", "--others", "--ignored", "-z", &from]);
        let shown = || vec![Bind::readable(self.worktree()), Bind::readable(file.path())];
        let mut fitting = self.run_on(call, shown())?;
        // What comes out of a sandbox ends with its line.
        fitting.truncate(fitting.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1));
        if fitting.is_empty() {
            return Ok(vec![]);
        }
        let call = self.git(&["check-ignore", "-z", "--stdin"]).input(&fitting);
        let ignored = match self.run_on(call, shown()) {
            Ok(ignored) => ignored,
            // It says no when it finds none.
            Err(GitError::Failed { message, .. }) if message.starts_with("exit status") => vec![],
            Err(error) if is_no(&error) => vec![],
            Err(error) => return Err(error),
        };
        let is_ours =
            |path: &[u8]| path.starts_with(b".ralph/") || path.starts_with(b".worktrees/");
        let end = ignored.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        let paths = ignored[..end].split(|byte| *byte == 0);
        // A folder is another repository.
        let wanted = paths.filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        Ok(wanted.filter(|path| !is_ours(path)).map(os_path).collect())
    }

    /// Runs a git that reads or writes files of sessions: in a sandbox with these places, where there is one.
    pub(super) fn run_on(&self, call: Git<'_>, places: Vec<Bind>) -> GitResult<Vec<u8>> {
        match &self.sandboxed {
            None => call.run(),
            Some(sandboxed) => self.sandboxed_git(sandboxed, &call, places),
        }
    }

    /// The submodules with work in them that no commit of this repository can hold.
    pub(super) fn busy_submodules(&self) -> GitResult<Vec<String>> {
        if self.worktree().join(".gitmodules").symlink_metadata().is_err() {
            return Ok(Vec::new());
        }
        // Git asks in each submodule, with settings that a session may have written.
        if self.sandboxed.is_none() {
            return with_work(&self.project, &self.index);
        }
        let mut arguments = vec!["diff-files", "--ignore-submodules=none"];
        arguments.extend(RAW);
        let printed = self.read_worktree(&arguments)?;
        // A program in a sandbox ends what it prints with a line end.
        let printed = printed.strip_suffix(b"\n").unwrap_or(&printed);
        let changes = parse_changes("diff-files", printed)?;
        let is_submodule = |change: &Change| {
            change.from.as_ref().is_some_and(Entry::is_repository) && change.to.is_some()
        };
        let paths = changes.into_iter().filter(is_submodule).map(|change| change.path);
        Ok(paths.map(|path| spelled(&path)).collect())
    }

    /// What git says of the worktree and of the files in its submodules, for programs to read.
    pub(crate) fn status_with_submodules(&self) -> GitResult<Vec<u8>> {
        let all = "--ignore-submodules=none";
        self.read_worktree(&["status", "--porcelain=v2", "-z", "--no-renames", all])
    }

    /// Runs a git that reads the worktree, on a copy of the user's index.
    fn read_worktree(&self, arguments: &[&str]) -> GitResult<Vec<u8>> {
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        let places = vec![Bind::readable(self.worktree()), Bind::readable(scratch.folder())];
        self.run_on(scratch.git(arguments), places)
    }

    pub(super) fn included_contents(&self, patterns: &str) -> GitResult<Vec<(String, u64)>> {
        let content = |path: PathBuf| {
            let file = self.worktree().join(&path);
            let content = match std::fs::read_link(&file) {
                Ok(target) => Content::Link(target),
                // A file that vanishes meanwhile counts as empty, and differs from before.
                Err(_) => Content::File {
                    mode: file.metadata().map(|data| data.mode()).unwrap_or_default(),
                    bytes: untrusted::read_own(&file, untrusted::ANY).unwrap_or_default(),
                },
            };
            (spelled(path.as_os_str().as_bytes()), keyed_hash(content))
        };
        Ok(self.included(patterns)?.into_iter().map(content).collect())
    }
}

/// What a checkout gets of an ignored file.
#[derive(Hash)]
enum Content {
    Link(PathBuf),
    File { mode: u32, bytes: Vec<u8> },
}

/// Copies a file with its permissions, or a link as a link, to its place in a folder, unless a link leads that place
/// out of the folder.
pub(crate) fn copy_inside(from: &Path, folder: &Path, path: &Path) -> io::Result<()> {
    let to = folder.join(path);
    let parent = to.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)?;
    if !parent.canonicalize()?.starts_with(folder.canonicalize()?) {
        return Err(io::Error::other("a link in its path points outside the worktree"));
    }
    if to.is_symlink() {
        std::fs::remove_file(&to)?;
    }
    match std::fs::read_link(from) {
        Ok(target) => std::os::unix::fs::symlink(target, to),
        Err(_) => std::fs::copy(from, to).map(drop),
    }
}

/// How the folders for a worktree are named, before the pid.
fn prefix(worktree: &Path) -> String {
    format!("ralph-clean-{}-", project_key(worktree))
}

/// Removes the checkouts that killed processes left.
pub(crate) fn sweep(worktree: &Path) {
    scratch::sweep_folders(&prefix(worktree));
}
