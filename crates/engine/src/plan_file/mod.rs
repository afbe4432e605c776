//! A plan that users keep as a markdown file, and how it stays in sync with the store.
//!
//! The file belongs to the user. ralph rereads it before each iteration, and writes only single
//! [`Edit`](ralph_core::plan::markdown::Edit)s to its current text, so that no edit made meanwhile is lost. A tick
//! that a session sets is a request until the loop has judged it; one that the user sets between sessions counts.
//!
//! | file | owns |
//! |---|---|
//! | `mod.rs` | which file, and reading it |
//! | `replace.rs` | replaces a file as a whole, unless it changed meanwhile |
//! | `memory.rs` | what the file said when ralph last read it, and which task each item is |
//! | `preview.rs` | what a run would find in the file, without changing anything |
//! | `reconcile.rs` | brings tasks into the store, and outcomes into the file |
//! | `marks.rs` | marks other than a tick: the user's, and those that a session set |
//! | `removed_items.rs` | tasks that disappeared from the file while a session ran |
//! | `session.rs` | what a session requests by the file, and what happens to it |
//! | `reopen.rs` | clears checkboxes of done tasks |
//! | `add.rs` | tasks that ralph itself adds |
//! | `lane.rs` | one branch of the file, worked on in a worktree with a copy of it |

mod add;
mod lane;
mod marks;
mod memory;
mod preview;
mod reconcile;
mod removed_items;
mod reopen;
mod replace;
mod session;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::plan::PlanError;
use ralph_core::plan::markdown::{self, PlanDoc, PlanKind};

use crate::untrusted::{self, Unlinked, read_unlinked, refuse_links};

pub use add::NewBox;
pub use lane::PlanLane;
pub use memory::Snapshot;
pub use preview::Preview;
pub use reconcile::{ReconcileError, SyncedPlan, has_no_tasks, why_no_tasks};
pub use removed_items::RemovedItem;
pub use session::{DONE_MARKER, ProgressEntry, Requested, Verdicts};

/// How often a file that is missing or empty is looked at again, and after how long: a second in all. On a
/// busy machine an editor may stand still for that long between emptying a file and writing it.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// How often a file that changes while ralph writes it is read again.
const TRIES: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    #[error(
        "{} is a link to {}; ralph does not follow a link to a plan",
        path.display(),
        target.display()
    )]
    Linked { path: PathBuf, target: PathBuf },
    #[error("{} is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{}:{}: {}", path.display(), error.line, error.problem)]
    Broken { path: PathBuf, error: PlanError, excerpt: String },
    #[error("{} keeps changing while ralph tries to write it", path.display())]
    KeepsChanging { path: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub text: String,
    pub doc: PlanDoc,
}

/// A markdown plan on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    path: PathBuf,
    /// How users and the store name it: relative to the worktree.
    name: String,
    /// Where ralph keeps what it remembers of it.
    state: PathBuf,
    kind: PlanKind,
    /// The branch that alone is looked at, and the copy that its sessions see.
    lane: Option<PlanLane>,
}

impl PlanFile {
    /// The plan at `path`, whose kind is known. `worktree` is the folder of the repository.
    pub fn new(worktree: &Path, path: &Path, kind: PlanKind) -> Self {
        let path = worktree.join(path);
        let name = path.strip_prefix(worktree).unwrap_or(&path).display().to_string();
        Self { path, name, state: worktree.join(".ralph").join("plans"), kind, lane: None }
    }

    /// The plan at `path`, of whatever kind its text is; `None` when there is no such file.
    pub fn find(worktree: &Path, path: &Path) -> Result<Option<Self>, PlanFileError> {
        let probe = Self::new(worktree, path, PlanKind::Checklist);
        let Some(bytes) = probe.bytes()? else { return Ok(None) };
        let text = probe.decoded(&bytes)?;
        let kind = PlanKind::of(&probe.name, text);
        Ok(Some(Self { kind, ..probe }))
    }

    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the store names it, with the branch that alone is looked at.
    pub fn key(&self) -> String {
        match &self.lane {
            Some(lane) => format!("{}#{}", self.name, lane.branch),
            None => self.name.clone(),
        }
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    pub fn read(&self) -> Result<Option<Read>, PlanFileError> {
        let Some(bytes) = self.bytes()? else { return Ok(None) };
        self.parse(self.decoded(&bytes)?.to_owned()).map(Some)
    }

    /// Reads it, and again for a moment if it is not there or says nothing: editors take a file away,
    /// or empty it, before they write it again.
    fn read_in_peace(&self) -> Result<Option<Read>, PlanFileError> {
        for _ in 0..LOOKS {
            match self.read() {
                Ok(Some(read)) if !read.text.is_empty() => return Ok(Some(read)),
                Ok(_) => std::thread::park_timeout(PAUSE),
                Err(error) => return Err(error),
            }
        }
        self.read()
    }

    fn parse(&self, text: String) -> Result<Read, PlanFileError> {
        match markdown::read(self.kind, &text) {
            Ok(doc) => Ok(Read { doc: self.narrowed(doc), text }),
            Err(error) => Err(self.broken(error, text.as_bytes())),
        }
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, PlanFileError> {
        let unreadable = |source| PlanFileError::Unreadable { path: self.path.clone(), source };
        let (root, below) = self.below();
        match read_unlinked(root, below, untrusted::DOCUMENT) {
            Ok(Unlinked::File(bytes)) => Ok(Some(bytes)),
            Ok(Unlinked::Link(path, target)) => Err(linked(root, &path, target)),
            Ok(Unlinked::Other) => Err(PlanFileError::NotAFile { path: self.path.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// The folder that the file is looked for in, and the way from there.
    fn below(&self) -> (&Path, &Path) {
        let name = Path::new(&self.name);
        let root = self.path.ancestors().nth(name.components().count());
        match root {
            Some(root) if self.path.ends_with(name) && name.is_relative() => (root, name),
            _ => (self.folder(), self.path.file_name().map_or(name, Path::new)),
        }
    }

    /// Refuses to write where a link would lead somewhere else.
    fn refuse_links(&self) -> Result<(), PlanFileError> {
        let (root, below) = self.below();
        refuse_links(root, below).map_err(|(path, target)| linked(root, &path, target))
    }

    fn unwritable(&self, source: io::Error) -> PlanFileError {
        PlanFileError::Unwritable { path: self.path.clone(), source }
    }

    fn keeps_changing(&self) -> PlanFileError {
        PlanFileError::KeepsChanging { path: self.path.clone() }
    }

    fn decoded<'b>(&self, bytes: &'b [u8]) -> Result<&'b str, PlanFileError> {
        markdown::decode(bytes).map_err(|error| self.broken(error, bytes))
    }

    fn broken(&self, error: PlanError, bytes: &[u8]) -> PlanFileError {
        let line = bytes.split(|byte| *byte == b'\n').nth(error.line.saturating_sub(1));
        let excerpt: String = String::from_utf8_lossy(line.unwrap_or_default())
            .trim_end()
            .chars()
            .take(200)
            .collect();
        PlanFileError::Broken { path: PathBuf::from(&self.name), error, excerpt }
    }
}

fn linked(root: &Path, path: &Path, target: PathBuf) -> PlanFileError {
    PlanFileError::Linked { path: path.strip_prefix(root).unwrap_or(path).to_owned(), target }
}
