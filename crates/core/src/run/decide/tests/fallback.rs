//! Runs with several agents: one goes on while another is at a limit.

use super::*;
use crate::run::FallbackAgent;

const HOUR: u64 = 3_600_000;

/// The preferred agent is `script`; `codex` and perhaps `gemini` stand in for it.
fn with(names: &[&str]) -> Policy {
    let agent =
        |name: &&str| FallbackAgent { name: (*name).to_owned(), tiers: TierNames::default() };
    Policy { fallback: names.iter().map(agent).collect(), ..dag() }
}

fn window(resets_in: u64) -> Play {
    Play { resets_in: Some(resets_in), ..ends(EndClass::UsageWindow) }
}

impl World {
    /// Which agent replaced which, and the limit for which it did.
    fn switches(&self) -> Vec<(&str, &str, Option<Class>)> {
        let found = self.facts.iter().filter_map(|fact| match fact {
            Fact::AgentSwitched { from, to, limit, .. } => {
                Some((from.as_str(), to.as_str(), limit.map(|limit| limit.class)))
            }
            _ => None,
        });
        found.collect()
    }

    fn waits(&self) -> Vec<&Wait> {
        let found = self.facts.iter().filter_map(|fact| match fact {
            Fact::WaitStarted { wait, .. } => Some(wait),
            _ => None,
        });
        found.collect()
    }

    /// Lets time pass after each session.
    fn play_slowly(&mut self, plays: &[Play], each: u64) {
        self.begin();
        let mut plays = plays.iter();
        while !self.pending.is_empty() {
            let effect = self.pending.remove(0);
            let was_session = matches!(effect, Effect::RunSession { .. });
            if let Some(input) = self.answer(effect, &mut plays) {
                self.send(&input);
            }
            if was_session {
                self.now = self.now.plus_millis(each);
            }
        }
        assert_eq!(plays.len(), 0, "sessions that the loop did not start");
    }
}

#[test]
fn at_a_usage_limit_the_next_agent_goes_on_at_once_and_nothing_is_spent() {
    let world = World::run(with(&["codex"]), 1, &[window(HOUR), done()]);
    assert_eq!((world.ended_as(), &world.agents[..]), ("Complete", &[0, 1][..]));
    assert_eq!(world.switches(), [("script", "codex", Some(Class::UsageWindow))]);
    assert_eq!(world.waits(), [] as [&Wait; 0]);
    assert_eq!((world.tasks[0].1, world.outcome().iterations), (0, 1));
}

#[test]
fn after_its_reset_the_preferred_agent_works_again() {
    let mut world = World::new(with(&["codex"]), 3);
    world.play_slowly(&[window(HOUR), done(), done(), done()], HOUR / 3);
    assert_eq!(world.agents, [0, 1, 1, 0]);
    let last = world.switches()[1];
    assert_eq!(last, ("codex", "script", None));
}

#[test]
fn without_a_known_reset_ralph_tries_the_preferred_agent_again_after_the_probe_wait() {
    let mut world = World::new(with(&["codex"]), 4);
    let limit = || ends(EndClass::UsageWindow);
    world.play_slowly(&[limit(), done(), limit(), done(), done(), done()], 61_000);
    // One minute after the first limit, two after the second.
    assert_eq!(world.agents, [0, 1, 0, 1, 1, 0]);
}

#[test]
fn with_every_agent_at_a_limit_the_run_waits_for_the_earliest_reset() {
    let plays = [window(3 * HOUR), window(2 * HOUR), window(HOUR), done()];
    let world = World::run(with(&["codex", "gemini"]), 1, &plays);
    assert_eq!((world.ended_as(), &world.agents[..]), ("Complete", &[0, 1, 2, 2][..]));
    let waits = world.waits();
    assert!(
        matches!(waits[..], [Wait::Limit { agent: Some(agent), reset_known: true, .. }] if agent == "gemini"),
        "{waits:?}"
    );
    assert_eq!((world.tasks[0].1, world.outcome().iterations), (0, 1));
}

#[test]
fn a_hiccup_switches_nothing_and_the_third_in_a_row_does() {
    for end in [EndClass::Overload, EndClass::Network, EndClass::RateLimit] {
        let world = World::run(with(&["codex"]), 1, &[ends(end), ends(end), done()]);
        assert_eq!((&world.agents[..], world.switches().len()), (&[0, 0, 0][..], 0));
        let plays = [ends(end), ends(end), ends(end), done()];
        let world = World::run(with(&["codex"]), 1, &plays);
        assert_eq!(world.agents, [0, 0, 0, 1]);
        assert_eq!(world.waits().len(), 2, "it waits for the first two alone");
    }
}

#[test]
fn an_agent_out_of_credit_is_replaced_and_its_session_does_not_count() {
    let world = World::run(with(&["codex"]), 2, &[ends(EndClass::Billing), done(), done()]);
    assert_eq!((world.ended_as(), &world.agents[..]), ("Complete", &[0, 1, 1][..]));
    assert_eq!(world.outcome().iterations, 2);
    let all = [ends(EndClass::Billing), ends(EndClass::Billing)];
    let world = World::run(with(&["codex"]), 2, &all);
    assert_eq!((world.ended_as(), world.sessions), ("AgentFailed", 2));
}

#[test]
fn a_missing_login_stops_the_run_all_the_same() {
    let world = World::run(with(&["codex"]), 2, &[ends(EndClass::Auth)]);
    assert_eq!((world.ended_as(), world.sessions), ("AgentFailed", 1));
}

#[test]
fn a_limit_of_the_verifier_switches_nothing() {
    let by = [(EndClass::UsageWindow, ""), verifying::PASS];
    let play = verifying::verified(done().gate(true), &by);
    let world = World::run(verifying::with_verifier(with(&["codex"])), 1, &[play]);
    assert_eq!((world.ended_as(), world.switches().len()), ("Complete", 0));
}

#[test]
fn models_by_size_follow_the_agent_and_a_name_is_for_the_first_alone() {
    let tiers = TierNames { sonnet: "gpt-medium".to_owned(), ..TierNames::default() };
    let fallback = vec![FallbackAgent { name: "codex".to_owned(), tiers }];
    let policy = Policy { strategy: Strategy::CostOptimized, fallback, ..dag() };
    let world = World::run(policy.clone(), 1, &[window(HOUR), done()]);
    assert_eq!(world.models, [Some("sonnet".to_owned()), Some("gpt-medium".to_owned())]);
    let named = crate::policy::strategy::Model::named("claude-9");
    let world = World::run(
        Policy { strategy: Strategy::Fixed(named), ..policy },
        1,
        &[window(HOUR), done()],
    );
    assert_eq!(world.models, [Some("claude-9".to_owned()), None]);
}
