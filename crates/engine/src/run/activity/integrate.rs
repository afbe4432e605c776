//! Work in separate worktrees, one per task, and how it lands on the branch of the run.
//!
//! The worktree of a task lives until its work has landed or was given up: the next session starts from what a
//! failed or silent one left. After a conflict the next one starts from the landed commits, and the work is saved.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::branch::{BranchName, TASK_PREFIX, task_of_branch};
use ralph_core::records::{Attempt, Verdict};
use ralph_core::run::{
    CommitPlan, Conflict, FinishedWork, GateReport, Input, Landing, MERGE, Notice, Port,
    Settlement, SlotStep, TaskBrief,
};
use ralph_core::task::{Actor, Status};

use crate::crash;
use crate::ports::{Candidate, GitError, RunBase, Saved, SessionCommits, Store, StoreError, Vcs};
use crate::project::Project;
use crate::run::RunError;
use crate::run::activity::settle::hook_refused;
use crate::run::holding;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::setup::Setup;
use crate::run::slot_state::SlotState;
use crate::run::workspace::Workspace;
use crate::run_files::WorktreeLock;
use crate::sandbox::Hooked;
use crate::vcs::GitVcs;
use crate::vcs::trunk::{Replayed, Trunk};
use crate::worktrees::setup_command::{self, WorktreeSetupError, run_worktree_setup};
use crate::worktrees::{Identity, Wanted, WorktreeRefusal, Worktrees};

/// How many commits that have landed are named.
const NAMED_COMMITS: usize = 5;

/// Everything that work in worktrees of its own needs.
pub struct WorktreePool {
    /// The branch that it lands on.
    pub trunk: Trunk,
    pub worktrees: Worktrees,
    pub identity: Identity,
    /// The patterns of a `.worktreeinclude`.
    pub include: String,
    /// The command that prepares a new worktree; may be empty.
    pub setup_command: String,
    /// What the user's hooks find in their environment, and how long they may take.
    pub hooks: (Vec<(OsString, OsString)>, Duration),
    /// Worktrees stay when the work in them has landed.
    pub keep: bool,
}

/// The branch of a task's worktree.
fn task_branch(task: &TaskId) -> Result<BranchName, GitError> {
    BranchName::of_task(task)
        .map_err(|error| GitError::Failed { verb: "branch".to_owned(), message: error.to_string() })
}

impl WorktreePool {
    /// Creates the worktree of a task, or reuses the existing one.
    /// `begins` is called before a step that may take a while.
    fn open(
        &self,
        setup: &Setup,
        task: &TaskBrief,
        begins: impl Fn(SlotStep),
    ) -> Result<(Workspace, Vec<String>), Failed> {
        begins(SlotStep::Worktree);
        let branch = task_branch(&task.id)?;
        let tip = self.trunk.tip()?;
        let wanted = Wanted {
            branch: &branch,
            base: &tip,
            identity: &self.identity,
            include: &self.include,
            carried: None,
        };
        let mut prepared = self.worktrees.prepare(&wanted);
        if let Err(GitError::Worktree(WorktreeRefusal::Switched { path, .. })) = &prepared {
            // The run was killed while a session was on a branch of its own.
            let vcs = self.worktrees.vcs(Project::find(path).map_err(GitError::from)?)?;
            save_and_return_to_branch(&vcs, branch.as_str(), &task.id, task.attempt_number)?;
            prepared = self.worktrees.prepare(&wanted);
        }
        let prepared = prepared?;
        let project = Project::find(&prepared.path).map_err(GitError::from)?;
        if !self.setup_command.is_empty() && !prepared.setup_done {
            let log = setup.files.logs.folder.join(format!("setup-{}.log", branch.file_name()));
            let (worktrees, place) = (&self.worktrees, &prepared.path);
            let sandboxed = (
                setup.sandbox.as_ref(),
                self.worktrees.vcs(project.clone())?.shown_to_judges(None)?,
            );
            let environment = setup.judge_environment();
            begins(SlotStep::Setup);
            run_worktree_setup(
                worktrees,
                &branch,
                &self.setup_command,
                place,
                environment,
                sandboxed,
                &log,
            )
            .map_err(|error| {
                // Asked to stop, the run stops anyway.
                let for_good = matches!(error, WorktreeSetupError::Failed { .. });
                Failed::new(Port::Prompt, error, for_good)
            })?;
        }
        let lock = WorktreeLock::take(&project.worktree.join(".ralph"))
            .map_err(|error| Failed::new(Port::Git, error, false))?;
        let vcs = self.worktrees.vcs(project.clone())?.with_hooks(&self.hooks.0, self.hooks.1);
        let vcs = vcs.hooks_in(Hooked::of(&setup.sandbox));
        if prepared.made {
            vcs.check_signing()?;
        }
        vcs.sweep_own_locks()?;
        vcs.import_commits()?;
        let head = vcs.head()?.unwrap_or_else(|| tip.clone());
        let mut from = self.trunk.fork(&head, &tip)?.unwrap_or_else(|| tip.clone());
        let mut base = RunBase {
            head: Some(from.clone()),
            branch: Some(branch.to_string()),
            settled_tree: self.trunk.tree(&from)?,
            ..RunBase::default()
        };
        if head == from && from != tip && !vcs.candidate(&base)?.leftovers {
            // There is nothing in it yet: it begins from what has landed.
            vcs.move_to(&tip)?;
            from.clone_from(&tip);
            base.head = Some(from);
            base.settled_tree = self.trunk.tree(&tip)?;
        }
        let gate_inputs = setup.gate_inputs(&project, &vcs);
        let folder = project.worktree.clone();
        let workspace =
            Workspace::new(project, Arc::new(vcs), folder, base, gate_inputs, Some(lock));
        Ok((workspace, prepared.notes))
    }

