//! What people and checks say on a stand-in: a check that looks into the pushed commits, and comments.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{GitHubServer, REPO, Reaction, ReceivedRequest, Speaks, State};

/// A check of every commit that is asked about.
#[derive(Debug, Clone)]
pub struct Ci {
    /// Its name.
    pub name: String,
    /// The repository that commits are pushed to.
    pub bare: PathBuf,
    /// A commit passes that has this file.
    pub wants: String,
    /// What the log of a failure says.
    pub log: String,
    /// Who reports it; empty is the server itself.
    pub by: String,
    /// So many questions are answered with "not yet" first.
    pub slow: u32,
}

/// A comment.
#[derive(Debug, Clone)]
struct Remark {
    pull: u64,
    author: String,
    text: String,
    /// The file and the line; `None` is about all of it.
    place: Option<(String, u64)>,
    resolved: bool,
}

#[derive(Debug, Default)]
pub(super) struct Feedback {
    ci: Vec<Ci>,
    remarks: Vec<Remark>,
}

impl GitHubServer {
    /// Has every commit checked.
    pub fn checks(&self, ci: Ci) {
        self.state().feedback.ci.push(ci);
    }

    /// A reviewer comments on a pull request: on a line of a file, or on all of it.
    pub fn comments(&self, pull: u64, author: &str, text: &str, place: Option<(&str, u64)>) {
        let place = place.map(|(path, line)| (path.to_owned(), line));
        let (author, text) = (author.to_owned(), text.to_owned());
        self.state().feedback.remarks.push(Remark { pull, author, text, place, resolved: false });
    }

    /// The newest comment is resolved.
    pub fn resolves(&self) {
        self.state().feedback.remarks.last_mut().unwrap().resolved = true;
    }
}

impl Ci {
    /// How a commit stands: not yet, well or badly.
    fn of(&mut self, commit: &str) -> Option<bool> {
        if self.slow > 0 {
            self.slow -= 1;
            return None;
        }
        let object = format!("{commit}:{}", self.wants);
        let git = Command::new("git")
            .args([&format!("--git-dir={}", self.bare.display()), "cat-file", "-e", &object])
            .output();
        Some(git.unwrap().status.success())
    }
}

impl State {
    /// What is asked about checks, logs and comments; `None` where it is about something else.
    pub(super) fn feedback(&mut self, rest: &str, url: &str) -> Option<Reaction> {
        let parts: Vec<&str> = rest.trim_matches('/').split('/').collect();
        let say = |body: Value| Some(Reaction::Say(200, vec![], body));
        match (self.speaks, &parts[..]) {
            (Speaks::GitHub, ["commits", commit, "check-runs"]) => {
                let runs = self.checked(commit, true).into_iter().map(|(id, ci, good)| {
                    let ended = if good.is_some() { "completed" } else { "in_progress" };
                    json!({
                        "id": id, "name": ci.name, "status": ended, "app": { "slug": "github-actions" },
                        "conclusion": good.map(|good| if good { "success" } else { "failure" }),
                        "html_url": page(commit, id), "output": { "title": null, "summary": null },
                    })
                });
                say(json!({ "check_runs": runs.collect::<Vec<_>>() }))
            }
            (Speaks::GitHub, ["commits", commit, "statuses"]) => {
                let all = self.checked(commit, false);
                say(all.iter().map(|one| status(commit, one, "state")).collect())
            }
            (Speaks::Gitea, ["commits", commit, "statuses"]) => {
                let own = self.checked(commit, true);
                let all = own.into_iter().chain(self.checked(commit, false));
                say(all.map(|one| status(commit, &one, "status")).collect())
            }
            (Speaks::GitLab, ["repository", "commits", commit, "statuses"]) => {
                let own = self.checked(commit, true);
                let all = own.into_iter().chain(self.checked(commit, false));
                let status = |(id, ci, good): (u64, Ci, Option<bool>)| {
                    let page = format!("https://git.example/{REPO}/-/jobs/{id}");
                    let word = match good {
                        None => "running",
                        Some(true) => "success",
                        Some(false) => "failed",
                    };
                    json!({
                        "id": id, "name": ci.name, "status": word, "author": { "username": ci.by },
                        "target_url": if ci.by.is_empty() { page } else { String::new() },
                    })
                };
                say(all.map(status).collect())
            }
            (Speaks::GitHub, ["actions", "jobs", id, "logs"]) => {
                let place = format!("{url}/logs/{id}");
                Some(Reaction::Say(302, vec![("location".to_owned(), place)], Value::Null))
            }
            (Speaks::GitLab, ["jobs", id, "trace"]) => Some(self.log(id)),
            (Speaks::GitHub, ["pulls", number, "comments"]) => {
                say(self.comments_json(number, true))
            }
            (Speaks::GitHub, ["pulls", _, "reviews"]) => say(json!([])),
            (_, ["issues", number, "comments"]) => say(self.comments_json(number, false)),
            (Speaks::Gitea, ["pulls", number, "reviews"]) => {
                let count = self.comments_json(number, true).as_array().map_or(0, Vec::len);
                let page = format!("https://git.example/{REPO}/pulls/{number}");
                say(json!([{ "id": 1, "state": "COMMENT", "body": "", "user": { "login": "ada" },
                             "comments_count": count, "pull_request_url": page }]))
            }
            (Speaks::Gitea, ["pulls", number, "reviews", "1", "comments"]) => {
                say(self.comments_json(number, true))
            }
            (Speaks::GitLab, ["merge_requests", number, "discussions"]) => {
                let both = [self.comments_json(number, true), self.comments_json(number, false)];
                let notes = both.iter().flat_map(|all| all.as_array().cloned().unwrap_or_default());
                say(notes.map(|note| json!({ "id": "x", "notes": [note] })).collect())
            }
            _ => None,
        }
    }

