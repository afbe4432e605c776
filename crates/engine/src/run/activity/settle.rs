//! Records outcomes.
//!
//! The order survives a crash at any point: evidence, then git, then the store. Git is the commit of finished work;
//! for any other outcome it is the save, and for work that is given up also the reverted files. A commit whose task
//! is not yet done in the store is found by the next session, whose candidate equals the committed tree. A done task
//! without its commit cannot happen, nor a given-up task whose files the next one would commit. Every step can be
//! repeated.

use std::sync::Arc;

use ralph_core::agent::Usage;
use ralph_core::ids::QuestionId;
use ralph_core::records::{AttemptEnd, Evidence, Verdict};
use ralph_core::run::{
    CHANGES, COMMIT_HOOK, Class, Ending, GateReport, Input, PROTECTED, Port, SIGNAL, Settled,
    Settlement, TaskAction, TaskBrief, TaskResult, WEAKENED,
};
use ralph_core::task::{Counts, Refusal, Status};
use ralph_core::{TaskId, Timestamp};

use crate::crash;
use crate::ports::{Candidate, GitError, StoreError};
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::run::workspace::Workspace;
use crate::run_files::costs::UnattributedCost;

/// How much of a reason the store keeps.
const KEPT_REASON: usize = 8_000;

impl Ports {
    pub(in crate::run) fn settle(
        self: &Arc<Self>,
        slot: &mut SlotState,
        settlement: &Settlement,
    ) -> Answer {
        let candidate = slot.judged_candidate()?;
        self.store_file.check()?;
        let workspace = slot.workspace();
        self.known_spent();
        self.write_evidence(slot, settlement, &candidate)?;
        crash::point("evidence-written");
        let edit = self.plan.record(self, slot, settlement)?;
        crash::point("plan-written");
        let (mut commit, mut saved) = (None, None);
        let mut tree = candidate.tree.clone();
        if settlement.commit.is_none() && settlement.class == Class::Done {
            let base = workspace.base();
            let landed = workspace.vcs.check_branch(&base);
            let (candidate, outside) = self.only_the_plan(slot, candidate.clone())?;
            tree.clone_from(&candidate.tree);
            saved = outside;
            match landed.and_then(|()| workspace.vcs.land(&base, &candidate)) {
                Ok(_) => {}
                Err(GitError::HeadMoved { .. }) => return Ok(Input::HeadMoved { slot: slot.id }),
                Err(error) => {
                    self.save(slot, settlement.tasks.first().map(|ending| &ending.task.id));
                    return Err(error.into());
                }
            }
        }
        if let Some(plan) = &settlement.commit {
            let (candidate, outside) = self.only_the_plan(slot, candidate.clone())?;
            saved = outside;
            let candidate = self.plan.with_outcome(self, slot, candidate)?;
            tree.clone_from(&candidate.tree);
            crash::point("before-commit");
            let body = self.with_why(slot, settlement, &plan.body);
            let made = workspace.vcs.commit(&workspace.base(), &candidate, &plan.subject, &body);
            match made {
                Ok(made) => commit = made.map(|commit| (commit, plan.subject.clone())),
                Err(GitError::HeadMoved { .. }) => return Ok(Input::HeadMoved { slot: slot.id }),
                Err(error @ GitError::HookChanged { .. }) => {
                    self.notice(error.to_string());
                    return Ok(Input::HeadMoved { slot: slot.id });
                }
                Err(error @ GitError::Hook { .. }) => {
                    // The plan says nothing yet of what was not committed.
                    if let Some(edit) = &edit {
                        self.plan.take_back(slot, edit)?;
                    }
                    return Ok(hook_refused(slot, &error));
                }
                Err(error) => {
                    self.save(slot, settlement.tasks.first().map(|ending| &ending.task.id));
                    return Err(error.into());
                }
            }
            crash::point("after-commit");
        }
        // Gates, the verifier and commit hooks have run. What comes now may take the worktree away.
        self.close_deciding(slot);
        if settlement.land {
            if let Some(input) = self.land(slot)? {
                return Ok(input);
            }
            let subject = slot.subject.take();
            commit =
                commit.or(subject.zip(workspace.vcs.head()?).map(|(subject, id)| (id, subject)));
        }
        let own = self.setup.work.pool.is_some();
        // Also what the agent committed in its own worktree: the user is going to look at all of it.
        let whole = settlement.class == Class::Approval;
        if own && (settlement.start_over || settlement.put_back || whole) {
            saved = self.start_over(slot, settlement)?;
        } else if let Some((task, attempt)) = &settlement.save {
            let made = workspace.vcs.save(&workspace.base(), &candidate, task, *attempt)?;
            saved = made.map(|saved| (task.clone(), saved.name));
            crash::point("wip-saved");
        }
        let mut put_back = 0;
        if settlement.put_back && !own {
            put_back = workspace.vcs.put_back(&workspace.base(), &candidate)?.len();
            tree = self.new_candidate(slot)?.tree;
            crash::point("put-back");
        }
        let head = workspace.vcs.head()?;
        let by_agent = match settlement.class {
            Class::Done => self.agents_commits(&workspace, &candidate, commit.is_some())?,
            _ => vec![],
        };
        let over = settlement.put_back || (settlement.class == Class::Done && saved.is_none());
        if !own && (settlement.commit.is_some() || over) {
            workspace.vcs.close(&tasks_of(settlement))?;
        }
        if settlement.class == Class::Done {
            self.accept_touched(&workspace, &candidate)?;
        }
        if !own && settlement.class == Class::Done {
            workspace.set_accepted(head.as_ref());
        }
        let mut tasks = Vec::new();
        let mut usage = settlement.usage;
        for ending in &settlement.tasks {
            let said = (std::mem::take(&mut usage), settlement.last_words.as_str());
            tasks.push(self.settle_task(slot, ending, head.as_deref(), said)?);
        }
        self.note_unattributed_cost(usage);
        if settlement.class == Class::Done || settlement.put_back {
            workspace.set_settled_tree(&tree);
        }
        for warning in workspace.vcs.warnings() {
            self.notice(warning);
        }
        self.plan.settled(self, slot, settlement);
        let counts = self.counts();
        self.leave(slot, settlement.land || settlement.put_back);
        self.push_settled(slot.id, settlement);
        // What was just written counts only if it is in the file that others open.
        self.store_file.check()?;
        let put_back = u32::try_from(put_back).unwrap_or(u32::MAX);
        let planned = self.planned();
        let settled =
            Settled { tasks, commit, by_agent, head, saved, put_back, tree, counts, planned };
        Ok(Input::Settled { slot: slot.id, settled: Box::new(settled) })
    }

