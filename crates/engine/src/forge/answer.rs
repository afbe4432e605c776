//! Parses answers of a server, and turns its refusals into errors.

use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::forge::{Address, ForgeKind, Route, without_credentials};
use ralph_core::text::printable_line;
use serde_json::Value;

use super::transport::Transport;
use crate::ports::ForgeError;

/// An answer with its head, as `curl --include` and `gh api --include` print it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Headers,
    pub(super) body: Value,
    text: String,
}

/// Names in small letters, and values.
type Headers = Vec<(String, String)>;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) body: Value,
    pub(super) has_more: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Log {
    Text(String),
    /// At this address, for which no token is meant.
    Elsewhere(String),
}

/// What was asked for, for the words of a refusal.
#[derive(Debug, Clone)]
pub(super) struct About<'a> {
    pub(super) kind: ForgeKind,
    pub(super) address: &'a Address,
    pub(super) branch: &'a str,
    pub(super) base: &'a str,
    remedy: String,
}

impl<'a> About<'a> {
    pub(super) fn of(
        route: &'a Route,
        transport: &Transport,
        branch: &'a str,
        base: &'a str,
    ) -> Self {
        let remedy = transport.remedy(&route.target.host);
        Self { kind: route.kind, address: &route.target, branch, base, remedy }
    }

    pub(super) fn odd(&self, why: &str) -> ForgeError {
        ForgeError::Odd { host: self.address.host.clone(), kind: self.kind, message: short(why) }
    }
}

