//! The table of all settings.

use ralph_core::task::RetryLimit;

use super::setting_kind::{Refusal, SettingKind};
use super::typed::{Amount, Bool, Key, List, OrPreset, Size, Text, Time, Whole};
use super::value::{Given, Lit, Value};

/// The commented reference of all settings, for users to read and copy from.
pub(crate) const DEFAULTS: &str = include_str!("defaults.toml");

/// The agents that stand for `<agent>` in a key.
pub(crate) const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "acp"];

/// The segment of a key that stands for each of [`AGENTS`].
pub(super) const PLACEHOLDER: &str = "<agent>";

/// The segment of a key that stands for each agent that the user describes.
pub(super) const OWN: &str = "<name>";

/// The name by which lists of all keys show such an agent.
pub(super) const OWN_EXAMPLE: &str = "command";

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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The dotted key, as in `loop.jobs`. One segment may be `<agent>`.
    pub key: &'static str,
    pub kind: SettingKind,
    pub default: Lit,
    pub reach: Reach,
}

/// What the repo's own file may do with a setting. A repo is not always the user's own work, so
/// its file cannot loosen what protects the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Anywhere,
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
const COUNT: SettingKind = SettingKind::Whole { min: 0, max: MANY };
const FROM_ONE: SettingKind = SettingKind::Whole { min: 1, max: MANY };
const TOKENS: SettingKind = SettingKind::Whole { min: 0, max: i64::MAX as u64 };
const TEXTS: SettingKind = SettingKind::List(&SettingKind::Text);
const PATTERNS: SettingKind = SettingKind::List(&SettingKind::Pattern);
const PATHS: SettingKind = SettingKind::List(&SettingKind::Path);
const EVERY_AGENT: SettingKind =
    SettingKind::Agent(&["claude", "codex", "gemini", "opencode", "acp", "script"]);
const EXIT_CODES: SettingKind = SettingKind::List(&SettingKind::Whole { min: 1, max: 255 });

const BY_PRESET: Lit = Lit::Text("preset");
const EMPTY: Lit = Lit::Text("");
const NONE: Lit = Lit::List(&[]);
const FALSE: Lit = Lit::Bool(false);
const TRUE: Lit = Lit::Bool(true);
const FREE: Lit = Lit::Amount(0.0);

const fn row(key: &'static str, kind: SettingKind, default: Lit) -> Setting {
    Setting { key, kind, default, reach: Reach::Anywhere }
}

const fn by_preset(key: &'static str, kind: &'static SettingKind) -> Setting {
    row(key, SettingKind::OrPreset(kind), BY_PRESET)
}

const fn argument(key: &'static str) -> Setting {
    Setting { key, kind: SettingKind::Text, default: EMPTY, reach: Reach::Argument }
}

const fn guarded(key: &'static str, kind: SettingKind, default: Lit, reach: Reach) -> Setting {
    Setting { key, kind, default, reach }
}

