//! The git directory that a sandboxed session gets: it is mounted over the real one, so that nothing that a session
//! does to refs, settings, hooks and objects reaches the user's repository.
//!
//! Two directories are made from the real one. `git` is the session's: once a session had it, only sandboxed
//! programs read it. `look` is ralph's: no session sees it, and ralph's own programs use it to read the files that
//! sessions wrote. Both find the real objects at `OBJECTS`.
//!
//! They are built under another name and renamed into place, and renamed before they are removed: a kill leaves a
//! complete one or none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ralph_core::stable_hash::stable_hash;
use serde::{Deserialize, Serialize};

use super::inspect::{Inspection, InspectionRequest};
use super::settings;
use super::visible_objects::VisibleObjects;
use crate::git::fingerprint::Fingerprint;
use crate::git::folders::{gone, remove_tree};
use crate::git::listed::{Listing, listing};
use crate::git::position::Position;
use crate::git::{GitError, GitResult};
use crate::ports::{Bind, SandboxMounts};
use crate::project::{Project, write_privately};
use crate::sync::lock;
use crate::untrusted::{SMALL, read_own};

/// Where the real objects are in a sandbox.
pub(crate) const OBJECTS: &str = "/run/ralph/objects";
/// Where the session's git directory is while we look at it.
pub(super) const PRIVATE: &str = "/run/ralph/private";
/// Folders of ralph's within the sandbox folder of a worktree.
const GIT: &str = "git";
pub(super) const LOOK: &str = "look";
/// The suffix of the note about the ref that keeps a directory's base commit.
pub(crate) const BASE: &str = "base";
/// How directories end whose commits git refused.
pub(crate) const REFUSED: &str = "refused-";
/// How the directories of gates and verifiers begin.
const JUDGE: &str = "judge-";
/// How the folders of objects end that are shown.
const SEEN: &str = "objects-";
/// The file that says what both were made from.
const MADE: &str = "made.json";
/// The file in ours that says what the user's refs lead to.
const KNOWN: &str = "ralph-known";
/// How the pack in ours begins that an inspection leaves.
const PACK: &str = "ralph-taken";
/// The file that says that a session had it.
const ISSUED: &str = "lent";

/// The private git directory of a worktree.
#[derive(Debug, Clone)]
pub struct SessionGitDir {
    pub(super) project: Project,
    /// The real directory that all worktrees share, without links.
    pub(super) common: PathBuf,
    /// The real directory of this worktree alone, without links.
    pub(super) own: PathBuf,
    name: String,
    pub(super) folder: PathBuf,
    /// The objects that are shown; `None` inside where all are. Looked for before the first session.
    seen: Arc<Mutex<Option<Option<VisibleObjects>>>>,
}

/// What a private directory was made from.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Made {
    head: Option<String>,
    branch: Option<String>,
}

impl From<&Position> for Made {
    fn from(at: &Position) -> Self {
        Self { head: at.head.clone(), branch: at.branch.clone() }
    }
}

/// What all values for one directory share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Held while the directory is made, used or removed.
    pub(crate) turn: Mutex<()>,
    /// The last inspection, unless a session got the directory since.
    pub(crate) inspected: Mutex<Option<Arc<Inspected>>>,
}

/// An inspection, and what it holds for.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) found: Inspection,
    /// Whether a session had the directory before.
    pub(crate) was_issued: bool,
    /// The files that were read; `None` where they may have changed meanwhile.
    pub(crate) files: Option<Fingerprint>,
    /// The settings that they were read by.
    pub(crate) settings: Arc<Listing>,
}

impl SessionGitDir {
    pub fn of(project: &Project) -> GitResult<Self> {
        let real = |path: PathBuf| {
            path.canonicalize().map_err(|source| GitError::File { path: path.clone(), source })
        };
        let common = real(project.git_dir.clone())?;
        let own = real(project.own_git_dir()?)?;
        Ok(Self::new(project, common, own))
    }

    /// That of a linked worktree by git's folder for it, which may be all that is left of the worktree.
    pub(crate) fn of_admin(project: &Project, admin: &Path) -> Self {
        Self::new(project, project.git_dir.clone(), admin.to_owned())
    }

    fn new(project: &Project, common: PathBuf, own: PathBuf) -> Self {
        let name = match own.file_name() {
            Some(id) if own != common => name_of(&id.to_string_lossy()),
            _ => "main".to_owned(),
        };
        let folder = sandboxes(project).join(&name);
        Self { project: project.clone(), common, own, name, folder, seen: Arc::default() }
    }

