//! What every answer has: headers that keep browsers from caching, framing or sniffing it, and errors as JSON.

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Response, StatusCode};
use ralph_ui::ports::Refused;
use serde::Serialize;

/// Nothing from elsewhere, no code in the page, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) type Answer = Response<Body>;

/// Sets the headers that every answer has.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(crate) fn with(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// A value as JSON.
pub(crate) fn bytes(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

pub(crate) fn json(bytes: Bytes) -> Answer {
    with(StatusCode::OK, "application/json", bytes)
}

#[derive(Serialize)]
struct Failure<'a> {
    error: &'a Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    message: &'a str,
    hints: &'a [String],
}

pub(crate) fn refused(status: StatusCode, Refused { message, hints, .. }: &Refused) -> Answer {
    let failure = Failure { error: &Error { message, hints } };
    with(status, "application/json", bytes(&failure))
}

pub(crate) fn error(status: StatusCode, message: &str) -> Answer {
    refused(status, &because(message))
}

/// A refusal without a hint.
pub(crate) fn because(message: &str) -> Refused {
    Refused { message: message.to_owned(), hints: vec![], missing: false }
}

/// A page for a browser that has no token.
pub(crate) fn no_token() -> Answer {
    let text = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>ralph</title>\n\
                <p>This page needs the link that ralph printed: it contains a token. If you have just opened that \
                link, <a href=\"/\">continue here</a>. A link is valid until its ralph ends.</p>\n</html>\n";
    with(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", text)
}
