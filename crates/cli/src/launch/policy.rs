//! Preset, settings and options to one policy.

use ralph_core::policy::strategy::{Model, Strategy, TierNames};
use ralph_core::run::{
    Budget, Claims, Commits, EndsWhen, Exhausted, OnRed, Picker, Policy, Unit, Verifier,
    VerifierModel,
};
use ralph_core::task::RetryLimit;
use ralph_engine::plan_file::DONE_MARKER;

use super::{Found, Interrupted, Mode, RunOptions, resume};
use crate::config::{self, Config, Preset, Retries, View};
use crate::error::CliError;

/// How often a failing store or git is tried again.
const PORT_RETRIES: u32 = 4;
/// How many sessions a plan may take.
const PLAN_SESSIONS: u32 = 10;
/// Sessions in a row that change nothing: then the plan is as good as it gets.
const PLAN_IDLE: u32 = 2;

/// How many sessions the texts of a feature may take; `None` is no limit.
pub(crate) fn sessions_for_texts(config: &Config) -> Option<u32> {
    let set = config.unless_preset("loop.max_iterations", Config::whole);
    let most = set.map_or(PLAN_SESSIONS, |set| u32::try_from(set).unwrap_or(u32::MAX));
    (most > 0).then_some(most)
}

/// How many sessions a run of this preset may have that begins anew; `None` is no limit.
pub(super) fn sessions_of(options: &RunOptions, config: &Config, preset: &Preset) -> Option<u32> {
    let call = options.interrupted.as_deref();
    resume::sessions(options, config, preset.max_iterations, None, call)
}

pub(super) fn policy(
    options: &RunOptions,
    config: &Config,
    preset: &Preset,
    (agent, verifier): (&Found, Option<&Found>),
    (own, call): (Option<&Interrupted>, Option<&Interrupted>),
) -> Result<Policy, CliError> {
    let limit = |by_preset| resume::sessions(options, config, by_preset, own, call);
    let number = |key: &str, otherwise: u32| {
        let set = config.unless_preset(key, Config::whole);
        set.map_or(otherwise, |set| u32::try_from(set).unwrap_or(u32::MAX))
    };
    let text = |key: &str, otherwise: &'static str| {
        config.unless_preset(key, Config::text).map_or(otherwise.to_owned(), str::to_owned)
    };
    let picker = match text("loop.pick", preset.pick).as_str() {
        "agent" => Picker::Agent,
        _ => Picker::Loop,
    };
    let in_file = text("loop.source", preset.source) != "store";
    let unit = if in_file && picker == Picker::Agent { Unit::Iteration } else { Unit::Task };
    let ends = ends(config, preset);
    let jobs = u32::try_from(config.whole("loop.jobs")).unwrap_or(u32::MAX);
    let apart = text("loop.works_in", "place") == "worktree";
    let integrates = !in_file && picker == Picker::Loop && (jobs > 1 || apart);
    let jobs = if integrates { jobs } else { 1 };
    let words = |key: &str| config.list(key).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let policy = Policy {
        preset: preset.name.to_owned(),
        mode: "build".to_owned(),
        picker,
        slots: jobs,
        max_sessions: limit(preset.max_iterations),
        retries: retries(config, preset.max_retries),
        give_up_after: u32::try_from(config.whole("loop.give_up_after")).unwrap_or(u32::MAX),
        breaker: number("loop.max_consecutive_errors", preset.breaker),
        idle: number("loop.idle_threshold", preset.idle),
        claims: match config.text("completion.claims") {
            "confirm" => Claims::Confirm,
            _ => Claims::Trust,
        },
        budget: resume::budget(config, budget(config), call.or(own)),
        strategy: strategy(config, preset)?,
        tiers: tiers(config, agent.profile.name()),
        integrates,
        port_retries: PORT_RETRIES,
        unit,
        on_red: match text("loop.on_red", preset.on_red).as_str() {
            "feed" => OnRed::Feed,
            _ => OnRed::Retry,
        },
        on_exhausted: match text("loop.on_exhausted", preset.on_exhausted).as_str() {
            "stop" => Exhausted::Stop,
            _ => Exhausted::Fail,
        },
        commits: match (text("loop.commit", preset.commit).as_str(), unit) {
            ("agent", _) => Commits::Agent,
            ("loop", Unit::Iteration) => Commits::EveryIteration,
            _ => Commits::WhenDone,
        },
        promises: match unit {
            _ if !ends.contains(&EndsWhen::Marker) => vec![],
            Unit::Iteration => words("completion.build_promises"),
            Unit::Task => vec![DONE_MARKER.to_owned()],
        },
        ends,
        unchanged_fails: unit == Unit::Iteration,
        always_judged: false,
        asks: false,
        verify: verifier.map(|verifier| {
            let name = verifier.profile.name().to_owned();
            let model = verifier_model(config, agent, verifier);
            Box::new(Verifier { agent: name, model })
        }),
        strict_exit: config.boolean("loop.strict_exit"),
        publish: super::publish::wanted(options, config, preset),
    };
    Ok(match &options.mode {
        Mode::Build => policy,
        Mode::Feature(work) => {
            let sessions = limit(PLAN_SESSIONS);
            work.policy(policy, sessions)
        }
        Mode::Plan => Policy {
            mode: "plan".to_owned(),
            picker: Picker::Agent,
            max_sessions: limit(PLAN_SESSIONS),
            retries: retries(config, Retries::AtMost(3)),
            idle: number("loop.idle_threshold", PLAN_IDLE),
            unit: Unit::Iteration,
            on_red: OnRed::Retry,
            on_exhausted: Exhausted::Stop,
            commits: Commits::EveryIteration,
            ends: vec![EndsWhen::Marker],
            promises: words("completion.plan_promises"),
            unchanged_fails: false,
            // There is no plan yet that could confirm it.
            claims: Claims::Trust,
            ..policy
        },
        Mode::Prompt(_) => Policy {
            mode: "prompt".to_owned(),
            picker: Picker::Agent,
            max_sessions: Some(1),
            retries: RetryLimit::AtMost(0),
            idle: 0,
            unit: Unit::Iteration,
            on_red: OnRed::Retry,
            on_exhausted: Exhausted::Stop,
            commits: Commits::EveryIteration,
            ends: vec![EndsWhen::Session],
            promises: vec![],
            unchanged_fails: false,
            ..policy
        },
    })
}