    /// Removes a task's worktree and branch. Work that no branch has is already saved.
    fn clear(&self, branch: &BranchName) -> Result<(), GitError> {
        if !self.keep {
            self.worktrees.remove(branch)?;
            self.worktrees.delete_branch(branch)?;
        }
        Ok(())
    }
}

impl Ports {
    /// The slot goes to the worktree of its task.
    pub(in crate::run) fn enter(
        &self,
        slot: &mut SlotState,
        task: Option<&TaskBrief>,
    ) -> Result<(), Failed> {
        let (Some(pool), Some(task)) = (&self.setup.work.pool, task) else { return Ok(()) };
        let begins = |step| {
            let timeout_ms = (step == SlotStep::Setup)
                .then(|| u64::try_from(setup_command::TIMEOUT.as_millis()).unwrap_or(u64::MAX));
            self.step(&Input::StepStarted { slot: slot.id, step, timeout_ms });
        };
        let (workspace, notes) = pool.open(&self.setup, task, begins)?;
        for note in notes {
            self.notice(note);
        }
        slot.enter(Arc::new(workspace));
        slot.changes = None;
        slot.weakened = None;
        slot.subject = None;
        slot.off_branch = None;
        Ok(())
    }

    /// A session may have gone to another branch in the worktree of its task. What it did there is the
    /// work all the same.
    pub(in crate::run) fn return_to_branch(
        &self,
        slot: &mut SlotState,
        workspace: &Workspace,
    ) -> Result<(), Failed> {
        let Some(pool) = &self.setup.work.pool else { return Ok(()) };
        let (Some((task, attempt)), Some(branch)) = (slot.attempt(), workspace.base().branch)
        else {
            return Ok(());
        };
        let vcs = pool.worktrees.vcs(workspace.project.clone())?;
        if let Some(saved) = save_and_return_to_branch(&vcs, &branch, &task, attempt)? {
            slot.off_branch = Some(format!(
                "the work is not on branch {branch} and not based on it; it is saved under {}",
                saved.name
            ));
        }
        Ok(())
    }

