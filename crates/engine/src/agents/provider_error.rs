//! What the providers of models call their errors: HTTP status, and the names in the JSON body of the answer. Agents
//! pass these on. The words that are meant for people are not looked at.

use ralph_core::agent::EndClass;
use serde_json::Value;

/// The names and the status of an error, as far as the agent passes them on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProviderError {
    pub(super) status: Option<u16>,
    pub(super) names: Vec<String>,
}

/// What a name means. Exact names come before those that cover more.
const NAMES: &[(&str, EndClass)] = &[
    ("context_length_exceeded", EndClass::TooLong),
    ("request_too_large", EndClass::TooLong),
    ("insufficient_quota", EndClass::Billing),
    ("billing_hard_limit_reached", EndClass::Billing),
    ("billing_error", EndClass::Billing),
    ("usage_not_included", EndClass::Billing),
    ("usage_limit_reached", EndClass::UsageWindow),
    ("content_filter", EndClass::Refusal),
    ("model_not_found", EndClass::UnknownModel),
    ("invalid_api_key", EndClass::Auth),
    // Gemini calls a wrong key an invalid argument, too.
    ("API_KEY_INVALID", EndClass::Auth),
    ("authentication_error", EndClass::Auth),
    ("UNAUTHENTICATED", EndClass::Auth),
    ("permission_error", EndClass::Forbidden),
    ("PERMISSION_DENIED", EndClass::Forbidden),
    ("FAILED_PRECONDITION", EndClass::Forbidden),
    ("rate_limit_exceeded", EndClass::RateLimit),
    ("rate_limit_error", EndClass::RateLimit),
    ("RESOURCE_EXHAUSTED", EndClass::RateLimit),
    ("overloaded_error", EndClass::Overload),
    ("server_is_overloaded", EndClass::Overload),
    ("server_error", EndClass::Overload),
    ("api_error", EndClass::Overload),
    ("UNAVAILABLE", EndClass::Overload),
    ("INTERNAL", EndClass::Overload),
    ("DEADLINE_EXCEEDED", EndClass::Overload),
    ("not_found_error", EndClass::UnknownModel),
    ("NOT_FOUND", EndClass::UnknownModel),
];

/// Names that only say that the request is wrong: a status says more.
const VAGUE: &[(&str, EndClass)] =
    &[("invalid_request_error", EndClass::Rejected), ("INVALID_ARGUMENT", EndClass::Rejected)];

impl ProviderError {
    pub(super) fn of_status(status: u16) -> Self {
        Self { status: Some(status), names: vec![] }
    }

    /// Reads a JSON body, `{"error": …}` or the error itself.
    pub(super) fn of_body(body: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(body.trim()).ok()?;
        // Some servers put the object into a list.
        let body = body.get(0).unwrap_or(&body);
        let error = body.get("error").unwrap_or(body);
        let reasons = error["details"].as_array().into_iter().flatten();
        let reasons = reasons.map(|detail| &detail["reason"]);
        let names = [&error["code"], &error["type"], &error["status"]].into_iter().chain(reasons);
        let names: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
        let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let found = Self { status, names };
        (found != Self::default()).then_some(found)
    }

    pub(super) fn plus(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        Self { status: self.status.or(other.status), ..self }
    }

    pub(super) fn class(&self) -> Option<EndClass> {
        let named = |table: &[(&str, EndClass)]| {
            let is_named = |name: &str| self.names.iter().any(|known| known == name);
            table.iter().find(|(name, _)| is_named(name)).map(|(_, class)| *class)
        };
        named(NAMES).or_else(|| self.status.and_then(of_status)).or_else(|| named(VAGUE))
    }
}

fn of_status(status: u16) -> Option<EndClass> {
    Some(match status {
        400 | 422 => EndClass::Rejected,
        401 => EndClass::Auth,
        402 => EndClass::Billing,
        403 => EndClass::Forbidden,
        404 => EndClass::UnknownModel,
        408 => EndClass::Network,
        413 => EndClass::TooLong,
        429 => EndClass::RateLimit,
        500..=599 => EndClass::Overload,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_status_give_the_class() {
        for (body, class) in [
            (
                r#"{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}"#,
                EndClass::TooLong,
            ),
            (
                r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#,
                EndClass::Billing,
            ),
            (r#"{"error":{"code":null,"type":"invalid_request_error"}}"#, EndClass::Rejected),
            (
                r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                EndClass::Auth,
            ),
            (r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, EndClass::RateLimit),
            (r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#, EndClass::Overload),
            (r#"{"message":"x","type":"server_error","code":"server_error"}"#, EndClass::Overload),
            (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, EndClass::Overload),
        ] {
            assert_eq!(
                ProviderError::of_body(body).and_then(|error| error.class()),
                Some(class),
                "{body}"
            );
        }
        for nothing in
            ["", "no JSON", "{}", r#"{"error":{"message":"insufficient_quota"}}"#, "[]", "7"]
        {
            assert_eq!(ProviderError::of_body(nothing), None, "{nothing}");
        }
        // The status says more than that the request is invalid.
        let error =
            ProviderError { status: Some(404), names: vec!["invalid_request_error".into()] };
        assert_eq!(error.class(), Some(EndClass::UnknownModel));
        assert_eq!(ProviderError::of_status(418).class(), None);
    }
}
