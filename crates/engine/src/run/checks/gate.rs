//! One gate of the user, on the work of a slot.

use std::path::Path;

use crate::gates::GateSpec;
use crate::gates::command::{GateLocation, GateOutput, Judging, Ran};
use crate::process::{Ended, Mark};
use crate::run::ports::Ports;
use crate::run::slot_state::SlotState;
use crate::sandbox;

impl Ports {
    /// Runs a gate in `place`; what it prints goes to `log`.
    pub(crate) async fn gate(
        &self,
        slot: &SlotState,
        gate: &GateSpec,
        place: &GateLocation<'_>,
        log: &Path,
    ) -> Ran {
        let workspace = slot.workspace();
        let in_place = place.folder == workspace.project.worktree;
        let candidate = slot.candidate.clone().filter(|_| in_place);
        let head = candidate.and_then(|candidate| candidate.taken);
        let sandboxed =
            match self.sandboxed(&workspace, sandbox::ProgramKind::Judge, head.as_deref()) {
                Ok(sandboxed) => sandboxed,
                Err(failed) => {
                    let output = GateOutput::new(None, &self.setup.files.secrets);
                    return Ran::of(gate, &Ended::never_ran(failed.error), &output, false);
                }
            };
        let judging = Judging {
            gate,
            place,
            environment: self.setup.judge_environment(),
            programs: &*self.setup.ports.programs,
            sandbox: &self.setup.sandbox,
            sandboxed,
            watch: &self.setup.agent.watch,
            mark: Mark::new(&self.setup.files.project.root, u64::from(slot.iteration)),
            secrets: &self.setup.files.secrets,
            log: Some(log),
            stop: self.stop(slot.id).subscribe(),
        };
        let (ran, findings) = judging.run().await;
        for text in findings {
            self.notice(text);
        }
        ran
    }
}
