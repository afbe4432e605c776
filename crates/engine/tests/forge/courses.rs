//! What the server knows of a branch decides whether it is pushed: real git with a bare remote, and the stand-in for
//! GitHub.

use std::path::PathBuf;

use ralph_core::forge::{Course, Pull};
use ralph_core::run::{Publication, PublishEnd};
use ralph_engine::forge::Retry;
use ralph_engine::publishing::{Outlet, PublishRecords, PublishSetup, Trouble, WatchSetup};
use ralph_testkit::github::{Fault, GitHubServer};
use serde_json::Value;

use crate::kit::{Repo, World, going, refused};

/// A repository whose remote is a folder for git, and the stand-in for the API.
struct Out {
    world: World,
    setup: PublishSetup,
}

impl Out {
    fn new() -> Option<Self> {
        let (_, world) = World::each().into_iter().next()?;
        // Git is led to the folder, the API by the name.
        let bare = world.repo.folder().join("remote.git").display().to_string();
        let ssh = world.repo.folder().join("ssh.sh");
        let script = format!(
            "case \"$*\" in *receive-pack*) exec git-receive-pack {bare};; *) exec git-upload-pack {bare};; esac"
        );
        std::fs::write(&ssh, script).unwrap();
        let mut world = world;
        world.set("GIT_SSH_COMMAND", &format!("/bin/sh {}", ssh.display()));
        world.set("GIT_SSH_VARIANT", "simple");
        let path = std::env::var("PATH").unwrap();
        world.set("PATH", &format!("{}:{path}", world.bin().display()));
        world.repo.git(&["push", "--quiet", "origin", "main"]);
        let state = world.repo.folder().join("state");
        let setup = PublishSetup {
            watch: WatchSetup::default(),
            remote: "origin".to_owned(),
            pr_remote: "origin".to_owned(),
            base: "main".to_owned(),
            protected: vec!["main".to_owned()],
            goal: String::new(),
            drafts: PathBuf::from("drafts"),
            hosts: world.hosts.clone(),
            records: PublishRecords::of(Some(&state)),
            retry: Retry { pauses: vec![], ..Retry::default() },
        };
        Some(Self { world, setup })
    }

    fn repo(&self) -> &Repo {
        &self.world.repo
    }

    fn server(&self) -> &GitHubServer {
        &self.world.server
    }

