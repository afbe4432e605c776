//! The loop against a world that answers at random: whatever the order of answers, failures, controls
//! and strays, the invariants hold. The numbers are those of ARCHITECTURE.md.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "run_model/world.rs"]
mod world;

use proptest::prelude::*;
use ralph_core::agent;
use ralph_core::run::{EndsWhen, Fact, Picker, Policy, RunState};

use world::{by_iteration, play, policy, published, verified, with_fallback};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Invariants 24 to 31: facts before effects, one end per start, nothing new after a stop, one
    /// finish with all slots free, the journal folds to the state, strays change nothing.
    #[test]
    fn the_loop_keeps_its_invariants(
        rolls in proptest::collection::vec(any::<u8>(), 0..600),
        picks in any::<bool>(),
        slots in 1u32..4,
        max in proptest::option::of(1u32..12),
        tasks in 0u64..8,
        cancel_at in proptest::option::of(1usize..80),
        verify in any::<bool>(),
        integrates in any::<bool>(),
        publish in any::<bool>(),
        agents in 0usize..3,
    ) {
        let picker = if picks { Picker::Agent } else { Picker::Loop };
        let policy = Policy { integrates, ..policy(picker, slots, max) };
        let policy = with_fallback(policy, agents);
        let policy = if verify { verified(policy) } else { policy };
        let policy = if publish { published(policy) } else { policy };
        let world = play(policy, tasks, &rolls, cancel_at)?;
        let folded = RunState::fold(&world.events).unwrap();
        prop_assert_eq!(&folded, &world.state);
        prop_assert_eq!(world.finished, u32::from(world.state.ended));
        if world.state.ended {
            let last = world.events.last().unwrap();
            let is_end = matches!(last.fact, Fact::RunEnded { .. });
            prop_assert!(is_end);
        }
        // A complete run has published, once in each round, and whatever came of it the run is complete.
        let outcome = world.events.iter().find_map(|event| match &event.fact {
            Fact::RunEnded { outcome } => Some(outcome.clone()),
            _ => None,
        });
        let complete = outcome.is_some_and(|outcome| outcome.reason.name() == "Complete");
        if publish && complete && world.state.cancel.is_none() {
            prop_assert_eq!(world.published, 1 + world.rounds);
        }
        prop_assert!(publish || world.published == 0);
        // A number is given out again only when its iteration did not count.
        prop_assert!(world.ended.len() <= world.started.len());
    }

    /// An iteration that is judged as a whole is tried four times at most under its number, is committed
    /// only when it is green, and the run ends by itself.
    #[test]
    fn an_iteration_is_tried_again_under_its_number(
        rolls in proptest::collection::vec(any::<u8>(), 0..400),
        max in 1u32..12,
        tasks in 0u64..8,
        for_a_text in any::<bool>(),
        agents in 0usize..3,
    ) {
        // A text is judged after every session, and a question ends the run.
        let text = || Policy {
            ends: vec![EndsWhen::Session],
            promises: vec![],
            unchanged_fails: false,
            always_judged: true,
            asks: true,
            ..by_iteration(max)
        };
        let policy = if for_a_text { text() } else { by_iteration(max) };
        let policy = with_fallback(policy, agents);
        let policy = if max % 2 == 0 { verified(policy) } else { policy };
        let world = play(policy, tasks, &rolls, None)?;
        prop_assert!(world.state.ended, "{:#?}", world.events.last());
        prop_assert_eq!(&RunState::fold(&world.events).unwrap(), &world.state);
        prop_assert!(world.state.counted <= max);
        let mut tries = std::collections::BTreeMap::<u32, u32>::new();
        let mut green = false;
        for event in &world.events {
            match &event.fact {
                Fact::IterationEnded { iteration, class, .. } if class.is_tried_again() => {
                    *tries.entry(*iteration).or_default() += 1;
                }
                Fact::Judged { green: is_green, .. } => green = *is_green,
                Fact::Verified { report, .. } if report.obstacle().is_none() => {
                    green &= report.verdict == Some(agent::Verdict::Pass);
                }
                Fact::IterationStarted { .. } => green = false,
                Fact::Committed { .. } => prop_assert!(green),
                _ => {}
            }
        }
        prop_assert!(tries.values().all(|tries| *tries <= 4), "{tries:?}");
    }

    /// When the world answers without fail, every run ends by itself.
    #[test]
    fn a_run_always_comes_to_an_end(
        rolls in proptest::collection::vec(any::<u8>(), 0..300),
        slots in 1u32..4,
        max in 1u32..12,
        tasks in 0u64..8,
    ) {
        let integrates = slots > 1;
        let policy = Policy { integrates, ..policy(Picker::Loop, slots, Some(max)) };
        let policy = with_fallback(policy, tasks as usize % 3);
        let policy = if max % 2 == 0 { verified(policy) } else { policy };
        let policy = if tasks % 2 == 0 { published(policy) } else { policy };
        let world = play(policy, tasks, &rolls, None)?;
        prop_assert!(world.state.ended, "{:#?}", world.events.last());
    }
}
