//! The table of all settings.

use super::kind::{Kind, Refusal};
use super::value::{Given, Lit, Value};

/// The commented reference of all settings, for people to read and copy from.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The agents that stand for `<agent>` in a key.
pub const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "acp"];

/// The segment of a key that stands for each of [`AGENTS`].
pub(super) const PLACEHOLDER: &str = "<agent>";

/// Older spellings of keys, as they may stand at the top of a file.
pub(super) const ALIASES: [(&str, &str); 2] =
    [("claude_path", "agent.claude.path"), ("build_prompt", "prompts.build")];

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The dotted key, as in `loop.jobs`. One segment may be `<agent>`.
    pub key: &'static str,
    /// Which values it accepts.
    pub kind: Kind,
    /// Its value when nobody sets it.
    pub default: Lit,
    /// Who may set it.
    pub reach: Reach,
}

/// What the repo's own file may do with a setting. A repo is not always the user's own work, so
/// its file cannot loosen what protects the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Every layer may set it.
    Anywhere,
    /// The repo's file may not.
    UserOnly,
    /// The repo's file may only name a path beneath the repo.
    BeneathRepo,
    /// The repo's file may make it stricter but not looser.
    RaiseOnly,
}

const MANY: u64 = u32::MAX as u64;
const COUNT: Kind = Kind::Whole { min: 0, max: MANY };
const FROM_ONE: Kind = Kind::Whole { min: 1, max: MANY };
const TOKENS: Kind = Kind::Whole { min: 0, max: i64::MAX as u64 };
const TEXTS: Kind = Kind::List(&Kind::Text);
const PATTERNS: Kind = Kind::List(&Kind::Pattern);
const PATHS: Kind = Kind::List(&Kind::Path);
const PRESETS: Kind = Kind::Choice(&["auto", "branches", "progress", "checklist", "dag", "pick"]);
const EVERY_AGENT: Kind =
    Kind::Choice(&["claude", "codex", "gemini", "opencode", "acp", "command", "script"]);
const COMMIT: Kind = Kind::Choice(&["agent+leftovers", "agent", "loop", "loop-if-done"]);
const ON_RED: Kind = Kind::Choice(&["retry", "feed"]);
const ON_EXHAUSTED: Kind = Kind::Choice(&["fail", "stop", "never"]);
const SOURCE: Kind = Kind::Choice(&["store", "branches", "progress", "checklist"]);
const PICK: Kind = Kind::Choice(&["loop", "agent"]);
const ENDS_WHEN: Kind = Kind::List(&Kind::Choice(&["settled", "ticked", "marker", "idle"]));
const WORKS_IN: Kind = Kind::Choice(&["place", "worktree"]);
const PROMPT: Kind = Kind::Choice(&["stdin", "system", "argument"]);
const STRATEGY: Kind =
    Kind::Choice(&["agent", "fixed", "cost-optimized", "escalate", "plan-then-execute"]);
const LEVEL: Kind = Kind::Choice(&["auto", "full", "seatbelt", "landlock", "none"]);
const NETWORK: Kind = Kind::Choice(&["allow-all", "allowlist", "deny"]);
const NOTICES: Kind = Kind::List(&Kind::Choice(&["done", "failed", "question", "limit", "end"]));

const PRESET: Lit = Lit::Text("preset");
const EMPTY: Lit = Lit::Text("");
const NONE: Lit = Lit::List(&[]);
const FALSE: Lit = Lit::Bool(false);
const TRUE: Lit = Lit::Bool(true);
const FREE: Lit = Lit::Amount(0.0);

const fn row(key: &'static str, kind: Kind, default: Lit) -> Setting {
    Setting { key, kind, default, reach: Reach::Anywhere }
}

const fn by_preset(key: &'static str, kind: &'static Kind) -> Setting {
    row(key, Kind::OrPreset(kind), PRESET)
}

const fn guarded(key: &'static str, kind: Kind, default: Lit, reach: Reach) -> Setting {
    Setting { key, kind, default, reach }
}

