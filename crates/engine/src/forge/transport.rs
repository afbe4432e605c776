//! Chooses the transport to a server and sends requests by it: `gh` where it is logged in, else the API with a
//! token. It retries temporary failures a few times.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{Address, ForgeKind, ForgeRow};
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::sync::watch;

use super::answer::{About, Answer, Log, Reply, short};
use super::remote_forge::{Errand, ForgeContext};
use super::server::{Server, Token, token_variables};
use crate::agents::set;
use crate::host::host;
use crate::ports::ForgeError;
use crate::process::{Captured, CommandSpec, Stop, capture, runtime};

/// Variables by which `gh` would print other things than its answer, or use another repository.
const TALKATIVE: [&str; 6] =
    ["GH_DEBUG", "DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_REPO", "GH_PAGER"];

/// The longest answer that is read: a hundred pull requests with the longest bodies.
const LONGEST: u64 = 32 << 20;

#[derive(Debug)]
pub(super) enum Transport {
    Gh(PathBuf),
    Api { curl: PathBuf, server: Server, token: Token, variable: String },
}

/// The kind of a server, and how to reach it, or why ralph cannot.
pub(super) type FoundTransport = (ForgeKind, Result<Transport, String>);

#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    /// The resource, below the root of the API.
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Request {
    pub(super) const fn get(path: String) -> Self {
        Self { method: "GET", path, body: None }
    }
}

impl Transport {
    /// The kind of the server of an address, `None` if that is unknown, and the first transport that works for
    /// it, or why there is none.
    pub(super) fn to(
        address: &Address,
        place: &ForgeContext,
    ) -> Result<Option<FoundTransport>, ForgeError> {
        let server = Server::of(&address.host, &place.hosts, &place.environment)?;
        let mut why = vec![];
        if server.as_ref().is_none_or(|server| server.kind == ForgeKind::GitHub)
            && address.is_flat()
        {
            match program(&place.environment, "gh") {
                None => why.push("`gh` is not installed".to_owned()),
                Some(gh) => match logged_in(&gh, address, place)? {
                    None => return Ok(Some((ForgeKind::GitHub, Ok(Self::Gh(gh))))),
                    Some(no) => why.push(no),
                },
            }
        }
        let Some(server) = server else { return Ok(None) };
        let kind = server.kind;
        let found = server.token(&place.environment).map(|(name, token)| (name.to_owned(), token));
        let curl = program(&place.environment, "curl");
        let transport = match (found, curl) {
            (Some((variable, token)), Some(curl)) => {
                Ok(Self::Api { curl, server, token, variable })
            }
            (found, _) => {
                why.push(match (found, server.variables.first()) {
                    (Some(_), _) => "`curl` is not installed".to_owned(),
                    (None, Some(name)) => format!("{name} is not set"),
                    (None, None) => {
                        format!("no token is set for {}: see publish.hosts", address.host)
                    }
                });
                Err(why.join(", and "))
            }
        };
        Ok(Some((kind, transport)))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Gh(_) => "gh".to_owned(),
            Self::Api { variable, .. } => format!("the API with {variable}"),
        }
    }

    /// What to do where the login is refused.
    pub(super) fn remedy(&self, host: &str) -> String {
        match self {
            Self::Api { variable, .. } => format!("create a new one and set {variable}"),
            Self::Gh(_) => format!("`gh auth login --hostname {host}`"),
        }
    }
}

