//! What a display with a screen must show of a run, and a stream in which the agents of a run talk.

use ralph_core::agent::{AgentEvent, Usage};
use ralph_core::run::{Cancel, Fact, RunEvent, SlotId};
use ralph_core::task::Counts;
use ralph_core::view::RunView;
use ralph_core::view::stream::{Observation, Observed};

/// The facts of a run that no two displays may show differently.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) counts: Counts,
    pub(crate) ended: bool,
    pub(crate) paused: bool,
    pub(crate) cancel: Option<Cancel>,
    /// In millionths of a dollar, with the sessions under way.
    pub(crate) cost: Option<u64>,
    /// Each slot with something to do: the task that it works on, and what it does.
    pub(crate) slots: Vec<(SlotId, Option<String>, String)>,
    /// The tasks with questions, and those that wait for the user.
    pub(crate) needs: Vec<String>,
}

impl Shown {
    pub(crate) fn of(run: &RunView) -> Self {
        let slot = |(number, slot): (SlotId, &ralph_core::view::SlotView)| {
            (number, slot.task.as_ref().map(|task| task.id.to_string()), slot.shown())
        };
        let asked = run.questions.iter().map(|asked| asked.task.to_string());
        let held = run.held_tasks.iter().map(|task| task.id.to_string());
        Self {
            counts: run.counts,
            ended: run.outcome.is_some(),
            paused: run.paused,
            cancel: run.cancel,
            cost: run.usage_so_far().cost_micro_usd,
            slots: run.busy().map(slot).collect(),
            needs: asked.chain(held).collect(),
        }
    }
}

/// The run as a stream: its facts, and what the agent of each session says after it has started.
pub(crate) fn spoken(events: &[RunEvent]) -> Vec<Observation> {
    let mut stream = vec![Observed::Joined { name: String::new() }];
    for (event, number) in events.iter().zip(1_u64..) {
        stream.push(Observed::Fact { event: event.clone() });
        let Fact::SessionStarted { slot, .. } = &event.fact else { continue };
        let said = |event| Observed::Agent { slot: *slot, at: events[0].at, event };
        let usage = Usage {
            input_tokens: number,
            output_tokens: 1,
            cost_micro_usd: Some(10_000 * number),
            ..Usage::default()
        };
        let (id, name) = (number.to_string(), format!("Tool{number}"));
        stream.push(said(AgentEvent::Message { model: "m".to_owned(), usage }));
        stream.push(said(AgentEvent::Text { text: "Hel".to_owned() }));
        stream.push(said(AgentEvent::Text { text: "lo".to_owned() }));
        stream.push(said(AgentEvent::ToolStarted { id: id.clone(), name, input: "ls".to_owned() }));
        if number % 3 == 0 {
            let text = "done".to_owned();
            stream.push(said(AgentEvent::ToolEnded { id, is_error: false, text }));
        }
        if number % 5 == 0 {
            stream.push(Observed::Missed { slot: *slot });
        }
    }
    stream.into_iter().map(|what| Observation { of: 0, what }).collect()
}
