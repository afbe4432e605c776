//! The cost of sessions, summed up by task, model and day, and as CSV. Attempts count first; sessions that no
//! attempt accounts for are added beside them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::forecast::Spent;
use super::sessions::{SessionCost, unaccounted};
use super::tries::Try;
use crate::ids::{AttemptId, RunId};
use crate::records::Attempt;
use crate::run::Class;
use crate::time::Timestamp;

/// The first line of the CSV.
pub const HEADER: &str = "attempt,run,task,model,day,started_at,ended_at,duration_ms,outcome,\
                          input_tokens,output_tokens,cost_usd,kind,agent,gates";

/// The sum over some attempts and sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Total {
    pub attempts: u64,
    /// How many sessions that no attempt accounts for.
    pub sessions: u64,
    /// How many tasks they ended: done, failed for good, or finished and up to your approval.
    #[serde(rename = "finished")]
    pub settled: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of a dollar, as far as they were reported; `None` when no session reported any.
    pub cost_micro_usd: Option<u64>,
    /// Attempts that used tokens and reported no price: the cost is a lower bound.
    pub unpriced: u64,
    pub duration_ms: u64,
}

impl Total {
    pub fn of<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Self {
        let mut sum = Self::default();
        let mut settled = BTreeSet::new();
        for attempt in attempts {
            sum.add(attempt);
            let outcome = attempt.end.as_ref().map(|end| end.outcome.as_str());
            let ends = [Class::Done, Class::TaskFailed, Class::Approval].map(Class::as_str);
            if outcome.is_some_and(|outcome| ends.contains(&outcome)) {
                settled.insert(attempt.task.clone());
            }
        }
        sum.settled = settled.len() as u64;
        sum
    }

    fn add(&mut self, attempt: &Attempt) {
        self.attempts += 1;
        let Some(end) = &attempt.end else { return };
        let took = end.at.millis_since(attempt.started_at);
        self.spend((end.input_tokens, end.output_tokens), end.cost_micro_usd, took);
    }

    fn add_session(&mut self, session: &SessionCost) {
        self.sessions += 1;
        let usage = session.usage;
        let took = session.ended_at.millis_since(session.started_at);
        self.spend((usage.input_tokens, usage.output_tokens), usage.cost_micro_usd, took);
    }

    fn spend(&mut self, (input, output): (u64, u64), cost: Option<u64>, took: u64) {
        self.input_tokens = self.input_tokens.saturating_add(input);
        self.output_tokens = self.output_tokens.saturating_add(output);
        if let Some(cost) = cost {
            self.cost_micro_usd = Some(self.cost_micro_usd.unwrap_or(0).saturating_add(cost));
        } else if input > 0 || output > 0 {
            self.unpriced += 1;
        }
        self.duration_ms = self.duration_ms.saturating_add(took);
    }

    /// The sum as the base of a forecast.
    pub fn spent(&self) -> Spent {
        let micro_usd = self.cost_micro_usd.filter(|_| self.unpriced == 0);
        Spent { tasks: self.settled, micro_usd, millis: self.duration_ms }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The task, model or day; `None` where no model was asked for. Sessions without a task are under what they
    /// were for, in parentheses.
    pub name: Option<String>,
    #[serde(flatten)]
    pub total: Total,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// By task, the first one tried first.
    pub tasks: Vec<Row>,
    /// By the model that was asked for.
    pub models: Vec<Row>,
    /// By day in UTC.
    pub days: Vec<Row>,
    pub total: Total,
    /// Every attempt, the oldest first.
    pub attempts: Vec<Attempt>,
    /// Every session that no attempt accounts for, the oldest first.
    pub sessions: Vec<SessionCost>,
}

impl Report {
    /// Sums up attempts that are in order, and those of the sessions that they do not account for.
    pub fn of(attempts: Vec<Attempt>, sessions: Vec<SessionCost>) -> Self {
        let sessions = unaccounted(sessions, &attempts);
        let both = (attempts.as_slice(), sessions.as_slice());
        let kind = |session: &SessionCost| Some(format!("({})", session.kind));
        let mut tasks = rows(both, |attempt| Some(attempt.task.to_string()), kind);
        // Sessions without a task come last.
        let first = |row: &Row| {
            let is_it = |attempt: &Attempt| Some(attempt.task.as_str()) == row.name.as_deref();
            attempts.iter().position(is_it).unwrap_or(usize::MAX)
        };
        tasks.sort_by_cached_key(first);
        let mut total = Total::of(&attempts);
        sessions.iter().for_each(|session| total.add_session(session));
        Self {
            tasks,
            models: rows(both, |attempt| attempt.model.clone(), |session| session.model.clone()),
            days: rows(both, |attempt| Some(day(attempt)), |session| Some(session.ended_at.day())),
            total,
            attempts,
            sessions,
        }
    }