impl Errand<'_> {
    /// Sends a request and returns a good answer. Temporary failures are retried.
    pub(super) fn send(&self, request: &Request) -> Result<Reply, ForgeError> {
        let about = &self.about();
        again(self.place, || self.send_once(request, about, |answer| answer.good(about)))
    }

    /// The text of a log. Servers keep logs elsewhere, and say where.
    pub(super) fn log(&self, resource: &str) -> Result<String, ForgeError> {
        let (request, about) = (Request::get(resource.to_owned()), &self.about());
        again(self.place, || {
            let found = self.send_once(&request, about, |answer| answer.log(about))?;
            let url = match found {
                Log::Text(text) => return Ok(text),
                Log::Elsewhere(url) => url,
            };
            let Transport::Api { curl, server, .. } = &self.transport else {
                return Err(about.odd("its log was not found"));
            };
            if !(url.starts_with("https://")
                || (server.local && url.starts_with("http://127.0.0.1:")))
            {
                return Err(about.odd("its log is at an unencrypted address"));
            }
            let done = curl_run(curl, plain_config(server.local, "GET", &url), self.place);
            match meaning(&done, about, self.place, |answer| answer.log(about))? {
                Log::Text(text) => Ok(text),
                Log::Elsewhere(_) => Err(about.odd("its log was not found")),
            }
        })
    }

    fn send_once<T>(
        &self,
        request: &Request,
        about: &About<'_>,
        read: impl FnOnce(Answer) -> Result<T, ForgeError>,
    ) -> Result<T, ForgeError> {
        let place = self.place;
        match &self.transport {
            Transport::Gh(gh) => meaning(&gh_call(gh, about, request, place), about, place, read),
            Transport::Api { curl, server, token, .. } => {
                let done = curl_call(curl, server, token, request, place)?;
                meaning(&done, about, place, read).map_err(|error| hidden(error, token))
            }
        }
    }
}

