//! Gates: commands of the user that judge work, the same way for a run and for `ralph doctor`.
//!
//! | file | owns |
//! |---|---|
//! | `command` | one gate: its process, its output, its report |
//! | `guarded` | protected files while gates run |
//! | `inputs` | what decides beside the tree how files look to a gate |
//! | `trial` | a gate outside a run |

pub(crate) mod command;
pub(crate) mod guarded;
pub(crate) mod inputs;
mod trial;

use std::time::Duration;

use ralph_core::glob::Patterns;

pub use trial::{GateTrial, GateTried};

/// The setup command of a checkout, as it is named where it fails.
const SETUP: &str = "setup";

/// A gate: a command that judges the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSpec {
    pub name: String,
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// How the gates judge. All of it is read before the run: what a session writes does not count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateRules {
    /// They run in a fresh checkout and not in the worktree.
    pub clean: bool,
    /// The command that prepares a checkout; may be empty.
    pub setup: String,
    /// Patterns of ignored files that a checkout gets too, as in `.worktreeinclude`.
    pub include: String,
    /// They run once before the first session, to tell old failures from new ones.
    pub baseline: bool,
    /// The files that sessions should leave alone.
    pub protected: Patterns,
    /// Work that changes such a file, or what defines the gates, is refused.
    pub reject: bool,
}

/// The setup command of a checkout as a gate; `None` where there is none.
pub(crate) fn setup_gate(rules: &GateRules, timeout: Duration) -> Option<GateSpec> {
    let command = rules.setup.clone();
    (!command.trim().is_empty()).then(|| GateSpec { name: SETUP.to_owned(), command, timeout })
}