    fn with<T>(&self, act: impl FnOnce(&Outlet<'_>) -> T) -> T {
        let outlet = Outlet {
            folder: &self.repo().place(),
            environment: &self.repo().environment,
            setup: &self.setup,
            sandboxed: &refused,
            stop: going(),
        };
        act(&outlet)
    }

    fn course(&self) -> Course {
        self.with(|outlet| outlet.course("feature")).unwrap()
    }

    fn push(&self) {
        self.with(|outlet| outlet.push("feature")).unwrap();
    }

    fn tip(&self) -> String {
        self.repo().git(&["rev-parse", "feature"])
    }

    /// The branch is pushed, has a pull request, and people did this with it.
    fn pushed_and(&self, state: &str) -> u64 {
        self.push();
        let number = self.server().has("feature", "main", "feature: x", None);
        self.server().becomes(number, state, &self.tip());
        number
    }

    fn remote(&self, arguments: &[&str]) -> String {
        self.repo().git_in(&self.repo().folder().join("remote.git"), arguments)
    }
}

fn page(pull: &Pull) -> &str {
    &pull.page
}

#[test]
fn a_new_branch_and_one_with_an_open_pull_request_are_pushed() {
    let Some(out) = Out::new() else { return };
    assert_eq!(out.course(), Course::Push);
    out.pushed_and("open");
    out.repo().commit("third");
    assert_eq!(out.course(), Course::Push);
    out.push();
    assert_eq!(out.repo().remote_has("feature"), Some(out.tip()));
}

#[test]
fn a_branch_that_was_squashed_into_its_base_is_finished() {
    let Some(out) = Out::new() else { return };
    out.pushed_and("merged");
    out.remote(&["update-ref", "-d", "refs/heads/feature"]);
    // Nothing in the history of the base tells: the commit there is another one.
    assert!(matches!(out.course(), Course::Finished(pull) if page(&pull).ends_with("/pull/1")));
    assert_eq!(out.repo().remote_has("feature"), None, "nothing was pushed");
}

#[test]
fn commits_that_came_after_the_merge_are_not_pushed_and_not_lost() {
    let Some(out) = Out::new() else { return };
    out.pushed_and("merged");
    out.repo().commit("after");
    assert!(matches!(out.course(), Course::MergedAndMore(_)));
}

/// Somebody pushed more before it was merged: the commit of the pull request is not here.
#[test]
fn the_last_commit_of_a_merged_pull_request_is_fetched_where_it_is_not_here() {
    let Some(out) = Out::new() else { return };
    let number = out.pushed_and("merged");
    let tip = out.tip();
    let tree = out.remote(&["rev-parse", &format!("{tip}^{{tree}}")]);
    let more = out.remote(&[
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "commit-tree",
        "-p",
        &tip,
        "-m",
        "theirs",
        &tree,
    ]);
    out.remote(&["update-ref", "refs/pull/1/head", &more]);
    out.server().becomes(number, "merged", &more);
    assert!(matches!(out.course(), Course::Finished(_)));
    // Where the server has it no more, what was pushed decides.
    out.remote(&["update-ref", "-d", "refs/pull/1/head"]);
    out.server().becomes(number, "merged", &"d".repeat(40));
    assert!(matches!(out.course(), Course::Finished(_)));
    out.repo().commit("after");
    assert!(matches!(out.course(), Course::MergedAndMore(_)));
}

#[test]
fn a_closed_pull_request_keeps_its_branch_here() {
    let Some(out) = Out::new() else { return };
    let number = out.pushed_and("closed");
    out.repo().commit("third");
    assert!(matches!(out.course(), Course::Closed(_)));
    out.server().becomes(number, "open", &out.tip());
    assert_eq!(out.course(), Course::Push, "it was opened again");
}

#[test]
fn a_branch_that_was_deleted_on_the_server_is_not_pushed_again() {
    let Some(out) = Out::new() else { return };
    out.push();
    out.remote(&["update-ref", "-d", "refs/heads/feature"]);
    out.repo().commit("third");
    assert_eq!(out.course(), Course::Deleted);
    // The record knows it where git itself has forgotten.
    out.repo().git(&["update-ref", "-d", "refs/remotes/origin/feature"]);
    assert_eq!(out.course(), Course::Deleted);
    // A branch of the same name that began anew is another one.
    out.repo().git(&["checkout", "--quiet", "--orphan", "fresh"]);
    out.repo().commit("anew");
    out.repo().git(&["branch", "--quiet", "-f", "feature", "fresh"]);
    assert_eq!(out.course(), Course::Push);
}

#[test]
fn a_branch_that_another_clone_has_taken_further_needs_no_push() {
    let Some(out) = Out::new() else { return };
    out.push();
    out.repo().commit("of the other clone");
    out.push();
    out.repo().git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(out.course(), Course::Push);
    out.push();
    assert_ne!(out.repo().remote_has("feature"), Some(out.tip()));
}

#[test]
fn a_server_that_cannot_be_asked_keeps_the_branch_here_and_on_record() {
    let Some(out) = Out::new() else { return };
    out.server().fault(Fault::Answer(502, vec![], Value::Null));
    let trouble = out.with(|outlet| outlet.course("feature")).unwrap_err();
    assert!(matches!(trouble, Trouble::Forge(_)), "{trouble:?}");
    let made = trouble.publication(&out.setup, "feature");
    assert!(out.with(|outlet| outlet.keep(&made, "")).unwrap(), "the next run tries again");
    let pending = out.setup.records.pending();
    assert_eq!(pending.len(), 1);
    assert!(pending[0].pending.as_ref().unwrap().why.contains("(502)"), "{pending:?}");
    assert_eq!((pending[0].branch.as_str(), pending[0].base.as_str()), ("feature", "main"));
    assert_eq!(out.repo().remote_has("feature"), None);
    // And once it worked, nothing is left to do.
    let made = Publication::blank(PublishEnd::Opened, "feature");
    assert!(!out.with(|outlet| outlet.keep(&made, "")).unwrap());
    assert_eq!(out.setup.records.pending(), []);
}

#[test]
fn a_protected_branch_is_refused_before_anybody_is_asked() {
    let Some(out) = Out::new() else { return };
    let trouble = out.with(|outlet| outlet.course("main")).unwrap_err();
    let made = trouble.publication(&out.setup, "main");
    assert!(made.why.contains("git.protected_branches"), "{made:?}");
    assert!(!out.with(|outlet| outlet.keep(&made, "")).unwrap(), "no run will ever push it");
    assert!(out.server().asked().is_empty());
}
