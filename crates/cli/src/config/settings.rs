//! The table of all settings.

use super::kind::{Kind, Refusal};
use super::presets::Retries;
use super::typed::{Amount, Flag, Key, List, OrPreset, Size, Text, Time, Whole};
use super::value::{Given, Lit, Value};

/// The commented reference of all settings, for users to read and copy from.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The agents that stand for `<agent>` in a key.
pub const AGENTS: [&str; 1] = ["claude"];

/// The segment of a key that stands for each of [`AGENTS`].
pub(super) const PLACEHOLDER: &str = "<agent>";

/// Older spellings of keys, as they may appear at the top of a file.
pub(super) const ALIASES: [(&str, &str); 2] =
    [("claude_path", "agent.claude.path"), ("build_prompt", "prompts.build")];

/// Other spellings of values: the setting, the spelling, and the value that it stands for.
const SPELLINGS: [(&str, &str, &str); 6] = [
    ("preset", "tasks", "pick"),
    ("loop.commit", "agent+leftovers", "done"),
    ("loop.commit", "loop-if-done", "done"),
    ("loop.commit", "loop", "session"),
    ("loop.ends_when", "settled", "finished"),
    ("loop.ends_when", "ticked", "finished"),
];

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The dotted key, as in `loop.jobs`. One segment may be `<agent>`.
    pub key: &'static str,
    /// Which values it accepts.
    pub kind: Kind,
    /// Its value if it is not set.
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
    /// The repo's file may not, because it decides which program runs, what that program may do, or with whose key. A
    /// resumed run keeps it.
    Program,
    /// The repo's file may only name a path inside the repo, and outside `.git`.
    BeneathRepo,
    /// It becomes an argument of a program: the repo's file may not turn it into an option.
    Argument,
    /// The repo's file may make it stricter but not looser.
    RaiseOnly,
}

const MANY: u64 = u32::MAX as u64;
const COUNT: Kind = Kind::Whole { min: 0, max: MANY };
const FROM_ONE: Kind = Kind::Whole { min: 1, max: MANY };
const TOKENS: Kind = Kind::Whole { min: 0, max: i64::MAX as u64 };
const TEXTS: Kind = Kind::List(&Kind::Text);
const PATTERNS: Kind = Kind::List(&Kind::Pattern);
const HOSTS: Kind = Kind::List(&Kind::Host);
const PATHS: Kind = Kind::List(&Kind::Path);
const PRESETS: Kind = Kind::Choice(&["auto", "branches", "progress", "checklist", "dag", "pick"]);
const EVERY_AGENT: Kind = Kind::Choice(&["claude", "script"]);
const COMMIT: Kind = Kind::Choice(&["done", "session", "agent"]);
const ON_RED: Kind = Kind::Choice(&["retry", "feed"]);
const ON_EXHAUSTED: Kind = Kind::Choice(&["fail", "stop", "never"]);
const PICK: Kind = Kind::Choice(&["loop", "agent"]);
const ENDS_WHEN: Kind = Kind::List(&Kind::Choice(&["finished", "marker"]));
const WORKS_IN: Kind = Kind::Choice(&["place", "worktree"]);
const STRATEGY: Kind =
    Kind::Choice(&["agent", "fixed", "cost-optimized", "escalate", "plan-then-execute"]);
const LEVEL: Kind = Kind::Choice(&["auto", "full", "seatbelt", "landlock", "none"]);
const HOME: Kind = Kind::Choice(&["allowlist", "masked"]);
const NETWORK: Kind = Kind::Choice(&["allow-all", "allowlist", "deny"]);
const NOTICES: Kind = Kind::List(&Kind::Choice(&["done", "failed", "question", "limit", "end"]));

const BY_PRESET: Lit = Lit::Text("preset");
const EMPTY: Lit = Lit::Text("");
const NONE: Lit = Lit::List(&[]);
const FALSE: Lit = Lit::Bool(false);
const TRUE: Lit = Lit::Bool(true);
const FREE: Lit = Lit::Amount(0.0);

const fn row(key: &'static str, kind: Kind, default: Lit) -> Setting {
    Setting { key, kind, default, reach: Reach::Anywhere }
}

const fn by_preset(key: &'static str, kind: &'static Kind) -> Setting {
    row(key, Kind::OrPreset(kind), BY_PRESET)
}

const fn argument(key: &'static str) -> Setting {
    Setting { key, kind: Kind::Text, default: EMPTY, reach: Reach::Argument }
}

const fn guarded(key: &'static str, kind: Kind, default: Lit, reach: Reach) -> Setting {
    Setting { key, kind, default, reach }
}

