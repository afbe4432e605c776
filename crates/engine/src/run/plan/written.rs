//! A plan file that the run itself writes, and what a plan says in commits.

use ralph_core::TaskId;
use ralph_core::amounts::first_of;
use ralph_core::plan::markdown::{ItemState, PlanKind};
use ralph_core::run::{About, Class, Planned, Port, Settlement};

use crate::plan_file::PlanFile;
use crate::ports::Candidate;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;

impl Ports {
    /// The subject of every iteration, where the setup gives one.
    pub(super) fn subject(&self) -> Option<About> {
        let title = self.setup.work.about.clone()?;
        Some(About { title, spec: None, open: None })
    }

    /// The plan file that the run writes.
    pub(in crate::run) fn written_plan(&self) -> Option<&PlanFile> {
        self.setup.work.plan.as_ref().filter(|_| self.setup.policy.mode == "plan")
    }

    /// How many tasks the plan has that the run writes.
    pub(in crate::run) fn planned(&self) -> Option<Planned> {
        let plan = self.written_plan()?;
        let read = plan.read().ok().flatten()?;
        let standings = read.doc.standings().into_iter().zip(read.doc.parents());
        let tasks = standings.filter(|(found, parent)| *found != ItemState::Dropped && !parent);
        Some(Planned { tasks: tasks.count() as u64, file: plan.name().to_owned() })
    }

    /// A planning session writes a plan: what else it changed is saved, taken out of the worktree and named.
    pub(in crate::run) fn only_the_plan(
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
        self.notice(format!(
            "the planning session changed {}: not committed; the work is saved: ralph recover plan",
            first_of(&outside, 5)
        ));
        Ok((self.new_candidate(slot)?, saved.map(|saved| (name, saved.name))))
    }

    /// What goes into a commit about these tasks: why they are there, as a plan of branches says it, and
    /// what the loop says of them.
    pub(in crate::run) fn with_why(
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

    /// Whether these paths are nothing but the plan file.
    pub(in crate::run) fn is_plan_only(&self, paths: &[String]) -> bool {
        let Some(plan) = &self.setup.work.plan else { return false };
        !paths.is_empty() && paths.iter().all(|path| path == plan.name())
    }
}