    /// The commits that sessions made themselves and that are accepted now. Where work lands as one commit, the
    /// loop's own words may be on it.
    fn agents_commits(
        &self,
        workspace: &Workspace,
        candidate: &Candidate,
        by_loop: bool,
    ) -> Result<Vec<(String, String)>, Failed> {
        let from = match workspace.vcs.lands_when_accepted() {
            true => candidate.head.clone(),
            false => workspace.base().head,
        };
        let to = candidate.taken.as_ref().or(candidate.head.as_ref());
        let squashed = self.setup.work.pool.is_some() && by_loop;
        match to.filter(|to| !squashed && from.as_ref() != Some(*to)) {
            Some(to) => Ok(workspace.vcs.listed_commits(from.as_deref(), to)?),
            None => Ok(vec![]),
        }
    }

    /// The state of the plan; `None` when that cannot be read.
    fn counts(&self) -> Option<Counts> {
        match self.plan.scope(&self.setup) {
            Some(scope) => self.store().counts(&scope).ok(),
            None => Some(Counts::default()),
        }
    }

    /// Remembers what no attempt took on, for the budget of the day.
    fn note_unattributed_cost(&self, usage: Usage) {
        if let Some(micro_usd) = usage.cost_micro_usd {
            let session = UnattributedCost { at: self.now(), micro_usd, attempts: vec![] };
            self.unattributed().push(session);
        }
    }