/// Turns one row per setting into the table and, in `key`, a typed name for each.
macro_rules! settings {
    ($($name:ident: $type:ty = $row:expr;)*) => {
        /// Every setting, in the order in which they are shown.
        pub static SETTINGS: &[Setting] = &[$($row),*];

        /// The settings by name and type.
        pub mod key {
            use super::*;

            $(#[expect(missing_docs, reason = "the row says it")]
            pub const $name: Key<$type> = {
                const ROW: Setting = $row;
                Key::new(ROW.key)
            };)*
        }

        /// Whether the type of each setting fits its kind, by the default.
        #[cfg(test)]
        pub(super) fn misfits() -> Vec<&'static str> {
            let fits: Vec<fn(&Setting) -> bool> =
                vec![$(|row| <$type as super::typed::Typed>::read(row.default.view()).is_some()),*];
            let rows = SETTINGS.iter().zip(fits);
            rows.filter(|(row, fits)| !fits(row)).map(|(row, _)| row.key).collect()
        }
    };
}

// One line per setting reads as a table, so rustfmt must not wrap it.
#[rustfmt::skip]
settings! {
    PRESET: Text = row("preset", PRESETS, Lit::Text("auto"));

    LOOP_MAX_ITERATIONS: OrPreset<Whole> = by_preset("loop.max_iterations", &COUNT);
    LOOP_MAX_RETRIES: OrPreset<Retries> = by_preset("loop.max_retries", &Kind::CountOrUnlimited);
    LOOP_GIVE_UP_AFTER: Whole = row("loop.give_up_after", FROM_ONE, Lit::Whole(10));
    LOOP_MAX_CONSECUTIVE_ERRORS: OrPreset<Whole> = by_preset("loop.max_consecutive_errors", &COUNT);
    LOOP_IDLE_THRESHOLD: OrPreset<Whole> = by_preset("loop.idle_threshold", &COUNT);
    LOOP_JOBS: Whole = row("loop.jobs", FROM_ONE, Lit::Whole(1));
    LOOP_RECENT_THREADS: Whole = row("loop.recent_threads", COUNT, Lit::Whole(5));
    LOOP_VERIFY: OrPreset<Flag> = by_preset("loop.verify", &Kind::Bool);
    LOOP_LEARN: Flag = row("loop.learn", Kind::Bool, TRUE);
    LOOP_STRICT_EXIT: Flag = row("loop.strict_exit", Kind::Bool, FALSE);
    LOOP_COMMIT: OrPreset<Text> = by_preset("loop.commit", &COMMIT);
    LOOP_ON_RED: OrPreset<Text> = by_preset("loop.on_red", &ON_RED);
    LOOP_ON_EXHAUSTED: OrPreset<Text> = by_preset("loop.on_exhausted", &ON_EXHAUSTED);
    LOOP_PICK: OrPreset<Text> = by_preset("loop.pick", &PICK);
    LOOP_ENDS_WHEN: OrPreset<List> = by_preset("loop.ends_when", &ENDS_WHEN);
    LOOP_WORKS_IN: OrPreset<Text> = by_preset("loop.works_in", &WORKS_IN);

    COMPLETION_CLAIMS: Text = row("completion.claims", Kind::Choice(&["trust", "confirm"]), Lit::Text("trust"));
    COMPLETION_PLAN_PROMISES: List = row("completion.plan_promises", TEXTS, Lit::List(&["COMPLETE", "Tastes Like Burning."]));
    COMPLETION_BUILD_PROMISES: List = row("completion.build_promises", TEXTS, Lit::List(&["COMPLETE"]));

    AGENT_NAME: Text = row("agent.name", EVERY_AGENT, Lit::Text("claude"));
    AGENT_BUILD: Text = row("agent.build", EVERY_AGENT, EMPTY);
    AGENT_PLAN: Text = row("agent.plan", EVERY_AGENT, EMPTY);
    AGENT_VERIFY: Text = row("agent.verify", EVERY_AGENT, EMPTY);
    AGENT_ENV: List = guarded("agent.env", TEXTS, NONE, Reach::UserOnly);
    AGENT_TIMEOUT: OrPreset<Time> = by_preset("agent.timeout", &Kind::Duration);
    AGENT_SILENCE: Time = row("agent.silence", Kind::Duration, Lit::Text("15m"));
    AGENT_AFTER_RESULT: Time = row("agent.after_result", Kind::Duration, Lit::Text("30s"));
    AGENT_GRACE: Time = row("agent.grace", Kind::Duration, Lit::Text("5s"));
    AGENT_ALLOWED_TOOLS: List = guarded("agent.allowed_tools", TEXTS, NONE, Reach::Program);

    AGENT_PATH: Text = guarded("agent.<agent>.path", Kind::Path, EMPTY, Reach::Program);
    AGENT_ARGS: List = guarded("agent.<agent>.args", TEXTS, NONE, Reach::Program);

    AGENT_SCRIPT_PATH: Text = guarded("agent.script.path", Kind::Path, EMPTY, Reach::Program);

    MODELS_STRATEGY: OrPreset<Text> = by_preset("models.strategy", &STRATEGY);
    MODELS_FIXED: Text = argument("models.fixed");
    MODELS_VERIFY: Text = argument("models.verify");

    MODELS_OPUS: Text = argument("models.<agent>.opus");
    MODELS_SONNET: Text = argument("models.<agent>.sonnet");
    MODELS_HAIKU: Text = argument("models.<agent>.haiku");
    MODELS_LARGE: Text = argument("models.<agent>.large");
    MODELS_MEDIUM: Text = argument("models.<agent>.medium");
    MODELS_SMALL: Text = argument("models.<agent>.small");

    PROMPTS_PLAN: Text = guarded("prompts.plan", Kind::Path, Lit::Text("PROMPT_plan.md"), Reach::BeneathRepo);
    PROMPTS_BUILD: Text = guarded("prompts.build", Kind::Path, Lit::Text("PROMPT_build.md"), Reach::BeneathRepo);
    PROMPTS_BUDGET_TOKENS: Whole = row("prompts.budget_tokens", TOKENS, Lit::Whole(20_000));

    GATES_CLEAN: Flag = row("gates.clean", Kind::Bool, FALSE);
    GATES_BASELINE: Flag = row("gates.baseline", Kind::Bool, FALSE);
    GATES_PROTECTED: List = row("gates.protected", PATTERNS, NONE);
    GATES_ON_PROTECTED: Text = row("gates.on_protected", Kind::Choice(&["report", "reject"]), Lit::Text("report"));

    BUDGET_USD: Amount = guarded("budget.usd", Kind::Amount, FREE, Reach::RaiseOnly);
    BUDGET_TOKENS: Whole = guarded("budget.tokens", TOKENS, Lit::Whole(0), Reach::RaiseOnly);
    BUDGET_TIME: Time = guarded("budget.time", Kind::Duration, EMPTY, Reach::RaiseOnly);
    BUDGET_TASK_USD: Amount = guarded("budget.task_usd", Kind::Amount, FREE, Reach::RaiseOnly);
    BUDGET_DAY_USD: Amount = guarded("budget.day_usd", Kind::Amount, FREE, Reach::RaiseOnly);

    GIT_PR_BASE: Text = argument("git.pr_base");
    GIT_AUTO_PUSH: Flag = row("git.auto_push", Kind::Bool, FALSE);
    GIT_AUTO_PR: OrPreset<Flag> = by_preset("git.auto_pr", &Kind::Bool);
    GIT_PROTECTED_BRANCHES: List = row("git.protected_branches", TEXTS, Lit::List(&["main", "master", "production"]));
    GIT_NEVER_COMMIT: List = row("git.never_commit", PATTERNS, NONE);
    GIT_REMOTE: Text = guarded("git.remote", Kind::Text, Lit::Text("origin"), Reach::Argument);
    GIT_PUSH_REMOTE: Text = argument("git.push_remote");
    GIT_PR_REMOTE: Text = argument("git.pr_remote");

    GIT_WORKTREE_NAME: Text = row("git.worktree.name", Kind::Text, EMPTY);
    GIT_WORKTREE_EMAIL: Text = row("git.worktree.email", Kind::Text, EMPTY);
    GIT_WORKTREE_SIGNING_KEY: Text = guarded("git.worktree.signing_key", Kind::Text, EMPTY, Reach::Program);
    GIT_WORKTREE_SSH_KEY: Text = guarded("git.worktree.ssh_key", Kind::Path, EMPTY, Reach::Program);
    GIT_WORKTREE_DIR: Text = guarded("git.worktree.dir", Kind::Path, Lit::Text(".worktrees"), Reach::BeneathRepo);
    GIT_WORKTREE_SETUP: Text = row("git.worktree.setup", Kind::Text, EMPTY);
    GIT_WORKTREE_KEEP: Text = row("git.worktree.keep", Kind::Choice(&["until-merged", "always", "never"]), Lit::Text("until-merged"));

    PUBLISH_WATCH: Time = guarded("publish.watch", Kind::Duration, Lit::Text("0s"), Reach::UserOnly);
    PUBLISH_AUTHORS: List = guarded("publish.authors", TEXTS, NONE, Reach::UserOnly);
    PUBLISH_ROUNDS: Whole = guarded("publish.rounds", COUNT, Lit::Whole(5), Reach::UserOnly);
    PUBLISH_HOSTS: List = guarded("publish.hosts", HOSTS, NONE, Reach::UserOnly);

    SANDBOX_LEVEL: Text = guarded("sandbox.level", LEVEL, Lit::Text("auto"), Reach::RaiseOnly);
    SANDBOX_WRITABLE: List = guarded("sandbox.writable", PATHS, NONE, Reach::UserOnly);
    SANDBOX_READABLE: List = guarded("sandbox.readable", PATHS, NONE, Reach::UserOnly);
    SANDBOX_SOCKETS: List = guarded("sandbox.sockets", PATHS, NONE, Reach::UserOnly);
    SANDBOX_HOME: Text = guarded("sandbox.home", HOME, Lit::Text("allowlist"), Reach::UserOnly);

    SANDBOX_NETWORK_POLICY: Text = guarded("sandbox.network.policy", NETWORK, Lit::Text("allow-all"), Reach::RaiseOnly);
    SANDBOX_NETWORK_ALLOWED: List = guarded("sandbox.network.allowed", TEXTS, NONE, Reach::RaiseOnly);

    SANDBOX_LIMITS_PROCESSES: Whole = guarded("sandbox.limits.processes", FROM_ONE, Lit::Whole(4096), Reach::RaiseOnly);
    SANDBOX_LIMITS_MEMORY: Size = guarded("sandbox.limits.memory", Kind::Size, EMPTY, Reach::RaiseOnly);
    SANDBOX_LIMITS_FILE_SIZE: Size = guarded("sandbox.limits.file_size", Kind::Size, EMPTY, Reach::RaiseOnly);

    STORE_PATH: Text = guarded("store.path", Kind::Path, Lit::Text(".ralph/progress.db"), Reach::BeneathRepo);

    LOGS_DIR: Text = guarded("logs.dir", Kind::Path, Lit::Text(".ralph/logs"), Reach::BeneathRepo);
    LOGS_KEEP_RUNS: Whole = row("logs.keep_runs", COUNT, Lit::Whole(50));
    LOGS_KEEP_SIZE: Size = row("logs.keep_size", Kind::Size, Lit::Text("2GiB"));
    LOGS_RAW: Flag = row("logs.raw", Kind::Bool, TRUE);

    RECOVER_KEEP: Time = guarded("recover.keep", Kind::Duration, Lit::Text("30d"), Reach::UserOnly);
    RECOVER_KEEP_SIZE: Size = guarded("recover.keep_size", Kind::Size, Lit::Text("1GB"), Reach::UserOnly);

    NOTIFY_ON: List = row("notify.on", NOTICES, Lit::List(&["done", "failed", "question", "limit", "end"]));
    NOTIFY_DESKTOP: Flag = row("notify.desktop", Kind::Bool, FALSE);
    NOTIFY_SOUND: Flag = row("notify.sound", Kind::Bool, FALSE);
    NOTIFY_WEBHOOK: Text = guarded("notify.webhook", Kind::Text, EMPTY, Reach::UserOnly);
    NOTIFY_COMMAND: Text = guarded("notify.command", Kind::Text, EMPTY, Reach::UserOnly);

    TRUST_PATHS: List = guarded("trust.paths", PATHS, NONE, Reach::UserOnly);

    UI_MODE: Text = row("ui.mode", Kind::Choice(&["auto", "plain", "json"]), Lit::Text("auto"));
    UI_COLOR: Text = row("ui.color", Kind::Choice(&["auto", "always", "never"]), Lit::Text("auto"));
}

