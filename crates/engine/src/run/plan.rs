//! A run whose tasks are in a plan file: what the loop reads from it, what a session requests by it, and what ralph
//! writes into it.

use std::sync::Arc;

use ralph_core::agent::{EndClass, SessionEnd};
use ralph_core::plan::markdown::{AttemptNote, ItemState, LogRow, PlanKind};
use ralph_core::records::Verdict;
use ralph_core::run::{
    About, Class, GateReport, Input, Planned, Port, Request, RequestedOutcome, Settlement, Survey,
    TaskBrief,
};
use ralph_core::task::{Actor, Refusal};
use ralph_core::time::{Zone, duration};
use ralph_core::{AgentId, TaskId};

use super::ports::{Answer, Failed, Ports};
use super::session::Job;
use super::slot_state::SlotState;
use super::survey::brief;
use crate::clock::now;
use crate::plan_file::{
    DONE_MARKER, PlanFile, PlanFileError, ProgressEntry, ReconcileError, Requested, SyncedPlan,
    Verdicts,
};
use crate::ports::{Candidate, ClaimRequest, Scope, StoreError};

impl From<PlanFileError> for Failed {
    fn from(error: PlanFileError) -> Self {
        let text = match &error {
            PlanFileError::Broken { excerpt, .. } => format!("{error}\n  {excerpt}"),
            _ => error.to_string(),
        };
        // An editor may be in the middle of writing it.
        Self::new(Port::Prompt, text, false)
    }
}

impl From<ReconcileError> for Failed {
    fn from(error: ReconcileError) -> Self {
        match error {
            ReconcileError::File(error) => error.into(),
            ReconcileError::Store(error) => error.into(),
            ReconcileError::Id(error) => Self::new(Port::Store, error, true),
        }
    }
}

/// The name under which the plan file acts on the store.
fn by_file() -> Actor {
    #[expect(clippy::expect_used, reason = "a constant that is an id")]
    Actor::User(AgentId::new("plan").expect("plan is an id"))
}

/// Why the plan could not be read.
enum PlanProblem {
    /// The file is there and is not used, for this reason.
    Refused(String),
    Failed(Failed),
}

impl Ports {
    /// Synchronizes file and store, and keeps the snapshot.
    fn sync_plan(
        &self,
        slot: &mut SlotState,
        plan: &PlanFile,
    ) -> Result<Option<SyncedPlan>, PlanProblem> {
        let synced = {
            let (mut store, mut ids) = (self.store(), self.ids());
            // A huge plan takes long to take in, and a run that is asked to stop has no use for it.
            store.heed(Some(Arc::clone(&self.stops_looking)));
            let synced = plan.reconcile(store.as_mut(), &mut ids, &by_file(), now());
            store.heed(None);
            synced
        };
        let synced = synced.map_err(|error| match error {
            ReconcileError::File(error @ PlanFileError::Linked { .. }) => {
                PlanProblem::Refused(error.to_string())
            }
            error => PlanProblem::Failed(error.into()),
        })?;
        if let Some(synced) = &synced {
            for title in &synced.taken_back {
                self.notice(format!(
                    "ralph reverted the mark of \"{title}\": the session that set it was \
                     interrupted"
                ));
            }
            for warning in &synced.plan.doc.warnings {
                let is_news = slot.warned.insert(warning.text.clone());
                if is_news {
                    self.notice(format!("{}: {warning}", plan.name()));
                }
            }
        }
        slot.plan.clone_from(&synced);
        Ok(synced)
    }

