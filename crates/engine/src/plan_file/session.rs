//! What a session requests by the plan file, and what happens to it after the gates.

use ralph_core::TaskId;
use ralph_core::plan::markdown::{AttemptNote, Edit, LogRow, PlanKind, printed};

use super::memory::Snapshot;
use super::reconcile::applied;
use super::replace::Replaced;
use super::{PlanFile, PlanFileError, Read, TRIES};

/// The word in the Status section of a progress file that says that the plan is done.
pub const DONE_MARKER: &str = "RALPH_DONE";

/// What a session asked for by the file or by printing one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requested {
    pub done: Vec<TaskId>,
    /// Open tasks that it marked as dropped or waiting.
    pub marked: Vec<TaskId>,
    pub marker: bool,
    pub attempt: Option<AttemptNote>,
    pub ignored: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Verdicts {
    pub done: Vec<TaskId>,
    pub marker: bool,
    pub entry: Option<ProgressEntry>,
}

#[derive(Debug, Clone)]
pub struct ProgressEntry {
    pub row: LogRow,
    pub attempt: AttemptNote,
    pub keep: usize,
    pub completed: Vec<String>,
}

impl PlanFile {
    /// What a session asked for. `said` is its last word, if it ended well.
    pub fn requests(
        &self,
        start: &Snapshot,
        last_message: Option<&str>,
    ) -> Result<Requested, PlanFileError> {
        let mut asked = Requested::default();
        let read = match &self.lane {
            Some(lane) => self.read_copy(lane),
            None => self.read_in_peace(),
        };
        let read = match read {
            Ok(read) => read,
            // ralph does not read the link's target, and restores the plan.
            Err(error @ PlanFileError::Linked { .. }) => {
                asked.ignored.push(format!("the session replaced the plan: {error}"));
                None
            }
            Err(error) => return Err(error),
        };
        let Some(read) = read.filter(|read| !is_emptied(start, &read.text)) else {
            let gone = format!("{} was removed or emptied during the session", self.name);
            asked.ignored.push(format!("{gone}; ralph restored it"));
            return Ok(asked);
        };
        if self.lane.as_ref().is_some_and(|lane| self.meddled(lane, start, &read)) {
            asked.ignored.push(format!(
                "the session changed sections of {} that belong to other branches; ralph ignored \
                 that",
                self.name
            ));
        }
        let ids = start.ids_in(&read.doc);
        let parents = read.doc.parents();
        asked.marked = start.marked_in(&read.doc, &ids);
        let mut ask = |index: usize| {
            if let Some(id) = ids[index].filter(|_| !parents[index])
                && !start.was_done(id)
                && !asked.done.contains(id)
            {
                asked.done.push(id.clone());
            }
        };
        (0..read.doc.items.len())
            .filter(|index| read.doc.items[*index].is_done())
            .for_each(&mut ask);
        let text = last_message.filter(|_| self.kind == PlanKind::Progress);
        let found = text.and_then(|last_message| printed(&read.doc, &read.text, last_message));
        if let Some(found) = found {
            found.ticked.iter().copied().for_each(&mut ask);
            asked.marker = found.done_marker;
            asked.attempt = found.attempt;
            asked.ignored = found.ignored;
        }
        asked.marker |= read.doc.is_done();
        asked.marker &= !start.doc.is_done();
        Ok(asked)
    }

    /// Writes the outcome: ticks for done tasks, and no other tick that was set since the session began.
    /// Returns what the user should know.
    pub fn settle(
        &self,
        start: &Snapshot,
        verdicts: &Verdicts,
    ) -> Result<Vec<String>, PlanFileError> {
        let mut remarks = Vec::new();
        let _turn = self.turn();
        for _ in 0..TRIES {
            if self.refuse_links().is_err() {
                self.remove_link()?;
            }
            let read = match self.read_in_peace()? {
                Some(read) if is_emptied(start, &read.text) => {
                    self.replace(&read.text, &start.text)?;
                    continue;
                }
                Some(read) => read,
                None => {
                    self.put_back(&start.text)?;
                    continue;
                }
            };
            remarks.clear();
            let before = read.text.clone();
            let after = self.decided(start, verdicts, read, &mut remarks)?;
            if self.replace(&before, &after.text)? == Replaced::Yes {
                return Ok(remarks);
            }
        }
        Err(self.keeps_changing())
    }

    fn decided(
        &self,
        start: &Snapshot,
        verdicts: &Verdicts,
        read: Read,
        remarks: &mut Vec<String>,
    ) -> Result<Read, PlanFileError> {
        let ids = start.ids_in(&read.doc);
        let is_done = |id: &TaskId| verdicts.done.contains(id);
        let undone = start.undo(&read.doc, &ids, is_done);
        let mut edits: Vec<Edit> = Vec::new();
        for (index, _) in ids.iter().enumerate().filter(|(_, id)| id.is_some_and(is_done)) {
            edits.extend(read.doc.set_done(index, true));
        }
        for edit in undone.edits {
            // A done task is ticked, whatever mark the session set.
            if !edits.iter().any(|tick| tick.range == edit.range) {
                edits.push(edit);
            }
        }
        remarks.extend(
            undone.ticks.iter().map(|title| format!("ralph reverted the tick of \"{title}\"")),
        );
        remarks.extend(undone.marks.iter().map(|(title, mark)| {
            format!("ralph reverted the mark [{}] of \"{title}\"", mark.character())
        }));
        if verdicts.marker && !read.doc.is_done() {
            edits.extend(read.doc.set_status(&read.text, DONE_MARKER));
        } else if !verdicts.marker && read.doc.is_done() && !start.doc.is_done() {
            let then = start.doc.status_text().unwrap_or("In Progress");
            edits.extend(read.doc.set_status(&read.text, then));
            remarks.push(format!("ralph reverted {DONE_MARKER}"));
        }
        let read = applied(self, &read.text, &edits)?;
        let due = read.doc.due_parents();
        let ticks: Vec<Edit> =
            due.into_iter().filter_map(|parent| read.doc.set_done(parent, true)).collect();
        let mut read = applied(self, &read.text, &ticks)?;
        if let Some(lane) = &self.lane {
            read = self.with_new_boxes(lane, start, read)?;
        }
        if let Some(entry) = verdicts.entry.as_ref().filter(|_| self.kind == PlanKind::Progress) {
            read =
                applied(self, &read.text, &read.doc.set_completed(&read.text, &entry.completed))?;
            let attempt = read.doc.record_attempt(&read.text, &entry.attempt, entry.keep);
            read = applied(self, &read.text, &attempt)?;
            read = applied(self, &read.text, &read.doc.log_row(&read.text, &entry.row))?;
        }
        Ok(read)
    }

    /// Removes a link that a session put in place of the plan; a link further up is refused.
    fn remove_link(&self) -> Result<(), PlanFileError> {
        if std::fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink()) {
            std::fs::remove_file(&self.path).map_err(|error| self.unwritable(error))?;
        }
        self.refuse_links()
    }
}

fn is_emptied(start: &Snapshot, text: &str) -> bool {
    text.trim().is_empty() && !start.text.trim().is_empty()
}
