//! Where servers list the checks and comments of a pull request, as rows of data: the lists to request, and
//! how to read each. Entries that cannot be read are skipped.

use std::collections::HashSet;

use serde_json::Value;

use super::kind::{ForgeKind, Route};
use super::review::{Check, CheckState, Comment};

/// A list on a server.
#[derive(Debug, Clone)]
pub struct Source {
    /// The resource, with a query.
    pub path: String,
    read: fn(&Route, &Value) -> Vec<ForgeEntry>,
}

#[derive(Debug, Clone)]
pub enum ForgeEntry {
    Check(Check),
    Comment(Comment),
    /// There is another list to ask for.
    More(Source),
}

impl Source {
    pub fn read(&self, route: &Route, answer: &Value) -> Vec<ForgeEntry> {
        (self.read)(route, answer)
    }

    /// The resource of a further page.
    pub fn page(&self, number: u64) -> String {
        format!("{}&page={number}", self.path)
    }
}

impl Route {
    /// The lists with the checks of a commit.
    pub fn checks(&self, commit: &str) -> Vec<Source> {
        let repo = self.repository(&self.target);
        let at = |name: &str| format!("{repo}/commits/{commit}/{name}");
        match self.kind {
            ForgeKind::GitHub => vec![
                Source { path: at("check-runs?per_page=100"), read: github_runs },
                Source { path: at("statuses?per_page=100"), read: github_statuses },
            ],
            // Its pipelines are where the branch is.
            ForgeKind::GitLab => {
                let repo = self.repository(&self.source);
                let path = format!("{repo}/repository/commits/{commit}/statuses?per_page=100");
                vec![Source { path, read: gitlab_statuses }]
            }
            ForgeKind::Gitea => {
                vec![Source {
                    path: at("statuses?sort=highestindex&limit=50"),
                    read: gitea_statuses,
                }]
            }
        }
    }

