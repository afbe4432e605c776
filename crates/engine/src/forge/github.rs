//! One pull request per branch on GitHub: found, opened, or brought up to date.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{Address, Merged, merge, without_credentials};
use ralph_core::text::printable_line;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::{About, short};
use super::hand::by_hand;
use super::way::{Request, Way};
use crate::ports::{Forge, ForgeError, Link, Published, PullRequest};
use crate::process::{Stop, capture};
use crate::vcs::git::Git;

/// How long git may take to look up an address.
const MOMENT: Duration = Duration::from_secs(30);

/// Where requests are made from.
#[derive(Debug, Clone)]
pub struct Place {
    /// The worktree.
    pub folder: PathBuf,
    /// What the programs find in their environment: the person's own.
    pub environment: Vec<(OsString, OsString)>,
    /// How long one request may take; see [`Place::PATIENCE`].
    pub patience: Duration,
    /// Tells when to give up.
    pub stop: watch::Receiver<Stop>,
}

impl Place {
    /// How long one request should take at most.
    pub const PATIENCE: Duration = Duration::from_secs(60);
}

/// The server of a remote, by the first way that works.
#[derive(Debug)]
pub struct GitHub {
    place: Place,
    remote: String,
}

/// A pull request as the API tells it.
#[derive(Debug, Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    head: End,
    base: End,
}

#[derive(Debug, Deserialize)]
struct End {
    r#ref: String,
    repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
struct Repo {
    full_name: String,
}

/// What is wanted, where, and by which way.
struct Errand<'a> {
    place: &'a Place,
    way: Way,
    wanted: &'a PullRequest<'a>,
    about: About<'a>,
}

impl GitHub {
    /// The server of this remote.
    pub const fn new(place: Place, remote: String) -> Self {
        Self { place, remote }
    }

    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    /// The repository that the remote names, after what the person has git put instead of it.
    pub(super) fn address(&self) -> Result<Address, ForgeError> {
        let remote = self.remote.clone();
        let arguments = ["remote", "get-url", "--push", "--", &remote];
        let spec = Git::new(&self.place.folder, &arguments).spec(&self.place.environment);
        let spec = spec.map_err(|error| local("git", &error.to_string()))?;
        let done = capture(&spec, MOMENT, self.place.stop.clone());
        match done.end {
            ProcessEnd::Exited { code: 0 } => {}
            ProcessEnd::Exited { .. } => return Err(ForgeError::NoRemote { remote }),
            ProcessEnd::Stopped => return Err(ForgeError::Interrupted),
            end => return Err(local("git", &format!("{end:?}"))),
        }
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        let url = printed.lines().next().unwrap_or_default();
        Address::of(url).ok_or_else(|| {
            let url = short(&without_credentials(url));
            ForgeError::NoAddress { remote, url }
        })
    }
}

fn local(what: &str, said: &str) -> ForgeError {
    ForgeError::Local { what: what.to_owned(), said: short(said) }
}

impl Forge for GitHub {
    fn publish(&self, wanted: &PullRequest<'_>) -> Result<Published, ForgeError> {
        let address = self.address()?;
        let way = match Way::to(&address, &self.place)? {
            Way::None(why) => return by_hand(why, &address, wanted).map(Published::ByHand),
            way => way,
        };
        let about = About { address: &address, branch: &wanted.words.branch, base: wanted.base };
        let errand = Errand { place: &self.place, way, wanted, about };
        if let Some(pull) = errand.find()? {
            return errand.update(pull);
        }
        match errand.create() {
            // Somebody was faster.
            Err(ForgeError::Refused { status: 422, said, host })
                if said.contains("already exists") =>
            {
                match errand.find()? {
                    Some(pull) => errand.update(pull),
                    None => Err(ForgeError::Refused { status: 422, said, host }),
                }
            }
            created => created,
        }
    }
}

impl Errand<'_> {
    fn ask(
        &self,
        method: &'static str,
        path: String,
        body: Option<Value>,
    ) -> Result<Value, ForgeError> {
        self.way.ask(&Request { method, path, body }, &self.about, self.place)
    }

    /// The open pull request of the branch; of several the one to the same base.
    fn find(&self) -> Result<Option<Pull>, ForgeError> {
        let About { address, branch, base } = self.about;
        let pulls: Vec<Pull> = self.read(self.ask("GET", address.pulls_of(branch), None)?)?;
        // A server that does not understand the question lists all of them.
        let ours = |pull: &Pull| {
            let name = address.to_string();
            let repo = pull.head.repo.as_ref();
            pull.head.r#ref == branch
                && repo.is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(&name))
        };
        let mut pulls: Vec<Pull> = pulls.into_iter().filter(ours).collect();
        pulls.sort_by_key(|pull| (pull.base.r#ref != base, pull.number));
        Ok(pulls.into_iter().next())
    }

    fn create(&self) -> Result<Published, ForgeError> {
        let About { address, branch, base } = self.about;
        let words = self.wanted.words;
        let (title, text) = (words.title(), words.body());
        let body = json!({ "title": title, "body": text, "head": branch, "base": base });
        let pull: Pull = self.read(self.ask("POST", address.pulls(), Some(body))?)?;
        Ok(Published::Created(pull.link()))
    }

    fn update(&self, pull: Pull) -> Result<Published, ForgeError> {
        let text = pull.body.as_deref().unwrap_or_default();
        let (title, text) = match merge(self.wanted.words, &pull.title, text) {
            Merged::Theirs => return Ok(Published::Theirs(pull.link())),
            Merged::Same => return Ok(Published::Unchanged(pull.link())),
            Merged::Change { title, body } => (title, body),
        };
        let mut body = serde_json::Map::new();
        body.extend(title.map(|title| ("title".to_owned(), title.into())));
        body.extend(text.map(|text| ("body".to_owned(), text.into())));
        let path = format!("{}/{}", self.about.address.pulls(), pull.number);
        let pull: Pull = self.read(self.ask("PATCH", path, Some(Value::Object(body)))?)?;
        Ok(Published::Updated(pull.link()))
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, answer: Value) -> Result<T, ForgeError> {
        let host = self.about.address.host.clone();
        serde_json::from_value(answer)
            .map_err(|error| ForgeError::Odd { host, said: short(&error.to_string()) })
    }
}

impl Pull {
    fn link(&self) -> Link {
        Link { number: self.number, page: printable_line(&self.html_url).into_owned() }
    }
}
