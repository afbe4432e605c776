//! Tasks in a markdown file: the whole file, or the section of one branch. The store has a task for each checkbox, and
//! both are reconciled before each session.

use std::sync::Arc;

use ralph_core::agent::EndClass;
use ralph_core::plan::markdown::{AttemptNote, LogRow};
use ralph_core::run::{
    About, Class, Port, Request, RequestedOutcome, SessionReport, Settlement, Survey, TaskBrief,
};
use ralph_core::task::Actor;
use ralph_core::time::{Zone, duration};
use ralph_core::{AgentId, TaskId};

use super::{PlanEdit, PlanSource, claimed};
use crate::plan_file::{
    DONE_MARKER, NewBox, PlanFile, PlanFileError, ProgressEntry, ReconcileError, Requested,
    SyncedPlan, Verdicts,
};
use crate::ports::{Candidate, Scope};
use crate::run::activity::session::Job;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::setup::Setup;
use crate::run::slot_state::SlotState;

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

pub(super) struct FilePlan {
    file: PlanFile,
}

impl FilePlan {
    pub(super) fn new(file: PlanFile) -> Self {
        Self { file }
    }

    /// The text of the file, where it can be read.
    fn text(&self) -> Option<String> {
        Some(self.file.read().ok()??.text)
    }

    /// Synchronizes file and store, and keeps the snapshot.
    fn sync(&self, ports: &Ports, slot: &mut SlotState) -> Result<Option<SyncedPlan>, PlanProblem> {
        let synced = {
            let (mut store, mut ids) = (ports.store(), ports.ids());
            // A huge plan takes long to take in, and a run that is asked to stop has no use for it.
            store.heed(Some(Arc::clone(&ports.stops_looking)));
            let synced = self.file.reconcile(store.as_mut(), &mut ids, &by_file(), ports.now());
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
                ports.notice(format!(
                    "ralph reverted the mark of \"{title}\": the session that set it was \
                     interrupted"
                ));
            }
            for warning in &synced.plan.doc.warnings {
                let is_news = slot.warned.insert(warning.text.clone());
                if is_news {
                    ports.notice(format!("{}: {warning}", self.file.name()));
                }
            }
        }
        slot.plan.clone_from(&synced);
        Ok(synced)
    }
}

impl PlanSource for FilePlan {
    fn survey(&self, ports: &Ports, slot: &mut SlotState) -> Result<Survey, Failed> {
        let (synced, why) = match self.sync(ports, slot) {
            Ok(synced) => (synced, None),
            Err(PlanProblem::Refused(why)) => (None, Some(why)),
            Err(PlanProblem::Failed(failed)) => return Err(failed),
        };
        let scope = Scope::Plan(self.file.key());
        let mut store = ports.store();
        let mut counts = store.counts(&scope)?;
        let peek = store.peek(&scope, 1, ports.now())?;
        let ready: Vec<TaskId> =
            synced.iter().flat_map(SyncedPlan::open).map(|(_, task)| task.id.clone()).collect();
        let approved = ports.approved_tasks(store.as_mut(), &scope)?;
        let approved = approved.into_iter().map(|task| task.id).find(|id| ready.contains(id));
        drop(store);
        let leases = ports.foreign_leases(&peek.claimed);
        let open = synced.as_ref().map_or(0, |synced| synced.open().count());
        let waiting =
            synced.as_ref().map(|synced| synced.waiting(self.file.name())).unwrap_or_default();
        let is_none_left = open == 0 && !waiting.is_empty();
        // A parent follows its parts in the store; one that is marked waits all the same.
        counts.waiting = counts.waiting.max(waiting.len() as u64);
        Ok(Survey {
            counts,
            needs_you: waiting,
            approved,
            claimable: match ports.setup.policy.by_iteration() {
                // Tasks wait for the user, and nothing else is left to do.
                true if is_none_left => 0,
                true => 1,
                false => u32::try_from(open).unwrap_or(u32::MAX),
            },
            foreign: leases.len() as u64,
            next_expiry: leases.into_iter().min(),
            absent: synced.as_ref().is_none_or(SyncedPlan::is_no_plan),
            absent_why: why.or_else(|| {
                synced.as_ref().and_then(|synced| synced.why_no_plan(self.file.name()))
            }),
            marker: synced
                .is_some_and(|synced| synced.plan.doc.is_done())
                .then(|| DONE_MARKER.to_owned()),
            ..Survey::default()
        })
    }

    fn claim(&self, ports: &Ports, slot: &mut SlotState, only: Option<&TaskId>) -> Answer {
        let synced = slot.plan.clone();
        let open: Vec<TaskId> =
            synced.iter().flat_map(SyncedPlan::open).map(|(_, task)| task.id.clone()).collect();
        let wanted = |id: &TaskId| only.is_none_or(|only| only == id);
        for id in open.into_iter().filter(wanted) {
            if let Some(task) = ports.claim_task(slot, &Scope::All, Some(&id))? {
                return Ok(claimed(slot, Some(task)));
            }
        }
        Ok(claimed(slot, None))
    }

    /// From now on ticks are requests.
    fn before_session(&self, _: &Ports, slot: &mut SlotState) -> Result<(), Failed> {
        let Some(synced) = &slot.plan else { return Ok(()) };
        let failed =
            |error| Failed::new(Port::Prompt, format!("{}: {error}", self.file.name()), false);
        self.file.show_copy(&synced.plan.text)?;
        self.file.remember(&synced.plan, true).map_err(failed)
    }

