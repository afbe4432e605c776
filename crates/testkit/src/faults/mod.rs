//! The fault campaign: ralph is disturbed in every way that the list names, again and again, and what must
//! hold afterwards is counted. The program `faults` runs it and makes the table; the tests of the suite are
//! short runs of the same rows.

mod agents;
mod clock;
mod database;
mod disk;
mod edits;
mod halves;
mod kills;
mod mounts;
mod others;
mod outside;
mod owning;
mod signals;
mod stalled;
mod table;
mod tally;
mod world;

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

pub use mounts::inside;
pub use table::{MachineInfo, Record, page, read, sums};
pub use tally::Tally;
pub use world::{Built, World};

use crate::Times;

/// How a campaign is run.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The ralph to test.
    pub ralph: PathBuf,
    /// The level of the sandbox, as `sandbox.level` takes it.
    pub level: String,
    /// What chance hangs on.
    pub seed: u64,
    /// How long it is.
    pub times: Times,
    /// Calls this very program again, for a row that needs mounts of its own; see [`inside`].
    pub again: Vec<OsString>,
}

impl Setting {
    /// What a test of the suite runs with.
    pub fn of_test(ralph: &str) -> Self {
        Self {
            ralph: ralph.into(),
            level: "none".to_owned(),
            seed: crate::sample(),
            times: Times::from_environment(),
            again: vec![],
        }
    }

    fn to_json(&self) -> Value {
        let Self { ralph, level, seed, times, .. } = self;
        let times = match times {
            Times::Short => "short".to_owned(),
            Times::Full => "full".to_owned(),
            Times::Number(number) => number.to_string(),
        };
        json!({"ralph": ralph, "level": level, "seed": seed, "times": times})
    }

    fn from_json(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Self {
            ralph: text("ralph").into(),
            level: text("level"),
            seed: value["seed"].as_u64().unwrap_or_default(),
            times: Times::parse(&text("times")).unwrap_or(Times::Short),
            again: vec![],
        }
    }

    /// Chance for one try of one row.
    fn random(&self, row: u64, number: usize) -> fastrand::Rng {
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(row * 1_000_000 + number as u64);
        fastrand::Rng::with_seed(seed)
    }
}

/// A fault, and the campaign against it.
pub struct Row {
    /// As it is named on the command line.
    pub name: &'static str,
    /// What is done to ralph.
    pub fault: &'static str,
    /// Does it.
    pub run: fn(&Setting) -> Tally,
}

/// Every row, in the order of the table.
pub const ROWS: &[Row] = &[
    Row { name: "killed", fault: "kill -9 of ralph at random moments", run: kills::at_random },
    Row { name: "points", fault: "kill -9 of ralph at every crash point", run: kills::at_points },
    Row {
        name: "landing",
        fault: "kill -9 of ralph at every point of worktrees and landings, with `-j 3`",
        run: kills::at_landing,
    },
    Row { name: "agent-killed", fault: "kill -9 of the agent", run: kills::of_agents },
    Row { name: "int", fault: "INT", run: |setting| signals::stopped_by(setting, &["INT"]) },
    Row { name: "int-twice", fault: "INT twice", run: |s| signals::stopped_by(s, &["INT"; 2]) },
    Row {
        name: "int-thrice",
        fault: "INT three times",
        run: |s| signals::stopped_by(s, &["INT"; 3]),
    },
    Row { name: "term", fault: "TERM", run: |setting| signals::stopped_by(setting, &["TERM"]) },
    Row { name: "hup", fault: "HUP", run: |setting| signals::stopped_by(setting, &["HUP"]) },
    Row {
        name: "ignores-term",
        fault: "an agent that ignores TERM, with a grandchild in its own session that holds the pipe",
        run: agents::that_ignore_term,
    },
    Row { name: "silent", fault: "an agent that goes silent", run: agents::that_hang },
    Row { name: "disk-full", fault: "a full disk at every stage of a run", run: disk::full },
    Row { name: "read-only", fault: "a read-only database", run: database::read_only },
    Row { name: "locked", fault: "a locked database", run: database::locked },
    Row { name: "two", fault: "several ralphs on one repository at once", run: others::at_once },
    Row { name: "clock", fault: "a clock that jumps by an hour", run: clock::leaps },
    Row {
        name: "stalled",
        fault: "a run that is suspended past its lease",
        run: stalled::past_lease,
    },
    Row { name: "halves", fault: "stale locks and half-written files", run: halves::left_behind },
    Row {
        name: "asked",
        fault: "kill -9 of ralph between a question and the next task",
        run: owning::after_a_question,
    },
    Row {
        name: "left",
        fault: "kill -9 of ralph right after unfinished work was recorded",
        run: owning::after_leftovers,
    },
    Row {
        name: "user-edits",
        fault: "files that the user writes while gates run",
        run: owning::during_gates,
    },
    Row { name: "edited", fault: "a plan that changes during the run", run: edits::of_plan },
    Row {
        name: "long-line",
        fault: "an agent that prints an endless line",
        run: outside::long_lines,
    },
    Row { name: "network", fault: "a lost network connection", run: outside::cut_network },
];

/// The row of that name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Runs a row as a test of the suite: prints its figures, and stops the test when one of them is bad.
///
/// # Panics
///
/// When there is no such row, or it did not hold.
pub fn hold(name: &str, setting: &Setting) {
    let row = row(name).unwrap_or_else(|| panic!("there is no row {name}"));
    (row.run)(setting).close(name);
}
