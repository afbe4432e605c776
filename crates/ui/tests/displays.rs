//! Whatever happens in a run, its displays agree: lines on a terminal, the page of `ralph status`, and the view that screens
//! and web pages show, also where the stream came over a socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../core/tests/run_model/world.rs"]
mod world;

use proptest::prelude::*;
use ralph_core::run::{Picker, Policy, RunEvent};
use ralph_core::view::live::LiveView;
use ralph_core::view::stream::{Observation, Observed};
use ralph_core::view::{Reporter, RunView};
use ralph_ui::plain::{Options, PlainReporter};
use ralph_ui::status::{State, StatusPage, WaitingTask};
use ralph_ui::style::TextStyle;
use ralph_ui::units::money;

use world::{play, policy, published, verified};

/// How many of each list a summary names.
const NAMED: usize = 5;

/// The fold of a stream that a reader got as lines of JSON.
fn over_a_socket(events: &[RunEvent]) -> LiveView {
    let joined = Observed::Joined { name: String::new() };
    let facts = events.iter().map(|event| Observed::Fact { event: event.clone() });
    let mut view = LiveView::default();
    for what in std::iter::once(joined).chain(facts) {
        let line = serde_json::to_string(&Observation { of: 0, what }).unwrap();
        view.apply(&serde_json::from_str(&line).unwrap());
    }
    view
}

/// The page of a run, as the program makes it from the view.
fn page(run: &RunView) -> StatusPage {
    let held = run.held_tasks.iter().map(|task| WaitingTask {
        task: task.id.clone(),
        reason: task.reason.clone(),
        approval: task.approval,
    });
    let state = if run.outcome.is_some() { State::Stopped } else { State::Running { pid: 7 } };
    StatusPage {
        state,
        counts: run.counts,
        forecast: run.forecast(),
        level: None,
        questions: run.questions.clone(),
        waiting: held.collect(),
        lanes: vec![],
        last_error: run.last_error.clone(),
        commits: vec![],
        next: vec![],
        now: run.last_at,
        run: Some(run.clone()),
    }
}

/// What the user must do something about: tasks with questions, tasks that wait, and tasks that failed.
fn needs_you(run: &RunView) -> [Vec<String>; 3] {
    [
        run.questions.iter().map(|asked| asked.task.to_string()).collect(),
        run.held_tasks.iter().map(|task| task.id.to_string()).collect(),
        run.failed_tasks.iter().map(|task| task.id.to_string()).collect(),
    ]
}

fn check(events: &[RunEvent]) -> Result<(), TestCaseError> {
    let mut out = Vec::new();
    let mut plain = PlainReporter::new(&mut out, Options::PLAIN);
    events.iter().for_each(|event| plain.event(event));
    plain.finish();
    let run = plain.view().clone();
    drop(plain);
    let text = String::from_utf8(out).unwrap();

    let live = over_a_socket(events);
    prop_assert_eq!(&live.runs[0].view, &run);
    prop_assert_eq!(&RunView::of(events), &run);
    prop_assert_eq!(live.is_over(), run.outcome.is_some());

    let page = page(&run);
    let json = serde_json::to_value(&page).unwrap();
    let shown = serde_json::to_value(&live).unwrap();
    let same = |path: &str| (json["run"][path].clone(), shown["runs"][0]["view"][path].clone());
    for part in ["counts", "outcome", "usage", "slots", "questions", "held_tasks", "failed_tasks"] {
        let (on_page, in_view) = same(part);
        prop_assert_eq!(on_page, in_view, "{}", part);
    }
    prop_assert_eq!(&json["counts"], &json["run"]["counts"]);

    let on_page = page.text(TextStyle::PLAIN);
    if let Some(cost) = run.usage_so_far().cost_micro_usd {
        prop_assert!(on_page.contains(&money(cost)), "{cost}\n{on_page}");
        prop_assert!(run.outcome.is_none() || text.contains(&money(cost)), "{cost}\n{text}");
    }
    for (slot, number) in run.slots.iter().zip(0_u32..) {
        let task = slot.task.as_ref().filter(|_| run.outcome.is_none() && slot.waiting.is_none());
        if let Some(task) = task {
            prop_assert!(on_page.contains(task.id.as_str()), "slot {number}\n{on_page}");
            prop_assert!(text.contains(task.id.as_str()), "slot {number}\n{text}");
        }
    }
    for list in needs_you(&run) {
        for task in list.iter().take(NAMED) {
            prop_assert!(run.outcome.is_none() || text.contains(task), "{task}\n{text}");
        }
    }
    let [asked, held, _] = needs_you(&run);
    for task in asked.iter().chain(&held).take(NAMED) {
        prop_assert!(on_page.contains(task), "{task}\n{on_page}");
    }
    if let Some(outcome) = &run.outcome {
        let sentence = outcome.sentence();
        let first = sentence.split_whitespace().next().unwrap_or_default();
        prop_assert!(
            text.contains(first) && on_page.contains(first),
            "{sentence}\n{text}\n{on_page}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_displays_agree_at_every_moment_of_a_run(
        rolls in proptest::collection::vec(any::<u8>(), 0..400),
        picks in any::<bool>(),
        slots in 1u32..4,
        max in proptest::option::of(1u32..12),
        tasks in 0u64..8,
        cancel_at in proptest::option::of(1usize..80),
        verify in any::<bool>(),
        publish in any::<bool>(),
        moment in any::<proptest::sample::Index>(),
    ) {
        let picker = if picks { Picker::Agent } else { Picker::Loop };
        let policy = Policy { integrates: slots > 1, ..policy(picker, slots, max) };
        let policy = if verify { verified(policy) } else { policy };
        let policy = if publish { published(policy) } else { policy };
        let world = play(policy, tasks, &rolls, cancel_at)?;
        check(&world.events)?;
        let moment = moment.index(world.events.len());
        check(&world.events[..=moment])?;
    }
}
