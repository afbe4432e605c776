//! The progress line: what the run does now, how far it is and what it cost. A narrow terminal loses the least
//! important parts first.

use ralph_core::time::Timestamp;
use ralph_core::view::{Condition, RunPhase, RunView, SlotView, words};
use unicode_width::UnicodeWidthStr;

use crate::line::TextLine;
use crate::style::{Meaning, TextStyle};
use crate::units::{duration, money, tokens};

const BETWEEN: &str = " · ";

/// How soon a part gives way; the last one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Stopping,
    Activity,
    Elapsed,
    Done,
    Cost,
    Tokens,
    Model,
    Forecast,
}

/// The line, one cell narrower than the terminal, so that it never wraps.
pub(super) fn progress(view: &RunView, now: Timestamp, style: TextStyle) -> String {
    let width = style.width.map(|width| width.saturating_sub(1));
    let parts = fitting(parts(view, now), width.unwrap_or(usize::MAX));
    TextLine::new().flexible(Some(Meaning::Faint), parts.join(BETWEEN)).fit(style, width)
}

/// All parts, in their order.
fn parts(view: &RunView, now: Timestamp) -> Vec<(Rank, String)> {
    let mut parts = Vec::new();
    if let Some(cancel) = view.cancel {
        parts.push((Rank::Stopping, words::cancel(cancel, view.sessions()).to_owned()));
    } else if view.stopping.is_some() {
        parts.push((Rank::Stopping, Condition::Stopping.to_string()));
    }
    parts.extend(activities(view, now).into_iter().map(|text| (Rank::Activity, text)));
    parts.push((Rank::Elapsed, format!("{} total", duration(view.elapsed(now)))));
    if view.counts.total() > 0 {
        let done = format!("{}/{} done", view.counts.done, view.counts.total());
        parts.push((Rank::Done, done));
    }
    let usage = view.usage_so_far();
    if let Some(cost) = usage.cost_micro_usd {
        parts.push((Rank::Cost, money(cost)));
    }
    let used = usage.input_tokens.saturating_add(usage.output_tokens);
    if used > 0 {
        parts.push((Rank::Tokens, format!("{} tokens", tokens(used))));
    }
    parts.extend(model(view).map(|model| (Rank::Model, model)));
    if let Some(rest) = view.forecast() {
        let cost = rest.micro_usd.map(|cost| format!("~{}, ", money(cost))).unwrap_or_default();
        parts.push((Rank::Forecast, format!("{cost}~{} left", duration(rest.duration_ms))));
    }
    parts
}

/// Those that fit; at least one.
fn fitting(mut parts: Vec<(Rank, String)>, width: usize) -> Vec<String> {
    let length = |parts: &[(Rank, String)]| {
        let texts: usize = parts.iter().map(|(_, text)| text.width()).sum();
        texts + BETWEEN.width() * parts.len().saturating_sub(1)
    };
    while parts.len() > 1 && length(&parts) > width {
        let last = parts.iter().enumerate().max_by_key(|(_, (rank, _))| *rank);
        let Some((at, _)) = last else { break };
        parts.remove(at);
    }
    parts.into_iter().map(|(_, text)| text).collect()
}

/// What each slot does, and for how long.
fn activities(view: &RunView, now: Timestamp) -> Vec<String> {
    let busy: Vec<&SlotView> = view.busy().map(|(_, slot)| slot).collect();
    match busy.as_slice() {
        [] => view.phase.iter().map(|phase| of_run(phase, now)).collect(),
        [slot] => vec![alone(slot, now)],
        many => many.iter().map(|slot| beside_others(slot, now)).collect(),
    }
}

/// What the only busy slot does or waits for, and for how long.
fn alone(slot: &SlotView, now: Timestamp) -> String {
    if let Some(waiting) = &slot.waiting {
        let what = words::wait(&waiting.wait);
        return match waiting.until {
            Some(until) => format!("{what}: {} left", duration(until.millis_since(now))),
            None => what,
        };
    }
    let what = activity(slot, now);
    match &slot.task {
        Some(task) => format!("{} {what}", task.id),
        None => what,
    }
}

/// What the run as a whole waits for: how long already, and how long at most.
fn of_run(phase: &RunPhase, now: Timestamp) -> String {
    let since = format!("{} {}", phase.what, duration(now.millis_since(phase.since)));
    match phase.until {
        Some(until) => format!("{since}, at most {} left", duration(until.millis_since(now))),
        None => since,
    }
}

