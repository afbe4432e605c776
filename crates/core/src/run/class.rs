//! What the end of an attempt means, as one table.

use serde::{Deserialize, Serialize};

use crate::agent::EndClass;

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $becomes:ident, retry $retry:ident, breaker $breaker:ident, counts $counts:literal;)+) => {
        /// The kind of end that an attempt had, once everything that can be checked is checked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Class { $($(#[$doc])* $variant),+ }

        impl Class {
            /// The word in the store and in logs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        /// The table: one row per class.
        pub const CLASSES: &[Row] = &[
            $(Row {
                class: Class::$variant,
                becomes: Becomes::$becomes,
                retry: Retry::$retry,
                breaker: Breaker::$breaker,
                counts: $counts,
            }),+
        ];
    };
}

/// What happens to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    Done,
    /// Returned for retry.
    Pending,
    /// Failed for good.
    Failed,
    /// Waiting for the user.
    Waiting,
    /// Unchanged: the claim is lost, so the task is not this run's any more.
    Untouched,
}

/// Whether the end uses up a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    No,
    Yes,
    /// Only where the agent picks.
    WhereAgentPicks,
    /// Not where the loop picks from the task database.
    UnlessGraph,
}

/// What the end does to the circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaker {
    /// The count of consecutive errors starts again at 0.
    Reset,
    /// One more error.
    Add,
    Same,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub class: Class,
    pub becomes: Becomes,
    pub retry: Retry,
    pub breaker: Breaker,
    /// Whether the session counts towards the limit.
    pub counts: bool,
}

classes! {
    /// Requested done and judged green.
    Done = "done", Done, retry No, breaker Reset, counts true;
    /// Requested done and judged red.
    Red = "red", Pending, retry Yes, breaker Reset, counts true;
    /// Requested done, judged green, but it conflicts with work that landed meanwhile.
    Conflict = "conflict", Pending, retry No, breaker Reset, counts true;
    /// Requested done, nothing changed and nothing could judge: refused.
    Unchanged = "unchanged", Pending, retry Yes, breaker Same, counts true;
    /// The agent gave up on it.
    TaskFailed = "task-failed", Failed, retry No, breaker Reset, counts true;
    /// The agent asked for another attempt (`ralph task fail`).
    TaskRetry = "task-retry", Pending, retry Yes, breaker Reset, counts true;
    /// Nothing was requested.
    NoSignal = "no-signal", Pending, retry WhereAgentPicks, breaker Same, counts true;
    /// A signal for another task.
    WrongId = "wrong-id", Pending, retry WhereAgentPicks, breaker Same, counts true;
    /// The agent asked the user.
    Question = "question", Waiting, retry No, breaker Same, counts true;
    /// The agent said FAILURE.
    Failure = "failure", Pending, retry No, breaker Same, counts true;
    /// It died, or ended without a result.
    Crash = "crash", Pending, retry UnlessGraph, breaker Add, counts true;
    /// The total timeout.
    Timeout = "timeout", Pending, retry Yes, breaker Add, counts true;
    /// It said nothing for too long.
    Silence = "hang", Pending, retry Yes, breaker Add, counts true;
    /// It exited with 0 and printed nothing.
    Empty = "empty", Pending, retry Yes, breaker Add, counts true;
    /// Its output is not what this agent prints.
    Malformed = "malformed", Pending, retry Yes, breaker Add, counts true;
    /// The model refused.
    Refusal = "refusal", Pending, retry Yes, breaker Add, counts true;
    /// The agent's own limit of turns, output or money.
    MaxTurns = "max-turns", Pending, retry Yes, breaker Add, counts true;
    /// The prompt is too long for the model: the same prompt is too long the next time.
    TooLong = "too-long", Waiting, retry No, breaker Add, counts true;
    /// The provider calls the request invalid: the same request is invalid the next time.
    Rejected = "rejected", Waiting, retry No, breaker Add, counts true;
    /// Too many requests, for a short time.
    RateLimit = "rate-limit", Pending, retry No, breaker Same, counts false;
    /// A usage window is used up.
    UsageWindow = "usage-window", Pending, retry No, breaker Same, counts false;
    /// The provider is overloaded or failing.
    Overload = "overload", Pending, retry No, breaker Same, counts false;
    /// No connection.
    Network = "network", Pending, retry No, breaker Same, counts false;
    /// Not logged in.
    Auth = "auth", Pending, retry No, breaker Same, counts true;
    /// Logged in, and the account may not do this.
    Forbidden = "forbidden", Pending, retry No, breaker Same, counts true;
    /// No money or no plan.
    Billing = "billing", Pending, retry No, breaker Same, counts true;
    /// There is no such model.
    UnknownModel = "unknown-model", Pending, retry No, breaker Same, counts true;
    /// The agent could not be started.
    NotStarted = "not-started", Pending, retry No, breaker Same, counts true;
    /// The user stopped it.
    Cancelled = "cancelled", Pending, retry No, breaker Same, counts false;
    /// The user skipped the task.
    Skipped = "skipped", Waiting, retry No, breaker Same, counts false;
    /// Another agent has the task now.
    ClaimLost = "claim-lost", Untouched, retry No, breaker Same, counts false;
}

impl Class {
    /// Its row of the table.
    pub fn row(self) -> Row {
        // The macro writes one row per variant, in their order.
        CLASSES[self as usize]
    }