    /// The way from the directory that all worktrees share to that of this worktree alone.
    pub(super) fn inside(&self) -> &Path {
        self.own.strip_prefix(&self.common).unwrap_or(Path::new(""))
    }

    /// A short name of the worktree, for refs and folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is that of a linked worktree, whose branch is the loop's own.
    pub(crate) fn is_linked(&self) -> bool {
        self.own != self.common
    }

    /// Whether there is a whole one.
    pub fn is_there(&self) -> bool {
        self.folder.join(MADE).is_file()
    }

    /// Removes the locks and the gate directories that a killed run left in here. Called when no git of ralph's is
    /// running.
    pub(crate) fn unlock(&self) {
        remove_locks(&self.folder, 12);
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(JUDGE) {
                // A leftover is harmless.
                let _ = remove_tree(&entry.path());
            }
        }
        // Those of this process may be in use.
        let (of_seen, ours) = (format!("{}.{SEEN}", self.name), self.seen_prefix());
        let beside = self.folder.parent().and_then(|all| std::fs::read_dir(all).ok());
        for entry in beside.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&of_seen) && !name.starts_with(&ours) {
                let _ = remove_tree(&entry.path());
            }
        }
    }

    /// Whether a session had it.
    pub(crate) fn was_issued(&self) -> bool {
        self.is_there() && self.folder.join(ISSUED).is_file()
    }

    /// Whether it was made from what is checked out now.
    pub(crate) fn fits(&self, at: &Position) -> bool {
        let text = read_own(&self.folder.join(MADE), SMALL).unwrap_or_default();
        serde_json::from_slice::<Made>(&text).is_ok_and(|made| made == Made::from(at))
    }

    /// What the values for the same directory share: runs side by side use that of the user's worktree.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        static ALL: Mutex<BTreeMap<PathBuf, Arc<Shared>>> = Mutex::new(BTreeMap::new());
        let mut all = lock(&ALL);
        Arc::clone(all.entry(self.folder.clone()).or_default())
    }

    /// Makes it from what is checked out, unless there is one.
    pub(crate) fn ensure(&self, at: &Position) -> GitResult<()> {
        let shared = self.shared();
        let _held = lock(&shared.turn);
        if self.is_there() {
            return Ok(());
        }
        self.sweep()?;
        let new = self.beside("new");
        let failed = |source| GitError::File { path: new.clone(), source };
        private_folder(&new).map_err(failed)?;
        self.build(&new.join(GIT), &new.join(LOOK), at.head.as_deref())?;
        let made = serde_json::to_vec(&Made::from(at)).map_err(io::Error::other);
        made.and_then(|made| std::fs::write(new.join(MADE), made)).map_err(failed)?;
        std::fs::rename(&new, &self.folder).map_err(failed)
    }

    pub(crate) fn mark_issued(&self) -> GitResult<()> {
        let path = self.folder.join(ISSUED);
        std::fs::write(&path, "").map_err(|source| GitError::File { path, source })
    }

    /// Removes it: what was in it is in the real repository now.
    pub fn remove(&self) -> GitResult<()> {
        let shared = self.shared();
        let _held = lock(&shared.turn);
        let old = self.beside("old");
        gone(std::fs::rename(&self.folder, &old))
            .map_err(|source| GitError::File { path: self.folder.clone(), source })?;
        remove_tree(&old)
    }

    /// Moves it aside, with all its content, and returns its new path.
    pub(crate) fn set_aside(&self) -> GitResult<PathBuf> {
        let aside = (1..).map(|n| self.beside_as(&format!("{REFUSED}{n}")));
        let aside = aside.into_iter().find(|path| path.symlink_metadata().is_err());
        let aside = aside.unwrap_or_else(|| self.beside("refused"));
        std::fs::rename(&self.folder, &aside)
            .map_err(|source| GitError::File { path: self.folder.clone(), source })?;
        Ok(aside)
    }

    /// Remembers the ref that keeps the directory's base commit, and returns the one of the run before.
    pub(crate) fn note_base(&self, name: &str) -> GitResult<Option<String>> {
        let path = self.beside_as(BASE);
        let before = noted_base(&path);
        let folder = self.folder.parent().unwrap_or(&self.folder);
        private_folder(folder)
            .map_err(|source| GitError::File { path: folder.to_owned(), source })?;
        write_privately(&path, name).map_err(|source| GitError::File { path, source })?;
        Ok(before.filter(|before| before != name))
    }

    /// The ref that keeps the directory's base commit.
    pub(crate) fn base(&self) -> Option<String> {
        noted_base(&self.beside_as(BASE))
    }

    /// Removes all that is there of it, whole or half, and the note of its ref.
    pub(crate) fn clear(&self) -> GitResult<()> {
        let shared = self.shared();
        let _held = lock(&shared.turn);
        self.sweep()?;
        let note = self.beside_as(BASE);
        gone(std::fs::remove_file(&note)).map_err(|source| GitError::File { path: note, source })
    }

    /// Removes what killed runs left half made or half removed.
    fn sweep(&self) -> GitResult<()> {
        let Some(all) = self.folder.parent() else { return Ok(()) };
        for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(self.name.as_str()));
            let half = |rest: &str| rest.starts_with(".new-") || rest.starts_with(".old-");
            if rest.is_some_and(half) {
                remove_tree(&entry.path())?;
            }
        }
        // Without its note it is not whole.
        remove_tree(&self.folder)
    }

    fn beside(&self, what: &str) -> PathBuf {
        self.beside_as(&format!("{what}-{}", std::process::id()))
    }

    fn beside_as(&self, what: &str) -> PathBuf {
        self.folder.with_file_name(format!("{}.{what}", self.name))
    }

    /// What a sandbox needs in which a session, or anything that it wrote, uses git.
    fn binds(&self, head: Option<&str>) -> GitResult<Vec<Bind>> {
        self.with_seen(Bind::writable(self.folder.join(GIT)).at(&self.common), head)
    }

    /// How the folders of objects begin that this process shows.
    fn seen_prefix(&self) -> String {
        format!("{}.{SEEN}{}-", self.name, std::process::id())
    }

    /// No more sessions: removes the folder of objects.
    pub(crate) fn forget_seen(&self) {
        lock(&self.seen).take();
    }

    /// A directory with the objects that are shown. `head`: among them what this commit needs.
    fn with_seen(&self, directory: Bind, head: Option<&str>) -> GitResult<Vec<Bind>> {
        let mut seen = lock(&self.seen);
        let seen = seen.get_or_insert_with(|| {
            let prefix = self.seen_prefix();
            let all = self.folder.parent().unwrap_or(&self.folder);
            let place = || tempfile::Builder::new().prefix(&prefix).tempdir_in(all);
            VisibleObjects::of(&self.project.worktree, &self.common.join("objects"), place)
        });
        let mut binds = self.with_objects(directory);
        if let Some(seen) = seen {
            let folder = seen.folder(head)?;
            let objects = binds.iter_mut().find(|bind| bind.to == Path::new(OBJECTS));
            objects.into_iter().for_each(|bind| bind.from = folder.to_owned());
        }
        Ok(binds)
    }

    /// What a sandbox needs in which the loop's own git looks at files. `seeing`: also at what a session
    /// committed.
    pub(crate) fn inspection_binds(&self, seeing: bool) -> GitResult<Vec<Bind>> {
        let look = self.folder.join(LOOK);
        self.set_seeing(&look, seeing)?;
        let mut binds = self.with_objects(Bind::writable(look).at(&self.common));
        if seeing {
            binds.push(Bind::readable(self.folder.join(GIT)).at(PRIVATE));
        }
        Ok(binds)
    }

    fn with_objects(&self, directory: Bind) -> Vec<Bind> {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let mut binds = vec![directory];
        binds.push(Bind::readable(real(self.common.join("objects"))).at(OBJECTS));
        binds.extend(self.alternates().into_iter().map(Bind::readable));
        for modules in self.modules() {
            binds.push(Bind::readable(real(modules.clone())).at(modules));
        }
        binds
    }

    /// The folders of submodules' own git directories, as far as there are any.
    pub(super) fn modules(&self) -> Vec<PathBuf> {
        let mut places = vec![self.common.join("modules")];
        if self.is_linked() {
            places.push(self.own.join("modules"));
        }
        places.retain(|place| place.is_dir());
        places
    }

    /// The environment of git in a sandbox: no settings but those of the directory, which belongs to the user
    /// of the sandbox.
    pub fn environment() -> Vec<(OsString, OsString)> {
        let set = |name: &str, value: &str| (name.into(), value.into());
        vec![
            set("GIT_CONFIG_GLOBAL", "/dev/null"),
            set("GIT_CONFIG_NOSYSTEM", "1"),
            set("GIT_CONFIG_COUNT", "1"),
            set("GIT_CONFIG_KEY_0", "safe.directory"),
            set("GIT_CONFIG_VALUE_0", "*"),
        ]
    }

    /// Files in the worktree by which a session could have programs run outside: it may only read them.
    pub fn protected_files(&self) -> GitResult<Vec<PathBuf>> {
        let listing = listing(&self.project)?;
        Ok(settings::deciding_files(&listing, &self.project.worktree, &self.common))
    }

    /// All that a session needs which begins at a commit. From now on only an inspection knows what is in it.
    pub(crate) fn issued(&self, head: Option<&str>) -> GitResult<SandboxMounts> {
        lock(&self.shared().inspected).take();
        Ok(SandboxMounts {
            binds: self.binds(head)?,
            environment: Self::environment(),
            read_only: self.protected_files()?,
            held: vec![],
        })
    }

    /// All that a gate or a verifier needs: a directory as the user's is, made for it alone, with the files as
    /// they were last looked at staged. `head`: its branch is on this commit.
    pub(crate) fn for_judges(&self, head: Option<&str>) -> GitResult<SandboxMounts> {
        let shared = self.shared();
        let _held = lock(&shared.turn);
        let made = tempfile::Builder::new().prefix(JUDGE).tempdir_in(&self.folder);
        let made = made.map_err(|source| GitError::File { path: self.folder.clone(), source })?;
        self.build_for_judges(made.path(), head)?;
        Ok(SandboxMounts {
            binds: self.with_seen(Bind::writable(made.path()).at(&self.common), head)?,
            environment: Self::environment(),
            read_only: self.protected_files()?,
            held: vec![Arc::new(made)],
        })
    }

    /// Settings of our own over those of a session, for a hook that works in the session's directory.
    pub(crate) fn own_settings_over(&self) -> Bind {
        Bind::readable(self.folder.join(LOOK).join("config")).at(self.common.join("config"))
    }

    /// What an inspection is asked, by paths in its sandbox. `seeing`: also what a session committed.
    pub(crate) fn request(
        &self,
        head: Option<String>,
        head_tree: String,
        seeing: bool,
        sparse: bool,
    ) -> InspectionRequest {
        let private = Path::new(PRIVATE);
        InspectionRequest {
            worktree: self.project.worktree.clone(),
            index: self.own.join("index"),
            head,
            head_tree,
            git_dir: seeing.then(|| (private.to_owned(), private.join(self.inside()))),
            known: self.common.join(KNOWN),
            pack: self.common.join(PACK),
            sparse,
        }
    }

    /// Writes down for a look what the user's refs lead to.
    pub(crate) fn note_known(&self, ids: &[u8]) -> GitResult<()> {
        let path = self.folder.join(LOOK).join(KNOWN);
        std::fs::write(&path, ids).map_err(|source| GitError::File { path, source })
    }

    /// That pack, outside.
    pub(crate) fn pack(&self, name: &str) -> PathBuf {
        self.folder.join(LOOK).join(format!("{PACK}-{name}.pack"))
    }

    /// The real directory that all worktrees share, which is where ours is in a sandbox.
    pub(crate) fn common(&self) -> &Path {
        &self.common
    }
}