    /// The log that a job left elsewhere: for anybody who knows the address, and with a token for nobody.
    pub(super) fn stored_log(&self, asked: &ReceivedRequest) -> Option<Reaction> {
        let id = asked.path.strip_prefix("/logs/")?;
        let has_login = asked.headers.iter().any(|(name, _)| name == "authorization");
        Some(if has_login {
            Reaction::Text(400, "no login, please".to_owned())
        } else {
            self.log(id)
        })
    }

    fn log(&self, id: &str) -> Reaction {
        let index = id.parse::<usize>().unwrap_or(0).saturating_sub(1);
        match self.feedback.ci.get(index) {
            Some(ci) => Reaction::Text(200, ci.log.clone()),
            None => Reaction::Text(404, "no such log".to_owned()),
        }
    }

    /// Every check of a commit, by the server itself or by others, and how it stands.
    fn checked(&mut self, commit: &str, own: bool) -> Vec<(u64, Ci, Option<bool>)> {
        let all = self.feedback.ci.iter_mut().zip(1..).filter(|(ci, _)| ci.by.is_empty() == own);
        all.map(|(ci, id)| (id, ci.clone(), ci.of(commit))).collect()
    }

    /// The comments on a pull request, on lines or on all of it.
    fn comments_json(&self, number: &str, on_lines: bool) -> Value {
        let all = self.feedback.remarks.iter().zip(100..);
        let fits = |(remark, _): &(&Remark, u64)| {
            remark.pull.to_string() == number && remark.place.is_some() == on_lines
        };
        let reported = |(remark, id): (&Remark, u64)| {
            let (path, line) = remark.place.clone().unwrap_or_default();
            let by = json!({ "login": remark.author, "username": remark.author });
            json!({
                "id": id, "user": by, "author": by, "body": remark.text, "path": path, "line": line,
                "position": match self.speaks {
                    Speaks::GitLab => json!({ "new_path": path, "new_line": line }),
                    _ => line.into(),
                },
                "resolved": remark.resolved, "system": false, "noteable_iid": number.parse::<u64>().ok(),
                "resolver": remark.resolved.then_some(by.clone()),
                "html_url": format!("https://git.example/{REPO}/pull/{number}#c{id}"),
            })
        };
        all.filter(fits).map(reported).collect()
    }
}

fn page(commit: &str, id: u64) -> String {
    format!("https://git.example/{REPO}/runs/{id}?at={commit}")
}

fn status(commit: &str, (id, ci, good): &(u64, Ci, Option<bool>), field: &str) -> Value {
    let word = match good {
        None => "pending",
        Some(true) => "success",
        Some(false) => "failure",
    };
    let by = if ci.by.is_empty() { "gitea-actions" } else { &ci.by };
    json!({
        "id": id, "context": ci.name, field: word, "creator": { "login": by },
        "target_url": page(commit, *id), "description": "it was looked at",
    })
}