/// Every setting, in the order in which they are shown.
// A row per setting can be read as a table; broken over lines it cannot.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    row("preset", PRESETS, Lit::Text("auto")),

    by_preset("loop.max_iterations", &COUNT),
    by_preset("loop.max_retries", &Kind::CountOrUnlimited),
    row("loop.give_up_after", FROM_ONE, Lit::Whole(10)),
    by_preset("loop.max_consecutive_errors", &COUNT),
    by_preset("loop.idle_threshold", &COUNT),
    row("loop.jobs", FROM_ONE, Lit::Whole(1)),
    row("loop.recent_threads", COUNT, Lit::Whole(5)),
    by_preset("loop.verify", &Kind::Bool),
    row("loop.learn", Kind::Bool, TRUE),
    row("loop.strict_exit", Kind::Bool, FALSE),
    by_preset("loop.commit", &COMMIT),
    by_preset("loop.on_red", &ON_RED),
    by_preset("loop.on_exhausted", &ON_EXHAUSTED),
    by_preset("loop.source", &SOURCE),
    by_preset("loop.pick", &PICK),
    by_preset("loop.ends_when", &ENDS_WHEN),
    by_preset("loop.works_in", &WORKS_IN),
    by_preset("loop.prompt", &PROMPT),

    row("completion.claims", Kind::Choice(&["trust", "confirm"]), Lit::Text("trust")),
    row("completion.plan_promises", TEXTS, Lit::List(&["COMPLETE", "Tastes Like Burning."])),
    row("completion.build_promises", TEXTS, Lit::List(&["COMPLETE"])),

    row("agent.name", EVERY_AGENT, Lit::Text("claude")),
    row("agent.build", EVERY_AGENT, EMPTY),
    row("agent.plan", EVERY_AGENT, EMPTY),
    row("agent.verify", EVERY_AGENT, EMPTY),
    guarded("agent.env", TEXTS, NONE, Reach::UserOnly),
    by_preset("agent.timeout", &Kind::Duration),
    row("agent.silence", Kind::Duration, Lit::Text("15m")),
    row("agent.after_result", Kind::Duration, Lit::Text("30s")),
    row("agent.grace", Kind::Duration, Lit::Text("5s")),
    row("agent.allowed_tools", TEXTS, Lit::List(&["Bash", "Edit", "Write", "Read", "Glob", "Grep"])),
    row("agent.fallback", Kind::List(&EVERY_AGENT), NONE),

    row("agent.<agent>.path", Kind::Path, EMPTY),
    row("agent.<agent>.args", TEXTS, NONE),

    row("agent.script.path", Kind::Path, EMPTY),

    row("agent.command.argv", TEXTS, NONE),
    row("agent.command.prompt", Kind::Choice(&["stdin", "argument", "file"]), Lit::Text("stdin")),
    row("agent.command.output", Kind::Choice(&["text", "jsonl"]), Lit::Text("text")),
    row("agent.command.text_field", Kind::Text, EMPTY),
    row("agent.command.usage_field", Kind::Text, EMPTY),

    by_preset("models.strategy", &STRATEGY),
    row("models.fixed", Kind::Text, EMPTY),
    row("models.verify", Kind::Text, EMPTY),

    row("models.<agent>.opus", Kind::Text, EMPTY),
    row("models.<agent>.sonnet", Kind::Text, EMPTY),
    row("models.<agent>.haiku", Kind::Text, EMPTY),
    row("models.<agent>.large", Kind::Text, EMPTY),
    row("models.<agent>.medium", Kind::Text, EMPTY),
    row("models.<agent>.small", Kind::Text, EMPTY),

    row("prompts.plan", Kind::Path, Lit::Text("PROMPT_plan.md")),
    row("prompts.build", Kind::Path, Lit::Text("PROMPT_build.md")),
    row("prompts.budget_tokens", TOKENS, Lit::Whole(20_000)),

    row("gates.clean", Kind::Bool, FALSE),
    row("gates.baseline", Kind::Bool, FALSE),
    row("gates.protected", PATTERNS, NONE),
    row("gates.on_protected", Kind::Choice(&["report", "reject"]), Lit::Text("report")),

    row("budget.usd", Kind::Amount, FREE),
    row("budget.tokens", TOKENS, Lit::Whole(0)),
    row("budget.time", Kind::Duration, EMPTY),
    row("budget.task_usd", Kind::Amount, FREE),
    row("budget.day_usd", Kind::Amount, FREE),

    row("git.pr_base", Kind::Text, EMPTY),
    row("git.auto_push", Kind::Bool, FALSE),
    by_preset("git.auto_pr", &Kind::Bool),
    row("git.protected_branches", TEXTS, Lit::List(&["main", "master", "production"])),
    row("git.never_commit", PATTERNS, NONE),
    row("git.remote", Kind::Text, Lit::Text("origin")),

    row("git.worktree.name", Kind::Text, EMPTY),
    row("git.worktree.email", Kind::Text, EMPTY),
    row("git.worktree.signing_key", Kind::Text, EMPTY),
    row("git.worktree.ssh_key", Kind::Path, EMPTY),
    row("git.worktree.dir", Kind::Path, Lit::Text(".worktrees")),
    row("git.worktree.setup", Kind::Text, EMPTY),
    row("git.worktree.keep", Kind::Choice(&["until-merged", "always", "never"]), Lit::Text("until-merged")),

    guarded("sandbox.level", LEVEL, Lit::Text("auto"), Reach::RaiseOnly),
    guarded("sandbox.writable", PATHS, NONE, Reach::UserOnly),
    guarded("sandbox.readable", PATHS, NONE, Reach::UserOnly),

    guarded("sandbox.network.policy", NETWORK, Lit::Text("allow-all"), Reach::RaiseOnly),
    guarded("sandbox.network.allowed", TEXTS, NONE, Reach::RaiseOnly),

    guarded("sandbox.limits.processes", FROM_ONE, Lit::Whole(4096), Reach::RaiseOnly),
    guarded("sandbox.limits.memory", Kind::Size, EMPTY, Reach::RaiseOnly),
    guarded("sandbox.limits.file_size", Kind::Size, EMPTY, Reach::RaiseOnly),

    guarded("store.path", Kind::Path, Lit::Text(".ralph/progress.db"), Reach::BeneathRepo),

    guarded("logs.dir", Kind::Path, Lit::Text(".ralph/logs"), Reach::BeneathRepo),
    row("logs.keep_runs", COUNT, Lit::Whole(50)),
    row("logs.keep_size", Kind::Size, Lit::Text("2GiB")),
    row("logs.raw", Kind::Bool, TRUE),

    row("notify.on", NOTICES, Lit::List(&["done", "failed", "question", "limit", "end"])),
    row("notify.desktop", Kind::Bool, FALSE),
    row("notify.sound", Kind::Bool, FALSE),
    guarded("notify.webhook", Kind::Text, EMPTY, Reach::UserOnly),
    guarded("notify.command", Kind::Text, EMPTY, Reach::UserOnly),

    row("ui.mode", Kind::Choice(&["auto", "plain", "tui", "json"]), Lit::Text("auto")),
    row("ui.color", Kind::Choice(&["auto", "always", "never"]), Lit::Text("auto")),

    guarded("serve.bind", Kind::Text, Lit::Text("127.0.0.1"), Reach::UserOnly),
    row("serve.port", Kind::Whole { min: 0, max: 65_535 }, Lit::Whole(7171)),
];

impl Setting {
    /// The key without its last segment; empty for a setting outside any section.
    pub fn section(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// Whether `""` is a value: where it is the default, it means that nothing is set.
    pub(super) fn admits_empty(&self) -> bool {
        matches!(self.default, Lit::Text("")) || matches!(self.kind, Kind::Text | Kind::List(_))
    }

    /// The value that `given` means for this setting.
    pub(super) fn read(&self, given: &Given<'_>) -> Result<Value, Refusal> {
        match given {
            Given::Text("") | Given::Plain("") if matches!(self.default, Lit::Text("")) => {
                Ok(Value::Text(String::new()))
            }
            // The other name of the preset.
            Given::Text("tasks") | Given::Plain("tasks") if self.key == "preset" => {
                Ok(Value::Text("pick".to_owned()))
            }
            _ => self.kind.read(given),
        }
    }
}
