//! Which way to a server there is from here, and a request by it.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::Address;
use serde_json::Value;
use tempfile::NamedTempFile;

use super::answer::{About, Answer, short};
use super::api::{Api, Token};
use super::github::Place;
use crate::agents::set;
use crate::host::host;
use crate::ports::ForgeError;
use crate::process::{Captured, CommandSpec, capture};

const ACCEPT: &str = "Accept: application/vnd.github+json";
const VERSION: &str = "X-GitHub-Api-Version: 2022-11-28";

/// Variables by which `gh` would print other things than its answer, or use another repository.
const TALKATIVE: [&str; 6] =
    ["GH_DEBUG", "DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_REPO", "GH_PAGER"];
/// Variables with secrets that curl has no need of.
const SECRETS: [&str; 4] =
    ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

/// A way to a server.
#[derive(Debug)]
pub(super) enum Way {
    /// By `gh`, which is logged in.
    Gh(PathBuf),
    /// By `curl`, with a token.
    Api(PathBuf, Api, Token),
    /// None, and why.
    None(String),
}

/// A request to the API.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    /// The resource, below the root of the API.
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Way {
    /// The first way that works.
    pub(super) fn to(address: &Address, place: &Place) -> Result<Self, ForgeError> {
        let gh = match program(&place.environment, "gh") {
            None => "`gh` is not installed".to_owned(),
            Some(gh) => match logged_in(&gh, address, place)? {
                None => return Ok(Self::Gh(gh)),
                Some(why) => why,
            },
        };
        let api = Api::of(&address.host, &place.environment)?;
        let Some(token) = api.token(&place.environment) else {
            return Ok(Self::None(format!("{gh}, and {} is not set", api.variables[0])));
        };
        Ok(match program(&place.environment, "curl") {
            Some(curl) => Self::Api(curl, api, token),
            None => Self::None(format!("{gh}, and `curl` is not installed")),
        })
    }

    /// Asks, and returns what a good answer says.
    pub(super) fn ask(
        &self,
        request: &Request,
        about: &About<'_>,
        place: &Place,
    ) -> Result<Value, ForgeError> {
        let host = &about.address.host;
        match self {
            Self::Gh(gh) => meaning(&gh_call(gh, host, request, place), about, place),
            Self::Api(curl, api, token) => {
                let done = curl_call(curl, api, token, request, place)?;
                meaning(&done, about, place).map_err(|error| hidden(error, token))
            }
            Self::None(why) => Err(network(host, why)),
        }
    }
}

fn meaning(done: &Captured, about: &About<'_>, place: &Place) -> Result<Value, ForgeError> {
    let host = &about.address.host;
    match (&done.end, Answer::read(&done.stdout)) {
        (ProcessEnd::Stopped, _) => Err(ForgeError::Interrupted),
        (ProcessEnd::NotStarted { error }, _) => Err(network(host, error)),
        // Gh ends with an error where the answer is a refusal, curl where it was cut off.
        (ProcessEnd::Exited { code: 0 | 1 }, Some(answer)) => answer.good(about),
        (ProcessEnd::Exited { code: 0 }, None) => {
            let said = short(&String::from_utf8_lossy(&done.stdout));
            Err(ForgeError::Odd { host: host.clone(), said })
        }
        (ProcessEnd::TimedOut { .. }, _) => {
            Err(network(host, &format!("there was no answer in {} s", place.patience.as_secs())))
        }
        _ => Err(network(host, &complaint(&done.stderr))),
    }
}

/// The error without the token, should a server or a program have repeated it.
fn hidden(mut error: ForgeError, token: &Token) -> ForgeError {
    match &mut error {
        ForgeError::Forbidden { said, .. }
        | ForgeError::Refused { said, .. }
        | ForgeError::Network { said, .. }
        | ForgeError::Odd { said, .. } => *said = token.hidden_in(said),
        _ => {}
    }
    error
}

fn network(host: &str, said: &str) -> ForgeError {
    ForgeError::Network { host: host.to_owned(), said: short(said) }
}

/// The line of a program that says what is wrong, without its name.
fn complaint(stderr: &str) -> String {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or("the program did not say why");
    let line = line.strip_prefix("curl: ").unwrap_or(line);
    line.strip_prefix("gh: ").unwrap_or(line).to_owned()
}

