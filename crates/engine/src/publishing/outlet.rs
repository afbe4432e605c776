//! Publishes a branch: asks the remote and its server about it, pushes it, and opens or updates its pull request.
//! It pushes nothing before it has asked both; if the server cannot be reached, the branch waits for the next run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{
    BranchFacts, Course, HostEntry, Pull, PullState, Relation, Words, course, is_protected,
};
use ralph_core::run::{Publication, PublishEnd};
use ralph_core::text::printable_line;
use tokio::sync::watch;

use super::record::{Pending, PublishRecords};
use super::upstream::relation;
use super::watch::WatchSetup;
use super::{Push, PushError, RunHook};
use crate::crash;
use crate::forge::{ForgeContext, RemoteForge, Retry, quoted};
use crate::git::commit_of;
use crate::git::position::object_id;
use crate::ports::{Forge, ForgeError, GitError, Published, PullRequest, StoreError, Survey};
use crate::process::{CommandSpec, Stop};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishSetup {
    pub remote: String,
    /// The remote that pull requests go to: the same one, or the one that it is a fork of.
    pub pr_remote: String,
    pub base: String,
    pub protected: Vec<String>,
    /// What the branch is for; may be empty.
    pub goal: String,
    /// The folder for the text of a pull request that you have to open.
    pub drafts: PathBuf,
    pub hosts: Vec<HostEntry>,
    pub records: PublishRecords,
    pub retry: Retry,
    pub watch: WatchSetup,
}

/// One place to publish from.
pub struct Outlet<'a> {
    pub folder: &'a Path,
    pub environment: &'a [(OsString, OsString)],
    pub setup: &'a PublishSetup,
    /// How a `pre-push` hook is run that a session could have written.
    pub sandboxed: &'a RunHook<'a>,
    /// Signals when to give up.
    pub stop: watch::Receiver<Stop>,
}

/// Why a branch was not published.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replaces the sandbox where nothing is pushed, and so no hook runs.
pub fn no_hook(_: CommandSpec, _: Duration, _: watch::Receiver<Stop>) -> (ProcessEnd, String) {
    (ProcessEnd::NotStarted { error: "hooks run only during a run".to_owned() }, String::new())
}