    /// The state of the plan file.
    pub(super) fn survey_plan(
        &self,
        slot: &mut SlotState,
        plan: &PlanFile,
        taken_back: Vec<TaskId>,
    ) -> Result<Survey, Failed> {
        let (synced, why) = match self.sync_plan(slot, plan) {
            Ok(synced) => (synced, None),
            Err(PlanProblem::Refused(why)) => (None, Some(why)),
            Err(PlanProblem::Failed(failed)) => return Err(failed),
        };
        let scope = Scope::Plan(plan.key());
        let mut store = self.store();
        let mut counts = store.counts(&scope)?;
        let peek = store.peek(&scope, 1, now())?;
        drop(store);
        let foreign = peek.claimed.iter().filter(|task| {
            let holder = task.claim.as_ref().map(|claim| &claim.agent);
            !holder.is_some_and(|holder| self.setup.agent_ids.contains(holder))
        });
        let claims = foreign.filter_map(|task| task.claim.as_ref());
        let leases: Vec<_> = claims.map(|claim| claim.lease_expires_at).collect();
        let open = synced.as_ref().map_or(0, |synced| synced.open().count());
        let waiting = synced.as_ref().map(|synced| synced.waiting(plan.name())).unwrap_or_default();
        let is_none_left = open == 0 && !waiting.is_empty();
        // A parent follows its parts in the store; one that is marked waits all the same.
        counts.waiting = counts.waiting.max(waiting.len() as u64);
        Ok(Survey {
            counts,
            needs_you: waiting,
            claimable: match self.setup.policy.by_iteration() {
                // Tasks wait for the user, and nothing else is left to do.
                true if is_none_left => 0,
                true => 1,
                false => u32::try_from(open).unwrap_or(u32::MAX),
            },
            foreign: leases.len() as u64,
            next_expiry: leases.into_iter().min(),
            taken_back,
            absent: synced.as_ref().is_none_or(SyncedPlan::is_no_plan),
            absent_why: why
                .or_else(|| synced.as_ref().and_then(|synced| synced.why_no_plan(plan.name()))),
            marker: synced
                .is_some_and(|synced| synced.plan.doc.is_done())
                .then(|| DONE_MARKER.to_owned()),
            ..Survey::default()
        })
    }

    /// Claims the first open task of the file.
    pub(super) fn claim_in_plan(&self, slot: &mut SlotState, only: Option<&TaskId>) -> Answer {
        let synced = slot.plan.clone();
        let open: Vec<TaskId> =
            synced.iter().flat_map(SyncedPlan::open).map(|(_, task)| task.id.clone()).collect();
        let wanted = |id: &TaskId| only.is_none_or(|only| only == id);
        for id in open.into_iter().filter(wanted) {
            let Some(task) = self.claim_task(slot, &id)? else { continue };
            if !self.exceeds_task_budget(slot, &task)? {
                return Ok(Input::Claimed { slot: slot.id, task: Box::new(task) });
            }
        }
        Ok(Input::NothingToClaim { slot: slot.id })
    }

