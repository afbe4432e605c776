//! Flags shared by the commands that start sessions, and the settings they override. A flag that stands for a
//! setting becomes an entry in the topmost layer of the settings, and nothing else.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::{Flags, Key, Text, key};
use crate::error::{CliError, Result};
use crate::launch::DisplayKind;

/// Flags for working on branches.
#[derive(Debug, Args, Default)]
pub(super) struct LaneArgs {
    /// Work on this branch of the plan only
    #[arg(long, value_name = "BRANCH")]
    pub(super) branch: Option<String>,
    #[command(flatten)]
    pub(super) jobs: JobArgs,
}

/// Flags for parallel sessions.
#[derive(Debug, Args, Default)]
pub(super) struct JobArgs {
    /// Run up to N sessions in parallel [default: loop.jobs, or all branches of the plan]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Work on one branch at a time
    #[arg(long, conflicts_with = "jobs")]
    sequential: bool,
}

impl JobArgs {
    fn lay(&self, flags: &mut Flags) {
        flags.given("--jobs", key::LOOP_JOBS, self.jobs);
        flags.given("--sequential", key::LOOP_JOBS, self.sequential.then_some(1));
    }
}

/// Flags of every command that runs the loop.
#[derive(Debug, Args)]
pub(super) struct LoopArgs {
    /// Show what would happen, without doing it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The preset: branches, progress or checklist (a markdown plan), dag or pick (the task database)
    /// [default: the plan decides]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Have a second, read-only session check work that passed the gates
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Let the gates alone decide
    #[arg(long, overrides_with = "verify")]
    no_verify: bool,
    /// Ask sessions to write down what they learned
    #[arg(long, overrides_with = "no_learn")]
    learn: bool,
    /// Do not ask sessions to write down what they learned
    #[arg(long, overrides_with = "learn")]
    no_learn: bool,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    #[command(flatten)]
    pub(super) session: SessionArgs,
}

impl LoopArgs {
    /// The first given flag that only applies to building, for commands that do not always build.
    pub(super) fn first_of_building(&self, lanes: &LaneArgs) -> Option<&'static str> {
        [
            ("--branch", lanes.branch.is_some()),
            ("--jobs", lanes.jobs.jobs.is_some()),
            ("--sequential", lanes.jobs.sequential),
            ("--dry-run", self.dry_run),
            ("--preset", self.preset.is_some()),
            ("--verify", self.verify),
            ("--no-verify", self.no_verify),
            ("--learn", self.learn),
            ("--no-learn", self.no_learn),
        ]
        .into_iter()
        .find_map(|(flag, given)| given.then_some(flag))
    }
}

/// Flags that limit a run, and its page.
#[derive(Debug, Args, Default)]
pub(super) struct LimitArgs {
    /// Run one session, then stop
    #[arg(long)]
    pub(super) once: bool,
    /// Start over instead of resuming an interrupted run
    #[arg(long)]
    pub(super) new: bool,
    /// Maximum number of sessions
    #[arg(long, value_name = "N", conflicts_with = "unlimited")]
    max_iterations: Option<u32>,
    /// No limit on sessions
    #[arg(long)]
    unlimited: bool,
    /// Maximum number of retries per task or iteration: a number or unlimited
    #[arg(long, value_name = "N")]
    max_retries: Option<String>,
    /// How ralph chooses models: agent, fixed, cost-optimized, escalate or plan-then-execute
    #[arg(long, value_name = "STRATEGY")]
    model_strategy: Option<String>,
    /// Use this prompt template instead of the default one
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// Exit non-zero when tasks failed or remain
    #[arg(long)]
    strict_exit: bool,
    /// Show the run in a browser too: print the link of its page (see ralph serve)
    #[arg(long)]
    pub(super) serve: bool,
}

/// Flags of commands that start several sessions.
#[derive(Debug, Args)]
pub(super) struct SessionArgs {
    #[command(flatten)]
    each: OneSessionArgs,
    /// Stop once sessions have cost this many dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
}