/// Turns one row per setting into the table and, in `key`, a typed name for each.
macro_rules! settings {
    ($($name:ident: $type:ty = $row:expr;)*) => {
        /// Every setting, in the order in which they are shown.
        pub(super) static SETTINGS: &[Setting] = &[$($row),*];

        /// The settings by name and type.
        pub(crate) mod key {
            use super::*;

            $(pub(crate) const $name: Key<$type> = {
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
    PRESET: Text = row("preset", SettingKind::Choice(&["auto", "branches", "progress", "checklist", "dag", "pick"]), Lit::Text("auto"));

    LOOP_MAX_ITERATIONS: OrPreset<Whole> = by_preset("loop.max_iterations", &COUNT);
    LOOP_MAX_RETRIES: OrPreset<RetryLimit> = by_preset("loop.max_retries", &SettingKind::CountOrUnlimited);
    LOOP_GIVE_UP_AFTER: Whole = row("loop.give_up_after", FROM_ONE, Lit::Whole(10));
    LOOP_MAX_CONSECUTIVE_ERRORS: OrPreset<Whole> = by_preset("loop.max_consecutive_errors", &COUNT);
    LOOP_IDLE_THRESHOLD: OrPreset<Whole> = by_preset("loop.idle_threshold", &COUNT);
    LOOP_JOBS: Whole = row("loop.jobs", FROM_ONE, Lit::Whole(1));
    LOOP_RECENT_THREADS: Whole = row("loop.recent_threads", COUNT, Lit::Whole(5));
    LOOP_VERIFY: OrPreset<Bool> = by_preset("loop.verify", &SettingKind::Bool);
    LOOP_LEARN: Bool = row("loop.learn", SettingKind::Bool, TRUE);
    LOOP_STRICT_EXIT: Bool = row("loop.strict_exit", SettingKind::Bool, FALSE);
    LOOP_COMMIT: OrPreset<Text> = by_preset("loop.commit", &SettingKind::Choice(&["done", "session", "agent"]));
    LOOP_ON_RED: OrPreset<Text> = by_preset("loop.on_red", &SettingKind::Choice(&["retry", "feed"]));
    LOOP_ON_EXHAUSTED: OrPreset<Text> = by_preset("loop.on_exhausted", &SettingKind::Choice(&["fail", "stop", "never"]));
    LOOP_PICK: OrPreset<Text> = by_preset("loop.pick", &SettingKind::Choice(&["loop", "agent"]));
    LOOP_ENDS_WHEN: OrPreset<List> = by_preset("loop.ends_when", &SettingKind::List(&SettingKind::Choice(&["finished", "marker"])));
    LOOP_WORKS_IN: OrPreset<Text> = by_preset("loop.works_in", &SettingKind::Choice(&["place", "worktree"]));

    COMPLETION_CLAIMS: Text = row("completion.claims", SettingKind::Choice(&["trust", "confirm"]), Lit::Text("trust"));
    COMPLETION_APPROVE: Text = guarded("completion.approve", SettingKind::Choice(&["never", "risky", "always"]), Lit::Text("never"), Reach::RaiseOnly);
    COMPLETION_APPROVE_LINES: Whole = guarded("completion.approve_lines", COUNT, Lit::Whole(500), Reach::RaiseOnly);
    COMPLETION_PLAN_PROMISES: List = row("completion.plan_promises", TEXTS, Lit::List(&["COMPLETE", "Tastes Like Burning."]));
    COMPLETION_BUILD_PROMISES: List = row("completion.build_promises", TEXTS, Lit::List(&["COMPLETE"]));

    AGENT_NAME: Text = row("agent.name", EVERY_AGENT, Lit::Text("claude"));
    AGENT_BUILD: Text = row("agent.build", EVERY_AGENT, EMPTY);
    AGENT_PLAN: Text = row("agent.plan", EVERY_AGENT, EMPTY);
    AGENT_VERIFY: Text = row("agent.verify", EVERY_AGENT, EMPTY);
    AGENT_FALLBACK: List = row("agent.fallback", SettingKind::List(&EVERY_AGENT), NONE);
    AGENT_ENV: List = guarded("agent.env", TEXTS, NONE, Reach::UserOnly);
    AGENT_TIMEOUT: OrPreset<Time> = by_preset("agent.timeout", &SettingKind::Duration);
    AGENT_SILENCE: Time = row("agent.silence", SettingKind::Duration, Lit::Text("15m"));
    AGENT_AFTER_RESULT: Time = row("agent.after_result", SettingKind::Duration, Lit::Text("30s"));
    AGENT_GRACE: Time = row("agent.grace", SettingKind::Duration, Lit::Text("5s"));
    AGENT_ALLOWED_TOOLS: List = guarded("agent.allowed_tools", TEXTS, NONE, Reach::Program);

    AGENT_PATH: Text = guarded("agent.<agent>.path", SettingKind::Path, EMPTY, Reach::Program);
    AGENT_ARGS: List = guarded("agent.<agent>.args", TEXTS, NONE, Reach::Program);

    AGENT_SCRIPT_PATH: Text = guarded("agent.script.path", SettingKind::Path, EMPTY, Reach::Program);

    AGENT_VERSION: Text = guarded("agent.<name>.version", SettingKind::Text, EMPTY, Reach::Program);
    AGENT_LIMIT_EXIT: List = guarded("agent.<name>.limit_exit", EXIT_CODES, NONE, Reach::Program);
    AGENT_LOGIN_EXIT: List = guarded("agent.<name>.login_exit", EXIT_CODES, NONE, Reach::Program);
    AGENT_STATE: List = guarded("agent.<name>.state", PATHS, NONE, Reach::Program);
    AGENT_HOSTS: List = guarded("agent.<name>.hosts", TEXTS, NONE, Reach::Program);

    MODELS_STRATEGY: OrPreset<Text> = by_preset("models.strategy", &SettingKind::Choice(&["agent", "fixed", "cost-optimized", "escalate", "plan-then-execute"]));
    MODELS_FIXED: Text = argument("models.fixed");
    MODELS_VERIFY: Text = argument("models.verify");

    MODELS_OPUS: Text = argument("models.<agent>.opus");
    MODELS_SONNET: Text = argument("models.<agent>.sonnet");
    MODELS_HAIKU: Text = argument("models.<agent>.haiku");
    MODELS_LARGE: Text = argument("models.<agent>.large");
    MODELS_MEDIUM: Text = argument("models.<agent>.medium");
    MODELS_SMALL: Text = argument("models.<agent>.small");

    PROMPTS_PLAN: Text = guarded("prompts.plan", SettingKind::Path, Lit::Text("PROMPT_plan.md"), Reach::BeneathRepo);
    PROMPTS_BUILD: Text = guarded("prompts.build", SettingKind::Path, Lit::Text("PROMPT_build.md"), Reach::BeneathRepo);
    PROMPTS_BUDGET_TOKENS: Whole = row("prompts.budget_tokens", TOKENS, Lit::Whole(20_000));

    GATES_CLEAN: Bool = row("gates.clean", SettingKind::Bool, FALSE);
    GATES_BASELINE: Bool = row("gates.baseline", SettingKind::Bool, FALSE);
    GATES_PROTECTED: List = row("gates.protected", PATTERNS, NONE);
    GATES_ON_PROTECTED: Text = row("gates.on_protected", SettingKind::Choice(&["report", "reject"]), Lit::Text("report"));

    BUDGET_USD: Amount = guarded("budget.usd", SettingKind::Amount, FREE, Reach::RaiseOnly);
    BUDGET_TOKENS: Whole = guarded("budget.tokens", TOKENS, Lit::Whole(0), Reach::RaiseOnly);
    BUDGET_TIME: Time = guarded("budget.time", SettingKind::Duration, EMPTY, Reach::RaiseOnly);
    BUDGET_TASK_USD: Amount = guarded("budget.task_usd", SettingKind::Amount, FREE, Reach::RaiseOnly);
    BUDGET_DAY_USD: Amount = guarded("budget.day_usd", SettingKind::Amount, FREE, Reach::RaiseOnly);

    GIT_PR_BASE: Text = argument("git.pr_base");
    GIT_AUTO_PUSH: Bool = row("git.auto_push", SettingKind::Bool, FALSE);
    GIT_AUTO_PR: OrPreset<Bool> = by_preset("git.auto_pr", &SettingKind::Bool);
    GIT_PROTECTED_BRANCHES: List = row("git.protected_branches", TEXTS, Lit::List(&["main", "master", "production"]));
    GIT_NEVER_COMMIT: List = row("git.never_commit", PATTERNS, NONE);
    GIT_REMOTE: Text = guarded("git.remote", SettingKind::Text, Lit::Text("origin"), Reach::Argument);
    GIT_PUSH_REMOTE: Text = argument("git.push_remote");
    GIT_PR_REMOTE: Text = argument("git.pr_remote");

    GIT_WORKTREE_NAME: Text = row("git.worktree.name", SettingKind::Text, EMPTY);
    GIT_WORKTREE_EMAIL: Text = row("git.worktree.email", SettingKind::Text, EMPTY);
    GIT_WORKTREE_SIGNING_KEY: Text = guarded("git.worktree.signing_key", SettingKind::Text, EMPTY, Reach::Program);
    GIT_WORKTREE_SSH_KEY: Text = guarded("git.worktree.ssh_key", SettingKind::Path, EMPTY, Reach::Program);
    GIT_WORKTREE_DIR: Text = guarded("git.worktree.dir", SettingKind::Path, Lit::Text(".worktrees"), Reach::BeneathRepo);
    GIT_WORKTREE_SETUP: Text = row("git.worktree.setup", SettingKind::Text, EMPTY);
    GIT_WORKTREE_KEEP: Text = row("git.worktree.keep", SettingKind::Choice(&["until-merged", "always", "never"]), Lit::Text("until-merged"));

    PUBLISH_WATCH: Time = guarded("publish.watch", SettingKind::Duration, Lit::Text("0s"), Reach::UserOnly);
    PUBLISH_AUTHORS: List = guarded("publish.authors", TEXTS, NONE, Reach::UserOnly);
    PUBLISH_ROUNDS: Whole = guarded("publish.rounds", COUNT, Lit::Whole(5), Reach::UserOnly);
    PUBLISH_HOSTS: List = guarded("publish.hosts", SettingKind::List(&SettingKind::Host), NONE, Reach::UserOnly);

    SANDBOX_LEVEL: Text = guarded("sandbox.level", SettingKind::Choice(&["auto", "full", "seatbelt", "landlock", "none"]), Lit::Text("auto"), Reach::RaiseOnly);
    SANDBOX_WRITABLE: List = guarded("sandbox.writable", PATHS, NONE, Reach::UserOnly);
    SANDBOX_READABLE: List = guarded("sandbox.readable", PATHS, NONE, Reach::UserOnly);
    SANDBOX_SOCKETS: List = guarded("sandbox.sockets", PATHS, NONE, Reach::UserOnly);
    SANDBOX_HOME: Text = guarded("sandbox.home", SettingKind::Choice(&["allowlist", "masked"]), Lit::Text("allowlist"), Reach::UserOnly);

    SANDBOX_NETWORK_POLICY: Text = guarded("sandbox.network.policy", SettingKind::Choice(&["allow-all", "allowlist", "deny"]), Lit::Text("allow-all"), Reach::RaiseOnly);
    SANDBOX_NETWORK_ALLOWED: List = guarded("sandbox.network.allowed", TEXTS, NONE, Reach::RaiseOnly);

    SANDBOX_LIMITS_PROCESSES: Whole = guarded("sandbox.limits.processes", FROM_ONE, Lit::Whole(4096), Reach::RaiseOnly);
    SANDBOX_LIMITS_MEMORY: Size = guarded("sandbox.limits.memory", SettingKind::Size, EMPTY, Reach::RaiseOnly);
    SANDBOX_LIMITS_FILE_SIZE: Size = guarded("sandbox.limits.file_size", SettingKind::Size, EMPTY, Reach::RaiseOnly);

    STORE_PATH: Text = guarded("store.path", SettingKind::Path, Lit::Text(".ralph/progress.db"), Reach::BeneathRepo);

    LOGS_DIR: Text = guarded("logs.dir", SettingKind::Path, Lit::Text(".ralph/logs"), Reach::BeneathRepo);
    LOGS_KEEP_RUNS: Whole = row("logs.keep_runs", COUNT, Lit::Whole(50));
    LOGS_KEEP_SIZE: Size = row("logs.keep_size", SettingKind::Size, Lit::Text("2GiB"));
    LOGS_RAW: Bool = row("logs.raw", SettingKind::Bool, TRUE);

    RECOVER_KEEP: Time = guarded("recover.keep", SettingKind::Duration, Lit::Text("30d"), Reach::UserOnly);
    RECOVER_KEEP_SIZE: Size = guarded("recover.keep_size", SettingKind::Size, Lit::Text("1GB"), Reach::UserOnly);

    NOTIFY_ON: List = row("notify.on", SettingKind::List(&SettingKind::Choice(&["done", "failed", "question", "limit", "end"])), Lit::List(&["done", "failed", "question", "limit", "end"]));
    NOTIFY_DESKTOP: Bool = row("notify.desktop", SettingKind::Bool, FALSE);
    NOTIFY_SOUND: Bool = row("notify.sound", SettingKind::Bool, FALSE);
    NOTIFY_WEBHOOK: Text = guarded("notify.webhook", SettingKind::Text, EMPTY, Reach::UserOnly);
    NOTIFY_COMMAND: Text = guarded("notify.command", SettingKind::Text, EMPTY, Reach::UserOnly);

    TRUST_PATHS: List = guarded("trust.paths", PATHS, NONE, Reach::UserOnly);

    UI_MODE: Text = row("ui.mode", SettingKind::Choice(&["auto", "plain", "json", "tui"]), Lit::Text("auto"));
    UI_COLOR: Text = row("ui.color", SettingKind::Choice(&["auto", "always", "never"]), Lit::Text("auto"));
}

impl Setting {
    /// The key without its last segment; empty for a setting outside any section.
    pub(crate) fn section(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// Whether `""` is a value: if it is the default, it means that nothing is set.
    pub(super) fn admits_empty(&self) -> bool {
        matches!(self.default, Lit::Text(""))
            || matches!(self.kind, SettingKind::Text | SettingKind::List(_))
    }

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