    /// Saves what there is, as far as that works; used where something else already failed.
    fn save(&self, slot: &mut SlotState, task: Option<&TaskId>) {
        let Some(task) = task else { return };
        let iteration = slot.iteration;
        let workspace = slot.workspace();
        let Some(candidate) = slot.candidate.clone() else { return };
        match workspace.vcs.save(&workspace.base(), &candidate, task, iteration) {
            Ok(Some(saved)) => self.notice(format!("the work was saved under {}", saved.name)),
            Ok(None) => {}
            Err(error) => self.notice(format!("the work could not be saved: {error}")),
        }
    }

    fn write_evidence(
        &self,
        slot: &mut SlotState,
        settlement: &Settlement,
        candidate: &Candidate,
    ) -> Result<(), Failed> {
        for ending in &settlement.tasks {
            let signal = ending.signal.words();
            if !signal.is_empty() {
                let missing = ending.signal.missing;
                let verdict = if missing { Verdict::Unclaimed } else { Verdict::Pass };
                let row = evidence(&ending.task, candidate, (SIGNAL, verdict), &signal, self.now());
                self.add_evidence(&ending.task.id, vec![row])?;
            }
            if matches!(
                ending.class,
                Class::Done | Class::Approval | Class::Red | Class::Conflict | Class::Unchanged
            ) {
                let unchanged = settlement.unchanged || ending.class == Class::Unchanged;
                let gates = &settlement.gates;
                self.write_evidence_of(slot, &ending.task, gates, candidate, unchanged)?;
            }
        }
        Ok(())
    }

    /// What the gates said of a tree, as evidence about a task.
    pub(in crate::run) fn write_evidence_of(
        &self,
        slot: &mut SlotState,
        task: &TaskBrief,
        gates: &[GateReport],
        candidate: &Candidate,
        unchanged: bool,
    ) -> Result<(), Failed> {
        let row = |judge: &str, verdict, digest: &str| {
            evidence(task, candidate, (judge, verdict), digest, self.now())
        };
        let mut rows: Vec<Evidence> = gates
            .iter()
            .map(|gate| Evidence {
                exit_code: gate.exit_code,
                duration_ms: gate.duration_ms,
                ..row(&gate.name, gate.verdict, &gate.digest)
            })
            .collect();
        if unchanged {
            rows.push(row(CHANGES, Verdict::Unchanged, "No changes detected"));
        } else if gates.is_empty() {
            rows.push(row(CHANGES, Verdict::Ungated, ""));
        }
        if let Some(reported) = self.protected_report(slot, gates) {
            rows.push(row(PROTECTED, Verdict::Pass, &reported));
        }
        if let Some(reported) = self.weakened_report(slot, &candidate.tree) {
            rows.push(row(WEAKENED, Verdict::Pass, &reported));
        }
        self.add_evidence(&task.id, rows)
    }

    /// Adds the rows. Tried again after a failure further down, the same ones are there already.
    fn add_evidence(&self, task: &TaskId, rows: Vec<Evidence>) -> Result<(), Failed> {
        let mut store = self.store();
        let known = store.evidence(task)?;
        for row in rows {
            let there = known.iter().any(|old| {
                old.attempt == row.attempt && old.judge == row.judge && old.tree == row.tree
            });
            if !there {
                store.add_evidence(&row)?;
            }
        }
        Ok(())
    }

