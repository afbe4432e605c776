//! What a plan file said when ralph last read it, and which task each of its items is.
//!
//! It is a small file per plan in `.ralph/plans/`. It tells a tick that the user set from one that was there, and an
//! edit from a new task. If it is lost, ralph recreates it from the store.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::TaskId;
use ralph_core::plan::markdown::{self, Edit, Known, PlanDoc};
use ralph_core::text::escaped;
use serde::{Deserialize, Serialize};

use super::removed_items::RemovedItem;
use super::{PlanFile, Read};
use crate::project::write_privately;
use crate::untrusted;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub text: String,
    pub doc: PlanDoc,
    /// The task that each item is, in their order.
    pub ids: Vec<TaskId>,
    /// Tasks that left the plan during a session and wait for the user.
    pub left: Vec<RemovedItem>,
    pub held: Vec<TaskId>,
}

impl Snapshot {
    /// The items as they are looked for in a later text.
    pub(super) fn known(&self) -> Vec<Known> {
        let known = |(index, (item, id)): (usize, (&markdown::Item, &TaskId))| Known {
            id: id.clone(),
            title: item.title.clone(),
            body: item.body.clone(),
            group: self.doc.group_of(index).map(|group| group.title.clone()),
            done: item.is_done(),
        };
        self.doc.items.iter().zip(&self.ids).enumerate().map(known).collect()
    }

    pub fn with_done(&self, done: &[&TaskId]) -> Self {
        let ticks = self.ids.iter().enumerate().filter(|(_, id)| done.contains(id));
        let ticks: Vec<Edit> =
            ticks.filter_map(|(index, _)| self.doc.set_done(index, true)).collect();
        let text = markdown::apply(&self.text, &ticks).unwrap_or_else(|_| self.text.clone());
        match self.doc.again(&text) {
            Ok(doc) => Self { text, doc, ..self.clone() },
            // A tick cannot break a readable plan.
            Err(_) => self.clone(),
        }
    }

    fn item(&self, id: &TaskId) -> Option<&markdown::Item> {
        self.doc.items.get(self.ids.iter().position(|known| known == id)?)
    }

    pub(super) fn title_of(&self, id: &TaskId) -> &str {
        self.item(id).map_or("", |item| &item.title)
    }

    /// Whether that task was ticked then.
    pub(super) fn was_done(&self, id: &TaskId) -> bool {
        self.item(id).is_some_and(markdown::Item::is_done)
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u32,
    text: String,
    ids: Vec<TaskId>,
    #[serde(default)]
    name: Option<String>,
    /// A session may have changed it since, and nothing has judged that.
    session: bool,
    #[serde(default)]
    left: Vec<RemovedItem>,
    #[serde(default)]
    held: Vec<TaskId>,
}

/// The longest memory of a plan: its text, with what is known of each item.
const LARGEST: u64 = 4 * untrusted::DOCUMENT;

const VERSION: u32 = 1;

impl PlanFile {
    fn memory(&self) -> PathBuf {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        self.state.join(format!("{}.json", escaped(&self.key(), '=', plain)))
    }

    /// The last look, and whether a session was under way after it.
    pub(super) fn remembered(&self) -> Option<(Snapshot, bool)> {
        let bytes = untrusted::read_own(&self.memory(), LARGEST).ok()?;
        let stored: Stored = serde_json::from_slice(&bytes).ok()?;
        let doc = self.narrowed(markdown::read(self.kind, &stored.text).ok()?);
        if stored.v != VERSION || doc.items.len() != stored.ids.len() {
            return None;
        }
        let Stored { text, ids, left, held, session, .. } = stored;
        Some((Snapshot { text, doc, ids, left, held }, session))
    }

    /// The store keys of all plan files that runs in a worktree have used.
    pub fn all_known(worktree: &Path) -> Vec<String> {
        let probe = Self::new(worktree, Path::new("x"), markdown::PlanKind::Checklist);
        let entries = std::fs::read_dir(&probe.state).into_iter().flatten().flatten();
        let named = |entry: std::fs::DirEntry| {
            let bytes = untrusted::read_own(&entry.path(), LARGEST).ok()?;
            serde_json::from_slice::<Stored>(&bytes).ok()?.name
        };
        entries.filter_map(named).collect()
    }

    pub fn id_of(&self, item: usize, read: &Read) -> Option<TaskId> {
        let (synced, _) = self.remembered()?;
        let place = markdown::identify(&synced.known(), &read.doc).items.get(item).copied()??;
        synced.ids.get(place).cloned()
    }

    /// Remembers a snapshot. `session` when a session is about to begin.
    pub fn remember(&self, synced: &Snapshot, session: bool) -> io::Result<()> {
        std::fs::create_dir_all(&self.state)?;
        let stored = Stored {
            v: VERSION,
            text: synced.text.clone(),
            ids: synced.ids.clone(),
            name: Some(self.key()),
            session,
            left: synced.left.clone(),
            held: synced.held.clone(),
        };
        write_privately(&self.memory(), &serde_json::to_string(&stored).map_err(io::Error::other)?)
    }
}
