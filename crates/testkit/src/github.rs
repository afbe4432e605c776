//! Stand-ins for GitHub, GitLab and Gitea on 127.0.0.1: as much of their APIs as opening and changing pull
//! requests takes, for `curl` and for the real `gh`.

mod feedback;

use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::model_server::http::{self, Answer, Head};
use crate::skip;

pub use feedback::Ci;

/// The token that it accepts.
pub const TOKEN: &str = "ghp_thisIsTheSecretOfTheTest0123456789";
/// The repository that it has.
pub const REPO: &str = "ada/engine";

/// The executable of `gh`. Fetches it when it is missing. `None`, with a printed warning, where there is none.
pub fn gh() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("tools/install-gh")).output().unwrap();
    if !output.status.success() {
        skip(&format!("the real gh: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return None;
    }
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end()))
}

/// Whether requests can go by `curl`. Warns where they cannot.
pub fn has_curl() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("curl").is_file());
    if !found {
        skip("requests by curl: it is not installed");
    }
    found
}

/// The server that a stand-in is one for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speaks {
    /// GitHub.
    #[default]
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The path with its query, without the server.
    pub path: String,
    /// The headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The JSON in it, or null.
    pub body: Value,
}

/// An answer that is given instead of the right one.
#[derive(Debug, Clone)]
pub enum Fault {
    /// This status, these headers, this text.
    Answer(u16, Vec<(String, String)>, Value),
    /// The connection ends.
    Cut,
    /// There is no answer until the client leaves.
    Silent,
    /// A pull request like the one that is asked for is opened by another user just before.
    Raced(Value),
}

#[derive(Debug, Default)]
struct State {
    speaks: Speaks,
    pulls: Vec<Value>,
    asked: Vec<ReceivedRequest>,
    faults: VecDeque<Fault>,
    feedback: feedback::Feedback,
    /// Its own address.
    url: String,
}

/// A running server. Ends with its value.
#[derive(Debug)]
pub struct GitHubServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stopping: AtomicBool,
}

impl GitHubServer {
    /// Starts as GitHub on a free port, without pull requests.
    pub fn start() -> Self {
        Self::speaking(Speaks::GitHub)
    }

    /// Starts as this server on a free port, without pull requests.
    pub fn speaking(speaks: Speaks) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        lock(&shared.state).speaks = speaks;
        lock(&shared.state).url = format!("http://{address}");
        let serving = Arc::clone(&shared);
        let listener = std::thread::spawn(move || serving.accept(&listener));
        Self { address, shared, listener: Some(listener) }
    }

    /// Its address: what `GITHUB_API_URL` must be, and a proxy that leads to no other server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an open pull request; its number.
    pub fn has(&self, branch: &str, base: &str, title: &str, body: Option<&str>) -> u64 {
        let mut state = self.state();
        let pull = state.pull(branch, base, title, body.into());
        state.pulls.push(pull);
        state.pulls.len() as u64
    }

    /// People do something with a pull request: `open`, `closed` or `merged`, with the branch at this commit.
    pub fn becomes(&self, number: u64, state: &str, head: &str) {
        let mut all = self.state();
        let pull = all.pulls.iter_mut().find(|pull| pull["number"] == number).unwrap();
        pull["head"]["sha"] = head.into();
        pull["state"] = if state == "open" { "open".into() } else { "closed".into() };
        pull["merged_at"] = match state {
            "merged" => "2026-01-01T00:00:00Z".into(),
            _ => Value::Null,
        };
    }

    /// The branch of a pull request is deleted on the server.
    pub fn deletes_branch_of(&self, number: u64) {
        let mut all = self.state();
        let pull = all.pulls.iter_mut().find(|pull| pull["number"] == number).unwrap();
        pull["deleted"] = true.into();
    }

    /// What the next requests for pull requests are answered instead.
    pub fn fault(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// All pull requests, as the API tells them.
    pub fn pulls(&self) -> Vec<Value> {
        self.state().pulls.clone()
    }

    /// The requests for pull requests, and not those by which `gh` looks who it is.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        let ours = |asked: &&ReceivedRequest| {
            asked.path.starts_with("/repos/") || asked.path.starts_with("/projects/")
        };
        self.state().asked.iter().filter(ours).cloned().collect()
    }

    /// Every request, also those for nothing of ours.
    pub fn all_asked(&self) -> Vec<ReceivedRequest> {
        self.state().asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

impl Drop for GitHubServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The listener wakes up and sees that it is over.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) {
                break;
            }
            let Ok(stream) = stream else { continue };
            let serving = Arc::clone(self);
            // It ends with its client, which never outlives its call.
            std::thread::spawn(move || {
                let _ = serving.serve(&stream);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let Some(head) = http::read(&mut BufReader::new(stream))? else { return Ok(()) };
        let asked = ReceivedRequest {
            method: head.method.clone(),
            path: path(&head),
            body: serde_json::from_slice(&head.body).unwrap_or_default(),
            headers: head.headers,
        };
        let mut headers = vec![("x-oauth-scopes".to_owned(), "repo, read:org".to_owned())];
        headers.push(("connection".to_owned(), "close".to_owned()));
        let answer = lock(&self.state).answer(&asked);
        match answer {
            Reaction::Say(status, more, body) => {
                headers.extend(more);
                Answer(stream).json(status, &headers, &body)
            }
            Reaction::Text(status, text) => Answer(stream).text(status, &headers, &text),
            Reaction::Cut => Answer(stream).cut(),
            Reaction::Silent => Answer(stream).wait(None),
        }
    }
}