/// Flags of commands that start at least one session.
#[derive(Debug, Args)]
pub(super) struct OneSessionArgs {
    /// The agent to use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Use this model for every session
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Maximum time per session, such as 45m
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// The tools that the agent may use, separated by commas or spaces
    #[arg(long, value_name = "TOOLS")]
    allow: Option<String>,
    /// The sandbox level: auto, full, seatbelt, landlock or none
    #[arg(long, value_name = "LEVEL", conflicts_with = "no_sandbox")]
    sandbox: Option<String>,
    /// Run sessions and gates without a sandbox
    #[arg(long)]
    no_sandbox: bool,
    /// How to display the run
    #[arg(long, value_name = "DISPLAY")]
    ui: Option<DisplayKind>,
    /// Trust this clone: let its files decide what runs, without asking (see ralph trust)
    #[arg(long)]
    trust: bool,
}

impl SessionArgs {
    /// The first given flag, for calls that start no session.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let mut flags = Flags::default();
        self.lay(&mut flags).map_or(Some("--budget"), |()| flags.first())
    }

    pub(super) fn lay(&self, flags: &mut Flags) -> Result<()> {
        self.each.lay(flags);
        flags.given("--budget", key::BUDGET_USD, self.budget.map(budget).transpose()?);
        Ok(())
    }
}

impl OneSessionArgs {
    pub(super) fn lay(&self, flags: &mut Flags) {
        if let Some(agent) = &self.agent {
            flags.set("--agent", key::AGENT_NAME, agent);
            // The flag names the working agent; the verifier keeps its own setting.
            flags.set("--agent", key::AGENT_BUILD, "");
            flags.set("--agent", key::AGENT_PLAN, "");
        }
        if let Some(model) = &self.model {
            flags.set("--model", key::MODELS_FIXED, model);
            flags.set("--model", key::MODELS_STRATEGY, "fixed");
        }
        flags.given("--timeout", key::AGENT_TIMEOUT, self.timeout.as_ref());
        flags.given("--allow", key::AGENT_ALLOWED_TOOLS, self.allow.as_deref().map(tools));
        flags.given("--sandbox", key::SANDBOX_LEVEL, self.sandbox.as_ref());
        flags.given("--no-sandbox", key::SANDBOX_LEVEL, self.no_sandbox.then_some("none"));
        flags.given("--ui", key::UI_MODE, self.ui.map(DisplayKind::name));
        flags.trust |= self.trust;
    }
}

/// The settings that the flags of a loop override.
pub(super) fn of_loop(
    sessions: Option<u32>,
    args: &LoopArgs,
    jobs: &JobArgs,
    template: Key<Text>,
    folder: &Path,
) -> Result<Flags> {
    let mut flags = of_limits(sessions, &args.limits, &args.session, template, folder)?;
    flags.given("--preset", key::PRESET, args.preset.as_ref());
    jobs.lay(&mut flags);
    flags.given("--verify", key::LOOP_VERIFY, args.verify.then_some(true));
    flags.given("--no-verify", key::LOOP_VERIFY, args.no_verify.then_some(false));
    flags.given("--learn", key::LOOP_LEARN, args.learn.then_some(true));
    flags.given("--no-learn", key::LOOP_LEARN, args.no_learn.then_some(false));
    Ok(flags)
}

/// The settings that the limits and session flags override. `template` is the setting that `--prompt` stands for,
/// `folder` is where the command was called.
pub(super) fn of_limits(
    sessions: Option<u32>,
    limits: &LimitArgs,
    session: &SessionArgs,
    template: Key<Text>,
    folder: &Path,
) -> Result<Flags> {
    if sessions.is_some() && (limits.max_iterations.is_some() || limits.unlimited) {
        return Err(CliError::usage("the number of sessions was given twice"));
    }
    let mut flags = Flags::default();
    session.lay(&mut flags)?;
    match (&limits.model_strategy, &session.each.model) {
        (Some(strategy), Some(model)) if strategy != "fixed" => {
            return Err(usage!(
                "--model {model} and --model-strategy {strategy} contradict each other"
            )
            .hint("a strategy chooses the model itself; omit one of the two")
            .hint("set the models it chooses from: --set models.claude.opus=NAME"));
        }
        (strategy, _) => flags.given("--model-strategy", key::MODELS_STRATEGY, strategy.as_ref()),
    }
    flags.given("N", key::LOOP_MAX_ITERATIONS, sessions);
    flags.given("--max-iterations", key::LOOP_MAX_ITERATIONS, limits.max_iterations);
    flags.given("--unlimited", key::LOOP_MAX_ITERATIONS, limits.unlimited.then_some(0));
    flags.given("--max-retries", key::LOOP_MAX_RETRIES, limits.max_retries.as_ref());
    flags.given("--strict-exit", key::LOOP_STRICT_EXIT, limits.strict_exit.then_some(true));
    if let Some(prompt) = &limits.prompt {
        let path = std::path::absolute(folder.join(prompt))?;
        let path =
            path.to_str().ok_or_else(|| usage!("--prompt: {} is not UTF-8", path.display()))?;
        flags.set("--prompt", template, path);
    }
    Ok(flags)
}

