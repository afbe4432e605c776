//! The tree to judge, and where the gates judge it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Input, Port};

use crate::crash;
use crate::gates::command::{GateLocation, Ran, file_name};
use crate::gates::{GateSpec, setup_gate};
use crate::ports::{Candidate, Checkout, GitError, RunBase};
use crate::run::activity::catch_panic;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::untrusted;

/// How many changed files a fact names.
const NAMED_FILES: usize = 20;
/// How long it may take where no gate says so.
const SETUP_TIMEOUT: Duration = Duration::from_secs(600);

impl Ports {
    /// The worktree as a tree to judge.
    pub(in crate::run) fn new_candidate(&self, slot: &SlotState) -> Result<Candidate, GitError> {
        let workspace = slot.workspace();
        let candidate = workspace.vcs.candidate(&workspace.base())?;
        // A commit that came onto the branch meanwhile is the user's, and is not held against the work.
        if workspace.vcs.lands_when_accepted() && !self.setup.policy.adds_all() {
            workspace.set_settled_tree(&candidate.head_tree);
        }
        Ok(candidate)
    }

    /// Writes the candidate tree.
    pub(in crate::run) fn make_candidate(&self, slot: &mut SlotState, hold: bool) -> Answer {
        let since = slot.since;
        let workspace = slot.workspace();
        workspace.vcs.remove_dead_locks(since)?;
        workspace.vcs.import_commits()?;
        self.return_to_branch(slot, &workspace)?;
        self.keep_own_work(slot, &workspace)?;
        self.plan.keep_out(self)?;
        self.name_submodules(slot, &workspace);
        if hold {
            self.hold_in_place(slot, &workspace)?;
        }
        let candidate = self.new_candidate(slot)?;
        let settled = workspace.settled_tree();
        let files = match candidate.tree == settled {
            true => vec![],
            false => workspace.vcs.counted_changes(&settled, &candidate.tree)?,
        };
        let names: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        self.note_touched(&workspace, &candidate, &names)?;
        crash::point("candidate-made");
        let tree = candidate.tree.clone();
        slot.candidate = Some(candidate);
        slot.changes = Some((tree.clone(), files));
        Ok(Input::CandidateMade {
            slot: slot.id,
            tree,
            plan_only: self.is_plan_only(&names),
            file_count: u32::try_from(names.len()).unwrap_or(u32::MAX),
            files: names.into_iter().take(NAMED_FILES).collect(),
        })
    }

    /// There is nothing to run, but maybe something to refuse.
    pub(in crate::run) fn judge_without_gates(&self, slot: &mut SlotState) -> Answer {
        let candidate = slot.judged_candidate()?;
        let reports = self.check_candidate(slot, &candidate)?.into_iter().collect();
        Ok(self.keep(slot, candidate, reports, false))
    }

    /// Runs the gates on the candidate.
    pub(in crate::run) async fn judge(self: Arc<Self>, mut slot: Box<SlotState>, foresee: bool) {
        let answer = self.judge_twice(&mut slot).await;
        if answer.is_err() {
            self.release_branch(&mut slot);
        }
        let answer = blocking(|| self.with_conflict(&slot, answer?, foresee));
        self.answer(slot, answer);
    }

    /// The gates run in the worktree. What they rewrite of the work is judged once more; any other file that
    /// changes meanwhile is the user's, unless the gates write the same into a checkout.
    async fn judge_twice(&self, slot: &mut SlotState) -> Answer {
        let before = slot.judged_candidate()?;
        let checkout = self.fresh(slot, &before)?;
        let clean = checkout.is_some();
        let gates = self.run_gates(slot, &before, checkout.as_ref()).await?;
        remove_checkout(checkout);
        // What happened in the worktree meanwhile says nothing about a tree that was judged elsewhere.
        if clean || gates.is_empty() {
            return Ok(self.keep(slot, before, gates, false));
        }
        let during = blocking(|| self.changed_during_gates(slot, &before))?;
        let green = gates.iter().all(|gate| gate.verdict == Verdict::Pass);
        // Where you committed meanwhile, all of it is judged again on top of that.
        if !green || during.is_empty() || during.after.head != before.head {
            return Ok(self.keep(slot, before, gates, false));
        }
        if during.outside.is_empty() {
            self.notice("The gates changed files of the work; ralph runs them again on the result");
            let after = Candidate { tree: during.work.clone(), ..during.after };
            let gates = self.run_gates(slot, &after, None).await?;
            let again = blocking(|| Ok(self.new_candidate(slot)?))?;
            let tree_changed_while_judging = again.tree != after.tree;
            return Ok(self.keep(slot, after, gates, tree_changed_while_judging));
        }
        self.judge_apart(slot, during).await
    }