enum Reaction {
    Say(u16, Vec<(String, String)>, Value),
    Text(u16, String),
    Cut,
    Silent,
}

impl State {
    fn answer(&mut self, asked: &ReceivedRequest) -> Reaction {
        self.asked.push(asked.clone());
        let plain = |status, body| Reaction::Say(status, vec![], body);
        if let Some(log) = self.stored_log(asked) {
            return log;
        }
        let authorized = asked.headers.iter().any(|(name, value)| {
            name == "authorization" && value.split_once(' ').is_some_and(|(_, key)| key == TOKEN)
        });
        if !authorized {
            return plain(401, json!({ "message": "Bad credentials" }));
        }
        let collection = if self.speaks == Speaks::GitLab { "/projects/" } else { "/repos/" };
        let Some(path) = asked.path.strip_prefix(collection) else {
            return plain(200, json!({ "data": { "viewer": { "login": "ada" } } }));
        };
        match self.faults.pop_front() {
            Some(Fault::Answer(status, headers, body)) => {
                return Reaction::Say(status, headers, body);
            }
            Some(Fault::Cut) => return Reaction::Cut,
            Some(Fault::Silent) => return Reaction::Silent,
            Some(Fault::Raced(pull)) => {
                let empty = plain(200, json!([]));
                self.pulls.push(pull);
                return empty;
            }
            None => {}
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (repo, name) = match self.speaks {
            Speaks::GitLab => (path.split('/').next().unwrap_or_default(), "/merge_requests"),
            _ => (
                path.splitn(3, '/')
                    .nth(2)
                    .map_or(path, |rest| &path[..path.len() - rest.len() - 1]),
                "/pulls",
            ),
        };
        let rest = path.strip_prefix(repo).unwrap_or_default();
        let repo = unescaped(repo);
        if !["ada/engine", "eve/engine"].contains(&repo.as_str()) {
            return plain(404, json!({ "message": "Not Found" }));
        }
        let url = self.url.clone();
        if asked.method == "GET"
            && let Some(reaction) = self.feedback(rest, &url)
        {
            return reaction;
        }
        let change = if self.speaks == Speaks::GitLab { "PUT" } else { "PATCH" };
        let (status, body) = match (asked.method.as_str(), rest.strip_prefix(name)) {
            ("GET", None) if rest.is_empty() => (200, json!({ "id": project(&repo) })),
            ("GET", Some("")) => {
                let (found, more) = self.list(query);
                let found = found.iter().map(|pull| self.program_end(pull)).collect();
                let next = ("link".to_owned(), "<https://x/?page=2>; rel=\"next\"".to_owned());
                let headers = if more { vec![next] } else { vec![] };
                return Reaction::Say(200, headers, Value::Array(found));
            }
            ("GET", Some(number)) => {
                let number = number.trim_start_matches('/').parse::<u64>().unwrap_or(0);
                match self.pulls.iter().find(|pull| pull["number"] == number) {
                    Some(pull) => (200, self.program_end(pull)),
                    None => (404, json!({ "message": "Not Found" })),
                }
            }
            ("POST", Some("")) => {
                let (status, made) = self.create(&asked.body, &repo);
                (status, if status == 201 { self.program_end(&made) } else { made })
            }
            (method, Some(number)) if method == change => {
                let (status, changed) = self.change(number, &asked.body);
                (status, if status == 200 { self.program_end(&changed) } else { changed })
            }
            _ => (404, json!({ "message": "Not Found" })),
        };
        plain(status, body)
    }

    /// A pull request as this server tells it. Inside they are as GitHub tells them.
    fn program_end(&self, pull: &Value) -> Value {
        let mut reported = pull.clone();
        let full =
            |end: &str| pull[end]["repo"]["full_name"].as_str().unwrap_or_default().to_lowercase();
        match self.speaks {
            Speaks::GitHub => {}
            Speaks::Gitea => {
                reported["head"]["label"] = pull["head"]["ref"].clone();
                reported["merged"] = (!pull["merged_at"].is_null()).into();
                if pull["deleted"] == true {
                    reported["head"]["ref"] = format!("refs/pull/{}/head", pull["number"]).into();
                }
            }
            Speaks::GitLab => {
                let state = match (pull["state"].as_str(), pull["merged_at"].is_null()) {
                    (Some("open"), _) => "opened",
                    (_, true) => "closed",
                    _ => "merged",
                };
                reported = json!({
                    "iid": pull["number"], "web_url": pull["html_url"], "title": pull["title"],
                    "description": pull["body"], "state": state, "sha": pull["head"]["sha"],
                    "source_branch": pull["head"]["ref"], "target_branch": pull["base"]["ref"],
                    "source_project_id": project(&full("head")),
                    "target_project_id": project(&full("base")), "merged_at": pull["merged_at"],
                });
            }
        }
        reported
    }

    /// The pull requests that a question is about, and whether there are more.
    fn list(&self, query: &str) -> (Vec<Value>, bool) {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(known, _)| *known == name).map(|(_, value)| unescaped(value))
        };
        let fits = |pull: &&Value| {
            value("head").is_none_or(|head| pull["head"]["label"] == head.as_str())
                && value("source_branch").is_none_or(|head| pull["head"]["ref"] == head.as_str())
                && value("state")
                    .is_none_or(|state| state == "all" || pull["state"] == state.as_str())
        };
        let all: Vec<Value> = self.pulls.iter().rev().filter(fits).cloned().collect();
        // Some servers give out fewer at once than they are asked for.
        let most = if self.speaks == Speaks::Gitea { 2 } else { 100 };
        let page = value("page").and_then(|page| page.parse::<usize>().ok()).unwrap_or(1);
        let begin = all.len().min((page - 1) * most);
        let end = all.len().min(begin + most);
        (all[begin..end].to_vec(), end < all.len())
    }

    fn create(&mut self, body: &Value, repo: &str) -> (u16, Value) {
        let invalid =
            |error: Value| (422, json!({ "message": "Validation Failed", "errors": [error] }));
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let lab = self.speaks == Speaks::GitLab;
        let (head, base) = match lab {
            true => (text("source_branch"), text("target_branch")),
            false => (text("head"), text("base")),
        };
        let (owner, head) = match head.split_once(':') {
            Some((owner, head)) => (owner.to_owned(), head.to_owned()),
            None if lab => (repo.split('/').next().unwrap_or_default().to_owned(), head),
            None => ("ada".to_owned(), head),
        };
        // The branches that the repository there has beside those that are pushed.
        if !["main", "develop"].contains(&base.as_str()) {
            return invalid(
                json!({ "resource": "PullRequest", "field": "base", "code": "invalid" }),
            );
        }
        if head.starts_with("unpushed") {
            return invalid(
                json!({ "resource": "PullRequest", "field": "head", "code": "invalid" }),
            );
        }
        if head.starts_with("empty") {
            let message = format!("No commits between {base} and {head}");
            return invalid(
                json!({ "resource": "PullRequest", "code": "custom", "message": message }),
            );
        }
        let label = format!("{owner}:{head}");
        let same = |pull: &Value| {
            pull["head"]["label"] == label && pull["base"]["ref"] == base && pull["state"] == "open"
        };
        if self.pulls.iter().any(same) {
            let message = format!("A pull request already exists for {label}.");
            if self.speaks != Speaks::GitHub {
                return (409, json!({ "message": [message] }));
            }
            return invalid(
                json!({ "resource": "PullRequest", "code": "custom", "message": message }),
            );
        }
        let words = if lab { &body["description"] } else { &body["body"] };
        let mut pull = self.pull(&head, &base, &text("title"), words.clone());
        pull["head"]["label"] = label.into();
        if owner != "ada" {
            pull["head"]["repo"]["full_name"] = format!("{owner}/engine").into();
        }
        self.pulls.push(pull.clone());
        (201, pull)
    }

    fn change(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let number = number.trim_start_matches('/').parse::<u64>().unwrap_or(0);
        let Some(pull) = self.pulls.iter_mut().find(|pull| pull["number"] == number) else {
            return (404, json!({ "message": "Not Found" }));
        };
        for (name, sent) in [("title", "title"), ("body", "body"), ("body", "description")] {
            if !body[sent].is_null() {
                pull[name] = body[sent].clone();
            }
        }
        (200, pull.clone())
    }

    fn pull(&self, branch: &str, base: &str, title: &str, body: Value) -> Value {
        let number = self.pulls.len() + 1;
        let repo = json!({ "full_name": "Ada/engine" });
        json!({
            "number": number,
            "state": "open",
            "merged_at": null,
            "html_url": format!("https://github.example/{REPO}/pull/{number}"),
            "title": title,
            "body": body,
            "head": { "ref": branch, "label": format!("ada:{branch}"), "repo": repo },
            "base": { "ref": base, "label": format!("ada:{base}"), "repo": repo },
        })
    }
}

/// The number of a repository.
fn project(repo: &str) -> u64 {
    if repo == REPO { 1 } else { 2 }
}

/// The path of a request; one to a proxy names the server before it.
fn path(head: &Head) -> String {
    match head.path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]).to_owned(),
        None => head.path.clone(),
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let code = more.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &more[2..];
            }
            _ => {
                bytes.push(first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