impl Outlet<'_> {
    fn pusher<'a>(&'a self, branch: &'a str) -> Push<'a> {
        Push {
            folder: self.folder,
            environment: self.environment,
            remote: &self.setup.remote,
            branch,
            protected: &self.setup.protected,
            patience: Push::PATIENCE,
            sandboxed: self.sandboxed,
        }
    }

    pub(super) fn forge(&self) -> RemoteForge {
        let place = ForgeContext {
            folder: self.folder.to_owned(),
            environment: self.environment.to_vec(),
            hosts: self.setup.hosts.clone(),
            patience: ForgeContext::PATIENCE,
            retry: self.setup.retry.clone(),
            stop: self.stop.clone(),
        };
        RemoteForge::new(place, self.setup.remote.clone(), self.setup.pr_remote.clone())
    }

    /// What to do with a branch, by its state on the remote and its server. Pushes nothing.
    pub fn course(&self, branch: &str) -> Result<Course, Trouble> {
        let remote = self.setup.remote.clone();
        if is_protected(branch, &self.setup.protected) {
            return Err(PushError::Protected { branch: branch.to_owned() }.into());
        }
        let Some(tip) = commit_of(self.folder, &format!("refs/heads/{branch}"))? else {
            return Err(PushError::NoBranch { branch: branch.to_owned() }.into());
        };
        let survey = match self.forge().survey(branch) {
            Ok(survey) => survey,
            // ralph can push to a remote that is not a server.
            Err(ForgeError::NoAddress { .. }) => Survey::Asked { pulls: vec![], head_refs: vec![] },
            Err(ForgeError::NoRemote { .. }) => return Err(PushError::NoRemote { remote }.into()),
            Err(error) => return Err(error.into()),
        };
        let there = self.pusher(branch).remote_tips(&[branch], &self.stop)?.into_iter().next();
        let there = there.flatten();
        let facts = self.facts(branch, &tip, there.as_deref(), survey)?;
        Ok(course(&facts))
    }

    fn facts(
        &self,
        branch: &str,
        tip: &str,
        there: Option<&str>,
        survey: Survey,
    ) -> Result<BranchFacts, Trouble> {
        let (pulls, head_refs) = match survey {
            Survey::Asked { pulls, head_refs } => (pulls, head_refs),
            Survey::Unasked { .. } => (vec![], vec![]),
        };
        let tracking = format!("refs/remotes/{}/{branch}", self.setup.remote);
        let tracking = commit_of(self.folder, &tracking)?;
        let recorded = self.setup.records.read(branch).pushed;
        let mut facts = BranchFacts { is_there: there.is_some(), ..BranchFacts::default() };
        for known in [Some(recorded), tracking].into_iter().flatten() {
            match relation(self.folder, tip, &known)? {
                Relation::Contained => {
                    facts.all_were_there = true;
                    facts.was_there = true;
                }
                Relation::Extended => facts.was_there = true,
                Relation::Apart | Relation::Unknown => {}
            }
        }
        for (pull, head_ref) in pulls.into_iter().zip(head_refs) {
            let lies = self.lies(tip, &pull, &head_ref)?;
            facts.pulls.push((pull, lies));
        }
        Ok(facts)
    }

    /// How the branch relates to the last commit of a pull request, which is fetched if it is missing.
    fn lies(&self, tip: &str, pull: &Pull, head_ref: &str) -> Result<Relation, Trouble> {
        let lies = relation(self.folder, tip, &pull.head)?;
        if lies != Relation::Unknown || pull.state == PullState::Open {
            return Ok(lies);
        }
        let fetched = Push { remote: &self.setup.pr_remote, ..self.pusher(&pull.branch) };
        match fetched.fetch(&[], &[head_ref], &self.stop) {
            Ok(()) => Ok(relation(self.folder, tip, &pull.head)?),
            Err(error @ PushError::Interrupted { .. }) => Err(error.into()),
            // Servers need not have it any more.
            Err(_) => Ok(Relation::Unknown),
        }
    }

    /// Pushes a branch, and records how far. Returns the page for a new pull request that the server printed.
    pub fn push(&self, branch: &str) -> Result<Option<String>, PushError> {
        let pusher = self.pusher(branch);
        let name = format!("refs/heads/{branch}");
        let tip = commit_of(self.folder, &name)?;
        crash::point("before-push");
        let link = match self.is_behind(&pusher, tip.as_deref())? {
            true => None,
            false => pusher.run(self.stop.clone())?.1,
        };
        crash::point("after-push");
        let mut record = self.setup.records.read(branch);
        if let Some(tip) = tip.filter(|tip| *tip != record.pushed) {
            record.pushed = tip;
            // Without it the next run knows less, and asks the server.
            let _ = self.setup.records.write(&record);
        }
        Ok(link)
    }

    /// Whether the remote has all of the branch and more, as after work in another clone.
    fn is_behind(&self, pusher: &Push<'_>, tip: Option<&str>) -> Result<bool, PushError> {
        let Some(tip) = tip else { return Ok(false) };
        if is_protected(pusher.branch, pusher.protected) {
            return Ok(false);
        }
        let tracking = format!("refs/remotes/{}/{}", self.setup.remote, pusher.branch);
        let Some(known) = commit_of(self.folder, &tracking)? else { return Ok(false) };
        let there = pusher.remote_tips(&[pusher.branch], &self.stop)?.into_iter().next().flatten();
        Ok(there.as_deref() == Some(&known)
            && known != tip
            && relation(self.folder, tip, &known)? == Relation::Contained)
    }

    /// Opens or updates the pull request of a pushed branch.
    pub fn open(&self, words: &Words, link: Option<&str>) -> Result<Published, ForgeError> {
        let draft = self.setup.drafts.join("pull-request.md");
        let wanted = PullRequest { words, base: &self.setup.base, draft: &draft, link };
        let done = self.forge().publish(&wanted)?;
        crash::point("after-pr");
        Ok(done)
    }

    /// Records what is left to do for a branch. Returns whether the next run can do something.
    pub fn keep(&self, publication: &Publication, plan: &str) -> std::io::Result<bool> {
        let (records, branch) = (&self.setup.records, &publication.branch);
        if branch.is_empty() || is_protected(branch, &self.setup.protected) {
            return Ok(false);
        }
        let before = records.read(branch);
        let mut record = before.clone();
        record.pending = publication.is_pending().then(|| Pending {
            why: match publication.why.as_str() {
                "" => "it was interrupted".to_owned(),
                why => printable_line(why).into_owned(),
            },
        });
        record.plan = plan.to_owned();
        record.base.clone_from(&self.setup.base);
        record.goal.clone_from(&self.setup.goal);
        let is_pending = record.pending.is_some();
        match is_pending || !record.pushed.is_empty() {
            true if record != before => records.write(&record)?,
            true => {}
            false => records.forget(branch)?,
        }
        Ok(is_pending && records.are_kept())
    }
}

