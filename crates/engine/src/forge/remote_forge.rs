//! The pull requests of a branch on the server of a remote: finds, opens and updates them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{
    Address, Feedback, ForgeEntry, ForgeKind, HostEntry, Merged, Pull, PullState, Route, Source,
    merge, without_credentials,
};
use ralph_core::text::printable_line;
use serde_json::Value;
use tokio::sync::watch;

use super::answer::{About, Reply, short};
use super::manual;
use super::server::Server;
use super::transport::{Request, Transport, program};
use crate::git::Git;
use crate::host::host;
use crate::ports::{ForgeError, Link, Published, PullRequest, Survey};
use crate::process::{CommandSpec, Stop, capture};

const MOMENT: Duration = Duration::from_secs(30);

/// Where requests are made from.
#[derive(Debug, Clone)]
pub struct ForgeContext {
    pub folder: PathBuf,
    /// What the programs find in their environment: the user's own.
    pub environment: Vec<(OsString, OsString)>,
    pub hosts: Vec<HostEntry>,
    /// How long one request may take; see [`ForgeContext::PATIENCE`].
    pub patience: Duration,
    pub retry: Retry,
    pub stop: watch::Receiver<Stop>,
}

/// How temporary failures are retried: rate limits, broken connections, broken servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// How long to wait before each further attempt, unless the server says.
    pub pauses: Vec<Duration>,
    /// The longest wait that a server may ask for; beyond it the next run tries.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let pauses = [1, 4, 15].map(Duration::from_secs).to_vec();
        Self { pauses, longest: Duration::from_secs(90) }
    }
}

impl ForgeContext {
    /// How long one request should take at most.
    pub const PATIENCE: Duration = Duration::from_secs(60);
}

/// The server of a remote, by the first transport that works. Calls block and are not for threads of an async
/// runtime.
#[derive(Debug)]
pub struct RemoteForge {
    pub(super) place: ForgeContext,
    push_remote: String,
    pr_remote: String,
}

/// Where requests about a branch go.
enum Destination<'a> {
    Known(Errand<'a>),
    /// The server cannot be asked, and why. Of one that ralph can only push to no route is known.
    Unasked {
        address: Address,
        route: Option<Route>,
        why: String,
    },
}

/// Requests about a branch that go to a server.
pub(super) struct Errand<'a> {
    pub(super) place: &'a ForgeContext,
    pub(super) transport: Transport,
    pub(super) route: Route,
    branch: &'a str,
    base: &'a str,
}

impl RemoteForge {
    /// Branches are pushed to `push_remote`, and their pull requests are on `pr_remote`.
    pub const fn new(place: ForgeContext, push_remote: String, pr_remote: String) -> Self {
        Self { place, push_remote, pr_remote }
    }

    /// The repository of a remote, after the user's git URL rewrites.
    fn address_of(&self, remote: &str, is_pushed_to: bool) -> Result<Address, ForgeError> {
        let mut arguments = vec!["remote", "get-url"];
        arguments.extend(is_pushed_to.then_some("--push"));
        arguments.extend(["--", remote]);
        let remote = remote.to_owned();
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
        let address = Address::of(url).ok_or_else(|| {
            let url = short(&without_credentials(url));
            ForgeError::NoAddress { remote, url }
        })?;
        self.resolved(address)
    }

    /// The address with the name that the user's ssh settings put in the place of an alias.
    fn resolved(&self, address: Address) -> Result<Address, ForgeError> {
        let ForgeContext { hosts, environment, stop, .. } = &self.place;
        if !address.by_ssh || Server::of(&address.host, hosts, environment)?.is_some() {
            return Ok(address);
        }
        let Some(ssh) = program(environment, "ssh") else { return Ok(address) };
        let (args, env) = (["-G", "--", &address.host], host().environment(environment));
        let spec = CommandSpec::new(ssh, args, &self.place.folder, env);
        let done = capture(&spec, MOMENT, stop.clone());
        if done.end == ProcessEnd::Stopped {
            return Err(ForgeError::Interrupted);
        }
        let printed = String::from_utf8_lossy(&done.stdout);
        let name = printed.lines().find_map(|line| line.strip_prefix("hostname "));
        Ok(name.and_then(|name| address.on(name.trim())).unwrap_or(address))
    }