/// Whether a verifier looks at what the gates let through. Neither a plan nor a single prompt is judged
/// by one.
pub(super) fn verifies(options: &RunOptions, config: &Config, preset: &Preset) -> bool {
    let set = config.unless_preset("loop.verify", Config::boolean);
    options.mode == Mode::Build && set.unwrap_or(preset.verify)
}

fn verifier_model(config: &Config, agent: &Found, verifier: &Found) -> VerifierModel {
    let name = config.text("models.verify");
    // A name that means something to one agent means nothing to another.
    let same = agent.profile.name() == verifier.profile.name();
    match name {
        "" if same => VerifierModel::Same,
        "" => VerifierModel::Own,
        name => {
            let tiers = tiers(config, verifier.profile.name());
            VerifierModel::Named(tiers.name(&Model::named(name)).to_owned())
        }
    }
}

fn ends(config: &Config, preset: &Preset) -> Vec<EndsWhen> {
    let set = config.unless_preset("loop.ends_when", Config::list);
    let named = set.unwrap_or_else(|| preset.ends.to_vec());
    let end = |name: &str| match name {
        "settled" => Some(EndsWhen::Settled),
        "ticked" => Some(EndsWhen::Ticked),
        "marker" => Some(EndsWhen::Marker),
        // `loop.idle_threshold` says when.
        _ => None,
    };
    named.into_iter().filter_map(end).collect()
}

/// What the settings say may be spent.
pub(super) fn budget(config: &Config) -> Budget {
    Budget {
        micro_usd: micro(config.amount("budget.usd")),
        tokens: config.whole("budget.tokens"),
        time_ms: config
            .duration("budget.time")
            .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        task_micro_usd: micro(config.amount("budget.task_usd")),
        day_micro_usd: micro(config.amount("budget.day_usd")),
    }
}

fn micro(usd: f64) -> u64 {
    // A price below nothing is refused where it is read. Very little is not the same as no limit.
    let rounded = (usd * 1e6).round() as u64;
    if usd > 0.0 { rounded.max(1) } else { 0 }
}

fn retries(config: &Config, by_preset: Retries) -> RetryLimit {
    let never = |name| name == "never";
    // A number that was given now counts more than a rule that was set some time.
    if !config.by_flag("loop.max_retries")
        && config.unless_preset("loop.on_exhausted", Config::text).is_some_and(never)
    {
        return RetryLimit::Unlimited;
    }
    let limit = match config.view("loop.max_retries") {
        View::Text("preset") => by_preset,
        _ => config::retry_limit(config),
    };
    match limit {
        Retries::AtMost(most) => RetryLimit::AtMost(most),
        Retries::Unlimited => RetryLimit::Unlimited,
    }
}

fn strategy(config: &Config, preset: &Preset) -> Result<Strategy, CliError> {
    let set = config.unless_preset("models.strategy", Config::text);
    let name = set.unwrap_or(preset.strategy);
    Strategy::named(name, config.text("models.fixed")).map_err(|error| {
        CliError::failed(format!("Build failed: {error}"))
            .hint("name one: --model opus, or --model-strategy cost-optimized")
    })
}

fn tiers(config: &Config, agent: &str) -> TierNames {
    let name = |tier: &str| match config::AGENTS.contains(&agent) {
        true => config.text(&format!("models.{agent}.{tier}")).to_owned(),
        false => String::new(),
    };
    // By its size, or by Claude's name for it.
    let either = |size: &str, tier: &str| {
        Some(name(size)).filter(|n| !n.is_empty()).unwrap_or_else(|| name(tier))
    };
    TierNames {
        opus: either("large", "opus"),
        sonnet: either("medium", "sonnet"),
        haiku: either("small", "haiku"),
    }
}
