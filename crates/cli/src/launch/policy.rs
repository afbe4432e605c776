//! Builds the policy of a run from preset, settings and options.

use ralph_core::policy::strategy::{Model, Strategy, TierNames};
use ralph_core::run::{
    Approve, Budget, Claims, Commits, EndsWhen, Exhausted, FallbackAgent, OnRed, Picker, Policy,
    Unit, Verifier, VerifierModel,
};
use ralph_core::task::RetryLimit;
use ralph_engine::agents::Profile;
use ralph_engine::plan_file::DONE_MARKER;
use ralph_engine::run::AgentProgram;

use super::{Interrupted, Mode, RunOptions, misfits, resume};
use crate::config::{Config, Key, Preset, Text, key};
use crate::error::{CliError, Result};

/// How often ralph retries a failing store or git operation.
const PORT_RETRIES: u32 = 4;
/// Maximum number of sessions of `ralph plan`.
const PLAN_SESSIONS: u32 = 10;
/// After this many sessions in a row without a change, the plan is finished.
const PLAN_IDLE: u32 = 2;

/// Maximum number of sessions for the texts of a feature; `None` means no limit.
pub(crate) fn sessions_for_texts(config: &Config) -> Option<u32> {
    let set = config.get(key::LOOP_MAX_ITERATIONS);
    let most = set.map_or(PLAN_SESSIONS, count);
    (most > 0).then_some(most)
}

/// Maximum number of sessions of a new run with this preset; `None` means no limit.
pub(super) fn sessions_of(options: &RunOptions, config: &Config, preset: &Preset) -> Option<u32> {
    let call = options.interrupted.as_deref();
    resume::sessions(options, config, count(preset.get(key::LOOP_MAX_ITERATIONS)), None, call)
}