impl Setting {
    /// The key without its last segment; empty for a setting outside any section.
    pub fn section(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// Whether `""` is a value: if it is the default, it means that nothing is set.
    pub(super) fn admits_empty(&self) -> bool {
        matches!(self.default, Lit::Text("")) || matches!(self.kind, Kind::Text | Kind::List(_))
    }

    /// The value that `given` means for this setting.
    pub(super) fn read(&self, given: &Given<'_>) -> Result<Value, Refusal> {
        match given {
            Given::Text("") | Given::Plain("") if matches!(self.default, Lit::Text("")) => {
                Ok(Value::Text(String::new()))
            }
            given => self.kind.read(&self.respelled(given)),
        }
    }

    /// The same with other spellings replaced.
    fn respelled<'a>(&self, given: &Given<'a>) -> Given<'a> {
        let meant = |text: &str| {
            let mut all = SPELLINGS.iter().filter(|(key, _, _)| *key == self.key);
            all.find(|(_, spelling, _)| *spelling == text).map(|(_, _, value)| *value)
        };
        match given {
            Given::Text(text) => Given::Text(meant(text).unwrap_or(text)),
            Given::Plain(text) => Given::Plain(meant(text).unwrap_or(text)),
            Given::List(items) => {
                Given::List(items.iter().map(|item| self.respelled(item)).collect())
            }
            given => given.clone(),
        }
    }
}