    fn settle_task(
        &self,
        slot: &mut SlotState,
        ending: &Ending,
        head: Option<&str>,
        said: (Usage, &str),
    ) -> Result<TaskResult, Failed> {
        let id = &ending.task.id;
        let by = slot.actor(ending.task.generation);
        self.mark_released(id, ending.task.generation);
        let at = self.now();
        let mut store = self.store();
        let mut question = None;
        let limit = self.setup.policy.retries;
        let written = match &ending.action {
            None => Ok(None),
            Some(TaskAction::Done { result }) => {
                let vcs = &slot.workspace().vcs;
                let result = result.as_deref().map(|text| vcs.renamed(text)).or_else(|| {
                    head.map(|commit| serde_json::json!({ "commit": commit }).to_string())
                });
                store.done(id, result.as_deref(), &by, at).map(|()| Some(Status::Done))
            }
            Some(TaskAction::Fail { reason, for_good }) => {
                store.fail(id, &bounded(reason), *for_good, limit, &by, at).map(Some)
            }
            Some(TaskAction::Release) => store.release(id, &by, at).map(|()| Some(Status::Pending)),
            Some(TaskAction::Ask { text }) => {
                let name = self.question_id()?;
                question = Some(name.clone());
                store.ask(name, id, &bounded(text), &by, at).map(|()| Some(Status::Waiting))
            }
            Some(TaskAction::Hold { reason }) => store
                .note(id, &bounded(reason), &by, at)
                .and_then(|()| store.hold(id, &by, at))
                .map(|()| Some(Status::Waiting)),
        };
        let status = match written {
            Ok(status) => status,
            // Written by the previous try, or taken over by another process: `get` shows which.
            Err(StoreError::Refused(
                Refusal::ClaimLost { .. } | Refusal::Transition { .. } | Refusal::NotClaimed { .. },
            )) => None,
            Err(error) => return Err(error.into()),
        };
        let task = store.get(id)?;
        let settled_before = ending.action.is_some()
            && status.is_none()
            && task.claim.is_none()
            && task.generation == ending.task.generation;
        let status = status.or(settled_before.then_some(task.status));
        drop(store);
        crash::point("task-settled");
        self.end_attempt(slot, ending, head, said)?;
        crash::point("attempt-ended");
        Ok(TaskResult { id: id.clone(), status, retry_count: task.retry_count, question })
    }

    fn end_attempt(
        &self,
        slot: &mut SlotState,
        ending: &Ending,
        head: Option<&str>,
        (usage, last_words): (Usage, &str),
    ) -> Result<(), Failed> {
        let end = AttemptEnd {
            at: self.now(),
            outcome: ending.class.as_str().to_owned(),
            detail: bounded(&ending.detail),
            commit: head.filter(|_| ending.class == Class::Done).map(str::to_owned),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_micro_usd: usage.cost_micro_usd,
            changed: self.changed(slot)?,
            last_message: last_words.to_owned(),
            fingerprint: ending.fingerprint.clone(),
        };
        let mut store = self.store();
        store.end_attempt(&ending.task.attempt, &end)?;
        Ok(())
    }

    fn question_id(&self) -> Result<QuestionId, Failed> {
        self.ids().question().map_err(|error| Failed::new(Port::Store, error, true))
    }
}

/// A commit hook that fails is a gate that fails: sessions can fix what it says.
pub(in crate::run) fn hook_refused(slot: &SlotState, error: &GitError) -> Input {
    let gate = GateReport::of_check(COMMIT_HOOK, Verdict::Fail, error.to_string());
    Input::HookRefused { slot: slot.id, gate }
}

fn tasks_of(settlement: &Settlement) -> Vec<TaskId> {
    settlement.tasks.iter().map(|ending| ending.task.id.clone()).collect()
}

/// A row of evidence about a tree.
fn evidence(
    task: &TaskBrief,
    candidate: &Candidate,
    (judge, verdict): (&str, Verdict),
    digest: &str,
    at: Timestamp,
) -> Evidence {
    Evidence {
        task: task.id.clone(),
        attempt: Some(task.attempt.clone()),
        tree: candidate.tree.clone(),
        judge: judge.to_owned(),
        verdict,
        exit_code: None,
        duration_ms: 0,
        digest: digest.to_owned(),
        at,
    }
}

fn bounded(text: &str) -> String {
    let mut end = text.len().min(KEPT_REASON);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