    /// Claims this task; `None` when another process has it or it cannot be had.
    pub(super) fn claim_task(
        &self,
        slot: &mut SlotState,
        id: &TaskId,
    ) -> Result<Option<TaskBrief>, Failed> {
        let request = ClaimRequest {
            agent: slot.agent.clone(),
            task: Some(id.clone()),
            scope: Scope::All,
            lease: self.setup.ports.lease,
        };
        let attempt = self.new_attempt()?;
        let mut store = self.store();
        match store.claim(&request, now()) {
            Ok(claimed) => Ok(Some(brief(store.as_mut(), &claimed.task, attempt)?)),
            Err(StoreError::Refused(
                Refusal::NothingReady { .. }
                | Refusal::NotClaimable { .. }
                | Refusal::Unknown { .. },
            )) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The subject of an iteration in which the agent picks the task, as far as the plan says.
    pub(super) fn about(&self, slot: &mut SlotState) -> Option<About> {
        if let Some(about) = &self.setup.work.about {
            return Some(About { title: about.clone(), spec: None, open: None });
        }
        let synced = slot.plan.as_ref()?;
        let doc = &synced.plan.doc;
        match synced.next().or(doc.items.len().checked_sub(1)) {
            Some(index) => {
                let item = &doc.items[index];
                let open = Some(synced.open().count() as u64);
                Some(About { title: item.title.clone(), spec: item.spec.clone(), open })
            }
            None => doc.name.clone().map(|title| About { title, spec: None, open: None }),
        }
    }

    /// A session is about to begin: from now on ticks are requests.
    pub(super) fn plan_before_session(&self, slot: &mut SlotState) -> Result<(), Failed> {
        let synced = slot.plan.clone();
        let (Some(plan), Some(synced)) = (&self.setup.work.plan, synced) else { return Ok(()) };
        let failed = |error| Failed::new(Port::Prompt, format!("{}: {error}", plan.name()), false);
        plan.show_copy(&synced.plan.text)?;
        plan.remember(&synced.plan, true).map_err(failed)
    }

    /// What the session asked for by the plan file or by naming its tasks, and the tasks of it that it
    /// holds now besides its own.
    pub(super) fn plan_after_session(
        &self,
        slot: &mut SlotState,
        job: &Job,
        end: &SessionEnd,
        named: &[String],
        requests: &mut Vec<Request>,
    ) -> Result<(Vec<TaskBrief>, bool), Failed> {
        let synced = slot.plan.clone();
        let (Some(plan), Some(synced)) = (&self.setup.work.plan, synced) else {
            return Ok((vec![], false));
        };
        let last_message = (end.class == EndClass::Completed).then_some(end.text.as_str());
        let mut asked = match plan.requests(&synced.plan, last_message) {
            Ok(asked) => asked,
            // What cannot be read asks for nothing; the next look says why.
            Err(error @ PlanFileError::Broken { .. }) => {
                self.notice(error.to_string());
                Requested::default()
            }
            Err(error) => return Err(error.into()),
        };
        for sentence in &asked.ignored {
            self.notice(sentence.clone());
        }
        let own = job.task.as_ref().map(|task| task.id.clone());
        let by_command: Vec<TaskId> = requests
            .iter()
            .filter(|request| matches!(request.outcome, RequestedOutcome::Done { .. }))
            .map(|request| request.task.clone())
            .collect();
        let by_signal = synced.plan.ids.iter().filter(|id| named.iter().any(|n| n == id.as_str()));
        let others: Vec<TaskId> = by_command
            .into_iter()
            .filter(|id| synced.plan.ids.contains(id))
            .chain(by_signal.cloned())
            .collect();
        asked.done.extend(others);
        let mut held = Vec::new();
        let mut seen: Vec<TaskId> = Vec::new();
        for id in asked.done.drain(..).collect::<Vec<_>>() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id.clone());
            if own.as_ref() != Some(&id) {
                let Some(task) = self.claim_task(slot, &id)? else { continue };
                self.store().begin_attempt(&self.attempt(slot, job, &task, now()))?;
                held.push(task);
            }
            let asks = |request: &Request| {
                request.task == id && matches!(request.outcome, RequestedOutcome::Done { .. })
            };
            if !requests.iter().any(asks) {
                requests
                    .push(Request { task: id, outcome: RequestedOutcome::Done { result: None } });
            }
        }
        let marker = asked.marker;
        slot.asked = Some(asked);
        Ok((held, marker))
    }

    /// Writes the outcome into the plan file. Doing it twice changes nothing.
    pub(super) fn settle_plan(
        &self,
        slot: &mut SlotState,
        settlement: &Settlement,
    ) -> Result<(), Failed> {
        let (Some(plan), Some(synced)) = (&self.setup.work.plan, &slot.plan) else { return Ok(()) };
        let (iteration, since) = (slot.iteration, slot.since);
        let done: Vec<&ralph_core::run::Ending> =
            settlement.tasks.iter().filter(|ending| ending.class == Class::Done).collect();
        let entry = (settlement.class.row().counts && !slot.plan_written).then(|| {
            let completed: Vec<String> = done.iter().map(|e| e.task.title.clone()).collect();
            let asked = slot.asked.as_ref().and_then(|asked| asked.attempt.clone());
            let asked = asked.unwrap_or_default();
            let first = settlement.tasks.first();
            let result = match first {
                Some(ending) if !ending.detail.is_empty() => {
                    let line = ending.detail.lines().next().unwrap_or_default();
                    format!("{}: {line}", ending.class)
                }
                Some(ending) => ending.class.to_string(),
                None => settlement.class.to_string(),
            };
            let tried = match asked.tried.trim() {
                "" => first.map(|ending| ending.task.title.clone()).unwrap_or_default(),
                tried => tried.to_owned(),
            };
            ProgressEntry {
                row: LogRow {
                    iteration: u64::from(iteration),
                    started: since.civil(&Zone::UTC).get(..16).unwrap_or_default().to_owned(),
                    duration: duration(now().millis_since(since)),
                    tasks_completed: completed.len(),
                    notes: match completed.len() {
                        0 => "No tasks completed".to_owned(),
                        many => format!("{many} task(s) completed"),
                    },
                },
                attempt: AttemptNote {
                    iteration: u64::from(iteration),
                    tried,
                    result,
                    next: asked.next,
                },
                keep: self.setup.work.recent_attempts,
                completed,
            }
        });
        let verdicts = Verdicts {
            done: done.iter().map(|ending| ending.task.id.clone()).collect(),
            marker: settlement.marker.as_deref() == Some(DONE_MARKER),
            entry,
        };
        for remark in plan.settle(&synced.plan, &verdicts)? {
            self.notice(remark);
        }
        slot.plan_written = true;
        Ok(())
    }