    /// The lists with the comments on a pull request.
    pub fn comments(&self, number: u64) -> Vec<Source> {
        let repo = self.repository(&self.target);
        match self.kind {
            ForgeKind::GitHub => {
                let at = |name: &str| format!("{repo}/{name}?per_page=100");
                vec![
                    Source { path: at(&format!("pulls/{number}/comments")), read: github_comments },
                    Source { path: at(&format!("pulls/{number}/reviews")), read: github_reviews },
                    Source { path: at(&format!("issues/{number}/comments")), read: plain_comments },
                ]
            }
            ForgeKind::GitLab => {
                let path = format!("{repo}/merge_requests/{number}/discussions?per_page=100");
                vec![Source { path, read: gitlab_discussions }]
            }
            ForgeKind::Gitea => {
                let at = |name: &str| format!("{repo}/{name}?limit=50");
                vec![
                    Source { path: at(&format!("pulls/{number}/reviews")), read: gitea_reviews },
                    Source { path: at(&format!("issues/{number}/comments")), read: plain_comments },
                ]
            }
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value, at: &str) -> String {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A name or a number, as a part of a key.
fn id(value: &Value, at: &str) -> Option<String> {
    match value.pointer(at)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn github_runs(route: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let repo = route.repository(&route.target);
    let run = |run: &Value| {
        let ended = text(run, "/status") == "completed";
        let state = match text(run, "/conclusion").as_str() {
            _ if !ended => CheckState::Pending,
            "success" | "neutral" | "skipped" => CheckState::Passed,
            // It waits for a user, or was superseded: nothing that a session could fix.
            "action_required" | "cancelled" | "stale" => CheckState::Pending,
            _ => CheckState::Failed,
        };
        let by = text(run, "/app/slug");
        let is_ours = by == "github-actions";
        let number = run.pointer("/id").and_then(Value::as_u64);
        let summary = [text(run, "/output/title"), text(run, "/output/summary")];
        ForgeEntry::Check(Check {
            name: text(run, "/name"),
            state,
            author: (!is_ours).then_some(by),
            page: text(run, "/html_url"),
            summary: summary.join("\n\n").trim().to_owned(),
            // The job of a workflow has the number of its check.
            log: number.filter(|_| is_ours).map(|id| format!("{repo}/actions/jobs/{id}/logs")),
        })
    };
    let named = |run: &&Value| !text(run, "/name").is_empty();
    list(&answer["check_runs"]).filter(named).map(run).collect()
}

/// The newest status of each name; they come newest first.
fn newest(answer: &Value, name: &str, of: impl Fn(&Value) -> Check) -> Vec<ForgeEntry> {
    let mut known = HashSet::new();
    let named = list(answer).filter(|status| !text(status, name).is_empty());
    let newest = named.filter(|status| known.insert(text(status, name)));
    newest.map(|status| ForgeEntry::Check(of(status))).collect()
}

fn github_statuses(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    statuses(answer, "/state", &[])
}

fn gitea_statuses(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    // Names that are reserved for the server.
    statuses(answer, "/status", &["gitea-actions", "forgejo-actions"])
}

fn statuses(answer: &Value, at: &str, ours: &[&str]) -> Vec<ForgeEntry> {
    newest(answer, "/context", |status| Check {
        name: text(status, "/context"),
        state: state(&text(status, at)),
        author: Some(text(status, "/creator/login")).filter(|by| !ours.contains(&by.as_str())),
        page: text(status, "/target_url"),
        summary: text(status, "/description"),
        log: None,
    })
}

fn gitlab_statuses(route: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let repo = route.repository(&route.source);
    let pages = format!("/{}/-/jobs/", route.source);
    newest(answer, "/name", |status| {
        let page = text(status, "/target_url");
        let number = id(status, "/id").unwrap_or_default();
        let begins = format!("https://{}", route.source.host);
        // A job of the server itself, not a status that others report.
        let is_job =
            page.strip_prefix(&begins).is_some_and(|path| path == format!("{pages}{number}"));
        let word = text(status, "/status");
        let allowed = status["allow_failure"] == true;
        Check {
            name: text(status, "/name"),
            state: match word.as_str() {
                "failed" if allowed => CheckState::Passed,
                "skipped" | "manual" => CheckState::Passed,
                word => state(word),
            },
            author: (!is_job).then(|| text(status, "/author/username")),
            summary: text(status, "/description"),
            log: is_job.then(|| format!("{repo}/jobs/{number}/trace")),
            page,
        }
    })
}

/// How a status stands, by the words of any server.
fn state(word: &str) -> CheckState {
    match word {
        "success" | "warning" => CheckState::Passed,
        "failure" | "failed" | "error" => CheckState::Failed,
        _ => CheckState::Pending,
    }
}

fn github_comments(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let comment = |comment: &Value| {
        let line = ["/line", "/original_line"].into_iter().find_map(|at| id(comment, at));
        comment_entry(comment, "comment", place(&text(comment, "/path"), line))
    };
    list(answer).filter_map(comment).collect()
}

fn github_reviews(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let asks = |review: &&Value| {
        ["CHANGES_REQUESTED", "COMMENTED"].contains(&text(review, "/state").as_str())
    };
    list(answer)
        .filter(asks)
        .filter_map(|review| comment_entry(review, "review", String::new()))
        .collect()
}

fn plain_comments(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    list(answer).filter_map(|one| comment_entry(one, "remark", String::new())).collect()
}

/// A comment of GitHub or Gitea.
fn comment_entry(value: &Value, what: &str, place: String) -> Option<ForgeEntry> {
    Some(ForgeEntry::Comment(Comment {
        key: format!("{what} {}", id(value, "/id")?),
        author: text(value, "/user/login"),
        text: text(value, "/body"),
        place,
        page: text(value, "/html_url"),
    }))
}

fn gitlab_discussions(route: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let notes = list(answer).flat_map(|discussion| list(&discussion["notes"]));
    let open = notes.filter(|note| note["system"] != true && note["resolved"] != true);
    let summary = |note: &Value| {
        let number = id(note, "/id")?;
        let line = ["/position/new_line", "/position/old_line"];
        let line = line.into_iter().find_map(|at| id(note, at));
        let request = id(note, "/noteable_iid").unwrap_or_default();
        let root = format!("https://{}/{}", route.target.host, route.target);
        Some(ForgeEntry::Comment(Comment {
            author: text(note, "/author/username"),
            text: text(note, "/body"),
            place: place(&text(note, "/position/new_path"), line),
            page: format!("{root}/-/merge_requests/{request}#note_{number}"),
            key: format!("comment {number}"),
        }))
    };
    open.filter_map(summary).collect()
}

/// The reviews, and the lists of their comments.
fn gitea_reviews(route: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let repo = route.repository(&route.target);
    let mut all = vec![];
    for review in list(answer) {
        let Some(number) = id(review, "/id") else { continue };
        if ["REQUEST_CHANGES", "COMMENT"].contains(&text(review, "/state").as_str()) {
            all.extend(comment_entry(review, "review", String::new()));
        }
        let has_some = review["comments_count"].as_u64().is_some_and(|count| count > 0);
        let pull = text(review, "/pull_request_url");
        let pull = pull.rsplit('/').next().filter(|end| end.bytes().all(|b| b.is_ascii_digit()));
        if let (true, Some(pull)) = (has_some, pull) {
            let path = format!("{repo}/pulls/{pull}/reviews/{number}/comments?limit=50");
            all.push(ForgeEntry::More(Source { path, read: gitea_comments }));
        }
    }
    all
}

fn gitea_comments(_: &Route, answer: &Value) -> Vec<ForgeEntry> {
    let open = list(answer).filter(|comment| comment["resolver"].is_null());
    let comment = |comment: &Value| {
        let place = place(&text(comment, "/path"), id(comment, "/position"));
        comment_entry(comment, "comment", place)
    };
    open.filter_map(comment).collect()
}

fn place(path: &str, line: Option<String>) -> String {
    match line {
        Some(line) if !path.is_empty() => format!("{path}:{line}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
#[path = "sources/tests.rs"]
mod tests;
