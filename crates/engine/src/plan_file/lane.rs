//! One branch of a plan, worked on in its own worktree.
//!
//! The file of the main worktree is the truth. Each session sees a copy of it in its worktree: its ticks there are
//! requests, and ralph adds its new checkboxes in its own section to the file. In the file itself the same rule
//! holds as for any plan: nothing has judged a tick that appeared in the section while a session ran.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ralph_core::plan::markdown::{self, Edit, Item, Mark, PlanDoc, apply, identify};

use super::memory::Snapshot;
use super::reconcile::applied;
use super::{PlanFile, PlanFileError, Read};
use crate::project::write_atomically;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLane {
    pub branch: String,
    /// The copy that sessions see.
    pub copy: PathBuf,
    /// The path of the copy in its worktree.
    pub path: String,
    /// The commit that ralph found the branch at: what came since is the work of sessions.
    pub began: String,
}

/// Branches that are worked on side by side take turns at the file: what one has read stays as it is until
/// it has written.
static TURN: Mutex<()> = Mutex::new(());

impl PlanFile {
    /// Waits for the turn of a branch; a plan of a single run has no others to wait for.
    pub(super) fn turn(&self) -> Option<MutexGuard<'static, ()>> {
        self.lane.as_ref().map(|_| TURN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same plan, of which only this branch is looked at. `worktree` is where it is worked on.
    #[must_use]
    pub fn of_branch(&self, branch: &str, worktree: &Path, began: &str) -> Self {
        let lane = PlanLane {
            branch: branch.to_owned(),
            copy: worktree.join(&self.name),
            path: self.name.clone(),
            began: began.to_owned(),
        };
        Self { lane: Some(lane), ..self.clone() }
    }

    /// The branch that alone is looked at.
    pub fn lane(&self) -> Option<&PlanLane> {
        self.lane.as_ref()
    }

    pub(super) fn narrowed(&self, doc: PlanDoc) -> PlanDoc {
        match &self.lane {
            Some(lane) => doc.only(&lane.branch),
            None => doc,
        }
    }

    pub fn show_copy(&self, text: &str) -> Result<(), PlanFileError> {
        let Some(lane) = &self.lane else { return Ok(()) };
        let copy = Self { path: lane.copy.clone(), ..self.clone() };
        // The copy is ralph's own: a link that a session put in its place is removed.
        if let Err(PlanFileError::Linked { .. }) = copy.refuse_links() {
            std::fs::remove_file(&lane.copy).map_err(|error| copy.unwritable(error))?;
            copy.refuse_links()?;
        }
        if copy.bytes()?.is_some_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        write_atomically(&lane.copy, text).map_err(|error| copy.unwritable(error))
    }

    pub(super) fn read_copy(&self, lane: &PlanLane) -> Result<Option<Read>, PlanFileError> {
        let copy = Self { path: lane.copy.clone(), ..self.clone() };
        copy.read()
    }

    /// Whether a session changed sections of the copy that are not its own.
    pub(super) fn meddled(&self, lane: &PlanLane, start: &Snapshot, copy: &Read) -> bool {
        let others = |text: &str| {
            let doc = markdown::read(self.kind, text).ok()?;
            let other = |(at, item): (usize, &Item)| {
                let group = doc.group_of(at).filter(|group| group.title != lane.branch)?;
                Some((group.title.clone(), item.title.clone(), item.body.clone(), item.mark))
            };
            Some(doc.items.iter().enumerate().filter_map(other).collect::<Vec<_>>())
        };
        others(&start.text) != others(&copy.text)
    }

    /// The plan with the checkboxes that a session added to its section of the copy. They are open, whatever
    /// mark the session set.
    pub(super) fn with_new_boxes(
        &self,
        lane: &PlanLane,
        start: &Snapshot,
        read: Read,
    ) -> Result<Read, PlanFileError> {
        // What cannot be read adds nothing.
        let Ok(Some(copy)) = self.read_copy(lane) else { return Ok(read) };
        let known = start.known();
        let places = identify(&known, &copy.doc).items;
        let is_new = |at: usize| places.get(at).is_some_and(Option::is_none);
        let ticks: Vec<Edit> = (0..copy.doc.items.len())
            .filter(|at| is_new(*at))
            .filter_map(|at| copy.doc.set_mark(at, Mark::Open))
            .collect();
        let Ok(text) = apply(&copy.text, &ticks) else { return Ok(read) };
        let mut read = read;
        for (at, item) in copy.doc.items.iter().enumerate() {
            let in_another = item.parent.is_some_and(is_new);
            let there = read.doc.items.iter().any(|known| known.title == item.title);
            if !is_new(at) || in_another || there {
                continue;
            }
            let Some(lines) = text.get(item.span.clone()) else { continue };
            let below = item.parent.and_then(|parent| places[parent]).map(|place| &known[place].id);
            let here = identify(&known, &read.doc).items;
            let parent = below.and_then(|id| {
                here.iter().position(|place| place.is_some_and(|place| known[place].id == *id))
            });
            let Some(above) = parent.or(read.doc.items.len().checked_sub(1)) else { continue };
            let end = read.doc.items[above].span.end.min(read.text.len());
            let end = read.text[..end].trim_end().len();
            let text = format!("\n{}", lines.trim_end());
            read = applied(self, &read.text, &[Edit { range: end..end, text }])?;
        }
        Ok(read)
    }
}
