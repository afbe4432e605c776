//! What the end of an attempt means, as one table.

use serde::{Deserialize, Serialize};

use crate::agent::EndClass;

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $becomes:ident, retry $retry:ident, breaker $breaker:ident, counts $counts:literal, $ends:ident, $words:literal;)+) => {
        /// The kind of end that an attempt had, once everything that can be checked is checked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Class { $($(#[$doc])* $variant),+ }

        impl Class {
            /// The word in the store and in logs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What happened, in words that can follow "returned for retry:".
            pub const fn words(self) -> &'static str {
                match self { $(Self::$variant => $words),+ }
            }

            /// The session ended by itself and said all that it had to say; the class is the result of its work.
            pub const fn is_of_finished_session(self) -> bool {
                match self { $(Self::$variant => classes!(@finished $ends)),+ }
            }

            /// The class of a session that did not complete; `None` for one that did.
            pub const fn of(end: EndClass) -> Option<Self> {
                classes!(@of end [] $($ends $variant)+)
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
    (@finished session) => { false };
    (@finished attempt) => { true };
    // The classes that sessions have are those of `EndClass`, by the same names.
    (@of $end:ident [$($variant:ident)*]) => {
        match $end {
            EndClass::Completed => None,
            $(EndClass::$variant => Some(Self::$variant),)*
        }
    };
    (@of $end:ident [$($found:ident)*] session $variant:ident $($rest:ident)*) => {
        classes!(@of $end [$($found)* $variant] $($rest)*)
    };
    (@of $end:ident [$($found:ident)*] attempt $variant:ident $($rest:ident)*) => {
        classes!(@of $end [$($found)*] $($rest)*)
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
    Done = "done", Done, retry No, breaker Reset, counts true, attempt, "done";
    /// Requested done and judged red.
    Red = "red", Pending, retry Yes, breaker Reset, counts true, attempt, "a gate failed";
    /// Requested done, judged green, but it conflicts with work that landed meanwhile.
    Conflict = "conflict", Pending, retry No, breaker Reset, counts true, attempt, "conflicts with work that landed meanwhile";
    /// Requested done, nothing changed and nothing could judge: refused.
    Unchanged = "unchanged", Pending, retry Yes, breaker Same, counts true, attempt, "No changes detected";
    /// The agent gave up on it.
    TaskFailed = "task-failed", Failed, retry No, breaker Reset, counts true, attempt, "the agent gave up on the task";
    /// The agent asked for another attempt (`ralph task fail`).
    TaskRetry = "task-retry", Pending, retry Yes, breaker Reset, counts true, attempt, "the agent asked for another attempt";
    /// Nothing was requested.
    NoSignal = "no-signal", Pending, retry WhereAgentPicks, breaker Same, counts true, attempt, "the agent gave no signal";
    /// A signal for another task.
    WrongId = "wrong-id", Pending, retry WhereAgentPicks, breaker Same, counts true, attempt, "the signal named another task";
    /// The agent asked the user.
    Question = "question", Waiting, retry No, breaker Same, counts true, attempt, "the agent asked you a question";
    /// Requested done, judged green, and waits until the user approves it.
    Approval = "approval", Waiting, retry No, breaker Reset, counts true, attempt, "waiting for your approval";
    /// The session got to an end of the task before it got a message of the user: another one goes on with both.
    NewMessage = "new-message", Pending, retry No, breaker Reset, counts true, attempt, "your message came after the session";
    /// The agent said FAILURE.
    Failure = "failure", Pending, retry No, breaker Same, counts true, attempt, "the agent said FAILURE";
    /// It died, or ended without a result.
    Crash = "crash", Pending, retry UnlessGraph, breaker Add, counts true, session, "the agent crashed";
    /// The total timeout.
    Timeout = "timeout", Pending, retry Yes, breaker Add, counts true, session, "the session timed out";
    /// It said nothing for too long.
    Silence = "hang", Pending, retry Yes, breaker Add, counts true, session, "the agent stopped responding";
    /// It exited with 0 and printed nothing.
    Empty = "empty", Pending, retry Yes, breaker Add, counts true, session, "the agent printed nothing";
    /// Its output is not what this agent prints.
    Malformed = "malformed", Pending, retry Yes, breaker Add, counts true, session, "the agent printed unreadable output";
    /// The model refused.
    Refusal = "refusal", Pending, retry Yes, breaker Add, counts true, session, "the model refused";
    /// The agent's own limit of turns, output or money.
    MaxTurns = "max-turns", Pending, retry Yes, breaker Add, counts true, session, "the agent reached its own limit of turns or cost";
    /// The prompt is too long for the model: the same prompt is too long the next time.
    TooLong = "too-long", Waiting, retry No, breaker Add, counts true, session, "the prompt is too long for this model";
    /// The provider calls the request invalid: the same request is invalid the next time.
    Rejected = "rejected", Waiting, retry No, breaker Add, counts true, session, "the provider rejected the request";
    /// Too many requests, for a short time.
    RateLimit = "rate-limit", Pending, retry No, breaker Same, counts false, session, "rate limit";
    /// A usage window is used up.
    UsageWindow = "usage-window", Pending, retry No, breaker Same, counts false, session, "usage limit";
    /// The provider is overloaded or failing.
    Overload = "overload", Pending, retry No, breaker Same, counts false, session, "the provider is overloaded";
    /// No connection.
    Network = "network", Pending, retry No, breaker Same, counts false, session, "no connection";
    /// Not logged in.
    Auth = "auth", Pending, retry No, breaker Same, counts true, session, "the agent is not logged in";
    /// Logged in, and the account may not do this.
    Forbidden = "forbidden", Pending, retry No, breaker Same, counts true, session, "the account has no access";
    /// No money or no plan.
    Billing = "billing", Pending, retry No, breaker Same, counts true, session, "out of credit";
    /// There is no such model.
    UnknownModel = "unknown-model", Pending, retry No, breaker Same, counts true, session, "the model does not exist";
    /// The agent could not be started.
    NotStarted = "not-started", Pending, retry No, breaker Same, counts true, session, "the agent did not start";
    /// The user stopped it.
    Cancelled = "cancelled", Pending, retry No, breaker Same, counts false, session, "cancelled";
    /// The user skipped the task.
    Skipped = "skipped", Waiting, retry No, breaker Same, counts false, attempt, "skipped by you";
    /// Another agent has the task now.
    ClaimLost = "claim-lost", Untouched, retry No, breaker Same, counts false, session, "another agent claimed the task";
}

impl Class {
    /// Its row of the table.
    pub fn row(self) -> Row {
        // The macro writes one row per variant, in their order.
        CLASSES[self as usize]
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
        matches!(self, Self::Done | Self::Approval)
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