fn beside_others(slot: &SlotView, now: Timestamp) -> String {
    match (&slot.waiting, slot.iteration) {
        (Some(waiting), _) => {
            let what = words::wait_in_short(&waiting.wait);
            match waiting.until {
                Some(until) => format!("{what}: {} left", duration(until.millis_since(now))),
                None => format!("{what} {}", duration(now.millis_since(slot.since))),
            }
        }
        (None, 0) => activity(slot, now),
        (None, number) => format!("{number} {}", activity(slot, now)),
    }
}

fn activity(slot: &SlotView, now: Timestamp) -> String {
    let lasting = duration(now.millis_since(slot.active_since()));
    let limit = slot.limit_ms().map(|limit| format!(" of {}", duration(limit))).unwrap_or_default();
    format!("{} {lasting}{limit}", slot.activity())
}

/// The model, where all sessions have the same.
fn model(view: &RunView) -> Option<String> {
    let mut models = view.busy().filter_map(|(_, slot)| slot.model.as_deref());
    let first = models.next()?;
    models.all(|other| other == first).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::{AgentEvent, Usage};
    use ralph_core::run::{Class, Fact, SlotStep, Wait};
    use ralph_core::task::Counts;

    use super::*;
    use crate::tests::sample::{self, SampleEvent, Tape};

    #[test]
    fn the_forecast_appears_after_three_finished_tasks() {
        let usage = Usage { cost_micro_usd: Some(600_000), ..Usage::default() };
        let counts = Counts { open: 2, done: 3, ..Counts::default() };
        let mut view =
            RunView { usage, counts, settled: 2, worked_ms: 90_000, ..RunView::default() };
        let shown = |view: &RunView| progress(view, Timestamp::default(), TextStyle::PLAIN);
        assert_eq!(shown(&view), "0s total · 3/5 done · $0.60");
        view.settled = 3;
        assert_eq!(shown(&view), "0s total · 3/5 done · $0.60 · ~$0.40, ~1m 00s left");
        view.usage.cost_micro_usd = None;
        assert_eq!(shown(&view), "0s total · 3/5 done · ~1m 00s left");
    }

    /// The view after these events, and the time of the last one.
    fn seen(reported: &[SampleEvent]) -> (RunView, Timestamp) {
        let mut view = RunView::default();
        for reported in reported {
            match reported {
                SampleEvent::Event(event) => view.apply(event),
                SampleEvent::Agent(slot, event) => view.on_agent_event(*slot, event, view.last_at),
            }
        }
        let last = view.last_at;
        (view, last)
    }

    fn at_work() -> Tape {
        let mut tape = Tape::new(1, 3);
        tape.count(|_| {});
        tape.begin(0, 1, "t-1", "A title", 1);
        tape.tool(0, "Bash", "cargo test");
        tape
    }

    /// F60: the line had neither tool nor gate, verifier, tokens or model.
    #[test]
    fn the_line_names_the_tool_the_gate_and_the_verifier() {
        let mut tape = at_work();
        let shown = |tape: &Tape| {
            let (view, now) = seen(&tape.events);
            progress(&view, now.plus_millis(12_000), TextStyle { color: false, width: Some(100) })
        };
        let line = shown(&tape);
        assert_eq!(line, "t-1 Bash 12s · 12s total · 0/3 done · claude-sonnet-4-5");
        tape.says(0, AgentEvent::ToolEnded { id: "x".into(), is_error: false, text: "ok".into() });
        assert!(shown(&tape).starts_with("t-1 working 1"), "{}", shown(&tape));
        tape.end(0, "t-1", sample::completed_with("<task-done>t-1</task-done>", 8, 2), 1_000);
        tape.changed(0, &["a"]);
        tape.fact(Fact::GateStarted {
            slot: 0,
            gate: "unit tests".into(),
            timeout_ms: Some(1_800_000),
        });
        let line = shown(&tape);
        assert!(line.starts_with("t-1 gate unit tests 12s of 30m 00s · "), "{line}");
        assert!(line.contains(" · $0.08 · 37k tokens"), "{line}");
        let (agent, model) = ("claude".to_owned(), Some("opus".to_owned()));
        tape.fact(Fact::Verifying { slot: 0, agent, model });
        let line = shown(&tape);
        assert!(line.starts_with("t-1 verifier 12s · ") && line.ends_with(" · opus"), "{line}");
    }

    /// Every wait has its reason, its beginning or its end on the line.
    #[test]
    fn the_line_says_what_is_waited_for() {
        let mut tape = Tape::new(1, 3);
        let shown = |tape: &Tape| {
            let (view, now) = seen(&tape.events);
            progress(&view, now.plus_millis(12_000), TextStyle { color: false, width: Some(100) })
        };
        tape.begin(0, 1, "t-1", "A title", 1);
        for (step, timeout_ms, expected) in [
            (SlotStep::Worktree, None, "t-1 preparing the worktree 12s · "),
            (SlotStep::Setup, Some(600_000), "t-1 running the setup command 12s of 10m 00s · "),
            (SlotStep::Push, None, "t-1 pushing the branch 12s · "),
        ] {
            tape.fact(Fact::StepStarted { slot: 0, step, timeout_ms });
            assert!(shown(&tape).starts_with(expected), "{}", shown(&tape));
        }
        tape.fact(Fact::SlotFreed { slot: 0 });
        tape.fact(Fact::Publishing);
        assert!(shown(&tape).starts_with("publishing the branch 12s · "), "{}", shown(&tape));
        let (_, now) = seen(&tape.events);
        tape.fact(Fact::Watching { page: "https://x".into(), until: now.plus_millis(72_000) });
        let watching = "watching the pull request 12s, at most 1m 00s left · ";
        assert!(shown(&tape).starts_with(watching), "{}", shown(&tape));
    }

    #[test]
    fn slots_side_by_side_say_what_they_wait_for() {
        let mut tape = Tape::new(2, 3);
        tape.begin(0, 1, "t-1", "A title", 1);
        let (_, now) = seen(&tape.events);
        let wait =
            Wait::Limit { class: Class::UsageWindow, streak: 1, reset_known: true, agent: None };
        let until = now.plus_millis(72_000);
        tape.fact(Fact::WaitStarted { slot: 1, wait, until: Some(until) });
        let (view, now) = seen(&tape.events);
        let line = progress(&view, now.plus_millis(12_000), TextStyle::PLAIN);
        let words = Class::UsageWindow.words();
        let left = duration(until.millis_since(now) - 12_000);
        assert!(line.contains(&format!(" · {words}: {left} left · ")), "{line}");
        tape.fact(Fact::WaitStarted { slot: 1, wait: Wait::Others { tasks: 2 }, until: None });
        let line = progress(&seen(&tape.events).0, now.plus_millis(12_000), TextStyle::PLAIN);
        assert!(line.contains(" · waiting for other agents 12s · "), "{line}");
    }

    #[test]
    fn the_line_counts_what_the_running_session_used() {
        let mut tape = at_work();
        let used = Usage { input_tokens: 30_000, output_tokens: 1_000, ..Usage::default() };
        tape.message(0, used);
        let (view, now) = seen(&tape.events);
        let line = progress(&view, now, TextStyle::PLAIN);
        assert!(line.contains(" · 31k tokens · "), "{line}");
        tape.end(0, "t-1", sample::completed_with("more", 8, 2), 1_000);
        let (view, now) = seen(&tape.events);
        let line = progress(&view, now, TextStyle::PLAIN);
        assert!(line.contains(" · $0.08 · 37k tokens · "), "counted once: {line}");
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_important_parts_first() {
        let mut tape = at_work();
        tape.end(0, "t-1", sample::completed_with("more", 8, 2), 1_000);
        tape.begin(0, 2, "t-1", "A title", 2);
        tape.tool(0, "Bash", "cargo test");
        let (view, now) = seen(&tape.events);
        let shown = |width: usize| {
            progress(&view, now.plus_millis(12_000), TextStyle { color: false, width: Some(width) })
        };
        let whole = "t-1 Bash 12s · 14s total · 0/3 done · $0.08 · 37k tokens · claude-sonnet-4-5";
        assert_eq!(shown(80), whole);
        for (width, last) in [(76, "37k tokens"), (50, "$0.08"), (40, "0/3 done"), (34, "total")] {
            let line = shown(width);
            assert!(line.ends_with(last) && line.width() < width, "{width}: {line}");
        }
        assert_eq!(shown(20), "t-1 Bash 12s");
        assert_eq!(shown(10), "t-1 Bash…");
    }
}
