//! The first lines of a run, and the heading of each iteration.

use ralph_core::run::{About, TaskBrief};
use ralph_core::task::Counts;
use ralph_core::view::{RunView, words};
use unicode_width::UnicodeWidthStr;

use crate::line::{TextLine, field, fields};
use crate::style::{Meaning, TextStyle};
use crate::units::{duration, money, tokens};

/// Headings are this wide where there is no terminal, and never wider than [`WIDEST`].
const WIDTH: usize = 80;
const WIDEST: usize = 100;

/// The command, its target, the agent, the gates and the limits.
pub(super) fn start(view: &RunView, style: TextStyle) -> Vec<String> {
    let command = format!("ralph {}", view.mode);
    let target = TextLine::new().add(Meaning::Heading, command).plain("  ");
    let side_by_side = match view.slots.len() {
        0 | 1 => String::new(),
        many => format!(", {many} in parallel"),
    };
    let preset = match view.mode.as_str() {
        "build" => format!(", preset {}", view.preset),
        _ => String::new(),
    };
    let resumes = view.resumed_after.map(|iteration| {
        let kept = match view.kept.is_empty() {
            true => format!("after iteration {iteration}"),
            false => view.kept.join(", "),
        };
        format!("an interrupted run: {kept} (start over with --new)")
    });
    let agents = match view.fallback.is_empty() {
        true => view.agent.clone(),
        false => format!("{}, at a limit {}", view.agent, view.fallback.join(", then ")),
    };
    let rows = [
        ("agent", Some(format!("{agents}{preset}{side_by_side}"))),
        ("gates", (!view.gates.is_empty()).then(|| view.gates.join(", "))),
        ("verifier", view.verifier.clone()),
        ("limit", Some(limits(view))),
        ("resumes", resumes),
    ];
    let mut lines = vec![target.flexible(None, &view.target).show(style)];
    lines.extend(fields(rows, style));
    lines
}

fn limits(view: &RunView) -> String {
    let mut limits = vec![match view.max_sessions {
        Some(most) => words::count(u64::from(most), "session"),
        None => "unlimited sessions".to_owned(),
    }];
    let budget = &view.budget;
    let amounts = [
        (budget.micro_usd, money(budget.micro_usd)),
        (budget.tokens, format!("{} tokens", tokens(budget.tokens))),
        (budget.time_ms, duration(budget.time_ms)),
        (budget.task_micro_usd, format!("{} per task", money(budget.task_micro_usd))),
        (budget.day_micro_usd, format!("{} per day", money(budget.day_micro_usd))),
    ];
    limits.extend(amounts.into_iter().filter(|(amount, _)| *amount > 0).map(|(_, text)| text));
    limits.join(", ")
}

/// The sandbox that sessions run in.
pub(super) fn level(level: &str, text: &str, style: TextStyle) -> Vec<String> {
    let meaning = if level == "none" { Meaning::Warning } else { Meaning::Faint };
    field("sandbox", meaning, &words::with_detail(level, text), style)
}

/// `3 of 12 done, 1 blocked`.
pub(crate) fn plan(counts: &Counts) -> String {
    let mut text = format!("{} of {} done", counts.done, counts.total());
    let others = [
        (counts.active, "active"),
        (counts.failed, "failed"),
        (counts.waiting, "waiting for you"),
        (counts.blocked, "blocked"),
    ];
    for (n, what) in others.into_iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!(", {n} {what}"));
    }
    text
}

/// `── 2 ── t-abc  Title ───────── sonnet, attempt 2 ──`
pub(super) fn heading(
    iteration: u32,
    (task, about): (Option<&TaskBrief>, Option<&About>),
    (offered, retry): (u32, u32),
    model: Option<&str>,
    style: TextStyle,
) -> TextLine {
    let width = style.width.unwrap_or(WIDTH).min(WIDEST);
    let mut facts: Vec<String> = model.map(str::to_owned).into_iter().collect();
    if let Some(task) = task.filter(|task| task.attempt_number > 1) {
        facts.push(format!("attempt {}", task.attempt_number));
    }
    if retry > 0 {
        facts.push(format!("retry {retry}"));
    }
    let tail =
        if facts.is_empty() { String::new() } else { format!(" {} ──", facts.join(", ")) };
    let number = format!("── {iteration} ── ");
    let name = task.map_or_else(String::new, |task| format!("{}  ", task.id));
    let title = words::subject(task, about, offered);
    let title = ralph_core::text::printable_line(&title).into_owned();
    let used = number.width() + name.width() + title.width() + 1 + tail.width();
    let rule = "─".repeat(width.saturating_sub(used).max(2));
    let line = TextLine::new().add(Meaning::Faint, number).add(Meaning::Name, name);
    let line = line.flexible(Some(Meaning::Heading), title).plain(" ").add(Meaning::Faint, rule);
    match facts.is_empty() {
        true => line,
        false => line.plain(" ").add(Meaning::Model, facts.join(", ")).add(Meaning::Faint, " ──"),
    }
}
