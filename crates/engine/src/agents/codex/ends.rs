//! Classifies the failures of Codex.
//!
//! Codex reports an error as one text. This file reads only those parts that Codex itself always words the same: a
//! prefix with a status, the sentences of its own error types, or the JSON body of the provider's answer. Whatever
//! else a provider says is shown and not interpreted.

use ralph_core::agent::EndClass;

use crate::agents::provider_error::ProviderError;

/// What Codex begins the text of an error with, where its cause is a lost connection or a failed stream.
const STREAM: &str = "stream disconnected before completion: ";

/// How Codex's own sentences begin. The apostrophes in them are typographic ones.
const SENTENCES: &[(&str, EndClass)] = &[
    ("Incomplete response returned, reason: content_filter", EndClass::Refusal),
    ("Incomplete response returned, reason: ", EndClass::MaxTurns),
    ("shared rollout token budget exhausted", EndClass::MaxTurns),
    ("Codex ran out of ", EndClass::TooLong),
    ("You’ve hit your usage limit", EndClass::UsageWindow),
    ("Quota exceeded.", EndClass::Billing),
    ("Your workspace is out of credits", EndClass::Billing),
    ("You hit your spend cap", EndClass::Billing),
    ("To use Codex with your ChatGPT plan", EndClass::Billing),
    ("Your access token could not be refreshed", EndClass::Auth),
    ("rate limit exceeded: ", EndClass::RateLimit),
    ("Selected model is at capacity", EndClass::Overload),
    ("Policy-restricted capacity is unavailable", EndClass::Overload),
    ("Flex capacity unavailable", EndClass::Overload),
    ("We’re currently experiencing high demand", EndClass::Overload),
    ("Connection failed: ", EndClass::Network),
    ("request timed out", EndClass::Network),
];

/// The HTTP status in the text of an error.
pub(super) fn status(message: &str) -> Option<u16> {
    let message = message.strip_prefix(STREAM).unwrap_or(message);
    let mut prefixes = ["unexpected status ", "exceeded retry limit, last status: "].into_iter();
    let rest = prefixes.find_map(|prefix| message.strip_prefix(prefix))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The class of an error; `None` if its text has none of these forms.
pub(in crate::agents) fn class(message: &str) -> Option<EndClass> {
    let inner = message.strip_prefix(STREAM).unwrap_or(message);
    if let Some(class) = status(message).and_then(|status| ProviderError::of_status(status).class())
    {
        return Some(class);
    }
    if let Some((_, class)) = SENTENCES.iter().find(|(begin, _)| inner.starts_with(begin)) {
        return Some(*class);
    }
    let of_body = || ProviderError::of_body(message)?.class();
    of_body().or_else(|| message.starts_with(STREAM).then_some(EndClass::Network))
}
