//! Every exit code, in one table. `ralph help exit-codes` and the documentation print it.

use std::process::ExitCode;

macro_rules! exits {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $meaning:literal;)+) => {
        /// How a call ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Exit { $($(#[$doc])* $name),+ }

        impl Exit {
            /// All of them, in the order of their codes.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            /// The number.
            pub(crate) const fn code(self) -> u8 {
                match self { $(Self::$name => $code),+ }
            }

            const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),+ }
            }
        }
    };
}

exits! {
    /// Everything is as asked.
    Success = 0, "done as asked; an empty answer is an answer. Runs: Complete (with --strict-exit: every task is done), LimitReached or Idle";
    /// Something failed.
    Error = 1, "an error: bad content, config, store or environment. Runs with --strict-exit or loop.strict_exit: Complete, and a task failed or the branch could not be published";
    /// The task does not exist, or what was asked is not possible for it now.
    NotEligible = 2, "`ralph task`, `ralph feature`: there is no such thing, nothing is ready, or that is not allowed now";
    /// There is nothing to work off.
    NoPlan = 2, "runs: NoPlan, there is no task at all";
    /// Gates stayed red.
    GatesFailed = 3, "runs: GatesFailed, red gates exceeded the retries, or a gate cannot run here";
    /// The agent failed for good.
    AgentFailed = 4, "runs: AgentFailed, the agent is not logged in, has no access, is out of credit or failed too often";
    /// Git failed for good.
    GitFailed = 5, "runs: GitFailed, a git operation failed for good";
    /// The agent said so.
    Failure = 6, "runs: Failure, the agent said FAILURE";
    /// Tasks remain and none can become ready by itself.
    Blocked = 7, "runs: Blocked, tasks remain and none can become ready by itself, or the agent asks you. With --strict-exit also Complete, where nothing could be claimed and tasks remain";
    /// Money, tokens or time.
    BudgetReached = 8, "runs: BudgetReached, money, tokens or time are used up";
    /// The plan is not finished.
    Unfinished = 9, "runs with --strict-exit or loop.strict_exit: LimitReached or Idle";
    /// The level of the sandbox cannot be given.
    SandboxUnavailable = 10, "runs: SandboxUnavailable, the level that was asked for cannot be given";
    /// The arguments are wrong.
    Usage = 64, "the arguments are wrong; nothing was done";
    /// A person stopped it.
    Cancelled = 130, "runs: Cancelled, by Ctrl-C, `ralph cancel` or a signal";
}

impl Exit {
    /// The table as text.
    pub(crate) fn table() -> String {
        let mut text = String::from("Exit codes of ralph:\n\n");
        for exit in Self::ALL {
            text.push_str(&format!("  {:>3}  {}\n", exit.code(), exit.meaning()));
        }
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