/// `None` when `gh` is logged in to the server, else why not.
fn logged_in(gh: &PathBuf, address: &Address, place: &Place) -> Result<Option<String>, ForgeError> {
    let args = ["auth", "status", "--hostname", &address.host];
    let spec = gh_spec(gh, &args, vec![], place);
    let done = capture(&spec, place.patience, place.stop.clone());
    match done.end {
        ProcessEnd::Exited { code: 0 } => Ok(None),
        ProcessEnd::Stopped => Err(ForgeError::Interrupted),
        ProcessEnd::TimedOut { .. } => {
            Ok(Some(format!("`gh auth status` did not end within {} s", place.patience.as_secs())))
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

fn gh_call(gh: &PathBuf, host: &str, request: &Request, place: &Place) -> Captured {
    let mut args = vec!["api", "--hostname", host, "--method", request.method, "--include"];
    args.extend(["--header", ACCEPT, "--header", VERSION]);
    let body = request.body.as_ref().map(|body| body.to_string().into_bytes());
    if body.is_some() {
        args.extend(["--input", "-"]);
    }
    args.extend(["--", &request.path]);
    let spec = gh_spec(gh, &args, body.unwrap_or_default(), place);
    capture(&spec, place.patience, place.stop.clone())
}

fn gh_spec(gh: &PathBuf, args: &[&str], stdin: Vec<u8>, place: &Place) -> CommandSpec {
    let mut env = without(&host().environment(&place.environment), &TALKATIVE);
    for name in ["GH_PROMPT_DISABLED", "GH_NO_UPDATE_NOTIFIER", "NO_COLOR"] {
        set(&mut env, name, "1");
    }
    CommandSpec {
        program: gh.into(),
        args: args.iter().map(Into::into).collect(),
        folder: place.folder.clone(),
        env,
        stdin,
    }
}

/// Curl reads all that it has to know, for others can read its arguments. The text of the request is in a
/// file: older ones take no long lines.
fn curl_call(
    curl: &PathBuf,
    api: &Api,
    token: &Token,
    request: &Request,
    place: &Place,
) -> Result<Captured, ForgeError> {
    let failed = |error: std::io::Error| ForgeError::Local {
        what: "a temporary file".to_owned(),
        said: error.to_string(),
    };
    let mut stdin = curl_config(api, token, request);
    // It is there until curl has ended.
    let mut file = None;
    if let Some(body) = &request.body {
        let file = file.insert(NamedTempFile::new().map_err(failed)?);
        file.write_all(body.to_string().as_bytes()).map_err(failed)?;
        let path = format!("@{}", file.path().display());
        stdin.push_str(&format!("data-binary = {}\n", quoted(&path)));
    }
    let spec = CommandSpec {
        program: curl.into(),
        // The person's own settings could print the token, or follow to where it is not for.
        args: ["--disable", "--config", "-"].iter().map(Into::into).collect(),
        folder: place.folder.clone(),
        env: without(&host().environment(&place.environment), &SECRETS),
        stdin: stdin.into_bytes(),
    };
    Ok(capture(&spec, place.patience, place.stop.clone()))
}

fn curl_config(api: &Api, token: &Token, request: &Request) -> String {
    let schemes = if api.local { "=http,https" } else { "=https" };
    let bearer = format!("Authorization: Bearer {}", token.reveal());
    let mut text = format!(
        "silent\nshow-error\ninclude\nsuppress-connect-headers\ngloboff\nconnect-timeout = 20\n\
         proto = \"{schemes}\"\nuser-agent = \"ralph\"\nrequest = \"{}\"\nurl = {}\n",
        request.method,
        quoted(&format!("{}/{}", api.base, request.path)),
    );
    for header in [ACCEPT, VERSION, &bearer, "Content-Type: application/json", "Expect:"] {
        text.push_str(&format!("header = {}\n", quoted(header)));
    }
    text
}

/// A value in a file of settings of curl.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn without(environment: &[(OsString, OsString)], names: &[&str]) -> Vec<(OsString, OsString)> {
    let kept = |(name, _): &&(OsString, OsString)| names.iter().all(|known| name != known);
    environment.iter().filter(kept).cloned().collect()
}

/// A program on the `PATH`. What lies in the repository is not the user's.
pub(super) fn program(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    host().find_by(environment, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_curl_is_told_holds_no_other_settings() {
        let environment = vec![("GH_TOKEN".into(), "a\"b\\c".into())];
        let api = Api::of("github.com", &environment).unwrap();
        let token = api.token(&environment).unwrap();
        let path = "x\"\nupload-file = \"/etc/passwd".to_owned();
        let text = curl_config(&api, &token, &Request { method: "GET", path, body: None });
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
}
