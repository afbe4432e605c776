//! The branch of a run goes out: pushed after green iterations where that is wanted, and at the end pushed
//! and given its pull request. Asking twice changes nothing, so a run that was killed on the way is made
//! up for by the next one. Whatever fails here is told and fails nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{Commit, TaskEnd, TaskLine, Words, is_protected};
use ralph_core::records::Attempt;
use ralph_core::run::{Class, Effect, Input, Publication, PublishEnd, Settlement};
use ralph_core::task::{Status, Task};
use ralph_core::view::report::Total;
use ralph_core::{TaskId, Timestamp};
use tokio::sync::watch;

use super::crash;
use super::crew::Crew;
use super::setup::PublishSetup;
use crate::forge::{GitHub, Place, quoted};
use crate::ports::{
    Filter, Forge, ForgeError, GitError, Published, PullRequest, Scope, Store, StoreError,
};
use crate::process::{CommandSpec, Stop, capture};
use crate::sandbox::Kind;
use crate::vcs::git::Git;
use crate::vcs::{Push, PushError};

/// What the pushes of a run share.
#[derive(Debug)]
pub(super) struct Publisher {
    /// Ends what is under way.
    pub(super) stop: watch::Sender<Stop>,
    /// What went wrong, each told once.
    told: Mutex<HashSet<String>>,
    /// One push at a time: two of the same branch would be in each other's way.
    turn: Mutex<()>,
}

impl Default for Publisher {
    fn default() -> Self {
        Self { stop: watch::Sender::new(Stop::Go), told: Mutex::default(), turn: Mutex::default() }
    }
}

