//! Records in the trust ledger what sessions do to deciding and to protected files. It does so before the end of a
//! session is reported, so that no later run takes a session's changes for the user's.

use ralph_core::digest::sha256;
use ralph_core::ids::RunId;
use ralph_core::run::Port;
use ralph_core::trust::{AGENTS, Ledger, Version};

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use super::workspace::Workspace;
use crate::ports::Candidate;
use crate::trust::version_of;
use crate::untrusted;
use crate::worktree_files;

impl Ports {
    /// Before a session: the deciding files as it finds them.
    pub(super) fn watch_deciding(&self, slot: &mut SlotState) -> Result<(), Failed> {
        let worktree = slot.workspace().project.worktree.clone();
        let id = format!("{}{}", ids(&self.setup.run), slot.id);
        let watch = self.setup.files.deciding.session_begins(&worktree, &id);
        let watch = watch.map_err(|error| {
            let text = format!("the trust ledger cannot be written: {error}");
            Failed::new(Port::Prompt, text, false)
        })?;
        slot.deciding = Some(watch);
        Ok(())
    }

    /// Records what the session, or code of its that gates ran, did to deciding files. What cannot be recorded now is
    /// found by the next start.
    pub(super) fn note_deciding(&self, slot: &SlotState) {
        let Some(watch) = &slot.deciding else { return };
        match self.setup.files.deciding.session_wrote(watch) {
            Ok(names) => {
                for name in names {
                    self.notice(format!(
                        "The session changed {}. ralph keeps using your version until you approve \
                         the change: ralph trust",
                        decides(&name)
                    ));
                }
            }
            Err(error) => self.notice(format!("the trust ledger cannot be written: {error}")),
        }
    }

    /// The iteration of the session is over.
    pub(super) fn close_deciding(&self, slot: &mut SlotState) {
        self.note_deciding(slot);
        slot.deciding = None;
    }

    /// No session lives any more. What cannot be written now, the next start finds.
    pub(super) fn forget_sessions(&self) {
        let _ = self.setup.files.deciding.run_ends(&ids(&self.setup.run));
    }

    /// Runs code of a session outside of an iteration, such as a hook: what it does to deciding files is recorded, too.
    pub(super) fn watched<T>(&self, act: impl FnOnce() -> T) -> T {
        let deciding = &self.setup.files.deciding;
        let watch = deciding.snapshot(&self.home.project.worktree);
        let done = act();
        if let Err(error) = deciding.session_wrote(&watch) {
            self.notice(format!("the trust ledger cannot be written: {error}"));
        }
        done
    }

    /// Work in a worktree of its own is compared with what it began from, not with the files at the start of a session:
    /// a command that prepared the worktree may have written them.
    fn note_changed(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
        changed: &[String],
    ) -> Result<(), Failed> {
        let deciding = &self.setup.files.deciding;
        if workspace.project.worktree == deciding.home {
            return Ok(());
        }
        let settled = workspace.settled_tree();
        let output = |tree: &str, name: &str| -> Result<Version, Failed> {
            let bytes = workspace.vcs.file(tree, name)?;
            Ok(bytes.map_or(Version::Absent, |bytes| version_of(name, bytes)))
        };
        let mut all = Vec::new();
        for name in changed.iter().filter(|name| deciding.names().any(|known| known == *name)) {
            all.push((name.clone(), output(&settled, name)?, output(&candidate.tree, name)?));
        }
        let noted = deciding.work_changed(&workspace.project.worktree, all);
        noted.map_err(|error| Failed::new(Port::Git, error, false))
    }

    /// Work was rebased onto what has landed meanwhile, up to the commit `tip`: where that merged a deciding file, the
    /// result is the session's as well.
    pub(super) fn note_merged(&self, workspace: &Workspace, tip_tree: &str) {
        let before = |name: &str| {
            let bytes = workspace.vcs.file(tip_tree, name).ok().flatten();
            bytes.map_or(Version::Absent, |bytes| version_of(name, bytes))
        };
        if let Err(error) =
            self.setup.files.deciding.work_was_merged(&workspace.project.worktree, before)
        {
            self.notice(format!("the trust ledger cannot be written: {error}"));
        }
    }

    /// Records the deciding and protected files that a session changed: until the change is accepted, no run
    /// takes them for the user's.
    pub(super) fn note_touched(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
        changed: &[String],
    ) -> Result<(), Failed> {
        self.note_changed(workspace, candidate, changed)?;
        let patterns = &self.setup.gates.rules.protected;
        let mut touched = Vec::new();
        for path in changed.iter().filter(|path| patterns.matches(path)) {
            touched.push((path, digest(workspace.vcs.file(&candidate.tree, path)?.as_deref())));
        }
        if touched.is_empty() {
            return Ok(());
        }
        let noted = self.setup.files.deciding.trust.update(|ledger| {
            for (path, digest) in touched {
                ledger.session_touched(path, digest);
            }
        });
        noted.map_err(|error| Failed::new(Port::Git, error, false))
    }

    /// The work was accepted, and its protected files with it.
    pub(super) fn accept_touched(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
    ) -> Result<(), Failed> {
        if self.setup.gates.rules.protected.is_empty() {
            return Ok(());
        }
        let trust = &self.setup.files.deciding.trust;
        let ledger = trust.read().unwrap_or_default();
        let mut accepted = Vec::new();
        for path in ledger.protected.keys() {
            accepted.push((path, digest(workspace.vcs.file(&candidate.tree, path)?.as_deref())));
        }
        if accepted.is_empty() {
            return Ok(());
        }
        let noted = trust.update(|ledger| {
            for (path, digest) in accepted {
                ledger.accept_touched(path, &digest);
            }
        });
        noted.map_err(|error| Failed::new(Port::Git, error, false))
    }

    /// Protected files that an earlier session changed, where the work that is judged, or the worktree that gates run
    /// in, still has them so.
    pub(super) fn touched_before(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
    ) -> Result<Vec<String>, Failed> {
        let patterns = &self.setup.gates.rules.protected;
        if patterns.is_empty() {
            return Ok(vec![]);
        }
        let ledger: Ledger = self.setup.files.deciding.trust.read().unwrap_or_default();
        let mut found = Vec::new();
        for path in ledger.protected.keys().filter(|path| patterns.matches(path)) {
            let judged = digest(workspace.vcs.file(&candidate.tree, path)?.as_deref());
            let place =
                worktree_files::read(&workspace.project.worktree, path.as_ref(), untrusted::ANY);
            let place = digest(place.ok().as_deref());
            if ledger.is_touched(path, &judged) || ledger.is_touched(path, &place) {
                found.push(path.clone());
            }
        }
        Ok(found)
    }
}

/// What the names of a run's sessions begin with in the ledger.
fn ids(run: &RunId) -> String {
    format!("{run}-")
}

/// The name of a deciding file in messages.
fn decides(name: &str) -> String {
    if name == AGENTS { format!("the test command in {name}") } else { name.to_owned() }
}

fn digest(content: Option<&[u8]>) -> String {
    content.map_or_else(|| Version::Absent.digest(), sha256)
}
