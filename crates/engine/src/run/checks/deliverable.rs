//! Runs that produce something other than work on tasks: a text for users, or proposed tasks. ralph judges each by
//! inspecting it.

use std::path::PathBuf;

use ralph_core::FeatureName;
use ralph_core::plan::Proposals;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Port};
use ralph_core::task::Actor;

use super::Check;
use crate::features::FeatureFiles;
use crate::ports::{Candidate, StoreError};
use crate::project::write_atomically;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::socket::Requests;

/// What the sessions of a run produce.
#[derive(Debug, Clone)]
pub enum Deliverable {
    /// A text that is more than its template.
    Text {
        /// As the agent finds it.
        name: String,
        path: PathBuf,
        /// Its text before it was written.
        template: String,
    },
    /// Tasks for a feature, proposed through the socket of the session.
    Tasks {
        feature: FeatureName,
        /// The file that keeps them until the user accepts them.
        kept: PathBuf,
    },
}

/// The report of a check that passes unless it found a fault.
pub(super) fn judged(name: &str, fault: Option<String>) -> GateReport {
    let verdict = if fault.is_none() { Verdict::Pass } else { Verdict::Fail };
    GateReport {
        exit_code: Some(i32::from(fault.is_some())),
        ..GateReport::of_check(name, verdict, fault.unwrap_or_default())
    }
}

/// Judges the text or the tasks of the run, where it is for one.
pub(super) struct DeliverableCheck;

impl Check for DeliverableCheck {
    fn run(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        _: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        let (name, found) = match &ports.setup.work.deliverable {
            None => return Ok(None),
            Some(Deliverable::Text { name, path, template }) => {
                ("text", FeatureFiles::fault(path, template).map(|fault| format!("{name} {fault}")))
            }
            Some(Deliverable::Tasks { feature, kept }) => {
                let proposals = slot.proposals.clone();
                let proposals = proposals.unwrap_or_else(|| Proposals::new(feature.clone()));
                let fault = ports.fault_of(slot, &proposals)?;
                if fault.is_none() {
                    // Written before the run reports success: the user may accept them another day.
                    write_atomically(kept, proposals.to_lines()).map_err(|error| {
                        Failed::new(Port::Prompt, format!("{}: {error}", kept.display()), false)
                    })?;
                }
                ("tasks", fault)
            }
        };
        Ok(Some(judged(name, found)))
    }
}

impl Ports {
    /// The requests of a new session.
    pub(in crate::run) fn new_requests(&self) -> Requests {
        match &self.setup.work.deliverable {
            Some(Deliverable::Tasks { feature, .. }) => Requests::proposing(feature.clone()),
            Some(Deliverable::Text { .. }) | None => Requests::default(),
        }
    }

    /// Why these tasks cannot be applied as a whole.
    fn fault_of(&self, slot: &SlotState, proposals: &Proposals) -> Result<Option<String>, Failed> {
        if proposals.tasks().is_empty() {
            return Ok(Some("no task was proposed; propose each with: ralph task add".to_owned()));
        }
        let by = Actor::Agent(slot.agent.clone(), None);
        match self.store().dry_run(&proposals.plan(), &[], &by, self.now()) {
            Ok(_) => Ok(None),
            Err(StoreError::Refused(refusal) | StoreError::Plan { refusal, .. }) => {
                Ok(Some(refusal.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}