    /// The class of a session that did not complete; `None` for one that did.
    pub const fn of(end: EndClass) -> Option<Self> {
        Some(match end {
            EndClass::Completed => return None,
            EndClass::Crash => Self::Crash,
            EndClass::Timeout => Self::Timeout,
            EndClass::Silence => Self::Silence,
            EndClass::Empty => Self::Empty,
            EndClass::Malformed => Self::Malformed,
            EndClass::Refusal => Self::Refusal,
            EndClass::MaxTurns => Self::MaxTurns,
            EndClass::TooLong => Self::TooLong,
            EndClass::Rejected => Self::Rejected,
            EndClass::RateLimit => Self::RateLimit,
            EndClass::UsageWindow => Self::UsageWindow,
            EndClass::Overload => Self::Overload,
            EndClass::Network => Self::Network,
            EndClass::Auth => Self::Auth,
            EndClass::Forbidden => Self::Forbidden,
            EndClass::Billing => Self::Billing,
            EndClass::UnknownModel => Self::UnknownModel,
            EndClass::NotStarted => Self::NotStarted,
            EndClass::Cancelled => Self::Cancelled,
            EndClass::ClaimLost => Self::ClaimLost,
        })
    }

    /// A limit or an outage of the provider: ralph waits, and nothing is counted.
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::RateLimit | Self::UsageWindow | Self::Overload | Self::Network)
    }

    /// Retrying cannot fix it: the run stops and says what to do.
    pub const fn needs_user_action(self) -> bool {
        matches!(
            self,
            Self::Auth | Self::Forbidden | Self::Billing | Self::UnknownModel | Self::NotStarted
        )
    }

    /// The same session would end the same way, and nothing but the task's own prompt may be to blame: the
    /// task waits for the user, and the run continues with the others.
    pub const fn parks(self) -> bool {
        matches!(self, Self::TooLong | Self::Rejected)
    }

    /// What happened, in words that can follow "returned for retry:".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Red => "a gate failed",
            Self::Conflict => "conflicts with work that landed meanwhile",
            Self::Unchanged => "No changes detected",
            Self::TaskFailed => "the agent gave up on the task",
            Self::TaskRetry => "the agent asked for another attempt",
            Self::NoSignal => "the agent gave no signal",
            Self::WrongId => "the signal named another task",
            Self::Question => "the agent asked you a question",
            Self::Failure => "the agent said FAILURE",
            Self::Crash => "the agent crashed",
            Self::Timeout => "the session timed out",
            Self::Silence => "the agent stopped responding",
            Self::Empty => "the agent printed nothing",
            Self::Malformed => "the agent printed unreadable output",
            Self::Refusal => "the model refused",
            Self::MaxTurns => "the agent reached its own limit of turns or cost",
            Self::TooLong => "the prompt is too long for this model",
            Self::Rejected => "the provider rejected the request",
            Self::RateLimit => "rate limit",
            Self::UsageWindow => "usage limit",
            Self::Overload => "the provider is overloaded",
            Self::Network => "no connection",
            Self::Auth => "the agent is not logged in",
            Self::Forbidden => "the account has no access",
            Self::Billing => "out of credit",
            Self::UnknownModel => "the model does not exist",
            Self::NotStarted => "the agent did not start",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped by you",
            Self::ClaimLost => "another agent claimed the task",
        }
    }

    /// What you have to do, where retrying cannot fix it.
    pub const fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Self::Auth => "run `claude` and log in, or set ANTHROPIC_API_KEY",
            Self::Forbidden => {
                "check that your account can use this model and organization, or log in with another one"
            }
            Self::Billing => "add credit at the provider, or log in with another account",
            Self::UnknownModel => "choose a model that your account can use, with --model",
            Self::NotStarted => "run ralph doctor to see what is missing",
            Self::TooLong => {
                "lower prompts.budget_tokens, split the task, or use a model with a larger context (--model)"
            }
            Self::Rejected => {
                "read the provider's message, change the task, the prompt or the model, then run ralph retry"
            }
            _ => return None,
        })
    }

    /// The attempt returned the task without progress: after ten of these in a row the task waits for the user.
    pub fn is_return(self) -> bool {
        let row = self.row();
        row.becomes == Becomes::Pending && row.counts && !self.needs_user_action()
    }

    /// The loop retries an iteration that ended so, in presets that retry iterations.
    pub fn is_tried_again(self) -> bool {
        self.is_return() && self != Self::Failure
    }

    /// The iteration did what it was for.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Done)
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_finds_its_own_row() {
        for (index, row) in CLASSES.iter().enumerate() {
            assert_eq!(row.class as usize, index);
            assert_eq!(row.class.row(), *row);
        }
    }

    #[test]
    fn what_retries_cannot_fix_has_a_remedy_and_nothing_else_has() {
        for row in CLASSES {
            let needs_you = row.class.needs_user_action() || row.class.parks();
            assert_eq!(row.class.remedy().is_some(), needs_you, "{}", row.class);
        }
    }

    /// Promise 5: a usage limit costs nothing.
    #[test]
    fn limits_cost_neither_retry_nor_session() {
        for row in CLASSES.iter().filter(|row| row.class.is_limit()) {
            assert_eq!((row.retry, row.breaker, row.counts), (Retry::No, Breaker::Same, false));
        }
    }
}