    /// Commits the remaining work, and rebases it onto what has landed. With `hold` the branch is locked until
    /// the work has landed or is refused.
    pub(in crate::run) fn integrate(
        &self,
        slot: &mut SlotState,
        commit: Option<&CommitPlan>,
        gates: &[GateReport],
        hold: bool,
    ) -> Answer {
        let (workspace, judged) = (slot.workspace(), slot.candidate.clone());
        let (Some(pool), Some(judged)) = (&self.setup.work.pool, judged) else {
            return Err(Failed::new(Port::Git, "there is nothing to land", true));
        };
        if let Some(plan) = commit {
            match workspace.vcs.commit(&workspace.base(), &judged, &plan.subject, &plan.body) {
                Ok(Some(commit)) => self.committed(slot, &judged, &commit, plan),
                Ok(None) => {}
                Err(GitError::HeadMoved { .. }) => return Ok(Input::HeadMoved { slot: slot.id }),
                Err(error @ GitError::HookChanged { .. }) => {
                    self.notice(error.to_string());
                    return Ok(Input::HeadMoved { slot: slot.id });
                }
                Err(error @ GitError::Hook { .. }) => return Ok(hook_refused(slot, &error)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(task) = slot.task.clone() {
            // It is finished; whatever keeps it from landing, the next run needs no session for it.
            self.write_evidence_of(slot, &task, gates, &judged, false)?;
        }
        crash::point("integrating");
        let Some(head) = workspace.vcs.head()? else {
            return Err(Failed::new(Port::Git, "the worktree of the task has no commit", true));
        };
        let words = commit.map(|plan| (plan.subject.as_str(), plan.body.as_str()));
        let own = pool.worktrees.vcs(workspace.project.clone())?;
        let mut tries = 0..holding::TRIES;
        let (tip, new) = loop {
            let tip = pool.trunk.tip()?;
            let from = workspace.base().head.unwrap_or_else(|| tip.clone());
            match pool.trunk.replay(&own, &from, &head, &tip, words)? {
                Replayed::Conflict { files, text } => {
                    let conflict = self.conflict(pool, (&from, &tip), files, &text)?;
                    let (onto, landing) = (Some(tip), Landing::Conflict(conflict));
                    return Ok(Input::Integrated {
                        slot: slot.id,
                        onto,
                        tree: judged.tree,
                        landing,
                    });
                }
                Replayed::Clean { head: new } => {
                    let held = !hold
                        || new == tip
                        || self.try_to_hold(slot, || pool.trunk.hold(&tip, &new))?;
                    if held || tries.next().is_none() {
                        break (tip, new);
                    }
                }
            }
        };
        let onto = Some(tip.clone());
        if new != head {
            if let Some(saved) = self.save_left(slot, &workspace)? {
                self.notice(format!("unchecked changes are saved under {}", saved.name));
            }
            self.close_deciding(slot);
            own.move_to(&new)?;
            self.note_merged(&workspace, &pool.trunk.tree(&tip)?);
        }
        workspace.stands_on(&tip, &pool.trunk.tree(&tip)?);
        crash::point("integrated");
        let obstacle = in_the_way(pool, &tip, &new)?;
        let tree = pool.trunk.tree(&new)?;
        let candidate = Candidate {
            tree: tree.clone(),
            head: Some(new),
            head_tree: tree.clone(),
            leftovers: false,
            taken: None,
        };
        // Compared by tree, not by position: after a failure and a retry, it may be there already.
        let landing = match tree == judged.tree {
            true => Landing::Straight,
            false => Landing::Rebased,
        };
        slot.candidate = Some(candidate);
        if landing == Landing::Rebased {
            slot.changes = None;
        }
        let landing = obstacle.unwrap_or(landing);
        Ok(Input::Integrated { slot: slot.id, onto, tree, landing })
    }

    /// The candidate is a commit now.
    fn committed(&self, slot: &mut SlotState, judged: &Candidate, commit: &str, plan: &CommitPlan) {
        slot.subject = Some(plan.subject.clone());
        slot.candidate = Some(Candidate {
            tree: judged.tree.clone(),
            head: Some(commit.to_owned()),
            head_tree: judged.tree.clone(),
            leftovers: false,
            taken: None,
        });
    }

    /// A conflict, as the evidence and the next session need it.
    pub(in crate::run) fn conflict(
        &self,
        pool: &WorktreePool,
        (from, tip): (&str, &str),
        files: Vec<String>,
        text: &str,
    ) -> Result<Conflict, Failed> {
        let landed = pool.trunk.subjects(from, tip, NAMED_COMMITS)?;
        let digest = format!(
            "the work conflicts with commits that landed since it began.\n\
             Conflicts in: {}\nLanded since:\n{}\nStart from the landed commits, and redo the \
             work on top of them.\n\n{text}",
            files.join(", "),
            landed.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"),
        );
        let report = Some(GateReport::of_check(MERGE, Verdict::Fail, digest));
        Ok(Conflict { files, report })
    }

    /// Saves what is in a worktree and was not judged.
    fn save_left(&self, slot: &SlotState, workspace: &Workspace) -> Result<Option<Saved>, Failed> {
        let Some((task, attempt)) = slot.attempt() else { return Ok(None) };
        let base = workspace.base();
        let candidate = workspace.vcs.candidate(&base)?;
        // What is committed there was judged, and is about to land.
        if !candidate.leftovers {
            return Ok(None);
        }
        Ok(workspace.vcs.save(&base, &candidate, &task, attempt)?)
    }

    /// Moves the branch of the run to the work. `None` when it has landed; else the next input.
    pub(in crate::run) fn land(&self, slot: &SlotState) -> Result<Option<Input>, Failed> {
        let workspace = slot.workspace();
        let Some(pool) = &self.setup.work.pool else { return Ok(None) };
        let (Some(head), Some(from)) = (workspace.vcs.head()?, workspace.base().head) else {
            return Ok(None);
        };
        match pool.trunk.advance(&from, &head) {
            Ok(()) => Ok(None),
            Err(GitError::HeadMoved { .. }) => Ok(Some(Input::HeadMoved { slot: slot.id })),
            Err(error) => Err(error.into()),
        }
    }

    /// The work cannot land as it is, or was given up. It is saved, and the next attempt starts again.
    pub(in crate::run) fn start_over(
        &self,
        slot: &mut SlotState,
        settlement: &Settlement,
    ) -> Result<Option<(TaskId, String)>, Failed> {
        let workspace = slot.workspace();
        let (Some(pool), Some((task, attempt))) = (&self.setup.work.pool, slot.attempt()) else {
            return Ok(None);
        };
        let vcs = pool.worktrees.vcs(workspace.project.clone())?;
        let tip = pool.trunk.tip()?;
        let from = workspace.base().head.unwrap_or_else(|| tip.clone());
        let saved = vcs.save_since(&from, &task, attempt)?;
        crash::point("wip-saved");
        if settlement.start_over {
            vcs.move_to(&tip)?;
        }
        Ok(saved.map(|saved| (task, saved.name)))
    }

    /// The slot leaves the worktree of its task. When no work is left there, the worktree is removed.
    pub(in crate::run) fn leave(self: &Arc<Self>, slot: &mut SlotState, over: bool) {
        if self.setup.work.pool.is_none() {
            return;
        }
        let task = slot.attempt();
        slot.enter(Arc::clone(&self.home)).leave();
        let Some((task, _)) = task.filter(|_| over) else { return };
        let ports = Arc::clone(self);
        self.tasks().spawn_blocking(move || {
            let Some(pool) = &ports.setup.work.pool else { return };
            let cleared = task_branch(&task).and_then(|branch| pool.clear(&branch));
            if let Err(error) = cleared {
                ports.notice(format!("the worktree of {task} could not be removed: {error}"));
            }
        });
    }
}

/// Returns to the branch of a task, with the work if it is based on that branch. Any other work is saved, and
/// the worktree is reset to the branch.
fn save_and_return_to_branch(
    vcs: &GitVcs,
    branch: &str,
    task: &TaskId,
    attempt: u32,
) -> Result<Option<Saved>, GitError> {
    match vcs.return_to_branch(branch) {
        Err(GitError::OtherBranch { .. }) => {
            let saved = vcs.save_since(&format!("refs/heads/{branch}"), task, attempt)?;
            vcs.switch_to(branch)?;
            Ok(saved)
        }
        other => other.map(|()| None),
    }
}

fn in_the_way(pool: &WorktreePool, tip: &str, head: &str) -> Result<Option<Landing>, Failed> {
    let files = pool.trunk.in_the_way(tip, head)?;
    Ok((!files.is_empty()).then_some(Landing::InTheWay { files }))
}

/// Recovers from a killed run: work that had landed, unfinished work, and worktrees that are no longer needed.
pub(in crate::run) fn recover(
    setup: &mut Setup,
    store: &mut dyn Store,
    cut_off: &[Attempt],
) -> Result<(), RunError> {
    let Some(pool) = &setup.work.pool else { return Ok(()) };
    let mut reported = Vec::new();
    // Before any worktree is removed: temporary folders are named after its place.
    pool.worktrees.sweep_temporary()?;
    for attempt in cut_off {
        let task = &attempt.task;
        if has_landed(pool, store, attempt)? {
            let by = Actor::Agent(attempt.agent.clone(), Some(attempt.generation));
            let tip = pool.trunk.tip()?;
            let result = serde_json::json!({ "commit": tip }).to_string();
            match store.done(task, Some(&result), &by, setup.ports.clock.now()) {
                Ok(()) => reported.push(format!(
                    "{task} is done: its work landed before the last run was interrupted"
                )),
                Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
            continue;
        }
        match save_unfinished(pool, store, attempt) {
            Ok(Some(saved)) => {
                reported.push(format!("unfinished work on {task} is saved under {}", saved.name));
            }
            Ok(None) => {}
            Err(error) => {
                reported.push(format!("unfinished work on {task} could not be saved: {error}"));
            }
        }
        crash::point("unfinished-saved");
    }
    reported.extend(sweep(pool, store)?);
    setup.notices.extend(reported.into_iter().map(|text| Notice::Other { text }));
    Ok(())
}

/// Whether the work of an attempt is on the branch: a tree that all its judges let through is there.
fn has_landed(
    pool: &WorktreePool,
    store: &mut dyn Store,
    attempt: &Attempt,
) -> Result<bool, RunError> {
    let Some(work) = FinishedWork::of(attempt, &store.evidence(&attempt.task)?) else {
        return Ok(false);
    };
    Ok(pool.trunk.holds(task_branch(&attempt.task)?.as_str(), &work.tree)?)
}

fn save_unfinished(
    pool: &WorktreePool,
    store: &mut dyn Store,
    attempt: &Attempt,
) -> Result<Option<Saved>, RunError> {
    let branch = task_branch(&attempt.task)?;
    let path = pool.worktrees.path_of(&branch)?;
    if !pool.worktrees.is_ours(&branch)? || !pool.worktrees.is_worktree(&path) {
        return Ok(None);
    }
    let number = u32::try_from(store.attempts(&attempt.task)?.len()).unwrap_or(u32::MAX);
    let vcs = pool.worktrees.vcs(Project::find(&path).map_err(GitError::from)?)?;
    vcs.import_commits()?;
    let tip = pool.trunk.tip()?;
    let head = vcs.head()?.unwrap_or_else(|| tip.clone());
    let from = pool.trunk.fork(&head, &tip)?.unwrap_or(tip);
    Ok(vcs.save_since(&from, &attempt.task, number)?)
}

/// Removes the worktrees of tasks that are over.
pub(in crate::run) fn sweep(
    pool: &WorktreePool,
    store: &mut dyn Store,
) -> Result<Vec<String>, RunError> {
    let mut reported = Vec::new();
    let tip = pool.trunk.tip()?;
    for ours in pool.worktrees.ours()? {
        let Some(task) = task_of_branch(ours.branch.as_str()) else { continue };
        let over = match store.get(&task) {
            Ok(task) => matches!(task.status, Status::Done | Status::Failed | Status::Deleted),
            Err(StoreError::Refused(_)) => true,
            Err(error) => return Err(error.into()),
        };
        if !over {
            continue;
        }
        let cleared = (|| {
            if pool.worktrees.is_worktree(&ours.path) {
                let number = u32::try_from(store.attempts(&task)?.len().max(1)).unwrap_or(u32::MAX);
                let project = Project::find(&ours.path).map_err(GitError::from)?;
                let vcs = pool.worktrees.vcs(project)?;
                vcs.import_commits()?;
                let head = vcs.head()?.unwrap_or_else(|| tip.clone());
                let from = pool.trunk.fork(&head, &tip)?.unwrap_or_else(|| tip.clone());
                vcs.save_since(&from, &task, number)?;
            }
            Ok::<(), RunError>(pool.clear(&ours.branch)?)
        })();
        if let Err(error) = cleared {
            reported.push(format!("the worktree of {task} could not be removed: {error}"));
        }
    }
    pool.worktrees.sweep_locks();
    if !pool.keep {
        sweep_branches(pool, store)?;
    }
    Ok(reported)
}

/// Removes the branches of tasks that are over and have no worktree any more: a run was killed between the
/// two. Only where all that they lead to has landed or is saved.
fn sweep_branches(pool: &WorktreePool, store: &mut dyn Store) -> Result<(), RunError> {
    for (branch, head) in pool.trunk.branches(TASK_PREFIX)? {
        let (Some(task), Ok(branch)) = (task_of_branch(&branch), BranchName::new(&branch)) else {
            continue;
        };
        let over = match store.get(&task) {
            Ok(task) => matches!(task.status, Status::Done | Status::Failed | Status::Deleted),
            // It may belong to any process.
            Err(StoreError::Refused(_)) => false,
            Err(error) => return Err(error.into()),
        };
        if over && !pool.worktrees.is_ours(&branch)? && pool.trunk.keeps(&task, &head)? {
            pool.worktrees.delete_branch(&branch)?;
        }
    }
    Ok(())
}
