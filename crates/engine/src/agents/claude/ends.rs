//! Classifies the end of a session from structural fields alone. Prose is only ever shown, never interpreted.

use std::borrow::Cow;

use ralph_core::Timestamp;
use ralph_core::agent::EndClass;

use super::stream_line::{StreamLine, get, text};
use crate::agents::text::one_line;

/// The longest sentence that is passed on, in characters.
const MAX_DETAIL: usize = 600;

/// Names and numbers that the CLI gives an error of the model's API.
#[derive(Debug, Clone, Default)]
pub(super) struct ApiError {
    /// `error`, `api_error` and `api_error_type`, where present.
    names: Vec<String>,
    status: Option<u16>,
}

impl ApiError {
    pub(super) fn of(line: &StreamLine<'_>) -> Self {
        let names = [line.error, line.api_error, line.api_error_type];
        let names = names.into_iter().filter_map(|name| text(name).map(Cow::into_owned));
        Self { names: names.collect(), status: get(line.api_error_status) }
    }

    fn plus(mut self, other: &Self) -> Self {
        self.names.extend(other.names.iter().cloned());
        self.status = self.status.or(other.status);
        self
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    is_error: bool,
    subtype: String,
    stop_reason: String,
    terminal_reason: String,
    error: ApiError,
    /// The final text, or what the CLI says of the error.
    pub(super) text: String,
}

impl Outcome {
    /// Reads a result line; `error` is the one that the last message reported.
    pub(super) fn of(line: &StreamLine<'_>, error: &ApiError) -> Self {
        let word = |raw| text(raw).unwrap_or_default().into_owned();
        let subtype = word(line.subtype);
        let errors = || get::<Vec<String>>(line.errors).unwrap_or_default().join("; ");
        Self {
            // A result of an unknown kind that does not say whether it is an error is one.
            is_error: get(line.is_error).unwrap_or(subtype != "success")
                || subtype.starts_with("error"),
            subtype,
            stop_reason: word(line.stop_reason),
            terminal_reason: word(line.terminal_reason),
            error: ApiError::of(line).plus(error),
            text: text(line.result).map_or_else(errors, Cow::into_owned),
        }
    }

    /// The end of a session whose login is refused again and again; the line reports one refusal.
    pub(super) fn not_logged_in(line: &StreamLine<'_>) -> Self {
        let names = text(line.error).map(Cow::into_owned).into_iter().collect();
        Self {
            is_error: true,
            error: ApiError { names, status: get(line.error_status) },
            text: "API Error: 401, the provider rejected the login or the API key".to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn sentence(&self) -> String {
        match self.text.trim() {
            "" => format!("the session ended with {}", self.subtype),
            text => one_line(text, MAX_DETAIL),
        }
    }
}

/// A field of a result and the value that gives it its class.
enum Mark {
    Subtype(&'static str),
    Stop(&'static str),
    Terminal(&'static str),
    /// The CLI's or the API's name of the error.
    Name(&'static str),
    Status(u16, u16),
}

/// What a failed result means. The first matching row decides, so exact signs come before rough ones: a low
/// balance is a status 400 too.
const CLASSES: &[(Mark, EndClass)] = &[
    (Mark::Subtype("error_max_turns"), EndClass::MaxTurns),
    (Mark::Subtype("error_max_budget_usd"), EndClass::MaxTurns),
    (Mark::Terminal("max_turns"), EndClass::MaxTurns),
    (Mark::Terminal("budget_exhausted"), EndClass::MaxTurns),
    (Mark::Name("max_output_tokens"), EndClass::MaxTurns),
    (Mark::Stop("refusal"), EndClass::Refusal),
    (Mark::Terminal("prompt_too_long"), EndClass::TooLong),
    (Mark::Name("request_too_large"), EndClass::TooLong),
    (Mark::Name("billing_error"), EndClass::Billing),
    (Mark::Name("model_not_found"), EndClass::UnknownModel),
    // Before `authentication_failed`, which the CLI calls it too: the login is fine, its rights are not.
    (Mark::Status(403, 403), EndClass::Forbidden),
    (Mark::Name("authentication_failed"), EndClass::Auth),
    (Mark::Name("authentication_error"), EndClass::Auth),
    (Mark::Name("permission_error"), EndClass::Forbidden),
    (Mark::Name("rate_limit"), EndClass::RateLimit),
    (Mark::Name("rate_limit_error"), EndClass::RateLimit),
    (Mark::Name("overloaded"), EndClass::Overload),
    (Mark::Name("overloaded_error"), EndClass::Overload),
    // Before `server_error`, which a lost connection is called too.
    (Mark::Name("connection_failed"), EndClass::Network),
    (Mark::Name("not_found_error"), EndClass::UnknownModel),
    (Mark::Status(400, 400), EndClass::Rejected),
    (Mark::Name("invalid_request_error"), EndClass::Rejected),
    (Mark::Status(401, 401), EndClass::Auth),
    (Mark::Status(402, 402), EndClass::Billing),
    (Mark::Status(404, 404), EndClass::UnknownModel),
    (Mark::Status(408, 408), EndClass::Network),
    (Mark::Status(413, 413), EndClass::TooLong),
    (Mark::Status(429, 429), EndClass::RateLimit),
    (Mark::Status(500, 599), EndClass::Overload),
    (Mark::Name("server_error"), EndClass::Overload),
];

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// Since the last answer of the model the CLI tried again by itself.
    pub(super) retried: bool,
    /// A usage window is used up.
    pub(super) rejected: bool,
    /// When it ends.
    pub(super) resets_at: Option<Timestamp>,
}

/// The class of a result.
///
/// Short limits and used-up windows are both a 429. A `rate_limit_event` reports a window, but not every
/// version and login prints one; without it, the CLI itself knows from the headers: it retries a short limit,
/// and gives up at once when a retry is of no use. So a 429 without a single retry is a window whose end is
/// unknown.
pub(super) fn class(outcome: &Outcome, limits: Limits) -> EndClass {
    if !outcome.is_error {
        let is_empty = outcome.text.trim().is_empty();
        return if is_empty { EndClass::Empty } else { EndClass::Completed };
    }
    let holds = |mark: &Mark| match *mark {
        Mark::Subtype(value) => outcome.subtype == value,
        Mark::Stop(value) => outcome.stop_reason == value,
        Mark::Terminal(value) => outcome.terminal_reason == value,
        Mark::Name(value) => outcome.error.names.iter().any(|name| name == value),
        Mark::Status(from, to) => {
            outcome.error.status.is_some_and(|status| (from..=to).contains(&status))
        }
    };
    let found = CLASSES.iter().find(|(mark, _)| holds(mark)).map(|(_, class)| *class);
    match found {
        Some(EndClass::RateLimit) if limits.rejected || !limits.retried => EndClass::UsageWindow,
        Some(class) => class,
        None if limits.rejected => EndClass::UsageWindow,
        None => EndClass::Crash,
    }
}
