//! The model of each session over a whole run.

use super::*;
use crate::policy::strategy::Model;

fn tiers() -> TierNames {
    TierNames {
        opus: "o".to_owned(),
        sonnet: "s".to_owned(),
        haiku: "h".to_owned(),
        agent_chooses: false,
    }
}

fn with(strategy: Strategy) -> Policy {
    Policy { strategy, tiers: tiers(), retries: RetryLimit::Unlimited, ..dag() }
}

/// The models of the sessions of a run.
fn models(strategy: Strategy, tasks: usize, plays: &[Play]) -> String {
    let world = World::run(with(strategy), tasks, plays);
    let names = world.models.iter().map(|model| model.clone().unwrap_or_else(|| "-".to_owned()));
    names.collect::<Vec<_>>().join(" ")
}

fn hints(tier: &str) -> Play {
    says(&format!("<task-done>{{id}}</task-done><next-model>{tier}</next-model>"))
}

fn notes(text: &str) -> Play {
    Play { notes: vec![text.to_owned()], ..says("not done") }
}

#[test]
fn s1_17_fixed_is_the_same_in_every_session() {
    let fixed = || Strategy::Fixed(Model::named("my-model"));
    let crash = ends(EndClass::Crash);
    assert_eq!(models(fixed(), 2, &[done(), crash, done()]), "my-model my-model my-model");
}

#[test]
fn without_a_strategy_no_model_is_sent() {
    assert_eq!(models(Strategy::Agent, 2, &[done(), done()]), "- -");
}

#[test]
fn s1_18_cost_optimized_over_a_run() {
    let steady = models(Strategy::CostOptimized, 5, &vec![done(); 5]);
    assert_eq!(steady, "s s s h h");
    // An error word since the last done beats any number of successes.
    let plays = [done(), done(), done(), notes("the build failed"), done(), done()];
    assert_eq!(models(Strategy::CostOptimized, 5, &plays), "s s s h o s");
}

#[test]
fn s1_18_a_red_gate_and_a_crash_are_error_signals_until_the_next_done() {
    let trouble = [
        done().gate(false),
        ends(EndClass::Crash),
        ends(EndClass::Timeout),
        done().red("12 != 13"),
    ];
    for trouble in trouble {
        let plays = [trouble, done().gate(true), done().gate(true)];
        assert_eq!(models(Strategy::CostOptimized, 2, &plays), "s o s", "{:?}", plays[0]);
    }
    let nothing_wrong = [says("not yet"), done().gate(true), done()];
    assert_eq!(models(Strategy::CostOptimized, 2, &nothing_wrong), "s s s");
}

#[test]
fn s1_19_a_red_gate_raises_escalate_to_the_middle_and_a_crash_to_the_top() {
    let plays = [done().gate(false), done().gate(true), done().gate(true)];
    assert_eq!(models(Strategy::Escalate, 2, &plays), "h s s");
    let plays = [ends(EndClass::Crash), done().gate(true), done().gate(true)];
    assert_eq!(models(Strategy::Escalate, 2, &plays), "h o o");
}

#[test]
fn where_iterations_are_judged_red_gates_are_error_signals_too() {
    let policy =
        Policy { strategy: Strategy::CostOptimized, tiers: tiers(), ..iterations::checklist() };
    let world = World::run(
        policy,
        2,
        &[says("a").gate(false), says("b").gate(true), iterations::complete().gate(true)],
    );
    let names: Vec<&str> = world.models.iter().flatten().map(String::as_str).collect();
    assert_eq!(names[..3], ["s", "o", "s"]);
}

#[test]
fn s1_19_escalate_over_a_run() {
    let plays = [
        done(),
        notes("found a bug"),
        done(),
        done(),
        notes("I am stuck"),
        done(),
        notes("an error"),
        done(),
    ];
    assert_eq!(models(Strategy::Escalate, 5, &plays), "h h s s s o o o");
}

#[test]
fn s1_20_plan_then_execute_over_a_run() {
    let plays = [says("a plan"), done(), notes("it crashed: panic"), done()];
    assert_eq!(models(Strategy::PlanThenExecute, 2, &plays), "o s s s");
}

#[test]
fn s1_21_s1_22_a_hint_holds_for_one_iteration_and_is_recorded_where_it_differs() {
    let plays = [hints("opus"), hints("sonnet"), hints("gpt"), done()];
    let world = World::run(with(Strategy::CostOptimized), 4, &plays);
    let started: Vec<(Option<&str>, Option<&str>)> = world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::IterationStarted { model, overridden, .. } => {
                Some((model.as_deref(), overridden.as_deref()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        (Some("s"), None),
        (Some("o"), Some("s")),
        // The strategy would have chosen the same.
        (Some("s"), None),
        // An unknown name is not a hint.
        (Some("h"), None),
    ];
    assert_eq!(started, expected);
}

#[test]
fn s1_21_a_hint_is_the_only_way_down_for_escalate() {
    let down = says("<next-model>haiku</next-model>");
    let plays = [notes("stuck"), done(), down, done(), notes("a bug"), done()];
    assert_eq!(models(Strategy::Escalate, 3, &plays), "h o o h h s");
}

#[test]
fn s1_22_the_first_model_is_the_strategys_and_later_ones_know_what_happened() {
    for (strategy, first) in [
        (Strategy::CostOptimized, "s"),
        (Strategy::Escalate, "h"),
        (Strategy::PlanThenExecute, "o"),
    ] {
        assert_eq!(models(strategy, 1, &[done()]), first);
    }
}

#[test]
fn a_failure_that_repeats_itself_gets_a_larger_model() {
    let red = |text: &str| done().red(text);
    let same = [red("wrong: 1"), red("wrong: 2"), red("wrong: 3"), done().gate(true)];
    assert_eq!(models(Strategy::CostOptimized, 1, &same), "s o o o");
    assert_eq!(models(Strategy::Escalate, 1, &same), "h s o o");
    assert_eq!(models(Strategy::PlanThenExecute, 1, &same), "o s o o");
    assert_eq!(models(Strategy::Fixed(Model::named("haiku")), 1, &same), "h h h h");
    assert_eq!(models(Strategy::Agent, 1, &same), "- - - -");
    // Another failure is progress of a kind, and the next task starts where the strategy says.
    let other = [red("wrong: a"), red("wrong: b"), red("wrong: c"), done().gate(true), done()];
    assert_eq!(models(Strategy::CostOptimized, 2, &other), "s o o o s");
    let next = [red("wrong: a"), red("wrong: a"), done().gate(true), done()];
    assert_eq!(models(Strategy::CostOptimized, 2, &next), "s o o s");
    let world = World::run(with(Strategy::PlanThenExecute), 1, &same);
    let raised: Vec<_> = world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::IterationStarted { overridden, raised, .. } => {
                Some((overridden.as_deref(), *raised))
            }
            _ => None,
        })
        .collect();
    assert_eq!(raised, [(None, None), (None, None), (Some("s"), Some(2)), (Some("s"), Some(3))]);
}