/// The result of a decision by the server; `None` where the branch is pushed.
pub(crate) fn decided(course: &Course, setup: &PublishSetup, branch: &str) -> Option<Publication> {
    let remote = &setup.remote;
    let blank = |end| Publication::blank(end, branch);
    let page = |pull: &Pull| printable_line(&pull.page).into_owned();
    Some(match course {
        Course::Push => return None,
        Course::Finished(pull) => Publication { page: page(pull), ..blank(PublishEnd::Merged) },
        Course::MergedAndMore(pull) => Publication {
            why: format!(
                "{} is merged, but the branch has newer commits; move them onto {}",
                page(pull),
                setup.base
            ),
            command: match object_id(&pull.head).is_some() {
                true => format!(
                    "git rebase --onto {} {} {}",
                    quoted(&format!("{}/{}", setup.pr_remote, setup.base)),
                    pull.head,
                    quoted(branch)
                ),
                false => String::new(),
            },
            ..blank(PublishEnd::Failed)
        },
        Course::Closed(pull) => Publication {
            page: page(pull),
            why: format!("reopen it, or delete `{branch}`"),
            ..blank(PublishEnd::Closed)
        },
        Course::Deleted => Publication {
            why: format!("to restore it: git push {} {}", quoted(remote), quoted(branch)),
            ..blank(PublishEnd::Deleted)
        },
    })
}

/// The outcome of a pull request, for the journal.
pub(crate) fn published(published: Published, branch: &str) -> Publication {
    let (end, link) = match published {
        Published::Created(link) => (PublishEnd::Opened, link),
        Published::Updated(link) => (PublishEnd::Updated, link),
        Published::Unchanged(link) => (PublishEnd::Unchanged, link),
        Published::Theirs(link) => (PublishEnd::Theirs, link),
        Published::Manually(manual) => {
            let blank = Publication::blank(PublishEnd::ByHand, branch);
            return Publication {
                page: manual.page,
                why: manual.why,
                command: manual.command,
                ..blank
            };
        }
    };
    Publication { number: Some(link.number), page: link.page, ..Publication::blank(end, branch) }
}

impl Trouble {
    /// The result, with the command to type.
    pub fn publication(self, setup: &PublishSetup, branch: &str) -> Publication {
        let why = self.to_string();
        let (remote, branch_word) = (quoted(&setup.remote), quoted(branch));
        let blank = |end| Publication::blank(end, branch);
        let command = match &self {
            Self::Push(PushError::Interrupted { .. }) | Self::Forge(ForgeError::Interrupted) => {
                return blank(PublishEnd::Interrupted);
            }
            Self::Push(PushError::Protected { .. }) => "git switch -c NAME".to_owned(),
            Self::Push(PushError::NotFastForward { .. }) => format!("git fetch {remote}"),
            Self::Push(
                PushError::Declined { .. }
                | PushError::Hook { .. }
                | PushError::Unreachable { .. }
                | PushError::TimedOut { .. },
            ) => format!("git push {remote} {branch_word}"),
            Self::Push(PushError::NoRemote { .. }) => {
                let command = format!("git remote add {remote} URL");
                return Publication { why, command, ..blank(PublishEnd::NoRemote) };
            }
            Self::Push(PushError::NoBranch { .. }) if branch.is_empty() => {
                let why = "no branch is checked out".to_owned();
                let command = "git switch -c NAME".to_owned();
                return Publication { why, command, ..blank(PublishEnd::Failed) };
            }
            Self::Push(PushError::NoBranch { .. } | PushError::Git(_))
            | Self::Forge(_)
            | Self::Git(_)
            | Self::Store(_) => String::new(),
        };
        Publication { why, command, ..blank(PublishEnd::Failed) }
    }
}