pub(super) fn policy(
    options: &RunOptions,
    config: &Config,
    preset: &Preset,
    (agent, fallback, verifier): (&AgentProgram, &[AgentProgram], Option<&AgentProgram>),
    (own, call): (Option<&Interrupted>, Option<&Interrupted>),
) -> Result<Policy> {
    let limit = |by_preset| resume::sessions(options, config, by_preset, own, call);
    let picker = match config.or_preset(key::LOOP_PICK, preset) {
        "agent" => Picker::Agent,
        _ => Picker::Loop,
    };
    let in_file = preset.source != "store";
    let unit = if in_file && picker == Picker::Agent { Unit::Iteration } else { Unit::Task };
    if options.mode == Mode::Build {
        misfits::refuse(config, preset, unit, picker)?;
    }
    let ends = ends(config, preset, unit);
    let jobs = count(config.get(key::LOOP_JOBS));
    let apart = config.get(key::LOOP_WORKS_IN) == Some("worktree");
    let integrates = !in_file && picker == Picker::Loop && (jobs > 1 || apart);
    let jobs = if integrates { jobs } else { 1 };
    let policy = Policy {
        preset: preset.name.to_owned(),
        mode: "build".to_owned(),
        picker,
        slots: jobs,
        max_sessions: limit(count(preset.get(key::LOOP_MAX_ITERATIONS))),
        retries: retries(config, preset.get(key::LOOP_MAX_RETRIES)),
        give_up_after: count(config.get(key::LOOP_GIVE_UP_AFTER)),
        breaker: count(config.or_preset(key::LOOP_MAX_CONSECUTIVE_ERRORS, preset)),
        idle: count(config.or_preset(key::LOOP_IDLE_THRESHOLD, preset)),
        claims: match config.get(key::COMPLETION_CLAIMS) {
            "confirm" => Claims::Confirm,
            _ => Claims::Trust,
        },
        budget: resume::budget(config, budget(config), call.or(own)),
        strategy: strategy(config, preset)?,
        tiers: tiers(config, agent.agent),
        fallback: fallback.iter().map(|program| stands_in(config, program)).collect(),
        login: login(agent.agent, verifier.map(|verifier| verifier.agent)),
        integrates,
        port_retries: PORT_RETRIES,
        graph: preset.graph,
        unit,
        on_red: match config.or_preset(key::LOOP_ON_RED, preset) {
            "feed" => OnRed::Feed,
            _ => OnRed::Retry,
        },
        on_exhausted: match config.or_preset(key::LOOP_ON_EXHAUSTED, preset) {
            "stop" => Exhausted::Stop,
            _ => Exhausted::Fail,
        },
        commits: match config.or_preset(key::LOOP_COMMIT, preset) {
            "agent" => Commits::Agent,
            "session" if unit == Unit::Iteration => Commits::EveryIteration,
            _ => Commits::WhenDone,
        },
        promises: match unit {
            _ if !ends.contains(&EndsWhen::Marker) => vec![],
            Unit::Iteration => config.texts(key::COMPLETION_BUILD_PROMISES),
            Unit::Task => vec![DONE_MARKER.to_owned()],
        },
        ends,
        unchanged_fails: unit == Unit::Iteration,
        always_judged: false,
        asks: false,
        verify: verifier.map(|verifier| {
            let name = verifier.agent.name.to_owned();
            let model = verifier_model(config, agent, verifier);
            Box::new(Verifier { agent: name, model })
        }),
        approve: match config.get(key::COMPLETION_APPROVE) {
            "always" if unit == Unit::Task => Approve::Always,
            "risky" if unit == Unit::Task => Approve::Risky,
            _ => Approve::Never,
        },
        approve_lines: config.get(key::COMPLETION_APPROVE_LINES),
        strict_exit: config.get(key::LOOP_STRICT_EXIT),
        publish: super::publish::wanted(options, config, preset),
    };
    if options.mode == Mode::Build {
        return Ok(policy);
    }
    // Sessions without a plan: each is tried again until it has its result.
    let policy = Policy {
        picker: Picker::Agent,
        idle: 0,
        unit: Unit::Iteration,
        on_red: OnRed::Retry,
        on_exhausted: Exhausted::Stop,
        commits: Commits::EveryIteration,
        ends: vec![EndsWhen::Session],
        promises: vec![],
        unchanged_fails: false,
        ..policy
    };
    Ok(match &options.mode {
        Mode::Build => policy,
        Mode::Feature(work) => work.policy(policy, limit(PLAN_SESSIONS)),
        Mode::Plan => Policy {
            mode: "plan".to_owned(),
            max_sessions: limit(PLAN_SESSIONS),
            retries: retries(config, RetryLimit::AtMost(3)),
            idle: config.get(key::LOOP_IDLE_THRESHOLD).map_or(PLAN_IDLE, count),
            ends: vec![EndsWhen::Marker],
            promises: config.texts(key::COMPLETION_PLAN_PROMISES),
            // No plan exists yet that could confirm it.
            claims: Claims::Trust,
            ..policy
        },
        Mode::Prompt(_) => Policy {
            mode: "prompt".to_owned(),
            max_sessions: Some(1),
            retries: RetryLimit::AtMost(0),
            ..policy
        },
    })
}

/// Whether a verifier checks work that passed the gates. Plans and single prompts have no verifier.
pub(super) fn verifies(options: &RunOptions, config: &Config, preset: &Preset) -> bool {
    options.mode == Mode::Build && config.or_preset(key::LOOP_VERIFY, preset)
}

/// An agent that works while the preferred one is at a limit, with its own names for the models.
fn stands_in(config: &Config, program: &AgentProgram) -> FallbackAgent {
    FallbackAgent { name: program.agent.name.to_owned(), tiers: tiers(config, program.agent) }
}

fn verifier_model(config: &Config, agent: &AgentProgram, verifier: &AgentProgram) -> VerifierModel {
    let name = config.get(key::MODELS_VERIFY);
    // Model names of one agent mean nothing to another.
    let same = agent.agent.name == verifier.agent.name;
    match name {
        "" if same => VerifierModel::Same,
        "" => VerifierModel::Own,
        name => {
            let tiers = tiers(config, verifier.agent);
            tiers.sent(&Model::named(name)).map_or(VerifierModel::Own, VerifierModel::Named)
        }
    }
}