/// Why a branch was not published.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Crew {
    /// Publishes at the end of the run, and tells the loop what came of it.
    pub(super) fn publish(&self) -> Vec<Effect> {
        let branch = self.home.base().branch.unwrap_or_default();
        let act = || self.publication(&branch);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let made = made.unwrap_or_else(|_| Publication {
            why: "a step of the loop panicked".to_owned(),
            ..blank(PublishEnd::Failed, &branch)
        });
        self.step(&Input::Published(made))
    }

    /// Pushes what was just settled, where that is wanted. The next green iteration tries again.
    pub(super) fn push_settled(&self, settlement: &Settlement) {
        let wanted = self.setup.policy.publish.is_some_and(|wanted| wanted.auto_push);
        let (Some(setup), true) = (&self.setup.publish, wanted) else { return };
        if settlement.class != Class::Done || *self.publisher.stop.borrow() != Stop::Go {
            return;
        }
        let branch = self.home.base().branch.unwrap_or_default();
        let Err(error) = self.push(setup, &branch) else { return };
        let told = Trouble::Push(error).publication(setup, &branch).sentence();
        let mut all = self.publisher.told.lock().unwrap_or_else(PoisonError::into_inner);
        if all.insert(told.clone()) {
            drop(all);
            self.notice(told);
        }
    }

    fn publication(&self, branch: &str) -> Publication {
        let Some(setup) = &self.setup.publish else {
            return blank(PublishEnd::Nothing, branch);
        };
        self.published(setup, branch).unwrap_or_else(|trouble| trouble.publication(setup, branch))
    }

    fn published(&self, setup: &PublishSetup, branch: &str) -> Result<Publication, Trouble> {
        let pull_request = self.setup.policy.publish.is_some_and(|wanted| wanted.auto_pr);
        if !pull_request {
            self.push(setup, branch)?;
            return Ok(blank(PublishEnd::Pushed, branch));
        }
        let nothing = |why: String| Ok(Publication { why, ..blank(PublishEnd::Nothing, branch) });
        if branch == setup.base && !branch.is_empty() {
            return nothing(format!(
                "`{branch}` is the branch that pull requests go to; see git.pr_base"
            ));
        }
        let commits = self.commits(setup, branch)?;
        if commits.as_ref().is_some_and(Vec::is_empty) {
            return nothing(format!("`{branch}` has no commits beyond `{}`", setup.base));
        }
        self.push(setup, branch)?;
        let words = self.words(setup, branch, commits.unwrap_or_default())?;
        let words = words.redacted(&self.setup.files.secrets);
        let place = Place {
            folder: self.setup.files.project.worktree.clone(),
            environment: self.setup.gates.environment.clone(),
            patience: Place::PATIENCE,
            stop: self.publisher.stop.subscribe(),
        };
        let draft = setup.drafts.join("pull-request.md");
        let wanted = PullRequest { words: &words, base: &setup.base, draft: &draft };
        let done = GitHub::new(place, setup.remote.clone()).publish(&wanted)?;
        crash::point("after-pr");
        Ok(told(done, branch))
    }

    fn push(&self, setup: &PublishSetup, branch: &str) -> Result<(), PushError> {
        if is_protected(branch, &setup.protected) {
            return Err(PushError::Protected { branch: branch.to_owned() });
        }
        let _turn = self.publisher.turn.lock().unwrap_or_else(PoisonError::into_inner);
        crash::point("before-push");
        let sandboxed = |spec: CommandSpec, limit: Duration, stop| self.run_hook(spec, limit, stop);
        let push = Push {
            folder: &self.setup.files.project.worktree,
            environment: &self.setup.gates.environment,
            remote: &setup.remote,
            branch,
            protected: &setup.protected,
            patience: Push::PATIENCE,
            sandboxed: &sandboxed,
        };
        push.run(self.publisher.stop.subscribe())?;
        crash::point("after-push");
        Ok(())
    }

    /// Runs a hook of the worktree as gates are run.
    fn run_hook(
        &self,
        spec: CommandSpec,
        limit: Duration,
        stop: watch::Receiver<Stop>,
    ) -> (ProcessEnd, String) {
        let never = |error: String| (ProcessEnd::NotStarted { error }, String::new());
        let spec = CommandSpec { env: self.setup.judge_environment().to_vec(), ..spec };
        let guest = match self.guest(&self.home, Kind::Judge, None) {
            Ok(guest) => guest,
            Err(error) => return never(error.error),
        };
        let wrapped = match self.setup.sandbox.wrap(spec, &guest) {
            Ok(wrapped) => wrapped,
            Err(error) => return never(format!("the sandbox could not be made: {error}")),
        };
        let done = self.watched(|| capture(&wrapped.command, limit, stop));
        for text in wrapped.put_right() {
            self.notice(text);
        }
        (done.end, String::from_utf8_lossy(&done.stdout).into_owned() + &done.stderr)
    }

    /// The commits that the branch has beyond its base, the oldest first; `None` where the base is not
    /// known here.
    fn commits(&self, setup: &PublishSetup, branch: &str) -> Result<Option<Vec<Commit>>, GitError> {
        let folder = &self.setup.files.project.worktree;
        let PublishSetup { remote, base, .. } = setup;
        for name in [format!("refs/remotes/{remote}/{base}"), format!("refs/heads/{base}")] {
            let known = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
            match Git::plumbing(folder, &known).run() {
                Ok(_) => {}
                Err(GitError::Failed { .. }) => continue,
                Err(error) => return Err(error),
            }
            let range = format!("{name}..refs/heads/{branch}");
            let form = "--format=%H %s";
            let log = ["log", "--reverse", "--no-decorate", form, "--end-of-options", &range];
            let printed = Git::plumbing(folder, &log).run()?;
            let text = String::from_utf8_lossy(&printed);
            let commit = |line: &str| {
                let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
                Commit { id: id.to_owned(), subject: subject.to_owned() }
            };
            return Ok(Some(text.lines().map(commit).collect()));
        }
        Ok(None)
    }

    /// What the store tells about the tasks of the branch.
    fn words(
        &self,
        setup: &PublishSetup,
        branch: &str,
        commits: Vec<Commit>,
    ) -> Result<Words, StoreError> {
        let mut store = self.store();
        let scope = match &self.setup.work.plan {
            Some(plan) => Scope::Plan(plan.key()),
            None => self.setup.work.scope.clone(),
        };
        let mut attempts: BTreeMap<TaskId, Vec<Attempt>> = BTreeMap::new();
        for attempt in store.history(Timestamp::default())? {
            attempts.entry(attempt.task.clone()).or_default().push(attempt);
        }
        let mut tasks: Vec<(Task, Vec<Attempt>)> = vec![];
        for task in in_scope(store.as_mut(), &scope)? {
            let tried = attempts.remove(&task.id).unwrap_or_default();
            tasks.push((task, tried));
        }
        // A store has tasks of other branches, too: those whose commits are not on this one.
        let here: BTreeSet<&str> = commits.iter().map(|commit| commit.id.as_str()).collect();
        let made_here = |(task, attempts): &(Task, Vec<Attempt>)| {
            let mut made = attempts.iter().filter_map(|one| one.end.as_ref()?.commit.as_deref());
            task.status != Status::Done || made.any(|commit| here.contains(commit))
        };
        if scope == Scope::All && tasks.iter().any(made_here) {
            tasks.retain(made_here);
        }
        let mut evidence = vec![];
        for (task, _) in &tasks {
            evidence.extend(store.evidence(&task.id)?);
        }
        evidence.sort_by_key(|found| found.at);
        let line = |(task, attempts): &(Task, Vec<Attempt>)| TaskLine {
            id: task.id.clone(),
            title: task.title.to_string(),
            end: match task.status {
                Status::Done => TaskEnd::Done,
                Status::Failed => TaskEnd::Failed,
                _ => TaskEnd::Open,
            },
            reason: attempts
                .iter()
                .rev()
                .find_map(|attempt| attempt.end.as_ref())
                .map(|end| end.detail.clone())
                .unwrap_or_default(),
        };
        Ok(Words {
            branch: branch.to_owned(),
            goal: setup.goal.clone(),
            tasks: tasks.iter().map(line).collect(),
            evidence,
            commits,
            spent: Total::of(tasks.iter().flat_map(|(_, attempts)| attempts)),
        })
    }
}