    /// The repository that branches are pushed to, and the one that pull requests go to.
    pub(super) fn addresses(&self) -> Result<(Address, Address), ForgeError> {
        let source = self.address_of(&self.push_remote, true)?;
        if self.pr_remote == self.push_remote {
            return Ok((source.clone(), source));
        }
        let target = self.address_of(&self.pr_remote, false)?;
        match source.host == target.host {
            true => Ok((source, target)),
            false => {
                let (push, pr) = (self.push_remote.clone(), self.pr_remote.clone());
                Err(ForgeError::TwoServers { push, pr })
            }
        }
    }

    /// The same, where the server can be asked at all, about no branch.
    pub(super) fn reached(&self) -> Result<Errand<'_>, ForgeError> {
        match self.destination("", "")? {
            Destination::Known(errand) => Ok(errand),
            Destination::Unasked { address, why, .. } => {
                Err(ForgeError::Network { host: address.host, message: why })
            }
        }
    }

    fn destination<'a>(
        &'a self,
        branch: &'a str,
        base: &'a str,
    ) -> Result<Destination<'a>, ForgeError> {
        let (source, target) = self.addresses()?;
        let Some((kind, transport)) = Transport::to(&target, &self.place)? else {
            let why = manual::unknown(&target);
            return Ok(Destination::Unasked { address: target, route: None, why });
        };
        if kind != ForgeKind::GitLab && !(target.is_flat() && source.is_flat()) {
            let url = format!("{}/{target}", target.host);
            return Err(ForgeError::NoAddress { remote: self.pr_remote.clone(), url });
        }
        let route = Route { kind, target, source, ids: None };
        let transport = match transport {
            Ok(transport) => transport,
            Err(why) => {
                let address = route.target.clone();
                return Ok(Destination::Unasked { address, route: Some(route), why });
            }
        };
        let mut errand = Errand { place: &self.place, transport, route, branch, base };
        if kind == ForgeKind::GitLab && errand.route.is_fork() {
            let id = |address: &Address| {
                let found = errand.ask("GET", errand.route.repository(address), None)?;
                found["id"].as_u64().ok_or_else(|| errand.about().odd("it has no id"))
            };
            errand.route.ids = Some((id(&errand.route.source)?, id(&errand.route.target)?));
        }
        Ok(Destination::Known(errand))
    }
}

/// The most pages of a list, and the most lists, that are read about a pull request.
const PAGES: u64 = 5;
const LISTS: usize = 40;

fn local(what: &str, message: &str) -> ForgeError {
    ForgeError::Local { what: what.to_owned(), message: short(message) }
}

impl RemoteForge {
    /// The pull requests of a branch in any state. Changes nothing.
    pub fn survey(&self, branch: &str) -> Result<Survey, ForgeError> {
        let errand = match self.destination(branch, "")? {
            Destination::Known(errand) => errand,
            Destination::Unasked { why, .. } => return Ok(Survey::Unasked { why }),
        };
        let pulls = errand.list()?;
        let head_refs = pulls.iter().map(|pull| errand.route.head_ref(pull.number)).collect();
        Ok(Survey::Asked { pulls, head_refs })
    }

    /// Ensures that the branch, which is already pushed, has one open pull request with this text.
    /// Opens one, or updates one that ralph opened; text from users stays. Calling it twice changes nothing.
    pub fn publish(&self, wanted: &PullRequest<'_>) -> Result<Published, ForgeError> {
        let errand = match self.destination(&wanted.words.branch, wanted.base)? {
            Destination::Known(errand) => errand,
            Destination::Unasked { route, why, .. } => {
                return manual::pushed(why, route.as_ref(), wanted).map(Published::Manually);
            }
        };
        if let Some(pull) = errand.find()? {
            return errand.update(wanted, &pull);
        }
        match errand.create(wanted) {
            // Someone else was faster, or it is ralph's own, whose answer got lost.
            Err(error @ ForgeError::Refused { .. }) if error.is_duplicate() => {
                match errand.find()? {
                    Some(pull) => errand.update(wanted, &pull),
                    None => Err(error),
                }
            }
            created => created,
        }
    }

