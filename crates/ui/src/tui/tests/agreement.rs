//! Whatever happens in a run, the cells of the screen show the facts that every display shows.

#[path = "../../../../core/tests/run_model/shown.rs"]
mod shown;
#[path = "../../../../core/tests/run_model/world.rs"]
mod world;

use proptest::prelude::*;
use ralph_core::run::{Picker, Policy};
use ralph_core::view::stream::Observation;
use ralph_core::view::words;

use self::shown::{Shown, spoken};
use self::world::{play, policy, published, verified};
use super::fake::Fake;
use crate::units::money;

/// How many entries the list of what needs you has on a screen of this height.
const NAMED: usize = 5;

fn check(stream: &[Observation]) -> Result<(), TestCaseError> {
    let mut fake = Fake::new(240, 60);
    for seen in stream {
        fake.state.seen(seen);
    }
    let now = fake.state.live.runs[0].view.last_at;
    fake.state.tick(now);
    let text = fake.shown();
    let run = &fake.state.live.runs[0].view;
    let shown = Shown::of(run);
    let lines: Vec<&str> = text.lines().collect();
    let (counts, figures) = (shown.counts, lines[1]);
    if counts.total() > 0 {
        let done = format!("{}/{} done", counts.done, counts.total());
        prop_assert!(figures.contains(&done), "{done}\n{text}");
    }
    for (n, what) in [(counts.failed, "failed"), (counts.waiting, "waiting")] {
        let part = format!(" {n} {what}");
        prop_assert_eq!(n > 0 && counts.total() > 0, figures.contains(&part), "{}\n{}", part, text);
    }
    if let Some(cost) = shown.cost {
        prop_assert!(figures.contains(&money(cost)), "{cost}\n{text}");
    }
    let state = match (shown.ended, shown.cancel) {
        (true, _) => ["done", "ended"].iter().any(|word| lines[0].contains(word)),
        (false, Some(cancel)) => {
            lines[0].contains(&words::cancel(cancel, run.sessions()).to_lowercase())
        }
        (false, None) if shown.paused => lines[0].contains("paused"),
        (false, None) => ["running", "stopping"].iter().any(|word| lines[0].contains(word)),
    };
    prop_assert!(state, "{}\n{text}", lines[0]);
    for (_, task, activity) in shown.slots.iter().filter(|_| !shown.ended) {
        let is_there = |line: &&str| {
            line.contains(activity) && task.as_ref().is_none_or(|task| line.contains(task))
        };
        prop_assert!(lines.iter().any(is_there), "{task:?} {activity}\n{text}");
    }
    let needs = shown.needs.len() + run.merges.len();
    if needs > 0 {
        prop_assert!(text.contains(&format!("Needs you: {needs}")), "{needs}\n{text}");
    }
    for task in shown.needs.iter().take(NAMED) {
        let entry = format!("? {task} ");
        prop_assert!(lines.iter().any(|line| line.starts_with(&entry)), "{entry}\n{text}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_screen_agrees_with_every_display_at_every_moment_of_a_run(
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
        let stream = spoken(&play(policy, tasks, &rolls, cancel_at)?.events);
        check(&stream)?;
        // From its first fact on.
        check(&stream[..=moment.index(stream.len() - 1) + 1])?;
    }
}