    /// Judges the work in a checkout without the files that changed beside it. Those that the gates write
    /// there as well are part of the work; the others stay with the user.
    async fn judge_apart(&self, slot: &mut SlotState, during: DuringGates) -> Answer {
        let work = Candidate { tree: during.work.clone(), ..during.after.clone() };
        let checkout = self.checkout(slot, &work)?;
        let there = |path: &String| content(&checkout.folder().join(path));
        let before: Vec<_> = during.outside.iter().map(there).collect();
        let gates = self.run_gates(slot, &work, Some(&checkout)).await?;
        let workspace = slot.workspace();
        let (mut written, mut theirs) = (Vec::new(), Vec::new());
        for (path, before) in during.outside.into_iter().zip(before) {
            match there(&path) == before {
                true => theirs.push(path),
                false => written.push(path),
            }
        }
        // Gates that write something else each time cannot be asked about what they leave.
        let same = |path: &String| there(path) == content(&workspace.project.worktree.join(path));
        let tree_changed_while_judging = !during.inside.iter().chain(&written).all(same);
        remove_checkout(Some(checkout));
        let now = during.worktree;
        blocking(|| {
            let tree = workspace.vcs.with_paths(&work.tree, &now, &written)?;
            if !theirs.is_empty() {
                let base = workspace.vcs.disown(&workspace.base(), &now, &theirs)?;
                workspace.set_base(base);
                self.notice(format!(
                    "Left out of the work, because they changed while gates ran: {}",
                    theirs.join(", ")
                ));
            }
            slot.unsure.clear();
            Ok(self.keep(slot, Candidate { tree, ..work }, gates, tree_changed_while_judging))
        })
    }

    /// What changed in the worktree while gates ran, now and at earlier attempts on the same work.
    fn changed_during_gates(
        &self,
        slot: &mut SlotState,
        before: &Candidate,
    ) -> Result<DuringGates, Failed> {
        let workspace = slot.workspace();
        let after = self.new_candidate(slot)?;
        let worktree = match workspace.base().start {
            None => after.tree.clone(),
            Some(_) => workspace.vcs.candidate(&RunBase { start: None, ..workspace.base() })?.tree,
        };
        let own: HashSet<String> =
            workspace.vcs.changes(&before.head_tree, &before.tree)?.into_iter().collect();
        let changed = workspace.vcs.changes(&before.tree, &after.tree)?;
        // Where everything is committed, so is what you write meanwhile.
        let adds_all = self.setup.policy.adds_all();
        let (inside, outside): (Vec<String>, Vec<String>) =
            changed.into_iter().partition(|path| own.contains(path) || adds_all);
        let mut unsure = std::mem::take(&mut slot.unsure);
        unsure.extend(outside);
        let still = workspace.vcs.changes(&before.tree, &worktree)?;
        unsure.retain(|path| still.contains(path) && !own.contains(path));
        slot.unsure.clone_from(&unsure);
        let work = workspace.vcs.with_paths(&before.tree, &worktree, &inside)?;
        Ok(DuringGates { work, worktree, inside, outside: unsure.into_iter().collect(), after })
    }

    fn keep(
        &self,
        slot: &mut SlotState,
        candidate: Candidate,
        gates: Vec<GateReport>,
        tree_changed_while_judging: bool,
    ) -> Input {
        let tree = candidate.tree.clone();
        let change = self.change_size(slot, &candidate);
        slot.candidate = Some(candidate);
        Input::Judged {
            slot: slot.id,
            tree,
            gates,
            tree_changed_while_judging,
            conflict: None,
            change,
        }
    }

    /// Runs the gates on a candidate, in a checkout of it or in the worktree.
    async fn run_gates(
        &self,
        slot: &mut SlotState,
        candidate: &Candidate,
        checkout: Option<&Checkout>,
    ) -> Result<Vec<GateReport>, Failed> {
        if let Some(refused) = blocking(|| self.check_candidate(slot, candidate))? {
            return Ok(vec![refused]);
        }
        let workspace = slot.workspace();
        let place = checkout
            .map_or(GateLocation::of(&workspace.project.worktree), GateLocation::in_checkout);
        let guarded = self.guard_protected(slot, candidate, place.folder)?;
        let place = place.guarding(&guarded);
        if let Some(failed) = self.run_setup(slot, checkout, &place).await {
            return Ok(vec![failed.report]);
        }
        let mut reports = Vec::new();
        for gate in &self.setup.gates.specs {
            let ran = place.checked(self.run_gate(slot, gate, &place).await);
            self.check_runnable(slot, gate, &ran, candidate).await?;
            let report = self.against_baseline(ran);
            let red = report.verdict != Verdict::Pass;
            reports.push(report);
            crash::point("gate-ended");
            if red {
                break;
            }
        }
        Ok(reports)
    }

    /// A fresh checkout of the candidate, where gates want one.
    pub(in crate::run) fn fresh(
        &self,
        slot: &SlotState,
        candidate: &Candidate,
    ) -> Result<Option<Checkout>, Failed> {
        match self.setup.gates.rules.clean {
            true => self.checkout(slot, candidate).map(Some),
            false => Ok(None),
        }
    }

