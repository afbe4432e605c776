//! The strategies, case by case.

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::*;

const HAIKU: Option<Model> = Some(Model::Tier(Tier::Haiku));
const SONNET: Option<Model> = Some(Model::Tier(Tier::Sonnet));
const OPUS: Option<Model> = Some(Model::Tier(Tier::Opus));

fn facts(log: &str, done_in_a_row: u32) -> ModelFacts {
    ModelFacts { iteration: 5, trouble: trouble_signals(log), done_in_a_row, same_failures: 0 }
}

fn at(iteration: u32) -> ModelFacts {
    ModelFacts { iteration, ..ModelFacts::default() }
}

fn hinted(hint: Tier) -> ModelState {
    ModelState { hint: Some(hint), ..ModelState::default() }
}

fn all() -> [Strategy; 5] {
    STRATEGIES.map(|name| Strategy::named(name, "my-model").unwrap())
}

#[test]
fn s1_17_fixed_is_always_the_model_that_was_named() {
    let strategy = Strategy::named("fixed", "my-model").unwrap();
    for facts in [at(1), facts("panic", 0), facts("", 9)] {
        let choice = choose(&strategy, &ModelState::default(), &facts);
        assert_eq!(choice.model, Some(Model::Named("my-model".into())));
        assert_eq!(choice.overridden, None);
    }
    assert_eq!(Strategy::named("fixed", " "), Err(StrategyError::NoModel));
}

#[test]
fn agent_sends_no_model() {
    for facts in [at(1), facts("panic", 0), facts("", 9)] {
        assert_eq!(choose(&Strategy::Agent, &ModelState::default(), &facts).model, None);
    }
}

#[test]
fn s1_18_cost_optimized_starts_in_the_middle() {
    let choose = |facts| choose(&Strategy::CostOptimized, &ModelState::default(), &facts).model;
    assert_eq!(choose(at(1)), SONNET);
    assert_eq!(choose(facts("went well", 2)), SONNET);
    assert_eq!(choose(facts("went well", 3)), HAIKU);
    assert_eq!(choose(facts("went well", 40)), HAIKU);
}

#[test]
fn s1_18_every_error_word_beats_any_number_of_completions() {
    for word in MODERATE.iter().chain(&SEVERE) {
        let facts = facts(&format!("the build: {word}."), 40);
        let choice = choose(&Strategy::CostOptimized, &ModelState::default(), &facts);
        assert_eq!(choice.model, OPUS, "{word}");
    }
}

#[test]
fn s1_19_escalate_climbs_and_stays() {
    let mut state = ModelState::default();
    let mut seen = Vec::new();
    for log in ["", "a bug", "", "STUCK again", "error", ""] {
        let choice = choose(&Strategy::Escalate, &state, &facts(log, 0));
        state = choice.state;
        seen.push(choice.model);
    }
    assert_eq!(seen, [HAIKU, SONNET, SONNET, OPUS, OPUS, OPUS]);
}

#[test]
fn s1_19_words_are_whole_and_in_any_case() {
    let found = |text| {
        let TroubleSignals { moderate, severe } = trouble_signals(text);
        (moderate, severe)
    };
    assert_eq!(found("Error: no such file"), (true, false));
    assert_eq!(found("it FAILED,then went on"), (true, false));
    assert_eq!(found("thread 'main' panic!"), (false, true));
    assert_eq!(found("a bug; cannot fix"), (true, true));
    for text in ["", "errors terrorise", "debugging", "crashed", "error_count is 0", "unstuck"] {
        assert_eq!(found(text), (false, false), "{text}");
    }
}

#[test]
fn s1_20_plan_then_execute_plans_once() {
    let choose = |n| choose(&Strategy::PlanThenExecute, &ModelState::default(), &at(n)).model;
    assert_eq!([1, 2, 3, 100].map(choose), [OPUS, SONNET, SONNET, SONNET]);
}

#[test]
fn s1_21_a_hint_beats_every_strategy_for_one_iteration() {
    for strategy in all() {
        let plain = choose(&strategy, &ModelState::default(), &at(2));
        let choice = choose(&strategy, &hinted(Tier::Opus), &at(2));
        assert_eq!(choice.model, OPUS, "{strategy:?}");
        assert_eq!(choice.state.hint, None);
        if strategy != Strategy::Escalate {
            assert_eq!(choose(&strategy, &choice.state, &at(2)).model, plain.model);
        }
    }
}