impl Answer {
    pub(super) fn read(printed: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(printed);
        let mut rest: &str = &text;
        // Answers that only announce another one come before it.
        loop {
            let (status, headers, body) = head(rest)?;
            if (100..200).contains(&status) {
                rest = body;
                continue;
            }
            let text = body.to_owned();
            let body = serde_json::from_str(body).unwrap_or(Value::Null);
            return Some(Self { status, headers, body, text });
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(found.1.as_str())
    }

    /// The answer where it is one, else what the refusal means.
    pub(super) fn good(self, about: &About<'_>) -> Result<Reply, ForgeError> {
        match self.status {
            200..300 if self.body.is_null() => Err(about.odd("it contains no JSON")),
            200..300 => {
                let has_more =
                    self.header("link").is_some_and(|link| link.contains("rel=\"next\""));
                Ok(Reply { body: self.body, has_more })
            }
            _ => Err(self.refusal(about)),
        }
    }

    /// The log in the answer, or where it is, else what the refusal means.
    pub(super) fn log(self, about: &About<'_>) -> Result<Log, ForgeError> {
        match (self.status, self.header("location")) {
            (200..=299, _) => Ok(Log::Text(self.text)),
            (301 | 302 | 303 | 307 | 308, Some(place)) => Ok(Log::Elsewhere(place.to_owned())),
            _ => Err(self.refusal(about)),
        }
    }

    fn refusal(&self, about: &About<'_>) -> ForgeError {
        let (host, repo) = (about.address.host.clone(), about.address.to_string());
        let status = self.status;
        match status {
            300..=399 => ForgeError::Moved { host, repo },
            401 => ForgeError::Unauthorized { host, remedy: about.remedy.clone() },
            403 | 429 if self.limited() => {
                ForgeError::RateLimited { host, when: self.when(), wait: self.wait() }
            }
            403 => ForgeError::Forbidden { host, repo, message: self.server_message() },
            404 => ForgeError::NotFound { host, repo },
            422 => self.invalid(about, host),
            500.. => ForgeError::Server { host, status },
            _ => ForgeError::Refused { host, status, message: self.server_message() },
        }
    }

    fn limited(&self) -> bool {
        self.status == 429
            || self.header("retry-after").is_some()
            || self.header("x-ratelimit-remaining") == Some("0")
            || self.server_message().to_lowercase().contains("rate limit")
    }

    fn wait(&self) -> Option<Duration> {
        self.header("retry-after")?.parse().ok().map(Duration::from_secs)
    }

    fn when(&self) -> String {
        let number = |name: &str| self.header(name)?.parse::<u64>().ok();
        let reset = number("x-ratelimit-reset").or_else(|| number("ratelimit-reset"));
        match (number("retry-after"), reset) {
            (Some(seconds), _) => format!("in {seconds}s"),
            (None, Some(at)) => format!("after {}", Timestamp::default().plus_seconds(at)),
            (None, None) => "in a few minutes".to_owned(),
        }
    }

    fn invalid(&self, about: &About<'_>, host: String) -> ForgeError {
        let (branch, base) = (about.branch.to_owned(), about.base.to_owned());
        let wrong = |name: &str| {
            let errors = self.body["errors"].as_array().into_iter().flatten();
            errors.into_iter().any(|one| one["field"] == name && one["code"] == "invalid")
        };
        let message = self.server_message();
        if message.contains("No commits between") {
            ForgeError::NoCommits { branch, base }
        } else if wrong("head") {
            ForgeError::NoBranch { host, branch }
        } else if wrong("base") {
            ForgeError::NoBase { host, base }
        } else {
            ForgeError::Refused { host, status: self.status, message }
        }
    }

    /// The message of the server with its details, in a line.
    fn server_message(&self) -> String {
        let mut message = vec![];
        // GitLab has lists, and lists by field.
        for name in ["message", "error"] {
            match &self.body[name] {
                Value::Object(fields) => {
                    for (field, why) in fields {
                        let why = texts(why).join(", ");
                        message.push(format!("{field}: {why}"));
                    }
                }
                other => message.extend(texts(other)),
            }
        }
        for error in self.body["errors"].as_array().into_iter().flatten() {
            let word = |name: &str| error[name].as_str();
            match (error.as_str(), word("message"), word("field"), word("code")) {
                (Some(text), ..) | (None, Some(text), ..) => message.push(text.to_owned()),
                (.., Some(field), Some(code)) => message.push(format!("{field} is {code}")),
                _ => {}
            }
        }
        match message.is_empty() {
            true => "no reason given".to_owned(),
            false => short(&message.join("; ")),
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    }
}

/// The status, the headers, and what is below them.
fn head(text: &str) -> Option<(u16, Headers, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    let mut words = first.split_whitespace();
    words.next()?.strip_prefix("HTTP/")?;
    let status = words.next()?.parse().ok()?;
    let mut at = first.len();
    let mut headers = vec![];
    for line in lines {
        at += line.len();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    Some((status, headers, &text[at..]))
}

/// Text from others, for use in a sentence.
pub(super) fn short(text: &str) -> String {
    shortened(text.trim(), 300)
}

/// The same with at most so many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let shown = without_credentials(&printable_line(text));
    let shown = shown.trim_end_matches('.');
    match shown.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: u16, headers: &str, body: &Value) -> String {
        error(ForgeKind::GitHub, status, headers, body).to_string()
    }

    fn error(kind: ForgeKind, status: u16, headers: &str, body: &Value) -> ForgeError {
        let at = Address::of("https://github.com/ada/engine").unwrap();
        let route = Route { kind, target: at.clone(), source: at, ids: None };
        let about = About::of(&route, &Transport::Gh("gh".into()), "fix", "main");
        let text = format!("HTTP/2 {status} \r\n{headers}\r\n{body}");
        Answer::read(text.as_bytes()).unwrap().good(&about).unwrap_err()
    }

    #[test]
    fn what_gitlab_and_gitea_refuse_is_one_sentence() {
        let lists =
            json!({ "message": { "source_branch": ["is invalid", "is taken"], "base": ["x"] } });
        let message = error(ForgeKind::GitLab, 400, "", &lists).to_string();
        assert!(
            message.contains("(400: base: x; source_branch: is invalid, is taken)"),
            "{message}"
        );
        let taken = json!({ "message": ["Another open merge request already exists: !1"] });
        assert!(error(ForgeKind::GitLab, 409, "", &taken).is_duplicate());
        let taken = json!({ "message": "pull request already exists for these targets" });
        assert!(error(ForgeKind::Gitea, 409, "", &taken).is_duplicate());
        assert!(!error(ForgeKind::Gitea, 403, "", &taken).is_duplicate());
        let message = error(ForgeKind::GitLab, 403, "", &json!({ "error": "insufficient_scope" }));
        assert!(message.to_string().contains("(403: insufficient_scope)"), "{message}");
    }

    #[test]
    fn only_what_passes_by_itself_is_tried_again() {
        let after = |status, headers: &str| {
            error(ForgeKind::GitHub, status, headers, &Value::Null).passes_after()
        };
        assert_eq!(after(429, "Retry-After: 7\r\n"), Some(Some(Duration::from_secs(7))));
        assert_eq!(after(403, "Retry-After: 7\r\n"), Some(Some(Duration::from_secs(7))));
        assert_eq!(after(502, ""), Some(None));
        for status in [301, 401, 403, 404, 409, 422] {
            assert_eq!(after(status, ""), None, "{status}");
        }
    }

    #[test]
    fn an_answer_is_read_behind_those_that_announce_it() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/2.0 201 Created\nEtag: x\n\n{\"a\":\n[1]}\n";
        let answer = Answer::read(text.as_bytes()).unwrap();
        assert_eq!((answer.status, answer.header("etag")), (201, Some("x")));
        assert_eq!(answer.body, json!({"a": [1]}));
        for odd in ["", "{}", "HTTP/1.1", "HTTP/1.1 abc\r\n\r\n", "gh: nothing"] {
            assert_eq!(Answer::read(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn every_refusal_is_a_sentence_with_what_to_do() {
        let message = |text: &str| json!({ "message": text });
        let cases = [
            (
                refused(401, "", &message("Bad credentials")),
                "`gh auth login --hostname github.com`",
            ),
            (
                refused(403, "", &message("Resource not accessible by integration")),
                "(403: Resource not accessible by integration): give the token write access to pull \
                 requests of ada/engine",
            ),
            (refused(403, "Retry-After: 60\r\n", &message("slow down")), "try again in 60s"),
            (
                refused(
                    403,
                    "X-RateLimit-Remaining: 0\r\nx-ratelimit-reset: 1700000000\r\n",
                    &message("API rate limit exceeded"),
                ),
                "try again after 2023-11-14T22:13:20Z",
            ),
            (refused(429, "", &Value::Null), "try again in a few minutes"),
            (
                refused(404, "", &message("Not Found")),
                "github.com has no repository ada/engine, or",
            ),
            (refused(301, "", &message("Moved Permanently")), "`git remote set-url`"),
            (refused(502, "", &Value::Null), "failed (502): try again later"),
            (refused(410, "", &Value::Null), "(410: no reason given)"),
        ];
        for (sentence, part) in cases {
            assert!(sentence.contains(part), "{sentence}");
            assert!(!sentence.contains('\n') && !sentence.ends_with('.'), "{sentence}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_request_is_distinguished() {
        let errors = |errors: Value| json!({ "message": "Validation Failed", "errors": errors });
        let nothing = errors(json!([{ "message": "No commits between main and fix" }]));
        assert!(refused(422, "", &nothing).starts_with("`fix` has no commits beyond `main`"));
        let head =
            errors(json!([{ "resource": "PullRequest", "field": "head", "code": "invalid" }]));
        assert!(refused(422, "", &head).ends_with("does not have the branch `fix`: push it first"));
        let base =
            errors(json!([{ "resource": "PullRequest", "field": "base", "code": "invalid" }]));
        assert!(refused(422, "", &base).ends_with("base branch `main`: set git.pr_base"));
        let other = errors(json!(["odd\u{1b}[2J\nthing", { "field": "title", "code": "missing" }]));
        let message = "(422: Validation Failed; odd thing; title is missing)";
        assert!(refused(422, "", &other).contains(message), "{}", refused(422, "", &other));
    }
}