    fn after_session(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        job: &Job,
        report: &mut SessionReport,
    ) -> Result<Vec<TaskBrief>, Failed> {
        let SessionReport { end, signals, requests, .. } = report;
        let mut held: Vec<TaskBrief> = job.task.iter().cloned().collect();
        let Some(synced) = slot.plan.clone() else { return Ok(held) };
        let last_message = (end.class == EndClass::Completed).then_some(end.text.as_str());
        let mut asked = match self.file.requests(&synced.plan, last_message) {
            Ok(asked) => asked,
            // What cannot be read asks for nothing; the next look says why.
            Err(error @ PlanFileError::Broken { .. }) => {
                ports.notice(error.to_string());
                Requested::default()
            }
            Err(error) => return Err(error.into()),
        };
        for sentence in &asked.ignored {
            ports.notice(sentence.clone());
        }
        let own = job.task.as_ref().map(|task| task.id.clone());
        let by_command: Vec<TaskId> = requests
            .iter()
            .filter(|request| matches!(request.outcome, RequestedOutcome::Done { .. }))
            .map(|request| request.task.clone())
            .collect();
        let by_signal = synced
            .plan
            .ids
            .iter()
            .filter(|id| signals.done.iter().any(|named| named == id.as_str()));
        let others: Vec<TaskId> = by_command
            .into_iter()
            .filter(|id| synced.plan.ids.contains(id))
            .chain(by_signal.cloned())
            .collect();
        asked.done.extend(others);
        let mut seen: Vec<TaskId> = Vec::new();
        for id in asked.done.drain(..).collect::<Vec<_>>() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id.clone());
            if own.as_ref() != Some(&id) {
                let Some(task) = ports.claim_task(slot, &Scope::All, Some(&id))? else { continue };
                ports.store().begin_attempt(&ports.attempt(slot, job, &task, ports.now()))?;
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
        if asked.marker && !signals.promises.iter().any(|text| text == DONE_MARKER) {
            signals.promises.push(DONE_MARKER.to_owned());
        }
        slot.asked = Some(asked);
        Ok(held)
    }

    fn record(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        settlement: &Settlement,
    ) -> Result<Option<PlanEdit>, Failed> {
        let Some(synced) = &slot.plan else { return Ok(None) };
        let before = self.text();
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
                    duration: duration(ports.now().millis_since(since)),
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
                keep: ports.setup.work.recent_attempts,
                completed,
            }
        });
        let verdicts = Verdicts {
            done: done.iter().map(|ending| ending.task.id.clone()).collect(),
            marker: settlement.marker.as_deref() == Some(DONE_MARKER),
            entry,
        };
        for remark in self.file.settle(&synced.plan, &verdicts)? {
            ports.notice(remark);
        }
        slot.plan_written = true;
        Ok(before.zip(self.text()).map(|(before, after)| PlanEdit { before, after }))
    }

    fn take_back(&self, slot: &mut SlotState, edit: &PlanEdit) -> Result<(), Failed> {
        self.file.take_back(&edit.after, &edit.before)?;
        slot.plan_written = false;
        Ok(())
    }

    /// What is committed is what was judged, and the ticks for it, if nothing else has changed.
    fn with_outcome(
        &self,
        ports: &Ports,
        slot: &SlotState,
        judged: Candidate,
    ) -> Result<Candidate, Failed> {
        if self.file.lane().is_some() {
            return Ok(judged);
        }
        let now = ports.new_candidate(slot)?;
        if now.tree == judged.tree || now.head != judged.head {
            return Ok(judged);
        }
        let changed = slot.workspace().vcs.changes(&judged.tree, &now.tree)?;
        Ok(if changed.iter().all(|path| path == self.file.name()) { now } else { judged })
    }

    /// The current text of the file is no longer a request, and if a tick of a done task is missing from now on, the
    /// user removed it. Checkboxes that were added to the section of a branch meanwhile become tasks before ralph checks
    /// whether all are done; a failure there is reported at the next look.
    fn settled(&self, ports: &Ports, slot: &SlotState, settlement: &Settlement) {
        let Some(synced) = &slot.plan else { return };
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
            let mut store = ports.store();
            let when = (iteration, &by, ports.now());
            self.file.hold_marked(&synced.plan, &marked, store.as_mut(), when).and_then(
                |mut reported| {
                    let (left, more) =
                        self.file.hold_what_left(&synced.plan, &done, store.as_mut(), when)?;
                    reported.extend(more);
                    Ok((left, reported))
                },
            )
        };
        match held {
            Ok((left, reported)) => {
                seen.left.extend(left);
                reported.into_iter().for_each(|sentence| ports.notice(sentence));
            }
            Err(error) => ports.notice(format!("{}: {error}", self.file.name())),
        }
        if let Err(error) = self.file.remember(&seen, false) {
            ports.notice(format!("{}: {error}", self.file.name()));
        }
        if self.file.lane().is_some() {
            let (mut store, mut ids) = (ports.store(), ports.ids());
            let _ = self.file.reconcile(store.as_mut(), &mut ids, &by_file(), ports.now());
        }
    }

    /// On the branch of a section the plan is as it was.
    fn keep_out(&self, ports: &Ports) -> Result<(), Failed> {
        let Some(lane) = self.file.lane() else { return Ok(()) };
        if let Some(saved) =
            ports.setup.ports.vcs.keep_out(&lane.path, &lane.branch, &lane.began)?
        {
            ports.notice(format!(
                "ralph removed {} from the session's commits; the original commits are in {}",
                lane.path, saved.name
            ));
        }
        Ok(())
    }

    fn add(&self, _: &Ports, tasks: &[NewBox]) -> Result<(), String> {
        self.file.add(tasks).map_err(|error| error.to_string())
    }

    fn scope(&self, _: &Setup) -> Option<Scope> {
        Some(Scope::Plan(self.file.key()))
    }
}

/// The subject of an iteration in which the agent picks the task, as far as the plan says.
pub(super) fn subject(slot: &SlotState) -> Option<About> {
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