fn again<T>(
    place: &ForgeContext,
    mut ask: impl FnMut() -> Result<T, ForgeError>,
) -> Result<T, ForgeError> {
    let mut pauses = place.retry.pauses.iter();
    loop {
        let error = match ask() {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let Some(wanted) = error.passes_after() else { return Err(error) };
        let Some(pause) = pauses.next() else { return Err(error) };
        let pause = wanted.unwrap_or(*pause);
        if pause > place.retry.longest {
            return Err(error);
        }
        if !paused(pause, place.stop.clone()) {
            return Err(ForgeError::Interrupted);
        }
    }
}

/// Waits. `true` unless it was asked to stop.
pub(crate) fn paused(pause: Duration, mut stop: watch::Receiver<Stop>) -> bool {
    let Ok(runtime) = runtime() else { return false };
    runtime.block_on(async {
        let reported = async {
            // Nothing can signal stop any more.
            if stop.wait_for(|stop| *stop != Stop::Go).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::time::timeout(pause, reported).await.is_err()
    })
}

fn meaning<T>(
    done: &Captured,
    about: &About<'_>,
    place: &ForgeContext,
    read: impl FnOnce(Answer) -> Result<T, ForgeError>,
) -> Result<T, ForgeError> {
    let host = &about.address.host;
    match (&done.end, Answer::read(&done.stdout)) {
        (ProcessEnd::Stopped, _) => Err(ForgeError::Interrupted),
        (ProcessEnd::NotStarted { error }, _) => Err(network(host, error)),
        // Gh ends with an error where the answer is a refusal, curl where it was interrupted.
        (ProcessEnd::Exited { code: 0 | 1 }, Some(answer)) => read(answer),
        (ProcessEnd::Exited { code: 0 }, None) => {
            let message = short(&String::from_utf8_lossy(&done.stdout));
            Err(ForgeError::Odd { host: host.clone(), kind: about.kind, message })
        }
        (ProcessEnd::TimedOut { .. }, _) => {
            Err(network(host, &format!("no answer after {}s", place.patience.as_secs())))
        }
        _ => Err(network(host, &complaint(&done.stderr))),
    }
}

/// The error without the token, should a server or a program have repeated it.
fn hidden(mut error: ForgeError, token: &Token) -> ForgeError {
    match &mut error {
        ForgeError::Forbidden { message, .. }
        | ForgeError::Refused { message, .. }
        | ForgeError::Network { message, .. }
        | ForgeError::Odd { message, .. } => *message = message.replace(token.reveal(), "***"),
        _ => {}
    }
    error
}

fn network(host: &str, message: &str) -> ForgeError {
    ForgeError::Network { host: host.to_owned(), message: short(message) }
}

/// The line of a program that says what is wrong, without its name.
fn complaint(stderr: &str) -> String {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or("the program gave no reason");
    let line = line.strip_prefix("curl: ").unwrap_or(line);
    line.strip_prefix("gh: ").unwrap_or(line).to_owned()
}

/// `None` when `gh` is logged in to the server, else why not.
fn logged_in(
    gh: &PathBuf,
    address: &Address,
    place: &ForgeContext,
) -> Result<Option<String>, ForgeError> {
    let args = ["auth", "status", "--hostname", &address.host];
    let spec = gh_spec(gh, &args, vec![], address, place);
    let done = capture(&spec, place.patience, place.stop.clone());
    match done.end {
        ProcessEnd::Exited { code: 0 } => Ok(None),
        ProcessEnd::Stopped => Err(ForgeError::Interrupted),
        ProcessEnd::TimedOut { .. } => {
            Ok(Some(format!("`gh auth status` timed out after {}s", place.patience.as_secs())))
        }
        _ => {
            let lines = done.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
            let lines: Vec<&str> = lines.collect();
            // A cross is before what is wrong; above it is only the name of the server.
            let crossed = lines.iter().find_map(|line| line.strip_prefix("X "));
            let why = crossed.or(lines.first().copied()).unwrap_or("no");
            Ok(Some(format!("`gh auth status` says \"{}\"", short(why))))
        }
    }
}

fn gh_call(gh: &PathBuf, about: &About<'_>, request: &Request, place: &ForgeContext) -> Captured {
    let host = &about.address.host;
    let mut args = vec!["api", "--hostname", host, "--method", request.method, "--include"];
    for header in ForgeKind::GitHub.row().headers {
        args.extend(["--header", header]);
    }
    let body = request.body.as_ref().map(|body| body.to_string().into_bytes());
    if body.is_some() {
        args.extend(["--input", "-"]);
    }
    args.extend(["--", &request.path]);
    let spec = gh_spec(gh, &args, body.unwrap_or_default(), about.address, place);
    capture(&spec, place.patience, place.stop.clone())
}

/// A call of gh. It sends a token of its environment to any server that it is asked about, so it gets only
/// those that are for this one; its own logins know theirs.
fn gh_spec(
    gh: &PathBuf,
    args: &[&str],
    stdin: Vec<u8>,
    address: &Address,
    place: &ForgeContext,
) -> CommandSpec {
    let server = Server::of(&address.host, &place.hosts, &place.environment);
    let for_it = server.ok().flatten().map(|server| server.variables).unwrap_or_default();
    let mut gone = token_variables(&place.hosts);
    gone.retain(|name| !for_it.contains(name));
    gone.extend(TALKATIVE.map(str::to_owned));
    let mut env = without(&host().environment(&place.environment), &gone);
    for name in ["GH_PROMPT_DISABLED", "GH_NO_UPDATE_NOTIFIER", "NO_COLOR"] {
        set(&mut env, name, "1");
    }
    CommandSpec { stdin: stdin.into(), ..CommandSpec::new(gh, args, &place.folder, env) }
}

/// Curl reads all that it has to know, for others can read its arguments. The text of the request is in a
/// file: older ones take no long lines.
fn curl_call(
    curl: &PathBuf,
    server: &Server,
    token: &Token,
    request: &Request,
    place: &ForgeContext,
) -> Result<Captured, ForgeError> {
    let failed = |error: std::io::Error| ForgeError::Local {
        what: "a temporary file".to_owned(),
        message: error.to_string(),
    };
    let mut stdin = curl_config(server, token, request);
    // It exists until curl has ended.
    let mut file = None;
    if let Some(body) = &request.body {
        let file = file.insert(NamedTempFile::new().map_err(failed)?);
        file.write_all(body.to_string().as_bytes()).map_err(failed)?;
        let path = format!("@{}", file.path().display());
        stdin.push_str(&format!("data-binary = {}\n", quoted(&path)));
    }
    Ok(curl_run(curl, stdin, place))
}

fn curl_run(curl: &PathBuf, config: String, place: &ForgeContext) -> Captured {
    // The user's curl settings could print the token, or send it to another server.
    let args = ["--disable", "--config", "-"];
    let env = without(&host().environment(&place.environment), &token_variables(&place.hosts));
    let spec = CommandSpec::new(curl, args, &place.folder, env);
    let spec = CommandSpec { stdin: config.into_bytes().into(), ..spec };
    capture(&spec, place.patience, place.stop.clone())
}

fn plain_config(is_local: bool, method: &str, url: &str) -> String {
    let schemes = if is_local { "=http,https" } else { "=https" };
    format!(
        "silent\nshow-error\ninclude\nsuppress-connect-headers\ngloboff\nconnect-timeout = 20\n\
         max-filesize = {LONGEST}\nproto = \"{schemes}\"\nuser-agent = \"ralph\"\nrequest = \"{method}\"\n\
         url = {}\n",
        quoted(url),
    )
}

fn curl_config(server: &Server, token: &Token, request: &Request) -> String {
    let row: &ForgeRow = server.kind.row();
    let login = format!("Authorization: {} {}", row.auth, token.reveal());
    let url = format!("{}/{}", server.base, request.path);
    let mut text = plain_config(server.local, request.method, &url);
    let common = [login.as_str(), "Content-Type: application/json", "Expect:"];
    for header in row.headers.iter().copied().chain(common) {
        text.push_str(&format!("header = {}\n", quoted(header)));
    }
    text
}

/// A value in a file of settings of curl.
pub(crate) fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn without(environment: &[(OsString, OsString)], names: &[String]) -> Vec<(OsString, OsString)> {
    let kept = |(name, _): &&(OsString, OsString)| names.iter().all(|known| name != known.as_str());
    environment.iter().filter(kept).cloned().collect()
}

/// A program on the `PATH`. What is in the repository is not the user's.
pub(super) fn program(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    host().find_by(environment, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_of_curl_holds_no_other_settings() {
        let environment = vec![("GH_TOKEN".into(), "a\"b\\c".into())];
        let server = Server::of("github.com", &[], &environment).unwrap().unwrap();
        let (_, token) = server.token(&environment).unwrap();
        let path = "x\"\nupload-file = \"/etc/passwd".to_owned();
        let text = curl_config(&server, &token, &Request::get(path));
        assert!(text.contains("header = \"Authorization: Bearer a\\\"b\\\\c\"\n"), "{text}");
        assert!(text.contains("proto = \"=https\"\n"), "{text}");
        let url = "url = \"https://api.github.com/x\\\"upload-file = \\\"/etc/passwd\"\n";
        assert!(text.contains(url), "{text}");
    }

    #[test]
    fn programs_are_found_in_whole_folders_only() {
        let environment = |path: &str| vec![(OsString::from("PATH"), OsString::from(path))];
        assert_eq!(program(&environment("/bin:/usr/bin"), "sh"), Some("/bin/sh".into()));
        assert_eq!(program(&environment(".:src:"), "lib.rs"), None);
        assert_eq!(program(&environment("/nowhere"), "sh"), None);
        assert_eq!(program(&[], "sh"), None);
    }

    #[test]
    fn a_pause_ends_when_the_run_is_asked_to_stop() {
        let (say, stop) = watch::channel(Stop::Go);
        assert!(paused(Duration::from_millis(1), stop.clone()));
        say.send_replace(Stop::Kill);
        assert!(!paused(Duration::from_secs(600), stop.clone()));
        let (_, alone) = watch::channel(Stop::Go);
        assert!(paused(Duration::from_millis(1), alone));
    }
}
