//! Where a slot works: in the user's worktree, or in a worktree of its task.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::gates::inputs::GateInputs;
use crate::ports::{RunBase, Vcs};
use crate::project::Project;
use crate::run_files::WorktreeLock;
use crate::sync::lock;

/// Where a slot works.
pub(super) struct Workspace {
    pub(super) project: Project,
    pub(super) vcs: Arc<dyn Vcs>,
    /// Where its sessions are started.
    pub(super) folder: PathBuf,
    base: Mutex<RunBase>,
    /// The tree that new work is compared with.
    settled: Mutex<String>,
    /// What the files that are judged look like beside their tree, before the first session.
    pub(super) gate_inputs: GateInputs,
    /// No other process works there meanwhile.
    lock: Mutex<Option<WorktreeLock>>,
}

impl Workspace {
    pub(super) fn new(
        project: Project,
        vcs: Arc<dyn Vcs>,
        folder: PathBuf,
        base: RunBase,
        gate_inputs: GateInputs,
        lock: Option<WorktreeLock>,
    ) -> Self {
        let settled = Mutex::new(base.settled_tree.clone());
        let (base, lock) = (Mutex::new(base), Mutex::new(lock));
        Self { project, vcs, folder, base, settled, gate_inputs, lock }
    }

    /// Others may work there again.
    pub(super) fn leave(&self) {
        drop(lock(&self.lock).take());
    }

    /// What its work began from.
    pub(super) fn base(&self) -> RunBase {
        lock(&self.base).clone()
    }

    /// The tree that new work is compared with.
    pub(super) fn settled_tree(&self) -> String {
        lock(&self.settled).clone()
    }

    pub(super) fn set_settled_tree(&self, tree: &str) {
        tree.clone_into(&mut lock(&self.settled));
    }

    /// A session is about to work there: this is what its work is compared with.
    pub(super) fn set_base(&self, base: RunBase) {
        *lock(&self.base) = base;
    }

    /// Work was accepted: this commit is where new work begins.
    pub(super) fn set_accepted(&self, head: Option<&String>) {
        let mut base = lock(&self.base);
        base.head = head.cloned();
    }

    /// Its work begins from this commit now.
    pub(super) fn stands_on(&self, commit: &str, tree: &str) {
        let mut base = lock(&self.base);
        base.head = Some(commit.to_owned());
        tree.clone_into(&mut base.settled_tree);
        self.set_settled_tree(tree);
    }
}