    /// A checkout of a tree, where gates want one with caches of its own.
    pub(in crate::run) fn checkout(
        &self,
        slot: &SlotState,
        candidate: &Candidate,
    ) -> Result<Checkout, Failed> {
        blocking(|| {
            let rules = &self.setup.gates.rules;
            let checkout = slot.workspace().vcs.checkout(candidate, &rules.include)?;
            if !rules.clean {
                return Ok(checkout);
            }
            let caches = self.setup.sandbox.fresh_caches();
            let caches = caches.map_err(|error| Failed::new(Port::Gate, error, false))?;
            Ok(checkout.with_caches(caches))
        })
    }

    /// Runs the setup command in a checkout; what it said, where it failed.
    pub(in crate::run) async fn prepare_checkout(
        &self,
        slot: &SlotState,
        checkout: Option<&Checkout>,
    ) -> Option<Ran> {
        let place = GateLocation::in_checkout(checkout?);
        self.run_setup(slot, checkout, &place).await
    }

    async fn run_setup(
        &self,
        slot: &SlotState,
        checkout: Option<&Checkout>,
        place: &GateLocation<'_>,
    ) -> Option<Ran> {
        let timeout =
            self.setup.gates.specs.iter().map(|gate| gate.timeout).max().unwrap_or(SETUP_TIMEOUT);
        let (_, setup) = checkout.zip(setup_gate(&self.setup.gates.rules, timeout))?;
        let ran = place.checked(self.run_gate(slot, &setup, place).await);
        (ran.report.verdict != Verdict::Pass).then_some(ran)
    }

    /// A gate that the shell could not run, with or without the work, says nothing about the work: the run
    /// stops. A gate that cannot be tried on the base fails like any other.
    async fn check_runnable(
        &self,
        slot: &SlotState,
        gate: &GateSpec,
        ran: &Ran,
        candidate: &Candidate,
    ) -> Result<(), Failed> {
        if ran.stopped || ran.tampered || !ran.not_runnable() {
            return Ok(());
        }
        let code = ran.report.exit_code;
        let same = match self.baseline.get().map(|known| known.exit_code(&gate.name)) {
            Some(before) => before == code,
            None => self.on_base(slot, gate, candidate).await == code,
        };
        if !same {
            return Ok(());
        }
        let printed = ran.text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let why = match (ran.note.as_deref(), printed) {
            (Some(note), Some(printed)) => format!("{note}: {printed}"),
            (note, printed) => note.or(printed).unwrap_or_default().to_owned(),
        };
        let (name, code) = (&gate.name, code.unwrap_or_default());
        let why = format!(
            "gate {name} cannot run (exit code {code}, also without the agent's changes): {why}"
        );
        Err(Failed::new(Port::Gate, why, true))
    }

    /// The exit code of a gate in a fresh checkout of the tree that the work began from.
    async fn on_base(
        &self,
        slot: &SlotState,
        gate: &GateSpec,
        candidate: &Candidate,
    ) -> Option<i32> {
        let tree = slot.workspace().settled_tree();
        let base = Candidate { tree, taken: None, leftovers: false, ..candidate.clone() };
        let checkout = self.checkout(slot, &base).ok()?;
        let code = match self.prepare_checkout(slot, Some(&checkout)).await {
            Some(_) => None,
            None => {
                let name = format!(".gate-{}.base.log", file_name(&gate.name));
                let log = self.setup.files.logs.iteration(slot.iteration, &name);
                let place = GateLocation::in_checkout(&checkout);
                self.gate(slot, gate, &place, &log).await.report.exit_code
            }
        };
        remove_checkout(Some(checkout));
        code
    }

    /// Runs a gate in `place`, and keeps what it prints with the iteration.
    async fn run_gate(&self, slot: &SlotState, gate: &GateSpec, place: &GateLocation<'_>) -> Ran {
        let timeout_ms = u64::try_from(gate.timeout.as_millis()).ok();
        self.step(&Input::GateStarted { slot: slot.id, gate: gate.name.clone(), timeout_ms });
        let name = format!(".gate-{}.log", file_name(&gate.name));
        self.gate(slot, gate, place, &self.setup.files.logs.iteration(slot.iteration, &name)).await
    }
}

/// Does what waits for files, git or the store. Other activities on this thread move to another one meanwhile.
pub(in crate::run) fn blocking<T>(act: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    tokio::task::block_in_place(|| catch_panic(Port::Git, act))
}

/// What changed in the worktree while gates ran.
struct DuringGates {
    /// The work, with its outcome.
    work: String,
    /// Everything that is in the worktree.
    worktree: String,
    /// Paths of the work that changed.
    inside: Vec<String>,
    /// Other paths.
    outside: Vec<String>,
    /// The candidate as it is now.
    after: Candidate,
}

impl DuringGates {
    fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.outside.is_empty()
    }
}

/// What a path holds: bytes, where a link leads, or nothing.
fn content(path: &Path) -> Option<Vec<u8>> {
    match std::fs::read_link(path) {
        Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
        Err(_) => untrusted::read_own(path, untrusted::ANY).ok(),
    }
}

/// Removes a checkout where waiting is allowed.
pub(in crate::run) fn remove_checkout(checkout: Option<Checkout>) {
    tokio::task::block_in_place(|| drop(checkout));
}