    /// What of it belongs to a run, and to a day in UTC.
    #[must_use]
    pub fn only(self, run: Option<&RunId>, of_day: Option<&str>) -> Self {
        let (mut attempts, mut sessions) = (self.attempts, self.sessions);
        attempts.retain(|one| run.is_none_or(|run| one.run.as_ref() == Some(run)));
        attempts.retain(|one| of_day.is_none_or(|is| day(one) == is));
        sessions.retain(|one| run.is_none_or(|run| one.run == *run));
        sessions.retain(|one| of_day.is_none_or(|is| one.ended_at.day() == is));
        Self::of(attempts, sessions)
    }

    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.sessions.is_empty()
    }

    /// One line per attempt and per other session below [`HEADER`]. What is not known is empty; there are no sums. The
    /// journals know the agent and the gates of an attempt: `tries`.
    pub fn csv(&self, tries: &[Try]) -> String {
        let of_attempts: HashMap<&AttemptId, &Try> =
            tries.iter().filter_map(|one| Some((one.attempt.as_ref()?, one))).collect();
        let mut text = format!("{HEADER}\n");
        let mut line = |fields: [String; 15]| {
            text.push_str(&fields.map(|field| quoted(&field)).join(","));
            text.push('\n');
        };
        for attempt in &self.attempts {
            let end = attempt.end.as_ref();
            let known = of_attempts.get(&attempt.id);
            let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
            let fields = [
                attempt.id.to_string(),
                attempt.run.as_ref().map(ToString::to_string).unwrap_or_default(),
                attempt.task.to_string(),
                attempt.model.clone().unwrap_or_default(),
                day(attempt),
                attempt.started_at.to_string(),
                end.map(|end| end.at.to_string()).unwrap_or_default(),
                number(end.map(|end| end.at.millis_since(attempt.started_at))),
                end.map(|end| end.outcome.clone()).unwrap_or_default(),
                number(end.map(|end| end.input_tokens)),
                number(end.map(|end| end.output_tokens)),
                end.and_then(|end| end.cost_micro_usd).map(dollars).unwrap_or_default(),
                "attempt".to_owned(),
                known.map(|one| one.agent.clone()).or(attempt.program.clone()).unwrap_or_default(),
                known.map(|one| one.verdicts()).unwrap_or_default(),
            ];
            line(fields);
        }
        for session in &self.sessions {
            let usage = session.usage;
            let fields = [
                String::new(),
                session.run.to_string(),
                String::new(),
                session.model.clone().unwrap_or_default(),
                session.ended_at.day(),
                session.started_at.to_string(),
                session.ended_at.to_string(),
                session.ended_at.millis_since(session.started_at).to_string(),
                String::new(),
                usage.input_tokens.to_string(),
                usage.output_tokens.to_string(),
                usage.cost_micro_usd.map(dollars).unwrap_or_default(),
                session.kind.clone(),
                String::new(),
                String::new(),
            ];
            line(fields);
        }
        text
    }
}