/// What makes the run complete. If ralph picks, nothing is left to start once every task is finished, so that always
/// ends it.
fn ends(config: &Config, preset: &Preset, unit: Unit) -> Vec<EndsWhen> {
    let named = config.or_preset(key::LOOP_ENDS_WHEN, preset);
    let finished = match preset.source {
        "store" => EndsWhen::Settled,
        _ => EndsWhen::Ticked,
    };
    let finished = (unit == Unit::Task || named.contains(&"finished")).then_some(finished);
    let marker = named.contains(&"marker").then_some(EndsWhen::Marker);
    finished.into_iter().chain(marker).collect()
}

pub(super) fn budget(config: &Config) -> Budget {
    Budget {
        micro_usd: micro(config.get(key::BUDGET_USD)),
        tokens: config.get(key::BUDGET_TOKENS),
        time_ms: config
            .get(key::BUDGET_TIME)
            .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        task_micro_usd: micro(config.get(key::BUDGET_TASK_USD)),
        day_micro_usd: micro(config.get(key::BUDGET_DAY_USD)),
    }
}

/// A number of a setting, which is never too large.
pub(super) fn count(set: u64) -> u32 {
    u32::try_from(set).unwrap_or(u32::MAX)
}

fn micro(usd: f64) -> u64 {
    // Negative amounts are refused when they are read. A tiny budget is not the same as no limit.
    let rounded = (usd * 1e6).round() as u64;
    if usd > 0.0 { rounded.max(1) } else { 0 }
}

fn retries(config: &Config, by_preset: RetryLimit) -> RetryLimit {
    let never = |name| name == "never";
    // A number in this call overrides a rule from the settings.
    if !config.by_flag(key::LOOP_MAX_RETRIES)
        && config.get(key::LOOP_ON_EXHAUSTED).is_some_and(never)
    {
        return RetryLimit::Unlimited;
    }
    config.get(key::LOOP_MAX_RETRIES).unwrap_or(by_preset)
}

fn strategy(config: &Config, preset: &Preset) -> Result<Strategy> {
    let name = config.or_preset(key::MODELS_STRATEGY, preset);
    Strategy::named(name, config.get(key::MODELS_FIXED)).map_err(|error| {
        CliError::run_failed(error.to_string())
            .hint("name one: --model opus, or --model-strategy cost-optimized")
    })
}

/// How the user logs in to the agents of a run.
fn login(agent: &Profile, verifier: Option<&Profile>) -> String {
    let how = agent.login.how.to_owned();
    match verifier.filter(|verifier| verifier.name != agent.name && !verifier.login.how.is_empty())
    {
        None => how,
        Some(verifier) if how.is_empty() => verifier.login.how.to_owned(),
        Some(verifier) => {
            format!("{how}; for the verifier {}: {}", verifier.name, verifier.login.how)
        }
    }
}

fn tiers(config: &Config, agent: &Profile) -> TierNames {
    let name = |key: Key<Text>| match agent.name {
        // A recording knows no model.
        "script" => "",
        name => config.get_for(key, name),
    };
    // By its size, or by Claude's name for it.
    let one_of = |size, tier, usual: &str| {
        let named = [name(size), name(tier)].into_iter().find(|name| !name.is_empty());
        named.unwrap_or(usual).to_owned()
    };
    let usual = agent.tiers;
    TierNames {
        opus: one_of(key::MODELS_LARGE, key::MODELS_OPUS, usual.large),
        sonnet: one_of(key::MODELS_MEDIUM, key::MODELS_SONNET, usual.medium),
        haiku: one_of(key::MODELS_SMALL, key::MODELS_HAIKU, usual.small),
        agent_chooses: usual.large.is_empty(),
    }
}
