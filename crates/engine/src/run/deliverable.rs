//! Runs that produce something other than work on tasks: a text for users, or proposed tasks. ralph judges each by
//! inspecting it.

use std::path::PathBuf;

use ralph_core::FeatureName;
use ralph_core::plan::Proposals;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, Port};
use ralph_core::task::Actor;

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use crate::clock::now;
use crate::features::FeatureFiles;
use crate::ports::StoreError;
use crate::project::write_atomically;
use crate::socket::Requests;

/// What the sessions of a run produce.
#[derive(Debug, Clone)]
pub enum Deliverable {
    /// A text that is more than its template.
    Text {
        /// As the agent finds it.
        name: String,
        /// Where it is.
        path: PathBuf,
        /// Its text before it was written.
        template: String,
    },
    /// Tasks for a feature, proposed through the socket of the session.
    Tasks {
        /// The feature.
        feature: FeatureName,
        /// The file that keeps them until the user accepts them.
        kept: PathBuf,
    },
}

impl Ports {
    /// The requests of a new session.
    pub(super) fn new_requests(&self) -> Requests {
        match &self.setup.work.deliverable {
            Some(Deliverable::Tasks { feature, .. }) => Requests::proposing(feature.clone()),
            Some(Deliverable::Text { .. }) | None => Requests::default(),
        }
    }

    /// What judges the run's text or tasks, where it is for one.
    pub(super) fn judge_deliverable(&self, slot: &SlotState) -> Result<Option<GateReport>, Failed> {
        let (name, found) = match &self.setup.work.deliverable {
            None => return Ok(None),
            Some(Deliverable::Text { name, path, template }) => {
                ("text", FeatureFiles::fault(path, template).map(|fault| format!("{name} {fault}")))
            }
            Some(Deliverable::Tasks { feature, kept }) => {
                let proposals = slot.proposals.clone();
                let proposals = proposals.unwrap_or_else(|| Proposals::new(feature.clone()));
                let fault = self.fault_of(slot, &proposals)?;
                if fault.is_none() {
                    // Written before the run reports success: the user may accept them another day.
                    write_atomically(kept, proposals.to_lines()).map_err(|error| {
                        Failed::new(Port::Prompt, format!("{}: {error}", kept.display()), false)
                    })?;
                }
                ("tasks", fault)
            }
        };
        Ok(Some(GateReport {
            name: name.to_owned(),
            verdict: if found.is_none() { Verdict::Pass } else { Verdict::Fail },
            exit_code: Some(i32::from(found.is_some())),
            duration_ms: 0,
            digest: found.unwrap_or_default(),
            log: None,
        }))
    }

    /// Why these tasks cannot be applied as a whole.
    fn fault_of(&self, slot: &SlotState, proposals: &Proposals) -> Result<Option<String>, Failed> {
        if proposals.tasks().is_empty() {
            return Ok(Some("no task was proposed; propose each with: ralph task add".to_owned()));
        }
        let by = Actor::Agent(slot.agent.clone(), None);
        match self.store().dry_run(&proposals.plan(), &[], &by, now()) {
            Ok(_) => Ok(None),
            Err(StoreError::Refused(refusal) | StoreError::Plan { refusal, .. }) => {
                Ok(Some(refusal.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}
