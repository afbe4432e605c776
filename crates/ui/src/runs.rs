//! `ralph runs`: a run per line.

use ralph_core::time::Zone;
use ralph_core::view::Condition;
use ralph_core::view::history::RunSummary;
use serde::Serialize;

use crate::columns::{self, Cell};
use crate::style::{Meaning, TextStyle};
use crate::units::{brief_duration, money};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    /// It was killed; the next run resumes it.
    Interrupted,
    /// It has ended by itself.
    Ended,
}

#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    #[serde(flatten)]
    pub summary: RunSummary,
    pub state: RunState,
}

/// The runs as a table, with times in a zone.
pub fn table(rows: &[RunRow], zone: &Zone, style: TextStyle) -> String {
    let headings = ["RUN", "STARTED", "TIME", "COMMAND", "DONE", "FAILED", "COST", "END"];
    let cells: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, zone)).collect();
    columns::table(&headings, headings.len() - 1, &cells, style)
}

fn cells(RunRow { summary, state }: &RunRow, zone: &Zone) -> Vec<Cell> {
    let (end, meaning) = match state {
        RunState::Running => (Condition::Running.to_string(), Some(Meaning::Good)),
        RunState::Interrupted => (Condition::Interrupted.to_string(), Some(Meaning::Warning)),
        RunState::Ended => (summary.ended.clone().unwrap_or_default(), None),
    };
    vec![
        Cell::meaning(summary.run.to_string(), Some(Meaning::Name)),
        Cell::new(started(summary, zone)),
        Cell::new(brief_duration(summary.duration_ms)),
        Cell::new(command(summary)),
        Cell::new(summary.done.to_string()),
        Cell::new(summary.failed.to_string()),
        Cell::new(cost(summary)),
        Cell::meaning(end.trim_end_matches('.'), meaning),
    ]
}

/// The command, with the preset of a build and the branch.
fn command(summary: &RunSummary) -> String {
    let mut text = summary.command.clone();
    if text == "build" && !summary.preset.is_empty() {
        text = format!("{text} {}", summary.preset);
    }
    match &summary.branch {
        Some(branch) => format!("{text} ({branch})"),
        None => text,
    }
}

fn cost(summary: &RunSummary) -> String {
    match (summary.cost_micro_usd, summary.unpriced) {
        (Some(cost), 0) => money(cost),
        (Some(cost), _) => format!("{}+", money(cost)),
        (None, _) => "-".to_owned(),
    }
}

/// When it started, to the minute, with the name of the zone.
fn started(summary: &RunSummary, zone: &Zone) -> String {
    let labeled = summary.started_at.labeled(zone);
    match (labeled.get(..16), labeled.get(19..)) {
        (Some(minute), Some(name)) => format!("{minute}{name}"),
        _ => labeled,
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::Timestamp;
    use ralph_core::ids::RunId;

    use super::*;

    fn row(run: &str, state: RunState, ended: Option<&str>) -> RunRow {
        let summary = RunSummary {
            run: RunId::new(run).unwrap(),
            started_at: Timestamp::parse("2026-11-15T23:45:10Z").unwrap(),
            duration_ms: 252_000,
            command: "build".to_owned(),
            preset: "dag".to_owned(),
            target: String::new(),
            branch: None,
            agent: "claude".to_owned(),
            iterations: 3,
            done: 2,
            failed: 1,
            commits: 2,
            cost_micro_usd: Some(310_000),
            unpriced: 0,
            outcome: None,
            ended: ended.map(str::to_owned),
        };
        RunRow { summary, state }
    }

    #[test]
    fn a_run_is_a_line_with_its_local_time_and_its_end() {
        let style = TextStyle { color: false, width: Some(100) };
        let mut plan = row("r-bbbb2345", RunState::Interrupted, None);
        plan.summary.command = "plan".to_owned();
        plan.summary.cost_micro_usd = None;
        plan.summary.branch = Some("login".to_owned());
        let rows = [
            row(
                "r-aaaa2345",
                RunState::Ended,
                Some("Finished: 2 done, 1 failed (see: ralph task show x)"),
            ),
            plan,
        ];
        let zone = Zone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        insta::assert_snapshot!(table(&rows, &zone, style));
    }
}