#[test]
fn the_same_failure_twice_goes_one_tier_up() {
    let failed = |same_failures| ModelFacts { same_failures, ..at(2) };
    let tiers = |strategy: &Strategy| -> Vec<Option<Model>> {
        let model = |times| choose(strategy, &ModelState::default(), &failed(times)).model;
        (0..6).map(model).collect()
    };
    let (haiku, sonnet, opus) =
        (Some(Model::Tier(Tier::Haiku)), SONNET, Some(Model::Tier(Tier::Opus)));
    let row = |all: [&Option<Model>; 6]| all.map(Clone::clone).to_vec();
    assert_eq!(tiers(&Strategy::Escalate), row([&haiku, &haiku, &sonnet, &sonnet, &opus, &opus]));
    let two = row([&sonnet, &sonnet, &opus, &opus, &opus, &opus]);
    assert_eq!(tiers(&Strategy::CostOptimized), two);
    assert_eq!(tiers(&Strategy::PlanThenExecute), two);
    assert_eq!(tiers(&Strategy::Agent), vec![None; 6]);
    let fixed = Strategy::Fixed(Model::Tier(Tier::Haiku));
    assert_eq!(tiers(&fixed), vec![haiku; 6]);
    // It is recorded as what it is; a hint still wins.
    let choice = choose(&Strategy::CostOptimized, &ModelState::default(), &failed(3));
    let instead = Overridden { strategy: SONNET, by: By::SameFailure(3) };
    assert_eq!(choice.overridden, Some(instead));
    let choice = choose(&Strategy::CostOptimized, &hinted(Tier::Haiku), &failed(3));
    assert_eq!(choice.model, Some(Model::Tier(Tier::Haiku)));
    let instead = Overridden { strategy: opus, by: By::Hint(Tier::Haiku) };
    assert_eq!(choice.overridden, Some(instead));
}

#[test]
fn s1_21_a_hint_sets_the_level_of_escalate_and_is_the_only_way_down() {
    let high = ModelState { level: Tier::Opus, hint: Some(Tier::Haiku) };
    let choice = choose(&Strategy::Escalate, &high, &facts("stuck", 0));
    assert_eq!(choice.model, HAIKU);
    assert_eq!(choose(&Strategy::Escalate, &choice.state, &at(3)).model, HAIKU);
    let up = choose(&Strategy::Escalate, &hinted(Tier::Opus), &at(2));
    assert_eq!(choose(&Strategy::Escalate, &up.state, &at(3)).model, OPUS);
}

#[test]
fn s1_22_the_first_model_comes_from_the_strategy() {
    let first = all().map(|strategy| choose(&strategy, &ModelState::default(), &at(1)).model);
    let named = Some(Model::Named("my-model".into()));
    assert_eq!(first, [None, named, SONNET, HAIKU, OPUS]);
}

#[test]
fn s1_22_an_override_is_reported_when_it_differs() {
    let choice = choose(&Strategy::CostOptimized, &hinted(Tier::Opus), &at(2));
    assert_eq!(choice.overridden, Some(Overridden { strategy: SONNET, by: By::Hint(Tier::Opus) }));
    let same = choose(&Strategy::CostOptimized, &hinted(Tier::Sonnet), &at(2));
    assert_eq!(same.overridden, None);
    let fixed = Strategy::named("fixed", "opus").unwrap();
    assert_eq!(choose(&fixed, &hinted(Tier::Opus), &at(2)).overridden, None);
    let agent = choose(&Strategy::Agent, &hinted(Tier::Haiku), &at(2));
    assert_eq!(agent.overridden, Some(Overridden { strategy: None, by: By::Hint(Tier::Haiku) }));
}

#[test]
fn tiers_are_called_what_the_table_says() {
    let names = TierNames { opus: "gpt-large".into(), ..TierNames::default() };
    assert_eq!(names.sent(&Model::Tier(Tier::Sonnet)).as_deref(), Some("sonnet"));
    let chooses = TierNames { agent_chooses: true, ..names.clone() };
    assert_eq!(chooses.sent(&Model::Tier(Tier::Opus)).as_deref(), Some("gpt-large"));
    assert_eq!(chooses.sent(&Model::Tier(Tier::Sonnet)), None);
    assert_eq!(names.name(&Model::Tier(Tier::Opus)), "gpt-large");
    assert_eq!(names.name(&Model::Tier(Tier::Sonnet)), "sonnet");
    assert_eq!(names.name(&Model::named("haiku")), "haiku");
    assert_eq!(names.name(&Model::named("claude-x-1")), "claude-x-1");
}

#[test]
fn an_unknown_strategy_is_named() {
    let error = Strategy::named("cheap", "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"cheap\" is not a model strategy; choose one of agent, fixed, cost-optimized, escalate, \
         plan-then-execute"
    );
}

#[test]
fn the_state_survives_being_written_down() {
    let state = ModelState { level: Tier::Sonnet, hint: Some(Tier::Opus) };
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(text, r#"{"level":"sonnet","hint":"opus"}"#);
    assert_eq!(serde_json::from_str::<ModelState>(&text).unwrap(), state);
}

proptest! {
    #[test]
    fn any_text_can_be_looked_at(a in any::<String>(), b in any::<String>()) {
        prop_assert_eq!(trouble_signals(&format!("{a}\n{b}")), trouble_signals(&a).and(trouble_signals(&b)));
    }
}