fn budget(usd: f64) -> Result<f64> {
    match usd.is_finite() && usd > 0.0 {
        true => Ok(usd),
        false => Err(CliError::usage("a budget must be more than 0 dollars")),
    }
}

fn tools(text: &str) -> String {
    text.split([',', ' ']).filter(|tool| !tool.is_empty()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Config, Sources};

    #[derive(Parser)]
    struct Call {
        #[command(flatten)]
        jobs: JobArgs,
        #[command(flatten)]
        options: LoopArgs,
    }

    /// The settings after a call with these flags.
    fn settings(flags: &[&str]) -> Config {
        let call = Call::try_parse_from([&["ralph"], flags].concat()).unwrap();
        let folder = Path::new("/repo/sub");
        let flags = of_loop(None, &call.options, &call.jobs, key::PROMPTS_BUILD, folder).unwrap();
        Config::load(Sources { flags, ..Sources::default() }).unwrap().config
    }

    #[test]
    fn every_flag_that_means_a_setting_is_that_setting() {
        for (flags, key, value) in [
            (&["--preset", "tasks"][..], "preset", "\"pick\""),
            (&["--agent", "script"], "agent.name", "\"script\""),
            (&["--model", "opus"], "models.fixed", "\"opus\""),
            (&["--model", "opus"], "models.strategy", "\"fixed\""),
            (&["--model-strategy", "escalate"], "models.strategy", "\"escalate\""),
            (&["--max-iterations", "7"], "loop.max_iterations", "7"),
            (&["--unlimited"], "loop.max_iterations", "0"),
            (&["--max-retries", "unlimited"], "loop.max_retries", "\"unlimited\""),
            (&["--timeout", "45m"], "agent.timeout", "\"45m\""),
            (&["--budget", "2.5"], "budget.usd", "2.5"),
            (&["--verify"], "loop.verify", "true"),
            (&["--no-verify"], "loop.verify", "false"),
            (&["--verify", "--no-verify"], "loop.verify", "false"),
            (&["--learn"], "loop.learn", "true"),
            (&["--no-learn"], "loop.learn", "false"),
            (
                &["--allow", "Read, Edit Bash"],
                "agent.allowed_tools",
                "[\"Read\", \"Edit\", \"Bash\"]",
            ),
            (&["--prompt", "my.md"], "prompts.build", "\"/repo/sub/my.md\""),
            (&["--sandbox", "landlock"], "sandbox.level", "\"landlock\""),
            (&["--no-sandbox"], "sandbox.level", "\"none\""),
            (&["-j", "3"], "loop.jobs", "3"),
            (&["--sequential"], "loop.jobs", "1"),
            (&["--ui", "json"], "ui.mode", "\"json\""),
            (&["--strict-exit"], "loop.strict_exit", "true"),
        ] {
            let config = settings(flags);
            assert_eq!(config.view(key).to_string(), value, "{flags:?}");
            assert!(config.asked_for().contains_key(key), "{flags:?}");
        }
    }

    #[test]
    fn a_model_and_a_strategy_that_chooses_models_contradict_each_other() {
        let call = ["ralph", "--model", "opus", "--model-strategy", "escalate"];
        let call = Call::try_parse_from(call).unwrap();
        let folder = Path::new(".");
        let refused = of_loop(None, &call.options, &call.jobs, key::PROMPTS_BUILD, folder);
        assert_eq!(refused.unwrap_err().exit, crate::exit_codes::Exit::Usage);
        let config = settings(&["--model", "opus", "--model-strategy", "fixed"]);
        assert_eq!(config.get(key::MODELS_FIXED), "opus");
    }
}