fn rows(
    (attempts, sessions): (&[Attempt], &[SessionCost]),
    name: impl Fn(&Attempt) -> Option<String>,
    name_of: impl Fn(&SessionCost) -> Option<String>,
) -> Vec<Row> {
    type Group<'a> = (Vec<&'a Attempt>, Vec<&'a SessionCost>);
    let mut groups: BTreeMap<Option<String>, Group<'_>> = BTreeMap::new();
    for attempt in attempts {
        groups.entry(name(attempt)).or_default().0.push(attempt);
    }
    for session in sessions {
        groups.entry(name_of(session)).or_default().1.push(session);
    }
    let row = |(name, (attempts, sessions)): (_, Group<'_>)| {
        let mut total = Total::of(attempts);
        sessions.into_iter().for_each(|session| total.add_session(session));
        Row { name, total }
    };
    groups.into_iter().map(row).collect()
}

/// The day on which it ended, as the budget of a day counts it; of one that runs, on which it began.
fn day(attempt: &Attempt) -> String {
    let ended: Option<Timestamp> = attempt.end.as_ref().map(|end| end.at);
    ended.unwrap_or(attempt.started_at).day()
}

/// Dollars to the last millionth.
fn dollars(micro_usd: u64) -> String {
    format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000)
}

/// A field as RFC 4180 has it. A field that a spreadsheet would take for a formula is kept from that.
fn quoted(field: &str) -> String {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = if formula { format!("'{field}") } else { field.to_owned() };
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;
    use crate::ids::{AgentId, RunId, TaskId};
    use crate::records::{AttemptEnd, GateReport, Verdict};

    fn attempt(number: u32, task: &str, model: Option<&str>, outcome: &str) -> Attempt {
        let began = Timestamp::from_millis(1_794_710_700_000 + i64::from(number) * 60_000);
        Attempt {
            id: AttemptId::new(format!("a-{number}")).unwrap(),
            task: TaskId::new(task).unwrap(),
            run: RunId::new("r-1").ok(),
            agent: AgentId::new("x").unwrap(),
            generation: 1,
            model: model.map(str::to_owned),
            program: None,
            sandbox: None,
            started_at: began,
            end: Some(AttemptEnd {
                at: began.plus_millis(2_500),
                outcome: outcome.to_owned(),
                detail: String::new(),
                commit: None,
                input_tokens: 100,
                output_tokens: 10,
                cost_micro_usd: Some(250_000),
                ..AttemptEnd::default()
            }),
        }
    }

    fn session(kind: &str, attempts: &[&str]) -> SessionCost {
        let began = Timestamp::from_millis(1_794_710_700_000);
        SessionCost {
            run: RunId::new("r-1").unwrap(),
            kind: kind.to_owned(),
            model: Some("opus".to_owned()),
            started_at: began,
            ended_at: began.plus_millis(1_000),
            usage: Usage {
                input_tokens: 7,
                output_tokens: 3,
                cost_micro_usd: Some(10_000),
                ..Usage::default()
            },
            attempts: attempts.iter().map(|id| AttemptId::new(*id).unwrap()).collect(),
        }
    }

    #[test]
    fn sessions_count_unless_an_attempt_records_what_they_used() {
        let mut silent = attempt(2, "b", None, "");
        if let Some(end) = &mut silent.end {
            (end.cost_micro_usd, end.input_tokens, end.output_tokens) = (None, 0, 0);
        }
        let running = Attempt { end: None, ..attempt(3, "c", None, "") };
        let report = Report::of(
            vec![attempt(1, "a", None, "done"), silent, running],
            vec![
                session("build", &["a-1"]),
                session("verifier", &["a-1"]),
                // Its run was killed, and another agent released the task.
                session("build", &["a-2"]),
                session("build", &["a-3"]),
                session("plan", &[]),
                session("plan", &[]),
            ],
        );
        assert_eq!(report.total.cost_micro_usd, Some(290_000));
        assert_eq!((report.total.attempts, report.total.sessions), (3, 4));
        let last = &report.tasks[report.tasks.len() - 1];
        assert_eq!(
            (last.name.as_deref(), last.total.cost_micro_usd),
            (Some("(plan)"), Some(20_000))
        );
        for rows in [&report.tasks, &report.models, &report.days] {
            let sum: u64 = rows.iter().filter_map(|row| row.total.cost_micro_usd).sum();
            assert_eq!(sum, 290_000);
        }
    }

    #[test]
    fn a_report_sums_up_by_task_model_and_day() {
        let late = Attempt {
            started_at: Timestamp::parse("2026-11-15T23:59:00Z").unwrap(),
            end: attempt(0, "a", None, "done").end.map(|end| AttemptEnd {
                at: Timestamp::parse("2026-11-16T00:01:00Z").unwrap(),
                ..end
            }),
            ..attempt(3, "a", None, "done")
        };
        let attempts = vec![
            attempt(1, "b", Some("sonnet"), "red"),
            attempt(2, "b", Some("opus"), "done"),
            late,
        ];
        let report = Report::of(attempts, vec![]);
        let short = |rows: &[Row]| {
            let of = |row: &Row| (row.name.clone().unwrap_or_default(), row.total.attempts);
            rows.iter().map(of).collect::<Vec<_>>()
        };
        let named = |rows: &[(&str, u64)]| {
            rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>()
        };
        assert_eq!(short(&report.tasks), named(&[("b", 2), ("a", 1)]));
        assert_eq!(short(&report.models), named(&[("", 1), ("opus", 1), ("sonnet", 1)]));
        assert_eq!(short(&report.days), named(&[("2026-11-15", 2), ("2026-11-16", 1)]));
        let total = &report.total;
        assert_eq!(
            (total.settled, total.cost_micro_usd, total.input_tokens),
            (2, Some(750_000), 300)
        );
        assert_eq!(total.duration_ms, 125_000);
    }

    #[test]
    fn approved_work_counts_as_a_finished_task_once() {
        let attempts = [attempt(1, "a", None, "approval"), attempt(2, "b", None, "approval")];
        let again = attempt(3, "b", None, "done");
        let waits = attempt(4, "c", None, "question");
        let total = Total::of(attempts.iter().chain([&again, &waits]));
        assert_eq!((total.settled, total.attempts), (2, 4));
    }

    #[test]
    fn the_csv_has_a_line_per_attempt_and_leaves_empty_what_is_not_known() {
        let running = Attempt { end: None, run: None, ..attempt(2, "b", None, "") };
        let report = Report::of(
            vec![attempt(1, "a", Some("=1+1,\"x\""), "done"), running],
            vec![session("plan", &[])],
        );
        let lines = [
            HEADER,
            "a-1,r-1,a,\"'=1+1,\"\"x\"\"\",2026-11-15,2026-11-15T02:46:00Z,2026-11-15T02:46:02Z,2500,\
             done,100,10,0.250000,attempt,codex,fmt pass; test pass",
            "a-2,,b,,2026-11-15,2026-11-15T02:47:00Z,,,,,,,attempt,,",
            ",r-1,,opus,2026-11-15,2026-11-15T02:45:00Z,2026-11-15T02:45:01Z,1000,,7,3,0.010000,plan,,",
            "",
        ];
        let gates = ["fmt", "test"].map(|name| GateReport::of_check(name, Verdict::Pass, ""));
        let known = Try {
            task: TaskId::new("a").unwrap(),
            title: String::new(),
            attempt: AttemptId::new("a-1").ok(),
            agent: "codex".to_owned(),
            started_at: Timestamp::default(),
            ended_at: Timestamp::default(),
            gates: gates.into(),
            end: None,
        };
        assert_eq!(report.csv(&[known]), lines.join("\n"));
        assert_eq!(Report::of(vec![], vec![]).csv(&[]), format!("{HEADER}\n"));
    }

    #[test]
    fn a_missing_price_is_counted_as_unknown() {
        let mut silent = attempt(1, "a", None, "done");
        if let Some(end) = &mut silent.end {
            end.cost_micro_usd = None;
        }
        let reported = Total::of([&silent, &attempt(2, "b", None, "done")]);
        assert_eq!((reported.cost_micro_usd, reported.unpriced), (Some(250_000), 1));
        assert_eq!(reported.spent().micro_usd, None);
    }
}