    /// The candidate with what was just written into the plan file, if nothing else has changed: what is
    /// committed is what was judged, and the ticks for it.
    pub(super) fn with_plan(
        &self,
        slot: &mut SlotState,
        judged: Candidate,
    ) -> Result<Candidate, Failed> {
        let plan = self.setup.work.plan.as_ref().filter(|plan| plan.lane().is_none());
        let Some(plan) = plan else { return Ok(judged) };
        let now = self.new_candidate(slot)?;
        if now.tree == judged.tree || now.head != judged.head {
            return Ok(judged);
        }
        let changed = slot.workspace().vcs.changes(&judged.tree, &now.tree)?;
        Ok(if changed.iter().all(|path| path == plan.name()) { now } else { judged })
    }

    /// The iteration is finished: the current text of the file is no longer a request, and if a tick of a done
    /// task is missing from now on, the user removed it.
    pub(super) fn plan_settled(&self, slot: &mut SlotState, settlement: &Settlement) {
        let synced = slot.plan.clone();
        let (Some(plan), Some(synced)) = (&self.setup.work.plan, synced) else { return };
        let done: Vec<&TaskId> = settlement
            .tasks
            .iter()
            .filter(|ending| ending.class == Class::Done)
            .map(|ending| &ending.task.id)
            .collect();
        let mut seen = synced.plan.with_done(&done);
        let (iteration, asked) = (slot.iteration, slot.asked.clone().unwrap_or_default());
        let marked: Vec<TaskId> =
            asked.marked.into_iter().filter(|id| !done.contains(&id)).collect();
        let by = by_file();
        let held = {
            let mut store = self.store();
            let when = (iteration, &by, now());
            plan.hold_marked(&synced.plan, &marked, store.as_mut(), when).and_then(
                |mut reported| {
                    let (left, more) =
                        plan.hold_what_left(&synced.plan, &done, store.as_mut(), when)?;
                    reported.extend(more);
                    Ok((left, reported))
                },
            )
        };
        match held {
            Ok((left, reported)) => {
                seen.left.extend(left);
                reported.into_iter().for_each(|sentence| self.notice(sentence));
            }
            Err(error) => self.notice(format!("{}: {error}", plan.name())),
        }
        if let Err(error) = plan.remember(&seen, false) {
            self.notice(format!("{}: {error}", plan.name()));
        }
    }

    /// Checkboxes that were added to the section of a branch meanwhile become tasks before ralph checks whether
    /// all are done. A failure here is reported at the next look.
    pub(super) fn take_in_new_boxes(&self) {
        let plan = self.setup.work.plan.as_ref().filter(|plan| plan.lane().is_some());
        if let Some(plan) = plan {
            let (mut store, mut ids) = (self.store(), self.ids());
            let _ = plan.reconcile(store.as_mut(), &mut ids, &by_file(), now());
        }
    }

    /// The plan file that the run writes.
    fn written_plan(&self) -> Option<&PlanFile> {
        self.setup.work.plan.as_ref().filter(|_| self.setup.policy.mode == "plan")
    }

    /// How many tasks the plan has that the run writes.
    pub(super) fn planned(&self) -> Option<Planned> {
        let plan = self.written_plan()?;
        let read = plan.read().ok().flatten()?;
        let standings = read.doc.standings().into_iter().zip(read.doc.parents());
        let tasks = standings.filter(|(found, parent)| *found != ItemState::Dropped && !parent);
        Some(Planned { tasks: tasks.count() as u64, file: plan.name().to_owned() })
    }