/// The tasks that a run is about, in the order of the plan.
fn in_scope(store: &mut dyn Store, scope: &Scope) -> Result<Vec<Task>, StoreError> {
    match scope {
        Scope::All => store.list(&Filter::default()),
        Scope::Feature(name) => {
            store.list(&Filter { feature: Some(name.clone()), ..Filter::default() })
        }
        Scope::Task(id) => Ok(vec![store.get(id)?]),
        Scope::Plan(file) => {
            store.list(&Filter { reference: Some(file.clone()), ..Filter::default() })
        }
    }
}

fn blank(end: PublishEnd, branch: &str) -> Publication {
    let branch = branch.to_owned();
    Publication { end, branch, page: String::new(), why: String::new(), command: String::new() }
}

fn told(published: Published, branch: &str) -> Publication {
    let (end, link) = match published {
        Published::Created(link) => (PublishEnd::Opened, link),
        Published::Updated(link) => (PublishEnd::Updated, link),
        Published::Unchanged(link) => (PublishEnd::Unchanged, link),
        Published::Theirs(link) => (PublishEnd::Theirs, link),
        Published::ByHand(hand) => {
            let blank = blank(PublishEnd::ByHand, branch);
            return Publication { page: hand.page, why: hand.why, command: hand.command, ..blank };
        }
    };
    Publication { page: link.page, ..blank(end, branch) }
}

impl Trouble {
    fn publication(self, setup: &PublishSetup, branch: &str) -> Publication {
        let why = self.to_string();
        let (remote, branch_word) = (quoted(&setup.remote), quoted(branch));
        let command = match &self {
            Self::Push(PushError::Interrupted { .. }) | Self::Forge(ForgeError::Interrupted) => {
                return blank(PublishEnd::Interrupted, branch);
            }
            Self::Push(PushError::Protected { .. }) => "git switch -c NAME".to_owned(),
            Self::Push(PushError::NotFastForward { .. }) => format!("git fetch {remote}"),
            Self::Push(
                PushError::Declined { .. }
                | PushError::Hook { .. }
                | PushError::Unreachable { .. }
                | PushError::TimedOut { .. },
            ) => format!("git push {remote} {branch_word}"),
            Self::Push(PushError::NoRemote { .. }) => format!("git remote add {remote} URL"),
            Self::Push(PushError::NoBranch { .. }) if branch.is_empty() => {
                let why = "no branch is checked out".to_owned();
                let command = "git switch -c NAME".to_owned();
                return Publication { why, command, ..blank(PublishEnd::Failed, branch) };
            }
            Self::Push(PushError::NoBranch { .. } | PushError::Git(_))
            | Self::Forge(_)
            | Self::Git(_)
            | Self::Store(_) => String::new(),
        };
        Publication { why, command, ..blank(PublishEnd::Failed, branch) }
    }
}
