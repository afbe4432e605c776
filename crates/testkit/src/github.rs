//! A stand-in for GitHub on 127.0.0.1: as much of its API as opening and changing pull requests takes,
//! for `curl` and for the real `gh`.

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

/// The token that it accepts.
pub const TOKEN: &str = "ghp_thisIsTheSecretOfTheTest0123456789";
/// The repository that it has.
pub const REPO: &str = "ada/engine";

/// The executable of `gh`. Fetches it when it is missing. `None`, said aloud, where there is none.
pub fn gh() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("tools/install-gh")).output().unwrap();
    if !output.status.success() {
        skip(&format!("the real gh: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return None;
    }
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end()))
}

/// Whether requests can go by `curl`. Said aloud where they cannot.
pub fn has_curl() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("curl").is_file());
    if !found {
        skip("requests by curl: it is not installed");
    }
    found
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct Asked {
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
    /// A pull request like the one that is asked for is opened by somebody else just before.
    Raced(Value),
}

#[derive(Debug, Default)]
struct State {
    pulls: Vec<Value>,
    asked: Vec<Asked>,
    faults: VecDeque<Fault>,
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
    /// Starts on a free port, without pull requests.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
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

    /// What the next requests for pull requests are answered instead.
    pub fn fault(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// All pull requests, as the API tells them.
    pub fn pulls(&self) -> Vec<Value> {
        self.state().pulls.clone()
    }

    /// The requests for pull requests, and not those by which `gh` looks who it is.
    pub fn asked(&self) -> Vec<Asked> {
        let ours = |asked: &&Asked| asked.path.starts_with("/repos/");
        self.state().asked.iter().filter(ours).cloned().collect()
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
        let asked = Asked {
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
            Reaction::Cut => Answer(stream).cut(),
            Reaction::Silent => Answer(stream).wait(None),
        }
    }
}

enum Reaction {
    Say(u16, Vec<(String, String)>, Value),
    Cut,
    Silent,
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Reaction {
        self.asked.push(asked.clone());
        let plain = |status, body| Reaction::Say(status, vec![], body);
        let authorized = asked.headers.iter().any(|(name, value)| {
            name == "authorization" && value.split_once(' ').is_some_and(|(_, key)| key == TOKEN)
        });
        if !authorized {
            return plain(401, json!({ "message": "Bad credentials" }));
        }
        let Some(path) = asked.path.strip_prefix("/repos/") else {
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
        let rest = path.strip_prefix(REPO).and_then(|rest| rest.strip_prefix("/pulls"));
        let (status, body) = match (asked.method.as_str(), rest) {
            ("GET", Some("")) => (200, self.list(query)),
            ("POST", Some("")) => self.create(&asked.body),
            ("PATCH", Some(number)) => self.change(number, &asked.body),
            _ => (404, json!({ "message": "Not Found" })),
        };
        plain(status, body)
    }

    fn list(&self, query: &str) -> Value {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(known, _)| *known == name).map(|(_, value)| unescaped(value))
        };
        let fits = |pull: &&Value| {
            value("head").is_none_or(|head| pull["head"]["label"] == head.as_str())
                && value("state").is_none_or(|state| pull["state"] == state.as_str())
        };
        Value::Array(self.pulls.iter().filter(fits).cloned().collect())
    }

    fn create(&mut self, body: &Value) -> (u16, Value) {
        let invalid =
            |error: Value| (422, json!({ "message": "Validation Failed", "errors": [error] }));
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (head, base) = (text("head"), text("base"));
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
        let same = |pull: &Value| pull["head"]["ref"] == head && pull["base"]["ref"] == base;
        if self.pulls.iter().any(same) {
            let message = format!("A pull request already exists for ada:{head}.");
            return invalid(
                json!({ "resource": "PullRequest", "code": "custom", "message": message }),
            );
        }
        let pull = self.pull(&head, &base, &text("title"), body["body"].clone());
        self.pulls.push(pull.clone());
        (201, pull)
    }

    fn change(&mut self, number: &str, body: &Value) -> (u16, Value) {
        let number = number.trim_start_matches('/').parse::<u64>().unwrap_or(0);
        let Some(pull) = self.pulls.iter_mut().find(|pull| pull["number"] == number) else {
            return (404, json!({ "message": "Not Found" }));
        };
        for name in ["title", "body"] {
            if !body[name].is_null() {
                pull[name] = body[name].clone();
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
            "html_url": format!("https://github.example/{REPO}/pull/{number}"),
            "title": title,
            "body": body,
            "head": { "ref": branch, "label": format!("ada:{branch}"), "repo": repo },
            "base": { "ref": base, "label": format!("ada:{base}"), "repo": repo },
        })
    }
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