    /// The state of a pull request, the checks of a commit, and what reviewers said. Changes nothing.
    pub fn feedback(
        &self,
        number: u64,
        commit: &str,
        with_comments: bool,
    ) -> Result<(Pull, Feedback), ForgeError> {
        let errand = self.reached()?;
        let pull = errand.read(&errand.ask("GET", errand.route.one(number), None)?)?;
        let mut sources = errand.route.checks(commit);
        if with_comments {
            sources.extend(errand.route.comments(number));
        }
        Ok((pull, errand.feedback_from(sources)?))
    }

    /// The log of a check, by the resource that [`Self::feedback`] named.
    pub fn log(&self, resource: &str) -> Result<String, ForgeError> {
        self.reached()?.log(resource)
    }
}

impl Errand<'_> {
    pub(super) fn about(&self) -> About<'_> {
        About::of(&self.route, &self.transport, self.branch, self.base)
    }

    fn ask(
        &self,
        method: &'static str,
        path: String,
        body: Option<Value>,
    ) -> Result<Value, ForgeError> {
        Ok(self.send(&Request { method, path, body })?.body)
    }

    pub(super) fn get(&self, path: String) -> Result<Reply, ForgeError> {
        self.send(&Request::get(path))
    }

    /// The pull requests of the branch, in any state, from the repository that we push to. A server that does
    /// not understand the question lists all of them.
    fn list(&self) -> Result<Vec<Pull>, ForgeError> {
        let mut pulls = vec![];
        for page in 1..=self.route.kind.row().lists {
            let reply = self.get(self.route.list(self.branch, page))?;
            let Value::Array(found) = reply.body else {
                return Err(self.about().odd("it is not a list"));
            };
            let is_last = found.is_empty() || !reply.has_more;
            for value in &found {
                pulls.push(self.read(value)?);
            }
            if is_last {
                break;
            }
        }
        pulls.retain(|pull| pull.is_ours && pull.branch == self.branch);
        Ok(pulls)
    }

    /// What these lists say, and those that they name.
    fn feedback_from(&self, sources: Vec<Source>) -> Result<Feedback, ForgeError> {
        let mut feedback = Feedback::default();
        let mut left: VecDeque<Source> = sources.into();
        for _ in 0..LISTS {
            let Some(source) = left.pop_front() else { break };
            for page in 1..=PAGES {
                let path = if page == 1 { source.path.clone() } else { source.page(page) };
                let reply = self.get(path)?;
                for message in source.read(&self.route, &reply.body) {
                    match message {
                        ForgeEntry::Check(check) => feedback.checks.push(check),
                        ForgeEntry::Comment(comment) => feedback.comments.push(comment),
                        ForgeEntry::More(source) => left.push_back(source),
                    }
                }
                if !reply.has_more {
                    break;
                }
            }
        }
        Ok(feedback)
    }

    /// The open pull request of the branch; of several the one to the same base.
    fn find(&self) -> Result<Option<Pull>, ForgeError> {
        let open = |pull: &Pull| pull.state == PullState::Open;
        let mut pulls: Vec<Pull> = self.list()?.into_iter().filter(open).collect();
        pulls.sort_by_key(|pull| (pull.base != self.base, pull.number));
        Ok(pulls.into_iter().next())
    }

    fn create(&self, wanted: &PullRequest<'_>) -> Result<Published, ForgeError> {
        let (words, Self { branch, base, .. }) = (wanted.words, self);
        let (path, body) = self.route.create(&words.title(), &words.body(), branch, base);
        let made = self.ask("POST", path, Some(body))?;
        Ok(Published::Created(link(&self.read(&made)?)))
    }

    fn update(&self, wanted: &PullRequest<'_>, pull: &Pull) -> Result<Published, ForgeError> {
        let (title, body) = match merge(wanted.words, &pull.title, &pull.body) {
            Merged::Theirs => return Ok(Published::Theirs(link(pull))),
            Merged::Same => return Ok(Published::Unchanged(link(pull))),
            Merged::Change { title, body } => (title, body),
        };
        let (method, path, body) = self.route.change(pull.number, title, body);
        let changed = self.ask(method, path, Some(body))?;
        Ok(Published::Updated(link(&self.read(&changed)?)))
    }

    fn read(&self, value: &Value) -> Result<Pull, ForgeError> {
        self.route.read(value).map_err(|missing| self.about().odd(&missing))
    }
}

/// Where a pull request is, in words that are safe to print.
fn link(pull: &Pull) -> Link {
    Link { number: pull.number, page: short(&printable_line(&pull.page)) }
}
