//! Every exit code, in one table. `ralph help exit-codes` and the documentation print it.

use crate::error_codes::ErrorCode;

macro_rules! exits {
    ($($name:ident = $code:literal, $error:ident, $meaning:literal;)+) => {
        /// How a call ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Exit { $($name),+ }

        impl Exit {
            /// All of them, in the order of their codes.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            pub(crate) const fn code(self) -> u8 {
                match self { $(Self::$name => $code),+ }
            }

            const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),+ }
            }
        }

        /// The code of an error that only its exit code tells apart.
        impl From<Exit> for ErrorCode {
            fn from(exit: Exit) -> Self {
                match exit { $(Exit::$name => Self::$error),+ }
            }
        }
    };
}

exits! {
    Success = 0, Failed, "success, also when there is nothing to print. Runs: Complete (with --strict-exit: every task is done), LimitReached or Idle";
    Error = 1, Failed, "an error: bad input, config, task database or environment. Runs with --strict-exit or loop.strict_exit: Complete, but a task failed or the branch could not be published";
    NotEligible = 2, NotEligible, "`ralph task`, `ralph feature`: not found, nothing is ready, or not allowed now";
    NoPlan = 2, NoPlan, "runs: NoPlan, the plan has no tasks";
    GatesFailed = 3, GatesFailed, "runs: GatesFailed, gates still failed after the last retry, or a gate cannot run here";
    AgentFailed = 4, AgentFailed, "runs: AgentFailed, the agent is not logged in, has no access, is out of credit or failed too often";
    GitFailed = 5, Git, "runs: GitFailed, a git operation failed after all retries";
    Failure = 6, AgentGaveUp, "runs: Failure, the agent said FAILURE";
    Blocked = 7, Blocked, "runs: Blocked, tasks remain but none can become ready without you, or the agent asked you a question. With --strict-exit also Complete, if nothing could be claimed and tasks remain";
    BudgetReached = 8, BudgetReached, "runs: BudgetReached, the budget for money, tokens or time is used up";
    Unfinished = 9, Unfinished, "runs with --strict-exit or loop.strict_exit: LimitReached or Idle";
    SandboxUnavailable = 10, SandboxUnavailable, "runs: SandboxUnavailable, the requested sandbox level does not work here";
    Usage = 64, Usage, "the arguments are wrong; nothing was done";
    Cancelled = 130, Cancelled, "runs: Cancelled, by Ctrl-C, `ralph cancel` or a signal";
}

impl Exit {
    pub(crate) fn table() -> String {
        let mut text = String::from("Exit codes of ralph:\n\n");
        for exit in Self::ALL {
            text.push_str(&format!("  {:>3}  {}\n", exit.code(), exit.meaning()));
        }
        text
    }
}