/// The folder of all private directories of a repository.
pub(crate) fn sandboxes(project: &Project) -> PathBuf {
    project.ralph_dir().join("box")
}

/// The ref that a note of [`SessionGitDir::note_base`] names.
pub(crate) fn noted_base(path: &Path) -> Option<String> {
    let name = String::from_utf8(read_own(path, SMALL).ok()?).ok()?;
    name.starts_with("refs/ralph/base/").then_some(name)
}

/// Removes the locks in a folder and below, without following a link.
fn remove_locks(folder: &Path, deep: u32) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && deep > 0 && entry.file_name() != "objects" {
            remove_locks(&path, deep - 1);
        } else if !kind.is_dir() && path.extension().is_some_and(|end| end == "lock") {
            // One that cannot be removed is named by git.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A folder that only you can enter, and those above it.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The name that git gave to a worktree, as a part of a ref and of a path.
pub(crate) fn name_of(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let short: String = id.chars().map(|c| if plain(c) { c } else { '_' }).take(40).collect();
    match short == id {
        true => format!("wt-{id}"),
        false => format!("wt-{short}-{:08x}", stable_hash(id.bytes()) as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        assert_eq!(name_of("feature"), "wt-feature");
        let names = ["a.b", "a_b", "a/b", "main", &"x".repeat(300), "..", "ä"].map(name_of);
        for name in &names {
            assert!(name.len() < 60 && !name.contains(['.', '/']), "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1);
        }
        assert_ne!(name_of("main"), "main");
    }
}