    /// A planning session writes a plan: what else it changed is saved, taken out of the worktree and named.
    pub(super) fn only_the_plan(
        &self,
        slot: &mut SlotState,
        candidate: Candidate,
    ) -> Result<(Candidate, Option<(TaskId, String)>), Failed> {
        let workspace = slot.workspace();
        let Some(plan) = self.written_plan() else { return Ok((candidate, None)) };
        let changed = workspace.vcs.changes(&workspace.settled_tree(), &candidate.tree)?;
        let outside: Vec<&String> = changed.iter().filter(|path| *path != plan.name()).collect();
        if outside.is_empty() {
            return Ok((candidate, None));
        }
        let Some(read) = plan.read()? else { return Ok((candidate, None)) };
        let name = TaskId::new("plan").map_err(|error| Failed::new(Port::Store, error, true))?;
        let iteration = slot.iteration;
        let saved = workspace.vcs.save(&workspace.base(), &candidate, &name, iteration)?;
        workspace.vcs.put_back(&workspace.base(), &candidate)?;
        plan.write_anew(&read.text)?;
        let names: Vec<&str> = outside.iter().take(5).map(|path| path.as_str()).collect();
        let more = match outside.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.notice(format!(
            "the planning session changed {}{more}: not committed; the work is saved: ralph recover plan",
            names.join(", ")
        ));
        Ok((self.new_candidate(slot)?, saved.map(|saved| (name, saved.name))))
    }

    /// What judges a plan that was written: it can be read, and it is of the kind that it was.
    pub(super) fn judge_written_plan(&self) -> Option<GateReport> {
        let plan = self.written_plan()?;
        let found = plan_fault(plan);
        Some(GateReport {
            name: "plan".to_owned(),
            verdict: if found.is_none() { Verdict::Pass } else { Verdict::Fail },
            exit_code: Some(i32::from(found.is_some())),
            duration_ms: 0,
            digest: found.unwrap_or_default(),
            log: None,
        })
    }

    /// What goes into a commit about these tasks: why they are there, as a plan of branches says it, and
    /// what the loop says of them.
    pub(super) fn with_why(
        &self,
        slot: &mut SlotState,
        settlement: &Settlement,
        body: &str,
    ) -> String {
        let synced = slot.plan.as_ref().filter(|synced| synced.plan.doc.kind == PlanKind::Branches);
        let Some(synced) = synced else { return body.to_owned() };
        let done = settlement.tasks.iter().filter(|ending| ending.class == Class::Done);
        let why = done.filter_map(|ending| {
            let at = synced.plan.ids.iter().position(|id| *id == ending.task.id)?;
            // What is quoted are words of others.
            let own = synced.plan.doc.items.get(at)?.body.lines();
            let own: Vec<&str> = own.filter(|line| !line.starts_with('>')).collect();
            let why = own.join("\n").trim().to_owned();
            (!why.is_empty()).then_some(why)
        });
        let parts: Vec<String> = why.chain([body.to_owned()]).collect();
        parts.join("\n\n")
    }

    /// Takes the plan out of what sessions committed or staged on a branch: there it is as it was.
    pub(super) fn keep_plan_out(&self) -> Result<(), Failed> {
        let Some(lane) = self.setup.work.plan.as_ref().and_then(PlanFile::lane) else {
            return Ok(());
        };
        if let Some(saved) = self.setup.ports.vcs.keep_out(&lane.path, &lane.branch, &lane.began)? {
            self.notice(format!(
                "ralph removed {} from the session's commits; the original commits are in {}",
                lane.path, saved.name
            ));
        }
        Ok(())
    }

    /// Whether these paths are nothing but the plan file.
    pub(super) fn is_plan_only(&self, paths: &[String]) -> bool {
        let Some(plan) = &self.setup.work.plan else { return false };
        !paths.is_empty() && paths.iter().all(|path| path == plan.name())
    }
}

/// Why a plan cannot be kept as it is.
fn plan_fault(plan: &PlanFile) -> Option<String> {
    let read = match plan.read() {
        Ok(Some(read)) => read,
        Ok(None) => return Some(format!("{} does not exist", plan.name())),
        Err(PlanFileError::Broken { path, error, excerpt }) => {
            return Some(format!("{}: {error}\n  {excerpt}", path.display()));
        }
        Err(error) => return Some(error.to_string()),
    };
    let kind = PlanKind::of(plan.name(), &read.text);
    match kind == plan.kind() {
        _ if read.text.trim().is_empty() => Some(format!("{} is empty", plan.name())),
        true => None,
        false => Some(format!(
            "{} changed from a {} plan to a {} plan; keep its format",
            plan.name(),
            plan.kind().as_str(),
            kind.as_str()
        )),
    }
}
