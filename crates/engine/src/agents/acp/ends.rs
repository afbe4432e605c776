//! Classifies the end of a turn from the reason that the agent names, and errors from their codes. Prose is only
//! ever shown, never interpreted.

use ralph_core::agent::EndClass;
use serde_json::Value;

use super::rpc::RpcError;
use crate::agents::text::one_line;

/// The longest sentence that is passed on, in characters.
const MAX_DETAIL: usize = 600;

const AUTH_REQUIRED: i64 = -32000;
const METHOD_NOT_FOUND: i64 = -32601;
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// How the session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) class: EndClass,
    pub(super) detail: String,
}

impl Outcome {
    pub(super) fn new(class: EndClass, detail: impl AsRef<str>) -> Self {
        Self { class, detail: one_line(detail.as_ref(), MAX_DETAIL) }
    }

    /// The end of a turn, by its `stopReason`.
    pub(super) fn of_turn(reason: &str, text: &str) -> Self {
        match reason {
            "end_turn" if text.trim().is_empty() => {
                Self::new(EndClass::Empty, "the agent returned no text")
            }
            "end_turn" => Self::new(EndClass::Completed, ""),
            "max_tokens" => Self::new(EndClass::MaxTurns, "the agent used up its tokens"),
            "max_turn_requests" => {
                Self::new(EndClass::MaxTurns, "the agent used up its requests to the model")
            }
            "refusal" => Self::new(EndClass::Refusal, "the model refused to go on"),
            "cancelled" => Self::new(EndClass::Cancelled, ""),
            other => Self::new(EndClass::Crash, format!("the turn ended with {other:?}")),
        }
    }

    /// An error that the agent answered with, when it was asked for this.
    pub(super) fn of_error(error: &RpcError, asked_for: &str) -> Self {
        let status = status(&error.data).or_else(|| u16::try_from(error.code).ok());
        let class = match (error.code, status) {
            (AUTH_REQUIRED, _) => EndClass::Auth,
            (_, Some(401)) => EndClass::Auth,
            (_, Some(402)) => EndClass::Billing,
            (_, Some(403)) => EndClass::Forbidden,
            (_, Some(404)) => EndClass::UnknownModel,
            (_, Some(408)) => EndClass::Network,
            (_, Some(413)) => EndClass::TooLong,
            (_, Some(429)) => EndClass::RateLimit,
            (_, Some(400..=499)) => EndClass::Rejected,
            (_, Some(500..=599)) => EndClass::Overload,
            _ => named(&error.data).unwrap_or(match error.code {
                METHOD_NOT_FOUND | PARSE_ERROR | INVALID_REQUEST => EndClass::Malformed,
                INVALID_PARAMS => EndClass::Rejected,
                _ => EndClass::Crash,
            }),
        };
        let more = details(&error.data).unwrap_or_default();
        let message = match (error.message.trim(), more) {
            ("", "") => format!("error {}", error.code),
            (message, "") => message.to_owned(),
            (message, more) if message.contains(more) => message.to_owned(),
            (message, more) => format!("{message}: {more}"),
        };
        Self::new(class, format!("{asked_for} failed: {message}"))
    }
}

/// The fields in which agents put the HTTP status of the model's answer.
const STATUSES: [&str; 5] = ["status", "statusCode", "httpStatus", "httpStatusCode", "code"];
/// The fields in which they put its name, or another object with these fields.
const NAMES: [&str; 6] = ["errorKind", "errorType", "type", "error", "codexErrorInfo", "reason"];

/// How deep an error may be wrapped.
const DEPTH: usize = 4;

fn status(data: &Value) -> Option<u16> {
    fn within(data: &Value, depth: usize) -> Option<u16> {
        let known = |field: &&str| {
            let status = u16::try_from(data.get(*field)?.as_u64()?).ok()?;
            (400..600).contains(&status).then_some(status)
        };
        let own = STATUSES.iter().find_map(known);
        own.or_else(|| {
            let inner = data.as_object().filter(|_| depth > 0)?;
            inner.values().find_map(|inner| within(inner, depth - 1))
        })
    }
    within(data, DEPTH)
}

/// The class that a name in the error has. These are names, not sentences.
fn named(data: &Value) -> Option<EndClass> {
    fn within(data: &Value, depth: usize) -> Option<EndClass> {
        NAMES.iter().filter_map(|field| data.get(*field)).find_map(|value| match value {
            Value::String(name) => class_of(name),
            value if depth > 0 => within(value, depth - 1),
            _ => None,
        })
    }
    within(data, DEPTH)
}

fn class_of(name: &str) -> Option<EndClass> {
    Some(match name {
        "authentication_failed" | "authentication_error" | "unauthorized" => EndClass::Auth,
        "permission_error" => EndClass::Forbidden,
        "billing_error" => EndClass::Billing,
        "rate_limit" | "rate_limit_error" => EndClass::RateLimit,
        "usageLimitExceeded" | "usage_limit_exceeded" => EndClass::UsageWindow,
        "overloaded" | "overloaded_error" | "server_error" | "serverOverloaded" => {
            EndClass::Overload
        }
        "model_not_found" | "not_found_error" => EndClass::UnknownModel,
        "request_too_large" | "contextWindowExceeded" => EndClass::TooLong,
        "invalid_request" | "invalid_request_error" | "badRequest" => EndClass::Rejected,
        "connection_failed" | "httpConnectionFailed" => EndClass::Network,
        _ => return None,
    })
}

/// What the agent says about the error, where it says more than the message.
fn details(data: &Value) -> Option<&str> {
    match data {
        Value::String(text) => Some(text),
        data => ["details", "message"].into_iter().find_map(|field| data.get(field)?.as_str()),
    }
}
