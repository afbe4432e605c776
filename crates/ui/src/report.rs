//! `ralph report`: what sessions cost, as tables.

use ralph_core::amounts::count;
use ralph_core::text::printable_line;
use ralph_core::view::report::{Report, Row, Total};

use crate::columns::{Cell, table};
use crate::style::{Meaning, TextStyle};
use crate::units::{brief_duration, money, tokens};

/// By task, by model, by day, and the sum.
pub fn text(report: &Report, style: TextStyle) -> String {
    let parts = [("TASK", &report.tasks), ("MODEL", &report.models), ("DAY (UTC)", &report.days)];
    let mut text = String::new();
    for (heading, rows) in parts {
        let rows: Vec<Vec<Cell>> = rows.iter().map(row).collect();
        let headings = [heading, "SESSIONS", "IN", "OUT", "TIME", "COST"];
        text.push_str(&table(&headings, 0, &rows, style));
        text.push('\n');
    }
    let total = &report.total;
    let others = match total.sessions {
        0 => String::new(),
        sessions => format!(", {}", count(sessions, "other session")),
    };
    text.push_str(&format!(
        "{} {}{}, {} tokens in, {} out, {}, {}\n",
        style.paint(Meaning::Heading, "Total:"),
        count(total.attempts, "attempt"),
        others,
        tokens(total.input_tokens),
        tokens(total.output_tokens),
        brief_duration(total.duration_ms),
        cost(total)
    ));
    text
}

fn row(row: &Row) -> Vec<Cell> {
    let total = &row.total;
    let name = row.name.as_deref().map_or("(agent's default)".into(), printable_line);
    vec![
        Cell::new(name),
        Cell::new((total.attempts + total.sessions).to_string()),
        Cell::new(tokens(total.input_tokens)),
        Cell::new(tokens(total.output_tokens)),
        Cell::new(brief_duration(total.duration_ms)),
        Cell::new(cost(total)),
    ]
}

/// The known cost, and whether sessions without a price are missing from it.
fn cost(total: &Total) -> String {
    match (total.cost_micro_usd, total.unpriced) {
        (Some(cost), 0) => money(cost),
        (Some(cost), _) => format!("at least {}", money(cost)),
        (None, 0) => money(0),
        (None, _) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(cost_micro_usd: Option<u64>, unpriced: u64) -> Total {
        let (attempts, input_tokens, output_tokens) = (2, 12_000, 400);
        let settled = 1;
        let duration_ms = 95_000;
        Total {
            attempts,
            sessions: 0,
            settled,
            input_tokens,
            output_tokens,
            cost_micro_usd,
            unpriced,
            duration_ms,
        }
    }

    #[test]
    fn three_tables_and_a_sum() {
        let row = |name: Option<&str>, total| Row { name: name.map(str::to_owned), total };
        let report = Report {
            tasks: vec![
                row(Some("t-1"), total(Some(250_000), 0)),
                row(Some("t-2"), total(None, 2)),
            ],
            models: vec![row(None, total(Some(250_000), 2))],
            days: vec![row(Some("2026-11-15"), total(Some(250_000), 2))],
            total: total(Some(250_000), 2),
            attempts: vec![],
            sessions: vec![],
        };
        let expected = "\
TASK  SESSIONS  IN   OUT  TIME    COST
t-1   2         12k  400  1m 35s  $0.25
t-2   2         12k  400  1m 35s  unknown

MODEL              SESSIONS  IN   OUT  TIME    COST
(agent's default)  2         12k  400  1m 35s  at least $0.25

DAY (UTC)   SESSIONS  IN   OUT  TIME    COST
2026-11-15  2         12k  400  1m 35s  at least $0.25

Total: 2 attempts, 12k tokens in, 400 out, 1m 35s, at least $0.25
";
        assert_eq!(text(&report, TextStyle::PLAIN), expected);
    }
}
