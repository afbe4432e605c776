//! Finds tests that a session made weaker. They are reported and added to the evidence; nothing is refused because
//! of them.

use ralph_core::attempt::weakened::{ChangedFile, find, may_hold_tests};
use ralph_core::records::{Changes, FileChange};
use ralph_core::run::{GateReport, Notice};
use ralph_core::view::words;

use super::Check;
use crate::ports::Candidate;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;

/// How many files are looked at.
const MAX_FILES: usize = 60;
/// The largest file that is looked at, in bytes.
const MAX_BYTES: usize = 512 * 1024;
/// How many findings are reported.
const NAMED: usize = 10;

pub(super) struct WeakenedTests;

impl Check for WeakenedTests {
    fn run(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        ports.check_tests(slot, candidate).map(|()| None)
    }
}

impl Ports {
    /// What the tree changes, counted once.
    pub(in crate::run) fn changes_of(
        &self,
        slot: &mut SlotState,
        settled: &str,
        tree: &str,
    ) -> Result<Vec<FileChange>, Failed> {
        if settled == tree {
            return Ok(vec![]);
        }
        let known = slot.changes.clone().filter(|(of, _)| of == tree);
        if let Some((_, changes)) = known {
            return Ok(changes);
        }
        let changes = slot.workspace().vcs.counted_changes(settled, tree)?;
        slot.changes = Some((tree.to_owned(), changes.clone()));
        Ok(changes)
    }

    /// What the slot's candidate changes, as attempts keep it.
    pub(in crate::run) fn changed(&self, slot: &mut SlotState) -> Result<Changes, Failed> {
        let Some(candidate) = slot.candidate.clone() else {
            return Ok(Changes::default());
        };
        let settled = slot.workspace().settled_tree();
        Ok(Changes::of(self.changes_of(slot, &settled, &candidate.tree)?))
    }

    fn check_tests(&self, slot: &mut SlotState, candidate: &Candidate) -> Result<(), Failed> {
        let settled = slot.workspace().settled_tree();
        let trees = [settled.clone(), candidate.tree.clone()];
        let known = slot.weakened.clone();
        if known.as_ref().is_some_and(|(of, _)| *of == trees) {
            return Ok(());
        }
        let changes = self.changes_of(slot, &settled, &candidate.tree)?;
        let found = self.weakened(slot, &settled, &candidate.tree, &changes)?;
        // A finding of an earlier try is not reported again.
        if !found.is_empty()
            && known.is_none_or(|(of, reported)| of[0] != settled || reported != found)
        {
            let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
            let found = found.iter().take(NAMED).cloned().collect();
            self.notify(Notice::TestsWeakened { found, count });
        }
        slot.weakened = Some((trees, found));
        Ok(())
    }

    fn weakened(
        &self,
        slot: &SlotState,
        settled: &str,
        tree: &str,
        changes: &[FileChange],
    ) -> Result<Vec<String>, Failed> {
        let paths = changes.iter().map(|change| change.path.as_str());
        let mut files = Vec::new();
        for path in paths.filter(|path| may_hold_tests(path)).take(MAX_FILES) {
            let text = |tree: &str| -> Result<Option<String>, Failed> {
                let bytes = slot.workspace().vcs.file(tree, path)?;
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            };
            let (before, after) = (text(settled)?, text(tree)?);
            let is_large =
                |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() > MAX_BYTES);
            if !is_large(&before) && !is_large(&after) {
                files.push((path, before, after));
            }
        }
        let files: Vec<ChangedFile<'_>> = files
            .iter()
            .map(|(path, before, after)| ChangedFile {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect();
        Ok(find(&files))
    }

    /// What the evidence of a tree says of its tests, where they are weaker.
    pub(in crate::run) fn weakened_report(&self, slot: &SlotState, tree: &str) -> Option<String> {
        let trees = [slot.workspace().settled_tree(), tree.to_owned()];
        let (_, found) = slot.weakened.as_ref().filter(|(of, _)| *of == trees)?;
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let reported: Vec<String> = found.iter().take(NAMED).cloned().collect();
        (!reported.is_empty()).then(|| words::weakened(&reported, count))
    }
}
